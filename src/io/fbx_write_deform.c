/* Skins and blend shapes of FBX files: see fbx_write.h. */
#include "core/math3.h"
#include "io/fbx_write.h"

/* The cluster of a bone: its points and weights in this mesh. */
static pelt_result write_cluster(px_fbx_writer *w, const px_mesh_group *g, uint32_t bone, int64_t skin_id,
                                 int32_t *indices, double *weights) {
    const pelt_skin *skin = &w->model->skin;
    size_t count = 0;
    for (uint32_t i = 0; i < g->point_count; i++)
        for (uint32_t k = 0; k < skin->influence_count; k++) {
            size_t at = (size_t)g->vertices[i] * skin->influence_count + k;
            if (skin->bones[at] == bone && skin->weights[at] > 0) {
                indices[count] = (int32_t)i;
                weights[count++] = skin->weights[at];
                break;
            }
        }
    if (count == 0)
        return PELT_OK;
    int64_t id = ++w->last_id;
    pelt_affine bind;
    if (!px_affine_inverse(&skin->inverse_binds[bone], &bind))
        bind = w->globals[skin->bone_joints[bone]];
    px_fbx_begin_object(w, PX_FBX_DEFORMER, "Deformer", id, w->names[skin->bone_joints[bone]], "SubDeformer",
                        "Cluster");
    px_fbx_record_i32(&w->out, "Version", 100);
    px_fbx_record_array(&w->out, "Indexes", 'i', indices, count);
    px_fbx_record_array(&w->out, "Weights", 'd', weights, count);
    pelt_affine inverse = px_fbx_turn_from(w, &skin->inverse_binds[bone]);
    bind = px_fbx_turn_to(w, &bind);
    px_fbx_record_matrix(w, "Transform", &inverse);
    px_fbx_record_matrix(w, "TransformLink", &bind);
    px_fbx_end(&w->out);
    px_fbx_connect(w, id, skin_id, NULL);
    px_fbx_connect(w, PX_FBX_JOINT_ID(skin->bone_joints[bone]), id, NULL);
    return PELT_OK;
}

pelt_result px_fbx_write_skin(px_fbx_writer *w, const px_mesh_group *g, int64_t geometry_id) {
    pelt_context *context = w->write->context;
    int64_t id = ++w->last_id;
    px_fbx_begin_object(w, PX_FBX_DEFORMER, "Deformer", id, w->mesh.parts[g->first].name, "Deformer", "Skin");
    px_fbx_record_i32(&w->out, "Version", 101);
    px_fbx_end(&w->out);
    px_fbx_connect(w, id, geometry_id, NULL);
    int32_t *indices = PX_ALLOC(context, int32_t, g->point_count);
    double *weights = PX_ALLOC(context, double, g->point_count);
    pelt_result result = indices && weights ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t b = 0; result == PELT_OK && b < w->model->skin.bone_count; b++)
        result = write_cluster(w, g, b, id, indices, weights);
    px_free(context, indices);
    px_free(context, weights);
    return result;
}

/* Rows of a morph that are not 0, for the points of the group. */
static pelt_result write_shape(px_fbx_writer *w, const px_mesh_group *g, const pelt_morph *morph, int64_t channel_id) {
    pelt_context *context = w->write->context;
    px_buffer indices = {.context = context}, positions = {.context = context}, normals = {.context = context};
    for (uint32_t i = 0; i < g->point_count; i++) {
        uint32_t row = g->vertices[i] - morph->first_vertex;
        if (g->vertices[i] < morph->first_vertex || row >= morph->vertex_count)
            continue;
        const float *p = morph->positions + (size_t)3 * row;
        if (p[0] == 0 && p[1] == 0 && p[2] == 0)
            continue;
        int32_t index = (int32_t)i;
        double value[3], normal[3];
        for (int c = 0; c < 3; c++) {
            value[c] = p[c] * w->target->unit;
            normal[c] = morph->normals ? morph->normals[(size_t)3 * row + (size_t)c] : 0;
        }
        if (px_fbx_is_free(w, g)) {
            px_fbx_turn_vector(w, value);
            px_fbx_turn_vector(w, normal);
        }
        px_buffer_add(&indices, &index, sizeof index);
        px_buffer_add(&positions, value, sizeof value);
        px_buffer_add(&normals, normal, sizeof normal);
    }
    int64_t id = ++w->last_id;
    px_fbx_begin_object(w, PX_FBX_GEOMETRY, "Geometry", id, morph->name, "Geometry", "Shape");
    px_fbx_record_i32(&w->out, "Version", 100);
    px_fbx_record_array(&w->out, "Indexes", 'i', indices.data, indices.size / sizeof(int32_t));
    px_fbx_record_array(&w->out, "Vertices", 'd', positions.data, positions.size / sizeof(double));
    px_fbx_record_array(&w->out, "Normals", 'd', normals.data, normals.size / sizeof(double));
    px_fbx_end(&w->out);
    px_fbx_connect(w, id, channel_id, NULL);
    bool failed = indices.failed || positions.failed || normals.failed;
    px_buffer_free(&indices);
    px_buffer_free(&positions);
    px_buffer_free(&normals);
    return failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* A channel with one shape for each morph that moves the group. */
pelt_result px_fbx_write_shapes(px_fbx_writer *w, const px_mesh_group *g, int64_t geometry_id) {
    static const double full = 100;
    int64_t shapes_id = 0, group = g - w->groups;
    for (uint32_t m = 0; m < w->model->morphs.morph_count; m++) {
        const pelt_morph *morph = &w->model->morphs.morphs[m];
        if (!px_mesh_group_has_morph(g, morph))
            continue;
        if (!shapes_id) {
            shapes_id = ++w->last_id;
            px_fbx_begin_object(w, PX_FBX_DEFORMER, "Deformer", shapes_id, w->mesh.parts[g->first].name, "Deformer",
                                "BlendShape");
            px_fbx_record_i32(&w->out, "Version", 100);
            px_fbx_end(&w->out);
            px_fbx_connect(w, shapes_id, geometry_id, NULL);
        }
        px_fbx_begin_object(w, PX_FBX_DEFORMER, "Deformer", PX_FBX_CHANNEL_ID(w, group, m), morph->name, "SubDeformer",
                            "BlendShapeChannel");
        px_fbx_record_i32(&w->out, "Version", 100);
        px_fbx_begin(&w->out, "DeformPercent");
        px_fbx_f64(&w->out, morph->weight * 100.0);
        px_fbx_end(&w->out);
        px_fbx_record_array(&w->out, "FullWeights", 'd', &full, 1);
        px_fbx_begin(&w->out, "Properties70");
        px_fbx_property_f64(&w->out, "DeformPercent", "Number", "", "A", morph->weight * 100.0);
        px_fbx_end(&w->out);
        px_fbx_end(&w->out);
        px_fbx_connect(w, PX_FBX_CHANNEL_ID(w, group, m), shapes_id, NULL);
        PX_TRY(write_shape(w, g, morph, PX_FBX_CHANNEL_ID(w, group, m)));
    }
    return PELT_OK;
}

/* The pose that skins are bound in: bind matrices of bones. */
void px_fbx_write_bind_pose(px_fbx_writer *w, const int64_t *mesh_ids, uint32_t mesh_count) {
    const pelt_skin *skin = &w->model->skin;
    px_fbx_begin_object(w, PX_FBX_POSE, "Pose", ++w->last_id, "bind pose", "Pose", "BindPose");
    px_fbx_record_text(&w->out, "Type", "BindPose");
    px_fbx_record_i32(&w->out, "Version", 100);
    px_fbx_record_i32(&w->out, "NbPoseNodes", (int32_t)(mesh_count + skin->bone_count));
    for (uint32_t n = 0; n < mesh_count + skin->bone_count; n++) {
        uint32_t b = n - mesh_count;
        pelt_affine matrix = px_affine_identity();
        if (n >= mesh_count && !px_affine_inverse(&skin->inverse_binds[b], &matrix))
            matrix = w->globals[skin->bone_joints[b]];
        if (n >= mesh_count)
            matrix = px_fbx_turn_to(w, &matrix);
        px_fbx_begin(&w->out, "PoseNode");
        px_fbx_begin(&w->out, "Node");
        px_fbx_i64(&w->out, n < mesh_count ? mesh_ids[n] : PX_FBX_JOINT_ID(skin->bone_joints[b]));
        px_fbx_end(&w->out);
        px_fbx_record_matrix(w, "Matrix", &matrix);
        px_fbx_end(&w->out);
    }
    px_fbx_end(&w->out);
}
