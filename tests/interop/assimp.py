"""python3 assimp.py JOBS.json: vertex positions of what assimp reads, evaluated as engines that are built on it do.

Jobs and results are those of blender.py, with moments only. Assimp itself evaluates nothing: it gives nodes, meshes, bones
with offset matrices, morph targets and keys. Here they are interpolated (rotations spherically), and a vertex goes to
Σ weight · node of the bone · offset matrix · (vertex + Σ morph weight · (target − vertex)).
Structures are those of assimp 5 up to 5.3 (scene.h, mesh.h, anim.h).
"""
import ctypes as c
import ctypes.util
import json
import math
import sys

import numpy as np

U, F, D, P = c.c_uint, c.c_float, c.c_double, c.POINTER


def structure(title, /, **fields):
    return type(title, (c.Structure,), {"_fields_": list(fields.items())})


String = structure("String", length=U, data=c.c_char * 1024)
Vector = F * 3
Matrix = F * 16
VertexWeight = structure("VertexWeight", vertex=U, weight=F)
Bone = structure("Bone", name=String, count=U, armature=c.c_void_p, node=c.c_void_p, weights=P(VertexWeight), offset=Matrix)
AnimMesh = structure("AnimMesh", name=String, vertices=P(F), others=c.c_void_p * 3, colours=c.c_void_p * 8, uvs=c.c_void_p * 8, count=U, weight=F)
Mesh = structure(
    "Mesh", types=U, vertex_count=U, face_count=U, vertices=P(F), others=c.c_void_p * 3, colours=c.c_void_p * 8, uvs=c.c_void_p * 8,
    uv_components=U * 8, faces=c.c_void_p, bone_count=U, bones=P(P(Bone)), material=U, name=String, target_count=U,
    targets=P(P(AnimMesh)), method=U, box=F * 6, uv_names=c.c_void_p,
)
VectorKey = structure("VectorKey", time=D, value=Vector)
QuaternionKey = structure("QuaternionKey", time=D, value=F * 4)
Channel = structure(
    "Channel", name=String, position_count=U, positions=P(VectorKey), rotation_count=U, rotations=P(QuaternionKey), scale_count=U,
    scales=P(VectorKey), before=U, after=U,
)
MorphKey = structure("MorphKey", time=D, targets=P(U), weights=P(D), count=U)
MorphChannel = structure("MorphChannel", name=String, count=U, keys=P(MorphKey))
Animation = structure(
    "Animation", name=String, duration=D, ticks=D, channel_count=U, channels=P(P(Channel)), mesh_count=U, meshes=c.c_void_p,
    morph_count=U, morphs=P(P(MorphChannel)),
)


class Node(c.Structure):
    pass


Node._fields_ = [
    ("name", String), ("matrix", Matrix), ("parent", c.c_void_p), ("child_count", U), ("children", P(P(Node))), ("mesh_count", U),
    ("meshes", P(U)), ("metadata", c.c_void_p),
]
Scene = structure(
    "Scene", flags=U, root=P(Node), mesh_count=U, meshes=P(P(Mesh)), material_count=U, materials=c.c_void_p, animation_count=U,
    animations=P(P(Animation)),
)


def library():
    lib = c.CDLL(ctypes.util.find_library("assimp") or "libassimp.so.5")
    lib.aiImportFile.argtypes, lib.aiImportFile.restype = [c.c_char_p, U], P(Scene)
    lib.aiReleaseImport.argtypes = [P(Scene)]
    lib.aiGetErrorString.restype = c.c_char_p
    return lib


def matrix_of(values):
    return np.array(values, dtype=np.float64).reshape(4, 4)


def between(times, time):
    """The keys around a time, and how far it is from the first to the second."""
    after = int(np.searchsorted(times, time, side="right"))
    if after == 0 or after == len(times):
        return max(after - 1, 0), max(after - 1, 0), 0.0
    return after - 1, after, (time - times[after - 1]) / (times[after] - times[after - 1])


def vector_at(keys, count, time):
    a, b, u = between([keys[k].time for k in range(count)], time)
    return (1 - u) * np.array(keys[a].value) + u * np.array(keys[b].value)


def rotation_at(keys, count, time):
    a, b, u = between([keys[k].time for k in range(count)], time)
    p, q = np.array(keys[a].value, dtype=np.float64), np.array(keys[b].value, dtype=np.float64)
    dot = float(p @ q)
    q, dot = (-q, -dot) if dot < 0 else (q, dot)
    angle = math.acos(min(dot, 1.0))
    if angle < 1e-3:
        return (1 - u) * p + u * q
    return (math.sin((1 - u) * angle) * p + math.sin(u * angle) * q) / math.sin(angle)


def compose(translation, rotation, scale):
    w, x, y, z = rotation
    out = np.eye(4)
    out[:3, :3] = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]) * scale
    out[:3, 3] = translation
    return out


def key_weights(key):
    """Weights by target: assimp lists targets in the order of a set of addresses, which differs from run to run."""
    return {key.targets[n]: key.weights[n] for n in range(key.count)}


def pose_of(animation, time):
    """Local matrices by the name of the node, and weights of morph targets by the name of the mesh's node, which has the number of the mesh
    after a '*' where the file is FBX."""
    ticks = time * (animation.ticks or 1)
    locals_, morphs = {}, {}
    for n in range(animation.channel_count):
        one = animation.channels[n].contents
        locals_[one.name.data] = compose(
            vector_at(one.positions, one.position_count, ticks),
            rotation_at(one.rotations, one.rotation_count, ticks),
            vector_at(one.scales, one.scale_count, ticks),
        )
    for n in range(animation.morph_count):
        one = animation.morphs[n].contents
        a, b, u = between([one.keys[k].time for k in range(one.count)], ticks)
        weights = [key_weights(one.keys[k]) for k in (a, b)]
        morphs[one.name.data.split(b"*")[0]] = {t: (1 - u) * weights[0].get(t, 0) + u * weights[1].get(t, 0) for t in {**weights[0], **weights[1]}}
    return locals_, morphs


def vertices_of(pointer, count):
    return np.ctypeslib.as_array(pointer, shape=(count, 3)).astype(np.float64)


def morphed(mesh, weights):
    base = vertices_of(mesh.vertices, mesh.vertex_count)
    out = base.copy()
    for t in range(mesh.target_count):
        target = mesh.targets[t].contents
        weight = target.weight if weights is None else weights.get(t, 0)
        if weight and target.vertices:
            out += weight * (vertices_of(target.vertices, target.count) - base)
    return out


def skinned(mesh, local, worlds):
    out = np.zeros_like(local)
    for j in range(mesh.bone_count):
        bone = mesh.bones[j].contents
        matrix = worlds[bone.name.data] @ matrix_of(bone.offset)
        if bone.count:
            entries = (VertexWeight * bone.count).from_address(c.addressof(bone.weights.contents))
            entries = np.frombuffer(entries, dtype=[("vertex", "u4"), ("weight", "f4")])
            moved = local[entries["vertex"]] @ matrix[:3, :3].T + matrix[:3, 3]
            np.add.at(out, entries["vertex"], entries["weight"][:, None] * moved)
    return out


def world_positions(scene, locals_, morphs):
    worlds, drawn, parts = {}, [], []

    def visit(node, parent):
        world = parent @ locals_.get(node.name.data, matrix_of(node.matrix))
        worlds[node.name.data] = world
        drawn.extend((node.name.data, world, node.meshes[m]) for m in range(node.mesh_count))
        for n in range(node.child_count):
            visit(node.children[n].contents, world)

    visit(scene.root.contents, np.eye(4))
    for name, world, number in drawn:
        mesh = scene.meshes[number].contents
        local = morphed(mesh, {} if morphs is None else morphs.get(name))
        parts.append(skinned(mesh, local, worlds) if mesh.bone_count else local @ world[:3, :3].T + world[:3, 3])
    return parts


def evaluate(lib, job):
    pointer = lib.aiImportFile(job["file"].encode(), 0)
    if not pointer:
        return {"error": f"refuses the file: {lib.aiGetErrorString().decode()}"}
    scene = pointer.contents
    # At rest 5.2 gives the only shape of an FBX channel weight 1, whatever its DeformPercent says: these are not looked at.
    rest = ({}, None if job["file"].endswith(".fbx") else {})
    poses = []
    for motion, seconds in job["moments"]:
        if motion >= scene.animation_count:
            return {"error": f"has {scene.animation_count} animations"}
        state = pose_of(scene.animations[motion].contents, seconds) if motion >= 0 else rest
        poses.append(world_positions(scene, *state))
    np.concatenate([part for pose in poses for part in pose]).astype(np.float32).tofile(job["out"] + ".bin")
    result = {"objects": [{"count": len(part)} for part in poses[0]]}
    lib.aiReleaseImport(pointer)
    return result


def main():
    lib = library()
    with open(sys.argv[1], encoding="utf-8") as file:
        jobs = json.load(file)
    for job in jobs:
        try:
            result = evaluate(lib, job)
        except Exception as error:  # the next job goes on
            result = {"error": f"{type(error).__name__}: {error}"}
        with open(job["out"] + ".json", "w", encoding="utf-8") as file:
            json.dump(result, file)


main()
