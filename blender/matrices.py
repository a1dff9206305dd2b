"""Arrays of 4×4 matrices and their parts: translation, rotation (quaternion x y z w), scale. Axes of Blender (z up)
and of glTF (y up)."""
import numpy as np

# glTF = TO_GLTF @ Blender
TO_GLTF = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]], float)
FROM_GLTF = TO_GLTF.T


def move(matrix, points):
    return np.asarray(points, float) @ matrix[:3, :3].T + matrix[:3, 3]


def compose(translation, rotation, scale):
    x, y, z, w = np.moveaxis(np.asarray(rotation, float), -1, 0)
    m = np.zeros(x.shape + (4, 4))
    m[..., 0, 0], m[..., 0, 1], m[..., 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)
    m[..., 1, 0], m[..., 1, 1], m[..., 1, 2] = 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)
    m[..., 2, 0], m[..., 2, 1], m[..., 2, 2] = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
    m[..., :3, :3] *= np.asarray(scale, float)[..., None, :]
    m[..., :3, 3] = translation
    m[..., 3, 3] = 1
    return m


def decompose(m):
    """Translation, rotation, scale; shear is lost. A mirror is a negative scale along x."""
    axes = m[..., :3, :3]
    scale = np.linalg.norm(axes, axis=-2)
    scale[..., 0] = np.where(np.linalg.det(axes) < 0, -scale[..., 0], scale[..., 0])
    return m[..., :3, 3], quaternions(axes / np.where(scale == 0, 1, scale)[..., None, :]), scale


def quaternions(r):
    """Rotations [..., 3, 3] as x y z w: of four formulas the one with the largest divisor."""
    a, b, c = r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]
    x, y, z = r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]
    xy, xz, yz = r[..., 0, 1] + r[..., 1, 0], r[..., 0, 2] + r[..., 2, 0], r[..., 1, 2] + r[..., 2, 1]
    four = np.stack(
        [
            np.stack([1 + a - b - c, xy, xz, x], -1),
            np.stack([xy, 1 - a + b - c, yz, y], -1),
            np.stack([xz, yz, 1 - a - b + c, z], -1),
            np.stack([x, y, z, 1 + a + b + c], -1),
        ],
        -2,
    )
    best = np.argmax(np.diagonal(four, axis1=-2, axis2=-1), -1)
    q = np.take_along_axis(four, best[..., None, None], -2)[..., 0, :]
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def rigid(m):
    """The rotation and translation of a matrix, without scale."""
    translation, rotation, _ = decompose(m)
    return compose(translation, rotation, np.ones(3))


def continuous(rotations):
    """Quaternions [frame][4] with signs such that neighbours are near: curves between them take the short way."""
    flips = np.cumprod(np.where(np.sum(rotations[1:] * rotations[:-1], axis=1) < 0, -1, 1))
    return np.concatenate([rotations[:1], rotations[1:] * flips[:, None]])
