"""Builds the wheel of the Python package with CMake: a build backend (PEP 517) that needs nothing but the standard
library, so that `pip install ./python` works without a network. `python3 backend.py FOLDER` does the same and prints
the path."""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent
# Libraries that every Linux system with this version of glibc has (PEP 600).
SYSTEM_LIBRARIES = re.compile(r"^(libc|libm|libpthread|libdl|librt|libstdc\+\+|libgcc_s|ld-linux.*)\.so")
SUMMARY = "Vertex animations to bones, skin weights, corrective shapes and soft tissue"
DATE = (1980, 1, 1, 0, 0, 0)  # of the files in the wheel: the same inputs give the same bytes


def _output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _version():
    return re.search(r'#define PELT_VERSION +"(.*)"', (ROOT / "include/pelt/base.h").read_text(encoding="utf-8"))[1]


def _build(folder):
    """Compiles the module; returns its path. Draco is linked statically where it can be."""
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    parts = ["-DPELT_PAGE=OFF", "-DPELT_PNG=OFF"]
    draco = next(iter(pathlib.Path("/usr/lib").glob("*/libdraco.a")), None)
    parts.append(f"-DPELT_LIBRARY_draco={draco}" if draco else "-DPELT_DRACO=OFF")
    if not any(pathlib.Path(prefix, "meshoptimizer.h").exists() for prefix in ("/usr/include", "/usr/local/include")):
        parts.append("-DPELT_MESHOPTIMIZER=OFF")
    log = subprocess.run(
        [
            "cmake",
            "-S",
            ROOT,
            "-B",
            folder,
            *generator,
            "-DCMAKE_BUILD_TYPE=Release",
            "-DPELT_TESTS=OFF",
            "-DPELT_PYTHON=ON",
            f"-DPython3_EXECUTABLE={sys.executable}",
            *parts,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if not log.returncode:
        log = subprocess.run(
            ["cmake", "--build", folder, "--target", "pelt_python", "--parallel"],
            capture_output=True,
            text=True,
            check=False,
        )
    if log.returncode:
        raise SystemExit(
            f"{log.stdout}\n{log.stderr}\nthe module could not be built: it needs cmake, a C compiler and the headers of Python"
        )
    return folder / "python/pelt/_pelt.abi3.so"


def _libraries(module):
    """Paths of the shared libraries that the module needs and not every system has."""
    found = re.findall(r"(\S+) => (\S+)", _output("ldd", module))
    return [pathlib.Path(path) for name, path in found if not SYSTEM_LIBRARIES.match(name)]


def _platform(files):
    """The platform tag: manylinux of the newest version of glibc that the files ask for."""
    versions = [
        tuple(map(int, version))
        for file in files
        for version in re.findall(r"GLIBC_(\d+)\.(\d+)", _output("objdump", "-T", file))
    ]
    return "manylinux_%d_%d_%s" % (*max(versions), os.uname().machine)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel; returns its file name."""
    with tempfile.TemporaryDirectory() as temporary:
        # PELT_WHEEL_BUILD: a folder to build in, which makes the next build quick. PELT_WHEEL_MODULE: a module that is
        # built already.
        ready = os.environ.get("PELT_WHEEL_MODULE")
        module = pathlib.Path(ready) if ready else _build(pathlib.Path(os.environ.get("PELT_WHEEL_BUILD", temporary)))
        libraries = _libraries(module)
        tag = f"cp311-abi3-{_platform([module, *libraries])}"
        version = _version()
        files = {
            f"pelt/{path.name}": path.read_bytes()
            for path in sorted((FOLDER / "pelt").iterdir())
            if path.suffix in (".py", ".pyi", ".typed")
        }
        files["pelt/py.typed"] = b""
        stripped = pathlib.Path(temporary, "module.so")
        subprocess.run(["strip", "--strip-unneeded", "-o", stripped, module], check=True)
        files["pelt/_pelt.abi3.so"] = stripped.read_bytes()
        for library in libraries:
            files[f"pelt/{library.name}"] = library.read_bytes()
    info = f"pelt-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: pelt\nVersion: {version}\nSummary: {SUMMARY}\n"
    metadata += (
        "License: MIT\nRequires-Python: >=3.11\nRequires-Dist: numpy>=1.24\nDescription-Content-Type: text/markdown\n\n"
    )
    files[f"{info}/METADATA"] = (metadata + (FOLDER / "README.md").read_text(encoding="utf-8")).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: pelt\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    for text in ("LICENSE", "THIRD_PARTY.md"):
        files[f"{info}/licenses/{text}"] = (ROOT / text).read_bytes()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = f"pelt-{version}-{tag}.whl"
    os.makedirs(wheel_directory, exist_ok=True)
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    """There is none: the package is built from the tree of the project."""
    raise NotImplementedError("the package is built from a checkout of the project: pip install ./python")


if __name__ == "__main__":
    print(os.path.join(sys.argv[1], build_wheel(sys.argv[1])))
