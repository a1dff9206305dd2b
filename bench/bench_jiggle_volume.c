/* Primary motion of a character's tissue: skinning of particles and volumes of parts, for the lattice sizes of LBSD
 * (table I), every kernel, on one thread. One core's speed differs from minute to minute, so besides microseconds of
 * CPU time (the least of many rounds) each row gives the cost of volume preservation relative to blending alone, and
 * the speed-up of the kernel over the scalar one, measured in the same rounds.
 *
 *   bench_jiggle_volume [ROUNDS]
 *   bench_jiggle_volume table                      the table of docs/jiggle.md: volumes on real characters
 *   bench_jiggle_volume RIG MOTION [PARTICLES]     one of them, joint by joint, on the lattice and on the mesh
 */
#include "jiggle/object.h"
#include "scenes.h"
#include "volume_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint32_t sizes[] = {1072, 1906, 2451, 3058};

/* A jiggle with its joints in the middle of the model's motion. */
static pelt_result make(pelt_context *context, uint32_t particles, pelt_model **model, pelt_jiggle **jiggle) {
    PX_TRY(scene_find("production")->make(context, &(scene_desc){.frame_count = 31}, model));
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    desc.particles = particles;
    PX_TRY(pelt_jiggle_create(context, *model, &desc, jiggle));
    const pelt_motion *motion = &(*model)->motions[0];
    pelt_motion_sample(*model, motion, (motion->start + motion->end) / 2, (*jiggle)->locals, NULL);
    pelt_skeleton_globals(&(*model)->skeleton, (*jiggle)->locals, (*jiggle)->globals);
    return PELT_OK;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The least time of a motion with this amount. */
static double measure(px_primary *primary, const pelt_affine *globals, float amount, int rounds) {
    double least = INFINITY;
    for (int r = 0; r < rounds; r++) {
        double start = seconds();
        px_primary_move(primary, globals, amount);
        least = fmin(least, seconds() - start);
    }
    return least;
}

static void print_rows(pelt_jiggle *j, int rounds) {
    double scalar = 0;
    for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++) {
        if (!pelt_simd_available(simd))
            continue;
        j->primary.kernels = px_jiggle_kernels_of(simd);
        double blended = measure(&j->primary, j->globals, 0, rounds),
               kept = measure(&j->primary, j->globals, 1, rounds);
        scalar = simd == PELT_SIMD_SCALAR ? kept : scalar;
        printf("%9u %6u %6u %-7s %9.1f %10.1f %7.2f %5.2f %12.1f\n", j->lattice.particle_count, j->lattice.cell_count,
               j->primary.part_count, pelt_simd_name(simd), 1e6 * blended, 1e6 * kept, kept / blended, scalar / kept,
               1e9 * kept / j->lattice.particle_count);
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 500;
    pelt_context *context;
    pelt_context_desc desc = pelt_context_desc_default();
    if (pelt_context_create(&desc, &context) != PELT_OK)
        return 1;
    pelt_result result = PELT_OK;
    bool table = argc > 1 && strcmp(argv[1], "table") == 0;
    if (table || argc > 2) {
        result = table ? volume_table(context)
                       : volume_joints(context, argv[1], argv[2], argc > 3 ? (uint32_t)atoi(argv[3]) : 0);
        if (result != PELT_OK)
            fprintf(stderr, "bench_jiggle_volume: %s\n", pelt_error_text(context));
        pelt_context_destroy(context);
        return result != PELT_OK;
    }
    printf("particles  cells  parts body     blend us  volume us   ratio  gain  ns/particle\n");
    for (size_t s = 0; s < PX_COUNT(sizes) && result == PELT_OK; s++) {
        pelt_model *model = NULL;
        pelt_jiggle *jiggle = NULL;
        result = make(context, sizes[s], &model, &jiggle);
        if (result == PELT_OK)
            print_rows(jiggle, rounds);
        else
            fprintf(stderr, "bench_jiggle_volume: %s\n", pelt_error_text(context));
        pelt_jiggle_destroy(jiggle);
        pelt_model_destroy(model);
    }
    pelt_context_destroy(context);
    return result != PELT_OK;
}
