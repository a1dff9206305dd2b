/* Meshes of many shells. */
#include "shells.h"

void shells_begin(shells *s, const char *name, const char *material, uint64_t bones) {
    if (s->part_count < SHELLS_MAX_PARTS)
        s->parts[s->part_count++] = (shells_part){name, material, bones, s->vertex_count, s->triangle_count};
}

uint32_t shells_vertex(shells *s, vec p) {
    if (s->mesh)
        vec_store(s->mesh->positions + 3 * (size_t)s->vertex_count, p);
    return s->vertex_count++;
}

void shells_triangle(shells *s, uint32_t a, uint32_t b, uint32_t c) {
    if (s->mesh) {
        uint32_t *out = s->mesh->triangles + 3 * (size_t)s->triangle_count;
        out[0] = a, out[1] = b, out[2] = c;
    }
    s->triangle_count++;
}

/* A grid at the builder's density. Rows of poles have one vertex, the others columns = around + 1. */
typedef struct layout {
    const shell *grid;
    uint32_t around, along, first;
} layout;

static uint32_t vertex_at(const layout *l, uint32_t column, uint32_t row) {
    bool low = l->grid->flags & SHELL_POLE_LOW, high = l->grid->flags & SHELL_POLE_HIGH;
    uint32_t columns = l->around + 1;
    if (low && row == 0)
        return l->first;
    uint32_t before = low ? 1 + (row - 1) * columns : row * columns;
    return l->first + before + (high && row == l->along ? 0 : column);
}

static void add_vertices(shells *s, const layout *l) {
    uint32_t flags = l->grid->flags;
    for (uint32_t row = 0; row <= l->along; row++) {
        bool pole = (row == 0 && flags & SHELL_POLE_LOW) || (row == l->along && flags & SHELL_POLE_HIGH);
        if (!s->mesh) {
            s->vertex_count += pole ? 1 : l->around + 1;
            continue;
        }
        for (uint32_t column = 0; column <= (pole ? 0 : l->around); column++) {
            double u = (double)column / l->around, v = (double)row / l->along;
            s->mesh->uvs[2 * (size_t)s->vertex_count] = (float)(pole ? 0.5 : u);
            s->mesh->uvs[2 * (size_t)s->vertex_count + 1] = (float)v;
            /* Both sides of a seam are computed from the same numbers: equal to the last bit. */
            u = flags & SHELL_WRAP && column == l->around ? 0 : u;
            v = flags & SHELL_WRAP_ALONG && row == l->along ? 0 : v;
            shells_vertex(s, l->grid->place(l->grid->user, u, v));
        }
    }
}

static void add_quads(shells *s, const layout *l) {
    for (uint32_t row = 0; row < l->along; row++)
        for (uint32_t column = 0; column < l->around; column++) {
            if (l->grid->hole && l->grid->hole((column + 0.5) / l->around, (row + 0.5) / l->along))
                continue;
            uint32_t a = vertex_at(l, column, row), b = vertex_at(l, column + 1, row);
            uint32_t c = vertex_at(l, column + 1, row + 1), d = vertex_at(l, column, row + 1);
            if (a != b)
                shells_triangle(s, a, b, c);
            if (c != d)
                shells_triangle(s, a, c, d);
        }
}

/* Its foot uses vertices of the grid. */
static void add_fin(shells *s, const layout *l) {
    uint32_t column = (uint32_t)(l->grid->fin_at * l->around + 0.5), last = l->first + 0;
    uint32_t first_row = l->grid->flags & SHELL_POLE_LOW ? 1 : 0;
    uint32_t end_row = l->grid->flags & SHELL_POLE_HIGH ? l->along - 1 : l->along;
    vec middle = l->grid->place(l->grid->user, l->grid->fin_at, 0.5);
    vec across = l->grid->place(l->grid->user, l->grid->fin_at + (l->grid->fin_at < 0.5 ? 0.5 : -0.5), 0.5);
    vec out = vec_unit(vec_sub(middle, across));
    for (uint32_t row = first_row; row <= end_row; row++) {
        double v = (double)row / l->along;
        vec foot = l->grid->place(l->grid->user, (double)column / l->around, v);
        if (s->mesh) {
            s->mesh->uvs[2 * (size_t)s->vertex_count] = (float)l->grid->fin_at;
            s->mesh->uvs[2 * (size_t)s->vertex_count + 1] = (float)v;
        }
        uint32_t top = shells_vertex(s, vec_mad(foot, l->grid->fin_height * (0.4 + v), out));
        if (row > first_row) {
            uint32_t a = vertex_at(l, column, row - 1), b = vertex_at(l, column, row);
            shells_triangle(s, a, last, top);
            shells_triangle(s, a, top, b);
        }
        last = top;
    }
}

static uint32_t scaled(double density, uint32_t count, uint32_t least) {
    double wanted = count * density + 0.5;
    return wanted > least ? (uint32_t)wanted : least;
}

void shells_add(shells *s, const shell *grid) {
    layout l = {grid, scaled(s->density, grid->around, grid->least_around),
                scaled(s->density, grid->along, grid->least_along), s->vertex_count};
    add_vertices(s, &l);
    add_quads(s, &l);
    if (grid->fin_height > 0)
        add_fin(s, &l);
}

/* ---- Sweeps ----------------------------------------------------------------------------------------------- */

/* Catmull-Rom through numbers at equal distances. */
static double along_at(const double *values, uint32_t count, double v) {
    double at = v * (count - 1), span = fmin(floor(at), count - 2), u = at - span;
    uint32_t s = (uint32_t)span;
    double b = values[s], c = values[s + 1];
    double a = s ? values[s - 1] : 2 * b - c, d = s + 2 < count ? values[s + 2] : 2 * c - b;
    return b + u * (0.5 * (c - a) + u * (a - 2.5 * b + 2 * c - 0.5 * d + u * (0.5 * (d - a) + 1.5 * (b - c))));
}

/* Rows are denser at rounded ends. */
static double gather(const shells_sweep *w, double v) {
    if (w->low > 0 && w->high > 0)
        return 0.5 - 0.5 * scene_cos(SCENE_PI * v);
    if (w->low > 0)
        return 1 - scene_cos(SCENE_PI / 2 * v);
    return w->high > 0 ? scene_sin(SCENE_PI / 2 * v) : v;
}

static double rounding(double from_end, double part) {
    double t = part > 0 && from_end < part ? 1 - from_end / part : 0;
    return sqrt(fmax(1 - t * t, 0));
}

vec shells_sweep_place(const void *user, double u, double v) {
    const shells_sweep *w = user;
    double x[8], y[8], z[8];
    for (uint32_t p = 0; p < w->count; p++)
        x[p] = w->centers[p].x, y[p] = w->centers[p].y, z[p] = w->centers[p].z;
    double t = gather(w, v), thick = rounding(t, w->low) * rounding(1 - t, w->high);
    vec center = {along_at(x, w->count, t), along_at(y, w->count, t), along_at(z, w->count, t)};
    double across = thick * along_at(w->across, w->count, t), deep = thick * along_at(w->deep, w->count, t);
    center = vec_mad(center, across * scene_cos(2 * SCENE_PI * u), w->e1);
    return vec_mad(center, deep * scene_sin(2 * SCENE_PI * u), w->e2);
}
