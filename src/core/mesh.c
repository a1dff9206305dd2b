/* The mesh: reading clip frames, welding vertices, normals.
 *
 * Welding is partition refinement, without sorting. Every class of vertices not yet told apart has its first
 * member as its head. Each array of keys (rest positions, morphs, one frame of a clip) compares every other member
 * (follower) with its head; those that differ are grouped anew by a hash table over (old head, key). A follower leaves
 * its class at most once per key array, so the work is linear in the data. Vertices alone in their class cost nothing,
 * nor do vertices of the same point in clips: the frames of a mesh without seams are not even read.
 */
#include "core/mesh.h"

#include <math.h>
#include <stdlib.h>

pelt_result pelt_clip_read(pelt_context *context, const pelt_clip *clip, uint32_t frame, uint32_t first, uint32_t count,
                           float *out) {
    if (frame >= clip->frame_count)
        return px_fail(context, PELT_ERROR_USAGE, "clip '%s': there is no frame %u, it has %u", clip->name, frame,
                       clip->frame_count);
    if (first > clip->point_count || count > clip->point_count - first)
        return px_fail(context, PELT_ERROR_USAGE, "clip '%s': points %u to %llu are out of range, it has %u",
                       clip->name, first, (unsigned long long)first + count, clip->point_count);
    if (count == 0)
        return PELT_OK;
    if (!clip->positions)
        return clip->source.read(context, clip->source.user, frame, first, count, out);
    memcpy(out, clip->positions + ((size_t)frame * clip->point_count + first) * 3, (size_t)count * 3 * sizeof *out);
    return PELT_OK;
}

/* ---- Welding: keys ---------------------------------------------------------------------------------------- */

/* Weld tolerances: converters round the vertices of a seam differently, to six decimals in text files. The smaller of
 * the two applies, since a stray vertex far away enlarges the box. */
#define SIZE_TOLERANCE 4e-6 /* of the box's diagonal */
#define EDGE_TOLERANCE 1e-3 /* of the median edge */

/* A property that distinguishes vertices, with equality and hash functions. */
typedef struct keys {
    bool (*equal)(const struct keys *keys, uint32_t a, uint32_t b);
    /* Vertices that are equal to i have, as their hash number 0, one of its hashes 0 … hash_count − 1. */
    uint64_t (*hash)(const struct keys *keys, uint32_t i, uint32_t number);
    uint32_t hash_count;
    /* Positions: equal within `tolerance` along each axis. Hashes are those of cells twice as large: its own, then
     * those that its corners of the tolerance lie in. */
    const float *positions; /* [point][3] */
    const uint32_t *points; /* [vertex], or NULL: the vertex itself */
    double tolerance;
    /* Morphs: those that move vertex i are entries [offsets[i], offsets[i + 1]). */
    const pelt_morph *morphs;
    const size_t *offsets;   /* [vertex + 1] */
    const uint32_t *entries; /* index into morphs */
} keys;

/* The bits of a float with -0 as 0. */
static uint32_t plain_bits(float value) {
    uint32_t bits = px_float_bits(value);
    return bits == UINT32_C(0x80000000) ? 0 : bits;
}

static bool equal3(const float *a, const float *b) {
    return plain_bits(a[0]) == plain_bits(b[0]) && plain_bits(a[1]) == plain_bits(b[1]) &&
           plain_bits(a[2]) == plain_bits(b[2]);
}

/* The finisher of SplitMix64: every bit of the input reaches every bit of the output. */
static uint64_t mix(uint64_t h) {
    h = (h ^ h >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    h = (h ^ h >> 27) * UINT64_C(0x94D049BB133111EB);
    return h ^ h >> 31;
}

static uint64_t hash3(uint64_t seed, const float *p) {
    uint64_t h = mix(seed ^ ((uint64_t)plain_bits(p[0]) << 32 | plain_bits(p[1])));
    return mix(h + UINT64_C(0x9E3779B97F4A7C15) + plain_bits(p[2]));
}

static const float *position_of(const keys *k, uint32_t i) {
    return k->positions + 3 * (size_t)(k->points ? k->points[i] : i);
}

static bool positions_equal(const keys *k, uint32_t a, uint32_t b) {
    const float *p = position_of(k, a), *q = position_of(k, b);
    if (equal3(p, q))
        return true;
    for (int c = 0; c < 3; c++)
        if (!(fabs((double)p[c] - (double)q[c]) <= k->tolerance))
            return false;
    return true;
}

static uint64_t positions_hash(const keys *k, uint32_t i, uint32_t number) {
    const float *p = position_of(k, i);
    if (k->tolerance == 0 || !isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]))
        return hash3(0, p);
    uint64_t h = 0;
    for (int c = 0; c < 3; c++) {
        double corner = number == 0 ? 0 : (number - 1) >> c & 1 ? k->tolerance : -k->tolerance;
        h = mix(h + px_double_bits(floor(((double)p[c] + corner) / (2 * k->tolerance)) + 0.0));
    }
    return h;
}

static const float *displacement(const pelt_morph *morph, uint32_t i) {
    return morph->positions + 3 * (size_t)(i - morph->first_vertex);
}

/* Parts have morphs of their own, but those with equal joint and index move together. */
static bool morphs_equal(const keys *k, uint32_t a, uint32_t b) {
    size_t count = k->offsets[a + 1] - k->offsets[a];
    if (count != k->offsets[b + 1] - k->offsets[b])
        return false;
    for (size_t e = 0; e < count; e++) {
        const pelt_morph *ma = &k->morphs[k->entries[k->offsets[a] + e]];
        const pelt_morph *mb = &k->morphs[k->entries[k->offsets[b] + e]];
        if (ma->joint != mb->joint || ma->index != mb->index || !equal3(displacement(ma, a), displacement(mb, b)))
            return false;
    }
    return true;
}

static uint64_t morphs_hash(const keys *k, uint32_t i, uint32_t number) {
    (void)number;
    uint64_t h = 0;
    for (size_t e = k->offsets[i]; e < k->offsets[i + 1]; e++) {
        const pelt_morph *morph = &k->morphs[k->entries[e]];
        h = hash3(mix(h ^ ((uint64_t)morph->joint << 32 | morph->index)), displacement(morph, i));
    }
    return h;
}

/* ---- Welding: classes ------------------------------------------------------------------------------------- */

#define FOLLOWER_BLOCK 16384u

typedef struct partition {
    pelt_context *context;
    uint32_t vertex_count;
    uint32_t follower_count;
    uint32_t *heads;     /* [vertex] first vertex of its class */
    uint32_t *followers; /* vertices that are not heads and may still leave their class, ascending */
    uint8_t *leaves;     /* [follower] scratch */
    const keys *keys;
} partition;

typedef struct slot {
    uint32_t vertex, old_head; /* vertex PELT_NONE: empty */
} slot;

static pelt_result compare_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const partition *p = user;
    for (size_t f = first; f < first + count; f++)
        p->leaves[f] = !p->keys->equal(p->keys, p->followers[f], p->heads[p->followers[f]]);
    return PELT_OK;
}

/* The slot of a new class that i belongs to, or the free one where the search with hash `number` ends. The table is at
 * most half full, so there is one. */
static slot *find_slot(const partition *p, slot *table, size_t table_size, uint32_t i, uint32_t number) {
    uint32_t old_head = p->heads[i];
    size_t s = (size_t)mix(p->keys->hash(p->keys, i, number) + old_head) & (table_size - 1);
    while (table[s].vertex != PELT_NONE &&
           (table[s].old_head != old_head || !p->keys->equal(p->keys, table[s].vertex, i)))
        s = (s + 1) & (table_size - 1);
    return &table[s];
}

/* Moves the followers that leave into new classes: each joins the first preceding vertex that is equal. */
static void regroup(partition *p, slot *table, size_t table_size) {
    memset(table, 0xFF, table_size * sizeof *table);
    for (uint32_t f = 0; f < p->follower_count; f++) {
        if (!p->leaves[f])
            continue;
        uint32_t i = p->followers[f], first = PELT_NONE;
        for (uint32_t number = 0; number < p->keys->hash_count; number++) {
            uint32_t found = find_slot(p, table, table_size, i, number)->vertex;
            first = found < first ? found : first;
        }
        if (first == PELT_NONE) {
            *find_slot(p, table, table_size, i, 0) = (slot){i, p->heads[i]};
            first = i;
        }
        p->heads[i] = first;
    }
}

/* Removes heads from the followers, and those that share a point with their head (`points` NULL: none), which no clip
 * can separate. */
static void keep_followers(partition *p, const uint32_t *points) {
    uint32_t kept = 0;
    for (uint32_t f = 0; f < p->follower_count; f++) {
        uint32_t i = p->followers[f], head = p->heads[i];
        if (head != i && !(points && points[head] == points[i]))
            p->followers[kept++] = i;
    }
    p->follower_count = kept;
}

static pelt_result refine(partition *p, const keys *by) {
    p->keys = by;
    PX_TRY(px_parallel(p->context, NULL, p->follower_count, FOLLOWER_BLOCK, compare_block, p));
    size_t leaving = 0;
    for (uint32_t f = 0; f < p->follower_count; f++)
        leaving += p->leaves[f];
    if (leaving == 0)
        return PELT_OK;
    size_t table_size = 2;
    while (table_size < 2 * leaving)
        table_size *= 2;
    slot *table = PX_ALLOC(p->context, slot, table_size);
    if (!table)
        return PELT_ERROR_MEMORY;
    regroup(p, table, table_size);
    px_free(p->context, table);
    keep_followers(p, NULL);
    return PELT_OK;
}

/* ---- Welding: tolerance ------------------------------------------------------------------------------------ */

/* The power of two at or below the median length of the triangles' edges; 0: there are none. */
static double median_edge(const pelt_mesh *mesh) {
    enum { LEAST = -160, BINS = 300 }; /* exponents of lengths between floats: from the least distance to the largest */
    size_t counts[BINS] = {0}, total = 0;
    for (size_t e = 0; e < 3 * (size_t)mesh->triangle_count; e++) {
        const uint32_t *corners = mesh->triangles + e / 3 * 3;
        const float *a = mesh->positions + 3 * (size_t)corners[e % 3],
                    *b = mesh->positions + 3 * (size_t)corners[(e + 1) % 3];
        double square = 0;
        for (int c = 0; c < 3; c++)
            square += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
        if (!(square > 0) || !isfinite(square))
            continue;
        counts[ilogb(sqrt(square)) - LEAST]++;
        total++;
    }
    size_t below = 0;
    for (int bin = 0; bin < BINS && total > 0; bin++)
        if (2 * (below += counts[bin]) >= total)
            return ldexp(1, bin + LEAST);
    return 0;
}

static double weld_tolerance(const pelt_mesh *mesh) {
    float low[3], high[3];
    double size = px_box(mesh->positions, mesh->vertex_count, low, high);
    return px_fmin(SIZE_TOLERANCE * size, EDGE_TOLERANCE * median_edge(mesh));
}

/* ---- Welding: the steps ----------------------------------------------------------------------------------- */

/* Lists the morphs that move each vertex, in two passes: `entries` NULL counts, the second call fills. */
static void list_morphs(const pelt_morph_set *morphs, uint32_t vertex_count, size_t *offsets, uint32_t *entries) {
    static const float zero[3] = {0, 0, 0};
    for (uint32_t m = 0; m < morphs->morph_count; m++) {
        const pelt_morph *morph = &morphs->morphs[m];
        for (uint32_t v = 0; v < morph->vertex_count; v++) {
            if (equal3(morph->positions + 3 * (size_t)v, zero))
                continue;
            size_t *place = &offsets[morph->first_vertex + v];
            if (entries)
                entries[*place] = m;
            ++*place;
        }
    }
    /* First pass: counts become offsets (prefix sum). Second pass: each is the end of its list, so shift by one. */
    size_t before = 0;
    for (uint32_t i = 0; i <= vertex_count; i++) {
        size_t own = offsets[i];
        offsets[i] = before;
        before = entries ? own : before + own;
    }
}

static pelt_result refine_by_morphs(partition *p, const pelt_morph_set *morphs) {
    if (morphs->morph_count == 0 || p->follower_count == 0)
        return PELT_OK;
    size_t *offsets = PX_ALLOC(p->context, size_t, (size_t)p->vertex_count + 1);
    if (!offsets)
        return PELT_ERROR_MEMORY;
    list_morphs(morphs, p->vertex_count, offsets, NULL);
    uint32_t *entries = PX_ALLOC(p->context, uint32_t, offsets[p->vertex_count]);
    pelt_result result = PELT_ERROR_MEMORY;
    if (entries) {
        list_morphs(morphs, p->vertex_count, offsets, entries);
        keys by = {.equal = morphs_equal,
                   .hash = morphs_hash,
                   .hash_count = 1,
                   .morphs = morphs->morphs,
                   .offsets = offsets,
                   .entries = entries};
        result = refine(p, &by);
    }
    px_free(p->context, entries);
    px_free(p->context, offsets);
    return result;
}

/* Position keys; the caller sets `positions`. */
static keys position_keys(const uint32_t *points, double tolerance) {
    return (keys){.equal = positions_equal,
                  .hash = positions_hash,
                  .hash_count = tolerance > 0 ? 9 : 1,
                  .points = points,
                  .tolerance = tolerance};
}

static pelt_result refine_by_clip(partition *p, const pelt_mesh *mesh, const pelt_clip *clip, double tolerance) {
    keys by = position_keys(mesh->points.of, tolerance);
    float *frame = NULL;
    if (!clip->positions && clip->frame_count && !(frame = PX_ALLOC(p->context, float, 3 * (size_t)clip->point_count)))
        return PELT_ERROR_MEMORY;
    pelt_result result = PELT_OK;
    for (uint32_t k = 0; k < clip->frame_count && result == PELT_OK; k++) {
        keep_followers(p, mesh->points.of);
        if (p->follower_count == 0)
            break;
        result = px_progress(p->context, "weld", k, clip->frame_count);
        if (result == PELT_OK && !clip->positions)
            result = pelt_clip_read(p->context, clip, k, 0, clip->point_count, frame);
        by.positions = frame ? frame : clip->positions + 3 * (size_t)k * clip->point_count;
        if (result == PELT_OK)
            result = refine(p, &by);
        px_clip_release(clip, clip->point_count);
    }
    px_free(p->context, frame);
    return result;
}

pelt_result px_weld(px_arena *arena, const pelt_mesh *mesh, const pelt_morph_set *morphs, const pelt_clip *clips,
                    uint32_t clip_count, pelt_vertex_classes *out) {
    pelt_context *context = px_arena_context(arena);
    partition p = {.context = context, .vertex_count = mesh->vertex_count};
    p.heads = PX_ALLOC(context, uint32_t, mesh->vertex_count);
    p.followers = PX_ALLOC(context, uint32_t, mesh->vertex_count);
    p.leaves = PX_ALLOC(context, uint8_t, mesh->vertex_count);
    pelt_result result = p.heads && p.followers && p.leaves ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t i = 1; result == PELT_OK && i < p.vertex_count; i++) /* all begin in vertex 0's class */
        p.followers[p.follower_count++] = i;
    keys rest = position_keys(NULL, weld_tolerance(mesh));
    rest.positions = mesh->positions;
    if (result == PELT_OK)
        result = refine(&p, &rest);
    if (result == PELT_OK)
        result = refine_by_morphs(&p, morphs);
    for (uint32_t c = 0; c < clip_count && result == PELT_OK; c++)
        result = refine_by_clip(&p, mesh, &clips[c], rest.tolerance);
    if (result == PELT_OK) {
        uint32_t *of = PX_NEW(arena, uint32_t, mesh->vertex_count), count = 0;
        for (uint32_t i = 0; of && i < mesh->vertex_count; i++)
            of[i] = p.heads[i] == i ? count++ : of[p.heads[i]];
        result = of ? px_classes_make(arena, mesh->vertex_count, count, of, out) : PELT_ERROR_MEMORY;
    }
    px_free(context, p.leaves);
    px_free(context, p.followers);
    px_free(context, p.heads);
    return result;
}

pelt_result pelt_model_weld(pelt_context *context, pelt_model *model) {
    (void)context;
    if (model->mesh.weld.of)
        return PELT_OK;
    return px_weld(model->memory, &model->mesh, &model->morphs, model->clips, model->clip_count, &model->mesh.weld);
}

/* ---- Normals ---------------------------------------------------------------------------------------------- */

void px_normals_sum(const uint32_t *triangles, uint32_t triangle_count, const uint32_t *position_of_corner,
                    const uint32_t *sum_of_corner, const float *positions, double *sums) {
    for (size_t t = 0; t < triangle_count; t++) {
        const uint32_t *corners = triangles + 3 * t;
        const float *p[3];
        for (int c = 0; c < 3; c++)
            p[c] = positions + 3 * (size_t)(position_of_corner ? position_of_corner[corners[c]] : corners[c]);
        double u[3], v[3];
        for (int c = 0; c < 3; c++) {
            u[c] = (double)p[1][c] - (double)p[0][c];
            v[c] = (double)p[2][c] - (double)p[0][c];
        }
        /* Twice the area long, so the sum weighs by area. Doubles hold products of any floats. */
        double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
        if (!isfinite(n[0]) || !isfinite(n[1]) || !isfinite(n[2]))
            continue;
        for (int c = 0; c < 3; c++) {
            double *sum = sums + 3 * (size_t)(sum_of_corner ? sum_of_corner[corners[c]] : corners[c]);
            sum[0] += n[0], sum[1] += n[1], sum[2] += n[2];
        }
    }
}

void px_normal_unit(const double sum[3], double out[3]) {
    double length = sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
    bool good = length > 0 && isfinite(length);
    for (int c = 0; c < 3; c++)
        out[c] = good ? sum[c] / length : c == 2;
}

pelt_result pelt_mesh_normals(pelt_context *context, const pelt_mesh *mesh, const float *positions, float *normals) {
    if (!mesh->weld.of)
        return px_fail(context, PELT_ERROR_USAGE, "normals need welded vertices; call pelt_model_weld first");
    double *sums = PX_ALLOC(context, double, 3 * (size_t)mesh->weld.count);
    if (!sums)
        return PELT_ERROR_MEMORY;
    px_normals_sum(mesh->triangles, mesh->triangle_count, NULL, mesh->weld.of, positions ? positions : mesh->positions,
                   sums);
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        double unit[3];
        px_normal_unit(sums + 3 * (size_t)mesh->weld.of[i], unit);
        for (int c = 0; c < 3; c++)
            normals[3 * (size_t)i + c] = (float)unit[c];
    }
    px_free(context, sums);
    return PELT_OK;
}

double px_box(const float *positions, size_t count, float low[3], float high[3]) {
    double square = 0;
    for (size_t c = 0; c < 3; c++) {
        low[c] = INFINITY, high[c] = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            float value = positions[3 * i + c];
            low[c] = isfinite(value) ? px_fminf(low[c], value) : low[c];
            high[c] = isfinite(value) ? px_fmaxf(high[c], value) : high[c];
        }
        if (!(low[c] <= high[c]))
            low[c] = high[c] = 0;
        square += ((double)high[c] - (double)low[c]) * ((double)high[c] - (double)low[c]);
    }
    return sqrt(square);
}

/* ---- Sides of triangles ------------------------------------------------------------------------------------- */

static int compare_sides(const void *a, const void *b) {
    const px_side *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return (x->corner > y->corner) - (x->corner < y->corner);
}

void px_sides_sort(px_side *sides, size_t count) {
    px_sort(sides, count, sizeof *sides, compare_sides);
}
