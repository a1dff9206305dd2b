/* The stampede of "Skinning Mesh Animations" (James and Twigg 2005, figure 1): ten thousand animals, each in its own
 * pose and position, near ones in detail, far ones coarse.
 *
 * Times are the least of several rounds in which a frame and memcpy take turns. memcpy copies as many bytes as the
 * frame writes, on as many threads, from the best of four alignments; the bytes that a frame reads are not counted. memcpy
 * reads as many as it writes; "of half" is relative to memcpy of half as many, which moves as many bytes as a frame.
 *
 *   bench_crowd [TABLE [ANIMALS [ROUNDS]]]    TABLE: rates, threads, detail, kinds, overlaps, or all (default)
 *   bench_crowd --picture FILE.png [ANIMALS]
 */
#include "build.h"
#include "core/core.h"
#include "crowd/crowd.h"

#include <pelt/pelt.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BREEDS     3u
#define LEVELS     5u
#define FRAME_TIME 0.0166f

/* Distant animals have fewer vertices and influences. */
static const struct {
    uint32_t vertices, influences;
} levels[LEVELS] = {{6000, 4}, {2500, 4}, {1000, 3}, {450, 2}, {210, 2}};

typedef struct herd {
    pelt_context *context[2]; /* one thread, two threads */
    pelt_crowd *crowd[2];
    pelt_model *models[BREEDS][LEVELS];
    pelt_crowd_instance *animals;
    uint32_t count;
    size_t skinned;    /* vertices */
    size_t room;       /* capacity of the output in vertices, a multiple of PELT_CROWD_ALIGN */
    float *out, *copy; /* [vertex][6], and the source of memcpy */
} herd;

static void check(pelt_context *context, pelt_result result) {
    if (result == PELT_OK)
        return;
    fprintf(stderr, "bench_crowd: %s\n", pelt_error_text(context));
    exit(1);
}

static void *array(pelt_context *context, size_t count, size_t size) {
    void *out = px_alloc(context, count, size);
    if (!out)
        check(context, PELT_ERROR_MEMORY);
    return out;
}

/* On one thread, CPU time: other programs must not affect the result. */
static double now(uint32_t thread) {
    struct timespec t;
    clock_gettime(thread ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- The herd --------------------------------------------------------------------------------------------- */

/* Replaces the crowd of a context. */
static void make_crowd(herd *h, uint32_t thread, uint32_t skinning) {
    pelt_crowd_character breeds[BREEDS];
    for (uint32_t b = 0; b < BREEDS; b++)
        breeds[b] = (pelt_crowd_character){(const pelt_model *const *)h->models[b], LEVELS};
    pelt_crowd_desc desc = pelt_crowd_desc_default();
    desc.skinning = skinning;
    pelt_crowd_destroy(h->crowd[thread]);
    check(h->context[thread], pelt_crowd_create(h->context[thread], breeds, BREEDS, &desc, &h->crowd[thread]));
}

static void make_crowds(herd *h) {
    for (uint32_t t = 0; t < 2; t++) {
        pelt_context_desc desc = pelt_context_desc_default();
        desc.thread_count = t + 1;
        if (pelt_context_create(&desc, &h->context[t]) != PELT_OK)
            exit(1);
    }
    for (uint32_t b = 0; b < BREEDS; b++)
        for (uint32_t l = 0; l < LEVELS; l++) {
            scene_desc desc = {.vertex_count = levels[l].vertices, .seed = b};
            pelt_weights_scope scope = pelt_weights_scope_default();
            scope.influences = levels[l].influences;
            check(h->context[0], scene_find("creature")->make(h->context[0], &desc, &h->models[b][l]));
            check(h->context[0], pelt_weights_normalise(h->context[0], h->models[b][l], &scope, NULL));
        }
    for (uint32_t t = 0; t < 2; t++)
        make_crowd(h, t, PELT_SKINNING_LINEAR);
}

/* Level of detail: one level for each doubling of the distance; `coarser` shifts them. */
static uint32_t level_at(double distance, double farthest, int coarser) {
    double level = LEVELS + log2(distance / farthest) + 0.25 + coarser;
    return level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : (uint32_t)level;
}

/* Rows that widen with the distance, every animal slightly off its position; it faces the camera, which is at 0. */
static void place_animals(herd *h, uint32_t count, int coarser) {
    scene_random random = {7};
    double near = 12, z = near, row_width = 0, x = 0, farthest = near + 5.1 * sqrt(count);
    h->count = count;
    h->skinned = 0;
    for (uint32_t i = 0; i < count; i++, x += 2.6) {
        if (x > row_width / 2)
            z += 5.2, row_width = 14 + 0.9 * z, x = -row_width / 2;
        double turn = scene_random_range(&random, -0.3, 0.3), size = scene_random_range(&random, 0.85, 1.15);
        double at_x = x + scene_random_range(&random, -0.8, 0.8), at_z = z + scene_random_range(&random, -1.6, 1.6);
        float c = (float)(size * cos(turn)), s = (float)(size * sin(turn)), e = (float)size;
        pelt_crowd_instance *animal = &h->animals[i];
        *animal = (pelt_crowd_instance){.character = i % BREEDS, .layer_count = 1};
        animal->level = level_at(sqrt(at_x * at_x + at_z * at_z), farthest, coarser);
        animal->layers[0] = (pelt_crowd_layer){0, (float)scene_random_range(&random, 0, 2), 1, true};
        animal->world = (pelt_affine){{c, 0, s, (float)at_x, 0, e, 0, 0, -s, 0, c, (float)-at_z}};
        h->skinned += pelt_crowd_vertex_count(h->crowd[0], animal->character, animal->level);
    }
    check(h->context[0], pelt_crowd_place(h->crowd[0], h->animals, count, &h->room));
}

static void make_buffers(herd *h) {
    pelt_context *context = h->context[0];
    px_free(context, h->out);
    px_free(context, h->copy);
    h->out = array(context, h->room + 1024, 6 * sizeof(float));
    h->copy = array(context, h->room + 1024, 6 * sizeof(float));
}

static void make_herd(herd *h, uint32_t count) {
    make_crowds(h);
    h->animals = array(h->context[0], count, sizeof *h->animals);
    place_animals(h, count, 0);
    make_buffers(h);
}

static void drop_herd(herd *h) {
    px_free(h->context[0], h->animals);
    px_free(h->context[0], h->out);
    px_free(h->context[0], h->copy);
    for (uint32_t t = 0; t < 2; t++)
        pelt_crowd_destroy(h->crowd[t]);
    for (uint32_t b = 0; b < BREEDS; b++)
        for (uint32_t l = 0; l < LEVELS; l++)
            pelt_model_destroy(h->models[b][l]);
    for (uint32_t t = 0; t < 2; t++)
        pelt_context_destroy(h->context[t]);
}

/* ---- Measuring -------------------------------------------------------------------------------------------- */

typedef struct figures {
    double frame, copy;   /* seconds */
    double half;          /* seconds to copy half of the bytes */
    uint64_t allocations; /* in all rounds after the first */
} figures;

typedef struct copying {
    char *to;
    const char *from;
} copying;

static pelt_result copy_part(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const copying *c = user;
    memcpy(c->to + first, c->from + first, count);
    return PELT_OK;
}

static double time_copy(const herd *h, uint32_t thread, size_t size, int round) {
    copying c = {(char *)h->out, (const char *)h->copy + 1088 * (size_t)(round % 4)};
    double start = now(thread);
    check(h->context[thread], px_parallel(h->context[thread], NULL, size, size / (thread + 1) + 1, copy_part, &c));
    return now(thread) - start;
}

static pelt_crowd_output layout(const herd *h, bool interleaved, bool normals) {
    pelt_crowd_output output = {.positions = h->out, .vertex_count = h->room};
    output.stride = interleaved ? 6 * sizeof(float) : 0;
    if (normals)
        output.normals = interleaved ? h->out + 3 : h->out + 3 * h->room;
    return output;
}

/* Time advances from round to round. */
static figures measure(const herd *h, const pelt_crowd_output *output, uint32_t thread, int rounds) {
    figures f = {1e9, 1e9, 1e9, 0};
    uint64_t before = 0;
    size_t size = h->skinned * (output->normals ? 6 : 3) * sizeof(float);
    for (int r = -1; r < rounds; r++) { /* the first round warms up */
        for (uint32_t i = 0; i < h->count; i++)
            for (uint32_t l = 0; l < h->animals[i].layer_count; l++)
                h->animals[i].layers[l].time += FRAME_TIME;
        double start = now(thread);
        check(h->context[thread], pelt_crowd_frame(h->crowd[thread], h->animals, h->count, output));
        double frame = now(thread) - start, copy = time_copy(h, thread, size, r + 1);
        double half = time_copy(h, thread, size / 2, r + 1);
        if (r < 0) {
            before = pelt_context_memory(h->context[thread]).count;
            continue;
        }
        f.frame = fmin(f.frame, frame);
        f.copy = fmin(f.copy, copy);
        f.half = fmin(f.half, half);
    }
    f.allocations = pelt_context_memory(h->context[thread]).count - before;
    return f;
}

/* ---- Tables ----------------------------------------------------------------------------------------------- */

static void print_herd(const herd *h) {
    uint32_t counts[LEVELS] = {0};
    for (uint32_t i = 0; i < h->count; i++)
        counts[h->animals[i].level]++;
    printf("%u animals, %.2f million vertices:", h->count, 1e-6 * (double)h->skinned);
    for (uint32_t l = 0; l < LEVELS; l++)
        printf("%s %u of %u", l ? "," : "", counts[l], h->models[0][l]->mesh.vertex_count);
    printf("\n\n");
}

static void print_rates(herd *h, uint32_t threads, int rounds) {
    static const char *const names[3] = {"positions", "positions, normals", "interleaved"};
    printf("| output | threads | MB | ms | Mv/s | of memcpy | of half | × 1 thread | allocations "
           "|\n|---|---|---|---|---|---|---|---|---|\n");
    for (int o = 0; o < 3; o++) {
        pelt_crowd_output output = layout(h, o == 2, o > 0);
        figures f = measure(h, &output, threads - 1, rounds);
        double one = threads > 1 ? measure(h, &output, 0, rounds).frame : f.frame;
        printf("| %s | %u | %.1f | %.2f | %.0f | %.0f %% | %.0f %% | %.2f | %llu |\n", names[o], threads,
               1e-6 * (double)(h->skinned * (o > 0 ? 24 : 12)), 1e3 * f.frame, 1e-6 * (double)h->skinned / f.frame,
               100 * f.copy / f.frame, 100 * f.half / f.frame, one / f.frame, (unsigned long long)f.allocations);
    }
}

/* Interleaved, one thread: the same animals with more or less detail, and with two motions at once. */
static void print_shares(herd *h, int rounds) {
    static const char *const names[4] = {"a level coarser", "as above", "a level finer",
                                         "as above, two motions blended"};
    uint32_t count = h->count;
    double usual = 0;
    printf("\n| animals | million vertices | ms | ns per vertex | × as above |\n|---|---|---|---|---|\n");
    for (int row = 0; row < 4; row++) {
        static const int order[4] = {1, 0, 2, 3}; /* the default first: the others are compared with it */
        int which = order[row];
        place_animals(h, count, which == 3 ? 0 : 1 - which);
        make_buffers(h);
        for (uint32_t i = 0; which == 3 && i < count; i++) {
            h->animals[i].layers[h->animals[i].layer_count++] = h->animals[i].layers[0];
            h->animals[i].layers[1].time += 0.7f;
        }
        pelt_crowd_output output = layout(h, true, true);
        figures f = measure(h, &output, 0, rounds);
        double each = 1e9 * f.frame / (double)h->skinned;
        usual = row ? usual : each;
        printf("| %s | %.2f | %.2f | %.2f | %.2f |\n", names[which], 1e-6 * (double)h->skinned, 1e3 * f.frame, each,
               each / usual);
    }
}

#define MORPHS 4u

/* Each morph moves half of the vertices along their normals, and is always on. */
static void add_morphs(herd *h) {
    pelt_context *context = h->context[0];
    for (uint32_t a = 0; a < BREEDS * LEVELS; a++) {
        pelt_model *model = h->models[a / LEVELS][a % LEVELS];
        uint32_t count = model->mesh.vertex_count / 2;
        pelt_morph *morphs = pelt_model_alloc(context, model, MORPHS, sizeof *morphs);
        for (uint32_t m = 0; morphs && m < MORPHS; m++) {
            uint32_t first = m * (model->mesh.vertex_count - count) / (MORPHS - 1);
            float *deltas = pelt_model_alloc(context, model, count, 3 * sizeof *deltas);
            if (!deltas)
                check(context, PELT_ERROR_MEMORY);
            for (size_t e = 0; e < 3 * (size_t)count; e++)
                deltas[e] = 0.02f * model->mesh.normals[3 * (size_t)first + e];
            morphs[m] = (pelt_morph){.name = "",
                                     .index = m,
                                     .weight = 0.5f,
                                     .first_vertex = first,
                                     .vertex_count = count,
                                     .positions = deltas,
                                     .normals = deltas};
        }
        if (!morphs)
            check(context, PELT_ERROR_MEMORY);
        model->morphs = (pelt_morph_set){.morph_count = MORPHS, .morphs = morphs};
    }
}

/* Interleaved, one thread: what an instance costs besides matrices. */
static void print_kinds(herd *h, int rounds) {
    static const char *const names[4] = {"linear", "dual quaternions", "linear, 4 morphs",
                                         "dual quaternions, 4 morphs"};
    double linear = 0;
    printf("\n| skinning | ms | ns per vertex | of memcpy | × linear |\n|---|---|---|---|---|\n");
    place_animals(h, h->count, 0);
    make_buffers(h);
    for (uint32_t kind = 0; kind < 4; kind++) {
        if (kind == 2)
            add_morphs(h);
        make_crowd(h, 0, kind % 2 ? PELT_SKINNING_DUAL_QUATERNION : PELT_SKINNING_LINEAR);
        pelt_crowd_output output = layout(h, true, true);
        figures f = measure(h, &output, 0, rounds);
        linear = kind ? linear : f.frame;
        printf("| %s | %.2f | %.2f | %.0f %% | %.2f |\n", names[kind], 1e3 * f.frame,
               1e9 * f.frame / (double)h->skinned, 100 * f.copy / f.frame, f.frame / linear);
    }
}

/* Time of a frame's check for overlapping instances: in the order of pelt_crowd_place, and in reverse order, which has
 * to be sorted. */
static void print_checks(herd *h, int rounds) {
    place_animals(h, h->count, 0);
    make_buffers(h);
    pelt_crowd_output output = layout(h, true, true);
    double frame = measure(h, &output, 0, rounds).frame;
    printf("\n| overlaps | µs | of a frame |\n|---|---|---|\n");
    for (int sorted = 0; sorted < 2; sorted++) {
        size_t at = 0;
        for (uint32_t i = h->count; sorted && i-- > 0;) {
            h->animals[i].first_vertex = at;
            at += pelt_crowd_vertex_count(h->crowd[0], h->animals[i].character, h->animals[i].level);
        }
        double least = 1e9;
        for (int r = 0; r < 10 * rounds; r++) {
            double start = now(0);
            check(h->context[0], px_crowd_check_overlap(h->crowd[0], h->animals, h->count, &output));
            least = fmin(least, now(0) - start);
        }
        printf("| %s | %.0f | %.2f %% |\n", sorted ? "last first" : "placed", 1e6 * least, 100 * least / frame);
    }
}

/* ---- A picture -------------------------------------------------------------------------------------------- */

/* Each animal has its own coat, from dark to pale and from grey to chestnut, with a pale belly and dark stripes across
 * its back; linear colours. */
static void paint_animal(const pelt_mesh *animal, scene_random *random, float *out) {
    double coat = scene_random_range(random, 0.07, 0.6), warm = scene_random_range(random, 0, 0.45);
    double stripes = scene_random_range(random, -0.6, 0.7);
    for (size_t i = 0; i < animal->vertex_count; i++) {
        const float *p = animal->positions + 3 * i;
        double under = (double)animal->normals[3 * i + 1], band = sin(14 * (double)p[2]);
        double shade = under < -0.4 ? 1.7 : under > 0 && band > 0.2 ? 1 - fmax(stripes, 0) : 1;
        for (int c = 0; c < 3; c++)
            out[3 * i + (size_t)c] = (float)fmin(coat * shade * (1 - c * warm), 0.9);
    }
}

/* One mesh of all animals as they stand. */
static void save_picture(herd *h, const char *path) {
    pelt_context *context = h->context[1];
    pelt_model *model;
    check(context, pelt_model_create(context, &model));
    pelt_mesh *mesh = &model->mesh;
    for (uint32_t i = 0; i < h->count; i++)
        mesh->triangle_count += h->models[h->animals[i].character][h->animals[i].level]->mesh.triangle_count;
    mesh->vertex_count = mesh->points.count = (uint32_t)h->room;
    mesh->polygon_count = mesh->triangle_count;
    mesh->positions = pelt_model_alloc(context, model, h->room, 3 * sizeof(float));
    mesh->normals = pelt_model_alloc(context, model, h->room, 3 * sizeof(float));
    mesh->triangles = pelt_model_alloc(context, model, mesh->triangle_count, 3 * sizeof(uint32_t));
    mesh->parts = pelt_model_alloc(context, model, 1, sizeof *mesh->parts);
    mesh->colors = pelt_model_alloc(context, model, h->room, 3 * sizeof(float));
    if (!mesh->colors || !mesh->positions || !mesh->normals || !mesh->triangles || !mesh->parts)
        check(context, PELT_ERROR_MEMORY);
    mesh->part_count = 1;
    mesh->parts[0] = (pelt_part){.name = "", .triangle_count = mesh->triangle_count, .joint = PELT_NONE};
    for (size_t i = 0; i < 3 * h->room; i++) /* vertices between instances are undefined */
        mesh->positions[i] = NAN;
    pelt_crowd_output output = {mesh->positions, mesh->normals, 0, h->room};
    check(context, pelt_crowd_frame(h->crowd[1], h->animals, h->count, &output));
    uint32_t *corner = mesh->triangles;
    scene_random random = {11};
    for (uint32_t i = 0; i < h->count; i++) {
        const pelt_mesh *animal = &h->models[h->animals[i].character][h->animals[i].level]->mesh;
        paint_animal(animal, &random, mesh->colors + 3 * h->animals[i].first_vertex);
        for (size_t e = 0; e < 3 * (size_t)animal->triangle_count; e++)
            *corner++ = animal->triangles[e] + (uint32_t)h->animals[i].first_vertex;
    }
    pelt_picture_desc desc = pelt_picture_desc_default();
    desc.width = 600, desc.height = 210;
    desc.mode = PELT_PICTURE_COLORS;
    desc.yaw = 0, desc.pitch = 15;
    desc.zoom = 2.4; /* animals outside the picture are skinned as well */
    check(context, pelt_picture_save(context, model, &desc, path));
    pelt_model_destroy(model);
}

int main(int argc, char **argv) {
    bool picture = argc > 2 && strcmp(argv[1], "--picture") == 0;
    const char *table = argc > 1 ? argv[1] : "all";
    int at = picture ? 3 : 2;
    long count = argc > at ? atol(argv[at]) : 10000, rounds = argc > at + 1 ? atol(argv[at + 1]) : 15;
    bool all = strcmp(table, "all") == 0, rates = all || strcmp(table, "rates") == 0;
    bool threads = all || strcmp(table, "threads") == 0, kinds = all || strcmp(table, "kinds") == 0;
    bool detail = all || strcmp(table, "detail") == 0, overlaps = all || strcmp(table, "overlaps") == 0;
    if (count < 1 || count > 1000000 || rounds < 1 || rounds > 1000 ||
        !(picture || rates || threads || detail || kinds || overlaps)) {
        fprintf(
            stderr,
            "usage: bench_crowd [rates|threads|detail|kinds|overlaps|all [ANIMALS [ROUNDS]]], or bench_crowd --picture "
            "FILE.png [ANIMALS]; at most 1000000 animals\n");
        return 1;
    }
    herd h = {0};
    make_herd(&h, (uint32_t)count);
    if (picture)
        save_picture(&h, argv[2]);
    else
        print_herd(&h);
    if (rates)
        print_rates(&h, 1, (int)rounds);
    if (threads)
        print_rates(&h, 2, (int)rounds);
    if (detail)
        print_shares(&h, (int)rounds);
    if (overlaps)
        print_checks(&h, (int)rounds);
    if (kinds) /* last: changes the models */
        print_kinds(&h, (int)rounds);
    drop_herd(&h);
    return 0;
}
