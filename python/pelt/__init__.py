"""Pelt: anything that deforms becomes a skin that any engine can play.

    import pelt
    skin = pelt.decompose(positions, triangles, bones=30)     # positions [F, N, 3]
    print(skin.error, skin.weights.shape)
    skin.save("skin.glb")

Operations take models (load, mesh, skeleton), paths or arrays and return new models: decompose, bind, correct,
eigenskin, jiggle, simplify. Binding, Jiggle and Prepared are for every frame. The interpreter's lock is released during
work; Ctrl-C cancels it.
"""

from ._live import Binding, Jiggle, Prepared, skin
from ._model import Model, load, mesh, skeleton
from ._pelt import CancelledError, Error, InputError, OutOfMemoryError, OutputError, UnsupportedError, UsageError
from ._pelt import version as __version__
from ._verbs import bind, compare, compare_weights, correct, decompose, eigenskin, jiggle, simplify

__all__ = [
    "Binding",
    "CancelledError",
    "Error",
    "InputError",
    "Jiggle",
    "Model",
    "OutOfMemoryError",
    "OutputError",
    "Prepared",
    "UnsupportedError",
    "UsageError",
    "bind",
    "compare",
    "compare_weights",
    "correct",
    "decompose",
    "eigenskin",
    "jiggle",
    "load",
    "mesh",
    "simplify",
    "skeleton",
    "skin",
]
