/* EigenSkin (Kry, James, Pai 2002): options and pipeline; see eigenskin.h. Examples → displacements at rest →
 * driving joints → kernels → supports → modes. */
#include "eigenskin/eigenskin.h"

#define CENTRES_MAX 1024
/* Above MIN_LEFT_OUT_ERROR, shapes are tested for rotations relative to their poses. The rotations are accepted if
 * correcting them lowers the leave-one-out error to MAX_ERROR_RATIO of it, and the squared error against the
 * uncorrected shapes stays below MAX_MISS_RATIO of its old value. */
#define MIN_LEFT_OUT_ERROR   0.2
#define MAX_ERROR_RATIO      0.7
#define MAX_MISS_RATIO       1.25
#define MAX_PAIR_RATIO       0.98 /* pairs of joints are kept if they lower the leave-one-out error to this */
#define CLEAR_ERROR_RATIO    0.33 /* below this ratio MAX_CLEAR_MISS_RATIO applies */
#define MAX_CLEAR_MISS_RATIO 2.0

#define FIELD(name) PELT_FIELD(pelt_eigenskin_desc, name)
static const pelt_option options[] = {
    {"support", 0, PELT_OPTION_REAL, FIELD(support), "0.04", 0, 1, NULL, "X",
     "a joint's vertices are those that it displaces by more than this part of its largest displacement"},
    {"modes", 0, PELT_OPTION_UINT, FIELD(modes), "5", 0, PELT_EIGENSKIN_MODES_MAX, NULL, "N",
     "morph targets of each joint, at most"},
    {"error", 0, PELT_OPTION_REAL, FIELD(error), "0", 0, 1e9, NULL, "E",
     "as few modes as reach this relative displacement error"},
    {"max-per-vertex", 0, PELT_OPTION_UINT, FIELD(max_per_vertex), "10", 0, 1000, NULL, "N",
     "displacements that a vertex takes from all joints, at most; 0: any number"},
    {"normals", 0, PELT_OPTION_FLAG, FIELD(normals), NULL, 0, 0, NULL, NULL, "correct normals too"},
    {"kernel", 0, PELT_OPTION_CHOICE, FIELD(kernel), "auto", 0, 0, "exponential|gaussian|thin-plate|auto", NULL,
     "what examples say about poses between them; auto: exponential or gaussian, by leave-one-out error"},
    {"radius", 0, PELT_OPTION_REAL, FIELD(radius), "0", 0, 1000, NULL, "R",
     "how far that reaches, radians; 0: by leave-one-out error"},
    {"split", 0, PELT_OPTION_FLAG, FIELD(split), NULL, 0, 0, NULL, NULL, "swing and twist of a joint drive apart"},
    {"regularise", 0, PELT_OPTION_REAL, FIELD(regularise), "0", 0, 1, NULL, "X",
     "noise to expect in the examples, as a part of what there is; 0: by leave-one-out error"},
    {"exact", 0, PELT_OPTION_FLAG, FIELD(exact), NULL, 0, 0, NULL, NULL,
     "meet every example: no noise, no end of supports, and as many modes as that takes"},
    {"interpolate", 0, PELT_OPTION_FLAG, FIELD(interpolate), NULL, 0, 0, NULL, NULL,
     "meet the examples as far as supports and modes allow: expect no noise, and trust every joint in full"},
    {"coupled", 0, PELT_OPTION_FLAG, FIELD(coupled), NULL, 0, 0, NULL, NULL,
     "joints that bend together with the one above also drive as pairs, where that predicts left-out poses better"},
    {"refit-weights", 0, PELT_OPTION_FLAG, FIELD(refit_weights), NULL, 0, 0, NULL, NULL,
     "fit bone weights and corrections in turn, where that predicts left-out poses better"},
    {"against", 0, PELT_OPTION_TEXT, FIELD(against), NULL, 0, 0, NULL, "JOINT",
     "what joints of a flat skeleton turn against; without this the one they share most vertices with"},
    {"centres", 0, PELT_OPTION_UINT, FIELD(centres), "64", 2, CENTRES_MAX, NULL, "N",
     "poses of a joint to keep, at most; with more, examples are met in least squares"},
};

/* The paper's method: interpolation by exp(−r/r0), supports of 4 %, 5 modes, 10 displacements per vertex. */
static const pelt_preset_value presets[] = {
    {"eigenskin2002", "kernel", "exponential"}, {"eigenskin2002", "interpolate", NULL},
    {"eigenskin2002", "support", "0.04"},       {"eigenskin2002", "modes", "5"},
    {"eigenskin2002", "max-per-vertex", "10"},
};

PX_DESC_PRESETS(eigenskin, options, presets)

static pelt_result check(const px_eigenskin *e) {
    const pelt_eigenskin_desc *d = &e->desc;
    const pelt_model *model = e->model;
    if (d->max_per_vertex && d->modes > d->max_per_vertex)
        return px_fail(e->context, PELT_ERROR_USAGE,
                       "%u modes of one joint are more than the %u displacements that a vertex may take", d->modes,
                       d->max_per_vertex);
    if (e->example_count == 0)
        return px_fail(e->context, PELT_ERROR_USAGE, "there are no examples to learn from");
    if (e->example_count > INT32_MAX)
        return px_fail(e->context, PELT_ERROR_USAGE, "there are too many examples");
    if (model->mesh.vertex_count == 0 || model->skin.bone_count == 0)
        return px_fail(e->context, PELT_ERROR_INPUT, "there is no skin in it to correct; bind or decompose it first");
    if (d->normals && !model->mesh.normals)
        return px_fail(e->context, PELT_ERROR_INPUT, "the mesh has no normals to correct");
    return PELT_OK;
}

/* Fills the report; arrays live in the model's memory. */
static pelt_result report_joints(const px_eigenskin *e, const pelt_eigenskin_joint **out) {
    pelt_eigenskin_joint *joints = PX_NEW_LASTING(e->model->memory, pelt_eigenskin_joint, e->bend_count);
    if (!joints)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < e->bend_count; j++) {
        const px_bend *bend = &e->bends[j];
        double vertices = 0;
        for (size_t n = 0; n < bend->share_count; n++)
            vertices += e->counts[e->share_classes[bend->shares[n]]];
        joints[j] = (pelt_eigenskin_joint){.joint = bend->joint,
                                           .against = bend->against,
                                           .with = bend->with,
                                           .vertex_count = (uint32_t)vertices,
                                           .mode_count = bend->mode_count,
                                           .centre_count = bend->centre_count,
                                           .radius = bend->radius,
                                           .gain = bend->gain,
                                           .singular_values = bend->singular,
                                           .displacement = bend->displacement};
    }
    *out = joints;
    return PELT_OK;
}

/* Runs all steps except the final solution, with one kernel. */
static pelt_result try_kernel(px_eigenskin *e, pelt_kernel kernel, double *error) {
    PX_TRY(px_eigenskin_candidates(e));
    PX_TRY(px_eigenskin_choose(e, kernel));
    PX_TRY(px_eigenskin_solve(e));
    PX_TRY(px_eigenskin_supports(e));
    return px_eigenskin_choose_noise(e, error);
}

/* The comparison of kernels includes supports: wide kernels need more joints per vertex than allowed. */
static pelt_result choose_kernel(px_eigenskin *e) {
    double smooth, error;
    bool free = e->desc.kernel == PELT_EIGENSKIN_KERNEL_AUTO, enough = false;
    for (uint32_t j = 0; j < e->bend_count; j++)
        enough |= e->bends[j].turned >= PX_MIN_POSES;
    if (!free)
        return try_kernel(e, (pelt_kernel)e->desc.kernel, &error);
    if (e->desc.interpolate || !enough)
        return try_kernel(e, PELT_KERNEL_EXPONENTIAL, &error);
    PX_TRY(try_kernel(e, PELT_KERNEL_GAUSSIAN, &smooth));
    PX_TRY(try_kernel(e, PELT_KERNEL_EXPONENTIAL, &error));
    return smooth < error ? try_kernel(e, PELT_KERNEL_GAUSSIAN, &error) : PELT_OK;
}

/* Runs all steps up to the modes, from the examples as given, or (`refined`) with their shapes rotated to their
 * poses. */
static pelt_result learn(px_eigenskin *e, bool refined) {
    e->refined = refined;
    for (uint32_t j = 0; j < e->bend_count; j++)
        e->bends[j].gain = 1;
    PX_TRY(px_eigenskin_gather(e));
    PX_TRY(choose_kernel(e));
    PX_TRY(px_eigenskin_solve(e));
    return px_eigenskin_shrink(e);
}

/* Σ |a − b|² of displacements; b may be NULL. */
static double distance2(const px_eigenskin *e, double *a, double *b) {
    double sum = 0;
    for (size_t u = 0; u < e->classes.count; u++) {
        const double *x = px_class_rows(e, a, u).data, *y = b ? px_class_rows(e, b, u).data : NULL;
        for (size_t k = 0; k < 3 * (size_t)e->pose_count; k++) {
            double d = x[k] - (y ? y[k] : 0);
            sum += e->counts[u] * d * d;
        }
    }
    return sum;
}

/* Returns true if left-out poses are predicted better with shapes rotated to their poses, also measured against the
 * original shapes. Rotations that are a function of the pose are not noise. */
static bool refining_helps(const px_eigenskin *e, double *raw, double raw_error) {
    double before = raw_error * raw_error * distance2(e, raw, NULL);
    double after =
        e->left_out * e->left_out * distance2(e, e->displacements, NULL) + distance2(e, e->displacements, raw);
    double miss = e->left_out < CLEAR_ERROR_RATIO * raw_error ? MAX_CLEAR_MISS_RATIO : MAX_MISS_RATIO;
    return e->left_out < MAX_ERROR_RATIO * raw_error && after < miss * before;
}

/* Keeps the pairs of joints if left-out poses are predicted better with them. */
static pelt_result try_pairs(px_eigenskin *e, uint32_t pairs) {
    double single = e->left_out;
    e->bend_count += pairs;
    PX_TRY(learn(e, e->refined));
    if (e->left_out < MAX_PAIR_RATIO * single)
        return PELT_OK;
    e->bend_count -= pairs;
    return learn(e, e->refined);
}

static pelt_result fit(px_eigenskin *e, const pelt_eigenskin_joint **joints) {
    PX_TRY(check(e));
    if (e->desc.refit_weights)
        PX_TRY(px_eigenskin_refit_weights(e));
    if (e->desc.exact) {
        e->desc.interpolate = true;
        e->desc.support = 0;
        e->desc.max_per_vertex = 0;
        e->desc.modes = PELT_EIGENSKIN_MODES_MAX;
        e->desc.centres = CENTRES_MAX;
    }
    if (!(e->errors = PX_NEW_LASTING(e->model->memory, double, (size_t)e->desc.modes + 1)))
        return PELT_ERROR_MEMORY;
    PX_TRY(px_eigenskin_find_bends(e));
    uint32_t pairs = e->bend_count - e->single_count;
    e->bend_count = e->single_count;
    PX_TRY(learn(e, false));
    double error = e->left_out;
    double *raw = e->displacements;
    if (!e->desc.interpolate && error > MIN_LEFT_OUT_ERROR) {
        PX_TRY(learn(e, true));
        if (!refining_helps(e, raw, error))
            PX_TRY(learn(e, false));
    }
    if (pairs > 0)
        PX_TRY(try_pairs(e, pairs));
    PX_TRY(px_eigenskin_modes(e));
    if (e->desc.normals)
        PX_TRY(px_eigenskin_measure_normals(e));
    PX_TRY(report_joints(e, joints));
    return px_eigenskin_apply(e);
}

pelt_result pelt_eigenskin(pelt_context *context, pelt_model *model, const pelt_pose_example *examples,
                           uint32_t example_count, const pelt_eigenskin_desc *desc, pelt_eigenskin_report *report) {
    if (report)
        *report = (pelt_eigenskin_report){.normals_before = NAN, .normals_after = NAN};
    PX_TAKE_DESC(context, eigenskin, desc, settings);
    px_eigenskin e = {.context = context,
                      .model = model,
                      .examples = examples,
                      .example_count = example_count,
                      .desc = settings,
                      .normal_rms = {NAN, NAN},
                      .refit_ratio = NAN,
                      .scratch = px_arena_create(context)};
    if (!e.scratch)
        return PELT_ERROR_MEMORY;
    const pelt_eigenskin_joint *joints = NULL;
    px_operation operation = px_operation_begin(model);
    pelt_result result = px_operation_end(&operation, fit(&e, &joints));
    if (result == PELT_OK && report)
        *report = (pelt_eigenskin_report){.example_count = example_count,
                                          .pose_count = e.pose_count,
                                          .rest_count = e.rest_count,
                                          .odd_count = e.odd_count,
                                          .kernel = e.kernel,
                                          .regularise = e.noise,
                                          .turn_degrees = px_eigenskin_turn_degrees(&e),
                                          .mode_count = e.mode_count,
                                          .morph_count = e.morph_count,
                                          .vertex_count = e.classes.count,
                                          .ill_conditioned = e.ill_count,
                                          .errors = e.errors,
                                          .left_out_error = e.left_out,
                                          .normals_before = e.normal_rms[0],
                                          .normals_after = e.normal_rms[1],
                                          .refit_rounds = e.refit_rounds,
                                          .refit_ratio = e.refit_ratio,
                                          .joint_count = e.bend_count,
                                          .joints = joints};
    px_arena_destroy(e.scratch);
    return result;
}
