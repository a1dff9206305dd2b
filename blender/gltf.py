"""A small writer and reader of .glb files (glTF 2.0, binary), and of PC2 caches. Arrays are of numpy, in file order.

The add-on writes and reads its own files instead of calling Blender's exporter and importer, which split and reorder
vertices.
"""
import json
import struct

import numpy as np

_TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_COMPONENTS = {5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
_CODES = {np.dtype(t): code for code, t in _COMPONENTS.items()}


def _values(document, data, index):
    accessor = document["accessors"][index]
    dtype = np.dtype(_COMPONENTS[accessor["componentType"]])
    width, count = _WIDTHS[accessor["type"]], accessor["count"]
    if "bufferView" not in accessor:
        values = np.zeros((count, width), dtype)
    else:
        view = document["bufferViews"][accessor["bufferView"]]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        stride = view.get("byteStride", width * dtype.itemsize)
        values = np.ndarray((count, width), dtype, bytes(data), start, (stride, dtype.itemsize)).copy()
    if accessor.get("normalized"):
        values = values.astype(np.float32) / np.iinfo(dtype).max
    return values[:, 0] if width == 1 else values


class Writer:
    """Fill `json` (without accessors and buffers), add arrays, save."""

    def __init__(self):
        self.json = {"asset": {"version": "2.0", "generator": "Pelt for Blender"}, "accessors": [], "bufferViews": []}
        self.data = bytearray()

    def array(self, values, dtype=np.float32):
        """Adds an array [count] or [count][width]; returns the index of its accessor."""
        values = np.ascontiguousarray(values, dtype=dtype)
        rows = values.reshape(len(values), -1)
        accessor = {
            "bufferView": len(self.json["bufferViews"]),
            "componentType": _CODES[values.dtype],
            "count": len(rows),
            "type": _TYPES[rows.shape[1]],
        }
        if rows.shape[1] in (1, 3) and values.dtype == np.float32 and len(rows):  # positions and times need bounds
            accessor["min"] = [float(x) for x in rows.min(axis=0)]
            accessor["max"] = [float(x) for x in rows.max(axis=0)]
        self.json["bufferViews"].append({"buffer": 0, "byteOffset": len(self.data), "byteLength": values.nbytes})
        self.data += values.tobytes()
        self.data += b"\0" * (-len(self.data) % 4)
        self.json["accessors"].append(accessor)
        return len(self.json["accessors"]) - 1

    def values(self, index):
        """An array that was added."""
        return _values(self.json, self.data, index)

    def save(self, path):
        self.json["buffers"] = [{"byteLength": len(self.data)}]
        text = json.dumps(self.json).encode()
        text += b" " * (-len(text) % 4)
        with open(path, "wb") as file:
            file.write(struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(self.data)))
            file.write(struct.pack("<I4s", len(text), b"JSON") + text)
            file.write(struct.pack("<I4s", len(self.data), b"BIN\0") + self.data)


class Reader:
    """The JSON and the arrays of a .glb file that Pelt wrote: one buffer, no sparse accessors, no compression."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        length = struct.unpack_from("<I", data, 12)[0]
        self.json = json.loads(data[20 : 20 + length])
        self.data = data[28 + length :]

    def array(self, index):
        """An accessor as [count] or [count][width]; normalised integers as floats."""
        return _values(self.json, self.data, index)

    def mesh_nodes(self):
        """The node of each mesh."""
        node_of = {node["mesh"]: n for n, node in enumerate(self.json["nodes"]) if "mesh" in node}
        return [node_of[mesh] for mesh in range(len(self.json["meshes"]))]

    def parents(self):
        parents = [-1] * len(self.json["nodes"])
        for n, node in enumerate(self.json["nodes"]):
            for child in node.get("children", []):
                parents[child] = n
        return parents

    def rest(self, node):
        """Translation, rotation (x y z w) and scale of a node."""
        n = self.json["nodes"][node]
        return (
            np.array(n.get("translation", (0, 0, 0)), float),
            np.array(n.get("rotation", (0, 0, 0, 1)), float),
            np.array(n.get("scale", (1, 1, 1)), float),
        )

    def channels(self, motion):
        """{(node, path): (times, values)} of an animation."""
        animation = self.json["animations"][motion]
        samplers = [(self.array(s["input"]), self.array(s["output"])) for s in animation["samplers"]]
        return {(c["target"]["node"], c["target"]["path"]): samplers[c["sampler"]] for c in animation["channels"]}

    def attributes(self, node):
        """Accessors of the vertices of a node, and its morph targets."""
        primitive = self.json["meshes"][self.json["nodes"][node]["mesh"]]["primitives"][0]
        return primitive["attributes"], primitive.get("targets", [])

    def skin(self, node):
        """joints [bone], inverse bind matrices [bone][4][4], and for each vertex of the node its bones and weights."""
        n = self.json["nodes"][node]
        skin = self.json["skins"][n["skin"]]
        binds = self.array(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        attributes, _ = self.attributes(node)
        sets = range(sum(name.startswith("JOINTS_") for name in attributes))
        bones = np.hstack([self.array(attributes["JOINTS_%d" % s]) for s in sets]).astype(int)
        weights = np.hstack([self.array(attributes["WEIGHTS_%d" % s]) for s in sets]).astype(float)
        return skin["joints"], binds.astype(float), bones, weights


def sample(times, values, moments, rotation=False):
    """Values of a channel at some moments: linear, or spherical for rotations. Constant before the first key and after
    the last."""
    values = np.asarray(values, float)
    right = np.clip(np.searchsorted(times, moments, side="right"), 1, max(1, len(times) - 1))
    left = right - 1
    right = np.minimum(right, len(times) - 1)
    span = np.where(times[right] > times[left], times[right] - times[left], 1)
    t = np.clip((np.asarray(moments, float) - times[left]) / span, 0, 1)[:, None]
    a, b = values[left], values[right]
    if not rotation:
        return a + t * (b - a)
    cosine = np.sum(a * b, axis=1, keepdims=True)
    b, cosine = np.where(cosine < 0, -b, b), np.minimum(np.abs(cosine), 1)
    angle = np.arccos(cosine)
    near = angle < 1e-4
    sine = np.where(near, 1, np.sin(angle))
    q = np.where(near, a + t * (b - a), (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / sine)
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def write_pc2(path, frames):
    """float32 [frame][point][3]."""
    frames = np.ascontiguousarray(frames, dtype=np.float32)
    with open(path, "wb") as file:
        file.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, frames.shape[1], 0, 1, frames.shape[0]))
        frames.tofile(file)


def read_pc2(path):
    with open(path, "rb") as file:
        points, _, _, count = struct.unpack("<iffi", file.read(32)[16:])
        return np.fromfile(file, dtype=np.float32).reshape(count, points, 3)
