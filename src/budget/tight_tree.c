/* Hierarchy of fitted bones: neighbouring bones move alike, and keys relative to a bone that moves alike differ less from frame to
 * frame, so they encode to fewer bytes. Parents come from Prim's algorithm: starting from a root at rest, the bone is
 * added whose keys are the cheapest, relative to the root or to a bone that was added before.
 */
#include "budget/tight.h"

#include "core/math3.h"
#include "decompose/keys.h"

#include <math.h>

/* Least determinant of a parent, relative to that of a uniform scale of the same norm: keys are divided by it. */
#define FLAT     0.03
#define MIN_GAIN 0.97 /* a parent other than the root must make keys cheaper by this factor … */
#define CHILD_BITS                                                                                                     \
    12 /* … and by this, for its list of children: more keep bones of longer clips apart, too, which costs more */

typedef struct joining {
    const px_tight *r;
    double step;     /* of places */
    double *arms;    /* [bone] root mean square distance of its points from its pivot */
    double *inverse; /* [bone][frame][9] of the linear part */
    bool *parents;   /* [bone] it is far from flat in all frames */
    double *costs;   /* [bone P + 1][bone P] bits of keys relative to a bone; last row: to the root */
} joining;

static const double *pose_at(const px_tight *r, size_t k, size_t j) {
    return r->poses + 12 * (k * r->bone_count + j);
}

static pelt_result invert_bones(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const joining *s = user;
    size_t F = s->r->frame_count;
    for (size_t j = first; j < first + count; j++) {
        s->parents[j] = true;
        for (size_t k = 0; k < F; k++) {
            const double *m = pose_at(s->r, k, j);
            double *out = s->inverse + 9 * (j * F + k), norm = 0;
            for (size_t e = 0; e < 9; e++)
                norm += m[e] * m[e];
            for (size_t x = 0; x < 3; x++)
                for (size_t y = 0; y < 3; y++) { /* transposed cofactors */
                    size_t a = 3 * ((x + 1) % 3), b = 3 * ((x + 2) % 3), c = (y + 1) % 3, d = (y + 2) % 3;
                    out[3 * y + x] = m[a + c] * m[b + d] - m[a + d] * m[b + c];
                }
            double determinant = m[0] * out[0] + m[1] * out[3] + m[2] * out[6];
            s->parents[j] &= determinant > FLAT * sqrt(norm * norm * norm / 27);
            for (size_t e = 0; e < 9; e++)
                out[e] = s->parents[j] ? out[e] / determinant : 0;
        }
    }
    return PELT_OK;
}

/* Numbers that keys of bone j relative to bone q (bone_count: the root) are about as large as, in steps. */
static size_t key_numbers(const joining *s, size_t k, size_t j, size_t q, double out[12]) {
    const px_tight *r = s->r;
    const double *m = pose_at(r, k, j), *inverse = s->inverse + 9 * (q * r->frame_count + k);
    double linear[9], place[3];
    if (q == r->bone_count) {
        memcpy(linear, m, sizeof linear);
        memcpy(place, m + 9, sizeof place);
    } else {
        const double *at = pose_at(r, k, q);
        for (size_t x = 0; x < 3; x++) {
            const double *row = inverse + 3 * x;
            place[x] = row[0] * (m[9] - at[9]) + row[1] * (m[10] - at[10]) + row[2] * (m[11] - at[11]);
            for (size_t c = 0; c < 3; c++)
                linear[3 * x + c] = row[0] * m[c] + row[1] * m[3 + c] + row[2] * m[6 + c];
        }
    }
    for (size_t x = 0; x < 3; x++)
        out[x] = place[x] / s->step;
    if (r->affine) {
        for (size_t e = 0; e < 9; e++)
            out[3 + e] = linear[e] * s->arms[j] / s->step;
        return 12;
    }
    float turn[4];
    px_quat_from_matrix(linear, turn);
    for (size_t x = 0; x < 4; x++)
        out[3 + x] = 2 * fabs((double)turn[x]) * s->arms[j] / s->step; /* the sign is free */
    return 7;
}

static double count_bits(const joining *s, size_t j, size_t q) {
    double last[12], now[12], bits = 0;
    size_t width = key_numbers(s, 0, j, q, last);
    for (size_t k = 1; k < s->r->frame_count; k++) {
        double product = 1;
        key_numbers(s, k, j, q, now);
        for (size_t e = 0; e < width; e++)
            product *= 1 + px_fmin(fabs(now[e] - last[e]), 1e12);
        memcpy(last, now, sizeof last);
        bits += px_log2(product);
    }
    return bits;
}

static pelt_result count_costs(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const joining *s = user;
    size_t P = s->r->bone_count;
    for (size_t j = first; j < first + count; j++)
        for (size_t q = 0; q <= P; q++)
            s->costs[q * P + j] = q != j && (q == P || s->parents[q])
                                      ? count_bits(s, j, q) * (q == P ? MIN_GAIN : 1) + (q == P ? 0 : CHILD_BITS)
                                      : INFINITY;
    return PELT_OK;
}

void px_tight_arms(const px_tight *r, double *arms) {
    for (size_t j = 0; j < r->bone_count; j++) {
        double mass = 0, sum = 0;
        for (size_t e = 0; e < PX_TIGHT_INFLUENCES * (size_t)r->point_count; e++)
            if (r->bones[e] == j) {
                double w = (double)r->weights[e];
                mass += w;
                for (size_t x = 0; x < 3; x++) {
                    double arm = (double)r->rest[3 * (e / PX_TIGHT_INFLUENCES) + x] - r->pivots[3 * j + x];
                    sum += w * arm * arm;
                }
            }
        arms[j] = mass > 0 ? sqrt(sum / mass) : 0;
    }
}

static pelt_result grow_tree(const joining *s, px_tight *r) {
    size_t P = r->bone_count;
    double *least = PX_ALLOC(r->context, double, P);
    bool *added = PX_ALLOC(r->context, bool, P);
    pelt_result result = least && added ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t j = 0; j < P && result == PELT_OK; j++) {
        least[j] = s->costs[P * P + j];
        r->parents[j] = PELT_NONE;
    }
    for (uint32_t n = 0; n < P && result == PELT_OK; n++) {
        uint32_t next = PELT_NONE;
        for (uint32_t j = 0; j < P; j++)
            if (!added[j] && (next == PELT_NONE || least[j] < least[next]))
                next = j;
        added[next] = true;
        r->sequence[n] = next;
        for (size_t j = 0; j < P; j++)
            if (!added[j] && s->costs[next * P + j] < least[j]) {
                least[j] = s->costs[next * P + j];
                r->parents[j] = next;
            }
    }
    px_free(r->context, least);
    px_free(r->context, added);
    return result;
}

pelt_result px_tight_join(px_tight *r, double step) {
    size_t P = r->bone_count, F = r->frame_count;
    px_arena *scratch = px_arena_create(r->context);
    joining s = {.r = r, .step = step};
    r->parents = PX_NEW(r->arena, uint32_t, P);
    r->sequence = PX_NEW(r->arena, uint32_t, P);
    bool enough = scratch && r->parents && r->sequence && (s.arms = PX_NEW(scratch, double, P)) &&
                  (s.inverse = PX_NEW(scratch, double, 9 * (P + 1) * F)) && (s.parents = PX_NEW(scratch, bool, P)) &&
                  (s.costs = PX_NEW(scratch, double, (P + 1) * P));
    pelt_result result = enough ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        px_tight_arms(r, s.arms);
        result = px_parallel(r->context, NULL, P, 4, invert_bones, &s);
    }
    if (result == PELT_OK)
        result = px_parallel(r->context, NULL, P, 1, count_costs, &s);
    if (result == PELT_OK)
        result = grow_tree(&s, r);
    px_arena_destroy(scratch);
    return result;
}
