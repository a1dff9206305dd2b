/* Bone weights under the corrections, which the paper leaves to future work (Kry, James, Pai 2002, §5): alternates
 * between weights on the simplex for the corrections at hand, and corrections for these weights.
 *
 * The weights of vertex i minimise Σ_p |Σ_b w_b T_pb (v_i + u_ip) − v_ip|² + ridge |w − given|² over w ≥ 0, Σw = 1, for
 * its own bones and those of its neighbours, of which the K largest stay. The first round has no corrections u: fitted
 * after the corrections, weights would find nothing left to explain.
 *
 * Weights that suit the examples need not suit other poses. So rounds are tried by cross-validation: learned from two
 * thirds of the examples, weights and corrections are measured on the others, three times. The number of rounds with
 * the least error is then run on all examples; without a clear gain the weights stay.
 */
#include "eigenskin/eigenskin.h"

#include "core/mesh.h"
#include "numeric/simplex.h"

#define FOLDS        3u
#define MIN_EXAMPLES 6u /* two in each fold */
#define MAX_ROUNDS   2u
/* Rounds are kept if they lower the error of left-out examples to this, and so is one round more. */
#define MAX_ERROR_RATIO 0.98
/* Weight of the given weights, as a fraction of the squared distances between a vertex moved by one bone and by all. */
#define RIDGE        0.01
#define VERTEX_BLOCK 64u

/* Bones and weights, [vertex][K]. */
typedef struct influences {
    uint16_t *bones;
    float *weights;
} influences;

typedef struct weight_work {
    const px_eigenskin *e;
    px_arena *scratch;
    uint32_t *neighbours;   /* [vertex][PX_SIMPLEX_MAX] candidate bones; PELT_NONE: end of list */
    pelt_affine *palettes;  /* [example][bone] */
    const pelt_model *from; /* model with the corrections at hand */
    float *morph_weights;   /* [example][morph of `from`] */
    uint32_t fold;          /* examples left out; FOLDS: none */
    influences *out;
} weight_work;

static bool is_left_out(uint32_t example, uint32_t fold) {
    return example % FOLDS == fold;
}

/* ---- Candidates -------------------------------------------------------------------------------------------- */

static void add_candidate(const weight_work *w, uint32_t vertex, uint32_t bone) {
    uint32_t *list = w->neighbours + (size_t)vertex * PX_SIMPLEX_MAX;
    for (size_t n = 0; n < PX_SIMPLEX_MAX; n++)
        if (list[n] == bone || list[n] == PELT_NONE) {
            list[n] = bone;
            return;
        }
}

static void add_bones_of(const weight_work *w, uint32_t vertex, uint32_t of) {
    const pelt_skin *skin = &w->e->model->skin;
    for (size_t k = of * (size_t)skin->influence_count; k < (of + (size_t)1) * skin->influence_count; k++)
        if (skin->weights[k] > 0)
            add_candidate(w, vertex, skin->bones[k]);
}

/* Bones of the vertex, then of its triangles' other corners; welded vertices share these. */
static pelt_result find_candidates(weight_work *w) {
    const px_eigenskin *e = w->e;
    pelt_mesh mesh = e->model->mesh;
    size_t count = px_mul_size(mesh.vertex_count, PX_SIMPLEX_MAX);
    w->neighbours = PX_NEW(w->scratch, uint32_t, count);
    if (!w->neighbours)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_weld(w->scratch, &mesh, &e->model->morphs, NULL, 0, &mesh.weld));
    for (size_t n = 0; n < count; n++)
        w->neighbours[n] = PELT_NONE;
    for (uint32_t i = 0; i < mesh.vertex_count; i++)
        add_bones_of(w, i, i);
    for (size_t c = 0; c < 3 * (size_t)mesh.triangle_count; c++) {
        uint32_t head = pelt_class_vertex(&mesh.weld, pelt_vertex_class(&mesh.weld, mesh.triangles[c]));
        for (size_t d = c / 3 * 3; d < c / 3 * 3 + 3; d++)
            add_bones_of(w, head, mesh.triangles[d]);
    }
    for (uint32_t i = 0; i < mesh.vertex_count; i++) {
        uint32_t head = pelt_class_vertex(&mesh.weld, pelt_vertex_class(&mesh.weld, i));
        for (size_t n = 0; i != head && n < PX_SIMPLEX_MAX; n++)
            if (w->neighbours[(size_t)head * PX_SIMPLEX_MAX + n] != PELT_NONE)
                add_candidate(w, i, w->neighbours[(size_t)head * PX_SIMPLEX_MAX + n]);
    }
    return PELT_OK;
}

/* ---- Weights of a vertex ----------------------------------------------------------------------------------- */

typedef struct vertex_fit {
    size_t count;
    uint32_t bones[PX_SIMPLEX_MAX];
    double given[PX_SIMPLEX_MAX], weights[PX_SIMPLEX_MAX];
    double gram[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX]; /* Σ_p (T_pb x − v)·(T_pc x − v), x the corrected rest position */
} vertex_fit;

static void add_example(const weight_work *w, uint32_t vertex, size_t example, vertex_fit *f) {
    const px_eigenskin *e = w->e;
    const float *wanted = e->examples[example].positions + 3 * (size_t)vertex;
    const pelt_affine *palette = w->palettes + example * e->model->skin.bone_count;
    double rest[3], off[PX_SIMPLEX_MAX][3];
    px_morphed_place(w->from, w->morph_weights + example * w->from->morphs.morph_count, vertex, rest);
    for (size_t b = 0; b < f->count; b++) {
        const float *m = palette[f->bones[b]].m;
        for (int a = 0; a < 3; a++)
            off[b][a] = (double)m[4 * a] * rest[0] + (double)m[4 * a + 1] * rest[1] + (double)m[4 * a + 2] * rest[2] +
                        (double)m[4 * a + 3] - (double)wanted[a];
    }
    for (size_t b = 0; b < f->count; b++)
        for (size_t c = 0; c < f->count; c++)
            f->gram[b][c] += off[b][0] * off[c][0] + off[b][1] * off[c][1] + off[b][2] * off[c][2];
}

/* Sorts bones by descending weight, keeps `most` of them, and divides weights by their sum. */
static void keep_largest(vertex_fit *f, size_t most) {
    vertex_fit old = *f;
    size_t order[PX_SIMPLEX_MAX];
    double sum = 0;
    for (size_t b = 0; b < old.count; b++) {
        size_t at = b;
        for (; at > 0 && old.weights[order[at - 1]] < old.weights[b]; at--)
            order[at] = order[at - 1];
        order[at] = b;
    }
    f->count = px_min_size(most, old.count);
    for (size_t b = 0; b < f->count; b++)
        sum += old.weights[order[b]];
    for (size_t b = 0; b < f->count; b++) {
        f->bones[b] = old.bones[order[b]];
        f->given[b] = old.given[order[b]];
        f->weights[b] = old.weights[order[b]] / sum;
        for (size_t c = 0; c < f->count; c++)
            f->gram[b][c] = old.gram[order[b]][order[c]];
    }
}

/* Solves for all candidates, then for the K largest of them. */
static void solve_vertex(vertex_fit *f, size_t most) {
    double whole = 0, spread = 0, right[PX_SIMPLEX_MAX]; /* spread: Σ_b Σ_p |T_pb x − Σ_c given_c T_pc x|² */
    for (size_t b = 0; b < f->count; b++)
        for (size_t c = 0; c < f->count; c++)
            whole += f->given[b] * f->given[c] * f->gram[b][c];
    for (size_t b = 0; b < f->count; b++) {
        spread += f->gram[b][b] + whole;
        for (size_t c = 0; c < f->count; c++)
            spread -= 2 * f->given[c] * f->gram[b][c];
    }
    double ridge = RIDGE * (spread / (double)f->count);
    for (size_t b = 0; b < f->count; b++)
        f->gram[b][b] += ridge;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t b = 0; b < f->count; b++)
            right[b] = ridge * f->given[b];
        px_simplex_least(f->count, f->gram, right, f->weights);
        keep_largest(f, most);
    }
}

static pelt_result vertex_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const weight_work *w = user;
    const pelt_skin *skin = &w->e->model->skin;
    size_t K = skin->influence_count;
    for (uint32_t i = (uint32_t)first; i < first + count; i++) {
        vertex_fit f = {0};
        const uint32_t *list = w->neighbours + (size_t)i * PX_SIMPLEX_MAX;
        double sum = 0;
        for (; f.count < PX_SIMPLEX_MAX && list[f.count] != PELT_NONE; f.count++) {
            f.bones[f.count] = list[f.count];
            for (size_t k = 0; k < K; k++)
                if (skin->bones[i * K + k] == list[f.count])
                    f.given[f.count] += px_fmax((double)skin->weights[i * K + k], 0);
            sum += f.given[f.count];
        }
        memcpy(w->out->bones + i * K, skin->bones + i * K, K * sizeof *skin->bones);
        memcpy(w->out->weights + i * K, skin->weights + i * K, K * sizeof *skin->weights);
        if (f.count < 2 || !(sum > 0))
            continue;
        for (size_t b = 0; b < f.count; b++)
            f.weights[b] = f.given[b] /= sum;
        for (uint32_t x = 0; x < w->e->example_count; x++)
            if (!is_left_out(x, w->fold))
                add_example(w, i, x, &f);
        solve_vertex(&f, K);
        for (size_t k = 0; k < K; k++) {
            bool used = k < f.count && f.weights[k] > 0;
            w->out->bones[i * K + k] = used ? (uint16_t)f.bones[k] : 0;
            w->out->weights[i * K + k] = used ? (float)f.weights[k] : 0;
        }
    }
    return PELT_OK;
}

/* ---- Rounds ------------------------------------------------------------------------------------------------ */

/* A model with these weights and the corrections learned from the examples that are not left out. */
static pelt_result learn(const weight_work *w, const influences *weights, pelt_model **learned) {
    const px_eigenskin *e = w->e;
    pelt_eigenskin_desc desc = e->desc;
    pelt_pose_example *examples = PX_ALLOC(e->context, pelt_pose_example, e->example_count);
    uint32_t count = 0;
    if (!examples)
        return PELT_ERROR_MEMORY;
    for (uint32_t x = 0; x < e->example_count; x++)
        if (!is_left_out(x, w->fold))
            examples[count++] = e->examples[x];
    desc.refit_weights = false;
    desc.normals = false;
    pelt_result result = pelt_model_borrow(e->context, e->model, learned);
    if (result == PELT_OK) {
        (*learned)->skin.bones = weights->bones;
        (*learned)->skin.weights = weights->weights;
        result = pelt_eigenskin(e->context, *learned, examples, count, &desc, NULL);
    }
    px_free(e->context, examples);
    return result;
}

/* Fits weights for the corrections of `from`. */
static pelt_result fit_weights(weight_work *w, const pelt_model *from, influences *out) {
    const px_eigenskin *e = w->e;
    size_t morphs = from->morphs.morph_count;
    w->from = from;
    w->out = out;
    w->morph_weights = PX_ALLOC(e->context, float, px_mul_size(e->example_count, morphs));
    if (!w->morph_weights)
        return PELT_ERROR_MEMORY;
    for (size_t x = 0; x < e->example_count; x++) {
        pelt_motion_sample(from, NULL, 0, NULL, w->morph_weights + x * morphs);
        pelt_pose_weights(from, e->examples[x].locals, w->morph_weights + x * morphs);
    }
    pelt_result result = px_parallel(e->context, "weights", e->model->mesh.vertex_count, VERTEX_BLOCK, vertex_block, w);
    px_free(e->context, w->morph_weights);
    return result;
}

/* Adds Σ |error|² of the examples that were left out, in world space. */
static pelt_result measure(const weight_work *w, const pelt_model *learned, double *sum) {
    const px_eigenskin *e = w->e;
    float *weights = PX_ALLOC(e->context, float, learned->morphs.morph_count);
    if (!weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t x = 0; x < e->example_count; x++) {
        if (!is_left_out(x, w->fold))
            continue;
        pelt_motion_sample(learned, NULL, 0, NULL, weights);
        pelt_pose_weights(learned, e->examples[x].locals, weights);
        for (uint32_t i = 0; i < learned->mesh.vertex_count; i++) {
            const float *wanted = e->examples[x].positions + 3 * (size_t)i;
            double rest[3], m[12];
            px_morphed_place(learned, weights, i, rest);
            px_skin_blend(&learned->skin, w->palettes + (size_t)x * learned->skin.bone_count, i, m);
            for (int a = 0; a < 3; a++) {
                double miss = m[4 * a] * rest[0] + m[4 * a + 1] * rest[1] + m[4 * a + 2] * rest[2] + m[4 * a + 3] -
                              (double)wanted[a];
                *sum += miss * miss;
            }
        }
    }
    px_free(e->context, weights);
    return PELT_OK;
}

/* Runs rounds from the given weights; sums [rounds + 1], unless NULL, gets the error of left-out examples after each. The
 * weights of the last round are in `out`. */
static pelt_result run_rounds(weight_work *w, uint32_t rounds, double *sums, influences *out) {
    const pelt_skin *skin = &w->e->model->skin;
    const influences given = {skin->bones, skin->weights};
    pelt_result result = PELT_OK;
    if (sums) {
        pelt_model *learned = NULL;
        result = learn(w, &given, &learned);
        if (result == PELT_OK)
            result = measure(w, learned, &sums[0]);
        pelt_model_destroy(learned);
    }
    pelt_model *from = NULL; /* NULL: the given model, without corrections */
    for (uint32_t round = 1; result == PELT_OK && round <= rounds; round++) {
        pelt_model *learned = NULL;
        result = fit_weights(w, from ? from : w->e->model, out);
        if (result == PELT_OK && (sums || round < rounds))
            result = learn(w, out, &learned);
        if (result == PELT_OK && sums)
            result = measure(w, learned, &sums[round]);
        pelt_model_destroy(from);
        from = learned;
    }
    pelt_model_destroy(from);
    return result;
}

static pelt_result refit(px_eigenskin *e, weight_work *w) {
    pelt_model *model = e->model;
    size_t numbers = px_mul_size(model->mesh.vertex_count, model->skin.influence_count);
    influences out = {PX_NEW(model->memory, uint16_t, numbers), PX_NEW(model->memory, float, numbers)};
    pelt_affine *globals = PX_NEW(w->scratch, pelt_affine, model->skeleton.joint_count);
    w->palettes = PX_NEW(w->scratch, pelt_affine, px_mul_size(e->example_count, model->skin.bone_count));
    double sums[MAX_ROUNDS + 1] = {0};
    if (!out.bones || !out.weights || !globals || !w->palettes)
        return PELT_ERROR_MEMORY;
    for (size_t x = 0; x < e->example_count; x++) {
        pelt_skeleton_globals(&model->skeleton, e->examples[x].locals, globals);
        pelt_skin_palette(&model->skin, globals, w->palettes + x * model->skin.bone_count);
    }
    PX_TRY(find_candidates(w));
    for (w->fold = 0; w->fold < FOLDS; w->fold++) {
        pelt_result result = run_rounds(w, MAX_ROUNDS, sums, &out);
        if (result == PELT_ERROR_INPUT) /* e.g. no joint moves in these examples; if all are bad, learning fails */
            return PELT_OK;
        PX_TRY(result);
    }
    uint32_t best = 1;
    for (uint32_t round = 2; round <= MAX_ROUNDS; round++)
        best = sums[round] < MAX_ERROR_RATIO * MAX_ERROR_RATIO * sums[best] ? round : best;
    e->refit_ratio = sums[0] > 0 ? sqrt(sums[best] / sums[0]) : 1;
    if (!(e->refit_ratio < MAX_ERROR_RATIO))
        return PELT_OK;
    e->refit_rounds = best;
    PX_TRY(run_rounds(w, best, NULL, &out));
    model->skin.bones = out.bones;
    model->skin.weights = out.weights;
    model->changed |= PELT_CHANGED_SKIN;
    return PELT_OK;
}

pelt_result px_eigenskin_refit_weights(px_eigenskin *e) {
    if (e->example_count < MIN_EXAMPLES)
        return PELT_OK;
    weight_work w = {.e = e, .scratch = px_arena_create(e->context)};
    pelt_result result = w.scratch ? refit(e, &w) : PELT_ERROR_MEMORY;
    px_arena_destroy(w.scratch);
    return result;
}
