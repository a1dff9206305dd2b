/* Rest positions and weights of LANES vertices at a time, each on its current bones, improved together. Included by
 * vertex_kernel.h.
 *
 * Small systems of one vertex leave most of a vector register empty, so equal elements of LANES vertices share a vector.
 * Only H, which differs between vertices, is read by vertex: sums over its blocks are formed in the order of memory and
 * transposed.
 */
#include "core/inline.h"
#include "decompose/passes.h"
#include "numeric/simplex.h"

#include <math.h>

#define BATCH LANES /* vertices at a time; compilers take wider vectors than the machine's apart, element by element */
#define MOST  PELT_MAX_INFLUENCES

typedef double batch __attribute__((vector_size(8 * BATCH)));
typedef int64_t batch_mask __attribute__((vector_size(8 * BATCH)));

#define SELECT(mask, yes, no) ((batch)(((batch_mask)(yes) & (mask)) | ((batch_mask)(no) & ~(mask))))
#define SPLAT(x)              ((x) - (batch){0})

/* Vertices that use the same number of bones. The last ones may repeat a vertex. */
typedef struct joint_batch {
    size_t places[BATCH];                /* [vertex] its index − the first of the block */
    const uint16_t *bones[BATCH];        /* [vertex][bone of the vertex] */
    double ws[BATCH][MOST];              /* [vertex][bone of the vertex] weights */
    double rows[BATCH][4 * MOST * MOST]; /* [vertex] to transpose */
    batch w[MOST], y[MOST][4], v[3], home[3], pull;
    batch m[10], c[4];            /* M = Σ w_j w_l H_jl, its upper triangle by rows; Σ w_l Y_l */
    batch h[MOST][MOST][4];       /* [l][j] H_jl (v, 1) */
    batch g[MOST][MOST], b[MOST]; /* G and b with the rest position eliminated */
    batch value, penalty;         /* squared residual − ‖a‖², and the penalty on the rest position */
} joint_batch;

/* out[r][c] := row c [4], element r, of four rows `pitch` apart. */
INLINE void transpose4(const double *rows, size_t pitch, px_quad out[4]) {
    px_quad r0 = *(const px_quad *)rows, r1 = *(const px_quad *)(rows + pitch);
    px_quad r2 = *(const px_quad *)(rows + 2 * pitch), r3 = *(const px_quad *)(rows + 3 * pitch);
    px_quad even01 = __builtin_shufflevector(r0, r1, 0, 4, 2, 6), odd01 = __builtin_shufflevector(r0, r1, 1, 5, 3, 7);
    px_quad even23 = __builtin_shufflevector(r2, r3, 0, 4, 2, 6), odd23 = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
    out[0] = __builtin_shufflevector(even01, even23, 0, 1, 4, 5);
    out[1] = __builtin_shufflevector(odd01, odd23, 0, 1, 4, 5);
    out[2] = __builtin_shufflevector(even01, even23, 2, 3, 6, 7);
    out[3] = __builtin_shufflevector(odd01, odd23, 2, 3, 6, 7);
}

/* out[e] := element e of the BATCH rows. `count` is rounded up to a multiple of 4. */
INLINE void transpose(const double *rows, size_t pitch, size_t count, batch *out) {
    for (size_t e = 0; e < count; e += 4)
        for (size_t half = 0; half < BATCH; half += 4) {
            px_quad columns[4];
            transpose4(rows + half * pitch + e, pitch, columns);
            for (size_t c = 0; c < 4; c++)
                PX_QUAD((double *)(out + e + c) + half) = columns[c];
        }
}

/* Sets m and c for the weights ws. */
INLINE void blend(const px_fit *fit, joint_batch *t, size_t k) {
    for (size_t n = 0; n < BATCH; n++) {
        const uint16_t *bones = t->bones[n];
        const double *w = t->ws[n];
        px_lanes sums[16 / LANES];
        for (size_t part = 0; part < 16 / LANES; part++)
            sums[part] = (px_lanes){0};
        for (size_t j = 0; j < k; j++)
            for (size_t l = j; l < k; l++) {
                const double *h = fit->blocks + 16 * (bones[j] * (size_t)fit->bone_count + bones[l]);
                double factor = (j == l ? 1 : 2) * w[j] * w[l];
                for (size_t part = 0; part < 16 / LANES; part++)
                    sums[part] += factor * *(const px_lanes *)(h + part * LANES);
            }
        memcpy(t->rows[n], sums, sizeof sums);
    }
    batch sums[16];
    transpose(t->rows[0], sizeof t->rows[0] / sizeof(double), 16, sums);
    for (size_t r = 0, e = 0; r < 4; r++) /* H_lj is H_jl transposed: M is the symmetric part */
        for (size_t s = r; s < 4; s++, e++)
            t->m[e] = 0.5 * (sums[4 * r + s] + sums[4 * s + r]);
    transpose(t->ws[0], MOST, k, t->w);
    for (size_t r = 0; r < 4; r++) {
        t->c[r] = t->w[0] * t->y[0][r];
        for (size_t l = 1; l < k; l++)
            t->c[r] += t->w[l] * t->y[l][r];
    }
}

/* Adjugate of the 3×3 matrix M with `damping` on its diagonal; returns its determinant in *det. */
INLINE void adjugate(const joint_batch *t, const batch *damping, batch a[6], batch *det) {
    batch m00 = t->m[0] + *damping, m01 = t->m[1], m02 = t->m[2], m11 = t->m[4] + *damping, m12 = t->m[5];
    batch m22 = t->m[7] + *damping;
    a[0] = m11 * m22 - m12 * m12, a[1] = m02 * m12 - m01 * m22, a[2] = m01 * m12 - m02 * m11;
    a[3] = m00 * m22 - m02 * m02, a[4] = m01 * m02 - m00 * m12, a[5] = m00 * m11 - m01 * m01;
    *det = m00 * a[0] + m01 * a[1] + m02 * a[2];
}

/* x := a r for a symmetric 3×3 matrix. */
INLINE void symmetric_product(const batch a[6], const batch r[3], batch x[3]) {
    x[0] = a[0] * r[0] + a[1] * r[1] + a[2] * r[2];
    x[1] = a[1] * r[0] + a[3] * r[1] + a[4] * r[2];
    x[2] = a[2] * r[0] + a[4] * r[1] + a[5] * r[2];
}

/* Moves v to the best rest position for the blend, with damping towards the current one: directions that the animation
 * hardly determines do not move. */
INLINE void move_rest(joint_batch *t) {
    batch a[6], det, r[3], x[3], trace = t->m[0] + t->m[4] + t->m[7] + 3.0 * t->pull;
    batch held = 1e-6 * trace,
          damping = held + t->pull; /* 1e-6: squared precision of trajectories in single precision */
    static const size_t last[3] = {3, 6, 8};
    for (size_t c = 0; c < 3; c++)
        r[c] = t->c[c] - t->m[last[c]] + t->pull * t->home[c] + held * t->v[c];
    adjugate(t, &damping, a, &det);
    symmetric_product(a, r, x);
    batch_mask good = (batch_mask)(det > 0);
    for (size_t c = 0; c < 3; c++) {
        x[c] /= det;
        good &= (batch_mask)(x[c] - x[c] == 0); /* finite */
    }
    for (size_t c = 0; c < 3; c++)
        t->v[c] = SELECT(good, x[c], t->v[c]);
}

/* Sets value and penalty at v for the blend. */
INLINE void evaluate(joint_batch *t) {
    const batch *m = t->m, *v = t->v, *c = t->c;
    batch r0 = m[0] * v[0] + 2.0 * (m[1] * v[1] + m[2] * v[2] + m[3] - c[0]);
    batch r1 = m[4] * v[1] + 2.0 * (m[5] * v[2] + m[6] - c[1]);
    batch r2 = m[7] * v[2] + 2.0 * (m[8] - c[2]);
    t->value = v[0] * r0 + v[1] * r1 + v[2] * r2 + (m[9] - 2.0 * c[3]);
    t->penalty = (batch){0};
    for (size_t r = 0; r < 3; r++)
        t->penalty += t->pull * (v[r] - t->home[r]) * (v[r] - t->home[r]);
}

/* Sets h for the rest positions v. */
INLINE void transform(const px_fit *fit, joint_batch *t, size_t k) {
    for (size_t n = 0; n < BATCH; n++) {
        const uint16_t *bones = t->bones[n];
        double x = t->v[0][n], y = t->v[1][n], z = t->v[2][n], *out = t->rows[n];
        for (size_t l = 0; l < k; l++)
            for (size_t j = 0; j < k; j++, out += 4) { /* rows of H_lj are columns of H_jl */
                const double *h = fit->blocks + 16 * (bones[l] * (size_t)fit->bone_count + bones[j]);
                const px_quad *rows = (const px_quad *)h;
                PX_QUAD(out) = (x * rows[0] + z * rows[2]) + (y * rows[1] + rows[3]);
            }
    }
    for (size_t l = 0; l < k; l++)
        transpose(t->rows[0] + 4 * k * l, sizeof t->rows[0] / sizeof(double), 4 * k, t->h[l][0]);
}

/* Sets g and b for the best rest position near v. Where the rest position moves by δ, the residual is c − Σ w_l p_l − D δ
 * to first order, with p_l the trajectory of v on bone l and D the derivative of the blend. The best δ for given weights
 * is linear in them; eliminating it leaves weights on the simplex with G − Eᵀ M⁻¹ E, E_l = Dᵀ p_l, M = DᵀD. */
INLINE void eliminate_rest(joint_batch *t, size_t k, bool rest) {
    batch e[MOST][3], z[3], a[6], det, towards[3];
    batch damping = t->pull + 1e-6 * (t->m[0] + t->m[4] + t->m[7]); /* as in move_rest */
    adjugate(t, &damping, a, &det);
    batch scale = rest ? SELECT((batch_mask)(det > 0), 1.0 / det, (batch){0}) : (batch){0};
    for (size_t r = 0; r < 6; r++)
        a[r] *= scale;
    for (size_t r = 0; r < 3; r++)
        towards[r] = t->c[r] + t->pull * (t->home[r] - t->v[r]);
    for (size_t l = 0; l < k; l++) {
        for (size_t r = 0; r < 3; r++) {
            e[l][r] = t->w[0] * t->h[l][0][r];
            for (size_t j = 1; j < k; j++)
                e[l][r] += t->w[j] * t->h[l][j][r];
        }
        symmetric_product(a, e[l], z);
        t->b[l] = t->v[0] * t->y[l][0] + t->v[1] * t->y[l][1] + t->v[2] * t->y[l][2] + t->y[l][3];
        for (size_t r = 0; r < 3; r++)
            t->b[l] -= z[r] * towards[r];
        for (size_t j = 0; j <= l; j++) {
            const batch *h = t->h[l][j];
            batch sum = t->v[0] * h[0] + t->v[1] * h[1] + t->v[2] * h[2] + h[3];
            t->g[j][l] = t->g[l][j] = sum - (z[0] * e[j][0] + z[1] * e[j][1] + z[2] * e[j][2]);
        }
    }
}

/* The minimum of wᵀGw − 2bᵀw with Σw = 1, from the current weights. Returns a mask of the vertices where no weight became
 * negative: there it is the minimum on the simplex. The last weight is expressed through the others; LDLᵀ. */
INLINE void solve_inside(const joint_batch *t, size_t k, batch *w, batch_mask *inside) {
    batch gradient[MOST], m[MOST][MOST], x[MOST], inverse[MOST], trace = {0};
    size_t last = k - 1;
    *inside = (batch_mask)(trace == 0);
    for (size_t r = 0; r < k; r++) {
        gradient[r] = t->g[r][0] * t->w[0] - t->b[r];
        for (size_t c = 1; c < k; c++)
            gradient[r] += t->g[r][c] * t->w[c];
        *inside &= (batch_mask)(t->w[r] > 0);
    }
    for (size_t r = 0; r < last; r++) {
        for (size_t c = 0; c <= r; c++)
            m[r][c] = t->g[r][c] - t->g[r][last] - t->g[c][last] + t->g[last][last];
        x[r] = gradient[last] - gradient[r];
        trace += m[r][r];
    }
    batch floor = 1e-13 * trace; /* rounding error of the differences above */
    for (size_t p = 0; p < last; p++) {
        *inside &= (batch_mask)(m[p][p] > floor);
        inverse[p] = 1.0 / m[p][p];
        for (size_t r = last; r-- > p + 1;) {
            batch factor = m[r][p] * inverse[p];
            for (size_t c = p + 1; c <= r; c++)
                m[r][c] -= factor * m[c][p];
            x[r] -= factor * x[p];
            m[r][p] = factor;
        }
    }
    w[last] = t->w[last];
    for (size_t p = last; p-- > 0;) {
        x[p] *= inverse[p];
        for (size_t r = p + 1; r < last; r++)
            x[p] -= m[r][p] * x[r];
        w[p] = t->w[p] + x[p];
        w[last] -= x[p];
        *inside &= (batch_mask)(w[p] >= 0);
    }
    *inside &= (batch_mask)(w[last] >= 0);
}

/* Sets ws to the best weights for g and b. */
INLINE void solve_batch(joint_batch *t, size_t k) {
    batch w[MOST];
    batch_mask inside;
    solve_inside(t, k, w, &inside);
    for (size_t n = 0; n < BATCH; n++) {
        for (size_t a = 0; a < k && inside[n]; a++)
            t->ws[n][a] = w[a][n];
        if (inside[n])
            continue;
        double g[MOST][PX_SIMPLEX_MAX], b[MOST];
        for (size_t r = 0; r < k; r++) {
            b[r] = t->b[r][n];
            for (size_t c = 0; c < k; c++)
                g[r][c] = t->g[r][c][n];
        }
        px_simplex_least(k, g, b, t->ws[n]);
    }
}

/* Stores rest position and weights of a vertex; drops bones of weight 0. */
static void store_joint(px_fit *fit, size_t i, const batch v[3], size_t n, const double *ws, size_t k) {
    size_t K = fit->influence_count, kept = 0;
    uint16_t *bones = fit->now.bones + i * K;
    double *weights = fit->now.weights + i * K;
    for (size_t c = 0; c < 3; c++)
        fit->now.rest[3 * i + c] = v[c][n];
    for (size_t a = 0; a < k; a++)
        if (ws[a] > 0) {
            bones[kept] = bones[a];
            weights[kept++] = ws[a];
        }
    for (size_t a = kept; a < k; a++)
        bones[a] = 0, weights[a] = 0;
    fit->now.counts[i] = (uint8_t)kept;
}

INLINE void load_batch(const px_vertex_pass *p, size_t first, joint_batch *t, size_t k, double (*own)[4]) {
    const px_fit *fit = p->fit;
    size_t K = fit->influence_count;
    double rest[BATCH][4] = {{0}}, home[BATCH][4] = {{0}};
    batch columns[4];
    t->pull = SPLAT(fit->home && p->rest ? fit->rest_pull : 0);
    for (size_t n = 0; n < BATCH; n++) {
        size_t i = first + t->places[n];
        t->bones[n] = fit->now.bones + i * K;
        memcpy(t->ws[n], fit->now.weights + i * K, k * sizeof(double));
        memcpy(rest[n], fit->now.rest + 3 * i, 3 * sizeof(double));
        memcpy(home[n], fit->home ? fit->home + 3 * i : rest[n], 3 * sizeof(double));
        memcpy(t->rows[n], own + t->places[n] * K, 4 * k * sizeof(double));
    }
    transpose(t->rows[0], sizeof t->rows[0] / sizeof(double), 4 * k, t->y[0]);
    transpose(rest[0], 4, 4, columns);
    memcpy(t->v, columns, sizeof t->v);
    transpose(home[0], 4, 4, columns);
    memcpy(t->home, columns, sizeof t->home);
}

/* Improves the first `count` vertices of a batch, which use k bones each. Squared residual plus penalty on the rest
 * position never rise. Sets values[place]: squared residual − ‖a_i‖². */
INLINE void joint_steps(const px_vertex_pass *p, size_t first, joint_batch *t, size_t count, size_t k, double (*own)[4],
                        double *values) {
    px_fit *fit = p->fit;
    double ws[BATCH][MOST];
    bool weighs[BATCH], any = false;
    load_batch(p, first, t, k, own);
    for (size_t n = 0; n < BATCH; n++) {
        weighs[n] = !p->measure && k > 1 && !px_fit_locked(fit, first + t->places[n]);
        any |= weighs[n];
    }
    blend(fit, t, k);
    if (p->rest)
        move_rest(t);
    evaluate(t);
    batch v[3] = {t->v[0], t->v[1], t->v[2]}, value = t->value, sum = t->value + t->penalty;
    memcpy(ws, t->ws, sizeof ws);
    if (any) {
        transform(fit, t, k);
        eliminate_rest(t, k, p->rest);
        solve_batch(t, k);
        blend(fit, t, k);
        if (p->rest)
            move_rest(t);
        evaluate(t);
    }
    for (size_t n = 0; n < count; n++) {
        size_t i = first + t->places[n];
        bool better = weighs[n] && t->value[n] + t->penalty[n] < sum[n], finite = sum[n] < INFINITY;
        values[t->places[n]] = better ? t->value[n] : finite ? value[n] : 0;
        if (better)
            store_joint(fit, i, t->v, n, t->ws[n], k);
        else if (weighs[n] && finite)
            store_joint(fit, i, v, n, ws[n], k);
        else if (p->rest && finite)
            for (size_t c = 0; c < 3; c++)
                fit->now.rest[3 * i + c] = v[c][n];
    }
}

/* Improves rest positions (if the pass changes them) and weights of the vertices at `places` [count] of a block on their
 * bones; `own` [vertex of the block][K][4]: products of their bones. Sets values [vertex of the block]: squared residual −
 * ‖a_i‖². */
static void joint_block(const px_vertex_pass *p, size_t first, const uint32_t *places, size_t count, double (*own)[4],
                        double *values) {
    joint_batch t;
    for (size_t k = 1; k <= p->fit->influence_count; k++)
        for (size_t next = 0, filled = 0; next <= count; next++) {
            if (next < count && p->fit->now.counts[first + places[next]] == k)
                t.places[filled++] = places[next];
            if (filled == 0 || (filled < BATCH && next < count))
                continue;
            for (size_t n = filled; n < BATCH; n++)
                t.places[n] = t.places[filled - 1];
            switch (k) {
            case 1:
                joint_steps(p, first, &t, filled, 1, own, values);
                break;
            case 2:
                joint_steps(p, first, &t, filled, 2, own, values);
                break;
            case 3:
                joint_steps(p, first, &t, filled, 3, own, values);
                break;
            case 4:
                joint_steps(p, first, &t, filled, 4, own, values);
                break;
            default:
                joint_steps(p, first, &t, filled, k, own, values);
            }
            filled = 0;
        }
}
