/* The kernel for shared groups of prepared skins, once for every body. The includer defines LANES (see lanes.h) and
 * PREPARED_BODY, the name of the body. What bones do is the same for all vertices of a group, so nothing is gathered:
 * matrices are numbers, weights lie in lanes, and positions and normals come one variable per component.
 */
#include "run/skin.h"
#include "run/vectors.h"

#define BLOCK ((size_t)PELT_PREPARED_BLOCK)

/* What lanes `lane`, lane + 1 … of a block read and write: pointers to these lanes. */
typedef struct prepared_spot {
    const float *weights;  /* [K − 1][8] */
    const float *position; /* [3][8] */
    const float *normal;   /* [3][8] or NULL */
    const float *tangent;  /* [4][8] or NULL */
    int axis;              /* of the normals */
    px_prepared_out out;
} prepared_spot;

INLINE void load_rows(const float *rows, int count, lanes out[]) {
    for (int c = 0; c < count; c++)
        out[c] = lanes_load(rows + (size_t)c * BLOCK);
}

/* The first row, plus weights times the others. */
INLINE void blend_rows(const float *rows, int width, const prepared_spot *at, size_t influences, lanes out[]) {
    for (int e = 0; e < width; e++)
        out[e] = rows[e] + (lanes){0};
    for (size_t k = 1; k < influences; k++) {
        lanes weight = lanes_load(at->weights + (k - 1) * BLOCK);
        for (int e = 0; e < width; e++)
            out[e] += weight * rows[(int)k * width + e];
    }
}

/* The normals at rest. */
INLINE void rest_normal(const prepared_spot *at, lanes n[3]) {
    load_rows(at->normal, 3, n);
    for (int axis = 0; axis < 3; axis++)
        if (at->axis == axis) {
            n[(axis + 1) % 3] *= n[axis];
            n[(axis + 2) % 3] *= n[axis];
        }
}

/* The cofactor matrix of m times the normals, up to their length: with the columns a, b, c from behind the axis on,
 * ((a − α c) × (b − β c)), turned where the normals point against the axis. */
INLINE void axis_normal(const lanes m[12], const prepared_spot *at, int axis, lanes out[3]) {
    lanes n[3], a[3], b[3];
    int second = (axis + 1) % 3, third = (axis + 2) % 3;
    load_rows(at->normal, 3, n);
    for (int r = 0; r < 3; r++) {
        a[r] = m[4 * r + second] - n[second] * m[4 * r + axis];
        b[r] = m[4 * r + third] - n[third] * m[4 * r + axis];
    }
    lanes_cross3(a, b, out);
    for (int c = 0; c < 3; c++)
        out[c] = lanes_flip(out[c], n[axis]);
}

INLINE void blended_normal(const lanes m[12], const prepared_spot *at, lanes out[3]) {
    if (at->axis == 0)
        axis_normal(m, at, 0, out);
    else if (at->axis == 1)
        axis_normal(m, at, 1, out);
    else if (at->axis == 2)
        axis_normal(m, at, 2, out);
    else {
        lanes n[3];
        load_rows(at->normal, 3, n);
        cofactor(m, n, out);
    }
}

/* The same of unit length, or the normals at rest where there is no direction left. */
INLINE void unit_blended_normal(const lanes m[12], const prepared_spot *at, lanes out[3]) {
    blended_normal(m, at, out);
    lanes_mask good = make_unit(out);
    if (__builtin_expect(!lanes_all(good), 0)) {
        lanes rest[3];
        rest_normal(at, rest);
        for (int c = 0; c < 3; c++)
            out[c] = lanes_select(good, out[c], rest[c]);
    }
}

/* ---- Linear blend ------------------------------------------------------------------------------------------- */

/* The normals that a single bone moves, or a rigid one merely turns. */
INLINE void single_normal(const px_prepared_pose *pose, const prepared_spot *at, lanes out[3]) {
    lanes n[3];
    load_rows(at->normal, 3, n);
    for (int r = 0; r < 3; r++)
        out[r] = pose->cofactor[3 * r] * n[0] + pose->cofactor[3 * r + 1] * n[1] + pose->cofactor[3 * r + 2] * n[2];
    if (!pose->turned)
        unit(out, n);
}

INLINE void prepared_linear(const px_prepared_pose *pose, const prepared_spot *at, size_t influences) {
    lanes m[12], p[3], out[3];
    blend_rows(pose->matrices[0], 12, at, influences, m);
    load_rows(at->position, 3, p);
    move(m, p, out);
    lanes_store3(at->out.positions, out);
    if (at->normal) {
        if (influences == 1)
            single_normal(pose, at, out);
        else
            unit_blended_normal(m, at, out);
        lanes_store3(at->out.normals, out);
    }
    if (at->tangent) {
        lanes t[4];
        load_rows(at->tangent, 4, t);
        turn(m, t, out);
        unit(out, t);
        lanes_store4(at->out.tangents, (lanes[4]){out[0], out[1], out[2], t[3]});
    }
}

/* ---- Dual quaternions ------------------------------------------------------------------------------------- */

/* Normals and tangents are unit vectors before they turn, so that they need not become it after. */
INLINE void prepared_dual(const px_prepared_pose *pose, const prepared_spot *at, bool stretched) {
    lanes stretch[12], m[12], q[8], v[4], out[3];
    if (stretched)
        blend_rows(pose->matrices[0], 12, at, pose->influence_count, stretch);
    blend_rows(pose->duals[0], 8, at, pose->influence_count, q);
    dual_matrix(q, m);
    load_rows(at->position, 3, v);
    if (stretched)
        turn(stretch, v, v);
    move(m, v, out);
    lanes_store3(at->out.positions, out);
    if (at->normal) {
        if (stretched)
            unit_blended_normal(stretch, at, v);
        else
            rest_normal(at, v);
        turn(m, v, out);
        lanes_store3(at->out.normals, out);
    }
    if (at->tangent) {
        load_rows(at->tangent, 4, v);
        if (stretched) {
            turn(stretch, v, out);
            unit(out, v);
            memcpy(v, out, sizeof out);
        }
        turn(m, v, out);
        lanes_store4(at->out.tangents, (lanes[4]){out[0], out[1], out[2], v[3]});
    }
}

/* ---- The body --------------------------------------------------------------------------------------------- */

INLINE prepared_spot spot_of(const pelt_prepared_skin *prepared, const pelt_prepared_group *group, size_t block,
                             size_t lane, const px_prepared_out *out) {
    size_t at = (group->first_block + block) * BLOCK, place = px_prepared_place(group, block) + lane;
    return (prepared_spot){
        .weights = prepared->weights + group->first_weight + block * BLOCK * (group->influence_count - 1) + lane,
        .position = prepared->positions + 3 * at + lane,
        .normal = out->normals ? prepared->normals + 3 * at + lane : NULL,
        .tangent = out->tangents ? prepared->tangents + 4 * at + lane : NULL,
        .axis = out->normals ? prepared->axes[group->first_block + block] : 3,
        .out = {out->positions + 3 * place, out->normals ? out->normals + 3 * place : NULL,
                out->tangents ? out->tangents + 4 * place : NULL},
    };
}

void PREPARED_BODY(const pelt_prepared_skin *prepared, const pelt_prepared_group *group, const px_prepared_pose *pose,
                   const px_prepared_out *out) {
    for (size_t block = 0; block < px_block_count(group->vertex_count, BLOCK); block++)
        for (size_t lane = 0; lane < BLOCK; lane += LANES) {
            prepared_spot at = spot_of(prepared, group, block, lane, out);
            if (!pose->linear)
                prepared_dual(pose, &at, pose->stretched);
            else if (pose->influence_count == 1)
                prepared_linear(pose, &at, 1);
            else
                prepared_linear(pose, &at, pose->influence_count);
        }
}
