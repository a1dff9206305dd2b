/* Weights pulled to examples of good poses.
 *
 * For every vertex, the weights of its bones and of those around it minimise
 *
 *   Σ_e |Σ_k w_k M_ke v − p_e|² + λ |w − w⁰|²      w ≥ 0, Σw = 1
 *
 * with examples e, bone matrices M, the positions p of the examples and the weights w⁰ that the vertex has. λ is the number of
 * examples times the square of the desired strength in object units. Bones reach one vertex farther in every round, so that a bone may
 * extend its region; shells that follow one bone keep it.
 */
#include "core/classes.h"
#include "core/math3.h"
#include "core/mesh.h"
#include "numeric/sparse.h"

#include <pelt/bind.h>

#define ROUNDS        4
#define BLOCK_CLASSES 256u
/* Smaller weights are dropped. */
#define MIN_WEIGHT 0.003

static const pelt_option options[] = {
    {"prefer-strength", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_bind_prefer_desc, strength), "0.003", 0, 1, NULL, "S",
     "how strongly weights are kept: a change by 1 counts like an error of this fraction of the size in every example"},
};
PX_DESC(bind_prefer, options)

typedef struct prefer {
    pelt_context *context;
    pelt_model *model;
    px_arena *arena;
    const pelt_bind_example *examples;
    uint32_t example_count;
    pelt_vertex_classes classes;
    px_neighbours neighbours;
    const float *rests;    /* [class][3] before skinning */
    pelt_affine *palettes; /* [example][bone] */
    bool *movable;         /* [class] of a part with a skin */
    double pull;           /* λ */
    uint32_t K;            /* influences of the result */
    uint16_t *bones;       /* [class][K] */
    float *weights;
    uint16_t *new_bones; /* [class][K] of the next round */
    float *new_weights;
} prefer;

/* ---- One vertex ------------------------------------------------------------------------------------------- */

/* The bones of a class, then those of its neighbours, with weights 0. */
static void list_bones(const prefer *f, uint32_t c, px_simplex_problem *p) {
    const px_neighbours *n = &f->neighbours;
    p->count = 0;
    for (size_t e = c * (size_t)f->K; e < (c + (size_t)1) * f->K; e++)
        if (f->weights[e] > 0) {
            p->weights[p->count] = (double)f->weights[e];
            p->ids[p->count++] = f->bones[e];
        }
    for (size_t m = n->offsets[c]; m < n->offsets[c + 1]; m++)
        for (size_t e = n->items[m] * (size_t)f->K; e < (n->items[m] + (size_t)1) * f->K; e++)
            if (f->weights[e] > 0 && p->count < PX_SIMPLEX_MAX && !px_simplex_has(p, f->bones[e])) {
                p->weights[p->count] = 0;
                p->ids[p->count++] = f->bones[e];
            }
}

static void gather(const prefer *f, uint32_t c, px_simplex_problem *p) {
    const float *rest = f->rests + 3 * (size_t)c;
    uint32_t vertex = pelt_class_vertex(&f->classes, c), bone_count = f->model->skin.bone_count;
    memset(p->gram, 0, sizeof p->gram);
    for (uint32_t e = 0; e < f->example_count; e++) {
        const float *target = f->examples[e].positions + 3 * (size_t)vertex;
        double off[PX_SIMPLEX_MAX][3];
        for (size_t n = 0; n < p->count; n++) {
            float moved[3];
            px_affine_point(&f->palettes[(size_t)e * bone_count + p->ids[n]], rest, moved);
            for (int r = 0; r < 3; r++)
                off[n][r] = (double)moved[r] - (double)target[r];
        }
        for (size_t a = 0; a < p->count; a++)
            for (size_t b = 0; b < p->count; b++)
                p->gram[a][b] += px_dot3d(off[a], off[b]);
    }
}

/* The weight of a bone in the given skin. */
static double given_weight(const prefer *f, uint32_t c, uint32_t bone) {
    const pelt_skin *skin = &f->model->skin;
    size_t K = skin->influence_count, first = pelt_class_vertex(&f->classes, c) * K;
    double sum = 0;
    for (size_t e = first; e < first + K; e++)
        sum += skin->bones[e] == bone ? (double)skin->weights[e] : 0;
    return sum;
}

static pelt_result fit_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const prefer *f = user;
    for (size_t c = first; c < first + count; c++) {
        uint16_t *bones = f->new_bones + c * f->K;
        float *weights = f->new_weights + c * f->K;
        px_simplex_problem p;
        if (f->movable[c])
            list_bones(f, (uint32_t)c, &p);
        if (!f->movable[c] || p.count < 2) {
            memcpy(bones, f->bones + c * f->K, f->K * sizeof *bones);
            memcpy(weights, f->weights + c * f->K, f->K * sizeof *weights);
            continue;
        }
        gather(f, (uint32_t)c, &p);
        for (size_t a = 0; a < p.count; a++) {
            p.gram[a][a] += f->pull;
            p.linear[a] = f->pull * given_weight(f, (uint32_t)c, p.ids[a]);
        }
        px_simplex_normalise(&p);
        px_simplex_sparse(&p, f->K, MIN_WEIGHT);
        px_simplex_store(&p, f->K, bones, weights);
    }
    return PELT_OK;
}

/* ---- All vertices ----------------------------------------------------------------------------------------- */

/* Vertices of parts without a skin follow their node. */
static void mark_movable(const prefer *f) {
    const pelt_mesh *mesh = &f->model->mesh;
    for (uint32_t c = 0; c < f->classes.count; c++)
        f->movable[c] = true;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        bool follows = !part->skinned && part->joint != PELT_NONE;
        for (size_t i = part->first_vertex; follows && i < (size_t)part->first_vertex + part->vertex_count; i++)
            f->movable[pelt_vertex_class(&f->classes, i)] = false;
    }
}

static pelt_result pose_bones(prefer *f) {
    const pelt_model *model = f->model;
    pelt_affine *globals = PX_NEW(f->arena, pelt_affine, model->skeleton.joint_count);
    f->palettes = PX_NEW(f->arena, pelt_affine, px_mul_size(f->example_count, model->skin.bone_count));
    if (!globals || !f->palettes)
        return PELT_ERROR_MEMORY;
    for (uint32_t e = 0; e < f->example_count; e++) {
        pelt_skeleton_globals(&model->skeleton, f->examples[e].locals, globals);
        pelt_skin_palette(&model->skin, globals, f->palettes + (size_t)e * model->skin.bone_count);
    }
    return PELT_OK;
}

/* Positions before skinning, with the morph weights of the rest pose. */
static pelt_result find_rests(prefer *f) {
    const pelt_model *model = f->model;
    float *rests = px_class_positions(f->arena, &f->classes, model->mesh.positions);
    if (!rests)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->morphs.morph_count; m++) {
        const pelt_morph *morph = &model->morphs.morphs[m];
        for (uint32_t c = 0; c < f->classes.count && morph->weight != 0; c++) {
            size_t at = (size_t)pelt_class_vertex(&f->classes, c) - morph->first_vertex;
            for (size_t r = 0; at < morph->vertex_count && r < 3; r++)
                rests[3 * (size_t)c + r] += morph->weight * morph->positions[3 * at + r];
        }
    }
    f->rests = rests;
    return PELT_OK;
}

/* Copies the weights of the skin to K influences of each class. */
static pelt_result take_weights(prefer *f, uint32_t wanted) {
    const pelt_skin *skin = &f->model->skin;
    size_t size = px_mul_size(f->classes.count, f->K = wanted ? wanted : skin->influence_count);
    f->bones = PX_NEW(f->arena, uint16_t, size);
    f->weights = PX_NEW(f->arena, float, size);
    f->new_bones = PX_NEW(f->arena, uint16_t, size);
    f->new_weights = PX_NEW(f->arena, float, size);
    f->movable = PX_NEW(f->arena, bool, f->classes.count);
    if (!f->bones || !f->weights || !f->new_bones || !f->new_weights || !f->movable)
        return PELT_ERROR_MEMORY;
    for (size_t c = 0; c < f->classes.count; c++) {
        size_t from = (size_t)pelt_class_vertex(&f->classes, c) * skin->influence_count;
        for (size_t k = 0; k < f->K && k < skin->influence_count; k++) {
            f->bones[c * f->K + k] = skin->bones[from + k];
            f->weights[c * f->K + k] = skin->weights[from + k];
        }
    }
    return PELT_OK;
}

/* RMS distance of the examples from the skin, object units. */
static double distance(const prefer *f) {
    double sum = 0;
    for (uint32_t c = 0; c < f->classes.count; c++)
        for (uint32_t e = 0; e < f->example_count; e++) {
            const float *target = f->examples[e].positions + 3 * (size_t)pelt_class_vertex(&f->classes, c);
            double off[3] = {-(double)target[0], -(double)target[1], -(double)target[2]};
            for (size_t k = c * (size_t)f->K; k < (c + (size_t)1) * f->K; k++) {
                float moved[3];
                px_affine_point(&f->palettes[(size_t)e * f->model->skin.bone_count + f->bones[k]],
                                f->rests + 3 * (size_t)c, moved);
                for (int r = 0; r < 3; r++)
                    off[r] += (double)f->weights[k] * (double)moved[r];
            }
            sum += px_dot3d(off, off);
        }
    return sqrt(sum / ((double)f->classes.count * f->example_count));
}

static void swap_rounds(prefer *f) {
    uint16_t *bones = f->bones;
    float *weights = f->weights;
    f->bones = f->new_bones, f->weights = f->new_weights;
    f->new_bones = bones, f->new_weights = weights;
}

/* Diagonal of the box around the first example. */
static double example_size(const prefer *f) {
    float low[3], high[3];
    return px_box(f->examples[0].positions, f->model->mesh.vertex_count, low, high);
}

/* Writes the weights of the classes to a new skin. */
static pelt_result write_skin(const prefer *f, pelt_bind_prefer_report *report) {
    pelt_model *model = f->model;
    size_t K = f->K, N = model->mesh.vertex_count;
    pelt_skin skin = model->skin;
    skin.influence_count = f->K;
    skin.bones = PX_NEW(model->memory, uint16_t, px_mul_size(N, K));
    skin.weights = PX_NEW(model->memory, float, px_mul_size(N, K));
    if (!skin.bones || !skin.weights)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < N; i++) {
        size_t from = (size_t)pelt_vertex_class(&f->classes, i) * K;
        memcpy(skin.bones + i * K, f->bones + from, K * sizeof *skin.bones);
        memcpy(skin.weights + i * K, f->weights + from, K * sizeof *skin.weights);
    }
    for (uint32_t c = 0; c < f->classes.count; c++) {
        double change = 0;
        for (size_t k = c * K; k < (c + (size_t)1) * K; k++)
            if (f->weights[k] > 0)
                change += px_fmax((double)f->weights[k] - given_weight(f, c, f->bones[k]), 0);
        report->changed_count += change > 1e-3;
        report->change_mean += 2 * change / f->classes.count;
    }
    model->skin = skin;
    model->changed |= PELT_CHANGED_SKIN;
    return PELT_OK;
}

static pelt_result run(prefer *f, const pelt_bind_prefer_desc *desc, pelt_bind_prefer_report *report) {
    pelt_model *model = f->model;
    double size = example_size(f);
    PX_TRY(pelt_model_weld(f->context, model));
    PX_TRY(px_classes_by_weights(f->arena, &model->mesh, &model->skin, &f->classes));
    PX_TRY(px_neighbours_make(f->arena, &model->mesh, &f->classes, &f->neighbours));
    PX_TRY(find_rests(f));
    PX_TRY(pose_bones(f));
    PX_TRY(take_weights(f, desc->influences));
    mark_movable(f);
    f->pull = f->example_count * desc->strength * size * desc->strength * size;
    report->vertex_count = f->classes.count;
    report->before = size > 0 ? distance(f) / size : 0;
    for (int round = 0; round < ROUNDS; round++) {
        PX_TRY(px_parallel(f->context, "preferred poses", f->classes.count, BLOCK_CLASSES, fit_block, f));
        swap_rounds(f);
    }
    report->after = size > 0 ? distance(f) / size : 0;
    return write_skin(f, report);
}

static pelt_result check(pelt_context *context, const pelt_model *model, const pelt_bind_example *examples,
                         uint32_t count, const pelt_bind_prefer_desc *desc) {
    if (model->skin.bone_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "the mesh has no skin: bind it before examples change its weights");
    if (desc->influences > PELT_MAX_INFLUENCES)
        return px_fail(context, PELT_ERROR_USAGE, "pelt_bind_prefer_desc.influences is %u, which is more than %u",
                       desc->influences, PELT_MAX_INFLUENCES);
    if (count == 0)
        return px_fail(context, PELT_ERROR_USAGE, "there are no examples of good poses");
    for (uint32_t e = 0; e < count; e++)
        for (size_t k = 0; k < 3 * (size_t)model->mesh.vertex_count; k++)
            if (!isfinite(examples[e].positions[k]))
                return px_fail(context, PELT_ERROR_INPUT, "example %s, vertex %zu: the position is not finite",
                               examples[e].name, k / 3);
    return PELT_OK;
}

pelt_result pelt_bind_prefer(pelt_context *context, pelt_model *model, const pelt_bind_example *examples,
                             uint32_t example_count, const pelt_bind_prefer_desc *desc,
                             pelt_bind_prefer_report *report) {
    pelt_bind_prefer_report own;
    report = report ? report : &own;
    *report = (pelt_bind_prefer_report){0};
    PX_TAKE_DESC(context, bind_prefer, desc, settings);
    PX_TRY(check(context, model, examples, example_count, &settings));
    px_operation operation = px_operation_begin(model);
    prefer f = {.context = context,
                .model = model,
                .arena = px_arena_create(context),
                .examples = examples,
                .example_count = example_count};
    pelt_result result = f.arena ? run(&f, &settings, report) : PELT_ERROR_MEMORY;
    px_arena_destroy(f.arena);
    if (result != PELT_OK)
        *report = (pelt_bind_prefer_report){0};
    return px_operation_end(&operation, result);
}
