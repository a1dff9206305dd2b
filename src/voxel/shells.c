/* Orientation: finds shells that are wound inside out and reverses them.
 *
 * In a mirrored file all triangles are wound the wrong way round; in a part made by mirroring another, only its own
 * are. The signed volume decides. If the total volume is negative, all triangles are reversed. Then each shell
 * (connected component, with vertices at the same position merged) is reversed if it has a clearly negative volume and
 * no large hole, unless it is enclosed by other shells: there it is a cavity, such as the inside of a mouth or an eye
 * socket.
 */
#include "core/math3.h"
#include "voxel/graph.h"
#include "voxel/soup.h"

#include <math.h>

/* Minimum |volume| relative to area^1.5: a sphere has 0.094, a limb thirty times as long as wide 0.03. */
#define CLEAR_VOLUME 0.005
/* Maximum missing area relative to the area: 0.5 for a hemisphere, 0.2 for a box without a lid. */
#define LARGE_HOLE 0.3

typedef struct shell {
    double volume;           /* signed, of the tetrahedra with apex at the middle of the grid */
    double area, normals[3]; /* Σ area; Σ area · normal, which is 0 for a closed shell */
    int32_t low[3], high[3]; /* bounding box, in lattice steps */
    uint32_t vertex;         /* any of its vertices */
    bool turned;
} shell;

typedef struct shells {
    const px_soup *soup;
    uint32_t *parents; /* [vertex] union-find; in the end, roots hold the number of their shell */
    uint32_t *ids;     /* [triangle] shell */
    shell *list;       /* [shell] */
    uint8_t *around;   /* [shell] scratch: its box contains the box of the tested shell */
    uint32_t count;
} shells;

/* Merges vertices at the same lattice point, by a hash table of at least twice their number. */
static pelt_result join_vertices(shells *s, uint32_t vertex_count) {
    uint32_t bits = 1;
    while ((size_t)1 << bits < 2 * (size_t)vertex_count)
        bits++;
    size_t mask = ((size_t)1 << bits) - 1;
    uint32_t *table = PX_ALLOC(s->soup->context, uint32_t, mask + 1); /* vertex + 1 */
    if (!table)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < vertex_count; i++) {
        const int32_t *p = s->soup->points[i];
        uint64_t key = (uint64_t)p[0] | (uint64_t)p[1] << 21 | (uint64_t)p[2] << 42;
        size_t slot = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - bits));
        while (table[slot] && memcmp(s->soup->points[table[slot] - 1], p, sizeof s->soup->points[0]) != 0)
            slot = (slot + 1) & mask;
        if (!table[slot])
            table[slot] = i + 1;
        s->parents[i] = table[slot] - 1;
    }
    px_free(s->soup->context, table);
    return PELT_OK;
}

/* Finds connected components and numbers them in the order of their first triangles. */
static pelt_result find_shells(shells *s) {
    const px_soup *soup = s->soup;
    for (size_t c = 0; c < (size_t)soup->triangle_count * 3; c++)
        s->parents[px_group_of(s->parents, soup->triangles[c])] = px_group_of(s->parents, soup->triangles[c - c % 3]);
    for (uint32_t t = 0; t < soup->triangle_count; t++)
        s->ids[t] = px_group_of(s->parents, soup->triangles[3 * (size_t)t]);
    for (uint32_t t = 0; t < soup->triangle_count; t++)
        s->parents[s->ids[t]] = PELT_NONE;
    for (uint32_t t = 0; t < soup->triangle_count; t++) {
        uint32_t *number = &s->parents[s->ids[t]];
        if (*number == PELT_NONE)
            *number = s->count++;
        s->ids[t] = *number;
    }
    s->list = PX_ALLOC(soup->context, shell, px_max_size(s->count, 1));
    s->around = PX_ALLOC(soup->context, uint8_t, px_max_size(s->count, 1));
    if (!s->list || !s->around)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < s->count; n++)
        for (uint32_t c = 0; c < 3; c++)
            s->list[n].low[c] = INT32_MAX;
    return PELT_OK;
}

/* The corners p of a triangle relative to a point; returns six times the signed volume of the tetrahedron. */
static double corners_from(const px_soup *soup, uint32_t triangle, const double from[3], double p[3][3]) {
    double volume = 0;
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t c = 0; c < 3; c++)
            p[k][c] = soup->points[soup->triangles[3 * (size_t)triangle + k]][c] - from[c];
    for (uint32_t c = 0; c < 3; c++) {
        uint32_t d = (c + 1) % 3, e = (c + 2) % 3;
        volume += p[0][c] * (p[1][d] * p[2][e] - p[1][e] * p[2][d]);
    }
    return volume;
}

static void add_triangle(const px_soup *soup, uint32_t triangle, const double middle[3], shell *out) {
    double p[3][3], normal[3];
    out->volume += corners_from(soup, triangle, middle, p) / 6;
    for (uint32_t c = 0; c < 3; c++) {
        uint32_t d = (c + 1) % 3, e = (c + 2) % 3;
        normal[c] = 0.5 * ((p[1][d] - p[0][d]) * (p[2][e] - p[0][e]) - (p[1][e] - p[0][e]) * (p[2][d] - p[0][d]));
        out->normals[c] += normal[c];
    }
    out->area += px_length3(normal);
    for (uint32_t k = 0; k < 3; k++) {
        out->vertex = soup->triangles[3 * (size_t)triangle + k];
        for (uint32_t c = 0; c < 3; c++) {
            int32_t at = soup->points[out->vertex][c];
            out->low[c] = at < out->low[c] ? at : out->low[c];
            out->high[c] = at > out->high[c] ? at : out->high[c];
        }
    }
}

/* Tests the volume relative to the middle of the shell's own box; for an open shell it depends on that point. */
static bool is_inside_out(const shell *s, const double middle[3], double sign) {
    double volume = s->volume;
    for (uint32_t c = 0; c < 3; c++)
        volume -= (0.5 * ((double)s->low[c] + s->high[c]) - middle[c]) * s->normals[c] / 3;
    return sign * volume < -CLEAR_VOLUME * px_pow(s->area, 1.5) && px_length3(s->normals) < LARGE_HOLE * s->area;
}

/* True when the winding number, at a vertex of this shell, of the shells whose boxes contain its box exceeds ½. Solid
 * angles after van Oosterom and Strackee (1983). */
static bool is_enclosed(const shells *s, uint32_t id, double sign) {
    const shell *own = &s->list[id];
    bool any = false;
    for (uint32_t n = 0; n < s->count; n++) {
        s->around[n] = n != id;
        for (uint32_t c = 0; c < 3; c++)
            s->around[n] &= s->list[n].low[c] <= own->low[c] && s->list[n].high[c] >= own->high[c];
        any |= s->around[n];
    }
    double sum = 0, at[3], p[3][3], l[3];
    for (uint32_t c = 0; c < 3; c++)
        at[c] = s->soup->points[own->vertex][c];
    for (uint32_t t = 0; any && t < s->soup->triangle_count; t++) {
        if (!s->around[s->ids[t]])
            continue;
        double volume = corners_from(s->soup, t, at, p);
        for (uint32_t k = 0; k < 3; k++)
            l[k] = px_length3(p[k]);
        sum += px_atan2(volume, l[0] * l[1] * l[2] + px_dot3d(p[0], p[1]) * l[2] + px_dot3d(p[1], p[2]) * l[0] +
                                    px_dot3d(p[2], p[0]) * l[1]);
    }
    return sign * sum > 3.14159265358979323846; /* the half angles add up to 2π for winding number 1 */
}

static void turn_shells(const shells *s, uint8_t *turned) {
    const px_soup *soup = s->soup;
    double total = 0, middle[3];
    for (uint32_t c = 0; c < 3; c++)
        middle[c] = 0.5 * (double)((size_t)soup->grid->size[c] << soup->shift);
    for (uint32_t t = 0; t < soup->triangle_count; t++)
        add_triangle(soup, t, middle, &s->list[s->ids[t]]);
    for (uint32_t n = 0; n < s->count; n++)
        total += s->list[n].volume;
    double sign = total < 0 ? -1 : 1;
    for (uint32_t n = 0; n < s->count; n++) {
        bool wrong = is_inside_out(&s->list[n], middle, sign) && !is_enclosed(s, n, sign);
        s->list[n].turned = (sign < 0) != wrong;
    }
    for (uint32_t t = 0; t < soup->triangle_count; t++)
        turned[t] = s->list[s->ids[t]].turned;
}

pelt_result px_soup_turn(px_soup *soup, uint32_t vertex_count) {
    pelt_context *context = soup->context;
    shells s = {.soup = soup};
    s.parents = PX_ALLOC(context, uint32_t, px_max_size(vertex_count, 1));
    s.ids = PX_ALLOC(context, uint32_t, px_max_size(soup->triangle_count, 1));
    soup->turned = PX_ALLOC(context, uint8_t, px_max_size(soup->triangle_count, 1));
    pelt_result result = s.parents && s.ids && soup->turned ? join_vertices(&s, vertex_count) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = find_shells(&s);
    if (result == PELT_OK)
        turn_shells(&s, soup->turned);
    px_free(context, s.parents);
    px_free(context, s.ids);
    px_free(context, s.list);
    px_free(context, s.around);
    return result;
}
