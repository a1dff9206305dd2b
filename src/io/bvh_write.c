/* BVH writer: the skeleton of any model and one of its motions, resampled at a constant rate.
 *
 * BVH stores offsets, positions and rotations, but no rest rotations and no scales. The file therefore stores each
 * joint's rotation relative to its rest pose, in axes that are parallel to the world axes at rest. With all channels 0
 * the skeleton stands in the model's rest pose (roots at 0). All joints have the same positions as in the model,
 * whatever its rest rotations and scales are.
 *
 *   turn(j, t)  = global rotation(j, t) · global rest rotation(j)⁻¹
 *   offset(j)   = rest place(j) − rest place(parent); 0 for roots: their position channels hold the place, since some
 *                 readers add offset and channels and others use the channels alone
 *   channels    = turn(parent)⁻¹ · turn(j), as Euler angles Rz · Rx · Ry
 *   positions   = turn(parent)⁻¹ · (place(j) − place(parent)): for roots, and for joints where it is not the offset
 */
#include "io/bvh.h"

#include "core/frames.h"
#include "core/rotation.h"

#include <math.h>

/* Joints get position channels if they move from their offset by more than this fraction of the longest bone. */
#define STILL 1e-5
/* Limit on indentation: deeper joints are not indented further. */
#define MAX_INDENT 32u
#define PIECE_SIZE ((size_t)1 << 16)

typedef struct written_joint {
    uint32_t first_child, next_sibling; /* PELT_NONE: none */
    uint32_t depth;
    bool end_site;      /* written as an End Site */
    bool has_positions; /* it has position channels */
    px_rotation rest_inverse;
    double rest_place[3], offset[3];
    px_rotation turn; /* global rotation relative to rest, current frame */
    double place[3];  /* global position, current frame */
    double angles[3]; /* degrees about z, x, y; of the previous frame until they are updated */
} written_joint;

typedef struct writer {
    pelt_context *context;
    const pelt_model *model;
    const pelt_motion *motion; /* NULL: the rest pose */
    px_arena *arena;
    px_output_file *file;
    px_buffer text;
    double rate; /* frames per second */
    uint32_t frame_count;
    written_joint *joints;
    uint32_t *order; /* [joint] depth-first order: parents before children */
    pelt_transform *locals;
    pelt_affine *globals;
    double size;           /* length of the longest bone at rest */
    uint32_t scaled_joint; /* first joint with a scale, or PELT_NONE */
} writer;

/* ---- The tree --------------------------------------------------------------------------------------------- */

/* Leaf joints that are named like BVH end sites and that no track moves are written as End Sites. */
static bool is_end_site(const writer *w, uint32_t j) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    uint32_t parent = skeleton->parents[j];
    if (parent == PELT_NONE || w->joints[j].first_child != PELT_NONE)
        return false;
    size_t length = strlen(skeleton->names[parent]);
    if (strncmp(skeleton->names[j], skeleton->names[parent], length) != 0 ||
        strcmp(skeleton->names[j] + length, PX_JOINT_END) != 0)
        return false;
    for (uint32_t t = 0; w->motion && t < w->motion->track_count; t++)
        if (w->motion->tracks[t].joint == j)
            return false;
    return true;
}

static void link_children(writer *w, uint32_t *first_root) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    *first_root = PELT_NONE;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        w->joints[j].first_child = PELT_NONE;
    for (uint32_t j = skeleton->joint_count; j-- > 0;) {
        uint32_t parent = skeleton->parents[j];
        uint32_t *first = parent == PELT_NONE ? first_root : &w->joints[parent].first_child;
        w->joints[j].next_sibling = *first;
        *first = j;
    }
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        w->joints[j].depth = skeleton->parents[j] == PELT_NONE ? 0 : w->joints[skeleton->parents[j]].depth + 1;
}

/* Depth-first order, without recursion, since the depth of a file is not limited. */
static void find_order(writer *w) {
    const uint32_t *parents = w->model->skeleton.parents;
    uint32_t count = 0, j;
    link_children(w, &j);
    while (j != PELT_NONE) {
        w->order[count++] = j;
        if (w->joints[j].first_child != PELT_NONE) {
            j = w->joints[j].first_child;
            continue;
        }
        while (j != PELT_NONE && w->joints[j].next_sibling == PELT_NONE)
            j = parents[j];
        j = j == PELT_NONE ? j : w->joints[j].next_sibling;
    }
}

/* ---- Poses ------------------------------------------------------------------------------------------------ */

static void find_globals(writer *w, const pelt_motion *motion, float time) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    pelt_motion_sample(w->model, motion, time, w->locals, NULL);
    pelt_skeleton_globals(skeleton, w->locals, w->globals);
    for (uint32_t j = 0; j < skeleton->joint_count && w->scaled_joint == PELT_NONE; j++)
        for (int c = 0; c < 3; c++)
            if (fabs((double)w->locals[j].scale[c] - 1) > 1e-3)
                w->scaled_joint = j;
}

static void place_of(const pelt_affine *global, double place[3]) {
    for (int c = 0; c < 3; c++)
        place[c] = global->m[4 * c + 3];
}

static pelt_result fail_nowhere(const writer *w, uint32_t j) {
    return px_fail(w->context, PELT_ERROR_OUTPUT, "joint '%s' is nowhere: its place is not finite",
                   w->model->skeleton.names[j]);
}

static bool is_place(const double place[3]) {
    return isfinite((float)place[0]) && isfinite((float)place[1]) && isfinite((float)place[2]);
}

static pelt_result take_rest_pose(writer *w) {
    const uint32_t *parents = w->model->skeleton.parents;
    find_globals(w, NULL, 0);
    for (uint32_t j = 0; j < w->model->skeleton.joint_count; j++) {
        written_joint *joint = &w->joints[j];
        joint->rest_inverse = px_rotation_inverse(px_rotation_of_affine(&w->globals[j]));
        place_of(&w->globals[j], joint->rest_place);
        for (int c = 0; c < 3; c++) {
            double parent_place = parents[j] == PELT_NONE ? 0 : w->joints[parents[j]].rest_place[c];
            joint->offset[c] = joint->rest_place[c] - parent_place;
        }
        if (!is_place(joint->offset))
            return fail_nowhere(w, j);
        if (parents[j] != PELT_NONE)
            w->size = px_fmax(w->size, px_length3(joint->offset));
    }
    return PELT_OK;
}

static void take_frame(writer *w, uint32_t k) {
    double time = w->motion ? (double)w->motion->start + k / w->rate : 0;
    find_globals(w, w->motion, (float)time);
    for (uint32_t j = 0; j < w->model->skeleton.joint_count; j++) {
        w->joints[j].turn = px_rotation_mul(px_rotation_of_affine(&w->globals[j]), w->joints[j].rest_inverse);
        place_of(&w->globals[j], w->joints[j].place);
    }
}

/* The channel values of a joint in the current frame. */
static void channels_of(const writer *w, uint32_t j, px_rotation *rotation, double position[3]) {
    uint32_t parent = w->model->skeleton.parents[j];
    const written_joint *joint = &w->joints[j];
    *rotation = joint->turn;
    memcpy(position, joint->place, sizeof joint->place);
    if (parent == PELT_NONE)
        return;
    px_rotation back = px_rotation_inverse(w->joints[parent].turn);
    for (int c = 0; c < 3; c++)
        position[c] -= w->joints[parent].place[c];
    px_rotation_apply(back, position, position);
    *rotation = px_rotation_mul(back, joint->turn);
}

/* Finds the joints that move from their offset in some frame. */
static pelt_result find_movers(writer *w) {
    for (uint32_t j = 0; j < w->model->skeleton.joint_count; j++)
        w->joints[j].has_positions = w->model->skeleton.parents[j] == PELT_NONE;
    for (uint32_t k = 0; k < w->frame_count; k++) {
        PX_TRY(px_progress(w->context, "look", k, w->frame_count));
        take_frame(w, k);
        for (uint32_t j = 0; j < w->model->skeleton.joint_count; j++) {
            written_joint *joint = &w->joints[j];
            px_rotation rotation;
            double position[3];
            channels_of(w, j, &rotation, position);
            if (!is_place(position))
                return fail_nowhere(w, j);
            for (int c = 0; c < 3; c++)
                joint->has_positions |= fabs(position[c] - joint->offset[c]) > STILL * w->size;
        }
    }
    for (uint32_t j = 0; j < w->model->skeleton.joint_count; j++)
        w->joints[j].end_site = !w->joints[j].has_positions && is_end_site(w, j);
    return PELT_OK;
}

/* ---- Euler angles ----------------------------------------------------------------------------------------- */

/* R = Rz(angles[0]) · Rx(angles[1]) · Ry(angles[2]), in degrees. In gimbal lock (z and y about the same axis), y is 0.
 */
static void euler_angles(px_rotation r, double angles[3]) {
    double x = r.q[0], y = r.q[1], z = r.q[2], w = r.q[3];
    double m00 = 1 - 2 * (y * y + z * z), m01 = 2 * (x * y - w * z), m10 = 2 * (x * y + w * z);
    double m11 = 1 - 2 * (x * x + z * z), m20 = 2 * (x * z - w * y), m21 = 2 * (y * z + w * x);
    double m22 = 1 - 2 * (x * x + y * y);
    if (fabs(m21) < 1 - 1e-12) {
        angles[0] = px_atan2(-m01, m11) / PX_DEGREE;
        angles[1] = px_asin(m21) / PX_DEGREE;
        angles[2] = px_atan2(-m20, m22) / PX_DEGREE;
    } else {
        angles[0] = px_atan2(m10, m00) / PX_DEGREE;
        angles[1] = m21 > 0 ? 90 : -90;
        angles[2] = 0;
    }
}

/* Adds multiples of 360° to bring each angle closest to the previous one. Returns the sum of the remaining differences.
 */
static double unwind(double angles[3], const double before[3]) {
    double jump = 0;
    for (int a = 0; a < 3; a++) {
        angles[a] -= 360 * round((angles[a] - before[a]) / 360);
        jump += fabs(angles[a] - before[a]);
    }
    return jump;
}

/* Chooses the Euler angles of a rotation that are closest to those of the previous frame: continuous curves can be
 * edited. */
static void continue_angles(px_rotation r, double angles[3]) {
    double near[3], other[3];
    euler_angles(r, near);
    other[0] = near[0] + 180;
    other[1] = 180 - near[1];
    other[2] = near[2] + 180;
    bool stay = unwind(near, angles) <= unwind(other, angles);
    memcpy(angles, stay ? near : other, 3 * sizeof *angles);
}

/* ---- Text ------------------------------------------------------------------------------------------------- */

static pelt_result hand_on(writer *w) {
    pelt_result result = w->text.failed ? PELT_ERROR_MEMORY : px_output_write(w->file, w->text.data, w->text.size);
    w->text.size = 0;
    return result;
}

static void put_indent(writer *w, uint32_t depth) {
    for (uint32_t d = 0; d < depth && d < MAX_INDENT; d++)
        px_buffer_add(&w->text, "\t", 1);
}

static void put_number(writer *w, double value) {
    px_buffer_add(&w->text, " ", 1);
    px_buffer_float(&w->text, (float)value + 0.0f); /* −0 becomes 0 */
}

static void put_offset(writer *w, uint32_t depth, const double offset[3]) {
    put_indent(w, depth);
    px_buffer_text(&w->text, "OFFSET");
    for (int c = 0; c < 3; c++)
        put_number(w, offset[c]);
    px_buffer_text(&w->text, "\n");
}

/* Readers end a name at the first blank, so blanks, braces and control characters become '_'. */
static void put_name(writer *w, uint32_t j) {
    const char *name = w->model->skeleton.names[j];
    if (!name[0])
        px_buffer_format(&w->text, "joint%u", j);
    for (const char *c = name; *c; c++)
        px_buffer_add(&w->text, (unsigned char)*c <= 32 || *c == '{' || *c == '}' ? "_" : c, 1);
}

static void put_end_site(writer *w, uint32_t depth, const double offset[3]) {
    put_indent(w, depth);
    px_buffer_text(&w->text, "End Site\n");
    put_indent(w, depth);
    px_buffer_text(&w->text, "{\n");
    put_offset(w, depth + 1, offset);
    put_indent(w, depth);
    px_buffer_text(&w->text, "}\n");
}

static void put_joint(writer *w, uint32_t j) {
    static const double zero[3];
    const written_joint *joint = &w->joints[j];
    if (joint->end_site) {
        put_end_site(w, joint->depth, joint->offset);
        return;
    }
    put_indent(w, joint->depth);
    px_buffer_text(&w->text, joint->depth ? "JOINT " : "ROOT ");
    put_name(w, j);
    px_buffer_text(&w->text, "\n");
    put_indent(w, joint->depth);
    px_buffer_text(&w->text, "{\n");
    put_offset(w, joint->depth + 1, joint->depth ? joint->offset : zero);
    put_indent(w, joint->depth + 1);
    px_buffer_text(&w->text, joint->has_positions
                                 ? "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
                                 : "CHANNELS 3 Zrotation Xrotation Yrotation\n");
    if (joint->first_child == PELT_NONE) /* the format requires every branch to end in an End Site */
        put_end_site(w, joint->depth + 1, zero);
}

static pelt_result write_hierarchy(writer *w) {
    uint32_t count = w->model->skeleton.joint_count;
    px_buffer_text(&w->text, "HIERARCHY\n");
    for (uint32_t o = 0; o < count; o++) {
        const written_joint *joint = &w->joints[w->order[o]];
        put_joint(w, w->order[o]);
        uint32_t next = o + 1 < count ? w->joints[w->order[o + 1]].depth : 0;
        for (uint32_t depth = joint->depth + !joint->end_site; depth-- > next;) {
            put_indent(w, depth);
            px_buffer_text(&w->text, "}\n");
        }
        if (w->text.size >= PIECE_SIZE)
            PX_TRY(hand_on(w));
    }
    return hand_on(w);
}

static pelt_result write_motion(writer *w) {
    px_buffer_format(&w->text, "MOTION\nFrames: %u\nFrame Time:", w->frame_count);
    put_number(w, 1 / w->rate);
    px_buffer_text(&w->text, "\n");
    for (uint32_t k = 0; k < w->frame_count; k++) {
        PX_TRY(px_progress(w->context, "write", k, w->frame_count));
        take_frame(w, k);
        for (uint32_t o = 0; o < w->model->skeleton.joint_count; o++) {
            written_joint *joint = &w->joints[w->order[o]];
            if (joint->end_site)
                continue;
            px_rotation rotation;
            double position[3];
            channels_of(w, w->order[o], &rotation, position);
            for (int c = 0; joint->has_positions && c < 3; c++)
                put_number(w, position[c]);
            continue_angles(rotation, joint->angles);
            for (int c = 0; c < 3; c++)
                put_number(w, joint->angles[c]);
        }
        px_buffer_text(&w->text, "\n");
        if (w->text.size >= PIECE_SIZE || w->text.failed)
            PX_TRY(hand_on(w));
    }
    return hand_on(w);
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

static pelt_result choose_motion(writer *w, const pelt_save_desc *desc) {
    const pelt_model *model = w->model;
    if (model->skeleton.joint_count == 0)
        return px_fail(w->context, PELT_ERROR_INPUT, "there is no skeleton to write");
    if (model->skeleton.joint_count > PX_BVH_MAX_JOINTS)
        return px_fail(w->context, PELT_ERROR_OUTPUT, "%u joints are more than the %u that BVH is written with",
                       model->skeleton.joint_count, PX_BVH_MAX_JOINTS);
    if (desc->motion >= model->motion_count && (desc->motion || model->motion_count))
        return px_fail(w->context, PELT_ERROR_USAGE, "there is no motion %u, only %u", desc->motion,
                       model->motion_count);
    w->motion = model->motion_count ? &model->motions[desc->motion] : NULL;
    w->rate = 30;
    w->frame_count = 1;
    return w->motion ? px_motion_frames(w->context, w->motion, desc->motion_fps, &w->rate, &w->frame_count) : PELT_OK;
}

static void tell_losses(const writer *w) {
    if (w->scaled_joint != PELT_NONE)
        px_log(w->context, PELT_LOG_WARNING,
               "BVH holds no scale (joint '%s' has one): joints stay in their places, what is scaled does not",
               w->model->skeleton.names[w->scaled_joint]);
    if (w->model->mesh.vertex_count)
        px_log(w->context, PELT_LOG_INFO, "BVH holds the skeleton and one motion; mesh and skin are left out");
}

static pelt_result write_all(writer *w, const px_write *write) {
    PX_TRY(choose_motion(w, write->desc));
    uint32_t count = w->model->skeleton.joint_count;
    w->joints = PX_NEW(w->arena, written_joint, count);
    w->order = PX_NEW(w->arena, uint32_t, count);
    w->locals = PX_NEW(w->arena, pelt_transform, count);
    w->globals = PX_NEW(w->arena, pelt_affine, count);
    if (!w->joints || !w->order || !w->locals || !w->globals)
        return PELT_ERROR_MEMORY;
    find_order(w);
    PX_TRY(take_rest_pose(w));
    PX_TRY(find_movers(w));
    PX_TRY(px_output_open(write->output, write->path, &w->file));
    PX_TRY(write_hierarchy(w));
    PX_TRY(write_motion(w));
    tell_losses(w);
    return PELT_OK;
}

pelt_result px_bvh_write(const px_write *write) {
    writer w = {.context = write->context, .model = write->model, .scaled_joint = PELT_NONE};
    w.text.context = write->context;
    if (!(w.arena = px_arena_create(write->context)))
        return PELT_ERROR_MEMORY;
    pelt_result result = write_all(&w, write);
    px_buffer_free(&w.text);
    px_arena_destroy(w.arena);
    return result;
}
