"""The examples run as their first lines say."""

import os
import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif("PELT_SHORT" in os.environ, reason="long under sanitizers; other tests make the same calls")
EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def run(name, *arguments):
    environment = {**os.environ, "LD_PRELOAD": os.environ.get("PELT_PRELOAD", "")}
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *arguments], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def matplotlib():
    pytest.importorskip("matplotlib", reason="no matplotlib (package python3-matplotlib)")


def test_bones_and_error(scenes, tmp_path):
    path = scenes("softbody", "hare.obj", "--vertices", "1000", "--frames", "20")
    output = run("bones_and_error", path, path.with_suffix(".pc2"), tmp_path / "a.png")
    errors = [float(pair.split()[0]) for pair in output.splitlines()[0].split(":")[1:]]
    assert len(errors) == 5 and errors == sorted(errors, reverse=True)
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_bind_and_pose(scenes, tmp_path):
    output = run("bind_and_pose", scenes("creature", "creature.glb"), tmp_path / "b.png")
    bones = [float(line.split()[2]) for line in output.splitlines()]
    assert bones == sorted(bones, reverse=True) and (tmp_path / "b.png").exists()


def test_train_eigenskin(scenes, tmp_path):
    words = run("train_eigenskin", scenes("arm", "arm.glb"), tmp_path / "c.png").split()
    assert float(words[-1]) < 0.2 * float(words[-3]) and (tmp_path / "c.png").exists()


def test_jiggle_loop(scenes, tmp_path):
    output = run("jiggle_loop", scenes("creature", "creature.glb"), tmp_path / "d.png")
    assert 0.01 < float(output.split()[-1]) < 1 and (tmp_path / "d.png").exists()


def test_fesam_table(data):
    bench = data / "bench"
    output = run("fesam_table", bench / "horse-gallop.obj", bench / "horse-gallop.pc2")
    errors = {line.split("E_rms")[0].strip(): float(line.split()[-1]) for line in output.splitlines()}
    assert errors["default"] < errors["paper"] < 2 * errors["as published"]
