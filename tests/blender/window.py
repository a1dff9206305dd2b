"""The add-on in Blender's window: dialog, progress, Esc, undo; and the picture of the documentation.

    blender -b … --python window.py -- RIG.glb START.blend              makes a scene
    blender … START.blend --enable-event-simulate --python window.py -- PELT OUT.txt [PICTURE.png]

The second writes "ok" to OUT.txt, or what went wrong. Needs a window of 1180 by 740.
"""
import os
import sys
import traceback

import bpy
import numpy as np

if "bool" not in np.__dict__:  # Debian's numpy is newer than its Blender 3.4
    np.bool = bool
FIRST, SECOND, *PICTURE = sys.argv[sys.argv.index("--") + 1 :]


def make_scene():
    bpy.ops.wm.read_factory_settings()
    for o in list(bpy.data.objects):
        bpy.data.objects.remove(o)
    bpy.ops.preferences.addon_enable(module="io_scene_gltf2")
    bpy.ops.import_scene.gltf(filepath=FIRST)
    bpy.context.scene.frame_end = 29
    mesh = max((o for o in bpy.data.objects if o.type == "MESH"), key=lambda o: len(o.data.vertices))
    for o in bpy.data.objects:
        o.select_set(o == mesh)
    bpy.context.view_layer.objects.active = mesh
    bpy.ops.wm.save_as_mainfile(filepath=SECOND)


def press(window, key, x=None, y=None):
    at = {} if x is None else {"x": int(x), "y": int(y)}
    if at:
        window.event_simulate(type="MOUSEMOVE", value="NOTHING", **at)
    window.event_simulate(type=key, value="PRESS", **at)
    window.event_simulate(type=key, value="RELEASE", **at)


def running():
    """Temporary folders of runs of the program."""
    return [name for name in os.listdir(bpy.app.tempdir) if name.startswith("pelt-blender-")]


def steps():
    """What a user does; yields seconds to wait."""
    bpy.ops.preferences.addon_enable(module="pelt")
    bpy.context.preferences.addons["pelt"].preferences.program = FIRST
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    region = next(r for r in area.regions if r.type == "WINDOW")
    sidebar = next(r for r in area.regions if r.type == "UI")
    area.spaces[0].show_region_ui = True
    over = lambda: bpy.context.temp_override(window=window, area=area, region=region)
    yield 1.0
    with over():
        bpy.ops.view3d.view_axis(type="FRONT")
        bpy.ops.view3d.view_selected()
        bpy.ops.ed.undo_push(message="start")
    tab = (sidebar.x + sidebar.width - 13, sidebar.y + sidebar.height - 157)  # of the add-on, the fourth
    press(window, "LEFTMOUSE", *tab)
    yield 1.0

    # Settings that take long; Esc ends the program.
    with over():
        bpy.ops.pelt.decompose("INVOKE_DEFAULT", bones=60, effort="best")
    yield 1.0
    press(window, "RET")
    for _ in range(100):
        yield 0.1
        if running():
            break
    assert running(), "the dialog did not start the program"
    yield 0.5
    press(window, "ESC")
    yield 1.0
    assert not running() and len(bpy.data.objects) == 2, "Esc left something behind"

    # To the end.
    with over():
        bpy.ops.pelt.decompose("INVOKE_DEFAULT", bones=16, effort="fast")
    yield 1.0
    press(window, "RET")
    for _ in range(600):
        yield 0.2
        if len(bpy.data.objects) == 4:
            break
    assert len(bpy.data.objects) == 4 and not running(), "no result"
    assert bpy.context.window_manager.operators[-1].bl_idname == "PELT_OT_decompose", "no redo panel"
    with over():
        bpy.ops.ed.undo()
    yield 0.5
    assert len(bpy.data.objects) == 2, "undo"
    with over():
        bpy.ops.ed.redo()
    yield 0.5
    assert len(bpy.data.objects) == 4, "redo"

    if PICTURE:
        for o in bpy.data.objects:
            o.show_in_front = o.type == "ARMATURE"
            o.hide_set(o.name in ("Armature", "troll"))
        space = area.spaces[0]
        space.shading.color_type = "VERTEX"
        space.shading.background_type = "VIEWPORT"
        space.shading.background_color = (0.05, 0.05, 0.05)
        for part in ("floor", "axis_x", "axis_y", "cursor", "ortho_grid"):
            setattr(space.overlay, "show_" + part, False)
        bpy.context.scene.frame_set(12)
        yield 1.0
        with over():
            bpy.ops.screen.screenshot_area(filepath=PICTURE[0])
        yield 0.5


def finish(text):
    with open(SECOND, "w", encoding="utf-8") as file:
        file.write(text)
    sys.stdout.flush()
    os._exit(0)  # without asking whether to save


def step():
    try:
        return next(todo)
    except StopIteration:
        finish("ok\n")
    except Exception:
        finish(traceback.format_exc())


if bpy.app.background:
    make_scene()
else:
    todo = steps()
    bpy.app.timers.register(step, first_interval=2.0)
