/* Meshes of a USD file with their weights and blend shapes: see usd_write.h. */
#include "io/usd_write.h"

#include "core/math3.h"

#include <stdio.h>

/* Corners of the polygons of a group; triangles of one polygon are a fan around its first vertex. */
typedef struct corners {
    px_buffer counts;     /* uint32_t [polygon] */
    px_buffer vertices;   /* uint32_t [corner] vertices of the model */
    uint32_t *part_sizes; /* [part of the group] polygons */
} corners;

static void add_corner(corners *c, uint32_t vertex) {
    px_buffer_add(&c->vertices, &vertex, sizeof vertex);
}

static void find_corners(const px_usd_writer *w, const px_mesh_group *g, corners *c) {
    const pelt_mesh *mesh = &w->mesh;
    for (uint32_t p = g->first; p < g->end; p++) {
        const pelt_part *part = &mesh->parts[p];
        uint32_t end = part->first_triangle + part->triangle_count;
        for (uint32_t t = part->first_triangle, next; t < end; t = next) {
            for (next = t + 1;
                 mesh->triangle_polygons && next < end && mesh->triangle_polygons[next] == mesh->triangle_polygons[t];)
                next++;
            uint32_t count = next - t + 2;
            add_corner(c, mesh->triangles[(size_t)3 * t]);
            add_corner(c, mesh->triangles[(size_t)3 * t + 1]);
            for (uint32_t k = t; k < next; k++)
                add_corner(c, mesh->triangles[(size_t)3 * k + 2]);
            px_buffer_add(&c->counts, &count, sizeof count);
            c->part_sizes[p - g->first]++;
        }
    }
}

/* Values [vertex][stride] of the group, of which `width` numbers are written: one for each point where points and vertices are the
 * same, else one for each corner. */
static void write_primvar(px_usd_writer *w, const px_mesh_group *g, const corners *c, const char *type,
                          const char *name, const float *values, size_t width, size_t stride) {
    px_usd_out *out = &w->out;
    bool by_point = !w->mesh.points.of;
    const uint32_t *vertices = by_point ? g->vertices : (const uint32_t *)(const void *)c->vertices.data;
    size_t count = by_point ? g->point_count : c->vertices.size / sizeof *vertices;
    px_usd_start(out, type);
    px_buffer_format(&out->text, " %s = ", name);
    for (size_t i = 0; i < count; i++) {
        px_buffer_text(&out->text, i ? ", " : "[");
        if (width == 1)
            px_buffer_float(&out->text, values[stride * vertices[i]]);
        else
            px_usd_tuple(out, values + stride * vertices[i], width);
    }
    px_buffer_text(&out->text, count ? "] (\n" : "[] (\n");
    out->depth++;
    px_usd_line(out, "interpolation = \"%s\"", by_point ? "vertex" : "faceVarying");
    out->depth--;
    px_usd_line(out, ")");
}

/* The first colours are those of the mesh itself, which viewers show: three numbers and an opacity. */
static void write_layers(px_usd_writer *w, const px_mesh_group *g, const corners *c) {
    for (uint32_t n = 0; n < w->layers.layer_count; n++) {
        const px_layer *layer = &w->layers.layers[n];
        bool opaque = true;
        if (layer->width == PX_UV_WIDTH) {
            write_primvar(w, g, c, "texCoord2f[]", w->layer_names[n], layer->values, 2, 2);
        } else if (px_layer_number(&w->layers, n) > 0) {
            write_primvar(w, g, c, "color4f[]", w->layer_names[n], layer->values, 4, 4);
        } else {
            for (size_t i = 0; i < w->mesh.vertex_count && opaque; i++)
                opaque = layer->values[4 * i + 3] == 1;
            write_primvar(w, g, c, "color3f[]", "primvars:displayColor", layer->values, 3, 4);
            if (!opaque)
                write_primvar(w, g, c, "float[]", "primvars:displayOpacity", layer->values + 3, 1, 4);
        }
    }
}

/* Positions [point of the model or vertex] of the points of a group. `by_vertex`: positions has one row for each vertex. */
static void write_positions(px_usd_writer *w, const px_mesh_group *g, const float *positions, bool by_vertex) {
    px_usd_out *out = &w->out;
    for (uint32_t i = 0; i < g->point_count; i++) {
        size_t row = by_vertex ? g->vertices[i] : pelt_vertex_class(&w->mesh.points, g->vertices[i]);
        px_buffer_text(&out->text, i ? ", " : "[");
        px_usd_tuple(out, positions + 3 * row, 3);
    }
    px_buffer_text(&out->text, g->point_count ? "]" : "[]");
}

static void write_extent(px_usd_writer *w, const px_mesh_group *g) {
    float bounds[2][3] = {{0}};
    for (uint32_t i = 0; i < g->point_count; i++)
        for (int c = 0; c < 3; c++) {
            float p = w->mesh.positions[(size_t)3 * g->vertices[i] + (size_t)c];
            bounds[0][c] = i == 0 || p < bounds[0][c] ? p : bounds[0][c];
            bounds[1][c] = i == 0 || p > bounds[1][c] ? p : bounds[1][c];
        }
    px_usd_start(&w->out, "float3[] extent = ");
    px_usd_floats(&w->out, bounds[0], 2, 3);
    px_buffer_text(&w->out.text, "\n");
}

/* The vertex animation that the file holds; NULL: none. A skin moves the points itself. */
const pelt_clip *px_usd_written_clip(const px_usd_writer *w) {
    const pelt_model *model = w->model;
    uint32_t clip = w->write->desc->clip;
    return model->clip_count && model->skin.bone_count == 0 && !w->write->desc->skip_clips
               ? &model->clips[clip < model->clip_count ? clip : 0]
               : NULL;
}

static pelt_result write_points(px_usd_writer *w, const px_mesh_group *g) {
    px_usd_out *out = &w->out;
    const pelt_clip *clip = px_usd_written_clip(w);
    px_usd_start(out, "point3f[] points = ");
    write_positions(w, g, w->mesh.positions, true);
    px_buffer_text(&out->text, "\n");
    if (!clip)
        return PELT_OK;
    float *points = PX_ALLOC(w->write->context, float, (size_t)3 * clip->point_count);
    pelt_result result = points ? PELT_OK : PELT_ERROR_MEMORY;
    px_usd_line(out, "point3f[] points.timeSamples = {");
    out->depth++;
    for (uint32_t k = 0; k < clip->frame_count && result == PELT_OK; k++) {
        result = px_progress(w->write->context, "write", k, clip->frame_count);
        if (result == PELT_OK)
            result = pelt_clip_read(w->write->context, clip, k, 0, clip->point_count, points);
        if (result != PELT_OK)
            break;
        px_usd_start(out, "");
        px_usd_time(out, clip->times[k]);
        px_buffer_text(&out->text, ": ");
        write_positions(w, g, points, false);
        px_buffer_text(&out->text, ",\n");
    }
    px_usd_end(out);
    px_free(w->write->context, points);
    return result;
}

static void write_influences(px_usd_writer *w, const px_mesh_group *g, uint32_t bone, uint32_t k) {
    const pelt_skin *skin = &w->model->skin;
    px_usd_out *out = &w->out;
    for (int which = 0; which < 2; which++) {
        px_usd_start(out, which ? "float[] primvars:skel:jointWeights = " : "int[] primvars:skel:jointIndices = ");
        for (size_t n = 0; n < (size_t)k * g->point_count; n++) {
            size_t at = (size_t)g->vertices[n / k] * skin->influence_count + n % k;
            bool used = bone != PELT_NONE || skin->weights[at] > 0;
            px_buffer_text(&out->text, n ? ", " : "[");
            if (which)
                px_buffer_float(&out->text, bone != PELT_NONE ? 1 : skin->weights[at]);
            else
                px_buffer_uint(&out->text, used ? w->bone_joints[bone != PELT_NONE ? bone : skin->bones[at]] : 0);
        }
        px_buffer_text(&out->text, g->point_count ? "] (\n" : "[] (\n");
        out->depth++;
        px_usd_line(out, "elementSize = %u", k);
        px_usd_line(out, "interpolation = \"vertex\"");
        out->depth--;
        px_usd_line(out, ")");
    }
}

static void write_skin(px_usd_writer *w, uint32_t group) {
    const pelt_skin *skin = &w->model->skin;
    const px_mesh_group *g = &w->groups[group];
    uint32_t bone = w->group_bones[group], k = 1;
    px_scene_matrix place = px_scene_matrix_identity;
    if (bone != PELT_NONE) {
        uint32_t joint = w->first_joint + skin->bone_joints[bone];
        px_scene_matrix inverse = px_usd_matrix_of(&skin->inverse_binds[bone]);
        w->bone_joints[bone] = joint;
        place = px_scene_matrix_mul(&w->binds[joint], &inverse);
    }
    for (uint32_t i = 0; i < g->point_count && bone == PELT_NONE; i++)
        while (k < skin->influence_count && skin->weights[(size_t)g->vertices[i] * skin->influence_count + k] > 0)
            k++;
    px_usd_start(&w->out, "matrix4d primvars:skel:geomBindTransform = ");
    px_usd_put_matrix(&w->out, &place);
    px_buffer_text(&w->out.text, "\n");
    write_influences(w, g, bone, k);
}

static void write_morph(px_usd_writer *w, const px_mesh_group *g, uint32_t m, px_buffer *rows) {
    const pelt_morph *morph = &w->model->morphs.morphs[m];
    px_usd_out *out = &w->out;
    const float *arrays[2] = {morph->positions, morph->normals};
    rows->size = 0; /* points that move, and their rows */
    for (uint32_t i = 0; i < g->point_count; i++) {
        uint32_t row = g->vertices[i] - morph->first_vertex;
        if (g->vertices[i] < morph->first_vertex || row >= morph->vertex_count)
            continue;
        const float *p = morph->positions + (size_t)3 * row, *n = morph->normals ? morph->normals + (size_t)3 * row : p;
        if (p[0] != 0 || p[1] != 0 || p[2] != 0 || n[0] != 0 || n[1] != 0 || n[2] != 0) {
            uint32_t pair[2] = {i, row};
            px_buffer_add(rows, pair, sizeof pair);
        }
    }
    const uint32_t *pairs = (const uint32_t *)(const void *)rows->data;
    size_t count = rows->size / (2 * sizeof *pairs);
    px_usd_begin(out, "BlendShape", w->channels[m], NULL);
    px_usd_original(out, w->channels[m], morph->name);
    px_usd_line(out, "custom int pelt:joint = %u", w->first_joint + morph->joint);
    px_usd_line(out, "custom int pelt:index = %u", morph->index);
    if (morph->weight != 0) {
        px_usd_start(out, "custom float pelt:weight = ");
        px_buffer_float(&out->text, morph->weight);
        px_buffer_text(&out->text, "\n");
    }
    for (int which = 0; which < 2; which++) {
        if (!arrays[which])
            continue;
        px_usd_start(out, which ? "uniform vector3f[] normalOffsets = [" : "uniform vector3f[] offsets = [");
        for (size_t i = 0; i < count; i++) {
            px_buffer_text(&out->text, i ? ", " : "");
            px_usd_tuple(out, arrays[which] + (size_t)3 * pairs[2 * i + 1], 3);
        }
        px_buffer_text(&out->text, "]\n");
    }
    px_usd_start(out, "uniform int[] pointIndices = [");
    for (size_t i = 0; i < count; i++) {
        px_buffer_text(&out->text, i ? ", " : "");
        px_buffer_uint(&out->text, pairs[2 * i]);
    }
    px_buffer_text(&out->text, "]\n");
    px_usd_end(out);
}

static void write_morph_names(px_usd_writer *w, uint32_t group) {
    const px_mesh_group *g = &w->groups[group];
    px_usd_out *out = &w->out;
    const char *before = "";
    px_usd_start(out, "uniform token[] skel:blendShapes = [");
    for (uint32_t m = 0; m < w->model->morphs.morph_count; m++)
        if (px_mesh_group_has_morph(g, &w->model->morphs.morphs[m])) {
            px_buffer_format(&out->text, "%s\"%s\"", before, w->channels[m]);
            before = ", ";
        }
    px_buffer_text(&out->text, "]\n");
    before = "";
    px_usd_start(out, "rel skel:blendShapeTargets = [");
    for (uint32_t m = 0; m < w->model->morphs.morph_count; m++)
        if (px_mesh_group_has_morph(g, &w->model->morphs.morphs[m])) {
            px_buffer_format(&out->text, "%s</%s/%s/%s>", before, w->root, w->group_names[group], w->channels[m]);
            before = ", ";
        }
    px_buffer_text(&out->text, "]\n");
}

static void write_binding(px_usd_writer *w, const char *material) {
    for (uint32_t m = 0; m < w->used_count && material; m++)
        if (strcmp(w->used[m].name, material) == 0) {
            px_usd_start(&w->out, "rel material:binding = ");
            px_buffer_format(&w->out.text, "</%s/Materials/%s>\n", w->root, w->used_names[m]);
        }
}

/* A part of a mesh with several: its polygons, in order. */
static void write_subsets(px_usd_writer *w, const px_mesh_group *g, const corners *c) {
    px_usd_out *out = &w->out;
    uint32_t polygon = 0;
    for (uint32_t p = g->first; p < g->end; p++) {
        char name[32];
        snprintf(name, sizeof name, "part_%u", p - g->first);
        px_usd_begin(out, "GeomSubset", name, "\"MaterialBindingAPI\"");
        px_usd_line(out, "uniform token elementType = \"face\"");
        px_usd_line(out, "uniform token familyName = \"materialBind\"");
        px_usd_start(out, "int[] indices = [");
        for (uint32_t n = 0; n < c->part_sizes[p - g->first]; n++) {
            px_buffer_text(&out->text, n ? ", " : "");
            px_buffer_uint(&out->text, polygon++);
        }
        px_buffer_text(&out->text, "]\n");
        write_binding(w, w->mesh.parts[p].material);
        px_usd_end(out);
    }
}

static bool is_double_sided(const px_usd_writer *w, const px_mesh_group *g) {
    for (uint32_t p = g->first; p < g->end; p++)
        for (uint32_t m = 0; m < w->used_count && w->mesh.parts[p].material; m++)
            if (w->used[m].double_sided && strcmp(w->used[m].name, w->mesh.parts[p].material) == 0)
                return true;
    return false;
}

static pelt_result write_mesh(px_usd_writer *w, uint32_t group, corners *c, px_buffer *rows) {
    px_mesh_group *g = &w->groups[group];
    const pelt_part *part = &w->mesh.parts[g->first];
    px_usd_out *out = &w->out;
    bool morphs = false;
    PX_TRY(px_mesh_group_points(w->arena, &w->mesh, g, w->local_points));
    c->counts.size = c->vertices.size = 0;
    if (!(c->part_sizes = PX_NEW(w->arena, uint32_t, g->end - g->first)))
        return PELT_ERROR_MEMORY;
    find_corners(w, g, c);
    if (c->counts.failed || c->vertices.failed)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < w->model->morphs.morph_count; m++)
        morphs |= px_mesh_group_has_morph(g, &w->model->morphs.morphs[m]);
    px_usd_begin(out, "Mesh", w->group_names[group],
                 w->has_joints ? "\"MaterialBindingAPI\", \"SkelBindingAPI\"" : "\"MaterialBindingAPI\"");
    px_usd_original(out, w->group_names[group], part->name);
    if (part->joint != PELT_NONE)
        px_usd_line(out, "custom int pelt:joint = %u", w->first_joint + part->joint);
    if (w->group_bones[group] != PELT_NONE)
        px_usd_line(out, "custom bool pelt:rigid = 1");
    if (is_double_sided(w, g))
        px_usd_line(out, "uniform bool doubleSided = 1");
    write_extent(w, g);
    px_usd_start(out, "int[] faceVertexCounts = ");
    px_usd_ints(out, (const uint32_t *)(const void *)c->counts.data, c->counts.size / sizeof(uint32_t));
    px_buffer_text(&out->text, "\n");
    px_usd_start(out, "int[] faceVertexIndices = [");
    const uint32_t *vertices = (const uint32_t *)(const void *)c->vertices.data;
    for (size_t i = 0; i < c->vertices.size / sizeof *vertices; i++) {
        px_buffer_text(&out->text, i ? ", " : "");
        px_buffer_uint(&out->text, w->local_points[pelt_vertex_class(&w->mesh.points, vertices[i])] - 1);
    }
    px_buffer_text(&out->text, "]\n");
    if (g->end - g->first == 1)
        write_binding(w, part->material);
    if (w->mesh.normals)
        write_primvar(w, g, c, "normal3f[]", "normals", w->mesh.normals, 3, 3);
    PX_TRY(write_points(w, g));
    if (w->mesh.uvs)
        write_primvar(w, g, c, "texCoord2f[]", "primvars:st", w->mesh.uvs, 2, 2);
    write_layers(w, g, c);
    if (w->model->skin.bone_count)
        write_skin(w, group);
    if (morphs)
        write_morph_names(w, group);
    if (w->has_joints) {
        px_usd_start(out, "rel skel:skeleton = ");
        px_buffer_format(&out->text, "</%s/Skeleton>\n", w->root);
    }
    px_usd_line(out, "uniform token subdivisionScheme = \"none\"");
    if (g->end - g->first > 1) {
        px_usd_line(out, "uniform token subsetFamily:materialBind:familyType = \"partition\"");
        write_subsets(w, g, c);
    }
    for (uint32_t m = 0; m < w->model->morphs.morph_count; m++)
        if (px_mesh_group_has_morph(g, &w->model->morphs.morphs[m]))
            write_morph(w, g, m, rows);
    px_usd_end(out);
    return PELT_OK;
}

pelt_result px_usd_write_meshes(px_usd_writer *w) {
    corners c = {{.context = w->write->context}, {.context = w->write->context}, NULL};
    px_buffer rows = {.context = w->write->context};
    pelt_result result = PELT_OK;
    for (uint32_t g = 0; g < w->group_count && result == PELT_OK; g++)
        result = write_mesh(w, g, &c, &rows);
    if (rows.failed && result == PELT_OK)
        result = PELT_ERROR_MEMORY;
    px_buffer_free(&c.counts);
    px_buffer_free(&c.vertices);
    px_buffer_free(&rows);
    return result;
}
