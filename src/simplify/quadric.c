/* Error quadrics in all poses (Garland and Heckbert 1997): Q(x) = xᵀA x + 2 b·x + c, with x relative to the class's
 * position for precision in floats.
 *
 * A = Σ area·n nᵀ over planes with unit normals n, so its trace is the area that a quadric represents. */
#include "core/math3.h"
#include "simplify/simplify.h"

#include <math.h>

/* Relative to the trace: keeps a vertex in place along directions that no plane constrains. */
#define REGULARIZATION 1e-2

/* ---- Planes ----------------------------------------------------------------------------------------------- */

/* The quadrics of one pose. */
typedef struct sums {
    const float *positions;
    const uint32_t *owners;
    float *quadrics;
    size_t stride, pose;
} sums;

/* Adds a plane through the position of class `on` to the owner of class u. */
static void add_plane(const sums *to, uint32_t u, uint32_t on, const double normal[3], double weight) {
    size_t owner = to->owners ? to->owners[u] : u;
    float *quadric = to->quadrics + PX_QUADRIC * owner * to->stride + to->pose;
    double distance = 0;
    for (int a = 0; a < 3; a++)
        distance +=
            normal[a] * ((double)to->positions[3 * owner + (size_t)a] - (double)to->positions[3 * (size_t)on + a]);
    double plane[4] = {normal[0], normal[1], normal[2], distance};
    static const uint8_t rows[PX_QUADRIC] = {0, 0, 0, 1, 1, 2, 0, 1, 2, 3};
    static const uint8_t columns[PX_QUADRIC] = {0, 1, 2, 1, 2, 2, 3, 3, 3, 3};
    for (size_t e = 0; e < PX_QUADRIC; e++)
        quadric[e * to->stride] += (float)(weight * plane[rows[e]] * plane[columns[e]]);
}

static double face_normal(const float *positions, const uint32_t *face, double normal[3]) {
    double u[3], v[3];
    for (int a = 0; a < 3; a++) {
        u[a] = (double)positions[3 * (size_t)face[1] + a] - (double)positions[3 * (size_t)face[0] + a];
        v[a] = (double)positions[3 * (size_t)face[2] + a] - (double)positions[3 * (size_t)face[0] + a];
    }
    px_cross3d(u, v, normal);
    return px_normalize3(normal);
}

void px_quadrics_add(const px_simplify *s, const float *positions, const uint32_t *owners, double weight,
                     float *quadrics, uint32_t stride, uint32_t pose) {
    sums to = {positions, owners, quadrics, stride, pose};
    for (size_t t = 0; t < s->model->mesh.triangle_count; t++) {
        const uint32_t *face = s->faces + 3 * t;
        double normal[3];
        double area = face_normal(positions, face, normal) / 2;
        for (int c = 0; c < 3 && area > 0; c++)
            add_plane(&to, face[c], face[c], normal, weight * area / 3);
    }
    for (uint32_t h = 0; h < s->held_count; h++) {
        const px_held_edge *edge = &s->held[h];
        const uint32_t *face = s->faces + 3 * (size_t)edge->triangle;
        uint32_t a = face[edge->corner], b = face[(edge->corner + 1) % 3];
        double normal[3], along[3], side[3];
        face_normal(positions, face, normal);
        for (int e = 0; e < 3; e++)
            along[e] = (double)positions[3 * (size_t)b + e] - (double)positions[3 * (size_t)a + e];
        double length = px_normalize3(along);
        px_cross3d(along, normal, side);
        add_plane(&to, a, a, side, weight * (double)edge->weight * length * length);
        add_plane(&to, b, a, side, weight * (double)edge->weight * length * length);
    }
}

/* ---- Displacements ---------------------------------------------------------------------------------------- */

/* Solves (A + hold) x = −b by cofactors; A + hold is positive definite. */
void px_quadric_solve(const double q[PX_QUADRIC], double x[3]) {
    double hold = REGULARIZATION * (q[0] + q[3] + q[5]);
    double xx = q[0] + hold, xy = q[1], xz = q[2], yy = q[3] + hold, yz = q[4], zz = q[5] + hold;
    double cxx = yy * zz - yz * yz, cxy = xz * yz - xy * zz, cxz = xy * yz - xz * yy;
    double cyy = xx * zz - xz * xz, cyz = xy * xz - xx * yz, czz = xx * yy - xy * xy;
    double determinant = xx * cxx + xy * cxy + xz * cxz;
    bool good = determinant > 0 && hold > 0;
    x[0] = good ? -(cxx * q[6] + cxy * q[7] + cxz * q[8]) / determinant : 0;
    x[1] = good ? -(cxy * q[6] + cyy * q[7] + cyz * q[8]) / determinant : 0;
    x[2] = good ? -(cxz * q[6] + cyz * q[7] + czz * q[8]) / determinant : 0;
}

void px_quadrics_shift(uint32_t pose_count, const float *moves, float *quadrics) {
    size_t n = pose_count;
    const float *x = moves, *y = moves + n, *z = moves + 2 * n;
    float *q = quadrics;
    for (size_t k = 0; k < n; k++) {
        float ax = q[k] * x[k] + q[n + k] * y[k] + q[2 * n + k] * z[k];
        float ay = q[n + k] * x[k] + q[3 * n + k] * y[k] + q[4 * n + k] * z[k];
        float az = q[2 * n + k] * x[k] + q[4 * n + k] * y[k] + q[5 * n + k] * z[k];
        q[9 * n + k] +=
            (ax + 2 * q[6 * n + k]) * x[k] + (ay + 2 * q[7 * n + k]) * y[k] + (az + 2 * q[8 * n + k]) * z[k];
        q[6 * n + k] += ax;
        q[7 * n + k] += ay;
        q[8 * n + k] += az;
    }
}

/* Sum of both classes' quadrics, relative to the position of `keep`. */
static void join(const px_simplify *s, uint32_t go, uint32_t keep, float *out) {
    size_t n = s->pose_count;
    const float *from = s->places + 3 * n * go, *to = s->places + 3 * n * keep;
    const float *own = s->quadrics + PX_QUADRIC * n * keep;
    float way[3 * PELT_SIMPLIFY_POSES_MAX] = {0};
    for (size_t e = 0; e < 3 * n; e++)
        way[e] = to[e] - from[e];
    memcpy(out, s->quadrics + PX_QUADRIC * n * go, PX_QUADRIC * n * sizeof *out);
    px_quadrics_shift(s->pose_count, way, out);
    for (size_t e = 0; e < PX_QUADRIC * n; e++)
        out[e] += own[e];
}

/* Sum over poses, pulled back to the rest pose: with B the linear part of the class's transform, A becomes BᵀAB and b
 * becomes Bᵀb. */
static void draw_back(const px_simplify *s, uint32_t u, const float *quadrics, double out[PX_QUADRIC]) {
    size_t n = s->pose_count;
    const float *q = quadrics, *b = s->linear ? s->linear + 9 * n * u : NULL;
    memset(out, 0, PX_QUADRIC * sizeof *out);
    for (size_t k = 0; k < n; k++) {
        double a[3][3] = {{(double)q[k], (double)q[n + k], (double)q[2 * n + k]},
                          {(double)q[n + k], (double)q[3 * n + k], (double)q[4 * n + k]},
                          {(double)q[2 * n + k], (double)q[4 * n + k], (double)q[5 * n + k]}};
        double g[3] = {(double)q[6 * n + k], (double)q[7 * n + k], (double)q[8 * n + k]};
        double columns[3][3]; /* of B */
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++)
                columns[c][r] = b ? (double)b[(3 * (size_t)r + (size_t)c) * n + k] : r == c;
        for (int c = 0, e = 0; c < 3; c++) {
            double ab[3];
            for (int r = 0; r < 3; r++)
                ab[r] = a[r][0] * columns[c][0] + a[r][1] * columns[c][1] + a[r][2] * columns[c][2];
            for (int d = c; d < 3; d++, e++)
                out[e] += columns[d][0] * ab[0] + columns[d][1] * ab[1] + columns[d][2] * ab[2];
            out[6 + c] += columns[c][0] * g[0] + columns[c][1] * g[1] + columns[c][2] * g[2];
        }
        out[9] += (double)q[9 * n + k];
    }
}

/* The best displacement at rest, and its image in each pose. */
static void move_at_rest(const px_simplify *s, uint32_t u, const float *quadrics, double move[3], float *moves) {
    size_t n = s->pose_count;
    const float *b = s->linear ? s->linear + 9 * n * u : NULL;
    double q[PX_QUADRIC];
    draw_back(s, u, quadrics, q);
    px_quadric_solve(q, move);
    for (size_t a = 0; a < 3; a++)
        for (size_t k = 0; k < n; k++)
            moves[a * n + k] = !b ? (float)move[a]
                                  : b[3 * a * n + k] * (float)move[0] + b[(3 * a + 1) * n + k] * (float)move[1] +
                                        b[(3 * a + 2) * n + k] * (float)move[2];
}

static void move_in_poses(const px_simplify *s, const float *quadrics, float *moves) {
    size_t n = s->pose_count;
    for (size_t k = 0; k < n; k++) {
        double q[PX_QUADRIC], move[3];
        for (size_t e = 0; e < PX_QUADRIC; e++)
            q[e] = (double)quadrics[e * n + k];
        px_quadric_solve(q, move);
        for (size_t a = 0; a < 3; a++)
            moves[a * n + k] = (float)move[a];
    }
}

void px_collapse_measure(const px_simplify *s, uint32_t go, uint32_t keep, px_collapse *out, float *moves,
                         float *quadrics) {
    float own_moves[3 * PELT_SIMPLIFY_POSES_MAX], own_quadrics[PX_QUADRIC * PELT_SIMPLIFY_POSES_MAX];
    size_t n = s->pose_count;
    moves = moves ? moves : own_moves;
    quadrics = quadrics ? quadrics : own_quadrics;
    *out = (px_collapse){0};
    join(s, go, keep, quadrics);
    if (s->desc.keep_positions || s->kinds[keep] == PX_CLASS_LOCKED)
        memset(moves, 0, 3 * n * sizeof *moves);
    else if (s->own_places)
        move_in_poses(s, quadrics, moves);
    else
        move_at_rest(s, keep, quadrics, out->move, moves);
    const float *x = moves, *y = moves + n, *z = moves + 2 * n, *q = quadrics;
    for (size_t k = 0; k < n; k++) {
        float ax = q[k] * x[k] + q[n + k] * y[k] + q[2 * n + k] * z[k] + 2 * q[6 * n + k];
        float ay = q[n + k] * x[k] + q[3 * n + k] * y[k] + q[4 * n + k] * z[k] + 2 * q[7 * n + k];
        float az = q[2 * n + k] * x[k] + q[4 * n + k] * y[k] + q[5 * n + k] * z[k] + 2 * q[8 * n + k];
        double cost = px_fmax((double)(q[9 * n + k] + ax * x[k] + ay * y[k] + az * z[k]), 0);
        double area = (double)(q[k] + q[3 * n + k] + q[5 * n + k]);
        out->cost += cost;
        out->distance = area > 0 ? px_fmax(out->distance, cost / area) : out->distance;
    }
    out->distance = sqrt(out->distance);
}
