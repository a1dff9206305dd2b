"""Binds a mesh to a skeleton, changes the stiffness, and bends a joint. Usage: bind_and_pose.py RIG [PICTURE]"""

import sys

import draw
import numpy as np

import pelt

rig, picture = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "bind_and_pose.png"
source = pelt.load(rig)
live = pelt.Binding(source, resolution=128)
pose = source.sample(0.25 * source.motions[0][2]) if source.motions else np.array(source.joint_rest)

drawing, axes = draw.figure(3)
for axis, falloff in zip(axes, (0.2, 0.7, 1.0)):
    bound = live.apply(falloff=falloff)  # milliseconds: the voxels are kept
    print(f"falloff {falloff}: {np.count_nonzero(bound.weights) / len(bound.rest):.2f} bones a vertex")
    draw.mesh(axis, bound.pose(pose), bound.triangles, draw.bone_colors(bound), title=f"falloff {falloff}", yaw=60)
draw.save(drawing, picture)
