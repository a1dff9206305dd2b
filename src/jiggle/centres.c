/* Centres of rotation of particles: the mean position of tissue with similar weights, as in B. H. Le, J. K. Hodgins,
 * "Real-time skeletal skinning with optimized centers of rotation" (2016), which integrates over the surface for
 * every vertex. Here every pair of joints that share particles has a curve: the mean position of the tissue that
 * both move, as a function of log(w_b / w_a). That parameter is linear along a limb where weights decay
 * exponentially (heat diffusion). The centre of a particle is the mean over its pairs, weighted by w_a · w_b.
 */
#include "jiggle/primary.h"

#include <math.h>
#include <stdlib.h>

#define CURVE_KNOTS        33u  /* per curve */
#define MAX_LOG_RATIO      8.0  /* range of a curve: weight ratios from e^−8 to e^8 */
#define MIN_WEIGHT_PRODUCT 1e-6 /* pairs of smaller products are ignored */

/* Mass of a particle outside the mesh, relative to a filled octant: not 0, so that curves without any filled octant are
 * defined. */
#define MIN_MASS 1e-3f

/* The curves of all pairs. */
typedef struct curves {
    uint32_t count;
    uint32_t *keys;                 /* [count] keys of pairs, ascending */
    double (*sums)[CURVE_KNOTS][4]; /* [count] Σ mass · position, Σ mass */
} curves;

/* Two influences of a particle. */
typedef struct pair {
    uint32_t key;  /* joint a << 16 | joint b, a < b */
    double mass;   /* w_a · w_b */
    uint32_t knot; /* index of the knot below */
    double above;  /* fraction of the way to the next knot, 0 to 1 */
} pair;

#define MAX_PAIRS (PX_WEIGHT_CAPACITY * (PX_WEIGHT_CAPACITY - 1) / 2)

static uint32_t pairs_of(const px_weight_table *weights, size_t particle, pair out[MAX_PAIRS]) {
    const uint16_t *joints = weights->bones + particle * weights->capacity;
    const float *row = weights->weights + particle * weights->capacity;
    uint32_t count = 0;
    for (uint32_t k = 1; k < weights->capacity; k++)
        for (uint32_t l = 0; l < k; l++) {
            double mass = (double)row[k] * (double)row[l];
            if (!(mass > MIN_WEIGHT_PRODUCT))
                continue;
            uint32_t a = joints[k] < joints[l] ? k : l, b = a == k ? l : k;
            double at = (px_ln((double)row[b] / (double)row[a]) / MAX_LOG_RATIO + 1) * ((CURVE_KNOTS - 1) / 2.0);
            at = px_fmin(px_fmax(at, 0), CURVE_KNOTS - 1.0);
            uint32_t knot = at < CURVE_KNOTS - 1 ? (uint32_t)at : CURVE_KNOTS - 2;
            out[count++] = (pair){(uint32_t)joints[a] << 16 | joints[b], mass, knot, at - knot};
        }
    return count;
}

static int compare_keys(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static pelt_result find_pairs(px_arena *arena, const px_weight_table *weights, curves *out) {
    pair pairs[MAX_PAIRS];
    size_t total = 0, count = 0;
    for (size_t p = 0; p < weights->row_count; p++)
        total += pairs_of(weights, p, pairs);
    out->keys = PX_NEW(arena, uint32_t, total);
    if (!out->keys)
        return PELT_ERROR_MEMORY;
    for (size_t p = 0; p < weights->row_count; p++)
        for (uint32_t e = 0, found = pairs_of(weights, p, pairs); e < found; e++)
            out->keys[count++] = pairs[e].key;
    px_sort(out->keys, total, sizeof *out->keys, compare_keys);
    for (size_t e = 0; e < total; e++)
        if (e == 0 || out->keys[e] != out->keys[e - 1])
            out->keys[out->count++] = out->keys[e];
    out->sums = px_arena_alloc(arena, out->count, sizeof *out->sums);
    return out->sums ? PELT_OK : PELT_ERROR_MEMORY;
}

static double (*curve_of(const curves *all, uint32_t key))[4] {
    const uint32_t *found = bsearch(&key, all->keys, all->count, sizeof key, compare_keys);
    return all->sums[found - all->keys];
}

static void add_particle(const curves *all, const pair *pairs, uint32_t count, const float *place, double heavy) {
    for (uint32_t e = 0; e < count; e++) {
        double(*curve)[4] = curve_of(all, pairs[e].key);
        for (uint32_t side = 0; side < 2; side++) {
            double mass = heavy * pairs[e].mass * (side ? pairs[e].above : 1 - pairs[e].above);
            for (int c = 0; c < 3; c++)
                curve[pairs[e].knot + side][c] += mass * (double)place[c];
            curve[pairs[e].knot + side][3] += mass;
        }
    }
}

/* Both knots have mass > 0: the particle itself contributes to them. */
static void find_centre(const curves *all, const pair *pairs, uint32_t count, float *out) {
    double sum[4] = {0};
    for (uint32_t e = 0; e < count; e++) {
        double(*curve)[4] = curve_of(all, pairs[e].key), place[4];
        const double *low = curve[pairs[e].knot], *high = curve[pairs[e].knot + 1];
        for (int c = 0; c < 4; c++)
            place[c] = low[c] + pairs[e].above * (high[c] - low[c]);
        for (int c = 0; c < 3; c++)
            sum[c] += pairs[e].mass * place[c] / place[3];
        sum[3] += pairs[e].mass;
    }
    for (int c = 0; c < 3 && count > 0; c++)
        out[c] = (float)(sum[c] / sum[3]);
}

static pelt_result find_centres(px_arena *arena, const px_lattice *lattice, const px_weight_table *weights,
                                float *centres) {
    curves all = {0};
    pair pairs[MAX_PAIRS];
    float *masses = PX_NEW(arena, float, lattice->particle_count);
    if (!masses)
        return PELT_ERROR_MEMORY;
    PX_TRY(find_pairs(arena, weights, &all));
    for (size_t p = 0; p < lattice->particle_count; p++)
        masses[p] = MIN_MASS;
    for (size_t i = 0; i < lattice->cell_count; i++)
        for (int c = 0; c < 8; c++)
            masses[lattice->cells[i][c]] += lattice->fills[i][c];
    for (size_t p = 0; p < lattice->particle_count; p++)
        add_particle(&all, pairs, pairs_of(weights, p, pairs), lattice->rest + 3 * p, (double)masses[p]);
    for (size_t p = 0; p < lattice->particle_count; p++) {
        memcpy(centres + 4 * p, lattice->rest + 3 * p, 3 * sizeof *centres);
        find_centre(&all, pairs, pairs_of(weights, p, pairs), centres + 4 * p);
    }
    return PELT_OK;
}

pelt_result px_primary_centres(pelt_context *context, const px_lattice *lattice, const px_weight_table *weights,
                               float *centres) {
    px_arena *scratch = px_arena_create(context);
    pelt_result result = scratch ? find_centres(scratch, lattice, weights, centres) : PELT_ERROR_MEMORY;
    px_arena_destroy(scratch);
    return result;
}
