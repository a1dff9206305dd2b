/* Bones by joint, with their palette in the rest pose: see edit.h. */
#include "weights/edit.h"

#include "core/math3.h"

pelt_result px_joint_bones_make(px_arena *arena, const pelt_model *model, px_joint_bones *out) {
    const pelt_skin *skin = &model->skin;
    uint32_t joint_count = model->skeleton.joint_count;
    out->model = model;
    out->offsets = PX_NEW(arena, size_t, (size_t)joint_count + 2);
    out->items = PX_NEW(arena, uint32_t, skin->bone_count);
    out->globals = PX_NEW(arena, pelt_affine, joint_count);
    out->palette = PX_NEW(arena, pelt_affine, skin->bone_count);
    if (!out->offsets || !out->items || !out->globals || !out->palette)
        return PELT_ERROR_MEMORY;
    size_t *places = out->offsets + 1; /* counts, then prefix sums: write positions */
    for (uint32_t b = 0; b < skin->bone_count; b++)
        places[skin->bone_joints[b] + 1]++;
    for (uint32_t j = 0; j < joint_count; j++)
        places[j + 1] += places[j];
    for (uint32_t b = 0; b < skin->bone_count; b++)
        out->items[places[skin->bone_joints[b]]++] = b;
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, out->globals);
    pelt_skin_palette(skin, out->globals, out->palette);
    return PELT_OK;
}

static double difference(const pelt_affine *a, const pelt_affine *b) {
    double sum = 0;
    for (int e = 0; e < 12; e++)
        sum += ((double)a->m[e] - (double)b->m[e]) * ((double)a->m[e] - (double)b->m[e]);
    return sum;
}

uint32_t px_bone_like(const px_joint_bones *bones, uint32_t joint, const pelt_affine *palette) {
    uint32_t best = PELT_NONE;
    for (size_t n = bones->offsets[joint]; n < bones->offsets[joint + 1]; n++) {
        uint32_t bone = bones->items[n];
        if (best == PELT_NONE ||
            difference(&bones->palette[bone], palette) < difference(&bones->palette[best], palette))
            best = bone;
    }
    return best;
}

pelt_affine px_joint_palette(const px_joint_bones *bones, uint32_t joint) {
    for (; joint != PELT_NONE; joint = bones->model->skeleton.parents[joint])
        if (bones->offsets[joint] < bones->offsets[joint + 1])
            return bones->palette[bones->items[bones->offsets[joint]]];
    return px_affine_identity();
}
