/* Sparse least squares on the simplex; see sparse.h. */
#include "numeric/sparse.h"
#include "core/core.h"
#include "core/skin.h"

#include <math.h>

/* Weights tried for removal. */
#define REMOVALS 3u
/* Exchanges lower the error by this fraction at least. */
#define MIN_GAIN 1e-4

bool px_simplex_has(const px_simplex_problem *p, uint32_t id) {
    for (size_t n = 0; n < p->count; n++)
        if (p->ids[n] == id)
            return true;
    return false;
}

/* Moves the last one to place n. */
static void remove_at(px_simplex_problem *p, size_t n) {
    size_t last = --p->count;
    p->ids[n] = p->ids[last];
    p->linear[n] = p->linear[last];
    p->weights[n] = p->weights[last];
    for (size_t e = 0; e <= last; e++)
        p->gram[n][e] = p->gram[last][e];
    for (size_t e = 0; e <= last; e++)
        p->gram[e][n] = p->gram[e][last];
}

void px_simplex_normalise(px_simplex_problem *p) {
    double sum = 0;
    for (size_t n = 0; n < p->count; n++)
        sum += p->weights[n];
    for (size_t n = 0; n < p->count; n++)
        p->weights[n] = sum > 0 ? p->weights[n] / sum : 1 / (double)p->count;
}

static double solve(px_simplex_problem *p) {
    return px_simplex_least(p->count, p->gram, p->linear, p->weights);
}

/* Places of the smallest weights, ascending; returns their number. */
static size_t smallest(const px_simplex_problem *p, size_t places[REMOVALS]) {
    size_t count = 0;
    for (size_t n = 0; n < p->count; n++) {
        size_t at = count;
        for (; at > 0 && p->weights[n] < p->weights[places[at - 1]]; at--)
            if (at < REMOVALS)
                places[at] = places[at - 1];
        if (at < REMOVALS)
            places[at] = n;
        count += count < REMOVALS;
    }
    return count;
}

static void reduce(px_simplex_problem *p, size_t most) {
    while (p->count > most) {
        size_t places[REMOVALS] = {0}, tried = smallest(p, places);
        if (p->weights[places[0]] <= 0) {
            remove_at(p, places[0]);
            continue;
        }
        px_simplex_problem best = *p;
        double least = INFINITY;
        for (size_t t = 0; t < tried; t++) {
            px_simplex_problem without = *p;
            remove_at(&without, places[t]);
            px_simplex_normalise(&without);
            double error = solve(&without);
            if (error < least || t == 0) {
                least = error;
                best = without;
            }
        }
        *p = best;
    }
}

void px_simplex_sparse(px_simplex_problem *p, size_t most, double least) {
    solve(p);
    for (size_t n = p->count; n-- > 0 && p->count > 1;)
        if (p->weights[n] < least)
            remove_at(p, n);
    px_simplex_normalise(p);
    reduce(p, most);
}

static size_t place_of(const px_simplex_problem *p, uint32_t id) {
    size_t n = 0;
    while (p->ids[n] != id)
        n++;
    return n;
}

/* Replaces the id at place n by the one at place `other` of `all`, which takes its weight. */
static void replace_at(const px_simplex_problem *all, px_simplex_problem *p, size_t n, size_t other) {
    p->ids[n] = all->ids[other];
    p->linear[n] = all->linear[other];
    for (size_t e = 0; e < p->count; e++) {
        size_t with = place_of(all, p->ids[e]);
        p->gram[n][e] = all->gram[other][with];
        p->gram[e][n] = all->gram[with][other];
    }
}

void px_simplex_exchange(const px_simplex_problem *all, px_simplex_problem *p) {
    double least = solve(p);
    for (size_t n = 0, idle = 0; idle < p->count; n = (n + 1) % p->count, idle++) {
        px_simplex_problem best = *p;
        for (size_t other = 0; other < all->count; other++) {
            px_simplex_problem next = *p;
            if (px_simplex_has(p, all->ids[other]))
                continue;
            replace_at(all, &next, n, other);
            double error = solve(&next);
            if (error < least - MIN_GAIN * fabs(least)) {
                least = error;
                best = next;
                idle = 0;
            }
        }
        *p = best;
    }
}

void px_simplex_store(const px_simplex_problem *p, size_t room, uint16_t *ids, float *weights) {
    float sorted[PX_SIMPLEX_MAX] = {0};
    memset(ids, 0, room * sizeof *ids);
    memset(weights, 0, room * sizeof *weights);
    for (size_t n = 0; n < p->count; n++) {
        size_t at = n;
        for (; at > 0 && sorted[at - 1] < (float)p->weights[n]; at--) {
            sorted[at] = sorted[at - 1];
            ids[at] = ids[at - 1];
        }
        sorted[at] = (float)p->weights[n];
        ids[at] = (uint16_t)p->ids[n];
    }
    px_skin_round_weights(sorted, (uint32_t)p->count, PELT_WEIGHTS_F32, weights);
}
