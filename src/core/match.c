/* Vertex correspondence between two files of the same mesh. Files split and number vertices differently (GLB at UV
 * seams, OBJ not at all), but usually have the same triangles in the same order: match corner by corner. If another
 * program triangulated polygons or sorted faces differently, match by vertex number, provided that enough edges
 * agree. Compression sorts triangles and vertices: match by connectivity then. */
#include "core/mesh.h"

#include <math.h>
#include <stdlib.h>

/* Matching by number is accepted when this fraction of the edges exists in both meshes: other diagonals of polygons
 * keep four of five edges, another order of vertices almost none. */
#define EDGES_IN_COMMON 0.5

/* Matches by triangles; PELT_NONE for vertices that no triangle uses. False when the triangles differ; *bad: first
 * corner that does. */
static bool by_triangles(const pelt_mesh *mesh, const pelt_mesh *other, uint32_t *vertices, size_t *bad) {
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        vertices[i] = PELT_NONE;
    *bad = 0;
    if (mesh->triangle_count != other->triangle_count)
        return false;
    for (size_t c = 0; c < 3 * (size_t)mesh->triangle_count; c++) {
        uint32_t *vertex = &vertices[mesh->triangles[c]], found = other->triangles[c];
        if (*vertex == PELT_NONE)
            *vertex = found;
        const float *a = other->positions + 3 * (size_t)*vertex, *b = other->positions + 3 * (size_t)found;
        *bad = c;
        if (a[0] != b[0] || a[1] != b[1] || a[2] != b[2])
            return false;
    }
    return true;
}

/* Matches the remaining vertices by number: points of `other` to vertices or points of the mesh, or vertices of `other`
 * to vertices of the mesh, repeated per part (parts that shared vertices are written with all of them each). False when
 * the counts do not fit. */
static bool by_numbers(const pelt_mesh *mesh, const pelt_mesh *other, uint32_t *vertices) {
    bool by_vertex = other->points.count == mesh->vertex_count;
    uint32_t copies = other->vertex_count ? mesh->vertex_count / other->vertex_count : 0;
    if (by_vertex || other->points.count == mesh->points.count) {
        for (uint32_t i = 0; i < mesh->vertex_count; i++)
            if (vertices[i] == PELT_NONE)
                vertices[i] = pelt_class_vertex(&other->points, by_vertex ? i : pelt_vertex_class(&mesh->points, i));
        return true;
    }
    if (copies == 0 || copies * other->vertex_count != mesh->vertex_count || copies > mesh->part_count)
        return false;
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        if (vertices[i] == PELT_NONE)
            vertices[i] = i % other->vertex_count;
    return true;
}

static bool is_edge(const px_neighbours *n, uint32_t a, uint32_t b) {
    for (size_t e = n->offsets[a]; e < n->offsets[a + 1]; e++)
        if (n->items[e] == b)
            return true;
    return false;
}

/* *agree: true when enough edges of the mesh are edges of `other` too. */
static pelt_result surfaces_agree(px_arena *scratch, const pelt_mesh *mesh, const pelt_mesh *other,
                                  const uint32_t *vertices, bool *agree) {
    px_neighbours edges;
    PX_TRY(px_neighbours_make(scratch, other, &other->points, &edges));
    size_t common = 0, count = 3 * (size_t)mesh->triangle_count;
    for (size_t e = 0; e < count; e++)
        common += is_edge(&edges, pelt_vertex_class(&other->points, vertices[mesh->triangles[e]]),
                          pelt_vertex_class(&other->points, vertices[mesh->triangles[e % 3 == 2 ? e - 2 : e + 1]]));
    *agree = (double)common >= EDGES_IN_COMMON * (double)count;
    return PELT_OK;
}

/* ---- Matching by connectivity ----------------------------------------------------------------------------- */

/* Colour refinement (Weisfeiler and Lehman 1968): a vertex's colour becomes a hash of its own and of those around it, in
 * the order of each triangle, until no class of equal colours splits any more. Irregular meshes end with a colour for
 * each vertex. Where symmetric vertices remain, one of them is paired with the nearest of its colour in the other mesh,
 * and refinement goes on. Vertices of equal colour need not be symmetric: where the meshes then differ, the next nearest is
 * tried. */
/* Pairs: most meshes need none, a symmetric one two, one that is cut into many charts hundreds, which are allowed where pairs
 * times vertices are no more than PAIRED_MAX. */
#define PAIRS_MAX   64
#define PAIRED_MAX  (1u << 24)
#define CHOICES_MAX 32 /* for one pair */

typedef struct coloured {
    const pelt_mesh *mesh;
    uint64_t *colours, *next; /* [vertex] */
    uint32_t *sorted;         /* [vertex] by colour, then by number */
    uint64_t *keys;           /* [vertex] colours in that order */
    double *around;           /* [vertex][5] see find_around; set where pairs are needed */
} coloured;

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t x = a * 0x9E3779B97F4A7C15u ^ (b + 0x632BE59BD9B4E019u);
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

static void refine(coloured *c) {
    uint32_t count = c->mesh->vertex_count;
    memset(c->next, 0, count * sizeof *c->next);
    for (size_t t = 0; t < c->mesh->triangle_count; t++) {
        const uint32_t *v = c->mesh->triangles + 3 * t;
        for (int k = 0; k < 3; k++)
            c->next[v[k]] += mix(c->colours[v[(k + 1) % 3]], mix(c->colours[v[(k + 2) % 3]], 1));
    }
    for (uint32_t i = 0; i < count; i++)
        c->colours[i] = mix(c->colours[i], c->next[i]);
}

typedef struct keyed {
    uint64_t colour;
    uint32_t vertex;
} keyed;

static int compare_keyed(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->colour != y->colour)
        return x->colour < y->colour ? -1 : 1;
    return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

/* Sorts the vertices by colour; returns the number of colours. */
static uint32_t sort_colours(coloured *c, keyed *scratch) {
    uint32_t count = c->mesh->vertex_count, colours = 0;
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = (keyed){c->colours[i], i};
    px_sort(scratch, count, sizeof *scratch, compare_keyed);
    for (uint32_t i = 0; i < count; i++) {
        c->sorted[i] = scratch[i].vertex;
        c->keys[i] = scratch[i].colour;
        colours += i == 0 || scratch[i].colour != scratch[i - 1].colour;
    }
    return colours;
}

static pelt_result new_colours(px_arena *scratch, const pelt_mesh *mesh, coloured *c) {
    uint32_t count = mesh->vertex_count;
    *c = (coloured){mesh,
                    PX_NEW(scratch, uint64_t, count),
                    PX_NEW(scratch, uint64_t, count),
                    PX_NEW(scratch, uint32_t, count),
                    PX_NEW(scratch, uint64_t, count),
                    NULL};
    return c->colours && c->next && c->sorted && c->keys ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Refines both until the number of colours stays; false where the meshes turn out to differ. */
static bool refine_both(coloured c[2], keyed *scratch, uint32_t *colours) {
    for (uint32_t last = 0;; last = *colours) {
        *colours = sort_colours(&c[0], scratch);
        sort_colours(&c[1], scratch);
        if (memcmp(c[0].keys, c[1].keys, c[0].mesh->vertex_count * sizeof *c[0].keys) != 0)
            return false;
        if (*colours == last || *colours == c[0].mesh->vertex_count)
            return true;
        refine(&c[0]);
        refine(&c[1]);
    }
}

/* Means of position and texture coordinates over the corners of the triangles around each vertex: coincident vertices of
 * neighbouring charts differ in them. */
static pelt_result find_around(px_arena *scratch, coloured *c) {
    const pelt_mesh *mesh = c->mesh;
    uint32_t *corners = PX_NEW(scratch, uint32_t, mesh->vertex_count);
    if (!corners || !(c->around = PX_NEW(scratch, double, 5 * (size_t)mesh->vertex_count)))
        return PELT_ERROR_MEMORY;
    for (size_t e = 0; e < 9 * (size_t)mesh->triangle_count; e++) { /* e / 3 is a corner of the triangle e / 9 */
        size_t v = mesh->triangles[e / 3], other = mesh->triangles[3 * (e / 9) + e % 3];
        for (size_t x = 0; x < 3; x++)
            c->around[5 * v + x] += (double)mesh->positions[3 * other + x];
        for (size_t x = 0; x < 2 && mesh->uvs; x++)
            c->around[5 * v + 3 + x] += (double)mesh->uvs[2 * other + x];
        corners[v]++;
    }
    for (size_t e = 0; e < 5 * (size_t)mesh->vertex_count; e++)
        c->around[e] /= corners[e / 5] ? corners[e / 5] : 1;
    return PELT_OK;
}

/* How unlike vertices a of mesh 0 and b of mesh 1 are: the distance of their texture coordinates, which stay where rest poses
 * differ; of those with the same ones (within 2⁻¹¹) their own distance. Squared, of the means around them. */
static double apart(const coloured c[2], uint32_t a, uint32_t b) {
    const double *p = c[0].around + 5 * (size_t)a, *q = c[1].around + 5 * (size_t)b;
    double square = 0, texture = 0;
    for (size_t x = 0; x < 5; x++)
        *(x < 3 ? &square : &texture) += (p[x] - q[x]) * (p[x] - q[x]);
    bool textured = c[0].mesh->uvs && c[1].mesh->uvs && texture > 0x1p-22;
    return textured ? 1e30 * texture : square;
}

/* Gives the first vertex whose colour is not its own, and the one of this colour in the other mesh to which `choice` others
 * are nearer, a new one. False where all that remain have no triangles, or there is no such choice. */
static bool pair_next(coloured c[2], uint64_t fresh, uint32_t choice) {
    uint32_t count = c[0].mesh->vertex_count, first = 0, end;
    while (first + 1 < count && (c[0].keys[first] != c[0].keys[first + 1] || c[0].next[c[0].sorted[first]] == 0))
        first++;
    if (first + 1 >= count)
        return false;
    for (end = first; end < count && c[1].keys[end] == c[0].keys[first];)
        end++;
    uint32_t a = c[0].sorted[first];
    for (uint32_t n = first; n < end; n++) {
        double own = apart(c, a, c[1].sorted[n]);
        uint32_t nearer = 0;
        for (uint32_t m = first; m < end && nearer <= choice; m++) {
            double other = apart(c, a, c[1].sorted[m]);
            nearer += other < own || (other == own && m < n);
        }
        if (nearer != choice)
            continue;
        c[0].colours[a] = c[1].colours[c[1].sorted[n]] = fresh;
        return true;
    }
    return false;
}

/* What a pair changes: colours of both meshes and what is around them. */
static void copy_colours(const coloured from[2], coloured to[2]) {
    for (int m = 0; m < 2; m++) {
        uint32_t count = from[m].mesh->vertex_count;
        memcpy(to[m].colours, from[m].colours, count * sizeof *to[m].colours);
        memcpy(to[m].next, from[m].next, count * sizeof *to[m].next);
        memcpy(to[m].sorted, from[m].sorted, count * sizeof *to[m].sorted);
        memcpy(to[m].keys, from[m].keys, count * sizeof *to[m].keys);
    }
}

/* *same: the meshes have the same connectivity; vertices are matched. Those without triangles are matched in order. */
static pelt_result by_connectivity(px_arena *scratch, const pelt_mesh *mesh, const pelt_mesh *other, uint32_t *vertices,
                                   bool *same) {
    coloured c[2], before[2];
    uint32_t count = mesh->vertex_count, colours, choice, most = PAIRED_MAX / (count + 1);
    most = most > PAIRS_MAX ? most : PAIRS_MAX;
    *same = false;
    if (count != other->vertex_count || mesh->triangle_count != other->triangle_count || mesh->triangle_count == 0)
        return PELT_OK;
    keyed *keys = PX_NEW(scratch, keyed, count);
    PX_TRY(new_colours(scratch, mesh, &c[0]));
    PX_TRY(new_colours(scratch, other, &c[1]));
    if (!keys)
        return PELT_ERROR_MEMORY;
    *same = refine_both(c, keys, &colours);
    for (uint64_t pair = 1; *same && colours < count; pair++) {
        bool matched = false;
        if (pair == 1) { /* most meshes need no pair */
            PX_TRY(new_colours(scratch, mesh, &before[0]));
            PX_TRY(new_colours(scratch, other, &before[1]));
            PX_TRY(find_around(scratch, &c[0]));
            PX_TRY(find_around(scratch, &c[1]));
        }
        copy_colours(c, before);
        for (choice = 0; pair <= most && choice < CHOICES_MAX && !matched && pair_next(c, pair, choice); choice++)
            if (!(matched = refine_both(c, keys, &colours)))
                copy_colours(before, c);
        if (!matched && choice == 0 && pair <= most) /* those that are left have no triangles */
            break;
        *same = matched;
    }
    for (uint32_t i = 0; *same && i < count; i++)
        vertices[c[0].sorted[i]] = c[1].sorted[i];
    return PELT_OK;
}

/* ---- All ways --------------------------------------------------------------------------------------------- */

static pelt_result match(pelt_context *context, px_arena *scratch, const pelt_model *model, const pelt_model *other,
                         uint32_t *vertices) {
    const pelt_mesh *mesh = &model->mesh, *from = &other->mesh;
    size_t bad;
    if (by_triangles(mesh, from, vertices, &bad)) {
        bool known = by_numbers(mesh, from, vertices) || mesh->triangle_count;
        return known ? PELT_OK
                     : px_fail(context, PELT_ERROR_INPUT, "%s has %u vertices, %s has %u: they must be the same mesh",
                               model->path, mesh->vertex_count, other->path, from->vertex_count);
    }
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        vertices[i] = PELT_NONE;
    bool agree = false;
    if (by_numbers(mesh, from, vertices))
        PX_TRY(surfaces_agree(scratch, mesh, from, vertices, &agree));
    if (!agree)
        PX_TRY(by_connectivity(scratch, mesh, from, vertices, &agree));
    if (agree)
        return PELT_OK;
    if (mesh->triangle_count != from->triangle_count)
        return px_fail(context, PELT_ERROR_INPUT,
                       "%s has %u triangles and %u vertices, %s has %u and %u: they must be the same mesh", model->path,
                       mesh->triangle_count, mesh->vertex_count, other->path, from->triangle_count, from->vertex_count);
    return px_fail(context, PELT_ERROR_INPUT,
                   "%s: triangle %zu has other corners than that of %s, whose vertex %u it would tear apart: keep "
                   "faces or vertices as they are, and in their order",
                   other->path, bad / 3, model->path, mesh->triangles[bad]);
}

pelt_result pelt_model_match(pelt_context *context, const pelt_model *model, const pelt_model *other,
                             uint32_t *vertices) {
    px_arena *scratch = px_arena_create(context);
    pelt_result result = scratch ? match(context, scratch, model, other, vertices) : PELT_ERROR_MEMORY;
    px_arena_destroy(scratch);
    return result;
}

pelt_result pelt_model_take_points(pelt_context *context, pelt_model *model, const pelt_model *source) {
    pelt_mesh *mesh = &model->mesh;
    uint32_t *points = pelt_model_alloc(context, model, mesh->vertex_count, sizeof *points);
    if (!points)
        return PELT_ERROR_MEMORY;
    PX_TRY(pelt_model_match(context, model, source, points));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        if (points[i] == PELT_NONE)
            return px_fail(context, PELT_ERROR_INPUT,
                           "%s has no vertex for vertex %u of %s, which no triangle uses: remove it there",
                           source->path, i, model->path);
        points[i] = pelt_vertex_class(&source->mesh.points, points[i]);
    }
    return pelt_model_set_points(context, model, source->mesh.points.count, points);
}
