/* The stampede of "Skinning Mesh Animations" (James and Twigg 2005, figure 1): ten thousand animals, each in its own pose
 * and place, near ones in detail, far ones coarse.
 *
 * Times are the least of several rounds in which a frame and memcpy take turns. memcpy copies as many bytes as the frame
 * writes, on as many threads, from the best of four alignments; that counts for nothing what a frame has to read.
 *
 *   bench_crowd [ANIMALS [ROUNDS]]
 *   bench_crowd --picture FILE.png [ANIMALS]
 */
#include "build.h"
#include "core/core.h"

#include <pelt/pelt.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BREEDS     3u
#define LEVELS     5u
#define MAX_ROUNDS 101
#define FRAME_TIME 0.0166f

/* Who is far away moves simply. */
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
    size_t room;       /* that the output has, a multiple of PELT_CROWD_ALIGN */
    float *out, *copy; /* [vertex][6], and what memcpy copies from */
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

/* On one thread its own time: what other programs do is no part of the answer. */
static double now(uint32_t thread) {
    struct timespec t;
    clock_gettime(thread ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- The herd --------------------------------------------------------------------------------------------- */

static void make_crowds(herd *h) {
    for (uint32_t t = 0; t < 2; t++) {
        pelt_context_desc desc = pelt_context_desc_default();
        desc.thread_count = t + 1;
        if (pelt_context_create(&desc, &h->context[t]) != PELT_OK)
            exit(1);
    }
    pelt_crowd_character breeds[BREEDS];
    for (uint32_t b = 0; b < BREEDS; b++) {
        for (uint32_t l = 0; l < LEVELS; l++) {
            scene_desc desc = {.vertex_count = levels[l].vertices, .seed = b};
            pelt_weights_scope scope = pelt_weights_scope_default();
            scope.influences = levels[l].influences;
            check(h->context[0], scene_find("creature")->make(h->context[0], &desc, &h->models[b][l]));
            check(h->context[0], pelt_weights_normalise(h->context[0], h->models[b][l], &scope, NULL));
        }
        breeds[b] = (pelt_crowd_character){(const pelt_model *const *)h->models[b], LEVELS};
    }
    for (uint32_t t = 0; t < 2; t++)
        check(h->context[t], pelt_crowd_create(h->context[t], breeds, BREEDS, NULL, &h->crowd[t]));
}

/* Detail for the nearest, in equal shares of the way to the farthest on a scale of doubling distances. */
static uint32_t level_at(double distance, double farthest) {
    double level = LEVELS + log2(distance / farthest) + 0.25;
    return level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : (uint32_t)level;
}

/* Rows that grow wider with the distance, every animal a little off its place; it faces the camera, which is at 0. */
static void place_animals(herd *h, uint32_t count) {
    scene_random random = {7};
    h->count = count;
    h->animals = array(h->context[0], count, sizeof *h->animals);
    double near = 12, z = near, row_width = 0, x = 0, farthest = near + 3.2 * sqrt(count) * 1.6;
    for (uint32_t i = 0; i < count; i++, x += 2.6) {
        if (x > row_width / 2)
            z += 5.2, row_width = 14 + 0.9 * z, x = -row_width / 2;
        double turn = scene_random_range(&random, -0.3, 0.3), size = scene_random_range(&random, 0.85, 1.15);
        double at_x = x + scene_random_range(&random, -0.8, 0.8), at_z = z + scene_random_range(&random, -1.6, 1.6);
        float c = (float)(size * cos(turn)), s = (float)(size * sin(turn)), e = (float)size;
        pelt_crowd_instance *animal = &h->animals[i];
        *animal = (pelt_crowd_instance){.character = i % BREEDS, .layer_count = 1};
        animal->level = level_at(sqrt(at_x * at_x + at_z * at_z), farthest);
        animal->layers[0] = (pelt_crowd_layer){0, (float)scene_random_range(&random, 0, 2), 1, true};
        animal->world = (pelt_affine){{c, 0, s, (float)at_x, 0, e, 0, 0, -s, 0, c, (float)-at_z}};
    }
    check(h->context[0], pelt_crowd_place(h->crowd[0], h->animals, count, &h->room));
    h->room = (h->room + PELT_CROWD_ALIGN - 1) / PELT_CROWD_ALIGN * PELT_CROWD_ALIGN;
    for (uint32_t i = 0; i < count; i++)
        h->skinned += pelt_crowd_vertex_count(h->crowd[0], h->animals[i].character, h->animals[i].level);
}

static void make_herd(herd *h, uint32_t count) {
    make_crowds(h);
    place_animals(h, count);
    h->out = array(h->context[0], h->room + 1024, 6 * sizeof(float));
    h->copy = array(h->context[0], h->room + 1024, 6 * sizeof(float));
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
    uint64_t allocations; /* of all rounds but the first */
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

/* Time goes on, round by round. */
static figures measure(const herd *h, pelt_crowd_instance *animals, uint32_t count, size_t size,
                       const pelt_crowd_output *output, uint32_t thread, int rounds) {
    figures f = {1e9, 1e9, 0};
    uint64_t before = 0;
    for (int r = -1; r < rounds; r++) {
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t l = 0; l < animals[i].layer_count; l++)
                animals[i].layers[l].time += FRAME_TIME;
        double start = now(thread);
        check(h->context[thread], pelt_crowd_frame(h->crowd[thread], animals, count, output));
        double frame = now(thread) - start, copy = time_copy(h, thread, size, r + 1);
        if (r < 0)
            before = pelt_context_memory(h->context[thread]).count;
        f.frame = r < 0 ? f.frame : fmin(f.frame, frame);
        f.copy = r < 0 ? f.copy : fmin(f.copy, copy);
    }
    f.allocations = pelt_context_memory(h->context[thread]).count - before;
    return f;
}

/* ---- Tables ----------------------------------------------------------------------------------------------- */

static void print_rates(herd *h, int rounds) {
    static const char *const names[3] = {"positions", "positions, normals", "interleaved"};
    double one[3];
    printf("| output | threads | MB | ms | Mv/s | of memcpy | × 1 thread | allocations |\n");
    for (uint32_t t = 0; t < 2; t++)
        for (int o = 0; o < 3; o++) {
            pelt_crowd_output output = layout(h, o == 2, o > 0);
            size_t size = h->skinned * (o > 0 ? 24 : 12);
            figures f = measure(h, h->animals, h->count, size, &output, t, rounds);
            if (t == 0)
                one[o] = f.frame;
            printf("| %-18s | %u | %5.1f | %6.2f | %6.1f | %4.0f %% | %4.2f | %llu |\n", names[o], t + 1,
                   1e-6 * (double)size, 1e3 * f.frame, 1e-6 * (double)h->skinned / f.frame, 100 * f.copy / f.frame,
                   one[o] / f.frame, (unsigned long long)f.allocations);
        }
}

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 10000, rounds = argc > 2 ? atol(argv[2]) : 15;
    if (count < 1 || count > 1000000 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: bench_crowd [ANIMALS [ROUNDS]]; at most 1000000 animals, %d rounds\n", MAX_ROUNDS);
        return 1;
    }
    herd h = {0};
    make_herd(&h, (uint32_t)count);
    uint32_t counts[LEVELS] = {0};
    for (uint32_t i = 0; i < h.count; i++)
        counts[h.animals[i].level]++;
    printf("%u animals, %.2f million vertices; levels", h.count, 1e-6 * (double)h.skinned);
    for (uint32_t l = 0; l < LEVELS; l++)
        printf("%s %u of %u vertices", l ? "," : "", counts[l], h.models[0][l]->mesh.vertex_count);
    printf("\n");
    print_rates(&h, (int)rounds);
    drop_herd(&h);
    return 0;
}
