/* Connected pieces of fine voxels.
 *
 * A voxel with triangles has one piece per sheet, a connected component of the triangles within it; an interior voxel
 * is one piece. Pieces of neighbouring voxels are joined where a sheet continues across the face, and where only
 * interior lies between them. Surfaces separated by a gap, however narrow, or only in contact, are not joined. */
#include "core/mesh.h"
#include "jiggle/lattice.h"
#include "voxel/buckets.h"

#include <math.h>

#define MAX_SHEETS 16u /* per voxel; more of them (hair, fragments) are merged into one */

typedef struct maker {
    pelt_context *context;
    px_arena *arena;
    const px_lattice_source *source;
    uint32_t *triangles; /* [triangle][3] of the source, plus one degenerate triangle per unused vertex */
    uint32_t triangle_count;
    px_neighbours edges; /* edges between vertices; the index into its items identifies an edge */
    px_voxels voxels;
    uint32_t (*neighbours)[6]; /* [voxel] */
    px_sheets sheets;
    uint32_t *voxel_pieces;  /* [voxel + 1] its first piece */
    px_sheet *pieces;        /* [piece]; interior: count 0 */
    uint32_t *vertex_voxels; /* [vertex] */
    px_pairs joins;
} maker;

/* ---- Voxels ----------------------------------------------------------------------------------------------- */

/* A grid centred on the bounding box, padded to whole cells of PX_LATTICE_FINE voxels. */
static px_grid grid_of(const px_lattice_source *source, uint32_t resolution) {
    float low[3], high[3];
    px_box(source->positions, source->vertex_count, low, high);
    px_grid grid = px_grid_around(low, high, resolution);
    for (int c = 0; c < 3; c++) {
        uint32_t more = (PX_LATTICE_FINE - grid.size[c] % PX_LATTICE_FINE) % PX_LATTICE_FINE;
        grid.origin[c] -= 0.5 * more * grid.cell[c];
        grid.size[c] += more;
    }
    return grid;
}

static pelt_result take_triangles(maker *m) {
    const px_lattice_source *source = m->source;
    uint8_t *used = PX_NEW(m->arena, uint8_t, source->vertex_count);
    if (!used)
        return PELT_ERROR_MEMORY;
    for (size_t e = 0; e < 3 * (size_t)source->triangle_count; e++)
        used[source->triangles[e]] = 1;
    size_t all = source->triangle_count;
    for (uint32_t i = 0; i < source->vertex_count; i++)
        all += !used[i];
    m->triangles = all <= UINT32_MAX ? PX_NEW(m->arena, uint32_t, 3 * all) : NULL;
    if (!m->triangles)
        return px_fail_memory(m->context);
    if (source->triangle_count)
        memcpy(m->triangles, source->triangles, 3 * (size_t)source->triangle_count * sizeof *m->triangles);
    m->triangle_count = source->triangle_count;
    for (uint32_t i = 0; i < source->vertex_count; i++)
        if (!used[i]) {
            uint32_t *triangle = m->triangles + 3 * (size_t)m->triangle_count++;
            triangle[0] = triangle[1] = triangle[2] = i;
        }
    return PELT_OK;
}

static pelt_result make_voxels(maker *m, const px_grid *grid) {
    const px_lattice_source *source = m->source;
    px_voxel_contents contents;
    PX_TRY(px_voxels_make(m->context, m->arena, source->positions, source->vertex_count, m->triangles,
                          m->triangle_count, grid, PX_VIEWS_ALL, &m->voxels));
    PX_TRY(px_voxels_contents(m->context, m->arena, source->positions, source->vertex_count, m->triangles,
                              m->triangle_count, &m->voxels, &contents));
    m->neighbours = px_arena_alloc(m->arena, m->voxels.count, sizeof *m->neighbours);
    m->vertex_voxels = PX_NEW(m->arena, uint32_t, source->vertex_count);
    double(*points)[3] = px_arena_alloc(m->arena, source->vertex_count, sizeof *points);
    if (!m->neighbours || !m->vertex_voxels || !points)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < source->vertex_count; i++) {
        uint32_t cell[3];
        px_grid_cell(grid, source->positions + 3 * i, cell);
        m->vertex_voxels[i] = px_voxel_at(&m->voxels, cell[0], cell[1], cell[2]);
        for (size_t c = 0; c < 3; c++)
            points[i][c] = (source->positions[3 * i + c] - grid->origin[c]) / grid->cell[c];
    }
    m->sheets = (px_sheets){.voxels = &m->voxels,
                            .triangles = m->triangles,
                            .points = points,
                            .firsts = contents.firsts,
                            .items = contents.triangles};
    return px_voxels_neighbours(m->context, &m->voxels, m->neighbours);
}

/* ---- Sheets of a voxel ------------------------------------------------------------------------------------ */

static uint32_t edge_number(const px_neighbours *edges, uint32_t a, uint32_t b) {
    uint32_t from = a < b ? a : b, to = a < b ? b : a;
    size_t low = edges->offsets[from], high = edges->offsets[from + 1];
    while (edges->items[low] != to) {
        size_t middle = low + (high - low) / 2;
        if (edges->items[middle] <= to)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* Returns true if the segment from a to b intersects or touches a voxel. */
static bool passes(const uint16_t cell[3], const double a[3], const double b[3]) {
    double from = 0, to = 1;
    for (int c = 0; c < 3; c++) {
        double way = b[c] - a[c], low = cell[c] - 1e-6 - a[c], high = cell[c] + 1 + 1e-6 - a[c];
        if (way != 0) {
            from = px_fmax(from, px_fmin(low / way, high / way));
            to = px_fmin(to, px_fmax(low / way, high / way));
        } else if (low > 0 || high < 0) {
            return false;
        }
    }
    return from <= to;
}

/* A mark is 1 + the last item that visited the vertex or edge. Marks of earlier voxels are at most the voxel's first
 * item, so they need no clearing. */
typedef struct marks {
    uint32_t *vertices, *edges; /* [vertex], [edge] */
    uint32_t *leaders;          /* [item of the voxel] union-find */
} marks;

static void join_item(const maker *m, const marks *k, uint32_t voxel, uint32_t item) {
    uint32_t first = m->sheets.firsts[voxel];
    const uint32_t *corners = m->triangles + 3 * (size_t)m->sheets.items[item];
    for (int c = 0; c < 3; c++) {
        uint32_t a = corners[c], b = corners[(c + 1) % 3];
        if (m->vertex_voxels[a] == voxel) {
            if (k->vertices[a] > first)
                px_group_join(k->leaders, k->vertices[a] - 1 - first, item - first);
            k->vertices[a] = item + 1;
        }
        if (a == b)
            continue;
        uint32_t *mark = &k->edges[edge_number(&m->edges, a, b)];
        if (*mark > first && passes(m->voxels.cells[voxel], m->sheets.points[a], m->sheets.points[b]))
            px_group_join(k->leaders, *mark - 1 - first, item - first);
        *mark = item + 1;
    }
}

/* Sorts the items of a voxel by sheet, and appends the sheets to the pieces. `spare` [item of the voxel]: scratch. */
static void split_voxel(maker *m, const marks *k, uint32_t voxel, uint32_t *spare) {
    uint32_t first = m->sheets.firsts[voxel], count = m->sheets.firsts[voxel + 1] - first, sheets = 0, filled = first;
    uint32_t *next = &m->voxel_pieces[voxel + 1];
    *next = m->voxel_pieces[voxel];
    for (uint32_t n = 0; n < count; n++)
        k->leaders[n] = n;
    for (uint32_t n = 0; n < count; n++)
        join_item(m, k, voxel, first + n);
    for (uint32_t n = 0; n < count; n++)
        sheets += px_group_of(k->leaders, n) == n;
    if (sheets <= 1 || sheets > MAX_SHEETS) {
        m->pieces[(*next)++] = (px_sheet){.first = first, .count = count};
        return;
    }
    memcpy(spare, m->sheets.items + first, count * sizeof *spare);
    for (uint32_t leader = 0; leader < count; leader++) {
        if (px_group_of(k->leaders, leader) != leader)
            continue;
        px_sheet *sheet = &m->pieces[(*next)++];
        *sheet = (px_sheet){.first = filled};
        for (uint32_t n = leader; n < count; n++)
            if (px_group_of(k->leaders, n) == leader)
                m->sheets.items[filled++] = spare[n];
        sheet->count = filled - sheet->first;
    }
}

static pelt_result make_sheets(maker *m) {
    uint32_t most = 0, item_count = m->sheets.firsts[m->voxels.count];
    for (uint32_t v = 0; v < m->voxels.count; v++)
        most = (uint32_t)px_max_size(most, m->sheets.firsts[v + 1] - m->sheets.firsts[v]);
    marks k = {.vertices = PX_NEW(m->arena, uint32_t, m->source->vertex_count),
               .edges = PX_NEW(m->arena, uint32_t, m->edges.offsets[m->source->vertex_count]),
               .leaders = PX_NEW(m->arena, uint32_t, most)};
    uint32_t *spare = PX_NEW(m->arena, uint32_t, most);
    m->voxel_pieces = PX_NEW(m->arena, uint32_t, (size_t)m->voxels.count + 1);
    m->pieces = PX_NEW(m->arena, px_sheet, (size_t)m->voxels.interior_count + item_count);
    if (!k.vertices || !k.edges || !k.leaders || !spare || !m->voxel_pieces || !m->pieces)
        return PELT_ERROR_MEMORY;
    for (uint32_t v = 0; v < m->voxels.count; v++)
        split_voxel(m, &k, v, spare);
    for (uint32_t v = 0; v < m->voxels.count; v++)
        for (uint32_t p = m->voxel_pieces[v]; p < m->voxel_pieces[v + 1]; p++)
            px_sheet_sample(&m->sheets, v, &m->pieces[p]);
    return PELT_OK;
}

/* ---- Joining ---------------------------------------------------------------------------------------------- */

static void join(maker *m, uint32_t a, uint32_t b) {
    px_pairs_add(&m->joins, a, b);
    px_pairs_add(&m->joins, b, a);
}

/* Joins an interior voxel with the sheets of the next voxel whose inner side faces it. */
static void join_inside(maker *m, uint32_t inside, uint32_t next, const double face[3]) {
    uint32_t own = m->voxel_pieces[inside], first = m->voxel_pieces[next], end = m->voxel_pieces[next + 1];
    for (uint32_t p = first; p < end; p++)
        if (end - first == 1 || px_sheet_has_inside(&m->sheets, next, &m->pieces[p], face))
            join(m, own, p);
}

/* Joins sheets of two neighbouring voxels: those that share a triangle, and those that bound the same body. `owners`
 * [triangle]: 1 + the piece of `voxel` that contains it. */
static void join_sheets(maker *m, uint32_t voxel, uint32_t next, const uint32_t *owners) {
    for (uint32_t b = m->voxel_pieces[next]; b < m->voxel_pieces[next + 1]; b++)
        for (uint32_t a = m->voxel_pieces[voxel]; a < m->voxel_pieces[voxel + 1]; a++) {
            const px_sheet *sheet = &m->pieces[b];
            uint32_t item = sheet->first;
            while (item < sheet->first + sheet->count && owners[m->sheets.items[item]] != a + 1)
                item++;
            if (item < sheet->first + sheet->count ||
                px_sheets_belong(&m->sheets, voxel, &m->pieces[a], next, &m->pieces[b]))
                join(m, a, b);
        }
}

static pelt_result join_pieces(maker *m) {
    uint32_t *owners = PX_NEW(m->arena, uint32_t, m->triangle_count);
    if (!owners)
        return PELT_ERROR_MEMORY;
    for (uint32_t v = 0; v < m->voxels.count; v++) {
        bool inside = m->sheets.firsts[v + 1] == m->sheets.firsts[v];
        for (uint32_t p = m->voxel_pieces[v]; p < m->voxel_pieces[v + 1]; p++)
            for (uint32_t n = 0; n < m->pieces[p].count; n++)
                owners[m->sheets.items[m->pieces[p].first + n]] = p + 1;
        for (uint32_t a = m->voxel_pieces[v]; a < m->voxel_pieces[v + 1]; a++) /* pieces of one voxel */
            for (uint32_t b = a + 1; b < m->voxel_pieces[v + 1]; b++)
                if (px_sheets_belong(&m->sheets, v, &m->pieces[a], v, &m->pieces[b]))
                    join(m, a, b);
        for (int axis = 0; axis < 3; axis++) {
            uint32_t next = m->neighbours[v][2 * axis + 1];
            if (next == PELT_NONE)
                continue;
            double face[3];
            for (int c = 0; c < 3; c++)
                face[c] = m->voxels.cells[v][c] + (c == axis ? 1 : 0.5);
            bool next_inside = m->sheets.firsts[next + 1] == m->sheets.firsts[next];
            if (inside && next_inside)
                join(m, m->voxel_pieces[v], m->voxel_pieces[next]);
            else if (inside)
                join_inside(m, v, next, face);
            else if (next_inside)
                join_inside(m, next, v, face);
            else
                join_sheets(m, v, next, owners);
        }
    }
    return PELT_OK;
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

static pelt_result take_graph(maker *m, px_graph *graph) {
    px_buckets buckets;
    size_t edge_count = m->joins.count;
    graph->count = m->voxel_pieces[m->voxels.count];
    PX_TRY(px_buckets_make(&m->joins, graph->count, &buckets));
    graph->firsts = PX_NEW(m->arena, uint32_t, (size_t)graph->count + 1);
    graph->to = PX_NEW(m->arena, uint32_t, edge_count);
    graph->weights = PX_NEW(m->arena, float, edge_count);
    bool made = graph->firsts && graph->to && graph->weights;
    if (made) {
        memcpy(graph->firsts, buckets.starts, ((size_t)graph->count + 1) * sizeof *graph->firsts);
        if (edge_count)
            memcpy(graph->to, buckets.values, edge_count * sizeof *graph->to);
    }
    px_buckets_free(m->context, &buckets);
    return made ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result take_pieces(maker *m, px_pieces *out) {
    uint32_t count = m->voxel_pieces[m->voxels.count];
    out->cells = px_arena_alloc(m->arena, count, sizeof *out->cells);
    out->vertex_nodes = PX_NEW(m->arena, uint32_t, m->source->vertex_count);
    out->fills = PX_NEW(m->arena, float, count);
    if (!out->cells || !out->vertex_nodes || !out->fills)
        return PELT_ERROR_MEMORY;
    for (uint32_t v = 0; v < m->voxels.count; v++)
        for (uint32_t p = m->voxel_pieces[v]; p < m->voxel_pieces[v + 1]; p++) {
            memcpy(out->cells[p], m->voxels.cells[v], sizeof out->cells[p]);
            out->fills[p] = m->pieces[p].count ? 0.5f / (float)(m->voxel_pieces[v + 1] - m->voxel_pieces[v]) : 1;
            for (size_t e = 0; e < 3 * (size_t)m->pieces[p].count; e++) {
                uint32_t vertex = m->triangles[3 * (size_t)m->sheets.items[m->pieces[p].first + e / 3] + e % 3];
                if (m->vertex_voxels[vertex] == v)
                    out->vertex_nodes[vertex] = p;
            }
        }
    return PELT_OK;
}

pelt_result px_pieces_make(pelt_context *context, px_arena *arena, const px_lattice_source *source, uint32_t resolution,
                           px_pieces *pieces) {
    maker m = {.context = context, .arena = arena, .source = source, .joins = {.context = context}};
    pieces->grid = grid_of(source, resolution);
    PX_TRY(take_triangles(&m));
    const pelt_mesh mesh = {.triangles = m.triangles, .triangle_count = m.triangle_count};
    PX_TRY(px_neighbours_make(arena, &mesh, &(pelt_vertex_classes){.count = source->vertex_count}, &m.edges));
    PX_TRY(make_voxels(&m, &pieces->grid));
    PX_TRY(make_sheets(&m));
    PX_TRY(take_pieces(&m, pieces));
    pelt_result result = join_pieces(&m);
    if (result == PELT_OK)
        return take_graph(&m, &pieces->graph);
    px_free(context, m.joins.data);
    return result;
}
