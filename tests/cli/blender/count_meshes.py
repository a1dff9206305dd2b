"""count_meshes.py FILE…: how many meshes Blender shows of a glTF file."""
import sys

import bpy
import numpy

numpy.bool = bool  # what the importer of Blender 3.4 uses, and NumPy 1.24 no longer has

for path in sys.argv[sys.argv.index("--") + 1 :]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=path)
    print(f"{path}: {sum(thing.type == 'MESH' for thing in bpy.data.objects)} meshes")
