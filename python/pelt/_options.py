"""Keyword arguments from the library's option tables: names, checks, documentation."""

import difflib
import inspect
import keyword
import re
import textwrap

from . import _pelt


def _keyword(name):
    """The name of an option in Python: "from" is a word of the language."""
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


TABLES = {verb: {_keyword(row["name"]): row for row in rows} for verb, rows in _pelt.options().items()}
TYPES = {
    "flag": "bool",
    "uint": "int",
    "real": "float",
    "size": "int or str",
    "text": "str",
    "choice": "str",
    "vector": "3 floats",
}


def _text(row, value):
    """The value as the library reads it."""
    kind = row["kind"]
    if kind == "flag":
        return "true" if value else "false"
    if kind == "uint":
        return str(int(value))
    if kind == "real":
        return repr(float(value))
    if kind == "vector":
        return ",".join(repr(float(number)) for number in value)
    if kind == "text" and not isinstance(value, str):
        return ",".join(str(name) for name in value)
    return str(value)


def texts(verb, options):
    """Options of a verb as a dict of texts. None is the default."""
    table = TABLES[verb]
    out = {}
    for name, value in options.items():
        if name not in table:
            near = difflib.get_close_matches(name, table, 1)
            raise TypeError(f"{verb}() has no option '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
        row = table[name]
        if value is not None:
            out[row["name"]] = _text(row, value)
    return out


def _help(row):
    text = re.sub(r"--([a-z-]+)", lambda match: _keyword(match[1]), row["help"])
    notes = [text]
    if row["choices"]:
        notes.append("one of " + ", ".join(row["choices"].split("|")))
    elif row["kind"] in ("uint", "real") and (row["min"] or row["max"]):
        notes.append(f"{row['min']:g} to {row['max']:g}")
    if row["initial"] is not None:
        notes.append(f"default {row['initial']}")
    return "; ".join(notes)


def documented(verb):
    """Decorator: adds the options of a verb to the signature and the documentation of a function."""

    def add(function):
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
        taken = {p.name for p in parameters}
        rows = {name: row for name, row in TABLES[verb].items() if name not in taken}
        parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in rows]
        function.__signature__ = signature.replace(parameters=parameters)
        lines = [inspect.cleandoc(function.__doc__), "", "Options (None: the default):"]
        for name, row in rows.items():
            lines += textwrap.wrap(
                f"{name} ({TYPES[row['kind']]}): {_help(row)}", 116, initial_indent="  ", subsequent_indent="      "
            )
        function.__doc__ = "\n".join(lines)
        return function

    return add
