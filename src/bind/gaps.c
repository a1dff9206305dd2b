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
#define REGION_SIDE 8u    /* voxels along the edge of the blocks by which triangles far from contacts are left out */
#define ROUNDING    1e-6  /* relative slack of the lower bound of a path */

#define MAX_NORM 2.31 /* largest |n|₁ + |n|∞ of a unit vector: 4 / √3 */

/* A triangle near a contact. */
typedef struct candidate {
    uint32_t triangle;
    double normal[3], centre[3], radius; /* unit normal; centroid and the distance of the farthest corner from it */
} candidate;

typedef struct gap_search {
    const px_bind_subject *subject;
    const px_bind_volume *volume;
    uint32_t triangle_count;    /* of the triangles near contacts: */
    uint32_t *triangles;        /* [near triangle] of the subject, ascending */
    px_voxel_contents contents; /* near triangles of the voxels around contacts */
    px_neighbours edges;
    double diagonal; /* of the mesh, object units */
    double *lengths; /* [edge] */
    /* Paths along edges from one triangle, of at most this length, that may lead to the triangles around a contact: those
     * lie in a sphere. */
    uint32_t source; /* PELT_NONE: none yet at this contact */
    double most, centre[3], radius;
    double *ways;    /* [class] length of the path; INFINITY: not reached */
    bool *changed;   /* [class] its path became shorter since its edges were followed */
    uint32_t *queue; /* [class] reached classes */
    uint32_t queue_count;
    /* [slot] Pairs of triangles, (larger index << 32) + smaller one, that have been compared at another contact: the gap only
     * becomes smaller. A pair may replace another one. */
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

/* Lower bound of the distance of a class from the triangles around the contact. */
static double least_distance(const gap_search *s, uint32_t row) {
    const float *p = s->subject->positions + 3 * (size_t)row;
    double x = p[0] - s->centre[0], y = p[1] - s->centre[1], z = p[2] - s->centre[2];
    return (1 - ROUNDING) * sqrt(x * x + y * y + z * z) - (1 + ROUNDING) * s->radius;
}

/* Begins paths at another triangle. */
static void begin_paths(gap_search *s, uint32_t triangle, double most) {
    for (uint32_t n = 0; n < s->queue_count; n++) {
        s->ways[s->queue[n]] = INFINITY;
        s->changed[s->queue[n]] = false;
    }
    s->queue_count = 0;
    for (size_t c = 0; c < 3; c++) {
        uint32_t corner = s->subject->triangles[3 * (size_t)triangle + c];
        if (s->ways[corner] != 0)
            s->queue[s->queue_count++] = corner;
        s->ways[corner] = 0;
        s->changed[corner] = true;
    }
    s->source = triangle;
    s->most = most;
}

/* Follows the edges of a class; true if one leads to a triangle. */
static bool follow(gap_search *s, uint32_t from, uint32_t other, bool *any) {
    bool found = false;
    s->changed[from] = false;
    for (size_t e = s->edges.offsets[from]; e < s->edges.offsets[from + 1]; e++) {
        uint32_t to = s->edges.items[e];
        double way = s->ways[from] + s->lengths[e];
        if (!(way < s->ways[to]) || way + px_fmax(least_distance(s, to), 0) > s->most)
            continue;
        if (s->ways[to] == INFINITY)
            s->queue[s->queue_count++] = to;
        s->ways[to] = way;
        s->changed[to] = *any = true;
        found |= is_corner(s->subject, other, to);
    }
    return found;
}

/* Whether a path along edges of at most this length leads from one triangle to another. Paths become shorter until nothing
 * changes, or until one is found; the next search from this triangle continues there. */
static bool is_near(gap_search *s, uint32_t triangle, uint32_t other, double most) {
    if (s->source != triangle || s->most != most)
        begin_paths(s, triangle, most);
    for (size_t c = 0; c < 3; c++)
        if (s->ways[s->subject->triangles[3 * (size_t)other + c]] < INFINITY)
            return true;
    for (bool any = true; any;) {
        any = false;
        for (uint32_t n = 0; n < s->queue_count; n++)
            if (s->changed[s->queue[n]] && follow(s, s->queue[n], other, &any))
                return true;
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
        if (apart(&near[n], &near[m]) >= MAX_NORM * gap->cell || share_corner(s->subject, a, b))
            continue;
        uint64_t pair = a > b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a, *slot = known_slot(s, pair);
        if (*slot == pair)
            continue;
        *slot = pair;
        corners_of(s, b, other);
        closest c = triangle_distance(own, other);
        double sum = 0, most = 0;
        for (int k = 0; k < 3; k++) {
            sum += fabs(c.between[k]) / c.distance;
            most = px_fmax(most, fabs(c.between[k]) / c.distance);
        }
        double cell = c.distance / (sum + most);
        if (cell < gap->cell && !is_no_gap(s, &near[n], &near[m], &c))
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

/* Sets the sphere around the triangles of a contact. */
static void enclose(gap_search *s, const candidate *near, uint32_t count) {
    s->source = PELT_NONE;
    s->radius = 0;
    for (int c = 0; c < 3; c++) {
        s->centre[c] = 0;
        for (uint32_t n = 0; n < count; n++)
            s->centre[c] += near[n].centre[c] / count;
    }
    for (uint32_t n = 0; n < count; n++) {
        double x = near[n].centre[0] - s->centre[0], y = near[n].centre[1] - s->centre[1];
        double z = near[n].centre[2] - s->centre[2];
        s->radius = px_fmax(s->radius, sqrt(x * x + y * y + z * z) + near[n].radius);
    }
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
                uint32_t triangle = s->triangles[s->contents.triangles[t]];
                bool known = pass == 0 || total % stride || count == MAX_NEAR;
                for (uint32_t n = 0; n < count && !known; n++)
                    known = near[n] == triangle;
                if (!known)
                    near[count++] = triangle;
            }
        }
    }
    return count;
}

/* Blocks of voxels around contacts. */
typedef struct region {
    uint32_t size[3];
    uint8_t *marks; /* [block] 1: it has a voxel around a contact */
} region;

/* Numbers of the blocks along an axis that hold cells `low` to `high`, which may lie outside of the grid. */
static void blocks_of(const region *r, int axis, float low, float high, uint32_t out[2]) {
    float last = (float)(r->size[axis] - 1);
    out[0] = (uint32_t)px_fminf(px_fmaxf(low / REGION_SIDE, 0), last);
    out[1] = (uint32_t)px_fminf(px_fmaxf(high / REGION_SIDE, 0), last);
}

/* Marks the blocks of a box of cells, or finds whether one is marked. */
static bool visit_blocks(const region *r, const float low[3], const float high[3], bool mark) {
    uint32_t x[2], y[2], z[2];
    bool any = false;
    blocks_of(r, 0, low[0], high[0], x);
    blocks_of(r, 1, low[1], high[1], y);
    blocks_of(r, 2, low[2], high[2], z);
    for (size_t k = z[0]; k <= z[1]; k++)
        for (size_t j = y[0]; j <= y[1]; j++)
            for (size_t i = x[0]; i <= x[1]; i++) {
                uint8_t *block = &r->marks[(k * r->size[1] + j) * r->size[0] + i];
                *block |= mark;
                any |= *block;
            }
    return any;
}

/* Sets the triangles near contacts and the contents of the voxels. */
static pelt_result list_triangles(px_arena *arena, gap_search *s, const px_bind_contact *contacts,
                                  size_t contact_count) {
    const px_bind_subject *subject = s->subject;
    const px_voxels *voxels = &s->volume->voxels;
    region r;
    for (int c = 0; c < 3; c++)
        r.size[c] = voxels->grid.size[c] / REGION_SIDE + 1;
    r.marks = PX_NEW(arena, uint8_t, (size_t)r.size[0] * r.size[1] * r.size[2]);
    s->triangles = PX_NEW(arena, uint32_t, subject->triangle_count);
    uint32_t *corners = PX_NEW(arena, uint32_t, 3 * (size_t)subject->triangle_count); /* of the near triangles */
    if (!r.marks || !s->triangles || !corners)
        return PELT_ERROR_MEMORY;
    for (size_t n = 0; n < contact_count; n++) {
        float low[3], high[3];
        for (int c = 0; c < 3; c++) {
            low[c] = (float)voxels->cells[contacts[n].voxel][c] - 1;
            high[c] = low[c] + 2;
        }
        visit_blocks(&r, low, high, true);
    }
    for (uint32_t t = 0; t < subject->triangle_count; t++) {
        float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, p[3];
        const uint32_t *own = subject->triangles + 3 * (size_t)t;
        for (int k = 0; k < 3; k++) {
            px_bind_to_grid(&voxels->grid, subject->positions + 3 * (size_t)own[k], p);
            for (int c = 0; c < 3; c++) {
                low[c] = px_fminf(low[c], p[c] - 1); /* a cell of slack for rounding */
                high[c] = px_fmaxf(high[c], p[c] + 2);
            }
        }
        if (!visit_blocks(&r, low, high, false))
            continue;
        memcpy(corners + 3 * (size_t)s->triangle_count, own, 3 * sizeof *own);
        s->triangles[s->triangle_count++] = t;
    }
    return px_voxels_contents(px_arena_context(arena), arena, subject->positions, subject->classes.count, corners,
                              s->triangle_count, voxels, &s->contents);
}

typedef struct gap_job {
    pelt_context *context;
    const gap_search *search;
    const px_bind_contact *contacts; /* sorted by pair of joints */
    const size_t *firsts;            /* [pair of joints that touches + 1] */
    px_bind_gap *gaps;
} gap_job;

/* The gap of one pair of joints. */
static pelt_result search(const gap_job *job, px_arena *arena, size_t touching) {
    gap_search s = *job->search;
    uint32_t near[MAX_NEAR], rows = s.subject->classes.count;
    candidate candidates[MAX_NEAR];
    s.ways = PX_NEW(arena, double, rows);
    s.changed = PX_NEW(arena, bool, rows);
    s.queue = PX_NEW(arena, uint32_t, rows);
    s.known = PX_NEW(arena, uint64_t, KNOWN_SLOTS);
    if (!s.ways || !s.changed || !s.queue || !s.known)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < rows; i++)
        s.ways[i] = INFINITY;
    for (size_t n = job->firsts[touching]; n < job->firsts[touching + 1]; n++) {
        if (n > job->firsts[touching] && job->contacts[n].voxel == job->contacts[n - 1].voxel)
            continue;
        uint32_t count = measure(&s, near, list_near(&s, job->contacts[n].voxel, near), candidates);
        enclose(&s, candidates, count);
        for (uint32_t k = 0; k < count; k++)
            compare(&s, candidates, count, k, &job->gaps[job->contacts[n].pair]);
        PX_TRY(px_cancelled(job->context));
    }
    return PELT_OK;
}

static pelt_result search_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const gap_job *job = user;
    pelt_result result = PELT_OK;
    for (size_t n = first; n < first + count && result == PELT_OK; n++) {
        px_arena *arena = px_arena_create(job->context);
        result = arena ? search(job, arena, n) : PELT_ERROR_MEMORY;
        px_arena_destroy(arena);
    }
    return result;
}

static int compare_contacts(const void *left, const void *right) {
    const px_bind_contact *a = left, *b = right;
    if (a->pair != b->pair)
        return a->pair < b->pair ? -1 : 1;
    return a->voxel < b->voxel ? -1 : a->voxel > b->voxel;
}

static pelt_result search_all(px_arena *arena, gap_search *s, px_bind_contact *contacts, size_t contact_count,
                              px_bind_gap *gaps) {
    pelt_context *context = px_arena_context(arena);
    const px_bind_subject *subject = s->subject;
    pelt_mesh rows = {.triangle_count = subject->triangle_count, .triangles = subject->triangles};
    float low[3], high[3];
    size_t *firsts = PX_NEW(arena, size_t, contact_count + 1), touching = 0;
    s->diagonal = px_box(subject->positions, subject->classes.count, low, high);
    PX_TRY(px_neighbours_make(arena, &rows, &(pelt_vertex_classes){.count = subject->classes.count}, &s->edges));
    s->lengths = PX_NEW(arena, double, s->edges.offsets[subject->classes.count]);
    if (!firsts || !s->lengths)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < subject->classes.count; i++)
        for (size_t e = s->edges.offsets[i]; e < s->edges.offsets[i + 1]; e++)
            s->lengths[e] = edge_length(subject, i, s->edges.items[e]);
    PX_TRY(list_triangles(arena, s, contacts, contact_count));
    px_sort(contacts, contact_count, sizeof *contacts, compare_contacts);
    for (size_t n = 0; n < contact_count; n++)
        if (n == 0 || contacts[n].pair != contacts[n - 1].pair)
            firsts[touching++] = n;
    firsts[touching] = contact_count;
    return px_parallel(context, NULL, touching, 1, search_block, &(gap_job){context, s, contacts, firsts, gaps});
}

pelt_result px_bind_gaps(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                         px_bind_contact *contacts, size_t contact_count, px_bind_gap *gaps) {
    gap_search s = {.subject = subject, .volume = volume};
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    pelt_result result = search_all(arena, &s, contacts, contact_count, gaps);
    px_arena_destroy(arena);
    return result;
}
