/* Converts a finished fit to the model: rest pose, a skeleton, one skin, one motion per clip.
 *
 * By default all bones are children of one root, the layout that every engine reproduces. A joint rests at the weighted
 * centroid of the vertices of its bone, so that interpolation between keys rotates about a sensible pivot.
 *
 * Affine bones need two nested nodes, M = T·R1·S·R2·C⁻¹·Bᵀ, because one node holds no shear; the inner node is the
 * joint. The axes B are constant and go into the inverse bind matrix. The scales C are constant too and are the rest
 * scales of the nodes, where they cancel. trs bones have no R2 and C.
 *
 * Rigid bones may be joined into a hierarchy: then joints rest where bone and parent move most alike, and keys are
 * relative to the parent. Bones added to a kept rig move relative to a bone of the rig, their host (host.h).
 */
#include "decompose/build.h"
#include "core/math3.h"
#include "decompose/hierarchy.h"
#include "decompose/host.h"
#include "decompose/keys.h"
#include "rest/rest.h"

typedef struct build {
    px_fit *fit;
    const px_gathered *plan;
    const px_given *given;
    pelt_model *model;
    px_arena *memory;      /* the model's arena */
    uint32_t nodes_a_bone; /* 1; 2 for nested kinds */
    px_hierarchy tree;     /* tree.pivots is `middles` */
    uint32_t *places;      /* [bone] index in tree.order */
    px_hosts hosts;        /* matrices of bones with a host are relative to it */
    double *middles;       /* [bone][3] normalised: weighted centroid, or joint with the parent */
    double *spreads;       /* [bone] normalised: RMS distance of its vertices from the centroid */
    px_bone_frame *frames; /* [bone] */
    double key_error;      /* E_rms that key reduction may add */
    double key_slack;      /* tolerance of a single track, in multiples of key_error */
    px_arena *key_memory;  /* arena of the motions; adopted by the model's at the end */
    double *transforms;    /* [row][4P] normalised */
    px_built out;
    bool keeps_rest; /* the rest pose and its normals are bit-identical to the rig's */
    float *positions, *normals;
    float *tangents; /* NULL: the mesh has none */
} build;

/* ---- Skeleton --------------------------------------------------------------------------------------------- */

static uint32_t joint_of(const build *b, uint32_t bone) {
    return b->nodes_a_bone * (b->places[bone] + 1);
}

static double object_coordinate(const build *b, double value, int axis) {
    return b->plan->center[axis] + b->plan->radius * value;
}

static void bone_middle(const build *b, size_t bone, double out[3]) {
    for (int axis = 0; axis < 3; axis++)
        out[axis] = object_coordinate(b, b->middles[3 * bone + (size_t)axis], axis);
}

static void find_middles(build *b) {
    const px_fit *fit = b->fit;
    size_t K = fit->influence_count;
    double *masses = b->middles + 3 * (size_t)fit->bone_count;
    for (size_t e = 0; e < fit->vertex_count * K; e++) {
        double w = fit->now.weights[e] * fit->now.weights[e];
        masses[fit->now.bones[e]] += w;
        for (size_t axis = 0; axis < 3; axis++)
            b->middles[3 * (size_t)fit->now.bones[e] + axis] += w * fit->now.rest[3 * (e / K) + axis];
    }
    for (size_t j = 0; j < fit->bone_count; j++)
        for (size_t axis = 0; axis < 3; axis++)
            b->middles[3 * j + axis] = masses[j] > 0 ? b->middles[3 * j + axis] / masses[j] : 0;
    for (size_t e = 0; e < fit->vertex_count * K; e++) {
        double w = fit->now.weights[e], square = 0;
        size_t j = fit->now.bones[e];
        for (size_t axis = 0; axis < 3; axis++) {
            double off = fit->now.rest[3 * (e / K) + axis] - b->middles[3 * j + axis];
            square += off * off;
        }
        b->spreads[j] += masses[j] > 0 ? w * w * square / masses[j] : 0;
    }
    for (size_t j = 0; j < fit->bone_count; j++)
        b->spreads[j] = sqrt(b->spreads[j]);
}

/* Bones of a rig keep their names. If its skeleton is kept, unlocked ones get joints of their own with the suffix
 * _free. */
static const char *joint_name(build *b, uint32_t bone, const char *suffix) {
    const px_given *given = b->given;
    px_buffer text = {.context = b->fit->context};
    if (bone < given->bone_count)
        px_buffer_format(&text, "%s%s", given->rig->skeleton.names[given->rig->skin.bone_joints[bone]],
                         given->kept ? "_free" : "");
    else
        px_buffer_format(&text, "%s_%03u", given->rig ? "helper" : "bone", bone - given->bone_count);
    px_buffer_text(&text, suffix);
    const char *name = text.failed ? NULL : px_arena_text(b->memory, text.data, text.size);
    px_buffer_free(&text);
    return name;
}

static pelt_result build_skeleton(build *b) {
    pelt_skeleton *s = &b->out.skeleton;
    s->joint_count = 1 + b->nodes_a_bone * b->fit->bone_count;
    s->names = PX_NEW(b->memory, const char *, s->joint_count);
    s->parents = PX_NEW(b->memory, uint32_t, s->joint_count);
    s->rest = PX_NEW(b->memory, pelt_transform, s->joint_count);
    if (!s->names || !s->parents || !s->rest)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < s->joint_count; j++)
        s->rest[j] = px_transform_identity();
    s->names[0] = "bones";
    s->parents[0] = PELT_NONE;
    for (uint32_t bone = 0; bone < b->fit->bone_count; bone++) {
        uint32_t joint = joint_of(b, bone), outer = joint + 1 - b->nodes_a_bone, parent = b->tree.parents[bone];
        double place[3], from[3] = {0};
        bone_middle(b, bone, place);
        if (parent != PELT_NONE)
            bone_middle(b, parent, from);
        s->parents[outer] = parent != PELT_NONE ? joint_of(b, parent) : 0;
        for (int axis = 0; axis < 3; axis++)
            s->rest[outer].translation[axis] = (float)(place[axis] - from[axis]);
        px_quat_from_matrix(b->frames[bone].axes, s->rest[outer].rotation);
        if (outer != joint) {
            for (int axis = 0; axis < 3; axis++) {
                s->rest[outer].scale[axis] = (float)b->frames[bone].scales[axis];
                s->rest[joint].scale[axis] = (float)(1 / b->frames[bone].scales[axis]);
            }
            s->parents[joint] = outer;
            s->names[outer] = joint_name(b, bone, "_outer");
        }
        s->names[joint] = joint_name(b, bone, "");
        if (!s->names[joint] || !s->names[outer])
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

/* ---- Skin and rest pose ----------------------------------------------------------------------------------- */

static void sort_influences(uint16_t *bones, float *weights, size_t count) {
    for (size_t a = 1; a < count; a++)
        for (size_t c = a; c > 0 && fabsf(weights[c]) > fabsf(weights[c - 1]); c--) {
            float weight = weights[c];
            uint16_t bone = bones[c];
            weights[c] = weights[c - 1], bones[c] = bones[c - 1];
            weights[c - 1] = weight, bones[c - 1] = bone;
        }
}

static void vertex_skin(const build *b, uint32_t f, uint16_t *bones, float *weights) {
    size_t K = b->fit->influence_count;
    for (size_t a = 0; a < K; a++) {
        bones[a] = b->fit->now.bones[f * K + a];
        weights[a] = (float)b->fit->now.weights[f * K + a];
    }
    sort_influences(bones, weights, K);
}

/* Writes all mesh vertices: those welded together get the same position and weights. */
static pelt_result build_vertices(build *b) {
    const pelt_mesh *mesh = &b->model->mesh;
    const px_fit *fit = b->fit;
    size_t K = fit->influence_count, N = mesh->vertex_count;
    b->out.skin.bones = PX_NEW(b->memory, uint16_t, N * K);
    b->out.skin.weights = PX_NEW(b->memory, float, N *K);
    b->positions = PX_NEW(b->memory, float, 3 * N);
    b->normals = PX_NEW(b->memory, float, 3 * N);
    if (!b->out.skin.bones || !b->out.skin.weights || !b->positions || !b->normals)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t f = pelt_vertex_class(&b->plan->classes, i);
        vertex_skin(b, f, b->out.skin.bones + i * K, b->out.skin.weights + i * K);
        for (int axis = 0; axis < 3; axis++)
            b->positions[3 * (size_t)i + (size_t)axis] =
                (float)object_coordinate(b, fit->now.rest[3 * (size_t)f + (size_t)axis], axis);
        if (b->keeps_rest)
            memcpy(b->positions + 3 * (size_t)i, px_given_position(b->given, mesh, b->plan, i), 3 * sizeof(float));
    }
    if (mesh->tangents && !(b->tangents = PX_NEW(b->memory, float, 4 * N)))
        return PELT_ERROR_MEMORY;
    PX_TRY(px_turn_normals(fit->context, mesh, b->positions, b->normals, b->tangents));
    for (uint32_t i = 0; i < N && b->keeps_rest; i++)
        px_given_normal(b->given, mesh, i, b->normals + 3 * (size_t)i,
                        b->tangents ? b->tangents + 4 * (size_t)i : NULL);
    return PELT_OK;
}

static pelt_result build_skin(build *b) {
    b->out.skin.bone_count = b->fit->bone_count;
    b->out.skin.influence_count = b->fit->influence_count;
    b->out.skin.bone_joints = PX_NEW(b->memory, uint32_t, b->out.skin.bone_count);
    b->out.skin.inverse_binds = PX_NEW(b->memory, pelt_affine, b->out.skin.bone_count);
    if (!b->out.skin.bone_joints || !b->out.skin.inverse_binds)
        return PELT_ERROR_MEMORY;
    for (uint32_t bone = 0; bone < b->out.skin.bone_count; bone++) {
        b->out.skin.bone_joints[bone] = joint_of(b, bone);
        float *bind = b->out.skin.inverse_binds[bone].m;
        double middle[3];
        bone_middle(b, bone, middle);
        for (int r = 0; r < 3; r++) {
            const double *a = b->frames[bone].axes + r; /* column r of B */
            for (int c = 0; c < 3; c++)
                bind[4 * r + c] = (float)a[3 * c];
            bind[4 * r + 3] = (float)-(a[0] * middle[0] + a[3] * middle[1] + a[6] * middle[2]);
        }
    }
    return build_vertices(b);
}

/* ---- Motions ---------------------------------------------------------------------------------------------- */

/* Matrices of a bone over one clip, from coordinates relative to its centroid to object space; with a host, to the rest
 * space of the host. `row`: 3 · index of the clip's first frame among all frames. */
static void fill_path(const build *b, uint32_t bone, size_t row, uint32_t frame_count, double *matrices) {
    size_t n = 4 * (size_t)b->fit->bone_count;
    const double *g = b->middles + 3 * (size_t)bone;
    for (size_t k = 0; k < frame_count; k++) {
        double *m = matrices + 12 * k;
        for (size_t r = 0; r < 3; r++)
            memcpy(m + 4 * r, b->transforms + (row + 3 * k + r) * n + 4 * (size_t)bone, 4 * sizeof *m);
        if (b->hosts.bones[bone] != PELT_NONE)
            px_host_divide(&b->hosts, bone, row + 3 * k, m);
        for (size_t r = 0; r < 3; r++) {
            double *line = m + 4 * r;
            line[3] = object_coordinate(b, line[0] * g[0] + line[1] * g[1] + line[2] * g[2] + line[3], (int)r);
        }
    }
}

/* Makes matrices relative to those of a rigid parent. */
static void make_local(const double *parents, uint32_t frame_count, double *matrices) {
    for (size_t k = 0; k < frame_count; k++) {
        const double *p = parents + 12 * k;
        double *m = matrices + 12 * k, out[12];
        for (size_t r = 0; r < 3; r++)
            m[4 * r + 3] -= p[4 * r + 3];
        for (size_t e = 0; e < 12; e++)
            out[e] = p[e / 4] * m[e % 4] + p[4 + e / 4] * m[4 + e % 4] + p[8 + e / 4] * m[8 + e % 4];
        memcpy(m, out, sizeof out);
    }
}

/* Tracks of a bone. */
enum { TRANSLATION, ROTATION, SCALE, INNER_ROTATION };

/* Tolerance of a track for which the vertices of the bone move by `move` at most, averaged over vertices and
 * directions. */
static double track_tolerance(const build *b, uint32_t bone, const px_bone_path *path, int row, double move) {
    const double *c = b->frames[bone].scales;
    double spread = px_fmax(b->spreads[bone] * b->plan->radius, 1e-3 * move), stretch = 3, inverse = 0, ratio = 0;
    for (size_t k = 0; k < path->frame_count; k++) {
        double sum = 0;
        for (size_t e = 0; e < 12; e++)
            sum += e % 4 < 3 ? path->matrices[12 * k + e] * path->matrices[12 * k + e] : 0;
        stretch = px_fmax(stretch, sum);
    }
    stretch = sqrt(stretch / 3);
    for (int e = 0; e < 9; e++) {
        inverse += e % 4 == 0 ? 1 / (c[e / 3] * c[e / 3]) : 0;
        ratio += e % 4 ? c[e / 3] * c[e / 3] / (c[e % 3] * c[e % 3]) : 0;
    }
    if (row == TRANSLATION)
        return move;
    if (row == SCALE)
        return move / (spread * sqrt(inverse / 3));
    return 0.5 * move / (spread * stretch * (row == ROTATION ? 1 : sqrt(ratio / 6))); /* a quaternion changes by half
                                                                                       * the angle */
}

/* A joint that separates from its parent by less than this fraction of the radius (RMS) gets no translation track: it
 * is below the precision of floats. */
#define MIN_JOINT_DRIFT 1e-6

static pelt_result bone_tracks(build *b, const px_bone_path *path, const pelt_clip *clip, uint32_t bone,
                               pelt_motion *motion) {
    uint32_t joint = joint_of(b, bone), outer = joint + 1 - b->nodes_a_bone;
    px_bone_keys keys;
    PX_TRY(px_keys_make(b->key_memory, path, &keys));
    const struct {
        const float *values;
        pelt_path path;
        uint32_t width, joint;
    } rows[] = {[TRANSLATION] = {keys.translations, PELT_PATH_TRANSLATION, 3, outer},
                [ROTATION] = {keys.rotations, PELT_PATH_ROTATION, 4, outer},
                [SCALE] = {keys.scales, PELT_PATH_SCALE, 3, outer},
                [INNER_ROTATION] = {keys.inner_rotations, PELT_PATH_ROTATION, 4, joint}};
    bool joined = b->tree.drifts[bone] < MIN_JOINT_DRIFT;
    for (int t = joined ? ROTATION : TRANSLATION; t <= INNER_ROTATION; t++) {
        if (!rows[t].values)
            continue;
        pelt_track *track = &motion->tracks[motion->track_count++];
        *track = (pelt_track){.joint = rows[t].joint, .path = rows[t].path, .width = rows[t].width};
        track->key_count = clip->frame_count, track->times = clip->times, track->values = rows[t].values;
        double move = 1e-3 * b->key_error * b->key_slack * b->plan->radius / b->hosts.sizes[bone];
        bool first = motion->track_count == 1; /* keeps both end keys, so a motionless clip keeps its duration */
        if (move > 0)
            PX_TRY(px_keys_reduce(b->key_memory, track, track_tolerance(b, bone, path, t, move), first));
    }
    return PELT_OK;
}

static pelt_result clip_tracks(build *b, const pelt_clip *clip, size_t row, pelt_motion *motion) {
    double *matrices = PX_ALLOC(b->fit->context, double, 24 * (size_t)clip->frame_count);
    pelt_result result = matrices ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t bone = 0; result == PELT_OK && bone < b->fit->bone_count; bone++) {
        px_bone_path path = {.kind = b->fit->kind, .frame_count = clip->frame_count, .matrices = matrices};
        path.frame = b->frames[bone];
        fill_path(b, bone, row, clip->frame_count, matrices);
        if (b->tree.parents[bone] != PELT_NONE) {
            double *parents = matrices + 12 * (size_t)clip->frame_count;
            fill_path(b, b->tree.parents[bone], row, clip->frame_count, parents);
            make_local(parents, clip->frame_count, matrices);
        }
        result = bone_tracks(b, &path, clip, bone, motion);
        if (result == PELT_OK)
            result = px_cancelled(b->fit->context);
    }
    px_free(b->fit->context, matrices);
    return result;
}

/* E_rms that key reduction may add: the error may rise by desc->key_tolerance, but not above desc->error. 1e-3, as much
 * as rounding adds, is always allowed. */
static double key_error(const pelt_decompose_desc *desc, double error_fit) {
    double factor = 1 + desc->key_tolerance, room = error_fit * sqrt(factor * factor - 1);
    if (desc->error > 0)
        room = px_fmin(room, sqrt(px_fmax(desc->error * desc->error - error_fit * error_fit, 0)));
    return desc->key_tolerance > 0 ? px_fmax(room, 1e-3) : 0;
}

static pelt_result make_motions(build *b) {
    const pelt_model *model = b->model;
    b->out.motions = PX_NEW(b->key_memory, pelt_motion, model->clip_count);
    if (!b->out.motions)
        return PELT_ERROR_MEMORY;
    size_t row = 0;
    for (uint32_t c = 0; c < model->clip_count; c++) {
        const pelt_clip *clip = &model->clips[c];
        pelt_motion *motion = &b->out.motions[c];
        motion->name = clip->name;
        motion->tracks = PX_NEW(b->key_memory, pelt_track, (size_t)4 * b->fit->bone_count);
        if (!motion->tracks)
            return PELT_ERROR_MEMORY;
        if (clip->frame_count)
            PX_TRY(clip_tracks(b, clip, row, motion));
        motion->start = clip->frame_count ? clip->times[0] : 0;
        motion->end = clip->frame_count ? clip->times[clip->frame_count - 1] : 0;
        row += 3 * (size_t)clip->frame_count;
    }
    return PELT_OK;
}

/* ---- Error of key reduction --------------------------------------------------------------------------------- */

#define BLOCK_FRAMES 32u

/* Scratch for one pose, and for a block of poses. */
typedef struct pose_scratch {
    pelt_transform *locals; /* [joint] */
    pelt_affine *globals;   /* [joint] */
    pelt_affine *palette;   /* [bone] */
    double *off, *weighed;  /* [3 · BLOCK_FRAMES][4P] */
} pose_scratch;

/* Difference of the bone matrices of a motion at a time from those of the fit, normalised, as three rows of `off`. */
static void put_off(const build *b, const pelt_model *posed, const pelt_motion *motion, float time, size_t row,
                    const pose_scratch *s, double *off) {
    size_t n = 4 * (size_t)b->fit->bone_count;
    const double *c = b->plan->center;
    pelt_motion_sample(posed, motion, time, s->locals, NULL);
    pelt_skeleton_globals(&b->out.skeleton, s->locals, s->globals);
    pelt_skin_palette(&b->out.skin, s->globals, s->palette);
    for (uint32_t bone = 0; bone < b->fit->bone_count; bone++) {
        double m[12];
        for (size_t e = 0; e < 12; e++)
            m[e] = (double)s->palette[bone].m[e];
        for (size_t r = 0; r < 3; r++) {
            double *line = m + 4 * r;
            line[3] = (line[3] + line[0] * c[0] + line[1] * c[1] + line[2] * c[2] - c[r]) / b->plan->radius;
        }
        if (b->hosts.bones[bone] != PELT_NONE)
            px_host_multiply(&b->hosts, bone, row, m);
        for (size_t e = 0; e < 12; e++) {
            size_t at = e / 4 * n + 4 * (size_t)bone + e % 4;
            off[at] = m[e] - b->transforms[row * n + at];
        }
    }
}

/* Σ over vertices and frames of the squared distance between motions and fit: tr(D S Dᵀ), D [row][4P] the difference of
 * the bone matrices. */
static double squared_miss(const build *b, const pose_scratch *s) {
    size_t n = 4 * (size_t)b->fit->bone_count, row = 0;
    pelt_model posed = {.skeleton = b->out.skeleton};
    double sum = 0;
    for (uint32_t c = 0; c < b->model->clip_count; c++) {
        const pelt_clip *clip = &b->model->clips[c];
        for (uint32_t first = 0; first < clip->frame_count; first += BLOCK_FRAMES) {
            uint32_t frames = clip->frame_count - first < BLOCK_FRAMES ? clip->frame_count - first : BLOCK_FRAMES;
            for (uint32_t k = 0; k < frames; k++, row += 3)
                put_off(b, &posed, &b->out.motions[c], clip->times[first + k], row, s, s->off + 3 * n * k);
            size_t rows = 3 * (size_t)frames;
            px_gemm(1, px_matrix_in(s->off, rows, n), px_matrix_in(b->fit->scatter, n, n), 0,
                    px_matrix_of(s->weighed, rows, n));
            for (size_t e = 0; e < rows * n; e++)
                sum += s->off[e] * s->weighed[e];
        }
    }
    return sum;
}

/* Halves the tolerance of tracks until the total error is within key_error. Errors of tracks rarely add up, so the
 * first tolerance is generous. Below LEAST_SLACK the remaining error is rounding, which more keys do not reduce. */
#define LEAST_SLACK 0.05

static pelt_result fit_keys(build *b, const pose_scratch *s) {
    for (b->key_slack = 8;; b->key_slack *= 0.5) {
        if (!(b->key_memory = px_arena_create(b->fit->context)))
            return PELT_ERROR_MEMORY;
        PX_TRY(make_motions(b));
        if (b->key_error == 0 || b->key_slack < LEAST_SLACK || px_fit_error(b->fit, squared_miss(b, s)) <= b->key_error)
            return PELT_OK;
        px_arena_destroy(b->key_memory);
    }
}

static pelt_result build_motions(build *b) {
    px_fit *fit = b->fit;
    size_t rows = 3 * BLOCK_FRAMES * 4 * (size_t)fit->bone_count;
    pose_scratch s = {PX_NEW(fit->arena, pelt_transform, b->out.skeleton.joint_count),
                      PX_NEW(fit->arena, pelt_affine, b->out.skeleton.joint_count),
                      PX_NEW(fit->arena, pelt_affine, fit->bone_count), PX_NEW(fit->arena, double, rows),
                      PX_NEW(fit->arena, double, rows)};
    if (!s.locals || !s.globals || !s.palette || !s.off || !s.weighed)
        return PELT_ERROR_MEMORY;
    if (b->key_error > 0)
        PX_TRY(px_fit_scatter(fit));
    pelt_result result = fit_keys(b, &s);
    if (result == PELT_OK)
        px_arena_adopt(b->memory, b->key_memory);
    else
        px_arena_destroy(b->key_memory);
    return result;
}

/* ---- Hierarchy ---------------------------------------------------------------------------------------------- */

static pelt_result build_tree(build *b, bool hierarchy) {
    b->places = PX_NEW(b->fit->arena, uint32_t, b->fit->bone_count);
    if (!b->places)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_hierarchy_flat(b->fit, b->middles, &b->tree));
    if (hierarchy)
        PX_TRY(px_hierarchy_find(b->fit, &b->tree));
    for (uint32_t place = 0; place < b->fit->bone_count; place++)
        b->places[b->tree.order[place]] = place;
    return PELT_OK;
}

/* ---- Constant axes and scales of bones ---------------------------------------------------------------------- */

static pelt_result choose_frame(void *user, size_t bone, size_t count, size_t block) {
    build *b = user;
    const pelt_model *model = b->model;
    (void)count, (void)block;
    double *matrices = PX_ALLOC(b->fit->context, double, 4 * (size_t)b->fit->row_count);
    px_bone_path *paths = PX_ALLOC(b->fit->context, px_bone_path, model->clip_count);
    if (matrices && paths) {
        size_t row = 0;
        for (uint32_t c = 0; c < model->clip_count; c++) {
            uint32_t frame_count = model->clips[c].frame_count;
            paths[c] = (px_bone_path){b->fit->kind, frame_count, matrices + 4 * row, {{0}, {0}}, NULL};
            fill_path(b, (uint32_t)bone, row, frame_count, matrices + 4 * row);
            row += 3 * (size_t)frame_count;
        }
        px_keys_frame(paths, model->clip_count, &b->frames[bone]);
    }
    pelt_result result = matrices && paths ? PELT_OK : PELT_ERROR_MEMORY;
    px_free(b->fit->context, paths);
    px_free(b->fit->context, matrices);
    return result;
}

static pelt_result choose_frames(build *b) {
    const double *axes = b->fit->now.axes; /* U, axes as rows; NULL: none */
    if (b->fit->kind->nested)
        return px_parallel(b->fit->context, NULL, b->fit->bone_count, 1, choose_frame, b);
    for (size_t bone = 0; bone < b->fit->bone_count; bone++) {
        px_bone_frame *frame = &b->frames[bone];
        *frame = (px_bone_frame){{1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 1, 1}};
        for (size_t e = 0; axes && e < 9; e++)
            frame->axes[e] = axes[9 * bone + 3 * (e % 3) + e / 3];
    }
    return PELT_OK;
}

/* ---- Assignment to the model -------------------------------------------------------------------------------- */

static void replace_rest_pose(const build *b) {
    b->model->mesh.positions = b->positions;
    b->model->mesh.normals = b->normals;
    b->model->mesh.tangents = b->tangents;
    b->model->changed |= PELT_CHANGED_POSITIONS;
}

static void replace_rig(const build *b) {
    pelt_model *model = b->model;
    for (uint32_t p = 0; p < model->mesh.part_count; p++) {
        if (b->out.changed & PELT_CHANGED_SKELETON && !b->out.keeps_joints)
            model->mesh.parts[p].joint = PELT_NONE;
        model->mesh.parts[p].skinned = true;
    }
    model->skeleton = b->out.skeleton;
    model->skin = b->out.skin;
    model->motions = b->out.motions;
    model->motion_count = b->out.motion_count;
    if (!b->given->keeps_morphs) {
        model->morphs = (pelt_morph_set){0};
        model->driver_count = 0;
        model->sliders = (pelt_slider_set){0};
    }
    model->changed |= b->out.changed;
}

/* ---- Entry point --------------------------------------------------------------------------------------------- */

pelt_result px_fit_build(px_fit *fit, const px_gathered *plan, const px_given *given, const pelt_decompose_desc *desc,
                         pelt_model *model) {
    size_t n = 4 * (size_t)fit->bone_count;
    build b = {.fit = fit, .plan = plan, .given = given, .model = model, .memory = model->memory};
    b.keeps_rest = fit->fixed_rest && given->rig && !desc->rest_positions;
    b.nodes_a_bone = fit->kind->nested ? 2 : 1;
    b.key_error = key_error(desc, px_fit_error(fit, fit->now.objective));
    b.middles = PX_NEW(fit->arena, double, n);
    b.spreads = PX_NEW(fit->arena, double, fit->bone_count);
    b.frames = PX_NEW(fit->arena, px_bone_frame, fit->bone_count);
    b.transforms = fit->now.full ? fit->now.full : PX_NEW(fit->arena, double, px_mul_size(fit->row_count, n));
    if (!b.middles || !b.spreads || !b.frames || !b.transforms)
        return PELT_ERROR_MEMORY;
    if (fit->outside)
        memcpy(b.transforms, fit->outside, fit->row_count * n * sizeof *b.transforms);
    if (!fit->now.full)
        px_gemm(1, px_matrix_in(fit->basis, fit->row_count, fit->dimension),
                px_transposed(px_matrix_in(fit->now.reduced, n, fit->dimension)), fit->outside ? 1 : 0,
                px_matrix_of(b.transforms, fit->row_count, n));
    find_middles(&b);
    PX_TRY(px_hosts_find(given, fit, &b.hosts));
    PX_TRY(choose_frames(&b));
    PX_TRY(build_tree(&b, desc->hierarchy));
    PX_TRY(build_skeleton(&b));
    PX_TRY(build_skin(&b));
    PX_TRY(build_motions(&b));
    b.out.motion_count = model->clip_count;
    b.out.changed = PELT_CHANGED_SKIN | PELT_CHANGED_SKELETON | PELT_CHANGED_MOTIONS;
    b.out.changed |= given->keeps_morphs ? 0 : PELT_CHANGED_MORPHS;
    if (given->kept)
        PX_TRY(px_given_keep(given, fit, &b.hosts, model, &b.out));
    if (!desc->turned_normals && !b.keeps_rest)
        PX_TRY(px_built_normals(fit->context, &model->mesh, model, &b.out, given->kept ? given->motions : NULL,
                                b.normals, b.tangents));
    if (!(b.keeps_rest && given->rig == model))
        replace_rest_pose(&b);
    replace_rig(&b);
    return PELT_OK;
}
