/* Copies weights from a region of the mesh to the vertices in the scope. */
#include "core/surface.h"
#include "weights/edit.h"
#include "weights/regions.h"

#include <math.h>

/* Rows of the regions `text`, [row] 1; NULL: those outside the scope. */
static pelt_result source_rows(px_edit *edit, const char *text, uint8_t **rows) {
    uint32_t vertex_count = edit->mesh.vertex_count;
    uint8_t *marks = PX_NEW(edit->arena, uint8_t, vertex_count);
    *rows = PX_NEW(edit->arena, uint8_t, edit->table.row_count);
    if (!marks || !*rows)
        return PELT_ERROR_MEMORY;
    if (!text) {
        memcpy(*rows, edit->fixed, edit->table.row_count);
        return PELT_OK;
    }
    PX_TRY(px_regions_mark(edit->context, &edit->model->mesh, "source", text, marks));
    uint32_t found = 0;
    for (uint32_t i = 0; i < vertex_count; i++) {
        (*rows)[edit->mesh.weld.of[i]] |= marks[i];
        found += marks[i];
    }
    if (found == 0)
        return px_fail(edit->context, PELT_ERROR_INPUT, "%s: source '%s' has no vertices", edit->model->path, text);
    return PELT_OK;
}

/* The surface of the source: its triangles, and each of its rows as a degenerate triangle. */
static pelt_result source_surface(px_edit *edit, const uint8_t *rows, const float *positions, px_surface *out) {
    const pelt_mesh *mesh = &edit->mesh;
    const uint32_t *all = px_class_triangles(edit->arena, mesh, &mesh->weld);
    uint32_t *triangles = PX_NEW(edit->arena, uint32_t, 3 * ((size_t)mesh->triangle_count + edit->table.row_count)),
             count = 0;
    if (!all || !triangles)
        return PELT_ERROR_MEMORY;
    for (size_t t = 0; t < mesh->triangle_count; t++)
        if (rows[all[3 * t]] && rows[all[3 * t + 1]] && rows[all[3 * t + 2]])
            memcpy(triangles + 3 * (size_t)count++, all + 3 * t, 3 * sizeof *triangles);
    for (uint32_t r = 0; r < edit->table.row_count; r++)
        if (rows[r]) {
            uint32_t *point = triangles + 3 * (size_t)count++;
            point[0] = point[1] = point[2] = r;
        }
    return px_surface_make(edit->arena, positions, triangles, count, out);
}

static pelt_result copy(px_edit *edit, const pelt_copy_desc *desc) {
    uint8_t *rows;
    px_surface surface;
    const bool *locked = edit->limits.locked;
    float *positions = px_class_positions(edit->arena, &edit->mesh.weld, edit->mesh.positions);
    if (!positions)
        return PELT_ERROR_MEMORY;
    PX_TRY(source_rows(edit, desc->source, &rows));
    PX_TRY(source_surface(edit, rows, positions, &surface));
    px_weight_sum mean = {0};
    for (uint32_t r = 0; r < edit->table.row_count; r++)
        if (rows[r])
            px_weight_sum_add_row(&mean, &edit->before, r, 1);
    px_weight_limits limits = {.influences = edit->table.capacity};
    px_weight_sum_cut(&mean, &limits);
    limits.locked = locked;
    for (size_t r = 0; r < edit->table.row_count; r++) {
        px_weight_sum sum = mean;
        px_surface_point found;
        const double p[] = {positions[3 * r], positions[3 * r + 1], positions[3 * r + 2]};
        if (edit->fixed[r] || rows[r] || mean.count == 0)
            continue;
        if (!desc->rigid && px_surface_nearest(&surface, p, INFINITY, NULL, NULL, &found)) {
            sum = (px_weight_sum){0};
            for (size_t c = 0; c < 3; c++)
                px_weight_sum_add_row(&sum, &edit->before, surface.triangles[3 * (size_t)found.triangle + c],
                                      found.corners[c]);
        }
        px_weight_sum_lock(&sum, &edit->before, r, locked);
        px_weight_sum_cut(&sum, &limits);
        px_weight_sum_store(&sum, &edit->table, r);
    }
    return PELT_OK;
}

pelt_result pelt_weights_copy(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                              const pelt_copy_desc *desc, pelt_weights_report *report) {
    px_edit edit;
    if (report)
        *report = (pelt_weights_report){0};
    PX_TAKE_DESC(context, copy, desc, settings);
    PX_TRY(px_edit_begin(context, model, scope, &edit));
    return px_edit_finish(&edit, copy(&edit, &settings), report);
}
