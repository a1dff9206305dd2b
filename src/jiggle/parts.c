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

/* Numbers the joints that have particles. */
static void number_parts(uint32_t particle_count, uint32_t joint_count, uint32_t *numbers, px_jiggle_parts *parts) {
    for (uint32_t p = 0; p < particle_count; p++)
        numbers[parts->parts[p]] = 1;
    for (uint32_t j = 0; j < joint_count; j++)
        if (numbers[j]) {
            numbers[j] = parts->part_count;
            parts->joints[parts->part_count++] = j;
        }
    for (uint32_t p = 0; p < particle_count; p++)
        parts->parts[p] = numbers[parts->parts[p]];
}

pelt_result px_jiggle_parts_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                                 const px_weight_table *weights, px_jiggle_parts *parts) {
    uint32_t joint_count = subject->model->skeleton.joint_count;
    px_jiggle_bones bones;
    PX_TRY(px_jiggle_bones_make(arena, subject, &bones));
    uint32_t *firsts = PX_NEW(arena, uint32_t, joint_count); /* [joint] its first segment */
    uint32_t *numbers = PX_NEW(arena, uint32_t, joint_count);
    *parts = (px_jiggle_parts){.bones = PX_NEW(arena, uint32_t, lattice->particle_count),
                               .parts = PX_NEW(arena, uint32_t, lattice->particle_count),
                               .joints = PX_NEW(arena, uint32_t, joint_count)};
    if (!firsts || !numbers || !parts->bones || !parts->parts || !parts->joints)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = bones.count; b-- > 0;)
        firsts[bones.items[b].joint] = b;
    for (uint32_t p = 0; p < lattice->particle_count; p++) {
        uint32_t bone = weights->bones[(size_t)p * weights->capacity];
        parts->bones[p] = bone;
        parts->parts[p] = joint_of(&bones, firsts[bone], bone, lattice->rest + 3 * (size_t)p);
    }
    number_parts(lattice->particle_count, joint_count, numbers, parts);
    return PELT_OK;
}
