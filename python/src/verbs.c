/* Operations on models: run(verb, model, options, inputs, settings) gives a new model and a report. */
#include "binding.h"

/* What a verb works on. */
typedef struct verb_call {
    model_object *model; /* borrows the source; the verb changes it */
    void *args;          /* the descs, set from the options */
    PyObject *inputs;    /* dict of what is no option */
    PyObject *report;    /* dict to fill */
} verb_call;

#define CONTEXT(call) ((call)->model->session->context)

static PyObject *input(const verb_call *call, const char *name) {
    PyObject *value = PyDict_GetItemString(call->inputs, name);
    return value == Py_None ? NULL : value;
}

static bool input_flag(const verb_call *call, const char *name) {
    PyObject *value = input(call, name);
    return value && PyObject_IsTrue(value) == 1;
}

static size_t list_size(PyObject *list) {
    return list ? (size_t)PyList_Size(list) : 0;
}

/* ---- Decompose ------------------------------------------------------------------------------------------------- */

typedef struct decompose_args {
    pelt_decompose_desc bones;
    pelt_decompose_corrected_desc corrected;
} decompose_args;
static const option_part decompose_parts[] = {{pelt_decompose_options, offsetof(decompose_args, bones)},
                                              {pelt_decompose_corrected_options, offsetof(decompose_args, corrected)}};

#define DECOMPOSE(field, kind) REPORT(pelt_decompose_report, field, kind)
static const report_field decompose_fields[] = {
    DECOMPOSE(vertex_count, UINT),
    DECOMPOSE(frame_count, UINT),
    DECOMPOSE(bone_count, UINT),
    DECOMPOSE(influence_count, UINT),
    DECOMPOSE(dimension, UINT),
    DECOMPOSE(iteration_count, UINT),
    DECOMPOSE(error_fit, REAL),
    DECOMPOSE(seconds_reduce, REAL),
    DECOMPOSE(seconds_seed, REAL),
    DECOMPOSE(seconds_solve, REAL),
    REPORT_ARRAY(pelt_decompose_report, iteration_errors, FLOATS, iteration_count, 0),
    REPORT_ARRAY(pelt_decompose_report, search_bones, UINTS, search_count, 0),
    REPORT_ARRAY(pelt_decompose_report, search_errors, FLOATS, search_count, 0),
};

/* report["motions"]: for each clip the motion that plays it; -1: none. */
static bool add_motions(verb_call *call, const uint32_t *motions) {
    PyObject *list = PyList_New(0);
    bool ok = list && PyDict_SetItemString(call->report, "motions", list) == 0;
    for (uint32_t c = 0; ok && c < call->model->model->clip_count; c++) {
        PyObject *motion = PyLong_FromLongLong(motions[c] == PELT_NONE ? -1 : (long long)motions[c]);
        ok = motion && PyList_Append(list, motion) == 0;
        Py_XDECREF(motion);
    }
    Py_XDECREF(list);
    return ok;
}

static bool run_decompose(verb_call *call) {
    decompose_args *args = call->args;
    pelt_model *model = call->model->model;
    model_object *rig;
    size_t shape[2] = {model->mesh.points.count, 3};
    Py_buffer rest;
    if (!model_of_item(call->inputs, "rig", &rig) ||
        !array_take_item(call->inputs, "rest_positions", 'f', 2, shape, &rest))
        return false;
    if (rig)
        model_keep(call->model, (PyObject *)rig);
    args->bones.rig = rig ? rig->model : NULL;
    args->bones.given_motion = input_flag(call, "given_motion");
    args->bones.given_weights = input_flag(call, "given_weights");
    args->bones.rest_positions = rest.buf;
    pelt_decompose_corrected_report report;
    bool ok = CALL(call->model->session,
                   pelt_decompose_corrected(CONTEXT(call), model, &args->bones, &args->corrected, &report));
    PyBuffer_Release(&rest);
    return ok && REPORT_ADD(call->report, decompose_fields, &report.decompose) &&
           add_motions(call, report.decompose.motions);
}

/* ---- Bind ------------------------------------------------------------------------------------------------------ */

const option_part bind_parts[1] = {{pelt_bind_options, 0}};

bool bind_take_inputs(pelt_bind_desc *desc, const pelt_model *model, PyObject *inputs, model_object **skeleton,
                      Py_buffer *view) {
    size_t shape[1] = {model->mesh.vertex_count};
    if (!model_of_item(inputs, "skeleton", skeleton) || !array_take_item(inputs, "vertex_falloff", 'f', 1, shape, view))
        return false;
    desc->skeleton = *skeleton ? (*skeleton)->model : NULL;
    desc->vertex_falloff = view->buf;
    return true;
}

PyObject *bind_report(const pelt_bind_report *report) {
#define BIND(field, kind) REPORT(pelt_bind_report, field, kind)
    static const report_field fields[] = {
        BIND(interior_voxel_count, UINT), BIND(boundary_voxel_count, UINT), BIND(vertex_count, UINT),
        BIND(bridged_count, UINT),        BIND(rigid_count, UINT),          BIND(outside_count, UINT),
        BIND(joint_count, UINT),          BIND(touching_count, UINT),       BIND(seconds_fit, REAL),
        BIND(seconds_voxelize, REAL),     BIND(seconds_solve, REAL),        BIND(seconds_weights, REAL),
    };
    PyObject *dict = PyDict_New();
    if (dict && !REPORT_ADD(dict, fields, report))
        Py_CLEAR(dict);
    return dict;
}

static bool run_bind(verb_call *call) {
    pelt_bind_desc *desc = call->args;
    model_object *skeleton;
    Py_buffer view;
    if (!bind_take_inputs(desc, call->model->model, call->inputs, &skeleton, &view))
        return false;
    if (skeleton)
        model_keep(call->model, (PyObject *)skeleton);
    pelt_bind_report report;
    bool ok = CALL(call->model->session, pelt_bind(CONTEXT(call), call->model->model, desc, &report));
    PyBuffer_Release(&view);
    PyObject *dict = ok ? bind_report(&report) : NULL;
    ok = dict && PyDict_Update(call->report, dict) == 0;
    Py_XDECREF(dict);
    return ok;
}

/* ---- Correct --------------------------------------------------------------------------------------------------- */

static const option_part correct_parts[] = {{pelt_correct_options, 0}};

#define CORRECT(field, kind) REPORT(pelt_correct_report, field, kind)
static const report_field correct_fields[] = {
    CORRECT(rank, UINT),
    CORRECT(normal_rank, UINT),
    CORRECT(frame_count, UINT),
    CORRECT(vertex_count, UINT),
    CORRECT(ill_conditioned, UINT),
    REPORT_ARRAY(pelt_correct_report, errors, REALS, rank, 1),
    CORRECT(normals_before, REAL),
    CORRECT(normals_after, REAL),
};

/* inputs["pairs"]: [(motion or -1, clip of the model)]. */
static bool run_correct(verb_call *call) {
    pelt_model *model = call->model->model;
    PyObject *list = input(call, "pairs");
    size_t count = list_size(list);
    pelt_correct_pair *pairs = PyMem_Calloc(count + 1, sizeof *pairs);
    bool ok = pairs != NULL;
    if (!ok)
        PyErr_NoMemory();
    for (size_t p = 0; ok && p < count; p++) {
        Py_ssize_t motion, clip;
        const pelt_motion *found;
        ok = PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)p), "nn", &motion, &clip) &&
             model_motion(model, motion, &found);
        if (ok && (clip < 0 || clip >= model->clip_count)) {
            PyErr_Format(PyExc_IndexError, "clip %zd: the model has %u clips", clip, model->clip_count);
            ok = false;
        }
        if (ok)
            pairs[p] =
                (pelt_correct_pair){.motion = motion < 0 ? PELT_NONE : (uint32_t)motion, .clip = &model->clips[clip]};
    }
    pelt_correct_report report;
    ok = ok &&
         CALL(call->model->session, pelt_correct(CONTEXT(call), model, pairs, (uint32_t)count, call->args, &report)) &&
         REPORT_ADD(call->report, correct_fields, &report);
    PyMem_Free(pairs);
    return ok;
}

/* ---- EigenSkin ------------------------------------------------------------------------------------------------- */

static const option_part eigenskin_parts[] = {{pelt_eigenskin_options, 0}};

#define EIGENSKIN(field, kind) REPORT(pelt_eigenskin_report, field, kind)
static const report_field eigenskin_fields[] = {
    EIGENSKIN(example_count, UINT),
    EIGENSKIN(pose_count, UINT),
    EIGENSKIN(rest_count, UINT),
    EIGENSKIN(regularise, REAL),
    EIGENSKIN(mode_count, UINT),
    EIGENSKIN(morph_count, UINT),
    EIGENSKIN(vertex_count, UINT),
    EIGENSKIN(ill_conditioned, UINT),
    REPORT_ARRAY(pelt_eigenskin_report, errors, REALS, mode_count, 1),
    EIGENSKIN(left_out_error, REAL),
    EIGENSKIN(joint_count, UINT),
};

/* inputs["examples"]: [(name, locals [joint][10], positions [vertex][3])]. */
static bool run_eigenskin(verb_call *call) {
    pelt_model *model = call->model->model;
    PyObject *list = input(call, "examples");
    size_t count = list_size(list), joints[2] = {model->skeleton.joint_count, 10},
           vertices[2] = {model->mesh.vertex_count, 3};
    pelt_pose_example *examples = PyMem_Calloc(count + 1, sizeof *examples);
    Py_buffer *views = PyMem_Calloc(2 * count + 1, sizeof *views);
    bool ok = examples && views;
    if (!ok)
        PyErr_NoMemory();
    for (size_t e = 0; ok && e < count; e++) {
        PyObject *locals, *positions;
        ok = PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)e), "sOO", &examples[e].name, &locals, &positions) &&
             array_take(locals, "locals", 'f', ARRAY_READ, 2, joints, &views[2 * e]) &&
             array_take(positions, "positions", 'f', ARRAY_READ, 2, vertices, &views[2 * e + 1]);
        if (ok) {
            examples[e].locals = views[2 * e].buf;
            examples[e].positions = views[2 * e + 1].buf;
        }
    }
    pelt_eigenskin_report report;
    ok = ok &&
         CALL(call->model->session,
              pelt_eigenskin(CONTEXT(call), model, examples, (uint32_t)count, call->args, &report)) &&
         REPORT_ADD(call->report, eigenskin_fields, &report);
    for (size_t v = 0; views && v < 2 * count; v++)
        PyBuffer_Release(&views[v]);
    PyMem_Free(views);
    PyMem_Free(examples);
    return ok;
}

/* ---- Jiggle ---------------------------------------------------------------------------------------------------- */

const option_part jiggle_parts[1] = {{pelt_jiggle_options, 0}};

typedef struct jiggle_args {
    pelt_jiggle_desc jiggle;
    pelt_jiggle_bake_desc bake;
    pelt_jiggle_simulate_desc simulate;
} jiggle_args;
static const option_part simulate_parts[] = {{pelt_jiggle_options, offsetof(jiggle_args, jiggle)},
                                             {pelt_jiggle_bake_options, offsetof(jiggle_args, bake)},
                                             {pelt_jiggle_simulate_options, offsetof(jiggle_args, simulate)}};

/* inputs["gravity"]: (x, y, z); inputs["into"]: "clips", "bones" or "morphs"; inputs["count"]: helper bones or morph targets, 0: the
 * default. */
static bool run_jiggle(verb_call *call) {
    jiggle_args *args = call->args;
    pelt_model *model = call->model->model;
    py_session *session = call->model->session;
    PyObject *gravity = input(call, "gravity"), *into = input(call, "into"), *count = input(call, "count");
    if (gravity && !PyArg_ParseTuple(gravity, "fff", &args->jiggle.forces.gravity[0], &args->jiggle.forces.gravity[1],
                                     &args->jiggle.forces.gravity[2]))
        return false;
    const char *target = into ? PyUnicode_AsUTF8AndSize(into, NULL) : "clips";
    uint32_t number = count ? (uint32_t)PyLong_AsUnsignedLong(count) : 0;
    if (!target || PyErr_Occurred())
        return false;
    args->simulate.jiggle = &args->jiggle;
    args->simulate.bake = &args->bake;
    pelt_jiggle_simulate_report report;
    if (!CALL(session, pelt_jiggle_simulate(session->context, model, &args->simulate, &report)))
        return false;
    if (strcmp(target, "bones") == 0) {
        pelt_decompose_desc bones = pelt_jiggle_bones_default();
        bones.add = number ? number : bones.add;
        pelt_decompose_corrected_report fitted;
        return CALL(session, pelt_jiggle_add_bones(session->context, model, &bones, NULL, &fitted)) &&
               REPORT_ADD(call->report, decompose_fields, &fitted.decompose) &&
               add_motions(call, fitted.decompose.motions);
    }
    if (strcmp(target, "morphs") == 0) {
        pelt_correct_desc morphs = pelt_jiggle_morphs_default();
        morphs.rank = number ? number : morphs.rank;
        pelt_correct_report corrected;
        return CALL(session, pelt_jiggle_add_morphs(session->context, model, report.motions, &morphs, &corrected)) &&
               REPORT_ADD(call->report, correct_fields, &corrected);
    }
    return true;
}

/* ---- Simplify -------------------------------------------------------------------------------------------------- */

static const option_part simplify_parts[] = {{pelt_simplify_options, 0}};

static bool run_simplify(verb_call *call) {
#define SIMPLIFY(field, kind) REPORT(pelt_simplify_report, field, kind)
    static const report_field fields[] = {SIMPLIFY(triangles_before, UINT),
                                          SIMPLIFY(triangle_count, UINT),
                                          SIMPLIFY(vertices_before, UINT),
                                          SIMPLIFY(vertex_count, UINT),
                                          SIMPLIFY(wanted_count, UINT),
                                          SIMPLIFY(pose_count, UINT),
                                          SIMPLIFY(harm, REAL)};
    pelt_simplify_report report;
    return CALL(call->model->session, pelt_simplify(CONTEXT(call), call->model->model, call->args, &report)) &&
           REPORT_ADD(call->report, fields, &report);
}

/* ---- The table -------------------------------------------------------------------------------------------------- */

/* Descs of any verb. */
typedef union verb_args {
    decompose_args decompose;
    pelt_bind_desc bind;
    pelt_correct_desc correct;
    pelt_eigenskin_desc eigenskin;
    jiggle_args jiggle;
    pelt_simplify_desc simplify;
} verb_args;

static const struct verb {
    const char *name;
    const option_part *parts;
    size_t part_count;
    bool (*run)(verb_call *call); /* NULL: only options */
} verbs[] = {
#define VERB(name, parts, run)                                                                                         \
    { name, parts, sizeof(parts) / sizeof *(parts), run }
    VERB("decompose", decompose_parts, run_decompose), VERB("bind", bind_parts, run_bind),
    VERB("correct", correct_parts, run_correct),       VERB("eigenskin", eigenskin_parts, run_eigenskin),
    VERB("jiggle", simulate_parts, run_jiggle),        VERB("simplify", simplify_parts, run_simplify),
};
static const size_t verb_count = sizeof verbs / sizeof *verbs;

static PyObject *run(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *name;
    PyObject *source, *options, *inputs, *settings;
    if (!PyArg_ParseTuple(args, "sOO!O!O", &name, &source, &PyDict_Type, &options, &PyDict_Type, &inputs, &settings))
        return NULL;
    const struct verb *verb = verbs;
    while (verb < verbs + verb_count && strcmp(verb->name, name) != 0)
        verb++;
    if (verb == verbs + verb_count)
        return PyErr_Format(PyExc_ValueError, "no operation is called '%s'", name);
    model_object *model = model_of(source, "model") ? model_new(settings, (model_object *)source) : NULL;
    verb_args values;
    verb_call call = {.model = model, .args = &values, .inputs = inputs, .report = model ? PyDict_New() : NULL};
    if (call.report && options_take(model->session, verb->parts, verb->part_count, &values, sizeof values, options) &&
        verb->run(&call))
        return Py_BuildValue("NN", model, call.report);
    Py_XDECREF((PyObject *)model);
    Py_XDECREF(call.report);
    return NULL;
}

/* options(): {verb: rows}. */
static PyObject *options(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    static const option_part load_parts[] = {{pelt_load_options, 0}}, save_parts[] = {{pelt_save_options, 0}};
    static const struct verb files[] = {VERB("load", load_parts, NULL), VERB("save", save_parts, NULL),
                                        VERB("Jiggle", jiggle_parts, NULL)};
    PyObject *dict = PyDict_New();
    for (size_t v = 0; dict && v < verb_count + 3; v++) {
        const struct verb *verb = v < verb_count ? &verbs[v] : &files[v - verb_count];
        PyObject *rows = options_rows(verb->parts, verb->part_count);
        if (!rows || PyDict_SetItemString(dict, verb->name, rows) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(rows);
    }
    return dict;
}

/* ---- Comparisons ------------------------------------------------------------------------------------------------ */

#define DIFFERENCE(field, kind) REPORT(pelt_difference, field, kind)
static const report_field difference_fields[] = {
    DIFFERENCE(frame_count, UINT),    DIFFERENCE(point_count, UINT), DIFFERENCE(error_rms, REAL),
    DIFFERENCE(error_kg, REAL),       DIFFERENCE(error_max, REAL),   DIFFERENCE(error_max_units, REAL),
    DIFFERENCE(max_frame, UINT),      DIFFERENCE(max_point, UINT),   DIFFERENCE(normal_rms, REAL),
    DIFFERENCE(normal_degrees, REAL),
};

/* How far a motion of the model is from one of its clips, as players show it. */
static pelt_result measure(pelt_context *context, pelt_model *model, const pelt_clip *clip, const pelt_motion *motion,
                           pelt_difference *difference) {
    pelt_clip played;
    pelt_result result =
        pelt_clip_from_motion_at(context, model, motion, clip->times, clip->frame_count, PELT_SKINNING_LINEAR, &played);
    if (result)
        return result;
    result = pelt_compare_clips(context, clip, &played, &model->mesh, difference, NULL);
    pelt_clip_free(model, &played);
    return result;
}

/* difference(model, clip, motion or -1). */
static PyObject *difference(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *object;
    unsigned int clip;
    Py_ssize_t index;
    const pelt_motion *motion;
    if (!PyArg_ParseTuple(args, "OIn", &object, &clip, &index) || !model_of(object, "model"))
        return NULL;
    model_object *model = (model_object *)object;
    if (!model_motion(model->model, index, &motion))
        return NULL;
    if (clip >= model->model->clip_count)
        return PyErr_Format(PyExc_IndexError, "the model has %u clips", model->model->clip_count);
    pelt_difference found;
    PyObject *dict = PyDict_New();
    if (dict && (!CALL(model->session,
                       measure(model->session->context, model->model, &model->model->clips[clip], motion, &found)) ||
                 !REPORT_ADD(dict, difference_fields, &found)))
        Py_CLEAR(dict);
    return dict;
}

/* compare(a, b, model or None, settings): positions [frame][point][3]; the model has the triangles. */
static PyObject *compare(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *a, *b, *mesh, *settings;
    if (!PyArg_ParseTuple(args, "OOOO", &a, &b, &mesh, &settings))
        return NULL;
    model_object *model = mesh == Py_None ? NULL : model_of(mesh, "model");
    py_session *session = model || mesh == Py_None ? session_new(settings) : NULL;
    size_t shape[3] = {SIZE_MAX, SIZE_MAX, 3};
    Py_buffer views[2] = {{0}, {0}};
    bool ok = session && array_take(a, "a", 'f', ARRAY_READ, 3, shape, &views[0]) &&
              array_take(b, "b", 'f', ARRAY_READ, 3, shape, &views[1]);
    float *times = ok ? PyMem_Calloc(shape[0] + 1, sizeof *times) : NULL;
    if (ok && !times) {
        PyErr_NoMemory();
        ok = false;
    }
    PyObject *dict = ok ? PyDict_New() : NULL;
    if (dict) {
        for (size_t k = 0; k < shape[0]; k++)
            times[k] = (float)k;
        pelt_clip clips[2];
        for (int c = 0; c < 2; c++)
            clips[c] = (pelt_clip){.name = c ? "b" : "a",
                                   .frame_count = (uint32_t)shape[0],
                                   .point_count = (uint32_t)shape[1],
                                   .times = times,
                                   .positions = views[c].buf};
        pelt_difference found;
        if (!CALL(session, pelt_compare_clips(session->context, &clips[0], &clips[1],
                                              model ? &model->model->mesh : NULL, &found, NULL)) ||
            !REPORT_ADD(dict, difference_fields, &found))
            Py_CLEAR(dict);
    }
    PyMem_Free(times);
    PyBuffer_Release(&views[0]);
    PyBuffer_Release(&views[1]);
    session_free(session);
    return dict;
}

/* compare_weights(a, b). */
static PyObject *compare_weights(PyObject *Py_UNUSED(module), PyObject *args) {
#define WEIGHTS(field, kind) REPORT(pelt_weight_difference, field, kind)
    static const report_field fields[] = {WEIGHTS(vertex_count, UINT),     WEIGHTS(matched_joints, UINT),
                                          WEIGHTS(unmatched_joints, UINT), WEIGHTS(l1_mean, REAL),
                                          WEIGHTS(l1_max, REAL),           WEIGHTS(max_vertex, UINT)};
    PyObject *objects[2];
    if (!PyArg_ParseTuple(args, "OO", &objects[0], &objects[1]))
        return NULL;
    model_object *a = model_of(objects[0], "a"), *b = a ? model_of(objects[1], "b") : NULL;
    pelt_weight_difference difference;
    if (!b || !CALL(a->session, pelt_compare_weights(a->session->context, a->model, b->model, &difference)))
        return NULL;
    PyObject *dict = PyDict_New();
    if (dict && !REPORT_ADD(dict, fields, &difference))
        Py_CLEAR(dict);
    return dict;
}

PyMethodDef verb_functions[] = {{"run", run, METH_VARARGS, NULL},
                                {"options", options, METH_NOARGS, NULL},
                                {"compare", compare, METH_VARARGS, NULL},
                                {"difference", difference, METH_VARARGS, NULL},
                                {"compare_weights", compare_weights, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
