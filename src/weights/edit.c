/* Weight edits: scope (locked joints, frozen vertices), begin and finish, and the operations smooth, prune,
 * normalise. */
#include "weights/edit.h"
#include "weights/regions.h"

#include <math.h>

#define WEIGHT_TOLERANCE 1e-6 /* differences up to this are rounding: weights are floats */

/* ---- Scope ------------------------------------------------------------------------------------------------ */

static pelt_result mark_joints(px_edit *edit, const char *names, bool mark, bool *marks) {
    const pelt_model *model = edit->model;
    const char *name;
    size_t length;
    while (names && px_next_name(&names, &name, &length)) {
        bool found = false;
        for (uint32_t b = 0; b < model->skin.bone_count; b++)
            if (px_is_name(model->skeleton.names[model->skin.bone_joints[b]], name, length)) {
                marks[b] = mark;
                found = true;
            }
        if (!found)
            return px_fail(edit->context, PELT_ERROR_INPUT, "%s: the skin has no joint '%.*s'", model->path,
                           (int)length, name);
    }
    return PELT_OK;
}

/* Locks the bones of all joints outside scope->joints, and those of scope->lock. */
static pelt_result set_locks(px_edit *edit, const pelt_weights_scope *scope) {
    if (!scope->joints && !scope->lock)
        return PELT_OK;
    uint32_t count = edit->model->skin.bone_count;
    bool *locked = PX_NEW(edit->arena, bool, count);
    if (!locked)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < count; b++)
        locked[b] = scope->joints != NULL;
    edit->limits.locked = locked;
    PX_TRY(mark_joints(edit, scope->joints, false, locked));
    return mark_joints(edit, scope->lock, true, locked);
}

static pelt_result freeze_others(px_edit *edit, const char *regions) {
    const pelt_mesh *mesh = &edit->model->mesh;
    uint8_t *wanted = PX_NEW(edit->arena, uint8_t, mesh->vertex_count);
    if (!wanted)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_regions_mark(edit->context, &edit->model->mesh, "parts", regions, wanted));
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        edit->frozen[i] |= !wanted[i];
    return PELT_OK;
}

static pelt_result set_frozen(px_edit *edit, const pelt_weights_scope *scope) {
    const pelt_mesh *mesh = &edit->mesh;
    edit->frozen = PX_NEW(edit->arena, uint8_t, mesh->vertex_count);
    edit->fixed = PX_NEW(edit->arena, uint8_t, mesh->weld.count);
    if (!edit->frozen || !edit->fixed)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        if (!mesh->parts[p].skinned && mesh->parts[p].joint != PELT_NONE)
            px_mark_part(mesh, &mesh->parts[p], edit->frozen);
    if (scope->parts)
        PX_TRY(freeze_others(edit, scope->parts));
    memset(edit->fixed, 1, mesh->weld.count);
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        edit->fixed[mesh->weld.of[i]] &= edit->frozen[i];
    return PELT_OK;
}

/* ---- Beginning and ending --------------------------------------------------------------------------------- */

static pelt_result begin(px_edit *edit, const pelt_weights_scope *scope) {
    pelt_model *model = edit->model;
    if (model->skin.bone_count == 0)
        return px_fail(edit->context, PELT_ERROR_INPUT, "%s: has no skin; its weights cannot be edited", model->path);
    edit->limits.influences = scope->influences ? scope->influences : model->skin.influence_count;
    PX_TRY(pelt_model_weld(edit->context, model));
    edit->mesh = model->mesh;
    PX_TRY(px_weight_classes(edit->arena, model, &edit->mesh.weld));
    PX_TRY(set_locks(edit, scope));
    PX_TRY(set_frozen(edit, scope));
    PX_TRY(px_weight_table_read(edit->arena, model, &edit->mesh.weld, NULL, &edit->before));
    PX_TRY(px_weight_table_make(edit->arena, edit->before.row_count, edit->before.capacity, &edit->table));
    size_t count = (size_t)edit->table.row_count * edit->table.capacity;
    memcpy(edit->table.bones, edit->before.bones, count * sizeof *edit->table.bones);
    memcpy(edit->table.weights, edit->before.weights, count * sizeof *edit->table.weights);
    return PELT_OK;
}

pelt_result px_edit_begin(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope, px_edit *out) {
    pelt_weights_scope all = pelt_weights_scope_default();
    PX_TRY(pelt_options_check(context, pelt_weights_scope_options(), scope ? scope : &all));
    *out = (px_edit){.context = context, .model = model, .arena = px_arena_create(context)};
    if (!out->arena)
        return PELT_ERROR_MEMORY;
    out->operation = px_operation_begin(model);
    pelt_result result = begin(out, scope ? scope : &all);
    if (result == PELT_OK)
        return PELT_OK;
    px_arena_destroy(out->arena);
    return px_operation_end(&out->operation, result);
}

static double row_change(const px_edit *edit, size_t row) {
    px_weight_sum old = {0}, now = {0};
    double change = 0;
    px_weight_sum_add_row(&old, &edit->before, row, 1);
    px_weight_sum_add_row(&now, &edit->table, row, 1);
    for (uint32_t e = 0; e < now.count; e++)
        change += fabs(now.weights[e] - px_weight_sum_of(&old, now.bones[e]));
    for (uint32_t e = 0; e < old.count; e++)
        if (px_weight_sum_of(&now, old.bones[e]) == 0)
            change += old.weights[e];
    return change;
}

static void tell(const px_edit *edit, const pelt_skin *skin, pelt_weights_report *report) {
    *report = (pelt_weights_report){0};
    double sum = 0;
    for (size_t r = 0; r < edit->table.row_count; r++) {
        double change = edit->fixed[r] ? 0 : row_change(edit, r);
        report->vertex_count += !edit->fixed[r];
        report->changed_count += change > WEIGHT_TOLERANCE;
        report->change_max = px_fmax(report->change_max, change);
        sum += change;
    }
    report->change_mean = report->vertex_count ? sum / report->vertex_count : 0;
    for (size_t e = 0; e < (size_t)edit->model->mesh.vertex_count * skin->influence_count; e++)
        if (skin->weights[e] > 0 && e % skin->influence_count >= report->influence_count)
            report->influence_count = (uint32_t)(e % skin->influence_count) + 1;
}

pelt_result px_edit_finish(px_edit *edit, pelt_result result, pelt_weights_report *report) {
    pelt_model *model = edit->model;
    pelt_skin skin = model->skin;
    if (result == PELT_OK) {
        px_weight_table_cut(&edit->table, &edit->limits);
        result =
            px_weight_table_spread(&edit->table, model, &edit->mesh.weld, edit->frozen, edit->limits.influences, &skin);
    }
    if (result == PELT_OK) {
        if (report)
            tell(edit, &skin, report);
        model->skin = skin;
        model->changed |= PELT_CHANGED_SKIN;
    }
    px_arena_destroy(edit->arena);
    return px_operation_end(&edit->operation, result);
}

static void clear_report(pelt_weights_report *report) {
    if (report)
        *report = (pelt_weights_report){0};
}

/* ---- Smooth, prune, normalise ----------------------------------------------------------------------------- */

static pelt_result smooth(px_edit *edit, const pelt_smooth_desc *desc) {
    const pelt_mesh *mesh = &edit->mesh;
    px_neighbours neighbours;
    PX_TRY(px_neighbours_make(edit->arena, mesh, &mesh->weld, &neighbours));
    px_weight_smoothing how = {desc->strength, desc->iterations, edit->limits.locked, edit->fixed};
    return px_weight_table_smooth(edit->context, &edit->table, &neighbours, &how);
}

pelt_result pelt_weights_smooth(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                const pelt_smooth_desc *desc, pelt_weights_report *report) {
    clear_report(report);
    PX_TAKE_DESC(context, smooth, desc, settings);
    px_edit edit;
    PX_TRY(px_edit_begin(context, model, scope, &edit));
    return px_edit_finish(&edit, smooth(&edit, &settings), report);
}

pelt_result pelt_weights_prune(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                               const pelt_prune_desc *desc, pelt_weights_report *report) {
    clear_report(report);
    PX_TAKE_DESC(context, prune, desc, settings);
    px_edit edit;
    PX_TRY(px_edit_begin(context, model, scope, &edit));
    edit.limits.threshold = settings.threshold;
    return px_edit_finish(&edit, PELT_OK, report);
}

pelt_result pelt_weights_normalise(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                   pelt_weights_report *report) {
    clear_report(report);
    px_edit edit;
    PX_TRY(px_edit_begin(context, model, scope, &edit));
    return px_edit_finish(&edit, PELT_OK, report);
}
