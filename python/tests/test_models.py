"""Models: loading, arrays, playing, saving."""

import numpy as np
import pytest

import pelt


def test_arrays_are_read_only_views(creature):
    assert creature.rest.base is not None and not creature.rest.flags.writeable
    assert creature.rest.dtype == np.float32 and creature.rest.shape[1] == 3
    assert creature.triangles.dtype == np.uint32 and creature.triangles.max() < len(creature.rest)
    np.testing.assert_allclose(creature.weights.sum(axis=1), 1, atol=1e-5)
    with pytest.raises(ValueError):
        creature.rest[0] = 0


def test_arrays_outlive_their_model(scenes):
    model = pelt.load(scenes("creature", "creature.glb"))
    rest = model.rest
    copy = rest.copy()
    del model
    np.testing.assert_array_equal(rest, copy)


def test_positions_of_arrays_are_not_copied():
    positions = np.zeros((2, 4, 3), np.float32)
    positions[:, :, 0] = np.arange(4)
    model = pelt.mesh(positions, [[0, 1, 2]])
    assert np.shares_memory(model.positions(), positions)
    doubles = pelt.mesh(positions.astype(np.float64), [[0, 1, 2]])
    np.testing.assert_array_equal(doubles.positions(), positions)


def test_evaluate_is_the_blend_of_the_matrices(creature):
    time = 0.3
    palette, homogeneous = creature.palette(time), np.c_[creature.rest, np.ones(len(creature.rest))]
    blended = np.einsum(
        "nk,nkab,nb->na", creature.weights.astype(float), palette[creature.joints].astype(float), homogeneous
    )
    np.testing.assert_allclose(creature.evaluate(time=time), blended, atol=2e-6)
    np.testing.assert_allclose(creature.pose(creature.sample(time)), blended, atol=2e-6)


def test_evaluate_shapes(cloth):
    skin = pelt.decompose(cloth, bones=4, iterations=2)
    n = len(skin.rest)
    assert skin.evaluate(3).shape == (n, 3)
    assert skin.evaluate([1, 2]).shape == (2, n, 3)
    assert skin.evaluate(slice(0, 5)).shape == (5, n, 3)
    assert skin.evaluate().shape == (40, n, 3)
    np.testing.assert_array_equal(skin.evaluate(7), skin.evaluate()[7])
    positions, normals = skin.evaluate(0, normals=True) if skin.normals is not None else (skin.evaluate(0), None)
    if normals is not None:
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-5)
    assert positions.shape == (n, 3)


def test_skeleton_from_positions():
    model = pelt.skeleton(["hip", "knee", "foot"], [-1, 0, 1], positions=[[0, 2, 0], [0, 1, 0], [0, 0, 0.5]])
    assert model.parents.tolist() == [-1, 0, 1]
    np.testing.assert_allclose(model.joint_rest[2, :3], [0, -1, 0.5])


def test_motions_of_arrays(tmp_path):
    rest = np.zeros((2, 10), np.float32)
    rest[:, 6:] = 1
    rest[1, 1] = 1
    times = np.array([0, 1], np.float32)
    locals = np.repeat(rest[None], 2, axis=0)
    locals[1, 1, 3:7] = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    model = pelt.skeleton(["a", "b"], [-1, 0], rest, motions=[("turn", times, locals)])
    assert model.motions == [("turn", 0, 1)]
    np.testing.assert_allclose(model.sample(1.0), locals[1], atol=1e-6)
    model.save(tmp_path / "turn.bvh")
    assert pelt.load(tmp_path / "turn.bvh").joint_names == ["a", "b"]


def test_save_and_load(creature, tmp_path):
    path = tmp_path / "männchen.glb"
    creature.save(path)
    again = pelt.load(path)
    np.testing.assert_array_equal(again.rest, creature.rest)
    assert pelt.load(data=path.read_bytes(), name="a.glb").joint_names == creature.joint_names
    with pytest.raises(pelt.OutputError):
        creature.save(path, replace=False)


def test_clip_of_a_file(cloth):
    whole = cloth.positions()
    assert whole.shape == (40, 600, 3) or whole.shape[0] == 40
    np.testing.assert_array_equal(cloth.positions(first=5, count=3), whole[5:8])


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: pelt.load("nowhere.glb"), pelt.InputError, "nowhere.glb"),
        (lambda: pelt.load(), TypeError, "path"),
        (lambda: pelt.load(data=b"glTF\x02", name="cut.glb"), pelt.InputError, "cut.glb"),
        (lambda: pelt.mesh(np.zeros((4, 2))), ValueError, "positions"),
        (lambda: pelt.mesh(np.zeros((0, 4, 3))), ValueError, "frame"),
        (lambda: pelt.mesh(np.zeros((4, 3)), [[0, 1, -1]]), ValueError, "negative"),
        (lambda: pelt.mesh(np.zeros((4, 3)), [[0, 1, 4]]), pelt.InputError, "vertex 4"),
        (lambda: pelt.mesh(np.zeros((4, 3)), [[0.0, 1.0, 2.0]]), ValueError, "whole numbers"),
        (lambda: pelt.skeleton(["a", "b"], [1, -1], positions=np.zeros((2, 3))), ValueError, "parents"),
        (lambda: pelt.mesh(np.zeros((4, 3))).evaluate(motion="walk"), ValueError, "walk"),
    ],
)
def test_bad_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()
