/* Motions that play together. Programs write what one character does as several animations: Blender one of the bones and one
 * of the shape keys. They are one motion where they have one name, or where they span the same time and one moves bones,
 * the others morphs, and nothing else could be meant. */
#include "io/io.h"

#include <math.h>

#define SAME_TIME 1e-3f /* seconds */

typedef struct joiner {
    pelt_context *context;
    pelt_model *model;
    uint32_t *firsts; /* [motion] the first of the motions that it plays with; itself: it is the first, or alone */
} joiner;

/* ---- What may play together -------------------------------------------------------------------------------- */

/* A property that both move; NULL: there is none. */
static const pelt_track *shared_track(const pelt_motion *a, const pelt_motion *b) {
    for (uint32_t s = 0; s < a->track_count; s++)
        for (uint32_t t = 0; t < b->track_count; t++)
            if (a->tracks[s].joint == b->tracks[t].joint && a->tracks[s].path == b->tracks[t].path)
                return &a->tracks[s];
    return NULL;
}

static const pelt_track *shared_with_group(const joiner *j, uint32_t first, const pelt_motion *motion) {
    const pelt_track *track = NULL;
    for (uint32_t n = first; n < j->model->motion_count && !track; n++)
        if (j->firsts[n] == first)
            track = shared_track(&j->model->motions[n], motion);
    return track;
}

/* Two groups of motions become one. */
static void join(joiner *j, uint32_t a, uint32_t b) {
    uint32_t first = j->firsts[a], other = j->firsts[b], low = first < other ? first : other;
    for (uint32_t n = 0; n < j->model->motion_count; n++)
        if (j->firsts[n] == first || j->firsts[n] == other)
            j->firsts[n] = low;
}

static void join_names(joiner *j) {
    const pelt_motion *motions = j->model->motions;
    for (uint32_t m = 1; m < j->model->motion_count; m++)
        for (uint32_t n = 0; n < m; n++)
            if (j->firsts[n] == n && motions[n].name[0] && strcmp(motions[n].name, motions[m].name) == 0 &&
                !shared_with_group(j, n, &motions[m])) {
                join(j, n, m);
                break;
            }
}

/* What a group of motions moves, and when. */
typedef struct group_span {
    bool bones, morphs;
    float start, end;
} group_span;

static group_span span_of(const joiner *j, uint32_t first) {
    group_span span = {.start = INFINITY, .end = -INFINITY};
    for (uint32_t n = first; n < j->model->motion_count; n++) {
        const pelt_motion *motion = &j->model->motions[n];
        if (j->firsts[n] != first)
            continue;
        span.start = fminf(span.start, motion->start);
        span.end = fmaxf(span.end, motion->end);
        for (uint32_t t = 0; t < motion->track_count; t++) {
            bool morphs = motion->tracks[t].path == PELT_PATH_WEIGHTS;
            span.morphs |= morphs;
            span.bones |= !morphs;
        }
    }
    return span;
}

static bool same_time(const group_span *a, const group_span *b) {
    return fabsf(a->start - b->start) <= SAME_TIME && fabsf(a->end - b->end) <= SAME_TIME;
}

/* The only motion of bones in its time plays with the motions of morphs in the same time, if those do not collide. */
static pelt_result join_times(joiner *j) {
    uint32_t count = j->model->motion_count;
    group_span *spans = PX_ALLOC(j->context, group_span, count);
    if (!spans)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < count; n++)
        spans[n] = j->firsts[n] == n ? span_of(j, n) : (group_span){0};
    for (uint32_t b = 0; b < count; b++) {
        if (!spans[b].bones || spans[b].morphs)
            continue;
        bool clear = true;
        for (uint32_t n = 0; n < count; n++) {
            if (n == b || !same_time(&spans[b], &spans[n]))
                continue;
            clear &= !spans[n].bones;
            for (uint32_t o = 0; o < n && clear && spans[n].morphs; o++)
                if (spans[o].morphs && same_time(&spans[b], &spans[o]))
                    clear = !shared_with_group(j, o, &j->model->motions[n]);
        }
        for (uint32_t n = 0; n < count && clear; n++)
            if (n != b && spans[n].morphs && same_time(&spans[b], &spans[n]))
                join(j, b, n);
    }
    px_free(j->context, spans);
    return PELT_OK;
}

/* ---- Asked for --------------------------------------------------------------------------------------------- */

/* PELT_NONE: there is no such motion. */
static uint32_t find_motion(const pelt_model *model, const char *name, size_t length) {
    for (uint32_t n = 0; n < model->motion_count; n++)
        if (px_is_name(model->motions[n].name, name, length))
            return n;
    return PELT_NONE;
}

/* "Walk+Smile". Another input may have all of these motions; this one has none or all. */
static pelt_result join_group(joiner *j, const char *text, size_t size) {
    static const char *const paths[] = {"translation", "rotation", "scale", "morph weights"};
    const pelt_model *model = j->model;
    uint32_t first = PELT_NONE;
    size_t missing_length = 0, met = 0;
    const char *missing = NULL;
    for (const char *p = text, *end = text + size; p <= end;) {
        const char *plus = memchr(p, '+', (size_t)(end - p));
        size_t length = (size_t)((plus ? plus : end) - p);
        uint32_t motion = find_motion(model, p, length);
        met++;
        if (motion == PELT_NONE) {
            missing = p;
            missing_length = length;
        } else if (first == PELT_NONE) {
            first = motion;
        } else if (j->firsts[motion] != j->firsts[first]) {
            const pelt_track *both = shared_with_group(j, j->firsts[first], &model->motions[motion]);
            if (both)
                return px_fail(
                    j->context, PELT_ERROR_USAGE,
                    "join %.*s: both move the %s of '%s'; only motions of different properties play together",
                    (int)size, text, paths[both->path], model->skeleton.names[both->joint]);
            join(j, first, motion);
        }
        p += length + 1;
    }
    if (met < 2)
        return px_fail(j->context, PELT_ERROR_USAGE,
                       "join %.*s: give 'auto', 'none' or names of motions with + between: 'Walk+Smile'", (int)size,
                       text);
    if (missing && first != PELT_NONE)
        return px_fail(j->context, PELT_ERROR_USAGE, "join %.*s: there is no motion '%.*s'", (int)size, text,
                       (int)missing_length, missing);
    return PELT_OK;
}

/* ---- Joining ----------------------------------------------------------------------------------------------- */

static void tell(const joiner *j, uint32_t first, const char *name) {
    px_buffer text = {.context = j->context};
    uint32_t left = 0;
    for (uint32_t n = first; n < j->model->motion_count; n++)
        left += j->firsts[n] == first;
    for (uint32_t n = first; n < j->model->motion_count; n++)
        if (j->firsts[n] == first) {
            left--;
            px_buffer_format(&text, "'%s'%s", j->model->motions[n].name, left > 1 ? ", " : left ? " and " : "");
        }
    if (!text.failed)
        px_log(j->context, PELT_LOG_WARNING, "the motions %.*s play together as '%s' (join: 'none' keeps them apart)",
               (int)text.size, text.data, name);
    px_buffer_free(&text);
}

/* The name is that of the first motion of bones. */
static pelt_result make_motion(const joiner *j, uint32_t first, pelt_motion *out) {
    const pelt_model *model = j->model;
    bool named = false;
    *out = model->motions[first];
    out->track_count = 0;
    for (uint32_t n = first; n < model->motion_count; n++)
        out->track_count += j->firsts[n] == first ? model->motions[n].track_count : 0;
    if (out->track_count == model->motions[first].track_count)
        return PELT_OK;
    out->tracks = PX_NEW(model->memory, pelt_track, out->track_count);
    if (!out->tracks)
        return PELT_ERROR_MEMORY;
    pelt_track *next = out->tracks;
    for (uint32_t n = first; n < model->motion_count; n++) {
        const pelt_motion *motion = &model->motions[n];
        if (j->firsts[n] != first || motion->track_count == 0)
            continue;
        memcpy(next, motion->tracks, motion->track_count * sizeof *next);
        next += motion->track_count;
        out->start = fminf(out->start, motion->start);
        out->end = fmaxf(out->end, motion->end);
        if (!named && motion->tracks[0].path != PELT_PATH_WEIGHTS) {
            out->name = motion->name;
            named = true;
        }
    }
    return PELT_OK;
}

static pelt_result replace(const joiner *j, bool asked) {
    pelt_model *model = j->model;
    uint32_t count = 0;
    for (uint32_t n = 0; n < model->motion_count; n++)
        count += j->firsts[n] == n;
    if (count == model->motion_count)
        return PELT_OK;
    pelt_motion *motions = PX_NEW(model->memory, pelt_motion, count);
    if (!motions)
        return PELT_ERROR_MEMORY;
    uint32_t made = 0;
    for (uint32_t n = 0; n < model->motion_count; n++) {
        if (j->firsts[n] != n)
            continue;
        PX_TRY(make_motion(j, n, &motions[made]));
        if (motions[made].tracks != model->motions[n].tracks && !asked)
            tell(j, n, motions[made].name);
        made++;
    }
    model->motions = motions;
    model->motion_count = count; /* no change: where nothing else changes motions, a document keeps its own */
    return PELT_OK;
}

/* `how` NULL: whatever plays together for certain. */
static pelt_result find_and_join(joiner *j, const char *how) {
    if (!how) {
        join_names(j);
        PX_TRY(join_times(j));
        return replace(j, false);
    }
    const char *name;
    size_t length;
    while (px_next_name(&how, &name, &length))
        PX_TRY(join_group(j, name, length));
    return replace(j, true);
}

pelt_result px_join_motions(pelt_context *context, pelt_model *model, const char *how) {
    bool automatic = !how || strcmp(how, "auto") == 0;
    if ((how && strcmp(how, "none") == 0) || (automatic && model->motion_count < 2))
        return PELT_OK;
    joiner j = {context, model, PX_ALLOC(context, uint32_t, model->motion_count + (size_t)1)};
    if (!j.firsts)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < model->motion_count; n++)
        j.firsts[n] = n;
    pelt_result result = find_and_join(&j, automatic ? NULL : how);
    px_free(context, j.firsts);
    return result;
}
