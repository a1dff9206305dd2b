/* Converts examples to displacements in the rest pose: u_i = (Σ w T)⁻¹ v_i − v0_i (Kry, James, Pai 2002, §2.2). */
#include "eigenskin/eigenskin.h"

#include "core/mesh.h"

/* A blended transform with a smaller ratio of smallest to largest singular value is ill-conditioned: displacements
 * at rest would be more than ten times those in the pose. */
#define MIN_SINGULAR_RATIO 0.1
/* Accepted deviation of an example in the rest pose, as a fraction of the size: text formats store few digits. */
#define REST_TOLERANCE 1e-4
#define POSE_BLOCK     1u

/* ---- Classes ------------------------------------------------------------------------------------------------ */

static pelt_result read_example(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                                float *out) {
    (void)context;
    const px_eigenskin *e = user;
    memcpy(out, e->examples[frame].positions + 3 * (size_t)first, 3 * sizeof *out * count);
    return PELT_OK;
}

/* Finds classes: vertices that coincide in every example and have equal weights. They are welded through a clip of the
 * examples. */
static pelt_result find_classes(px_eigenskin *e) {
    e->mesh = e->model->mesh;
    pelt_clip clip = {.name = "examples",
                      .frame_count = e->example_count,
                      .point_count = e->mesh.vertex_count,
                      .source = {.read = read_example, .user = e}};
    e->mesh.points = (pelt_vertex_classes){.count = e->mesh.vertex_count};
    PX_TRY(px_weld(e->scratch, &e->mesh, &e->model->morphs, &clip, 1, &e->mesh.weld));
    PX_TRY(px_classes_by_weights(e->scratch, &e->mesh, &e->model->skin, &e->classes));
    if (!(e->counts = PX_NEW(e->scratch, double, e->classes.count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < e->mesh.vertex_count; i++)
        e->counts[pelt_vertex_class(&e->classes, i)]++;
    return PELT_OK;
}

/* ---- Displacements ---------------------------------------------------------------------------------------- */

typedef struct pose_work {
    px_eigenskin *e;
    float *morph_weights; /* [example][morph] */
    uint8_t *ill;         /* [pose][class] 1: ill-conditioned */
    float *missed;        /* [pose][class] largest error of the skin, world space */
} pose_work;

static pelt_result make_poses(px_eigenskin *e, float *morph_weights) {
    const pelt_model *model = e->model;
    size_t bones = model->skin.bone_count, morphs = model->morphs.morph_count;
    size_t joints = model->skeleton.joint_count;
    e->globals = PX_NEW(e->scratch, pelt_affine, px_mul_size(e->example_count, joints));
    e->palettes = PX_NEW(e->scratch, pelt_affine, px_mul_size(e->example_count, bones));
    if (!e->globals || !e->palettes)
        return PELT_ERROR_MEMORY;
    for (size_t x = 0; x < e->example_count; x++) {
        pelt_motion_sample(model, NULL, 0, NULL, morph_weights + x * morphs);
        pelt_pose_weights(model, e->examples[x].locals, morph_weights + x * morphs);
        pelt_skeleton_globals(&model->skeleton, e->examples[x].locals, e->globals + x * joints);
        pelt_skin_palette(&model->skin, e->globals + x * joints, e->palettes + x * bones);
    }
    return PELT_OK;
}

/* Computes the displacement in the rest pose, and in *missed the error of the skin. Returns true if the transform is
 * well-conditioned. */
static bool pull(const pose_work *w, size_t class, size_t example, double out[3], double *missed) {
    const px_eigenskin *e = w->e;
    const pelt_model *model = e->model;
    uint32_t vertex = pelt_class_vertex(&e->classes, class);
    const float *wanted = e->examples[example].positions + 3 * (size_t)vertex;
    double rest[3], m[12], linear[9], inverse[9], missing[3];
    px_morphed_place(model, w->morph_weights + example * model->morphs.morph_count, vertex, rest);
    px_skin_blend(&model->skin, e->palettes + example * model->skin.bone_count, vertex, m);
    for (int a = 0; a < 3; a++)
        missing[a] =
            (double)wanted[a] - (m[4 * a] * rest[0] + m[4 * a + 1] * rest[1] + m[4 * a + 2] * rest[2] + m[4 * a + 3]);
    if (e->refined) {
        double turned[3];
        px_eigenskin_turned(e, (uint32_t)example, vertex, rest, turned);
        for (int a = 0; a < 3; a++)
            missing[a] -= turned[a];
    }
    for (int c = 0; c < 9; c++)
        linear[c] = m[c + c / 3];
    *missed = px_length3(missing);
    bool well = px_invert3(linear, MIN_SINGULAR_RATIO, inverse);
    for (int a = 0; a < 3; a++)
        out[a] = inverse[3 * a] * missing[0] + inverse[3 * a + 1] * missing[1] + inverse[3 * a + 2] * missing[2];
    return well;
}

static pelt_result pull_example(const pose_work *w, size_t class, uint32_t example, double out[3], double *missed,
                                bool *well) {
    const px_eigenskin *e = w->e;
    *well = pull(w, class, example, out, missed);
    if (isfinite(out[0]) && isfinite(out[1]) && isfinite(out[2]))
        return PELT_OK;
    return px_fail(e->context, PELT_ERROR_INPUT, "example '%s', vertex %u: its distance from the skin is not finite",
                   e->examples[example].name, pelt_class_vertex(&e->classes, class));
}

/* Scales from mesh to world space: meshes of one rig may use different units of length, which their bind matrices
 * convert. */
static pelt_result find_scales(px_eigenskin *e) {
    const pelt_model *model = e->model;
    pelt_affine *globals = PX_NEW(e->scratch, pelt_affine, model->skeleton.joint_count);
    pelt_affine *palette = PX_NEW(e->scratch, pelt_affine, model->skin.bone_count);
    e->scales = PX_NEW(e->scratch, double, e->classes.count);
    if (!globals || !palette || !e->scales)
        return PELT_ERROR_MEMORY;
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, globals);
    pelt_skin_palette(&model->skin, globals, palette);
    for (size_t u = 0; u < e->classes.count; u++) {
        double m[12], sum = 0;
        px_skin_blend(&model->skin, palette, pelt_class_vertex(&e->classes, u), m);
        for (int c = 0; c < 9; c++)
            sum += m[c + c / 3] * m[c + c / 3];
        e->scales[u] = sum > 0 && isfinite(sum) ? sqrt(sum / 3) : 1;
    }
    return PELT_OK;
}

/* Displacements of a pose: the mean over its examples. */
static pelt_result pull_pose(const pose_work *w, uint32_t pose) {
    px_eigenskin *e = w->e;
    for (uint32_t x = 0; x < e->example_count; x++)
        for (size_t u = 0; e->example_poses[x] == pose && u < e->classes.count; u++) {
            double out[3], missed;
            bool well;
            PX_TRY(pull_example(w, u, x, out, &missed, &well));
            float *most = &w->missed[pose * e->classes.count + u];
            *most = px_fmaxf(*most, (float)missed);
            w->ill[pose * e->classes.count + u] |= !well;
            for (size_t a = 0; a < 3; a++)
                *px_matrix_at(px_class_rows(e, e->displacements, u), a, pose) +=
                    e->scales[u] * out[a] / e->pose_examples[pose];
        }
    return PELT_OK;
}

static pelt_result pose_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    for (size_t p = first; p < first + count; p++)
        PX_TRY(pull_pose(user, (uint32_t)p));
    return PELT_OK;
}

/* Counts the examples in the rest pose with another shape; with desc.exact such an example is an error. */
static pelt_result check_rest(const pose_work *w) {
    px_eigenskin *e = w->e;
    for (uint32_t x = 0; x < e->example_count; x++) {
        double most = 0;
        for (size_t u = 0; e->example_poses[x] == PELT_NONE && u < e->classes.count; u++) {
            double out[3], missed;
            bool well;
            PX_TRY(pull_example(w, u, x, out, &missed, &well));
            most = px_fmax(most, px_length3(out));
        }
        if (!(most > REST_TOLERANCE * e->size))
            continue;
        e->odd_count++;
        if (e->desc.exact)
            return px_fail(e->context, PELT_ERROR_INPUT,
                           "example '%s' has the rest pose but not its shape; leave it out, or do without exact",
                           e->examples[x].name);
    }
    return PELT_OK;
}

static void sum_up(px_eigenskin *e, const pose_work *w) {
    for (size_t u = 0; u < e->classes.count; u++) {
        bool any = false;
        for (size_t p = 0; p < e->pose_count; p++)
            any |= w->ill[p * e->classes.count + u];
        for (size_t p = 0; p < e->pose_count; p++)
            e->missed[u] = px_fmax(e->missed[u], (double)w->missed[p * e->classes.count + u]);
        e->ill_count += any;
    }
}

pelt_result px_eigenskin_gather(px_eigenskin *e) {
    float low[3], high[3];
    e->width = e->desc.normals ? 6 : 3;
    e->ill_count = e->odd_count = 0;
    e->size = px_box(e->model->mesh.positions, e->model->mesh.vertex_count, low, high);
    PX_TRY(find_classes(e));
    PX_TRY(find_scales(e));
    size_t rows = px_mul_size(e->width, e->pose_count), classes = e->classes.count;
    pose_work w = {.e = e,
                   .morph_weights =
                       PX_NEW(e->scratch, float, px_mul_size(e->example_count, e->model->morphs.morph_count)),
                   .ill = PX_NEW(e->scratch, uint8_t, px_mul_size(e->pose_count, classes)),
                   .missed = PX_NEW(e->scratch, float, px_mul_size(e->pose_count, classes))};
    e->missed = PX_NEW(e->scratch, double, classes);
    e->displacements = PX_NEW(e->scratch, double, px_mul_size(classes, rows));
    e->targets = e->displacements;
    e->residuals = PX_NEW(e->scratch, double, px_mul_size(classes, rows));
    e->solutions = PX_NEW(e->scratch, double, px_mul_size(classes, rows));
    if (!w.morph_weights || !w.ill || !w.missed || !e->missed || !e->displacements || !e->residuals || !e->solutions)
        return PELT_ERROR_MEMORY;
    PX_TRY(make_poses(e, w.morph_weights));
    if (e->refined)
        PX_TRY(px_eigenskin_refine(e, w.morph_weights));
    PX_TRY(px_parallel(e->context, "examples", e->pose_count, POSE_BLOCK, pose_block, &w));
    sum_up(e, &w);
    PX_TRY(check_rest(&w));
    return e->desc.normals ? px_eigenskin_pull_normals(e) : PELT_OK;
}
