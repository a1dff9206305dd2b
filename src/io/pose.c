/* Reads poses of a model's joints from files: Pelt's own JSON (docs/formats.md), or another skeleton whose joints have
 * the same names.
 *
 * Such a skeleton contributes the global rotation of a joint relative to its own rest pose. The result does not depend
 * on the file's joint axes (BVH has none):
 *   R = S(pose) · S(rest)⁻¹ · R(rest), where R, S are global rotations of the model's and the file's joint.
 * A file without a motion is a skeleton that stands in the pose; its local transforms are copied.
 */
#include "core/json.h"
#include "core/math3.h"
#include "core/rotation.h"
#include "io/io.h"

#include <float.h>
#include <math.h>
#include <strings.h>

void pelt_pose_turn(const pelt_transform *rest, const double degrees[3], pelt_transform *local) {
    px_rotation turn = px_rotation_of(rest->rotation);
    for (int axis = 2; axis >= 0; axis--)
        turn = px_rotation_mul(turn, px_rotation_about(axis, degrees[axis] * PX_DEGREE));
    px_rotation_store(turn, local->rotation);
}

typedef struct pose_reader {
    pelt_context *context;
    pelt_model *model;
    px_arena *scratch;
    pelt_pose *poses;
    uint32_t pose_count;
} pose_reader;

/* ---- Joints ----------------------------------------------------------------------------------------------- */

/* The only joint of a name. PELT_NONE: there is none, or several. */
static uint32_t only_joint(const pelt_skeleton *skeleton, const char *name) {
    size_t length = strlen(name);
    uint32_t joint = px_joint_named(skeleton, name, length, 0);
    bool several = joint != PELT_NONE && px_joint_named(skeleton, name, length, joint + 1) != PELT_NONE;
    return several ? PELT_NONE : joint;
}

pelt_result pelt_joint_find(pelt_context *context, const pelt_model *model, const char *name, uint32_t *joint) {
    const pelt_skeleton *skeleton = &model->skeleton;
    *joint = only_joint(skeleton, name);
    if (*joint != PELT_NONE)
        return PELT_OK;
    if (px_joint_named(skeleton, name, strlen(name), 0) != PELT_NONE)
        return px_fail(context, PELT_ERROR_INPUT, "%s has several joints '%s'; give them names of their own",
                       model->path, name);
    return px_fail_joint(context, skeleton, model->path, name, strlen(name));
}

/* Adds a pose with all joints at rest. */
static pelt_result add_pose(pose_reader *r, const char *name, size_t length, pelt_transform **locals) {
    const pelt_skeleton *skeleton = &r->model->skeleton;
    *locals = PX_NEW(r->model->memory, pelt_transform, skeleton->joint_count);
    const char *copy = px_arena_text(r->model->memory, name, length);
    if (!*locals || !copy)
        return PELT_ERROR_MEMORY;
    if (skeleton->joint_count)
        memcpy(*locals, skeleton->rest, skeleton->joint_count * sizeof **locals);
    r->poses[r->pose_count++] = (pelt_pose){copy, *locals};
    return PELT_OK;
}

/* Adds a pose that is named after its file: "folder/bent.json" gives "bent". */
static pelt_result add_file_pose(pose_reader *r, const char *path, pelt_transform **locals) {
    const char *name = px_path_name(path), *dot = strrchr(name, '.');
    return add_pose(r, name, dot && dot > name ? (size_t)(dot - name) : strlen(name), locals);
}

static pelt_result make_room(pose_reader *r, size_t count) {
    r->poses = PX_NEW(r->model->memory, pelt_pose, count);
    return r->poses ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

static pelt_result read_numbers(pose_reader *r, const char *joint, const px_json *value, uint32_t count, double *out) {
    bool good = px_json_is(value, PX_JSON_ARRAY) && value->count == count;
    const px_json *item = good ? value->first : NULL;
    for (uint32_t c = 0; item; c++, item = item->next) {
        out[c] = px_json_double(item, NAN);
        good = good && fabs(out[c]) <= FLT_MAX;
    }
    if (good)
        return PELT_OK;
    return px_fail(r->context, PELT_ERROR_INPUT, "joint '%s': \"%s\" must be an array of %u numbers", joint, value->key,
                   count);
}

static void store_floats(const double *values, uint32_t count, float *out) {
    for (uint32_t c = 0; c < count; c++)
        out[c] = (float)values[c];
}

static pelt_result read_member(pose_reader *r, const char *joint, const px_json *member, const pelt_transform *rest,
                               pelt_transform *local) {
    static const char *const keys[] = {"rotation", "euler", "translation", "scale"};
    double v[4];
    uint32_t key = 0;
    while (key < PX_COUNT(keys) && strcmp(member->key, keys[key]) != 0)
        key++;
    if (key == PX_COUNT(keys)) {
        const char *near = pelt_nearest_name(member->key, keys, PX_COUNT(keys));
        return px_fail(r->context, PELT_ERROR_INPUT, "joint '%s': \"%s\" is not known; a joint has \"%s\"%s", joint,
                       member->key, near ? near : "rotation", near ? "" : ", \"euler\", \"translation\" or \"scale\"");
    }
    PX_TRY(read_numbers(r, joint, member, key == 0 ? 4 : 3, v));
    if (key == 1)
        pelt_pose_turn(rest, v, local);
    else
        store_floats(v, key == 0 ? 4 : 3, key == 0 ? local->rotation : key == 2 ? local->translation : local->scale);
    if (key == 0 && !(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3] > 1e-12))
        return px_fail(r->context, PELT_ERROR_INPUT, "joint '%s': its rotation has no length", joint);
    if (key == 0)
        px_quat_mend(local->rotation);
    return PELT_OK;
}

static pelt_result read_joint(pose_reader *r, const px_json *value, pelt_transform *locals) {
    uint32_t joint;
    PX_TRY(pelt_joint_find(r->context, r->model, value->key, &joint));
    if (!px_json_is(value, PX_JSON_OBJECT))
        return px_fail(r->context, PELT_ERROR_INPUT, "joint '%s': must be an object with \"rotation\" or \"euler\"",
                       value->key);
    if (px_json_get(value, "rotation") && px_json_get(value, "euler"))
        return px_fail(r->context, PELT_ERROR_INPUT, "joint '%s': has both \"rotation\" and \"euler\"; keep one",
                       value->key);
    for (const px_json *member = value->first; member; member = member->next)
        PX_TRY(read_member(r, value->key, member, &r->model->skeleton.rest[joint], &locals[joint]));
    return PELT_OK;
}

static pelt_result read_json_pose(pose_reader *r, const px_json *pose, pelt_transform *locals) {
    const px_json *joints = px_json_get(pose, "joints");
    if (!px_json_is(joints, PX_JSON_OBJECT))
        return px_fail(r->context, PELT_ERROR_INPUT,
                       "%s%s%shas no \"joints\"; a pose is {\"joints\": {\"NAME\": {\"euler\": [90, 0, 0]}}}",
                       pose->key ? "pose '" : "", pose->key ? pose->key : "", pose->key ? "' " : "");
    for (const px_json *joint = joints->first; joint; joint = joint->next)
        PX_TRY(read_joint(r, joint, locals));
    return PELT_OK;
}

static pelt_result read_json(pose_reader *r, const px_file *file) {
    px_json *root;
    pelt_transform *locals;
    PX_TRY(px_json_read(r->scratch, (const char *)file->data, file->size, &root));
    const px_json *poses = px_json_get(root, "poses");
    if (!px_json_is(poses, PX_JSON_OBJECT)) {
        PX_TRY(make_room(r, 1));
        PX_TRY(add_file_pose(r, file->path, &locals));
        return read_json_pose(r, root, locals);
    }
    PX_TRY(make_room(r, poses->count));
    for (const px_json *pose = poses->first; pose; pose = pose->next) {
        PX_TRY(add_pose(r, pose->key, pose->key_length, &locals));
        PX_TRY(read_json_pose(r, pose, locals));
    }
    return PELT_OK;
}

/* ---- Skeletons -------------------------------------------------------------------------------------------- */

/* A skeleton at rest and in a pose. */
typedef struct posed {
    const pelt_skeleton *skeleton;
    pelt_transform *locals;     /* [joint] in the pose */
    pelt_affine *rest, *global; /* [joint] global transforms at rest and in the pose */
} posed;

static pelt_result make_posed(px_arena *scratch, const pelt_skeleton *skeleton, posed *out) {
    uint32_t count = skeleton->joint_count;
    *out = (posed){skeleton, PX_NEW(scratch, pelt_transform, count), PX_NEW(scratch, pelt_affine, count),
                   PX_NEW(scratch, pelt_affine, count)};
    if (!out->locals || !out->rest || !out->global)
        return PELT_ERROR_MEMORY;
    pelt_skeleton_globals(skeleton, skeleton->rest, out->rest);
    return PELT_OK;
}

static px_rotation turn_of(const pelt_affine *from, const pelt_affine *to) {
    return px_rotation_mul(px_rotation_of_affine(to), px_rotation_inverse(px_rotation_of_affine(from)));
}

/* Gives joint `j` of `to` the global rotation that joint `k` of `from` has relative to its rest pose. If `k` is a root,
 * also copies its global position. */
static void follow(posed *to, uint32_t j, const posed *from, uint32_t k) {
    uint32_t parent = to->skeleton->parents[j];
    pelt_affine above = parent == PELT_NONE ? px_affine_identity() : to->global[parent], back;
    px_rotation wanted =
        px_rotation_mul(turn_of(&from->rest[k], &from->global[k]), px_rotation_of_affine(&to->rest[j]));
    px_rotation_store(px_rotation_mul(px_rotation_inverse(px_rotation_of_affine(&above)), wanted),
                      to->locals[j].rotation);
    if (from->skeleton->parents[k] != PELT_NONE || !px_affine_inverse(&above, &back))
        return;
    const float *m = from->global[k].m, place[3] = {m[3], m[7], m[11]};
    px_affine_point(&back, place, to->locals[j].translation);
}

/* Poses `to` by the joints of `from` with the same names; other joints keep their rest pose. `moved`: the file has a
 * motion; false: local transforms are copied. */
static pelt_result follow_all(pose_reader *r, const posed *from, bool moved, posed *to) {
    const pelt_skeleton *skeleton = to->skeleton;
    uint32_t found = 0;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) { /* parents come first */
        uint32_t k = only_joint(from->skeleton, skeleton->names[j]), parent = skeleton->parents[j];
        if (k != PELT_NONE && moved)
            follow(to, j, from, k);
        else if (k != PELT_NONE)
            to->locals[j] = from->locals[k];
        found += k != PELT_NONE;
        pelt_affine local = px_affine_from_transform(&to->locals[j]);
        to->global[j] = parent == PELT_NONE ? local : px_affine_mul(&to->global[parent], &local);
    }
    if (found)
        return PELT_OK;
    return px_fail(r->context, PELT_ERROR_INPUT, "none of its joints has the name of one of %s", r->model->path);
}

static pelt_result read_skeleton(pose_reader *r, const pelt_model *source, const char *path) {
    pelt_transform *locals;
    posed from, to;
    const pelt_motion *motion = source->motion_count ? &source->motions[0] : NULL;
    PX_TRY(make_posed(r->scratch, &source->skeleton, &from));
    PX_TRY(make_posed(r->scratch, &r->model->skeleton, &to));
    pelt_motion_sample(source, motion, motion ? motion->start : 0, from.locals, NULL);
    pelt_skeleton_globals(&source->skeleton, from.locals, from.global);
    PX_TRY(make_room(r, 1));
    PX_TRY(add_file_pose(r, path, &locals));
    to.locals = locals;
    return follow_all(r, &from, motion != NULL, &to);
}

/* ---- Entry point ------------------------------------------------------------------------------------------- */

static bool is_json(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ".json") == 0;
}

/* Reads poses from memory, or from the file at file->path if file->data is NULL. */
static pelt_result read_poses(pose_reader *r, const px_file *file, const pelt_load_desc *desc) {
    if (is_json(file->path)) {
        px_file opened = *file;
        if (!file->data)
            PX_TRY(px_file_open(r->scratch, file->path, &opened));
        return read_json(r, &opened);
    }
    pelt_model *source;
    PX_TRY(file->data ? pelt_load_memory(r->context, file->data, file->size, file->path, desc, &source)
                      : pelt_load(r->context, &file->path, 1, desc, &source));
    pelt_result result = read_skeleton(r, source, file->path);
    pelt_model_destroy(source);
    return result;
}

static pelt_result load_poses(pelt_context *context, pelt_model *model, const px_file *file, const pelt_load_desc *desc,
                              pelt_pose **poses, uint32_t *pose_count) {
    *poses = NULL;
    *pose_count = 0;
    PX_TAKE_DESC(context, load, desc, settings);
    pose_reader r = {.context = context, .model = model, .scratch = px_arena_create(context)};
    if (!r.scratch)
        return PELT_ERROR_MEMORY;
    const char *previous = px_subject(context, file->path);
    px_result_begin(model);
    pelt_result result = px_result_end(model, read_poses(&r, file, &settings));
    px_subject(context, previous);
    px_arena_destroy(r.scratch);
    if (result == PELT_OK) {
        *poses = r.poses;
        *pose_count = r.pose_count;
    }
    return result;
}

void pelt_poses_free(pelt_model *model, pelt_pose **poses) {
    px_arena_free_result(model->memory, *poses);
    *poses = NULL;
}

pelt_result pelt_load_poses(pelt_context *context, pelt_model *model, const char *path, const pelt_load_desc *desc,
                            pelt_pose **poses, uint32_t *pose_count) {
    return load_poses(context, model, &(px_file){.path = path}, desc, poses, pose_count);
}

pelt_result pelt_load_poses_memory(pelt_context *context, pelt_model *model, const void *data, size_t size,
                                   const char *name, const pelt_load_desc *desc, pelt_pose **poses,
                                   uint32_t *pose_count) {
    px_file file = {.data = data ? data : (const void *)"", .size = data ? size : 0, .path = name};
    return load_poses(context, model, &file, desc, poses, pose_count);
}
