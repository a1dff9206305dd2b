/* Thickness of the tissue around joints, and quantities derived from it: softness, the bound on secondary motion, and
 * the share of the rig's skinning where the lattice is too coarse for the vertices.
 *
 * Thickness of a joint: mean distance of its vertices from its bone. Softness grows with thickness relative to the
 * thickest tissue of the character: torsos and thighs are soft, fingers and toes rigid. Heads are as thick as bellies,
 * so heads, hands and feet are also recognised by name.
 */
#include "jiggle/thickness.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#define REFERENCE_QUANTILE 0.9f  /* quantile of the thickness over particles that is the reference thickness */
#define RIGID_BELOW        0.2f  /* of the reference: thinner tissue has no secondary motion */
#define SOFT_ABOVE         0.6f  /* of the reference: thicker tissue has all of δ */
#define MAX_SWING          0.12f /* of the thickness: bound on secondary motion */
#define SKINNED_BELOW      1.0f  /* cells: vertices of thinner tissue use the rig's skinning */
#define EMBEDDED_ABOVE     2.0f  /* cells: vertices of thicker tissue use the lattice alone */

static const char *const firm_names[] = {"head",  "skull", "face", "jaw", "eye", "hand", "palm", "finger",
                                         "thumb", "foot",  "feet", "toe", "paw", "hoof", "claw"};

/* Returns true if `text` contains `word` (lower case), ignoring case. */
static bool holds(const char *text, const char *word) {
    for (; *text; text++) {
        size_t n = 0;
        while (word[n] && tolower((unsigned char)text[n]) == word[n])
            n++;
        if (!word[n])
            return true;
    }
    return false;
}

static bool is_firm(const char *name) {
    for (size_t n = 0; n < PX_COUNT(firm_names); n++)
        if (holds(name, firm_names[n]))
            return true;
    return false;
}

/* Smoothstep from 0 to 1 between two values. */
static float ramp(float from, float to, float x) {
    float t = px_fminf(px_fmaxf((x - from) / (to - from), 0), 1);
    return t * t * (3 - 2 * t);
}

/* Distance to the nearest segment of the joint. */
static float distance_from(const px_jiggle_bones *bones, uint32_t first, uint32_t joint, const float p[3]) {
    float least = INFINITY, along;
    for (uint32_t b = first; b < bones->count && bones->items[b].joint == joint; b++)
        least = px_fminf(least, px_jiggle_bone_distance(&bones->items[b], p, &along));
    return least;
}

/* Vertices are weighted by their squared skin weight, so that vertices shared by several joints count less. */
static pelt_result measure_joints(px_arena *arena, const px_jiggle_subject *subject, px_thickness *t) {
    const pelt_skin *skin = &subject->model->skin;
    uint32_t joint_count = subject->model->skeleton.joint_count;
    px_jiggle_bones bones;
    PX_TRY(px_jiggle_bones_make(arena, subject, &bones));
    uint32_t *firsts = PX_NEW(arena, uint32_t, joint_count);
    double *sums = PX_NEW(arena, double, 2 * (size_t)joint_count);
    if (!firsts || !sums)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = bones.count; b-- > 0;)
        firsts[bones.items[b].joint] = b;
    size_t count = (size_t)subject->model->mesh.vertex_count * skin->influence_count;
    for (size_t k = 0; k < count; k++) {
        uint32_t joint = skin->bone_joints[skin->bones[k]];
        double weight = (double)skin->weights[k] * (double)skin->weights[k];
        if (!(weight > 0))
            continue;
        const float *p = subject->positions + 3 * (k / skin->influence_count);
        sums[2 * (size_t)joint] += weight * (double)distance_from(&bones, firsts[joint], joint, p);
        sums[2 * (size_t)joint + 1] += weight;
    }
    for (size_t j = 0; j < joint_count; j++)
        t->joints[j] = sums[2 * j + 1] > 0 ? (float)(sums[2 * j] / sums[2 * j + 1]) : 0;
    return PELT_OK;
}

static int compare(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void px_thickness_blend(const px_weight_table *weights, const float *joints, uint32_t particle_count, float *out) {
    for (size_t p = 0; p < particle_count; p++) {
        const uint16_t *rows = weights->bones + p * weights->capacity;
        const float *shares = weights->weights + p * weights->capacity;
        out[p] = joints[rows[0]]; /* sum relative to the first joint: exact if all values are equal */
        for (uint32_t k = 1; k < weights->capacity; k++)
            out[p] += shares[k] * (joints[rows[k]] - joints[rows[0]]);
    }
}

pelt_result px_thickness_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                              const px_weight_table *weights, px_thickness *out) {
    uint32_t joint_count = subject->model->skeleton.joint_count, count = lattice->particle_count;
    *out = (px_thickness){.joints = PX_NEW(arena, float, joint_count),
                          .softness = PX_NEW(arena, float, joint_count),
                          .swings = PX_NEW(arena, float, joint_count),
                          .holds = PX_NEW(arena, float, joint_count)};
    float *sorted = PX_NEW(arena, float, count);
    if (!out->joints || !out->softness || !out->swings || !out->holds || !sorted)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < joint_count; j++) { /* defaults without a skin: the thickness is unknown */
        out->softness[j] = 1;
        out->swings[j] = INFINITY;
    }
    if (subject->model->skin.bone_count == 0 || count == 0)
        return PELT_OK;
    PX_TRY(measure_joints(arena, subject, out));
    px_thickness_blend(weights, out->joints, count, sorted);
    px_sort(sorted, count, sizeof *sorted, compare);
    float reference = sorted[(size_t)(REFERENCE_QUANTILE * (float)(count - 1))];
    for (uint32_t j = 0; j < joint_count; j++) {
        bool firm = is_firm(subject->model->skeleton.names[j]);
        float thickness = out->joints[j], cells = thickness / lattice->cell;
        out->softness[j] = firm || !(reference > 0) ? 0 : ramp(RIGID_BELOW, SOFT_ABOVE, thickness / reference);
        out->swings[j] = MAX_SWING * thickness;
        out->holds[j] = firm ? 1 : 1 - ramp(SKINNED_BELOW, EMBEDDED_ABOVE, cells);
    }
    return PELT_OK;
}
