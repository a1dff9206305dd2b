"""What Python costs: the same work by the package and by calls of the C library (ctypes, on the same arrays). Prints a
table.

Usage: bench_python.py LIBRARY MESH CACHE: libpelt.so and an animation of two files. One thread; the least CPU time of
several rounds.
"""

import ctypes
import sys
import time

import numpy as np

import pelt

ROUNDS = 5


class SkinJob(ctypes.Structure):
    """pelt_skin_job, run.h."""

    _fields_ = [("vertex_count", ctypes.c_uint32), ("influence_count", ctypes.c_uint32)]
    _fields_ += [(name, ctypes.c_void_p) for name in ("bones", "weights", "palette", "dual_quaternions", "stretches")]
    _fields_ += [("skinning", ctypes.c_int)]
    _fields_ += [
        (name, ctypes.c_void_p) for name in ("positions", "normals", "tangents", "out_positions", "out_normals")
    ]
    _fields_ += [("out_tangents", ctypes.c_void_p), ("gradients", ctypes.c_void_p * 3), ("exact", ctypes.c_bool)]


def seconds(function):
    """Least CPU time of a call, of ROUNDS rounds."""
    least = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        function()
        least = min(least, time.process_time() - start)
    return least


def decompose(library, paths):
    """CPU seconds of pelt_decompose and of pelt.decompose, 30 bones."""
    context, model = ctypes.c_void_p(), ctypes.c_void_p()
    desc = ctypes.create_string_buffer(4096)  # a pelt_context_desc, then a pelt_decompose_desc: larger than either
    library.pelt_options_default(ctypes.c_void_p(library.pelt_context_options()), desc)
    library.pelt_options_set(None, ctypes.c_void_p(library.pelt_context_options()), desc, b"thread-count", b"1")
    assert library.pelt_context_create(desc, ctypes.byref(context)) == 0
    names = (ctypes.c_char_p * len(paths))(*[path.encode() for path in paths])
    assert library.pelt_load(context, names, ctypes.c_size_t(len(paths)), None, ctypes.byref(model)) == 0
    ctypes.memset(desc, 0, len(desc))
    table = ctypes.c_void_p(library.pelt_decompose_options())
    library.pelt_options_default(table, desc)
    assert library.pelt_options_set(context, table, desc, b"bones", b"30") == 0

    def native():
        borrowed = ctypes.c_void_p()
        assert library.pelt_model_borrow(context, model, ctypes.byref(borrowed)) == 0
        assert library.pelt_decompose(context, borrowed, desc, None) == 0
        library.pelt_model_destroy(borrowed)

    source = pelt.load(*paths)
    positions, triangles = np.array(source.positions()), source.triangles
    return seconds(native), seconds(lambda: pelt.decompose(positions, triangles, bones=30, threads=1))


def skinning(library, count=30000, bones=60, calls=300):
    """The same for positions and normals of `count` vertices with four random bones."""
    random = np.random.default_rng(1)
    positions, normals = (random.standard_normal((count, 3)).astype(np.float32) for _ in range(2))
    joints = random.integers(0, bones, (count, 4)).astype(np.uint16)
    weights = random.random((count, 4)).astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    palette = random.standard_normal((bones, 3, 4)).astype(np.float32)
    out, out_normals = np.empty_like(positions), np.empty_like(normals)
    job = SkinJob(count, 4, joints.ctypes.data, weights.ctypes.data, palette.ctypes.data)
    job.positions, job.normals = positions.ctypes.data, normals.ctypes.data
    job.out_positions, job.out_normals = out.ctypes.data, out_normals.ctypes.data
    pointer = ctypes.byref(job)

    def native():
        for _ in range(calls):
            library.pelt_skin_run(pointer)

    def package():
        for _ in range(calls):
            pelt.skin(positions, joints, weights, palette, normals=normals, out=out, out_normals=out_normals)

    return seconds(native) / calls, seconds(package) / calls


def main(library, *paths):
    library = ctypes.CDLL(library)
    library.pelt_context_options.restype = library.pelt_decompose_options.restype = ctypes.c_void_p
    print("| work | C | Python | ratio |\n|---|---|---|---|")
    native, package = decompose(library, paths)
    print(
        f"| decompose {paths[0].rpartition('/')[2]}, 30 bones | {native:.3f} s | {package:.3f} s | {package / native:.3f} |"
    )
    native, package = skinning(library)
    print(
        f"| skin 30,000 vertices, positions and normals | {native * 1e6:.0f} µs | {package * 1e6:.0f} µs | {package / native:.3f} |"
    )


main(*sys.argv[1:])
