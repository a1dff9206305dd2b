"""Turn a vertex animation into bones: modifiers, shape keys, caches and cloth over the frame range."""
import bpy
import numpy as np

from . import gltf, matrices, options, scene
from .job import Job
from .program import Failed


class PELT_OT_decompose(Job, bpy.types.Operator):
    bl_idname = "pelt.decompose"
    bl_label = "Animation to Bones"
    bl_description = (
        "Make a new mesh with an armature that moves as the active mesh does in the frame range: "
        "with its modifiers, shape keys, caches, cloth"
    )

    error_colours: bpy.props.BoolProperty(
        name="Error as colours",
        default=True,
        description="Add a colour attribute: blue where the bones fit best, red where they miss most",
    )

    @classmethod
    def set_options(cls):
        # Blender's bones have a translation, rotation and scale; affine bones are pairs of them, hard to edit by hand.
        names = "bones error influences transforms effort smooth corrections hierarchy fixed-rest".split()
        options.annotate(cls, "decompose", names, transforms="trs")

    @classmethod
    def poll(cls, context):
        good = context.mode == "OBJECT" and context.object is not None and context.object.type == "MESH"
        if not good:
            cls.poll_message_set("Select a mesh in object mode")
        return good

    def prepare(self, context, run):
        o = context.object
        self.numbers = scene.frame_numbers(context.scene)
        self.fps = scene.frame_rate(context.scene)
        frames = scene.sample_positions(context, o, self.numbers)
        if (frames == frames[0]).all():
            raise Failed("%s does not move in frames %d to %d" % (o.name, self.numbers[0], self.numbers[-1]))
        with scene.Frames(context, self.numbers[:1]) as first:
            for _ in first:
                self.origin = np.array(o.evaluated_get(context.evaluated_depsgraph_get()).matrix_world.translation)
                mesh = scene.evaluated_mesh(context, o)
        self.frames = frames - self.origin.astype(np.float32)
        in_file = self.frames @ matrices.TO_GLTF[:3, :3].T.astype(np.float32)
        scene.mesh_file(run.path("mesh.glb"), mesh, in_file[0])
        bpy.data.meshes.remove(mesh)
        gltf.write_pc2(run.path("frames.pc2"), in_file)
        return ["decompose", "mesh.glb", "frames.pc2", "-o", "rig.glb", "--fps", repr(self.fps)]

    def apply(self, context, run):
        source = context.object
        reader = gltf.Reader(run.path("rig.glb"))
        node = reader.mesh_nodes()[0]
        joints, binds, bones, weights = reader.skin(node)
        moments = np.arange(len(self.numbers)) / self.fps
        # The armature's space is that of the file, with Blender's axes.
        rest = [matrices.FROM_GLTF @ m[0] for m in scene.node_matrices(reader, None, [0.0])]
        pose = [matrices.FROM_GLTF @ m for m in scene.node_matrices(reader, 0, moments)]
        binds = binds @ matrices.TO_GLTF
        size = float(np.linalg.norm(np.ptp(self.frames[0], axis=0)))

        armature = bpy.data.objects.new(source.name + " bones", bpy.data.armatures.new(source.name + " bones"))
        armature.location = self.origin
        context.collection.objects.link(armature)
        scene.new_action(armature, armature.name)
        bone_of = {}
        length = 0.05 * size or 0.05
        bind_of = dict(zip(joints, binds))
        scene.add_moving_bones(context, armature, reader, rest, pose, bind_of, self.numbers, length, bone_of)

        with scene.Frames(context, self.numbers[:1]) as first:
            for _ in first:
                mesh = scene.evaluated_mesh(context, source)
        positions = matrices.move(matrices.FROM_GLTF, reader.array(reader.attributes(node)[0]["POSITION"]))
        mesh.vertices.foreach_set("co", positions.astype(np.float32).ravel())
        mesh.update()
        mesh.name = source.name + " skin"
        o = bpy.data.objects.new(source.name + " skin", mesh)
        context.collection.objects.link(o)
        o.vertex_groups.clear()
        scene.set_vertex_groups(o, [bone_of[n] for n in joints], bones, weights)
        scene.add_armature_modifier(o, armature)
        keys = scene.add_shape_keys(o, reader, node)
        if keys:
            scene.key_weights(o, reader, node, keys, moments, self.numbers)
        o.parent = armature

        deforms = [pose[n] @ bind for n, bind in zip(joints, binds)]
        errors = self._errors(reader, node, positions, deforms, bones, weights, moments)
        if self.error_colours:
            self._add_colours(mesh, errors)
        for other in context.selected_objects:
            other.select_set(False)
        o.select_set(True)
        context.view_layer.objects.active = o
        self.frames = None  # the operator stays in Blender's history
        rms = 100 * float(np.sqrt(np.mean(errors**2))) / (size or 1)
        return "%d bones, RMS error %.3g %% of the size" % (len(joints), rms)

    def _errors(self, reader, node, rest, deforms, bones, weights, moments):
        """RMS distance of each vertex from the animation. deforms [bone][frame][4][4]."""
        points = np.broadcast_to(rest.astype(np.float32), self.frames.shape)
        targets = [reader.array(t["POSITION"]) @ matrices.FROM_GLTF[:3, :3].T for t in reader.attributes(node)[1]]
        if targets:
            times, values = reader.channels(0)[(node, "weights")]
            values = gltf.sample(times, values.reshape(len(times), -1), moments)
            points = points + np.tensordot(values, targets, 1).astype(np.float32)
        off = -self.frames
        for b, deform in enumerate(deforms):
            weight = np.where(bones == b, weights, 0).sum(axis=1)
            some = np.nonzero(weight)[0]
            matrix = deform.astype(np.float32)
            moved = points[:, some] @ matrix[:, :3, :3].transpose(0, 2, 1) + matrix[:, None, :3, 3]
            off[:, some] += weight[some, None].astype(np.float32) * moved
        return np.sqrt(np.mean(np.sum(off * off, axis=2, dtype=float), axis=0))

    @staticmethod
    def _add_colours(mesh, errors):
        """Blue, green, red from no error to the largest."""
        t = errors / (errors.max() or 1)
        red, green, blue = np.clip(2 * t - 1, 0, 1), 1 - np.abs(2 * t - 1), np.clip(1 - 2 * t, 0, 1)
        ramp = np.column_stack((red, green, blue, np.ones_like(t)))
        layer = mesh.color_attributes.new("Pelt error", "FLOAT_COLOR", "POINT")
        layer.data.foreach_set("color", ramp.astype(np.float32).ravel())
        mesh.color_attributes.active_color = layer
