/* Meshes of a file merged to one: see merge.h. */
#include "io/merge.h"

#include "core/classes.h"
#include "core/math3.h"

#define MAX_BONES 65535u

typedef struct bone {
    uint32_t joint;
    pelt_affine inverse_bind;
} bone;

/* All buffers of a merge. */
#define BUFFERS(all)                                                                                                   \
    {                                                                                                                  \
        &(all)->positions, &(all)->normals, &(all)->uvs, &(all)->points, &(all)->triangles, &(all)->polygons,          \
            &(all)->parts, &(all)->bones, &(all)->skin_bones, &(all)->skin_weights                                     \
    }

typedef struct px_merged_layer {
    px_layer layer;   /* without values */
    px_buffer values; /* float [vertex][width], for vertices of meshes so far */
    struct px_merged_layer *next;
} px_merged_layer;

void px_merge_begin(px_merge *all, pelt_context *context, pelt_model *model) {
    *all = (px_merge){.context = context, .model = model};
    px_buffer *buffers[] = BUFFERS(all);
    for (size_t b = 0; b < PX_COUNT(buffers); b++)
        buffers[b]->context = context;
}

void px_merge_free(px_merge *all) {
    px_buffer *buffers[] = BUFFERS(all);
    for (size_t b = 0; b < PX_COUNT(buffers); b++)
        px_buffer_free(buffers[b]);
    for (px_merged_layer *l = all->layers; l; l = l->next)
        px_buffer_free(&l->values);
}

void px_merge_next(px_merge *all, const pelt_mesh *mesh) {
    all->vertex_count += mesh->vertex_count;
    all->point_count += mesh->points.count;
    all->triangle_count += mesh->triangle_count;
    all->polygon_count += mesh->polygon_count;
}

pelt_result px_merge_vertices(px_merge *all, const pelt_mesh *mesh) {
    if ((uint64_t)all->vertex_count + mesh->vertex_count >= PELT_NONE ||
        (uint64_t)all->triangle_count + mesh->triangle_count >= PELT_NONE)
        return px_fail(all->context, PELT_ERROR_UNSUPPORTED, "has too many vertices");
    static const float zero[3] = {0};
    px_buffer_add(&all->positions, mesh->positions, (size_t)3 * mesh->vertex_count * sizeof(float));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        uint32_t point = all->point_count + pelt_vertex_class(&mesh->points, i);
        px_buffer_add(&all->points, &point, sizeof point);
        px_buffer_add(&all->normals, mesh->normals ? mesh->normals + (size_t)3 * i : (const float[3]){0, 0, 1},
                      sizeof zero);
        px_buffer_add(&all->uvs, mesh->uvs ? mesh->uvs + (size_t)2 * i : zero, 2 * sizeof(float));
    }
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        uint32_t polygon = all->polygon_count + (mesh->triangle_polygons ? mesh->triangle_polygons[t] : t);
        px_buffer_add(&all->polygons, &polygon, sizeof polygon);
        for (int c = 0; c < 3; c++) {
            uint32_t vertex = all->vertex_count + mesh->triangles[(size_t)3 * t + (size_t)c];
            px_buffer_add(&all->triangles, &vertex, sizeof vertex);
        }
    }
    return PELT_OK;
}

/* ---- Further layers -------------------------------------------------------------------------------------------- */

static void fill_layer(px_merged_layer *l, size_t vertex_count) {
    float filler = px_layer_default(&l->layer);
    while (!l->values.failed && l->values.size < vertex_count * l->layer.width * sizeof filler)
        px_buffer_add(&l->values, &filler, sizeof filler);
}

/* The layer that continues `layer` behind the vertices so far; added where there is none. NULL: out of memory, or too many. */
static px_merged_layer *find_layer(px_merge *all, const px_layer *layer) {
    px_merged_layer **place = &all->layers;
    for (; *place; place = &(*place)->next)
        if (strcmp((*place)->layer.name, layer->name) == 0 && (*place)->layer.width == layer->width &&
            (*place)->values.size <= (size_t)all->vertex_count * layer->width * sizeof(float))
            return *place;
    if (all->layer_count == PX_MAX_LAYERS || !(*place = PX_NEW(all->model->memory, px_merged_layer, 1)))
        return NULL;
    (*place)->layer = *layer;
    (*place)->values.context = all->context;
    if (!((*place)->layer.name = px_arena_text(all->model->memory, layer->name, strlen(layer->name)))) {
        *place = NULL;
        return NULL;
    }
    all->layer_count++;
    return *place;
}

pelt_result px_merge_layers(px_merge *all, const pelt_mesh *mesh, const px_layers *layers) {
    for (uint32_t n = 0; n < layers->layer_count; n++) {
        const px_layer *layer = &layers->layers[n];
        px_merged_layer *l = find_layer(all, layer);
        if (!l && all->layer_count < PX_MAX_LAYERS)
            return PELT_ERROR_MEMORY;
        if (!l) {
            px_log(all->context, PELT_LOG_WARNING,
                   "has more than %u sets of texture coordinates and colours; '%s' is left out", PX_MAX_LAYERS,
                   layer->name);
            continue;
        }
        fill_layer(l, all->vertex_count);
        px_buffer_add(&l->values, layer->values, (size_t)layer->width * mesh->vertex_count * sizeof(float));
    }
    return PELT_OK;
}

/* ---- Skin ------------------------------------------------------------------------------------------------------ */

pelt_result px_merge_bone(px_merge *all, uint32_t joint, const pelt_affine *inverse_bind, uint16_t *out) {
    bone wanted = {joint, *inverse_bind};
    const bone *bones = (const bone *)(const void *)all->bones.data;
    size_t count = all->bones.size / sizeof *bones, b = 0;
    while (b < count && memcmp(&bones[b], &wanted, sizeof wanted) != 0)
        b++;
    if (b == MAX_BONES)
        return px_fail(all->context, PELT_ERROR_UNSUPPORTED, "needs more than %u bones", MAX_BONES);
    if (b == count)
        px_buffer_add(&all->bones, &wanted, sizeof wanted);
    *out = (uint16_t)b;
    return all->bones.failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Adds an influence to the largest ones of a vertex, sorted. */
static void keep_largest(uint16_t *bones, double *weights, uint32_t *count, const px_influence *row) {
    for (uint32_t k = 0; k < *count; k++)
        if (bones[k] == row->bone) { /* two clusters of one link: one bone */
            px_influence sum = {.bone = row->bone, .weight = weights[k] + row->weight};
            memmove(bones + k, bones + k + 1, (*count - k - 1) * sizeof *bones);
            memmove(weights + k, weights + k + 1, (*count - k - 1) * sizeof *weights);
            --*count;
            keep_largest(bones, weights, count, &sum);
            return;
        }
    uint32_t at = *count;
    while (at > 0 && weights[at - 1] < row->weight)
        at--;
    if (at == PELT_MAX_INFLUENCES)
        return;
    uint32_t moved = (*count < PELT_MAX_INFLUENCES ? *count : PELT_MAX_INFLUENCES - 1) - at;
    memmove(bones + at + 1, bones + at, moved * sizeof *bones);
    memmove(weights + at + 1, weights + at, moved * sizeof *weights);
    bones[at] = row->bone;
    weights[at] = row->weight;
    *count += *count < PELT_MAX_INFLUENCES;
}

/* Influences sorted by point: those of point p are rows[firsts[p] … firsts[p + 1]], in the order of the clusters. */
static pelt_result sort_influences(px_arena *arena, const px_buffer *list, size_t point_count,
                                   const px_influence ***rows, uint32_t **firsts) {
    const px_influence *all = (const px_influence *)(const void *)list->data;
    size_t count = list->size / sizeof *all;
    uint32_t *next = PX_NEW(arena, uint32_t, point_count + 3);
    *rows = PX_NEW(arena, const px_influence *, count);
    if (!next || !*rows)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        next[all[i].point + 2]++;
    for (size_t p = 2; p < point_count + 3; p++)
        next[p] += next[p - 1];
    for (size_t i = 0; i < count; i++) /* next[p + 1] moves from the first row of p to that of p + 1 */
        (*rows)[next[all[i].point + 1]++] = &all[i];
    *firsts = next;
    return PELT_OK;
}

pelt_result px_merge_skin(px_merge *all, px_arena *scratch, const pelt_mesh *mesh, const px_buffer *influences,
                          uint32_t joint, const pelt_affine *place) {
    const px_influence **rows;
    uint32_t *firsts;
    uint16_t own;
    bool needs_own = influences->size == 0;
    PX_TRY(sort_influences(scratch, influences, mesh->points.count, &rows, &firsts));
    for (uint32_t p = 0; p < mesh->points.count; p++)
        needs_own |= firsts[p] == firsts[p + 1];
    if (needs_own)
        PX_TRY(px_merge_bone(all, joint, place, &own));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        uint16_t bones[PELT_MAX_INFLUENCES] = {0};
        double weights[PELT_MAX_INFLUENCES] = {0}, sum = 0;
        float out[PELT_MAX_INFLUENCES];
        uint32_t count = 0, point = pelt_vertex_class(&mesh->points, i);
        for (uint32_t r = firsts[point]; r < firsts[point + 1]; r++)
            keep_largest(bones, weights, &count, rows[r]);
        if (count == 0) {
            bones[0] = own;
            weights[count++] = 1;
        }
        for (uint32_t k = 0; k < count; k++)
            sum += weights[k];
        for (uint32_t k = 0; k < PELT_MAX_INFLUENCES; k++) {
            out[k] = k < count ? (float)(weights[k] / sum) : 0;
            if (k >= count)
                bones[k] = 0;
        }
        px_buffer_add(&all->skin_bones, bones, sizeof bones);
        px_buffer_add(&all->skin_weights, out, sizeof out);
        if (count > all->influence_count)
            all->influence_count = count;
    }
    return PELT_OK;
}

/* ---- Morph targets ---------------------------------------------------------------------------------------------- */

float *px_merge_spread(px_merge *all, const pelt_mesh *mesh, const pelt_affine *matrix, const int32_t *points,
                       const double *rows, size_t count) {
    float *out = PX_NEW(all->model->memory, float, (size_t)3 * mesh->vertex_count);
    uint32_t *row_of = PX_ALLOC(all->context, uint32_t, (size_t)mesh->points.count + 1);
    for (size_t i = 0; out && row_of && i < count; i++)
        if (points[i] >= 0 && (uint32_t)points[i] < mesh->points.count)
            row_of[points[i]] = (uint32_t)i + 1;
    for (uint32_t v = 0; out && row_of && v < mesh->vertex_count; v++) {
        uint32_t row = row_of[pelt_vertex_class(&mesh->points, v)];
        for (int r = 0; row && r < 3; r++)
            for (int c = 0; c < 3; c++)
                out[(size_t)3 * v + (size_t)r] +=
                    (float)(matrix->m[4 * r + c] * rows[(size_t)3 * (row - 1) + (size_t)c]);
    }
    bool ready = out && row_of;
    px_free(all->context, row_of);
    return ready ? out : NULL;
}

/* ---- Result ---------------------------------------------------------------------------------------------------- */

/* A copy of a buffer in the model's memory. */
static void *keep(px_merge *all, const px_buffer *buffer) {
    void *copy = px_arena_alloc(all->model->memory, px_max_size(1, buffer->size), 1);
    if (copy && buffer->size)
        memcpy(copy, buffer->data, buffer->size);
    return copy;
}

static pelt_result make_mesh(px_merge *all) {
    pelt_model *model = all->model;
    pelt_mesh *mesh = &model->mesh;
    mesh->positions = keep(all, &all->positions);
    mesh->normals = all->normals_used ? keep(all, &all->normals) : NULL;
    mesh->uvs = all->uvs_used ? keep(all, &all->uvs) : NULL;
    mesh->triangles = keep(all, &all->triangles);
    mesh->parts = keep(all, &all->parts);
    bool fans = all->polygon_count != all->triangle_count;
    mesh->triangle_polygons = fans ? keep(all, &all->polygons) : NULL;
    uint32_t *of = keep(all, &all->points);
    if (!mesh->positions || (all->normals_used && !mesh->normals) || (all->uvs_used && !mesh->uvs) ||
        !mesh->triangles || !mesh->parts || (fans && !mesh->triangle_polygons) || !of)
        return PELT_ERROR_MEMORY;
    mesh->vertex_count = all->vertex_count;
    mesh->triangle_count = all->triangle_count;
    mesh->polygon_count = all->polygon_count;
    mesh->part_count = (uint32_t)(all->parts.size / sizeof(pelt_part));
    if (all->point_count == all->vertex_count) {
        mesh->points.count = all->point_count;
        return PELT_OK;
    }
    return px_classes_make(model->memory, mesh->vertex_count, all->point_count, of, &mesh->points);
}

static pelt_result make_skin(px_merge *all) {
    pelt_model *model = all->model;
    pelt_skin *skin = &model->skin;
    const bone *bones = (const bone *)(const void *)all->bones.data;
    uint32_t bone_count = (uint32_t)(all->bones.size / sizeof *bones), k = all->influence_count;
    skin->bone_joints = PX_NEW(model->memory, uint32_t, bone_count);
    skin->inverse_binds = PX_NEW(model->memory, pelt_affine, bone_count);
    skin->bones = PX_NEW(model->memory, uint16_t, px_mul_size(k, all->vertex_count));
    skin->weights = PX_NEW(model->memory, float, px_mul_size(k, all->vertex_count));
    if (!skin->bone_joints || !skin->inverse_binds || !skin->bones || !skin->weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < bone_count; b++) {
        skin->bone_joints[b] = bones[b].joint;
        skin->inverse_binds[b] = bones[b].inverse_bind;
    }
    for (size_t i = 0; i < all->vertex_count; i++) {
        memcpy(skin->bones + i * k, (const uint16_t *)(const void *)all->skin_bones.data + i * PELT_MAX_INFLUENCES,
               k * sizeof *skin->bones);
        memcpy(skin->weights + i * k, (const float *)(const void *)all->skin_weights.data + i * PELT_MAX_INFLUENCES,
               k * sizeof *skin->weights);
    }
    skin->bone_count = bone_count;
    skin->influence_count = k;
    return PELT_OK;
}

static pelt_result make_layers(px_merge *all, px_layers *out) {
    if (!(out->layers = PX_NEW(all->model->memory, px_layer, all->layer_count)))
        return PELT_ERROR_MEMORY;
    for (px_merged_layer *l = all->layers; l; l = l->next) {
        px_layer *layer = &out->layers[out->layer_count++];
        fill_layer(l, all->vertex_count);
        *layer = l->layer;
        if (l->values.failed || !(layer->values = keep(all, &l->values)))
            return PELT_ERROR_MEMORY;
    }
    out->vertex_count = all->vertex_count;
    return PELT_OK;
}

pelt_result px_merge_finish(px_merge *all, px_layers *layers) {
    *layers = (px_layers){0};
    px_buffer *buffers[] = BUFFERS(all);
    for (size_t b = 0; b < PX_COUNT(buffers); b++)
        if (buffers[b]->failed)
            return PELT_ERROR_MEMORY;
    PX_TRY(make_mesh(all));
    PX_TRY(make_layers(all, layers));
    return all->bones.size ? make_skin(all) : PELT_OK;
}
