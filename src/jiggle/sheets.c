/* Classifies two nearby sheets of a surface: sides of one thin body, or surfaces separated by a gap. */
#include "core/math3.h"
#include "core/surface.h"
#include "jiggle/lattice.h"

#include <math.h>

#define CONTACT_DISTANCE 0.02 /* of a voxel: closer sheets are in contact */
#define PROBE_DEPTH                                                                                                    \
    0.05 /* of a voxel: depth below a sheet at which its interior is probed; less where others are near */
#define PARALLEL_COSINE 0.9 /* cosine above which normals count as parallel */

static void corners_of(const px_sheets *s, uint32_t item, double corners[3][3]) {
    const uint32_t *triangle = s->triangles + 3 * (size_t)s->items[item];
    for (int k = 0; k < 3; k++)
        memcpy(corners[k], s->points[triangle[k]], sizeof corners[k]);
}

/* Adds the outward unit normal of a triangle. */
static void add_normal(const px_sheets *s, uint32_t item, double corners[3][3], double sum[3]) {
    double u[3], v[3], n[3];
    for (int c = 0; c < 3; c++) {
        u[c] = corners[1][c] - corners[0][c];
        v[c] = corners[2][c] - corners[0][c];
    }
    px_cross3d(u, v, n);
    double length = px_length3(n);
    for (int c = 0; c < 3 && length > 0; c++)
        sum[c] += (s->voxels->turned[s->items[item]] ? -n[c] : n[c]) / length;
}

void px_sheet_sample(const px_sheets *s, uint32_t voxel, px_sheet *sheet) {
    double best = INFINITY, middle[3];
    for (int c = 0; c < 3; c++)
        middle[c] = s->voxels->cells[voxel][c] + 0.5;
    for (uint32_t item = sheet->first; item < sheet->first + sheet->count; item++) {
        double corners[3][3], share[3];
        corners_of(s, item, corners);
        double square = px_triangle_nearest(middle, corners, share);
        if (square > best + 1e-9)
            continue;
        if (square < best - 1e-9) /* otherwise equal: the nearest point is on an edge or corner shared by triangles */
            memset(sheet->normal, 0, sizeof sheet->normal);
        if (square < best) {
            best = square;
            for (int c = 0; c < 3; c++)
                sheet->point[c] = share[0] * corners[0][c] + share[1] * corners[1][c] + share[2] * corners[2][c];
        }
        add_normal(s, item, corners, sheet->normal);
    }
    px_normalize3(sheet->normal);
}

/* Returns true if the segment from a to a + d intersects the triangle (Möller, Trumbore 1997). */
static bool meets(double corners[3][3], const double a[3], const double d[3]) {
    double u[3], v[3], w[3], h[3], q[3];
    for (int c = 0; c < 3; c++) {
        u[c] = corners[1][c] - corners[0][c];
        v[c] = corners[2][c] - corners[0][c];
        w[c] = a[c] - corners[0][c];
    }
    for (int c = 0; c < 3; c++) {
        h[c] = d[(c + 1) % 3] * v[(c + 2) % 3] - d[(c + 2) % 3] * v[(c + 1) % 3];
        q[c] = w[(c + 1) % 3] * u[(c + 2) % 3] - w[(c + 2) % 3] * u[(c + 1) % 3];
    }
    double det = px_dot3d(u, h);
    if (det == 0)
        return false;
    double x = px_dot3d(w, h) / det, y = px_dot3d(d, q) / det, at = px_dot3d(v, q) / det;
    return x >= -1e-9 && y >= -1e-9 && x + y <= 1 + 1e-9 && at >= -1e-9 && at <= 1 + 1e-9;
}

/* Returns true if no triangle of the one or two voxels intersects the segment from a to b. */
static bool is_free(const px_sheets *s, uint32_t voxel, uint32_t next, const double a[3], const double b[3]) {
    double d[3], corners[3][3];
    for (int c = 0; c < 3; c++)
        d[c] = b[c] - a[c];
    for (int side = 0; side < 1 + (next != voxel); side++) {
        uint32_t v = side ? next : voxel;
        for (uint32_t item = s->firsts[v]; item < s->firsts[v + 1]; item++) {
            corners_of(s, item, corners);
            if (meets(corners, a, d))
                return false;
        }
    }
    return true;
}

static double distance(const double a[3], const double b[3]) {
    double off[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    return px_length3(off);
}

/* The point at height `up` above a sheet, along its normal. */
static void above(const px_sheet *sheet, double up, double out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = sheet->point[c] + up * sheet->normal[c];
}

static bool is_occupied(const px_voxels *voxels, const double p[3]) {
    return px_voxel_at(voxels, (uint32_t)(int32_t)floor(p[0]), (uint32_t)(int32_t)floor(p[1]),
                       (uint32_t)(int32_t)floor(p[2])) != PELT_NONE;
}

/* Sheets in contact are the sides of one thin body, unless there is interior below both. */
static bool is_thin(const px_sheets *s, const px_sheet *a, const px_sheet *b) {
    double in_a[3], in_b[3];
    above(a, -1.5, in_a);
    above(b, -1.5, in_b);
    return px_dot3d(a->normal, b->normal) > 0 || !is_occupied(s->voxels, in_a) || !is_occupied(s->voxels, in_b);
}

/* The sample point of a sheet that only grazes a voxel may lie outside it, where triangles that block the view are
 * not listed. */
static bool is_in(const px_voxels *voxels, uint32_t voxel, const px_sheet *sheet) {
    bool in = true;
    for (int c = 0; c < 3; c++) {
        double at = sheet->point[c] - voxels->cells[voxel][c];
        in = in && at > -CONTACT_DISTANCE && at < 1 + CONTACT_DISTANCE;
    }
    return in;
}

bool px_sheets_belong(const px_sheets *s, uint32_t voxel, const px_sheet *a, uint32_t next, const px_sheet *b) {
    double length = distance(a->point, b->point), depth = px_fmin(PROBE_DEPTH, 0.3 * length);
    double in_a[3], in_b[3], out_a[3], out_b[3];
    if (!is_in(s->voxels, voxel, a) || !is_in(s->voxels, next, b))
        return false;
    if (length < CONTACT_DISTANCE)
        return is_thin(s, a, b);
    above(a, -depth, in_a);
    above(b, -depth, in_b);
    if (is_free(s, voxel, next, in_a, in_b))
        return true;
    if (px_dot3d(a->normal, b->normal) < PARALLEL_COSINE)
        return false;
    above(a, depth, out_a);
    above(b, depth, out_b);
    return is_free(s, voxel, next, out_a, in_b) || is_free(s, voxel, next, in_a, out_b);
}

bool px_sheet_has_inside(const px_sheets *s, uint32_t voxel, const px_sheet *sheet, const double p[3]) {
    double inside[3];
    above(sheet, -px_fmin(PROBE_DEPTH, 0.3 * distance(sheet->point, p)), inside);
    return is_free(s, voxel, voxel, p, inside);
}
