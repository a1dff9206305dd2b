/* Drivers: extras.pelt_drivers of the document, as docs/drivers.md describes it.
 *
 * Other programs do not interpret these extras and may renumber the nodes that they refer to. Inconsistent extras are
 * therefore not an error of the file: it is read without drivers, with a warning that states the reason.
 */
#include "core/driver.h"
#include "core/morphs.h"
#include "io/gltf_document.h"

#define KEY "pelt_drivers"
/* Version 2: at least one driver measures the rotation of its joint relative to another joint than its parent. */
#define VERSION          1u
#define VERSION_RELATIVE 2u

static const char *const PARTS[] = {"whole", "swing", "twist"};
static const char *const KERNELS[] = {"exponential", "gaussian", "thin-plate"};

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static pelt_result read_name(px_gltf *doc, const px_json *object, const char *key, const char *const names[3],
                             uint32_t *index) {
    const char *name = px_json_string(px_json_get(object, key), "");
    for (*index = 0; *index < 3; ++*index)
        if (strcmp(name, names[*index]) == 0)
            return PELT_OK;
    return px_gltf_fail(doc, "its %s is '%.40s', should be %s, %s or %s", key, name, names[0], names[1], names[2]);
}

static pelt_result read_floats(px_gltf *doc, const px_json *array, const char *what, uint32_t count, float *out) {
    bool fits = px_json_is(array, PX_JSON_ARRAY) && array->count == count;
    for (const px_json *item = fits ? array->first : NULL; item; item = item->next) {
        fits &= px_json_is(item, PX_JSON_NUMBER);
        *out++ = (float)px_json_double(item, 0);
    }
    return fits ? PELT_OK : px_gltf_fail(doc, "its %s must be %u numbers", what, count);
}

pelt_result px_gltf_read_list(px_gltf *doc, const px_json *object, const char *key, const px_json **list) {
    *list = px_json_get(object, key);
    return px_json_is(*list, PX_JSON_ARRAY) ? PELT_OK : px_gltf_fail(doc, "its \"%s\" must be a list", key);
}

pelt_result px_gltf_read_joint(px_gltf *doc, const px_json *object, const char *key, uint32_t *joint) {
    uint32_t node;
    PX_TRY(px_gltf_index(doc, object, key, doc->nodes.count, &node));
    if (node == PELT_NONE)
        return px_gltf_fail(doc, "its \"%s\" is missing", key);
    *joint = doc->node_joints[node];
    return PELT_OK;
}

static pelt_result read_joint(px_gltf *doc, const pelt_model *model, const px_json *json, pelt_driver *driver) {
    PX_TRY(px_gltf_read_joint(doc, json, "joint", &driver->joint));
    const char *is = model->skeleton.names[driver->joint], *was = px_json_string(px_json_get(json, "name"), is);
    if (strcmp(is, was) != 0)
        return px_gltf_fail(doc, "was made for joint '%.60s', but its node is '%.60s' now", was, is);
    return PELT_OK;
}

/* Reads the joint that the rotation is relative to: the first of the list. The other entries are its ancestors. */
static pelt_result read_against(px_gltf *doc, const px_json *json, pelt_driver *driver) {
    const px_json *list = px_json_get(json, "against");
    if (!list)
        return PELT_OK;
    uint64_t node =
        px_json_is(list, PX_JSON_ARRAY) && list->first ? px_json_uint(list->first, UINT32_MAX, PELT_NONE) : PELT_NONE;
    if (node >= doc->nodes.count)
        return px_gltf_fail(doc, "its \"against\" must be a list of nodes");
    driver->relative = true;
    driver->against = doc->node_joints[node];
    return PELT_OK;
}

static pelt_result read_centres(px_gltf *doc, const px_json *json, pelt_driver *driver) {
    const px_json *list;
    PX_TRY(px_gltf_read_list(doc, json, "centres", &list));
    float *centres = PX_GLTF_NEW(doc, float, 4 * (size_t)list->count);
    if (!centres)
        return doc->failure;
    driver->centres = centres;
    driver->centre_count = list->count;
    for (const px_json *item = list->first; item; item = item->next, centres += 4)
        PX_TRY(read_floats(doc, item, "centres", 4, centres));
    return PELT_OK;
}

static pelt_result read_targets(px_gltf *doc, const pelt_model *model, const px_json *json, pelt_driver *driver) {
    const px_json *list;
    PX_TRY(px_gltf_read_list(doc, json, "targets", &list));
    size_t width = (size_t)driver->centre_count + 1;
    uint32_t *morphs = PX_GLTF_NEW(doc, uint32_t, list->count);
    float *coefficients = morphs ? PX_GLTF_NEW(doc, float, px_mul_size(list->count, width)) : NULL;
    if (!coefficients)
        return doc->failure;
    driver->morphs = morphs;
    driver->coefficients = coefficients;
    driver->morph_count = list->count;
    for (const px_json *item = list->first; item; item = item->next, coefficients += width) {
        uint32_t joint = 0, target = 0;
        PX_TRY(px_gltf_read_joint(doc, item, "node", &joint));
        PX_TRY(px_gltf_index(doc, item, "target", PELT_NONE, &target));
        *morphs = px_morph_find(&model->morphs, joint, target);
        if (*morphs++ == PELT_NONE)
            return px_gltf_fail(doc, "node %u has no such morph target", doc->joint_nodes[joint]);
        PX_TRY(read_floats(doc, px_json_get(item, "coefficients"), "coefficients", (uint32_t)width, coefficients));
    }
    return PELT_OK;
}

static pelt_result read_driver(px_gltf *doc, const pelt_model *model, const px_json *json, pelt_driver *driver) {
    uint32_t part, kernel;
    PX_TRY(read_joint(doc, model, json, driver));
    PX_TRY(read_against(doc, json, driver));
    PX_TRY(read_name(doc, json, "part", PARTS, &part));
    PX_TRY(read_name(doc, json, "kernel", KERNELS, &kernel));
    driver->part = (pelt_rotation_part)part;
    driver->kernel = (pelt_kernel)kernel;
    if (driver->part != PELT_ROTATION_WHOLE)
        PX_TRY(read_floats(doc, px_json_get(json, "axis"), "axis", 3, driver->axis));
    driver->radius = (float)px_json_double(px_json_get(json, "radius"), 0);
    PX_TRY(read_centres(doc, json, driver));
    return read_targets(doc, model, json, driver);
}

static pelt_result read_drivers(px_gltf *doc, pelt_model *model, const px_json *json) {
    px_gltf_place(doc, "extras." KEY);
    uint64_t version = px_json_uint(px_json_get(json, "version"), UINT32_MAX, 0);
    if (version != VERSION && version != VERSION_RELATIVE)
        return px_gltf_fail(doc, "is not of version %u or %u", VERSION, VERSION_RELATIVE);
    const px_json *list;
    PX_TRY(px_gltf_read_list(doc, json, "drivers", &list));
    if (!(model->drivers = PX_GLTF_NEW(doc, pelt_driver, list->count)))
        return doc->failure;
    for (const px_json *item = list->first; item; item = item->next) {
        px_gltf_place(doc, "extras." KEY ": driver %u", model->driver_count);
        PX_TRY(read_driver(doc, model, item, &model->drivers[model->driver_count]));
        model->driver_count++;
    }
    return px_drivers_validate(doc->context, model);
}

void px_gltf_warn_extras(px_gltf *doc, const char *without) {
    const char *subject = px_subject(doc->context, NULL); /* the error text already names the file */
    px_log(doc->context, PELT_LOG_WARNING, "%s; the file is read without %s", pelt_error_text(doc->context), without);
    px_subject(doc->context, subject);
}

pelt_result px_gltf_read_drivers(px_gltf *doc, pelt_model *model) {
    const px_json *json = px_json_get(px_json_get(doc->root, "extras"), KEY);
    pelt_result result = json ? read_drivers(doc, model, json) : PELT_OK;
    if (result != PELT_ERROR_INPUT)
        return result;
    model->driver_count = 0;
    px_gltf_warn_extras(doc, "drivers of morphs");
    return PELT_OK;
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

/* Writes the nodes from `joint` up to, but without, the lowest common ancestor of driver->joint and driver->against. If
 * driver->against is that ancestor, it is in both lists, where its rotations cancel. */
static void put_chain(px_gltf_writer *w, px_json *json, const char *key, uint32_t joint, const pelt_driver *driver) {
    const uint32_t *parents = w->model->skeleton.parents;
    px_json *list = NULL;
    uint32_t other = joint == driver->against ? driver->joint : driver->against;
    for (; joint != PELT_NONE; joint = parents[joint]) {
        uint32_t above = other;
        while (above != PELT_NONE && above > joint)
            above = parents[above];
        if (above == joint && joint != driver->against)
            return;
        list = list ? list : px_gltf_put(w, json, key, px_json_array(w->arena));
        px_gltf_push_uint(w, list, w->joint_indices[joint]);
        if (above == joint)
            return;
    }
}

static void put_driver(px_gltf_writer *w, px_json *list, const pelt_driver *driver) {
    const pelt_model *model = w->model;
    px_json *json = px_gltf_push(w, list, px_json_object(w->arena));
    px_gltf_put_uint(w, json, "joint", w->joint_indices[driver->joint]);
    px_gltf_put(w, json, "name", px_json_new_string(w->arena, model->skeleton.names[driver->joint]));
    if (driver->relative) {
        put_chain(w, json, "against", driver->against, driver);
        if (model->skeleton.parents[driver->joint] != PELT_NONE)
            put_chain(w, json, "above", model->skeleton.parents[driver->joint], driver);
    }
    px_gltf_put(w, json, "part", px_json_new_string(w->arena, PARTS[driver->part]));
    if (driver->part != PELT_ROTATION_WHOLE)
        px_gltf_put_floats(w, json, "axis", driver->axis, 3);
    px_gltf_put(w, json, "kernel", px_json_new_string(w->arena, KERNELS[driver->kernel]));
    px_gltf_put(w, json, "radius", px_json_new_float(w->arena, driver->radius));
    px_json *centres = px_gltf_put(w, json, "centres", px_json_array(w->arena));
    for (uint32_t c = 0; c < driver->centre_count; c++)
        px_gltf_push_floats(w, centres, driver->centres + 4 * (size_t)c, 4);
    px_json *targets = px_gltf_put(w, json, "targets", px_json_array(w->arena));
    for (uint32_t m = 0; m < driver->morph_count; m++) {
        const pelt_morph *morph = &model->morphs.morphs[driver->morphs[m]];
        if (w->weight_nodes[morph->joint] == PELT_NONE)
            continue;
        px_json *target = px_gltf_push(w, targets, px_json_object(w->arena));
        px_gltf_put_uint(w, target, "node", w->weight_nodes[morph->joint]);
        px_gltf_put_uint(w, target, "target", morph->index);
        px_gltf_put_floats(w, target, "coefficients", driver->coefficients + m * ((size_t)driver->centre_count + 1),
                           driver->centre_count + 1);
    }
}

px_json *px_gltf_extras(px_gltf_writer *w, const char *key, bool wanted, const char *what) {
    px_json *extras = px_json_get(w->root, "extras");
    px_json_remove(extras, key);
    if (!wanted && px_json_is(extras, PX_JSON_OBJECT) && extras->count == 0)
        px_json_remove(w->root, "extras");
    if (!wanted)
        return NULL;
    if (extras && !px_json_is(extras, PX_JSON_OBJECT))
        px_log(w->context, PELT_LOG_WARNING, "extras of the file are no object, and give way to the %s", what);
    return px_gltf_put(w, px_gltf_member(w, w->root, "extras", PX_JSON_OBJECT), key, px_json_object(w->arena));
}

pelt_result px_gltf_emit_drivers(px_gltf_writer *w) {
    px_json *json = px_gltf_extras(w, KEY, w->model->driver_count > 0, "drivers of morphs");
    if (!json)
        return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
    bool relative = false;
    for (uint32_t d = 0; d < w->model->driver_count; d++)
        relative |= w->model->drivers[d].relative;
    px_gltf_put_uint(w, json, "version", relative ? VERSION_RELATIVE : VERSION);
    px_json *list = px_gltf_put(w, json, "drivers", px_json_array(w->arena));
    for (uint32_t d = 0; d < w->model->driver_count; d++)
        put_driver(w, list, &w->model->drivers[d]);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}
