/* Deformable parts (Chen et al. 2011, figure 5): particles are grouped by the bone with the largest weight, then by
 * the nearer joint of that bone. */
#include "jiggle/jiggle.h"

#include <math.h>

/* Returns the joint at the nearer end of the nearest segment of `bone`. */
static uint32_t joint_of(const px_jiggle_bones *bones, uint32_t first, uint32_t bone, const float p[3]) {
    uint32_t joint = bone;
    float least = INFINITY;
    for (uint32_t b = first; b < bones->count && bones->items[b].joint == bone; b++) {
        float along, off = px_jiggle_bone_distance(&bones->items[b], p, &along);
        if (off < least) {
            least = off;
            joint = along >= 0.5f && bones->items[b].child != PELT_NONE ? bones->items[b].child : bone;
        }
    }
    return joint;
}

/* What becomes of the part of every joint: `into` [joint] the joint of its final part, `split` [joint]. */
static void plan_parts(const pelt_jiggle_desc *desc, uint32_t joint_count, uint32_t *into, bool *split) {
    for (uint32_t j = 0; j < joint_count; j++)
        into[j] = j;
    for (uint32_t n = 0; desc && n < desc->part_count; n++) {
        split[desc->parts[n].joint] = desc->parts[n].into == PELT_NONE;
        if (desc->parts[n].into != PELT_NONE)
            into[desc->parts[n].joint] = desc->parts[n].into;
    }
    for (uint32_t j = 0; j < joint_count; j++) /* there are no cycles */
        while (into[into[j]] != into[j])
            into[j] = into[into[j]];
}

pelt_result px_jiggle_parts_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                                 const px_weight_table *weights, const pelt_jiggle_desc *desc, px_jiggle_parts *parts) {
    uint32_t joint_count = subject->model->skeleton.joint_count;
    px_jiggle_bones bones;
    PX_TRY(px_jiggle_bones_make(arena, subject, &bones));
    uint32_t *firsts = PX_NEW(arena, uint32_t, joint_count); /* [joint] its first segment */
    uint32_t *into = PX_NEW(arena, uint32_t, joint_count);
    bool *split = PX_NEW(arena, bool, joint_count);
    /* [2 joint + half]: half 1 is that of a split part which starts at the joint. 1, then the number of the part. */
    uint32_t *numbers = PX_NEW(arena, uint32_t, 2 * (size_t)joint_count);
    *parts = (px_jiggle_parts){.bones = PX_NEW(arena, uint32_t, lattice->particle_count),
                               .parts = PX_NEW(arena, uint32_t, lattice->particle_count),
                               .joints = PX_NEW(arena, uint32_t, 2 * (size_t)joint_count),
                               .halves = PX_NEW(arena, uint32_t, 2 * (size_t)joint_count)};
    if (!firsts || !into || !split || !numbers || !parts->bones || !parts->parts || !parts->joints || !parts->halves)
        return PELT_ERROR_MEMORY;
    plan_parts(desc, joint_count, into, split);
    for (uint32_t b = bones.count; b-- > 0;)
        firsts[bones.items[b].joint] = b;
    for (uint32_t p = 0; p < lattice->particle_count; p++) {
        uint32_t bone = weights->bones[(size_t)p * weights->capacity];
        uint32_t joint = into[joint_of(&bones, firsts[bone], bone, lattice->rest + 3 * (size_t)p)];
        parts->bones[p] = bone;
        parts->parts[p] = 2 * joint + (split[joint] && bone == joint);
        numbers[parts->parts[p]] = 1;
    }
    for (uint32_t n = 0; n < 2 * joint_count; n++)
        if (numbers[n]) {
            numbers[n] = parts->part_count;
            parts->joints[parts->part_count] = n / 2;
            parts->halves[parts->part_count++] = !split[n / 2] ? PELT_NONE
                                                 : n % 2       ? n / 2
                                                               : subject->model->skeleton.parents[n / 2];
        }
    for (uint32_t p = 0; p < lattice->particle_count; p++)
        parts->parts[p] = numbers[parts->parts[p]];
    return PELT_OK;
}
