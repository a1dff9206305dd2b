/* Cost of a query on a character in a new pose with a bounded deformation tree, compared with the set-up cost of other
 * trees: skinning every vertex and refitting bounding boxes around all of them.
 *
 * The scene has the size of SMA's elephant (James and Twigg 2005, table 1: 42,321 vertices, 25 bones): the four-legged
 * creature of pelt-scenes, 28 joints, 4 influences. Queries about two bodies use another creature next to it, which
 * moves too, or a small one of 2,000 vertices and a tenth of its size on its back. Both sides start from the palette of
 * a frame. "refit" skins all vertices with the best kernel (pelt_skin_run) and refits a tree of boxes with up to 8
 * vertices per leaf: nodes are in depth-first order and are refitted in reverse, so that children come before their
 * parents, with minima and maxima of four floats at once; its structure (leaves of the same triangles) is built
 * beforehand. Times are the mean over all frames, the minimum of some rounds, on one thread. The target is 20 × for
 * update and query.
 *
 * "corrections" gives two creatures of 8,431 vertices (the horse of SMA) 20 corrective morphs over the whole body with
 * separate weights in every frame, and compares with testing the same frames as a cache: all positions are known, and
 * spheres are fitted to them.
 *
 *   bench_collide [ROUNDS [VERTICES [QUESTION]]]
 *   bench_collide corrections [ROUNDS [ROW]]
 */
#include "collide/collide.h"
#include "scenes.h"

#include <pelt/pelt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FRAMES 60u
#define ACTORS 3
#define SMALL  2 /* index of the small one */

static void check(pelt_context *context, pelt_result result) {
    if (result == PELT_OK)
        return;
    fprintf(stderr, "bench_collide: %s\n", pelt_error_text(context));
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *array(size_t count, size_t size) {
    void *out = aligned_alloc(64, (count * size + 63) / 64 * 64);
    if (!out)
        exit(1);
    return memset(out, 0, count * size);
}

/* ---- Refitted boxes --------------------------------------------------------------------------------------- */

typedef float quad __attribute__((vector_size(16)));
typedef int32_t quad_mask __attribute__((vector_size(16)));

typedef struct box {
    quad low, high;
} box;

typedef struct box_tree {
    const pelt_bdtree *shape; /* only nodes and leaves */
    box *boxes;               /* [node] */
    float *positions;         /* [vertex][3] and one float of padding */
} box_tree;

static quad load(const float *p) {
    quad out;
    memcpy(&out, p, sizeof out);
    return out;
}

static quad pick(quad_mask mask, quad yes, quad no) {
    return (quad)((mask & (quad_mask)yes) | (~mask & (quad_mask)no));
}
#define LEAST(a, b) pick((a) < (b), a, b)
#define MOST(a, b)  pick((a) > (b), a, b)

static void refit(box_tree *tree) {
    const pelt_bdtree *shape = tree->shape;
    for (uint32_t n = shape->node_count; n-- > 0;) {
        const px_node *node = &shape->nodes[n];
        box *out = &tree->boxes[n];
        if (node->second) {
            const box *a = out + 1, *b = &tree->boxes[node->second];
            *out = (box){LEAST(a->low, b->low), MOST(a->high, b->high)};
            continue;
        }
        const uint32_t *vertices = shape->leaves[node->leaf].vertices;
        out->low = out->high = load(tree->positions + 3 * (size_t)vertices[0]);
        for (uint32_t v = 1; v < PX_LEAF_VERTICES; v++) {
            quad p = load(tree->positions + 3 * (size_t)vertices[v]);
            out->low = LEAST(out->low, p);
            out->high = MOST(out->high, p);
        }
    }
}

static void skin_and_refit(box_tree *tree, const pelt_affine *palette) {
    const pelt_model *model = tree->shape->model;
    pelt_skin_job job = {.vertex_count = model->mesh.vertex_count,
                         .influence_count = model->skin.influence_count,
                         .bones = model->skin.bones,
                         .weights = model->skin.weights,
                         .palette = palette,
                         .positions = model->mesh.positions,
                         .out_positions = tree->positions};
    pelt_skin_run(&job);
    refit(tree);
}

/* ---- Queries ---------------------------------------------------------------------------------------------- */

typedef struct actor {
    pelt_model *model;
    pelt_bdtree *tree;
    pelt_body *body;
    box_tree boxes;
    pelt_affine *palettes; /* [frame][bone] */
    float (*spots)[3];     /* [frame] a point on it, different in every frame */
} actor;

typedef struct question {
    const char *name;
    uint32_t (*ask)(actor actors[ACTORS], const struct question *question, uint32_t frame); /* returns the hit count */
    uint32_t other; /* the second actor; 0: none */
    double size;    /* a radius, the distance of the other body, or the height of the small one */
} question;

/* A point near the creature, different in every frame. */
static void place(uint32_t frame, double far, float out[3]) {
    double turn = 2.4 * frame, height = fmod(0.618 * frame, 1);
    out[0] = (float)(far * cos(turn));
    out[1] = (float)(1 + far * (2 * height - 1));
    out[2] = (float)(far * sin(turn));
}

static uint32_t ask_ray(actor actors[ACTORS], const question *q, uint32_t frame) {
    pelt_ray ray = {.most = INFINITY};
    pelt_body_point point;
    (void)q;
    place(frame, 3, ray.origin);
    ray.direction[0] = -ray.origin[0];
    ray.direction[1] = 1 - ray.origin[1];
    ray.direction[2] = -ray.origin[2];
    return pelt_body_ray(actors[0].body, &ray, &point);
}

static uint32_t ask_nearest(actor actors[ACTORS], const question *q, uint32_t frame) {
    float p[3];
    pelt_body_point point;
    place(frame, q->size, p);
    return pelt_body_nearest(actors[0].body, p, INFINITY, &point);
}

static bool count_triangle(void *user, uint32_t triangle) {
    (void)triangle;
    ++*(uint32_t *)user;
    return true;
}

static uint32_t ask_sphere(actor actors[ACTORS], const question *q, uint32_t frame) {
    uint32_t count = 0;
    pelt_body_sphere(actors[0].body, actors[0].spots[frame], q->size, count_triangle, &count);
    return count;
}

static bool count_pair(void *user, uint32_t a, uint32_t b) {
    (void)b;
    return count_triangle(user, a);
}

static uint32_t ask_pairs(actor actors[ACTORS], const question *q, uint32_t frame) {
    uint32_t count = 0;
    (void)frame;
    pelt_body_pairs(actors[0].body, actors[q->other].body, count_pair, &count);
    return count;
}

static const question questions[] = {
    {"update alone", NULL, 0, 0},
    {"a ray", ask_ray, 0, 0},
    {"nearest, 0.5 away", ask_nearest, 0, 1},
    {"sphere of 0.02", ask_sphere, 0, 0.02},
    {"sphere of 0.1", ask_sphere, 0, 0.1},
    {"small one above it", ask_pairs, SMALL, 1.65},
    {"small one on it", ask_pairs, SMALL, 1.56},
    {"small one in it", ask_pairs, SMALL, 1.5},
    {"two, apart", ask_pairs, 1, 1.3},
    {"two, nearly touching", ask_pairs, 1, 1.05},
    {"two, touching", ask_pairs, 1, 1},
    {"two, into each other", ask_pairs, 1, 0.9},
};

/* ---- Running ---------------------------------------------------------------------------------------------- */

typedef struct result {
    double ask, refit; /* seconds per frame */
    double found, balls, leaves;
} result;

/* The second body is at another position and another time of its walk. */
static void place_other(const actor *other, const question *q, uint32_t frame, pelt_affine *out) {
    uint32_t bone_count = other->model->skin.bone_count;
    const pelt_affine *palette = other->palettes + (size_t)bone_count * ((frame + FRAMES / 3) % FRAMES);
    float scale = q->other == SMALL ? 0.1f : 1;
    for (uint32_t j = 0; j < bone_count; j++) {
        for (int e = 0; e < 12; e++)
            out[j].m[e] = scale * palette[j].m[e];
        out[j].m[q->other == SMALL ? 7 : 3] += (float)q->size;
    }
}

typedef void side_fn(actor *who, const pelt_affine *palette);

static void set_body(actor *who, const pelt_affine *palette) {
    pelt_body_palette(who->body, palette, NULL);
}

static void refit_boxes(actor *who, const pelt_affine *palette) {
    skin_and_refit(&who->boxes, palette);
}

/* All frames of one side. Each side has its own rounds, so that neither evicts the other from the caches. */
static void run_frames(actor actors[ACTORS], const question *q, side_fn *update, bool asks, pelt_affine *placed,
                       double *seconds, result *sum) {
    for (uint32_t k = 0; k < FRAMES; k++) {
        actor *other = q->other ? &actors[q->other] : NULL;
        if (other)
            place_other(other, q, k, placed);
        double start = now();
        update(&actors[0], actors[0].palettes + (size_t)actors[0].model->skin.bone_count * k);
        if (other)
            update(other, placed);
        sum->found += asks && q->ask ? q->ask(actors, q, k) / (double)FRAMES : 0;
        *seconds += (now() - start) / FRAMES;
        for (uint32_t a = 0; asks && a < ACTORS; a++)
            if (a == 0 || a == q->other) {
                sum->balls += pelt_body_query_stats(actors[a].body).ball_count / (double)FRAMES;
                sum->leaves += pelt_body_query_stats(actors[a].body).open_count / (double)FRAMES;
            }
    }
}

static result run(actor actors[ACTORS], const question *q, long rounds) {
    result best = {.ask = INFINITY, .refit = INFINITY};
    pelt_affine *placed = array(actors[q->other].model->skin.bone_count, sizeof *placed);
    for (long round = 0; round < rounds; round++) {
        result sum = {0};
        run_frames(actors, q, refit_boxes, false, placed, &sum.refit, &sum);
        run_frames(actors, q, set_body, true, placed, &sum.ask, &sum);
        sum.ask = fmin(sum.ask, best.ask);
        sum.refit = fmin(sum.refit, best.refit);
        best = sum;
    }
    free(placed);
    return best;
}

static actor make_actor(pelt_context *context, uint32_t vertex_count, uint64_t seed) {
    actor a = {0};
    scene_desc desc = {.vertex_count = vertex_count, .frame_count = FRAMES, .seed = seed};
    check(context, scene_find("creature")->make(context, &desc, &a.model));
    check(context, pelt_bdtree_create(context, a.model, &a.tree));
    check(context, pelt_body_create(context, a.tree, &a.body));
    a.boxes = (box_tree){a.tree, array(a.tree->node_count, sizeof(box)),
                         array(3 * (size_t)a.model->mesh.vertex_count + 1, sizeof(float))};
    uint32_t bone_count = a.model->skin.bone_count;
    a.palettes = array((size_t)FRAMES * bone_count, sizeof *a.palettes);
    a.spots = array(FRAMES, sizeof *a.spots);
    for (uint32_t k = 0; k < FRAMES; k++) {
        pelt_affine *palette = a.palettes + (size_t)bone_count * k;
        pelt_body_motion(a.body, &a.model->motions[0], (float)k / 30);
        memcpy(palette, a.body->palette, bone_count * sizeof *palette);
        skin_and_refit(&a.boxes, palette);
        size_t vertex = (size_t)k * 7919 % a.model->mesh.vertex_count;
        memcpy(a.spots[k], a.boxes.positions + 3 * vertex, sizeof a.spots[k]);
    }
    return a;
}

static void drop_actor(actor *a) {
    free(a->palettes);
    free(a->spots);
    free(a->boxes.boxes);
    free(a->boxes.positions);
    pelt_body_destroy(a->body);
    pelt_bdtree_destroy(a->tree);
    pelt_model_destroy(a->model);
}

/* ---- Corrections ------------------------------------------------------------------------------------------ */

#define MORPHS 20u

typedef struct corrected {
    actor who;
    float *weights; /* [frame][morph] */
    float *frames;  /* [frame][vertex][3] */
} corrected;

/* Waves over the body, shorter and smaller from morph to morph, like shapes of residuals. */
static void add_morphs(pelt_context *context, pelt_model *model) {
    const pelt_mesh *mesh = &model->mesh;
    pelt_morph *morphs = pelt_model_alloc(context, model, MORPHS, sizeof *morphs);
    for (uint32_t m = 0; morphs && m < MORPHS; m++) {
        float *positions = pelt_model_alloc(context, model, 3 * (size_t)mesh->vertex_count, sizeof *positions);
        check(context, positions ? PELT_OK : PELT_ERROR_MEMORY);
        for (size_t e = 0; e < 3 * (size_t)mesh->vertex_count; e++) {
            const float *p = mesh->positions + e / 3 * 3;
            double wave = (2 + m) * ((double)p[(m + e) % 3] + 0.5 * (double)p[(m + 1) % 3]) + (double)m;
            positions[e] = (float)(0.03 / (1 + m) * sin(wave));
        }
        morphs[m] = (pelt_morph){.name = "", .vertex_count = mesh->vertex_count, .positions = positions};
    }
    check(context, morphs ? PELT_OK : PELT_ERROR_MEMORY);
    model->morphs = (pelt_morph_set){.morph_count = MORPHS, .morphs = morphs};
}

static corrected make_corrected(pelt_context *context, uint64_t seed, double offset) {
    corrected c = {.who = make_actor(context, 8431, seed)};
    add_morphs(context, c.who.model);
    pelt_body_destroy(c.who.body);
    pelt_bdtree_destroy(c.who.tree);
    check(context, pelt_bdtree_create(context, c.who.model, &c.who.tree));
    check(context, pelt_body_create(context, c.who.tree, &c.who.body));
    uint32_t bones = c.who.model->skin.bone_count, vertices = c.who.model->mesh.vertex_count;
    c.weights = array((size_t)FRAMES * MORPHS, sizeof *c.weights);
    c.frames = array((size_t)FRAMES * vertices, 3 * sizeof *c.frames);
    float *morphed = array(vertices, 3 * sizeof *morphed);
    for (uint32_t k = 0; k < FRAMES; k++) {
        pelt_affine *palette = c.who.palettes + (size_t)k * bones;
        for (uint32_t m = 0; m < MORPHS; m++)
            c.weights[k * MORPHS + m] = (float)sin(0.3 * (m + 1) * k + (double)seed);
        for (uint32_t j = 0; j < bones; j++)
            palette[j].m[3] += (float)offset;
        pelt_morph_run(&c.who.model->mesh, &c.who.model->morphs, c.weights + (size_t)k * MORPHS, morphed, NULL, NULL);
        pelt_skin_job job = {.vertex_count = vertices,
                             .influence_count = c.who.model->skin.influence_count,
                             .bones = c.who.model->skin.bones,
                             .weights = c.who.model->skin.weights,
                             .palette = palette,
                             .positions = morphed,
                             .out_positions = c.frames + (size_t)3 * vertices * k};
        pelt_skin_run(&job);
    }
    free(morphed);
    return c;
}

/* Seconds per frame: by matrices and weights, or by positions. */
static double time_corrected(corrected pair[2], bool lazy, result *sum) {
    double start = now();
    *sum = (result){0};
    for (uint32_t k = 0; k < FRAMES; k++) {
        for (int s = 0; s < 2; s++) {
            corrected *c = &pair[s];
            uint32_t bones = c->who.model->skin.bone_count, vertices = c->who.model->mesh.vertex_count;
            if (lazy)
                pelt_body_palette(c->who.body, c->who.palettes + (size_t)k * bones, c->weights + (size_t)k * MORPHS);
            else
                pelt_body_positions(c->who.body, c->frames + (size_t)3 * vertices * k);
        }
        uint32_t found = 0;
        pelt_body_pairs(pair[0].who.body, pair[1].who.body, count_pair, &found);
        sum->found += found / (double)FRAMES;
        for (int s = 0; s < 2; s++)
            sum->leaves += pelt_body_query_stats(pair[s].who.body).open_count / (double)FRAMES;
    }
    return (now() - start) / FRAMES;
}

static int print_corrections(pelt_context *context, long rounds, const char *only) {
    static const struct {
        const char *name;
        double offset;
    } rows[] = {{"apart", 1.4}, {"nearly touching", 1.15}, {"touching", 1.02}, {"into each other", 0.9}, {"deep", 0.5}};
    int wrong = 0;
    printf(
        "| two with 20 corrections | pairs | leaves | of | ms | cache, ms | ratio |\n|---|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        if (only && strcmp(only, rows[n].name) != 0)
            continue;
        corrected pair[2] = {make_corrected(context, 1, 0), make_corrected(context, 2, rows[n].offset)};
        result lazy = {0}, all = {0};
        double best[2] = {INFINITY, INFINITY};
        for (long round = 0; round < rounds; round++) {
            best[0] = fmin(best[0], time_corrected(pair, true, &lazy));
            best[1] = fmin(best[1], time_corrected(pair, false, &all));
        }
        wrong += lazy.found != all.found; /* the same pairs */
        printf("| %s | %.0f | %.0f | %u | %.3f | %.3f | %.2f |\n", rows[n].name, lazy.found, lazy.leaves,
               pair[0].who.tree->leaf_count + pair[1].who.tree->leaf_count, 1e3 * best[0], 1e3 * best[1],
               best[1] / best[0]);
        fflush(stdout);
        for (int s = 0; s < 2; s++) {
            free(pair[s].weights);
            free(pair[s].frames);
            drop_actor(&pair[s].who);
        }
    }
    return wrong != 0;
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "corrections") == 0) {
        pelt_context *one;
        check(NULL, pelt_context_create(NULL, &one));
        int wrong =
            print_corrections(one, count > 2 ? strtol(arguments[2], NULL, 10) : 10, count > 3 ? arguments[3] : NULL);
        pelt_context_destroy(one);
        return wrong;
    }
    long rounds = count > 1 ? strtol(arguments[1], NULL, 10) : 20;
    uint32_t vertex_count = count > 2 ? (uint32_t)strtoul(arguments[2], NULL, 10) : 42321;
    pelt_context_desc desc = pelt_context_desc_default();
    pelt_context *context;
    desc.thread_count = 1;
    check(NULL, pelt_context_create(&desc, &context));
    double start = now();
    actor actors[ACTORS] = {make_actor(context, vertex_count, 1), make_actor(context, vertex_count, 2),
                            make_actor(context, 2000, 3)};
    const pelt_mesh *mesh = &actors[0].model->mesh;
    printf("%u vertices, %u triangles, %u bones; %u nodes, %u leaves; all made in %.2f s; %s, one thread, least of %ld "
           "rounds\n\n",
           mesh->vertex_count, mesh->triangle_count, actors[0].tree->bone_count, actors[0].tree->node_count,
           actors[0].tree->leaf_count, now() - start, pelt_simd_name(pelt_simd_best()), rounds);
    printf("| update and query | finds | spheres | leaves | µs | refit, µs | ratio |\n|---|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < sizeof questions / sizeof questions[0]; n++) {
        if (count > 3 && strcmp(arguments[3], questions[n].name) != 0)
            continue;
        result r = run(actors, &questions[n], rounds);
        printf("| %s | %.1f | %.0f | %.0f | %.2f | %.1f | %.1f |\n", questions[n].name, r.found, r.balls, r.leaves,
               1e6 * r.ask, 1e6 * r.refit, r.refit / r.ask);
        fflush(stdout);
    }
    for (int a = 0; a < ACTORS; a++)
        drop_actor(&actors[a]);
    pelt_context_destroy(context);
    return 0;
}
