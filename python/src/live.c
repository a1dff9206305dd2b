/* Objects that a host keeps and calls every frame: bindings, simulations, prepared skins; and skinning of arrays. */
#include "binding.h"

/* ---- Binding ---------------------------------------------------------------------------------------------------- */

typedef struct binding_object {
    PyObject_HEAD model_object *model; /* the binding's own; changed by every call */
    pelt_binding *binding;
    model_object *skeleton; /* or NULL */
} binding_object;

static PyTypeObject *binding_type, *jiggle_type, *prepared_type;

/* A new object with everything behind its head zeroed. */
static void *object_new(PyTypeObject *type, size_t size) {
    PyObject *object = PyObject_New(PyObject, type);
    if (object)
        memset((char *)object + sizeof(PyObject), 0, size - sizeof(PyObject));
    return object;
}

/* binding(model, options, inputs, settings). */
static PyObject *binding(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *source, *options, *inputs, *settings;
    if (!PyArg_ParseTuple(args, "OO!O!O", &source, &PyDict_Type, &options, &PyDict_Type, &inputs, &settings) ||
        !model_of(source, "model"))
        return NULL;
    binding_object *self = object_new(binding_type, sizeof *self);
    if (!self)
        return NULL;
    self->model = model_new(settings, (model_object *)source);
    pelt_bind_desc desc;
    Py_buffer view = {0};
    bool ok = self->model && options_take(self->model->session, bind_parts, 1, &desc, sizeof desc, options) &&
              bind_take_inputs(&desc, self->model->model, inputs, &self->skeleton, &view);
    if (ok) {
        Py_XINCREF((PyObject *)self->skeleton);
        /* Each call of `apply` gives all settings: what the binding keeps of these is not used. */
        desc.vertex_falloff = NULL;
        ok = CALL(self->model->session,
                  pelt_binding_create(self->model->session->context, self->model->model, &desc, &self->binding));
    } else
        self->skeleton = NULL;
    PyBuffer_Release(&view);
    if (!ok)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void binding_dealloc(PyObject *object) {
    binding_object *self = (binding_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    pelt_binding_destroy(self->binding);
    Py_XDECREF((PyObject *)self->model);
    Py_XDECREF((PyObject *)self->skeleton);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* Copies of the arrays of a skin, which the next call replaces. */
static pelt_result copy_skin(pelt_context *context, pelt_model *model) {
    pelt_skin *skin = &model->skin;
    size_t influences = (size_t)model->mesh.vertex_count * skin->influence_count;
    const struct {
        void **array;
        size_t size;
    } arrays[] = {{(void **)&skin->bones, influences * sizeof *skin->bones},
                  {(void **)&skin->weights, influences * sizeof *skin->weights},
                  {(void **)&skin->bone_joints, skin->bone_count * sizeof *skin->bone_joints},
                  {(void **)&skin->inverse_binds, skin->bone_count * sizeof *skin->inverse_binds}};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) {
        void *copy = pelt_model_alloc(context, model, arrays[a].size, 1);
        if (!copy)
            return PELT_ERROR_MEMORY;
        memcpy(copy, *arrays[a].array, arrays[a].size);
        *arrays[a].array = copy;
    }
    return PELT_OK;
}

/* Binding.apply(options, inputs, pose [joint][10] or None): a new model with the weights. */
static PyObject *binding_apply(PyObject *object, PyObject *args) {
    binding_object *self = (binding_object *)object;
    py_session *session = self->model->session;
    PyObject *options, *inputs, *pose;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyDict_Type, &options, &PyDict_Type, &inputs, &pose))
        return NULL;
    pelt_bind_desc desc;
    model_object *skeleton;
    Py_buffer falloff = {0}, locals = {0};
    const pelt_model *posed = self->skeleton ? self->skeleton->model : self->model->model;
    size_t joints[2] = {posed->skeleton.joint_count, 10};
    bool ok = options_take(session, bind_parts, 1, &desc, sizeof desc, options) &&
              bind_take_inputs(&desc, self->model->model, inputs, &skeleton, &falloff) &&
              (pose == Py_None || array_take(pose, "pose", 'f', ARRAY_READ, 2, joints, &locals));
    desc.skeleton = self->skeleton ? self->skeleton->model : NULL;
    ok = ok && CALL(session, pelt_binding_apply_pose(self->binding, &desc, locals.buf));
    PyBuffer_Release(&falloff);
    PyBuffer_Release(&locals);
    model_object *result = ok ? model_new(NULL, self->model) : NULL;
    if (result && self->skeleton)
        model_keep(result, (PyObject *)self->skeleton);
    if (result && !session_check(result->session, copy_skin(result->session->context, result->model)))
        Py_CLEAR(result);
    return (PyObject *)result;
}

static PyObject *binding_report(PyObject *object, PyObject *Py_UNUSED(unused)) {
    pelt_bind_report report = pelt_binding_report(((binding_object *)object)->binding);
    return bind_report(&report);
}

/* ---- Jiggle ------------------------------------------------------------------------------------------------------ */

typedef struct jiggle_object {
    PyObject_HEAD model_object *model; /* borrows the caller's */
    pelt_jiggle *jiggle;
} jiggle_object;

static bool take_forces(PyObject *tuple, pelt_jiggle_forces *forces) {
    *forces = (pelt_jiggle_forces){0};
    return PyArg_ParseTuple(tuple, "(fff)(fff)f", &forces->gravity[0], &forces->gravity[1], &forces->gravity[2],
                            &forces->wind[0], &forces->wind[1], &forces->wind[2], &forces->drag);
}

/* (kind, joint or -1, a, b, radius, friction). */
static bool take_collider(PyObject *tuple, pelt_collider *collider) {
    *collider = (pelt_collider){0};
    int kind, joint;
    if (!PyArg_ParseTuple(tuple, "ii(fff)(fff)ff", &kind, &joint, &collider->a[0], &collider->a[1], &collider->a[2],
                          &collider->b[0], &collider->b[1], &collider->b[2], &collider->radius, &collider->friction))
        return false;
    collider->kind = (pelt_collider_kind)kind;
    collider->joint = joint < 0 ? PELT_NONE : (uint32_t)joint;
    return true;
}

/* Maps of a dict {"stiffness": [vertex] …}; `views` [4] must live as long as the maps. */
static bool take_maps(PyObject *dict, size_t vertex_count, pelt_jiggle_maps *maps, Py_buffer views[4]) {
    static const char *const names[4] = {"stiffness", "damping", "delta", "pin"};
    size_t shape[1] = {vertex_count};
    for (int m = 0; m < 4; m++)
        if (!array_take_item(dict, names[m], 'f', 1, shape, &views[m]))
            return false;
    *maps = (pelt_jiggle_maps){views[0].buf, views[1].buf, views[2].buf, views[3].buf};
    return true;
}

/* jiggle(model, options, forces, maps, colliders, settings). */
static PyObject *jiggle(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *source, *options, *forces, *map_dict, *colliders, *settings;
    if (!PyArg_ParseTuple(args, "OO!O!O!O!O", &source, &PyDict_Type, &options, &PyTuple_Type, &forces, &PyDict_Type,
                          &map_dict, &PyList_Type, &colliders, &settings) ||
        !model_of(source, "model"))
        return NULL;
    jiggle_object *self = object_new(jiggle_type, sizeof *self);
    if (!self)
        return NULL;
    self->model = model_new(settings, (model_object *)source);
    pelt_jiggle_desc desc;
    Py_buffer views[4] = {{0}, {0}, {0}, {0}};
    size_t count = (size_t)PyList_Size(colliders);
    pelt_collider *solids = PyMem_Calloc(count + 1, sizeof *solids);
    bool ok = self->model && solids &&
              options_take(self->model->session, jiggle_parts, 1, &desc, sizeof desc, options) &&
              take_forces(forces, &desc.forces) &&
              take_maps(map_dict, self->model->model->mesh.vertex_count, &desc.maps, views);
    for (size_t c = 0; ok && c < count; c++)
        ok = take_collider(PyList_GetItem(colliders, (Py_ssize_t)c), &solids[c]);
    if (ok) {
        desc.colliders = solids;
        desc.collider_count = (uint32_t)count;
        ok = CALL(self->model->session,
                  pelt_jiggle_create(self->model->session->context, self->model->model, &desc, &self->jiggle));
    }
    for (int v = 0; v < 4; v++)
        PyBuffer_Release(&views[v]);
    PyMem_Free(solids);
    if (!ok)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void jiggle_dealloc(PyObject *object) {
    jiggle_object *self = (jiggle_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    pelt_jiggle_destroy(self->jiggle);
    Py_XDECREF((PyObject *)self->model);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* Jiggle.set_pose(locals [joint][10], weights [morph] or None). */
static PyObject *jiggle_set_pose(PyObject *object, PyObject *args) {
    jiggle_object *self = (jiggle_object *)object;
    const pelt_model *model = self->model->model;
    PyObject *locals, *weights;
    Py_buffer views[2] = {{0}, {0}};
    size_t joints[2] = {model->skeleton.joint_count, 10}, morphs[1] = {model->morphs.morph_count};
    bool ok = PyArg_ParseTuple(args, "OO", &locals, &weights) &&
              array_take(locals, "locals", 'f', ARRAY_READ, 2, joints, &views[0]) &&
              (weights == Py_None || array_take(weights, "weights", 'f', ARRAY_READ, 1, morphs, &views[1]));
    if (ok) {
        session_begin(self->model->session);
        pelt_jiggle_set_pose(self->jiggle, views[0].buf);
        if (views[1].buf)
            pelt_jiggle_set_weights(self->jiggle, views[1].buf);
        ok = session_end(self->model->session, PELT_OK);
    }
    PyBuffer_Release(&views[0]);
    PyBuffer_Release(&views[1]);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* Jiggle.step(seconds, positions [vertex][3] or None, normals or None). */
static PyObject *jiggle_step(PyObject *object, PyObject *args) {
    jiggle_object *self = (jiggle_object *)object;
    double seconds;
    PyObject *positions, *normals;
    Py_buffer views[2] = {{0}, {0}};
    size_t shape[2] = {self->model->model->mesh.vertex_count, 3};
    bool ok = PyArg_ParseTuple(args, "dOO", &seconds, &positions, &normals) &&
              (positions == Py_None || array_take(positions, "positions", 'f', ARRAY_WRITE, 2, shape, &views[0])) &&
              (normals == Py_None || array_take(normals, "normals", 'f', ARRAY_WRITE, 2, shape, &views[1]));
    if (ok) {
        session_begin(self->model->session);
        pelt_jiggle_step(self->jiggle, seconds);
        if (views[0].buf)
            pelt_jiggle_positions(self->jiggle, views[0].buf, views[1].buf);
        ok = session_end(self->model->session, PELT_OK);
    }
    PyBuffer_Release(&views[0]);
    PyBuffer_Release(&views[1]);
    return ok ? Py_NewRef(Py_None) : NULL;
}

static PyObject *jiggle_reset(PyObject *object, PyObject *Py_UNUSED(unused)) {
    pelt_jiggle_reset(((jiggle_object *)object)->jiggle);
    return Py_NewRef(Py_None);
}

static PyObject *jiggle_set_forces(PyObject *object, PyObject *args) {
    pelt_jiggle_forces forces;
    if (!take_forces(args, &forces))
        return NULL;
    pelt_jiggle_set_forces(((jiggle_object *)object)->jiggle, &forces);
    return Py_NewRef(Py_None);
}

/* Jiggle.set_maps(dict). */
static PyObject *jiggle_set_maps(PyObject *object, PyObject *args) {
    jiggle_object *self = (jiggle_object *)object;
    PyObject *dict;
    pelt_jiggle_maps maps;
    Py_buffer views[4] = {{0}, {0}, {0}, {0}};
    bool ok = PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict) &&
              take_maps(dict, self->model->model->mesh.vertex_count, &maps, views);
    if (ok)
        pelt_jiggle_set_values(self->jiggle, NULL, 0, &maps);
    for (int v = 0; v < 4; v++)
        PyBuffer_Release(&views[v]);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* Jiggle.lattice(): copies of cells [cell][8] and particles [particle][4] as bytes. */
static PyObject *jiggle_lattice(PyObject *object, PyObject *Py_UNUSED(unused)) {
    pelt_jiggle_lattice lattice = pelt_jiggle_get_lattice(((jiggle_object *)object)->jiggle);
    return Py_BuildValue("y#y#", (const char *)lattice.cells, (Py_ssize_t)(lattice.cell_count * sizeof *lattice.cells),
                         (const char *)lattice.positions,
                         (Py_ssize_t)(lattice.particle_count * sizeof *lattice.positions));
}

/* ---- Prepared skins ---------------------------------------------------------------------------------------------- */

typedef struct prepared_object {
    PyObject_HEAD model_object *model;
    pelt_prepared_skin prepared;
} prepared_object;

/* prepare(model, settings). */
static PyObject *prepare(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *source, *settings;
    if (!PyArg_ParseTuple(args, "OO", &source, &settings) || !model_of(source, "model"))
        return NULL;
    if (!((model_object *)source)->model->skin.bone_count) {
        PyErr_SetString(PyExc_ValueError, "the model has no skin");
        return NULL;
    }
    prepared_object *self = object_new(prepared_type, sizeof *self);
    if (!self)
        return NULL;
    self->model = model_new(settings, (model_object *)source);
    if (!self->model || !CALL(self->model->session,
                              pelt_skin_prepare(self->model->session->context, self->model->model, &self->prepared)))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void prepared_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF((PyObject *)((prepared_object *)object)->model); /* which owns the arrays */
    PyObject_Free(object);
    Py_DECREF(type);
}

/* Prepared.run(palette [bone][3][4], positions [vertex][3], normals or None). */
static PyObject *prepared_run(PyObject *object, PyObject *args) {
    prepared_object *self = (prepared_object *)object;
    PyObject *palette, *positions, *normals;
    Py_buffer views[3] = {{0}, {0}, {0}};
    size_t bones[3] = {self->prepared.bone_count, 3, 4}, shape[2] = {self->prepared.vertex_count, 3};
    bool ok = PyArg_ParseTuple(args, "OOO", &palette, &positions, &normals) &&
              array_take(palette, "palette", 'f', ARRAY_READ, 3, bones, &views[0]) &&
              array_take(positions, "positions", 'f', ARRAY_WRITE, 2, shape, &views[1]) &&
              (normals == Py_None || array_take(normals, "normals", 'f', ARRAY_WRITE, 2, shape, &views[2]));
    if (ok && views[2].buf && !self->prepared.normals) {
        PyErr_SetString(PyExc_ValueError, "the model has no normals");
        ok = false;
    }
    pelt_prepared_job job = {.prepared = &self->prepared,
                             .group_count = PELT_NONE,
                             .palette = views[0].buf,
                             .out_positions = views[1].buf,
                             .out_normals = views[2].buf,
                             .mesh_order = true};
    ok = ok && CALL(self->model->session, pelt_prepared_run_threads(self->model->session->context, &job));
    for (int v = 0; v < 3; v++)
        PyBuffer_Release(&views[v]);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* ---- Skinning of arrays ------------------------------------------------------------------------------------------ */

/* True when every index is below `count`: kernels do not check. */
static bool indices_below(const uint16_t *indices, size_t length, size_t count) {
    uint16_t largest = 0; /* of the same width: the compiler uses vectors */
    for (size_t i = 0; i < length; i++)
        largest = indices[i] > largest ? indices[i] : largest;
    return largest < count;
}

/* skin(bones [vertex][K], weights, palette [bone][3][4], positions, normals or None, out positions, out normals or None). */
static PyObject *skin(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *objects[7];
    if (!PyArg_ParseTuple(args, "OOOOOOO", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4], &objects[5],
                          &objects[6]))
        return NULL;
    Py_buffer views[7] = {{0}, {0}, {0}, {0}, {0}, {0}, {0}};
    size_t influences[2] = {SIZE_MAX, SIZE_MAX}, bones[3] = {SIZE_MAX, 3, 4};
    bool ok = array_take(objects[0], "joints", 'H', ARRAY_READ, 2, influences, &views[0]) &&
              array_take(objects[1], "weights", 'f', ARRAY_READ, 2, influences, &views[1]) &&
              array_take(objects[2], "palette", 'f', ARRAY_READ, 3, bones, &views[2]);
    size_t vertices[2] = {influences[0], 3};
    ok = ok && array_take(objects[3], "positions", 'f', ARRAY_READ, 2, vertices, &views[3]) &&
         (objects[4] == Py_None || array_take(objects[4], "normals", 'f', ARRAY_READ, 2, vertices, &views[4])) &&
         array_take(objects[5], "out", 'f', ARRAY_WRITE, 2, vertices, &views[5]) &&
         (objects[6] == Py_None || array_take(objects[6], "out_normals", 'f', ARRAY_WRITE, 2, vertices, &views[6]));
    if (ok && (influences[1] < 1 || influences[1] > PELT_MAX_INFLUENCES || influences[0] > UINT32_MAX)) {
        PyErr_SetString(PyExc_ValueError, "a vertex has 1 to 8 influences");
        ok = false;
    }
    if (ok && !indices_below(views[0].buf, influences[0] * influences[1], bones[0])) {
        PyErr_SetString(PyExc_IndexError, "an index of joints is not below the number of matrices");
        ok = false;
    }
    if (ok) {
        pelt_skin_job job = {.vertex_count = (uint32_t)influences[0],
                             .influence_count = (uint32_t)influences[1],
                             .bones = views[0].buf,
                             .weights = views[1].buf,
                             .palette = views[2].buf,
                             .positions = views[3].buf,
                             .normals = views[4].buf,
                             .out_positions = views[5].buf,
                             .out_normals = views[6].buf};
        Py_BEGIN_ALLOW_THREADS pelt_skin_run(&job);
        Py_END_ALLOW_THREADS
    }
    for (int v = 0; v < 7; v++)
        PyBuffer_Release(&views[v]);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* ---- Types ------------------------------------------------------------------------------------------------------- */

static bool add_type(PyObject *module, const char *name, size_t size, destructor dealloc, PyMethodDef *methods,
                     PyTypeObject **type) {
    PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0, NULL}};
    PyType_Spec spec = {.name = name,
                        .basicsize = (int)size,
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return *type && PyModule_AddType(module, *type) == 0;
}

bool live_add_types(PyObject *module) {
    static PyMethodDef binding_methods[] = {{"apply", binding_apply, METH_VARARGS, NULL},
                                            {"report", binding_report, METH_NOARGS, NULL},
                                            {NULL, NULL, 0, NULL}};
    static PyMethodDef jiggle_methods[] = {{"set_pose", jiggle_set_pose, METH_VARARGS, NULL},
                                           {"step", jiggle_step, METH_VARARGS, NULL},
                                           {"reset", jiggle_reset, METH_NOARGS, NULL},
                                           {"set_forces", jiggle_set_forces, METH_VARARGS, NULL},
                                           {"set_maps", jiggle_set_maps, METH_VARARGS, NULL},
                                           {"lattice", jiggle_lattice, METH_NOARGS, NULL},
                                           {NULL, NULL, 0, NULL}};
    static PyMethodDef prepared_methods[] = {{"run", prepared_run, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
    return add_type(module, "pelt._pelt.Binding", sizeof(binding_object), binding_dealloc, binding_methods,
                    &binding_type) &&
           add_type(module, "pelt._pelt.Jiggle", sizeof(jiggle_object), jiggle_dealloc, jiggle_methods, &jiggle_type) &&
           add_type(module, "pelt._pelt.Prepared", sizeof(prepared_object), prepared_dealloc, prepared_methods,
                    &prepared_type);
}

PyMethodDef live_functions[] = {{"binding", binding, METH_VARARGS, NULL},
                                {"jiggle", jiggle, METH_VARARGS, NULL},
                                {"prepare", prepare, METH_VARARGS, NULL},
                                {"skin", skin, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
