/* Models: load, build from arrays, save, show arrays, sample and play motions. */
#include "binding.h"

static PyTypeObject *model_type;

/* ---- Life ------------------------------------------------------------------------------------------------------ */

model_object *model_new(PyObject *settings, model_object *source) {
    model_object *object = PyObject_New(model_object, model_type);
    if (!object)
        return NULL;
    memset((char *)object + offsetof(model_object, session), 0, sizeof *object - offsetof(model_object, session));
    object->session = session_new(settings);
    if (!object->session) {
        Py_DECREF((PyObject *)object);
        return NULL;
    }
    pelt_context *context = object->session->context;
    pelt_result result =
        source ? pelt_model_borrow(context, source->model, &object->model) : pelt_model_create(context, &object->model);
    if (!session_check(object->session, result)) {
        Py_DECREF((PyObject *)object);
        return NULL;
    }
    if (source)
        model_keep(object, (PyObject *)source);
    return object;
}

void model_keep(model_object *model, PyObject *object) {
    for (size_t k = 0; k < MODEL_KEPT; k++)
        if (!model->kept[k]) {
            model->kept[k] = Py_NewRef(object);
            return;
        }
    Py_FatalError("pelt: a model keeps too many objects");
}

static void model_dealloc(PyObject *self) {
    model_object *object = (model_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    pelt_model_destroy(object->model);
    session_free(object->session);
    for (size_t b = 0; b < object->buffer_count; b++)
        PyBuffer_Release(&object->buffers[b]);
    PyMem_Free(object->buffers);
    for (size_t k = 0; k < MODEL_KEPT; k++)
        Py_XDECREF(object->kept[k]);
    PyObject_Free(self);
    Py_DECREF(type);
}

model_object *model_of(PyObject *object, const char *name) {
    if (PyObject_TypeCheck(object, model_type))
        return (model_object *)object;
    PyErr_Format(PyExc_TypeError, "%s should be a model", name);
    return NULL;
}

bool model_of_item(PyObject *dict, const char *name, model_object **model) {
    PyObject *object = PyDict_GetItemString(dict, name);
    *model = object && object != Py_None ? model_of(object, name) : NULL;
    return *model || !object || object == Py_None;
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

static const option_part load_parts[] = {{pelt_load_options, 0}}, save_parts[] = {{pelt_save_options, 0}};

/* load(paths, options, settings): a list of str. */
static PyObject *load(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *paths, *options, *settings;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyList_Type, &paths, &PyDict_Type, &options, &settings))
        return NULL;
    size_t count = (size_t)PyList_Size(paths);
    const char **texts = PyMem_Calloc(count + 1, sizeof *texts);
    bool ready = texts != NULL;
    for (size_t p = 0; ready && p < count; p++)
        ready = (texts[p] = PyUnicode_AsUTF8AndSize(PyList_GetItem(paths, (Py_ssize_t)p), NULL)) != NULL;
    model_object *model = ready ? model_new(settings, NULL) : NULL;
    pelt_load_desc desc;
    if (model && options_take(model->session, load_parts, 1, &desc, sizeof desc, options)) {
        pelt_model_destroy(model->model);
        model->model = NULL;
        if (!CALL(model->session, pelt_load(model->session->context, texts, count, &desc, &model->model)))
            Py_CLEAR(model);
    } else
        Py_CLEAR(model);
    PyMem_Free(texts);
    return (PyObject *)model;
}

/* load_memory(data, name, options, settings): bytes-like, kept. */
static PyObject *load_memory(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *data, *options, *settings;
    const char *name;
    if (!PyArg_ParseTuple(args, "OsO!O", &data, &name, &PyDict_Type, &options, &settings))
        return NULL;
    model_object *model = model_new(settings, NULL);
    if (!model)
        return NULL;
    pelt_load_desc desc;
    model->buffers = PyMem_Calloc(1, sizeof *model->buffers);
    if (!model->buffers) {
        PyErr_NoMemory();
        goto failed;
    }
    if (!options_take(model->session, load_parts, 1, &desc, sizeof desc, options) ||
        PyObject_GetBuffer(data, model->buffers, PyBUF_SIMPLE) < 0)
        goto failed;
    model->buffer_count = 1;
    pelt_model_destroy(model->model);
    model->model = NULL;
    if (CALL(model->session, pelt_load_memory(model->session->context, model->buffers->buf, (size_t)model->buffers->len,
                                              name, &desc, &model->model)))
        return (PyObject *)model;
failed:
    Py_DECREF((PyObject *)model);
    return NULL;
}

/* Model.save(path, options). */
static PyObject *model_save(PyObject *self, PyObject *args) {
    model_object *model = (model_object *)self;
    const char *path;
    PyObject *options;
    pelt_save_desc desc;
    if (!PyArg_ParseTuple(args, "sO!", &path, &PyDict_Type, &options) ||
        !options_take(model->session, save_parts, 1, &desc, sizeof desc, options) ||
        !CALL(model->session, pelt_save(model->session->context, model->model, path, &desc)))
        return NULL;
    return Py_NewRef(Py_None);
}

/* ---- Models from arrays ---------------------------------------------------------------------------------------- */

/* A copy of an array of the dict in the model's memory; *out stays NULL without one. */
static bool copy_item(model_object *model, PyObject *parts, const char *name, char format, int dimensions,
                      size_t shape[], void *out) {
    Py_buffer view;
    if (!array_take_item(parts, name, format, dimensions, shape, &view))
        return false;
    if (!view.buf)
        return true;
    void *copy = pelt_model_alloc(model->session->context, model->model, (size_t)view.len, 1);
    if (copy)
        memcpy(copy, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    memcpy(out, &copy, sizeof copy);
    return session_check(model->session, copy ? PELT_OK : PELT_ERROR_MEMORY);
}

static const char *copy_text(model_object *model, PyObject *text) {
    const char *source = PyUnicode_AsUTF8AndSize(text, NULL);
    const char *copy = source ? pelt_model_text(model->session->context, model->model, source) : NULL;
    if (source)
        session_check(model->session, copy ? PELT_OK : PELT_ERROR_MEMORY);
    return copy;
}

static void *new_items(model_object *model, size_t count, size_t size) {
    void *items = pelt_model_alloc(model->session->context, model->model, count, size);
    session_check(model->session, items ? PELT_OK : PELT_ERROR_MEMORY);
    return items;
}

static bool build_mesh(model_object *model, PyObject *parts) {
    pelt_mesh *mesh = &model->model->mesh;
    size_t positions[2] = {SIZE_MAX, 3}, triangles[2] = {SIZE_MAX, 3};
    if (!copy_item(model, parts, "positions", 'f', 2, positions, &mesh->positions))
        return false;
    if (!mesh->positions)
        return true;
    size_t uvs[2] = {positions[0], 2};
    if (!copy_item(model, parts, "normals", 'f', 2, positions, &mesh->normals) ||
        !copy_item(model, parts, "uvs", 'f', 2, uvs, &mesh->uvs) ||
        !copy_item(model, parts, "triangles", 'I', 2, triangles, &mesh->triangles))
        return false;
    mesh->vertex_count = mesh->points.count = (uint32_t)positions[0];
    mesh->triangle_count = mesh->polygon_count = mesh->triangles ? (uint32_t)triangles[0] : 0;
    mesh->parts = new_items(model, 1, sizeof *mesh->parts);
    if (!mesh->parts)
        return false;
    mesh->part_count = 1;
    mesh->parts[0] = (pelt_part){
        .name = "mesh", .triangle_count = mesh->triangle_count, .vertex_count = mesh->vertex_count, .joint = PELT_NONE};
    return true;
}

/* Adds a clip (name, times, positions) whose arrays the model keeps. There is room in clips and buffers. */
static bool add_clip(model_object *model, PyObject *tuple) {
    pelt_model *out = model->model;
    PyObject *name, *times, *positions;
    if (!PyArg_ParseTuple(tuple, "OOO", &name, &times, &positions))
        return false;
    size_t frames[1] = {SIZE_MAX};
    Py_buffer *views = &model->buffers[model->buffer_count];
    if (!array_take(times, "times", 'f', ARRAY_READ, 1, frames, &views[0]))
        return false;
    model->buffer_count++;
    size_t shape[3] = {frames[0], out->mesh.points.count, 3};
    if (!array_take(positions, "positions of a clip", 'f', ARRAY_READ, 3, shape, &views[1]))
        return false;
    model->buffer_count++;
    const char *text = copy_text(model, name);
    if (!text)
        return false;
    out->clips[out->clip_count++] = (pelt_clip){.name = text,
                                                .frame_count = (uint32_t)frames[0],
                                                .point_count = out->mesh.points.count,
                                                .times = views[0].buf,
                                                .positions = views[1].buf};
    return true;
}

/* Makes room for `count` clips more. */
static bool grow_clips(model_object *model, size_t count) {
    pelt_model *out = model->model;
    pelt_clip *clips = new_items(model, out->clip_count + count, sizeof *clips);
    if (!clips)
        return false;
    if (out->clip_count)
        memcpy(clips, out->clips, out->clip_count * sizeof *clips);
    out->clips = clips;
    model->buffers = PyMem_Calloc(2 * count, sizeof *model->buffers);
    if (!model->buffers)
        PyErr_NoMemory();
    return model->buffers != NULL;
}

/* "clips": [(name, times, positions)]; positions are borrowed. */
static bool build_clips(model_object *model, PyObject *parts) {
    PyObject *clips = PyDict_GetItemString(parts, "clips");
    size_t count = clips ? (size_t)PyList_Size(clips) : 0;
    bool ok = !count || grow_clips(model, count);
    for (size_t c = 0; ok && c < count; c++)
        ok = add_clip(model, PyList_GetItem(clips, (Py_ssize_t)c));
    return ok;
}

static bool build_skeleton(model_object *model, PyObject *parts) {
    PyObject *names = PyDict_GetItemString(parts, "joint_names");
    size_t count = names ? (size_t)PyList_Size(names) : 0;
    if (!count)
        return true;
    pelt_skeleton *skeleton = &model->model->skeleton;
    size_t parents[1] = {count}, rest[2] = {count, 10};
    skeleton->names = new_items(model, count, sizeof *skeleton->names);
    if (!skeleton->names || !copy_item(model, parts, "parents", 'I', 1, parents, &skeleton->parents) ||
        !copy_item(model, parts, "rest", 'f', 2, rest, &skeleton->rest))
        return false;
    for (size_t j = 0; j < count; j++)
        if (!(skeleton->names[j] = copy_text(model, PyList_GetItem(names, (Py_ssize_t)j))))
            return false;
    skeleton->joint_count = (uint32_t)count;
    return true;
}

static bool build_skin(model_object *model, PyObject *parts) {
    pelt_skin *skin = &model->model->skin;
    size_t weights[2] = {model->model->mesh.vertex_count, SIZE_MAX}, joints[1] = {SIZE_MAX};
    if (!copy_item(model, parts, "weights", 'f', 2, weights, &skin->weights))
        return false;
    if (!skin->weights)
        return true;
    if (!copy_item(model, parts, "bones", 'H', 2, weights, &skin->bones) ||
        !copy_item(model, parts, "bone_joints", 'I', 1, joints, &skin->bone_joints))
        return false;
    size_t binds[3] = {joints[0], 3, 4};
    if (!copy_item(model, parts, "inverse_binds", 'f', 3, binds, &skin->inverse_binds))
        return false;
    skin->bone_count = (uint32_t)joints[0];
    skin->influence_count = (uint32_t)weights[1];
    model->model->mesh.parts[0].skinned = true;
    return true;
}

/* Translation, rotation and scale of a joint in every frame as three tracks; `locals` [frame][joint]. */
static bool build_tracks(model_object *model, pelt_motion *motion, const float *times, const pelt_transform *locals,
                         size_t frames) {
    static const struct {
        pelt_path path;
        uint32_t width;
        size_t offset;
    } paths[] = {{PELT_PATH_TRANSLATION, 3, offsetof(pelt_transform, translation)},
                 {PELT_PATH_ROTATION, 4, offsetof(pelt_transform, rotation)},
                 {PELT_PATH_SCALE, 3, offsetof(pelt_transform, scale)}};
    uint32_t joint_count = model->model->skeleton.joint_count;
    motion->tracks = new_items(model, (size_t)joint_count * 3, sizeof *motion->tracks);
    for (uint32_t t = 0; motion->tracks && t < joint_count * 3; t++) {
        uint32_t joint = t / 3, width = paths[t % 3].width;
        float *values = new_items(model, frames * width, sizeof *values);
        if (!values)
            return false;
        for (size_t k = 0; k < frames; k++)
            memcpy(&values[k * width], (const char *)&locals[k * joint_count + joint] + paths[t % 3].offset,
                   width * sizeof *values);
        motion->tracks[t] = (pelt_track){.joint = joint,
                                         .path = paths[t % 3].path,
                                         .width = width,
                                         .key_count = (uint32_t)frames,
                                         .times = times,
                                         .values = values};
        motion->track_count++;
    }
    return motion->tracks != NULL;
}

/* "motions": [(name, times, locals)]. */
static bool build_motions(model_object *model, PyObject *parts) {
    PyObject *motions = PyDict_GetItemString(parts, "motions");
    size_t count = motions ? (size_t)PyList_Size(motions) : 0;
    if (!count)
        return true;
    pelt_model *out = model->model;
    out->motions = new_items(model, count, sizeof *out->motions);
    for (size_t m = 0; m < count; m++) {
        PyObject *name, *times, *locals;
        if (!out->motions || !PyArg_ParseTuple(PyList_GetItem(motions, (Py_ssize_t)m), "OOO", &name, &times, &locals))
            return false;
        PyObject *arrays = Py_BuildValue("{s:O}", "times", times); /* copied */
        size_t frames[1] = {SIZE_MAX};
        float *copy = NULL;
        bool ok = arrays && copy_item(model, arrays, "times", 'f', 1, frames, &copy);
        Py_XDECREF(arrays);
        size_t shape[3] = {frames[0], out->skeleton.joint_count, 10};
        Py_buffer view;
        pelt_motion *motion = &out->motions[m];
        if (!ok || !(motion->name = copy_text(model, name)) ||
            !array_take(locals, "motion", 'f', ARRAY_READ, 3, shape, &view))
            return false;
        if (frames[0]) {
            motion->start = copy[0];
            motion->end = copy[frames[0] - 1];
            ok = build_tracks(model, motion, copy, view.buf, frames[0]);
        }
        PyBuffer_Release(&view);
        if (!ok)
            return false;
        out->motion_count++;
    }
    return true;
}

/* build(parts, settings): a model of arrays; see pelt/model.py. */
static PyObject *build(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *parts, *settings;
    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &parts, &settings))
        return NULL;
    model_object *model = model_new(settings, NULL);
    if (model && build_mesh(model, parts) && build_clips(model, parts) && build_skeleton(model, parts) &&
        build_skin(model, parts) && build_motions(model, parts) &&
        session_check(model->session, pelt_model_validate(model->session->context, model->model)))
        return (PyObject *)model;
    Py_XDECREF((PyObject *)model);
    return NULL;
}

/* with_clip(model, clip): a model with one more clip, (name, times, positions). */
static PyObject *with_clip(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *source, *clip;
    if (!PyArg_ParseTuple(args, "OO!", &source, &PyTuple_Type, &clip) || !model_of(source, "model"))
        return NULL;
    model_object *model = model_new(NULL, (model_object *)source);
    if (model && grow_clips(model, 1) && add_clip(model, clip) &&
        session_check(model->session, pelt_model_validate(model->session->context, model->model)))
        return (PyObject *)model;
    Py_XDECREF((PyObject *)model);
    return NULL;
}

/* ---- What a model has ------------------------------------------------------------------------------------------ */

static bool set_item(PyObject *dict, const char *name, PyObject *value) {
    bool ok = value && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
    return ok;
}

static PyObject *text(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* Model.arrays(): dict of arrays, None where the model has none. */
static PyObject *model_arrays(PyObject *self, PyObject *Py_UNUSED(unused)) {
    const pelt_model *model = ((model_object *)self)->model;
    const pelt_mesh *mesh = &model->mesh;
    const pelt_skin *skin = &model->skin;
    size_t n = mesh->vertex_count, p = skin->bone_count, j = model->skeleton.joint_count;
    const struct {
        const char *name;
        const void *data;
        char format;
        int dimensions;
        size_t shape[ARRAY_DIMENSIONS];
    } arrays[] = {
        {"positions", n ? mesh->positions : NULL, 'f', 2, {n, 3}},
        {"normals", mesh->normals, 'f', 2, {n, 3}},
        {"tangents", mesh->tangents, 'f', 2, {n, 4}},
        {"uvs", mesh->uvs, 'f', 2, {n, 2}},
        {"triangles", mesh->triangle_count ? mesh->triangles : NULL, 'I', 2, {mesh->triangle_count, 3}},
        {"points", mesh->points.of, 'I', 1, {n}},
        {"parents", j ? model->skeleton.parents : NULL, 'I', 1, {j}},
        {"rest", j ? (const void *)model->skeleton.rest : NULL, 'f', 2, {j, 10}},
        {"bones", p ? skin->bones : NULL, 'H', 2, {n, skin->influence_count}},
        {"weights", p ? skin->weights : NULL, 'f', 2, {n, skin->influence_count}},
        {"bone_joints", p ? skin->bone_joints : NULL, 'I', 1, {p}},
        {"inverse_binds", p ? (const void *)skin->inverse_binds : NULL, 'f', 3, {p, 3, 4}},
    };
    PyObject *dict = PyDict_New();
    for (size_t a = 0; dict && a < sizeof arrays / sizeof *arrays; a++)
        if (!set_item(dict, arrays[a].name,
                      array_new(self, arrays[a].data, arrays[a].format, arrays[a].dimensions, arrays[a].shape)))
            Py_CLEAR(dict);
    return dict;
}

static bool append(PyObject *list, PyObject *value) {
    bool ok = value && PyList_Append(list, value) == 0;
    Py_XDECREF(value);
    return ok;
}

/* Model.names(): dict of lists: joints, parts, morphs, clips [(name, times)], motions [(name, start, end)]. */
static PyObject *model_names(PyObject *self, PyObject *Py_UNUSED(unused)) {
    const pelt_model *model = ((model_object *)self)->model;
    PyObject *joints = PyList_New(0), *parts = PyList_New(0), *morphs = PyList_New(0), *clips = PyList_New(0),
             *motions = PyList_New(0);
    bool ok = joints && parts && morphs && clips && motions;
    for (uint32_t i = 0; ok && i < model->skeleton.joint_count; i++)
        ok = append(joints, text(model->skeleton.names[i]));
    for (uint32_t i = 0; ok && i < model->mesh.part_count; i++)
        ok = append(parts, text(model->mesh.parts[i].name));
    for (uint32_t i = 0; ok && i < model->morphs.morph_count; i++)
        ok = append(morphs, text(model->morphs.morphs[i].name));
    for (uint32_t i = 0; ok && i < model->clip_count; i++) {
        size_t frames[1] = {model->clips[i].frame_count};
        ok = append(clips, Py_BuildValue("NN", text(model->clips[i].name),
                                         array_new(self, model->clips[i].times, 'f', 1, frames)));
    }
    for (uint32_t i = 0; ok && i < model->motion_count; i++)
        ok = append(motions, Py_BuildValue("Ndd", text(model->motions[i].name), (double)model->motions[i].start,
                                           (double)model->motions[i].end));
    PyObject *dict = ok ? Py_BuildValue("{s:O,s:O,s:O,s:O,s:O}", "joints", joints, "parts", parts, "morphs", morphs,
                                        "clips", clips, "motions", motions)
                        : NULL;
    Py_XDECREF(joints);
    Py_XDECREF(parts);
    Py_XDECREF(morphs);
    Py_XDECREF(clips);
    Py_XDECREF(motions);
    return dict;
}

/* Model.warnings(): what the call that made the model wanted to say. */
static PyObject *model_warnings(PyObject *self, PyObject *Py_UNUSED(unused)) {
    return PyList_GetSlice(((model_object *)self)->session->warnings, 0, PY_SSIZE_T_MAX);
}

/* Model.memory(): bytes allocated now, and the most at once. */
static PyObject *model_memory(PyObject *self, PyObject *Py_UNUSED(unused)) {
    pelt_memory_info info = pelt_context_memory(((model_object *)self)->session->context);
    return Py_BuildValue("nn", (Py_ssize_t)info.current, (Py_ssize_t)info.peak);
}

/* Model.clip(index): the positions of a clip, an array; None where they are read from a file piece by piece. */
static PyObject *model_clip(PyObject *self, PyObject *args) {
    const pelt_model *model = ((model_object *)self)->model;
    unsigned int index;
    if (!PyArg_ParseTuple(args, "I", &index))
        return NULL;
    if (index >= model->clip_count)
        return PyErr_Format(PyExc_IndexError, "the model has %u clips", model->clip_count);
    const pelt_clip *clip = &model->clips[index];
    size_t shape[3] = {clip->frame_count, clip->point_count, 3};
    return array_new(self, clip->positions, 'f', 3, shape);
}

static pelt_result read_frames(pelt_context *context, const pelt_clip *clip, uint32_t first, uint32_t count,
                               float *out) {
    for (uint32_t k = 0; k < count; k++) {
        pelt_result result =
            pelt_clip_read(context, clip, first + k, 0, clip->point_count, out + (size_t)k * clip->point_count * 3);
        if (result)
            return result;
    }
    return PELT_OK;
}

/* Model.read_clip(index, first frame, out [frame][point][3]). */
static PyObject *model_read_clip(PyObject *self, PyObject *args) {
    model_object *object = (model_object *)self;
    unsigned int index, first;
    PyObject *out;
    if (!PyArg_ParseTuple(args, "IIO", &index, &first, &out))
        return NULL;
    if (index >= object->model->clip_count)
        return PyErr_Format(PyExc_IndexError, "the model has %u clips", object->model->clip_count);
    const pelt_clip *clip = &object->model->clips[index];
    size_t shape[3] = {SIZE_MAX, clip->point_count, 3};
    Py_buffer view;
    if (!array_take(out, "out", 'f', ARRAY_WRITE, 3, shape, &view))
        return NULL;
    bool ok = first <= clip->frame_count && shape[0] <= clip->frame_count - first;
    if (!ok)
        PyErr_Format(PyExc_IndexError, "the clip has %u frames", clip->frame_count);
    else
        ok = CALL(object->session, read_frames(object->session->context, clip, first, (uint32_t)shape[0], view.buf));
    PyBuffer_Release(&view);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* ---- Motions --------------------------------------------------------------------------------------------------- */

bool model_motion(const pelt_model *model, Py_ssize_t index, const pelt_motion **motion) {
    *motion = index >= 0 && index < model->motion_count ? &model->motions[index] : NULL;
    if (*motion || index == -1)
        return true;
    PyErr_Format(PyExc_IndexError, "motion %zd: the model has %u motions", index, model->motion_count);
    return false;
}

typedef struct play_job {
    const pelt_model *model;
    const pelt_motion *motion;
    const float *times;
    size_t frame_count;
    pelt_skinning skinning;
    float *positions; /* [frame][vertex][3] */
    float *normals;   /* the same, or NULL */
} play_job;

static pelt_result play(pelt_context *context, const play_job *job) {
    size_t frame = (size_t)job->model->mesh.vertex_count * 3;
    for (size_t k = 0; k < job->frame_count; k++) {
        pelt_result result =
            pelt_model_pose(context, job->model, job->motion, job->times[k], job->skinning, job->positions + k * frame,
                            job->normals ? job->normals + k * frame : NULL);
        if (result)
            return result;
    }
    return PELT_OK;
}

/* Model.play(motion, times [frame], dual, positions [frame][vertex][3], normals or None). */
static PyObject *model_play(PyObject *self, PyObject *args) {
    model_object *object = (model_object *)self;
    Py_ssize_t motion;
    PyObject *times, *positions, *normals;
    int dual;
    if (!PyArg_ParseTuple(args, "nOpOO", &motion, &times, &dual, &positions, &normals))
        return NULL;
    play_job job = {.model = object->model, .skinning = dual ? PELT_SKINNING_DUAL_QUATERNION : PELT_SKINNING_LINEAR};
    if (!model_motion(job.model, motion, &job.motion))
        return NULL;
    size_t frames[1] = {SIZE_MAX};
    Py_buffer views[3] = {{0}, {0}, {0}};
    bool ok = array_take(times, "times", 'f', ARRAY_READ, 1, frames, &views[0]);
    size_t shape[3] = {frames[0], job.model->mesh.vertex_count, 3};
    ok = ok && array_take(positions, "positions", 'f', ARRAY_WRITE, 3, shape, &views[1]) &&
         (normals == Py_None || array_take(normals, "normals", 'f', ARRAY_WRITE, 3, shape, &views[2]));
    if (ok && views[2].buf && !job.model->mesh.normals) {
        PyErr_SetString(PyExc_ValueError, "the model has no normals");
        ok = false;
    }
    if (ok) {
        job.times = views[0].buf;
        job.frame_count = frames[0];
        job.positions = views[1].buf;
        job.normals = views[2].buf;
        ok = CALL(object->session, play(object->session->context, &job));
    }
    for (int v = 0; v < 3; v++)
        PyBuffer_Release(&views[v]);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* Model.sample(motion, times [frame], locals [frame][joint][10], weights [frame][morph], palette [frame][bone][3][4]): the last
 * three are filled, each may be None. Drivers are run. */
static PyObject *model_sample(PyObject *self, PyObject *args) {
    model_object *object = (model_object *)self;
    const pelt_model *model = object->model;
    Py_ssize_t index;
    PyObject *times, *outs[3];
    const pelt_motion *motion;
    if (!PyArg_ParseTuple(args, "nOOOO", &index, &times, &outs[0], &outs[1], &outs[2]) ||
        !model_motion(model, index, &motion))
        return NULL;
    uint32_t joint_count = model->skeleton.joint_count, morph_count = model->morphs.morph_count,
             bone_count = model->skin.bone_count;
    size_t frames[1] = {SIZE_MAX};
    Py_buffer views[4] = {{0}, {0}, {0}, {0}};
    bool ok = array_take(times, "times", 'f', ARRAY_READ, 1, frames, &views[0]);
    size_t sizes[3] = {(size_t)joint_count * 10, morph_count, (size_t)bone_count * 12};
    for (int o = 0; ok && o < 3; o++) {
        size_t shape[2] = {frames[0], sizes[o]};
        ok = outs[o] == Py_None || array_take(outs[o], "out", 'f', ARRAY_WRITE, 2, shape, &views[o + 1]);
    }
    pelt_transform *locals = ok ? PyMem_Calloc(joint_count + 1, sizeof *locals) : NULL;
    pelt_affine *globals = ok ? PyMem_Calloc(joint_count + 1, sizeof *globals) : NULL;
    float *weights = ok ? PyMem_Calloc(morph_count + 1, sizeof *weights) : NULL;
    if (ok && (!locals || !globals || !weights)) {
        PyErr_NoMemory();
        ok = false;
    }
    for (size_t k = 0; ok && k < frames[0]; k++) {
        pelt_motion_sample(model, motion, ((const float *)views[0].buf)[k], locals, weights);
        pelt_pose_weights(model, locals, weights);
        pelt_skeleton_globals(&model->skeleton, locals, globals);
        if (views[1].buf)
            memcpy((float *)views[1].buf + k * sizes[0], locals, joint_count * sizeof *locals);
        if (views[2].buf)
            memcpy((float *)views[2].buf + k * sizes[1], weights, morph_count * sizeof *weights);
        if (views[3].buf)
            pelt_skin_palette(&model->skin, globals, (pelt_affine *)views[3].buf + k * bone_count);
    }
    PyMem_Free(locals);
    PyMem_Free(globals);
    PyMem_Free(weights);
    for (int v = 0; v < 4; v++)
        PyBuffer_Release(&views[v]);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* Model.driven(locals [joint][10], weights [morph]): fills weights: those at rest, and of driven morphs those of the pose. */
static PyObject *model_driven(PyObject *self, PyObject *args) {
    const pelt_model *model = ((model_object *)self)->model;
    PyObject *locals, *weights;
    Py_buffer views[2] = {{0}, {0}};
    size_t joints[2] = {model->skeleton.joint_count, 10}, morphs[1] = {model->morphs.morph_count};
    bool ok = PyArg_ParseTuple(args, "OO", &locals, &weights) &&
              array_take(locals, "locals", 'f', ARRAY_READ, 2, joints, &views[0]) &&
              array_take(weights, "weights", 'f', ARRAY_WRITE, 1, morphs, &views[1]);
    if (ok) {
        pelt_motion_sample(model, NULL, 0, NULL, views[1].buf);
        pelt_pose_weights(model, views[0].buf, views[1].buf);
    }
    PyBuffer_Release(&views[0]);
    PyBuffer_Release(&views[1]);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* Model.pose(locals [joint][10], weights [morph], dual, positions [vertex][3], normals or None). */
static PyObject *model_pose(PyObject *self, PyObject *args) {
    model_object *object = (model_object *)self;
    const pelt_model *model = object->model;
    PyObject *locals, *weights, *positions, *normals;
    int dual;
    if (!PyArg_ParseTuple(args, "OOpOO", &locals, &weights, &dual, &positions, &normals))
        return NULL;
    Py_buffer views[4] = {{0}, {0}, {0}, {0}};
    size_t joints[2] = {model->skeleton.joint_count, 10}, morphs[1] = {model->morphs.morph_count},
           vertices[2] = {model->mesh.vertex_count, 3};
    bool ok = array_take(locals, "locals", 'f', ARRAY_READ, 2, joints, &views[0]) &&
              array_take(weights, "weights", 'f', ARRAY_READ, 1, morphs, &views[1]) &&
              array_take(positions, "positions", 'f', ARRAY_WRITE, 2, vertices, &views[2]) &&
              (normals == Py_None || array_take(normals, "normals", 'f', ARRAY_WRITE, 2, vertices, &views[3]));
    if (ok && views[3].buf && !model->mesh.normals) {
        PyErr_SetString(PyExc_ValueError, "the model has no normals");
        ok = false;
    }
    ok = ok && CALL(object->session, pelt_model_pose_locals(object->session->context, model, views[0].buf, views[1].buf,
                                                            dual ? PELT_SKINNING_DUAL_QUATERNION : PELT_SKINNING_LINEAR,
                                                            views[2].buf, views[3].buf));
    for (int v = 0; v < 4; v++)
        PyBuffer_Release(&views[v]);
    return ok ? Py_NewRef(Py_None) : NULL;
}

bool model_add_type(PyObject *module) {
    static PyMethodDef methods[] = {
        {"save", model_save, METH_VARARGS, NULL},           {"arrays", model_arrays, METH_NOARGS, NULL},
        {"names", model_names, METH_NOARGS, NULL},          {"warnings", model_warnings, METH_NOARGS, NULL},
        {"memory", model_memory, METH_NOARGS, NULL},        {"clip", model_clip, METH_VARARGS, NULL},
        {"read_clip", model_read_clip, METH_VARARGS, NULL}, {"play", model_play, METH_VARARGS, NULL},
        {"sample", model_sample, METH_VARARGS, NULL},       {"pose", model_pose, METH_VARARGS, NULL},
        {"driven", model_driven, METH_VARARGS, NULL},       {NULL, NULL, 0, NULL}};
    PyType_Slot slots[] = {{Py_tp_dealloc, model_dealloc}, {Py_tp_methods, methods}, {0, NULL}};
    PyType_Spec spec = {.name = "pelt._pelt.Model",
                        .basicsize = sizeof(model_object),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    model_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return model_type && PyModule_AddType(module, model_type) == 0;
}

PyMethodDef model_functions[] = {{"load", load, METH_VARARGS, NULL},
                                 {"load_memory", load_memory, METH_VARARGS, NULL},
                                 {"build", build, METH_VARARGS, NULL},
                                 {"with_clip", with_clip, METH_VARARGS, NULL},
                                 {NULL, NULL, 0, NULL}};
