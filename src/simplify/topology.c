/* Validity and execution of a collapse.
 *
 * Class `go` may collapse into `keep` if the surface keeps its topology: the two have no common neighbours except those
 * of the triangles between them (the link condition), no face would be duplicated, no part would vanish, and a border
 * collapses along itself. Every wedge of `go` (a vertex with its own UV and normal) needs a wedge of `keep` to replace
 * it: the one with which it shares a triangle. Normals may be split where UVs are not (hard edges, flat shading): such
 * a wedge takes the wedge with the nearest normal among those on its side of the UV seam. */
#include "simplify/simplify.h"

struct px_topology {
    px_simplify *s;
    uint32_t stamp;  /* marks below it belong to earlier queries */
    uint32_t *marks; /* [class] */
};

pelt_result px_topology_create(px_simplify *s, px_topology **out) {
    px_topology *t = PX_NEW(s->arena, px_topology, 1);
    if (!t || !(t->marks = PX_NEW(s->arena, uint32_t, s->classes.count)))
        return PELT_ERROR_MEMORY;
    t->s = s;
    *out = t;
    return PELT_OK;
}

/* Reserves `count` unused stamps and returns the first. Marks are reset after about four billion stamps. */
static uint32_t new_stamps(px_topology *t, uint32_t count) {
    if (t->stamp > UINT32_MAX - 2 * count) {
        memset(t->marks, 0, t->s->classes.count * sizeof *t->marks);
        t->stamp = 0;
    }
    t->stamp += count;
    return t->stamp - count + 1;
}

void px_topology_neighbours(px_topology *t, uint32_t u, void (*visit)(void *user, uint32_t u), void *user) {
    uint32_t stamp = new_stamps(t, 1);
    PX_CIRCLE(t->s, u, corner) {
        uint32_t b = px_next_corner(corner), c = px_next_corner(b);
        uint32_t ends[2] = {px_corner_class(t->s, b), px_corner_class(t->s, c)};
        for (int e = 0; e < 2; e++)
            if (t->marks[ends[e]] != stamp) {
                t->marks[ends[e]] = stamp;
                visit(user, ends[e]);
            }
    }
}

/* ---- Wedges ----------------------------------------------------------------------------------------------- */

static bool same_uv(const px_simplify *s, uint32_t a, uint32_t b) {
    const float *uvs = s->model->mesh.uvs;
    return !uvs || memcmp(uvs + 2 * (size_t)a, uvs + 2 * (size_t)b, 2 * sizeof *uvs) == 0;
}

static bool same_part(const px_simplify *s, uint32_t a, uint32_t b) {
    return !s->part_of || s->part_of[a] == s->part_of[b];
}

static uint32_t partner_of(const px_wedges *wedges, uint32_t vertex) {
    for (uint32_t n = 0; n < wedges->count; n++)
        if (wedges->from[n] == vertex)
            return wedges->to[n];
    return PELT_NONE;
}

static bool add_wedge(px_wedges *wedges, uint32_t from, uint32_t to) {
    uint32_t known = partner_of(wedges, from);
    if (known != PELT_NONE)
        return known == to;
    if (wedges->count == PX_WEDGES_MAX)
        return false;
    wedges->from[wedges->count] = from;
    wedges->to[wedges->count++] = to;
    return true;
}

static float likeness(const px_simplify *s, uint32_t a, uint32_t b) {
    const float *normals = s->model->mesh.normals;
    if (!normals)
        return 0;
    const float *m = normals + 3 * (size_t)a, *n = normals + 3 * (size_t)b;
    return m[0] * n[0] + m[1] * n[1] + m[2] * n[2];
}

/* Whether wedge `to` of `keep` lies on the same side of the UV seam as wedge `from` of `go`, judged by the first
 * `known` partners. */
static bool same_side(const px_simplify *s, const px_wedges *wedges, uint32_t known, uint32_t from, uint32_t to) {
    for (uint32_t n = 0; n < known; n++)
        if (same_uv(s, wedges->from[n], from) && same_part(s, wedges->from[n], from) && same_uv(s, wedges->to[n], to) &&
            same_part(s, wedges->to[n], to))
            return true;
    return false;
}

static bool find_partner(px_simplify *s, uint32_t keep, uint32_t known, uint32_t from, px_wedges *wedges) {
    uint32_t best = PELT_NONE;
    PX_CIRCLE(s, keep, corner) {
        uint32_t to = s->corners[corner];
        if (same_side(s, wedges, known, from, to) &&
            (best == PELT_NONE || likeness(s, from, to) > likeness(s, from, best)))
            best = to;
    }
    return best != PELT_NONE && add_wedge(wedges, from, best);
}

/* ---- Validity --------------------------------------------------------------------------------------------- */

/* The corner of class u in the triangle of `corner`, or PELT_NONE. */
static uint32_t corner_in(const px_simplify *s, uint32_t corner, uint32_t u) {
    uint32_t b = px_next_corner(corner), c = px_next_corner(b);
    return px_corner_class(s, b) == u ? b : px_corner_class(s, c) == u ? c : PELT_NONE;
}

/* Marks the neighbours of `go` with `near`, and those in triangles with `keep` with near + 1; collects the wedges
 * there. False if there is no such edge, `go` may not collapse along it, or a wedge would have two partners. */
static bool look_at_edge(px_topology *t, uint32_t go, uint32_t keep, uint32_t near, px_wedges *wedges) {
    px_simplify *s = t->s;
    uint32_t forward = 0, backward = 0;
    PX_CIRCLE(s, go, corner) {
        uint32_t b = px_next_corner(corner), c = px_next_corner(b), mate = corner_in(s, corner, keep);
        uint32_t ends[2] = {px_corner_class(s, b), px_corner_class(s, c)};
        for (int e = 0; e < 2; e++)
            if (t->marks[ends[e]] != near + 1)
                t->marks[ends[e]] = near + (mate != PELT_NONE);
        forward += mate == b;
        backward += mate == c;
        if (mate != PELT_NONE && !add_wedge(wedges, s->corners[corner], s->corners[mate]))
            return false;
    }
    if (forward + backward == 0)
        return false;
    return s->kinds[go] == PX_CLASS_FREE || (s->kinds[go] == PX_CLASS_EDGE && forward != backward);
}

/* Whether triangles would remain: in every part, and at `keep`. */
static bool leaves_some(px_simplify *s, uint32_t go, uint32_t keep) {
    uint32_t between = 0, beside = 0;
    PX_CIRCLE(s, go, corner)
    between += corner_in(s, corner, keep) != PELT_NONE;
    PX_CIRCLE(s, go, corner) {
        beside += corner_in(s, corner, keep) == PELT_NONE;
        if (corner_in(s, corner, keep) != PELT_NONE && s->part_counts[s->triangle_parts[corner / 3]] <= between)
            return false;
    }
    PX_CIRCLE(s, keep, corner)
    beside += corner_in(s, corner, go) == PELT_NONE;
    return beside > 0;
}

/* Whether `go` has a triangle with classes a and b. */
static bool has_face(px_simplify *s, uint32_t go, uint32_t a, uint32_t b) {
    PX_CIRCLE(s, go, corner)
    if (corner_in(s, corner, a) != PELT_NONE && corner_in(s, corner, b) != PELT_NONE)
        return true;
    return false;
}

static bool keeps_links(px_topology *t, uint32_t go, uint32_t keep, uint32_t near) {
    px_simplify *s = t->s;
    PX_CIRCLE(s, keep, corner) {
        uint32_t a = px_corner_class(s, px_next_corner(corner));
        uint32_t b = px_corner_class(s, px_next_corner(px_next_corner(corner)));
        if (a == go || b == go)
            continue;
        if (t->marks[a] == near || t->marks[b] == near)
            return false;
        if (t->marks[a] == near + 1 && t->marks[b] == near + 1 && has_face(s, go, a, b))
            return false;
    }
    return true;
}

bool px_topology_allows(px_topology *t, uint32_t go, uint32_t keep, px_wedges *wedges) {
    px_simplify *s = t->s;
    wedges->count = 0;
    uint32_t near = new_stamps(t, 2);
    if (s->kinds[go] == PX_CLASS_LOCKED || !look_at_edge(t, go, keep, near, wedges) ||
        !keeps_links(t, go, keep, near) || !leaves_some(s, go, keep))
        return false;
    uint32_t known = wedges->count;
    PX_CIRCLE(s, go, corner)
    if (partner_of(wedges, s->corners[corner]) == PELT_NONE &&
        !find_partner(s, keep, known, s->corners[corner], wedges))
        return false;
    return true;
}

void px_topology_collapse(px_topology *t, uint32_t go, uint32_t keep, const px_wedges *wedges) {
    px_simplify *s = t->s;
    uint32_t first = px_circle_first(s, go), other = px_circle_first(s, keep), corner = first;
    do { /* changes only links that the loop has passed */
        if (corner_in(s, corner, keep) != PELT_NONE) {
            s->corners[corner - corner % 3] = PELT_NONE;
            s->part_counts[s->triangle_parts[corner / 3]]--;
            s->triangle_count--;
        } else {
            s->corners[corner] = partner_of(wedges, s->corners[corner]);
        }
        corner = s->next[corner];
        while (corner != first && px_corner_gone(s, corner))
            corner = s->next[corner];
    } while (corner != first);
    uint32_t swap = s->next[first];
    s->next[first] = s->next[other];
    s->next[other] = swap;
    s->first[go] = PELT_NONE;
    s->parents[go] = keep;
}
