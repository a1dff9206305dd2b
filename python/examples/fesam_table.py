"""Reproduces a row of Table 2 of FESAM (2010): the horse gallop with 30 bones. Usage: fesam_table.py MESH CACHE [PICTURE]"""

import sys

import pelt

PAPER = 1.3  # E_rms of FESAM in Table 2
mesh, cache = sys.argv[1:3]
clip = pelt.load(mesh, cache)
rows = [
    ("paper", PAPER),
    ("as published", pelt.decompose(clip, bones=30, preset="fesam2010").error),
    ("default", pelt.decompose(clip, bones=30).error),
]
for name, error in rows:
    print(f"{name:12}  E_rms {error:.3f}")
