"""Levels of detail that hold in every pose of the frame range."""
import bpy
import numpy as np

from . import gltf, matrices, options, scene
from .job import Job
from .program import Failed


class PELT_OT_simplify(Job, bpy.types.Operator):
    bl_idname = "pelt.simplify"
    bl_label = "Levels of Detail"
    bl_description = (
        "Make copies of the active mesh with fewer triangles, which hold in all poses of the frame range. "
        "Vertex groups, UVs, materials and shape keys are kept"
    )

    levels: bpy.props.IntProperty(
        name="Levels",
        default=1,
        min=1,
        max=8,
        description="1: one level with Ratio of the triangles. More: each has half of the triangles of the one before",
    )

    @classmethod
    def set_options(cls):
        options.annotate(cls, "simplify", "ratio error poses keep-positions".split())

    def arguments(self):
        given = options.arguments(self)
        if self.levels > 1:  # the file itself is the first
            given += ["--lods", str(self.levels + 1)]
            if "--ratio" in given:
                at = given.index("--ratio")
                del given[at : at + 2]
        return given

    @classmethod
    def poll(cls, context):
        good = context.mode == "OBJECT" and context.object is not None and context.object.type == "MESH"
        if not good:
            cls.poll_message_set("Select a mesh in object mode")
        return good

    def prepare(self, context, run):
        o = context.object
        if not o.data.polygons:
            raise Failed("%s has no faces" % o.name)
        self.armature = scene.armature_of(o)
        corners, of_vertex, indices, uvs = self._split(o.data)
        if self.armature:
            rig = scene.RigFile(self.armature, [o])
            rig.add_meshes()
            rig.add_motion(context, scene.frame_numbers(context.scene), scene.frame_rate(context.scene))
            file, nodes = rig.file, rig.nodes
        else:
            file, nodes = gltf.Writer(), [{"mesh": 0}]
            positions = matrices.move(matrices.TO_GLTF @ scene.world(o), scene.rest_vertices(o.data))
            file.json["meshes"] = [{"primitives": [{"attributes": {"POSITION": file.array(positions)}}]}]
        # One vertex for each corner that differs, with the number of that corner.
        primitive = file.json["meshes"][0]["primitives"][0]
        for name, accessor in primitive["attributes"].items():
            whole = file.values(accessor)
            primitive["attributes"][name] = file.array(whole[of_vertex], whole.dtype)
        primitive["attributes"]["_CORNER"] = file.array(corners)
        if uvs is not None:
            primitive["attributes"]["TEXCOORD_0"] = file.array(uvs)
        primitive["indices"] = file.array(indices, np.uint32)
        file.json.update(nodes=nodes, scene=0)
        file.json["scenes"] = [{"nodes": [0] + [n for n, node in enumerate(nodes) if "mesh" in node and n > 0]}]
        file.save(run.path("rig.glb"))
        return ["simplify", "rig.glb", "-o", "lod_%d.glb" if self.levels > 1 else "lod_1.glb"]

    @staticmethod
    def _split(mesh):
        """Corners that are the vertices of the file, the mesh's vertex of each, triangles, and UVs (None without)."""
        mesh.calc_loop_triangles()
        loops = np.empty(3 * len(mesh.loop_triangles), np.int32)
        mesh.loop_triangles.foreach_get("loops", loops)
        vertex = np.empty(len(mesh.loops), np.int32)
        mesh.loops.foreach_get("vertex_index", vertex)
        material = np.zeros(len(mesh.loops))
        for polygon in mesh.polygons:
            material[polygon.loop_start : polygon.loop_start + polygon.loop_total] = polygon.material_index
        maps = [scene.vertices(layer.data, "uv", 2) for layer in mesh.uv_layers]
        columns = np.column_stack([vertex, material] + maps)
        _, first, number = np.unique(columns, axis=0, return_index=True, return_inverse=True)
        uvs = scene.vertices(mesh.uv_layers.active.data, "uv", 2)[first] if mesh.uv_layers.active else None
        return first, vertex[first], number.reshape(-1)[loops], uvs

    def apply(self, context, run):
        source = context.object
        readers = [gltf.Reader(run.path("lod_%d.glb" % level)) for level in range(1, self.levels + 1)]
        made = [self._level(context, source, reader, level + 1) for level, reader in enumerate(readers)]
        for other in context.selected_objects:
            other.select_set(False)
        for o in made:
            o.select_set(True)
        context.view_layer.objects.active = made[0]
        source.data.calc_loop_triangles()
        counts = [len(source.data.loop_triangles)] + [len(o.data.polygons) for o in made]
        return " to ".join(map(str, counts)) + " triangles"

    def _level(self, context, source, reader, level):
        attributes, _ = reader.attributes(reader.mesh_nodes()[0])
        mesh_json = reader.json["meshes"][0]["primitives"][0]
        corner = np.rint(reader.array(attributes["_CORNER"])).astype(int)
        indices = reader.array(mesh_json["indices"]).astype(int)
        loop_vertex = np.empty(len(source.data.loops), np.int32)
        source.data.loops.foreach_get("vertex_index", loop_vertex)
        kept, first, of_file = np.unique(loop_vertex[corner], return_index=True, return_inverse=True)
        to_mesh = np.linalg.inv(scene.world(source)) @ matrices.FROM_GLTF
        points = matrices.move(to_mesh, reader.array(attributes["POSITION"])[first])
        corners = corner[indices]  # of the source, for each corner of the new mesh

        mesh = bpy.data.meshes.new("%s LOD%d" % (source.name, level))
        mesh.from_pydata(points.tolist(), [], of_file[indices].reshape(-1, 3).tolist())
        for material in source.data.materials:
            mesh.materials.append(material)
        polygon_of = np.zeros(len(source.data.loops), int)
        for polygon in source.data.polygons:
            polygon_of[polygon.loop_start : polygon.loop_start + polygon.loop_total] = polygon.index
        for face, corner in zip(mesh.polygons, corners[::3]):
            polygon = source.data.polygons[polygon_of[corner]]
            face.material_index, face.use_smooth = polygon.material_index, polygon.use_smooth
        for layer in source.data.uv_layers:
            values = scene.vertices(layer.data, "uv", 2)[corners]
            mesh.uv_layers.new(name=layer.name).data.foreach_set("uv", values.ravel())
        for layer in source.data.color_attributes:
            values = scene.vertices(layer.data, "color", 4)[kept if layer.domain == "POINT" else corners]
            copy = mesh.color_attributes.new(layer.name, layer.data_type, layer.domain)
            copy.data.foreach_set("color", values.ravel())
        mesh.update()

        o = bpy.data.objects.new(mesh.name, mesh)
        context.collection.objects.link(o)
        for group in source.vertex_groups:
            o.vertex_groups.new(name=group.name)
        for i, vertex in enumerate(kept):
            for g in source.data.vertices[vertex].groups:
                o.vertex_groups[g.group].add([i], g.weight, "REPLACE")
        if source.data.shape_keys:
            self._copy_keys(source, o, kept)
        if self.armature:
            scene.add_armature_modifier(o, self.armature)
        o.parent, o.parent_type = source.parent, source.parent_type
        o.parent_bone = source.parent_bone
        o.matrix_parent_inverse = source.matrix_parent_inverse
        o.matrix_basis = source.matrix_basis
        return o

    @staticmethod
    def _copy_keys(source, o, kept):
        """Shape keys with the displacements and values of the source's vertices."""
        rest, own = scene.rest_vertices(source.data), scene.vertices(o.data.vertices)
        for key in source.data.shape_keys.key_blocks:
            copy = o.shape_key_add(name=key.name, from_mix=False)
            copy.data.foreach_set("co", (own + (scene.vertices(key.data) - rest)[kept]).ravel())
            copy.slider_min, copy.slider_max, copy.value = key.slider_min, key.slider_max, key.value
