"""Properties of operators from the option tables of the program: `pelt help --json -`. The zip has a copy of the
tables, so that operators have their properties before the program is found."""
import json
import os

import bpy

from . import program

_COPY = os.path.join(os.path.dirname(__file__), "options.json")
_INT_MAX = 2**31 - 1
_tables = {}  # verb -> option name -> row


def load():
    """Reads the tables: of the program that would run, else the copy. Without either, operators have no settings."""
    _tables.clear()
    text = program.tables()
    if text is None and os.path.exists(_COPY):
        with open(_COPY, encoding="utf-8") as file:
            text = file.read()
    if text:
        for verb, help in json.loads(text)["verbs"].items():
            _tables[verb] = {row["name"]: row for row in help["options"]}


def _property(row, default):
    text = row["help"][:1].upper() + row["help"][1:]
    default = row.get("default") if default is None else default
    common = {"name": row["name"].replace("-", " ").capitalize(), "description": text}
    kind = row["kind"]
    if kind == "flag":
        return bpy.props.BoolProperty(default=bool(default), **common)
    if kind == "choice":
        names = row["choices"].split("|")
        items = [(n, n.upper() if len(n) <= 3 else n.replace("-", " ").capitalize(), text) for n in names]
        return bpy.props.EnumProperty(items=items, default=default or names[0], **common)
    if kind == "uint":
        low, high = row.get("min") or 0, row.get("max") or _INT_MAX
        return bpy.props.IntProperty(min=int(low), max=int(min(high, _INT_MAX)), default=int(default or 0), **common)
    if kind == "real":
        limits = {key: row[key] for key in ("min", "max") if row.get(key) is not None}
        return bpy.props.FloatProperty(default=float(default or 0), precision=3, **limits, **common)
    return bpy.props.StringProperty(default=default or "", **common)


def annotate(cls, verb, names, **defaults):
    """Adds properties for options of a verb to an operator class; `defaults` replace those of the program."""
    cls.pelt_options = [name for name in names if name in _tables.get(verb, {})]
    cls.pelt_verb = verb
    own = {name: value for name, value in cls.__dict__.get("__annotations__", {}).items() if name not in cls.pelt_added}
    cls.pelt_added = [name.replace("-", "_") for name in cls.pelt_options]
    for name in cls.pelt_options:
        field = name.replace("-", "_")
        own[field] = _property(_tables[verb][name], defaults.get(field))
    cls.__annotations__ = own


def arguments(operator):
    """The command-line options of an operator's properties: those that differ from the program's defaults."""
    result = []
    for name in operator.pelt_options:
        row, value = _tables[operator.pelt_verb][name], getattr(operator, name.replace("-", "_"))
        default = row.get("default")
        if row["kind"] == "flag":
            result += ["--" + name] if value else []
        elif row["kind"] == "real":
            if abs(value - float(default or 0)) > 1e-6 * abs(value):
                result += ["--" + name, "%.7g" % value]
        elif row["kind"] == "uint":
            result += ["--" + name, str(value)] if value != int(default or 0) else []
        elif value != (default or (row["choices"].split("|")[0] if row["kind"] == "choice" else "")):
            result += ["--" + name, value]
    return result
