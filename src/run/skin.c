/* Choice of the kernel, and skinning on threads. */
#include "run/skin.h"

typedef struct body_row {
    const char *name;
    px_skin_body *body; /* NULL: not in this build */
    px_morph_body *morph;
    px_prepared_body *prepared;
    px_skin_body *fused; /* with fused multiply-adds, for jobs that are not exact; or NULL */
    px_prepared_body *prepared_fused;
} body_row;

/* Rows without bodies are of other machines. */
static const body_row bodies[PELT_SIMD_COUNT] = {
    [PELT_SIMD_SCALAR] = {"scalar", px_skin_scalar, px_morph_scalar, px_prepared_scalar, NULL, NULL},
#if defined(__x86_64__)
    [PELT_SIMD_SSE2] = {"sse2", px_skin_sse2, px_morph_sse2, px_prepared_sse2, NULL, NULL},
    [PELT_SIMD_AVX2] = {"avx2", px_skin_avx2, px_morph_avx2, px_prepared_avx2, px_skin_fma, px_prepared_fma},
    /* wider gathers are not faster */
    [PELT_SIMD_AVX512] = {"avx512", px_skin_avx2, px_morph_avx2, px_prepared_avx512, px_skin_fma,
                          px_prepared_avx512_fused},
#else
    [PELT_SIMD_SSE2] = {"sse2", NULL, NULL, NULL, NULL, NULL},
    [PELT_SIMD_AVX2] = {"avx2", NULL, NULL, NULL, NULL, NULL},
    [PELT_SIMD_AVX512] = {"avx512", NULL, NULL, NULL, NULL, NULL},
#endif
#if defined(__aarch64__)
    [PELT_SIMD_NEON] = {"neon", px_skin_neon, px_morph_neon, px_prepared_neon, NULL, NULL},
#else
    [PELT_SIMD_NEON] = {"neon", NULL, NULL, NULL, NULL, NULL},
#endif
#if defined(__wasm_simd128__)
    [PELT_SIMD_WASM] = {"wasm", px_skin_wasm, px_morph_wasm, px_prepared_wasm, NULL, NULL},
#else
    [PELT_SIMD_WASM] = {"wasm", NULL, NULL, NULL, NULL, NULL},
#endif
};

const char *pelt_simd_name(pelt_simd simd) {
    return (unsigned)simd < PELT_SIMD_COUNT ? bodies[simd].name : "";
}

bool pelt_simd_available(pelt_simd simd) {
    if ((unsigned)simd >= PELT_SIMD_COUNT || !bodies[simd].body)
        return false;
#if defined(__x86_64__)
    if (simd == PELT_SIMD_AVX2)
        return __builtin_cpu_supports("avx2");
    if (simd == PELT_SIMD_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
#endif
    return true; /* SSE2 and NEON are part of every x86-64 and AArch64 CPU */
}

pelt_simd pelt_simd_best(void) {
    pelt_simd best = PELT_SIMD_SCALAR;
    for (pelt_simd simd = best; simd < PELT_SIMD_COUNT; simd++)
        if (pelt_simd_available(simd))
            best = simd;
    return best;
}

px_morph_body *px_morph_body_of(pelt_simd simd) {
    assert(pelt_simd_available(simd));
    return bodies[simd].morph;
}

static bool can_fuse(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

px_prepared_body *px_prepared_body_of(pelt_simd simd, bool exact) {
    assert(pelt_simd_available(simd));
    return !exact && bodies[simd].prepared_fused && can_fuse() ? bodies[simd].prepared_fused : bodies[simd].prepared;
}

/* Vertices morphed at a time: 12 KB, which stay in the L1 cache until they are skinned. */
#define MORPH_VERTICES ((size_t)512)

static void run_morphed(const pelt_skin_job *job, px_morph_body *morph, px_skin_body *skin) {
    for (size_t first = 0; first < job->vertex_count; first += MORPH_VERTICES) {
        float positions[3 * MORPH_VERTICES], normals[3 * MORPH_VERTICES];
        size_t count = px_min_size(MORPH_VERTICES, job->vertex_count - first);
        pelt_skin_job part = px_skin_range(job, first, count);
        const pelt_packed_morphs *m = &part.morphs;
        morph(m->offsets, m->positions, job->morph_weights, part.positions, 0, count, positions);
        if (part.normals && m->normals) {
            morph(m->offsets, m->normals, job->morph_weights, part.normals, 0, count, normals);
            part.normals = normals;
        }
        part.positions = positions;
        part.morphs = (pelt_packed_morphs){0};
        skin(&part);
    }
}

void pelt_skin_run_simd(const pelt_skin_job *job, pelt_simd simd) {
    assert(pelt_simd_available(simd));
    assert(job->influence_count >= 1 && job->influence_count <= PELT_MAX_INFLUENCES);
    assert(!job->normals == !job->out_normals && !job->tangents == !job->out_tangents);
    assert(job->skinning == PELT_SKINNING_LINEAR ? job->palette != NULL : job->dual_quaternions != NULL);
    px_skin_body *body = !job->exact && bodies[simd].fused && can_fuse() ? bodies[simd].fused : bodies[simd].body;
    if (job->morphs.offsets)
        run_morphed(job, bodies[simd].morph, body);
    else
        body(job);
}

void pelt_skin_run(const pelt_skin_job *job) {
    pelt_skin_run_simd(job, pelt_simd_best());
}

/* ---- On threads ------------------------------------------------------------------------------------------- */

/* About 0.1 ms of work: hides the cost of scheduling, and gives an even load. */
#define BLOCK_VERTICES 4096

static pelt_result run_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    pelt_skin_job part = px_skin_range(user, first, count);
    pelt_skin_run(&part);
    return PELT_OK;
}

pelt_result pelt_skin_run_threads(pelt_context *context, const pelt_skin_job *job) {
    pelt_skin_job copy = *job;
    return px_parallel(context, NULL, job->vertex_count, BLOCK_VERTICES, run_block, &copy);
}
