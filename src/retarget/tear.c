/* Detection of torn meshes: growth of edges, and of bones between weighted joints, over their rest length. */
#include "retarget/tear.h"

#include "core/mesh.h"
#include "core/skin.h"
#include <stdio.h>

#define NAMES_SHOWN 4u

static void skin_points(const px_tear *t, const pelt_affine *globals, float *points) {
    const pelt_model *rig = t->rig;
    pelt_skin_palette(&rig->skin, globals, t->palette);
    for (uint32_t i = 0; i < rig->mesh.vertex_count; i++) {
        double m[12];
        const float *p = rig->mesh.positions + 3 * (size_t)i;
        px_skin_blend(&rig->skin, t->palette, i, m);
        for (int c = 0; c < 3; c++)
            points[3 * (size_t)i + c] = (float)(m[4 * c] * (double)p[0] + m[4 * c + 1] * (double)p[1] +
                                                m[4 * c + 2] * (double)p[2] + m[4 * c + 3]);
    }
}

pelt_result px_tear_create(px_arena *arena, const px_rig_pose *rest, px_tear *t) {
    const pelt_model *rig = rest->model;
    *t = (px_tear){.rig = rig, .rest_pose = rest, .joints = {PELT_NONE, PELT_NONE}};
    if (rig->skin.bone_count == 0)
        return PELT_OK;
    t->palette = PX_NEW(arena, pelt_affine, rig->skin.bone_count);
    t->rest = PX_NEW(arena, float, 3 * (size_t)rig->mesh.vertex_count);
    t->posed = PX_NEW(arena, float, 3 * (size_t)rig->mesh.vertex_count);
    t->weighted = PX_NEW(arena, bool, rig->skeleton.joint_count);
    t->torn = PX_NEW(arena, bool, rig->skeleton.joint_count);
    if (!t->palette || !t->rest || !t->posed || !t->weighted || !t->torn)
        return PELT_ERROR_MEMORY;
    px_weighted_joints(rig, t->weighted);
    skin_points(t, rest->globals, t->rest);
    float low[3], high[3];
    t->size = px_box(t->rest, rig->mesh.vertex_count, low, high);
    return PELT_OK;
}

static double length(const float *a, const float *b) {
    double d[3] = {(double)a[0] - (double)b[0], (double)a[1] - (double)b[1], (double)a[2] - (double)b[2]};
    return px_length3(d);
}

static void grow(px_tear *t, double growth, uint32_t a, uint32_t b, uint32_t frame) {
    growth /= t->size;
    if (growth > PX_TEAR)
        t->torn[a] = t->torn[b] = true;
    if (!(growth > t->growth))
        return;
    t->growth = growth;
    t->joints[0] = a;
    t->joints[1] = b;
    t->frame = frame;
}

void px_tear_measure(px_tear *t, const px_rig_pose *pose, uint32_t frame) {
    const pelt_model *rig = t->rig;
    const pelt_skin *skin = &rig->skin;
    if (!(t->size > 0))
        return;
    skin_points(t, pose->globals, t->posed);
    for (size_t e = 0; e < 3 * (size_t)rig->mesh.triangle_count; e++) {
        size_t a = rig->mesh.triangles[e], b = rig->mesh.triangles[e % 3 == 2 ? e - 2 : e + 1];
        grow(t, length(t->posed + 3 * a, t->posed + 3 * b) - length(t->rest + 3 * a, t->rest + 3 * b),
             skin->bone_joints[skin->bones[a * skin->influence_count]],
             skin->bone_joints[skin->bones[b * skin->influence_count]], frame);
    }
    for (uint32_t j = 0; j < rig->skeleton.joint_count; j++) {
        uint32_t parent = rig->skeleton.parents[j];
        if (parent == PELT_NONE || !t->weighted[j] || !t->weighted[parent])
            continue;
        grow(t, px_joint_distance(pose, j, parent) - px_joint_distance(t->rest_pose, j, parent), j, parent, frame);
    }
}

void px_tear_warn(const px_tear *t, pelt_context *context, const px_bridge *b) {
    const char *const *names = t->rig->skeleton.names;
    if (!(t->growth > PX_TEAR))
        return;
    char list[256] = "";
    size_t used = 0, count = 0;
    for (uint32_t j = 0; j < t->rig->skeleton.joint_count; j++)
        if (t->torn[j] && b->matches[j].joint == PELT_NONE && count++ < NAMES_SHOWN)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s'%.40s'", used ? ", " : "", names[j]);
    px_log(context, PELT_LOG_WARNING,
           "the motion tears the mesh: between '%s' and '%s' it grows by %.0f %% of the rig's size in frame %u%s%s%s",
           names[t->joints[0]], names[t->joints[1]], 100 * t->growth, t->frame,
           count ? "; joints that carry weights there have no partner: " : "", list, count > NAMES_SHOWN ? " …" : "");
}
