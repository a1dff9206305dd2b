/* Intersections of two moving models, frame by frame: threads process blocks of frames, each with its own bodies. */
#include "collide/collide.h"

#include <pelt/run.h>

#define RUN_FRAMES 16u

/* One of the two models. */
typedef struct side {
    const pelt_mover *mover;
    pelt_bdtree *tree;
} side;

typedef struct collision {
    pelt_context *context;
    side sides[2];
    uint32_t side_count; /* 1: self-intersections */
    uint32_t most;
    pelt_contacts *frames;
} collision;

/* State of one model in one block of frames. */
typedef struct actor {
    pelt_body *body;
    pelt_affine *palette; /* [bone] */
    float *points;        /* [point][3] */
    float *positions;     /* [vertex][3] */
    uint32_t *met;        /* [triangle] 1 + the last frame in which it intersected */
} actor;

/* Pairs found in the current frame. */
typedef struct meeting {
    uint32_t *met[2];
    uint32_t mark, most;
    pelt_contacts *out;
} meeting;

/* ---- A frame ---------------------------------------------------------------------------------------------- */

static uint32_t last_or(const pelt_mover *mover, uint32_t frame) {
    return frame < mover->frame_count ? frame : mover->frame_count - 1;
}

static bool is_moved(const pelt_mover *mover) {
    return mover->offset[0] != 0 || mover->offset[1] != 0 || mover->offset[2] != 0;
}

/* Returns true if a pose is given by matrices and weights, so that vertices can be computed lazily. */
static bool is_lazy(const pelt_mover *mover) {
    return !mover->clip && (mover->model->skin.bone_count || !is_moved(mover));
}

static void set_pose(actor *who, const pelt_mover *mover, uint32_t frame) {
    pelt_body *body = who->body;
    pelt_body_motion(body, mover->motion, mover->times[frame]);
    if (!is_moved(mover))
        return;
    for (uint32_t j = 0; j < body->tree->bone_count; j++) {
        who->palette[j] = body->palette[j];
        for (int c = 0; c < 3; c++)
            who->palette[j].m[4 * c + 3] += mover->offset[c];
    }
    pelt_body_palette(body, who->palette, body->weights);
}

static pelt_result set_positions(pelt_context *context, actor *who, const pelt_mover *mover, uint32_t frame) {
    const pelt_mesh *mesh = &mover->model->mesh;
    if (!mover->clip) {
        PX_TRY(pelt_model_pose(context, mover->model, mover->motion, mover->times[frame], PELT_SKINNING_LINEAR,
                               who->positions, NULL));
    } else {
        PX_TRY(pelt_clip_read(context, mover->clip, frame, 0, mover->clip->point_count, who->points));
        px_clip_release(mover->clip, mover->clip->point_count);
        pelt_vertex_classes_spread(&mesh->points, mesh->vertex_count, who->points, who->positions);
    }
    for (size_t e = 0; e < 3 * (size_t)mesh->vertex_count; e++)
        who->positions[e] += mover->offset[e % 3];
    pelt_body_positions(who->body, who->positions);
    return PELT_OK;
}

static bool count_pair(void *user, uint32_t a, uint32_t b) {
    meeting *m = user;
    pelt_contacts *out = m->out;
    uint32_t pair[2] = {a, b};
    for (int s = 0; s < 2; s++)
        if (m->met[s][pair[s]] != m->mark) {
            m->met[s][pair[s]] = m->mark;
            out->triangle_count[m->met[0] == m->met[1] ? 0 : s]++;
        }
    if (out->pairs && out->listed_count < m->most)
        memcpy(out->pairs[out->listed_count++], pair, sizeof pair);
    out->pair_count++;
    return true;
}

static pelt_result run_frame(const collision *c, actor actors[2], uint32_t frame) {
    pelt_contacts *out = &c->frames[frame];
    *out = (pelt_contacts){.pairs = c->most ? out->pairs : NULL};
    for (uint32_t s = 0; s < c->side_count; s++) {
        const pelt_mover *mover = c->sides[s].mover;
        if (is_lazy(mover))
            set_pose(&actors[s], mover, last_or(mover, frame));
        else
            PX_TRY(set_positions(c->context, &actors[s], mover, last_or(mover, frame)));
    }
    const actor *b = &actors[c->side_count - 1];
    meeting m = {{actors[0].met, b->met}, frame + 1, c->most, out};
    pelt_body_pairs(actors[0].body, b->body, count_pair, &m);
    double opened = 0, leaves = 0;
    for (uint32_t s = 0; s < c->side_count; s++) {
        opened += pelt_body_query_stats(actors[s].body).open_count;
        leaves += pelt_body_query_stats(actors[s].body).leaf_count;
    }
    out->opened = leaves > 0 ? opened / leaves : 0;
    return PELT_OK;
}

/* ---- Runs ------------------------------------------------------------------------------------------------- */

static pelt_result make_actor(pelt_context *context, px_arena *arena, const side *of, actor *who) {
    const pelt_mesh *mesh = &of->mover->model->mesh;
    bool lazy = is_lazy(of->mover);
    who->palette = PX_NEW(arena, pelt_affine, of->tree->bone_count);
    who->points = PX_NEW(arena, float, of->mover->clip ? 3 * (size_t)of->mover->clip->point_count : 0);
    who->positions = PX_NEW(arena, float, lazy ? 0 : 3 * (size_t)mesh->vertex_count);
    who->met = PX_NEW(arena, uint32_t, mesh->triangle_count);
    if (!who->palette || !who->points || !who->positions || !who->met)
        return PELT_ERROR_MEMORY;
    return pelt_body_create(context, of->tree, &who->body);
}

static pelt_result run_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const collision *c = user;
    actor actors[2] = {{0}};
    px_arena *arena = px_arena_create(c->context);
    pelt_result result = arena ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t s = 0; result == PELT_OK && s < c->side_count; s++)
        result = make_actor(c->context, arena, &c->sides[s], &actors[s]);
    for (size_t k = first; result == PELT_OK && k < first + count; k++) {
        result = run_frame(c, actors, (uint32_t)k);
        if (result == PELT_OK)
            result = px_cancelled(c->context);
    }
    for (uint32_t s = 0; s < c->side_count; s++)
        pelt_body_destroy(actors[s].body);
    px_arena_destroy(arena);
    return result;
}

/* ---- All -------------------------------------------------------------------------------------------------- */

static pelt_result check_mover(pelt_context *context, const pelt_mover *mover) {
    const pelt_mesh *mesh = &mover->model->mesh;
    uint32_t points = mesh->points.count;
    if (mover->frame_count == 0)
        return px_fail(context, PELT_ERROR_USAGE, "there is no frame to look at");
    if (mover->clip && (mover->clip->frame_count != mover->frame_count || mover->clip->point_count != points))
        return px_fail(context, PELT_ERROR_USAGE, "clip '%s' has other frames or points than are asked for",
                       mover->clip->name);
    return PELT_OK;
}

pelt_result pelt_collide(pelt_context *context, const pelt_mover *a, const pelt_mover *b, uint32_t most,
                         pelt_contacts *frames) {
    collision c = {context, {{.mover = a}, {.mover = b}}, b ? 2 : 1, most, frames};
    uint32_t frame_count = 0;
    pelt_result result = PELT_OK;
    for (uint32_t s = 0; result == PELT_OK && s < c.side_count; s++) {
        const pelt_mover *mover = c.sides[s].mover;
        frame_count = mover->frame_count > frame_count ? mover->frame_count : frame_count;
        result = check_mover(context, mover);
        if (result == PELT_OK)
            result = pelt_bdtree_create(context, mover->model, &c.sides[s].tree);
    }
    if (result == PELT_OK)
        result = px_parallel(context, "collide", frame_count, RUN_FRAMES, run_frames, &c);
    for (uint32_t s = 0; s < c.side_count; s++)
        pelt_bdtree_destroy(c.sides[s].tree);
    return result;
}
