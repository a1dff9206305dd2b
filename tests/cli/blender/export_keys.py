"""A tube with two bones and a shape key, both animated: apart.glb as the exporter writes it, together.glb as one animation, and
tube.obj with tube.mdd."""
import math

import bpy

bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.mesh.primitive_cylinder_add(vertices=8, radius=0.3, depth=2, location=(0, 0, 1))
tube = bpy.context.object
bpy.ops.object.transform_apply(location=True)
bpy.ops.object.armature_add()
armature = bpy.context.object
bpy.ops.object.mode_set(mode="EDIT")
bones = armature.data.edit_bones
bones[0].tail = (0, 0, 1)
top = bones.new("Top")
top.head, top.tail, top.parent = (0, 0, 1), (0, 0, 2), bones[0]
bpy.ops.object.mode_set(mode="OBJECT")
for name in ("Bone", "Top"):
    tube.vertex_groups.new(name=name)
for vertex in tube.data.vertices:
    tube.vertex_groups["Top" if vertex.co.z > 1 else "Bone"].add([vertex.index], 1, "REPLACE")
tube.modifiers.new("Armature", "ARMATURE").object = armature
tube.parent = armature
tube.shape_key_add(name="Basis")
fat = tube.shape_key_add(name="Fat")
for vertex in tube.data.vertices:
    fat.data[vertex.index].co = (1.5 * vertex.co.x, 1.5 * vertex.co.y, vertex.co.z)
bpy.context.scene.render.fps = 24
bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 25
bone = armature.pose.bones["Top"]
bone.rotation_mode = "QUATERNION"
for frame, angle in ((1, 0), (13, 0.8), (25, 0)):
    bone.rotation_quaternion = (math.cos(angle / 2), math.sin(angle / 2), 0, 0)
    bone.keyframe_insert("rotation_quaternion", frame=frame)
for frame, value in ((1, 0), (10, 1), (25, 0.2)):
    fat.value = value
    fat.keyframe_insert("value", frame=frame)
bpy.ops.export_scene.gltf(filepath="apart.glb")
bpy.ops.export_scene.gltf(filepath="together.glb", export_nla_strips=False)
bpy.ops.preferences.addon_enable(module="io_shape_mdd")
for thing in bpy.data.objects:
    thing.select_set(thing == tube)
bpy.context.view_layer.objects.active = tube
bpy.context.scene.frame_set(1)
bpy.ops.wm.obj_export(filepath="tube.obj", export_selected_objects=True)
bpy.ops.export_shape.mdd(filepath="tube.mdd", frame_start=1, frame_end=25, fps=24)
