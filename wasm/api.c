/* What JavaScript calls: one engine (a context) per WebAssembly instance, functions that take settings as text, and tables that
 * describe option tables and structs (structs.c), so that JavaScript reads and writes them without a list of its own.
 *
 * Models, bindings and simulations are pointers. Functions that can fail return a pelt_result, or NULL instead of a new object;
 * pw_error then gives the sentence. Settings are "name\0value\0name\0value\0\0"; the name "preset" applies a preset of the table.
 */
#include "scenes.h"

#include <emscripten.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT EMSCRIPTEN_KEEPALIVE
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        pelt_result try_result = (call);                                                                               \
        if (try_result != PELT_OK)                                                                                     \
            return try_result;                                                                                         \
    } while (0)

/* ---- The engine ------------------------------------------------------------------------------------------- */

/* Defined by engine.ts on the module object. */
EM_JS(void, host_log, (int level, const char *text), { Module.peltLog(level, text); })
EM_JS(void, host_progress, (const char *phase, double fraction), { Module.peltProgress(phase, fraction); })
EM_JS(int, host_cancelled, (void), { return Module.peltCancelled(); })
EM_JS(void, host_iteration, (double error), { Module.peltIteration(error); })

static pelt_context *context;

static void on_log(void *user, pelt_log_level level, const char *text) {
    (void)user;
    host_log((int)level, text);
}

static void on_progress(void *user, const char *phase, double fraction) {
    (void)user;
    host_progress(phase, fraction);
}

static bool on_cancel(void *user) {
    (void)user;
    return host_cancelled() != 0;
}

EXPORT pelt_result pw_start(size_t memory_limit) {
    pelt_context_desc desc = pelt_context_desc_default();
    desc.memory_limit = memory_limit;
    desc.thread_count = 1;
    desc.log = on_log;
    desc.progress = on_progress;
    desc.cancel = on_cancel;
    return pelt_context_create(&desc, &context);
}

EXPORT const char *pw_error(void) {
    return context ? pelt_error_text(context) : "out of memory";
}

/* The result of the last function that returned NULL instead of an object. */
static pelt_result last_result;
EXPORT pelt_result pw_result(void) {
    return last_result;
}

EXPORT const char *pw_version(void) {
    return pelt_version();
}

EXPORT const pelt_format_info *pw_format_at(uint32_t index) {
    return pelt_format_at(index);
}

EXPORT void pw_memory(pelt_memory_info *info) {
    *info = pelt_context_memory(context);
}

/* ---- Option tables ---------------------------------------------------------------------------------------- */

/* tables.ts reads these structs at fixed offsets. */
_Static_assert(sizeof(pelt_option) == 56 && offsetof(pelt_option, min) == 24 && offsetof(pelt_option, help) == 48,
               "layout of pelt_option");
_Static_assert(sizeof(pelt_option_table) == 20 && sizeof(pelt_preset_value) == 12, "layout of pelt_option_table");
_Static_assert(sizeof(pelt_format_info) == 16 && sizeof(pelt_bind_attribute) == 8 && sizeof(pelt_correct_pair) == 8,
               "layout of small structs");
_Static_assert(sizeof(pelt_jiggle_joint) == 32 && sizeof(pelt_collider) == 40 && sizeof(pelt_jiggle_maps) == 16 &&
                   sizeof(pelt_jiggle_part) == 8 && sizeof(pelt_jiggle_forces) == 28 && sizeof(pelt_jiggle_grab) == 20,
               "layout of the settings of pelt_jiggle");
_Static_assert(sizeof(pelt_transform) == 40 && sizeof(pelt_affine) == 48, "layout of transforms");

typedef struct named_table {
    const char *name;
    const pelt_option_table *table;
} named_table;

/* The tables, ended by a row without a name. */
EXPORT const named_table *pw_tables(void) {
    static named_table tables[12];
    const named_table rows[] = {
        {"load", pelt_load_options()},
        {"save", pelt_save_options()},
        {"decompose", pelt_decompose_options()},
        {"bind", pelt_bind_options()},
        {"correct", pelt_correct_options()},
        {"eigenskin", pelt_eigenskin_options()},
        {"simplify", pelt_simplify_options()},
        {"retarget", pelt_retarget_options()},
        {"jiggle", pelt_jiggle_options()},
        {"jiggleBake", pelt_jiggle_bake_options()},
        {"jiggleSimulate", pelt_jiggle_simulate_options()},
        {NULL, NULL},
    };
    _Static_assert(sizeof rows == sizeof tables, "one row per table");
    memcpy(tables, rows, sizeof rows);
    return tables;
}

/* Changes a desc by settings in text. */
static pelt_result read_settings(const pelt_option_table *table, void *desc, const char *settings) {
    for (const char *name = settings; name && *name;) {
        const char *value = name + strlen(name) + 1;
        TRY(strcmp(name, "preset") == 0 ? pelt_options_preset(context, table, desc, value)
                                        : pelt_options_set(context, table, desc, name, value));
        name = value + strlen(value) + 1;
    }
    return PELT_OK;
}

/* ---- Models ----------------------------------------------------------------------------------------------- */

EXPORT pelt_model *pw_load(const char *const *paths, uint32_t path_count, const char *settings) {
    pelt_load_desc desc = pelt_load_desc_default();
    pelt_model *model = NULL;
    last_result = read_settings(pelt_load_options(), &desc, settings);
    if (last_result == PELT_OK)
        last_result = pelt_load(context, paths, path_count, &desc, &model);
    return model;
}

/* A generated scene (scenes/), for samples and tests; 0: the default count of the scene. */
EXPORT pelt_model *pw_scene(const char *name, uint32_t vertex_count, uint32_t frame_count, uint32_t seed) {
    scene_desc desc = {.vertex_count = vertex_count, .frame_count = frame_count, .seed = seed};
    pelt_model *model = NULL;
    last_result = scene_find(name)->make(context, &desc, &model);
    return model;
}

/* The name or, with `summary`, the summary of a scene; NULL past the last. */
EXPORT const char *pw_scene_text(uint32_t index, bool summary) {
    const scene *found = scene_at(index);
    return !found ? NULL : summary ? found->summary : found->name;
}

EXPORT pelt_model *pw_borrow(const pelt_model *source) {
    pelt_model *model = NULL;
    last_result = pelt_model_borrow(context, source, &model);
    return model;
}

EXPORT void pw_model_free(pelt_model *model) {
    pelt_model_destroy(model);
}

EXPORT pelt_result pw_save(const pelt_model *model, const char *path, const char *settings) {
    pelt_save_desc desc = pelt_save_desc_default();
    TRY(read_settings(pelt_save_options(), &desc, settings));
    return pelt_save(context, model, path, &desc);
}

EXPORT const char *pw_format(const pelt_model *model) {
    return model->format;
}

EXPORT const pelt_mesh *pw_mesh(const pelt_model *model) {
    return &model->mesh;
}

EXPORT const pelt_part *pw_parts(const pelt_model *model, uint32_t *count) {
    *count = model->mesh.part_count;
    return model->mesh.parts;
}

EXPORT const pelt_skeleton *pw_skeleton(const pelt_model *model) {
    return &model->skeleton;
}

EXPORT const pelt_skin *pw_skin(const pelt_model *model) {
    return &model->skin;
}

EXPORT const uint16_t *pw_skin_bones(const pelt_model *model) {
    return model->skin.bones;
}

EXPORT const float *pw_skin_weights(const pelt_model *model) {
    return model->skin.weights;
}

/* Numbers of vertices, joints, morphs and sliders. */
EXPORT void pw_counts(const pelt_model *model, uint32_t counts[4]) {
    counts[0] = model->mesh.vertex_count;
    counts[1] = model->skeleton.joint_count;
    counts[2] = model->morphs.morph_count;
    counts[3] = model->sliders.slider_count;
}

EXPORT const pelt_motion *pw_motions(const pelt_model *model, uint32_t *count) {
    *count = model->motion_count;
    return model->motions;
}

EXPORT const pelt_clip *pw_clips(const pelt_model *model, uint32_t *count) {
    *count = model->clip_count;
    return model->clips;
}

EXPORT const pelt_morph *pw_morphs(const pelt_model *model, uint32_t *count) {
    *count = model->morphs.morph_count;
    return model->morphs.morphs;
}

EXPORT const pelt_slider *pw_sliders(const pelt_model *model, uint32_t *count) {
    *count = model->sliders.slider_count;
    return model->sliders.sliders;
}

/* The motion of an index; NULL, the rest pose, for PELT_NONE. */
static const pelt_motion *motion_at(const pelt_model *model, uint32_t index) {
    return index < model->motion_count ? &model->motions[index] : NULL;
}

/* Positions [vertex][3] of a frame of a clip; `points` [point][3] is scratch. */
EXPORT pelt_result pw_clip_frame(const pelt_model *model, uint32_t clip, uint32_t frame, float *points, float *out) {
    const pelt_clip *from = &model->clips[clip];
    TRY(pelt_clip_read(context, from, frame, 0, from->point_count, points));
    pelt_vertex_classes_spread(&model->mesh.points, model->mesh.vertex_count, points, out);
    return PELT_OK;
}

/* Points [frame][point][3] of frames [first, first + count) of a clip. */
EXPORT pelt_result pw_clip_points(const pelt_model *model, uint32_t clip, uint32_t first, uint32_t count, float *out) {
    const pelt_clip *from = &model->clips[clip];
    for (uint32_t k = 0; k < count; k++)
        TRY(pelt_clip_read(context, from, first + k, 0, from->point_count, out + (size_t)3 * from->point_count * k));
    return PELT_OK;
}

/* The radius of the smallest ball around points [count][3]; NaN: they are not finite. */
EXPORT double pw_radius(const float *points, uint32_t count) {
    pelt_ball ball;
    for (size_t e = 0; e < (size_t)3 * count; e++)
        if (!isfinite(points[e]))
            return NAN;
    return count > 0 && pelt_enclosing_ball(context, points, count, &ball) == PELT_OK ? ball.radius : NAN;
}

/* [vertex] the point of every vertex; NULL: vertex i is point i. */
EXPORT const uint32_t *pw_points(const pelt_model *model) {
    return model->mesh.points.of;
}

EXPORT void pw_sample(const pelt_model *model, uint32_t motion, float time, pelt_transform *locals, float *weights) {
    pelt_motion_sample(model, motion_at(model, motion), time, locals, weights);
    pelt_pose_weights(model, locals, weights);
}

EXPORT pelt_result pw_pose(const pelt_model *model, uint32_t motion, float time, uint32_t skinning, float *positions,
                           float *normals) {
    return pelt_model_pose(context, model, motion_at(model, motion), time, (pelt_skinning)skinning, positions, normals);
}

EXPORT pelt_result pw_pose_locals(const pelt_model *model, const pelt_transform *locals, const float *weights,
                                  uint32_t skinning, float *positions, float *normals) {
    return pelt_model_pose_locals(context, model, locals, weights, (pelt_skinning)skinning, positions, normals);
}

EXPORT pelt_result pw_pose_sliders(const pelt_model *model, const pelt_transform *locals, const float *sliders,
                                   uint32_t skinning, float *positions, float *normals) {
    return pelt_model_pose_sliders(context, model, locals, sliders, (pelt_skinning)skinning, positions, normals);
}

/* Smooth normals [vertex][3] of positions [vertex][3]. */
EXPORT pelt_result pw_normals(pelt_model *model, const float *positions, float *normals) {
    TRY(pelt_model_weld(context, model));
    return pelt_mesh_normals(context, &model->mesh, positions, normals);
}

/* Makes the motions of `source`, which may be the model, the clips of a model; pelt_decompose and pelt_correct take them. They are
 * evaluated on the source when they are read. */
EXPORT pelt_result pw_motions_to_clips(pelt_model *model, pelt_model *source, double fps) {
    uint32_t count = source->motion_count;
    pelt_clip *clips = pelt_model_alloc(context, model, count, sizeof *clips);
    if (!clips)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < count; n++)
        TRY(pelt_clip_from_motion(context, source, &source->motions[n], fps, PELT_SKINNING_LINEAR, &clips[n]));
    model->clips = clips;
    model->clip_count = count;
    return PELT_OK;
}

/* Compares a motion with a clip at the times of the clip. */
EXPORT pelt_result pw_compare(pelt_model *model, uint32_t motion, uint32_t clip, pelt_difference *difference) {
    const pelt_clip *from = &model->clips[clip];
    pelt_clip played;
    TRY(pelt_model_weld(context, model));
    TRY(pelt_clip_from_motion_at(context, model, motion_at(model, motion), from->times, from->frame_count,
                                 PELT_SKINNING_LINEAR, &played));
    pelt_result result = pelt_compare_clips(context, from, &played, &model->mesh, difference, NULL);
    pelt_clip_free(model, &played);
    return result;
}

/* ---- Operations ------------------------------------------------------------------------------------------- */

/* Step by step, to tell the error of every iteration. */
static pelt_result decompose_steps(pelt_model *model, const pelt_decompose_desc *desc, pelt_decompose_report *report) {
    pelt_decomposer *decomposer;
    TRY(pelt_decomposer_create(context, model, desc, &decomposer));
    pelt_result result = PELT_OK;
    for (bool done = false; result == PELT_OK && !done;) {
        result = pelt_decomposer_step(decomposer, &done);
        if (result == PELT_OK)
            host_iteration(pelt_decomposer_error(decomposer));
    }
    if (result == PELT_OK)
        result = pelt_decomposer_finish(decomposer, report);
    pelt_decomposer_destroy(decomposer);
    return result;
}

/* `rig` and `rest_positions` may be NULL. */
EXPORT pelt_result pw_decompose(pelt_model *model, const char *settings, const pelt_model *rig, bool given_motion,
                                bool given_weights, const float *rest_positions, bool tell_iterations,
                                pelt_decompose_report *report) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    TRY(read_settings(pelt_decompose_options(), &desc, settings));
    desc.rig = rig;
    desc.given_motion = given_motion;
    desc.given_weights = given_weights;
    desc.rest_positions = rest_positions;
    return tell_iterations ? decompose_steps(model, &desc, report) : pelt_decompose(context, model, &desc, report);
}

/* The clips of the pairs belong to `source`, which may be the model. */
EXPORT pelt_result pw_correct(pelt_model *model, const pelt_model *source, const pelt_correct_pair *pairs,
                              uint32_t pair_count, const char *settings, pelt_correct_report *report) {
    pelt_correct_desc desc = pelt_correct_desc_default();
    TRY(read_settings(pelt_correct_options(), &desc, settings));
    if (source != model)
        TRY(pelt_model_take_points(context, model, source));
    return pelt_correct(context, model, pairs, pair_count, &desc, report);
}

/* The frames of a clip of `source` are examples, each in the pose that a motion of the model has at its time. Examples that are left
 * out, every `hold_out`th (0: none), are not used. */
EXPORT pelt_result pw_eigenskin(pelt_model *model, const pelt_model *source, uint32_t motion, uint32_t clip,
                                uint32_t hold_out, const char *settings, pelt_eigenskin_report *report) {
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    TRY(read_settings(pelt_eigenskin_options(), &desc, settings));
    if (source != model)
        TRY(pelt_model_take_points(context, model, source));
    const pelt_clip *from = &source->clips[clip];
    const pelt_motion *played = motion_at(model, motion);
    uint32_t count = 0, joints = model->skeleton.joint_count, vertices = model->mesh.vertex_count;
    pelt_pose_example *examples = calloc(from->frame_count, sizeof *examples);
    pelt_transform *locals = calloc((size_t)from->frame_count * joints, sizeof *locals);
    float *positions = calloc((size_t)from->frame_count * vertices, 3 * sizeof *positions);
    float *points = calloc(from->point_count, 3 * sizeof *points);
    pelt_result result = examples && locals && positions && points ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t k = 0; result == PELT_OK && k < from->frame_count; k++) {
        if (hold_out && (k + 1) % hold_out == 0)
            continue;
        pelt_transform *pose = locals + (size_t)count * joints;
        float *shape = positions + (size_t)3 * count * vertices;
        double start = played ? (double)played->start : 0;
        pelt_motion_sample(model, played, (float)(start + ((double)from->times[k] - (double)from->times[0])), pose,
                           NULL);
        result = pelt_clip_read(context, from, k, 0, from->point_count, points);
        if (result == PELT_OK)
            pelt_vertex_classes_spread(&model->mesh.points, vertices, points, shape);
        examples[count++] = (pelt_pose_example){"frame", pose, shape, NULL};
    }
    if (result == PELT_OK)
        result = pelt_eigenskin(context, model, examples, count, &desc, report);
    free(points);
    free(positions);
    free(locals);
    free(examples);
    return result;
}

/* Adds a motion of `source` to a rig. `map` and `name` may be NULL. */
EXPORT pelt_result pw_retarget(pelt_model *rig, const pelt_model *source, uint32_t motion, const char *settings,
                               const char *map, const char *name, pelt_retarget_report *report) {
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    TRY(read_settings(pelt_retarget_options(), &desc, settings));
    desc.map = map;
    desc.name = name;
    pelt_joint_match *matches = calloc(rig->skeleton.joint_count, sizeof *matches);
    if (!matches)
        return PELT_ERROR_MEMORY;
    pelt_result result = pelt_match_joints(context, &rig->skeleton, &source->skeleton, &desc, matches);
    if (result == PELT_OK)
        result = pelt_retarget(context, source, motion_at(source, motion), matches, &desc, rig, report);
    free(matches);
    return result;
}

/* [joint of the rig] the joint of the source that it would follow, or PELT_NONE. */
EXPORT pelt_result pw_match_joints(const pelt_model *rig, const pelt_model *source, const char *map,
                                   uint32_t *partners) {
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    desc.map = map;
    pelt_joint_match *matches = calloc(rig->skeleton.joint_count, sizeof *matches);
    if (!matches)
        return PELT_ERROR_MEMORY;
    pelt_result result = pelt_match_joints(context, &rig->skeleton, &source->skeleton, &desc, matches);
    for (uint32_t j = 0; result == PELT_OK && j < rig->skeleton.joint_count; j++)
        partners[j] = matches[j].joint;
    free(matches);
    return result;
}

EXPORT pelt_result pw_simplify(pelt_model *model, const char *settings, pelt_simplify_report *report) {
    pelt_simplify_desc desc = pelt_simplify_desc_default();
    TRY(read_settings(pelt_simplify_options(), &desc, settings));
    return pelt_simplify(context, model, &desc, report);
}

/* ---- Binding ---------------------------------------------------------------------------------------------- */

/* Settings that are no text: a model, and arrays per vertex. Each may be NULL. */
typedef struct bind_extra {
    const pelt_model *skeleton;
    const float *vertex_falloff;
    const pelt_bind_attribute *attributes;
    uint32_t attribute_count;
    bool keep_fields;
} bind_extra;
_Static_assert(sizeof(bind_extra) == 20, "binding.ts writes it");

static pelt_result read_bind(pelt_bind_desc *desc, const char *settings, const bind_extra *extra) {
    *desc = pelt_bind_desc_default();
    TRY(read_settings(pelt_bind_options(), desc, settings));
    desc->skeleton = extra->skeleton;
    desc->vertex_falloff = extra->vertex_falloff;
    desc->attributes = extra->attributes;
    desc->attribute_count = extra->attribute_count;
    desc->keep_fields = extra->keep_fields;
    return PELT_OK;
}

EXPORT pelt_binding *pw_binding_create(pelt_model *model, const char *settings, const bind_extra *extra) {
    pelt_bind_desc desc;
    pelt_binding *binding = NULL;
    last_result = read_bind(&desc, settings, extra);
    if (last_result == PELT_OK)
        last_result = pelt_binding_create(context, model, &desc, &binding);
    return binding;
}

/* A binding of another model in the voxels of one that keeps its fields. */
EXPORT pelt_binding *pw_binding_reuse(const pelt_binding *binding, pelt_model *model) {
    pelt_binding *reused = NULL;
    last_result = pelt_binding_reuse(binding, model, &reused);
    return reused;
}

EXPORT pelt_result pw_bind(pelt_model *model, const char *settings, const bind_extra *extra, pelt_bind_report *report) {
    pelt_bind_desc desc;
    TRY(read_bind(&desc, settings, extra));
    return pelt_bind(context, model, &desc, report);
}

/* `pose` [joint] may be NULL. */
EXPORT pelt_result pw_binding_apply(pelt_binding *binding, const char *settings, const bind_extra *extra,
                                    const pelt_transform *pose) {
    pelt_bind_desc desc;
    TRY(read_bind(&desc, settings, extra));
    return pelt_binding_apply_pose(binding, &desc, pose);
}

EXPORT void pw_binding_report(const pelt_binding *binding, pelt_bind_report *report) {
    *report = pelt_binding_report(binding);
}

EXPORT void pw_binding_voxels(const pelt_binding *binding, pelt_bind_voxels *voxels) {
    *voxels = pelt_binding_voxels(binding);
}

EXPORT pelt_result pw_binding_section(const pelt_binding *binding, uint32_t kind, uint32_t axis, double position,
                                      uint32_t joint, pelt_bind_section *section) {
    return pelt_binding_section(binding, kind, axis, position, joint, section);
}

EXPORT pelt_result pw_binding_distances(const pelt_binding *binding, uint32_t joint, float *distances) {
    return pelt_binding_distances(binding, joint, distances);
}

EXPORT const uint8_t *pw_section_pixels(const pelt_bind_section *section) {
    return section->pixels;
}

EXPORT void pw_section_free(pelt_bind_section *section) {
    pelt_bind_section_free(context, section);
}

EXPORT void pw_binding_free(pelt_binding *binding) {
    pelt_binding_destroy(binding);
}

/* ---- Soft tissue ------------------------------------------------------------------------------------------ */

/* Settings that are no text. Each array may be NULL. */
typedef struct jiggle_extra {
    const pelt_jiggle_joint *joints;
    uint32_t joint_count;
    const pelt_jiggle_part *parts;
    uint32_t part_count;
    const pelt_collider *colliders;
    uint32_t collider_count;
    pelt_jiggle_maps maps;
    pelt_jiggle_forces forces;
} jiggle_extra;
_Static_assert(sizeof(jiggle_extra) == 68, "jiggle.ts writes it");

static pelt_result read_jiggle(pelt_jiggle_desc *desc, const char *settings, const jiggle_extra *extra) {
    *desc = pelt_jiggle_desc_default();
    TRY(read_settings(pelt_jiggle_options(), desc, settings));
    desc->joints = extra->joints;
    desc->joint_count = extra->joint_count;
    desc->parts = extra->parts;
    desc->part_count = extra->part_count;
    desc->colliders = extra->colliders;
    desc->collider_count = extra->collider_count;
    desc->maps = extra->maps;
    desc->forces = extra->forces;
    return PELT_OK;
}

EXPORT pelt_jiggle *pw_jiggle_create(pelt_model *model, const char *settings, const jiggle_extra *extra) {
    pelt_jiggle_desc desc;
    pelt_jiggle *jiggle = NULL;
    last_result = read_jiggle(&desc, settings, extra);
    if (last_result == PELT_OK)
        last_result = pelt_jiggle_create(context, model, &desc, &jiggle);
    return jiggle;
}

EXPORT void pw_jiggle_pose(pelt_jiggle *jiggle, const pelt_transform *locals) {
    pelt_jiggle_set_pose(jiggle, locals);
}

EXPORT void pw_jiggle_step(pelt_jiggle *jiggle, double seconds) {
    pelt_jiggle_step(jiggle, seconds);
}

EXPORT void pw_jiggle_positions(const pelt_jiggle *jiggle, float *positions, float *normals) {
    pelt_jiggle_positions(jiggle, positions, normals);
}

EXPORT void pw_jiggle_reset(pelt_jiggle *jiggle) {
    pelt_jiggle_reset(jiggle);
}

EXPORT void pw_jiggle_weights(pelt_jiggle *jiggle, const float *weights) {
    pelt_jiggle_set_weights(jiggle, weights);
}

EXPORT void pw_jiggle_forces(pelt_jiggle *jiggle, const jiggle_extra *extra) {
    pelt_jiggle_set_forces(jiggle, &extra->forces);
}

EXPORT void pw_jiggle_collider(pelt_jiggle *jiggle, uint32_t index, const pelt_collider *collider) {
    pelt_jiggle_set_collider(jiggle, index, collider);
}

EXPORT void pw_jiggle_values(pelt_jiggle *jiggle, const jiggle_extra *extra) {
    pelt_jiggle_set_values(jiggle, extra->joints, extra->joint_count, &extra->maps);
}

/* `grab` NULL: lets go. */
EXPORT void pw_jiggle_grab(pelt_jiggle *jiggle, const pelt_jiggle_grab *grab) {
    pelt_jiggle_set_grab(jiggle, grab);
}

EXPORT void pw_jiggle_get_values(const pelt_jiggle *jiggle, uint32_t value, float *values) {
    pelt_jiggle_get_values(jiggle, (pelt_jiggle_value)value, values);
}

EXPORT void pw_jiggle_report(pelt_jiggle *jiggle, pelt_jiggle_report *report) {
    *report = pelt_jiggle_get_report(jiggle);
}

EXPORT void pw_jiggle_lattice(const pelt_jiggle *jiggle, pelt_jiggle_lattice *lattice) {
    *lattice = pelt_jiggle_get_lattice(jiggle);
}

EXPORT void pw_jiggle_free(pelt_jiggle *jiggle) {
    pelt_jiggle_destroy(jiggle);
}

/* Simulates motion_count motions from `motion` on (0: all) into clips. */
EXPORT pelt_result pw_jiggle_simulate(pelt_model *model, uint32_t motion, uint32_t motion_count, const char *settings,
                                      const char *jiggle_settings, const char *bake_settings, const jiggle_extra *extra,
                                      pelt_jiggle_report *report) {
    pelt_jiggle_simulate_desc desc = pelt_jiggle_simulate_desc_default();
    pelt_jiggle_bake_desc bake = pelt_jiggle_bake_desc_default();
    pelt_jiggle_desc jiggle;
    pelt_jiggle_simulate_report simulated;
    TRY(read_settings(pelt_jiggle_simulate_options(), &desc, settings));
    TRY(read_settings(pelt_jiggle_bake_options(), &bake, bake_settings));
    TRY(read_jiggle(&jiggle, jiggle_settings, extra));
    desc.motion = motion;
    desc.motion_count = motion_count;
    desc.jiggle = &jiggle;
    desc.bake = &bake;
    TRY(pelt_jiggle_simulate(context, model, &desc, &simulated));
    *report = simulated.bakes[0].jiggle;
    return PELT_OK;
}

/* Fits helper bones to the clips of pw_jiggle_simulate. */
EXPORT pelt_result pw_jiggle_bones(pelt_model *model, const char *settings, pelt_decompose_report *report) {
    pelt_decompose_desc desc = pelt_jiggle_bones_default();
    pelt_decompose_corrected_report both;
    TRY(read_settings(pelt_decompose_options(), &desc, settings));
    TRY(pelt_jiggle_add_bones(context, model, &desc, NULL, &both));
    *report = both.decompose;
    return PELT_OK;
}

/* Fits morph targets to the clips of pw_jiggle_simulate; each clip belongs to the motion at its place, counted from `motion`. */
EXPORT pelt_result pw_jiggle_morphs(pelt_model *model, uint32_t motion, const char *settings,
                                    pelt_correct_report *report) {
    pelt_correct_desc desc = pelt_jiggle_morphs_default();
    TRY(read_settings(pelt_correct_options(), &desc, settings));
    uint32_t *motions = pelt_model_alloc(context, model, model->clip_count, sizeof *motions);
    if (!motions)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < model->clip_count; n++)
        motions[n] = motion + n;
    return pelt_jiggle_add_morphs(context, model, motions, &desc, report);
}
