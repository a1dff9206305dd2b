"""blender -b --factory-startup --python blender.py -- JOBS.json: vertex positions as Blender evaluates them.

JOBS.json is a list of jobs; each starts from an empty scene and is one of

    {"file": "rig.glb", "moments": [[motion, seconds]…], "out": "stem"}                    motion -1: the rest pose
    {"file": "mesh.obj", "cache": "clip.pc2", "moments": [[0, seconds]…], "fps": 24, "up": "Y", "out": "stem"}
    {"file": "rig.fbx", "names": ["Walk"…], "moments": [[motion, seconds]…], "out": "stem"} names of the motions
    {"file": "rig.glb", "export": "out.glb", "fps": 30, "settings": {…}, "out": "stem"}    settings of export_scene.gltf

and writes stem.json: {"objects": [{"name", "node", "count"}…]} or {"error": "…"}; and, for moments, stem.bin: float32
[moment][object][vertex][3] in world space, with the axes of glTF. `node` is the number of the glTF node that has the mesh.
An object's vertices are those that indices of its primitives name, primitive by primitive, in ascending order: the
importer drops all others. Times between frames are evaluated as such (subframes), at Blender's own 24 frames per second;
exports are sampled at the rate that the job says.
"""
import json
import math
import sys

import bpy
import numpy as np

FPS = 24

# Debian's numpy is newer than its Blender 3.4, whose glTF importer still says np.bool.
if "bool" not in np.__dict__:
    np.bool = bool


def empty_scene(fps):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.preferences.addon_enable(module="io_scene_gltf2")
    bpy.context.scene.render.fps = fps
    bpy.context.scene.render.fps_base = 1


def import_gltf(path):
    """Imports a file as a user does. Returns what the importer knows (which object has the mesh of which node), and the
    rest pose: the first action moves everything as soon as it is there."""
    from io_scene_gltf2.blender.imp.gltf2_blender_scene import BlenderScene

    kept = []
    create = BlenderScene.create_animations

    def keep(gltf):
        kept.extend((gltf, Rest()))
        create(gltf)

    BlenderScene.create_animations = keep
    try:
        bpy.ops.import_scene.gltf(filepath=path)
    finally:
        BlenderScene.create_animations = create
    return kept


def import_fbx(job, animated):
    """Imports an FBX file as a user does, or without its actions: then everything is in the rest pose. Returns its meshes."""
    bpy.ops.preferences.addon_enable(module="io_scene_fbx")
    bpy.ops.import_scene.fbx(filepath=job["file"], use_anim=animated)
    return [o for o in bpy.data.objects if o.type == "MESH"]


def play_fbx(name):
    """Gives every object and shape key the action of this stack; actions are named OBJECT|STACK|LAYER."""
    for owner in list(bpy.data.objects) + list(bpy.data.shape_keys):
        own = [a for a in bpy.data.actions if a.name.split("|")[:2] == [owner.name, name]]
        if own:
            owner.animation_data_create().action = own[0]


def evaluate_fbx(job):
    poses = []
    for motion, seconds in job["moments"]:
        if motion < 0 or not poses or poses[-1][0] < 0:
            empty_scene(FPS)
            objects = import_fbx(job, motion >= 0)
        if motion >= 0:
            play_fbx(job["names"][motion])
            scene = bpy.context.scene
            frame = 1 + seconds * scene.render.fps / scene.render.fps_base  # the importer starts at frame 1
            whole = math.floor(frame)
            scene.frame_set(whole, subframe=min(frame - whole, 0.9999999))
        bpy.context.view_layer.update()
        poses.append((motion, world_positions(objects)))
    np.concatenate([part for _, pose in poses for part in pose]).astype(np.float32).tofile(job["out"] + ".bin")
    return {"objects": [{"name": o.name, "count": len(part)} for o, part in zip(objects, poses[0][1])]}


def import_cache(job):
    """An OBJ whose vertices a cache moves, through Blender's Mesh Cache modifier. Every mesh gets the whole cache."""
    bpy.ops.wm.obj_import(filepath=job["file"])
    objects = [o for o in bpy.data.objects if o.type == "MESH"]
    for o in objects:
        modifier = o.modifiers.new("cache", "MESH_CACHE")
        modifier.cache_format = "PC2" if job["cache"].lower().endswith("pc2") else "MDD"
        modifier.filepath = job["cache"]
        modifier.frame_start = 0
        modifier.frame_scale = job.get("fps", FPS) / FPS
        # The importer turns the object, not its vertices: the cache is in the axes of the OBJ.
        modifier.forward_axis = "POS_Y"
        modifier.up_axis = "POS_Z"
        modifier.interpolation = "LINEAR"
    return objects


class Rest:
    """The state before any action is evaluated: objects, pose bones, shape keys."""

    def __init__(self):
        self.objects = [(o, o.location.copy(), o.rotation_quaternion.copy(), o.scale.copy()) for o in bpy.data.objects]
        self.bones = [
            (b, b.location.copy(), b.rotation_quaternion.copy(), b.scale.copy())
            for o in bpy.data.objects
            if o.pose
            for b in o.pose.bones
        ]
        self.keys = [(k, k.value) for shape in bpy.data.shape_keys for k in shape.key_blocks]

    def restore(self):
        for owner in list(bpy.data.objects) + list(bpy.data.shape_keys):
            if owner.animation_data:
                owner.animation_data.action = None
        for owner, location, rotation, scale in self.objects + self.bones:
            owner.location, owner.rotation_quaternion, owner.scale = location, rotation, scale
        for key, value in self.keys:
            key.value = value


def world_positions(objects):
    """[vertex][3] of the evaluated meshes, one after the other, turned back to the axes of glTF."""
    graph = bpy.context.evaluated_depsgraph_get()
    parts = []
    for o in objects:
        evaluated = o.evaluated_get(graph)
        mesh = evaluated.to_mesh()
        local = np.empty(3 * len(mesh.vertices), dtype=np.float32)
        mesh.vertices.foreach_get("co", local)
        evaluated.to_mesh_clear()
        matrix = np.array(evaluated.matrix_world, dtype=np.float64)
        world = local.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]
        parts.append(np.column_stack((world[:, 0], world[:, 2], -world[:, 1])))
    return parts


def go_to(seconds):
    frame = seconds * FPS
    whole = math.floor(frame)
    bpy.context.scene.frame_set(whole, subframe=min(frame - whole, 0.9999999))


def evaluate(job):
    if job["file"].endswith(".fbx"):
        return evaluate_fbx(job)
    if "cache" in job:
        named = [(None, o) for o in import_cache(job)]
        names = None
    else:
        gltf, rest = import_gltf(job["file"])
        named = [(v.mesh_node_idx, v.blender_object) for v in gltf.vnodes.values() if v.mesh_node_idx is not None]
        named = [(node, o) for node, o in named if o and o.type == "MESH"]
        names = [animation.track_name for animation in gltf.data.animations or []]
    if "export" in job:
        bpy.ops.export_scene.gltf(filepath=job["export"], **job.get("settings", {}))
        return {"objects": []}
    poses = []
    for motion, seconds in job["moments"]:
        if names is not None:
            rest.restore()
            if motion >= 0:
                from io_scene_gltf2.blender.imp.gltf2_blender_animation import BlenderAnimation

                BlenderAnimation.restore_animation(gltf, names[motion])
        go_to(seconds)
        bpy.context.view_layer.update()
        poses.append(world_positions([o for _, o in named]))
    np.concatenate([part for pose in poses for part in pose]).astype(np.float32).tofile(job["out"] + ".bin")
    return {"objects": [{"name": o.name, "node": node, "count": len(part)} for (node, o), part in zip(named, poses[0])]}


def main():
    with open(sys.argv[sys.argv.index("--") + 1], encoding="utf-8") as file:
        jobs = json.load(file)
    for job in jobs:
        empty_scene(job.get("fps", FPS) if "export" in job else FPS)
        try:
            result = evaluate(job)
        except Exception as error:  # the next job goes on
            lines = [line.strip() for line in str(error).splitlines() if "Error: " in line]
            result = {"error": (lines or [str(error)])[-1]}
        with open(job["out"] + ".json", "w", encoding="utf-8") as file:
            json.dump(result, file)


main()
