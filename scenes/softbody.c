/* softbody: a squashy hare that falls on the floor and bounces.
 *
 * A coarse closed surface of about 400 masses is simulated: extended position-based dynamics (Macklin et al., XPBD,
 * 2016) with stretchy edges and a stiff constraint on the enclosed volume, and springs towards the best rotated rest
 * shape (Müller et al., Meshless Deformations Based on Shape Matching, 2005). The mesh, however large, follows the
 * coarse points when frames are read: the best affine map of the frame plus its residual, blended from the eight
 * nearest coarse points.
 */
#include "build.h"

#include <string.h>

#define COARSE    400u
#define NEIGHBORS 8u
#define STEPS     24u /* per frame */
#define GRAVITY   6.0 /* less than on earth, to suggest a large body */

/* One frame of the coarse body. */
typedef struct pose {
    vec center;
    vec columns[3]; /* the best affine map of rest offsets */
} pose;

/* Data of the clip. */
typedef struct softbody {
    uint32_t coarse_count, point_count;
    vec rest_center;
    const pose *poses;         /* [frame] */
    const float *leftovers;    /* [frame][coarse][3] */
    const float *rest;         /* [point][3] */
    const uint16_t *neighbors; /* [point][NEIGHBORS] */
    const float *weights;      /* [point][NEIGHBORS] sum 1 */
} softbody;

static vec map_offset(const vec columns[3], vec p) {
    return vec_mad(vec_mad(vec_scale(columns[0], p.x), p.y, columns[1]), p.z, columns[2]);
}

static pelt_result read_softbody(pelt_context *context, const void *user, uint32_t frame, uint32_t first,
                                 uint32_t count, float *out) {
    (void)context;
    const softbody *s = user;
    const pose *p = &s->poses[frame];
    const float *leftovers = s->leftovers + (size_t)frame * s->coarse_count * 3;
    for (uint32_t done = 0; done < count; done++) {
        size_t i = (size_t)first + done;
        vec offset = vec_sub(vec_load(s->rest + 3 * i), s->rest_center);
        vec sum = vec_add(p->center, map_offset(p->columns, offset));
        for (uint32_t n = 0; n < NEIGHBORS; n++)
            sum = vec_mad(sum, s->weights[NEIGHBORS * i + n],
                          vec_load(leftovers + 3 * (size_t)s->neighbors[NEIGHBORS * i + n]));
        sum.y = fmax(sum.y, 0); /* keep interpolated points above the floor */
        vec_store(out + 3 * (size_t)done, sum);
    }
    return PELT_OK;
}

/* ---- Shape ------------------------------------------------------------------------------------------------ */

static void make_solid(scene_random *random, scene_solid *solid) {
    double fat = scene_random_range(random, 0.92, 1.1), ear = scene_random_range(random, 0.9, 1.2);
    scene_solid_group(solid, 0.2);
    scene_solid_segment(solid, (vec){0, 0.02, -0.1}, (vec){0, 0.1, 0.1}, 0.55 * fat, 0.5 * fat);
    scene_solid_group(solid, 0.2);
    scene_solid_segment(solid, (vec){0, 0.62, 0.32}, (vec){0, 0.56, 0.44}, 0.33, 0.28);
    scene_solid_group(solid, 0.1);
    scene_solid_segment(solid, (vec){0, 0.1, -0.7}, (vec){0, 0.12, -0.72}, 0.17, 0.17);
    for (int side = -1; side <= 1; side += 2) {
        scene_solid_group(solid, 0.12);
        scene_solid_segment(solid, (vec){0.16 * side, 0.85, 0.26}, (vec){0.32 * side, 0.88 + 0.6 * ear, 0.0}, 0.11,
                            0.12);
        scene_solid_group(solid, 0.12);
        scene_solid_segment(solid, (vec){0.3 * side, -0.42, 0.05}, (vec){0.34 * side, -0.46, 0.4}, 0.16, 0.14);
        scene_solid_group(solid, 0.1);
        scene_solid_segment(solid, (vec){0.24 * side, 0.05, 0.5}, (vec){0.22 * side, -0.1, 0.66}, 0.12, 0.1);
    }
}

/* ---- Simulation ------------------------------------------------------------------------------------------- */

typedef struct simulation {
    uint32_t count, edge_count, triangle_count;
    vec *rest; /* [coarse] about their centre */
    vec *positions, *previous, *velocities;
    uint32_t *edges;     /* [edge][2] */
    double *lengths;     /* [edge] */
    uint32_t *triangles; /* [triangle][3] */
    vec *gradients;      /* [coarse] of the volume */
    double volume;
    quat turn; /* the previous best rotation, as a starting value */
} simulation;

/* Six times the enclosed volume, and its gradients. */
static double volume_of(const simulation *s, vec *gradients) {
    double sum = 0;
    memset(gradients, 0, s->count * sizeof *gradients);
    for (uint32_t t = 0; t < s->triangle_count; t++) {
        const uint32_t *c = s->triangles + 3 * (size_t)t;
        const vec *p = s->positions;
        for (int e = 0; e < 3; e++)
            gradients[c[e]] = vec_add(gradients[c[e]], vec_cross(p[c[(e + 1) % 3]], p[c[(e + 2) % 3]]));
        sum += vec_dot(p[c[0]], vec_cross(p[c[1]], p[c[2]]));
    }
    return sum;
}

static void hold_volume(simulation *s) {
    double missing = s->volume - volume_of(s, s->gradients), sum = 0;
    for (uint32_t i = 0; i < s->count; i++)
        sum += vec_dot(s->gradients[i], s->gradients[i]);
    for (uint32_t i = 0; i < s->count && sum > 1e-12; i++)
        s->positions[i] = vec_mad(s->positions[i], missing / sum, s->gradients[i]);
}

static void hold_edges(simulation *s) {
    const double give = 15; /* XPBD's compliance over the square of the step, unit masses: stretchy */
    for (uint32_t e = 0; e < s->edge_count; e++) {
        vec *a = &s->positions[s->edges[2 * e]], *b = &s->positions[s->edges[2 * e + 1]];
        vec off = vec_sub(*b, *a);
        double length = vec_length(off);
        if (!(length > 1e-12))
            continue;
        vec move = vec_scale(off, (length - s->lengths[e]) / (length * (2 + give)));
        *a = vec_add(*a, move);
        *b = vec_sub(*b, move);
    }
}

static vec center_of(const vec *positions, uint32_t count) {
    vec sum = {0, 0, 0};
    for (uint32_t i = 0; i < count; i++)
        sum = vec_add(sum, positions[i]);
    return vec_scale(sum, 1.0 / count);
}

/* columns[c] = Σ (x − center)·rest_c */
static void moment(const simulation *s, const vec *positions, vec center, vec columns[3]) {
    columns[0] = columns[1] = columns[2] = (vec){0, 0, 0};
    for (uint32_t i = 0; i < s->count; i++) {
        vec off = vec_sub(positions[i], center);
        columns[0] = vec_mad(columns[0], s->rest[i].x, off);
        columns[1] = vec_mad(columns[1], s->rest[i].y, off);
        columns[2] = vec_mad(columns[2], s->rest[i].z, off);
    }
}

/* The rotation nearest to the moment, from the last one by small turns (Müller et al., A Robust Method to Extract the
 * Rotational Part of Deformations, 2016). */
static quat best_turn(const vec columns[3], quat turn) {
    static const vec axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int round = 0; round < 8; round++) {
        vec torque = {0, 0, 0};
        double hold = 1e-9;
        for (int c = 0; c < 3; c++) {
            vec r = quat_apply(turn, axes[c]);
            torque = vec_add(torque, vec_cross(r, columns[c]));
            hold += vec_dot(r, columns[c]);
        }
        vec omega = vec_scale(torque, 1 / fmax(fabs(hold), 1e-9));
        double angle = vec_length(omega);
        if (angle < 1e-9)
            break;
        turn = quat_unit(quat_mul(quat_turn(omega, fmin(angle, 1)), turn));
    }
    return turn;
}

static void step(simulation *s, double dt) {
    vec center = center_of(s->positions, s->count), columns[3];
    moment(s, s->positions, center, columns);
    s->turn = best_turn(columns, s->turn);
    for (uint32_t i = 0; i < s->count; i++) {
        vec goal = vec_add(center, quat_apply(s->turn, s->rest[i]));
        vec pull = vec_scale(vec_sub(goal, s->positions[i]), 300); /* ~2.8 Hz */
        pull.y -= GRAVITY;
        s->velocities[i] = vec_scale(vec_mad(s->velocities[i], dt, pull), 0.9998);
        s->previous[i] = s->positions[i];
        s->positions[i] = vec_mad(s->positions[i], dt, s->velocities[i]);
    }
    hold_edges(s);
    hold_volume(s);
    for (uint32_t i = 0; i < s->count; i++) {
        vec *p = &s->positions[i];
        if (p->y < 0) { /* floor contact with friction */
            p->x += 0.3 * (s->previous[i].x - p->x);
            p->z += 0.3 * (s->previous[i].z - p->z);
            p->y = 0;
        }
        s->velocities[i] = vec_scale(vec_sub(*p, s->previous[i]), 1 / dt);
    }
}

/* ---- Set-up ----------------------------------------------------------------------------------------------- */

static pelt_result alloc_simulation(pelt_context *context, pelt_model *scratch, const scene_surface *coarse,
                                    simulation *s) {
    s->count = coarse->point_count;
    s->rest = SCENE_NEW(context, scratch, vec, s->count);
    s->positions = SCENE_NEW(context, scratch, vec, s->count);
    s->previous = SCENE_NEW(context, scratch, vec, s->count);
    s->velocities = SCENE_NEW(context, scratch, vec, s->count);
    s->gradients = SCENE_NEW(context, scratch, vec, s->count);
    /* Four sides, each found from both quads, and two diagonals. */
    s->edges = SCENE_NEW(context, scratch, uint32_t, 2 * 6 * (size_t)coarse->quad_count);
    s->lengths = SCENE_NEW(context, scratch, double, 6 * (size_t)coarse->quad_count);
    s->triangles = SCENE_NEW(context, scratch, uint32_t, 6 * (size_t)coarse->quad_count);
    bool done = s->rest && s->positions && s->previous && s->velocities && s->gradients && s->edges && s->lengths &&
                s->triangles;
    return done ? PELT_OK : PELT_ERROR_MEMORY;
}

static void add_edge(simulation *s, uint32_t a, uint32_t b) {
    s->lengths[s->edge_count] = vec_length(vec_sub(s->rest[a], s->rest[b]));
    s->edges[2 * s->edge_count] = a;
    s->edges[2 * s->edge_count++ + 1] = b;
}

static pelt_result start(pelt_context *context, pelt_model *scratch, const scene_surface *coarse, scene_random *random,
                         simulation *s, vec *rest_center) {
    static const int fan[6] = {0, 1, 2, 0, 2, 3};
    SCENE_TRY(alloc_simulation(context, scratch, coarse, s));
    for (uint32_t i = 0; i < s->count; i++)
        s->rest[i] = vec_load(coarse->positions + 3 * (size_t)i);
    *rest_center = center_of(s->rest, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        s->rest[i] = vec_sub(s->rest[i], *rest_center);
    for (uint32_t q = 0; q < coarse->quad_count; q++) {
        const uint32_t *corner = coarse->quads + 4 * (size_t)q;
        for (int c = 0; c < 4; c++)
            if (corner[c] < corner[(c + 1) % 4]) /* the other quad has it in the opposite direction */
                add_edge(s, corner[c], corner[(c + 1) % 4]);
        add_edge(s, corner[0], corner[2]);
        add_edge(s, corner[1], corner[3]);
        for (int c = 0; c < 6; c++)
            s->triangles[3 * (size_t)s->triangle_count + c] = corner[fan[c]];
        s->triangle_count += 2;
    }
    /* One number per statement: compilers evaluate arguments in different orders. */
    double tilt = scene_random_range(random, 0.15, 0.4);
    double heading = scene_random_range(random, -0.4, 0.4);
    s->turn = quat_mul(quat_turn((vec){0, 1, 0}, heading), quat_turn((vec){1, 0, 0}, tilt));
    vec spin = {scene_random_range(random, -0.8, -0.3), 0, 0};
    spin.z = scene_random_range(random, -0.3, 0.3);
    vec drift = {scene_random_range(random, -0.2, 0.2), 0, 0};
    drift.z = scene_random_range(random, 0.3, 0.6);
    for (uint32_t i = 0; i < s->count; i++) {
        vec off = quat_apply(s->turn, s->rest[i]);
        s->positions[i] = vec_add(off, (vec){0, 3.0, 0});
        s->velocities[i] = vec_add(drift, vec_cross(spin, off));
    }
    s->volume = volume_of(s, s->gradients);
    return PELT_OK;
}

/* The inverse of a symmetric 3×3 matrix given by columns. */
static void invert(const vec m[3], vec out[3]) {
    vec rows[3] = {vec_cross(m[1], m[2]), vec_cross(m[2], m[0]), vec_cross(m[0], m[1])};
    double det = vec_dot(m[0], rows[0]);
    for (int c = 0; c < 3; c++)
        out[c] = vec_scale(rows[c], 1 / det);
}

/* Splits the state into the best affine map and the residual. */
static void record(const simulation *s, const vec spread_inverse[3], pose *p, float *leftovers) {
    vec columns[3];
    p->center = center_of(s->positions, s->count);
    moment(s, s->positions, p->center, columns);
    for (int c = 0; c < 3; c++)
        p->columns[c] = map_offset(columns, spread_inverse[c]);
    for (uint32_t i = 0; i < s->count; i++)
        vec_store(leftovers + 3 * (size_t)i,
                  vec_sub(vec_sub(s->positions[i], p->center), map_offset(p->columns, s->rest[i])));
}

static pelt_result simulate(pelt_context *context, pelt_model *scratch, pelt_model *model, const scene_surface *coarse,
                            scene_random *random, uint32_t frame_count, softbody *body) {
    simulation s = {0};
    SCENE_TRY(start(context, scratch, coarse, random, &s, &body->rest_center));
    body->coarse_count = s.count;
    pose *poses = SCENE_NEW(context, model, pose, frame_count);
    float *leftovers = SCENE_NEW(context, model, float, (size_t)frame_count *s.count * 3);
    if (!poses || !leftovers)
        return PELT_ERROR_MEMORY;
    vec spread[3], spread_inverse[3];
    moment(&s, s.rest, (vec){0, 0, 0}, spread);
    invert(spread, spread_inverse);
    for (uint32_t k = 0; k < frame_count; k++) {
        record(&s, spread_inverse, &poses[k], leftovers + (size_t)k * s.count * 3);
        for (uint32_t t = 0; t < STEPS; t++)
            step(&s, 1 / (SCENE_FPS * STEPS));
    }
    body->poses = poses;
    body->leftovers = leftovers;
    return PELT_OK;
}

/* ---- Interpolation ---------------------------------------------------------------------------------------- */

/* The nearest coarse points with weights that reach 0 at the first one left out, so that they are continuous. */
static void follow(const scene_surface *coarse, vec p, uint16_t *neighbors, float *weights) {
    double distances[NEIGHBORS + 1], sum = 0, values[NEIGHBORS];
    uint32_t found[NEIGHBORS + 1], count = 0;
    for (uint32_t i = 0; i < coarse->point_count; i++) {
        vec off = vec_sub(vec_load(coarse->positions + 3 * (size_t)i), p);
        double d = vec_dot(off, off);
        if (count == NEIGHBORS + 1 && d >= distances[NEIGHBORS])
            continue;
        uint32_t at = count < NEIGHBORS + 1 ? count++ : NEIGHBORS;
        for (; at > 0 && distances[at - 1] > d; at--) {
            distances[at] = distances[at - 1];
            found[at] = found[at - 1];
        }
        distances[at] = d;
        found[at] = i;
    }
    for (uint32_t n = 0; n < NEIGHBORS; n++) {
        double u = n + 1 < count ? 1 - distances[n] / fmax(distances[count - 1], 1e-30) : 0;
        values[n] = u > 0 ? u * u : 0;
        sum += values[n];
    }
    for (uint32_t n = 0; n < NEIGHBORS; n++) {
        weights[n] = sum > 0 ? (float)(values[n] / sum) : n == 0;
        neighbors[n] = (uint16_t)(n < count ? found[n] : found[0]);
    }
}

static pelt_result attach(pelt_context *context, pelt_model *model, const scene_surface *coarse,
                          const scene_surface *fine, softbody *body) {
    size_t count = (size_t)fine->point_count * NEIGHBORS;
    uint16_t *neighbors = SCENE_NEW(context, model, uint16_t, count);
    float *weights = SCENE_NEW(context, model, float, count);
    if (!neighbors || !weights)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < fine->point_count; i++)
        follow(coarse, vec_load(fine->positions + 3 * i), neighbors + NEIGHBORS * i, weights + NEIGHBORS * i);
    body->point_count = fine->point_count;
    body->rest = fine->positions;
    body->neighbors = neighbors;
    body->weights = weights;
    return PELT_OK;
}

/* ---- Scene ------------------------------------------------------------------------------------------------ */

/* The mesh is in the pose of the first frame: a rotated, raised rest shape. */
static pelt_result place_mesh(pelt_context *context, pelt_model *scratch, pelt_model *model, const softbody *body) {
    pelt_mesh *mesh = &model->mesh;
    float *first = SCENE_NEW(context, scratch, float, 3 * (size_t)body->point_count);
    if (!first)
        return PELT_ERROR_MEMORY;
    SCENE_TRY(read_softbody(context, body, 0, 0, body->point_count, first));
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        memcpy(mesh->positions + 3 * i, first + 3 * (size_t)mesh->points.of[i], 3 * sizeof(float));
        vec n = vec_load(mesh->normals + 3 * i);
        vec_store(mesh->normals + 3 * i, vec_unit(map_offset(body->poses[0].columns, n)));
    }
    return PELT_OK;
}

static pelt_result build(pelt_context *context, pelt_model *scratch, const scene_desc *desc, pelt_model *model) {
    scene_random random = {desc->seed};
    scene_solid *solid = SCENE_NEW(context, scratch, scene_solid, 1);
    softbody *body = SCENE_NEW(context, model, softbody, 1);
    if (!solid || !body)
        return PELT_ERROR_MEMORY;
    make_solid(&random, solid);
    uint32_t frame_count = scene_count(desc->frame_count, 120, 1, SCENE_MAX_FRAMES);
    scene_surface coarse, fine;
    SCENE_TRY(scene_surface_make(context, scratch, solid, COARSE, &coarse));
    SCENE_TRY(scene_surface_make(
        context, model, solid, scene_points_for(scene_count(desc->vertex_count, 3000, 50, SCENE_MAX_VERTICES)), &fine));
    SCENE_TRY(simulate(context, scratch, model, &coarse, &random, frame_count, body));
    SCENE_TRY(attach(context, model, &coarse, &fine, body));
    SCENE_TRY(scene_mesh_from_surface(context, model, &fine, "hare", true));
    SCENE_TRY(place_mesh(context, scratch, model, body));
    return scene_clip(context, model, "bounce", frame_count, (pelt_clip_source){.read = read_softbody, .user = body});
}

static pelt_result make(pelt_context *context, const scene_desc *desc, pelt_model **model) {
    return scene_build(context, desc, build, model);
}

const scene scene_softbody = {"softbody", "a squashy hare that falls and bounces: simulated soft body, a clip", make,
                              NULL};
