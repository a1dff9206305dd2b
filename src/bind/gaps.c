/* Gaps between limbs that touch in the voxels: which resolution separates them.
 *
 * Around a contact, pairs of triangles are searched that face each other across air and are far apart along the surface:
 * at least MIN_DETOUR of the diagonal, and MIN_DETOUR_RATIO times their distance. This leaves out creases, where a surface
 * meets itself at every resolution, and both sides of thin parts, which face away from each other.
 *
 * Two points in the same voxel, or in voxels with a common face, differ by less than (2, 1, 1) cells in some order. Two
 * parallel surfaces at distance g along the unit normal n have no such points if the cell is smaller than
 * g / (|n|₁ + |n|∞). */
#include "bind/bind.h"
#include "core/math3.h"
#include "core/mesh.h"
#include "core/surface.h"

#include <math.h>

#define MIN_DETOUR       0.03 /* of the diagonal: half of it reaches from the middle of a finger to its root */
#define MIN_DETOUR_RATIO 1.5
#define MIN_FACING       0.05 /* cosine between a normal and the direction to the other surface, at least */
#define MAX_NEAR         256u /* triangles around a contact that are compared; of more, every second, third … */

#define KNOWN_SLOTS 8192u /* a power of two */

#define MAX_NORM 2.31 /* largest |n|₁ + |n|∞ of a unit vector: 4 / √3 */

/* A triangle near a contact. */
typedef struct candidate {
    uint32_t triangle;
    double normal[3], centre[3], radius; /* unit normal; centroid and the distance of the farthest corner from it */
} candidate;

typedef struct gap_search {
    const px_bind_subject *subject;
    const px_bind_volume *volume;
    px_voxel_contents contents;
    px_neighbours edges;
    double diagonal; /* of the mesh, object units */
    double *ways;    /* [class] length of the path from the current triangle; INFINITY: not reached */
    uint32_t *queue; /* [class] reached classes */
    uint32_t queue_count;
    /* [slot] Pairs of triangles that are no gap, (larger index << 32) + smaller one: found again at the next contacts.
     * A pair may replace another one in its slot. */
    uint64_t *known;
} gap_search;

/* ---- Distances --------------------------------------------------------------------------------------------------- */

typedef struct closest {
    double distance, between[3]; /* from the first triangle to the second */
} closest;

static void offer(closest *best, const double p[3], const double q[3]) {
    double d[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]}, length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (length >= best->distance)
        return;
    best->distance = length;
    memcpy(best->between, d, sizeof d);
}

static void corner_to_triangle(const float *p, const float *const t[3], double sign, closest *best) {
    double at[3] = {p[0], p[1], p[2]}, corners[3][3], share[3], q[3] = {0, 0, 0};
    for (int c = 0; c < 9; c++)
        corners[c / 3][c % 3] = t[c / 3][c % 3];
    px_triangle_nearest(at, corners, share);
    for (int c = 0; c < 9; c++)
        q[c % 3] += share[c / 3] * corners[c / 3][c % 3];
    if (sign > 0)
        offer(best, at, q);
    else
        offer(best, q, at);
}

static double clamp(double value) {
    return px_fmin(px_fmax(value, 0), 1);
}

/* Nearest points of two edges, a0 + s (a1 − a0) and b0 + t (b1 − b0). */
static void edge_to_edge(const float *a0, const float *a1, const float *b0, const float *b1, closest *best) {
    double u[3], v[3], w[3], uu = 0, vv = 0, uv = 0, uw = 0, vw = 0, p[3], q[3];
    for (int c = 0; c < 3; c++) {
        u[c] = (double)a1[c] - (double)a0[c];
        v[c] = (double)b1[c] - (double)b0[c];
        w[c] = (double)a0[c] - (double)b0[c];
        uu += u[c] * u[c], vv += v[c] * v[c], uv += u[c] * v[c], uw += u[c] * w[c], vw += v[c] * w[c];
    }
    double det = uu * vv - uv * uv, s = det > 1e-12 * uu * vv ? clamp((uv * vw - vv * uw) / det) : 0;
    double t = vv > 0 ? clamp((uv * s + vw) / vv) : 0;
    s = uu > 0 ? clamp((uv * t - uw) / uu) : 0;
    for (int c = 0; c < 3; c++) {
        p[c] = (double)a0[c] + s * u[c];
        q[c] = (double)b0[c] + t * v[c];
    }
    offer(best, p, q);
}

static closest triangle_distance(const float *const a[3], const float *const b[3]) {
    closest best = {.distance = INFINITY};
    for (int c = 0; c < 3; c++) {
        corner_to_triangle(a[c], b, 1, &best);
        corner_to_triangle(b[c], a, -1, &best);
        for (int d = 0; d < 3; d++)
            edge_to_edge(a[c], a[(c + 1) % 3], b[d], b[(d + 1) % 3], &best);
    }
    return best;
}

/* ---- Pairs ------------------------------------------------------------------------------------------------------- */

static void corners_of(const gap_search *s, uint32_t triangle, const float *corners[3]) {
    for (int c = 0; c < 3; c++)
        corners[c] = s->subject->positions + 3 * (size_t)s->subject->triangles[3 * (size_t)triangle + (size_t)c];
}

/* Unit normal that points outside. False: no area. */
static bool normal_of(const gap_search *s, uint32_t triangle, double normal[3]) {
    const float *p[3];
    double u[3], v[3], length = 0;
    corners_of(s, triangle, p);
    for (int c = 0; c < 3; c++) {
        u[c] = (double)p[1][c] - (double)p[0][c];
        v[c] = (double)p[2][c] - (double)p[0][c];
    }
    for (int c = 0; c < 3; c++) {
        normal[c] = u[(c + 1) % 3] * v[(c + 2) % 3] - u[(c + 2) % 3] * v[(c + 1) % 3];
        length += normal[c] * normal[c];
    }
    length = sqrt(length) * (s->volume->voxels.turned[triangle] ? -1 : 1);
    for (int c = 0; c < 3; c++)
        normal[c] /= length;
    return length != 0;
}

static bool share_corner(const px_bind_subject *s, uint32_t a, uint32_t b) {
    for (size_t m = 0; m < 9; m++)
        if (s->triangles[3 * (size_t)a + m / 3] == s->triangles[3 * (size_t)b + m % 3])
            return true;
    return false;
}

static double edge_length(const px_bind_subject *s, uint32_t a, uint32_t b) {
    const float *p = s->positions + 3 * (size_t)a, *q = s->positions + 3 * (size_t)b;
    double sum = 0;
    for (int c = 0; c < 3; c++)
        sum += ((double)p[c] - (double)q[c]) * ((double)p[c] - (double)q[c]);
    return sqrt(sum);
}

static bool is_corner(const px_bind_subject *s, uint32_t triangle, uint32_t row) {
    const uint32_t *corners = s->triangles + 3 * (size_t)triangle;
    return corners[0] == row || corners[1] == row || corners[2] == row;
}

/* Whether a path along edges of at most this length leads from one triangle to another. Paths are relaxed until nothing
 * changes; most searches end early, at a neighbour on the same piece of the surface. */
static bool is_near(gap_search *s, uint32_t triangle, uint32_t other, double most) {
    for (uint32_t n = 0; n < s->queue_count; n++)
        s->ways[s->queue[n]] = INFINITY;
    s->queue_count = 0;
    for (size_t c = 0; c < 3; c++) {
        uint32_t corner = s->subject->triangles[3 * (size_t)triangle + c];
        if (s->ways[corner] != 0)
            s->queue[s->queue_count++] = corner;
        s->ways[corner] = 0;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < s->queue_count; n++) {
            uint32_t from = s->queue[n];
            for (size_t e = s->edges.offsets[from]; e < s->edges.offsets[from + 1]; e++) {
                uint32_t to = s->edges.items[e];
                double way = s->ways[from] + edge_length(s->subject, from, to);
                if (!(way < s->ways[to]) || way > most)
                    continue;
                if (s->ways[to] == INFINITY)
                    s->queue[s->queue_count++] = to;
                s->ways[to] = way;
                changed = true;
                if (is_corner(s->subject, other, to))
                    return true;
            }
        }
    }
    return false;
}

static double facing(const double normal[3], const closest *c) {
    return (normal[0] * c->between[0] + normal[1] * c->between[1] + normal[2] * c->between[2]) / c->distance;
}

/* Lower bound of the distance of two triangles, from spheres around their centroids. */
static double apart(const candidate *a, const candidate *b) {
    double sum = 0;
    for (int c = 0; c < 3; c++)
        sum += (a->centre[c] - b->centre[c]) * (a->centre[c] - b->centre[c]);
    return sqrt(sum) - a->radius - b->radius;
}

/* Whether two triangles cannot be a gap, at any contact: they do not face each other, or are near along the surface. */
static bool is_no_gap(gap_search *s, const candidate *a, const candidate *b, const closest *c) {
    if (!(c->distance > 0) || facing(a->normal, c) < MIN_FACING || facing(b->normal, c) > -MIN_FACING)
        return true;
    return is_near(s, a->triangle, b->triangle, px_fmax(MIN_DETOUR * s->diagonal, MIN_DETOUR_RATIO * c->distance));
}

static uint64_t *known_slot(const gap_search *s, uint64_t pair) {
    return &s->known[pair * 0x9e3779b97f4a7c15u >> 32 & (KNOWN_SLOTS - 1)];
}

/* Compares a triangle with those after it in the list. */
static void compare(gap_search *s, const candidate *near, uint32_t count, uint32_t n, px_bind_gap *gap) {
    const float *own[3], *other[3];
    corners_of(s, near[n].triangle, own);
    for (uint32_t m = n + 1; m < count; m++) {
        uint32_t a = near[n].triangle, b = near[m].triangle;
        uint64_t pair = a > b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a, *slot = known_slot(s, pair);
        if (*slot == pair || apart(&near[n], &near[m]) >= MAX_NORM * gap->cell || share_corner(s->subject, a, b))
            continue;
        corners_of(s, b, other);
        closest c = triangle_distance(own, other);
        double sum = 0, most = 0;
        for (int k = 0; k < 3; k++) {
            sum += fabs(c.between[k]) / c.distance;
            most = px_fmax(most, fabs(c.between[k]) / c.distance);
        }
        double cell = c.distance / (sum + most);
        if (!(cell < gap->cell))
            continue;
        if (is_no_gap(s, &near[n], &near[m], &c))
            *slot = pair;
        else
            *gap = (px_bind_gap){c.distance, cell};
    }
}

/* Measures the triangles of a list; those without area are left out. Returns their number. */
static uint32_t measure(const gap_search *s, const uint32_t *triangles, uint32_t count, candidate *out) {
    uint32_t kept = 0;
    for (uint32_t n = 0; n < count; n++) {
        candidate *c = &out[kept];
        const float *corners[3];
        *c = (candidate){.triangle = triangles[n]};
        kept += normal_of(s, triangles[n], c->normal);
        corners_of(s, triangles[n], corners);
        for (int k = 0; k < 9; k++)
            c->centre[k % 3] += (double)corners[k / 3][k % 3] / 3;
        for (int k = 0; k < 3; k++) {
            double x = corners[k][0] - c->centre[0], y = corners[k][1] - c->centre[1], z = corners[k][2] - c->centre[2];
            c->radius = px_fmax(c->radius, sqrt(x * x + y * y + z * z));
        }
    }
    return kept;
}

/* The triangles in the 27 voxels around a contact, without duplicates; at most MAX_NEAR of them, evenly chosen. */
static uint32_t list_near(const gap_search *s, uint32_t voxel, uint32_t near[MAX_NEAR]) {
    const px_voxels *voxels = &s->volume->voxels;
    const uint16_t *cell = voxels->cells[voxel];
    uint32_t count = 0, total = 0, stride = 1;
    for (int pass = 0; pass < 2; pass++) {
        stride = total / MAX_NEAR + 1;
        total = 0;
        for (uint32_t k = 0; k < 27; k++) {
            uint32_t at = px_voxel_at(voxels, cell[0] + k % 3 - 1, cell[1] + k / 3 % 3 - 1, cell[2] + k / 9 - 1);
            for (uint32_t t = at == PELT_NONE ? 0 : s->contents.firsts[at];
                 at != PELT_NONE && t < s->contents.firsts[at + 1]; t++, total++) {
                bool known = pass == 0 || total % stride || count == MAX_NEAR;
                for (uint32_t n = 0; n < count && !known; n++)
                    known = near[n] == s->contents.triangles[t];
                if (!known)
                    near[count++] = s->contents.triangles[t];
            }
        }
    }
    return count;
}

static pelt_result search(px_arena *arena, pelt_context *context, gap_search *s, const px_bind_contact *contacts,
                          size_t contact_count, px_bind_gap *gaps) {
    const px_bind_subject *subject = s->subject;
    pelt_mesh rows = {.triangle_count = subject->triangle_count, .triangles = subject->triangles};
    float low[3], high[3];
    uint32_t near[MAX_NEAR];
    candidate candidates[MAX_NEAR];
    s->diagonal = px_box(subject->positions, subject->classes.count, low, high);
    s->ways = PX_NEW(arena, double, subject->classes.count);
    s->queue = PX_NEW(arena, uint32_t, subject->classes.count);
    s->known = PX_NEW(arena, uint64_t, KNOWN_SLOTS);
    if (!s->ways || !s->queue || !s->known)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < subject->classes.count; i++)
        s->ways[i] = INFINITY;
    PX_TRY(px_neighbours_make(arena, &rows, &(pelt_vertex_classes){.count = subject->classes.count}, &s->edges));
    PX_TRY(px_voxels_contents(context, arena, subject->positions, subject->classes.count, subject->triangles,
                              subject->triangle_count, &s->volume->voxels, &s->contents));
    for (size_t n = 0; n < contact_count; n++) {
        if (n && contacts[n].voxel == contacts[n - 1].voxel && contacts[n].pair == contacts[n - 1].pair)
            continue;
        uint32_t count = measure(s, near, list_near(s, contacts[n].voxel, near), candidates);
        for (uint32_t k = 0; k < count; k++)
            compare(s, candidates, count, k, &gaps[contacts[n].pair]);
        PX_TRY(px_cancelled(context));
    }
    return PELT_OK;
}

pelt_result px_bind_gaps(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                         const px_bind_contact *contacts, size_t contact_count, px_bind_gap *gaps) {
    gap_search s = {.subject = subject, .volume = volume};
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    pelt_result result = search(arena, context, &s, contacts, contact_count, gaps);
    px_arena_destroy(arena);
    return result;
}
