/* Transforms and skeletons of USD files: see usd.h. */
#include "core/math3.h"
#include "core/rotation.h"
#include "io/usd.h"

#include <stdio.h>

/* ---- Transforms ------------------------------------------------------------------------------------------------- */

/* The matrix of one operation such as "xformOp:rotateXYZ:pivot". Operations that are animated have the value of their first sample. */
static pelt_result read_operation(px_usd *usd, const px_usd_prim *prim, px_text name, bool *moves,
                                  px_scene_matrix *out) {
    static const char *const orders[] = {"XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"};
    char text[128];
    *out = px_scene_matrix_identity;
    if (name.size >= sizeof text || name.size < 9 || memcmp(name.data, "xformOp:", 8) != 0)
        return PELT_OK;
    memcpy(text, name.data, name.size);
    text[name.size] = 0;
    px_text value = px_usd_value(prim, text);
    const px_usd_property *samples = px_usd_find(prim, text, PX_USD_SAMPLES);
    if (samples) {
        const char *at = NULL;
        double time;
        bool found;
        *moves = true;
        PX_TRY(px_usd_next_sample(usd, samples->value, &at, &time, &value, &found));
    }
    const double *numbers;
    size_t count;
    PX_TRY(px_usd_numbers(usd, value, &numbers, &count));
    for (size_t n = 0; n < count; n++)
        if (!isfinite((float)numbers[n]))
            return PELT_OK;
    const char *kind = text + 8;
    pelt_transform t = px_transform_identity();
    if (strncmp(kind, "transform", 9) == 0 && count == 16) {
        px_usd_matrices(numbers, out, 1);
    } else if (strncmp(kind, "translate", 9) == 0 && count == 3) {
        for (int c = 0; c < 3; c++)
            out->m[4 * c + 3] = numbers[c];
    } else if (strncmp(kind, "scale", 5) == 0 && count == 3) {
        for (int c = 0; c < 3; c++)
            out->m[5 * c] = numbers[c];
    } else if (strncmp(kind, "orient", 6) == 0 && count == 4) {
        for (int c = 0; c < 4; c++)
            t.rotation[c] = (float)numbers[(c + 1) % 4];
        px_quat_normalize(t.rotation);
        *out = px_usd_matrix_of_transform(&t);
    } else if (strncmp(kind, "rotate", 6) == 0 && count == 1 && kind[6] >= 'X' && kind[6] <= 'Z') {
        px_rotation_store(px_rotation_about(kind[6] - 'X', numbers[0] * PX_DEGREE), t.rotation);
        *out = px_usd_matrix_of_transform(&t);
    } else if (strncmp(kind, "rotate", 6) == 0 && count == 3) {
        for (size_t o = 0; o < PX_COUNT(orders); o++) {
            px_rotation turn = px_rotation_identity(); /* the first axis turns first */
            for (int c = 0; c < 3 && strncmp(kind + 6, orders[o], 3) == 0; c++)
                turn = px_rotation_mul(px_rotation_about(orders[o][c] - 'X', numbers[orders[o][c] - 'X'] * PX_DEGREE),
                                       turn);
            if (strncmp(kind + 6, orders[o], 3) == 0) {
                px_rotation_store(turn, t.rotation);
                *out = px_usd_matrix_of_transform(&t);
            }
        }
    }
    return PELT_OK;
}

/* The matrix from a prim to the scene. Operations apply last to first. */
pelt_result px_usd_place(px_usd *usd, const px_usd_prim *prim, bool *moves, px_scene_matrix *out) {
    *out = px_scene_matrix_identity;
    for (; prim; prim = prim->parent) {
        px_text *names;
        uint32_t count;
        bool reset = false;
        PX_TRY(px_usd_texts(usd, px_usd_value(prim, "xformOpOrder"), &names, &count));
        for (uint32_t n = count; n-- > 0;) {
            px_text name = names[n];
            px_scene_matrix step;
            bool inverse = name.size > 8 && memcmp(name.data, "!invert!", 8) == 0;
            reset |= px_text_is(name, "!resetXformStack!");
            if (inverse)
                name = (px_text){name.data + 8, name.size - 8};
            PX_TRY(read_operation(usd, prim, name, moves, &step));
            if (inverse && !px_usd_matrix_inverse(&step, &step))
                step = px_scene_matrix_identity;
            *out = px_scene_matrix_mul(&step, out);
        }
        if (reset)
            break;
    }
    for (int e = 0; e < 12; e++)
        if (!isfinite((float)out->m[e]))
            return px_fail(usd->context, PELT_ERROR_INPUT, "a transform is not finite");
    return PELT_OK;
}

pelt_affine px_usd_affine(const px_scene_matrix *a) {
    pelt_affine out;
    for (int e = 0; e < 12; e++)
        out.m[e] = (float)a->m[e];
    return out;
}

/* ---- Skeletons -------------------------------------------------------------------------------------------------- */

static int compare_texts(px_text a, px_text b) {
    int order = memcmp(a.data, b.data, px_min_size(a.size, b.size));
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* Sorts joints by path (heap sort: the comparison needs the paths). */
static void sort_joints(const px_text *paths, uint32_t *order, uint32_t count) {
    for (uint32_t n = 0; n < count; n++)
        order[n] = n;
    for (uint32_t size = count, start = count / 2; size > 1;) {
        if (start > 0) {
            start--;
        } else {
            uint32_t swap = order[--size];
            order[size] = order[0];
            order[0] = swap;
        }
        for (uint32_t at = start, child; (child = 2 * at + 1) < size; at = child) {
            if (child + 1 < size && compare_texts(paths[order[child + 1]], paths[order[child]]) > 0)
                child++;
            if (compare_texts(paths[order[child]], paths[order[at]]) <= 0)
                break;
            uint32_t swap = order[at];
            order[at] = order[child];
            order[child] = swap;
        }
    }
}

uint32_t px_usd_joint(const px_usd_skeleton *skeleton, px_text path) {
    uint32_t low = 0, high = skeleton->joint_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_texts(skeleton->joints[skeleton->order[middle]], path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < skeleton->joint_count && px_text_equal(skeleton->joints[skeleton->order[low]], path)
               ? skeleton->order[low]
               : PELT_NONE;
}

/* The nearest joint above; PELT_NONE: a root. */
static uint32_t joint_above(const px_usd_skeleton *skeleton, px_text path) {
    while (path.size > 0) {
        if (path.data[--path.size] != '/')
            continue;
        uint32_t joint = px_usd_joint(skeleton, path);
        if (joint != PELT_NONE)
            return joint;
    }
    return PELT_NONE;
}

static px_text last_element(px_text path) {
    size_t at = path.size;
    while (at > 0 && path.data[at - 1] != '/')
        at--;
    return (px_text){path.data + at, path.size - at};
}

/* Adds a joint to the model; NULL names: out of memory. Arrays have room for it. */
pelt_result px_usd_add_joint(pelt_model *model, const char *name, uint32_t parent, const px_scene_matrix *local,
                             uint32_t *joint) {
    pelt_skeleton *skeleton = &model->skeleton;
    pelt_affine affine = px_usd_affine(local);
    if (!name)
        return PELT_ERROR_MEMORY;
    *joint = skeleton->joint_count++;
    skeleton->names[*joint] = name;
    skeleton->parents[*joint] = parent;
    px_transform_from_affine(&affine, &skeleton->rest[*joint]);
    px_quat_normalize(skeleton->rest[*joint].rotation);
    return PELT_OK;
}

/* Matrices of all joints; *found false: the file has another number of them. */
static pelt_result read_matrices(px_usd *usd, const px_usd_prim *prim, const char *name, uint32_t count,
                                 px_scene_matrix *out, bool *found) {
    const double *numbers;
    size_t number_count;
    PX_TRY(px_usd_numbers(usd, px_usd_value(prim, name), &numbers, &number_count));
    *found = count > 0 && number_count == (size_t)16 * count;
    if (*found && !px_usd_matrices(numbers, out, count))
        return px_fail(usd->context, PELT_ERROR_INPUT, "a matrix of %s is not finite", name);
    return PELT_OK;
}

static pelt_result read_skeleton(px_usd *usd, px_usd_skeleton *skeleton) {
    pelt_model *model = usd->read->model;
    const px_usd_prim *prim = skeleton->prim;
    uint32_t count = skeleton->joint_count, name_count, base = PELT_NONE;
    px_scene_matrix *rests = PX_NEW(usd->arena, px_scene_matrix, count),
                    *binds = PX_NEW(usd->arena, px_scene_matrix, count);
    uint32_t *parents = PX_NEW(usd->arena, uint32_t, count);
    skeleton->order = PX_NEW(usd->arena, uint32_t, count);
    skeleton->model_joints = PX_NEW(usd->arena, uint32_t, count);
    skeleton->inverses = PX_NEW(usd->arena, px_scene_matrix, count);
    if (!rests || !binds || !parents || !skeleton->order || !skeleton->model_joints || !skeleton->inverses)
        return PELT_ERROR_MEMORY;
    sort_joints(skeleton->joints, skeleton->order, count);
    bool has_rests, has_binds, moves = false;
    px_text *names;
    px_scene_matrix place;
    PX_TRY(read_matrices(usd, prim, "restTransforms", count, rests, &has_rests));
    PX_TRY(read_matrices(usd, prim, "bindTransforms", count, binds, &has_binds));
    PX_TRY(px_usd_texts(usd, px_usd_value(prim, "jointNames"), &names, &name_count));
    PX_TRY(px_usd_place(usd, prim, &moves, &place));
    if (memcmp(&place, &px_scene_matrix_identity, sizeof place) != 0)
        PX_TRY(px_usd_add_joint(model, px_usd_prim_name(usd, prim), PELT_NONE, &place, &base));
    for (uint32_t j = 0; j < count; j++) {
        uint32_t parent = parents[j] = joint_above(skeleton, skeleton->joints[j]);
        if (parent != PELT_NONE && parent >= j)
            return px_fail(usd->context, PELT_ERROR_INPUT, "the joint '%.*s' comes before the joint above it",
                           (int)px_min_size(skeleton->joints[j].size, 100), skeleton->joints[j].data);
        px_scene_matrix inverse, local = px_scene_matrix_identity;
        bool above = parent == PELT_NONE || px_usd_matrix_inverse(&binds[parent], &inverse);
        if (has_rests)
            local = rests[j];
        else if (has_binds && above)
            local = parent == PELT_NONE ? binds[j] : px_scene_matrix_mul(&inverse, &binds[j]);
        if (!has_binds) /* the rest pose, in the space of the skeleton */
            binds[j] = parent == PELT_NONE ? local : px_scene_matrix_mul(&binds[parent], &local);
        if (!px_usd_matrix_inverse(&binds[j], &skeleton->inverses[j]))
            skeleton->inverses[j] = px_scene_matrix_identity;
        px_text element = last_element(skeleton->joints[j]);
        size_t prefix = strlen(PX_USD_BIND_JOINT);
        uint32_t above_joint = parent == PELT_NONE ? PELT_NONE : skeleton->model_joints[parent];
        if (above_joint != PELT_NONE && element.size > prefix && memcmp(element.data, PX_USD_BIND_JOINT, prefix) == 0)
            skeleton->model_joints[j] = above_joint;
        else if (j == 0 && count > 1 && px_text_is(element, PX_USD_ROOT_JOINT))
            skeleton->model_joints[j] = PELT_NONE;
        else
            PX_TRY(px_usd_add_joint(model, px_usd_string(usd, name_count == count ? names[j] : element),
                                    above_joint == PELT_NONE ? base : above_joint, &local, &skeleton->model_joints[j]));
    }
    return PELT_OK;
}

/* All skeletons, and room for joints of meshes. */
pelt_result px_usd_read_skeletons(px_usd *usd, uint32_t mesh_count) {
    pelt_model *model = usd->read->model;
    size_t count = 0, joint_count = mesh_count;
    for (const px_usd_prim *prim = usd->root; (prim = px_usd_next(usd->root, prim));)
        count += px_usd_is(prim, "Skeleton");
    if (!(usd->skeletons = PX_NEW(usd->arena, px_usd_skeleton, count)))
        return PELT_ERROR_MEMORY;
    for (const px_usd_prim *prim = usd->root; (prim = px_usd_next(usd->root, prim));) {
        if (!px_usd_is(prim, "Skeleton"))
            continue;
        px_usd_skeleton *skeleton = &usd->skeletons[usd->skeleton_count];
        skeleton->prim = prim;
        PX_TRY(px_usd_texts(usd, px_usd_value(prim, "joints"), &skeleton->joints, &skeleton->joint_count));
        joint_count += (size_t)skeleton->joint_count + 1;
        usd->skeleton_count += skeleton->joint_count > 0;
    }
    if (joint_count >= PELT_NONE)
        return px_fail(usd->context, PELT_ERROR_UNSUPPORTED, "has too many joints");
    model->skeleton.names = PX_NEW(model->memory, const char *, joint_count);
    model->skeleton.parents = PX_NEW(model->memory, uint32_t, joint_count);
    model->skeleton.rest = PX_NEW(model->memory, pelt_transform, joint_count);
    if (!model->skeleton.names || !model->skeleton.parents || !model->skeleton.rest)
        return PELT_ERROR_MEMORY;
    for (uint32_t s = 0; s < usd->skeleton_count; s++)
        PX_TRY(read_skeleton(usd, &usd->skeletons[s]));
    return PELT_OK;
}

/* The skeleton that a prim or one above it is bound to, else the only one of the file. */
const px_usd_skeleton *px_usd_find_skeleton(const px_usd *usd, const px_usd_prim *prim) {
    for (; prim; prim = prim->parent) {
        const px_usd_prim *target = px_usd_target(usd, prim, "skel:skeleton", PX_USD_VALUE);
        for (uint32_t s = 0; target && s < usd->skeleton_count; s++)
            if (usd->skeletons[s].prim == target)
                return &usd->skeletons[s];
    }
    return usd->skeleton_count == 1 ? usd->skeletons : NULL;
}
