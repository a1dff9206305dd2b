/* Selection of the animation to draw, and evaluation of its vertices and joints at a time. */
#include "run/skin.h"
#include "view/view.h"

#include "core/frames.h"

#include <stdlib.h>

/* Parses a decimal integer below `count`; PELT_NONE if the text is anything else. */
static uint32_t number_below(const char *text, uint32_t count) {
    char *end;
    if (*text < '0' || *text > '9')
        return PELT_NONE;
    unsigned long long value = strtoull(text, &end, 10);
    return *end == 0 && value < count ? (uint32_t)value : PELT_NONE;
}

/* Index of an animation by name, or by index among those from `first` on. */
static uint32_t find_animation(const pelt_model *model, uint32_t first, const char *text) {
    for (uint32_t c = first; c < model->clip_count; c++)
        if (strcmp(model->clips[c].name, text) == 0)
            return c;
    for (uint32_t m = 0; m < model->motion_count; m++)
        if (strcmp(model->motions[m].name, text) == 0)
            return model->clip_count + m;
    uint32_t number = number_below(text, model->clip_count + model->motion_count - first);
    return number == PELT_NONE ? PELT_NONE : first + number;
}

pelt_result px_animation_find(pelt_context *context, const pelt_model *model, const pelt_picture_desc *desc,
                              bool motions_only, px_animation *animation) {
    *animation = (px_animation){0};
    uint32_t first = motions_only ? model->clip_count : 0, count = model->clip_count + model->motion_count - first;
    if (desc->rest || (!desc->motion && count == 0))
        return PELT_OK;
    uint32_t index = desc->motion ? find_animation(model, first, desc->motion) : first;
    if (index == PELT_NONE)
        return px_fail(context, PELT_ERROR_USAGE,
                       "there is no animation '%s': give a name, or an index below %u (clips, then motions)",
                       desc->motion, count);
    *animation = px_animation_at(model, index);
    return PELT_OK;
}

px_animation px_animation_at(const pelt_model *model, uint32_t index) {
    if (index < model->clip_count && model->clips[index].frame_count > 0) {
        const pelt_clip *clip = &model->clips[index];
        return (px_animation){.clip = clip, .start = clip->times[0], .end = clip->times[clip->frame_count - 1]};
    }
    if (index < model->clip_count || index - model->clip_count >= model->motion_count)
        return (px_animation){0};
    const pelt_motion *motion = &model->motions[index - model->clip_count];
    return (px_animation){.motion = motion, .start = motion->start, .end = motion->end};
}

uint32_t px_animation_frames(const px_animation *animation, double fps) {
    if (animation->clip)
        return animation->clip->frame_count;
    double steps = px_motion_steps(animation->end - animation->start, fps);
    return steps < UINT32_MAX - 1.0 ? 1 + (uint32_t)px_fmax(steps, 0) : UINT32_MAX;
}

double px_animation_time(const px_animation *animation, double fps, uint32_t frame) {
    if (animation->clip)
        return animation->clip->times[frame];
    double duration = animation->end - animation->start, steps = px_motion_steps(duration, fps);
    return steps > 0 ? animation->start + duration * frame / steps : animation->start; /* as pelt_clip_from_motion */
}

static uint32_t nearest_frame(const pelt_clip *clip, double time) {
    uint32_t best = 0;
    for (uint32_t k = 1; k < clip->frame_count; k++)
        if (fabs(clip->times[k] - time) < fabs(clip->times[best] - time))
            best = k;
    return best;
}

static pelt_result read_clip(pelt_context *context, const pelt_mesh *mesh, const pelt_clip *clip, uint32_t frame,
                             float *positions) {
    if (!mesh->points.of)
        return pelt_clip_read(context, clip, frame, 0, clip->point_count, positions);
    float *points = PX_ALLOC(context, float, px_mul_size(3, clip->point_count));
    if (!points)
        return PELT_ERROR_MEMORY;
    pelt_result result = pelt_clip_read(context, clip, frame, 0, clip->point_count, points);
    if (result == PELT_OK)
        pelt_vertex_classes_spread(&mesh->points, mesh->vertex_count, points, positions);
    px_free(context, points);
    return result;
}

/* ---- Smooth normals --------------------------------------------------------------------------------------- */

typedef struct place {
    float p[3];
    uint32_t vertex;
} place;

static int compare_places(const void *a, const void *b) {
    const place *pa = a, *pb = b;
    for (int c = 0; c < 3; c++)
        if (pa->p[c] != pb->p[c])
            return pa->p[c] < pb->p[c] ? -1 : 1;
    return pa->vertex < pb->vertex ? -1 : pa->vertex > pb->vertex;
}

/* groups [vertex]: the first vertex at the same rest position. Shading is smooth across seams. */
static pelt_result group_vertices(pelt_context *context, const pelt_mesh *mesh, uint32_t *groups) {
    place *places = PX_ALLOC(context, place, mesh->vertex_count);
    if (!places)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        places[i].vertex = i;
        for (int c = 0; c < 3; c++) {
            float p = mesh->positions[(size_t)3 * i + c];
            places[i].p[c] = isfinite(p) ? p + 0.0f : 0; /* NaN has no order; −0 becomes 0 */
        }
    }
    if (mesh->vertex_count > 0)
        px_sort(places, mesh->vertex_count, sizeof *places, compare_places);
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        bool same = i > 0 && memcmp(places[i].p, places[i - 1].p, sizeof places[i].p) == 0;
        groups[places[i].vertex] = same ? groups[places[i - 1].vertex] : places[i].vertex;
    }
    px_free(context, places);
    return PELT_OK;
}

static void normalize(float n[3]) {
    double length = sqrt((double)n[0] * n[0] + (double)n[1] * n[1] + (double)n[2] * n[2]);
    bool fine = length > 0 && isfinite(length);
    for (int c = 0; c < 3; c++)
        n[c] = fine ? (float)(n[c] / length) : c == 2;
}

/* Cross product of the edges, scaled to about one so that huge and tiny models neither overflow nor underflow. */
static void add_face(const float *positions, const uint32_t t[3], double scale, double sums[3]) {
    const float *a = positions + (size_t)3 * t[0], *b = positions + (size_t)3 * t[1], *c = positions + (size_t)3 * t[2];
    double ab[3], ac[3];
    for (int e = 0; e < 3; e++) {
        ab[e] = ((double)b[e] - a[e]) * scale;
        ac[e] = ((double)c[e] - a[e]) * scale;
    }
    sums[0] = ab[1] * ac[2] - ab[2] * ac[1];
    sums[1] = ab[2] * ac[0] - ab[0] * ac[2];
    sums[2] = ab[0] * ac[1] - ab[1] * ac[0];
}

static double edge_scale(const pelt_mesh *mesh, const float *positions) {
    double largest = 0;
    for (size_t e = 0; e < (size_t)3 * mesh->vertex_count; e++)
        if (isfinite(positions[e]))
            largest = px_fmax(largest, fabs((double)positions[e]));
    return largest > 0 ? 1 / largest : 1;
}

/* Area-weighted sums over groups. Faces with a corner that is not finite are ignored. */
static pelt_result smooth_normals(pelt_context *context, const pelt_mesh *mesh, const float *positions,
                                  float *normals) {
    uint32_t *groups = PX_ALLOC(context, uint32_t, mesh->vertex_count);
    double(*sums)[3] = px_alloc(context, mesh->vertex_count, sizeof *sums);
    pelt_result result = groups && sums ? group_vertices(context, mesh, groups) : PELT_ERROR_MEMORY;
    double scale = edge_scale(mesh, positions);
    for (uint32_t t = 0; t < mesh->triangle_count && result == PELT_OK; t++) {
        const uint32_t *corners = mesh->triangles + (size_t)3 * t;
        double face[3];
        add_face(positions, corners, scale, face);
        if (!isfinite(face[0] + face[1] + face[2]))
            continue;
        for (int c = 0; c < 3; c++)
            for (int e = 0; e < 3; e++)
                sums[groups[corners[c]]][e] += face[e];
    }
    for (uint32_t i = 0; i < mesh->vertex_count && result == PELT_OK; i++) {
        const double *s = sums[groups[i]];
        double length = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
        for (int c = 0; c < 3; c++)
            normals[(size_t)3 * i + c] = length > 0 ? (float)(s[c] / length) : c == 2;
    }
    px_free(context, sums);
    px_free(context, groups);
    return result;
}

/* ---- Skinned normals -------------------------------------------------------------------------------------- */

/* Normals as engines compute them: skinned vertices by the blended matrix itself, unskinned parts by the inverse
 * transpose of their joint's matrix. */
static pelt_result skinned_normals(pelt_context *context, const pelt_model *model, const pelt_motion *motion,
                                   double time, float *normals) {
    const pelt_mesh *mesh = &model->mesh;
    float rules[PELT_NORMAL_RULES][3];
    px_pose pose;
    PX_TRY(px_pose_make(context, model, motion, (float)time, PELT_SKINNING_LINEAR, &pose));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        px_pose_normals(&pose, i, rules);
        memcpy(normals + (size_t)3 * i, rules[PELT_NORMALS_MATRIX], sizeof rules[0]);
    }
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        for (uint32_t i = 0; i < part->vertex_count && !part->skinned; i++) {
            px_pose_normals(&pose, part->first_vertex + i, rules);
            memcpy(normals + (size_t)3 * (part->first_vertex + i), rules[PELT_NORMALS_INVERSE], sizeof rules[0]);
        }
    }
    px_pose_free(&pose);
    return PELT_OK;
}

/* ---- Poses ------------------------------------------------------------------------------------------------ */

pelt_result px_animation_pose(pelt_context *context, const pelt_model *model, const px_animation *animation,
                              double time, float *positions, float *normals) {
    const pelt_mesh *mesh = &model->mesh;
    if (mesh->vertex_count == 0)
        return PELT_OK;
    bool own_normals = normals && mesh->normals && !animation->clip;
    if (animation->clip)
        PX_TRY(read_clip(context, mesh, animation->clip, nearest_frame(animation->clip, time), positions));
    else
        PX_TRY(pelt_model_pose(context, model, animation->motion, (float)time, PELT_SKINNING_LINEAR, positions, NULL));
    if (normals && !own_normals)
        return smooth_normals(context, mesh, positions, normals);
    if (normals)
        PX_TRY(skinned_normals(context, model, animation->motion, time, normals));
    for (uint32_t i = 0; i < mesh->vertex_count && normals; i++)
        normalize(normals + (size_t)3 * i);
    return PELT_OK;
}

pelt_result px_animation_joints(pelt_context *context, const pelt_model *model, const px_animation *animation,
                                double time, float *joints) {
    const pelt_skeleton *skeleton = &model->skeleton;
    pelt_transform *locals = PX_ALLOC(context, pelt_transform, skeleton->joint_count);
    pelt_affine *globals = PX_ALLOC(context, pelt_affine, skeleton->joint_count);
    pelt_result result = locals && globals ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        pelt_motion_sample(model, animation->motion, (float)time, locals, NULL);
        pelt_skeleton_globals(skeleton, locals, globals);
        for (uint32_t j = 0; j < skeleton->joint_count; j++)
            for (int c = 0; c < 3; c++)
                joints[(size_t)3 * j + c] = globals[j].m[4 * c + 3];
    }
    px_free(context, globals);
    px_free(context, locals);
    return result;
}
