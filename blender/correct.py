"""Corrective shapes from poses: shape keys that follow the rotations of bones, through drivers."""
import json
import os
import re

import bpy
import numpy as np

from . import gltf, matrices, options, scene
from .job import Job
from .program import Failed

_MARKED = re.compile(r"@(-?\d+)(\.\d{3})?$")  # NAME@FRAME; Blender adds .001 to names that exist
_EXPRESSION_MAX = 255  # characters that Blender keeps
_SUM_TERMS = 16  # terms of a weighted sum that fit
_SLIDER_MAX = 10  # largest value of a shape key in Blender


class PELT_OT_correct(Job, bpy.types.Operator):
    bl_idname = "pelt.correct"
    bl_label = "Corrective Shapes from Poses"
    bl_description = (
        "Learn shape keys with drivers from sculpted poses of the active mesh. Examples are named NAME@FRAME: "
        "their pose is that of the armature in this frame"
    )

    examples: bpy.props.EnumProperty(
        name="Examples",
        items=[
            ("objects", "Selected objects", "Other selected meshes NAME@FRAME: the shape in that pose"),
            ("keys", "Shape keys", "Shape keys NAME@FRAME of the mesh: at value 1, the shape is right in that pose"),
        ],
        default="objects",
        description="Where the sculpted shapes are",
    )

    @classmethod
    def set_options(cls):
        names = "modes support kernel radius regularise exact interpolate max-per-vertex centres"
        options.annotate(cls, "correct", names.split())

    @classmethod
    def poll(cls, context):
        o = context.object
        good = context.mode == "OBJECT" and o is not None and o.type == "MESH" and scene.armature_of(o) is not None
        if not good:
            cls.poll_message_set("Select a mesh with an armature in object mode")
        return good

    def prepare(self, context, run):
        o = context.object
        self.rig = scene.RigFile(scene.armature_of(o), [o])
        found = self._example_objects(context, o) if self.examples == "objects" else self._example_keys(o)
        if not found:
            kind = "selected meshes" if self.examples == "objects" else "shape keys"
            raise Failed("There are no examples: name %s NAME@FRAME, such as bent@24" % kind)
        numbers = [int(_MARKED.search(item.name).group(1)) for item in found]
        with scene.Frames(context, numbers) as frames:
            poses = [self._pose_json(self.rig.pose(context)) for _ in frames]
        if self.examples == "keys":
            self.rig.add_meshes(key_names=[key.name for key in found])
            with open(run.path("poses.json"), "w", encoding="utf-8") as file:
                json.dump({"poses": {key.name: pose for key, pose in zip(found, poses)}}, file)
        else:
            self.rig.add_meshes()
            os.mkdir(run.path("poses"))
            for n, (example, pose) in enumerate(zip(found, poses)):
                self._write_obj(run.path("poses/%d.obj" % n), context, example, o)
                with open(run.path("poses/%d.json" % n), "w", encoding="utf-8") as file:
                    json.dump(pose, file)
        self.rig.save(run.path("rig.glb"))
        poses = "poses.json" if self.examples == "keys" else "poses"
        return ["correct", "rig.glb", "--driver", "pose", "--poses", poses, "-o", "right.glb"]

    @staticmethod
    def _example_objects(context, o):
        found = [e for e in context.selected_objects if e != o and e.type == "MESH" and _MARKED.search(e.name)]
        for example in found:
            if len(example.data.vertices) != len(o.data.vertices):
                raise Failed(
                    "%s has %d vertices, but %s has %d"
                    % (example.name, len(example.data.vertices), o.name, len(o.data.vertices))
                )
        return found

    @staticmethod
    def _example_keys(o):
        keys = o.data.shape_keys.key_blocks if o.data.shape_keys else []
        return [key for key in keys if _MARKED.search(key.name)]

    def _pose_json(self, pose):
        joints = {}
        for node, (translation, rotation, scale) in zip(self.rig.nodes, zip(*pose)):
            joints[node["name"]] = {"translation": list(translation), "rotation": list(rotation), "scale": list(scale)}
        return {"joints": joints}

    @staticmethod
    def _write_obj(path, context, example, o):
        """The example as it is shown, in world space, with the faces of the mesh."""
        points = matrices.move(matrices.TO_GLTF, scene.evaluated_positions(context, example))
        faces = scene.triangles(o.data).reshape(-1, 3) + 1
        with open(path, "w", encoding="ascii") as file:
            file.writelines("v %.9g %.9g %.9g\n" % tuple(p) for p in points)
            file.writelines("f %d %d %d\n" % tuple(f) for f in faces)

    def apply(self, context, run):
        o = context.object
        reader = gltf.Reader(run.path("right.glb"))
        drivers = reader.json.get("extras", {}).get("pelt_drivers", {}).get("drivers", [])
        if not drivers:
            raise Failed("The examples do not differ from the skinned mesh in any way that bones explain")
        weights = _Weights(o, self.rig)
        node = reader.mesh_nodes()[0]
        driven = sorted({target["target"] for driver in drivers for target in driver["targets"]})
        scales = {t: self._scale(drivers, t) for t in driven}
        keys = scene.add_shape_keys(o, reader, node, wanted=scales)
        weights.keys = o.data.shape_keys
        terms = {t: [] for t in driven}
        for driver in drivers:
            kernels = weights.kernels(driver)
            for target in driver["targets"]:
                coefficients = np.array(target["coefficients"]) / scales[target["target"]]
                terms[target["target"]] += list(zip(coefficients, kernels + [None]))
        for key, t in zip(keys, driven):
            weights.weighted_sum(key.driver_add("value"), terms[t])
        return "Added %d shape keys with %d drivers" % (len(keys), weights.count)

    @staticmethod
    def _scale(drivers, target):
        """A power of two by which the weights of a target are divided to fit Blender's range of values."""
        most = 0.0
        for driver in drivers:
            for t in driver["targets"]:
                most += float(np.abs(t["coefficients"]).sum()) if t["target"] == target else 0.0
        return 2.0 ** max(0, np.ceil(np.log2(max(most, 1e-30) / _SLIDER_MAX)))


class _Weights:
    """Drivers that evaluate radial basis functions of bone rotations, as docs/drivers.md defines them. Values in
    between are custom properties of the mesh's shape keys. All are simple expressions, which run without permission for
    Python."""

    def __init__(self, o, rig):
        self.rig, self.keys, self.count, self.made = rig, o.data.shape_keys, 0, 0

    def kernels(self, driver):
        """Properties with the kernel of each centre."""
        centres = np.array(driver["centres"], float)
        if driver.get("against"):
            rotation, rest = self._relative(driver)
            centres = _product(rest, centres)
        else:
            rotation = [self._channel(driver["joint"], axis, "LOCAL_SPACE") for axis in "XYZW"]
        distance = {"exponential": "exp(-{r}/{radius})", "gaussian": "exp(-pow({r}/{radius},2))"}
        distance["thin-plate"] = "pow({r}/{radius},2)*log(max({r}/{radius},1e-9))"
        result = []
        for centre in centres:
            near, far = ("+".join("pow(%s%+.7f,2)" % (n, s * c) for n, c in zip("xyzw", centre)) for s in (-1, 1))
            angle = "4*asin(min(1,sqrt(min(%s,%s))/2))" % (near, far)
            if driver["kernel"] == "thin-plate":  # the angle occurs twice: a property of its own
                angle = self._property(angle, dict(zip("xyzw", rotation)))
                text, variables = distance["thin-plate"].format(r="r", radius="%.7g" % driver["radius"]), {"r": angle}
            else:
                text = distance[driver["kernel"]].format(r=angle, radius="%.7g" % driver["radius"])
                variables = dict(zip("xyzw", rotation))
            result.append(self._property(text, variables))
        return result

    def _relative(self, driver):
        """The rotation of a bone relative to another that is not above it: four properties; and that at rest."""
        bone, other = driver["joint"], driver["against"][0]
        b, a = ([self._channel(n, axis, "WORLD_SPACE") for axis in "XYZW"] for n in (bone, other))
        variables = dict(zip("abcdxyzw", a + b))
        texts = ("d*x-w*a-b*z+c*y", "d*y-w*b-c*x+a*z", "d*z-w*c-a*y+b*x", "d*w+a*x+b*y+c*z")  # a⁻¹ b
        rest = np.linalg.inv(self.rig.rest[other - 1]) @ self.rig.rest[bone - 1]
        return [self._property(text, variables) for text in texts], matrices.quaternions(rest[:3, :3])

    def weighted_sum(self, curve, terms):
        """Drives a curve by Σ coefficient · property; property None: 1. Long sums are cut into properties."""
        parts = [terms[n : n + _SUM_TERMS] for n in range(0, len(terms), _SUM_TERMS)]
        while len(parts) > 1:
            parts = [(1.0, self._property(*self._sum(part))) for part in parts]
            parts = [parts[n : n + _SUM_TERMS] for n in range(0, len(parts), _SUM_TERMS)]
        self._drive(curve, *self._sum(parts[0]))

    @staticmethod
    def _sum(terms):
        variables = {chr(ord("a") + n): source for n, (_, source) in enumerate(terms) if source}
        text = "".join("%+.7g" % c + ("*" + chr(ord("a") + n) if source else "") for n, (c, source) in enumerate(terms))
        return text, variables

    def _property(self, text, variables):
        name = "pelt %d" % self.made
        while name in self.keys:
            self.made += 1
            name = "pelt %d" % self.made
        self.keys[name] = 0.0
        path = '["%s"]' % name
        self._drive(self.keys.driver_add(path), text, variables)
        return ("property", path)

    def _channel(self, node, axis, space):
        return ("channel", self.rig.names[node - 1], "ROT_" + axis, space)

    def _drive(self, curve, text, variables):
        assert len(text) <= _EXPRESSION_MAX, text
        driver = curve.driver
        driver.type = "SCRIPTED"
        for name, (kind, *source) in variables.items():
            variable = driver.variables.new()
            variable.name = name
            if kind == "property":
                variable.type = "SINGLE_PROP"
                target = variable.targets[0]
                target.id_type, target.id, target.data_path = "KEY", self.keys, source[0]
            else:
                variable.type = "TRANSFORMS"
                target = variable.targets[0]
                target.id, target.bone_target = self.rig.armature, source[0]
                target.transform_type, target.transform_space = source[1], source[2]
                target.rotation_mode = "QUATERNION"
        driver.expression = text
        self.count += 1


def _product(a, b):
    """Quaternions x y z w: a times each row of b."""
    ax, ay, az, aw = a
    x, y, z, w = np.asarray(b, float).T
    return np.column_stack(
        (
            aw * x + ax * w + ay * z - az * y,
            aw * y - ax * z + ay * w + az * x,
            aw * z + ax * y - ay * x + az * w,
            aw * w - ax * x - ay * y - az * z,
        )
    )
