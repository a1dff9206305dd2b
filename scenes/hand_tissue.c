/* Elastic tissue of the hand in static equilibrium on posed bones, by projective dynamics.
 *
 * Bouaziz, Martin, Liu, Kavan, Pauly: Projective Dynamics (2014). The tissue is divided into cubes, hexahedral elements
 * with the deformation gradient F = Σ_a x_a g_aᵀ at their centre. Their energy, by the volume V of the cube inside the
 * tissue, is
 *
 *   V · (SHEAR · |F − R|² + BULK · |F − P|² + HOURGLASS · |corners − their affine fit|²/h²)
 *
 * with R the nearest rotation and P the nearest matrix of determinant 1: rotation-invariant, nearly incompressible.
 * Points of the bones (anchors) hold the element that contains them. Each iteration projects every element, then solves
 * one linear system, whose matrix is the same for all poses; Chebyshev acceleration as in Wang: A Chebyshev
 * Semi-Iterative Approach (2015). Cubes of neighbouring digits share corners only inside the tissue.
 */
#include "hand.h"

#include <string.h>

#define SHEAR           1.0
#define BULK            4.0
#define HOURGLASS       0.3
#define HOLD            30.0 /* stiffness of an anchor (a bone point), times the volume of a cube */
#define MAX_ITERATIONS  150
#define SPECTRAL_RADIUS 0.965 /* of the iteration, approximate: for its Chebyshev acceleration */
#define CORE            0.35  /* radius of a bone as a fraction of that of the tissue around it */
#define CAP             0.17  /* fraction of a bone that is free at each end, for its joint */

typedef struct element {
    uint32_t nodes[8];
    double volume;
} element;

/* A point of a bone in an element. */
typedef struct anchor {
    uint32_t cell, bone;
    double weights[8];
    vec rest;
} anchor;

/* A surface point in an element, by its coordinates there, 0 to 1. */
typedef struct embedding {
    uint32_t cell;
    float at[3];
} embedding;

struct hand_tissue {
    scene_joint joints[HAND_JOINTS];
    double cell;
    double tolerance; /* largest change of a node in the last iteration, in cells */
    vec origin;
    int32_t size[3]; /* cells along each axis */
    uint32_t node_count, element_count, anchor_count, point_count;
    element *elements;
    uint32_t *cell_elements; /* [cell] 1 + its element, or 0 */
    anchor *anchors;
    embedding *points;
    const float *rest_points;
    vec *rest, *nodes, *sums; /* [node] rest and current positions, right-hand sides */
    vec *previous;            /* [node] positions an iteration before */
    double (*gradients)[9];   /* [node] mean F of its elements */
    double *shares;           /* [node] sum of the volumes of its elements */
    uint16_t *node_bones;     /* [node][4] and weights: a start for the iteration */
    float *node_weights;
    size_t *starts; /* [node] where its row of the factor begins, minus its first column */
    uint32_t *firsts;
    double *factor; /* L of L·Lᵀ: rows from their first column to the diagonal */
};

/* ---- Matrices of three ------------------------------------------------------------------------------------ */

static vec column(const double *m, int c) {
    return (vec){m[c], m[3 + c], m[6 + c]};
}

/* One Jacobi rotation of the symmetric s between p and q, collected in v. */
static void jacobi(double *s, double *v, int p, int q) {
    double off = s[3 * p + q];
    if (off * off < 1e-30)
        return;
    double tau = (s[4 * q] - s[4 * p]) / (2 * off), root = sqrt(1 + tau * tau);
    double t = tau >= 0 ? 1 / (tau + root) : -1 / (root - tau), c = 1 / sqrt(1 + t * t), sine = t * c;
    for (int k = 0; k < 3; k++) {
        double a = s[3 * k + p], b = s[3 * k + q];
        s[3 * k + p] = c * a - sine * b, s[3 * k + q] = sine * a + c * b;
    }
    for (int k = 0; k < 3; k++) {
        double a = s[3 * p + k], b = s[3 * q + k];
        s[3 * p + k] = c * a - sine * b, s[3 * q + k] = sine * a + c * b;
        a = v[3 * k + p], b = v[3 * k + q];
        v[3 * k + p] = c * a - sine * b, v[3 * k + q] = sine * a + c * b;
    }
}

/* Nearest singular values with product 1: Newton steps on the constraint along its gradient. */
static void restore_volume(const double *sigma, double *out) {
    double d[3] = {0, 0, 0};
    for (int round = 0; round < 6; round++) {
        double s[3], g[3], gd = 0, gg = 0;
        for (int c = 0; c < 3; c++)
            s[c] = fmax(sigma[c] + d[c], 0.05);
        for (int c = 0; c < 3; c++) {
            g[c] = s[(c + 1) % 3] * s[(c + 2) % 3];
            gd += g[c] * d[c], gg += g[c] * g[c];
        }
        double step = (gd - (s[0] * s[1] * s[2] - 1)) / gg;
        for (int c = 0; c < 3; c++)
            d[c] = step * g[c];
    }
    for (int c = 0; c < 3; c++)
        out[c] = fmax(sigma[c] + d[c], 0.05);
}

/* SHEAR · R + BULK · P of a deformation gradient. */
static void project(const double *f, double *out) {
    double s[9], v[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, sigma[3], kept[3];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            s[3 * r + c] = f[r] * f[c] + f[3 + r] * f[3 + c] + f[6 + r] * f[6 + c];
    for (int sweep = 0; sweep < 4; sweep++) {
        jacobi(s, v, 0, 1);
        jacobi(s, v, 0, 2);
        jacobi(s, v, 1, 2);
    }
    int order[3] = {0, 1, 2};
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2 - a; b++)
            if (s[4 * order[b]] < s[4 * order[b + 1]]) {
                int swap = order[b];
                order[b] = order[b + 1], order[b + 1] = swap;
            }
    vec u[3], w[3];
    for (int k = 0; k < 2; k++) {
        w[k] = column(v, order[k]);
        u[k] = (vec){f[0] * w[k].x + f[1] * w[k].y + f[2] * w[k].z, f[3] * w[k].x + f[4] * w[k].y + f[5] * w[k].z,
                     f[6] * w[k].x + f[7] * w[k].y + f[8] * w[k].z};
        if (k == 1)
            u[1] = vec_mad(u[1], -vec_dot(u[0], u[1]), u[0]);
        sigma[k] = vec_length(u[k]);
        u[k] = sigma[k] > 1e-9 ? vec_scale(u[k], 1 / sigma[k])
               : k             ? vec_unit(vec_cross(u[0], (vec){0.6, 0, 0.8}))
                               : (vec){1, 0, 0};
    }
    w[2] = vec_cross(w[0], w[1]); /* both rotations: the last singular value has the sign of det F */
    u[2] = vec_cross(u[0], u[1]);
    sigma[2] = vec_dot(u[2], (vec){f[0] * w[2].x + f[1] * w[2].y + f[2] * w[2].z,
                                   f[3] * w[2].x + f[4] * w[2].y + f[5] * w[2].z,
                                   f[6] * w[2].x + f[7] * w[2].y + f[8] * w[2].z});
    restore_volume(sigma, kept);
    memset(out, 0, 9 * sizeof *out);
    for (int k = 0; k < 3; k++) {
        double scale = SHEAR + BULK * kept[k], a[3] = {u[k].x, u[k].y, u[k].z}, b[3] = {w[k].x, w[k].y, w[k].z};
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                out[3 * r + c] += scale * a[r] * b[c];
    }
}

/* ---- Elements --------------------------------------------------------------------------------------------- */

static double sign_of(int corner, int axis) {
    return corner >> axis & 1 ? 1 : -1;
}

static vec cell_center(const hand_tissue *t, const int32_t *at) {
    return (vec){t->origin.x + t->cell * (at[0] + 0.5), t->origin.y + t->cell * (at[1] + 0.5),
                 t->origin.z + t->cell * (at[2] + 0.5)};
}

static size_t cell_index(const hand_tissue *t, const int32_t *at) {
    return ((size_t)at[1] * (size_t)t->size[2] + (size_t)at[2]) * (size_t)t->size[0] + (size_t)at[0];
}

/* The cell of a position and the coordinates in it. */
static void locate(const hand_tissue *t, vec p, int32_t *cell, double *at) {
    double u[3] = {(p.x - t->origin.x) / t->cell, (p.y - t->origin.y) / t->cell, (p.z - t->origin.z) / t->cell};
    for (int c = 0; c < 3; c++) {
        cell[c] = (int32_t)scene_clamp(floor(u[c]), 0, t->size[c] - 1);
        at[c] = u[c] - cell[c];
    }
}

/* The fraction of a cell inside the tissue, by 3³ samples. */
static double fraction_inside(const hand_tissue *t, const scene_solid *solid, vec center) {
    if (fabs(scene_solid_distance(solid, center)) > 0.9 * t->cell)
        return scene_solid_distance(solid, center) < 0;
    int inside = 0;
    for (int s = 0; s < 27; s++) {
        vec offset = {s % 3 - 1, s / 3 % 3 - 1, s / 9 - 1};
        inside += scene_solid_distance(solid, vec_mad(center, t->cell / 3, offset)) < 0;
    }
    return inside / 27.0;
}

static void corner_of(const int32_t *cell, int corner, int32_t *node) {
    for (int c = 0; c < 3; c++)
        node[c] = cell[c] + (corner >> c & 1);
}

/* Marks the cells of the tissue and of the points in `fractions`; returns their number. */
static uint32_t mark_cells(hand_tissue *t, const scene_solid *solid, const float *points, float *fractions) {
    uint32_t count = 0;
    int32_t at[3];
    for (size_t i = 0; i < t->point_count; i++) {
        double inside[3];
        locate(t, vec_load(points + 3 * i), at, inside);
        fractions[cell_index(t, at)] = 0.05f; /* minimum: the corners of the cell need some stiffness */
    }
    for (at[1] = 0; at[1] < t->size[1]; at[1]++)
        for (at[2] = 0; at[2] < t->size[2]; at[2]++)
            for (at[0] = 0; at[0] < t->size[0]; at[0]++) {
                float *fraction = &fractions[cell_index(t, at)];
                double inside = fraction_inside(t, solid, cell_center(t, at));
                if (inside > 0.4 || (*fraction > 0 && inside > *fraction))
                    *fraction = (float)inside;
                count += *fraction > 0;
            }
    return count;
}

/* The slot of a corner of a cell: 0, shared by all regions, inside the tissue and at the palm. */
static uint32_t slot_of(const uint8_t *inside, const uint8_t *palm, size_t node, uint32_t region) {
    return inside[node] || palm[node] ? 0 : region;
}

static size_t node_index(const hand_tissue *t, const int32_t *at) {
    return ((size_t)at[1] * (size_t)(t->size[2] + 1) + (size_t)at[2]) * (size_t)(t->size[0] + 1) + (size_t)at[0];
}

/* Numbers the nodes along y, so that the rows of the matrix are short, and makes the elements. */
static pelt_result make_elements(pelt_context *context, pelt_model *memory, pelt_model *scratch, hand_tissue *t,
                                 const scene_solid *solid, const float *fractions) {
    size_t cell_count = (size_t)t->size[0] * (size_t)t->size[1] * (size_t)t->size[2];
    size_t grid = (size_t)(t->size[0] + 1) * (size_t)(t->size[1] + 1) * (size_t)(t->size[2] + 1);
    uint8_t *regions = SCENE_NEW(context, scratch, uint8_t, cell_count),
            *inside = SCENE_NEW(context, scratch, uint8_t, grid), *palm = SCENE_NEW(context, scratch, uint8_t, grid);
    uint32_t *ids = SCENE_NEW(context, scratch, uint32_t, grid * HAND_REGIONS);
    t->cell_elements = SCENE_NEW(context, memory, uint32_t, cell_count);
    t->elements = SCENE_NEW(context, memory, element, t->element_count);
    if (!regions || !inside || !palm || !ids || !t->cell_elements || !t->elements)
        return PELT_ERROR_MEMORY;
    int32_t at[3], node[3];
    for (int pass = 0; pass < 3; pass++) {
        uint32_t e = 0;
        for (at[1] = 0; at[1] < t->size[1]; at[1]++)
            for (at[2] = 0; at[2] < t->size[2]; at[2]++)
                for (at[0] = 0; at[0] < t->size[0]; at[0]++) {
                    size_t cell = cell_index(t, at);
                    if (!(fractions[cell] > 0))
                        continue;
                    if (pass == 0)
                        regions[cell] = (uint8_t)hand_region(t->joints, cell_center(t, at));
                    for (int c = 0; c < 8; c++) {
                        corner_of(at, c, node);
                        size_t n = node_index(t, node);
                        if (pass == 0) {
                            palm[n] |= regions[cell] == 0;
                            vec p = vec_mad(t->origin, t->cell, (vec){node[0], node[1], node[2]});
                            inside[n] = scene_solid_distance(solid, p) < 0;
                            continue;
                        }
                        uint32_t *id = &ids[n * HAND_REGIONS + slot_of(inside, palm, n, regions[cell])];
                        if (pass == 1)
                            *id = 1;
                        else
                            t->elements[e].nodes[c] = *id - 1;
                    }
                    if (pass == 2) {
                        t->elements[e].volume = fractions[cell] * t->cell * t->cell * t->cell;
                        t->cell_elements[cell] = ++e;
                    }
                }
        for (size_t n = 0; pass == 1 && n < grid * HAND_REGIONS; n++)
            if (ids[n])
                ids[n] = ++t->node_count;
    }
    t->rest = SCENE_NEW(context, memory, vec, t->node_count);
    if (!t->rest)
        return PELT_ERROR_MEMORY;
    for (node[1] = 0; node[1] <= t->size[1]; node[1]++)
        for (node[2] = 0; node[2] <= t->size[2]; node[2]++)
            for (node[0] = 0; node[0] <= t->size[0]; node[0]++)
                for (uint32_t slot = 0; slot < HAND_REGIONS; slot++) {
                    uint32_t id = ids[node_index(t, node) * HAND_REGIONS + slot];
                    if (id)
                        t->rest[id - 1] = vec_mad(t->origin, t->cell, (vec){node[0], node[1], node[2]});
                }
    return PELT_OK;
}

/* ---- Bones ------------------------------------------------------------------------------------------------ */

static void trilinear(const double *at, double *weights) {
    for (int c = 0; c < 8; c++) {
        weights[c] = 1;
        for (int axis = 0; axis < 3; axis++)
            weights[c] *= c >> axis & 1 ? at[axis] : 1 - at[axis];
    }
}

/* Points on the axis of a bone and around it, half a cell apart; NULL counts them. */
static uint32_t add_anchors(const hand_tissue *t, uint32_t bone, anchor *out) {
    const scene_joint *j = &t->joints[bone];
    vec along = vec_sub(j->tail, j->head), x = vec_unit(vec_cross(along, (vec){0.1, 0.2, 1})),
        y = vec_unit(vec_cross(along, x));
    bool tip = bone >= HAND_THUMB && (bone + 1 == HAND_JOINTS || t->joints[bone + 1].parent != bone);
    double low = bone == HAND_FOREARM ? 0 : CAP, high = tip ? 0.85 : 1 - CAP, core = CORE * j->radius;
    uint32_t steps = 1 + (uint32_t)(2 * (high - low) * vec_length(along) / t->cell), count = 0;
    for (uint32_t s = 0; s <= steps; s++)
        for (int side = 0; side < 5; side++) {
            vec p = vec_mad(j->head, low + (high - low) * s / steps, along);
            if (side)
                p = vec_mad(p, side % 2 ? core : -core, side > 2 ? x : y);
            int32_t cell[3];
            double at[3];
            locate(t, p, cell, at);
            uint32_t e = t->cell_elements[cell_index(t, cell)];
            if (!e)
                continue;
            if (out) {
                out[count] = (anchor){.cell = e - 1, .bone = bone, .rest = p};
                trilinear(at, out[count].weights);
            }
            count++;
        }
    return count;
}

/* ---- The linear system ------------------------------------------------------------------------------------ */

/* Energy matrix of a cube of unit volume, [corner][corner]. */
static void cube_matrix(double cell, double matrix[8][8]) {
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++) {
            double dot = 0;
            for (int c = 0; c < 3; c++)
                dot += sign_of(a, c) * sign_of(b, c);
            /* Deviation from the affine fit: identity minus mean minus Σ_c sign·sign / 8. */
            double rest = (a == b) - (1 + dot) / 8;
            matrix[a][b] = (SHEAR + BULK) * dot / (16 * cell * cell) + HOURGLASS * rest / (cell * cell);
        }
}

static pelt_result factorise(pelt_context *context, pelt_model *memory, hand_tissue *t) {
    uint32_t n = t->node_count;
    t->firsts = SCENE_NEW(context, memory, uint32_t, n);
    t->starts = SCENE_NEW(context, memory, size_t, (size_t)n + 1);
    if (!t->firsts || !t->starts)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < n; i++)
        t->firsts[i] = i;
    for (uint32_t e = 0; e < t->element_count; e++)
        for (int a = 0; a < 64; a++) {
            uint32_t row = t->elements[e].nodes[a / 8], col = t->elements[e].nodes[a % 8];
            if (col < t->firsts[row])
                t->firsts[row] = col;
        }
    for (uint32_t i = 0; i < n; i++)
        t->starts[i + 1] = t->starts[i] + (i - t->firsts[i] + 1);
    t->factor = SCENE_NEW(context, memory, double, t->starts[n]);
    if (!t->factor)
        return PELT_ERROR_MEMORY;
    double cube[8][8], volume = t->cell * t->cell * t->cell;
    cube_matrix(t->cell, cube);
#define AT(i, j) t->factor[t->starts[i] + ((j)-t->firsts[i])]
    for (uint32_t e = 0; e < t->element_count; e++)
        for (int a = 0; a < 64; a++) {
            const uint32_t *nodes = t->elements[e].nodes;
            if (nodes[a % 8] <= nodes[a / 8])
                AT(nodes[a / 8], nodes[a % 8]) += t->elements[e].volume * cube[a / 8][a % 8];
        }
    for (uint32_t k = 0; k < t->anchor_count; k++)
        for (int a = 0; a < 64; a++) {
            const uint32_t *nodes = t->elements[t->anchors[k].cell].nodes;
            const double *w = t->anchors[k].weights;
            if (nodes[a % 8] <= nodes[a / 8])
                AT(nodes[a / 8], nodes[a % 8]) += HOLD * volume / (t->cell * t->cell) * w[a / 8] * w[a % 8];
        }
    for (uint32_t i = 0; i < n; i++) /* Cholesky by rows within the envelope */
        for (uint32_t j = t->firsts[i]; j <= i; j++) {
            uint32_t from = t->firsts[i] > t->firsts[j] ? t->firsts[i] : t->firsts[j];
            double sum = AT(i, j);
            for (uint32_t k = from; k < j; k++)
                sum -= AT(i, k) * AT(j, k);
            AT(i, j) = i == j ? sqrt(fmax(sum, 1e-12)) : sum / AT(j, j);
        }
    return PELT_OK;
}

/* Solves L·Lᵀ x = sums; x replaces sums. */
static void solve(hand_tissue *t) {
    vec *x = t->sums;
    for (uint32_t i = 0; i < t->node_count; i++) {
        const double *row = t->factor + t->starts[i];
        uint32_t first = t->firsts[i];
        for (uint32_t k = first; k < i; k++)
            x[i] = vec_mad(x[i], -row[k - first], x[k]);
        x[i] = vec_scale(x[i], 1 / row[i - first]);
    }
    for (uint32_t i = t->node_count; i-- > 0;) {
        const double *row = t->factor + t->starts[i];
        uint32_t first = t->firsts[i];
        x[i] = vec_scale(x[i], 1 / row[i - first]);
        for (uint32_t k = first; k < i; k++)
            x[k] = vec_mad(x[k], -row[k - first], x[i]);
    }
}
#undef AT

/* ---- Solving ---------------------------------------------------------------------------------------------- */

static void gradient_of(const hand_tissue *t, const element *e, const vec *nodes, double *f) {
    memset(f, 0, 9 * sizeof *f);
    for (int a = 0; a < 8; a++) {
        vec p = nodes[e->nodes[a]];
        for (int c = 0; c < 3; c++) {
            double g = sign_of(a, c) / (4 * t->cell);
            f[c] += p.x * g, f[3 + c] += p.y * g, f[6 + c] += p.z * g;
        }
    }
}

/* One local and one global step; returns the largest change, squared. */
static double iterate(hand_tissue *t, const hand_frame *frames, double boost) {
    double hold = HOLD * t->cell, largest = 0;
    memset(t->sums, 0, t->node_count * sizeof *t->sums);
    for (uint32_t n = 0; n < t->element_count; n++) {
        const element *e = &t->elements[n];
        double f[9], p[9];
        gradient_of(t, e, t->nodes, f);
        project(f, p);
        for (int a = 0; a < 8; a++) {
            double g[3];
            for (int c = 0; c < 3; c++)
                g[c] = e->volume * sign_of(a, c) / (4 * t->cell);
            vec pull = {p[0] * g[0] + p[1] * g[1] + p[2] * g[2], p[3] * g[0] + p[4] * g[1] + p[5] * g[2],
                        p[6] * g[0] + p[7] * g[1] + p[8] * g[2]};
            t->sums[e->nodes[a]] = vec_add(t->sums[e->nodes[a]], pull);
        }
    }
    for (uint32_t k = 0; k < t->anchor_count; k++) {
        const anchor *a = &t->anchors[k];
        vec target = vec_add(quat_apply(frames[a->bone].turn, a->rest), frames[a->bone].shift);
        for (int c = 0; c < 8; c++) {
            vec *sum = &t->sums[t->elements[a->cell].nodes[c]];
            *sum = vec_mad(*sum, hold * a->weights[c], target);
        }
    }
    solve(t);
    for (uint32_t i = 0; i < t->node_count; i++) {
        vec change = vec_sub(t->sums[i], t->nodes[i]);
        vec next = vec_mad(vec_scale(t->sums[i], boost), 1 - boost, t->previous[i]);
        largest = fmax(largest, vec_dot(change, change));
        t->previous[i] = t->nodes[i];
        t->nodes[i] = next;
    }
    return largest;
}

/* Mean deformation gradients of the nodes. */
static void average_gradients(hand_tissue *t) {
    memset(t->gradients, 0, t->node_count * sizeof *t->gradients);
    for (uint32_t n = 0; n < t->element_count; n++) {
        const element *e = &t->elements[n];
        double f[9];
        gradient_of(t, e, t->nodes, f);
        for (int a = 0; a < 8; a++)
            for (int c = 0; c < 9; c++)
                t->gradients[e->nodes[a]][c] += e->volume / t->shares[e->nodes[a]] * f[c];
    }
}

/* Blends the affine maps of the corners, with smooth weights: the surface has no creases between cubes. */
static vec place(const hand_tissue *t, const embedding *p, vec rest) {
    const element *e = &t->elements[p->cell];
    double at[3], weights[8];
    for (int c = 0; c < 3; c++)
        at[c] = scene_smooth(p->at[c]);
    trilinear(at, weights);
    vec sum = {0, 0, 0};
    for (int c = 0; c < 8; c++) {
        const double *f = t->gradients[e->nodes[c]];
        vec d = vec_sub(rest, t->rest[e->nodes[c]]);
        vec moved = {f[0] * d.x + f[1] * d.y + f[2] * d.z, f[3] * d.x + f[4] * d.y + f[5] * d.z,
                     f[6] * d.x + f[7] * d.y + f[8] * d.z};
        sum = vec_mad(sum, weights[c], vec_add(t->nodes[e->nodes[c]], moved));
    }
    return sum;
}

void hand_tissue_solve(hand_tissue *t, const hand_bend *bends, float *positions) {
    hand_frame frames[HAND_JOINTS];
    hand_pose(t->joints, bends, frames);
    for (uint32_t i = 0; i < t->node_count; i++) { /* linear blend skinning is the start */
        t->nodes[i] = (vec){0, 0, 0};
        for (uint32_t k = 0; k < SCENE_INFLUENCES; k++) {
            const hand_frame *f = &frames[t->node_bones[SCENE_INFLUENCES * i + k]];
            vec moved = vec_add(quat_apply(f->turn, t->rest[i]), f->shift);
            t->nodes[i] = vec_mad(t->nodes[i], t->node_weights[SCENE_INFLUENCES * i + k], moved);
        }
    }
    double limit = t->tolerance * t->cell, rho = SPECTRAL_RADIUS * SPECTRAL_RADIUS, boost = 1;
    memcpy(t->previous, t->nodes, t->node_count * sizeof *t->nodes);
    for (int round = 0; round < MAX_ITERATIONS && iterate(t, frames, boost) > limit * limit; round++)
        boost = round < 5 ? 1 : round == 5 ? 2 / (2 - rho) : 4 / (4 - rho * boost);
    average_gradients(t);
    for (size_t i = 0; i < t->point_count; i++)
        vec_store(positions + 3 * i, place(t, &t->points[i], vec_load(t->rest_points + 3 * i)));
}

/* ---- Making ----------------------------------------------------------------------------------------------- */

static pelt_result make_nodes(pelt_context *context, pelt_model *memory, hand_tissue *t) {
    t->nodes = SCENE_NEW(context, memory, vec, t->node_count);
    t->previous = SCENE_NEW(context, memory, vec, t->node_count);
    t->sums = SCENE_NEW(context, memory, vec, t->node_count);
    t->gradients = pelt_model_alloc(context, memory, t->node_count, sizeof *t->gradients);
    t->shares = SCENE_NEW(context, memory, double, t->node_count);
    t->node_bones = SCENE_NEW(context, memory, uint16_t, (size_t)SCENE_INFLUENCES * t->node_count);
    t->node_weights = SCENE_NEW(context, memory, float, (size_t)SCENE_INFLUENCES * t->node_count);
    if (!t->nodes || !t->previous || !t->sums || !t->gradients || !t->shares || !t->node_bones || !t->node_weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < t->node_count; i++)
        hand_weigh(t->joints, t->rest[i], t->node_bones + SCENE_INFLUENCES * i, t->node_weights + SCENE_INFLUENCES * i);
    for (uint32_t e = 0; e < t->element_count; e++)
        for (int a = 0; a < 8; a++)
            t->shares[t->elements[e].nodes[a]] += t->elements[e].volume;
    return PELT_OK;
}

static pelt_result make_anchors(pelt_context *context, pelt_model *memory, hand_tissue *t) {
    for (uint32_t bone = 0; bone < HAND_JOINTS; bone++)
        t->anchor_count += add_anchors(t, bone, NULL);
    t->anchors = SCENE_NEW(context, memory, anchor, t->anchor_count);
    if (!t->anchors)
        return PELT_ERROR_MEMORY;
    uint32_t count = 0;
    for (uint32_t bone = 0; bone < HAND_JOINTS; bone++)
        count += add_anchors(t, bone, t->anchors + count);
    return PELT_OK;
}

static pelt_result fill(pelt_context *context, pelt_model *memory, pelt_model *scratch, const scene_solid *solid,
                        hand_tissue *t) {
    vec low = {1e30, 1e30, 1e30}, high = {-1e30, -1e30, -1e30};
    for (size_t i = 0; i < t->point_count; i++) {
        vec p = vec_load(t->rest_points + 3 * i);
        low = (vec){fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z)};
        high = (vec){fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z)};
    }
    t->origin = vec_sub(low, (vec){t->cell / 2, t->cell / 2, t->cell / 2});
    t->size[0] = 2 + (int32_t)((high.x - low.x) / t->cell);
    t->size[1] = 2 + (int32_t)((high.y - low.y) / t->cell);
    t->size[2] = 2 + (int32_t)((high.z - low.z) / t->cell);
    float *fractions = SCENE_NEW(context, scratch, float, (size_t)t->size[0] * (size_t)t->size[1] * (size_t)t->size[2]);
    t->points = SCENE_NEW(context, memory, embedding, t->point_count);
    if (!fractions || !t->points)
        return PELT_ERROR_MEMORY;
    t->element_count = mark_cells(t, solid, t->rest_points, fractions);
    SCENE_TRY(make_elements(context, memory, scratch, t, solid, fractions));
    for (size_t i = 0; i < t->point_count; i++) {
        int32_t cell[3];
        double at[3];
        locate(t, vec_load(t->rest_points + 3 * i), cell, at);
        t->points[i] =
            (embedding){t->cell_elements[cell_index(t, cell)] - 1, {(float)at[0], (float)at[1], (float)at[2]}};
    }
    SCENE_TRY(make_nodes(context, memory, t));
    SCENE_TRY(make_anchors(context, memory, t));
    return factorise(context, memory, t);
}

pelt_result hand_tissue_make(pelt_context *context, pelt_model *memory, double cell, double tolerance,
                             const float *points, uint32_t count, hand_tissue **out) {
    pelt_model *scratch;
    hand_tissue *t = SCENE_NEW(context, memory, hand_tissue, 1);
    SCENE_TRY(pelt_model_create(context, &scratch));
    scene_solid *solid = SCENE_NEW(context, scratch, scene_solid, 1);
    pelt_result result = PELT_ERROR_MEMORY;
    if (t && solid) {
        t->cell = cell;
        t->tolerance = tolerance;
        t->rest_points = points;
        t->point_count = count;
        hand_joints(t->joints);
        hand_solid(t->joints, solid);
        result = fill(context, memory, scratch, solid, t);
    }
    pelt_model_destroy(scratch);
    *out = result == PELT_OK ? t : NULL;
    return result;
}
