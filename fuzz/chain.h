/* What the fuzz targets share: a small context, and everything one can do with a model that was read.
 *
 * Whatever the bytes are, a target may only see success or a result with a sentence. Broken promises abort.
 */
#ifndef PELT_FUZZ_CHAIN_H
#define PELT_FUZZ_CHAIN_H

#include <pelt/pelt.h>

#include "io/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_MEMORY_LIMIT ((size_t)16 << 20)
#define FUZZ_MAX_FRAMES   8u /* frames that are looked at */

/* Freed blocks wait in a small quarantine: it holds those of many inputs, and its pages stay in the cache. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "quarantine_size_mb=4:thread_local_quarantine_size_kb=256:malloc_context_size=12";
}

#define FUZZ_REQUIRE(condition)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline pelt_context *fuzz_context(void) {
    pelt_context_desc desc = pelt_context_desc_default();
    desc.memory_limit = FUZZ_MEMORY_LIMIT;
    desc.thread_count = 1;
    pelt_context *context;
    FUZZ_REQUIRE(pelt_context_create(&desc, &context) == PELT_OK);
    return context;
}

/* A failure must come with a sentence, and input is never to blame for anything else. */
static inline bool fuzz_done(const pelt_context *context, pelt_result result) {
    FUZZ_REQUIRE(result == PELT_OK || pelt_error_text(context)[0] != 0);
    FUZZ_REQUIRE(result != PELT_ERROR_USAGE && result != PELT_ERROR_CANCELLED);
    return result == PELT_OK;
}

/* Replays of a corpus (replay.c) run each input in several rounds, each with other choices. */
extern uint32_t fuzz_round;
uint32_t fuzz_round;

/* A number that depends on every byte, for choosing options and what is done with a model (FNV-1a). */
static inline uint32_t fuzz_choice(const uint8_t *data, size_t size) {
    uint32_t hash = 2166136261u + fuzz_round * 2654435761u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 16777619u;
    hash = (hash ^ hash >> 16) * 2246822519u; /* so that all bits depend on the last bytes */
    return hash ^ hash >> 15;
}

/* How a file named `fuzz.…` is read: as it is for half of the inputs, turned, scaled and not joined for others. */
static inline pelt_load_desc fuzz_load_desc(uint32_t choice) {
    static const char *const ups[] = {NULL, "z", "x,other=z", "fuzz.glb=z,fuzz.asf=x,y"};
    static const char *const scales[] = {NULL, "0.01", "1e9", "fuzz.pc2=100,fuzz.mdd=1e-9"};
    pelt_load_desc desc = pelt_load_desc_default();
    if (choice % 2 == 0)
        return desc;
    desc.up = ups[choice / 2 % 4];
    desc.scale = scales[choice / 8 % 4];
    desc.join = choice / 32 % 2 ? "none" : "auto";
    return desc;
}

/* How it is written. */
static inline pelt_save_desc fuzz_save_desc(uint32_t choice) {
    pelt_save_desc desc = pelt_save_desc_default();
    desc.one_object = choice / 64 % 2;
    desc.sparse = choice / 128 % 2;
    desc.order = choice / 256 % 2 ? PELT_ORDER_SKIN : PELT_ORDER_KEPT;
    desc.weights = choice / 512 % 3;
    desc.ply = choice / 2048 % 3;
    return desc;
}

/* Writes to memory. A name without a folder: "fuzz.obj". */
static inline void fuzz_save(pelt_context *context, const pelt_model *model, const char *name,
                             const pelt_save_desc *desc) {
    px_buffer bytes = {.context = context};
    fuzz_done(context, px_save_memory(context, model, name, desc, &bytes));
    px_buffer_free(&bytes);
}

static inline void fuzz_read_clips(pelt_context *context, const pelt_model *model) {
    for (uint32_t c = 0; c < model->clip_count; c++) {
        const pelt_clip *clip = &model->clips[c];
        float *out = malloc((size_t)12 * clip->point_count + 1);
        FUZZ_REQUIRE(out);
        uint32_t last = clip->frame_count - 1;
        for (uint32_t k = 0; k < clip->frame_count && k < FUZZ_MAX_FRAMES; k++)
            fuzz_done(context, pelt_clip_read(context, clip, last - k, 0, clip->point_count, out));
        free(out);
    }
}

/* The rest pose or a motion, by one kind of skinning. */
static inline void fuzz_pose(pelt_context *context, pelt_model *model, uint32_t choice) {
    const pelt_mesh *mesh = &model->mesh;
    float *positions = malloc((size_t)12 * mesh->vertex_count + 1),
          *normals = malloc((size_t)12 * mesh->vertex_count + 1);
    FUZZ_REQUIRE(positions && normals);
    uint32_t m = choice / 2 % (model->motion_count + 1);
    const pelt_motion *motion = m ? &model->motions[m - 1] : NULL;
    float time = motion ? 0.5f * (motion->start + motion->end) : 0;
    pelt_skinning skinning = choice % 2 ? PELT_SKINNING_LINEAR : PELT_SKINNING_DUAL_QUATERNION;
    fuzz_done(context, pelt_mesh_normals(context, mesh, NULL, normals));
    fuzz_done(context,
              pelt_model_pose(context, model, motion, time, skinning, positions, mesh->normals ? normals : NULL));
    free(positions);
    free(normals);
}

/* Validate what was read, then any of: read frames, weld and pose, write. */
static inline void fuzz_use(pelt_context *context, pelt_model *model, const char *name, uint32_t choice) {
    pelt_save_desc desc = fuzz_save_desc(choice);
    uint32_t steps = choice >> 24;
    FUZZ_REQUIRE(pelt_model_validate(context, model) == PELT_OK);
    if (steps & 1)
        fuzz_read_clips(context, model);
    if ((steps & 2) && fuzz_done(context, pelt_model_weld(context, model)))
        fuzz_pose(context, model, steps / 8);
    if (steps & 4)
        fuzz_save(context, model, name, &desc);
}

#endif
