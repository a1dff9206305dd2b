/* EigenSkin: see eigenskin.h. Examples → displacements at rest → joints that drive → kernels → supports → modes. */
#include "eigenskin/eigenskin.h"

#define FIELD(name) offsetof(pelt_eigenskin_desc, name)
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
    {"kernel", 0, PELT_OPTION_CHOICE, FIELD(kernel), "exponential", 0, 0, "exponential|gaussian|thin-plate", NULL,
     "what examples say about poses between them"},
    {"radius", 0, PELT_OPTION_REAL, FIELD(radius), "0", 0, 1000, NULL, "R",
     "how far that reaches, radians; 0: by leave-one-out error"},
    {"split", 0, PELT_OPTION_FLAG, FIELD(split), NULL, 0, 0, NULL, NULL, "swing and twist of a joint drive apart"},
    {"regularise", 0, PELT_OPTION_REAL, FIELD(regularise), "0", 0, 1, NULL, "X",
     "noise to expect in the examples, as a part of what there is; 0: they are met exactly"},
    {"centres", 0, PELT_OPTION_UINT, FIELD(centres), "64", 2, 1024, NULL, "N",
     "poses of a joint to keep, at most; with more, examples are met in least squares"},
};

const pelt_option *pelt_eigenskin_options(size_t *option_count) {
    *option_count = PX_COUNT(options);
    return options;
}

pelt_eigenskin_desc pelt_eigenskin_desc_default(void) {
    pelt_eigenskin_desc desc = {0};
    pelt_options_default(options, PX_COUNT(options), &desc);
    return desc;
}

static pelt_result check(const px_eigenskin *e) {
    const pelt_eigenskin_desc *d = &e->desc;
    const pelt_model *model = e->model;
    if (!(d->support >= 0 && d->support <= 1) || d->modes > PELT_EIGENSKIN_MODES_MAX || !(d->error >= 0) ||
        d->kernel > PELT_KERNEL_THIN_PLATE || !(d->radius >= 0 && d->radius <= 1000) ||
        !(d->regularise >= 0 && d->regularise <= 1) || d->centres < 2 || d->centres > 1024)
        return px_fail(e->context, PELT_ERROR_ARGUMENT, "a setting is out of range; see pelt_eigenskin_desc");
    if (d->max_per_vertex && d->modes > d->max_per_vertex)
        return px_fail(e->context, PELT_ERROR_ARGUMENT,
                       "%u modes of one joint are more than the %u displacements that a vertex may take", d->modes,
                       d->max_per_vertex);
    if (e->pose_count == 0)
        return px_fail(e->context, PELT_ERROR_ARGUMENT, "there are no examples to learn from");
    if (e->pose_count > INT32_MAX)
        return px_fail(e->context, PELT_ERROR_ARGUMENT, "there are too many examples");
    if (model->mesh.vertex_count == 0 || model->skin.bone_count == 0)
        return px_fail(e->context, PELT_ERROR_INPUT,
                       "there is no skin in it to correct; 'pelt bind' or 'pelt decompose' makes one");
    if (d->normals && !model->mesh.normals)
        return px_fail(e->context, PELT_ERROR_INPUT, "the mesh has no normals to correct");
    return PELT_OK;
}

/* In the model's memory. */
static pelt_result report_joints(const px_eigenskin *e, const pelt_eigenskin_joint **out) {
    pelt_eigenskin_joint *joints = PX_NEW(e->model->memory, pelt_eigenskin_joint, e->bend_count);
    if (!joints)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < e->bend_count; j++) {
        const px_bend *bend = &e->bends[j];
        double vertices = 0;
        for (size_t n = 0; n < bend->share_count; n++)
            vertices += e->counts[e->share_units[bend->shares[n]]];
        joints[j] = (pelt_eigenskin_joint){.joint = bend->joint,
                                           .vertex_count = (uint32_t)vertices,
                                           .mode_count = bend->mode_count,
                                           .centre_count = bend->centre_count,
                                           .radius = bend->radius,
                                           .displacement = bend->displacement};
    }
    *out = joints;
    return PELT_OK;
}

static pelt_result fit(px_eigenskin *e, const pelt_eigenskin_joint **joints) {
    PX_TRY(check(e));
    if (!(e->errors = PX_NEW(e->model->memory, double, (size_t)e->desc.modes + 1)))
        return PELT_ERROR_MEMORY;
    PX_TRY(px_eigenskin_gather(e));
    PX_TRY(px_eigenskin_find_bends(e));
    PX_TRY(px_eigenskin_candidates(e));
    PX_TRY(px_eigenskin_choose(e));
    PX_TRY(px_eigenskin_solve(e));
    PX_TRY(px_eigenskin_supports(e));
    PX_TRY(px_eigenskin_solve(e));
    PX_TRY(px_eigenskin_leave_out(e, &e->left_out));
    PX_TRY(px_eigenskin_modes(e));
    if (e->desc.normals)
        PX_TRY(px_eigenskin_measure_normals(e));
    PX_TRY(report_joints(e, joints));
    return px_eigenskin_apply(e);
}

pelt_result pelt_eigenskin(pelt_context *context, pelt_model *model, const pelt_pose_example *examples,
                           uint32_t example_count, const pelt_eigenskin_desc *desc, pelt_eigenskin_report *report) {
    px_eigenskin e = {.context = context,
                      .model = model,
                      .examples = examples,
                      .pose_count = example_count,
                      .desc = desc ? *desc : pelt_eigenskin_desc_default(),
                      .normal_rms = {NAN, NAN},
                      .scratch = px_arena_create(context)};
    if (!e.scratch)
        return PELT_ERROR_MEMORY;
    const pelt_eigenskin_joint *joints;
    pelt_result result = fit(&e, &joints);
    if (result == PELT_OK && report)
        *report = (pelt_eigenskin_report){.example_count = example_count,
                                          .mode_count = e.mode_count,
                                          .morph_count = e.morph_count,
                                          .vertex_count = e.units.count,
                                          .ill_conditioned = e.ill_count,
                                          .errors = e.errors,
                                          .left_out_error = e.left_out,
                                          .normals_before = e.normal_rms[0],
                                          .normals_after = e.normal_rms[1],
                                          .joint_count = e.bend_count,
                                          .joints = joints};
    px_arena_destroy(e.scratch);
    return result;
}
