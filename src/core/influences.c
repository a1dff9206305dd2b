#include "core/influences.h"

#include <math.h>

/* ---- Making ------------------------------------------------------------------------------------------------- */

static uint32_t place_in(const px_influences *r, uint16_t bone) {
    uint32_t k = 0;
    while (k < r->count && r->bones[k] != bone)
        k++;
    return k;
}

/* Adds an influence in ascending order of bones; weights of a repeated bone are added. */
static void add_influence(px_influences *r, uint16_t bone, float weight) {
    uint32_t k = place_in(r, bone);
    if (k < r->count) {
        r->weights[k] += weight;
        return;
    }
    for (r->count++; k > 0 && r->bones[k - 1] > bone; k--)
        r->bones[k] = r->bones[k - 1], r->weights[k] = r->weights[k - 1];
    r->bones[k] = bone;
    r->weights[k] = weight;
}

static uint32_t largest_axis(const float n[3]) {
    uint32_t axis = fabsf(n[1]) > fabsf(n[0]);
    return fabsf(n[2]) > fabsf(n[axis]) ? 2 : axis;
}

void px_influences_make(const pelt_model *model, size_t first, size_t count, px_influences *rows) {
    const pelt_skin *skin = &model->skin;
    for (size_t i = first; i < first + count; i++) {
        const uint16_t *bones = skin->bones + i * skin->influence_count;
        const float *weights = skin->weights + i * skin->influence_count;
        px_influences *r = &rows[i - first];
        double sum = 0;
        *r = (px_influences){.axis = model->mesh.normals ? largest_axis(model->mesh.normals + 3 * i) : 0};
        for (uint32_t k = 0; k < skin->influence_count && (k == 0 || weights[k] > 0); k++) { /* largest first */
            sum += (double)weights[k];
            add_influence(r, bones[k], weights[k]);
        }
        for (uint32_t k = 0; k < r->count; k++)
            r->weights[k] = sum > 0 ? (float)((double)r->weights[k] / sum) : 1;
    }
}

/* ---- Sorting ------------------------------------------------------------------------------------------------ */

/* Sort keys, least significant first: axis, bones from last to first, number of bones. */
#define KEY_COUNT (PELT_MAX_INFLUENCES + 2)
static uint32_t key_of(const px_influences *r, uint32_t key) {
    if (key == 0)
        return r->axis;
    uint32_t k = PELT_MAX_INFLUENCES - key;
    return key == KEY_COUNT - 1 ? r->count : k < r->count ? r->bones[k] : 0;
}

/* Radix sort: one stable pass for each key. */
static pelt_result sort_rows(pelt_context *context, const px_influences *rows, uint32_t count, uint32_t bone_count,
                             uint32_t *order) {
    size_t limit = px_max_size(bone_count, KEY_COUNT); /* no key is larger */
    uint32_t *scratch = px_alloc(context, count + limit + 1, sizeof *scratch), *ends = scratch;
    if (!scratch)
        return PELT_ERROR_MEMORY;
    uint32_t *other = scratch + limit + 1;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t key = 0; key < KEY_COUNT; key++) {
        memset(ends, 0, (limit + 1) * sizeof *ends);
        for (uint32_t i = 0; i < count; i++)
            ends[key_of(&rows[i], key) + 1]++;
        for (size_t value = 1; value <= limit; value++)
            ends[value] += ends[value - 1];
        for (uint32_t place = 0; place < count; place++)
            other[ends[key_of(&rows[order[place]], key)]++] = order[place];
        memcpy(order, other, count * sizeof *order);
    }
    px_free(context, scratch);
    return PELT_OK;
}

bool px_influences_alike(const px_influences *a, const px_influences *b) {
    return a->count == b->count && memcmp(a->bones, b->bones, a->count * sizeof a->bones[0]) == 0;
}

/* ---- Joining ------------------------------------------------------------------------------------------------ */

/* A run: the rows order[first .. end) have the same bones. Rows that a union takes are removed from its start. */
typedef struct run {
    uint32_t first, end;
    px_influences row;                  /* the first of them, as it was before joining */
    uint32_t next[PELT_MAX_INFLUENCES]; /* of each bone: the next run in its list, or PELT_NONE */
    bool rest;                          /* the last rows of a long run, if they are few */
    uint32_t mark;                      /* the union that was tried last */
} run;

/* Bound on the runs examined per bone, so that the search is not quadratic; enough for any character. */
#define MAX_TRIES 256

static bool has_all(const px_influences *a, const px_influences *b) {
    for (uint32_t k = 0; k < b->count; k++)
        if (place_in(a, b->bones[k]) == a->count)
            return false;
    return true;
}

/* Extends the bones of a row to those of `from`, a superset; added bones get weight 0. */
static void take_bones(px_influences *r, const px_influences *from) {
    px_influences out = *from;
    out.axis = r->axis;
    for (uint32_t k = 0; k < out.count; k++) {
        uint32_t at = place_in(r, out.bones[k]);
        out.weights[k] = at < r->count ? r->weights[at] : 0;
    }
    *r = out;
}

static uint32_t length(const run *r) {
    return r->end - r->first;
}

/* Links the long runs, or the short ones, that contain a bone, fewest bones first: heads [bone] is the first. */
static void link_runs(run *runs, uint32_t run_count, bool long_ones, uint32_t bone_count, uint32_t *heads) {
    memset(heads, 0xFF, bone_count * sizeof *heads); /* PELT_NONE */
    for (uint32_t n = run_count; n-- > 0;) {
        bool is_long = length(&runs[n]) >= PX_INFLUENCES_TOGETHER;
        for (uint32_t k = 0; is_long == long_ones && length(&runs[n]) && k < runs[n].row.count; k++) {
            runs[n].next[k] = heads[runs[n].row.bones[k]];
            heads[runs[n].row.bones[k]] = n;
        }
    }
}

/* The first long run whose bones include all bones of a row, or NULL. */
static const run *find_long(const run *runs, const uint32_t *heads, const px_influences *row) {
    uint32_t at = heads[row->bones[0]];
    for (uint32_t tries = 0; at != PELT_NONE && tries < MAX_TRIES; tries++) {
        if (has_all(&runs[at].row, row))
            return &runs[at];
        at = runs[at].next[place_in(&runs[at].row, row->bones[0])];
    }
    return NULL;
}

/* The most rows at the end of a long run that are better skinned in a union: a block costs more with more bones. */
static uint32_t most_rest(const px_influences *row) {
    return row->count < 5 ? 2 + row->count : 7;
}

/* Returns the number of runs; `runs` may be NULL. */
static uint32_t find_runs(const px_influences *rows, uint32_t count, const uint32_t *order, run *runs) {
    uint32_t run_count = 0;
    for (uint32_t first = 0, end; first < count; first = end) {
        const px_influences *row = &rows[order[first]];
        for (end = first + 1; end < count && px_influences_alike(row, &rows[order[end]]);)
            end++;
        uint32_t rest = (end - first) % PX_INFLUENCES_TOGETHER;
        bool splits = end - first > PX_INFLUENCES_TOGETHER && rest > 0 && rest <= most_rest(row);
        if (runs)
            runs[run_count] = (run){.first = first, .end = splits ? end - rest : end, .row = *row};
        if (runs && splits)
            runs[run_count + 1] = (run){.first = end - rest, .end = end, .row = *row, .rest = true};
        run_count += 1 + splits;
    }
    return run_count;
}

/* Removes `count` rows from the start of a run and gives them the bones of `from`. */
static void join_run(run *r, uint32_t count, const px_influences *from, px_influences *rows, const uint32_t *order) {
    for (uint32_t n = 0; n < count; n++)
        take_bones(&rows[order[r->first++]], from);
}

/* ---- Unions ------------------------------------------------------------------------------------------------- */

/* Bound on the runs examined per bone for each run that a union gets. */
#define UNION_TRIES 64

static uint32_t count_missing(const px_influences *all, const px_influences *row) {
    uint32_t missing = 0;
    for (uint32_t k = 0; k < row->count; k++)
        missing += place_in(all, row->bones[k]) == all->count;
    return missing;
}

/* The short run that adds fewest bones to a union, the longest of these; PELT_NONE if there is none. Runs with this
 * mark belong to it. */
static uint32_t find_next(const run *runs, const uint32_t *heads, const px_influences *all, uint32_t mark) {
    uint32_t best = PELT_NONE, fewest = PX_INFLUENCES_UNION - all->count + 1;
    for (uint32_t k = 0; k < all->count; k++) {
        uint32_t at = heads[all->bones[k]];
        for (uint32_t tries = 0; at != PELT_NONE && tries < UNION_TRIES; tries++) {
            const run *r = &runs[at];
            uint32_t missing = r->mark == mark || !length(r) ? PELT_NONE : count_missing(all, &r->row);
            if (missing < fewest || (missing == fewest && best != PELT_NONE && length(r) > length(&runs[best])))
                best = at, fewest = missing;
            at = r->next[place_in(&r->row, all->bones[k])];
        }
    }
    return best;
}

/* Joins run `first` and other short runs to a union of one block, if there are enough. */
static void join_union(run *runs, const uint32_t *heads, uint32_t first, px_influences *rows, const uint32_t *order) {
    uint32_t members[PX_INFLUENCES_TOGETHER], count = 0, row_count = 0, next = first;
    px_influences all = runs[first].row;
    while (next != PELT_NONE && row_count < PX_INFLUENCES_TOGETHER) {
        for (uint32_t k = 0; k < runs[next].row.count; k++)
            add_influence(&all, runs[next].row.bones[k], 0);
        runs[next].mark = first + 1;
        members[count++] = next;
        row_count += length(&runs[next]);
        next = find_next(runs, heads, &all, first + 1);
    }
    if (row_count < PX_INFLUENCES_TOGETHER)
        return;
    uint32_t surplus = row_count - PX_INFLUENCES_TOGETHER; /* of the last run */
    for (uint32_t m = 0; m < count; m++)
        join_run(&runs[members[m]], length(&runs[members[m]]) - (m + 1 == count ? surplus : 0), &all, rows, order);
}

/* ---- Order -------------------------------------------------------------------------------------------------- */

static pelt_result join_rows(pelt_context *context, px_influences *rows, uint32_t count, uint32_t bone_count,
                             const uint32_t *order) {
    uint32_t run_count = find_runs(rows, count, order, NULL);
    run *runs = px_alloc(context, run_count, sizeof *runs);
    uint32_t *heads = px_alloc(context, bone_count, sizeof *heads);
    if (runs && heads) {
        find_runs(rows, count, order, runs);
        link_runs(runs, run_count, true, bone_count, heads);
        for (uint32_t n = 0; n < run_count; n++) {
            bool is_short = length(&runs[n]) < PX_INFLUENCES_TOGETHER && !runs[n].rest;
            const run *found = is_short ? find_long(runs, heads, &runs[n].row) : NULL;
            if (found)
                join_run(&runs[n], length(&runs[n]), &found->row, rows, order);
        }
        link_runs(runs, run_count, false, bone_count, heads);
        for (uint32_t n = run_count; n-- > 0;) /* most bones first */
            if (length(&runs[n]) && length(&runs[n]) < PX_INFLUENCES_TOGETHER &&
                runs[n].row.count <= PX_INFLUENCES_UNION)
                join_union(runs, heads, n, rows, order);
    }
    bool done = runs && heads;
    px_free(context, runs);
    px_free(context, heads);
    return done ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_influences_order(pelt_context *context, px_influences *rows, uint32_t count, uint32_t bone_count,
                                uint32_t *order) {
    PX_TRY(sort_rows(context, rows, count, bone_count, order));
    PX_TRY(join_rows(context, rows, count, bone_count, order));
    return sort_rows(context, rows, count, bone_count, order);
}
