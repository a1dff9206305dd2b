/* cloth: a flag on a pole in gusty wind.
 *
 * A coarse grid of at most 40×27 masses is simulated: extended position-based dynamics (Macklin et al., XPBD, 2016)
 * with many short steps of one sweep each, stable at any size. The mesh, however large, is a bicubic B-spline surface
 * over that grid, evaluated when frames are read: a clip of 200,000 vertices and 500 frames takes 7 MB.
 */
#include "build.h"

#define MAX_COLUMNS 40u
#define MAX_ROWS    27u
#define LENGTH      3.0 /* along x, from the pole */
#define HEIGHT      2.0 /* along y */
#define GRAVITY     5.0 /* light cloth in strong wind */
#define STEPS       24u /* per frame */
#define WARM_UP     75u /* frames simulated before the first, until the flag has left its flat initial shape */

/* Data of the clip. */
typedef struct flag {
    uint32_t columns, rows; /* of the coarse grid */
    uint32_t width, height; /* of the mesh, in vertices */
    const float *coarse;    /* [frame][row][column][3] */
} flag;

/* ---- Spline ----------------------------------------------------------------------------------------------- */

/* Four uniform cubic B-spline weights at place `index` of `count` along `nodes` nodes; *first is the first node, from
 * -1 to nodes - 2. */
static void spline_weights(uint32_t index, uint32_t count, uint32_t nodes, int32_t *first, double weights[4]) {
    double at = (double)index * (nodes - 1) / (count - 1), span = floor(at);
    if (span > nodes - 2)
        span = nodes - 2;
    double u = at - span, v = 1 - u;
    *first = (int32_t)span - 1;
    weights[0] = v * v * v / 6;
    weights[1] = (3 * u * u * u - 6 * u * u + 4) / 6;
    weights[2] = (3 * v * v * v - 6 * v * v + 4) / 6;
    weights[3] = u * u * u / 6;
}

/* Nodes beyond the ends are extrapolated linearly, so that the spline ends exactly at the last node. */
static vec node_at(const float *nodes, size_t stride, int32_t index, uint32_t count) {
    if (index < 0)
        return vec_sub(vec_scale(vec_load(nodes), 2), vec_load(nodes + stride));
    if (index >= (int32_t)count) {
        const float *last = nodes + (count - 1) * stride;
        return vec_sub(vec_scale(vec_load(last), 2), vec_load(last - stride));
    }
    return vec_load(nodes + (size_t)index * stride);
}

/* The coarse rows blended for one row of the mesh, with one node more at both ends. */
static void blend_rows(const flag *f, const float *grid, uint32_t row, vec out[MAX_COLUMNS + 2]) {
    int32_t first;
    double weights[4];
    spline_weights(row, f->height, f->rows, &first, weights);
    for (uint32_t c = 0; c < f->columns; c++) {
        vec sum = {0, 0, 0};
        for (int t = 0; t < 4; t++)
            sum = vec_mad(sum, weights[t], node_at(grid + 3 * (size_t)c, 3 * (size_t)f->columns, first + t, f->rows));
        out[c + 1] = sum;
    }
    out[0] = vec_sub(vec_scale(out[1], 2), out[2]);
    out[f->columns + 1] = vec_sub(vec_scale(out[f->columns], 2), out[f->columns - 1]);
}

static pelt_result read_flag(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                             float *out) {
    (void)context;
    const flag *f = user;
    const float *grid = f->coarse + (size_t)frame * f->rows * f->columns * 3;
    vec nodes[MAX_COLUMNS + 2];
    for (uint32_t done = 0; done < count; done++) {
        uint32_t i = first + done, column = i % f->width;
        if (done == 0 || column == 0)
            blend_rows(f, grid, i / f->width, nodes);
        int32_t start;
        double weights[4];
        spline_weights(column, f->width, f->columns, &start, weights);
        vec sum = {0, 0, 0};
        for (int t = 0; t < 4; t++)
            sum = vec_mad(sum, weights[t], nodes[start + 1 + t]);
        vec_store(out + 3 * (size_t)done, sum);
    }
    return PELT_OK;
}

/* ---- Simulation ------------------------------------------------------------------------------------------- */

typedef struct gust {
    double across, along, up, speed, phase; /* waves per unit and second */
    double strength;
} gust;
#define GUSTS 6

typedef struct simulation {
    uint32_t columns, rows;
    vec *positions, *previous, *velocities; /* [row][column] */
    vec *wind;                              /* [row][column] of the running frame: it changes slowly */
    gust gusts[GUSTS];
} simulation;

/* Steady along the flag, with waves across it that travel with the wind. */
static vec wind_at(const simulation *s, vec p, double time) {
    double swing = 0, push = 0;
    for (int g = 0; g < GUSTS; g++) {
        const gust *w = &s->gusts[g];
        double wave =
            scene_sin(2 * SCENE_PI * (w->along * p.x + w->up * p.y + w->across * p.z - w->speed * time) + w->phase);
        swing += w->strength * wave;
        push += 0.3 * w->strength * scene_sin(2 * SCENE_PI * 0.21 * (g + 1) * time + w->phase);
    }
    return (vec){8 + push, 1.2 + 0.3 * swing, swing};
}

static vec grid_at(const simulation *s, int32_t column, int32_t row) {
    column = column < 0 ? 0 : column >= (int32_t)s->columns ? (int32_t)s->columns - 1 : column;
    row = row < 0 ? 0 : row >= (int32_t)s->rows ? (int32_t)s->rows - 1 : row;
    return s->positions[(size_t)row * s->columns + (size_t)column];
}

/* The wind on a patch of cloth, as an acceleration: pressure across it and a little drag along it. */
static vec wind_push(const simulation *s, uint32_t column, uint32_t row) {
    size_t i = (size_t)row * s->columns + column;
    int32_t c = (int32_t)column, r = (int32_t)row;
    vec normal = vec_unit(vec_cross(vec_sub(grid_at(s, c + 1, r), grid_at(s, c - 1, r)),
                                    vec_sub(grid_at(s, c, r + 1), grid_at(s, c, r - 1))));
    vec against = vec_sub(s->wind[i], s->velocities[i]);
    return vec_mad(vec_scale(against, 0.6), 3.5 * vec_dot(against, normal), normal);
}

/* Distance constraint of two masses. `give` is XPBD's compliance over the square of the step. */
static void hold(simulation *s, uint32_t column, uint32_t row, uint32_t other_column, uint32_t other_row, double rest,
                 double give) {
    if (other_column >= s->columns || other_row >= s->rows)
        return;
    vec *a = &s->positions[(size_t)row * s->columns + column];
    vec *b = &s->positions[(size_t)other_row * s->columns + other_column];
    double wa = column > 0, wb = other_column > 0; /* the column at the pole is fixed */
    vec off = vec_sub(*b, *a);
    double length = vec_length(off);
    if (!(wa + wb > 0) || !(length > 1e-12))
        return;
    vec move = vec_scale(off, (length - rest) / (length * (wa + wb + give)));
    *a = vec_mad(*a, wa, move);
    *b = vec_mad(*b, -wb, move);
}

/* Stiff along threads, softer along the bias, softest in bending. */
static void sweep(simulation *s) {
    double x = LENGTH / (s->columns - 1), y = HEIGHT / (s->rows - 1), bias = sqrt(x * x + y * y);
    for (uint32_t r = 0; r < s->rows; r++)
        for (uint32_t c = 0; c < s->columns; c++) {
            hold(s, c, r, c + 1, r, x, 0);
            hold(s, c, r, c, r + 1, y, 0);
            hold(s, c, r, c + 1, r + 1, bias, 0.5);
            hold(s, c, r, c + 1, r - 1, bias, 0.5); /* above row 0: wraps to a nonexistent row */
            hold(s, c, r, c + 2, r, 2 * x, 20);
            hold(s, c, r, c, r + 2, 2 * y, 20);
        }
}

static void step(simulation *s, double dt) {
    size_t count = (size_t)s->columns * s->rows;
    for (size_t i = 0; i < count; i++)
        s->previous[i] = s->positions[i];
    for (uint32_t r = 0; r < s->rows; r++)
        for (uint32_t c = 1; c < s->columns; c++) {
            size_t i = (size_t)r * s->columns + c;
            vec push = vec_add(wind_push(s, c, r), (vec){0, -GRAVITY, 0});
            s->velocities[i] = vec_scale(vec_mad(s->velocities[i], dt, push), 0.9995);
        }
    for (size_t i = 0; i < count; i++)
        s->positions[i] = vec_mad(s->positions[i], dt, s->velocities[i]);
    sweep(s);
    for (size_t i = 0; i < count; i++)
        s->velocities[i] = vec_scale(vec_sub(s->positions[i], s->previous[i]), 1 / dt);
}

static pelt_result start(pelt_context *context, pelt_model *scratch, scene_random *random, simulation *s) {
    size_t count = (size_t)s->columns * s->rows;
    s->positions = SCENE_NEW(context, scratch, vec, count);
    s->previous = SCENE_NEW(context, scratch, vec, count);
    s->velocities = SCENE_NEW(context, scratch, vec, count);
    s->wind = SCENE_NEW(context, scratch, vec, count);
    if (!s->positions || !s->previous || !s->velocities || !s->wind)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        s->positions[i] = (vec){LENGTH * (double)(i % s->columns) / (s->columns - 1),
                                HEIGHT * (double)(i / s->columns) / (s->rows - 1), 0};
    for (int g = 0; g < GUSTS; g++)
        s->gusts[g] = (gust){.across = scene_random_range(random, -0.3, 0.3),
                             .along = scene_random_range(random, 0.15, 0.55),
                             .up = scene_random_range(random, -0.3, 0.3),
                             .speed = scene_random_range(random, 0.4, 2.2),
                             .phase = scene_random_range(random, 0, 6.28),
                             .strength = scene_random_range(random, 0.5, 1.4)};
    return PELT_OK;
}

static pelt_result simulate(pelt_context *context, pelt_model *scratch, scene_random *random, const flag *f,
                            uint32_t frame_count, float *coarse) {
    simulation s = {.columns = f->columns, .rows = f->rows};
    SCENE_TRY(start(context, scratch, random, &s));
    size_t count = (size_t)s.columns * s.rows;
    double dt = 1 / (SCENE_FPS * STEPS);
    for (uint32_t k = 0; k < WARM_UP + frame_count; k++) {
        if (k >= WARM_UP)
            for (size_t i = 0; i < count; i++)
                vec_store(coarse + 3 * ((size_t)(k - WARM_UP) * count + i), s.positions[i]);
        for (size_t i = 0; i < count; i++)
            s.wind[i] = wind_at(&s, s.positions[i], k / SCENE_FPS);
        for (uint32_t t = 0; t < STEPS; t++)
            step(&s, dt);
    }
    return PELT_OK;
}

/* ---- Scene ------------------------------------------------------------------------------------------------ */

static pelt_result build_mesh(pelt_context *context, pelt_model *model, const flag *f) {
    uint32_t quads = (f->width - 1) * (f->height - 1);
    SCENE_TRY(scene_mesh_alloc(context, model, f->width * f->height, 2 * quads, 1));
    pelt_mesh *mesh = &model->mesh;
    if (!(mesh->triangle_polygons = SCENE_NEW(context, model, uint32_t, mesh->triangle_count)))
        return PELT_ERROR_MEMORY;
    mesh->polygon_count = quads;
    for (uint32_t q = 0; q < quads; q++) {
        uint32_t i = q / (f->width - 1) * f->width + q % (f->width - 1);
        uint32_t corners[6] = {i, i + 1, i + f->width + 1, i, i + f->width + 1, i + f->width};
        for (int c = 0; c < 6; c++)
            mesh->triangles[6 * (size_t)q + c] = corners[c];
        mesh->triangle_polygons[2 * (size_t)q] = mesh->triangle_polygons[2 * (size_t)q + 1] = q;
    }
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        mesh->uvs[2 * (size_t)i] = (float)((double)(i % f->width) / (f->width - 1));
        mesh->uvs[2 * (size_t)i + 1] = (float)((double)(i / f->width) / (f->height - 1));
    }
    mesh->parts[0].name = mesh->parts[0].material = "flag";
    mesh->parts[0].triangle_count = mesh->triangle_count;
    SCENE_TRY(read_flag(context, f, 0, 0, mesh->vertex_count, mesh->positions));
    return scene_normals(context, mesh);
}

static pelt_result build(pelt_context *context, pelt_model *scratch, const scene_desc *desc, pelt_model *model) {
    scene_random random = {desc->seed};
    uint32_t wanted = scene_count(desc->vertex_count, 2400, 16, SCENE_MAX_VERTICES);
    uint32_t frame_count = scene_count(desc->frame_count, 120, 1, SCENE_MAX_FRAMES);
    flag *f = SCENE_NEW(context, model, flag, 1);
    if (!f)
        return PELT_ERROR_MEMORY;
    f->width = (uint32_t)(sqrt(wanted * LENGTH / HEIGHT) + 0.5);
    f->height = (wanted + f->width / 2) / f->width;
    f->columns = f->width < MAX_COLUMNS ? f->width : MAX_COLUMNS;
    f->rows = f->height < MAX_ROWS ? f->height : MAX_ROWS;
    float *coarse = SCENE_NEW(context, model, float, (size_t)frame_count * f->columns * f->rows * 3);
    if (!coarse)
        return PELT_ERROR_MEMORY;
    f->coarse = coarse;
    SCENE_TRY(simulate(context, scratch, &random, f, frame_count, coarse));
    SCENE_TRY(build_mesh(context, model, f));
    return scene_clip(context, model, "flutter", frame_count, (pelt_clip_source){.read = read_flag, .user = f});
}

static pelt_result make(pelt_context *context, const scene_desc *desc, pelt_model **model) {
    return scene_build(context, desc, build, model);
}

const scene scene_cloth = {"cloth", "a flag on a pole in gusty wind: simulated cloth, a clip", make, NULL};
