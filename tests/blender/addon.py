"""blender -b --factory-startup --python addon.py -- PLAIN.zip SHIPPED.zip PELT SCENES WORK [DATA]

Tests of the Blender add-on, in Blender without a window. The add-on is installed from the zips into the folder of
BLENDER_USER_SCRIPTS. What Blender shows is compared with what `pelt bake` and `pelt pose` make of the same files, to
1e-5 of the size. Prints a line for each test; the exit code is 1 if one fails.
"""
import json
import math
import os
import re
import shutil
import subprocess
import sys
import traceback

import bpy
import numpy as np
from mathutils import Euler

# Debian's numpy is newer than its Blender 3.4, whose glTF importer still says np.bool.
if "bool" not in np.__dict__:
    np.bool = bool

PLAIN, SHIPPED, PELT, SCENES, WORK = sys.argv[sys.argv.index("--") + 1 :][:5]
DATA = (sys.argv[sys.argv.index("--") + 1 :] + [""])[5]
TOLERANCE = 1e-5  # of the size
KEPT = os.path.join(WORK, "kept")  # the files of the last run
FRAMES = list(range(1, 21))
BLOCKS = "objects meshes armatures actions shape_keys materials images collections node_groups curves texts".split()


# ---- Scenes -----------------------------------------------------------------------------------------------------


def start(program=PELT):
    """An empty scene and the add-on, with the program at this path."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.preferences.addon_enable(module="io_scene_gltf2")
    bpy.ops.preferences.addon_enable(module="pelt")
    bpy.context.preferences.addons["pelt"].preferences.program = program
    bpy.context.scene.frame_end = FRAMES[-1]
    import pelt.program

    if not hasattr(pelt.program.Run, "real_close"):
        pelt.program.Run.real_close = pelt.program.Run.close

        def close(run):
            shutil.rmtree(KEPT, ignore_errors=True)
            if os.path.isdir(run.folder):
                shutil.copytree(run.folder, KEPT)
            run.real_close()
            assert not os.path.exists(run.folder), "the temporary folder is still there"

        pelt.program.Run.close = close


def select(active, *others):
    for o in bpy.data.objects:
        o.select_set(o == active or o in others)
    bpy.context.view_layer.objects.active = active


def wave():
    """A grid with UVs, a material, shape keys, a modifier that moves it and one that adds vertices; turned."""
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=12, y_subdivisions=9, location=(3, 1, 2), rotation=(0.3, 0.2, 0.1))
    o = bpy.context.object
    o.scale = (1, 1.5, 0.7)
    o.data.materials.append(bpy.data.materials.new("paint"))
    o.shape_key_add(name="Basis")
    key = o.shape_key_add(name="up")
    key.data[40].co.z += 0.5
    for frame, value in ((1, 0.0), (10, 1.0), (20, 0.2)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    o.keyframe_insert("location", frame=1)
    o.location.x += 1
    o.keyframe_insert("location", frame=20)
    o.modifiers.new("wave", "WAVE").height = 0.3
    o.modifiers.new("fine", "SUBSURF").levels = 1
    return o


def scene_file(name, *arguments):
    path = os.path.join(WORK, name + ".glb")
    if not os.path.exists(path):
        subprocess.run([SCENES, name, "-o", path] + list(arguments), check=True, stdout=subprocess.DEVNULL)
    return path


def imported(path):
    """The largest mesh of a file and its armature, as Blender's importer makes them."""
    from pelt import scene

    bpy.ops.import_scene.gltf(filepath=path)
    skinned = [o for o in bpy.data.objects if o.type == "MESH" and scene.armature_of(o)]
    o = max(skinned, key=lambda o: len(o.data.vertices))
    return o, scene.armature_of(o)


def troll():
    return imported(scene_file("troll", "--vertices", "900", "--frames", "30"))


def data_file(path):
    """A character of the real data, with some joints turned over time."""
    o, armature = imported(os.path.join(DATA, path))
    for bone in [b for b in armature.pose.bones if b.parent][2::7]:
        bone.rotation_mode = "XYZ"
        for frame, angle in ((1, 0.0), (12, 0.4), (20, -0.2)):
            bone.rotation_euler = (angle, 0.5 * angle, 0)
            bone.keyframe_insert("rotation_euler", frame=frame)
    return o, armature


CHARACTERS = ["char-gltf-khronos/CesiumMan/glTF-Binary/CesiumMan.glb", "char-rocketbox/Male_Adult_01.glb"]


# ---- Checks -----------------------------------------------------------------------------------------------------


def counts():
    return {name: len(getattr(bpy.data, name)) for name in BLOCKS if hasattr(bpy.data, name)}


def check_counts(before, **more):
    """The scene has this many blocks more of some kinds, and no others; none without a user."""
    after = counts()
    assert {k: v - before[k] for k, v in after.items() if v != before[k]} == more, (before, after, more)
    for name in after:
        for block in getattr(bpy.data, name):
            assert block.users > 0, "%s %s has no user" % (name, block.name)


def run_pelt(*arguments):
    done = subprocess.run([PELT] + list(arguments), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def shown(o, numbers=FRAMES):
    """What Blender shows, [frame][vertex][3] with the axes of glTF."""
    from pelt import matrices, scene

    return matrices.move(matrices.TO_GLTF, scene.sample_positions(bpy.context, o, numbers))


def baked(name):
    """What the program makes of a file of the last run."""
    from pelt import gltf

    path = os.path.join(WORK, "baked.pc2")
    run_pelt("bake", os.path.join(KEPT, name), "-o", path, "--fps", repr(bpy.context.scene.render.fps))
    return gltf.read_pc2(path)


def size(points):
    return float(np.linalg.norm(np.ptp(points.reshape(-1, 3), axis=0)))


def check_same(a, b, what):
    assert a.shape == b.shape, "%s: shapes %s and %s" % (what, a.shape, b.shape)
    off = float(np.abs(a - b).max()) / size(b)
    print("    %s: %.2g of the size" % (what, off))
    assert off < TOLERANCE, "%s: %g of the size off" % (what, off)


def check_error(text, operator, **settings):
    """An operator fails with this sentence, and the scene has what it had."""
    before = counts()
    try:
        operator(**settings)
    except RuntimeError as error:
        assert text in str(error), str(error)
    else:
        raise AssertionError("no error: " + text)
    check_counts(before)


# ---- Tests ------------------------------------------------------------------------------------------------------


def test_install():
    """Properties come from the program's tables, also without the program; the program in the zip is found."""
    for path, program in ((SHIPPED, os.path.join("bin", "pelt")), (PLAIN, None)):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.preferences.addon_install(filepath=path, overwrite=True)
        for name in [name for name in sys.modules if name.split(".")[0] == "pelt"]:
            del sys.modules[name]
        if path == PLAIN:
            shutil.rmtree(os.path.join(bpy.utils.user_resource("SCRIPTS"), "addons", "pelt", "bin"), ignore_errors=True)
        bpy.ops.preferences.addon_enable(module="pelt")
        import pelt.program

        found = pelt.program.find()
        assert found == program or (program and found.endswith(program)), found
        properties = bpy.ops.pelt.bind.get_rna_type().properties
        assert abs(properties["falloff"].default - 0.7) < 1e-6 and properties["falloff"].hard_max == 1
        assert "stiff" in properties["falloff"].description
        properties = bpy.ops.pelt.decompose.get_rna_type().properties
        assert properties["transforms"].default == "trs" and "affine" in properties["transforms"].enum_items
        for operator in ("decompose", "bind", "correct", "jiggle", "simplify"):
            assert getattr(bpy.ops.pelt, operator).bl_options == {"REGISTER", "UNDO"}
        bpy.ops.preferences.addon_disable(module="pelt")
        assert not hasattr(bpy.types, "PELT_OT_bind")


def test_readme():
    """The lines of README.md, with another zip."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        (block,) = re.findall(r"^```python\n(bpy[^`]*)^```", file.read(), re.M)
    block, count = re.subn(r"build/pelt-blender-[^\"]*\.zip", SHIPPED.replace("\\", "/"), block)
    assert count == 1 and len(block.splitlines()) <= 5
    bpy.ops.wm.read_factory_settings(use_empty=True)
    exec(block, {"bpy": bpy})
    assert bpy.context.object.name == "Grid skin" and len(bpy.context.object.parent.data.bones) == 20


def test_decompose():
    start()
    source = wave()
    select(source)
    wanted = shown(source)
    before = counts()
    bpy.context.scene.frame_set(7)
    assert bpy.ops.pelt.decompose(bones=12) == {"FINISHED"}
    assert bpy.context.scene.frame_current == 7
    check_counts(before, objects=2, meshes=1, armatures=1, actions=1)
    o = bpy.context.object
    armature = o.parent
    assert len(armature.data.bones) == len(o.vertex_groups) == 12 and o.find_armature() == armature
    assert [m.name for m in o.data.materials] == ["paint"] and len(o.data.uv_layers) == 1
    assert len(o.data.polygons) == 12 * 9 * 4 and not source.vertex_groups and len(source.modifiers) == 2
    colours = np.array([c.color for c in o.data.color_attributes["Pelt error"].data])
    assert colours.shape == (len(o.data.vertices), 4) and colours[:, 0].max() > 0.99 and colours.min() >= 0
    is_like = shown(o)
    errors = np.sqrt(np.mean(np.sum((is_like - wanted) ** 2, axis=2), axis=0))
    assert errors.max() < 0.02 * size(wanted) and abs(colours[errors.argmax(), 0] - 1) < 1e-3
    t = np.where(colours[:, 2] > 0, (1 - colours[:, 2]) / 2, (1 + colours[:, 0]) / 2)  # of the colour ramp
    worst = np.abs(t - errors / errors.max()).max()
    assert worst < 0.02, "the colours do not show the error: %g" % worst  # positions are rounded
    origin = np.array(armature.location)[[0, 2, 1]] * (1, 1, -1)
    check_same(is_like, baked("rig.glb") + origin, "decompose")


def test_decompose_kinds():
    """Affine bones are pairs of Blender's; corrections are shape keys; bones in a hierarchy."""
    rigid = {"transforms": "rigid", "hierarchy": True}
    for settings in ({"transforms": "affine"}, {"corrections": 3}, rigid, {"influences": 6}):
        start()
        select(wave())
        bpy.ops.pelt.decompose(bones=6, **settings)
        o = bpy.context.object
        origin = np.array(o.parent.location)[[0, 2, 1]] * (1, 1, -1)
        check_same(shown(o), baked("rig.glb") + origin, "decompose %s" % settings)


def test_loose():
    """Vertices without faces keep their places in the order."""
    start()
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=8, y_subdivisions=8, calc_uvs=False)
    o = bpy.context.object
    o.data.vertices.add(3)
    for i, place in enumerate(((0, 0, 1), (0.2, 0, 1), (2, 2, 0))):
        o.data.vertices[81 + i].co = place
    o.data.edges.add(1)
    o.data.edges[-1].vertices = (81, 82)
    o.data.update()
    o.modifiers.new("wave", "WAVE").height = 0.3
    bpy.ops.pelt.decompose(bones=5)
    skin = bpy.context.object
    assert len(skin.data.vertices) == 84 and len(skin.data.edges) == len(o.data.edges)
    check_same(shown(skin), baked("rig.glb"), "loose vertices")
    armature = skin.parent
    o.modifiers.clear()
    select(armature, o)
    bpy.ops.pelt.bind(no_fit=True)
    assert all(len(v.groups) for v in o.data.vertices), "vertices without weights"


def check_rig(o, armature, what):
    """A rig of the scene, as the add-on exports it, moves as in Blender."""
    from pelt import scene

    rig = scene.RigFile(armature, [o])
    rig.add_meshes()
    rig.add_motion(bpy.context, FRAMES, bpy.context.scene.render.fps)
    os.makedirs(KEPT, exist_ok=True)
    rig.save(os.path.join(KEPT, "scene.glb"))
    check_same(shown(o), baked("scene.glb"), what)


def check_groups(o, name):
    """The vertex groups are the weights of the file."""
    from pelt import gltf

    reader = gltf.Reader(os.path.join(KEPT, name))
    joints, _, bones, weights = reader.skin(reader.mesh_nodes()[0])
    names = [reader.json["nodes"][n]["name"] for n in joints]
    for i in range(0, len(o.data.vertices), 7):
        own = {o.vertex_groups[g.group].name: g.weight for g in o.data.vertices[i].groups}
        file = {names[b]: w for b, w in zip(bones[i], weights[i]) if w > 0}
        assert own.keys() == file.keys() and all(abs(own[k] - file[k]) < 1e-6 for k in own), (own, file)


def test_bind():
    start()
    o, armature = troll()
    while o.vertex_groups:
        o.vertex_groups.remove(o.vertex_groups[0])
    o.vertex_groups.new(name="mine").add([0, 1], 0.5, "REPLACE")
    o.modifiers.clear()
    world = o.matrix_world.copy()
    o.parent = None
    o.matrix_world = world
    armature.data.bones["ear_tip.L"].use_deform = False
    bpy.context.scene.frame_set(9)
    pose = [tuple(map(tuple, b.matrix)) for b in armature.pose.bones]
    select(armature, o)
    before = counts()
    bpy.ops.object.mode_set(mode="POSE")
    assert bpy.ops.pelt.bind() == {"FINISHED"}
    assert bpy.context.mode == "POSE" and bpy.context.scene.frame_current == 9
    bpy.ops.object.mode_set(mode="OBJECT")
    check_counts(before)
    assert pose == [tuple(map(tuple, b.matrix)) for b in armature.pose.bones], "the pose changed"
    assert o.parent == armature and np.allclose(o.matrix_world, world, atol=1e-6) and o.modifiers[0].object == armature
    assert "mine" in o.vertex_groups and "ear_tip.L" not in o.vertex_groups and "ear.L" in o.vertex_groups
    o.vertex_groups.remove(o.vertex_groups["mine"])
    check_groups(o, "bound.glb")
    stiff = {g.name: [v.groups[0].weight for v in o.data.vertices] for g in o.vertex_groups}
    bpy.ops.pelt.bind(falloff=0.1, smooth=2)
    assert len(o.modifiers) == 1
    check_groups(o, "bound.glb")
    assert stiff != {g.name: [v.groups[0].weight for v in o.data.vertices] for g in o.vertex_groups}
    check_rig(o, armature, "bind")


def test_bind_two_meshes():
    """Meshes of a selection are bound together; a subdivided mesh gets weights at its own vertices."""
    start()
    o, armature = troll()
    copy = o.copy()
    copy.data = o.data.copy()
    copy.scale = [1.01 * s for s in copy.scale]
    copy.modifiers.new("fine", "SUBSURF")
    bpy.context.collection.objects.link(copy)
    select(armature, o, copy)
    bpy.ops.pelt.bind(mirror="x")
    assert len(o.vertex_groups) == len(copy.vertex_groups) and copy.modifiers[0].type == "ARMATURE"
    check_groups(bpy.data.objects["troll"], "bound.glb")
    with open(os.path.join(KEPT, "bound.glb"), "rb") as file:
        assert file.read().count(b'"skin"') >= 2


def test_jiggle():
    affine = {"transforms": "affine", "add": 5, "corrections": 2}
    for result, settings in (("bones", {}), ("bones", affine), ("morphs", {"corrections": 4})):
        start()
        o, armature = troll()
        armature.location, armature.rotation_euler = (1, 2, 3), (0.1, 0.2, 0.3)
        armature.keyframe_insert("location", frame=1)
        armature.location.z += 1
        armature.keyframe_insert("location", frame=20)
        bpy.context.view_layer.update()
        select(o)
        before, bones = counts(), len(armature.data.bones)
        assert bpy.ops.pelt.jiggle(result=result, **settings) == {"FINISHED"}
        keys = result == "morphs" or "corrections" in settings
        check_counts(before, **({"shape_keys": 1, "actions": 1} if keys else {}))
        assert (len(armature.data.bones) > bones) == (result == "bones") and bpy.context.object == o
        check_same(shown(o), baked("soft.glb"), "jiggle %s %s" % (result, settings))


def check_level(o, name, what):
    """The vertices of a level are those of the file, in any order."""
    mine, theirs = shown(o), baked(name)
    assert mine.shape[1] <= theirs.shape[1]
    worst = 0.0
    for k in (0, len(FRAMES) // 2, len(FRAMES) - 1):
        for a, b in ((mine[k], theirs[k]), (theirs[k], mine[k])):
            for point in a[::5]:
                worst = max(worst, float(np.linalg.norm(b - point, axis=1).min()))
    print("    %s: %.2g of the size" % (what, worst / size(theirs)))
    assert worst < TOLERANCE * size(theirs), "%s: %g off" % (what, worst)


def test_simplify():
    start()
    o, armature = troll()
    o.data.materials.append(bpy.data.materials.new("second"))
    for polygon in list(o.data.polygons)[::2]:
        polygon.material_index = 1 if polygon.center.x > 0 else 0
    o.shape_key_add(name="Basis")
    o.shape_key_add(name="wide").data[0].co.x += 1
    select(o)
    before, triangles = counts(), len(o.data.polygons)
    assert bpy.ops.pelt.simplify() == {"FINISHED"}
    check_counts(before, objects=1, meshes=1, shape_keys=1)
    level = bpy.context.object
    assert 0.4 * triangles < len(level.data.polygons) <= 0.5 * triangles
    assert level.parent == o.parent and scene_of(level) == armature and len(level.data.materials) == 2
    assert {p.material_index for p in level.data.polygons} == {0, 1}
    assert len(level.data.uv_layers) == len(o.data.uv_layers) > 0
    assert [k.name for k in level.data.shape_keys.key_blocks] == ["Basis", "wide"]
    uvs = {tuple(x.uv) for x in o.data.uv_layers[0].data}
    assert {tuple(x.uv) for x in level.data.uv_layers[0].data} <= uvs
    check_level(level, "lod_1.glb", "simplify")
    select(o)
    bpy.ops.pelt.simplify(levels=3)
    sizes = sorted(len(x.data.polygons) for x in bpy.context.selected_objects)
    assert len(sizes) == 3 and all(1.9 < b / a < 2.1 for a, b in zip(sizes, sizes[1:])), sizes


def scene_of(o):
    from pelt import scene

    return scene.armature_of(o)


def test_simplify_static():
    start()
    bpy.ops.mesh.primitive_uv_sphere_add(location=(1, 2, 3))
    bpy.ops.pelt.simplify(ratio=0.25)
    assert len(bpy.context.object.data.polygons) <= 240 and bpy.context.object.location.z == 3


POSES = [(b, a, x) for b in ("elbow", "wrist") for a, x in ((30, 0), (60, 0), (90, 0), (-30, 0), (40, 2), (-40, 2))]


def posed_arm():
    """An arm with a pose in each frame; the last moves both joints. A mesh that bulges for each of the others."""
    from pelt import matrices, scene

    o, armature = imported(scene_file("arm"))
    bpy.data.actions.remove(armature.animation_data.action)
    for frame, (name, angle, axis) in enumerate(POSES + [("elbow", 75, 0)], 1):
        for bone in armature.pose.bones:
            bone.rotation_mode, bone.rotation_quaternion = "QUATERNION", (1, 0, 0, 0)
        turn = [0, 0, 0]
        turn[axis] = math.radians(angle)
        armature.pose.bones[name].rotation_quaternion = Euler(turn).to_quaternion()
        if frame > len(POSES):
            armature.pose.bones["wrist"].rotation_quaternion = Euler((0.5, 0, 0.3)).to_quaternion()
        for bone in armature.pose.bones:
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    bulges, rest = [], matrices.move(scene.world(o), scene.rest_vertices(o.data))
    for frame, (name, angle, axis) in enumerate(POSES, 1):
        bpy.context.scene.frame_set(frame)
        centre = np.array(armature.matrix_world @ armature.data.bones[name].head_local)
        near = np.exp(-((np.linalg.norm(rest - centre, axis=1) / 0.35) ** 2))
        bulges.append(near[:, None] * 0.1 * math.sin(math.radians(abs(angle))))
    return o, armature, bulges


def check_correct(o, armature, numbers, what):
    """The drivers give what `pelt pose` gives."""
    from pelt import matrices, scene

    drivers = o.data.shape_keys.animation_data.drivers
    assert drivers and all(d.driver.is_simple_expression for d in drivers), "drivers need permission to run Python"
    rig = scene.RigFile(armature, [o])
    names, worst = [node["name"] for node in rig.nodes], 0.0
    for number in numbers:
        bpy.context.scene.frame_set(number)
        pose = {
            name: {"translation": list(t), "rotation": list(r), "scale": list(s)}
            for name, (t, r, s) in zip(names, zip(*rig.pose(bpy.context)))
        }
        with open(os.path.join(WORK, "pose.json"), "w", encoding="utf-8") as file:
            json.dump({"joints": pose}, file)
        path = os.path.join(WORK, "posed.obj")
        run_pelt("pose", os.path.join(KEPT, "right.glb"), "--pose", os.path.join(WORK, "pose.json"), "-o", path)
        with open(path, encoding="utf-8") as file:
            theirs = np.array([line.split()[1:4] for line in file if line.startswith("v ")], float)
        mine = matrices.move(matrices.TO_GLTF, scene.evaluated_positions(bpy.context, o))
        assert mine.shape == theirs.shape
        worst = max(worst, float(np.abs(mine - theirs).max()) / size(theirs))
    print("    %s: %.2g of the size" % (what, worst))
    assert worst < TOLERANCE, "%s: %g of the size off" % (what, worst)


def test_correct_objects():
    from pelt import scene

    for settings in ({}, {"kernel": "gaussian"}, {"kernel": "thin-plate"}):
        start()
        o, armature, bulges = posed_arm()
        made = []
        for frame, bulge in enumerate(bulges, 1):
            bpy.context.scene.frame_set(frame)
            mesh = scene.evaluated_mesh(bpy.context, o)
            points = scene.vertices(mesh.vertices) + bulge * scene.vertices(mesh.vertices, "normal")
            mesh.vertices.foreach_set("co", points.astype(np.float32).ravel())
            made.append(bpy.data.objects.new("sculpt@%d" % frame, mesh))
            bpy.context.collection.objects.link(made[-1])
            made[-1].matrix_world = o.matrix_world
        select(o, *made)
        plain = shown(o, [3])
        before = counts()
        assert bpy.ops.pelt.correct(**settings) == {"FINISHED"}
        check_counts(before, shape_keys=1)
        check_correct(o, armature, range(1, len(POSES) + 2), "correct %s" % settings)
        wanted = shown(made[2], [3])
        left = np.linalg.norm(shown(o, [3]) - wanted) / np.linalg.norm(plain - wanted)
        assert left < 0.2, "%.0f %% of the error is left" % (100 * left)
    bpy.data.meshes.remove(made.pop().data)  # and its object
    made.append(bpy.data.objects.new("sculpt@12", bpy.data.meshes.new("empty")))
    bpy.context.collection.objects.link(made[-1])
    select(o, *made)
    check_error("has 0 vertices, but", bpy.ops.pelt.correct)


def test_correct_keys():
    from pelt import scene

    start()
    o, armature, bulges = posed_arm()
    select(o)
    check_error("There are no examples", bpy.ops.pelt.correct, examples="keys")
    o.shape_key_add(name="Basis")
    normals, points = scene.vertices(o.data.vertices, "normal"), scene.rest_vertices(o.data)
    for frame, bulge in enumerate(bulges, 1):
        key = o.shape_key_add(name="bulge@%d" % frame, from_mix=False)
        key.data.foreach_set("co", (points + bulge * normals).astype(np.float32).ravel())
    select(o)
    before = counts()
    assert bpy.ops.pelt.correct(examples="keys") == {"FINISHED"}
    check_counts(before)
    check_correct(o, armature, range(1, len(POSES) + 2), "correct from shape keys")


def test_correct_flat():
    """Bones beside each other: drivers compare two bones."""
    from pelt import scene

    start()
    o, armature, bulges = posed_arm()
    poses = {}
    for frame in range(1, len(POSES) + 2):
        bpy.context.scene.frame_set(frame)
        poses[frame] = {b.name: b.matrix.copy() for b in armature.pose.bones}
    bpy.data.actions.remove(armature.animation_data.action)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in armature.data.edit_bones:
        bone.parent = None
    bpy.ops.object.mode_set(mode="OBJECT")
    for frame, matrices in poses.items():
        for name, matrix in matrices.items():
            bone = armature.pose.bones[name]
            bone.matrix_basis = bone.bone.matrix_local.inverted() @ matrix
            bone.keyframe_insert("rotation_quaternion", frame=frame)
            bone.keyframe_insert("location", frame=frame)
    o.shape_key_add(name="Basis")
    normals, points = scene.vertices(o.data.vertices, "normal"), scene.rest_vertices(o.data)
    for frame, bulge in enumerate(bulges, 1):
        key = o.shape_key_add(name="bulge@%d" % frame, from_mix=False)
        key.data.foreach_set("co", (points + bulge * normals).astype(np.float32).ravel())
    select(o)
    bpy.ops.pelt.correct(examples="keys")
    with open(os.path.join(KEPT, "right.glb"), "rb") as file:
        assert b'"against"' in file.read()
    check_correct(o, armature, range(1, len(POSES) + 2), "correct of a flat rig")


def test_undo():
    """One step back removes all that an operator made."""
    start()
    source = wave()
    select(source)
    bpy.ops.ed.undo_push(message="before")
    before = counts()
    bpy.ops.pelt.decompose("EXEC_DEFAULT", True, bones=4)
    assert counts() != before
    bpy.ops.ed.undo()
    assert counts() == before, (before, counts())
    assert [o.name for o in bpy.data.objects] == ["Grid"]
    bpy.ops.ed.redo()
    assert counts() != before


def test_errors():
    start(program="/nowhere/pelt")
    source = wave()
    select(source)
    check_error("The pelt program was not found", bpy.ops.pelt.decompose)
    bpy.context.preferences.addons["pelt"].preferences.program = __file__
    check_error("could not be started", bpy.ops.pelt.decompose)
    bpy.context.preferences.addons["pelt"].preferences.program = PELT
    build = source.modifiers.new("build", "BUILD")
    build.frame_duration = 10
    check_error("A modifier changes its topology", bpy.ops.pelt.decompose)
    select(None)
    check_error("Select a mesh", bpy.ops.pelt.decompose)
    check_error("Select meshes and an armature", bpy.ops.pelt.bind)
    check_error("Select a mesh with an armature", bpy.ops.pelt.jiggle)
    bpy.ops.object.armature_add(location=(0, 0, 100))
    armature = bpy.context.object
    select(armature, source)
    source.modifiers.clear()
    check_error("skeleton", bpy.ops.pelt.bind)  # far from the mesh
    armature.data.bones[0].use_deform = False
    check_error("has no bones that deform", bpy.ops.pelt.bind)
    bpy.ops.mesh.primitive_cube_add()
    check_error("Cube does not move", bpy.ops.pelt.decompose)


def test_characters():
    if not os.path.isdir(DATA or "/nowhere"):
        return "skipped: no real data"
    for path in CHARACTERS:
        start()
        o, armature = data_file(path)
        check_rig(o, armature, "%s as it is" % o.name)
        select(armature, o)
        before = counts()
        bpy.ops.pelt.bind()
        check_counts(before)
        check_groups(o, "bound.glb")
        check_rig(o, armature, "bind")
        select(o)
        bpy.ops.pelt.simplify()
        check_level(bpy.context.object, "lod_1.glb", "simplify")
        select(o)
        bpy.ops.pelt.decompose(bones=20, effort="fast")
        made = bpy.context.object
        origin = np.array(made.parent.location)[[0, 2, 1]] * (1, 1, -1)
        check_same(shown(made), baked("rig.glb") + origin, "decompose")
        select(o)
        bpy.ops.pelt.jiggle(add=6)
        check_same(shown(o), baked("soft.glb"), "jiggle")


def main():
    failed = 0
    only = os.environ.get("PELT_TEST", "")
    for name, test in list(globals().items()):
        if name.startswith("test_") and (only in name or name == "test_install"):
            print(name)
            try:
                skipped = test()
                print("    %s" % (skipped or "ok"))
            except Exception:
                traceback.print_exc(file=sys.stdout)
                failed += 1
        sys.stdout.flush()
    print("%d failed" % failed)
    sys.exit(1 if failed else 0)


main()
