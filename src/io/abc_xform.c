/* Alembic transforms: a list of operations, the outermost first, with their values concatenated; and the product of the
 * chain of transforms above a mesh. */
#include "io/abc.h"

#include <math.h>

typedef enum op_kind {
    OP_SCALE,
    OP_TRANSLATE,
    OP_ROTATE,
    OP_MATRIX,
    OP_ROTATE_X,
    OP_ROTATE_Y,
    OP_ROTATE_Z,
    OP_COUNT
} op_kind;

/* Number of values per operation. */
static const uint8_t op_sizes[OP_COUNT] = {3, 3, 4, 16, 1, 1, 1};

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static pelt_result fail_xform(const abc_archive *archive, const abc_object *object, const char *what) {
    return px_fail(archive->context, PELT_ERROR_INPUT, "transform '%.*s': %s", (int)px_min_size(object->name.size, 100),
                   object->name.data, what);
}

/* Checks that each sample has all values that the operations need. */
static pelt_result check_values(abc_archive *archive, const abc_object *object, const abc_xform *xform) {
    size_t wanted = 0;
    for (uint32_t o = 0; o < xform->op_count; o++) {
        if (xform->ops[o] >> 4 >= OP_COUNT)
            return fail_xform(archive, object, "it has an operation that is not known");
        wanted += op_sizes[xform->ops[o] >> 4];
    }
    if (xform->values.pod != ABC_F64)
        return fail_xform(archive, object, "its numbers are no doubles");
    PX_TRY(px_abc_spend(archive, px_mul_size(8, px_abc_stored_count(&xform->values))));
    for (uint32_t s = 0; s < px_abc_stored_count(&xform->values); s++) {
        ogawa_data data;
        PX_TRY(px_abc_stored(&archive->file, &xform->values, s, &data));
        if (data.size < 8 * wanted)
            return fail_xform(archive, object, "its operations need more numbers than it has");
    }
    return PELT_OK;
}

pelt_result px_abc_read_xform(abc_archive *archive, const abc_object *object, abc_xform *xform) {
    abc_compound properties, own;
    abc_property compound, ops;
    bool found;
    PX_TRY(px_abc_properties(archive, object->place, &properties));
    PX_TRY(px_abc_find(archive, &properties, ".xform", &compound, &found));
    if (!found || compound.kind != ABC_COMPOUND)
        return PELT_OK;
    PX_TRY(px_abc_compound(archive, &compound, &own));
    PX_TRY(px_abc_find(archive, &own, ".inherits", &xform->inherits, &xform->has_inherits));
    xform->has_inherits = xform->has_inherits && xform->inherits.pod == ABC_BOOL;
    ogawa_data data;
    if (xform->has_inherits &&
        px_abc_is_constant(&xform->inherits)) { /* a transform that changes nothing is left out */
        PX_TRY(px_abc_sample(&archive->file, &xform->inherits, 0, &data));
        xform->has_inherits = data.size > 0 && data.bytes[0] == 0;
    }
    PX_TRY(px_abc_find(archive, &own, ".ops", &ops, &found));
    if (!found || ops.pod != ABC_U8)
        return PELT_OK;
    PX_TRY(px_abc_sample(&archive->file, &ops, 0, &data));
    if (data.size > UINT8_MAX) /* largest value of an extent */
        return fail_xform(archive, object, "it has too many operations");
    xform->ops = data.bytes;
    xform->op_count = (uint32_t)data.size;
    PX_TRY(px_abc_find(archive, &own, ".vals", &xform->values, &xform->has_values));
    return xform->has_values ? check_values(archive, object, xform) : PELT_OK;
}

/* ---- Matrices --------------------------------------------------------------------------------------------- */

static px_scene_matrix rotation(const double axis[3], double degrees) {
    double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    if (!(length > 0))
        return px_scene_matrix_identity;
    double angle = degrees * (3.14159265358979323846 / 180), s = px_sin(angle), c = px_cos(angle);
    double x = axis[0] / length, y = axis[1] / length, z = axis[2] / length, t = 1 - c;
    return (px_scene_matrix){{t * x * x + c, t * x * y - s * z, t * x * z + s * y, 0, /* row 0 */
                              t * x * y + s * z, t * y * y + c, t * y * z - s * x, 0, /* row 1 */
                              t * x * z - s * y, t * y * z + s * x, t * z * z + c, 0}};
}

/* v: the operation's values. Alembic multiplies row vectors by matrices: the matrix is transposed here. */
static px_scene_matrix op_matrix(op_kind kind, const double *v) {
    px_scene_matrix out = px_scene_matrix_identity;
    switch (kind) {
    case OP_SCALE:
        for (int r = 0; r < 3; r++)
            out.m[5 * r] = v[r];
        return out;
    case OP_TRANSLATE:
        for (int r = 0; r < 3; r++)
            out.m[4 * r + 3] = v[r];
        return out;
    case OP_ROTATE:
        return rotation(v, v[3]);
    case OP_MATRIX:
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++)
                out.m[4 * r + c] = v[4 * c + r];
        return out;
    default:
        return rotation((const double[3]){kind == OP_ROTATE_X, kind == OP_ROTATE_Y, kind == OP_ROTATE_Z}, v[0]);
    }
}

static pelt_result local_matrix(const abc_scene *scene, const abc_xform *xform, double time, px_scene_matrix *out) {
    *out = px_scene_matrix_identity;
    if (!xform->has_values)
        return PELT_OK;
    const abc_property *values = &xform->values;
    abc_moment moment = px_abc_moment(scene->samplings, values, time);
    ogawa_data before, after;
    PX_TRY(px_abc_sample(&scene->file, values, moment.before, &before));
    PX_TRY(px_abc_sample(&scene->file, values, moment.after, &after));
    size_t at = 0;
    for (uint32_t o = 0; o < xform->op_count; o++) {
        op_kind kind = (op_kind)(xform->ops[o] >> 4);
        double v[16];
        for (size_t i = 0; i < op_sizes[kind]; i++, at += 8) {
            double a = px_double_from_bits(px_load_u64(before.bytes + at));
            double b = px_double_from_bits(px_load_u64(after.bytes + at));
            v[i] = moment.weight > 0 ? a + (b - a) * moment.weight : a;
        }
        px_scene_matrix own = op_matrix(kind, v);
        *out = px_scene_matrix_mul(out, &own);
    }
    return PELT_OK;
}

/* ---- World transforms ------------------------------------------------------------------------------------- */

bool px_abc_xform_moves(const abc_scene *scene, uint32_t xform) {
    for (; xform != PELT_NONE; xform = scene->xforms[xform].parent) {
        const abc_xform *x = &scene->xforms[xform];
        if ((x->has_values && !px_abc_is_constant(&x->values)) ||
            (x->has_inherits && !px_abc_is_constant(&x->inherits)))
            return true;
    }
    return false;
}

static pelt_result follows_parent(const abc_scene *scene, const abc_xform *xform, double time, bool *follows) {
    *follows = true;
    if (!xform->has_inherits)
        return PELT_OK;
    const abc_property *inherits = &xform->inherits;
    abc_moment moment = px_abc_moment(scene->samplings, inherits, time);
    ogawa_data data;
    PX_TRY(px_abc_sample(&scene->file, inherits, moment.before, &data));
    *follows = data.size == 0 || data.bytes[0] != 0;
    return PELT_OK;
}

pelt_result px_abc_world(const abc_scene *scene, uint32_t xform, double time, px_scene_matrix *world) {
    *world = px_scene_matrix_identity;
    bool follows = true;
    for (; follows && xform != PELT_NONE; xform = scene->xforms[xform].parent) {
        px_scene_matrix local;
        PX_TRY(local_matrix(scene, &scene->xforms[xform], time, &local));
        *world = px_scene_matrix_mul(&local, world);
        PX_TRY(follows_parent(scene, &scene->xforms[xform], time, &follows));
    }
    return PELT_OK;
}
