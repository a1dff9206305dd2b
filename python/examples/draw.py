"""Shaded pictures of meshes with matplotlib, for the examples."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection


def figure(columns, width=2.6, height=2.8):
    """A figure with a row of square pictures without axes."""
    drawing, axes = plt.subplots(1, columns, figsize=(width * columns, height), squeeze=False)
    for axis in axes[0]:
        axis.set_aspect("equal")
        axis.axis("off")
    return drawing, axes[0]


def mesh(axis, positions, triangles, colors=None, yaw=30.0, title=None):
    """Draws a mesh, far triangles first. colors: [N, 3] of the vertices, 0 to 1."""
    angle = np.radians(yaw)
    right = np.array([np.cos(angle), 0, -np.sin(angle)])
    toward = np.array([np.sin(angle), 0.15, np.cos(angle)])
    corners = positions[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-20)
    light = 0.35 + 0.65 * np.abs(normals @ [0.3, 0.6, 0.74])
    base = np.full((len(triangles), 3), 0.78) if colors is None else colors[triangles].mean(axis=1)
    order = np.argsort(corners.mean(axis=1) @ toward)
    flat = np.stack([corners @ right, corners[..., 1]], axis=-1)
    shade = np.clip(base * light[:, None], 0, 1)
    axis.add_collection(PolyCollection(flat[order], facecolors=shade[order], edgecolors=shade[order], linewidths=0.2))
    axis.autoscale_view()
    if title:
        axis.set_title(title, fontsize=9)


def bone_colors(model):
    """[N, 3]: a colour for each bone, blended by the weights."""
    palette = plt.get_cmap("tab20")(np.arange(len(model.bone_joints)) % 20)[:, :3]
    return np.einsum("nk,nkc->nc", model.weights, palette[model.joints])


def heat(values, top):
    """[N, 3]: colours of values, from grey at 0 to red at `top`."""
    share = np.clip(np.asarray(values) / top, 0, 1)[:, None]
    return (1 - share) * [0.8, 0.8, 0.8] + share * [0.9, 0.15, 0.1]


def save(drawing, path):
    drawing.tight_layout()
    drawing.savefig(path, dpi=100)
    plt.close(drawing)
