/* Pieces. Of the volume: what no bone reaches (buttons, eyes, a cape that hangs free) is bridged to what is nearest. Of
 * the surface: shells, to find accessories. */
#include "bind/bind.h"

#include <math.h>

#define BIN 8u /* cells along a side of a bin */

/* Voxels sorted into bins, to find the nearest one. */
typedef struct bins {
    uint32_t size[3];
    uint32_t *firsts; /* [bin + 1] */
    uint32_t *voxels;
} bins;

typedef struct bridging {
    px_bind_wave *wave;
    px_bind_bridges *out;
    px_arena *arena;
    bins bins;
    uint32_t piece_count;
    uint32_t *pieces;       /* [voxel] the piece that was not reached, or PELT_NONE */
    uint32_t *piece_firsts; /* [piece + 1] into members */
    uint32_t *members;      /* voxels of pieces */
    uint32_t *nearest;      /* [member] reached voxel */
    float *gaps;            /* [member] distance to it */
    float *piece_gaps;      /* [piece] the least of these */
    bool *done;             /* [piece] */
} bridging;

static bool is_reached(const px_bind_wave *wave, uint32_t voxel) {
    return wave->owners[voxel] != PELT_NONE;
}

/* ---- Pieces -------------------------------------------------------------------------------------------------- */

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

/* ---- Bins ---------------------------------------------------------------------------------------------------- */

static size_t bin_of(const bins *b, const uint16_t cell[3]) {
    return (cell[0] / BIN) + b->size[0] * ((cell[1] / BIN) + (size_t)b->size[1] * (cell[2] / BIN));
}

/* Counts, sums up, fills: every reached voxel on the surface. */
static pelt_result fill_bins(bridging *b) {
    const px_voxels *voxels = &b->wave->volume->voxels;
    size_t count = 1;
    for (int c = 0; c < 3; c++) {
        b->bins.size[c] = voxels->grid.size[c] / BIN + 1;
        count *= b->bins.size[c];
    }
    if (!b->bins.firsts) {
        b->bins.firsts = PX_NEW(b->arena, uint32_t, count + 1);
        b->bins.voxels = PX_NEW(b->arena, uint32_t, voxels->count);
        if (!b->bins.firsts || !b->bins.voxels)
            return PELT_ERROR_MEMORY;
    }
    memset(b->bins.firsts, 0, (count + 1) * sizeof *b->bins.firsts);
    for (uint32_t v = 0; v < voxels->count; v++)
        if (is_reached(b->wave, v) && voxels->kinds[v] == PX_VOXEL_BOUNDARY)
            b->bins.firsts[bin_of(&b->bins, voxels->cells[v])]++;
    for (size_t n = 1; n <= count; n++)
        b->bins.firsts[n] += b->bins.firsts[n - 1];
    for (uint32_t v = voxels->count; v-- > 0;) /* downwards: a bin ends up at its first, in ascending order */
        if (is_reached(b->wave, v) && voxels->kinds[v] == PX_VOXEL_BOUNDARY)
            b->bins.voxels[--b->bins.firsts[bin_of(&b->bins, voxels->cells[v])]] = v;
    return PELT_OK;
}

static void search_bin(const bridging *b, size_t bin, const uint16_t cell[3], float *best, uint32_t *nearest) {
    const px_bind_volume *volume = b->wave->volume;
    for (uint32_t n = b->bins.firsts[bin]; n < b->bins.firsts[bin + 1]; n++) {
        float sum = 0;
        for (int c = 0; c < 3; c++) {
            float off = ((float)volume->voxels.cells[b->bins.voxels[n]][c] - (float)cell[c]) * volume->step[c];
            sum += off * off;
        }
        if (sum < *best) {
            *best = sum;
            *nearest = b->bins.voxels[n];
        }
    }
}

/* The nearest reached voxel: rings of bins, until none nearer can come. */
static uint32_t search(const bridging *b, uint32_t voxel, float *gap) {
    const px_bind_volume *volume = b->wave->volume;
    const uint16_t *cell = volume->voxels.cells[voxel];
    float least_step = fminf(volume->step[0], fminf(volume->step[1], volume->step[2])), best = INFINITY;
    uint32_t nearest = PELT_NONE, most = 0;
    for (int c = 0; c < 3; c++)
        most = b->bins.size[c] > most ? b->bins.size[c] : most;
    for (int ring = 0; ring <= (int)most; ring++) {
        float clear = (float)((ring - 1) * (int)BIN) * least_step; /* nothing in this ring is nearer */
        if (ring > 0 && clear > 0 && best <= clear * clear)
            break;
        for (int z = -ring; z <= ring; z++)
            for (int y = -ring; y <= ring; y++)
                for (int x = -ring; x <= ring; x++) {
                    int at[3] = {cell[0] / (int)BIN + x, cell[1] / (int)BIN + y, cell[2] / (int)BIN + z};
                    bool outer = x == -ring || x == ring || y == -ring || y == ring || z == -ring || z == ring;
                    bool in = outer;
                    for (int c = 0; c < 3; c++)
                        in &= at[c] >= 0 && at[c] < (int)b->bins.size[c];
                    if (in)
                        search_bin(b,
                                   (size_t)at[0] +
                                       b->bins.size[0] * ((size_t)at[1] + (size_t)b->bins.size[1] * (size_t)at[2]),
                                   cell, &best, &nearest);
                }
    }
    *gap = sqrtf(best);
    return nearest;
}

/* ---- Bridges ------------------------------------------------------------------------------------------------- */

static pelt_result search_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    bridging *b = user;
    for (size_t m = first; m < first + count; m++)
        if (!b->done[b->pieces[b->members[m]]])
            b->nearest[m] = search(b, b->members[m], &b->gaps[m]);
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

/* Near pieces first: others may hang on them. Of each, all that is about as near as its nearest voxel gets a bridge, so
 * that a sleeve follows the arm below it place by place. */
static pelt_result round_of_bridges(bridging *b, uint32_t *left) {
    float least = INFINITY;
    PX_TRY(fill_bins(b));
    PX_TRY(px_parallel(b->wave->context, NULL, b->piece_firsts[b->piece_count], 4096, search_block, b));
    for (uint32_t p = 0; p < b->piece_count; p++) {
        b->piece_gaps[p] = INFINITY;
        for (uint32_t m = b->piece_firsts[p]; m < b->piece_firsts[p + 1] && !b->done[p]; m++)
            b->piece_gaps[p] = fminf(b->piece_gaps[p], b->gaps[m]);
        least = fminf(least, b->piece_gaps[p]);
    }
    for (uint32_t p = 0; p < b->piece_count; p++)
        if (!b->done[p] && b->piece_gaps[p] <= 2 * least + 2) {
            PX_TRY(build(b, p, 1.5f * b->piece_gaps[p] + 2));
            --*left;
        }
    return px_bind_wave_run(b->wave);
}

pelt_result px_bind_bridges_make(px_arena *arena, px_bind_wave *wave, px_bind_bridges *bridges) {
    uint32_t count = wave->volume->voxels.count, unreached = 0;
    *bridges = (px_bind_bridges){0};
    for (uint32_t v = 0; v < count; v++)
        unreached += !is_reached(wave, v);
    bridges->bridged = PX_NEW(arena, uint8_t, count);
    bridges->items = PX_NEW(arena, px_bind_bridge, unreached);
    if (!bridges->bridged || !bridges->items)
        return PELT_ERROR_MEMORY;
    if (unreached == 0 || unreached == count)
        return PELT_OK;
    px_arena *scratch = px_arena_create(wave->context);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    bridging b = {.wave = wave, .out = bridges, .arena = scratch};
    pelt_result result = find_pieces(&b, unreached);
    uint32_t left = b.piece_count;
    while (result == PELT_OK && left)
        result = round_of_bridges(&b, &left);
    px_arena_destroy(scratch);
    return result;
}

/* ---- Shells -------------------------------------------------------------------------------------------------- */

pelt_result px_bind_shells(px_arena *arena, const px_bind_subject *subject, uint32_t *shells, uint32_t *shell_count) {
    uint32_t *groups = PX_NEW(arena, uint32_t, subject->row_count);
    if (!groups)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < subject->row_count; i++)
        groups[i] = i;
    for (size_t c = 0; c < 3 * (size_t)subject->triangle_count; c++)
        px_group_join(groups, subject->triangles[c], subject->triangles[c - c % 3]);
    *shell_count = 0;
    for (uint32_t i = 0; i < subject->row_count; i++) { /* a group's lowest row comes first */
        uint32_t lowest = px_group_of(groups, i);
        shells[i] = lowest == i ? (*shell_count)++ : shells[lowest];
    }
    return PELT_OK;
}
