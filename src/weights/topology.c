/* Topological symmetry: which row is the mirror image of which, by the connections of the mesh alone.
 *
 * Walk from an edge of the middle line over both sides at once. Half-edge h of a polygon on one side and half-edge g of
 * its mirror image, which is traversed the other way round: the start of h is the image of the end of g. Around the
 * polygons next(h) is the image of previous(g); across the edges twin(h) is the image of twin(g). Rows with different
 * numbers of edges are no images of each other; there the walk does not go on.
 *
 * Exporters cut quads into triangles without regard to symmetry. Files without polygons are tried as they are, and with
 * every two consecutive triangles that share an edge joined to a quad.
 */
#include "weights/topology.h"

#include <math.h>
#include <stdlib.h>

#define MAX_SEEDS     400u /* edges of a shell that are tried */
#define MAX_CONFLICTS 8u   /* contradictions after which a seed is given up */
#define GOOD_SHARE    0.98 /* of a shell's rows with an image: no other seed is tried */
#define LEAST_SHARE   0.8  /* of a shell's rows: with fewer images it is not symmetric */

#define LEAST_COSINE 0.8   /* between the axis and the way from an image to its row, on average */
#define MAX_LEAN     0.005 /* of the diagonal: mean distance of a middle line from the plane */

/* Polygons as half-edges. Those of a polygon are consecutive. */
typedef struct half_edges {
    uint32_t count;
    uint32_t *rows;     /* [half-edge] where it starts */
    uint32_t *next;     /* [half-edge] of the same polygon */
    uint32_t *previous; /* [half-edge] of the same polygon */
    uint32_t *twins;    /* [half-edge] of the other polygon at the edge; PELT_NONE: none, or more than one */
    uint32_t *polygons; /* [half-edge] */
    uint32_t row_count;
    uint32_t *valences; /* [row] half-edges that start there */
} half_edges;

typedef struct walk {
    const half_edges *edges;
    uint32_t *partners; /* [row] */
    int8_t *sides;      /* [row] */
    uint8_t *visited;   /* [polygon] */
    uint32_t *queue;    /* [2 · half-edge] pairs */
    uint32_t *touched;  /* rows that the walk has set, in order */
    uint32_t touched_count, polygon_count, conflicts;
    uint32_t *walked; /* polygons that it has visited */
} walk;

/* ---- Half-edges ------------------------------------------------------------------------------------------- */

static bool share_edge(const uint32_t *a, const uint32_t *b, uint32_t quad[4]) {
    for (int e = 0; e < 3; e++)
        for (int f = 0; f < 3; f++)
            if (a[e] == b[(f + 1) % 3] && a[(e + 1) % 3] == b[f]) {
                uint32_t loop[] = {a[e], b[(f + 2) % 3], a[(e + 1) % 3], a[(e + 2) % 3]};
                memcpy(quad, loop, sizeof loop);
                return true;
            }
    return false;
}

static void add_polygon(half_edges *h, uint32_t polygon, const uint32_t *rows, uint32_t size) {
    for (uint32_t e = 0; e < size; e++) {
        uint32_t at = h->count + e;
        h->rows[at] = rows[e];
        h->next[at] = h->count + (e + 1) % size;
        h->previous[at] = h->count + (e + size - 1) % size;
        h->polygons[at] = polygon;
        h->valences[rows[e]]++;
    }
    h->count += size;
}

/* Finds the twins: exactly two half-edges at an edge, in opposite directions. */
static pelt_result find_twins(px_arena *arena, half_edges *h) {
    px_side *sides = PX_NEW(arena, px_side, h->count);
    if (!sides)
        return PELT_ERROR_MEMORY;
    for (uint32_t e = 0; e < h->count; e++) {
        uint32_t a = h->rows[e], b = h->rows[h->next[e]];
        sides[e] = (px_side){a < b ? a : b, a < b ? b : a, e};
        h->twins[e] = PELT_NONE;
    }
    px_sides_sort(sides, h->count);
    for (size_t first = 0, end; first < h->count; first = end) {
        for (end = first + 1;
             end < h->count && sides[end].low == sides[first].low && sides[end].high == sides[first].high;)
            end++;
        uint32_t a = sides[first].corner, b = end == first + 2 ? sides[first + 1].corner : PELT_NONE;
        if (b != PELT_NONE && h->rows[a] != h->rows[b]) {
            h->twins[a] = b;
            h->twins[b] = a;
        }
    }
    return PELT_OK;
}

/* `triangles` [triangle][3]: rows. `quads`: join consecutive triangles. Polygons of the file come first. */
static pelt_result make_edges(px_arena *arena, const pelt_mesh *mesh, const uint32_t *triangles, bool quads,
                              half_edges *h, uint32_t *polygon_count) {
    size_t most = 3 * (size_t)mesh->triangle_count;
    *h = (half_edges){.row_count = mesh->weld.count};
    h->rows = PX_NEW(arena, uint32_t, most);
    h->next = PX_NEW(arena, uint32_t, most);
    h->previous = PX_NEW(arena, uint32_t, most);
    h->twins = PX_NEW(arena, uint32_t, most);
    h->polygons = PX_NEW(arena, uint32_t, most);
    h->valences = PX_NEW(arena, uint32_t, mesh->weld.count);
    uint32_t *loop = PX_NEW(arena, uint32_t, (size_t)mesh->triangle_count + 2);
    if (!h->rows || !h->next || !h->previous || !h->twins || !h->polygons || !h->valences || !loop)
        return PELT_ERROR_MEMORY;
    *polygon_count = 0;
    for (uint32_t t = 0; t < mesh->triangle_count;) {
        const uint32_t *rows = triangles + 3 * (size_t)t;
        uint32_t size = 3, end = t + 1;
        memcpy(loop, rows, 3 * sizeof *loop);
        if (mesh->triangle_polygons) {
            for (; end < mesh->triangle_count && mesh->triangle_polygons[end] == mesh->triangle_polygons[t]; end++)
                loop[size++] = triangles[3 * (size_t)end + 2];
        } else if (quads && end < mesh->triangle_count && share_edge(rows, rows + 3, loop)) {
            size = 4;
            end++;
        }
        add_polygon(h, (*polygon_count)++, loop, size);
        t = end;
    }
    return find_twins(arena, h);
}

/* ---- The walk --------------------------------------------------------------------------------------------- */

/* Notes that two rows are images of each other. Returns false if that contradicts what is known. */
static bool pair_rows(walk *w, uint32_t a, uint32_t b) {
    if (w->partners[a] == b && w->partners[b] == a)
        return true;
    if (w->partners[a] != PELT_NONE || w->partners[b] != PELT_NONE || w->edges->valences[a] != w->edges->valences[b])
        return false;
    w->partners[a] = b;
    w->partners[b] = a;
    w->sides[a] = a == b ? 0 : 1;
    w->sides[b] = a == b ? 0 : -1;
    w->touched[w->touched_count++] = a;
    if (a != b)
        w->touched[w->touched_count++] = b;
    return true;
}

/* Pairs the polygons of h and g. */
static bool pair_polygons(walk *w, uint32_t h, uint32_t g) {
    const half_edges *edges = w->edges;
    uint32_t a = h, b = g, size = 0, other = 0;
    do
        size++;
    while ((a = edges->next[a]) != h);
    do
        other++;
    while ((b = edges->next[b]) != g);
    if (size != other)
        return false;
    do { /* the end of g is the image of the start of h */
        if (!pair_rows(w, edges->rows[a], edges->rows[edges->next[b]]))
            return false;
        a = edges->next[a];
        b = edges->previous[b];
    } while (a != h);
    return true;
}

/* Walks from a half-edge on the middle line. */
static void run_walk(walk *w, uint32_t seed) {
    const half_edges *edges = w->edges;
    uint32_t end = 0;
    w->queue[end++] = seed;
    w->queue[end++] = edges->twins[seed];
    for (uint32_t at = 0; at < end && w->conflicts <= MAX_CONFLICTS; at += 2) {
        uint32_t h = w->queue[at], g = w->queue[at + 1], p = edges->polygons[h], q = edges->polygons[g];
        if (w->visited[p] || w->visited[q])
            continue;
        if (!pair_polygons(w, h, g)) {
            w->conflicts++;
            continue;
        }
        w->visited[p] = w->visited[q] = 1;
        w->walked[w->polygon_count++] = p;
        if (p != q)
            w->walked[w->polygon_count++] = q;
        uint32_t a = h, b = g;
        do {
            uint32_t c = edges->twins[a], d = edges->twins[b];
            if (c != PELT_NONE && d != PELT_NONE && c != b) {
                w->queue[end++] = c;
                w->queue[end++] = d;
            }
            a = edges->next[a];
            b = edges->previous[b];
        } while (a != h);
    }
}

static void forget(walk *w) {
    for (uint32_t n = 0; n < w->touched_count; n++)
        w->partners[w->touched[n]] = PELT_NONE;
    for (uint32_t n = 0; n < w->polygon_count; n++)
        w->visited[w->walked[n]] = 0;
    w->touched_count = w->polygon_count = w->conflicts = 0;
}

/* ---- Seeds ------------------------------------------------------------------------------------------------ */

typedef struct seed {
    uint32_t shell, edge;
    float distance; /* of its ends from the plane, added */
} seed;

static int compare_seeds(const void *a, const void *b) {
    const seed *left = a, *right = b;
    if (left->shell != right->shell)
        return left->shell < right->shell ? -1 : 1;
    if (left->distance != right->distance)
        return left->distance < right->distance ? -1 : 1;
    return (left->edge > right->edge) - (left->edge < right->edge);
}

/* Numbers the connected components: shells [row] is the smallest row of each; sizes [row] their rows. */
static void find_shells(const half_edges *h, uint32_t *shells, uint32_t *sizes) {
    for (uint32_t r = 0; r < h->row_count; r++) {
        shells[r] = r;
        sizes[r] = 0;
    }
    for (uint32_t e = 0; e < h->count; e++) { /* disjoint sets with path halving; the smaller row is the root */
        uint32_t a = h->rows[e], b = h->rows[h->next[e]];
        while (shells[a] != a)
            a = shells[a] = shells[shells[a]];
        while (shells[b] != b)
            b = shells[b] = shells[shells[b]];
        shells[a > b ? a : b] = a < b ? a : b;
    }
    for (uint32_t r = 0; r < h->row_count; r++) {
        shells[r] = shells[shells[r]];
        sizes[shells[r]]++;
    }
}

/* Whether the walk mirrors across the plane, not a sleeve onto itself: images lie apart along the axis, and, unless the
 * shell may lean away from the plane (`may_lean`), its middle line is near it. */
static bool is_across(const walk *w, const px_symmetry_query *query, bool may_lean) {
    double along = 0, apart = 0, off = 0, middle = 0;
    for (uint32_t n = 0; n < w->touched_count; n++) {
        size_t row = w->touched[n], image = w->partners[row];
        double step = (double)query->positions[3 * row + query->plane.axis] -
                      (double)query->positions[3 * image + query->plane.axis];
        if (row == image) {
            off += fabs((double)query->positions[3 * row + query->plane.axis] - query->plane.at);
            middle++;
        } else if (w->sides[row] > 0) {
            along += step;
            apart += px_row_distance(query->positions, row, image);
        }
    }
    return fabs(along) > LEAST_COSINE * apart && (may_lean || off <= MAX_LEAN * query->diagonal * middle);
}

/* Walks every shell from its best seed. Returns the number of rows with an image. */
static uint32_t walk_shells(walk *w, const px_symmetry_query *query, const uint32_t *shells, const uint32_t *sizes,
                            const seed *seeds, uint32_t seed_count) {
    uint32_t total = 0, largest = 0;
    for (uint32_t r = 0; r < w->edges->row_count; r++)
        largest = sizes[r] > sizes[largest] ? r : largest;
    if (query->seed[0] != PELT_NONE)
        largest = shells[query->seed[0]];
    for (uint32_t first = 0, end; first < seed_count; first = end) {
        uint32_t size = sizes[seeds[first].shell], best = PELT_NONE, most = 0;
        for (end = first; end < seed_count && seeds[end].shell == seeds[first].shell;)
            end++;
        for (uint32_t n = first; n < end && n < first + MAX_SEEDS && most < GOOD_SHARE * size; n++) {
            run_walk(w, seeds[n].edge);
            if (w->conflicts <= MAX_CONFLICTS && w->touched_count > most &&
                is_across(w, query, seeds[n].shell == largest)) {
                most = w->touched_count;
                best = seeds[n].edge;
            }
            forget(w);
        }
        if (best != PELT_NONE && most >= LEAST_SHARE * size) {
            run_walk(w, best);
            total += w->touched_count;
            w->touched_count = w->polygon_count = w->conflicts = 0;
        }
    }
    return total;
}

/* Lists the edges that may lie on the middle line: those of two polygons, near the plane first; or only `given`. */
static pelt_result list_seeds(px_arena *arena, const half_edges *h, const px_symmetry_query *query,
                              const uint32_t *shells, seed **out, uint32_t *count) {
    *count = 0;
    if (!(*out = PX_NEW(arena, seed, h->count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t e = 0; e < h->count; e++) {
        uint32_t a = h->rows[e], b = h->rows[h->next[e]];
        if (h->twins[e] == PELT_NONE || h->twins[e] < e)
            continue;
        bool given = (a == query->seed[0] && b == query->seed[1]) || (b == query->seed[0] && a == query->seed[1]);
        if (query->seed[0] != PELT_NONE && shells[a] == shells[query->seed[0]] && !given)
            continue;
        double x = (double)query->positions[3 * (size_t)a + query->plane.axis] - query->plane.at;
        double y = (double)query->positions[3 * (size_t)b + query->plane.axis] - query->plane.at;
        (*out)[(*count)++] = (seed){shells[a], e, (float)(fabs(x) + fabs(y))};
    }
    px_sort(*out, *count, sizeof **out, compare_seeds);
    return PELT_OK;
}

/* Turns the sides of each shell so that 1 is the positive one: where its rows are on average beyond their images. */
static void orient(const walk *w, const px_symmetry_query *query, const uint32_t *shells, double *sums) {
    uint32_t axis = query->plane.axis;
    for (size_t r = 0; r < w->edges->row_count; r++)
        if (w->partners[r] != PELT_NONE && w->sides[r] > 0)
            sums[shells[r]] +=
                (double)query->positions[3 * r + axis] - (double)query->positions[3 * (size_t)w->partners[r] + axis];
    for (size_t r = 0; r < w->edges->row_count; r++)
        if (sums[shells[r]] < 0)
            w->sides[r] = (int8_t)-w->sides[r];
}

static pelt_result walk_mesh(px_arena *arena, const pelt_mesh *mesh, const px_symmetry_query *query, bool quads,
                             px_symmetry *out) {
    half_edges edges;
    uint32_t polygon_count, seed_count, rows = mesh->weld.count;
    seed *seeds;
    PX_TRY(make_edges(arena, mesh, query->triangles, quads, &edges, &polygon_count));
    walk w = {.edges = &edges,
              .partners = PX_NEW(arena, uint32_t, rows),
              .sides = PX_NEW(arena, int8_t, rows),
              .visited = PX_NEW(arena, uint8_t, polygon_count),
              .queue = PX_NEW(arena, uint32_t, 2 * (size_t)edges.count + 2),
              .touched = PX_NEW(arena, uint32_t, rows),
              .walked = PX_NEW(arena, uint32_t, polygon_count)};
    uint32_t *shells = PX_NEW(arena, uint32_t, rows), *sizes = PX_NEW(arena, uint32_t, rows);
    double *sums = PX_NEW(arena, double, rows);
    if (!w.partners || !w.sides || !w.visited || !w.queue || !w.touched || !w.walked || !shells || !sizes || !sums)
        return PELT_ERROR_MEMORY;
    memset(w.partners, 0xFF, rows * sizeof *w.partners);
    find_shells(&edges, shells, sizes);
    PX_TRY(list_seeds(arena, &edges, query, shells, &seeds, &seed_count));
    uint32_t count = walk_shells(&w, query, shells, sizes, seeds, seed_count);
    orient(&w, query, shells, sums);
    if (!out->partners || count > out->count)
        *out = (px_symmetry){count, w.partners, w.sides};
    return PELT_OK;
}

pelt_result px_symmetry_find(px_arena *arena, const pelt_mesh *mesh, const px_symmetry_query *query, px_symmetry *out) {
    *out = (px_symmetry){0};
    PX_TRY(walk_mesh(arena, mesh, query, false, out));
    if (!mesh->triangle_polygons && out->count < GOOD_SHARE * mesh->weld.count)
        PX_TRY(walk_mesh(arena, mesh, query, true, out));
    return PELT_OK;
}
