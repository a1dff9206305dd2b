/* Blocks of voxels, split into their connected pieces: see voxel.h.
 *
 * 1. For each block, find the components of its voxels; blocks with several are listed with a label per voxel.
 * 2. For each face between two blocks, count the pairs of voxels that meet there by their pieces, and join those pieces.
 *
 * Voxels are read from the runs of the fine grid, as rows of bits: block X of a row has bits [f·X, f·X + f).
 */
#include "voxel/soup.h"

#include <stdlib.h>

#define EMPTY        UINT8_MAX        /* label of a voxel that is not occupied */
#define MAX_PIECES   (UINT8_MAX - 1u) /* of a block; further ones count as the last */
#define MAX_CONTACTS 64u              /* pairs of pieces at a face; further ones are not joined */

typedef struct slice_pieces { /* result of one slice of blocks */
    px_buffer splits;         /* [split] uint32_t block, uint32_t number of pieces */
    px_buffer labels;         /* [split][f³] */
    px_buffer links;          /* [link][2] uint32_t */
} slice_pieces;

typedef struct splitter {
    pelt_context *context;
    const px_voxels *fine; /* runs only */
    px_voxels *blocks;
    px_voxel_pieces *pieces;
    uint32_t (*neighbours)[6];
    slice_pieces *slices; /* [z of blocks] */
    uint32_t words;       /* 64-bit words per row of bits */
} splitter;

/* The voxels of a row of blocks: bits [f · z + y of the voxel in the block][word]. */
static void load_rows(const splitter *s, uint32_t y, uint32_t z, uint64_t *bits) {
    const px_voxels *fine = s->fine;
    uint32_t f = s->pieces->factor;
    memset(bits, 0, sizeof *bits * f * f * s->words);
    for (uint32_t k = 0; k < f * f; k++) {
        uint32_t row_y = (y - 1) * f + 1 + k % f, row_z = (z - 1) * f + 1 + k / f;
        if (y == 0 || z == 0 || row_y >= fine->grid.size[1] || row_z >= fine->grid.size[2])
            continue; /* the margin has no voxels */
        size_t row = row_y + (size_t)fine->grid.size[1] * row_z;
        for (uint32_t r = fine->row_runs[row]; r < fine->row_runs[row + 1]; r++) {
            const px_run *run = &fine->runs[r];
            px_bits_set(bits + (size_t)k * s->words, run->x + f - 1, run->x + f - 1 + (run[1].first - run->first));
        }
    }
}

/* The f voxels of block x in row k of its voxels. */
static inline uint32_t voxels_of(const splitter *s, const uint64_t *bits, uint32_t k, uint32_t x) {
    uint32_t f = s->pieces->factor, bit = f * x;
    return (uint32_t)(bits[(size_t)k * s->words + bit / 64] >> bit % 64) & ((1u << f) - 1);
}

/* ---- 1. Pieces --------------------------------------------------------------------------------------------- */

/* Adds to `piece` [f²] the voxels that are connected to it. */
static void flood(uint32_t f, const uint32_t *occupied, uint32_t *piece) {
    for (bool grows = true; grows;) {
        grows = false;
        for (uint32_t k = 0; k < f * f; k++) {
            uint32_t before = piece[k], row = before | before << 1 | before >> 1;
            row |= k % f > 0 ? piece[k - 1] : 0;
            row |= k % f + 1 < f ? piece[k + 1] : 0;
            row |= k >= f ? piece[k - f] : 0;
            row |= k + f < f * f ? piece[k + f] : 0;
            piece[k] = row & occupied[k];
            grows |= piece[k] != before;
        }
    }
}

/* Labels the voxels of a block [f³] by connected component, the largest first; returns the number of components. */
static uint32_t label_block(uint32_t f, const uint32_t *occupied, uint8_t *labels) {
    uint32_t left[PX_MAX_BLOCK * PX_MAX_BLOCK], sizes[MAX_PIECES] = {0}, count = 0, largest = 0;
    memcpy(left, occupied, sizeof *left * f * f);
    memset(labels, EMPTY, (size_t)f * f * f);
    for (uint32_t k = 0; k < f * f; k++)
        while (left[k]) {
            uint32_t piece[PX_MAX_BLOCK * PX_MAX_BLOCK] = {0};
            uint32_t label = count < MAX_PIECES ? count++ : MAX_PIECES - 1;
            piece[k] = left[k] & (~left[k] + 1);
            flood(f, occupied, piece);
            for (uint32_t n = k; n < f * f; n++) {
                left[n] &= ~piece[n];
                sizes[label] += (uint32_t)__builtin_popcount(piece[n]);
                for (uint32_t x = 0; x < f; x++)
                    if (piece[n] >> x & 1)
                        labels[n * f + x] = (uint8_t)label;
            }
        }
    for (uint32_t n = 1; n < count; n++)
        largest = sizes[n] > sizes[largest] ? n : largest;
    for (uint32_t n = 0; n < f * f * f; n++) /* swaps it with the first */
        labels[n] = labels[n] == 0 ? (uint8_t)largest : labels[n] == largest ? 0 : labels[n];
    return count;
}

static pelt_result find_slices(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    splitter *s = user;
    const px_voxels *blocks = s->blocks;
    uint32_t f = s->pieces->factor, size_y = blocks->grid.size[1];
    uint32_t occupied[PX_MAX_BLOCK * PX_MAX_BLOCK];
    uint64_t *bits = PX_ALLOC(s->context, uint64_t, (size_t)f * f * s->words);
    uint8_t *labels = PX_ALLOC(s->context, uint8_t, (size_t)f * f * f);
    pelt_result result = bits && labels ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t row = first * size_y; row < (first + count) * size_y && result == PELT_OK; row++) {
        slice_pieces *out = &s->slices[row / size_y];
        out->splits.context = out->labels.context = out->links.context = s->context;
        uint32_t v = blocks->runs[blocks->row_runs[row]].first, end = blocks->runs[blocks->row_runs[row + 1]].first;
        if (v < end)
            load_rows(s, (uint32_t)(row % size_y), (uint32_t)(row / size_y), bits);
        for (; v < end; v++) {
            bool full = true;
            for (uint32_t k = 0; k < f * f; k++) {
                occupied[k] = voxels_of(s, bits, k, blocks->cells[v][0]);
                full &= occupied[k] == (1u << f) - 1;
            }
            uint32_t split[2] = {v, full ? 1 : label_block(f, occupied, labels)};
            if (split[1] < 2)
                continue;
            px_buffer_add(&out->splits, split, sizeof split);
            px_buffer_add(&out->labels, labels, (size_t)f * f * f);
        }
        if (out->splits.failed || out->labels.failed)
            result = PELT_ERROR_MEMORY;
    }
    px_free(s->context, bits);
    px_free(s->context, labels);
    return result;
}

/* Lists the split blocks of all slices, and adds their further pieces to the voxels, in an additional row. */
static pelt_result add_pieces(splitter *s, px_arena *arena) {
    px_voxel_pieces *p = s->pieces;
    px_voxels *v = s->blocks;
    size_t rows = (size_t)v->grid.size[1] * v->grid.size[2], volume = (size_t)p->factor * p->factor * p->factor;
    uint32_t extra = 0, old = v->count;
    for (uint32_t z = 0; z < v->grid.size[2]; z++) {
        uint32_t(*splits)[2] = (uint32_t(*)[2])(void *)s->slices[z].splits.data;
        size_t count = s->slices[z].splits.size / sizeof *splits;
        for (size_t n = 0; n < count; n++)
            extra += splits[n][1] - 1;
        p->split_count += (uint32_t)count;
    }
    p->splits = PX_NEW(arena, uint32_t, p->split_count);
    p->firsts = PX_NEW(arena, uint32_t, p->split_count);
    p->labels = PX_NEW(arena, uint8_t, px_mul_size(p->split_count, volume));
    p->is_split = PX_NEW(arena, uint64_t, (size_t)old / 64 + 1);
    uint8_t *kinds = PX_NEW(arena, uint8_t, (size_t)old + extra);
    uint16_t(*cells)[3] = px_arena_alloc(arena, (size_t)old + extra, sizeof *cells);
    uint32_t *row_runs = PX_NEW(arena, uint32_t, rows + 2);
    px_run *runs = PX_NEW(arena, px_run, (size_t)v->run_count + extra + 1);
    if (!p->splits || !p->firsts || !p->labels || !p->is_split || !kinds || !cells || !row_runs || !runs)
        return PELT_ERROR_MEMORY;
    memcpy(kinds, v->kinds, old);
    memcpy(cells, v->cells, old * sizeof *cells);
    memcpy(row_runs, v->row_runs, (rows + 1) * sizeof *row_runs);
    memcpy(runs, v->runs, v->run_count * sizeof *runs);
    uint32_t filled = 0;
    for (uint32_t z = 0; z < v->grid.size[2]; z++) {
        uint32_t(*splits)[2] = (uint32_t(*)[2])(void *)s->slices[z].splits.data;
        size_t count = s->slices[z].splits.size / sizeof *splits;
        if (count)
            memcpy(p->labels + filled * volume, s->slices[z].labels.data, count * volume);
        for (size_t n = 0; n < count; n++, filled++) {
            uint32_t block = splits[n][0];
            p->splits[filled] = block;
            p->firsts[filled] = v->count;
            p->is_split[block / 64] |= UINT64_C(1) << block % 64;
            for (uint32_t k = 1; k < splits[n][1]; k++) {
                kinds[v->count] = kinds[block];
                memcpy(cells[v->count], cells[block], sizeof *cells);
                runs[v->run_count++] = (px_run){cells[block][0], v->count++};
            }
        }
    }
    row_runs[rows + 1] = v->run_count;
    runs[v->run_count] = (px_run){0, v->count};
    v->kinds = kinds;
    v->cells = cells;
    v->row_runs = row_runs;
    v->runs = runs;
    p->block_count = old;
    return PELT_OK;
}

/* ---- 2. Faces ---------------------------------------------------------------------------------------------- */

static bool is_split(const px_voxel_pieces *pieces, uint32_t block) {
    return block < pieces->block_count && pieces->is_split[block / 64] >> block % 64 & 1;
}

uint32_t px_voxel_piece(const px_voxel_pieces *pieces, uint32_t block, const float inside[3]) {
    uint32_t f = pieces->factor, low = 0, high = pieces->split_count, at = 0;
    if (!is_split(pieces, block))
        return block;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (pieces->splits[middle] < block)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t c = 3; c-- > 0;) {
        float voxel = inside[c] * (float)f;
        at = at * f + (voxel < 1 ? 0 : voxel < (float)f ? (uint32_t)voxel : f - 1);
    }
    uint8_t label = pieces->labels[(size_t)low * f * f * f + at];
    return label == EMPTY ? PELT_NONE : label == 0 ? block : pieces->firsts[low] + label - 1;
}

/* Pieces of two blocks that meet at a face. */
typedef struct contact {
    uint32_t a, b, count;
} contact;

static int compare_contacts(const void *x, const void *y) {
    const contact *a = x, *b = y;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->a != b->a ? (a->a > b->a ? 1 : -1) : (a->b > b->b) - (a->b < b->b);
}

/* Joins the pieces of two blocks at the face on `side` of the first. A piece has one neighbour on each side, the one with
 * most of the face; further ones get links. Blocks in which the fine grid has no voxels, by rounding or another vote, join none. */
static void join(const splitter *s, uint32_t block, uint32_t other, uint32_t side, const uint64_t *here,
                 const uint64_t *there, px_buffer *links) {
    const px_voxels *v = s->blocks;
    uint32_t f = s->pieces->factor, axis = side / 2, contact_count = 0;
    bool whole = !is_split(s->pieces, block) && !is_split(s->pieces, other);
    contact contacts[MAX_CONTACTS];
    for (uint32_t n = 0; n < f * f; n++) { /* of the face */
        uint32_t at[2][3];
        for (int end = 0; end < 2; end++) {
            at[end][axis] = end ? 0 : f - 1;
            at[end][(axis + 1) % 3] = n % f;
            at[end][(axis + 2) % 3] = n / f;
        }
        if (!(voxels_of(s, here, at[0][1] + f * at[0][2], v->cells[block][0]) >> at[0][0] & 1) ||
            !(voxels_of(s, there, at[1][1] + f * at[1][2], v->cells[other][0]) >> at[1][0] & 1))
            continue;
        if (whole)
            return; /* neighbours as they are */
        uint32_t ends[2], k = 0;
        for (int end = 0; end < 2; end++) {
            float inside[3];
            for (int c = 0; c < 3; c++)
                inside[c] = ((float)at[end][c] + 0.5f) / (float)f;
            ends[end] = px_voxel_piece(s->pieces, end ? other : block, inside);
        }
        while (k < contact_count && (contacts[k].a != ends[0] || contacts[k].b != ends[1]))
            k++;
        if (k == contact_count && k < MAX_CONTACTS)
            contacts[contact_count++] = (contact){ends[0], ends[1], 0};
        if (k < contact_count)
            contacts[k].count++;
    }
    s->neighbours[block][side] = s->neighbours[other][side ^ 1] = PELT_NONE;
    px_sort(contacts, contact_count, sizeof *contacts, compare_contacts);
    for (uint32_t k = 0; k < contact_count; k++) {
        uint32_t *a = &s->neighbours[contacts[k].a][side], *b = &s->neighbours[contacts[k].b][side ^ 1];
        if (*a == PELT_NONE && *b == PELT_NONE) {
            *a = contacts[k].b;
            *b = contacts[k].a;
        } else {
            uint32_t link[2] = {contacts[k].a, contacts[k].b};
            px_buffer_add(links, link, sizeof link);
        }
    }
}

static pelt_result join_slices(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    splitter *s = user;
    const px_voxels *blocks = s->blocks;
    uint32_t f = s->pieces->factor, size_y = blocks->grid.size[1];
    size_t size = (size_t)f * f * s->words;
    uint64_t *bits = PX_ALLOC(s->context, uint64_t, 3 * size); /* this row of blocks, the next in y, the next in z */
    pelt_result result = bits ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t row = first * size_y; row < (first + count) * size_y && result == PELT_OK; row++) {
        px_buffer *links = &s->slices[row / size_y].links;
        uint32_t v = blocks->runs[blocks->row_runs[row]].first, end = blocks->runs[blocks->row_runs[row + 1]].first;
        for (uint32_t way = 0; way < 3 && v < end; way++)
            load_rows(s, (uint32_t)(row % size_y) + (way == 1), (uint32_t)(row / size_y) + (way == 2),
                      bits + way * size);
        for (; v < end; v++)
            for (uint32_t axis = 0; axis < 3; axis++) {
                uint32_t other = s->neighbours[v][2 * axis + 1];
                if (other != PELT_NONE)
                    join(s, v, other, 2 * axis + 1, bits, bits + axis * size, links);
            }
        if (links->failed)
            result = PELT_ERROR_MEMORY;
    }
    px_free(s->context, bits);
    return result;
}

static pelt_result list_links(const splitter *s, px_arena *arena) {
    px_voxel_pieces *p = s->pieces;
    uint32_t filled = 0;
    for (uint32_t z = 0; z < s->blocks->grid.size[2]; z++)
        p->link_count += (uint32_t)(s->slices[z].links.size / sizeof *p->links);
    if (!(p->links = px_arena_alloc(arena, p->link_count, sizeof *p->links)))
        return PELT_ERROR_MEMORY;
    for (uint32_t z = 0; z < s->blocks->grid.size[2]; z++) {
        const px_buffer *links = &s->slices[z].links;
        if (links->size)
            memcpy(p->links + filled, links->data, links->size);
        filled += (uint32_t)(links->size / sizeof *p->links);
    }
    return PELT_OK;
}

/* ---- Entry points ------------------------------------------------------------------------------------------ */

px_grid px_grid_of_blocks(const px_grid *fine, uint32_t factor) {
    px_grid grid = *fine;
    for (int c = 0; c < 3; c++) {
        grid.cell[c] = factor * fine->cell[c];
        grid.origin[c] = fine->origin[c] - (factor - 1) * fine->cell[c];
        grid.size[c] = (fine->size[c] - 2 + factor - 1) / factor + 2;
    }
    return grid;
}

static pelt_result split(splitter *s, px_arena *arena, uint32_t (**neighbours)[6]) {
    uint32_t slices = s->blocks->grid.size[2];
    PX_TRY(px_parallel(s->context, NULL, slices, 4, find_slices, s));
    PX_TRY(add_pieces(s, arena));
    *neighbours = s->neighbours = px_arena_alloc(arena, s->blocks->count, sizeof **neighbours);
    if (!s->neighbours)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_voxels_neighbours(s->context, s->blocks, s->neighbours));
    for (size_t v = s->pieces->block_count; v < s->blocks->count; v++)
        memset(s->neighbours[v], 0xff, sizeof *s->neighbours);
    PX_TRY(px_parallel(s->context, NULL, slices, 4, join_slices, s));
    return list_links(s, arena);
}

pelt_result px_voxels_split(pelt_context *context, px_arena *arena, const px_voxels *fine, uint32_t factor,
                            px_voxels *blocks, uint32_t (**neighbours)[6], px_voxel_pieces *pieces) {
    *pieces = (px_voxel_pieces){.factor = factor};
    splitter s = {.context = context, .fine = fine, .blocks = blocks, .pieces = pieces};
    s.words = (blocks->grid.size[0] * factor + 63) / 64 + 1;
    s.slices = PX_ALLOC(context, slice_pieces, blocks->grid.size[2]);
    pelt_result result = s.slices ? split(&s, arena, neighbours) : PELT_ERROR_MEMORY;
    for (uint32_t z = 0; s.slices && z < blocks->grid.size[2]; z++) {
        px_buffer_free(&s.slices[z].splits);
        px_buffer_free(&s.slices[z].labels);
        px_buffer_free(&s.slices[z].links);
    }
    px_free(context, s.slices);
    return result;
}
