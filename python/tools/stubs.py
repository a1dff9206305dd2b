"""Writes pelt/__init__.pyi: types of the public functions, with the options of the library's tables. Usage:
tools/stubs.py FILE, with the built package on the path (PYTHONPATH=build/dev/python)."""

import functools
import inspect
import sys

import pelt
from pelt._options import TABLES

HEAD = '''"""Types of the public functions; python/tools/stubs.py writes this file."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float32]
Path = str | os.PathLike[str]
Source = Model | Path | Sequence[Path] | ArrayLike | tuple[ArrayLike, ArrayLike]
Progress = Callable[[str, float], object] | Literal[False] | None

__version__: str
'''
# Types of arguments, by name.
ARGUMENTS = {
    "a": "Model | ArrayLike",
    "b": "Model | ArrayLike",
    "source": "Source",
    "rig": "Source",
    "model": "Model",
    "target": "ArrayLike | None",
    "skeleton": "Source | None",
    "path": "Path",
    "paths": "Path",
    "data": "bytes | bytearray | memoryview | None",
    "name": "str | None",
    "times": "ArrayLike | None",
    "time": "float | ArrayLike | None",
    "frame": "int | slice | Sequence[int] | None",
    "motion": "int | str | None",
    "clip": "int",
    "first": "int",
    "count": "int | None",
    "fps": "float",
    "threads": "int | None",
    "memory_limit": "int | None",
    "progress": "Progress",
    "examples": "Iterable[tuple[ArrayLike, ArrayLike]]",
    "into": 'Literal["clips", "bones", "morphs"]',
    "gravity": "Sequence[float] | None",
    "wind": "Sequence[float]",
    "drag": "float",
    "seconds": "float",
    "given_motion": "bool",
    "given_weights": "bool",
    "skinning": 'Literal["linear", "dual"]',
    "names": "Sequence[str]",
    "motions": "Iterable[tuple[str, ArrayLike, ArrayLike]] | None",
    "maps": "Mapping[str, ArrayLike] | None",
    "colliders": "Iterable[Mapping[str, Any]]",
    "out": "Floats | None",
    "out_normals": "Floats | None",
    "positions": "ArrayLike",
    "parents": "ArrayLike",
    "joints": "ArrayLike",
    "palette": "ArrayLike",
    "locals": "ArrayLike",
}
SPECIAL = {
    ("decompose", "rig"): "Model | None",
    ("skeleton", "positions"): "ArrayLike | None",
    ("evaluate", "normals"): "bool",
    ("pose", "normals"): "bool",
    ("mesh", "name"): "str",
    ("step", "normals"): "Floats | None",
    ("run", "normals"): "Floats | None",
    ("skin", "weights"): "ArrayLike",
    ("bind", "skeleton"): "Source | None",
    ("compare_weights", "a"): "Model",
    ("compare_weights", "b"): "Model",
}
RETURNS = {
    "__init__": "None",
    "save": "None",
    "set_pose": "None",
    "reset": "None",
    "set_forces": "None",
    "set_maps": "None",
    "compare": "dict[str, float]",
    "compare_weights": "dict[str, float]",
    "times": "Floats",
    "positions": "Floats",
    "evaluate": "Any",
    "pose": "Any",
    "sample": "Floats",
    "morph_weights": "Floats",
    "palette": "Floats",
    "step": "Floats",
    "run": "Floats",
    "skin": "Any",
}
PROPERTIES = {
    "joint_names": "list[str]",
    "bone_names": "list[str]",
    "morph_names": "list[str]",
    "clips": "list[str]",
    "motions": "list[tuple[str, float, float]]",
    "error": "float | None",
    "differences": "list[dict[str, float]]",
    "triangles": "NDArray[np.uint32] | None",
    "points": "NDArray[np.uint32] | None",
    "parents": "NDArray[np.int64] | None",
    "joints": "NDArray[np.uint16] | None",
    "bone_joints": "NDArray[np.uint32] | None",
    "transforms": "Floats",
    "report": "dict[str, Any]",
    "lattice": "tuple[NDArray[np.uint32], Floats]",
}
KINDS = {
    "flag": "bool",
    "uint": "int",
    "real": "float",
    "size": "int | str",
    "text": "str | Iterable[str]",
    "vector": "Sequence[float]",
}
ROWS = {name: row for table in TABLES.values() for name, row in table.items()}


def argument(function, parameter, verb):
    row = TABLES.get(verb, {}).get(parameter.name)
    if (
        row
        and parameter.kind == parameter.KEYWORD_ONLY
        and parameter.default is None
        and parameter.name not in ("times", "normals", "uvs")
    ):
        kind = (
            f"Literal[{', '.join(repr(c) for c in row['choices'].split('|'))}]"
            if row["kind"] == "choice"
            else KINDS[row["kind"]]
        )
        return f"{parameter.name}: {kind} | None = None"
    text = SPECIAL.get((function, parameter.name)) or ARGUMENTS.get(parameter.name, "ArrayLike | None")
    if parameter.kind == parameter.VAR_POSITIONAL:
        return f"*{parameter.name}: {text}"
    if parameter.default is parameter.empty:
        return f"{parameter.name}: {text}"
    return f"{parameter.name}: {text} = {parameter.default!r}"


def stub(name, function, verb, indent=""):
    lines, starred = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            lines.append("self")
            continue
        if parameter.kind == parameter.VAR_POSITIONAL:
            starred = True
        if parameter.kind == parameter.KEYWORD_ONLY and not starred:
            starred = True
            lines.append("*")
        lines.append(argument(name, parameter, verb))
    body = ", ".join(lines)
    if len(body) > 80:
        body = "\n" + "".join(f"{indent}    {line},\n" for line in lines) + indent
    return f"{indent}def {name}({body}) -> {RETURNS.get(name, 'Model')}: ...\n"


def class_stub(name, members, verb):
    text = f"class {name}:\n"
    for member, value in members.items():
        if isinstance(value, (property, functools.cached_property)):
            text += f"    @property\n    def {member}(self) -> {PROPERTIES.get(member, 'Floats | None')}: ...\n"
        elif inspect.isfunction(value) and (member == "__init__" or not member.startswith("_")):
            if name == "Model" and member == "__init__":
                text += "    report: dict[str, Any]\n"
                continue
            text += stub(
                member, value, "save" if member == "save" else verb if member in ("__init__", "apply") else None, "    "
            )
    return text


def main(path):
    text = HEAD
    for name in sorted(pelt.__all__):
        value = getattr(pelt, name)
        if inspect.isclass(value) and issubclass(value, Exception):
            bases = ", ".join(base.__name__ for base in value.__bases__)
            text += f"\nclass {name}({bases}): ...\n"
        elif inspect.isclass(value):
            text += "\n" + class_stub(name, vars(value), {"Binding": "bind", "Jiggle": "Jiggle"}.get(name))
        else:
            text += "\n" + stub(name, value, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


main(sys.argv[1])
