/* Sliders: extras.pelt_sliders of the document, as docs/sliders.md describes it.
 *
 * Other programs do not interpret these extras and may renumber the nodes that they refer to. Inconsistent extras are
 * therefore not an error of the file: it is read without sliders, with a warning that states the reason.
 */
#include "core/morphs.h"
#include "core/slider.h"
#include "io/gltf_document.h"

#define KEY     "pelt_sliders"
#define VERSION 1u

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static pelt_result read_joints(px_gltf *doc, const pelt_model *model, const px_json *json, pelt_slider_set *set) {
    const px_json *list;
    PX_TRY(px_gltf_read_list(doc, json, "joints", &list));
    uint32_t *joints = PX_GLTF_NEW(doc, uint32_t, list->count), *bases = PX_GLTF_NEW(doc, uint32_t, list->count);
    pelt_affine *rests = PX_GLTF_NEW(doc, pelt_affine, list->count);
    if (!joints || !bases || !rests)
        return doc->failure;
    for (const px_json *item = list->first; item; item = item->next) {
        uint32_t n = set->joint_count++;
        px_gltf_place(doc, "extras." KEY ": joint %u", n);
        PX_TRY(px_gltf_read_joint(doc, item, "node", &joints[n]));
        PX_TRY(px_gltf_read_joint(doc, item, "base", &bases[n]));
        const char *is = model->skeleton.names[joints[n]], *was = px_json_string(px_json_get(item, "name"), is);
        if (strcmp(is, was) != 0)
            return px_gltf_fail(doc, "was made for joint '%.60s', but its node is '%.60s' now", was, is);
        uint32_t above = joints[n]; /* before the rest matrix follows the parents */
        while (above != PELT_NONE && above > bases[n])
            above = model->skeleton.parents[above];
        if (above != bases[n] || joints[n] == bases[n])
            return px_gltf_fail(doc, "is not below its base");
    }
    set->joints = joints;
    set->bases = bases;
    set->rests = rests;
    px_slider_rests(&model->skeleton, set, rests);
    return PELT_OK;
}

static pelt_result read_slider(px_gltf *doc, const pelt_model *model, const px_json *json, pelt_slider *slider) {
    const px_json *moves, *targets;
    slider->name = px_json_string(px_json_get(json, "name"), "");
    slider->value = (float)px_json_double(px_json_get(json, "value"), 0);
    PX_TRY(px_gltf_read_list(doc, json, "moves", &moves));
    PX_TRY(px_gltf_read_list(doc, json, "targets", &targets));
    pelt_slider_move *move = PX_GLTF_NEW(doc, pelt_slider_move, moves->count);
    uint32_t *morph = PX_GLTF_NEW(doc, uint32_t, targets->count);
    if (!move || !morph)
        return doc->failure;
    slider->moves = move;
    slider->morphs = morph;
    for (const px_json *item = moves->first; item; item = item->next, move++) {
        PX_TRY(px_gltf_index(doc, item, "joint", PELT_NONE, &move->joint));
        const px_json *matrix = px_json_get(item, "matrix");
        if (!px_json_is(matrix, PX_JSON_ARRAY) || matrix->count != 12)
            return px_gltf_fail(doc, "its matrices must be 12 numbers");
        float *out = move->change.m;
        for (const px_json *number = matrix->first; number; number = number->next) {
            if (!px_json_is(number, PX_JSON_NUMBER))
                return px_gltf_fail(doc, "its matrices must be 12 numbers");
            *out++ = (float)px_json_double(number, 0);
        }
        slider->move_count++;
    }
    for (const px_json *item = targets->first; item; item = item->next) {
        uint32_t joint, target;
        PX_TRY(px_gltf_read_joint(doc, item, "node", &joint));
        PX_TRY(px_gltf_index(doc, item, "target", PELT_NONE, &target));
        morph[slider->morph_count] = px_morph_find(&model->morphs, joint, target);
        if (morph[slider->morph_count++] == PELT_NONE)
            return px_gltf_fail(doc, "node %u has no such morph target", doc->joint_nodes[joint]);
    }
    return PELT_OK;
}

static pelt_result read_sliders(px_gltf *doc, pelt_model *model, const px_json *json) {
    px_gltf_place(doc, "extras." KEY);
    if (px_json_uint(px_json_get(json, "version"), UINT32_MAX, 0) != VERSION)
        return px_gltf_fail(doc, "is not of version %u", VERSION);
    pelt_slider_set *set = &model->sliders;
    const px_json *list;
    PX_TRY(px_gltf_read_list(doc, json, "sliders", &list));
    PX_TRY(read_joints(doc, model, json, set));
    if (!(set->sliders = PX_GLTF_NEW(doc, pelt_slider, list->count)))
        return doc->failure;
    for (const px_json *item = list->first; item; item = item->next) {
        px_gltf_place(doc, "extras." KEY ": slider %u", set->slider_count);
        PX_TRY(read_slider(doc, model, item, &set->sliders[set->slider_count]));
        set->slider_count++;
    }
    return px_sliders_validate(doc->context, model);
}

pelt_result px_gltf_read_sliders(px_gltf *doc, pelt_model *model) {
    const px_json *json = px_json_get(px_json_get(doc->root, "extras"), KEY);
    pelt_result result = json ? read_sliders(doc, model, json) : PELT_OK;
    if (result != PELT_ERROR_INPUT)
        return result;
    model->sliders = (pelt_slider_set){0};
    px_gltf_warn_extras(doc, "sliders");
    return PELT_OK;
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

static void put_joints(px_gltf_writer *w, px_json *json) {
    const pelt_slider_set *set = &w->model->sliders;
    px_json *list = px_gltf_put(w, json, "joints", px_json_array(w->arena));
    for (uint32_t n = 0; n < set->joint_count; n++) {
        px_json *item = px_gltf_push(w, list, px_json_object(w->arena));
        px_gltf_put_uint(w, item, "node", w->joint_indices[set->joints[n]]);
        px_gltf_put(w, item, "name", px_json_new_string(w->arena, w->model->skeleton.names[set->joints[n]]));
        px_gltf_put_uint(w, item, "base", w->joint_indices[set->bases[n]]);
    }
}

static void put_slider(px_gltf_writer *w, px_json *list, const pelt_slider *slider) {
    px_json *json = px_gltf_push(w, list, px_json_object(w->arena));
    px_gltf_put(w, json, "name", px_json_new_string(w->arena, slider->name));
    if (slider->value != 0)
        px_gltf_put(w, json, "value", px_json_new_float(w->arena, slider->value));
    px_json *moves = px_gltf_put(w, json, "moves", px_json_array(w->arena));
    for (uint32_t m = 0; m < slider->move_count; m++) {
        px_json *item = px_gltf_push(w, moves, px_json_object(w->arena));
        px_gltf_put_uint(w, item, "joint", slider->moves[m].joint);
        px_gltf_put_floats(w, item, "matrix", slider->moves[m].change.m, 12);
    }
    px_json *targets = px_gltf_put(w, json, "targets", px_json_array(w->arena));
    for (uint32_t m = 0; m < slider->morph_count; m++) {
        const pelt_morph *morph = &w->model->morphs.morphs[slider->morphs[m]];
        if (w->weight_nodes[morph->joint] == PELT_NONE)
            continue;
        px_json *item = px_gltf_push(w, targets, px_json_object(w->arena));
        px_gltf_put_uint(w, item, "node", w->weight_nodes[morph->joint]);
        px_gltf_put_uint(w, item, "target", morph->index);
    }
}

pelt_result px_gltf_emit_sliders(px_gltf_writer *w) {
    const pelt_slider_set *set = &w->model->sliders;
    px_json *json = px_gltf_extras(w, KEY, set->slider_count > 0, "sliders");
    if (json) {
        px_gltf_put_uint(w, json, "version", VERSION);
        put_joints(w, json);
        px_json *list = px_gltf_put(w, json, "sliders", px_json_array(w->arena));
        for (uint32_t s = 0; s < set->slider_count; s++)
            put_slider(w, list, &set->sliders[s]);
    }
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}
