/* Batches: skins instances of one level, one per lane, and writes their vertices to the output. */
#include "crowd/crowd.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* ---- Writing ---------------------------------------------------------------------------------------------- */

static void spread(const float *from, size_t count, float *to, size_t stride) {
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * stride, from + 3 * i, 3 * sizeof *from);
}

void px_crowd_spread(const px_crowd_target *target, const float *positions, const float *normals, size_t at,
                     size_t count) {
    spread(positions, count, target->positions + at * target->stride, target->stride);
    if (target->normals)
        spread(normals, count, target->normals + at * target->stride, target->stride);
}

static void copy(const px_crowd_writer *w, const float *from, size_t count, float *to) {
    if (w->target->streams)
        w->body->stream(to, from, count);
    else
        memcpy(to, from, count * sizeof *to);
}

/* Writes the next lane of the full stage. */
static void write_lane(px_crowd_writer *w) {
    const px_crowd_target *target = w->target;
    size_t at = w->first[w->written], count = w->vertex_count;
    const float *stage = w->stages[1 - w->filling][w->written++], *normals = stage + 3 * PX_CROWD_STAGE;
    if (target->layout == PX_CROWD_INTERLEAVED) {
        copy(w, stage, 6 * count, target->positions + 6 * at);
    } else if (target->stride == 3) {
        copy(w, stage, 3 * count, target->positions + 3 * at);
        if (target->normals)
            copy(w, normals, 3 * count, target->normals + 3 * at);
    } else {
        px_crowd_spread(target, stage, normals, at, count);
    }
}

static void write_lanes(px_crowd_writer *w) {
    while (w->written < w->lane_count)
        write_lane(w);
}

void px_crowd_writer_begin(px_crowd_writer *w, const px_crowd_body *body, const px_crowd_target *target) {
    w->body = body;
    w->target = target;
    w->filling = w->written = w->lane_count = 0;
}

void px_crowd_writer_end(px_crowd_writer *w) {
    write_lanes(w);
#if defined(__x86_64__)
    _mm_sfence(); /* non-temporal stores must complete before another thread reads them */
#endif
}

/* ---- Skinning --------------------------------------------------------------------------------------------- */

#define STAGE_QUADS (PX_CROWD_STAGE / 4)
#define STEP_QUADS  2u /* quads that are skinned before lanes are written */

/* Fills a stage, while the lanes of the other one are written. */
static void fill(const px_crowd_body *body, const px_crowd_job *job, uint32_t first, uint32_t count,
                 px_crowd_writer *w) {
    size_t step_size = (job->layout == PX_CROWD_INTERLEAVED ? 24 : 12) * (size_t)STEP_QUADS;
    uint32_t step_lanes = (uint32_t)px_block_count(w->lane_count * STEP_QUADS, STAGE_QUADS);
    float *stage = w->stages[w->filling][0];
    for (uint32_t q = 0; q < count; q += STEP_QUADS, stage += step_size) {
        body->skin(job, first + q, count - q < STEP_QUADS ? count - q : STEP_QUADS, stage);
        for (uint32_t v = 0; v < step_lanes && w->written < w->lane_count; v++)
            write_lane(w);
    }
    write_lanes(w);
    w->filling = 1 - w->filling;
    w->written = 0;
}

/* Skins `count` instances; poses and weights have as many lanes as the body. */
static void run(const px_crowd_body *body, const px_crowd_job *job, const size_t *first_vertex, uint32_t count,
                px_crowd_writer *w) {
    uint32_t quads = job->level->quads.count;
    size_t vertex_count = job->level->model->mesh.vertex_count;
    body->gather(job);
    for (uint32_t q = 0; q < quads; q += STAGE_QUADS) {
        uint32_t quad_count = (uint32_t)px_min_size(STAGE_QUADS, quads - q);
        fill(body, job, q, quad_count, w);
        w->lane_count = count;
        w->vertex_count = px_min_size(4 * (size_t)quad_count, vertex_count - 4 * (size_t)q);
        for (uint32_t v = 0; v < count; v++)
            w->first[v] = first_vertex[v] + 4 * (size_t)q;
    }
}

void px_crowd_batch(const pelt_crowd *crowd, const pelt_crowd_instance *instances, const uint32_t *order,
                    uint32_t count, px_crowd_slot *slot, px_crowd_writer *w) {
    const px_crowd_character *character = &crowd->characters[instances[order[0]].character];
    const px_crowd_level *level = &character->levels[instances[order[0]].level];
    px_crowd_pose all[PX_CROWD_LANES];
    for (uint32_t v = 0; v < count; v++)
        all[v] = px_crowd_pose_of(character, &instances[order[v]], slot, v);
    for (int kind = 0; kind < 4; kind++) { /* those that are skinned in the same way, together */
        px_crowd_pose poses[PX_CROWD_LANES];
        px_crowd_job job = {.level = level,
                            .layout = w->target->layout,
                            .stretched = kind & 1,
                            .morphed = kind & 2,
                            .poses = poses,
                            .palette = slot->palette,
                            .weights = slot->lane_weights};
        uint32_t from[PX_CROWD_LANES], lanes = 0;
        size_t first_vertex[PX_CROWD_LANES];
        for (uint32_t v = 0; v < count; v++)
            if (all[v].stretched == job.stretched && all[v].morphed == job.morphed) {
                first_vertex[lanes] = instances[order[v]].first_vertex;
                from[lanes++] = v;
            }
        if (!lanes)
            continue;
        const px_crowd_body *body = w->body;
        while (body->narrow && lanes <= body->narrow->lanes)
            body = body->narrow;
        for (uint32_t v = 0; v < body->lanes; v++) { /* unused lanes copy lane 0 */
            uint32_t lane = from[v < lanes ? v : 0];
            poses[v] = all[lane];
            for (size_t m = 0; job.morphed && m < level->model->morphs.morph_count; m++)
                slot->lane_weights[m * body->lanes + v] = slot->weights[lane][m];
        }
        run(body, &job, first_vertex, lanes, w);
    }
}
