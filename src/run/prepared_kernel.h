/* Kernel for shared groups of prepared skins, for every instruction set. The includer defines LANES (see lanes.h),
 * PREPARED_BODY, the name of the function, and optionally FUSED (see vectors.h). All vertices of a group have the same
 * bones, so nothing is gathered: matrices are broadcast to all lanes, only weights differ, and positions and normals are
 * stored one vector per component.
 */
#include "run/morph_sums.h"
#include "run/skin.h"
#include "run/vectors.h"

#define BLOCK ((size_t)PELT_PREPARED_BLOCK)
#define STEPS (BLOCK / LANES) /* steps per block */

/* A run and its ranges of the streams. */
typedef struct prepared_walk {
    px_prepared_run run;
    const pelt_prepared_block *blocks;
    const float *weights, *positions, *normals, *tangents;
    size_t block_count, influences, first_place;
    bool morphed; /* `normals` were morphed: of any length */
} prepared_walk;

/* A block of a walk: its pose, its parts of the streams and its output. A step is LANES vertices of it. */
typedef struct prepared_part {
    const px_prepared_pose *pose;
    const float *weights, *positions, *normals, *tangents;
    float *out_positions, *out_normals, *out_tangents;
} prepared_part;

INLINE prepared_part part_of(const prepared_walk *walk, size_t block, size_t influences) {
    const px_prepared_run *run = &walk->run;
    size_t place = walk->blocks[block].place - walk->first_place, at = block * BLOCK;
    return (prepared_part){
        .pose = &run->poses[walk->blocks[block].group - run->first_group],
        .weights = walk->weights + at * (influences - 1),
        .positions = walk->positions + 3 * at,
        .normals = walk->normals ? walk->normals + 3 * at : NULL,
        .tangents = walk->tangents ? walk->tangents + 4 * at : NULL,
        .out_positions = run->positions + 3 * place,
        .out_normals = run->normals ? run->normals + 3 * place : NULL,
        .out_tangents = run->tangents ? run->tangents + 4 * place : NULL,
    };
}

INLINE void load_rows(const float *rows, int count, lanes out[]) {
    for (int c = 0; c < count; c++)
        out[c] = lanes_load(rows + (size_t)c * BLOCK);
}

/* Blends rows of `width` numbers for all steps of a block: row 0 plus Σ weight · row k. Each number is broadcast
 * once. */
INLINE void blend(const float *rows, size_t width, const float *weights, size_t influences, lanes out[]) {
    for (size_t e = 0; e < width; e++) {
        for (size_t step = 0; step < STEPS; step++)
            out[step * width + e] = lanes_splat(rows[e]);
        for (size_t k = 1; k < influences; k++) {
            lanes other = lanes_splat(rows[k * width + e]);
            for (size_t step = 0; step < STEPS; step++)
                out[step * width + e] =
                    mad(lanes_load(weights + (k - 1) * BLOCK + step * LANES), other, out[step * width + e]);
        }
    }
}
INLINE void blend_matrices_of(const prepared_part *part, size_t influences, lanes m[STEPS][12]) {
    blend(part->pose->matrices[0], 12, part->weights, influences, m[0]);
}
/* Dual quaternions, then the scale. */
INLINE void blend_duals_of(const prepared_part *part, size_t influences, lanes q[STEPS][9]) {
    blend(part->pose->duals[0], 9, part->weights, influences, q[0]);
}

/* Normalises skinned normals; those of length 0 get the rest normal. */
INLINE void finish_normal(const prepared_part *part, size_t step, lanes moved[3]) {
    lanes_mask good = make_unit_fast(moved);
    if (__builtin_expect(!lanes_all(good), 0)) {
        lanes rest[3];
        load_rows(part->normals + step * LANES, 3, rest);
        for (int c = 0; c < 3; c++)
            moved[c] = lanes_select(good, moved[c], rest[c]);
    }
    lanes_store3(part->out_normals + 3 * LANES * step, moved);
}

/* ---- Single bones ------------------------------------------------------------------------------------------- */

static void run_single(const prepared_walk *walk) {
    for (size_t block = 0; block < walk->block_count; block++) {
        prepared_part part = part_of(walk, block, 1);
        lanes m[12], v[3], out[3];
        for (int e = 0; e < 12; e++)
            m[e] = lanes_splat(part.pose->matrices[0][e]);
        for (size_t step = 0; step < STEPS; step++) {
            load_rows(part.positions + step * LANES, 3, v);
            move(m, v, out);
            lanes_store3(part.out_positions + 3 * LANES * step, out);
        }
        if (!walk->normals)
            continue;
        for (int e = 0; e < 12; e++)
            m[e] = lanes_splat(part.pose->cofactor[e]);
        for (size_t step = 0; step < STEPS; step++) {
            load_rows(part.normals + step * LANES, 3, v);
            turn(m, v, out);
            if (!part.pose->turned || walk->morphed)
                unit(out, v);
            lanes_store3(part.out_normals + 3 * LANES * step, out);
        }
    }
}

/* ---- Linear blend ------------------------------------------------------------------------------------------- */

/* Blocks whose normals are normalised together. */
#define TOGETHER 4

/* This and the following functions are called with constant arguments, so that the compiler specialises them. Normals
 * are normalised in a loop of their own: the latency of square roots and divisions exceeds what the CPU can
 * reorder with the rest. */
INLINE void run_linear(const prepared_walk *walk, size_t influences, bool normals) {
    lanes moved[TOGETHER][STEPS][3];
    for (size_t first = 0; first < walk->block_count; first += TOGETHER) {
        size_t end = px_min_size(first + TOGETHER, walk->block_count);
        for (size_t block = first; block < end; block++) {
            prepared_part part = part_of(walk, block, influences);
            lanes m[STEPS][12];
            blend_matrices_of(&part, influences, m);
            for (size_t step = 0; step < STEPS; step++) {
                lanes v[3], out[3];
                load_rows(part.positions + step * LANES, 3, v);
                move(m[step], v, out);
                lanes_store3(part.out_positions + 3 * LANES * step, out);
                if (normals) {
                    load_rows(part.normals + step * LANES, 3, v);
                    cofactor(m[step], v, moved[block - first][step]);
                }
            }
        }
        for (size_t block = first; normals && block < end; block++) {
            prepared_part part = part_of(walk, block, influences);
            for (size_t step = 0; step < STEPS; step++)
                finish_normal(&part, step, moved[block - first][step]);
        }
    }
}

/* ---- Dual quaternions --------------------------------------------------------------------------------------- */

/* Rotations keep unit normals at unit length; morphed ones are normalised. */
INLINE void run_dual(const prepared_walk *walk, size_t influences, bool normals) {
    for (size_t block = 0; block < walk->block_count; block++) {
        prepared_part part = part_of(walk, block, influences);
        lanes q[STEPS][9];
        blend_duals_of(&part, influences, q);
        for (size_t step = 0; step < STEPS; step++) {
            lanes m[12], v[3], out[3];
            dual_matrix(q[step], m);
            load_rows(part.positions + step * LANES, 3, v);
            for (int c = 0; c < 3; c++)
                v[c] *= q[step][8];
            move(m, v, out);
            lanes_store3(part.out_positions + 3 * LANES * step, out);
            if (!normals)
                continue;
            load_rows(part.normals + step * LANES, 3, v);
            turn(m, v, out);
            if (walk->morphed)
                finish_normal(&part, step, out);
            else
                lanes_store3(part.out_normals + 3 * LANES * step, out);
        }
    }
}

/* Like run_dual, after applying the blended stretches. */
static void run_stretched(const prepared_walk *walk) {
    for (size_t block = 0; block < walk->block_count; block++) {
        prepared_part part = part_of(walk, block, walk->influences);
        lanes stretch[STEPS][12], q[STEPS][9];
        blend_matrices_of(&part, walk->influences, stretch);
        blend_duals_of(&part, walk->influences, q);
        for (size_t step = 0; step < STEPS; step++) {
            lanes m[12], v[3], out[3];
            dual_matrix(q[step], m);
            load_rows(part.positions + step * LANES, 3, v);
            turn(stretch[step], v, v);
            move(m, v, out);
            lanes_store3(part.out_positions + 3 * LANES * step, out);
            if (!walk->normals)
                continue;
            load_rows(part.normals + step * LANES, 3, v);
            cofactor(stretch[step], v, out);
            turn(m, out, out);
            finish_normal(&part, step, out);
        }
    }
}

/* ---- Tangents ----------------------------------------------------------------------------------------------- */

static void run_tangents(const prepared_walk *walk) {
    for (size_t block = 0; block < walk->block_count; block++) {
        prepared_part part = part_of(walk, block, walk->influences);
        lanes blended[STEPS][12], q[STEPS][9];
        if (walk->run.kind != PX_PREPARED_DUAL)
            blend_matrices_of(&part, walk->influences, blended);
        if (walk->run.kind != PX_PREPARED_LINEAR)
            blend_duals_of(&part, walk->influences, q);
        for (size_t step = 0; step < STEPS; step++) {
            lanes m[12], t[4], out[4];
            load_rows(part.tangents + step * LANES, 4, t);
            memcpy(out, t, sizeof t);
            if (walk->run.kind != PX_PREPARED_DUAL)
                turn(blended[step], out, out);
            if (walk->run.kind != PX_PREPARED_LINEAR) {
                dual_matrix(q[step], m);
                turn(m, out, out);
            }
            unit(out, t);
            lanes_store4(part.out_tangents + 4 * LANES * step, out);
        }
    }
}

/* ---- Entry point -------------------------------------------------------------------------------------------- */

INLINE void run_influences(const prepared_walk *walk, size_t influences) {
    if (walk->run.kind == PX_PREPARED_LINEAR && walk->normals)
        run_linear(walk, influences, true);
    else if (walk->run.kind == PX_PREPARED_LINEAR)
        run_linear(walk, influences, false);
    else if (walk->normals)
        run_dual(walk, influences, true);
    else
        run_dual(walk, influences, false);
}

/* The walk is copied: stores cannot change a local variable, so its pointers stay in registers. */
static void run_walk(const prepared_walk *given) {
    const prepared_walk copy = *given, *walk = &copy;
    if (walk->influences == 1)
        run_single(walk);
    else if (walk->run.kind == PX_PREPARED_STRETCHED)
        run_stretched(walk);
    else if (walk->influences == 2)
        run_influences(walk, 2);
    else if (walk->influences == 3)
        run_influences(walk, 3);
    else if (walk->influences == 4)
        run_influences(walk, 4);
    else if (walk->influences == 5)
        run_influences(walk, 5);
    else if (walk->influences == 6)
        run_influences(walk, 6);
    else
        run_influences(walk, walk->influences);
    if (walk->tangents)
        run_tangents(walk);
}

/* ---- Morphs ------------------------------------------------------------------------------------------------- */

/* Blocks that are morphed and then skinned: 6 KB, which stay in the L1 cache. */
#define MORPH_BLOCKS ((size_t)16)

/* Morphs rows [block][3][16] of a stream; `offsets` are those of the first block. */
INLINE void morph_rows(const pelt_packed_delta *deltas, const size_t *offsets, const float *weights, const float *rest,
                       size_t block_count, float *out) {
    for (size_t block = 0; block < block_count; block++, rest += 3 * BLOCK, out += 3 * BLOCK) {
        lanes sums[STEPS][3];
        for (size_t step = 0; step < STEPS; step++)
            load_rows(rest + step * LANES, 3, sums[step]);
        add_morphs(deltas + offsets[block], deltas + offsets[block + 1], weights, 0, STEPS, sums);
        for (size_t step = 0; step < STEPS; step++)
            for (size_t c = 0; c < 3; c++)
                lanes_store(out + c * BLOCK + step * LANES, sums[step][c]);
    }
}

/* Runs a walk in pieces whose positions and normals are morphed first. */
static void run_morphed(const prepared_walk *walk) {
    const pelt_packed_morphs *morphs = walk->run.morphs;
    const size_t *offsets = morphs->offsets + (walk->blocks - walk->run.prepared->blocks);
    float positions[3 * BLOCK * MORPH_BLOCKS], normals[3 * BLOCK * MORPH_BLOCKS];
    for (size_t first = 0; first < walk->block_count; first += MORPH_BLOCKS) {
        prepared_walk part = *walk;
        size_t at = first * BLOCK;
        part.block_count = px_min_size(MORPH_BLOCKS, walk->block_count - first);
        part.blocks += first;
        part.weights += at * (walk->influences - 1);
        part.normals = walk->normals ? walk->normals + 3 * at : NULL;
        part.tangents = walk->tangents ? walk->tangents + 4 * at : NULL;
        if (part.normals && morphs->normals) {
            morph_rows(morphs->normals, offsets + first, walk->run.morph_weights, part.normals, part.block_count,
                       normals);
            part.normals = normals;
            part.morphed = true;
        }
        morph_rows(morphs->positions, offsets + first, walk->run.morph_weights, walk->positions + 3 * at,
                   part.block_count, positions);
        part.positions = positions;
        run_walk(&part);
    }
}

void PREPARED_BODY(const px_prepared_run *run) {
    const pelt_prepared_skin *p = run->prepared;
    const pelt_prepared_group *first = &p->groups[run->first_group], *last = first + run->group_count - 1;
    size_t at = first->first_block * BLOCK;
    prepared_walk walk = {
        .run = *run,
        .block_count = last->first_block + px_block_count(last->vertex_count, BLOCK) - first->first_block,
        .blocks = p->blocks + first->first_block,
        .weights = p->weights + first->first_weight,
        .positions = p->positions + 3 * at,
        .normals = run->normals ? p->normals + 3 * at : NULL,
        .tangents = run->tangents ? p->tangents + 4 * at : NULL,
        .influences = first->influence_count,
        .first_place = first->first_place,
    };
    if (run->morphs)
        run_morphed(&walk);
    else
        run_walk(&walk);
}
