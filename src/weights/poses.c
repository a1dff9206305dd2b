/* Poses in which edits measure how far vertices move: see edit.h. */
#include "core/rotation.h"
#include "weights/edit.h"

#include <math.h>

#define SWING 0.5 /* radians: rotation of every joint in the poses of a rig without motions */

/* A pose of a rig without motions: joint j is turned about an axis that differs from pose to pose and joint to joint (steps
 * of the golden ratio on the sphere). */
static void swing(const pelt_model *model, uint32_t pose, pelt_transform *locals) {
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++) {
        double u = fmod(0.618033988749895 * (pose + 1.0) + 0.754877666246693 * j, 1);
        double v = fmod(0.569840290998053 * (pose + 1.0) + 0.381966011250105 * j, 1);
        double z = 2 * u - 1, r = sqrt(1 - z * z), angle = 6.283185307179586 * v, s = px_sin(SWING / 2);
        const float turn[] = {(float)(s * r * px_cos(angle)), (float)(s * r * px_sin(angle)), (float)(s * z),
                              (float)px_cos(SWING / 2)};
        locals[j] = model->skeleton.rest[j];
        px_rotation rest = px_rotation_of(model->skeleton.rest[j].rotation), own = px_rotation_of(turn);
        px_rotation_store(px_rotation_mul(rest, own), locals[j].rotation);
    }
}

pelt_result px_edit_poses_make(px_edit *edit, uint32_t count, px_edit_poses *out) {
    const pelt_model *model = edit->model;
    const pelt_mesh *mesh = &edit->mesh;
    float low[3], high[3];
    pelt_transform *locals = PX_NEW(edit->arena, pelt_transform, model->skeleton.joint_count);
    pelt_affine *globals = PX_NEW(edit->arena, pelt_affine, model->skeleton.joint_count);
    *out = (px_edit_poses){.count = count, .bone_count = model->skin.bone_count};
    out->palettes = PX_NEW(edit->arena, pelt_affine, px_mul_size(count, model->skin.bone_count));
    out->positions = px_class_positions(edit->arena, &mesh->weld, mesh->positions);
    if (!locals || !globals || !out->palettes || !out->positions)
        return PELT_ERROR_MEMORY;
    out->diagonal = px_box(out->positions, mesh->weld.count, low, high);
    double length = 0;
    for (uint32_t m = 0; m < model->motion_count; m++)
        length += px_fmax((double)(model->motions[m].end - model->motions[m].start), 0);
    for (uint32_t p = 0; p < count; p++) {
        if (length < PX_STILL_SECONDS) {
            swing(model, p, locals);
        } else { /* the middles of equal stretches of all motions, one after the other */
            double at = (p + 0.5) / count * length;
            uint32_t m = 0;
            while (m + 1 < model->motion_count && at > (double)(model->motions[m].end - model->motions[m].start))
                at -= px_fmax((double)(model->motions[m].end - model->motions[m].start), 0), m++;
            pelt_motion_sample(model, &model->motions[m], model->motions[m].start + (float)at, locals, NULL);
        }
        pelt_skeleton_globals(&model->skeleton, locals, globals);
        pelt_skin_palette(&model->skin, globals, out->palettes + (size_t)p * out->bone_count);
    }
    return PELT_OK;
}

void px_edit_poses_add(const px_edit_poses *poses, size_t row, uint32_t bone, double weight, double (*moved)[3]) {
    for (size_t p = 0; p < poses->count; p++) {
        float at[3];
        px_affine_point(&poses->palettes[p * poses->bone_count + bone], poses->positions + 3 * row, at);
        for (int c = 0; c < 3; c++)
            moved[p][c] += weight * (double)at[c];
    }
}
