/* SkelAnimation prims of USD files as motions: see usd.h. Those without time samples are poses and are left out. */
#include "core/math3.h"
#include "io/usd.h"

/* How far a value that does not change may be from the rest pose to be left out: matrices of the rest pose are taken apart in float. */
#define REST_TOLERANCE 1e-6f
/* Quaternions whose length is that near to 1 stay as they are, as in glTF files. */
#define UNIT_TOLERANCE 1e-3

/* One of translations, rotations, scales and blendShapeWeights: samples, or one value for all times. */
typedef struct channel {
    px_text value, samples;
    uint32_t key_count;
    float *times;  /* [key] seconds */
    float *values; /* [key][column][width] */
    size_t columns;
} channel;

typedef struct animation {
    px_usd *usd;
    const px_usd_prim *prim;
    const px_usd_skeleton *skeleton;
    uint32_t *joints; /* [joint_count] joints of the model; PELT_NONE: not in the skeleton */
    uint32_t joint_count;
    px_text *names; /* [name_count] channels of blend shapes */
    uint32_t name_count;
    pelt_motion *motion;
} animation;

static pelt_result count_keys(const px_usd *usd, channel *c) {
    const char *at = NULL;
    for (bool found = true; found;) {
        double time;
        px_text value;
        PX_TRY(px_usd_next_sample(usd, c->samples, &at, &time, &value, &found));
        c->key_count += found;
    }
    return PELT_OK;
}

/* Reads all keys of `columns` values with `width` numbers each. Samples with another number of them are left out. */
static pelt_result read_channel(animation *a, const char *name, size_t columns, size_t width, channel *c) {
    px_usd *usd = a->usd;
    px_arena *memory = usd->read->model->memory;
    const px_usd_property *samples = px_usd_find(a->prim, name, PX_USD_SAMPLES);
    const char *at = NULL;
    const double *numbers;
    size_t count;
    *c = (channel){.value = px_usd_value(a->prim, name), .columns = columns};
    c->samples = samples ? samples->value : (px_text){0};
    PX_TRY(count_keys(usd, c));
    uint32_t most = c->key_count ? c->key_count : c->value.data != NULL, kept = 0, odd = 0;
    bool sampled = c->key_count > 0;
    PX_TRY(px_usd_numbers(usd, c->value, &numbers, &count));
    if (!sampled && count != columns * width)
        most = 0;
    if ((size_t)most >
        (size_t)(usd->end - usd->start) / px_max_size(1, columns)) /* each value has a byte in the file */
        return px_fail(usd->context, PELT_ERROR_INPUT, "an animation has more joints than its samples have values");
    c->times = PX_NEW(memory, float, most);
    c->values = PX_NEW(memory, float, px_mul_size(most, columns * width));
    if (!c->times || !c->values)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < most; k++) {
        double time = 0;
        px_text value = c->value;
        bool found = true;
        if (sampled)
            PX_TRY(px_usd_next_sample(usd, c->samples, &at, &time, &value, &found));
        PX_TRY(px_usd_numbers(usd, value, &numbers, &count));
        float seconds = (float)(time / usd->rate);
        if (count != columns * width || (kept && seconds <= c->times[kept - 1])) {
            odd++;
            continue;
        }
        for (size_t n = 0; n < count; n++) {
            if (!isfinite((float)numbers[n]))
                return px_usd_fail(usd, value.data, "a value of %s is not finite", name);
            c->values[(size_t)kept * count + n] = (float)numbers[n];
        }
        c->times[kept++] = seconds;
    }
    c->key_count = kept;
    if (odd)
        px_log(usd->context, PELT_LOG_WARNING, "%u samples of %s of '%.*s' have the wrong size or order; left out", odd,
               name, (int)px_min_size(a->prim->name.size, 100), a->prim->name.data);
    return PELT_OK;
}

static bool is_near(const float *a, const float *b, uint32_t width, bool rotation) {
    float sign = 1;
    if (rotation && a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0)
        sign = -1;
    for (uint32_t c = 0; c < width; c++)
        if (fabsf(sign * a[c] - b[c]) > REST_TOLERANCE * (1 + fabsf(b[c])))
            return false;
    return true;
}

/* Adds a track. Values of the rest pose are left out, unless no other track tells how long the motion is. */
static pelt_result add_track(animation *a, pelt_track track, const float *rest) {
    bool constant;
    PX_TRY(px_track_shorten(a->usd->read->model->memory, &track, &constant));
    if (constant && (a->motion->track_count || track.key_count == 1) &&
        is_near(track.values, rest, track.width, track.path == PELT_PATH_ROTATION))
        return PELT_OK;
    a->motion->tracks[a->motion->track_count++] = track;
    return PELT_OK;
}

/* Tracks of one property of all joints. Quaternions have w first. */
static pelt_result add_joint_tracks(animation *a, const channel *c, pelt_path path) {
    pelt_model *model = a->usd->read->model;
    uint32_t width = path == PELT_PATH_ROTATION ? 4 : 3;
    for (uint32_t n = 0; n < a->joint_count && c->key_count; n++) {
        uint32_t joint = a->joints[n];
        if (joint == PELT_NONE)
            continue;
        float *values = PX_NEW(model->memory, float, (size_t)width * c->key_count);
        if (!values)
            return PELT_ERROR_MEMORY;
        for (uint32_t k = 0; k < c->key_count; k++) {
            const float *from = c->values + ((size_t)k * a->joint_count + n) * width;
            float *to = values + (size_t)k * width;
            for (uint32_t e = 0; e < width; e++)
                to[e] = path == PELT_PATH_ROTATION ? from[(e + 1) % 4] : from[e];
            double square = 0;
            for (uint32_t e = 0; e < width; e++)
                square += (double)to[e] * to[e];
            if (path == PELT_PATH_ROTATION && fabs(square - 1) > 2 * UNIT_TOLERANCE)
                px_quat_normalize(to);
        }
        const pelt_transform *rest = &model->skeleton.rest[joint];
        pelt_track track = {.joint = joint,
                            .path = path,
                            .width = width,
                            .key_count = c->key_count,
                            .times = c->times,
                            .values = values};
        PX_TRY(add_track(a, track,
                         path == PELT_PATH_TRANSLATION ? rest->translation
                         : path == PELT_PATH_ROTATION  ? rest->rotation
                                                       : rest->scale));
    }
    return PELT_OK;
}

/* A track for each joint with morph targets. */
static pelt_result add_weight_tracks(animation *a, const channel *c) {
    pelt_model *model = a->usd->read->model;
    const pelt_morph *morphs = model->morphs.morphs;
    for (uint32_t first = 0, end; first < model->morphs.morph_count && c->key_count; first = end) {
        for (end = first; end < model->morphs.morph_count && morphs[end].joint == morphs[first].joint;)
            end++;
        uint32_t width = morphs[end - 1].index + 1;
        float *values = PX_NEW(model->memory, float, px_mul_size(width, c->key_count)),
              *rest = PX_NEW(a->usd->arena, float, width);
        bool used = false;
        if (!values || !rest)
            return PELT_ERROR_MEMORY;
        for (uint32_t m = first; m < end; m++) {
            uint32_t column = 0;
            while (column < a->name_count && !px_text_equal(a->names[column], a->usd->shapes[m].channel))
                column++;
            used |= column < a->name_count;
            rest[morphs[m].index] = morphs[m].weight;
            for (uint32_t k = 0; k < c->key_count; k++)
                values[(size_t)k * width + morphs[m].index] =
                    column < a->name_count ? c->values[(size_t)k * a->name_count + column] : morphs[m].weight;
        }
        pelt_track track = {.joint = morphs[first].joint,
                            .path = PELT_PATH_WEIGHTS,
                            .width = width,
                            .key_count = c->key_count,
                            .times = c->times,
                            .values = values};
        if (used)
            PX_TRY(add_track(a, track, rest));
    }
    return PELT_OK;
}

/* The skeleton that plays the animation, else the first that has its first joint. */
static const px_usd_skeleton *find_skeleton(const px_usd *usd, const px_usd_prim *prim, const px_text *names,
                                            uint32_t count) {
    for (uint32_t s = 0; s < usd->skeleton_count; s++)
        for (const px_usd_prim *p = usd->skeletons[s].prim; p; p = p->parent)
            if (px_usd_target(usd, p, "skel:animationSource", PX_USD_VALUE) == prim)
                return &usd->skeletons[s];
    for (uint32_t s = 0; s < usd->skeleton_count && count; s++)
        if (px_usd_joint(&usd->skeletons[s], names[0]) != PELT_NONE)
            return &usd->skeletons[s];
    return NULL;
}

/* Keys of single values go to the beginning of the motion; times below 0, which glTF does not have, are moved. */
static void set_times(channel channels[4]) {
    float start = INFINITY;
    for (int c = 0; c < 4; c++)
        if (channels[c].samples.data && channels[c].key_count)
            start = channels[c].times[0] < start ? channels[c].times[0] : start;
    for (int c = 0; c < 4; c++)
        for (uint32_t k = 0; k < channels[c].key_count; k++)
            channels[c].times[k] = (channels[c].samples.data ? channels[c].times[k] : start) - (start < 0 ? start : 0);
}

static pelt_result read_animation(px_usd *usd, const px_usd_prim *prim, pelt_motion *motion) {
    static const char *const names[] = {"translations", "rotations", "scales", "blendShapeWeights"};
    pelt_model *model = usd->read->model;
    animation a = {.usd = usd, .prim = prim, .motion = motion};
    px_text *joints;
    channel channels[4];
    bool sampled = false;
    PX_TRY(px_usd_texts(usd, px_usd_value(prim, "joints"), &joints, &a.joint_count));
    PX_TRY(px_usd_texts(usd, px_usd_value(prim, "blendShapes"), &a.names, &a.name_count));
    a.skeleton = find_skeleton(usd, prim, joints, a.joint_count);
    a.joints = PX_NEW(usd->arena, uint32_t, a.joint_count);
    bool *taken = PX_NEW(usd->arena, bool, model->skeleton.joint_count);
    if (!a.joints || !taken)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < a.joint_count; n++) {
        uint32_t joint = a.skeleton ? px_usd_joint(a.skeleton, joints[n]) : PELT_NONE;
        a.joints[n] = joint == PELT_NONE ? PELT_NONE : a.skeleton->model_joints[joint];
        if (a.joints[n] == PELT_NONE)
            continue;
        if (taken[a.joints[n]]) /* named twice: the first counts */
            a.joints[n] = PELT_NONE;
        else
            taken[a.joints[n]] = true;
    }
    for (int c = 0; c < 4; c++) {
        size_t columns = c == PELT_PATH_WEIGHTS ? a.name_count : a.joint_count;
        PX_TRY(read_channel(&a, names[c], columns,
                            c == PELT_PATH_ROTATION  ? 4
                            : c == PELT_PATH_WEIGHTS ? 1
                                                     : 3,
                            &channels[c]));
        channels[c].key_count = columns ? channels[c].key_count : 0;
        sampled |= channels[c].samples.data && channels[c].key_count;
    }
    if (!sampled)
        return PELT_OK;
    set_times(channels);
    motion->tracks = PX_NEW(model->memory, pelt_track, (size_t)3 * a.joint_count + model->skeleton.joint_count);
    if (!motion->tracks || !(motion->name = px_usd_prim_name(usd, prim)))
        return PELT_ERROR_MEMORY;
    for (int pass = 0; pass < 2; pass++) /* sampled channels first: they tell how long the motion is */
        for (int c = 0; c < 4; c++)
            if ((channels[c].samples.data != NULL) == (pass == 0))
                PX_TRY(c == PELT_PATH_WEIGHTS ? add_weight_tracks(&a, &channels[c])
                                              : add_joint_tracks(&a, &channels[c], (pelt_path)c));
    float start = INFINITY, end = -INFINITY;
    for (uint32_t t = 0; t < motion->track_count; t++) {
        const pelt_track *track = &motion->tracks[t];
        start = track->times[0] < start ? track->times[0] : start;
        end = track->times[track->key_count - 1] > end ? track->times[track->key_count - 1] : end;
    }
    motion->start = start;
    motion->end = end;
    return PELT_OK;
}

pelt_result px_usd_read_motions(px_usd *usd) {
    pelt_model *model = usd->read->model;
    size_t count = 0;
    for (const px_usd_prim *prim = usd->root; (prim = px_usd_next(usd->root, prim));)
        count += px_usd_is(prim, "SkelAnimation");
    if (!(model->motions = PX_NEW(model->memory, pelt_motion, count)))
        return PELT_ERROR_MEMORY;
    for (const px_usd_prim *prim = usd->root; (prim = px_usd_next(usd->root, prim));) {
        pelt_motion motion = {0};
        if (!px_usd_is(prim, "SkelAnimation"))
            continue;
        PX_TRY(read_animation(usd, prim, &motion));
        if (motion.track_count)
            model->motions[model->motion_count++] = motion;
    }
    return PELT_OK;
}
