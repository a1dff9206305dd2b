/* The skeleton of a USD file, and motions as its animations: see usd_write.h. */
#include "io/usd_write.h"

#include "core/math3.h"

#include <stdio.h>

#define MAX_HALVINGS 8      /* of the time between two keys */
#define MAX_ANGLE    0.0001 /* radians between a curve and the line between its samples */
#define MAX_OFFSET   1e-5   /* of the size, likewise */
#define MAX_LENGTH   1e-5   /* of a quaternion, from 1: longer and shorter ones bend the arc between two keys */

/* ---- Skeleton --------------------------------------------------------------------------------------------------- */

static void write_texts(px_usd_out *out, const char *start, const char *const *texts, uint32_t count) {
    px_usd_start(out, start);
    for (uint32_t n = 0; n < count; n++) {
        px_buffer_text(&out->text, n ? ", " : "");
        px_usd_text(out, texts[n]);
    }
    px_buffer_text(&out->text, "]\n");
}

/* The rest transform of a joint of the file; those that are none of the model have none. */
static const pelt_transform *rest_of(const px_usd_writer *w, uint32_t joint) {
    static const pelt_transform still = {{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    bool own = joint >= w->first_joint && joint - w->first_joint < w->model->skeleton.joint_count;
    return own ? &w->model->skeleton.rest[joint - w->first_joint] : &still;
}

static void write_skeleton_arrays(px_usd_writer *w) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    px_usd_out *out = &w->out;
    write_texts(out, "uniform token[] joints = [", w->paths, w->joint_count);
    px_usd_start(out, "uniform token[] jointNames = [");
    for (uint32_t j = 0; j < w->joint_count; j++) {
        bool own = j >= w->first_joint && j - w->first_joint < skeleton->joint_count;
        px_buffer_text(&out->text, j ? ", " : "");
        px_usd_text(out, own ? skeleton->names[j - w->first_joint] : px_path_name(w->paths[j]));
    }
    px_buffer_text(&out->text, "]\n");
    for (int which = 0; which < 2; which++) {
        px_usd_start(out, which ? "uniform matrix4d[] restTransforms = [" : "uniform matrix4d[] bindTransforms = [");
        for (uint32_t j = 0; j < w->joint_count; j++) {
            px_scene_matrix rest = px_usd_matrix_of_transform(rest_of(w, j));
            px_buffer_text(&out->text, j ? ", " : "");
            px_usd_put_matrix(out, which ? &rest : &w->binds[j]);
        }
        px_buffer_text(&out->text, "]\n");
    }
}

/* ---- Motions ---------------------------------------------------------------------------------------------------- */

/* A motion at the times of its samples. */
typedef struct sampled {
    const pelt_motion *motion;
    uint32_t frame_count;
    float *times;           /* [frame] */
    pelt_transform *locals; /* [frame][joint] */
    float *weights;         /* [frame][morph] */
    uint32_t *joints;       /* [moved_count] joints that the motion moves */
    uint32_t moved_count;
    bool animated[4]; /* by pelt_path */
} sampled;

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Whether the pose in the middle of two times is, near enough, in the middle of their poses. */
static bool is_straight(const px_usd_writer *w, const pelt_motion *motion, float from, float to,
                        pelt_transform *locals[3], float *weights[3]) {
    float times[3] = {from, to, from + 0.5f * (to - from)};
    for (int t = 0; t < 3; t++)
        pelt_motion_sample(w->model, motion, times[t], locals[t], weights[t]);
    for (uint32_t j = 0; j < w->model->skeleton.joint_count; j++) {
        const pelt_transform *a = &locals[0][j], *b = &locals[1][j], *middle = &locals[2][j];
        double dot = 0, length = 0, cosine = 0;
        for (int c = 0; c < 4; c++)
            dot += (double)a->rotation[c] * b->rotation[c];
        for (int c = 0; c < 4; c++) {
            double sum = a->rotation[c] + (dot < 0 ? -b->rotation[c] : b->rotation[c]);
            length += sum * sum;
            cosine += sum * middle->rotation[c];
        }
        /* the angle of the rotation between them is 2 acos(cosine / length), about 2 sqrt(2 (1 − cosine / length)) */
        double off = length > 0 ? 1 - fabs(cosine) / sqrt(length) : 1;
        if (8 * off > MAX_ANGLE * MAX_ANGLE)
            return false;
        for (int c = 0; c < 3; c++)
            if (fabs((double)a->translation[c] + b->translation[c] - 2 * (double)middle->translation[c]) >
                    2 * MAX_OFFSET * w->size ||
                fabs((double)a->scale[c] + b->scale[c] - 2 * (double)middle->scale[c]) > 2 * MAX_OFFSET)
                return false;
    }
    for (uint32_t m = 0; m < w->model->morphs.morph_count; m++)
        if (fabs((double)weights[0][m] + weights[1][m] - 2 * (double)weights[2][m]) > 2 * MAX_OFFSET)
            return false;
    return true;
}

/* Whether a track is no line, or no arc, between its keys. */
static bool is_curved(const pelt_track *track) {
    bool curved = track->interpolation == PELT_INTERPOLATION_CUBIC;
    for (size_t k = 0; k < track->key_count && track->path == PELT_PATH_ROTATION && !curved; k++) {
        const float *q = track->values + 4 * k;
        double square = (double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3];
        curved = fabs(square - 1) > 2 * MAX_LENGTH;
    }
    return curved && track->interpolation != PELT_INTERPOLATION_STEP;
}

/* The times of all keys, of the moment before the key of a step, and more between keys where a track is curved. */
static pelt_result sample_times(const px_usd_writer *w, const pelt_motion *motion, px_arena *arena, float **out,
                                uint32_t *out_count) {
    size_t key_count = 0, count = 0, joint_count = w->model->skeleton.joint_count,
           morph_count = w->model->morphs.morph_count;
    bool curved = false;
    for (uint32_t t = 0; t < motion->track_count; t++) {
        key_count += (size_t)2 * motion->tracks[t].key_count;
        curved |= is_curved(&motion->tracks[t]);
    }
    float *keys = PX_NEW(arena, float, key_count + 1);
    pelt_transform *locals[3];
    float *weights[3];
    for (int t = 0; t < 3; t++) {
        locals[t] = PX_NEW(arena, pelt_transform, joint_count);
        weights[t] = PX_NEW(arena, float, morph_count);
        if (!locals[t] || !weights[t])
            return PELT_ERROR_MEMORY;
    }
    if (!keys)
        return PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < motion->track_count; t++) {
        const pelt_track *track = &motion->tracks[t];
        for (uint32_t k = 0; k < track->key_count; k++) {
            keys[count++] = track->times[k];
            if (k && track->interpolation == PELT_INTERPOLATION_STEP && track->times[k] > 0)
                keys[count++] = px_float_from_bits(px_float_bits(track->times[k]) - 1);
        }
    }
    px_sort(keys, count, sizeof *keys, by_value);
    size_t kept = 0;
    for (size_t k = 0; k < count; k++)
        if (kept == 0 || keys[k] > keys[kept - 1])
            keys[kept++] = keys[k];
    px_buffer times = {.context = w->write->context};
    for (size_t k = 0; k < kept; k++) {
        px_buffer_add(&times, &keys[k], sizeof *keys);
        if (!curved || k + 1 == kept)
            continue;
        uint32_t steps = 1; /* doubled until all of them are straight */
        for (int halving = 0; halving < MAX_HALVINGS; halving++, steps *= 2) {
            bool straight = true;
            for (uint32_t n = 0; n < steps && straight; n++)
                straight =
                    is_straight(w, motion, keys[k] + (keys[k + 1] - keys[k]) * (float)n / (float)steps,
                                keys[k] + (keys[k + 1] - keys[k]) * (float)(n + 1) / (float)steps, locals, weights);
            if (straight)
                break;
        }
        for (uint32_t n = 1; n < steps; n++) {
            float time = keys[k] + (keys[k + 1] - keys[k]) * (float)n / (float)steps;
            float last = ((const float *)(const void *)times.data)[times.size / sizeof time - 1];
            if (!times.failed && time > last && time < keys[k + 1])
                px_buffer_add(&times, &time, sizeof time);
        }
    }
    *out_count = (uint32_t)(times.size / sizeof **out);
    *out = PX_NEW(arena, float, *out_count);
    if (*out && times.size)
        memcpy(*out, times.data, times.size);
    bool failed = times.failed;
    px_buffer_free(&times);
    return *out && !failed ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result sample(const px_usd_writer *w, const pelt_motion *motion, px_arena *arena, sampled *s) {
    const pelt_model *model = w->model;
    uint32_t joint_count = model->skeleton.joint_count;
    *s = (sampled){.motion = motion};
    PX_TRY(sample_times(w, motion, arena, &s->times, &s->frame_count));
    s->locals = PX_NEW(arena, pelt_transform, px_mul_size(s->frame_count, joint_count));
    s->weights = PX_NEW(arena, float, px_mul_size(s->frame_count, model->morphs.morph_count));
    s->joints = PX_NEW(arena, uint32_t, (size_t)joint_count + 1);
    bool *moved = PX_NEW(arena, bool, joint_count);
    if (!s->locals || !s->weights || !s->joints || !moved)
        return PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < motion->track_count; t++) {
        const pelt_track *track = &motion->tracks[t];
        s->animated[track->path] = true;
        moved[track->joint] |= track->path != PELT_PATH_WEIGHTS;
    }
    for (uint32_t j = 0; j < joint_count; j++)
        if (moved[j])
            s->joints[s->moved_count++] = j;
    if (s->moved_count == 0) /* some readers skip animations without joints */
        s->moved_count = 1;
    for (uint32_t k = 0; k < s->frame_count; k++) {
        pelt_transform *locals = s->locals + (size_t)k * joint_count;
        pelt_motion_sample(model, motion, s->times[k], locals, s->weights + (size_t)k * model->morphs.morph_count);
        for (uint32_t j = 0; j < joint_count && k; j++) { /* players that do not choose the shorter arc */
            float *q = locals[j].rotation;
            const float *last = s->locals[(size_t)(k - 1) * joint_count + j].rotation;
            if (q[0] * last[0] + q[1] * last[1] + q[2] * last[2] + q[3] * last[3] < 0)
                for (int c = 0; c < 4; c++)
                    q[c] = -q[c];
        }
    }
    return PELT_OK;
}

/* The values of one frame: translations, rotations (w first) or scales of the moved joints, or weights of the channels. */
static void write_frame(px_usd_writer *w, const sampled *s, uint32_t k, pelt_path path) {
    px_usd_out *out = &w->out;
    const pelt_transform *locals = s->locals + (size_t)k * w->model->skeleton.joint_count;
    const char *before = "[";
    for (uint32_t n = 0; n < s->moved_count && path != PELT_PATH_WEIGHTS; n++, before = ", ") {
        const pelt_transform *t = &locals[s->joints[n]];
        float quaternion[4] = {t->rotation[3], t->rotation[0], t->rotation[1], t->rotation[2]};
        px_buffer_text(&out->text, before);
        px_usd_tuple(out,
                     path == PELT_PATH_TRANSLATION ? t->translation
                     : path == PELT_PATH_ROTATION  ? quaternion
                                                   : t->scale,
                     path == PELT_PATH_ROTATION ? 4 : 3);
    }
    for (uint32_t m = 0; m < w->model->morphs.morph_count && path == PELT_PATH_WEIGHTS; m++)
        if (px_usd_is_channel(w, m)) {
            px_buffer_text(&out->text, before);
            px_buffer_float(&out->text, s->weights[(size_t)k * w->model->morphs.morph_count + m]);
            before = ", ";
        }
    px_buffer_text(&out->text, "]");
}

static pelt_result write_animation(px_usd_writer *w, const sampled *s, const char *name, const char *original) {
    static const char *const attributes[] = {"float3[] translations", "quatf[] rotations", "half3[] scales",
                                             "float[] blendShapeWeights"};
    px_usd_out *out = &w->out;
    const pelt_morph_set *set = &w->model->morphs;
    px_usd_begin(out, "SkelAnimation", name, NULL);
    px_usd_original(out, name, original);
    px_usd_start(out, "uniform token[] joints = [");
    for (uint32_t n = 0; n < s->moved_count; n++) {
        px_buffer_text(&out->text, n ? ", " : "");
        px_usd_text(out, w->paths[w->first_joint + s->joints[n]]);
    }
    px_buffer_text(&out->text, "]\n");
    if (set->morph_count) {
        const char *before = "";
        px_usd_start(out, "uniform token[] blendShapes = [");
        for (uint32_t m = 0; m < set->morph_count; m++)
            if (px_usd_is_channel(w, m)) {
                px_buffer_format(&out->text, "%s\"%s\"", before, w->channels[m]);
                before = ", ";
            }
        px_buffer_text(&out->text, "]\n");
    }
    for (int path = 0; path < 4; path++) {
        if (path == PELT_PATH_WEIGHTS && set->morph_count == 0)
            continue;
        px_usd_start(out, attributes[path]);
        if (!s->animated[path]) {
            px_buffer_text(&out->text, " = ");
            write_frame(w, s, 0, (pelt_path)path);
            px_buffer_text(&out->text, "\n");
            continue;
        }
        px_buffer_text(&out->text, ".timeSamples = {\n");
        out->depth++;
        for (uint32_t k = 0; k < s->frame_count; k++) {
            PX_TRY(px_cancelled(w->write->context));
            px_usd_start(out, "");
            px_usd_time(out, s->times[k]);
            px_buffer_text(&out->text, ": ");
            write_frame(w, s, k, (pelt_path)path);
            px_buffer_text(&out->text, ",\n");
        }
        px_usd_end(out);
    }
    px_usd_end(out);
    return PELT_OK;
}

static pelt_result write_motion(px_usd_writer *w, const pelt_motion *motion, const char *name) {
    px_arena *arena = px_arena_create(w->write->context); /* frames of one motion at a time */
    sampled s;
    pelt_result result = arena ? sample(w, motion, arena, &s) : PELT_ERROR_MEMORY;
    if (result == PELT_OK && s.frame_count)
        result = write_animation(w, &s, name, motion->name);
    px_arena_destroy(arena);
    return result;
}

/* Without motions: the weights of morph targets in the rest pose, which only animations hold. */
static pelt_result write_rest(px_usd_writer *w) {
    const pelt_morph_set *set = &w->model->morphs;
    float *weights = PX_NEW(w->arena, float, set->morph_count);
    uint32_t first = 0;
    sampled s = {
        .frame_count = 1, .locals = w->model->skeleton.rest, .weights = weights, .joints = &first, .moved_count = 1};
    if (!weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < set->morph_count; m++)
        weights[m] = set->morphs[m].weight;
    const char *name = px_usd_name(&w->out, "rest", "rest");
    return name ? write_animation(w, &s, name, name) : PELT_ERROR_MEMORY;
}

pelt_result px_usd_write_skeleton(px_usd_writer *w) {
    const pelt_model *model = w->model;
    px_usd_out *out = &w->out;
    const char **names = PX_NEW(w->arena, const char *, model->motion_count);
    bool weighted = false;
    if (!names)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->motion_count; m++)
        if (!(names[m] = px_usd_name(out, model->motions[m].name, "motion")))
            return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->morphs.morph_count; m++)
        weighted |= model->morphs.morphs[m].weight != 0;
    px_usd_begin(out, "Skeleton", "Skeleton", "\"SkelBindingAPI\"");
    write_skeleton_arrays(w);
    const char *bound = model->motion_count
                            ? names[w->write->desc->motion < model->motion_count ? w->write->desc->motion : 0]
                        : weighted ? "rest"
                                   : NULL;
    if (bound) {
        px_usd_start(out, "rel skel:animationSource = ");
        px_buffer_format(&out->text, "</%s/Skeleton/%s>\n", w->root, bound);
    }
    for (uint32_t m = 0; m < model->motion_count; m++)
        PX_TRY(write_motion(w, &model->motions[m], names[m]));
    if (weighted && model->motion_count == 0)
        PX_TRY(write_rest(w));
    px_usd_end(out);
    return PELT_OK;
}
