"""Models: mesh, clips, skeleton, motions, skin, morph targets."""

import functools
import os
import warnings

import numpy as np

from . import _pelt
from ._options import documented, texts
from ._progress import settings

NONE = 0xFFFFFFFF  # "no such index" in arrays of uint32: the parent of a root


def _floats(array, name, *shape):
    """A C-contiguous float32 array of this shape; None stands for any size. No copy where it is one already."""
    array = np.ascontiguousarray(array, np.float32)
    if array.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, array.shape)):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} has the shape {array.shape}, should be ({wanted})")
    return array


def _indices(array, name, width):
    array = np.asarray(array)
    if array.ndim != 2 or array.shape[1] != width or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} should be whole numbers of the shape (any, {width}), not {array.dtype} of {array.shape}"
        )
    if array.size and int(array.min()) < 0:
        raise ValueError(f"{name} has a negative index")
    return np.ascontiguousarray(array, np.uint32)


class Model:
    """A mesh and its animation: clips (vertex animations), or a skeleton with motions, a skin and morph targets.

    A model is not changed once it is made: operations return new models. Its arrays are read-only views of the
    library's memory. Shapes: N vertices, F frames, J joints, P bones, K influences of a vertex, M morph targets.
    """

    def __init__(self, handle, report=None):
        self._handle = handle
        self._arrays = handle.arrays()
        self._names = handle.names()
        self.report = report or {}
        """dict: figures of the operation that made the model."""
        for text in handle.warnings():
            warnings.warn(text, stacklevel=4)

    def _array(self, name):
        array = self._arrays[name]
        return None if array is None else np.asarray(array)

    @property
    def rest(self):
        """float32 [N, 3]: positions in the rest pose; None without a mesh."""
        return self._array("positions")

    @property
    def normals(self):
        """float32 [N, 3]: unit normals in the rest pose; None: none."""
        return self._array("normals")

    @property
    def uvs(self):
        """float32 [N, 2]: v upwards; None: none."""
        return self._array("uvs")

    @property
    def triangles(self):
        """uint32 [T, 3]: vertices, counter-clockwise seen from outside; None: none."""
        return self._array("triangles")

    @property
    def points(self):
        """uint32 [N]: the point of a clip that each vertex follows; None: vertex i follows point i."""
        return self._array("points")

    @property
    def joint_names(self):
        """List of the names of the J joints."""
        return list(self._names["joints"])

    @property
    def parents(self):
        """int64 [J]: the parent of each joint, before it in order; -1: a root. None without a skeleton."""
        parents = self._array("parents")
        return None if parents is None else np.where(parents == NONE, -1, parents.astype(np.int64))

    @property
    def joint_rest(self):
        """float32 [J, 10]: local rest transforms: translation x y z, rotation x y z w, scale x y z."""
        return self._array("rest")

    @property
    def joints(self):
        """uint16 [N, K]: the bones of each vertex (indices into bone_joints), largest weight first; None without a skin."""
        return self._array("bones")

    @property
    def weights(self):
        """float32 [N, K]: skin weights, of sum 1; None without a skin."""
        return self._array("weights")

    @property
    def bone_joints(self):
        """uint32 [P]: the joint of each bone."""
        return self._array("bone_joints")

    @property
    def bone_names(self):
        """List of the names of the P bones' joints."""
        return [] if self.bone_joints is None else [self._names["joints"][j] for j in self.bone_joints]

    @property
    def inverse_binds(self):
        """float32 [P, 3, 4]: matrices from mesh space to the space of the bone's joint."""
        return self._array("inverse_binds")

    @property
    def morph_names(self):
        """List of the names of the M morph targets."""
        return list(self._names["morphs"])

    @property
    def motions(self):
        """List of (name, start, end in seconds)."""
        return list(self._names["motions"])

    @property
    def clips(self):
        """List of the names of the clips."""
        return [name for name, _ in self._names["clips"]]

    def times(self, clip=0):
        """float32 [F]: seconds of the frames of a clip."""
        return np.asarray(self._names["clips"][clip][1])

    def positions(self, clip=0, first=0, count=None):
        """float32 [F, points, 3]: a clip, or `count` frames of it from `first`. A view where the clip is in memory,
        else read."""
        array = self._handle.clip(clip)
        count = len(self.times(clip)) - first if count is None else count
        if array is not None:
            return np.asarray(array)[first : first + count]
        width = len(self.rest) if self.points is None else int(self.points.max()) + 1
        out = np.empty((count, width, 3), np.float32)
        self._handle.read_clip(clip, first, out)
        return out

    @functools.cached_property
    def differences(self):
        """List with a dict for each clip: how far the motion that was made from it is from it, as compare() gives it.
        Measured on first use; empty where the model was not made from clips."""
        return [
            _pelt.difference(self._handle, clip, motion) for clip, motion in enumerate(self.report.get("motions", []))
        ]

    @property
    def error(self):
        """E_rms of what the model plays against the clips that it was made from (FESAM, equation 3), over all frames of
        all clips; None where it was not made from clips."""
        if not self.differences:
            return None
        frames = np.array([difference["frame_count"] for difference in self.differences])
        squares = np.square([difference["error_rms"] for difference in self.differences])
        return float(np.sqrt(np.sum(frames * squares) / frames.sum()))

    # ---- Playing -------------------------------------------------------------------------------------------------

    def _times(self, motion, frames, times, clip):
        if times is not None:
            return np.atleast_1d(np.ascontiguousarray(times, np.float32))
        if self._names["clips"]:
            times = self.times(clip)
            if 0 <= motion < len(self._names["motions"]):  # motions start at their own time
                times = times - times[0] + np.float32(self._names["motions"][motion][1])
        elif 0 <= motion < len(self._names["motions"]):
            _, start, end = self._names["motions"][motion]
            times = np.linspace(start, end, int(np.ceil((end - start) * 30)) + 1, dtype=np.float32)
        else:
            times = np.zeros(1, np.float32)
        return np.ascontiguousarray(times if frames is None else np.atleast_1d(times[frames]), np.float32)

    def _motion(self, motion):
        if isinstance(motion, str):
            names = [name for name, _, _ in self._names["motions"]]
            if motion not in names:
                raise ValueError(f"no motion is called '{motion}'; there are: {', '.join(names) or 'none'}")
            return names.index(motion)
        return -1 if motion is None or not self._names["motions"] else motion

    def evaluate(self, frame=None, *, time=None, motion=0, clip=0, normals=False, skinning="linear"):
        """Vertices as a player shows them.

        frame: a frame of the clip that the model was made from (of 30 frames a second without clips): a number gives
        [N, 3]; a slice, a list or None (all) gives [F, N, 3]. time: seconds instead, a number or a list. motion: its
        name or number; None: the rest pose. skinning: "linear" or "dual" (dual quaternions). normals=True: a pair,
        positions and unit normals.
        """
        motion = self._motion(motion)
        one = np.ndim(time) == 0 if time is not None else isinstance(frame, (int, np.integer))
        times = self._times(motion, frame, time, clip)
        shape = (len(times), len(self.rest), 3)
        positions = np.empty(shape, np.float32)
        out_normals = np.empty(shape, np.float32) if normals else None
        self._handle.play(motion, times, _dual(skinning), positions, out_normals)
        if one:
            return (positions[0], out_normals[0]) if normals else positions[0]
        return (positions, out_normals) if normals else positions

    def sample(self, time=None, *, motion=0):
        """float32 [J, 10] local transforms of the joints at a time of a motion, or [F, J, 10] at several; None: at
        every frame."""
        motion = self._motion(motion)
        times = self._times(motion, None, time, 0)
        out = np.empty((len(times), len(self._names["joints"]) * 10), np.float32)
        self._handle.sample(motion, times, out, None, None)
        out = out.reshape(len(times), -1, 10)
        return out[0] if time is not None and np.ndim(time) == 0 else out

    def palette(self, time=None, *, motion=0):
        """float32 [P, 3, 4] matrices of the bones (global · inverse bind) at a time, or [F, P, 3, 4] at several; None:
        every frame."""
        motion = self._motion(motion)
        times = self._times(motion, None, time, 0)
        out = np.empty((len(times), (0 if self.bone_joints is None else len(self.bone_joints)) * 12), np.float32)
        self._handle.sample(motion, times, None, None, out)
        out = out.reshape(len(times), -1, 3, 4)
        return out[0] if time is not None and np.ndim(time) == 0 else out

    @property
    def transforms(self):
        """float32 [F, P, 3, 4]: matrices of the bones in every frame: v = Σ_k weights[i, k] · transforms[f, joints[i,
        k]] · rest[i]."""
        return self.palette()

    def pose(self, locals, weights=None, *, normals=False, skinning="linear"):
        """[N, 3] vertices for local transforms [J, 10] and weights [M] of the morph targets; None: those of morph_weights()."""
        locals = _floats(locals, "locals", len(self._names["joints"]), 10)
        weights = self.morph_weights(locals) if weights is None else _floats(weights, "weights", len(self.morph_names))
        positions = np.empty(self.rest.shape, np.float32)
        out_normals = np.empty(self.rest.shape, np.float32) if normals else None
        self._handle.pose(locals, weights, _dual(skinning), positions, out_normals)
        return (positions, out_normals) if normals else positions

    def morph_weights(self, locals):
        """float32 [M]: weights of the morph targets in a pose, local transforms [J, 10]: computed by drivers
        (eigenskin) where a target has one, else those of the rest pose."""
        weights = np.empty(len(self.morph_names), np.float32)
        self._handle.driven(_floats(locals, "locals", len(self._names["joints"]), 10), weights)
        return weights

    @documented("save")
    def save(self, path, **options):
        """Writes the model; the extension chooses the format (.glb, .gltf, .obj, .pc2, …). A failure leaves an existing
        file as it was."""
        self._handle.save(os.fspath(path), texts("save", options))

    def __repr__(self):
        mesh = 0 if self.rest is None else len(self.rest)
        bones = 0 if self.bone_joints is None else len(self.bone_joints)
        return f"<pelt.Model: {mesh} vertices, {bones} bones, {len(self.clips)} clips, {len(self.motions)} motions>"


def _dual(skinning):
    if skinning not in ("linear", "dual"):
        raise ValueError(f"skinning is '{skinning}', should be 'linear' or 'dual'")
    return skinning == "dual"


@documented("load")
def load(*paths, data=None, name=None, threads=None, progress=None, **options):
    """Reads one input: a file, a mesh and its caches, a skeleton and its motions, or a sequence of meshes (folder,
    'f_*.obj').

    data: the bytes of a file, instead of paths; name: its name, whose extension may tell the format.
    """
    with settings(threads, progress=progress) as call:
        if data is not None:
            return Model(_pelt.load_memory(data, name or "data", texts("load", options), call))
        if not paths:
            raise TypeError("load() needs a path")
        return Model(_pelt.load([os.fspath(path) for path in paths], texts("load", options), call))


def mesh(positions, triangles=None, *, normals=None, uvs=None, times=None, fps=30.0, name="clip"):
    """A model of arrays: positions [N, 3], or [F, N, 3] for a vertex animation, and triangles [T, 3].

    The positions of an animation are not copied where they are C-contiguous float32: do not change them while the model
    is used. times: seconds of the frames; None: fps frames a second.
    """
    animated = np.ndim(positions) == 3
    positions = _floats(positions, "positions", None, None, 3) if animated else _floats(positions, "positions", None, 3)
    parts = {"positions": positions[0] if animated and len(positions) else positions}
    if animated:
        if not len(positions):
            raise ValueError("positions has no frame")
        times = (
            np.arange(len(positions), dtype=np.float32) / np.float32(fps)
            if times is None
            else _floats(times, "times", len(positions))
        )
        parts["clips"] = [(name, times, positions)]
    if triangles is not None:
        parts["triangles"] = _indices(triangles, "triangles", 3)
    if normals is not None:
        parts["normals"] = _floats(normals, "normals", positions.shape[-2], 3)
    if uvs is not None:
        parts["uvs"] = _floats(uvs, "uvs", positions.shape[-2], 2)
    return Model(_pelt.build(parts, None))


def skeleton(names, parents, rest=None, *, positions=None, motions=None):
    """A model of a skeleton alone: names [J], parents [J] (before their children; -1: a root) and local rest transforms
    [J, 10], or positions [J, 3] in the space of the mesh for joints without rotations. motions: list of (name, times
    [F], locals [F, J, 10])."""
    names = [str(name) for name in names]
    parents = np.asarray(parents, np.int64)
    if parents.shape != (len(names),) or (parents >= np.arange(len(names))).any():
        raise ValueError("parents should have a number for each name, smaller than its own; -1: a root")
    if (rest is None) == (positions is None):
        raise ValueError("give either rest or positions")
    if rest is None:
        positions = _floats(positions, "positions", len(names), 3)
        rest = np.zeros((len(names), 10), np.float32)
        rest[:, 6:] = 1
        rest[:, :3] = np.where(parents[:, None] < 0, positions, positions - positions[parents])
    parts = {
        "joint_names": names,
        "parents": np.where(parents < 0, NONE, parents).astype(np.uint32),
        "rest": _floats(rest, "rest", len(names), 10),
    }
    if motions:
        parts["motions"] = [
            (str(name), _floats(times, "times", None), _floats(locals, "locals", len(times), len(names), 10))
            for name, times, locals in motions
        ]
    return Model(_pelt.build(parts, None))


def as_model(source, triangles=None, **arrays):
    """A model of what operations take: a model, a path or list of paths, or positions with triangles."""
    if isinstance(source, Model):
        return source
    if isinstance(source, (str, os.PathLike)):
        return load(source, progress=False)
    if isinstance(source, (list, tuple)) and source and all(isinstance(path, (str, os.PathLike)) for path in source):
        return load(*source, progress=False)
    if isinstance(source, tuple) and len(source) == 2 and triangles is None:
        source, triangles = source
    return mesh(source, triangles, **arrays)
