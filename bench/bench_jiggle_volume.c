/* Primary motion of a character's flesh: skinning of particles and volumes of parts, for the lattice sizes of LBSD
 * (table I), every body, on one thread. One core's speed differs from minute to minute, so besides microseconds of CPU
 * time (the least of many rounds) each row says what keeping volumes costs against blending alone, and what the body
 * gains over the scalar one, measured in the same rounds.
 *
 *   bench_jiggle_volume [ROUNDS]
 */
#include "jiggle/primary.h"
#include "scenes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const uint32_t sizes[] = {1072, 1906, 2451, 3058};

typedef struct fixture {
    pelt_model *model;
    px_arena *arena;
    px_jiggle_subject subject;
    px_lattice lattice;
    px_weight_table weights;
    px_jiggle_parts parts;
    px_primary primary;
    pelt_affine *globals; /* in the middle of the motion */
} fixture;

static pelt_result make(pelt_context *context, uint32_t particles, fixture *f) {
    f->arena = px_arena_create(context);
    if (!f->arena)
        return PELT_ERROR_MEMORY;
    PX_TRY(scene_find("production")->make(context, &(scene_desc){.frame_count = 31}, &f->model));
    PX_TRY(px_jiggle_subject_make(context, f->arena, f->model, &f->subject));
    PX_TRY(px_jiggle_lattice(context, f->arena, &f->subject, 0, particles, &f->lattice));
    PX_TRY(px_jiggle_weights_from_skin(context, f->arena, &f->subject, &f->lattice, &f->weights));
    PX_TRY(px_jiggle_parts_make(f->arena, &f->subject, &f->lattice, &f->weights, &f->parts));
    PX_TRY(px_primary_make(f->arena, &f->subject, &f->lattice, &f->weights, &f->parts, &f->primary));
    const pelt_skeleton *skeleton = &f->model->skeleton;
    pelt_transform *locals = PX_NEW(f->arena, pelt_transform, skeleton->joint_count);
    f->globals = PX_NEW(f->arena, pelt_affine, skeleton->joint_count);
    if (!locals || !f->globals)
        return PELT_ERROR_MEMORY;
    const pelt_motion *motion = &f->model->motions[0];
    pelt_motion_sample(f->model, motion, (motion->start + motion->end) / 2, locals, NULL);
    pelt_skeleton_globals(skeleton, locals, f->globals);
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

static void print_rows(fixture *f, int rounds) {
    double scalar = 0;
    for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++) {
        if (!pelt_simd_available(simd))
            continue;
        f->primary.kernels = px_jiggle_kernels_of(simd);
        double blended = measure(&f->primary, f->globals, 0, rounds),
               kept = measure(&f->primary, f->globals, 1, rounds);
        scalar = simd == PELT_SIMD_SCALAR ? kept : scalar;
        printf("%9u %6u %6u %-7s %9.1f %9.1f %7.2f %7.2f %9.1f\n", f->lattice.particle_count, f->lattice.cell_count,
               f->primary.part_count, pelt_simd_name(simd), 1e6 * blended, 1e6 * kept, kept / blended, scalar / kept,
               1e9 * kept / f->lattice.particle_count);
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 500;
    pelt_context *context;
    pelt_context_desc desc = pelt_context_desc_default();
    if (pelt_context_create(&desc, &context) != PELT_OK)
        return 1;
    pelt_result result = PELT_OK;
    printf("particles  cells  parts body     blend us  volume us   ratio  gain  ns/particle\n");
    for (size_t s = 0; s < PX_COUNT(sizes) && result == PELT_OK; s++) {
        fixture f = {0};
        result = make(context, sizes[s], &f);
        if (result == PELT_OK)
            print_rows(&f, rounds);
        else
            fprintf(stderr, "bench_jiggle_volume: %s\n", pelt_error_text(context));
        px_arena_destroy(f.arena);
        pelt_model_destroy(f.model);
    }
    pelt_context_destroy(context);
    return result != PELT_OK;
}
