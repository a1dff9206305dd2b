/* Saves and loads the state of a decomposition (checkpoint.h). One list of items serves both directions. */
#include "decompose/checkpoint.h"
#include "decompose/decomposer.h"

#include <errno.h>

#define MARK        UINT64_C(0x3254415453544C50) /* "PLTSTAT2": another layout of the files, another number */
#define WRITE_BYTES ((size_t)1 << 20)            /* of a portion, which is digested as a whole */
#define LEAF_POINTS 4096u

typedef struct file_head {
    uint64_t mark;
    px_digest key;
    uint32_t bones;     /* of the trial */
    uint32_t dimension; /* 0 in the file of the state */
} file_head;

/* A file that is being saved or loaded. */
typedef struct store {
    pelt_context *context;
    px_fit *fit; /* NULL: there are no items by vertex */
    char path[PX_PATH_SIZE];
    bool loading;
    /* saving */
    char place[PX_PATH_SIZE]; /* FILE.new */
    int descriptor;           /* -1: not process 0 */
    uint8_t *portion;         /* [WRITE_BYTES] */
    size_t used;
    px_digest digest;
    /* loading */
    px_mapping mapping;
    size_t at;
} store;

/* ---- Writing ---------------------------------------------------------------------------------------------- */

static pelt_result fail_write(const store *s, int error) {
    return px_fail(s->context, PELT_ERROR_OUTPUT, "%s: the checkpoint cannot be written: %s", s->path, strerror(error));
}

static pelt_result write_portion(store *s) {
    px_digest_add(&s->digest, s->portion, s->used);
    for (size_t done = 0; done < s->used;) {
        int64_t some = px_descriptor_write(s->descriptor, s->portion + done, s->used - done);
        if (some < 0 && errno != EINTR)
            return fail_write(s, errno);
        done += some > 0 ? (size_t)some : 0;
    }
    s->used = 0;
    return PELT_OK;
}

static pelt_result write_bytes(void *user, const void *data, size_t size) {
    store *s = user;
    const uint8_t *bytes = data;
    for (size_t done = 0, some; s->descriptor >= 0 && done < size; done += some) {
        some = px_min_size(size - done, WRITE_BYTES - s->used);
        memcpy(s->portion + s->used, bytes + done, some);
        s->used += some;
        if (s->used == WRITE_BYTES)
            PX_TRY(write_portion(s));
    }
    return PELT_OK;
}

static pelt_result open_new(store *s) {
    if (pelt_group_rank(s->context) > 0)
        return PELT_OK;
    if (!(s->portion = PX_ALLOC(s->context, uint8_t, WRITE_BYTES)))
        return PELT_ERROR_MEMORY;
    px_path_remove(s->place); /* left by a process that was killed */
    s->descriptor = px_open(s->place, PX_OPEN_NEW);
    return s->descriptor < 0 ? fail_write(s, errno) : PELT_OK;
}

/* Puts the new file in the place of the old one, or removes it if `result` is a failure. */
static pelt_result close_new(store *s, pelt_result result) {
    if (s->descriptor >= 0) {
        if (result == PELT_OK && s->used > 0)
            result = write_portion(s);
        px_digest digest = s->digest;
        if (result == PELT_OK)
            result = write_bytes(s, &digest, sizeof digest);
        if (result == PELT_OK)
            result = write_portion(s);
        if (!px_descriptor_close(s->descriptor) && result == PELT_OK)
            result = fail_write(s, errno);
        if (result == PELT_OK && !px_path_rename(s->place, s->path))
            result = fail_write(s, errno);
        if (result != PELT_OK)
            px_path_remove(s->place);
    }
    px_free(s->context, s->portion);
    return result;
}

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static pelt_result fail_damaged(const store *s) {
    return px_fail(s->context, PELT_ERROR_INPUT, "%s: this checkpoint is damaged: remove it and begin again", s->path);
}

static pelt_result map_file(store *s) {
    uint64_t size = 0;
    int descriptor = px_open(s->path, PX_OPEN_READ);
    bool mapped = descriptor >= 0 && px_descriptor_look(descriptor, &size) == PX_PATH_FILE && size > 0 &&
                  size <= SIZE_MAX && px_map(descriptor, (size_t)size, &s->mapping);
    int error = errno;
    if (descriptor >= 0)
        px_descriptor_close(descriptor);
    if (size == 0 && descriptor >= 0)
        return fail_damaged(s);
    return mapped ? PELT_OK
                  : px_fail(s->context, PELT_ERROR_INPUT, "%s: the checkpoint cannot be read: %s", s->path,
                            strerror(error));
}

static bool is_whole(const store *s) {
    const uint8_t *bytes = s->mapping.data;
    px_digest digest = PX_DIGEST_START;
    if (s->mapping.size < sizeof(file_head) + sizeof digest)
        return false;
    size_t size = s->mapping.size - sizeof digest;
    for (size_t at = 0; at < size; at += WRITE_BYTES)
        px_digest_add(&digest, bytes + at, px_min_size(WRITE_BYTES, size - at));
    return memcmp(bytes + size, &digest, sizeof digest) == 0;
}

/* Whether process 0 sees the file: the others then read it too. */
static pelt_result is_there(const store *s, bool *there) {
    uint64_t size;
    uint8_t seen = px_path_look(s->path, &size) != PX_PATH_NONE;
    PX_TRY(pelt_group_broadcast(s->context, 0, &seen, 1));
    *there = seen;
    return PELT_OK;
}

/* ---- Items ------------------------------------------------------------------------------------------------ */

static pelt_result skip(store *s, size_t size, const uint8_t **bytes) {
    if (size > s->mapping.size - s->at)
        return fail_damaged(s);
    *bytes = (const uint8_t *)s->mapping.data + s->at;
    s->at += size;
    return PELT_OK;
}

/* An item that is the same in every process. */
static pelt_result item(store *s, void *data, size_t size) {
    const uint8_t *bytes = NULL;
    if (!s->loading)
        return write_bytes(s, data, size);
    PX_TRY(skip(s, size, &bytes));
    if (size > 0)
        memcpy(data, bytes, size);
    return PELT_OK;
}

/* Own elements of an array by vertex, `size` bytes each. */
static pelt_result by_vertex(store *s, void *own, size_t size) {
    const px_fit *fit = s->fit;
    const uint8_t *bytes = NULL;
    if (!s->loading)
        return px_leaves_pass(s->context, &fit->leaves, own, size, write_bytes, s);
    PX_TRY(skip(s, fit->total_count * size, &bytes));
    if (fit->vertex_count > 0)
        memcpy(own, bytes + fit->first_vertex * size, fit->vertex_count * size);
    return PELT_OK;
}

#define ITEM(place) PX_TRY(item(s, &(place), sizeof(place)))

static pelt_result state_items(store *s, px_fit_state *state) {
    const px_fit *fit = s->fit;
    size_t K = fit->influence_count, n = 4 * (size_t)fit->bone_count;
    ITEM(state->objective);
    PX_TRY(by_vertex(s, state->rest, 3 * sizeof *state->rest));
    PX_TRY(by_vertex(s, state->weights, K * sizeof *state->weights));
    PX_TRY(by_vertex(s, state->bones, K * sizeof *state->bones));
    PX_TRY(by_vertex(s, state->counts, sizeof *state->counts));
    PX_TRY(item(s, state->reduced, n * fit->dimension * sizeof *state->reduced));
    if (state->full)
        PX_TRY(item(s, state->full, n * fit->row_count * sizeof *state->full));
    return state->axes ? item(s, state->axes, 9 * (size_t)fit->bone_count * sizeof *state->axes) : PELT_OK;
}

static pelt_result history_items(store *s, px_quasi_newton *history) {
    size_t size = 4 * (size_t)s->fit->bone_count * s->fit->dimension * sizeof *history->last;
    ITEM(history->pair_count);
    ITEM(history->started);
    if (history->pair_count > PX_PAIRS)
        return fail_damaged(s);
    if (!history->started)
        return PELT_OK;
    if (s->loading)
        PX_TRY(px_quasi_newton_make(history, s->fit));
    PX_TRY(item(s, history->last, size));
    PX_TRY(item(s, history->gradient, size));
    for (size_t p = 0; p < history->pair_count; p++) {
        PX_TRY(item(s, history->steps[p], size));
        PX_TRY(item(s, history->changes[p], size));
    }
    return PELT_OK;
}

/* All that one iteration leaves for the next. What an iteration computes before it reads it is not here: moments, H, `spare`. */
static pelt_result decomposer_items(store *s, pelt_decomposer *d) {
    px_fit *fit = &d->fit;
    ITEM(fit->bone_count);
    ITEM(d->report.iteration_count);
    if (fit->bone_count == 0 || fit->bone_count > fit->bone_capacity || d->report.iteration_count > d->desc.iterations)
        return fail_damaged(s);
    PX_TRY(item(s, d->errors, d->report.iteration_count * sizeof *d->errors));
    ITEM(d->next_move);
    ITEM(d->coarse);
    ITEM(d->done);
    ITEM(d->shells.group_count);
    ITEM(d->shells.vertex_count);
    ITEM(fit->rest_pull);
    ITEM(fit->rest_most);
    ITEM(d->solver.ahead);
    ITEM(d->solver.steps);
    ITEM(d->solver.turn);
    PX_TRY(state_items(s, &fit->now));
    PX_TRY(state_items(s, &fit->before));
    PX_TRY(by_vertex(s, fit->quiet, sizeof *fit->quiet));
    PX_TRY(by_vertex(s, fit->residuals, sizeof *fit->residuals));
    return history_items(s, &d->solver.history);
}

static pelt_result reduced_items(store *s) {
    px_fit *fit = s->fit;
    size_t d = fit->dimension, basis = px_mul_size(fit->row_count, d);
    if (s->loading) {
        fit->basis = PX_NEW(fit->arena, double, basis);
        fit->norms = PX_NEW(fit->arena, double, fit->vertex_count);
        fit->coords = PX_NEW(fit->arena, float, px_mul_size(fit->vertex_count, d));
        if (!fit->basis || !fit->norms || !fit->coords)
            return PELT_ERROR_MEMORY;
    }
    ITEM(fit->basis_error);
    PX_TRY(item(s, fit->basis, basis * sizeof *fit->basis));
    PX_TRY(by_vertex(s, fit->coords, d * sizeof *fit->coords));
    PX_TRY(by_vertex(s, fit->norms, sizeof *fit->norms));
    return by_vertex(s, fit->now.rest, 3 * sizeof *fit->now.rest);
}

static pelt_result trial_items(store *s, px_checkpoint *checkpoint) {
    ITEM(checkpoint->trial_count);
    if (checkpoint->trial_count > PX_TRIALS_MOST)
        return fail_damaged(s);
    return item(s, checkpoint->trials, checkpoint->trial_count * sizeof *checkpoint->trials);
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

static pelt_result store_make(pelt_context *context, px_fit *fit, const char *path, const char *end, store *s) {
    *s = (store){.context = context, .fit = fit, .descriptor = -1, .digest = PX_DIGEST_START};
    int length = snprintf(s->path, sizeof s->path, "%s%s", path, end);
    if (length < 0 || snprintf(s->place, sizeof s->place, "%s%s.new", path, end) >= (int)sizeof s->place)
        return px_fail(context, PELT_ERROR_OUTPUT, "%s: the path of the checkpoint is too long", path);
    return PELT_OK;
}

/* Maps the file and reads its head; *loaded is false if there is none. */
static pelt_result load_head(store *s, const px_checkpoint *checkpoint, file_head *head, bool *loaded) {
    PX_TRY(is_there(s, loaded));
    if (!*loaded)
        return PELT_OK;
    s->loading = true;
    PX_TRY(map_file(s));
    if (pelt_group_rank(s->context) == 0 && !is_whole(s))
        return fail_damaged(s);
    PX_TRY(item(s, head, sizeof *head));
    if (head->mark != MARK || memcmp(&head->key, &checkpoint->key, sizeof head->key) != 0)
        return px_fail(
            s->context, PELT_ERROR_INPUT,
            "%s: this checkpoint is of other inputs, other settings or another version of the program: remove "
            "it, or name another file",
            s->path);
    return PELT_OK;
}

/* All processes have loaded, or none goes on. */
static pelt_result end_load(store *s, pelt_result result) {
    if (s->mapping.data)
        px_unmap(&s->mapping);
    return pelt_group_agree(s->context, result);
}

pelt_result px_checkpoint_load_reduced(const px_checkpoint *checkpoint, px_fit *fit, bool *loaded) {
    store s;
    file_head head;
    PX_TRY(store_make(fit->context, fit, checkpoint->path, ".reduced", &s));
    pelt_result result = load_head(&s, checkpoint, &head, loaded);
    if (result == PELT_OK && *loaded)
        *loaded = head.bones == fit->bone_target;
    if (result == PELT_OK && *loaded) {
        fit->dimension = head.dimension;
        result = reduced_items(&s);
    }
    return end_load(&s, result);
}

pelt_result px_checkpoint_save_reduced(const px_checkpoint *checkpoint, px_fit *fit) {
    store s;
    file_head head = {MARK, checkpoint->key, fit->bone_target, fit->dimension};
    PX_TRY(store_make(fit->context, fit, checkpoint->path, ".reduced", &s));
    pelt_result result = open_new(&s);
    if (result == PELT_OK)
        result = item(&s, &head, sizeof head);
    if (result == PELT_OK)
        result = reduced_items(&s);
    return close_new(&s, result);
}

pelt_result px_checkpoint_load(pelt_decomposer *d, bool *loaded) {
    store s;
    file_head head;
    px_checkpoint earlier;
    PX_TRY(store_make(d->fit.context, &d->fit, d->checkpoint->path, "", &s));
    pelt_result result = load_head(&s, d->checkpoint, &head, loaded);
    if (result == PELT_OK && *loaded)
        *loaded = head.bones == d->fit.bone_target;
    if (result == PELT_OK && *loaded)
        result = trial_items(&s, &earlier);
    if (result == PELT_OK && *loaded)
        result = decomposer_items(&s, d);
    return end_load(&s, result);
}

pelt_result px_checkpoint_save(pelt_decomposer *d) {
    store s;
    file_head head = {MARK, d->checkpoint->key, d->fit.bone_target, 0};
    PX_TRY(store_make(d->fit.context, &d->fit, d->checkpoint->path, "", &s));
    pelt_result result = open_new(&s);
    if (result == PELT_OK)
        result = item(&s, &head, sizeof head);
    if (result == PELT_OK)
        result = trial_items(&s, d->checkpoint);
    if (result == PELT_OK)
        result = decomposer_items(&s, d);
    return close_new(&s, result);
}

void pelt_decompose_checkpoint_remove(const char *path) {
    static const char *const ends[] = {"", ".new", ".reduced", ".reduced.new"};
    char name[PX_PATH_SIZE];
    for (size_t n = 0; n < PX_COUNT(ends); n++)
        if (snprintf(name, sizeof name, "%s%s", path, ends[n]) < (int)sizeof name)
            px_path_remove(name);
}

/* ---- Digest of inputs and settings ------------------------------------------------------------------------ */

/* What the result depends on: not `memory`. */
static void add_settings(px_digest *key, const pelt_decompose_desc *desc) {
    static const size_t sizes[] = {
        [PELT_OPTION_FLAG] = sizeof(bool),
        [PELT_OPTION_UINT] = sizeof(uint32_t),
        [PELT_OPTION_REAL] = sizeof(double),
        [PELT_OPTION_SIZE] = 0,
        [PELT_OPTION_TEXT] = 0,
        [PELT_OPTION_CHOICE] = sizeof(uint32_t),
        [PELT_OPTION_VECTOR] = 3 * sizeof(double),
    };
    const pelt_option_table *table = pelt_decompose_options();
    for (size_t n = 0; n < table->count; n++)
        px_digest_add(key, (const char *)desc + table->rows[n].offset, sizes[table->rows[n].kind]);
    px_digest_add(key, &desc->rest_frame, sizeof desc->rest_frame);
    px_digest_add(key, &desc->turned_normals, sizeof desc->turned_normals);
}

static void add_mesh(px_digest *key, const pelt_mesh *mesh) {
    px_digest_add(key, mesh->positions, 3 * (size_t)mesh->vertex_count * sizeof *mesh->positions);
    px_digest_add(key, mesh->triangles, 3 * (size_t)mesh->triangle_count * sizeof *mesh->triangles);
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        uint32_t point = pelt_vertex_class(&mesh->points, i);
        px_digest_add(key, &point, sizeof point);
    }
}

/* Digests of all frames, one for each leaf of points: processes read their own leaves. */
typedef struct clip_digests {
    px_leaves leaves;
    px_digest *digests; /* [leaf] */
    float *points;      /* of own leaves in a frame */
} clip_digests;

static pelt_result digest_clip(pelt_context *context, const pelt_clip *clip, const clip_digests *c) {
    size_t first = px_leaves_first(&c->leaves), own = px_leaves_own(&c->leaves);
    for (uint32_t k = 0; k < clip->frame_count && own > 0; k++) {
        PX_TRY(px_progress(context, "check", k, clip->frame_count));
        PX_TRY(pelt_clip_read(context, clip, k, (uint32_t)first, (uint32_t)own, c->points));
        px_clip_release(clip, (uint32_t)own);
        for (size_t leaf = c->leaves.first; leaf < c->leaves.end; leaf++) {
            size_t at = px_leaf_first(&c->leaves, leaf), end = px_leaf_first(&c->leaves, leaf + 1);
            px_digest_add(&c->digests[leaf], c->points + 3 * (at - first), 3 * (end - at) * sizeof *c->points);
        }
    }
    return PELT_OK;
}

static pelt_result add_clips(pelt_context *context, px_digest *key, const pelt_model *model) {
    clip_digests c = {.leaves = px_leaves_make(context, model->mesh.points.count, LEAF_POINTS, true)};
    const px_leaves each = px_leaves_even(context, c.leaves.count);
    c.digests = PX_ALLOC(context, px_digest, c.leaves.count);
    c.points = PX_ALLOC(context, float, 3 * px_leaves_own(&c.leaves) + 1);
    pelt_result result = c.digests && c.points ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t n = 0; result == PELT_OK && n < model->clip_count; n++) {
        px_digest_add(key, &model->clips[n].frame_count, sizeof model->clips[n].frame_count);
        result = digest_clip(context, &model->clips[n], &c);
    }
    if (result == PELT_OK)
        result = px_leaves_gather(context, &each, c.digests, sizeof *c.digests);
    if (result == PELT_OK)
        px_digest_add(key, c.digests, c.leaves.count * sizeof *c.digests);
    px_free(context, c.points);
    px_free(context, c.digests);
    return result;
}

static pelt_result open_checkpoint(pelt_context *context, const pelt_model *model, const pelt_decompose_desc *desc,
                                   px_checkpoint *checkpoint) {
    bool there;
    store s;
    file_head head;
    if (desc->rig || desc->method != PELT_DECOMPOSE_FESAM)
        return px_fail(context, PELT_ERROR_USAGE, "a checkpoint is for the method fesam without a rig only");
    *checkpoint = (px_checkpoint){.path = desc->checkpoint, .key = PX_DIGEST_START};
    px_digest_add(&checkpoint->key, pelt_version(), strlen(pelt_version()));
    add_settings(&checkpoint->key, desc);
    add_mesh(&checkpoint->key, &model->mesh);
    if (desc->rest_positions)
        px_digest_add(&checkpoint->key, desc->rest_positions, 3 * (size_t)model->mesh.points.count * sizeof(float));
    PX_TRY(add_clips(context, &checkpoint->key, model));
    PX_TRY(store_make(context, NULL, checkpoint->path, "", &s));
    pelt_result result = load_head(&s, checkpoint, &head, &there);
    if (result == PELT_OK && there)
        result = trial_items(&s, checkpoint);
    return end_load(&s, result);
}

pelt_result px_checkpoint_open(pelt_context *context, const pelt_model *model, const pelt_decompose_desc *desc,
                               px_checkpoint *checkpoint) {
    return px_group_end(context, open_checkpoint(context, model, desc, checkpoint));
}
