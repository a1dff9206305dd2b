/* Skeletons and meshes of USD files: see usd.h.
 *
 * The joints of all Skeleton prims become the skeleton of the model; one that is moved by transforms of its prims gets a joint for them
 * above its roots. Meshes with joint weights follow them, all others are transformed to the scene's space; they are bound to a joint of their own
 * where the file has a skeleton or they have blend shapes. Faces of one mesh are sorted by their GeomSubset, each of which becomes a part.
 */
#include "core/math3.h"
#include "io/usd.h"

/* ---- Clip ------------------------------------------------------------------------------------------------------- */

/* The number of samples of points that all animated meshes have; the times of the first. */
static pelt_result find_times(px_usd_gathered *all, const px_usd_moving *list, size_t count, px_buffer *times) {
    for (size_t n = 0; n < count; n++) {
        const char *at = NULL;
        double time;
        px_text value;
        bool found = list[n].samples.data != NULL, first = times->size == 0;
        size_t samples = 0;
        for (; found; samples++) {
            PX_TRY(px_usd_next_sample(all->usd, list[n].samples, &at, &time, &value, &found));
            float seconds = (float)(time / all->usd->rate);
            if (found && first)
                px_buffer_add(times, &seconds, sizeof seconds);
            if (!found)
                break;
        }
        if (samples && samples != times->size / sizeof(float) && !times->failed)
            return px_fail(all->usd->context, PELT_ERROR_UNSUPPORTED,
                           "two meshes have %zu and %zu samples of their points; export all with the same frames",
                           times->size / sizeof(float), samples);
    }
    return times->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

static pelt_result read_frames(px_usd_gathered *all, const px_usd_moving *m, uint32_t frame_count, size_t point_count,
                               float *positions) {
    px_usd *usd = all->usd;
    pelt_affine place = px_usd_affine(&m->place);
    const char *at = NULL;
    for (uint32_t k = 0; k < frame_count; k++) {
        float *out = positions + 3 * ((size_t)k * point_count + m->first_point);
        double time;
        px_text value;
        bool found;
        const double *numbers;
        size_t count;
        PX_TRY(px_usd_next_sample(usd, m->samples, &at, &time, &value, &found));
        PX_TRY(px_usd_numbers(usd, value, &numbers, &count));
        if (count != (size_t)3 * m->point_count)
            return px_usd_fail(usd, value.data, "has %zu points; the mesh has %u in its first sample", count / 3,
                               m->point_count);
        for (size_t i = 0; i < m->point_count; i++) {
            float p[3] = {(float)numbers[3 * i], (float)numbers[3 * i + 1], (float)numbers[3 * i + 2]};
            px_affine_point(&place, p, out + 3 * i);
        }
    }
    return PELT_OK;
}

/* Samples of the points of unskinned meshes as a clip; meshes without samples stay where they are. */
static pelt_result read_clip(px_usd_gathered *all, const px_usd_prim *root) {
    px_usd *usd = all->usd;
    pelt_model *model = usd->read->model;
    const px_usd_moving *list = (const px_usd_moving *)(const void *)all->moving.data;
    size_t count = all->moving.size / sizeof *list, point_count = model->mesh.points.count;
    px_buffer times = {.context = usd->context};
    pelt_result result = find_times(all, list, count, &times);
    uint32_t frame_count = (uint32_t)(times.size / sizeof(float));
    pelt_clip clip = {.frame_count = frame_count, .point_count = (uint32_t)point_count};
    if (result == PELT_OK && frame_count) {
        float *kept = PX_NEW(model->memory, float, frame_count),
              *positions = PX_NEW(model->memory, float, px_mul_size(frame_count, 3 * point_count));
        px_text name = px_usd_first_text(px_usd_value(root, "pelt:clip"));
        clip.name = name.data ? px_usd_string(usd, name) : px_read_name(usd->read);
        if (!kept || !positions || !clip.name)
            result = PELT_ERROR_MEMORY;
        for (uint32_t k = 0; k < frame_count && result == PELT_OK; k++) {
            pelt_vertex_classes_gather(&model->mesh.points, model->mesh.positions,
                                       positions + (size_t)3 * k * point_count);
            kept[k] = ((const float *)(const void *)times.data)[k];
            if (k && kept[k] < kept[k - 1])
                result = px_fail(usd->context, PELT_ERROR_INPUT, "times of samples are not in order");
        }
        for (size_t n = 0; n < count && result == PELT_OK; n++)
            if (list[n].samples.data)
                result = read_frames(all, &list[n], frame_count, point_count, positions);
        clip.times = kept;
        clip.positions = positions;
        if (result == PELT_OK)
            result = px_model_add_clip(usd->context, model, &clip);
    }
    px_buffer_free(&times);
    return result;
}

/* ---- Scene ------------------------------------------------------------------------------------------------------ */

static int by_joint(const void *a, const void *b) {
    const px_usd_shape *first = (const px_usd_shape *)a, *second = (const px_usd_shape *)b;
    const pelt_morph *x = &first->morph, *y = &second->morph;
    return x->joint != y->joint   ? (x->joint > y->joint) - (x->joint < y->joint)
           : x->index != y->index ? (x->index > y->index) - (x->index < y->index)
                                  : (x->first_vertex > y->first_vertex) - (x->first_vertex < y->first_vertex);
}

static pelt_result make_model(px_usd_gathered *all) {
    px_usd *usd = all->usd;
    pelt_model *model = usd->read->model;
    px_usd_shape *shapes = (px_usd_shape *)(void *)all->shapes.data;
    size_t count = all->shapes.size / sizeof *shapes;
    if (all->merge.vertex_count == 0)
        return PELT_OK;
    PX_TRY(px_merge_finish(&all->merge, &all->usd->layers));
    model->morphs.morphs = PX_NEW(model->memory, pelt_morph, count);
    usd->shapes = PX_NEW(usd->arena, px_usd_shape, count);
    if (!model->morphs.morphs || !usd->shapes)
        return PELT_ERROR_MEMORY;
    if (count) {
        px_sort(shapes, count, sizeof *shapes, by_joint);
        memcpy(usd->shapes, shapes, count * sizeof *shapes);
    }
    for (size_t m = 0; m < count; m++)
        model->morphs.morphs[m] = shapes[m].morph;
    model->morphs.morph_count = (uint32_t)count;
    return all->rigged ? PELT_OK : read_clip(all, usd->root->first);
}

static void warn(const px_usd_gathered *all) {
    pelt_context *context = all->usd->context;
    if (all->odd_count)
        px_log(context, PELT_LOG_WARNING, "%u skin weights of joints that do not exist left out", all->odd_count);
    if (all->between_count)
        px_log(context, PELT_LOG_WARNING, "%u in-betweens of blend shapes are not read", all->between_count);
    if (all->moves_count)
        px_log(context, PELT_LOG_WARNING,
               "%u meshes have animated transforms, which are not read: they stay where they are at first",
               all->moves_count);
    bool moving_points = false;
    const px_usd_moving *list = (const px_usd_moving *)(const void *)all->moving.data;
    for (size_t n = 0; n < all->moving.size / sizeof *list; n++)
        moving_points |= list[n].samples.data != NULL;
    if (moving_points && all->rigged)
        px_log(context, PELT_LOG_WARNING, "samples of points are read from files without skeletons only");
}

static pelt_result read_meshes(px_usd_gathered *all) {
    px_usd *usd = all->usd;
    for (const px_usd_prim *prim = usd->root; (prim = px_usd_next(usd->root, prim));) {
        all->shape_limit += px_usd_is(prim, "BlendShape");
        if (!px_usd_is(prim, "Mesh"))
            continue;
        char indices[256];
        all->merge.normals_used |=
            px_usd_find(prim, "normals", PX_USD_VALUE) || px_usd_find(prim, "primvars:normals", PX_USD_VALUE);
        all->merge.uvs_used |= px_usd_find_uvs(prim, indices, sizeof indices) != NULL;
        all->rigged |= px_usd_find(prim, "skel:blendShapes", PX_USD_VALUE) != NULL;
    }
    all->rigged |= usd->read->model->skeleton.joint_count > 0;
    uint32_t done = 0;
    for (const px_usd_prim *prim = usd->root; (prim = px_usd_next(usd->root, prim));)
        if (px_usd_is(prim, "Mesh")) {
            PX_TRY(px_progress(usd->context, "read", done++, usd->prim_count));
            PX_TRY(px_usd_read_mesh(all, prim));
        }
    return all->shapes.failed || all->moving.failed ? PELT_ERROR_MEMORY : make_model(all);
}

pelt_result px_usd_read_scene(px_usd *usd) {
    uint32_t mesh_count = 0;
    for (const px_usd_prim *prim = usd->root; (prim = px_usd_next(usd->root, prim));)
        mesh_count += px_usd_is(prim, "Mesh");
    PX_TRY(px_usd_read_skeletons(usd, mesh_count));
    px_usd_gathered all = {.usd = usd, .moving.context = usd->context, .shapes.context = usd->context};
    px_merge_begin(&all.merge, usd->context, usd->read->model);
    all.shape_counts = PX_NEW(usd->arena, uint32_t, (size_t)usd->read->model->skeleton.joint_count + mesh_count);
    pelt_result result = all.shape_counts ? read_meshes(&all) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        warn(&all);
    px_merge_free(&all.merge);
    px_buffer_free(&all.moving);
    px_buffer_free(&all.shapes);
    return result;
}
