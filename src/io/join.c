/* Joins motions that play at the same time. Exporters split the animation of one character into several motions:
 * Blender writes one for the bones and one for the shape keys. Motions are joined if they have the same name, or if
 * they span the same time and one moves bones and the others morphs; never if a property of a node would be animated
 * twice. */
#include "io/io.h"

#include <math.h>
#include <stdlib.h>

#define SAME_TIME 1e-3f /* seconds */

/* A property of a node that a motion animates. */
typedef struct channel {
    uint32_t joint, path, motion;
} channel;

/* Motions that play together form a group, which is identified by its first motion. */
typedef struct joiner {
    pelt_context *context;
    pelt_model *model;
    px_arena *scratch;
    uint32_t *firsts;  /* [motion] the first motion of its group */
    uint32_t *nexts;   /* [motion] the next motion of its group, or PELT_NONE */
    channel *channels; /* [track] scratch of find_clash */
} joiner;

/* ---- Groups ------------------------------------------------------------------------------------------------ */

/* Makes `nexts` from `firsts`. */
static void link_groups(joiner *j) {
    for (uint32_t n = 0; n < j->model->motion_count; n++)
        j->nexts[n] = PELT_NONE;
    for (uint32_t n = j->model->motion_count; n-- > 0;) {
        uint32_t first = j->firsts[n];
        if (first == n)
            continue;
        j->nexts[n] = j->nexts[first];
        j->nexts[first] = n;
    }
}

static int compare_channels(const void *a, const void *b) {
    const channel *x = a, *y = b;
    if (x->joint != y->joint)
        return x->joint < y->joint ? -1 : 1;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    return (x->motion > y->motion) - (x->motion < y->motion);
}

/* Whether two motions of these groups [count] animate the same property of a node. clash: one such pair. */
static bool find_clash(const joiner *j, const uint32_t *groups, uint32_t count, channel clash[2]) {
    size_t channel_count = 0;
    for (uint32_t g = 0; g < count; g++)
        for (uint32_t n = groups[g]; n != PELT_NONE; n = j->nexts[n])
            for (uint32_t t = 0; t < j->model->motions[n].track_count; t++) {
                const pelt_track *track = &j->model->motions[n].tracks[t];
                j->channels[channel_count++] = (channel){track->joint, (uint32_t)track->path, n};
            }
    px_sort(j->channels, channel_count, sizeof *j->channels, compare_channels);
    for (size_t c = 1; c < channel_count; c++) {
        const channel *pair = &j->channels[c - 1];
        if (pair[0].joint == pair[1].joint && pair[0].path == pair[1].path && pair[0].motion != pair[1].motion) {
            memcpy(clash, pair, 2 * sizeof *clash);
            return true;
        }
    }
    return false;
}

/* Merges groups [count] into one. Call link_groups afterwards. */
static void unite(joiner *j, const uint32_t *groups, uint32_t count) {
    uint32_t lowest = groups[0];
    for (uint32_t g = 1; g < count; g++)
        lowest = groups[g] < lowest ? groups[g] : lowest;
    for (uint32_t g = 0; g < count; g++)
        for (uint32_t n = groups[g]; n != PELT_NONE; n = j->nexts[n])
            j->firsts[n] = lowest;
}

/* ---- Automatic --------------------------------------------------------------------------------------------- */

typedef struct named_motion {
    const char *name;
    uint32_t motion;
} named_motion;

static int compare_names(const void *a, const void *b) {
    const named_motion *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->motion > y->motion) - (x->motion < y->motion);
}

/* Joins all motions of the same name, unless two of them animate the same property. Skips motions without a name. */
static pelt_result join_names(joiner *j) {
    uint32_t count = j->model->motion_count;
    named_motion *sorted = PX_NEW(j->scratch, named_motion, count);
    uint32_t *motions = PX_NEW(j->scratch, uint32_t, count);
    if (!sorted || !motions)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < count; n++)
        sorted[n] = (named_motion){j->model->motions[n].name, n};
    px_sort(sorted, count, sizeof *sorted, compare_names);
    for (uint32_t n = 0; n < count; n++)
        motions[n] = sorted[n].motion;
    for (uint32_t start = 0, end; start < count; start = end) {
        channel clash[2];
        for (end = start + 1; end < count && strcmp(sorted[start].name, sorted[end].name) == 0;)
            end++;
        if (sorted[start].name[0] && end - start > 1 && !find_clash(j, motions + start, end - start, clash))
            unite(j, motions + start, end - start);
    }
    link_groups(j);
    return PELT_OK;
}

/* What a group of motions animates, and its time span in seconds. */
typedef struct group_span {
    uint32_t group;
    bool bones, morphs;
    float start, end;
} group_span;

static int compare_floats(float a, float b) {
    return (a > b) - (a < b);
}

static int compare_starts(const void *a, const void *b) {
    const group_span *x = a, *y = b;
    int order = compare_floats(x->start, y->start);
    return order ? order : (x->group > y->group) - (x->group < y->group);
}

static int compare_ends(const void *a, const void *b) {
    const group_span *x = a, *y = b;
    int order = compare_floats(x->end, y->end);
    return order ? order : (x->group > y->group) - (x->group < y->group);
}

static group_span span_of(const joiner *j, uint32_t group) {
    group_span span = {.group = group, .start = INFINITY, .end = -INFINITY};
    for (uint32_t n = group; n != PELT_NONE; n = j->nexts[n]) {
        const pelt_motion *motion = &j->model->motions[n];
        span.start = px_fminf(span.start, motion->start);
        span.end = px_fmaxf(span.end, motion->end);
        for (uint32_t t = 0; t < motion->track_count; t++) {
            bool morphs = motion->tracks[t].path == PELT_PATH_WEIGHTS;
            span.morphs |= morphs;
            span.bones |= !morphs;
        }
    }
    return span;
}

/* Joins one group that animates bones with the groups that animate morphs in the same time span. `groups` [count] is
 * scratch. Does nothing if neighbouring spans are equal within the tolerance but the first and the last are not: it is
 * then unclear which groups belong together. */
static void join_span(joiner *j, const group_span *spans, uint32_t count, uint32_t *groups) {
    float first_start = INFINITY, last_start = -INFINITY;
    uint32_t bones = 0, used = 0;
    channel clash[2];
    for (uint32_t s = 0; s < count; s++) {
        first_start = px_fminf(first_start, spans[s].start);
        last_start = px_fmaxf(last_start, spans[s].start);
        if (spans[s].bones && spans[s].morphs)
            return;
        bones += spans[s].bones;
        if (spans[s].bones || spans[s].morphs)
            groups[used++] = spans[s].group;
    }
    if (bones != 1 || used < 2 || last_start - first_start > SAME_TIME ||
        spans[count - 1].end - spans[0].end > SAME_TIME || find_clash(j, groups, used, clash))
        return;
    unite(j, groups, used);
}

/* Joins groups of the same time span: sorts them by start, then each run of equal starts by end, and joins each run of
 * equal ends. */
static pelt_result join_times(joiner *j) {
    uint32_t count = 0;
    group_span *spans = PX_NEW(j->scratch, group_span, j->model->motion_count);
    uint32_t *groups = PX_NEW(j->scratch, uint32_t, j->model->motion_count);
    if (!spans || !groups)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < j->model->motion_count; n++)
        if (j->firsts[n] == n)
            spans[count++] = span_of(j, n);
    px_sort(spans, count, sizeof *spans, compare_starts);
    for (uint32_t start = 0, next; start < count; start = next) {
        for (next = start + 1; next < count && spans[next].start - spans[next - 1].start <= SAME_TIME;)
            next++;
        px_sort(spans + start, next - start, sizeof *spans, compare_ends);
        for (uint32_t first = start, end; first < next; first = end) {
            for (end = first + 1; end < next && spans[end].end - spans[end - 1].end <= SAME_TIME;)
                end++;
            join_span(j, spans + first, end - first, groups);
        }
    }
    link_groups(j);
    return PELT_OK;
}

/* ---- By names ---------------------------------------------------------------------------------------------- */

/* Finds the first motion of a name. PELT_NONE: there is none. */
static uint32_t find_motion(const pelt_model *model, const char *name, size_t length) {
    for (uint32_t n = 0; n < model->motion_count; n++)
        if (px_is_name(model->motions[n].name, name, length))
            return n;
    return PELT_NONE;
}

/* Joins the groups of two motions. `text` [size] is the entry that names them, for messages. */
static pelt_result join_pair(joiner *j, uint32_t a, uint32_t b, const char *text, size_t size) {
    static const char *const paths[] = {"translation", "rotation", "scale", "morph weights"};
    const pelt_model *model = j->model;
    const uint32_t groups[] = {j->firsts[a], j->firsts[b]};
    channel clash[2];
    if (groups[0] == groups[1])
        return PELT_OK;
    if (find_clash(j, groups, 2, clash))
        return px_fail(j->context, PELT_ERROR_USAGE,
                       "join %.*s: '%s' and '%s' both move the %s of '%s'; only motions of different properties play "
                       "together",
                       (int)size, text, model->motions[clash[0].motion].name, model->motions[clash[1].motion].name,
                       paths[clash[0].path], model->skeleton.names[clash[0].joint]);
    unite(j, groups, 2);
    link_groups(j);
    return PELT_OK;
}

/* Joins the motions of an entry such as "Walk+Smile". Fails if the model has only some of them. If it has none, the
 * entry may be for another input and is ignored. */
static pelt_result join_entry(joiner *j, const char *text, size_t size) {
    uint32_t first = PELT_NONE, name_count = 0;
    size_t missing_length = 0;
    const char *missing = NULL;
    for (const char *p = text, *end = text + size; p <= end; name_count++) {
        const char *plus = memchr(p, '+', (size_t)(end - p));
        size_t length = (size_t)((plus ? plus : end) - p);
        uint32_t motion = find_motion(j->model, p, length);
        if (motion == PELT_NONE) {
            missing = p;
            missing_length = length;
        } else if (first == PELT_NONE) {
            first = motion;
        } else {
            PX_TRY(join_pair(j, first, motion, text, size));
        }
        p += length + 1;
    }
    if (name_count < 2)
        return px_fail(j->context, PELT_ERROR_USAGE,
                       "join %.*s: give 'auto', 'none' or names of motions with + between: 'Walk+Smile'", (int)size,
                       text);
    if (missing && first != PELT_NONE)
        return px_fail(j->context, PELT_ERROR_USAGE, "join %.*s: there is no motion '%.*s'", (int)size, text,
                       (int)missing_length, missing);
    return PELT_OK;
}

/* ---- Joining ----------------------------------------------------------------------------------------------- */

static void log_joined(const joiner *j, uint32_t group, const char *name) {
    px_buffer text = {.context = j->context};
    for (uint32_t n = group; n != PELT_NONE; n = j->nexts[n]) {
        uint32_t next = j->nexts[n];
        const char *between = next == PELT_NONE ? "" : j->nexts[next] == PELT_NONE ? " and " : ", ";
        px_buffer_format(&text, "'%s'%s", j->model->motions[n].name, between);
    }
    if (!text.failed)
        px_log(j->context, PELT_LOG_WARNING, "the motions %.*s play together as '%s' (join: 'none' keeps them apart)",
               (int)text.size, text.data, name);
    px_buffer_free(&text);
}

/* Makes the motion of a group. Its name is that of the first motion that animates bones. */
static pelt_result make_motion(const joiner *j, uint32_t group, pelt_motion *out) {
    const pelt_model *model = j->model;
    bool named = false;
    *out = model->motions[group];
    if (j->nexts[group] == PELT_NONE)
        return PELT_OK;
    out->track_count = 0;
    for (uint32_t n = group; n != PELT_NONE; n = j->nexts[n])
        out->track_count += model->motions[n].track_count;
    out->tracks = PX_NEW(model->memory, pelt_track, out->track_count);
    if (!out->tracks)
        return PELT_ERROR_MEMORY;
    pelt_track *next = out->tracks;
    for (uint32_t n = group; n != PELT_NONE; n = j->nexts[n]) {
        const pelt_motion *motion = &model->motions[n];
        if (motion->track_count == 0)
            continue;
        memcpy(next, motion->tracks, motion->track_count * sizeof *next);
        next += motion->track_count;
        out->start = px_fminf(out->start, motion->start);
        out->end = px_fmaxf(out->end, motion->end);
        if (!named && motion->tracks[0].path != PELT_PATH_WEIGHTS) {
            out->name = motion->name;
            named = true;
        }
    }
    return PELT_OK;
}

/* Replaces the motions of the model by one per group. Automatic joins are logged and do not set PELT_CHANGED_MOTIONS: a
 * document that no algorithm changes is written with its own motions. Joins by name set it. */
static pelt_result replace_motions(const joiner *j, bool automatic) {
    pelt_model *model = j->model;
    uint32_t count = 0, made = 0;
    for (uint32_t n = 0; n < model->motion_count; n++)
        count += j->firsts[n] == n;
    if (count == model->motion_count)
        return PELT_OK;
    pelt_motion *motions = PX_NEW(model->memory, pelt_motion, count);
    if (!motions)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < model->motion_count; n++) {
        if (j->firsts[n] != n)
            continue;
        PX_TRY(make_motion(j, n, &motions[made]));
        if (automatic && j->nexts[n] != PELT_NONE)
            log_joined(j, n, motions[made].name);
        made++;
    }
    model->motions = motions;
    model->motion_count = count;
    model->changed |= automatic ? 0 : PELT_CHANGED_MOTIONS;
    return PELT_OK;
}

/* Finds the groups and joins them. `names` NULL: automatic. */
static pelt_result find_and_join(joiner *j, const char *names) {
    size_t track_count = 0;
    for (uint32_t n = 0; n < j->model->motion_count; n++)
        track_count += j->model->motions[n].track_count;
    j->firsts = PX_NEW(j->scratch, uint32_t, j->model->motion_count);
    j->nexts = PX_NEW(j->scratch, uint32_t, j->model->motion_count);
    j->channels = PX_NEW(j->scratch, channel, track_count);
    if (!j->firsts || !j->nexts || !j->channels)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < j->model->motion_count; n++)
        j->firsts[n] = n;
    link_groups(j);
    if (!names) {
        PX_TRY(join_names(j));
        PX_TRY(join_times(j));
        return replace_motions(j, true);
    }
    const char *name;
    size_t length;
    while (px_next_name(&names, &name, &length))
        PX_TRY(join_entry(j, name, length));
    return replace_motions(j, false);
}

pelt_result px_join_motions(pelt_context *context, pelt_model *model, const char *how) {
    bool automatic = !how || strcmp(how, "auto") == 0;
    if ((how && strcmp(how, "none") == 0) || (automatic && model->motion_count < 2))
        return PELT_OK;
    joiner j = {.context = context, .model = model, .scratch = px_arena_create(context)};
    pelt_result result = j.scratch ? find_and_join(&j, automatic ? NULL : how) : PELT_ERROR_MEMORY;
    px_arena_destroy(j.scratch);
    return result;
}
