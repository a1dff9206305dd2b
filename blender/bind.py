"""Bind meshes to an armature: vertex groups from Pelt's voxels."""
import bpy

from . import gltf, options, scene
from .job import Job
from .program import Failed

_AXES = {"x": "x", "y": "z", "z": "y"}  # Blender's axes in the file


class PELT_OT_bind(Job, bpy.types.Operator):
    bl_idname = "pelt.bind"
    bl_label = "Bind with Pelt"
    bl_description = "Give the selected meshes vertex groups for the deforming bones of an armature; the pose stays"

    @classmethod
    def set_options(cls):
        names = "falloff smooth influences method resolution separate prune mirror rigid-parts no-fit".split()
        options.annotate(cls, "bind", names)

    def arguments(self):
        result = options.arguments(self)
        if "--mirror" in result:
            at = result.index("--mirror") + 1
            result[at] = _AXES[result[at]]
        return result

    @classmethod
    def poll(cls, context):
        meshes, armature = cls.subjects(context)
        if not meshes or not armature:
            cls.poll_message_set("Select meshes and an armature")
        return bool(meshes and armature) and context.mode in {"OBJECT", "POSE", "PAINT_WEIGHT"}

    @staticmethod
    def subjects(context):
        meshes = [o for o in context.selected_objects if o.type == "MESH"]
        if context.object and context.object.type == "MESH" and context.object not in meshes:
            meshes.append(context.object)
        armatures = [o for o in context.selected_objects if o.type == "ARMATURE"]
        if context.object and context.object.type == "ARMATURE":
            armatures.insert(0, context.object)
        armatures += [a for a in map(scene.armature_of, meshes) if a]
        return meshes, armatures[0] if armatures else None

    def prepare(self, context, run):
        self.meshes, self.armature = self.subjects(context)
        empty = [o.name for o in self.meshes if not o.data.polygons]
        if empty:
            raise Failed("%s has no faces" % empty[0])
        self.rig = scene.RigFile(self.armature, self.meshes)
        self.rig.add_meshes(weights=False)
        self.rig.save(run.path("rig.glb"))
        return ["bind", "rig.glb", "-o", "bound.glb", "--joints", "all"]

    def apply(self, context, run):
        reader = gltf.Reader(run.path("bound.glb"))
        for o, node in zip(self.meshes, reader.mesh_nodes()):
            joints, _, bones, weights = reader.skin(node)
            names = [reader.json["nodes"][n]["name"] for n in joints]
            scene.set_vertex_groups(o, names, bones, weights)
            scene.add_armature_modifier(o, self.armature)
            if o.parent is None:
                o.parent = self.armature
                o.matrix_parent_inverse = self.armature.matrix_world.inverted()
        count = sum(len(o.data.vertices) for o in self.meshes)
        return "%d vertices bound to %s" % (count, self.armature.name)
