/* Segments of bones, used by heat diffusion and by the partition of particles. */
#include "core/math3.h"
#include "jiggle/jiggle.h"

static void joint_place(const px_jiggle_subject *subject, uint32_t joint, float out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = subject->joints[joint].m[4 * c + 3];
}

typedef struct tissue { /* weighted sum of the vertices of a joint */
    double sum[3], weight;
} tissue;

static void weigh_vertices(const px_jiggle_subject *subject, tissue *joints) {
    const pelt_skin *skin = &subject->model->skin;
    size_t count = skin->bone_count ? (size_t)subject->model->mesh.vertex_count * skin->influence_count : 0;
    for (size_t k = 0; k < count; k++) {
        tissue *f = &joints[skin->bone_joints[skin->bones[k]]];
        double weight = (double)skin->weights[k];
        f->weight += weight;
        for (size_t c = 0; c < 3; c++)
            f->sum[c] += weight * (double)subject->positions[3 * (k / skin->influence_count) + c];
    }
}

/* Reflects the joint at the centroid of its vertices: the segment ends as far behind the centroid as it starts
 * before it. */
static void end_of_tissue(const tissue *f, px_jiggle_bone *bone) {
    for (int c = 0; c < 3; c++)
        bone->to[c] = f->weight > 0 ? (float)(2 * f->sum[c] / f->weight - (double)bone->from[c]) : bone->from[c];
}

pelt_result px_jiggle_bones_make(px_arena *arena, const px_jiggle_subject *subject, px_jiggle_bones *bones) {
    const pelt_skeleton *skeleton = &subject->model->skeleton;
    tissue *joints = PX_NEW(arena, tissue, skeleton->joint_count);
    *bones = (px_jiggle_bones){.items = PX_NEW(arena, px_jiggle_bone, 2 * (size_t)skeleton->joint_count)};
    if (!joints || !bones->items)
        return PELT_ERROR_MEMORY;
    weigh_vertices(subject, joints);
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        px_jiggle_bone bone = {.joint = j, .child = PELT_NONE};
        if (subject->model->skin.bone_count && !(joints[j].weight > 0))
            continue;
        joint_place(subject, j, bone.from);
        uint32_t before = bones->count;
        for (uint32_t child = j + 1; child < skeleton->joint_count; child++)
            if (skeleton->parents[child] == j) {
                bone.child = child;
                joint_place(subject, child, bone.to);
                bones->items[bones->count++] = bone;
            }
        if (bones->count == before) {
            end_of_tissue(&joints[j], &bone);
            bones->items[bones->count++] = bone;
        }
    }
    return PELT_OK;
}

float px_jiggle_bone_distance(const px_jiggle_bone *bone, const float p[3], float *along) {
    float way[3], off[3];
    px_sub3(bone->to, bone->from, way);
    px_sub3(p, bone->from, off);
    float length = px_dot3(way, way);
    *along = length > 0 ? px_fminf(px_fmaxf(px_dot3(off, way) / length, 0), 1) : 0;
    for (int c = 0; c < 3; c++)
        off[c] -= *along * way[c];
    return sqrtf(px_dot3(off, off));
}
