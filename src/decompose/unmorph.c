/* Removes the effect of a rig's morph targets from clips.
 *
 * A vertex of the rig is at Σ_j w_j M_j (v + d), d the sum of its targets' displacements. Bones are fitted to the clips
 * minus Σ_j w_j M_j d, so that targets that are kept do not count twice. New bones change w and M, and with them the
 * displacement term: a small part of a quantity that is small itself.
 */
#include "decompose/given.h"

typedef struct unmorph {
    const pelt_model *rig;
    const pelt_motion *motion;
    pelt_transform *locals; /* [joint] */
    pelt_affine *globals;   /* [joint] */
    pelt_affine *palette;   /* [bone] */
    float *weights;         /* [morph] */
    float *offsets;         /* [vertex][3] */
} unmorph;

static bool any_weight(const unmorph *u, float time) {
    bool any = false;
    pelt_motion_sample(u->rig, u->motion, time, NULL, u->weights);
    for (uint32_t m = 0; m < u->rig->morphs.morph_count; m++)
        any |= u->weights[m] != 0;
    return any;
}

static bool any_frame(const unmorph *u, const pelt_clip *clip) {
    for (uint32_t k = 0; k < clip->frame_count; k++)
        if (any_weight(u, clip->times[k]))
            return true;
    return false;
}

static void sum_offsets(const unmorph *u) {
    memset(u->offsets, 0, 3 * (size_t)u->rig->mesh.vertex_count * sizeof *u->offsets);
    for (uint32_t m = 0; m < u->rig->morphs.morph_count; m++) {
        const pelt_morph *morph = &u->rig->morphs.morphs[m];
        float *out = u->offsets + 3 * (size_t)morph->first_vertex;
        for (size_t e = 0; u->weights[m] != 0 && e < 3 * (size_t)morph->vertex_count; e++)
            out[e] += u->weights[m] * morph->positions[e];
    }
}

/* Subtracts the skinned displacements from one frame, positions [point][3]. */
static void take_off(const unmorph *u, float time, float *positions) {
    const pelt_mesh *mesh = &u->rig->mesh;
    const pelt_skin *skin = &u->rig->skin;
    if (!any_weight(u, time))
        return;
    sum_offsets(u);
    pelt_motion_sample(u->rig, u->motion, time, u->locals, NULL);
    pelt_skeleton_globals(&u->rig->skeleton, u->locals, u->globals);
    pelt_skin_palette(skin, u->globals, u->palette);
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        const float *d = u->offsets + 3 * i;
        size_t point = pelt_vertex_class(&mesh->points, i);
        if (pelt_class_vertex(&mesh->points, point) != i || (d[0] == 0 && d[1] == 0 && d[2] == 0))
            continue;
        for (size_t a = i * skin->influence_count; a < (i + 1) * skin->influence_count; a++) {
            const float *m = u->palette[skin->bones[a]].m;
            for (size_t r = 0; r < 3; r++)
                positions[3 * point + r] -=
                    skin->weights[a] * (m[4 * r] * d[0] + m[4 * r + 1] * d[1] + m[4 * r + 2] * d[2]);
        }
    }
}

static pelt_result unmorph_clip(const unmorph *u, px_fit *fit, pelt_clip *clip) {
    size_t floats = px_mul_size(3, clip->point_count);
    float *positions = PX_NEW(fit->arena, float, px_mul_size(floats, clip->frame_count));
    if (!positions)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < clip->frame_count; k++) {
        float *frame = positions + floats * k;
        PX_TRY(pelt_clip_read(fit->context, clip, k, 0, clip->point_count, frame));
        px_clip_release(clip, clip->point_count);
        take_off(u, clip->times[k], frame);
        PX_TRY(px_cancelled(fit->context));
    }
    clip->positions = positions;
    clip->source = (pelt_clip_source){0};
    return PELT_OK;
}

pelt_result px_given_unmorph(const px_given *given, px_fit *fit, const pelt_model *model, const pelt_clip **out) {
    const pelt_model *rig = given->rig;
    if (!given->keeps_morphs || !given->motions)
        return PELT_OK;
    size_t vertices = rig->mesh.vertex_count;
    pelt_clip *clips = PX_NEW(fit->arena, pelt_clip, model->clip_count);
    unmorph u = {.rig = rig,
                 .locals = PX_NEW(fit->arena, pelt_transform, rig->skeleton.joint_count),
                 .globals = PX_NEW(fit->arena, pelt_affine, rig->skeleton.joint_count),
                 .palette = PX_NEW(fit->arena, pelt_affine, rig->skin.bone_count),
                 .weights = PX_NEW(fit->arena, float, rig->morphs.morph_count),
                 .offsets = PX_NEW(fit->arena, float, px_mul_size(3, vertices))};
    if (!clips || !u.locals || !u.globals || !u.palette || !u.weights || !u.offsets)
        return PELT_ERROR_MEMORY;
    memcpy(clips, model->clips, model->clip_count * sizeof *clips);
    for (uint32_t c = 0; c < model->clip_count; c++) {
        if (clips[c].frame_count == 0)
            continue;
        u.motion = &rig->motions[given->motions[c]];
        if (any_frame(&u, &clips[c]))
            PX_TRY(unmorph_clip(&u, fit, &clips[c]));
    }
    *out = clips;
    return PELT_OK;
}
