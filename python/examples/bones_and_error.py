"""The error against the number of bones, for three kinds of transforms. Usage: bones_and_error.py MESH CACHE [PICTURE]"""

import sys

import draw
import matplotlib.pyplot as plt

import pelt

mesh, cache, picture = (*sys.argv[1:3], sys.argv[3] if len(sys.argv) > 3 else "bones_and_error.png")
clip = pelt.load(mesh, cache)
bones = [2, 4, 8, 16, 32]
drawing, axis = plt.subplots(figsize=(5, 3.2))
for transforms in ("affine", "trs", "rigid"):
    errors = [pelt.decompose(clip, bones=count, transforms=transforms).error for count in bones]
    print(f"{transforms:7}", " ".join(f"{count}: {error:.2f}" for count, error in zip(bones, errors)))
    axis.loglog(bones, errors, "o-", label=transforms)
axis.set_xlabel("bones")
axis.set_ylabel("E_rms")
axis.set_xticks(bones, [str(count) for count in bones])
axis.legend()
draw.save(drawing, picture)
