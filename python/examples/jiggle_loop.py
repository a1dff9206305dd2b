"""Steps a simulation frame by frame, as a game would, and shakes the character. Usage: jiggle_loop.py RIG [PICTURE]"""

import sys

import draw
import numpy as np

import pelt

rig, picture = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "jiggle_loop.png"
source = pelt.load(rig)
live = pelt.Jiggle(source, gravity=(0, -9.8, 0), delta=0.97)
pose = np.array(source.joint_rest)
root = pose[0, 1]
frames, offsets = [], []
for frame in range(40):
    if frame >= 10:  # two jumps a second
        pose[0, 1] = root + 0.15 * abs(np.sin(2 * np.pi * (frame - 10) / 30))
    live.set_pose(pose)
    positions = live.step(1 / 30)
    offsets.append(np.linalg.norm(positions - source.pose(pose), axis=1))
    frames.append(positions)
print(f"largest distance from the skin: {np.max(offsets):.3f}")

drawing, axes = draw.figure(4)
for axis, frame in zip(axes, (9, 14, 18, 22)):
    draw.mesh(
        axis,
        frames[frame],
        source.triangles,
        draw.heat(offsets[frame], np.max(offsets)),
        title=f"frame {frame}",
        yaw=60,
    )
draw.save(drawing, picture)
