/* Values of particles: settings of joints are blended by the weights of the particle; maps of vertices by the
 * embedding of the vertices; particles below the surface copy the layer above them. */
#include "jiggle/values.h"

#include <math.h>

/* Particles with a smaller Σ of vertex weights count as having no vertex nearby. */
#define MIN_VERTEX_SHARE 1e-3f

#define ROUNDING 1e-5f /* of sums of shares: above 1 minus this, all vertices around a particle have a value */

#define NO_LIMIT 1e30f /* units; finite, so that it can be blended */

/* ---- Creation --------------------------------------------------------------------------------------------- */

static float corner_weight(const float place[3], uint32_t corner) {
    float weight = 1;
    for (uint32_t axis = 0; axis < 3; axis++)
        weight *= corner >> axis & 1 ? place[axis] : 1 - place[axis];
    return weight > 0 ? weight : 0;
}

/* Breadth-first search from particles with vertices nearby. Particles that it does not reach are not in `inner`. */
static pelt_result find_inner(px_arena *arena, px_values *v) {
    const px_lattice *lattice = v->lattice;
    uint32_t count = lattice->particle_count, *queue = PX_NEW(arena, uint32_t, count), filled = 0, outer;
    v->layers = PX_NEW(arena, uint32_t, count);
    if (!queue || !v->layers)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < count; p++)
        if (v->totals[p] >= MIN_VERTEX_SHARE)
            queue[filled++] = p;
        else
            v->layers[p] = PELT_NONE;
    outer = filled;
    for (uint32_t at = 0; at < filled; at++)
        for (uint32_t e = lattice->links.firsts[queue[at]]; e < lattice->links.firsts[queue[at] + 1]; e++) {
            uint32_t to = lattice->links.to[e];
            if (v->layers[to] != PELT_NONE)
                continue;
            v->layers[to] = v->layers[queue[at]] + 1;
            queue[filled++] = to;
        }
    v->inner = queue + outer;
    v->inner_count = filled - outer;
    return PELT_OK;
}

/* Returns true if the joint has its own δ, which then applies to its bone too: the bone is not pinned. */
static bool is_soft(const pelt_jiggle_desc *desc, uint32_t joint) {
    for (uint32_t n = 0; n < desc->joint_count; n++)
        if (desc->joints[n].joint == joint)
            return desc->joints[n].delta >= 0;
    return false;
}

static pelt_result pin_bones(px_arena *arena, px_values *v, const px_jiggle_subject *subject,
                             const pelt_jiggle_desc *desc) {
    px_jiggle_bones bones;
    PX_TRY(px_jiggle_bones_make(arena, subject, &bones));
    float radius = (float)desc->bone_radius * v->lattice->cell;
    uint32_t kept = 0;
    for (uint32_t b = 0; b < bones.count; b++)
        if (!is_soft(desc, bones.items[b].joint))
            bones.items[kept++] = bones.items[b];
    for (size_t p = 0; radius > 0 && p < v->lattice->particle_count; p++)
        for (uint32_t b = 0; b < kept; b++) {
            float along;
            v->pinned[p] |= bones.items[b].joint == v->weights->bones[p * v->weights->capacity] &&
                            px_jiggle_bone_distance(&bones.items[b], v->lattice->rest + 3 * p, &along) <= radius;
        }
    return PELT_OK;
}

pelt_result px_values_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                           const px_weight_table *weights, const px_thickness *thickness, const pelt_jiggle_desc *desc,
                           px_values *out) {
    uint32_t count = lattice->particle_count;
    *out = (px_values){.lattice = lattice,
                       .weights = weights,
                       .joint_count = subject->model->skeleton.joint_count,
                       .standard_stiffness = (float)desc->stiffness,
                       .standard_damping = (float)desc->damping,
                       .standard_frequency = (float)desc->frequency,
                       .standard_delta = (float)desc->delta,
                       .thickness = desc->softness == PELT_JIGGLE_SOFTNESS_THICKNESS ? thickness : NULL,
                       .max_distance = (float)desc->max_distance};
    float **arrays[] = {&out->totals, &out->sums,   &out->stiffness,   &out->damping, &out->deltas,
                        &out->pins,   &out->limits, &out->frequencies, &out->shares};
    for (size_t n = 0; n < PX_COUNT(arrays); n++)
        if (!(*arrays[n] = PX_NEW(arena, float, count)))
            return PELT_ERROR_MEMORY;
    out->joints = PX_NEW(arena, float, out->joint_count);
    out->pinned = PX_NEW(arena, uint8_t, count);
    if (!out->joints || !out->pinned)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < lattice->vertex_count; i++)
        for (uint32_t k = 0; k < 8; k++)
            out->totals[lattice->cells[lattice->vertex_cells[i]][k]] +=
                corner_weight(lattice->vertex_places + 3 * i, k);
    PX_TRY(pin_bones(arena, out, subject, desc));
    return find_inner(arena, out);
}

/* ---- Setting ---------------------------------------------------------------------------------------------- */

static float clamped(float x, float most) {
    return x >= 0 ? (x <= most ? x : most) : 0;
}

/* Particles take the mean of the vertices that have a value (not negative) in proportion to their share of all vertices around
 * it; particles below the surface take mean and share of the layer above them. Values are those of the map, or `fixed` if that
 * is not negative. */
static void blend_map(const px_values *v, const float *map, float most, float fixed, float *out) {
    const px_lattice *lattice = v->lattice;
    memset(v->sums, 0, lattice->particle_count * sizeof *v->sums);
    memset(v->shares, 0, lattice->particle_count * sizeof *v->shares);
    for (size_t i = 0; i < lattice->vertex_count; i++)
        for (uint32_t k = 0; k < 8 && map[i] >= 0; k++) {
            uint32_t p = lattice->cells[lattice->vertex_cells[i]][k];
            float weight = corner_weight(lattice->vertex_places + 3 * i, k);
            v->sums[p] += weight * (fixed >= 0 ? fixed : clamped(map[i], most));
            v->shares[p] += weight;
        }
    for (uint32_t p = 0; p < lattice->particle_count; p++) {
        float scale = v->layers[p] == 0 ? 1 / v->totals[p] : 0;
        v->sums[p] *= scale;
        v->shares[p] *= scale;
    }
    for (uint32_t n = 0; n < v->inner_count; n++) {
        uint32_t p = v->inner[n];
        float count = 0;
        for (uint32_t e = lattice->links.firsts[p]; e < lattice->links.firsts[p + 1]; e++) {
            uint32_t above = lattice->links.to[e];
            if (v->layers[above] >= v->layers[p])
                continue;
            v->sums[p] += v->sums[above];
            v->shares[p] += v->shares[above];
            count++;
        }
        v->sums[p] /= count;
        v->shares[p] /= count;
    }
    for (uint32_t p = 0; p < lattice->particle_count; p++)
        if (v->shares[p] >= 1 - ROUNDING)
            out[p] = v->sums[p] / v->shares[p];
        else if (v->shares[p] > 0)
            out[p] = v->sums[p] + (1 - v->shares[p]) * out[p];
}

/* One kind of value: stiffness, damping, frequency, δ or pin. */
typedef struct kind {
    size_t offset; /* offset of its field in pelt_jiggle_joint, bytes */
    float standard, most;
    const float *shares; /* [joint] factor on the default; NULL: 1 */
    const float *map;    /* [vertex] or NULL */
    float *out;          /* [particle] */
} kind;

static void set_kind(const px_values *v, const kind *k, const pelt_jiggle_joint *joints, uint32_t joint_count) {
    for (uint32_t j = 0; j < v->joint_count; j++)
        v->joints[j] = k->shares ? k->shares[j] * k->standard : k->standard;
    for (uint32_t n = 0; n < joint_count; n++) {
        float value;
        memcpy(&value, (const char *)&joints[n] + k->offset, sizeof value);
        if (value >= 0 && joints[n].joint < v->joint_count)
            v->joints[joints[n].joint] = clamped(value, k->most);
    }
    px_thickness_blend(v->weights, v->joints, v->lattice->particle_count, k->out);
    if (k->map)
        blend_map(v, k->map, k->most, -1, k->out);
    for (uint32_t p = 0; p < v->lattice->particle_count; p++)
        k->out[p] = clamped(k->out[p], k->most);
}

/* Bounds from thickness, except for joints and vertices whose δ the settings give; then max_distance. */
static void set_limits(const px_values *v, const pelt_jiggle_joint *joints, uint32_t joint_count,
                       const pelt_jiggle_maps *maps) {
    for (uint32_t j = 0; j < v->joint_count; j++)
        v->joints[j] = v->thickness ? px_fminf(v->thickness->swings[j], NO_LIMIT) : NO_LIMIT;
    for (uint32_t n = 0; n < joint_count; n++)
        if (joints[n].delta >= 0 && joints[n].joint < v->joint_count)
            v->joints[joints[n].joint] = NO_LIMIT;
    px_thickness_blend(v->weights, v->joints, v->lattice->particle_count, v->limits);
    if (v->thickness && maps->delta)
        blend_map(v, maps->delta, 1, NO_LIMIT, v->limits);
    for (uint32_t p = 0; p < v->lattice->particle_count; p++)
        v->limits[p] = v->max_distance > 0 ? px_fminf(v->limits[p], v->max_distance) : v->limits[p];
}

void px_values_set(px_values *v, const pelt_jiggle_joint *joints, uint32_t joint_count, const pelt_jiggle_maps *maps) {
    pelt_jiggle_maps none = {0};
    maps = maps ? maps : &none;
    const kind kinds[] = {
        {offsetof(pelt_jiggle_joint, stiffness), v->standard_stiffness, PELT_JIGGLE_MAX_STIFFNESS, NULL,
         maps->stiffness, v->stiffness},
        {offsetof(pelt_jiggle_joint, damping), v->standard_damping, 1e6f, NULL, maps->damping, v->damping},
        {offsetof(pelt_jiggle_joint, frequency), v->standard_frequency, 1000, NULL, NULL, v->frequencies},
        {offsetof(pelt_jiggle_joint, delta), v->standard_delta, 1, v->thickness ? v->thickness->softness : NULL,
         maps->delta, v->deltas},
        {offsetof(pelt_jiggle_joint, pin), 0, 1, NULL, maps->pin, v->pins},
    };
    for (size_t n = 0; n < PX_COUNT(kinds); n++)
        set_kind(v, &kinds[n], joints, joint_count);
    bool own = false;
    for (uint32_t n = 0; n < joint_count; n++)
        own |= joints[n].frequency >= 0 && joints[n].joint < v->joint_count;
    for (uint32_t p = 0; p < v->lattice->particle_count && !own; p++)
        v->frequencies[p] = -1;
    for (uint32_t p = 0; p < v->lattice->particle_count; p++)
        v->deltas[p] = v->pinned[p] ? 0 : v->deltas[p] * (1 - v->pins[p]);
    set_limits(v, joints, joint_count, maps);
}

uint32_t px_values_pinned(const px_values *v) {
    uint32_t count = 0;
    for (uint32_t p = 0; p < v->lattice->particle_count; p++)
        count += v->deltas[p] == 0;
    return count;
}

void px_values_at_vertices(const px_values *v, const float *particles, float *out) {
    const px_lattice *lattice = v->lattice;
    for (size_t i = 0; i < lattice->vertex_count; i++) {
        out[i] = 0;
        for (uint32_t k = 0; k < 8; k++)
            out[i] += corner_weight(lattice->vertex_places + 3 * i, k) *
                      particles[lattice->cells[lattice->vertex_cells[i]][k]];
    }
}
