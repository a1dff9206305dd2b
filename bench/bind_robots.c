/* Rigid characters: hulls, ball joints, plates and bolts around the bones of a character's skeleton, each a shell that
 * follows one joint. The binding is measured against these joints. */
#include "bind_bench.h"
#include "rig_measures.h"

#include "core/core.h"
#include "core/math3.h"

#include <pelt/bind.h>
#include <pelt/io.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDES 8u
#define BOLTS 4

typedef struct robot {
    size_t vertex_count, triangle_count, shell_count;
    float *positions;
    uint32_t *triangles;
    uint32_t *owners; /* [vertex] joint */
    uint32_t *shells; /* [vertex] */
    uint32_t seed;
} robot;

static double chance(robot *r) {
    r->seed = r->seed * 1664525u + 1013904223u;
    return (r->seed >> 8) / 16777216.0;
}

static void add_vertex(robot *r, const double p[3], uint32_t joint) {
    r->positions = realloc(r->positions, 3 * (r->vertex_count + 1) * sizeof(float));
    r->owners = realloc(r->owners, (r->vertex_count + 1) * sizeof(uint32_t));
    r->shells = realloc(r->shells, (r->vertex_count + 1) * sizeof(uint32_t));
    if (!r->positions || !r->owners || !r->shells)
        exit(1);
    for (int c = 0; c < 3; c++)
        r->positions[3 * r->vertex_count + (size_t)c] = (float)p[c];
    r->shells[r->vertex_count] = (uint32_t)r->shell_count;
    r->owners[r->vertex_count++] = joint;
}

static void add_triangle(robot *r, size_t a, size_t b, size_t c) {
    r->triangles = realloc(r->triangles, 3 * (r->triangle_count + 1) * sizeof(uint32_t));
    if (!r->triangles)
        exit(1);
    const uint32_t corners[3] = {(uint32_t)a, (uint32_t)b, (uint32_t)c};
    memcpy(r->triangles + 3 * r->triangle_count++, corners, sizeof corners);
}

/* Rings of `radii` around the way from a to b, closed by a point at either end. */
static void add_rings(robot *r, const double a[3], const double axis[3], const double u[3], const double v[3],
                      const double *along, const double *radii, int rings, uint32_t joint) {
    size_t first = r->vertex_count;
    for (int n = 0; n < rings; n++)
        for (uint32_t k = 0; k < SIDES; k++) {
            double angle = 2 * acos(-1) * k / SIDES, p[3];
            for (int c = 0; c < 3; c++)
                p[c] = a[c] + along[n] * axis[c] + radii[n] * (cos(angle) * u[c] + sin(angle) * v[c]);
            add_vertex(r, p, joint);
        }
    for (int n = 0; n + 1 < rings; n++)
        for (uint32_t k = 0; k < SIDES; k++) {
            size_t p = first + (size_t)n * SIDES + k, q = first + (size_t)n * SIDES + (k + 1) % SIDES;
            add_triangle(r, p, q, q + SIDES);
            add_triangle(r, p, q + SIDES, p + SIDES);
        }
    size_t last = first + (size_t)(rings - 1) * SIDES;
    for (uint32_t k = 1; k + 1 < SIDES; k++) {
        add_triangle(r, first, first + k + 1, first + k);
        add_triangle(r, last, last + k, last + k + 1);
    }
    r->shell_count++;
}

static void add_tube(robot *r, const double a[3], const double axis[3], const double u[3], const double v[3],
                     double from, double to, double radius, uint32_t joint) {
    double along[4], radii[4];
    for (int n = 0; n < 4; n++) {
        along[n] = from + (to - from) * n / 3;
        radii[n] = radius;
    }
    add_rings(r, a, axis, u, v, along, radii, 4, joint);
}

static void add_ball(robot *r, const double at[3], const double axis[3], const double u[3], const double v[3],
                     double radius, uint32_t joint) {
    double along[5], radii[5];
    for (int n = 0; n < 5; n++) {
        double angle = acos(-1) * (n + 0.5) / 5;
        along[n] = -radius * cos(angle);
        radii[n] = radius * sin(angle);
    }
    add_rings(r, at, axis, u, v, along, radii, 5, joint);
}

static void add_bone(robot *r, const double a[3], const double b[3], double most, uint32_t joint) {
    double axis[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    double u[3] = {0, 0, 0}, v[3], dot = 0, norm = 0;
    for (int c = 0; c < 3; c++)
        axis[c] /= length;
    int least = fabs(axis[0]) <= fabs(axis[1]) && fabs(axis[0]) <= fabs(axis[2]) ? 0
                : fabs(axis[1]) <= fabs(axis[2])                                 ? 1
                                                                                 : 2;
    u[least] = 1;
    dot = axis[least];
    for (int c = 0; c < 3; c++) {
        u[c] -= dot * axis[c];
        norm += u[c] * u[c];
    }
    for (int c = 0; c < 3; c++)
        u[c] /= sqrt(norm);
    for (int c = 0; c < 3; c++)
        v[c] = axis[(c + 1) % 3] * u[(c + 2) % 3] - axis[(c + 2) % 3] * u[(c + 1) % 3];
    double radius = fmin(0.2 * length, most);
    add_tube(r, a, axis, u, v, 0.14 * length, 0.86 * length, radius, joint);
    add_ball(r, a, axis, u, v, fmin(0.13 * length, 1.1 * radius), joint);
    for (int n = 0; n < 2; n++) {
        double at[3];
        for (int c = 0; c < 3; c++)
            at[c] = a[c] + (n ? -1.3 : 1.3) * radius * v[c];
        add_tube(r, at, axis, u, v, 0.2 * length, 0.8 * length, 0.25 * radius, joint);
    }
    for (int n = 0; n < BOLTS; n++) {
        double angle = 2 * acos(-1) * chance(r), along = (0.15 + 0.7 * chance(r)) * length, at[3];
        for (int c = 0; c < 3; c++)
            at[c] = a[c] + along * axis[c] + 1.02 * radius * (cos(angle) * u[c] + sin(angle) * v[c]);
        add_ball(r, at, axis, u, v, 0.15 * radius, joint);
    }
}

static void place(const pelt_affine *m, double out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (double)m->m[4 * c + 3];
}

/* Bones from joints that carry weight to their children that do. */
static void grow(robot *r, const pelt_model *model, const pelt_affine *globals, double size) {
    const pelt_skeleton *s = &model->skeleton;
    bool *used = calloc(s->joint_count, sizeof *used);
    for (size_t k = 0; k < (size_t)model->mesh.vertex_count * model->skin.influence_count; k++)
        if (model->skin.weights[k] > 0.5f)
            used[model->skin.bone_joints[model->skin.bones[k]]] = true;
    for (uint32_t j = 0; j < s->joint_count; j++) {
        double a[3], b[3], best = 0, end[3] = {0};
        if (!used[j])
            continue;
        place(&globals[j], a);
        for (uint32_t k = 0; k < s->joint_count; k++) {
            if (s->parents[k] != j)
                continue;
            place(&globals[k], b);
            double d =
                sqrt((b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1]) + (b[2] - a[2]) * (b[2] - a[2]));
            if (d > best) {
                best = d;
                memcpy(end, b, sizeof end);
            }
        }
        if (best > 0.02 * size)
            add_bone(r, a, end, 0.03 * size, j);
    }
    free(used);
}

static pelt_result make_model(pelt_context *context, const robot *r, const pelt_model *from, const pelt_affine *globals,
                              pelt_model **out) {
    PX_TRY(pelt_model_create(context, out));
    pelt_model *m = *out;
    uint32_t count = (uint32_t)r->vertex_count, joints = from->skeleton.joint_count;
    m->mesh.vertex_count = m->mesh.points.count = count;
    m->mesh.triangle_count = m->mesh.polygon_count = (uint32_t)r->triangle_count;
    m->mesh.part_count = 1;
    m->mesh.positions = pelt_model_alloc(context, m, 3 * r->vertex_count, sizeof(float));
    m->mesh.triangles = pelt_model_alloc(context, m, 3 * r->triangle_count, sizeof(uint32_t));
    m->mesh.parts = pelt_model_alloc(context, m, 1, sizeof(pelt_part));
    m->skin = (pelt_skin){.bone_count = joints,
                          .influence_count = 1,
                          .bone_joints = pelt_model_alloc(context, m, joints, sizeof(uint32_t)),
                          .inverse_binds = pelt_model_alloc(context, m, joints, sizeof(pelt_affine)),
                          .bones = pelt_model_alloc(context, m, count, sizeof(uint16_t)),
                          .weights = pelt_model_alloc(context, m, count, sizeof(float))};
    memcpy(m->mesh.positions, r->positions, 3 * r->vertex_count * sizeof(float));
    memcpy(m->mesh.triangles, r->triangles, 3 * r->triangle_count * sizeof(uint32_t));
    m->mesh.parts[0] = (pelt_part){.name = "robot",
                                   .triangle_count = m->mesh.triangle_count,
                                   .vertex_count = count,
                                   .joint = PELT_NONE,
                                   .skinned = true};
    m->skeleton = from->skeleton; /* the character outlives the robot */
    for (uint32_t j = 0; j < joints; j++) {
        m->skin.bone_joints[j] = j;
        px_affine_inverse(&globals[j], &m->skin.inverse_binds[j]);
    }
    for (uint32_t i = 0; i < count; i++) {
        m->skin.bones[i] = (uint16_t)r->owners[i];
        m->skin.weights[i] = 1;
    }
    return PELT_OK;
}

/* Shells that follow their joint with nearly all their weight, and the rows' L1. */
static void judge(const robot *r, const pelt_model *ours, double *l1, double *right) {
    double *own = calloc(r->shell_count, sizeof *own), *count = calloc(r->shell_count, sizeof *count);
    *l1 = *right = 0;
    for (size_t i = 0; i < r->vertex_count; i++) {
        double w = 0;
        for (uint32_t e = 0; e < ours->skin.influence_count; e++) {
            size_t k = i * ours->skin.influence_count + e;
            if (ours->skin.bone_joints[ours->skin.bones[k]] == r->owners[i])
                w += (double)ours->skin.weights[k];
        }
        *l1 += 2 * (1 - w) / (double)r->vertex_count;
        own[r->shells[i]] += w;
        count[r->shells[i]]++;
    }
    for (size_t n = 0; n < r->shell_count; n++)
        *right += own[n] > 0.99 * count[n];
    *right *= 100.0 / (double)r->shell_count;
    free(own);
    free(count);
}

/* A machine of the real data: parts attached to nodes get a skin that follows the joints above those nodes. */
static pelt_result load_hanging(pelt_context *context, const character *c, pelt_model **model, uint32_t *hanging) {
    *hanging = 0;
    PX_TRY(pelt_load(context, (const char *const[]){c->path}, 1, NULL, model));
    pelt_model *m = *model;
    pelt_affine *globals = calloc(m->skeleton.joint_count + 1, sizeof *globals);
    if (!globals)
        exit(1);
    pelt_skeleton_globals(&m->skeleton, m->skeleton.rest, globals);
    for (uint32_t p = 0; p < m->mesh.part_count; p++) {
        pelt_part *part = &m->mesh.parts[p];
        if (part->skinned || part->joint == PELT_NONE || m->skeleton.parents[part->joint] == PELT_NONE)
            continue;
        part->skinned = true;
        ++*hanging;
        for (uint32_t b = 0; b < m->skin.bone_count; b++)
            if (m->skin.bone_joints[b] == part->joint) {
                m->skin.bone_joints[b] = m->skeleton.parents[part->joint];
                px_affine_inverse(&globals[m->skin.bone_joints[b]], &m->skin.inverse_binds[b]);
            }
    }
    free(globals);
    return PELT_OK;
}

static pelt_result bind_hanging(pelt_context *context, const bind_bench *b, const character *c) {
    static const char *const settings[] = {"rigid-parts=off", "rigid-parts=auto"};
    pelt_model *truth = NULL, *ours = NULL;
    uint32_t hanging;
    pelt_result result = load_hanging(context, c, &truth, &hanging);
    for (size_t n = 0; n < PX_COUNT(settings) && result == PELT_OK && hanging > 4; n++) {
        rig_measures measures;
        bind_figures figures;
        result = load_hanging(context, c, &ours, &hanging);
        if (result == PELT_OK)
            result = bind_with(context, b, settings[n], ours, &figures);
        if (result == PELT_OK)
            result = rig_compare(context, truth, ours, NULL, &measures);
        if (result == PELT_OK)
            printf("parts of %s that hang from nodes, bound with %s: L1 %.4f\n", c->name, settings[n], measures.l1);
        pelt_model_destroy(ours);
        ours = NULL;
    }
    pelt_model_destroy(truth);
    return result;
}

static struct {
    double l1[2], right[2];
    uint32_t count;
} sums; /* over the skeletons of the table */

static void add_to_means(const double l1[2], const double right[2]) {
    for (int n = 0; n < 2; n++) {
        sums.l1[n] += l1[n];
        sums.right[n] += right[n];
    }
    sums.count++;
}

static pelt_result run(pelt_context *context, const bind_bench *b, const character *c) {
    static const char *const settings[2] = {"rigid-parts=off", "rigid-parts=auto"};
    pelt_model *model = NULL;
    PX_TRY(pelt_load(context, (const char *const[]){c->path}, 1, NULL, &model));
    pelt_affine *globals = calloc(model->skeleton.joint_count, sizeof *globals);
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, globals);
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (uint32_t k = 0; k < model->skin.bone_count; k++)
        for (int a = 0; a < 3; a++) {
            low[a] = fminf(low[a], globals[model->skin.bone_joints[k]].m[4 * a + 3]);
            high[a] = fmaxf(high[a], globals[model->skin.bone_joints[k]].m[4 * a + 3]);
        }
    double size = sqrt(pow(high[0] - low[0], 2) + pow(high[1] - low[1], 2) + pow(high[2] - low[2], 2));
    robot r = {.seed = 1};
    grow(&r, model, globals, size);
    if (r.shell_count > 0)
        printf("| %-18s | %6zu |", c->name, r.shell_count);
    pelt_result result = PELT_OK;
    double l1s[PX_COUNT(settings)] = {0}, rights[PX_COUNT(settings)] = {0};
    for (size_t n = 0; n < PX_COUNT(settings) && result == PELT_OK && r.shell_count > 0; n++) {
        pelt_model *ours = NULL;
        bind_figures figures;
        result = make_model(context, &r, model, globals, &ours);
        if (result == PELT_OK)
            result = bind_with(context, b, settings[n], ours, &figures);
        if (result == PELT_OK) {
            judge(&r, ours, &l1s[n], &rights[n]);
            printf(" %6.4f | %5.1f |", l1s[n], rights[n]);
        }
        pelt_model_destroy(ours);
    }
    printf("%s", r.shell_count ? "\n" : "");
    if (result == PELT_OK && r.shell_count > 0)
        add_to_means(l1s, rights);
    free(r.positions);
    free(r.triangles);
    free(r.owners);
    free(r.shells);
    free(globals);
    pelt_model_destroy(model);
    return result;
}

int bind_robots(pelt_context *context, const bind_bench *b) {
    printf("| skeleton           | shells | L1 off | right | L1     | right |\n"
           "|--------------------|-------:|-------:|------:|-------:|------:|\n");
    int code = bind_each(context, b, run);
    printf("\n| | skeletons | L1 | shells right %% |\n|---|--:|--:|--:|\n");
    for (int n = 0; n < 2 && sums.count > 0; n++)
        printf("| %s | %u | %.3f | %.0f |\n", n ? "default" : "`--rigid-parts off`", sums.count,
               sums.l1[n] / sums.count, sums.right[n] / sums.count);
    return code | bind_each(context, b, bind_hanging);
}
