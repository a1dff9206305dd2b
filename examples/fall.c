/* Characters that fall on each other, as in "Skinning Mesh Animations" (James and Twigg 2005, figure 18): each plays
 * its motion and is a rigid body, and collisions of the deformed surfaces, found by bounded deformation trees, drive
 * the simulation.
 *
 *   example_fall                        six arms; a test: nothing falls through the floor, and a second run
 *                                      gives the same bits
 *   example_fall RIG.glb STRIP.png      characters of a file with a skin and a motion, drawn at six times
 *
 * Contacts are the pairs of triangles that intersect. Every contact prevents the two bodies from approaching and
 * separates them slowly; impulses with friction are applied to one contact after another, several times (E. Guendelman,
 * R. Bridson, R. Fedkiw, "Nonconvex rigid bodies with stacking", ACM Trans. Graph. 22(3), 2003, without its shock
 * propagation). Body 0 is the floor.
 */
#include "arm.h"

#include <pelt/pelt.h>
#include <stdlib.h>

enum { BODIES = 7, MOST_CONTACTS = 64, STEPS_PER_FRAME = 8, FPS = 30, ITERATIONS = 8 };
#define GRAVITY  5.0 /* sizes per second² */
#define FRICTION 0.5
#define PARTING  0.6 /* speed at which bodies that meet part, in sizes per second */

typedef struct vec {
    double x, y, z;
} vec;

static vec add(vec a, double scale, vec b) {
    return (vec){a.x + scale * b.x, a.y + scale * b.y, a.z + scale * b.z};
}
static double dot(vec a, vec b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static vec cross(vec a, vec b) {
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static vec unit(vec a) {
    double length = sqrt(dot(a, a));
    return length > 0 ? (vec){a.x / length, a.y / length, a.z / length} : (vec){0, 1, 0};
}

typedef struct character {
    const pelt_model *model;
    pelt_bdtree *tree;
    pelt_body *body;
    pelt_affine *palette; /* [bone] in the world */
    float *weights;       /* [morph] */
    double phase;         /* seconds into the motion at the start */
    vec center;           /* of mass, at rest */
    vec place, velocity, spin;
    double turn[4];           /* unit quaternion x y z w */
    double mass_1, inertia_1; /* 1 / mass, 1 / moment of inertia (of a ball of its size); 0: does not move */
} character;

typedef struct contact {
    uint32_t a, b; /* triangles */
    vec at, normal;
    double pushed; /* impulse so far */
} contact;

typedef struct contact_list {
    contact items[MOST_CONTACTS];
    uint32_t count;
} contact_list;

typedef struct scene {
    pelt_context *context;
    character all[BODIES];
    pelt_transform *locals;
    pelt_affine *globals;
    double size;
    uint64_t hash;
    uint32_t contact_count; /* of all steps */
} scene;

/* ---- Poses ------------------------------------------------------------------------------------------------------- */

static pelt_affine world_of(const character *c) {
    double x = c->turn[0], y = c->turn[1], z = c->turn[2], w = c->turn[3];
    double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                   2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                   2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    const double place[3] = {c->place.x, c->place.y, c->place.z};
    pelt_affine out;
    for (int e = 0; e < 3; e++) {
        vec row = {r[3 * e], r[3 * e + 1], r[3 * e + 2]};
        out.m[4 * e] = (float)row.x, out.m[4 * e + 1] = (float)row.y, out.m[4 * e + 2] = (float)row.z;
        out.m[4 * e + 3] = (float)(place[e] - dot(row, c->center));
    }
    return out;
}

static pelt_affine product(const pelt_affine *a, const pelt_affine *b) {
    pelt_affine out;
    for (int e = 0; e < 12; e++) {
        const float *row = a->m + e / 4 * 4;
        out.m[e] =
            row[0] * b->m[e % 4] + row[1] * b->m[4 + e % 4] + row[2] * b->m[8 + e % 4] + (e % 4 == 3 ? row[3] : 0);
    }
    return out;
}

/* Sets the pose of the body: its motion at this time, moved as a whole. */
static void pose(scene *s, character *c, double time) {
    const pelt_model *model = c->model;
    const pelt_motion *motion = model->motion_count ? &model->motions[0] : NULL;
    double length = motion ? motion->end - motion->start : 0;
    float at = motion ? motion->start + (float)(length > 0 ? fmod(c->phase + time, length) : 0) : 0;
    pelt_affine world = world_of(c);
    pelt_motion_sample(model, motion, at, s->locals, c->weights);
    pelt_skeleton_globals(&model->skeleton, s->locals, s->globals);
    pelt_skin_palette(&model->skin, s->globals, c->palette);
    for (uint32_t j = 0; j < model->skin.bone_count; j++)
        c->palette[j] = product(&world, &c->palette[j]);
    pelt_body_palette(c->body, c->palette, c->weights);
}

/* Positions of all vertices in the pose. */
static void skin(const character *c, float *morphed, float *out) {
    const pelt_model *model = c->model;
    pelt_morph_run(&model->mesh, &model->morphs, c->weights, morphed, NULL, NULL);
    const pelt_skin_job job = {.vertex_count = model->mesh.vertex_count,
                               .influence_count = model->skin.influence_count,
                               .bones = model->skin.bones,
                               .weights = model->skin.weights,
                               .palette = c->palette,
                               .positions = morphed,
                               .out_positions = out};
    pelt_skin_run(&job);
}

/* Corners of a triangle in the pose, without morphs: where contacts are need not be exact. */
static void corners(const character *c, uint32_t triangle, vec out[3]) {
    const pelt_skin *skin = &c->model->skin;
    for (int e = 0; e < 3; e++) {
        size_t i = c->model->mesh.triangles[3 * (size_t)triangle + (size_t)e], k = skin->influence_count;
        const pelt_skin_job job = {.vertex_count = 1,
                                   .influence_count = skin->influence_count,
                                   .bones = skin->bones + k * i,
                                   .weights = skin->weights + k * i,
                                   .palette = c->palette,
                                   .positions = c->model->mesh.positions + 3 * i,
                                   .out_positions = (float[3]){0}};
        pelt_skin_run(&job);
        out[e] = (vec){job.out_positions[0], job.out_positions[1], job.out_positions[2]};
    }
}

/* ---- Contacts ---------------------------------------------------------------------------------------------------- */

static bool keep_pair(void *user, uint32_t a, uint32_t b) {
    contact_list *list = user;
    list->items[list->count] = (contact){.a = a, .b = b};
    return ++list->count < MOST_CONTACTS;
}

/* The normal of a contact points from b to a: vertical at the floor, else along n_b − n_a of the triangle normals. */
static void find_contacts(character *a, character *b, contact_list *list) {
    list->count = 0;
    pelt_body_pairs(a->body, b->body, keep_pair, list);
    for (uint32_t n = 0; n < list->count; n++) {
        contact *c = &list->items[n];
        vec p[2][3], normals[2], sum = {0, 0, 0};
        corners(a, c->a, p[0]);
        corners(b, c->b, p[1]);
        for (int s = 0; s < 2; s++)
            normals[s] = unit(cross(add(p[s][1], -1, p[s][0]), add(p[s][2], -1, p[s][0])));
        for (int e = 0; e < 3; e++) /* on the body: triangles of the floor are large */
            sum = add(sum, 1.0 / 3, p[a->mass_1 > 0 ? 0 : 1][e]);
        c->at = sum;
        c->normal = a->mass_1 == 0   ? (vec){0, -1, 0}
                    : b->mass_1 == 0 ? (vec){0, 1, 0}
                                     : unit(add(normals[1], -1, normals[0]));
    }
}

static vec velocity_at(const character *c, vec p) {
    return add(c->velocity, 1, cross(c->spin, add(p, -1, c->place)));
}

static void push(character *c, vec at, double impulse, vec direction) {
    c->velocity = add(c->velocity, impulse * c->mass_1, direction);
    c->spin = add(c->spin, impulse * c->inertia_1, cross(add(at, -1, c->place), direction));
}

/* The change of the relative velocity by a unit impulse along a direction. */
static double give(const character *a, const character *b, vec at, vec direction) {
    vec ra = cross(add(at, -1, a->place), direction), rb = cross(add(at, -1, b->place), direction);
    return a->mass_1 + b->mass_1 + a->inertia_1 * dot(ra, ra) + b->inertia_1 * dot(rb, rb);
}

static void solve(character *a, character *b, contact_list *list, double parting) {
    for (int iteration = 0; iteration < ITERATIONS; iteration++)
        for (uint32_t n = 0; n < list->count; n++) {
            contact *c = &list->items[n];
            vec v = add(velocity_at(a, c->at), -1, velocity_at(b, c->at));
            double wanted = (parting - dot(v, c->normal)) / give(a, b, c->at, c->normal), before = c->pushed;
            c->pushed = fmax(before + wanted, 0);
            push(a, c->at, c->pushed - before, c->normal);
            push(b, c->at, before - c->pushed, c->normal);
            v = add(velocity_at(a, c->at), -1, velocity_at(b, c->at));
            vec sideways = add(v, -dot(v, c->normal), c->normal), direction = unit(sideways);
            double speed = sqrt(dot(sideways, sideways)), most = FRICTION * (c->pushed - before);
            double rub = speed > 0 ? fmin(speed / give(a, b, c->at, direction), fmax(most, 0)) : 0;
            push(a, c->at, -rub, direction);
            push(b, c->at, rub, direction);
        }
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static void move(character *c, double dt) {
    vec r = c->spin;
    double *q = c->turn, x = q[0], y = q[1], z = q[2], w = q[3], h = dt / 2;
    c->place = add(c->place, dt, c->velocity);
    q[0] += h * (r.x * w + r.y * z - r.z * y);
    q[1] += h * (r.y * w + r.z * x - r.x * z);
    q[2] += h * (r.z * w + r.x * y - r.y * x);
    q[3] -= h * (r.x * x + r.y * y + r.z * z);
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int e = 0; e < 4; e++)
        q[e] /= length;
}

static void step(scene *s, double time, double dt) {
    contact_list list;
    for (int i = 0; i < BODIES; i++)
        pose(s, &s->all[i], time);
    for (int i = 1; i < BODIES; i++) {
        s->all[i].velocity.y -= GRAVITY * s->size * dt;
        s->all[i].spin = add(s->all[i].spin, -0.5 * dt, s->all[i].spin); /* air drag */
    }
    for (int a = 0; a < BODIES; a++)
        for (int b = a + 1; b < BODIES; b++) {
            find_contacts(&s->all[a], &s->all[b], &list);
            solve(&s->all[a], &s->all[b], &list, PARTING * s->size);
            s->contact_count += list.count;
        }
    for (int i = 1; i < BODIES; i++) {
        move(&s->all[i], dt);
        const double state[3] = {s->all[i].place.x, s->all[i].place.y, s->all[i].place.z};
        for (size_t e = 0; e < sizeof state; e++)
            s->hash = (s->hash ^ ((const unsigned char *)state)[e]) * UINT64_C(0x100000001b3);
    }
}

/* ---- Scenes ------------------------------------------------------------------------------------------------------ */

/* Two triangles with one bone. */
static pelt_model *make_floor(pelt_context *context, float side) {
    pelt_model *model;
    if (pelt_model_create(context, &model) != PELT_OK)
        return NULL;
    pelt_mesh *mesh = &model->mesh;
    static const uint32_t quad[6] = {0, 1, 2, 0, 2, 3};
    mesh->vertex_count = mesh->points.count = 4;
    mesh->triangle_count = mesh->polygon_count = 2;
    mesh->positions = pelt_model_alloc(context, model, 12, sizeof(float));
    mesh->triangles = pelt_model_alloc(context, model, 6, sizeof(uint32_t));
    model->skeleton.joint_count = model->skin.bone_count = model->skin.influence_count = 1;
    model->skeleton.names = pelt_model_alloc(context, model, 1, sizeof(char *));
    model->skeleton.parents = pelt_model_alloc(context, model, 1, sizeof(uint32_t));
    model->skeleton.rest = pelt_model_alloc(context, model, 1, sizeof(pelt_transform));
    model->skin.bone_joints = pelt_model_alloc(context, model, 1, sizeof(uint32_t));
    model->skin.inverse_binds = pelt_model_alloc(context, model, 1, sizeof(pelt_affine));
    model->skin.bones = pelt_model_alloc(context, model, 4, sizeof(uint16_t));
    model->skin.weights = pelt_model_alloc(context, model, 4, sizeof(float));
    model->skeleton.names[0] = "floor";
    model->skeleton.parents[0] = PELT_NONE;
    model->skeleton.rest[0] = (pelt_transform){{0}, {0, 0, 0, 1}, {1, 1, 1}};
    model->skin.inverse_binds[0] = (pelt_affine){{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
    memcpy(mesh->triangles, quad, sizeof quad);
    for (int i = 0; i < 4; i++) {
        mesh->positions[3 * i] = i == 1 || i == 2 ? side : -side;
        mesh->positions[3 * i + 2] = i < 2 ? side : -side;
        model->skin.weights[i] = 1;
    }
    return model;
}

/* The middle of the mesh and the size of its box. */
static double measure(const pelt_mesh *mesh, vec *center) {
    double low[3] = {1e30, 1e30, 1e30}, high[3] = {-1e30, -1e30, -1e30};
    for (size_t e = 0; e < 3 * (size_t)mesh->vertex_count; e++) {
        low[e % 3] = fmin(low[e % 3], mesh->positions[e]);
        high[e % 3] = fmax(high[e % 3], mesh->positions[e]);
    }
    *center = (vec){(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, (low[2] + high[2]) / 2};
    return fmax(fmax(high[0] - low[0], high[1] - low[1]), high[2] - low[2]);
}

static bool make_scene(scene *s, pelt_context *context, const pelt_model *model, const pelt_model *floor) {
    *s = (scene){.context = context, .hash = UINT64_C(0xcbf29ce484222325)};
    uint32_t joints = model->skeleton.joint_count;
    s->locals = calloc(joints, sizeof *s->locals);
    s->globals = calloc(joints, sizeof *s->globals);
    vec center;
    s->size = measure(&model->mesh, &center);
    for (int i = 0; i < BODIES; i++) {
        character *c = &s->all[i];
        c->model = i ? model : floor;
        c->palette = calloc(c->model->skin.bone_count, sizeof *c->palette);
        c->weights = calloc(c->model->morphs.morph_count + 1, sizeof *c->weights);
        if (!s->locals || !s->globals || !c->palette || !c->weights ||
            (i < 2 && pelt_bdtree_create(context, c->model, &c->tree) != PELT_OK))
            return false;
        if (i >= 2)
            c->tree = s->all[1].tree; /* one tree shared by all */
        if (pelt_body_create(context, c->tree, &c->body) != PELT_OK)
            return false;
        c->turn[3] = 1;
        if (i == 0)
            continue;
        double tilt = 0.9 * i + 0.4, around = 2.4 * i;
        c->turn[0] = sin(tilt / 2) * cos(around), c->turn[2] = sin(tilt / 2) * sin(around), c->turn[3] = cos(tilt / 2);
        c->center = center;
        c->phase = 0.37 * i;
        c->place = (vec){0.22 * s->size * cos(around), (0.15 + 0.45 * i) * s->size, 0.22 * s->size * sin(around)};
        c->mass_1 = 1;
        c->inertia_1 = 1 / (0.4 * 0.15 * s->size * s->size);
    }
    return true;
}

static void drop_scene(scene *s) {
    for (int i = 0; i < BODIES; i++) {
        pelt_body_destroy(s->all[i].body);
        free(s->all[i].palette);
        free(s->all[i].weights);
    }
    pelt_bdtree_destroy(s->all[0].tree);
    pelt_bdtree_destroy(s->all[1].tree);
    free(s->locals);
    free(s->globals);
}

/* Simulates `frames` frames; `out` [frame][body][vertex][3] or NULL. Returns the lowest centre at the end. */
static double simulate(scene *s, int frames, float *out) {
    uint32_t count = s->all[1].model->mesh.vertex_count;
    float *morphed = calloc(count, 3 * sizeof *morphed);
    for (int k = 0; k < frames && morphed; k++)
        for (int n = 0; n < STEPS_PER_FRAME; n++) {
            step(s, (k + (double)n / STEPS_PER_FRAME) / FPS, 1.0 / FPS / STEPS_PER_FRAME);
            for (int i = 1; i < BODIES && out && n == 0; i++)
                skin(&s->all[i], morphed, out + 3 * (size_t)count * ((size_t)k * (BODIES - 1) + (size_t)i - 1));
        }
    free(morphed);
    double lowest = INFINITY;
    for (int i = 1; i < BODIES; i++)
        lowest = fmin(lowest, s->all[i].place.y);
    return lowest;
}

/* ---- A picture --------------------------------------------------------------------------------------------------- */

/* One mesh with a part for every body, whose frames are a clip. */
static pelt_result draw(pelt_context *context, const pelt_model *one, float *frames, int frame_count,
                        const char *path) {
    pelt_model *model;
    pelt_result result = pelt_model_create(context, &model);
    if (result != PELT_OK)
        return result;
    const pelt_mesh *from = &one->mesh;
    pelt_mesh *mesh = &model->mesh;
    uint32_t bodies = BODIES - 1;
    mesh->vertex_count = mesh->points.count = bodies * from->vertex_count;
    mesh->triangle_count = mesh->polygon_count = bodies * from->triangle_count;
    mesh->part_count = bodies;
    mesh->positions = frames;
    mesh->triangles = pelt_model_alloc(context, model, mesh->triangle_count, 3 * sizeof(uint32_t));
    mesh->parts = pelt_model_alloc(context, model, bodies, sizeof *mesh->parts);
    float *times = pelt_model_alloc(context, model, (size_t)frame_count, sizeof *times);
    model->clips = pelt_model_alloc(context, model, 1, sizeof *model->clips);
    if (!mesh->triangles || !mesh->parts || !times || !model->clips) {
        pelt_model_destroy(model);
        return PELT_ERROR_MEMORY;
    }
    for (uint32_t b = 0; b < bodies; b++) {
        mesh->parts[b] = (pelt_part){.name = "character",
                                     .first_triangle = b * from->triangle_count,
                                     .triangle_count = from->triangle_count,
                                     .first_vertex = b * from->vertex_count,
                                     .vertex_count = from->vertex_count,
                                     .joint = PELT_NONE};
        for (uint32_t e = 0; e < 3 * from->triangle_count; e++)
            mesh->triangles[3 * b * from->triangle_count + e] = from->triangles[e] + b * from->vertex_count;
    }
    for (int k = 0; k < frame_count; k++)
        times[k] = (float)k / FPS;
    model->clip_count = 1;
    model->clips[0] = (pelt_clip){.name = "fall",
                                  .frame_count = (uint32_t)frame_count,
                                  .point_count = mesh->points.count,
                                  .times = times,
                                  .positions = frames};
    pelt_picture_desc desc = pelt_picture_desc_default();
    desc.width = 1320, desc.height = 360;
    desc.columns = 6;
    desc.zoom = 1.06;
    desc.yaw = 35, desc.pitch = 10;
    desc.mode = PELT_PICTURE_PARTS;
    desc.samples = 3;
    result = pelt_picture_save(context, model, &desc, path);
    pelt_model_destroy(model);
    return result;
}

static int draw_file(pelt_context *context, const char *path, const char *picture) {
    enum { FRAMES = 2 * FPS };
    pelt_model *model = NULL, *floor = NULL;
    scene s = {0};
    int failed = 1;
    if (pelt_load(context, &path, 1, NULL, &model) == PELT_OK) {
        if (!model->skin.bone_count) {
            fprintf(stderr, "%s: has no skin\n", path);
        } else if ((floor = make_floor(context, 1000)) && make_scene(&s, context, model, floor)) {
            float *frames = calloc((size_t)FRAMES * (BODIES - 1) * model->mesh.vertex_count, 3 * sizeof *frames);
            if (frames) {
                simulate(&s, FRAMES, frames);
                printf("%u contacts in %d steps\n", s.contact_count, FRAMES * STEPS_PER_FRAME);
                failed = draw(context, model, frames, FRAMES, picture) != PELT_OK;
            }
            free(frames);
        }
        drop_scene(&s);
    }
    if (failed)
        arm_fail(context);
    pelt_model_destroy(floor);
    pelt_model_destroy(model);
    return failed;
}

int main(int count, char **arguments) {
    pelt_context *context = NULL;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    if (count == 3) {
        int failed = draw_file(context, arguments[1], arguments[2]);
        pelt_context_destroy(context);
        return failed;
    }
    pelt_model *arm = arm_create(context), *floor = make_floor(context, 1000);
    uint64_t hashes[2] = {0, 1};
    bool right = arm && floor;
    for (int run = 0; run < 2 && right; run++) {
        scene s;
        right = make_scene(&s, context, arm, floor);
        double lowest = right ? simulate(&s, FPS, NULL) : 0;
        hashes[run] = s.hash;
        right = right && s.contact_count > 0 && lowest > 0;
        printf("%u contacts; the lowest centre is %.3f above the floor; hash %016llx\n", s.contact_count, lowest,
               (unsigned long long)s.hash);
        drop_scene(&s);
    }
    pelt_model_destroy(floor);
    pelt_model_destroy(arm);
    pelt_context_destroy(context);
    return !(right && hashes[0] == hashes[1]);
}
