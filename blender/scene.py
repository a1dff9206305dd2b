"""Blender's data to arrays and files, and back."""
import bpy
import numpy as np
from mathutils import Matrix

from . import gltf, matrices
from .program import Failed

# ---- Objects of the context -------------------------------------------------------------------------------------


def armature_of(mesh_object):
    """The armature that deforms a mesh: of its first Armature modifier, else its parent; None."""
    for modifier in mesh_object.modifiers:
        if modifier.type == "ARMATURE" and modifier.object:
            return modifier.object
    return mesh_object.parent if mesh_object.parent and mesh_object.parent.type == "ARMATURE" else None


def frame_numbers(scene):
    """Frames of the preview range if it is on, else of the scene."""
    preview = scene.use_preview_range
    first = scene.frame_preview_start if preview else scene.frame_start
    last = scene.frame_preview_end if preview else scene.frame_end
    return list(range(first, last + 1))


def frame_rate(scene):
    return scene.render.fps / scene.render.fps_base


class Frames:
    """Visits frames and restores the current one: `with Frames(context, numbers) as frames: for k in frames`."""

    def __init__(self, context, numbers):
        self.context, self.numbers = context, numbers

    def __enter__(self):
        scene = self.context.scene
        self.current, self.subframe = scene.frame_current, scene.frame_subframe
        self.context.window_manager.progress_begin(0, len(self.numbers))
        return self

    def __iter__(self):
        for k, number in enumerate(self.numbers):
            self.context.scene.frame_set(number)
            self.context.window_manager.progress_update(k)
            yield k

    def __exit__(self, *error):
        self.context.scene.frame_set(self.current, subframe=self.subframe)
        self.context.window_manager.progress_end()


# ---- Meshes -----------------------------------------------------------------------------------------------------


def vertices(collection, field="co", width=3):
    """A field of a collection of Blender as an array [item][width]."""
    values = np.empty(width * len(collection), np.float32)
    collection.foreach_get(field, values)
    return values.reshape(-1, width)


def rest_vertices(mesh):
    return vertices(mesh.shape_keys.reference_key.data if mesh.shape_keys else mesh.vertices)


def world(o):
    return np.array(o.matrix_world, float)


def evaluated_positions(context, o):
    """World positions of a mesh with all its modifiers, in the current frame."""
    evaluated = o.evaluated_get(context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    positions = matrices.move(world(evaluated), vertices(mesh.vertices))
    evaluated.to_mesh_clear()
    return positions.astype(np.float32)


def sample_positions(context, o, numbers):
    """float32 [frame][vertex][3] in world space. The topology must not change."""
    result = None
    with Frames(context, numbers) as frames:
        for k in frames:
            positions = evaluated_positions(context, o)
            if result is None:
                result = np.empty((len(numbers),) + positions.shape, np.float32)
            if len(positions) != result.shape[1]:
                raise Failed(
                    "%s has %d vertices in frame %d but %d in frame %d. "
                    "A modifier changes its topology; apply or disable it"
                    % (o.name, result.shape[1], numbers[0], len(positions), numbers[k])
                )
            result[k] = positions
    return result


def evaluated_mesh(context, o):
    """A new mesh with all modifiers of an object applied. Materials and UVs are those of the object."""
    graph = context.evaluated_depsgraph_get()
    return bpy.data.meshes.new_from_object(o.evaluated_get(graph), preserve_all_data_layers=True, depsgraph=graph)


def triangles(mesh):
    mesh.calc_loop_triangles()
    result = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("vertices", result)
    return result


# ---- Rigs to files ----------------------------------------------------------------------------------------------


def deform_bones(armature):
    """Names of the bones that a file gets, deforming ones and those above them, parents first; whether each deforms."""
    needed = set()
    for bone in armature.data.bones:
        if bone.use_deform:
            needed.update([bone.name] + [parent.name for parent in bone.parent_recursive])
    names, stack = [], [bone for bone in reversed(armature.data.bones) if bone.parent is None]
    while stack:
        bone = stack.pop()
        if bone.name in needed:
            names.append(bone.name)
        stack.extend(reversed(bone.children))
    return names, [armature.data.bones[name].use_deform for name in names]


def vertex_weights(o, names):
    """Bones and weights [vertex][K] of an object, normalised as the Armature modifier does; bone len(names): none."""
    bone_of = {group.index: names.index(group.name) for group in o.vertex_groups if group.name in names}
    rows = []
    for vertex in o.data.vertices:
        row = [(g.weight, bone_of[g.group]) for g in vertex.groups if g.group in bone_of and g.weight > 0]
        rows.append(sorted(row, key=lambda pair: (-pair[0], pair[1])) or [(1.0, len(names))])
    sets = (max(map(len, rows), default=1) + 3) // 4
    bones, weights = np.zeros((len(rows), 4 * sets), np.uint16), np.zeros((len(rows), 4 * sets))
    for i, row in enumerate(rows):
        weights[i, : len(row)] = [weight for weight, _ in row]
        bones[i, : len(row)] = [bone for _, bone in row]
    return bones, weights / weights.sum(axis=1, keepdims=True)


class RigFile:
    """An armature and meshes that it deforms as a .glb file: node 0 is the armature object, nodes 1 … its bones
    (`names`), then ends of last bones, then the meshes. Meshes are in their rest pose, in world space."""

    def __init__(self, armature, objects):
        self.armature, self.objects = armature, objects
        self.names, self.deforms = deform_bones(armature)
        if not any(self.deforms):
            raise Failed("%s has no bones that deform" % armature.name)
        bones = armature.data.bones
        self.parents = [self.names.index(bones[n].parent.name) if bones[n].parent else -1 for n in self.names]
        self.rest = np.array([np.array(bones[n].matrix_local, float) for n in self.names])
        self.root = matrices.TO_GLTF @ world(armature)
        self.file = gltf.Writer()
        self.nodes = [self._node("object " + armature.name, self.root)]
        for name, local in zip(self.names, self._locals(self.rest)):
            self.nodes.append(self._node(name, local))
        for j, parent in enumerate(self.parents):
            self.nodes[parent + 1].setdefault("children", []).append(j + 1)
        for j, name in enumerate(self.names):
            if j not in self.parents:
                self.nodes[j + 1]["children"] = [len(self.nodes)]
                self.nodes.append({"name": name + "_end", "translation": [0, bones[name].length, 0]})

    @staticmethod
    def _node(name, matrix):
        translation, rotation, scale = matrices.decompose(matrix)
        return {"name": name, "translation": list(translation), "rotation": list(rotation), "scale": list(scale)}

    def _locals(self, pose):
        """Matrices relative to parents of matrices [bone][4][4] in armature space."""
        return [m if p < 0 else np.linalg.inv(pose[p]) @ m for m, p in zip(pose, self.parents)]

    def add_meshes(self, weights=True, key_names=()):
        """`weights`: those of the vertex groups; else all vertices follow the first bone. `key_names`: shape keys of a
        single mesh to write as morph targets."""
        joints = [j + 1 for j, deforms in enumerate(self.deforms) if deforms]
        binds = [np.linalg.inv(self.root @ self.rest[j - 1]) for j in joints]
        names = [self.names[j - 1] for j in joints]
        joints.append(0)  # vertices without weights follow the armature object
        binds.append(np.linalg.inv(self.root))
        self.file.json["meshes"] = []
        used = False
        for o in self.objects:
            count = len(o.data.vertices)
            to_file = matrices.TO_GLTF @ world(o)
            points = rest_vertices(o.data)
            attributes = {"POSITION": self.file.array(matrices.move(to_file, points))}
            bones, values = np.zeros((count, 4), np.uint16), np.tile([1.0, 0, 0, 0], (count, 1))
            if weights:
                bones, values = vertex_weights(o, names)
            used = used or bool((bones[values > 0] == len(names)).any())
            for s in range(bones.shape[1] // 4):
                attributes["JOINTS_%d" % s] = self.file.array(bones[:, 4 * s : 4 * s + 4], np.uint16)
                attributes["WEIGHTS_%d" % s] = self.file.array(values[:, 4 * s : 4 * s + 4])
            primitive = {"attributes": attributes, "indices": self.file.array(triangles(o.data), np.uint32)}
            mesh = {"name": o.name, "primitives": [primitive]}
            if key_names:
                keys = o.data.shape_keys.key_blocks
                shapes = [(vertices(keys[name].data) - points) @ to_file[:3, :3].T for name in key_names]
                primitive["targets"] = [{"POSITION": self.file.array(shape)} for shape in shapes]
                mesh["extras"] = {"targetNames": list(key_names)}
            self.file.json["meshes"].append(mesh)
            self.nodes.append({"name": o.name + " mesh", "mesh": len(self.file.json["meshes"]) - 1, "skin": 0})
        if not used:
            joints.pop(), binds.pop()
        columns = np.array(binds).transpose(0, 2, 1).reshape(-1, 16)
        self.file.json["skins"] = [{"joints": joints, "inverseBindMatrices": self.file.array(columns)}]

    def pose(self, context):
        """Local transforms [1 + bone]: translation, rotation, scale; in the current frame."""
        armature = self.armature.evaluated_get(context.evaluated_depsgraph_get())
        pose = np.array([np.array(armature.pose.bones[n].matrix, float) for n in self.names])
        return matrices.decompose(np.array([matrices.TO_GLTF @ world(armature)] + self._locals(pose)))

    def add_motion(self, context, numbers, fps):
        """The pose in some frames, as an animation."""
        with Frames(context, numbers) as frames:
            poses = [self.pose(context) for _ in frames]
        times = self.file.array(np.arange(len(numbers)) / fps)
        samplers, channels = [], []
        for part, path in enumerate(("translation", "rotation", "scale")):
            values = np.array([pose[part] for pose in poses])
            for node in range(values.shape[1]):
                curve = matrices.continuous(values[:, node]) if path == "rotation" else values[:, node]
                channels.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
                samplers.append({"input": times, "output": self.file.array(curve)})
        self.file.json["animations"] = [{"name": "motion", "samplers": samplers, "channels": channels}]

    def save(self, path):
        mesh_nodes = [n for n, node in enumerate(self.nodes) if "mesh" in node]
        self.file.json.update(nodes=self.nodes, scenes=[{"nodes": [0] + mesh_nodes}], scene=0)
        self.file.save(path)


def mesh_file(path, mesh, positions):
    """A static mesh as a .glb file; positions with the axes of glTF."""
    file = gltf.Writer()
    primitive = {"attributes": {"POSITION": file.array(positions)}, "indices": file.array(triangles(mesh), np.uint32)}
    file.json.update(meshes=[{"primitives": [primitive]}], nodes=[{"mesh": 0}], scenes=[{"nodes": [0]}], scene=0)
    file.save(path)


# ---- Files to rigs ----------------------------------------------------------------------------------------------


def node_matrices(reader, motion, moments):
    """Global matrices [node][moment][4][4] of a motion; None: at rest."""
    channels = reader.channels(motion) if motion is not None else {}
    result, parents = {}, reader.parents()

    def matrix(node):
        if node not in result:
            parts = []
            for path, rest in zip(("translation", "rotation", "scale"), reader.rest(node)):
                times, values = channels.get((node, path), (np.zeros(1), rest[None]))
                parts.append(gltf.sample(times, values, moments, path == "rotation"))
            local = matrices.compose(*parts)
            result[node] = matrix(parents[node]) @ local if parents[node] >= 0 else local
        return result[node]

    return [matrix(node) for node in range(len(parents))]


def add_moving_bones(context, armature, reader, rest, pose, binds, numbers, length, bone_of):
    """Adds nodes of a file to an armature as bones, with keys in its action.

    rest [node][4][4] and pose [node][frame][4][4] are global matrices in armature space; binds {node: 4×4} the inverse
    bind matrices of nodes that deform, of positions in armature space. bone_of {node: bone name} are those that the
    armature has; the names of new ones are added. Nodes that neither deform nor move are left out."""
    parents = reader.parents()
    moving = {node for node, path in reader.channels(0) if path != "weights"}
    new = [n for n in range(len(parents)) if (n in binds or n in moving) and n not in bone_of]
    depth = [0] * len(parents)
    for n in new:
        above = parents[n]
        while above >= 0:
            depth[n], above = depth[n] + 1, parents[above]
    new.sort(key=lambda n: depth[n])
    # Blender's rest matrices have no scale: the pose has it.
    rows, rests = [], {n: np.array(armature.data.bones[name].matrix_local, float) for n, name in bone_of.items()}
    for n in new:
        name = reader.json["nodes"][n].get("name", "bone")
        above = parents[n] if parents[n] in bone_of else None
        rests[n] = matrices.rigid(np.linalg.inv(binds[n]) if n in binds else rest[n])
        rows.append((name, above, n, rests[n], n in binds))
        bone_of[n] = name
    bone_of.update(zip(new, add_bones(context, armature, rows, length, bone_of)))

    posed = {}
    for n, name in bone_of.items():
        rests[n] = np.array(armature.data.bones[name].matrix_local, float)  # as Blender rounds it
        posed[n] = pose[n] @ binds[n] @ rests[n] if n in binds and n in new else pose[n]
    for n in new:
        above = parents[n]
        place = posed[above] @ np.linalg.inv(rests[above]) @ rests[n] if above in posed else rests[n]
        key_bone(armature, bone_of[n], numbers, np.linalg.inv(place) @ posed[n])


def set_vertex_groups(o, names, bones, weights):
    """Replaces the vertex groups of these names; bones and weights [vertex][K]."""
    for name in names:
        if name in o.vertex_groups:
            o.vertex_groups.remove(o.vertex_groups[name])
    groups = [o.vertex_groups.new(name=name) for name in names]
    for i, k in zip(*np.nonzero(weights)):
        groups[bones[i, k]].add([int(i)], float(weights[i, k]), "REPLACE")


def add_armature_modifier(o, armature):
    """An Armature modifier for this armature, first in the stack, unless there is one."""
    if any(m.type == "ARMATURE" and m.object == armature for m in o.modifiers):
        return
    modifier = o.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    if hasattr(o.modifiers, "move"):  # Blender 4.0 and later
        o.modifiers.move(len(o.modifiers) - 1, 0)
    else:
        with bpy.context.temp_override(object=o):
            bpy.ops.object.modifier_move_to_index(modifier=modifier.name, index=0)


def new_action(owner, name):
    """Gives an ID block a new action."""
    data = owner.animation_data or owner.animation_data_create()
    data.action = bpy.data.actions.new(name)
    return data.action


def add_curve(owner, path, index, numbers, values, group=None):
    """A linear F-curve in the owner's action; one key if it is constant. A curve of the same property is replaced."""
    action = owner.animation_data.action
    if hasattr(action, "fcurve_ensure_for_datablock"):  # Blender 4.4 and later: actions have slots
        curve = action.fcurve_ensure_for_datablock(owner, path, index=index)
    else:
        curve = action.fcurves.find(path, index=index)
        curve = curve or action.fcurves.new(path, index=index, **({"action_group": group} if group else {}))
    while len(curve.keyframe_points):
        curve.keyframe_points.remove(curve.keyframe_points[-1], fast=True)
    if np.ptp(values) == 0:
        numbers, values = numbers[:1], values[:1]
    curve.keyframe_points.add(len(numbers))
    curve.keyframe_points.foreach_set("co", np.column_stack((numbers, values)).astype(np.float32).ravel())
    curve.keyframe_points.foreach_set("interpolation", np.full(len(numbers), 1, np.int32))  # LINEAR
    curve.update()


def add_bones(context, armature, rows, length, bone_of):
    """Adds bones in edit mode: rows of (name, parent node or None, node, rest matrix in armature space, deforms).
    Returns their names; bone_of {node: bone name} has those of parents that exist."""
    view, previous = context.view_layer, context.view_layer.objects.active
    view.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    edit, made = armature.data.edit_bones, {}
    for name, above, node, rest, deforms in rows:
        bone = edit.new(name)
        bone.head, bone.tail = (0, 0, 0), (0, length, 0)
        bone.matrix = Matrix(rest)
        bone.use_deform = deforms
        if above is not None:
            bone.parent = made[above] if above in made else edit[bone_of[above]]
        made[node] = bone
    names = [bone.name for bone in made.values()]
    bpy.ops.object.mode_set(mode="OBJECT")
    view.objects.active = previous
    return names


def key_bone(armature, name, numbers, basis):
    """Keys of a pose bone: its matrices [frame][4][4] relative to its rest pose and parent."""
    armature.pose.bones[name].rotation_mode = "QUATERNION"
    path = 'pose.bones["%s"].' % bpy.utils.escape_identifier(name)
    translation, rotation, scale = matrices.decompose(basis)
    rotation = matrices.continuous(rotation)[:, (3, 0, 1, 2)]
    for field, values in (("location", translation), ("rotation_quaternion", rotation), ("scale", scale)):
        for index in range(values.shape[1]):
            add_curve(armature, path + field, index, numbers, values[:, index], name)


def add_shape_keys(o, reader, node, wanted=None):
    """Adds morph targets of a node, in world space, to a mesh as shape keys; returns them. `wanted` {target: factor of
    its displacements}; None: all of them."""
    _, targets = reader.attributes(node)
    names = reader.json["meshes"][reader.json["nodes"][node]["mesh"]].get("extras", {}).get("targetNames", [])
    wanted = {t: 1.0 for t in range(len(targets))} if wanted is None else wanted
    if wanted and not o.data.shape_keys:
        o.shape_key_add(name="Basis", from_mix=False)
    points = rest_vertices(o.data)
    to_mesh = np.linalg.inv(world(o))[:3, :3] @ matrices.FROM_GLTF[:3, :3]
    keys = []
    for t, factor in sorted(wanted.items()):
        key = o.shape_key_add(name=names[t] if t < len(names) else "target %d" % t, from_mix=False)
        displacements = factor * reader.array(targets[t]["POSITION"]) @ to_mesh.T
        key.data.foreach_set("co", (points + displacements).astype(np.float32).ravel())
        key.slider_min, key.slider_max = -10, 10
        key.value = 0
        keys.append(key)
    return keys


def key_weights(o, reader, node, keys, moments, numbers):
    """Animates shape keys as the first motion animates the morph targets."""
    times, values = reader.channels(0)[(node, "weights")]
    values = gltf.sample(times, values.reshape(len(times), -1), moments)
    owner = o.data.shape_keys
    if not (owner.animation_data and owner.animation_data.action):
        new_action(owner, o.name + " shape keys")
    for key, column in zip(keys, values.T):
        add_curve(owner, 'key_blocks["%s"].value' % bpy.utils.escape_identifier(key.name), 0, numbers, column)
