/* Voxels of real meshes: agreement with the generalised winding number, and time and memory against resolution.
 *
 * The winding number of a cell's centre is the sum of all triangles' solid angles, over 4π; above ½ it is inside. It is
 * taken at cells that no triangle touches: a sample of those inside by the vote, and one of those outside. A leak is a
 * cell inside by the vote whose winding number is below ¼; missed is one outside by the vote whose number is above ½.
 * Both are given as shares of the interior, agreement as a share of all cells that no triangle touches. Open edges are
 * those that do not have as many triangles one way as the other, vertices at the same place taken as one.
 *
 * The same meshes are also damaged, and their voxels compared with the winding numbers of the whole mesh: every 20th
 * triangle is taken away at random, or all triangles in three balls, each a tenth of the box's diagonal across.
 *
 *   bench_voxel [RESOLUTION]   of the first table, 128 by default
 */
#include "core/core.h"
#include "voxel/voxel.h"

#include <pelt/io.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES 3000u /* inside, and as many outside */
#define ROUNDS  5

static const char *const meshes[] = {
    "char-rocketbox/Business_Female_02.glb",
    "char-rocketbox/Female_Party_01.glb",
    "char-rocketbox/Fire_Female_01.glb",
    "char-rocketbox/Male_Adult_01.glb",
    "char-rocketbox/Military_Male_03.glb",
    "char-rocketbox/Sports_Female_02.glb",
    "char-quaternius/modular_women/Witch.glb",
    "char-quaternius/modular_men/Swat.glb",
    "char-quaternius/fish_pack/Manta_ray.glb",
    "char-quaternius/animals_pack/Horse.glb",
    "char-quaternius/easy_enemies_pack/Spider.glb",
    "char-quaternius/dinosaurs_pack/Stegosaurus.glb",
    "char-mesh2motion/models-variation/human-male.glb",
    "char-mesh2motion/models-variation/bird-base.glb",
    "char-gltf-khronos/CesiumMan/glTF-Binary/CesiumMan.glb",
    "char-gltf-khronos/Fox/glTF-Binary/Fox.glb",
    "char-hands/webxr-generic-hand/left.glb",
    "char-threejs/gltf/RobotExpressive/RobotExpressive.glb",
    "char-makehuman/human_game.glb",
    "bench/samba.obj",
};

typedef struct subject {
    const pelt_mesh *mesh;
    const uint32_t *triangles; /* the mesh's remaining triangles */
    uint32_t triangle_count;
    px_grid grid;
} subject;

/* NULL when it does not exist. */
static pelt_model *open_mesh(pelt_context *context, const char *name, subject *out) {
    static const char *const folders[] = {"../shared/data", "../../shared/data"};
    const char *own = getenv("PELT_DATA");
    char path[1024];
    for (size_t f = 0; f < 2; f++) {
        snprintf(path, sizeof path, "%s/%s", own ? own : folders[f], name);
        if (access(path, R_OK) == 0)
            break;
    }
    pelt_model *model = NULL;
    const char *paths[] = {path};
    if (access(path, R_OK) != 0 || pelt_load(context, paths, 1, NULL, &model) != PELT_OK ||
        pelt_model_weld(context, model) != PELT_OK) {
        printf("skipped: %s\n", access(path, R_OK) == 0 ? pelt_error_text(context) : path);
        pelt_model_destroy(model);
        return NULL;
    }
    *out = (subject){&model->mesh, model->mesh.triangles, model->mesh.triangle_count, {{0}, {0}, {0}}};
    return model;
}

static px_grid grid_of(const pelt_mesh *mesh, uint32_t resolution) {
    float low[3], high[3];
    memcpy(low, mesh->positions, sizeof low);
    memcpy(high, mesh->positions, sizeof high);
    for (size_t i = 0; i < (size_t)mesh->vertex_count * 3; i++) {
        low[i % 3] = fminf(low[i % 3], mesh->positions[i]);
        high[i % 3] = fmaxf(high[i % 3], mesh->positions[i]);
    }
    return px_grid_around(low, high, resolution);
}

static pelt_result voxelize(pelt_context *context, px_arena *arena, const subject *s, px_voxels *out) {
    return px_voxels_make(context, arena, s->mesh->positions, s->mesh->vertex_count, s->triangles, s->triangle_count,
                          &s->grid, PX_VIEWS_ALL, out);
}

/* ---- Winding numbers -------------------------------------------------------------------------------------- */

/* After van Oosterom and Strackee. */
static double winding(const pelt_mesh *mesh, const double at[3]) {
    double sum = 0;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        double p[3][3], l[3];
        for (int k = 0; k < 3; k++) {
            const float *corner = mesh->positions + 3 * (size_t)mesh->triangles[3 * t + k];
            for (int c = 0; c < 3; c++)
                p[k][c] = corner[c] - at[c];
            l[k] = sqrt(p[k][0] * p[k][0] + p[k][1] * p[k][1] + p[k][2] * p[k][2]);
        }
        double volume = 0, dots[3];
        for (int c = 0; c < 3; c++) {
            int d = (c + 1) % 3, e = (c + 2) % 3;
            volume += p[0][c] * (p[1][d] * p[2][e] - p[1][e] * p[2][d]);
            dots[c] = p[d][0] * p[e][0] + p[d][1] * p[e][1] + p[d][2] * p[e][2];
        }
        sum += atan2(volume, l[0] * l[1] * l[2] + dots[0] * l[0] + dots[1] * l[1] + dots[2] * l[2]);
    }
    return sum / 6.283185307179586;
}

typedef struct sample {
    const subject *subject;
    const px_voxels *voxels;
    uint32_t cells[2 * SAMPLES][3]; /* inside, then outside */
    double numbers[2 * SAMPLES];
    uint32_t counts[2];
} sample;

static pelt_result measure(void *user, size_t first, size_t count, size_t block) {
    sample *s = user;
    (void)block;
    for (size_t n = first; n < first + count; n++) {
        double at[3];
        for (uint32_t c = 0; c < 3; c++)
            at[c] = px_grid_centre(&s->subject->grid, s->cells[n][c], c);
        s->numbers[n] =
            winding(s->subject->mesh, at) * (s->voxels->turned_count > s->subject->triangle_count / 2 ? -1 : 1);
    }
    return PELT_OK;
}

static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Random cells, inside ones by the list of voxels, so that thin meshes have enough of them. */
static void draw(sample *s) {
    const px_voxels *v = s->voxels;
    uint64_t state = 1;
    s->counts[0] = s->counts[1] = 0;
    for (uint32_t tries = 0; v->interior_count && s->counts[0] < SAMPLES && tries < 1000 * SAMPLES; tries++) {
        uint32_t voxel = (uint32_t)(random_bits(&state) % v->count);
        if (v->kinds[voxel] == PX_VOXEL_INTERIOR) {
            for (uint32_t c = 0; c < 3; c++)
                s->cells[s->counts[0]][c] = v->cells[voxel][c];
            s->counts[0]++;
        }
    }
    while (s->counts[1] < SAMPLES) {
        uint32_t *cell = s->cells[s->counts[0] + s->counts[1]];
        for (uint32_t c = 0; c < 3; c++)
            cell[c] = (uint32_t)(random_bits(&state) % v->grid.size[c]);
        s->counts[1] += px_voxel_at(v, cell[0], cell[1], cell[2]) == PELT_NONE;
    }
}

/* ---- Open edges ------------------------------------------------------------------------------------------- */

static int compare_edges(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

static double open_edges(const pelt_mesh *mesh) {
    size_t count = 0, open = 0, total = (size_t)mesh->triangle_count * 3;
    uint32_t(*edges)[3] = malloc(sizeof *edges * (total + 1));
    if (!edges)
        return NAN;
    for (size_t c = 0; c < total; c++) {
        uint32_t a = mesh->weld.of[mesh->triangles[c]], b = mesh->weld.of[mesh->triangles[c - c % 3 + (c + 1) % 3]];
        uint32_t edge[3] = {a < b ? a : b, a < b ? b : a, a < b};
        if (a != b)
            memcpy(edges[count++], edge, sizeof edge);
    }
    qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t i = 0, j = 0; i < count; i = j) {
        int balance = 0;
        for (; j < count && compare_edges(edges[i], edges[j]) == 0; j++)
            balance += edges[j][2] ? 1 : -1;
        open += (size_t)abs(balance);
    }
    free(edges);
    return count ? 100.0 * (double)open / (double)count : 0;
}

/* ---- Tables ----------------------------------------------------------------------------------------------- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

typedef struct shares {
    double agree, leaks, missed; /* percent */
    px_voxels voxels;            /* without its arrays */
} shares;

static void count_shares(const sample *s, shares *out) {
    const px_voxels *v = s->voxels;
    double leaks = 0, wrong = 0, missed = 0, inside = v->interior_count;
    double outside = (double)v->grid.size[0] * v->grid.size[1] * v->grid.size[2] - v->count;
    for (uint32_t n = 0; n < s->counts[0]; n++) {
        leaks += s->numbers[n] < 0.25;
        wrong += !(s->numbers[n] > 0.5);
    }
    for (uint32_t n = s->counts[0]; n < s->counts[0] + s->counts[1]; n++)
        missed += s->numbers[n] > 0.5;
    wrong *= s->counts[0] ? inside / s->counts[0] : 0;
    missed *= outside / s->counts[1];
    out->agree = 100 - 100 * (wrong + missed) / (inside + outside);
    out->leaks = s->counts[0] ? 100 * leaks / s->counts[0] : 0;
    out->missed = inside > 0 ? 100 * missed / inside : 0;
    out->voxels = *v;
}

static pelt_result compare_with_winding(pelt_context *context, const subject *s, shares *out) {
    static sample room;
    px_voxels v;
    px_arena *arena = px_arena_create(context);
    pelt_result result = arena ? voxelize(context, arena, s, &v) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        room.subject = s;
        room.voxels = &v;
        draw(&room);
        result = px_parallel(context, NULL, room.counts[0] + room.counts[1], 16, measure, &room);
    }
    if (result == PELT_OK)
        count_shares(&room, out);
    px_arena_destroy(arena);
    return result;
}

typedef enum damage { WHOLE, SCATTERED, BALLS, DAMAGE_COUNT } damage;

/* Removes triangles; `triangles` has capacity for all. */
static void take_away(subject *s, damage kind, uint32_t *triangles) {
    const pelt_mesh *mesh = s->mesh;
    uint64_t state = 7;
    double diagonal = 0;
    const float *balls[3];
    for (uint32_t c = 0; c < 3; c++) {
        double side = s->grid.cell[c] * s->grid.size[c];
        diagonal += side * side;
        balls[c] = mesh->positions + 3 * (size_t)mesh->triangles[random_bits(&state) % (mesh->triangle_count * 3u)];
    }
    s->triangles = triangles;
    s->triangle_count = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corners = mesh->triangles + 3 * (size_t)t;
        bool gone = kind == SCATTERED && random_bits(&state) % 20 == 0;
        for (uint32_t b = 0; kind == BALLS && b < 3; b++) {
            double distance = 0;
            for (uint32_t c = 0; c < 3; c++)
                distance += pow((double)mesh->positions[3 * (size_t)corners[0] + c] - balls[b][c], 2);
            gone |= distance < diagonal * 0.05 * 0.05;
        }
        if (!gone)
            memcpy(triangles + 3 * (size_t)s->triangle_count++, corners, sizeof *corners * 3);
    }
}

static pelt_result agreement_row(pelt_context *context, const char *name, subject *s, shares sums[DAMAGE_COUNT]) {
    shares out[DAMAGE_COUNT];
    uint32_t *triangles = PX_ALLOC(context, uint32_t, (size_t)s->mesh->triangle_count * 3);
    pelt_result result = triangles ? PELT_OK : PELT_ERROR_MEMORY;
    for (damage d = WHOLE; d < DAMAGE_COUNT && result == PELT_OK; d++) {
        take_away(s, d, triangles);
        result = compare_with_winding(context, s, &out[d]);
    }
    px_free(context, triangles);
    if (result != PELT_OK)
        return result;
    for (damage d = WHOLE; d < DAMAGE_COUNT; d++) {
        sums[d].agree += out[d].agree;
        sums[d].leaks += out[d].leaks;
        sums[d].missed += out[d].missed;
    }
    const px_voxels *v = &out[WHOLE].voxels;
    printf("| %-22s | %5u | %5.2f | %3u × %3u × %3u | %6u | %6u |", base_name(name), s->mesh->triangle_count,
           open_edges(s->mesh), v->grid.size[0], v->grid.size[1], v->grid.size[2], v->count, v->interior_count);
    for (damage d = WHOLE; d < DAMAGE_COUNT; d++)
        printf(" %6.2f | %5.2f | %5.2f |", out[d].agree, out[d].leaks, out[d].missed);
    printf("\n");
    fflush(stdout);
    return PELT_OK;
}

static int agreement(uint32_t resolution) {
    shares sums[DAMAGE_COUNT] = {0};
    uint32_t count = 0;
    printf("| mesh | triangles | open edges %% | grid | occupied | interior | agree %% | leaks %% | missed %% "
           "| scattered: agree | leaks | missed | balls: agree | leaks | missed |\n"
           "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (size_t m = 0; m < PX_COUNT(meshes); m++) {
        pelt_context *context;
        subject s;
        if (pelt_context_create(NULL, &context) != PELT_OK)
            return 1;
        pelt_model *model = open_mesh(context, meshes[m], &s);
        if (model) {
            s.grid = grid_of(s.mesh, resolution);
            if (agreement_row(context, meshes[m], &s, sums) == PELT_OK)
                count++;
            else
                printf("failed: %s\n", pelt_error_text(context));
        }
        pelt_model_destroy(model);
        pelt_context_destroy(context);
    }
    printf("| mean | | | | | |");
    for (damage d = WHOLE; d < DAMAGE_COUNT && count > 0; d++)
        printf(" %6.2f | %5.2f | %5.2f |", sums[d].agree / count, sums[d].leaks / count, sums[d].missed / count);
    printf("\n");
    return 0;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct timing {
    double make, neighbours, megabytes; /* best of the rounds, in seconds */
    uint32_t count, interior_count;
} timing;

static pelt_result time_once(pelt_context *context, const subject *s, timing *best) {
    px_voxels v;
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    size_t before = pelt_context_memory(context).current;
    double start = seconds();
    pelt_result result = voxelize(context, arena, s, &v);
    double made = seconds();
    best->megabytes = (double)(pelt_context_memory(context).peak - before) / 1048576;
    uint32_t(*neighbours)[6] = px_alloc(context, v.count + 1, sizeof *neighbours);
    double ready = seconds();
    if (result == PELT_OK)
        result = neighbours ? px_voxels_neighbours(context, &v, neighbours) : PELT_ERROR_MEMORY;
    best->make = fmin(best->make, made - start);
    best->neighbours = fmin(best->neighbours, seconds() - ready);
    best->count = v.count;
    best->interior_count = v.interior_count;
    px_free(context, neighbours);
    px_arena_destroy(arena);
    return result;
}

static int time_size(const char *name, uint32_t resolution, uint32_t thread_count, timing *best) {
    *best = (timing){INFINITY, INFINITY, 0, 0, 0};
    pelt_context_desc desc = pelt_context_desc_default();
    desc.thread_count = thread_count;
    pelt_result result = PELT_OK;
    for (int round = 0; round < ROUNDS && result == PELT_OK;
         round++) { /* in separate contexts: each has its own peak */
        pelt_context *context;
        subject s;
        if (pelt_context_create(&desc, &context) != PELT_OK)
            return 1;
        pelt_model *model = open_mesh(context, name, &s);
        if (model) {
            s.grid = grid_of(s.mesh, resolution);
            result = time_once(context, &s, best);
        }
        pelt_model_destroy(model);
        pelt_context_destroy(context);
        if (!model)
            return 1;
    }
    return result != PELT_OK;
}

static int times(const char *name) {
    for (uint32_t resolution = 64; resolution <= 1024; resolution *= 2) {
        timing t[2];
        for (uint32_t n = 0; n < 2; n++)
            if (time_size(name, resolution, n + 1, &t[n]) != 0)
                return 1;
        printf("| %-22s | %4u | %8u | %8u | %7.1f | %7.1f | %6.1f | %6.1f | %7.1f | %5.1f |\n", base_name(name),
               resolution, t[1].count, t[1].interior_count, 1e3 * t[0].make, 1e3 * t[1].make, 1e3 * t[0].neighbours,
               1e3 * t[1].neighbours, t[1].megabytes, t[1].megabytes * 1048576 / t[1].count);
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    int resolution = argc > 1 ? atoi(argv[1]) : 128;
    if (resolution < 1 || resolution > 512) {
        fprintf(stderr, "bench_voxel: RESOLUTION is from 1 to 512\n");
        return 2;
    }
    int code = agreement((uint32_t)resolution);
    printf(
        "\nMilliseconds, best of %d; MB is the peak beside the mesh, with two threads:\n\n"
        "| mesh | resolution | occupied | interior | voxels, 1 thread | 2 threads | neighbours, 1 | 2 | MB | bytes per "
        "voxel |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        ROUNDS);
    if (code == 0)
        code = times("char-rocketbox/Male_Adult_01.glb");
    return code ? code : times("char-makehuman/human_game.glb");
}
