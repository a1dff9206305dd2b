#!/usr/bin/env python3
"""blender-zip.py OUT.zip --tables PROGRAM [--add PATH=FILE]…: packs blender/ as an add-on for Blender.

PROGRAM prints the option tables that go into the zip. --add puts a file into the folder of the add-on, such as
bin/pelt=build/pelt. Same input, same bytes: files are sorted, dates are fixed. Fails unless the version of the add-on
is that of CMakeLists.txt.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATE = (1980, 1, 1, 0, 0, 0)


def version_in(path, pattern):
    return ".".join(re.findall(r"\d+", re.search(pattern, (ROOT / path).read_text(encoding="utf-8")).group(1)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--tables", required=True)
    parser.add_argument("--add", action="append", default=[])
    given = parser.parse_args()
    versions = {
        path: version_in(path, pattern)
        for path, pattern in (
            ("CMakeLists.txt", r"project\(pelt VERSION ([\d.]+)"),
            ("blender/__init__.py", r'"version": \(([\d, ]+)\)'),
            ("blender/blender_manifest.toml", r'\nversion = "([\d.]+)"'),
        )
    }
    if len(set(versions.values())) > 1:
        sys.exit("blender-zip: versions differ: %s" % versions)
    tables = subprocess.run([given.tables, "help", "--json", "-"], check=True, capture_output=True).stdout
    # The measured memory differs from run to run.
    files = {"options.json": re.sub(rb'\s*"peak_memory_bytes": \d+,', b"", tables)}
    for path in (ROOT / "blender").iterdir():
        if path.suffix in (".py", ".toml"):
            files[path.name] = path.read_bytes()
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    for added in given.add:
        name, path = added.split("=", 1)
        files[name] = pathlib.Path(path).read_bytes()
    with zipfile.ZipFile(given.out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo("pelt/" + name, DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # Unix, on every system
            info.external_attr = (0o755 if name.startswith(("bin/", "lib/")) else 0o644) << 16
            archive.writestr(info, files[name])


main()
