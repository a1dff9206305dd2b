"""Pelt for Blender: turns deforming meshes into skins. Runs the `pelt` program; has no compiled parts."""
import bpy

bl_info = {
    "name": "Pelt",
    "author": "The Pelt authors",
    "version": (0, 2, 0),
    "blender": (3, 3, 0),
    "location": "Object > Pelt, and the sidebar of the 3D view",
    "description": "Animations to bones, automatic weights, corrective shapes, soft tissue, levels of detail",
    "category": "Rigging",
}

from . import bind, correct, decompose, jiggle, options, simplify  # noqa: E402

OPERATORS = (
    decompose.PELT_OT_decompose,
    bind.PELT_OT_bind,
    correct.PELT_OT_correct,
    jiggle.PELT_OT_jiggle,
    simplify.PELT_OT_simplify,
)


def _draw_operators(layout):
    layout.operator_context = "INVOKE_DEFAULT"
    for operator in OPERATORS:
        layout.operator(operator.bl_idname)


class PELT_PT_sidebar(bpy.types.Panel):
    bl_label = "Pelt"
    bl_category = "Pelt"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"

    def draw(self, context):
        _draw_operators(self.layout.column(align=True))


class PELT_MT_object(bpy.types.Menu):
    bl_label = "Pelt"

    def draw(self, context):
        _draw_operators(self.layout)


def _draw_menu(self, context):
    self.layout.separator()
    self.layout.menu("PELT_MT_object")


def _register_operators():
    """Properties of operators are those of the program that is found now."""
    options.load()
    for operator in OPERATORS:
        operator.set_options()
        bpy.utils.register_class(operator)


def _program_changed(preferences, context):
    for operator in OPERATORS:
        bpy.utils.unregister_class(operator)
    _register_operators()


class PELT_preferences(bpy.types.AddonPreferences):
    bl_idname = __package__

    program: bpy.props.StringProperty(
        name="Program",
        subtype="FILE_PATH",
        update=_program_changed,
        description="Path of the pelt program. Empty: the one in the add-on's folder, else the one on the PATH",
    )

    def draw(self, context):
        from . import program

        self.layout.prop(self, "program")
        found = program.find()
        self.layout.label(text=found or program.NOT_FOUND, icon="CHECKMARK" if found else "ERROR")


CLASSES = (PELT_preferences, PELT_PT_sidebar, PELT_MT_object)


def register():
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    _register_operators()
    bpy.types.VIEW3D_MT_object.append(_draw_menu)


def unregister():
    bpy.types.VIEW3D_MT_object.remove(_draw_menu)
    for cls in OPERATORS + CLASSES:
        bpy.utils.unregister_class(cls)
