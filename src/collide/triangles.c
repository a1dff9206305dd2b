/* Intersection tests of triangles, decided only by signs of determinants, so exact, also for degenerate edges and
 * triangles.
 *
 * Two triangles intersect if an edge of one intersects the other: every corner of their intersection is a corner or
 * lies on an edge. An edge that is not in the plane of a triangle intersects it where it crosses the plane, on the same
 * side of all three edges. In the plane, edges intersect edges or start inside.
 */
#include "collide/collide.h"

#include <math.h>

/* ---- In one plane ----------------------------------------------------------------------------------------- */

static bool ranges_meet(float a, float b, float c, float d) {
    return px_fmaxf(a, b) >= px_fminf(c, d) && px_fmaxf(c, d) >= px_fminf(a, b);
}

static bool shadows_meet(const float a[3], const float b[3], const float c[3], const float d[3], int x, int y) {
    return ranges_meet(a[x], b[x], c[x], d[x]) && ranges_meet(a[y], b[y], c[y], d[y]) &&
           px_orient_plane(a, b, c, x, y) * px_orient_plane(a, b, d, x, y) <= 0 &&
           px_orient_plane(c, d, a, x, y) * px_orient_plane(c, d, b, x, y) <= 0;
}

/* The projection of a plane (or a line) to one of the three axis planes is injective: coplanar edges that intersect
 * in all projections intersect in that one, and so in space. */
static bool edges_meet(const float a[3], const float b[3], const float c[3], const float d[3]) {
    for (int x = 0; x < 3; x++)
        if (!shadows_meet(a, b, c, d, x, (x + 1) % 3))
            return false;
    return px_orient(a, b, c, d) == 0;
}

/* Returns true if p, in the plane of a triangle with area, is in it. A triangle without area consists of its edges
 * only. */
static bool is_inside(const float p[3], const float *const t[3]) {
    for (int x = 0; x < 3; x++) {
        int y = (x + 1) % 3, side = px_orient_plane(t[0], t[1], t[2], x, y);
        if (side)
            return side * px_orient_plane(t[0], t[1], p, x, y) >= 0 &&
                   side * px_orient_plane(t[1], t[2], p, x, y) >= 0 && side * px_orient_plane(t[2], t[0], p, x, y) >= 0;
    }
    return false;
}

static bool meets_in_plane(const float p[3], const float q[3], const float *const t[3]) {
    for (int e = 0; e < 3; e++)
        if (edges_meet(p, q, t[e], t[(e + 1) % 3]))
            return true;
    return is_inside(p, t);
}

/* ---- Edge and triangle ------------------------------------------------------------------------------------ */

static bool is_one_side(int a, int b, int c) {
    return (a >= 0 && b >= 0 && c >= 0) || (a <= 0 && b <= 0 && c <= 0);
}

/* Tests the edge from p to q, whose ends are on these sides of the triangle's plane. */
static bool edge_meets(const float p[3], const float q[3], int side_p, int side_q, const float *const t[3]) {
    if (side_p * side_q > 0)
        return false;
    if (side_p == 0 && side_q == 0)
        return meets_in_plane(p, q, t);
    return is_one_side(px_orient(p, q, t[0], t[1]), px_orient(p, q, t[1], t[2]), px_orient(p, q, t[2], t[0]));
}

/* Computes the sides of the corners of a relative to the plane of b. Returns false if all are strictly on one side. */
static bool find_sides(const float *const a[3], const float *const b[3], int sides[3]) {
    for (int c = 0; c < 3; c++)
        sides[c] = px_orient(b[0], b[1], b[2], a[c]);
    return !(sides[0] != 0 && sides[0] == sides[1] && sides[1] == sides[2]);
}

bool px_triangles_meet(const float *const a[3], const float *const b[3]) {
    int of_a[3], of_b[3];
    if (!find_sides(a, b, of_a) || !find_sides(b, a, of_b))
        return false;
    for (int e = 0; e < 3; e++) {
        int f = (e + 1) % 3;
        if (edge_meets(a[e], a[f], of_a[e], of_a[f], b) || edge_meets(b[e], b[f], of_b[e], of_b[f], a))
            return true;
    }
    return false;
}

/* ---- Rays ------------------------------------------------------------------------------------------------- */

static double along(const pelt_ray *ray, const float p[3]) {
    double dot = 0, length2 = 0;
    for (int c = 0; c < 3; c++) {
        double u = (double)ray->direction[c];
        dot += u * ((double)p[c] - (double)ray->origin[c]);
        length2 += u * u;
    }
    return dot / length2;
}

/* Barycentric coordinates up to rounding, from triple products of the ray's direction with the edges. */
static void find_shares(const pelt_ray *ray, const float *const corners[3], double share[3]) {
    double from[3][3], sum = 0;
    const float *u = ray->direction;
    for (int e = 0; e < 9; e++)
        from[e / 3][e % 3] = (double)corners[e / 3][e % 3] - (double)ray->origin[e % 3];
    for (int c = 0; c < 3; c++) {
        const double *v = from[(c + 1) % 3], *w = from[(c + 2) % 3];
        share[c] = fabs((double)u[0] * (v[1] * w[2] - v[2] * w[1]) + (double)u[1] * (v[2] * w[0] - v[0] * w[2]) +
                        (double)u[2] * (v[0] * w[1] - v[1] * w[0]));
        sum += share[c];
    }
    for (int c = 0; c < 3; c++)
        share[c] = sum > 0 ? share[c] / sum : 1.0 / 3;
}

/* The distance is a weighted mean of the corners' distances along the ray, so rounding cannot move it out of the
 * triangle's sphere. */
bool px_ray_meets(const pelt_ray *ray, const float *const corners[3], double *distance, double share[3]) {
    const float *o = ray->origin, *u = ray->direction, *a = corners[0], *b = corners[1], *c = corners[2];
    int facing = px_orient_line(a, u, b, c); /* side of the triangle's normal: along u, or against it */
    if (facing == 0 || px_orient_line(o, u, a, b) * facing < 0 || px_orient_line(o, u, b, c) * facing < 0 ||
        px_orient_line(o, u, c, a) * facing < 0)
        return false;
    if (px_orient(a, b, c, o) * facing > 0) /* behind the origin */
        return false;
    find_shares(ray, corners, share);
    *distance = px_fmax(share[0] * along(ray, a) + share[1] * along(ray, b) + share[2] * along(ray, c), 0);
    return *distance <= ray->most;
}
