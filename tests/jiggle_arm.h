/* The arm of the scene wring with a lattice and its primary motion, for tests and benchmarks. */
#ifndef PELT_TESTS_JIGGLE_ARM_H
#define PELT_TESTS_JIGGLE_ARM_H

#include "core/rotation.h"
#include "jiggle/primary.h"
#include "scenes.h"

enum { ARM_BASE, ARM_SHOULDER, ARM_ELBOW, ARM_WRIST, ARM_JOINTS }; /* along y, unturned at rest */

typedef struct arm_fixture {
    pelt_model *model;
    px_arena *arena;
    px_jiggle_subject subject;
    px_lattice lattice;
    px_weight_table weights;
    px_jiggle_parts parts;
    px_primary primary;
} arm_fixture;

static inline pelt_result arm_make(pelt_context *context, uint32_t particles, pelt_jiggle_weights weights,
                                   arm_fixture *f) {
    *f = (arm_fixture){.arena = px_arena_create(context)};
    if (!f->arena)
        return PELT_ERROR_MEMORY;
    PX_TRY(scene_find("wring")->make(context, &(scene_desc){.vertex_count = 4000, .frame_count = 1}, &f->model));
    PX_TRY(px_jiggle_subject_make(context, f->arena, f->model, &f->subject));
    PX_TRY(px_jiggle_lattice(context, f->arena, &f->subject, 0, particles, &f->lattice));
    if (weights == PELT_JIGGLE_WEIGHTS_SKIN)
        PX_TRY(px_jiggle_weights_from_skin(context, f->arena, &f->subject, &f->lattice, &f->weights));
    else
        PX_TRY(px_jiggle_weights_by_heat(context, f->arena, &f->subject, &f->lattice, NULL, &f->weights));
    PX_TRY(px_jiggle_parts_make(f->arena, &f->subject, &f->lattice, &f->weights, &f->parts));
    return px_primary_make(f->arena, &f->subject, &f->lattice, &f->weights, &f->parts, &f->primary);
}

static inline void arm_free(arm_fixture *f) {
    px_arena_destroy(f->arena);
    pelt_model_destroy(f->model);
}

/* Turns a joint about an axis (0 to 2) on top of what it is turned. */
static inline void arm_turn(pelt_transform locals[ARM_JOINTS], uint32_t joint, int axis, double degrees) {
    px_rotation now = px_rotation_of(locals[joint].rotation);
    px_rotation_store(px_rotation_mul(now, px_rotation_about(axis, degrees * PX_DEGREE)), locals[joint].rotation);
}

/* The mesh as the lattice has it: out [vertex][3] from positions [particle][4]. */
static inline void arm_embed(const px_lattice *lattice, const float *positions, float *out) {
    for (size_t i = 0; i < lattice->vertex_count; i++) {
        const float *at = lattice->vertex_places + 3 * i;
        double sum[3] = {0};
        for (int e = 0; e < 8; e++) {
            const float *p = positions + 4 * (size_t)lattice->cells[lattice->vertex_cells[i]][e];
            double share = 1;
            for (int c = 0; c < 3; c++)
                share *= (double)(e >> c & 1 ? at[c] : 1 - at[c]);
            for (int c = 0; c < 3; c++)
                sum[c] += share * (double)p[c];
        }
        for (int c = 0; c < 3; c++)
            out[3 * i + c] = (float)sum[c];
    }
}

#endif
