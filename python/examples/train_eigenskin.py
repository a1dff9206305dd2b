"""Trains an EigenSkin: an elbow whose muscle bulges as it bends. Usage: train_eigenskin.py ARM [PICTURE]"""

import sys

import draw
import numpy as np

import pelt

arm, picture = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "train_eigenskin.png"
rig = pelt.load(arm)
elbow = next(j for j, name in enumerate(rig.joint_names) if "elbow" in name.lower())
side = rig.rest - rig.rest.mean(axis=0)


def bent(angle):
    """The pose of an angle, and the shape that an artist would give it."""
    locals = np.array(rig.joint_rest)
    locals[elbow, 3:7] = [0, 0, np.sin(angle / 2), np.cos(angle / 2)]
    shape, normals = rig.pose(locals, normals=True)
    bulge = 0.06 * np.sin(angle) * np.exp(-6 * np.square(side).sum(axis=1, keepdims=True))
    return locals, shape + bulge * normals


skin = pelt.eigenskin(rig, [bent(angle) for angle in np.radians([20, 50, 80, 110])])
locals, wanted = bent(np.radians(65))  # a pose that is no example
before, after = (np.abs(model.pose(locals) - wanted).max() for model in (rig, skin))
print(f"{skin.report['morph_count']} morph targets; largest error in an unseen pose {before:.4f} -> {after:.4f}")

drawing, axes = draw.figure(3)
for axis, shape, title in zip(axes, (rig.pose(locals), skin.pose(locals), wanted), ("skin", "EigenSkin", "wanted")):
    error = np.linalg.norm(shape - wanted, axis=1)
    draw.mesh(axis, shape, rig.triangles, draw.heat(error, max(before, 1e-9)), title=title, yaw=0)
draw.save(drawing, picture)
