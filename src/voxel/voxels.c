/* Voxelisation of a triangle soup: see voxel.h.
 *
 * 1. Intersect the lines along z, in blocks of y. Where a line enters or leaves the solid, the inside bit of its cell
 *    changes; the changes are stored by slice.
 * 2. Process the slices of z, in blocks. Intersect the lines along x and y of a block. A slice has one inside bit per
 * cell
 *    and axis: along x runs of bits are set; along y changes accumulate from row to row, along z from slice to slice
 *    (exclusive or). Count the votes, add the touched cells, and write each row as runs.
 * 3. Concatenate the results of all blocks.
 */
#include "voxel/soup.h"

#include <math.h>

typedef struct piece { /* result of a block of slices */
    px_buffer runs;    /* [run] run_piece */
    px_buffer kinds;   /* [voxel] uint8_t; empty with `runs_only` */
    size_t voxel_count;
    uint32_t interior_count;
    uint32_t first_voxel, first_run; /* in the concatenated result */
} piece;

typedef struct run_piece {
    uint16_t x, length;
} run_piece;

typedef struct build {
    px_soup soup;
    uint32_t views;
    const px_voxel_paint *paints; /* [paint_count] */
    uint32_t paint_count;
    bool runs_only;
    uint32_t words; /* 64-bit words per row of bits */
    px_slices along_y, along_z;
    px_buckets *changes; /* [block of y] changes of lines along z, bucketed by slice: x | y << 16 */
    piece *pieces;       /* [block of z] */
    px_voxels *out;
} build;

/* ---- 1. Lines along z ------------------------------------------------------------------------------------- */

static pelt_result find_changes(void *user, size_t first, size_t count, size_t block) {
    build *b = user;
    const uint32_t *size = b->soup.grid->size;
    px_buckets hits;
    PX_TRY(px_hits_make(&b->soup, &b->along_y, (uint32_t)block, 2, &hits));
    px_pairs changes = {.context = b->soup.context};
    for (uint32_t y = 0; y < count; y++)
        for (uint32_t x = 0; x < size[0]; x++) {
            px_line line = px_line_of(&b->soup, &hits, y * size[0] + x, 2, b->views);
            for (uint32_t in, out; px_line_next(&line, &in, &out);) {
                px_pairs_add(&changes, in, x | ((uint32_t)first + y) << 16);
                px_pairs_add(&changes, out, x | ((uint32_t)first + y) << 16);
            }
        }
    px_buckets_free(b->soup.context, &hits);
    return px_buckets_make(&changes, size[2] + 1, &b->changes[block]); /* + 1: runs that end after the last */
}

/* ---- 2. Slices -------------------------------------------------------------------------------------------- */

typedef struct slab {
    build *build;
    uint32_t first, count;         /* slices */
    px_buckets hits_x;             /* by slice and y */
    px_buckets hits_y;             /* by slice and x */
    uint64_t *boundary;            /* [slice][y][word] */
    uint64_t *painted;             /* [paint][slice][y][word] cells that the triangles of a paint touch */
    uint64_t *inside_z;            /* [y][word] inside along z, in the current slice */
    uint64_t *changes_y;           /* [y][word] changes along y, in the current slice */
    uint64_t *row_x, *row_y, *row; /* [word] inside along x, then the cells of a paint; inside along y; occupied */
    uint8_t *row_kinds;            /* [x] */
} slab;

/* Applies the changes along z of slices [first, end) to inside_z. */
static void change_z(const slab *s, uint32_t first, uint32_t end) {
    const build *b = s->build;
    for (uint32_t block = 0; block < b->along_y.block_count; block++) {
        const px_buckets *changes = &b->changes[block];
        for (uint32_t c = changes->starts[first]; c < changes->starts[end]; c++) {
            uint32_t x = changes->values[c] & 0xffff, y = changes->values[c] >> 16;
            s->inside_z[(size_t)y * b->words + x / 64] ^= UINT64_C(1) << x % 64;
        }
    }
}

static void find_changes_y(const slab *s, uint32_t slice) {
    const build *b = s->build;
    const uint32_t *size = b->soup.grid->size;
    memset(s->changes_y, 0, sizeof(uint64_t) * b->words * size[1]);
    for (uint32_t x = 0; x < size[0]; x++) {
        px_line line = px_line_of(&b->soup, &s->hits_y, slice * size[0] + x, 1, b->views);
        for (uint32_t in, out; px_line_next(&line, &in, &out);) {
            s->changes_y[(size_t)in * b->words + x / 64] ^= UINT64_C(1) << x % 64;
            if (out < size[1])
                s->changes_y[(size_t)out * b->words + x / 64] ^= UINT64_C(1) << x % 64;
        }
    }
}

/* Index of the first bit at or after `from` that equals `value`, or size. */
static uint32_t find_bit(const uint64_t *row, uint32_t size, uint32_t from, bool value) {
    uint64_t flip = value ? 0 : UINT64_MAX;
    for (uint32_t word = from / 64; word * 64 < size; word++) {
        uint64_t bits = row[word] ^ flip;
        if (word == from / 64)
            bits &= UINT64_MAX << from % 64;
        if (bits)
            return (uint32_t)px_min_size(word * 64 + (uint32_t)__builtin_ctzll(bits), size);
    }
    return size;
}

/* Appends the occupied cells of a row as runs; returns the number of runs. */
static uint32_t write_row(const slab *s, const uint64_t *boundary, piece *out) {
    uint32_t size = s->build->soup.grid->size[0], run_count = 0, kind_count = 0;
    for (uint32_t x = find_bit(s->row, size, 0, true); x < size; run_count++) {
        uint32_t end = find_bit(s->row, size, x, false);
        run_piece run = {(uint16_t)x, (uint16_t)(end - x)};
        px_buffer_add(&out->runs, &run, sizeof run);
        out->voxel_count += end - x;
        for (; x < end && !s->build->runs_only; x++)
            s->row_kinds[kind_count++] = boundary[x / 64] >> x % 64 & 1 ? PX_VOXEL_BOUNDARY : PX_VOXEL_INTERIOR;
        x = find_bit(s->row, size, end, true);
    }
    px_buffer_add(&out->kinds, s->row_kinds, kind_count);
    return run_count;
}

/* The cells of a row whose centres a box or a sphere contains, without the margin. Returns false if there are none. */
static bool paint_cells(const px_grid *grid, const px_voxel_paint *paint, uint32_t y, uint32_t z, uint32_t *first,
                        uint32_t *end) {
    const double *n = paint->numbers;
    double at[2] = {px_grid_centre(grid, y, 1), px_grid_centre(grid, z, 2)}, low = n[0], high = n[3];
    if (y == 0 || z == 0 || y + 1 >= grid->size[1] || z + 1 >= grid->size[2])
        return false;
    if (paint->kind == PX_PAINT_SPHERE) {
        double square = n[3] * n[3] - (at[0] - n[1]) * (at[0] - n[1]) - (at[1] - n[2]) * (at[1] - n[2]);
        if (!(square >= 0))
            return false;
        low = n[0] - sqrt(square);
        high = n[0] + sqrt(square);
    } else if (at[0] < n[1] || at[0] > n[4] || at[1] < n[2] || at[1] > n[5]) {
        return false;
    }
    low = ceil((low - grid->origin[0]) / grid->cell[0] - 0.5);
    high = floor((high - grid->origin[0]) / grid->cell[0] - 0.5);
    *first = (uint32_t)px_fmin(px_fmax(low, 1), grid->size[0] - 1.0);
    *end = (uint32_t)px_fmin(px_fmax(high + 1, 1), grid->size[0] - 1.0);
    return *first < *end;
}

/* Adds and removes cells of a row. */
static void paint_row(const slab *s, uint32_t slice, uint32_t y) {
    const build *b = s->build;
    const px_grid *grid = b->soup.grid;
    size_t plane = (size_t)grid->size[1] * b->words;
    for (uint32_t p = 0; p < b->paint_count; p++) {
        const px_voxel_paint *paint = &b->paints[p];
        uint32_t first, end;
        memset(s->row_x, 0, sizeof(uint64_t) * b->words);
        if (paint->kind == PX_PAINT_TRIANGLES)
            memcpy(s->row_x, s->painted + p * plane * s->count + slice * plane + (size_t)y * b->words,
                   sizeof(uint64_t) * b->words);
        else if (paint_cells(grid, paint, y, s->first + slice, &first, &end))
            px_bits_set(s->row_x, first, end);
        for (uint32_t w = 0; w < b->words; w++)
            s->row[w] = paint->add ? s->row[w] | s->row_x[w] : s->row[w] & ~s->row_x[w];
    }
}

/* Counts the votes of row y of a slice (equation 6). */
static void do_row(const slab *s, uint32_t slice, uint32_t y, piece *out) {
    const build *b = s->build;
    const uint32_t *size = b->soup.grid->size;
    bool three = b->views & 3 && b->views & 12 && b->views & 48;
    const uint64_t *boundary = s->boundary + ((size_t)slice * size[1] + y) * b->words;
    memset(s->row_x, 0, sizeof(uint64_t) * b->words);
    px_line line = px_line_of(&b->soup, &s->hits_x, slice * size[1] + y, 0, b->views);
    for (uint32_t in, out_x; px_line_next(&line, &in, &out_x);)
        px_bits_set(s->row_x, in, out_x);
    uint64_t any = 0;
    for (uint32_t w = 0; w < b->words; w++) {
        s->row_y[w] ^= s->changes_y[(size_t)y * b->words + w];
        uint64_t vx = s->row_x[w], vy = s->row_y[w], vz = s->inside_z[(size_t)y * b->words + w];
        uint64_t interior = three ? (vx & vy) | (vz & (vx | vy)) : vx | vy | vz;
        s->row[w] = interior | boundary[w];
    }
    paint_row(s, slice, y);
    for (uint32_t w = 0; w < b->words; w++) {
        any |= s->row[w];
        out->interior_count += (uint32_t)__builtin_popcountll(s->row[w] & ~boundary[w]);
    }
    size_t row = (size_t)(s->first + slice) * size[1] + y;
    b->out->row_runs[row + 1] = any ? write_row(s, boundary, out) : 0;
}

static pelt_result do_slices(slab *s, uint32_t block) {
    build *b = s->build;
    const uint32_t *size = b->soup.grid->size;
    piece *out = &b->pieces[block];
    const px_buckets *bins = &b->along_z.triangles;
    for (uint32_t t = bins->starts[block]; t < bins->starts[block + 1]; t++)
        px_boundary_set(&b->soup, bins->values[t], s->first, s->first + s->count, b->words, s->boundary);
    for (uint32_t p = 0; p < b->paint_count; p++)
        for (uint32_t t = bins->starts[block]; t < bins->starts[block + 1]; t++)
            if (b->paints[p].kind == PX_PAINT_TRIANGLES && b->paints[p].triangles[bins->values[t]])
                px_boundary_set(&b->soup, bins->values[t], s->first, s->first + s->count, b->words,
                                s->painted + p * (size_t)size[1] * b->words * s->count);
    change_z(s, 0, s->first);
    for (uint32_t slice = 0; slice < s->count; slice++) {
        change_z(s, s->first + slice, s->first + slice + 1);
        find_changes_y(s, slice);
        memset(s->row_y, 0, sizeof(uint64_t) * b->words);
        for (uint32_t y = 0; y < size[1]; y++)
            do_row(s, slice, y, out);
    }
    return out->runs.failed || out->kinds.failed ? PELT_ERROR_MEMORY : PELT_OK;
}

static pelt_result do_slab(void *user, size_t first, size_t count, size_t block) {
    build *b = user;
    pelt_context *context = b->soup.context;
    const uint32_t *size = b->soup.grid->size;
    slab s = {.build = b, .first = (uint32_t)first, .count = (uint32_t)count};
    size_t plane = (size_t)size[1] * b->words;
    b->pieces[block].runs.context = b->pieces[block].kinds.context = context;
    uint64_t *bits =
        PX_ALLOC(context, uint64_t, plane * (count * (1 + (size_t)b->paint_count) + 2) + 3 * (size_t)b->words);
    s.row_kinds = PX_ALLOC(context, uint8_t, size[0]);
    pelt_result result = bits && s.row_kinds ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = px_hits_make(&b->soup, &b->along_z, (uint32_t)block, 0, &s.hits_x);
    if (result == PELT_OK)
        result = px_hits_make(&b->soup, &b->along_z, (uint32_t)block, 1, &s.hits_y);
    if (result == PELT_OK) {
        s.boundary = bits;
        s.inside_z = bits + plane * count;
        s.changes_y = s.inside_z + plane;
        s.row_x = s.changes_y + plane;
        s.row_y = s.row_x + b->words;
        s.row = s.row_y + b->words;
        s.painted = s.row + b->words;
        result = do_slices(&s, (uint32_t)block);
    }
    px_buckets_free(context, &s.hits_x);
    px_buckets_free(context, &s.hits_y);
    px_free(context, s.row_kinds);
    px_free(context, bits);
    return result;
}

/* ---- 3. Concatenation ------------------------------------------------------------------------------------- */

static pelt_result copy_piece(void *user, size_t first, size_t count, size_t block) {
    build *b = user;
    const piece *p = &b->pieces[block];
    px_voxels *out = b->out;
    const run_piece *runs = (const run_piece *)(const void *)p->runs.data;
    uint32_t voxel = p->first_voxel, size_y = out->grid.size[1];
    if (p->kinds.size)
        memcpy(out->kinds + voxel, p->kinds.data, p->kinds.size);
    for (size_t row = first * size_y; row < (first + count) * size_y; row++)
        for (uint32_t r = out->row_runs[row]; r < out->row_runs[row + 1]; r++) {
            run_piece run = runs[r - p->first_run];
            out->runs[r] = (px_run){run.x, voxel};
            for (uint32_t n = 0; n < run.length && !b->runs_only; n++) {
                out->cells[voxel + n][0] = (uint16_t)(run.x + n);
                out->cells[voxel + n][1] = (uint16_t)(row % size_y);
                out->cells[voxel + n][2] = (uint16_t)(row / size_y);
            }
            voxel += run.length;
        }
    return PELT_OK;
}

static pelt_result put_together(build *b, px_arena *arena) {
    px_voxels *out = b->out;
    size_t voxels = 0, runs = 0, rows = (size_t)out->grid.size[1] * out->grid.size[2];
    for (uint32_t n = 0; n < b->along_z.block_count; n++) {
        piece *p = &b->pieces[n];
        p->first_voxel = (uint32_t)voxels;
        p->first_run = (uint32_t)runs;
        voxels += p->voxel_count;
        runs += p->runs.size / sizeof(run_piece);
        out->interior_count += p->interior_count;
        if (voxels >= PELT_NONE)
            return px_fail(b->soup.context, PELT_ERROR_UNSUPPORTED,
                           "the grid has over 4,294,967,294 occupied voxels; use a lower resolution");
    }
    for (size_t row = 0; row < rows; row++)
        out->row_runs[row + 1] += out->row_runs[row];
    out->count = (uint32_t)voxels;
    out->run_count = (uint32_t)runs;
    out->runs = PX_NEW(arena, px_run, runs + 1);
    if (!b->runs_only) {
        out->kinds = PX_NEW(arena, uint8_t, voxels);
        out->cells = px_arena_alloc(arena, voxels, sizeof *out->cells);
    }
    if (!out->runs || (!b->runs_only && (!out->kinds || !out->cells)))
        return PELT_ERROR_MEMORY;
    out->runs[runs] = (px_run){0, out->count};
    return px_parallel(b->soup.context, NULL, out->grid.size[2], b->along_z.block_size, copy_piece, b);
}

static pelt_result make(build *b, px_arena *arena, const float *positions, uint32_t vertex_count) {
    pelt_context *context = b->soup.context;
    const uint32_t *size = b->soup.grid->size;
    PX_TRY(px_soup_snap(&b->soup, positions, vertex_count));
    PX_TRY(px_soup_turn(&b->soup, vertex_count));
    PX_TRY(px_slices_make(&b->soup, 1, &b->along_y));
    PX_TRY(px_slices_make(&b->soup, 2, &b->along_z));
    b->out->turned = PX_NEW(arena, uint8_t, b->soup.triangle_count);
    b->out->row_runs = PX_NEW(arena, uint32_t, (size_t)size[1] * size[2] + 1);
    b->changes = PX_ALLOC(context, px_buckets, b->along_y.block_count);
    b->pieces = PX_ALLOC(context, piece, b->along_z.block_count);
    if (!b->out->turned || !b->out->row_runs || !b->changes || !b->pieces)
        return PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < b->soup.triangle_count; t++)
        b->out->turned_count += b->out->turned[t] = b->soup.turned[t];
    PX_TRY(px_parallel(context, NULL, size[1], b->along_y.block_size, find_changes, b));
    PX_TRY(px_parallel(context, "voxelize", size[2], b->along_z.block_size, do_slab, b));
    return put_together(b, arena);
}

static pelt_result voxelize(build b, px_arena *arena, const float *positions, uint32_t vertex_count) {
    pelt_context *context = b.soup.context;
    px_voxels *out = b.out;
    *out = (px_voxels){.grid = *b.soup.grid};
    b.words = (b.soup.grid->size[0] + 63) / 64;
    pelt_result result = make(&b, arena, positions, vertex_count);
    for (uint32_t n = 0; b.changes && n < b.along_y.block_count; n++)
        px_buckets_free(context, &b.changes[n]);
    for (uint32_t n = 0; b.pieces && n < b.along_z.block_count; n++) {
        px_buffer_free(&b.pieces[n].runs);
        px_buffer_free(&b.pieces[n].kinds);
    }
    px_buckets_free(context, &b.along_y.triangles);
    px_buckets_free(context, &b.along_z.triangles);
    px_free(context, b.changes);
    px_free(context, b.pieces);
    px_free(context, b.soup.points);
    px_free(context, b.soup.turned);
    if (result != PELT_OK)
        *out = (px_voxels){0};
    return result;
}

pelt_result px_voxels_make_painted(pelt_context *context, px_arena *arena, const float *positions,
                                   uint32_t vertex_count, const uint32_t *triangles, uint32_t triangle_count,
                                   const px_grid *grid, uint32_t views, const px_voxel_paint *paints,
                                   uint32_t paint_count, bool runs_only, px_voxels *out) {
    build b = {.soup = {.context = context, .grid = grid, .triangles = triangles, .triangle_count = triangle_count},
               .views = views,
               .paints = paints,
               .paint_count = paint_count,
               .runs_only = runs_only,
               .out = out};
    return voxelize(b, arena, positions, vertex_count);
}

pelt_result px_voxels_make(pelt_context *context, px_arena *arena, const float *positions, uint32_t vertex_count,
                           const uint32_t *triangles, uint32_t triangle_count, const px_grid *grid, uint32_t views,
                           px_voxels *out) {
    return px_voxels_make_painted(context, arena, positions, vertex_count, triangles, triangle_count, grid, views, NULL,
                                  0, false, out);
}
