/* Delta mush (Mancewicz and others 2014): x' = s' + R S (x − s), with
 *
 *   s   rest position, smoothed by Laplacian steps with uniform weights
 *   s'  skinned position, smoothed by the same steps
 *   R   rotation of the surface around the vertex from s to s'
 *   S   blended stretch of the bones: where bones only turn, the identity
 *
 * The paper takes R from a normal and one edge at each vertex. Here R is the rotation nearest to Σ e' (S e)ᵀ over all edges e of the
 * vertex in s and e' in s', which no single edge can turn. A small share of the blended matrix keeps it defined where smoothing
 * leaves edges without length. With one bone x' is exactly the skinned position, whatever its scale or shear.
 */
#include "run/mush.h"
#include "core/math3.h"
#include "core/matrix3.h"
#include "core/skin.h"
#include "run/skin.h"

/* Share of the blended matrix, relative to that of the edges. */
#define BLEND_SHARE 0.01

#define FIELD(name) PELT_FIELD(pelt_delta_mush_desc, name)
static const pelt_option options[] = {
    {"iterations", 0, PELT_OPTION_UINT, FIELD(iterations), "10", 0, 1000, NULL, "N",
     "delta mush: smoothing steps; more reach farther over the surface"},
    {"strength", 0, PELT_OPTION_REAL, FIELD(strength), "0.5", 0, 1, NULL, "X",
     "delta mush: how far a step moves a vertex to the mean of its neighbours, 0 to 1"},
};
PX_DESC(delta_mush, options)

/* ---- Smoothing -------------------------------------------------------------------------------------------- */

/* Smooths `positions` [class][3]; `spare` [class][3]: scratch. */
static void smooth(const px_mush *mush, double *positions, double *spare) {
    size_t count = mush->classes.count;
    double *from = positions, *to = spare;
    for (uint32_t step = 0; step < mush->desc.iterations; step++) {
        for (size_t c = 0; c < count; c++) {
            size_t first = mush->ring.offsets[c], end = mush->ring.offsets[c + 1];
            double sum[3] = {0, 0, 0};
            for (size_t n = first; n < end; n++)
                for (int a = 0; a < 3; a++)
                    sum[a] += from[3 * (size_t)mush->ring.items[n] + a];
            for (int a = 0; a < 3; a++) {
                double own = from[3 * c + a], mean = end > first ? sum[a] / (double)(end - first) : own;
                to[3 * c + a] = own + mush->desc.strength * (mean - own);
            }
        }
        double *swap = from;
        from = to;
        to = swap;
    }
    if (from != positions)
        memcpy(positions, from, 3 * count * sizeof *positions);
}

static void gather(const px_mush *mush, const float *positions, double *out) {
    for (size_t e = 0; e < 3 * (size_t)mush->classes.count; e++)
        out[e] = (double)positions[3 * (size_t)pelt_class_vertex(&mush->classes, (uint32_t)(e / 3)) + e % 3];
}

/* Smoothed positions and the details that smoothing took, of a mesh before skinning. */
static void take_details(const px_mush *mush, const float *positions, double *smoothed, double *deltas) {
    gather(mush, positions, smoothed);
    smooth(mush, smoothed, deltas);
    gather(mush, positions, deltas);
    for (size_t e = 0; e < 3 * (size_t)mush->classes.count; e++)
        deltas[e] -= smoothed[e];
}

pelt_result px_mush_make(pelt_context *context, px_arena *arena, const pelt_model *model,
                         const pelt_delta_mush_desc *desc, px_mush *out) {
    *out = (px_mush){.model = model, .desc = *desc};
    if (model->skin.bone_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "the mesh has no skin: delta mush smooths what a skin deforms");
    PX_TRY(px_classes_by_joints(arena, &model->mesh, &model->skin, &out->classes));
    PX_TRY(px_neighbours_make(arena, &model->mesh, &out->classes, &out->ring));
    size_t size = 3 * (size_t)out->classes.count;
    out->smooth = PX_NEW(arena, double, size);
    out->deltas = PX_NEW(arena, double, size);
    if (!out->smooth || !out->deltas)
        return PELT_ERROR_MEMORY;
    take_details(out, model->mesh.positions, out->smooth, out->deltas);
    return PELT_OK;
}

/* ---- One pose --------------------------------------------------------------------------------------------- */

static void apply(const double m[9], const double v[3], double out[3]) {
    for (int r = 0; r < 3; r++)
        out[r] = m[3 * r] * v[0] + m[3 * r + 1] * v[1] + m[3 * r + 2] * v[2];
}

/* Adds share · a bᵀ. */
static void add_outer(const double a[3], const double b[3], double share, double out[9]) {
    for (int e = 0; e < 9; e++)
        out[e] += share * a[e / 3] * b[e % 3];
}

/* The blend of `matrices` [bone] at a class, without translation. */
static void blend(const px_mush *mush, const pelt_affine *matrices, size_t c, double out[9]) {
    double m[12];
    px_skin_blend(&mush->model->skin, matrices, pelt_class_vertex(&mush->classes, (uint32_t)c), m);
    for (int e = 0; e < 9; e++)
        out[e] = m[e + e / 3];
}

/* R of a class: `rest` and `posed` [class][3] are s and s'. */
static void find_rotation(const px_mush *mush, size_t c, const double *rest, const double *posed,
                          const pelt_affine *palette, const double stretch[9], double out[9]) {
    double sum[9] = {0}, blended[9], lengths = 0, size = 0;
    for (size_t n = mush->ring.offsets[c]; n < mush->ring.offsets[c + 1]; n++) {
        size_t other = mush->ring.items[n];
        double edge[3], stretched[3], moved[3];
        for (int a = 0; a < 3; a++) {
            edge[a] = rest[3 * other + a] - rest[3 * c + a];
            moved[a] = posed[3 * other + a] - posed[3 * c + a];
        }
        apply(stretch, edge, stretched);
        add_outer(moved, stretched, 1, sum);
        lengths += px_dot3d(stretched, stretched);
    }
    for (int e = 0; e < 9; e++) {
        sum[e] = lengths > 0 ? sum[e] / lengths : 0;
        size += stretch[e] * stretch[e];
    }
    blend(mush, palette, c, blended);
    for (int k = 0; k < 3 && size > 0; k++) /* blended · stretchᵀ */
        add_outer((const double[]){blended[k], blended[3 + k], blended[6 + k]},
                  (const double[]){stretch[k], stretch[3 + k], stretch[6 + k]}, BLEND_SHARE / size, sum);
    px_polar3(sum, out, NULL);
}

/* Arrays of one pose. */
typedef struct mush_scratch {
    double *posed, *spare, *smooth, *deltas; /* [class][3] */
    float *morphed;                          /* [vertex][3] */
    pelt_dual_quaternion *rigid;             /* [bone] */
    pelt_affine *stretches;                  /* [bone] */
} mush_scratch;

static pelt_result deform(px_arena *arena, const px_mush *mush, const pelt_affine *palette, const float *weights,
                          const float *skinned, float *out) {
    const pelt_model *model = mush->model;
    size_t size = 3 * (size_t)mush->classes.count, bones = model->skin.bone_count;
    mush_scratch s = {.posed = PX_NEW(arena, double, size),
                      .spare = PX_NEW(arena, double, size),
                      .smooth = mush->smooth,
                      .deltas = mush->deltas,
                      .rigid = PX_NEW(arena, pelt_dual_quaternion, bones),
                      .stretches = PX_NEW(arena, pelt_affine, bones)};
    if (!s.posed || !s.spare || !s.rigid || !s.stretches)
        return PELT_ERROR_MEMORY;
    if (weights) {
        s.morphed = PX_NEW(arena, float, 3 * (size_t)model->mesh.vertex_count);
        s.smooth = PX_NEW(arena, double, size);
        s.deltas = PX_NEW(arena, double, size);
        if (!s.morphed || !s.smooth || !s.deltas)
            return PELT_ERROR_MEMORY;
        pelt_morph_run(&model->mesh, &model->morphs, weights, s.morphed, NULL, NULL);
        take_details(mush, s.morphed, s.smooth, s.deltas);
    }
    gather(mush, skinned, s.posed);
    smooth(mush, s.posed, s.spare);
    pelt_dual_quaternions(palette, (uint32_t)bones, s.rigid);
    bool stretched = pelt_stretches(palette, s.rigid, (uint32_t)bones, s.stretches);
    for (size_t c = 0; c < mush->classes.count; c++) {
        double stretch[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, rotation[9], detail[3], moved[3];
        if (stretched)
            blend(mush, s.stretches, c, stretch);
        find_rotation(mush, c, s.smooth, s.posed, palette, stretch, rotation);
        apply(stretch, s.deltas + 3 * c, detail);
        apply(rotation, detail, moved);
        for (int a = 0; a < 3; a++)
            out[3 * c + a] = (float)(s.posed[3 * c + a] + moved[a]);
    }
    return PELT_OK;
}

pelt_result px_mush_pose(pelt_context *context, const px_mush *mush, const pelt_affine *palette, const float *weights,
                         const float *skinned, float *out) {
    px_arena *arena = px_arena_create(context);
    pelt_result result = arena ? deform(arena, mush, palette, weights, skinned, out) : PELT_ERROR_MEMORY;
    px_arena_destroy(arena);
    return result;
}

/* ---- Clips ------------------------------------------------------------------------------------------------ */

typedef struct mush_task {
    pelt_context *context;
    const px_mush *mush;
    const pelt_motion *motion; /* NULL: rest pose */
    const pelt_clip *clip;
    float *positions; /* [frame][point][3] */
} mush_task;

static pelt_result deform_frame(void *user, size_t frame, size_t count, size_t block) {
    (void)count, (void)block;
    const mush_task *task = user;
    const px_mush *mush = task->mush;
    const pelt_mesh *mesh = &mush->model->mesh;
    px_pose pose;
    PX_TRY(
        px_pose_make(task->context, mush->model, task->motion, task->clip->times[frame], PELT_SKINNING_LINEAR, &pose));
    float *skinned = PX_NEW(pose.scratch, float, 3 * (size_t)mesh->vertex_count);
    float *moved = PX_NEW(pose.scratch, float, 3 * (size_t)mush->classes.count);
    pelt_result result = skinned && moved ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        px_pose_range(&pose, 0, mesh->vertex_count, skinned, NULL);
        result = px_mush_pose(task->context, mush, pose.palette, pose.weights, skinned, moved);
    }
    float *out = task->positions + 3 * (size_t)mesh->points.count * frame;
    for (uint32_t p = 0; result == PELT_OK && p < mesh->points.count; p++)
        memcpy(out + 3 * (size_t)p,
               moved + 3 * (size_t)pelt_vertex_class(&mush->classes, pelt_class_vertex(&mesh->points, p)),
               3 * sizeof *out);
    px_pose_free(&pose);
    return result;
}

static pelt_result make_clip(pelt_context *context, px_arena *scratch, pelt_model *model, const pelt_motion *motion,
                             double fps, const pelt_delta_mush_desc *desc, pelt_clip *clip) {
    px_mush mush;
    PX_TRY(px_mush_make(context, scratch, model, desc, &mush));
    PX_TRY(pelt_clip_from_motion(context, model, motion, fps, PELT_SKINNING_LINEAR, clip));
    size_t frame = 3 * (size_t)clip->point_count;
    mush_task task = {context, &mush, motion, clip,
                      PX_NEW(model->memory, float, px_mul_size(frame, clip->frame_count))};
    if (!task.positions)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_parallel(context, "delta mush", clip->frame_count, 1, deform_frame, &task));
    clip->source = (pelt_clip_source){0};
    clip->positions = task.positions;
    return PELT_OK;
}

pelt_result pelt_clip_delta_mush(pelt_context *context, pelt_model *model, const pelt_motion *motion, double fps,
                                 const pelt_delta_mush_desc *desc, pelt_clip *clip) {
    *clip = (pelt_clip){.name = ""};
    PX_TAKE_DESC(context, delta_mush, desc, settings);
    PX_TRY(pelt_model_weld(context, model)); /* stays in the model */
    px_result_begin(model);
    px_arena *scratch = px_arena_create(context);
    pelt_result result = scratch ? make_clip(context, scratch, model, motion, fps, &settings, clip) : PELT_ERROR_MEMORY;
    px_arena_destroy(scratch);
    if (result != PELT_OK)
        *clip = (pelt_clip){.name = ""};
    return px_result_end(model, result);
}
