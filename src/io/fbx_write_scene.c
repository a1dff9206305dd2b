/* Records of properties and transforms, and nodes of FBX files: see fbx_write.h. */
#include "core/libm.h"
#include "core/math3.h"
#include "core/rotation.h"
#include "io/fbx.h"
#include "io/fbx_write.h"

/* ---- Parts of records ------------------------------------------------------------------------------------------ */

void px_fbx_begin_object(px_fbx_writer *w, px_fbx_sort which, const char *record, int64_t id, const char *name,
                         const char *type, const char *kind) {
    w->counts[which]++;
    px_fbx_begin(&w->out, record);
    px_fbx_i64(&w->out, id);
    px_fbx_object_name(&w->out, px_fbx_text_or(name), type);
    px_fbx_text(&w->out, kind);
}

void px_fbx_connect(px_fbx_writer *w, int64_t child, int64_t parent, const char *property) {
    px_fbx_connection c = {child, parent, property};
    px_buffer_add(&w->links, &c, sizeof c);
}

void px_fbx_begin_property(px_fbx_out *out, const char *name, const char *type, const char *label, const char *flags) {
    px_fbx_begin(out, "P");
    px_fbx_text(out, name);
    px_fbx_text(out, type);
    px_fbx_text(out, label);
    px_fbx_text(out, flags);
}

void px_fbx_property_i32(px_fbx_out *out, const char *name, const char *type, const char *label, int32_t value) {
    px_fbx_begin_property(out, name, type, label, "");
    px_fbx_i32(out, value);
    px_fbx_end(out);
}

static void property_vector(px_fbx_out *out, const char *name, const double v[3]) {
    px_fbx_begin_property(out, name, name, "", "A");
    for (int c = 0; c < 3; c++)
        px_fbx_f64(out, v[c]);
    px_fbx_end(out);
}

void px_fbx_property_f64(px_fbx_out *out, const char *name, const char *type, const char *label, const char *flags,
                         double value) {
    px_fbx_begin_property(out, name, type, label, flags);
    px_fbx_f64(out, value);
    px_fbx_end(out);
}

/* A matrix as files store it: transposed, translations in centimetres. */
void px_fbx_record_matrix(px_fbx_writer *w, const char *name, const pelt_affine *a) {
    double m[16] = {0};
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 4; column++)
            m[4 * column + row] = a->m[4 * row + column] * (column == 3 ? w->target->unit : 1);
    m[15] = 1;
    px_fbx_record_array(&w->out, name, 'd', m, 16);
}

void px_fbx_property_text(px_fbx_out *out, const char *name, const char *flags, const char *text) {
    px_fbx_begin_property(out, name, "KString", "", flags);
    px_fbx_text(out, text);
    px_fbx_end(out);
}

/* Euler angles in degrees, R = Rz · Ry · Rx; of the two solutions and all turns the one nearest to `angles`, which holds the angles before. */
void px_fbx_euler_angles(const float rotation[4], double angles[3]) {
    pelt_transform turn = px_transform_identity();
    memcpy(turn.rotation, rotation, sizeof turn.rotation);
    pelt_affine a = px_affine_from_transform(&turn);
    double sine = -(double)a.m[8], found[2][3];
    sine = sine > 1 ? 1 : sine < -1 ? -1 : sine;
    if (fabs(sine) > 1 - 1e-7) { /* x and z turn about one axis */
        found[0][0] = 0;
        found[0][1] = sine > 0 ? 90 : -90;
        found[0][2] = px_atan2(-(double)a.m[1], (double)a.m[5]) / PX_DEGREE;
        memcpy(found[1], found[0], sizeof found[0]);
    } else {
        found[0][0] = px_atan2((double)a.m[9], (double)a.m[10]) / PX_DEGREE;
        found[0][1] = px_asin(sine) / PX_DEGREE;
        found[0][2] = px_atan2((double)a.m[4], (double)a.m[0]) / PX_DEGREE;
        found[1][0] = found[0][0] + 180;
        found[1][1] = 180 - found[0][1];
        found[1][2] = found[0][2] + 180;
    }
    double distance[2] = {0};
    for (int s = 0; s < 2; s++)
        for (int c = 0; c < 3; c++) {
            found[s][c] -= 360 * floor((found[s][c] - angles[c]) / 360 + 0.5);
            distance[s] += fabs(found[s][c] - angles[c]);
        }
    memcpy(angles, found[distance[1] < distance[0]], sizeof found[0]);
}

static void write_transform(px_fbx_writer *w, const pelt_transform *t) {
    px_fbx_out *out = &w->out;
    double translation[3], angles[3] = {0}, scale[3];
    for (int c = 0; c < 3; c++) {
        translation[c] = t->translation[c] * w->target->unit;
        scale[c] = t->scale[c];
    }
    px_fbx_euler_angles(t->rotation, angles);
    px_fbx_property_i32(out, "RotationActive", "bool", "", 1);
    px_fbx_property_i32(out, "InheritType", "enum", "", 1);
    property_vector(out, "Lcl Translation", translation);
    property_vector(out, "Lcl Rotation", angles);
    property_vector(out, "Lcl Scaling", scale);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------ */

void px_fbx_write_model(px_fbx_writer *w, int64_t id, const char *name, const char *original, const char *kind,
                        const pelt_transform *local, int64_t parent) {
    px_fbx_begin_object(w, PX_FBX_MODEL, "Model", id, name, "Model", kind);
    px_fbx_record_i32(&w->out, "Version", 232);
    px_fbx_begin(&w->out, "Properties70");
    write_transform(w, local);
    px_fbx_property_i32(&w->out, "DefaultAttributeIndex", "int", "Integer", 0);
    if (strcmp(name, original) != 0)
        px_fbx_property_text(&w->out, PX_FBX_ORIGINAL_NAME, "U", original);
    px_fbx_end(&w->out);
    px_fbx_end(&w->out);
    px_fbx_connect(w, id, parent, NULL);
}

static void write_limb(px_fbx_writer *w, int64_t joint_id, const char *name) {
    int64_t id = ++w->last_id;
    px_fbx_begin_object(w, PX_FBX_ATTRIBUTE, "NodeAttribute", id, name, "NodeAttribute", "LimbNode");
    px_fbx_record_text(&w->out, "TypeFlags", "Skeleton");
    px_fbx_end(&w->out);
    px_fbx_connect(w, id, joint_id, NULL);
}

void px_fbx_write_joints(px_fbx_writer *w) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    int64_t root_id = PX_FBX_JOINT_ID(skeleton->joint_count);
    if (w->new_root) {
        pelt_transform still = px_transform_identity();
        bool taken = px_joint_named(skeleton, "root", strlen("root"), 0) != PELT_NONE;
        px_fbx_write_model(w, root_id, taken ? "root_all" : "root", taken ? "root_all" : "root", "LimbNode", &still, 0);
        write_limb(w, root_id, "root");
    }
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        uint32_t parent = skeleton->parents[j];
        pelt_transform local = skeleton->rest[j];
        if (parent == PELT_NONE)
            px_fbx_turn_root(w, &local);
        const char *kind = w->limbs[j] ? "LimbNode" : w->nodes[j] ? "Mesh" : "Null";
        px_fbx_write_model(w, PX_FBX_JOINT_ID(j), w->names[j], skeleton->names[j], kind, &local,
                           parent != PELT_NONE          ? PX_FBX_JOINT_ID(parent)
                           : w->new_root && w->limbs[j] ? root_id
                                                        : 0);
        if (w->limbs[j])
            write_limb(w, PX_FBX_JOINT_ID(j), w->names[j]);
    }
}
