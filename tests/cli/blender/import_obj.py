"""import_obj.py FILE…: how many objects Blender's OBJ importer makes of a file, and whether vertex i is the file's i-th."""
import sys

import bpy

for path in sys.argv[sys.argv.index("--") + 1 :]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.obj_import(filepath=path)
    with open(path) as file:
        wanted = [tuple(map(float, line.split()[1:4])) for line in file if line.startswith("v ")]
    meshes = [thing.data for thing in bpy.data.objects if thing.type == "MESH"]
    found = [tuple(vertex.co) for mesh in meshes for vertex in mesh.vertices]
    same = len(found) == len(wanted) and all(
        abs(x - y) < 1e-5 for a, b in zip(found, wanted) for x, y in zip(a, b)
    )
    print(f"{path}: {len(meshes)} objects, {'in order' if same else f'{len(found)} of {len(wanted)} vertices or another order'}")
