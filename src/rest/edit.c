/* Edits of the rest pose, made in a given pose and mapped back by the inverse blended transforms: see pelt/edit.h. */
#include "core/math3.h"
#include "core/mesh.h"
#include "core/skin.h"
#include "numeric/numeric.h"
#include "rest/rest.h"

#include <pelt/edit.h>

/* Relative to the model's size: smaller moves are rounding (files with six digits have errors of this size). */
#define MIN_MOVE_RATIO 1e-6
/* Smaller singular values of a blended transform, relative to its largest, would amplify noise in the inverse.
 * Corrections use the same bound. */
#define MIN_SINGULAR_VALUE 0.1
/* PELT_EDIT_AUTO selects the rest pose only if its distance is below this fraction of the distance from the bind
 * pose. */
#define NEARER_RATIO 0.999

typedef struct edit {
    pelt_context *context;
    px_arena *scratch;
    pelt_model *model;
    pelt_edit_desc desc;
    uint32_t pose;                 /* the one that `palette` and `morph_weights` are of */
    const pelt_affine *palette;    /* [bone]; NULL: nothing moves the vertices */
    const float *morph_weights;    /* [morph]; NULL: no morphs */
    float *places;                 /* [vertex][3] in the pose, before the edit */
    double still;                  /* in units of the pose */
    double *moves;                 /* [vertex][3] the edit, in the pose; first NaN: not known */
    double *sums;                  /* [weld][3] moves at rest, first their sums, then their means */
    uint32_t *counts;              /* [weld] vertices whose moves are known */
    uint8_t *moved, *ill, *missed; /* [weld] flags */
    float *positions;              /* [vertex][3] the new rest pose, in the model's memory */
    pelt_edit_report report;
} edit;

/* ---- The pose --------------------------------------------------------------------------------------------- */

static pelt_result take_pose(edit *e, uint32_t pose) {
    const pelt_model *model = e->model;
    e->pose = pose;
    e->palette = NULL;
    e->morph_weights = NULL;
    if (pose == PELT_EDIT_BIND)
        return PELT_OK;
    const pelt_motion *motion = pose == PELT_EDIT_MOTION ? &model->motions[e->desc.motion] : NULL;
    pelt_transform *locals = PX_NEW(e->scratch, pelt_transform, model->skeleton.joint_count);
    pelt_affine *globals = PX_NEW(e->scratch, pelt_affine, model->skeleton.joint_count);
    pelt_affine *palette = PX_NEW(e->scratch, pelt_affine, model->skin.bone_count);
    float *weights = PX_NEW(e->scratch, float, model->morphs.morph_count);
    if (!locals || !globals || !palette || !weights)
        return PELT_ERROR_MEMORY;
    pelt_motion_sample(model, motion, e->desc.time, locals, weights);
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    pelt_skin_palette(&model->skin, globals, palette);
    e->palette = model->skin.bone_count ? palette : NULL;
    e->morph_weights = weights;
    return PELT_OK;
}

/* The blended transform of a vertex in the pose, 3×4 row-major. */
static void transform_of(const edit *e, uint32_t i, double out[12]) {
    static const double identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    if (e->palette)
        px_skin_blend(&e->model->skin, e->palette, i, out);
    else
        memcpy(out, identity, sizeof identity);
}

static void place_of(const edit *e, uint32_t i, float out[3]) {
    double m[12], rest[3];
    if (e->morph_weights)
        px_morphed_place(e->model, e->morph_weights, i, rest);
    else
        for (size_t a = 0; a < 3; a++)
            rest[a] = (double)e->model->mesh.positions[3 * (size_t)i + a];
    transform_of(e, i, m);
    for (int a = 0; a < 3; a++)
        out[a] = (float)(m[4 * a] * rest[0] + m[4 * a + 1] * rest[1] + m[4 * a + 2] * rest[2] + m[4 * a + 3]);
}

/* Sum of distances of all vertices in this pose from `positions`. */
static double distance_from(const edit *e, const float *positions) {
    double sum = 0;
    for (uint32_t i = 0; i < e->model->mesh.vertex_count; i++) {
        float place[3], off[3];
        place_of(e, i, place);
        px_sub3(positions + 3 * (size_t)i, place, off);
        sum += isnan(off[0]) ? 0 : sqrt((double)px_dot3(off, off));
    }
    return sum;
}

/* Selects the pose. PELT_EDIT_AUTO: bind or rest, whichever is nearer to `positions` [vertex][3]; NULL: bind. */
static pelt_result choose_pose(edit *e, const float *positions) {
    const pelt_mesh *mesh = &e->model->mesh;
    bool automatic = e->desc.pose == PELT_EDIT_AUTO;
    PX_TRY(take_pose(e, automatic ? PELT_EDIT_BIND : e->desc.pose));
    if (automatic && positions) {
        double bind = distance_from(e, positions);
        PX_TRY(take_pose(e, PELT_EDIT_REST));
        if (!(distance_from(e, positions) < NEARER_RATIO * bind))
            PX_TRY(take_pose(e, PELT_EDIT_BIND));
    }
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        place_of(e, i, e->places + 3 * (size_t)i);
    float low[3], high[3];
    e->still = MIN_MOVE_RATIO * px_box(e->places, mesh->vertex_count, low, high);
    e->report.pose = e->pose;
    return PELT_OK;
}

/* ---- From the pose to rest -------------------------------------------------------------------------------- */

static void sum_moves(edit *e) {
    const pelt_mesh *mesh = &e->model->mesh;
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        double *move = e->moves + 3 * (size_t)i, m[12], inverse[9];
        uint32_t w = mesh->weld.of[i];
        if (isnan(move[0]))
            continue;
        e->counts[w]++;
        if (px_length3(move) <= e->still) {
            move[0] = move[1] = move[2] = 0;
            continue;
        }
        transform_of(e, i, m);
        double linear[9] = {m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]}, rest[3];
        e->ill[w] |= !px_invert3(linear, MIN_SINGULAR_VALUE, inverse);
        for (int a = 0; a < 3; a++)
            rest[a] = inverse[3 * a] * move[0] + inverse[3 * a + 1] * move[1] + inverse[3 * a + 2] * move[2];
        for (int a = 0; a < 3; a++)
            e->sums[3 * (size_t)w + a] += rest[a];
    }
    for (size_t w = 0; w < mesh->weld.count; w++)
        for (size_t a = 3 * w; a < 3 * w + 3 && e->counts[w] > 1; a++)
            e->sums[a] /= e->counts[w];
}

static pelt_result move_vertices(edit *e) {
    const pelt_mesh *mesh = &e->model->mesh;
    memcpy(e->positions, mesh->positions, 3 * (size_t)mesh->vertex_count * sizeof *e->positions);
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        const double *rest = e->sums + 3 * (size_t)mesh->weld.of[i];
        for (size_t a = 0; a < 3; a++) {
            if (rest[a] == 0)
                continue;
            e->positions[3 * i + a] = (float)((double)mesh->positions[3 * i + a] + rest[a]);
            if (!isfinite(e->positions[3 * i + a]))
                return px_fail(e->context, PELT_ERROR_INPUT, "the edit moves vertex %zu beyond all numbers", i);
        }
    }
    return PELT_OK;
}

/* Measures the distance, in the pose, between the edited and the reached positions. A vertex misses its position when
 * the vertices of its seam were edited differently, or when its transform is ill-conditioned. */
static void measure_misses(edit *e) {
    const pelt_mesh *mesh = &e->model->mesh;
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        const double *move = e->moves + 3 * (size_t)i, *rest = e->sums + 3 * (size_t)mesh->weld.of[i];
        double m[12], miss[3];
        if (isnan(move[0]) || (px_length3(move) == 0 && px_length3(rest) == 0))
            continue;
        transform_of(e, i, m);
        for (int a = 0; a < 3; a++)
            miss[a] = m[4 * a] * rest[0] + m[4 * a + 1] * rest[1] + m[4 * a + 2] * rest[2] - move[a];
        double missed = px_length3(miss);
        e->report.missed_max = px_fmax(e->report.missed_max, missed);
        if (missed > e->still)
            e->missed[mesh->weld.of[i]] = 1;
    }
}

static void fill_report(edit *e) {
    const pelt_mesh *mesh = &e->model->mesh;
    pelt_edit_report *r = &e->report;
    r->vertex_count = mesh->weld.count;
    for (size_t w = 0; w < mesh->weld.count; w++) {
        double distance = px_length3(e->sums + 3 * w);
        e->moved[w] = distance > 0;
        r->moved_count += e->moved[w];
        r->distance_mean += distance;
        r->distance_max = px_fmax(r->distance_max, distance);
        bool ill = e->ill[w] && e->missed[w]; /* a reflection is inverted correctly, so it does not miss */
        r->ill_conditioned += ill;
        r->torn_count += e->missed[w] && !ill;
    }
    r->distance_mean /= r->moved_count ? r->moved_count : 1;
    for (uint32_t i = mesh->vertex_count; i-- > 0;)
        if (r->moved_count && px_length3(e->sums + 3 * (size_t)mesh->weld.of[i]) == r->distance_max)
            r->max_vertex = i;
}

/* ---- Into the model --------------------------------------------------------------------------------------- */

/* [weld] flags of the vertices of triangles with a corner that moved. */
static const uint8_t *find_touched(edit *e) {
    const pelt_mesh *mesh = &e->model->mesh;
    uint8_t *touched = PX_NEW(e->scratch, uint8_t, mesh->weld.count);
    for (size_t t = 0; touched && t < mesh->triangle_count; t++) {
        const uint32_t *corners = mesh->triangles + 3 * t;
        if (e->moved[mesh->weld.of[corners[0]]] || e->moved[mesh->weld.of[corners[1]]] ||
            e->moved[mesh->weld.of[corners[2]]])
            for (int c = 0; c < 3; c++)
                touched[mesh->weld.of[corners[c]]] = 1;
    }
    for (size_t w = 0; touched && w < mesh->weld.count; w++)
        e->report.turned_count += touched[w];
    return touched;
}

static pelt_result apply(edit *e) {
    pelt_mesh *mesh = &e->model->mesh;
    if (e->report.moved_count == 0)
        return PELT_OK;
    const uint8_t *touched = find_touched(e);
    if (!touched)
        return PELT_ERROR_MEMORY;
    if (mesh->normals) {
        float *normals = PX_NEW(e->model->memory, float, 3 * (size_t)mesh->vertex_count);
        float *tangents = mesh->tangents ? PX_NEW(e->model->memory, float, 4 * (size_t)mesh->vertex_count) : NULL;
        if (!normals || (mesh->tangents && !tangents))
            return PELT_ERROR_MEMORY;
        PX_TRY(px_edit_normals(e->scratch, mesh, e->positions, touched, normals, tangents));
        mesh->normals = normals;
        mesh->tangents = tangents;
    }
    mesh->positions = e->positions;
    e->model->changed |= PELT_CHANGED_POSITIONS;
    return PELT_OK;
}

static pelt_result carry(edit *e) {
    sum_moves(e);
    PX_TRY(move_vertices(e));
    measure_misses(e);
    fill_report(e);
    return apply(e);
}

/* ---- Entry points ------------------------------------------------------------------------------------------ */

#define FIELD(name) PELT_FIELD(pelt_edit_desc, name)
static const pelt_option options[] = {
    {"pose", 0, PELT_OPTION_CHOICE, FIELD(pose), "auto", 0, 0, "auto|bind|rest|motion", NULL,
     "pose that the edit was made in"},
    {"motion", 0, PELT_OPTION_UINT, FIELD(motion), "0", 0, 0, NULL, "N", "pose motion: which one"},
    {"time", 0, PELT_OPTION_REAL, FIELD(time), "0", 0, 0, NULL, "SECONDS", "pose motion: when"},
};

PX_DESC(edit, options)

static pelt_result check(const edit *e) {
    const pelt_model *model = e->model;
    if (e->desc.pose == PELT_EDIT_MOTION && e->desc.motion >= model->motion_count)
        return px_fail(e->context, PELT_ERROR_USAGE, "there is no motion %u; the model has %u", e->desc.motion,
                       model->motion_count);
    if (model->mesh.vertex_count == 0 || (model->skin.bone_count == 0 && model->morphs.morph_count == 0))
        return px_fail(e->context, PELT_ERROR_INPUT,
                       "%s: has neither skin nor morphs to carry an edit; bind or decompose it first", model->path);
    return PELT_OK;
}

static pelt_result begin(edit *e) {
    PX_TRY(check(e));
    PX_TRY(pelt_model_weld(e->context, e->model));
    size_t vertices = e->model->mesh.vertex_count, welds = e->model->mesh.weld.count;
    e->places = PX_NEW(e->scratch, float, 3 * vertices);
    e->moves = PX_NEW(e->scratch, double, 3 * vertices);
    e->sums = PX_NEW(e->scratch, double, 3 * welds);
    e->counts = PX_NEW(e->scratch, uint32_t, welds);
    e->moved = PX_NEW(e->scratch, uint8_t, welds);
    e->ill = PX_NEW(e->scratch, uint8_t, welds);
    e->missed = PX_NEW(e->scratch, uint8_t, welds);
    e->positions = PX_NEW(e->model->memory, float, 3 * vertices);
    bool ready = e->places && e->moves && e->sums && e->counts && e->moved && e->ill && e->missed && e->positions;
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Applies the moves from `before` [vertex][3] (NULL: the model's positions in the pose) to `positions` [vertex][3]. */
static pelt_result move_from(edit *e, const float *before, const float *positions) {
    PX_TRY(begin(e));
    PX_TRY(choose_pose(e, before ? before : positions));
    before = before ? before : e->places;
    for (size_t n = 0; n < 3 * (size_t)e->model->mesh.vertex_count; n++)
        e->moves[n] = (double)positions[n] - (double)before[n];
    return carry(e);
}

static pelt_result by_positions(edit *e, const void *positions) {
    return move_from(e, NULL, positions);
}

/* An edited mesh and the mesh before the edit, which may be NULL. */
typedef struct mesh_pair {
    const pelt_model *edited, *original;
} mesh_pair;

/* Positions [vertex][3] of the model's vertices in an edited mesh; NaN for vertices without a match. */
static pelt_result take_positions(edit *e, const pelt_model *edited, float *positions) {
    uint32_t count = e->model->mesh.vertex_count;
    uint32_t *vertices = PX_NEW(e->scratch, uint32_t, count);
    if (!vertices)
        return PELT_ERROR_MEMORY;
    for (size_t c = 0; c < 3 * (size_t)edited->mesh.vertex_count; c++)
        if (!isfinite(edited->mesh.positions[c]))
            return px_fail(e->context, PELT_ERROR_INPUT, "%s: vertex %zu: its position is not finite", edited->path,
                           c / 3);
    PX_TRY(pelt_model_match(e->context, e->model, edited, vertices));
    for (size_t i = 0; i < count; i++)
        for (size_t a = 0; a < 3; a++)
            positions[3 * i + a] = vertices[i] == PELT_NONE ? NAN : edited->mesh.positions[3 * (size_t)vertices[i] + a];
    return PELT_OK;
}

static pelt_result by_mesh(edit *e, const void *given) {
    const mesh_pair *pair = given;
    size_t floats = 3 * (size_t)e->model->mesh.vertex_count;
    float *after = PX_NEW(e->scratch, float, floats), *before = PX_NEW(e->scratch, float, floats);
    if (!after || !before)
        return PELT_ERROR_MEMORY;
    PX_TRY(take_positions(e, pair->edited, after));
    if (pair->original)
        PX_TRY(take_positions(e, pair->original, before));
    return move_from(e, pair->original ? before : NULL, after);
}

static pelt_result by_distances(edit *e, const void *given) {
    const float *distances = given;
    PX_TRY(begin(e));
    PX_TRY(choose_pose(e, NULL));
    const pelt_mesh *mesh = &e->model->mesh;
    float *normals = PX_NEW(e->scratch, float, 3 * (size_t)mesh->vertex_count);
    double *means = PX_NEW(e->scratch, double, mesh->weld.count);
    uint32_t *counts = PX_NEW(e->scratch, uint32_t, mesh->weld.count);
    if (!normals || !means || !counts)
        return PELT_ERROR_MEMORY;
    PX_TRY(pelt_mesh_normals(e->context, mesh, e->places, normals));
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        if (!isnan(distances[i])) {
            means[mesh->weld.of[i]] += (double)distances[i];
            counts[mesh->weld.of[i]]++;
        }
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        uint32_t w = mesh->weld.of[i];
        for (size_t a = 0; a < 3; a++)
            e->moves[3 * i + a] = counts[w] ? means[w] / counts[w] * (double)normals[3 * i + a] : 0;
    }
    return carry(e);
}

/* Runs one of the three kinds of edit with a scratch arena. */
static pelt_result run(pelt_context *context, pelt_model *model, const pelt_edit_desc *desc, pelt_edit_report *report,
                       pelt_result (*way)(edit *e, const void *given), const void *given) {
    if (report)
        *report = (pelt_edit_report){0};
    PX_TAKE_DESC(context, edit, desc, settings);
    edit e = {.context = context, .model = model, .desc = settings};
    e.scratch = px_arena_create(context);
    px_operation operation = px_operation_begin(model);
    pelt_result result = px_operation_end(&operation, e.scratch ? way(&e, given) : PELT_ERROR_MEMORY);
    px_arena_destroy(e.scratch);
    if (report && result == PELT_OK)
        *report = e.report;
    return result;
}

pelt_result pelt_edit_mesh(pelt_context *context, pelt_model *model, const pelt_model *edited,
                           const pelt_model *original, const pelt_edit_desc *desc, pelt_edit_report *report) {
    return run(context, model, desc, report, by_mesh, &(mesh_pair){edited, original});
}

pelt_result pelt_edit_positions(pelt_context *context, pelt_model *model, const float *positions,
                                const pelt_edit_desc *desc, pelt_edit_report *report) {
    return run(context, model, desc, report, by_positions, positions);
}

pelt_result pelt_edit_displace(pelt_context *context, pelt_model *model, const float *distances,
                               const pelt_edit_desc *desc, pelt_edit_report *report) {
    return run(context, model, desc, report, by_distances, distances);
}
