/* Settings and their checks. */
#include "jiggle/object.h"

#include <math.h>

static const pelt_option options[] = {
    {"cells", 0, PELT_OPTION_UINT, PELT_FIELD(pelt_jiggle_desc, cells), NULL, 0, PX_LATTICE_MAX_CELLS, NULL, "N",
     "cells along the longest side of the mesh; 0: chosen for --particles"},
    {"particles", 0, PELT_OPTION_UINT, PELT_FIELD(pelt_jiggle_desc, particles), "2000", 8, 1000000, NULL, "N",
     "approximate number of particles"},
    {"weights", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_jiggle_desc, weights), "skin", 0, 0, "skin|lattice|iterated",
     NULL, "weights of particles: of the rig's skin, or heat from the bones, solved, or iterated as in LBSD"},
    {"blend", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_jiggle_desc, blend), "centres", 0, 0, "centres|polar", NULL,
     "how joints move particles: rotation about centres of tissue, or of the blended matrix as in LBSD"},
    {"volume-field", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_jiggle_desc, volume_field), "gradient", 0, 0,
     "gradient|boundary", NULL,
     "how bends regain volume: along its gradient, or towards the nearest boundary as in LBSD"},
    {"volume", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_desc, volume), "1", 0, 1, NULL, "V",
     "fraction of the volume lost in bends that is restored"},
    {"stiffness", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_desc, stiffness), "2", 0, PELT_JIGGLE_MAX_STIFFNESS, NULL,
     "W", "half-width of the regions that shape matching keeps rigid, in cells"},
    {"regions", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_jiggle_desc, regions), "skin", 0, 0, "skin|rest", NULL,
     "shape that regions keep: the posed skin, or the rest shape as in LBSD"},
    {"delta", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_desc, delta), "0.9", 0, 1, NULL, "D",
     "amount of secondary motion: 0 none, 1 held by bones alone"},
    {"softness", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_jiggle_desc, softness), "thickness", 0, 0, "thickness|even",
     NULL, "where --delta applies: thick tissue, but not thin tissue, hands, feet and heads; or everywhere"},
    {"bone-radius", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_desc, bone_radius), "1", 0, 1000, NULL, "R",
     "radius of the rigid cylinders around bones, in cells"},
    {"frequency", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_desc, frequency), "16", 1e-3, 1000, NULL, "HZ",
     "frequency of a single particle about its goal"},
    {"damping", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_desc, damping), "8", 0, 1e6, NULL, "RATE",
     "decay of velocity relative to the skin, per second"},
    {"region-damping", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_desc, region_damping), "20", 0, 1e6, NULL, "RATE",
     "decay of velocity within regions, per second"},
    {"max-distance", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_desc, max_distance), NULL, 0, 1e30, NULL, "UNITS",
     "largest distance of tissue from the skin; 0: no bound"},
    {"teleport", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_desc, teleport), "1", 0, 1e30, NULL, "SIZES",
     "a joint that moves farther in one step resets the simulation, in diagonals of the mesh; 0: off"},
    {"substep", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_desc, substep), "0.004166666666666667", 0.00025, 0.1, NULL,
     "SECONDS", "length of a simulation step"},
};

/* Chen et al. 2011: their forms, one δ for all tissue, and time step and region size of their table I. */
static const pelt_preset_value presets[] = {
    {"lattice2011", "weights", "iterated"},      {"lattice2011", "blend", "polar"},
    {"lattice2011", "volume-field", "boundary"}, {"lattice2011", "regions", "rest"},
    {"lattice2011", "softness", "even"},         {"lattice2011", "stiffness", "2"},
    {"lattice2011", "particles", "1906"},        {"lattice2011", "substep", "0.016"},
};

PX_DESC_PRESETS(jiggle, options, presets)

pelt_jiggle_joint pelt_jiggle_joint_default(uint32_t joint) {
    return (pelt_jiggle_joint){joint, -1, -1, -1, -1, -1, -1, -1};
}

static bool finite3(const float v[3]) {
    return isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]);
}

static pelt_result check_forces(pelt_context *context, const pelt_jiggle_forces *forces) {
    if (!finite3(forces->gravity) || !finite3(forces->wind))
        return px_fail(context, PELT_ERROR_USAGE, "gravity and wind must be finite");
    if (!(forces->drag >= 0) || !isfinite(forces->drag))
        return px_fail(context, PELT_ERROR_USAGE, "drag is %g, should be 0 or more", (double)forces->drag);
    if (forces->drag == 0 && (forces->wind[0] != 0 || forces->wind[1] != 0 || forces->wind[2] != 0))
        return px_fail(context, PELT_ERROR_USAGE, "wind does nothing without drag: set drag to more than 0");
    return PELT_OK;
}

static pelt_result check_joints(pelt_context *context, const pelt_skeleton *skeleton, const pelt_jiggle_desc *desc) {
    for (uint32_t n = 0; n < desc->joint_count; n++) {
        const pelt_jiggle_joint *j = &desc->joints[n];
        if (j->joint >= skeleton->joint_count)
            return px_fail(context, PELT_ERROR_USAGE, "values are given for joint %u, but there are %u joints",
                           j->joint, skeleton->joint_count);
        const char *name = skeleton->names[j->joint];
        for (uint32_t other = 0; other < n; other++)
            if (desc->joints[other].joint == j->joint)
                return px_fail(context, PELT_ERROR_USAGE, "joint '%s' has values twice; give them once", name);
        if (!(j->stiffness <= PELT_JIGGLE_MAX_STIFFNESS && j->delta <= 1 && j->pin <= 1 && isfinite(j->damping) &&
              j->frequency <= 1000))
            return px_fail(context, PELT_ERROR_USAGE,
                           "joint '%s': stiffness %g should be at most %u, delta %g and pin %g at most 1, damping %g "
                           "finite, frequency %g at most 1000",
                           name, (double)j->stiffness, PELT_JIGGLE_MAX_STIFFNESS, (double)j->delta, (double)j->pin,
                           (double)j->damping, (double)j->frequency);
        if (j->strength == 0 || !isfinite(j->strength) || !isfinite(j->width))
            return px_fail(context, PELT_ERROR_USAGE,
                           "joint '%s': the heat's strength %g should be more than 0 and its width %g finite", name,
                           (double)j->strength, (double)j->width);
    }
    return PELT_OK;
}

/* The part that a part finally belongs to, or PELT_NONE where merges go round in a circle. */
static uint32_t last_part(const pelt_jiggle_desc *desc, uint32_t joint) {
    for (uint32_t round = 0; round <= desc->part_count; round++) {
        uint32_t next = joint;
        for (uint32_t n = 0; n < desc->part_count; n++)
            if (desc->parts[n].joint == joint && desc->parts[n].into != PELT_NONE)
                next = desc->parts[n].into;
        if (next == joint)
            return joint;
        joint = next;
    }
    return PELT_NONE;
}

static pelt_result check_parts(pelt_context *context, const pelt_skeleton *skeleton, const pelt_jiggle_desc *desc) {
    for (uint32_t n = 0; n < desc->part_count; n++) {
        const pelt_jiggle_part *p = &desc->parts[n];
        if (p->joint >= skeleton->joint_count || (p->into != PELT_NONE && p->into >= skeleton->joint_count))
            return px_fail(context, PELT_ERROR_USAGE, "part %u names joints %u and %u, but there are %u joints", n,
                           p->joint, p->into, skeleton->joint_count);
        for (uint32_t other = 0; other < n; other++)
            if (desc->parts[other].joint == p->joint)
                return px_fail(context, PELT_ERROR_USAGE, "the part of joint '%s' is changed twice",
                               skeleton->names[p->joint]);
    }
    for (uint32_t n = 0; n < desc->part_count; n++)
        if (desc->parts[n].into == desc->parts[n].joint || last_part(desc, desc->parts[n].joint) == PELT_NONE)
            return px_fail(context, PELT_ERROR_USAGE, "the part of joint '%s' is merged into itself",
                           skeleton->names[desc->parts[n].joint]);
    return PELT_OK;
}

static pelt_result check_map(pelt_context *context, const char *name, const float *map, uint32_t count, float most) {
    for (uint32_t i = 0; map && i < count; i++)
        if (map[i] > most)
            return px_fail(context, PELT_ERROR_USAGE, "%s of vertex %u is %g, should be at most %g", name, i,
                           (double)map[i], (double)most);
    return PELT_OK;
}

static pelt_result check_colliders(pelt_context *context, const pelt_skeleton *skeleton, const pelt_jiggle_desc *desc) {
    for (uint32_t n = 0; n < desc->collider_count; n++) {
        const pelt_collider *c = &desc->colliders[n];
        if ((unsigned)c->kind > PELT_COLLIDER_PLANE)
            return px_fail(context, PELT_ERROR_USAGE, "collider %u is no sphere, capsule or plane", n);
        if (c->joint != PELT_NONE && c->joint >= skeleton->joint_count)
            return px_fail(context, PELT_ERROR_USAGE, "collider %u hangs from joint %u, but there are %u joints", n,
                           c->joint, skeleton->joint_count);
        if (!finite3(c->a) || (c->kind != PELT_COLLIDER_SPHERE && !finite3(c->b)) || !isfinite(c->radius) ||
            c->radius < 0)
            return px_fail(context, PELT_ERROR_USAGE, "collider %u: places must be finite, and the radius 0 or more",
                           n);
        if (!(c->friction >= 0 && c->friction <= 1))
            return px_fail(context, PELT_ERROR_USAGE, "collider %u: friction is %g, should be from 0 to 1", n,
                           (double)c->friction);
        if (c->kind == PELT_COLLIDER_PLANE && c->b[0] == 0 && c->b[1] == 0 && c->b[2] == 0)
            return px_fail(context, PELT_ERROR_USAGE, "collider %u: a plane needs a normal that is not 0", n);
    }
    return PELT_OK;
}

pelt_result px_jiggle_check(pelt_context *context, const pelt_model *model, const pelt_jiggle_desc *desc) {
    if (model->mesh.vertex_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "the model has no vertices that could move");
    if (model->skeleton.joint_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "the model has no joints that could move it; bind it to a skeleton");
    PX_TRY(check_forces(context, &desc->forces));
    PX_TRY(check_joints(context, &model->skeleton, desc));
    PX_TRY(check_parts(context, &model->skeleton, desc));
    PX_TRY(check_colliders(context, &model->skeleton, desc));
    uint32_t count = model->mesh.vertex_count;
    PX_TRY(check_map(context, "stiffness", desc->maps.stiffness, count, PELT_JIGGLE_MAX_STIFFNESS));
    PX_TRY(check_map(context, "damping", desc->maps.damping, count, 1e6f));
    PX_TRY(check_map(context, "delta", desc->maps.delta, count, 1));
    return check_map(context, "pin", desc->maps.pin, count, 1);
}
