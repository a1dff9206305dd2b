"""Soft tissue: simulate the motion of a rig in the frame range, as helper bones or shape keys."""
import bpy
import numpy as np

from . import gltf, options, scene
from .job import Job
from .program import Failed


class PELT_OT_jiggle(Job, bpy.types.Operator):
    bl_idname = "pelt.jiggle"
    bl_label = "Jiggle"
    bl_description = (
        "Simulate soft tissue of the active mesh in the frame range: bends keep their volume, fat and ears swing. "
        "Adds keyed helper bones to its armature, or keyed shape keys to the mesh"
    )

    result: bpy.props.EnumProperty(
        name="Result",
        items=[
            ("bones", "Bones", "Helper bones with keys, below the bones of the armature; vertex groups change"),
            ("morphs", "Shape keys", "Shape keys with keys; bones and vertex groups stay"),
        ],
        default="bones",
        description="What shows the simulation",
    )

    @classmethod
    def set_options(cls):
        simulation = "delta stiffness frequency damping volume softness soft gravity loop preroll particles".split()
        options.annotate(cls, "jiggle", simulation + ["add", "corrections", "transforms"], transforms="trs")

    def arguments(self):
        given = options.arguments(self)
        if self.result == "morphs":  # no new bones
            for name in ("--transforms", "--add"):
                if name in given:
                    at = given.index(name)
                    del given[at : at + 2]
        return given

    @classmethod
    def poll(cls, context):
        o = context.object
        good = context.mode == "OBJECT" and o is not None and o.type == "MESH" and scene.armature_of(o) is not None
        if not good:
            cls.poll_message_set("Select a mesh with an armature in object mode")
        return good

    def prepare(self, context, run):
        o = context.object
        self.numbers = scene.frame_numbers(context.scene)
        self.fps = scene.frame_rate(context.scene)
        if len(self.numbers) < 2:
            raise Failed("The frame range has one frame only; there is no motion to simulate")
        self.armature = scene.armature_of(o)
        self.rig = scene.RigFile(self.armature, [o])
        self.rig.add_meshes()
        self.rig.add_motion(context, self.numbers, self.fps)
        self.rig.save(run.path("rig.glb"))
        return ["jiggle", "rig.glb", "-o", "soft.glb", "--as", self.result, "--fps", repr(self.fps)]

    def apply(self, context, run):
        o = context.object
        reader = gltf.Reader(run.path("soft.glb"))
        node = reader.mesh_nodes()[0]
        moments = np.arange(len(self.numbers)) / self.fps
        text = []
        if self.result == "bones":
            text.append("%d helper bones" % self._add_helpers(context, o, reader, node, moments))
        keys = scene.add_shape_keys(o, reader, node)
        if keys:
            scene.key_weights(o, reader, node, keys, moments, self.numbers)
            text.append("%d shape keys" % len(keys))
        return "Added " + " and ".join(text)

    def _add_helpers(self, context, o, reader, node, moments):
        joints, binds, bones, weights = reader.skin(node)
        rest, pose = scene.node_matrices(reader, None, [0.0]), scene.node_matrices(reader, 0, moments)
        root, roots = rest[0][0], pose[0]  # node 0 is the armature object
        rest = [np.linalg.inv(root) @ m[0] for m in rest]
        pose = [np.linalg.inv(roots) @ m for m in pose]
        bone_of = {n + 1: name for n, name in enumerate(self.rig.names)}
        ends = len(self.rig.nodes)
        new_binds = {n: bind @ root for n, bind in zip(joints, binds) if n >= ends}
        if not (self.armature.animation_data and self.armature.animation_data.action):
            scene.new_action(self.armature, self.armature.name)
        length = 0.05 * float(np.linalg.norm(self.armature.dimensions)) or 0.05
        scene.add_moving_bones(context, self.armature, reader, rest, pose, new_binds, self.numbers, length, bone_of)
        bones_only = np.array([n in bone_of for n in joints])[bones]
        names = [bone_of.get(n) for n in joints]
        scene.set_vertex_groups(o, names, bones, np.where(bones_only, weights, 0))
        return len(new_binds)
