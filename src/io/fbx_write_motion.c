/* Animation stacks of FBX files: see fbx_write.h. Motions become stacks of one layer; joints are sampled at their keys and between, as
 * Euler angles about x, then y, then z.
 */
#include "core/math3.h"
#include "io/fbx_write.h"

#define MAX_TURN   3.0 /* degrees between two samples */
#define MAX_FRAMES 1e6
#define MAX_STEPS  64u            /* between two keys */
#define MIN_RATE   120.0          /* samples a second of cubic pieces */
#define MIN_SCALE  1e-5           /* of the squared length of quaternions from 1: ten times their rounding */
#define SCALE_TURN (8 * MAX_TURN) /* steps between such quaternions: 8 leave 1/64 of what their length changes */
#define KEY_FLAGS  24836          /* linear, as other programs write it */

/* A motion in evenly spaced frames. */
typedef struct sampled {
    const pelt_motion *motion;
    uint32_t frame_count;
    int64_t *ticks;         /* [frame] */
    pelt_transform *locals; /* [frame][joint] */
    float *weights;         /* [frame][morph] */
    bool *scaled;           /* [joint] quaternions that are not of unit length scale it */
    int64_t layer_id;
} sampled;

/* A curve of one number; equal values are two keys. */
static void write_curve(px_fbx_writer *w, const sampled *s, const float *values, int64_t node_id,
                        const char *component) {
    static const float attributes[4] = {0, 0, 9.419963346924634e-30f, 0};
    int64_t id = ++w->last_id;
    size_t count = s->frame_count;
    bool constant = true;
    for (size_t k = 1; k < count && constant; k++)
        constant = values[k] == values[0];
    int64_t ends[2] = {s->ticks[0], s->ticks[count - 1]};
    if (constant && count > 2)
        count = 2;
    int32_t flags = KEY_FLAGS, uses = (int32_t)count;
    px_fbx_begin_object(w, PX_FBX_CURVE, "AnimationCurve", id, "", "AnimCurve", "");
    px_fbx_begin(&w->out, "Default");
    px_fbx_f64(&w->out, values[0]);
    px_fbx_end(&w->out);
    px_fbx_record_i32(&w->out, "KeyVer", 4008);
    px_fbx_record_array(&w->out, "KeyTime", 'l', constant ? ends : s->ticks, count);
    px_fbx_record_array(&w->out, "KeyValueFloat", 'f', values, count);
    px_fbx_record_array(&w->out, "KeyAttrFlags", 'i', &flags, 1);
    px_fbx_record_array(&w->out, "KeyAttrDataFloat", 'f', attributes, 4);
    px_fbx_record_array(&w->out, "KeyAttrRefCount", 'i', &uses, 1);
    px_fbx_end(&w->out);
    px_fbx_connect(w, id, node_id, component);
}

/* A curve node with `width` components; values [component][frame]. */
static void write_curve_node(px_fbx_writer *w, const sampled *s, const char *name, const char *const components[],
                             int width, const float *values, int64_t target, const char *property) {
    int64_t id = ++w->last_id;
    px_fbx_begin_object(w, PX_FBX_CURVE_NODE, "AnimationCurveNode", id, name, "AnimCurveNode", "");
    px_fbx_begin(&w->out, "Properties70");
    for (int c = 0; c < width; c++)
        px_fbx_property_f64(&w->out, components[c], "Number", "", "A", values[(size_t)c * s->frame_count]);
    px_fbx_end(&w->out);
    px_fbx_end(&w->out);
    px_fbx_connect(w, id, s->layer_id, NULL);
    px_fbx_connect(w, id, target, property);
    for (int c = 0; c < width; c++)
        write_curve(w, s, values + (size_t)c * s->frame_count, id, components[c]);
}

static void write_joint_curves(px_fbx_writer *w, const sampled *s, uint32_t joint, float *values) {
    static const char *const axes[] = {"d|X", "d|Y", "d|Z"};
    uint32_t joint_count = w->model->skeleton.joint_count, moved = 0;
    for (uint32_t t = 0; t < s->motion->track_count; t++)
        if (s->motion->tracks[t].joint == joint && s->motion->tracks[t].path <= PELT_PATH_SCALE)
            moved |= 1u << s->motion->tracks[t].path;
    if (s->scaled[joint])
        moved |= 1u << PELT_PATH_SCALE;
    double angles[3] = {0};
    for (int path = 0; path < 3; path++) {
        static const char *const names[] = {"T", "R", "S"}, *const properties[] = {"Lcl Translation", "Lcl Rotation",
                                                                                   "Lcl Scaling"};
        if (!(moved & 1u << path))
            continue;
        for (uint32_t k = 0; k < s->frame_count; k++) {
            const pelt_transform *local = &s->locals[(size_t)k * joint_count + joint];
            if (path == PELT_PATH_ROTATION)
                px_fbx_euler_angles(local->rotation, angles);
            for (size_t c = 0; c < 3; c++)
                values[c * s->frame_count + k] = path == PELT_PATH_TRANSLATION
                                                     ? (float)(local->translation[c] * w->target->unit)
                                                 : path == PELT_PATH_ROTATION ? (float)angles[c]
                                                                              : local->scale[c];
        }
        write_curve_node(w, s, names[path], axes, 3, values, PX_FBX_JOINT_ID(joint), properties[path]);
    }
}

static void write_weight_curves(px_fbx_writer *w, const sampled *s, float *values) {
    static const char *const component[] = {"d|DeformPercent"};
    for (uint32_t m = 0; m < w->model->morphs.morph_count; m++) {
        bool animated = false;
        for (uint32_t t = 0; t < s->motion->track_count; t++)
            animated |= s->motion->tracks[t].path == PELT_PATH_WEIGHTS &&
                        s->motion->tracks[t].joint == w->model->morphs.morphs[m].joint;
        for (uint32_t k = 0; animated && k < s->frame_count; k++)
            values[k] = 100 * s->weights[(size_t)k * w->model->morphs.morph_count + m];
        for (uint32_t g = 0; animated && g < w->group_count; g++)
            if (px_mesh_group_has_morph(&w->groups[g], &w->model->morphs.morphs[m]))
                write_curve_node(w, s, "DeformPercent", component, 1, values, PX_FBX_CHANNEL_ID(w, g, m),
                                 "DeformPercent");
    }
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* How far the squared length of a quaternion is from 1. */
static double off_unit(const float q[4]) {
    return fabs((double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3] - 1);
}

/* The largest change of an Euler angle of a joint between two times, in degrees. Spherical interpolation of quaternions that are not of unit
 * length changes their length between keys, and so the scale: that counts as a turn. */
static double largest_turn(const px_fbx_writer *w, const pelt_motion *motion, float from, float to,
                           pelt_transform *locals[2]) {
    double largest = 0;
    pelt_motion_sample(w->model, motion, from, locals[0], NULL);
    pelt_motion_sample(w->model, motion, to, locals[1], NULL);
    for (uint32_t j = 0; j < w->model->skeleton.joint_count; j++) {
        double before[3] = {0}, after[3];
        px_fbx_euler_angles(locals[0][j].rotation, before);
        memcpy(after, before, sizeof after);
        px_fbx_euler_angles(locals[1][j].rotation, after);
        for (int c = 0; c < 3; c++)
            largest = fabs(after[c] - before[c]) > largest ? fabs(after[c] - before[c]) : largest;
        if (off_unit(locals[0][j].rotation) > MIN_SCALE || off_unit(locals[1][j].rotation) > MIN_SCALE)
            largest = largest > SCALE_TURN ? largest : SCALE_TURN;
    }
    return largest;
}

/* Times to sample: those of all keys, and more between them, so that in no step an Euler angle changes by more than MAX_TURN (between keys, readers
 * interpolate Euler angles, and models quaternions) and cubic pieces have MIN_RATE samples a second. */
static pelt_result sample_times(const px_fbx_writer *w, const pelt_motion *motion, px_arena *arena, float **out,
                                uint32_t *out_count) {
    uint32_t joint_count = w->model->skeleton.joint_count;
    size_t key_count = 0, count = 0;
    bool curved = false;
    for (uint32_t t = 0; t < motion->track_count; t++) {
        key_count += motion->tracks[t].key_count;
        curved |= motion->tracks[t].interpolation != PELT_INTERPOLATION_LINEAR;
    }
    pelt_transform *locals[2] = {PX_NEW(arena, pelt_transform, joint_count),
                                 PX_NEW(arena, pelt_transform, joint_count)};
    float *keys = PX_NEW(arena, float, key_count + 1),
          *times = PX_NEW(arena, float, px_mul_size(key_count + 1, MAX_STEPS));
    if (!locals[0] || !locals[1] || !keys || !times)
        return PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < motion->track_count; t++)
        for (uint32_t k = 0; k < motion->tracks[t].key_count; k++)
            keys[count++] = motion->tracks[t].times[k];
    px_sort(keys, count, sizeof *keys, by_value);
    uint32_t found = 0;
    for (size_t k = 0; k < count; k++) {
        if (k + 1 < count && keys[k + 1] == keys[k])
            continue;
        times[found++] = keys[k];
        if (k + 1 == count)
            break;
        double length = (double)keys[k + 1] - keys[k];
        double steps = floor(largest_turn(w, motion, keys[k], keys[k + 1], locals) / MAX_TURN) + 1;
        steps = curved && length * MIN_RATE > steps ? floor(length * MIN_RATE) + 1 : steps;
        steps = steps > MAX_STEPS ? MAX_STEPS : steps;
        for (double n = 1; n < steps; n++) {
            float time = (float)(keys[k] + length * n / steps);
            if (time > times[found - 1] && time < keys[k + 1])
                times[found++] = time;
        }
    }
    *out = times;
    *out_count = found;
    return PELT_OK;
}

/* Files may have quaternions whose length is not quite 1, which scale (px_quat_mend). Angles cannot: the scale becomes one. */
static void separate_scales(const px_fbx_writer *w, sampled *s) {
    uint32_t joint_count = w->model->skeleton.joint_count;
    for (size_t k = 0; k < s->frame_count; k++)
        for (uint32_t j = 0; j < joint_count; j++) {
            pelt_transform *local = &s->locals[k * joint_count + j];
            if (off_unit(local->rotation) <= MIN_SCALE)
                continue;
            pelt_affine matrix = px_affine_from_transform(local);
            px_transform_from_affine(&matrix, local);
            s->scaled[j] = true;
        }
}

/* Frames of a fixed rate from the start to the end, the last one at or after it. */
static pelt_result frame_times(const pelt_motion *motion, double rate, px_arena *arena, float **out,
                               uint32_t *out_count) {
    double frames = ceil(((double)motion->end - motion->start) * rate - 0.02);
    if (!(frames < MAX_FRAMES))
        return px_fail(px_arena_context(arena), PELT_ERROR_UNSUPPORTED, "the motion '%s' is too long", motion->name);
    uint32_t count = frames > 0 ? (uint32_t)frames + 1 : 1;
    if (!(*out = PX_NEW(arena, float, count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < count; k++)
        (*out)[k] = (float)(motion->start + k / rate);
    *out_count = count;
    return PELT_OK;
}

/* Times are floats: those that round to a multiple of 1/600 s, as frames of all usual rates are, become that. Autodesk's SDK leaves out the last
 * frame of a clip that ends a tick before it. */
static int64_t ticks_of(double seconds) {
    double frame = floor(seconds * 600 + 0.5);
    if (fabs(frame / 600 - seconds) <= 1e-7 * (1 + fabs(seconds)))
        return (int64_t)frame * (int64_t)(PX_FBX_TICKS / 600);
    return (int64_t)floor(seconds * PX_FBX_TICKS + 0.5);
}

static pelt_result write_motion(px_fbx_writer *w, const pelt_motion *motion, px_arena *arena) {
    static const char *const ends[] = {"LocalStart", "LocalStop", "ReferenceStart", "ReferenceStop"};
    const pelt_model *model = w->model;
    sampled s = {.motion = motion};
    float *times = NULL;
    PX_TRY(w->rate > 0 ? frame_times(motion, w->rate, arena, &times, &s.frame_count)
                       : sample_times(w, motion, arena, &times, &s.frame_count));
    if (s.frame_count == 0)
        return PELT_OK;
    s.ticks = PX_NEW(arena, int64_t, s.frame_count);
    s.locals = PX_NEW(arena, pelt_transform, px_mul_size(s.frame_count, model->skeleton.joint_count));
    s.weights = PX_NEW(arena, float, px_mul_size(s.frame_count, (size_t)model->morphs.morph_count + 1));
    s.scaled = PX_NEW(arena, bool, model->skeleton.joint_count);
    float *values = PX_NEW(arena, float, px_mul_size(3, s.frame_count));
    if (!s.ticks || !s.locals || !s.weights || !s.scaled || !values)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < s.frame_count; k++) {
        s.ticks[k] = ticks_of(w->rate > 0 ? k / w->rate : (double)times[k]); /* targets: clips begin at 0 */
        pelt_motion_sample(model, motion, times[k], s.locals + (size_t)k * model->skeleton.joint_count,
                           s.weights + (size_t)k * model->morphs.morph_count);
    }
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        for (size_t k = 0; model->skeleton.parents[j] == PELT_NONE && k < s.frame_count; k++)
            px_fbx_turn_root(w, &s.locals[k * model->skeleton.joint_count + j]);
    separate_scales(w, &s);
    int64_t stack_id = ++w->last_id;
    s.layer_id = ++w->last_id;
    px_fbx_begin_object(w, PX_FBX_STACK, "AnimationStack", stack_id, motion->name, "AnimStack", "");
    px_fbx_begin(&w->out, "Properties70");
    for (int e = 0; e < 4; e++) {
        px_fbx_begin_property(&w->out, ends[e], "KTime", "Time", "");
        px_fbx_i64(&w->out, s.ticks[e % 2 ? s.frame_count - 1 : 0]);
        px_fbx_end(&w->out);
    }
    px_fbx_end(&w->out);
    px_fbx_end(&w->out);
    px_fbx_begin_object(w, PX_FBX_LAYER, "AnimationLayer", s.layer_id, "base", "AnimLayer", "");
    px_fbx_begin(&w->out, "Properties70"); /* objects without content are refused by assimp */
    px_fbx_property_f64(&w->out, "Weight", "Number", "", "A", 100);
    px_fbx_end(&w->out);
    px_fbx_end(&w->out);
    px_fbx_connect(w, s.layer_id, stack_id, NULL);
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        write_joint_curves(w, &s, j, values);
    write_weight_curves(w, &s, values);
    return PELT_OK;
}

pelt_result px_fbx_write_motions(px_fbx_writer *w) {
    pelt_result result = PELT_OK;
    for (uint32_t m = 0; result == PELT_OK && m < w->model->motion_count; m++) {
        px_arena *arena = px_arena_create(w->write->context); /* frames of one motion at a time */
        result = arena ? write_motion(w, &w->model->motions[m], arena) : PELT_ERROR_MEMORY;
        px_arena_destroy(arena);
    }
    return result;
}
