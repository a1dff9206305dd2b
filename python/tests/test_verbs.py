"""Operations, against the library's own measures and the program."""

import os
import subprocess

import numpy as np
import pytest

import pelt


def test_decompose_arrays(cloth, tmp_path):
    positions = np.array(cloth.positions())
    skin = pelt.decompose(positions, cloth.triangles, bones=8)
    assert skin.weights.shape[1] <= 4 and skin.transforms.shape == (40, 8, 3, 4)
    assert (skin.weights >= 0).all()
    difference = pelt.compare(positions, skin.evaluate(), cloth.triangles)
    assert difference["error_rms"] == pytest.approx(skin.error, rel=1e-6)
    assert skin.error == pytest.approx(skin.report["error_fit"], rel=0.01)
    assert pelt.decompose(positions, cloth.triangles, bones=16).error < skin.error
    skin.save(tmp_path / "skin.glb")
    assert len(pelt.load(tmp_path / "skin.glb").bone_names) == 8


def test_decompose_equals_the_program(cloth, scenes, tmp_path):
    path = scenes("cloth", "cloth.obj", "--vertices", "600", "--frames", "40")
    pelt.decompose(cloth, bones=8).save(tmp_path / "python.glb", skip_clips=True)
    program = subprocess.run(
        [
            os.environ["PELT"],
            "decompose",
            path,
            path.with_suffix(".pc2"),
            "--bones",
            "8",
            "-o",
            tmp_path / "program.glb",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert program.returncode == 0, program.stderr
    ours, theirs = pelt.load(tmp_path / "python.glb"), pelt.load(tmp_path / "program.glb")
    np.testing.assert_array_equal(ours.weights, theirs.weights)
    np.testing.assert_array_equal(ours.rest, theirs.rest)
    np.testing.assert_array_equal(ours.transforms, theirs.transforms)


def test_decompose_with_a_rig(cloth):
    rig = pelt.decompose(cloth, bones=6)
    again = pelt.decompose(cloth, rig=rig, given_motion=True)
    np.testing.assert_array_equal(again.palette(0.5), rig.palette(0.5))
    assert len(again.bone_names) == 6


def test_presets_and_choices(cloth):
    published = pelt.decompose(cloth, bones=6, preset="fesam2010")
    assert published.report["iteration_count"] == 15
    rigid = pelt.decompose(cloth, bones=6, transforms="rigid")
    matrices = rigid.transforms[:, :, :, :3].astype(float)
    np.testing.assert_allclose(
        matrices @ matrices.transpose(0, 1, 3, 2), np.broadcast_to(np.eye(3), matrices.shape), atol=1e-4
    )


def test_bind_and_binding(creature):
    bound = pelt.bind(creature, resolution=96)
    live = pelt.Binding(creature, resolution=96)
    np.testing.assert_array_equal(live.apply().weights, bound.weights)
    stiff, soft = live.apply(falloff=1.0), live.apply(falloff=0.0)
    assert (stiff.weights[:, 0].mean()) > (soft.weights[:, 0].mean())
    np.testing.assert_array_equal(live.apply(falloff=1.0).weights, stiff.weights)  # earlier results stay as they were
    assert (live.apply(influences=2).weights[:, 2:] == 0).all()
    mixed = live.apply(vertex_falloff=np.where(creature.rest[:, 0] > 0, 1.0, 0.0))
    right = creature.rest[:, 0] > 0
    np.testing.assert_array_equal(mixed.weights[right], stiff.weights[right])
    np.testing.assert_array_equal(mixed.weights[~right], soft.weights[~right])
    assert live.report["vertex_count"] == len(creature.rest)


def test_bind_arrays(creature):
    skeleton = pelt.skeleton(creature.joint_names, creature.parents, creature.joint_rest)
    bound = pelt.bind((creature.rest, creature.triangles), skeleton, resolution=64)
    assert set(bound.bone_names) <= set(creature.joint_names) and bound.weights.shape[0] == len(creature.rest)


def test_correct(cloth):
    positions = np.array(cloth.positions())
    skin = pelt.decompose(positions, cloth.triangles, bones=4)
    corrected = pelt.correct(skin, rank=4)
    errors = corrected.report["errors"]
    assert len(errors) == 5 and all(after <= before for before, after in zip(errors, errors[1:]))
    assert pelt.compare(positions, corrected.evaluate())["error_rms"] == pytest.approx(errors[-1], rel=0.01)
    given = pelt.correct(skin, positions, rank=4)
    assert given.report["errors"] == pytest.approx(errors)


def test_eigenskin(scenes):
    arm = pelt.load(scenes("arm", "arm.glb"))
    elbow = arm.joint_names.index(
        next(name for name in arm.joint_names if "elbow" in name.lower() or "lower" in name.lower())
    )
    examples = []
    for angle in (0.5, 1.0, 1.5):
        locals = np.array(arm.joint_rest)
        locals[elbow, 3:7] = [0, 0, np.sin(angle / 2), np.cos(angle / 2)]
        shape = arm.pose(locals)
        bulge = angle * 0.02 * np.exp(-np.square(arm.rest - arm.rest.mean(axis=0)).sum(axis=1, keepdims=True))
        examples.append((locals, shape + bulge.astype(np.float32)))
    skin = pelt.eigenskin(arm, examples)
    assert skin.report["morph_count"] >= 1
    before = [np.abs(arm.pose(locals) - shape).max() for locals, shape in examples]
    after = [np.abs(skin.pose(locals) - shape).max() for locals, shape in examples]
    assert max(after) < 0.5 * max(before)


def test_jiggle(creature):
    assert len(pelt.jiggle(creature, particles=300, fps=10).clips) == 1
    helped = pelt.jiggle(creature, into="bones", count=4, particles=300, fps=10)
    assert len(helped.bone_names) == len(creature.bone_names) + 4
    morphed = pelt.jiggle(creature, into="morphs", count=2, particles=300, fps=10)
    assert morphed.report["rank"] == 2 and morphed.morph_names[:2] == ["correction 1", "correction 2"]


def test_jiggle_steps(creature):
    live = pelt.Jiggle(creature, particles=300, gravity=(0, -10, 0))
    pose = creature.sample(0.0)
    for _ in range(5):
        live.set_pose(pose)
        still = live.step(1 / 30)
    cells, particles = live.lattice
    assert cells.shape[1] == 8 and cells.max() < len(particles)
    shaken = np.array(pose)
    shaken[0, 0] += 0.3
    live.set_pose(shaken)
    out = np.empty_like(still)
    assert live.step(1 / 30, out) is out
    offsets = out - still - [0.3, 0, 0]
    assert np.abs(offsets).max() > 1e-3  # tissue lags behind
    pinned = pelt.Jiggle(creature, particles=300, maps={"pin": np.ones(len(creature.rest))})
    pinned.set_pose(pose)
    first = pinned.step(1 / 30)
    pinned.set_pose(shaken)
    np.testing.assert_allclose(pinned.step(1 / 30) - first, np.broadcast_to([0.3, 0, 0], first.shape), atol=1e-4)


def test_colliders(creature):
    low, high = creature.rest.min(axis=0), creature.rest.max(axis=0)
    floor = {"plane": [0, float(low[1] + 0.2 * (high - low)[1]), 0], "normal": [0, 1, 0]}
    soft = {"particles": 300, "softness": "even", "bone_radius": 0}
    free, held = pelt.Jiggle(creature, **soft), pelt.Jiggle(creature, **soft, colliders=[floor])
    for live in (free, held):
        for _ in range(10):
            live.set_pose(creature.joint_rest)
            live.last = live.step(1 / 30)
    assert held.last[:, 1].min() > free.last[:, 1].min()
    with pytest.raises(ValueError, match="sphere"):
        pelt.Jiggle(creature, colliders=[{"cube": 1}])


def test_simplify(creature):
    half = pelt.simplify(creature, ratio=0.5)
    assert half.report["triangle_count"] == pytest.approx(len(creature.triangles) / 2, rel=0.02)
    assert len(half.triangles) == half.report["triangle_count"]


def test_skinning_of_arrays(creature):
    palette = creature.palette(0.4)
    expected, normals = creature.evaluate(time=0.4, normals=True)
    positions, skinned = pelt.skin(creature.rest, creature.joints, creature.weights, palette, normals=creature.normals)
    np.testing.assert_allclose(positions, expected, atol=2e-6)
    np.testing.assert_allclose(skinned, normals, atol=2e-5)
    out = np.empty_like(positions)
    assert pelt.Prepared(creature).run(palette, out) is out
    np.testing.assert_allclose(out, expected, atol=2e-6)
    with pytest.raises(IndexError):
        pelt.skin(creature.rest, creature.joints, creature.weights, palette[:1])
    with pytest.raises(ValueError):
        pelt.skin(creature.rest, creature.joints[:-1], creature.weights, palette)


def test_compare(cloth, creature):
    positions = np.array(cloth.positions())
    moved = positions + np.float32([0.01, 0, 0])
    difference = pelt.compare(positions, moved)
    assert difference["error_max_units"] == pytest.approx(0.01, rel=1e-3)
    assert pelt.compare(cloth, cloth)["error_rms"] == 0
    assert pelt.compare_weights(creature, creature)["l1_mean"] == 0


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"bons": 3}, TypeError, "did you mean 'bones'"),
        ({"bones": 5000}, pelt.UsageError, "0 to 4000"),
        ({"transforms": "soft"}, pelt.UsageError, "affine"),
        ({"preset": "none"}, ValueError, "preset"),
        ({"tolerance": float("nan")}, pelt.UsageError, "tolerance"),
    ],
)
def test_bad_options(cloth, options, error, text):
    with pytest.raises(error, match=text):
        pelt.decompose(cloth, **options)


def test_signatures_and_help():
    assert "bones (int)" in pelt.decompose.__doc__ and "--" not in pelt.decompose.__doc__
    import inspect

    assert {"bones", "transforms", "preset", "key_tolerance"} <= set(inspect.signature(pelt.decompose).parameters)
    assert "from_" in inspect.signature(pelt.jiggle).parameters
