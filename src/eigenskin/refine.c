/* Rotations of shapes relative to their poses.
 *
 * If poses were measured, or set by hand, joints are slightly off, and whole limbs of the examples are displaced from
 * the skin: a displacement that is not a correction. Small rotations ω_a of all joints about their positions, estimated
 * for each example by least squares, explain it: joint a moves vertex i by ω_a × s_ia with s_ia = Σ_b w_ib (x_ib −
 * o_a), over the bones b at or below the joint, x_ib the vertex transformed by bone b alone and o_a the position of the
 * joint. The sum of distances, not of their squares, is minimised (iteratively reweighted least squares), so that
 * bulges do not rotate joints.
 */
#include "eigenskin/eigenskin.h"

#include "core/mesh.h"

#define ITERATIONS 12
/* Upper bound on the number of vertices used. */
#define MAX_SAMPLES 2000u
/* Lower bound on distances, as a fraction of the size; Tikhonov damping, as a fraction of the diagonal. */
#define MIN_DISTANCE 1e-5
#define DAMPING      1e-6

/* State of one example. */
typedef struct refine_work {
    px_eigenskin *e;
    uint32_t example;
    const pelt_affine *globals; /* [joint] */
    double size;                /* diagonal of the example's bounding box */
    double *arms;               /* [joint][3] s of the current vertex */
    uint32_t *touched;          /* [touched_count] joints with nonzero s */
    uint32_t touched_count;
} refine_work;

/* Computes `arms` of a vertex; `at`: its skinned position. */
static void find_arms(refine_work *w, uint32_t vertex, const double rest[3], double at[3]) {
    const px_eigenskin *e = w->e;
    const pelt_skin *skin = &e->model->skin;
    const uint32_t *parents = e->model->skeleton.parents;
    for (uint32_t n = 0; n < w->touched_count; n++)
        memset(w->arms + 3 * (size_t)w->touched[n], 0, 3 * sizeof *w->arms);
    w->touched_count = 0;
    memset(at, 0, 3 * sizeof *at);
    for (uint32_t k = 0; k < skin->influence_count; k++) {
        size_t n = (size_t)vertex * skin->influence_count + k;
        double weight = (double)skin->weights[n], x[3];
        if (!(weight > 0))
            continue;
        const float *m = e->palettes[(size_t)w->example * skin->bone_count + skin->bones[n]].m;
        for (int c = 0; c < 3; c++) {
            x[c] = (double)m[4 * c] * rest[0] + (double)m[4 * c + 1] * rest[1] + (double)m[4 * c + 2] * rest[2] +
                   (double)m[4 * c + 3];
            at[c] += weight * x[c];
        }
        for (uint32_t j = skin->bone_joints[skin->bones[n]]; j != PELT_NONE; j = parents[j]) {
            double *arm = w->arms + 3 * (size_t)j;
            bool is_new = true;
            for (uint32_t t = 0; t < w->touched_count; t++)
                is_new &= w->touched[t] != j;
            if (is_new)
                w->touched[w->touched_count++] = j;
            for (int c = 0; c < 3; c++)
                arm[c] += weight * (x[c] - (double)w->globals[j].m[4 * c + 3]);
        }
    }
}

/* Σ_a ω_a × s_a. */
static void turn(const refine_work *w, const double *omegas, double out[3]) {
    memset(out, 0, 3 * sizeof *out);
    for (uint32_t n = 0; n < w->touched_count; n++) {
        const double *o = omegas + 3 * (size_t)w->touched[n], *s = w->arms + 3 * (size_t)w->touched[n];
        out[0] += o[1] * s[2] - o[2] * s[1];
        out[1] += o[2] * s[0] - o[0] * s[2];
        out[2] += o[0] * s[1] - o[1] * s[0];
    }
}

/* Adds one vertex to the normal equations. */
static void add_vertex(const refine_work *w, double weight, const double missing[3], px_matrix gram, double *right) {
    for (uint32_t n = 0; n < w->touched_count; n++) {
        size_t a = 3 * (size_t)w->touched[n];
        const double *s = w->arms + a;
        right[a] += weight * (s[1] * missing[2] - s[2] * missing[1]);
        right[a + 1] += weight * (s[2] * missing[0] - s[0] * missing[2]);
        right[a + 2] += weight * (s[0] * missing[1] - s[1] * missing[0]);
        for (uint32_t k = 0; k < w->touched_count; k++) {
            size_t b = 3 * (size_t)w->touched[k];
            const double *t = w->arms + b;
            double dot = s[0] * t[0] + s[1] * t[1] + s[2] * t[2];
            for (size_t r = 0; r < 3; r++)
                for (size_t c = 0; c < 3; c++)
                    *px_matrix_at(gram, a + r, b + c) += weight * ((r == c ? dot : 0) - t[r] * s[c]);
        }
    }
}

static pelt_result refine_example(px_eigenskin *e, uint32_t example, px_arena *arena, const float *morph_weights) {
    const pelt_model *model = e->model;
    size_t joints = model->skeleton.joint_count, unknowns = 3 * joints;
    double *square = PX_NEW(arena, double, px_mul_size(unknowns, unknowns)), *right = PX_NEW(arena, double, unknowns);
    refine_work w = {.e = e,
                     .example = example,
                     .globals = e->globals + example * joints,
                     .arms = PX_NEW(arena, double, unknowns),
                     .touched = PX_NEW(arena, uint32_t, joints)};
    if (!square || !right || !w.arms || !w.touched)
        return PELT_ERROR_MEMORY;
    float low[3], high[3];
    w.size = px_box(e->examples[example].positions, model->mesh.vertex_count, low, high);
    px_matrix gram = px_matrix_of(square, unknowns, unknowns);
    double *omegas = e->turns + example * unknowns;
    uint32_t step = 1 + e->classes.count / MAX_SAMPLES;
    memset(omegas, 0, unknowns * sizeof *omegas);
    for (int round = 0; round < ITERATIONS; round++) {
        double trace = 0;
        memset(square, 0, unknowns * unknowns * sizeof *square);
        memset(right, 0, unknowns * sizeof *right);
        for (size_t u = 0; u < e->classes.count; u += step) {
            uint32_t vertex = pelt_class_vertex(&e->classes, u);
            double rest[3], at[3], turned[3], missing[3], left[3];
            px_morphed_place(model, morph_weights, vertex, rest);
            find_arms(&w, vertex, rest, at);
            turn(&w, omegas, turned);
            for (int c = 0; c < 3; c++) {
                missing[c] = (double)e->examples[example].positions[3 * (size_t)vertex + c] - at[c];
                left[c] = missing[c] - turned[c];
            }
            double weight = e->counts[u] / px_fmax(px_length3(left), MIN_DISTANCE * w.size);
            if (isfinite(weight))
                add_vertex(&w, weight, missing, gram, right);
        }
        for (size_t n = 0; n < unknowns; n++)
            trace += square[n * (unknowns + 1)];
        for (size_t n = 0; n < unknowns; n++)
            square[n * (unknowns + 1)] += DAMPING * trace / (double)unknowns;
        if (!(trace > 0) || !px_cholesky_solve(gram, px_matrix_of(right, unknowns, 1)))
            return PELT_OK;
        memcpy(omegas, right, unknowns * sizeof *omegas);
    }
    return PELT_OK;
}

typedef struct all_work {
    px_eigenskin *e;
    const float *morph_weights; /* [example][morph] */
} all_work;

static pelt_result example_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const all_work *w = user;
    pelt_result result = PELT_OK;
    for (size_t x = first; result == PELT_OK && x < first + count; x++) {
        px_arena *arena = px_arena_create(w->e->context);
        const float *weights = w->morph_weights + x * w->e->model->morphs.morph_count;
        result = arena ? refine_example(w->e, (uint32_t)x, arena, weights) : PELT_ERROR_MEMORY;
        px_arena_destroy(arena);
    }
    return result;
}

pelt_result px_eigenskin_refine(px_eigenskin *e, const float *morph_weights) {
    size_t unknowns = 3 * (size_t)e->model->skeleton.joint_count;
    if (!e->turns && !(e->turns = PX_NEW(e->scratch, double, px_mul_size(e->example_count, unknowns))))
        return PELT_ERROR_MEMORY;
    return px_parallel(e->context, "turning", e->example_count, 1, example_block, &(all_work){e, morph_weights});
}

/* Same as `turn`, for a single vertex, without the list of touched joints. */
void px_eigenskin_turned(const px_eigenskin *e, uint32_t example, uint32_t vertex, const double rest[3],
                         double out[3]) {
    const pelt_skin *skin = &e->model->skin;
    const double *omegas = e->turns + example * 3 * (size_t)e->model->skeleton.joint_count;
    const pelt_affine *globals = e->globals + (size_t)example * e->model->skeleton.joint_count;
    memset(out, 0, 3 * sizeof *out);
    for (uint32_t k = 0; k < skin->influence_count; k++) {
        size_t n = (size_t)vertex * skin->influence_count + k;
        double weight = (double)skin->weights[n], x[3];
        if (!(weight > 0))
            continue;
        const float *m = e->palettes[(size_t)example * skin->bone_count + skin->bones[n]].m;
        for (int c = 0; c < 3; c++)
            x[c] = (double)m[4 * c] * rest[0] + (double)m[4 * c + 1] * rest[1] + (double)m[4 * c + 2] * rest[2] +
                   (double)m[4 * c + 3];
        for (uint32_t j = skin->bone_joints[skin->bones[n]]; j != PELT_NONE; j = e->model->skeleton.parents[j]) {
            const double *o = omegas + 3 * (size_t)j;
            double s[3];
            for (int c = 0; c < 3; c++)
                s[c] = weight * (x[c] - (double)globals[j].m[4 * c + 3]);
            out[0] += o[1] * s[2] - o[2] * s[1];
            out[1] += o[2] * s[0] - o[0] * s[2];
            out[2] += o[0] * s[1] - o[1] * s[0];
        }
    }
}

double px_eigenskin_turn_degrees(const px_eigenskin *e) {
    size_t joints = e->model->skeleton.joint_count;
    double sum = 0, count = 0;
    for (size_t n = 0; e->refined && n < e->example_count * joints; n++)
        if (e->hierarchy.weighted[n % joints]) {
            double angle = px_length3(e->turns + 3 * n);
            sum += angle * angle;
            count++;
        }
    return count > 0 ? sqrt(sum / count) * 180 / 3.141592653589793 : 0;
}
