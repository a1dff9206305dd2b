"""Scenes for the tests, written by pelt-scenes (environment variable PELT_SCENES)."""

import os
import pathlib
import subprocess

import pytest

import pelt

os.environ.pop("LD_PRELOAD", None)  # a sanitizer of this process (run.sh), not of programs that it starts


@pytest.fixture(scope="session")
def scenes(tmp_path_factory):
    """Function (name, file, options…): the path of a generated scene."""
    folder = tmp_path_factory.mktemp("scenes")

    def make(name, file, *options):
        path = folder / file
        if not path.exists():
            subprocess.run([os.environ["PELT_SCENES"], name, "-o", path, *options], check=True, capture_output=True)
        return path

    return make


@pytest.fixture(scope="session")
def cloth(scenes):
    """A model of an animated cloth: 40 frames."""
    path = scenes("cloth", "cloth.obj", "--vertices", "600", "--frames", "40")
    return pelt.load(path, path.with_suffix(".pc2"))


@pytest.fixture(scope="session")
def creature(scenes):
    """A rigged character with a walk."""
    return pelt.load(scenes("creature", "creature.glb"))


@pytest.fixture(scope="session")
def data():
    """The folder of real files; tests that need it are skipped without it."""
    folder = pathlib.Path(os.environ.get("PELT_DATA") or pathlib.Path(__file__).parents[3] / "shared/data")
    if not folder.is_dir():
        pytest.skip("no real data")
    return folder
