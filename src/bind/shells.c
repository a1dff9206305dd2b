/* Connected components of the volume and of the surface. Volume components that no bone reaches (buttons, eyes, a
 * free-hanging cape) are bridged to the nearest reached voxels. Surface components (shells) are used to find
 * accessories. */
#include "bind/bind.h"

#include <math.h>
#include <stdlib.h>

typedef struct bridging {
    px_bind_wave *wave;
    px_bind_bridges *out;
    px_arena *arena;
    px_bind_bins bins; /* of the reached voxels */
    uint32_t piece_count;
    uint32_t *pieces;       /* [voxel] index of its unreached component, or PELT_NONE */
    uint32_t *piece_firsts; /* [piece + 1] prefix sums: first voxel of each component in `members` */
    uint32_t *members;      /* voxels of the components, sorted by component */
    uint32_t *nearest;      /* [member] nearest reached voxel */
    float *gaps;            /* [member] distance to it, in cells */
    float *piece_gaps;      /* [piece] least gap of its members */
    bool *done;             /* [piece] it has bridges */
} bridging;

static bool is_reached(const px_bind_wave *wave, uint32_t voxel) {
    return wave->owners[voxel] != PELT_NONE;
}

/* ---- Components ---------------------------------------------------------------------------------------------- */

static pelt_result find_pieces(bridging *b, uint32_t unreached) {
    const px_bind_volume *volume = b->wave->volume;
    uint32_t count = volume->voxels.count, filled = 0;
    b->pieces = PX_NEW(b->arena, uint32_t, count);
    b->members = PX_NEW(b->arena, uint32_t, unreached);
    b->piece_firsts = PX_NEW(b->arena, uint32_t, (size_t)unreached + 1);
    b->nearest = PX_NEW(b->arena, uint32_t, unreached);
    b->gaps = PX_NEW(b->arena, float, unreached);
    b->piece_gaps = PX_NEW(b->arena, float, unreached);
    b->done = PX_NEW(b->arena, bool, unreached);
    if (!b->pieces || !b->members || !b->piece_firsts || !b->nearest || !b->gaps || !b->piece_gaps || !b->done)
        return PELT_ERROR_MEMORY;
    memset(b->pieces, 0xff, count * sizeof *b->pieces);
    for (uint32_t seed = 0; seed < count; seed++) {
        if (is_reached(b->wave, seed) || b->pieces[seed] != PELT_NONE)
            continue;
        uint32_t at = filled;
        b->pieces[seed] = b->piece_count;
        b->members[filled++] = seed;
        for (; at < filled; at++)
            for (int k = 0; k < 6; k++) {
                uint32_t next = volume->neighbours[b->members[at]][k];
                if (next == PELT_NONE || b->pieces[next] != PELT_NONE)
                    continue;
                b->pieces[next] = b->piece_count;
                b->members[filled++] = next;
            }
        b->piece_firsts[++b->piece_count] = filled;
    }
    return PELT_OK;
}

/* ---- Bridges ------------------------------------------------------------------------------------------------- */

static pelt_result search_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    bridging *b = user;
    const px_bind_volume *volume = b->wave->volume;
    for (size_t m = first; m < first + count; m++) {
        const uint16_t *cell = volume->voxels.cells[b->members[m]];
        float p[3] = {cell[0], cell[1], cell[2]};
        if (!b->done[b->pieces[b->members[m]]])
            b->nearest[m] = px_bind_bins_nearest(volume, &b->bins, p, INFINITY, &b->gaps[m]);
    }
    return PELT_OK;
}

static pelt_result build(bridging *b, uint32_t piece, float most) {
    px_bind_wave *wave = b->wave;
    for (uint32_t m = b->piece_firsts[piece]; m < b->piece_firsts[piece + 1]; m++) {
        uint32_t from = b->members[m], to = b->nearest[m];
        b->out->bridged[from] = 1;
        if (!(b->gaps[m] <= most))
            continue;
        b->out->items[b->out->count++] = (px_bind_bridge){from, to};
        PX_TRY(px_bind_wave_seed(wave, from, wave->distances[to] + b->gaps[m], wave->owners[to]));
    }
    b->done[piece] = true;
    return PELT_OK;
}

/* One round: bridges the nearest components; farther ones may then attach to these. Within a component, every voxel
 * nearly as close as the closest one gets a bridge, so that a sleeve follows the arm inside it locally. */
static pelt_result round_of_bridges(bridging *b, uint32_t *left) {
    float least = INFINITY;
    px_bind_bins_fill(b->wave->volume, b->wave->owners, &b->bins);
    PX_TRY(px_parallel(b->wave->context, NULL, b->piece_firsts[b->piece_count], 4096, search_block, b));
    for (uint32_t p = 0; p < b->piece_count; p++) {
        b->piece_gaps[p] = INFINITY;
        for (uint32_t m = b->piece_firsts[p]; m < b->piece_firsts[p + 1] && !b->done[p]; m++)
            b->piece_gaps[p] = px_fminf(b->piece_gaps[p], b->gaps[m]);
        least = px_fminf(least, b->piece_gaps[p]);
    }
    for (uint32_t p = 0; p < b->piece_count; p++)
        if (!b->done[p] && b->piece_gaps[p] <= 2 * least + 2) {
            PX_TRY(build(b, p, 1.5f * b->piece_gaps[p] + 2));
            --*left;
        }
    return px_bind_wave_run(b->wave);
}

pelt_result px_bind_bridges_make(px_arena *arena, px_bind_wave *wave, px_bind_bridges *bridges) {
    const px_voxel_pieces *pieces = &wave->volume->pieces;
    uint32_t count = wave->volume->voxels.count, unreached = 0;
    *bridges = (px_bind_bridges){0};
    for (uint32_t v = 0; v < count; v++)
        unreached += !is_reached(wave, v);
    bridges->bridged = PX_NEW(arena, uint8_t, count);
    bridges->items = PX_NEW(arena, px_bind_bridge, (size_t)unreached + pieces->link_count);
    if (!bridges->bridged || !bridges->items)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < pieces->link_count; n++)
        bridges->items[bridges->count++] = (px_bind_bridge){pieces->links[n][0], pieces->links[n][1]};
    if (unreached == 0 || unreached == count)
        return PELT_OK;
    px_arena *scratch = px_arena_create(wave->context);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    bridging b = {.wave = wave, .out = bridges, .arena = scratch};
    pelt_result result = find_pieces(&b, unreached);
    if (result == PELT_OK)
        result = px_bind_bins_make(scratch, wave->volume, &b.bins);
    uint32_t left = b.piece_count;
    while (result == PELT_OK && left)
        result = round_of_bridges(&b, &left);
    px_arena_destroy(scratch);
    return result;
}

/* ---- Crossings ----------------------------------------------------------------------------------------------- */

static int compare_crossings(const void *a, const void *b) {
    const px_bind_crossing *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

pelt_result px_bind_crossings_make(px_arena *arena, const px_bind_volume *volume, const px_bind_bridges *bridges,
                                   px_bind_crossings *crossings) {
    *crossings = (px_bind_crossings){.items = PX_NEW(arena, px_bind_crossing, 2 * (size_t)bridges->count)};
    crossings->ends = PX_NEW(arena, uint64_t, (size_t)volume->voxels.count / 64 + 1);
    if (!crossings->items || !crossings->ends)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < bridges->count; b++) {
        uint32_t from = bridges->items[b].from, to = bridges->items[b].to;
        float sum = 0;
        for (int c = 0; c < 3; c++) {
            float off = volume->step[c] * (float)(volume->voxels.cells[to][c] - volume->voxels.cells[from][c]);
            sum += off * off;
        }
        crossings->items[crossings->count++] = (px_bind_crossing){from, to, sqrtf(sum)};
        crossings->items[crossings->count++] = (px_bind_crossing){to, from, sqrtf(sum)};
        crossings->ends[from / 64] |= UINT64_C(1) << from % 64;
        crossings->ends[to / 64] |= UINT64_C(1) << to % 64;
    }
    px_sort(crossings->items, crossings->count, sizeof *crossings->items, compare_crossings);
    return PELT_OK;
}

/* Lower bound by bisection. Few voxels have crossings, so the bit is tested first. */
uint32_t px_bind_crossings_from(const px_bind_crossings *crossings, uint32_t voxel) {
    uint32_t low = 0, high = crossings->count;
    if (!(crossings->ends[voxel / 64] >> voxel % 64 & 1))
        return crossings->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (crossings->items[middle].from < voxel)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- Shells -------------------------------------------------------------------------------------------------- */

pelt_result px_bind_shells(px_arena *arena, const px_bind_subject *subject, uint32_t *shells, uint32_t *shell_count) {
    uint32_t *groups = PX_NEW(arena, uint32_t, subject->classes.count);
    if (!groups)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < subject->classes.count; i++)
        groups[i] = i;
    for (size_t c = 0; c < 3 * (size_t)subject->triangle_count; c++)
        px_group_join(groups, subject->triangles[c], subject->triangles[c - c % 3]);
    *shell_count = 0;
    for (uint32_t i = 0; i < subject->classes.count; i++) { /* the lowest row of a group comes first */
        uint32_t lowest = px_group_of(groups, i);
        shells[i] = lowest == i ? (*shell_count)++ : shells[lowest];
    }
    return PELT_OK;
}

px_bind_box *px_bind_shell_boxes(px_arena *arena, const px_bind_subject *subject, const uint32_t *shells,
                                 uint32_t shell_count) {
    px_bind_box *boxes = PX_NEW(arena, px_bind_box, shell_count);
    for (uint32_t i = 0; boxes && i < subject->classes.count; i++) {
        px_bind_box *box = &boxes[shells[i]];
        const float *p = subject->positions + 3 * (size_t)i;
        for (int c = 0; c < 3; c++) {
            box->low[c] = box->row_count ? px_fminf(box->low[c], p[c]) : p[c];
            box->high[c] = box->row_count ? px_fmaxf(box->high[c], p[c]) : p[c];
        }
        box->row_count++;
    }
    return boxes;
}
