"""Operations: each takes a model and returns a new one with a report."""

import numpy as np

from . import _pelt
from ._model import Model, _floats, as_model, mesh
from ._options import documented, texts
from ._progress import settings


def _run(verb, model, options, inputs, threads, memory_limit, progress):
    with settings(threads, memory_limit, progress) as call:
        return Model(*_pelt.run(verb, model._handle, texts(verb, options), inputs, call))


@documented("decompose")
def decompose(
    source,
    triangles=None,
    *,
    times=None,
    fps=30.0,
    normals=None,
    uvs=None,
    rig=None,
    given_motion=False,
    given_weights=False,
    rest_positions=None,
    threads=None,
    memory_limit=None,
    progress=None,
    **options,
):
    """A vertex animation becomes bones with sparse, convex weights.

    source: positions [F, N, 3] with triangles [T, 3], or a model with clips, or paths of files. The result has rest [N,
    3], weights [N, K], joints [N, K], transforms [F, P, 3, 4] and error (E_rms of what it plays); save() writes it.
    rig: a model whose motions (given_motion) or weights (given_weights) are kept. rest_positions: [points, 3], the rest
    pose to start from.
    """
    model = as_model(source, triangles, times=times, fps=fps, normals=normals, uvs=uvs)
    inputs = {"rig": None if rig is None else rig._handle, "given_motion": given_motion, "given_weights": given_weights}
    if rest_positions is not None:
        inputs["rest_positions"] = _floats(rest_positions, "rest_positions", None, 3)
    return _run("decompose", model, options, inputs, threads, memory_limit, progress)


def bind_inputs(model, skeleton, vertex_falloff):
    inputs = {"skeleton": None if skeleton is None else as_model(skeleton)._handle}
    if vertex_falloff is not None:
        inputs["vertex_falloff"] = _floats(vertex_falloff, "vertex_falloff", len(model.rest))
    return inputs


@documented("bind")
def bind(source, skeleton=None, *, vertex_falloff=None, threads=None, memory_limit=None, progress=None, **options):
    """Skin weights for a mesh and a skeleton.

    source: a model, a path, or a pair (positions [N, 3], triangles [T, 3]). skeleton: a model with the joints; None:
    those of the source. vertex_falloff: [N] stiffness of each vertex, instead of `falloff`. For settings that change
    while one looks, see Binding.
    """
    model = as_model(source)
    return _run("bind", model, options, bind_inputs(model, skeleton, vertex_falloff), threads, memory_limit, progress)


@documented("correct")
def correct(
    rig, target=None, *, motion=0, times=None, fps=30.0, threads=None, memory_limit=None, progress=None, **options
):
    """Morph targets with animated weights for what a skin misses.

    target: positions [F, N, 3] that a motion of the rig should show; None: the clips that the rig was made from, each
    with its motion.
    """
    rig = as_model(rig)
    if target is None:
        if not rig.clips:
            raise ValueError("the rig has no clips: give target, the positions that it should show")
        return _run(
            "correct", rig, options, {"pairs": [(c, c) for c in range(len(rig.clips))]}, threads, memory_limit, progress
        )
    target = _floats(target, "target", None, len(rig.rest), 3)
    motion = rig._motion(motion)
    times = (
        np.arange(len(target), dtype=np.float32) / np.float32(fps)
        if times is None
        else _floats(times, "times", len(target))
    )
    model = Model(_pelt.with_clip(rig._handle, ("target", times, target)))
    return _run("correct", model, options, {"pairs": [(motion, len(model.clips) - 1)]}, threads, memory_limit, progress)


@documented("eigenskin")
def eigenskin(rig, examples, *, threads=None, memory_limit=None, progress=None, **options):
    """Morph targets that follow the pose, learned from examples (EigenSkin 2002).

    examples: list of (locals [J, 10], positions [N, 3]), the right shape of the rig in a pose. The result computes the
    weights of its targets from the pose: evaluate() and pose() apply them.
    """
    rig = as_model(rig)
    items = [
        (
            f"example {number}",
            _floats(locals, "locals", len(rig.joint_names), 10),
            _floats(positions, "positions", len(rig.rest), 3),
        )
        for number, (locals, positions) in enumerate(examples)
    ]
    return _run("eigenskin", rig, options, {"examples": items}, threads, memory_limit, progress)


@documented("jiggle")
def jiggle(rig, *, into="clips", count=0, gravity=None, threads=None, memory_limit=None, progress=None, **options):
    """Simulates soft tissue over the motions of a rig: volume preservation and secondary motion.

    into: "clips" (vertex animations, positions()), "bones" (`count` helper bones beside those of the rig) or "morphs"
    (`count` morph targets); count 0: the default. gravity: 3 floats, units / s². For a simulation that is stepped frame
    by frame, see Jiggle.
    """
    if into not in ("clips", "bones", "morphs"):
        raise ValueError(f"into is '{into}', should be 'clips', 'bones' or 'morphs'")
    inputs = {
        "into": into,
        "count": int(count),
        "gravity": None if gravity is None else tuple(float(g) for g in gravity),
    }
    return _run("jiggle", as_model(rig), options, inputs, threads, memory_limit, progress)


@documented("simplify")
def simplify(source, *, threads=None, memory_limit=None, progress=None, **options):
    """Fewer triangles for an animated model: no worse in any pose than in the rest pose."""
    return _run("simplify", as_model(source), options, {}, threads, memory_limit, progress)


def compare(a, b, triangles=None):
    """How far animation b is from the reference a: a dict with error_rms (E_rms of FESAM), error_kg (percent, SMA),
    error_max (of the size), and, with triangles, normal_degrees.

    a, b: positions [F, N, 3], or models: clips are taken as they are, rigs are played at the times of the other one's
    frames.
    """

    def frames(source, other):
        if not isinstance(source, Model):
            return _floats(source, "positions", None, None, 3)
        if source.clips and not source.motions:
            clip = source.positions()
            return clip if source.points is None else clip[:, source.points]
        times = other.times() if isinstance(other, Model) and other.clips else None
        return source.evaluate(time=times) if times is not None else source.evaluate()

    models = [model for model in (a, b) if isinstance(model, Model) and model.triangles is not None]
    first, second = np.ascontiguousarray(frames(a, b)), np.ascontiguousarray(frames(b, a))
    if triangles is not None:
        shape = mesh(first[0], triangles)
    else:
        shape = next((model for model in models if model.points is None and len(model.rest) == first.shape[1]), None)
    return _pelt.compare(first, second, None if shape is None else shape._handle, None)


def compare_weights(a, b):
    """How far the skin weights of model b are from those of model a, joints matched by name: a dict with l1_mean and
    l1_max, 0 to 2."""
    return _pelt.compare_weights(a._handle, b._handle)
