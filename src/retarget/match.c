/* Matching of joints: by mapping, by body part, by name. */
#include "retarget/names.h"

#include <stdlib.h>
#include <strings.h>

const char *pelt_match_name(pelt_match_kind kind) {
    static const char *const names[] = {"", "map", "name", "alike", "body"};
    return (size_t)kind < PX_COUNT(names) ? names[kind] : "";
}

typedef struct named_joint {
    const px_joint_name *name;
    uint32_t joint;
} named_joint;

/* One of the two skeletons. A chain is a path of joints of one body part. */
typedef struct side {
    const pelt_skeleton *skeleton;
    px_joint_name *names; /* [joint], as are the following */
    uint32_t *below;      /* number of its descendants */
    uint32_t *lasts;      /* the last joint of a chain at or above it, or PELT_NONE */
    uint32_t *previous;   /* the joint before it in its chain, or PELT_NONE */
    uint32_t *firsts;     /* the first joint of its chain */
    uint32_t *lengths;    /* joints of its chain up to it */
    uint32_t *list;       /* scratch: one chain */
} side;

typedef struct matcher {
    pelt_context *context;
    side rig, motion;
    named_joint *by_key;       /* the motion's joints without a body part, sorted by key and side */
    uint32_t by_key_count;     /* length of by_key */
    bool *used;                /* [motion joint] of those */
    pelt_joint_match *matches; /* [rig joint] */
} matcher;

/* ---- The mapping file ------------------------------------------------------------------------------------- */

/* Finds a joint by name, else by name ignoring case. The text is not terminated. */
static uint32_t joint_in_any_case(const pelt_skeleton *skeleton, const char *name, size_t length) {
    uint32_t found = PELT_NONE;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        const char *other = skeleton->names[j];
        if (strlen(other) != length || strncasecmp(other, name, length) != 0)
            continue;
        if (memcmp(other, name, length) == 0)
            return j;
        found = found == PELT_NONE ? j : found;
    }
    return found;
}

static void trim(const char **text, size_t *length) {
    for (; *length && strchr(" \t\r", **text); ++*text)
        --*length;
    while (*length && strchr(" \t\r", (*text)[*length - 1]))
        --*length;
}

/* Reads one line "rig joint = motion joint". */
static pelt_result read_pair(matcher *m, const char *text, size_t length, uint32_t line) {
    trim(&text, &length);
    if (length == 0)
        return PELT_OK;
    const char *equals = memchr(text, '=', length);
    if (!equals)
        return px_fail(m->context, PELT_ERROR_INPUT, "line %u of the mapping: 'rig joint = motion joint' is expected",
                       line);
    const char *right = equals + 1;
    size_t left_length = (size_t)(equals - text), right_length = length - left_length - 1;
    trim(&text, &left_length);
    trim(&right, &right_length);
    uint32_t joint = joint_in_any_case(m->rig.skeleton, text, left_length);
    uint32_t partner = right_length ? joint_in_any_case(m->motion.skeleton, right, right_length) : PELT_NONE;
    if (joint == PELT_NONE)
        return px_fail(m->context, PELT_ERROR_INPUT, "line %u of the mapping: the rig has no joint '%.*s'", line,
                       (int)px_min_size(left_length, 80), text);
    if (partner == PELT_NONE && right_length)
        return px_fail(m->context, PELT_ERROR_INPUT, "line %u of the mapping: the motion has no joint '%.*s'", line,
                       (int)px_min_size(right_length, 80), right);
    m->matches[joint] = (pelt_joint_match){partner, PELT_MATCH_MAP};
    return PELT_OK;
}

static pelt_result read_map(matcher *m, const char *map) {
    for (uint32_t line = 1; map && *map; line++) {
        size_t length = strcspn(map, "\n");
        PX_TRY(read_pair(m, map, px_min_size(strcspn(map, "#"), length), line));
        map += length + (map[length] == '\n');
    }
    return PELT_OK;
}

/* ---- Names ------------------------------------------------------------------------------------------------ */

static void pair(matcher *m, uint32_t joint, uint32_t partner) {
    const px_joint_name *a = &m->rig.names[joint], *b = &m->motion.names[partner];
    bool alike = a->side == b->side && a->key[0] && strcmp(a->key, b->key) == 0;
    bool same = strcmp(m->rig.skeleton->names[joint], m->motion.skeleton->names[partner]) == 0;
    m->matches[joint] = (pelt_joint_match){partner, same    ? PELT_MATCH_NAME
                                                    : alike ? PELT_MATCH_ALIKE
                                                            : PELT_MATCH_BODY};
}

/* Whether to prefer chain a to chain b, both given by their last joints: the longer one; else the one with more joints below
 * its first, since meshes are often named like the joints that move them. */
static bool is_better(const side *s, uint32_t a, uint32_t b) {
    if (s->lengths[a] != s->lengths[b])
        return s->lengths[a] > s->lengths[b];
    return s->below[s->firsts[a]] > s->below[s->firsts[b]];
}

/* The joints of a body part: the best chain, root first. */
static uint32_t list_part(side *s, px_body_part body, px_body_side which, uint32_t *list) {
    const pelt_skeleton *skeleton = s->skeleton;
    uint32_t best = PELT_NONE;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        uint32_t parent = skeleton->parents[j], above = parent == PELT_NONE ? PELT_NONE : s->lasts[parent];
        bool part = s->names[j].body == body && s->names[j].side == which;
        s->lasts[j] = part ? j : above;
        if (!part)
            continue;
        s->previous[j] = above;
        s->lengths[j] = above == PELT_NONE ? 1 : s->lengths[above] + 1;
        s->firsts[j] = above == PELT_NONE ? j : s->firsts[above];
        best = best == PELT_NONE || is_better(s, j, best) ? j : best;
    }
    uint32_t count = best == PELT_NONE ? 0 : s->lengths[best];
    for (uint32_t n = count; n-- > 0; best = s->previous[best])
        list[n] = best;
    return count;
}

/* Spines and necks are matched as chains: first with first, last with last, the others by position. Of other parts only the
 * first joint of a chain is matched; the rest are twist joints. */
static void match_part(matcher *m, px_body_part body, px_body_side which) {
    uint32_t count = list_part(&m->rig, body, which, m->rig.list);
    uint32_t partners = list_part(&m->motion, body, which, m->motion.list);
    bool chain = body == PX_BODY_SPINE || body == PX_BODY_NECK;
    for (uint32_t n = 0; partners && n < (chain ? count : px_min_size(count, 1)); n++) {
        uint64_t steps = count > 1 ? count - 1 : 1, place = count > 1 ? n : chain;
        uint32_t partner = chain ? (uint32_t)((place * (partners - 1) * 2 + steps) / (2 * steps)) : 0;
        if (m->matches[m->rig.list[n]].kind != PELT_MATCH_MAP)
            pair(m, m->rig.list[n], m->motion.list[partner]);
    }
}

static int compare_names(const px_joint_name *a, const px_joint_name *b) {
    int order = strcmp(a->key, b->key);
    return order ? order : (a->side > b->side) - (a->side < b->side);
}

static int compare_joints(const void *a, const void *b) {
    const named_joint *left = a, *right = b;
    int order = compare_names(left->name, right->name);
    return order ? order : (left->joint > right->joint) - (left->joint < right->joint);
}

/* Lower bound of a name in the sorted joints. */
static uint32_t lower_bound(const matcher *m, const px_joint_name *name) {
    uint32_t low = 0, high = m->by_key_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_names(m->by_key[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Matches joints that are no body part: by equal keys, among them by equal names first. */
static void match_key(matcher *m, uint32_t joint) {
    const px_joint_name *name = &m->rig.names[joint];
    uint32_t best = PELT_NONE;
    for (uint32_t s = lower_bound(m, name); s < m->by_key_count; s++) {
        uint32_t partner = m->by_key[s].joint;
        if (compare_names(m->by_key[s].name, name) != 0)
            break;
        if (m->used[partner])
            continue;
        bool same = strcmp(m->rig.skeleton->names[joint], m->motion.skeleton->names[partner]) == 0;
        best = same || best == PELT_NONE ? partner : best;
        if (same)
            break;
    }
    if (best == PELT_NONE)
        return;
    m->used[best] = true;
    pair(m, joint, best);
}

static void match_names(matcher *m) {
    for (int body = PX_BODY_NONE + 1; body < PX_BODY_COUNT; body++)
        for (int which = 0; which < PX_BODY_SIDES; which++)
            match_part(m, (px_body_part)body, (px_body_side)which);
    for (uint32_t j = 0; j < m->motion.skeleton->joint_count; j++)
        if (m->motion.names[j].body == PX_BODY_NONE && m->motion.names[j].key[0])
            m->by_key[m->by_key_count++] = (named_joint){&m->motion.names[j], j};
    px_sort(m->by_key, m->by_key_count, sizeof *m->by_key, compare_joints);
    for (uint32_t j = 0; j < m->rig.skeleton->joint_count; j++)
        if (m->rig.names[j].body == PX_BODY_NONE && m->rig.names[j].key[0] && m->matches[j].kind != PELT_MATCH_MAP)
            match_key(m, j);
}

static pelt_result prepare(px_arena *arena, side *s) {
    uint32_t count = s->skeleton->joint_count;
    uint32_t **arrays[] = {&s->below, &s->lasts, &s->previous, &s->firsts, &s->lengths, &s->list};
    for (size_t a = 0; a < PX_COUNT(arrays); a++)
        if (!(*arrays[a] = PX_NEW(arena, uint32_t, count)))
            return PELT_ERROR_MEMORY;
    if (!(s->names = PX_NEW(arena, px_joint_name, count)))
        return PELT_ERROR_MEMORY;
    px_read_joint_names(s->skeleton, s->names);
    for (uint32_t j = count; j-- > 0;)
        if (s->skeleton->parents[j] != PELT_NONE)
            s->below[s->skeleton->parents[j]] += s->below[j] + 1;
    return PELT_OK;
}

static pelt_result match_all(matcher *m, px_arena *arena, const char *map) {
    PX_TRY(prepare(arena, &m->rig));
    PX_TRY(prepare(arena, &m->motion));
    m->by_key = PX_NEW(arena, named_joint, m->motion.skeleton->joint_count);
    m->used = PX_NEW(arena, bool, m->motion.skeleton->joint_count);
    if (!m->by_key || !m->used)
        return PELT_ERROR_MEMORY;
    PX_TRY(read_map(m, map));
    match_names(m);
    return PELT_OK;
}

pelt_result pelt_match_joints(pelt_context *context, const pelt_skeleton *rig, const pelt_skeleton *motion,
                              const pelt_retarget_desc *desc, pelt_joint_match *matches) {
    matcher m = {.context = context, .rig.skeleton = rig, .motion.skeleton = motion, .matches = matches};
    for (uint32_t j = 0; j < rig->joint_count; j++)
        matches[j] = (pelt_joint_match){PELT_NONE, PELT_MATCH_NONE};
    PX_TAKE_DESC(context, retarget, desc, settings);
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    pelt_result result = match_all(&m, arena, settings.map);
    px_arena_destroy(arena);
    return result;
}
