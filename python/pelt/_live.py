"""Objects that are called every frame: Binding, Jiggle, Prepared; and skinning of arrays."""

import numpy as np

from . import _pelt
from ._model import Model, _floats, as_model
from ._options import documented, texts
from ._progress import settings
from ._verbs import bind_inputs


class Binding:
    """A bound mesh whose settings change while one looks: voxels and fields are computed once, weights in milliseconds."""

    @documented("bind")
    def __init__(self, source, skeleton=None, *, threads=None, memory_limit=None, progress=None, **options):
        """source, skeleton: as in bind()."""
        self._model = as_model(source)
        self._skeleton = None if skeleton is None else as_model(skeleton)
        self._options = texts("bind", options)
        with settings(threads, memory_limit, progress) as call:
            self._handle = _pelt.binding(
                self._model._handle, self._options, bind_inputs(self._model, self._skeleton, None), call
            )

    @documented("bind")
    def apply(self, *, vertex_falloff=None, pose=None, **options):
        """A model with weights for other settings: falloff, vertex_falloff [N], influences, prune, smooth, exclude,
        rigid …

        Options that are not given are those of the binding; options of voxels and fields (method, resolution) cannot
        change. pose: local transforms [J, 10] for falloffs that depend on it.
        """
        inputs = bind_inputs(self._model, None, vertex_falloff)
        pose = None if pose is None else _floats(pose, "pose", None, 10)
        return Model(self._handle.apply({**self._options, **texts("bind", options)}, inputs, pose), self.report)

    @property
    def report(self):
        """dict: figures of the voxels and of the last weights."""
        return self._handle.report()


def _vector(numbers):
    x, y, z = (float(number) for number in numbers)
    return x, y, z


class Jiggle:
    """A simulation of soft tissue that is stepped frame by frame."""

    @documented("Jiggle")
    def __init__(
        self, rig, *, gravity=(0, 0, 0), wind=(0, 0, 0), drag=0.0, maps=None, colliders=(), threads=None, **options
    ):
        """rig: a model with a skeleton. maps: {"stiffness", "damping", "delta" or "pin": [N]}, negative: no value.
        colliders: list of dicts: {"sphere": centre, "radius": r}, {"capsule": (a, b), "radius": r} or {"plane": point,
        "normal": n}, each with "joint" (its number; default the world) and "friction" (0 to 1)."""
        self._model = as_model(rig)
        solids = [self._collider(solid) for solid in colliders]
        with settings(threads, progress=False) as call:
            self._handle = _pelt.jiggle(
                self._model._handle,
                texts("Jiggle", options),
                (_vector(gravity), _vector(wind), float(drag)),
                self._maps(maps),
                solids,
                call,
            )

    def _maps(self, maps):
        unknown = set(maps or {}) - {"stiffness", "damping", "delta", "pin"}
        if unknown:
            raise ValueError(f"no map is called '{unknown.pop()}'")
        return {name: _floats(values, name, len(self._model.rest)) for name, values in (maps or {}).items()}

    @staticmethod
    def _collider(solid):
        zero = (0.0, 0.0, 0.0)
        tail = (float(solid.get("radius", 0)), float(solid.get("friction", 0)))
        joint = int(solid.get("joint", -1))
        if "sphere" in solid:
            return (0, joint, _vector(solid["sphere"]), zero, *tail)
        if "capsule" in solid:
            return (1, joint, _vector(solid["capsule"][0]), _vector(solid["capsule"][1]), *tail)
        if "plane" in solid:
            return (2, joint, _vector(solid["plane"]), _vector(solid["normal"]), *tail)
        raise ValueError("a collider has 'sphere', 'capsule' or 'plane'")

    def set_pose(self, locals, weights=None):
        """The pose at the end of the next step: local transforms [J, 10]; weights [M] of morph targets."""
        locals = _floats(locals, "locals", len(self._model.joint_names), 10)
        weights = None if weights is None else _floats(weights, "weights", len(self._model.morph_names))
        self._handle.set_pose(locals, weights)

    def step(self, seconds, out=None, *, normals=None):
        """Advances the simulation and returns the vertices [N, 3], in `out` where given. normals: an array [N, 3] that
        gets the normals."""
        out = np.empty(self._model.rest.shape, np.float32) if out is None else out
        self._handle.step(float(seconds), out, normals)
        return out

    def reset(self):
        """Sets all tissue to the current pose, at rest."""
        self._handle.reset()

    def set_forces(self, gravity=(0, 0, 0), wind=(0, 0, 0), drag=0.0):
        """Replaces the forces: gravity in units / s², wind in units / s, drag in 1 / s."""
        self._handle.set_forces(_vector(gravity), _vector(wind), float(drag))

    def set_maps(self, maps):
        """Replaces the maps; see the constructor."""
        self._handle.set_maps(self._maps(maps))

    @property
    def lattice(self):
        """A pair: cells uint32 [C, 8], particles at corners x + 2y + 4z, and particles float32 [L, 3] of the last step."""
        cells, particles = self._handle.lattice()
        return (
            np.frombuffer(cells, np.uint32).reshape(-1, 8),
            np.frombuffer(particles, np.float32).reshape(-1, 4)[:, :3],
        )


class Prepared:
    """A skin in the order in which the kernels read it fastest."""

    def __init__(self, model, *, threads=1):
        self._model = as_model(model)
        with settings(threads, progress=False) as call:
            self._handle = _pelt.prepare(self._model._handle, call)

    def run(self, palette, out=None, *, normals=None):
        """Skins the rest pose with matrices [P, 3, 4]: returns positions [N, 3], in `out` where given. normals: an
        array [N, 3] that gets the normals."""
        out = np.empty(self._model.rest.shape, np.float32) if out is None else out
        self._handle.run(_floats(palette, "palette", len(self._model.bone_joints), 3, 4), out, normals)
        return out


def skin(positions, joints, weights, palette, *, normals=None, out=None, out_normals=None):
    """Linear blend skinning of arrays: positions [N, 3], joints uint16 [N, K], weights [N, K], palette [P, 3, 4].
    Returns positions [N, 3], or with normals [N, 3] a pair, positions and unit normals. out, out_normals: arrays for
    the results."""
    positions = _floats(positions, "positions", None, 3)
    joints = np.ascontiguousarray(joints, np.uint16)
    weights = _floats(weights, "weights", len(positions), None)
    palette = _floats(palette, "palette", None, 3, 4)
    out = np.empty(positions.shape, np.float32) if out is None else out
    if normals is None:
        _pelt.skin(joints, weights, palette, positions, None, out, None)
        return out
    normals = _floats(normals, "normals", len(positions), 3)
    out_normals = np.empty(positions.shape, np.float32) if out_normals is None else out_normals
    _pelt.skin(joints, weights, palette, positions, normals, out, out_normals)
    return out, out_normals
