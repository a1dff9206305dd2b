/* Every public function that takes a desc refuses one that was not initialised or has a field out of its range, with a
 * usage error that names the field, and takes every field at its bounds.
 *
 * Adding a function: a `CALL` below and its row in `calls`. `all_functions_are_here` reads the public headers and fails
 * when one is missing.
 */
#include "support.h"

#include "core/core.h"
#include "scenes.h"

#include <dirent.h>
#include <float.h>
#include <math.h>

/* Arguments of the functions besides the desc. */
typedef struct subject {
    test_context test;
    pelt_context *context;
    pelt_model *rig;   /* skin, motion and clip of one small tube */
    pelt_model *other; /* a second copy */
    pelt_binding *binding;
    pelt_study *study;
    char folder[1024];
} subject;

typedef pelt_result call_fn(subject *s, const void *desc);
#define CALL(function) static pelt_result call_##function(subject *s, const void *desc)

CALL(pelt_context_create) {
    pelt_context *context;
    pelt_result result = pelt_context_create(desc, &context);
    assert_true((context != NULL) == (result == PELT_OK));
    pelt_context_destroy(context);
    px_fail(s->context, result, "pelt_context_desc"); /* without a context there was no error message */
    return result;
}

static const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

static pelt_result done(pelt_model *model, pelt_result result) {
    assert_true((model != NULL) == (result == PELT_OK));
    pelt_model_destroy(model);
    return result;
}
CALL(pelt_load) {
    pelt_model *model;
    const char *path = "no such file.obj";
    pelt_result result = pelt_load(s->context, &path, 1, desc, &model);
    return done(model, result);
}
CALL(pelt_load_memory) {
    pelt_model *model;
    pelt_result result = pelt_load_memory(s->context, obj, sizeof obj - 1, "a.obj", desc, &model);
    return done(model, result);
}
CALL(pelt_load_cache_memory) {
    return pelt_load_cache_memory(s->context, "?", 1, "a.pc2", desc, s->rig);
}
CALL(pelt_load_poses) {
    pelt_pose *poses;
    uint32_t count;
    return pelt_load_poses(s->context, s->rig, "no such file.json", desc, &poses, &count);
}
CALL(pelt_load_poses_memory) {
    pelt_pose *poses;
    uint32_t count;
    return pelt_load_poses_memory(s->context, s->rig, "{}", 2, "a.json", desc, &poses, &count);
}

/* A path in the folder of the test, deleted with it. */
static const char *in_folder(const subject *s, const char *name) {
    static char path[1100];
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    return path;
}
CALL(pelt_save) {
    return pelt_save(s->context, s->rig, in_folder(s, "a.glb"), desc);
}
CALL(pelt_save_all) {
    const char *path = in_folder(s, "a.glb");
    return pelt_save_all(s->context, (const pelt_model *const *)&s->rig, &path, 1, desc);
}
CALL(pelt_save_levels) {
    return pelt_save_levels(s->context, (const pelt_model *const *)&s->rig, 1, in_folder(s, "a.glb"), desc);
}

CALL(pelt_bind) {
    return pelt_bind(s->context, s->rig, desc, NULL);
}
CALL(pelt_bind_measure_fit) {
    pelt_bind_fit fit;
    return pelt_bind_measure_fit(s->context, s->rig, desc, &fit);
}
CALL(pelt_binding_create) {
    pelt_binding *binding;
    pelt_result result = pelt_binding_create(s->context, s->rig, desc, &binding);
    assert_true((binding != NULL) == (result == PELT_OK));
    pelt_binding_destroy(binding);
    return result;
}
CALL(pelt_binding_apply) {
    return pelt_binding_apply(s->binding, desc);
}

CALL(pelt_binding_apply_pose) {
    return pelt_binding_apply_pose(s->binding, desc, NULL);
}

CALL(pelt_bind_prefer) {
    pelt_bind_example example = {"rest", s->rig->skeleton.rest, s->rig->mesh.positions};
    return pelt_bind_prefer(s->context, s->rig, &example, 1, desc, NULL);
}

CALL(pelt_correct) {
    pelt_correct_pair pair = {0, &s->rig->clips[0]};
    return pelt_correct(s->context, s->rig, &pair, 1, desc, NULL);
}
CALL(pelt_eigenskin) {
    pelt_pose_example example = {.name = "rest", .locals = s->rig->skeleton.rest, .positions = s->rig->mesh.positions};
    return pelt_eigenskin(s->context, s->rig, &example, 1, desc, NULL);
}
CALL(pelt_decompose_sliders) {
    return pelt_decompose_sliders(s->context, s->rig, desc, NULL);
}
CALL(pelt_clip_delta_mush) {
    pelt_clip clip;
    pelt_result result = pelt_clip_delta_mush(s->context, s->rig, NULL, 30, desc, &clip);
    pelt_clip_free(s->rig, &clip);
    return result;
}
CALL(pelt_helper_bones_add) {
    return pelt_helper_bones_add(s->context, s->rig, desc, NULL);
}
CALL(pelt_crowd_create) {
    pelt_crowd_character character = {(const pelt_model *const *)&s->rig, 1};
    pelt_crowd *crowd;
    pelt_result result = pelt_crowd_create(s->context, &character, 1, desc, &crowd);
    assert_true((crowd != NULL) == (result == PELT_OK));
    pelt_crowd_destroy(crowd);
    return result;
}

CALL(pelt_decompose) {
    return pelt_decompose(s->context, s->rig, desc, NULL);
}
CALL(pelt_decomposer_create) {
    pelt_decomposer *decomposer;
    pelt_result result = pelt_decomposer_create(s->context, s->rig, desc, &decomposer);
    assert_true((decomposer != NULL) == (result == PELT_OK));
    pelt_decomposer_destroy(decomposer);
    return result;
}
CALL(pelt_decompose_corrected) {
    return pelt_decompose_corrected(s->context, s->rig, NULL, desc, NULL);
}
CALL(pelt_decompose_budget) {
    return pelt_decompose_budget(s->context, s->rig, NULL, desc, NULL, NULL);
}
static pelt_result call_pelt_decompose_budget_bones(subject *s, const void *desc) {
    return pelt_decompose_budget(s->context, s->rig, desc, NULL, NULL, NULL);
}
static pelt_result call_pelt_decompose_corrected_bones(subject *s, const void *desc) {
    return pelt_decompose_corrected(s->context, s->rig, desc, NULL, NULL);
}

CALL(pelt_edit_mesh) {
    return pelt_edit_mesh(s->context, s->rig, s->other, NULL, desc, NULL);
}
CALL(pelt_edit_positions) {
    return pelt_edit_positions(s->context, s->rig, s->other->mesh.positions, desc, NULL);
}
CALL(pelt_edit_displace) {
    return pelt_edit_displace(s->context, s->rig, s->other->mesh.positions, desc, NULL);
}

CALL(pelt_jiggle_create) {
    pelt_jiggle *jiggle;
    pelt_result result = pelt_jiggle_create(s->context, s->rig, desc, &jiggle);
    assert_true((jiggle != NULL) == (result == PELT_OK));
    pelt_jiggle_destroy(jiggle);
    return result;
}
static pelt_result bake(subject *s, const pelt_jiggle_desc *desc, const pelt_jiggle_bake_desc *how) {
    pelt_clip clip;
    return pelt_jiggle_bake(s->context, s->rig, &s->rig->motions[0], desc, how, &clip, NULL);
}
CALL(pelt_jiggle_bake) {
    return bake(s, desc, NULL);
}
CALL(pelt_jiggle_bake_how) {
    return bake(s, NULL, desc);
}

CALL(pelt_jiggle_simulate) {
    return pelt_jiggle_simulate(s->context, s->rig, desc, NULL);
}
CALL(pelt_jiggle_add_bones) {
    return pelt_jiggle_add_bones(s->context, s->rig, desc, NULL, NULL);
}
CALL(pelt_jiggle_add_morphs) {
    const uint32_t motion = 0;
    return pelt_jiggle_add_morphs(s->context, s->rig, &motion, desc, NULL);
}

CALL(pelt_light) {
    return pelt_light(s->context, s->rig, desc, NULL);
}
CALL(pelt_match_joints) {
    pelt_joint_match *matches = calloc(s->rig->skeleton.joint_count, sizeof *matches);
    pelt_result result = pelt_match_joints(s->context, &s->rig->skeleton, &s->other->skeleton, desc, matches);
    free(matches);
    return result;
}
CALL(pelt_retarget) {
    pelt_joint_match *matches = calloc(s->rig->skeleton.joint_count, sizeof *matches);
    pelt_result result = pelt_retarget(s->context, s->other, &s->other->motions[0], matches, desc, s->rig, NULL);
    free(matches);
    return result;
}
CALL(pelt_simplify) {
    return pelt_simplify(s->context, s->rig, desc, NULL);
}
CALL(pelt_simplify_levels) {
    const double ratio = 0.5;
    pelt_model *level;
    pelt_result result = pelt_simplify_levels(s->context, s->rig, desc, &ratio, 1, &level, NULL);
    return done(level, result);
}
CALL(pelt_study_components) {
    const pelt_components *components;
    return pelt_study_components(s->study, desc, &components);
}

CALL(pelt_picture_measure) {
    pelt_picture_facts facts;
    return pelt_picture_measure(s->context, s->rig, desc, &facts);
}
CALL(pelt_picture_render) {
    const pelt_picture_desc *picture = desc;
    bool sane = picture->width <= 64 && picture->height <= 64;
    uint8_t small[4 * 64 * 64], *large = sane ? NULL : calloc(4, (size_t)PELT_PICTURE_MAX_SIDE * PELT_PICTURE_MAX_SIDE);
    pelt_result result = pelt_picture_render(s->context, s->rig, desc, sane ? small : large);
    free(large);
    return result;
}
CALL(pelt_picture_save) {
    return pelt_picture_save(s->context, s->rig, desc, in_folder(s, "a.png"));
}
CALL(pelt_page_save) {
    return pelt_page_save(s->context, s->rig, desc, in_folder(s, "a.html"));
}

CALL(pelt_weights_smooth) {
    return pelt_weights_smooth(s->context, s->rig, NULL, desc, NULL);
}
CALL(pelt_weights_prune) {
    return pelt_weights_prune(s->context, s->rig, NULL, desc, NULL);
}
CALL(pelt_weights_relax) {
    return pelt_weights_relax(s->context, s->rig, NULL, desc, NULL);
}
CALL(pelt_weights_hammer) {
    return pelt_weights_hammer(s->context, s->rig, NULL, desc, NULL);
}
CALL(pelt_weights_limit) {
    return pelt_weights_limit(s->context, s->rig, NULL, desc, NULL);
}
CALL(pelt_weights_copy) {
    return pelt_weights_copy(s->context, s->rig, NULL, desc, NULL);
}
CALL(pelt_weights_normalise) {
    return pelt_weights_normalise(s->context, s->rig, desc, NULL);
}
CALL(pelt_weights_mirror) {
    return pelt_weights_mirror(s->context, s->rig, NULL, desc, NULL);
}
CALL(pelt_weights_transfer) {
    return pelt_weights_transfer(s->context, s->other, s->rig, desc, NULL);
}

/* Defines a function that copies the default desc of a type to `out`. */
#define MAKE(type)                                                                                                     \
    static void make_##type(void *out) {                                                                               \
        type desc = type##_default();                                                                                  \
        memcpy(out, &desc, sizeof desc);                                                                               \
    }
MAKE(pelt_context_desc)
MAKE(pelt_load_desc)
MAKE(pelt_save_desc)
MAKE(pelt_bind_desc)
MAKE(pelt_bind_prefer_desc)
MAKE(pelt_correct_desc)
MAKE(pelt_eigenskin_desc)
MAKE(pelt_crowd_desc)
MAKE(pelt_decompose_desc)
MAKE(pelt_decompose_corrected_desc)
MAKE(pelt_budget_desc)
MAKE(pelt_edit_desc)
MAKE(pelt_delta_mush_desc)
MAKE(pelt_helper_bones_desc)
MAKE(pelt_jiggle_desc)
MAKE(pelt_jiggle_bake_desc)
MAKE(pelt_jiggle_simulate_desc)
MAKE(pelt_light_desc)
MAKE(pelt_retarget_desc)
MAKE(pelt_simplify_desc)
MAKE(pelt_sliders_desc)
MAKE(pelt_components_desc)
MAKE(pelt_page_desc)
MAKE(pelt_smooth_desc)
MAKE(pelt_prune_desc)
MAKE(pelt_copy_desc)
MAKE(pelt_limit_desc)
MAKE(pelt_hammer_desc)
MAKE(pelt_relax_desc)
MAKE(pelt_weights_scope)
MAKE(pelt_mirror_desc)
MAKE(pelt_transfer_desc)
static void make_pelt_picture_desc(void *out) {
    pelt_picture_desc desc = pelt_picture_desc_default();
    desc.width = desc.height = 64; /* other fields are tested at their bounds: keep the picture small */
    memcpy(out, &desc, sizeof desc);
}

static const struct contract {
    const char *function;
    call_fn *call;
    void (*make)(void *desc);
    const pelt_option_table *(*table)(void);
    size_t size;
} calls[] = {
#define ROW(function, type, options)                                                                                   \
    { #function, call_##function, make_##type, options, sizeof(type) }
    ROW(pelt_context_create, pelt_context_desc, pelt_context_options),
    ROW(pelt_load, pelt_load_desc, pelt_load_options),
    ROW(pelt_load_memory, pelt_load_desc, pelt_load_options),
    ROW(pelt_load_cache_memory, pelt_load_desc, pelt_load_options),
    ROW(pelt_load_poses, pelt_load_desc, pelt_load_options),
    ROW(pelt_load_poses_memory, pelt_load_desc, pelt_load_options),
    ROW(pelt_save, pelt_save_desc, pelt_save_options),
    ROW(pelt_save_all, pelt_save_desc, pelt_save_options),
    ROW(pelt_save_levels, pelt_save_desc, pelt_save_options),
    ROW(pelt_bind, pelt_bind_desc, pelt_bind_options),
    ROW(pelt_bind_measure_fit, pelt_bind_desc, pelt_bind_options),
    ROW(pelt_binding_create, pelt_bind_desc, pelt_bind_options),
    ROW(pelt_binding_apply, pelt_bind_desc, pelt_bind_options),
    ROW(pelt_binding_apply_pose, pelt_bind_desc, pelt_bind_options),
    ROW(pelt_bind_prefer, pelt_bind_prefer_desc, pelt_bind_prefer_options),
    ROW(pelt_correct, pelt_correct_desc, pelt_correct_options),
    ROW(pelt_eigenskin, pelt_eigenskin_desc, pelt_eigenskin_options),
    ROW(pelt_crowd_create, pelt_crowd_desc, pelt_crowd_options),
    ROW(pelt_decompose, pelt_decompose_desc, pelt_decompose_options),
    ROW(pelt_decomposer_create, pelt_decompose_desc, pelt_decompose_options),
    ROW(pelt_decompose_corrected, pelt_decompose_corrected_desc, pelt_decompose_corrected_options),
    ROW(pelt_decompose_budget, pelt_budget_desc, pelt_budget_options),
    ROW(pelt_decompose_budget_bones, pelt_decompose_desc, pelt_decompose_options),
    ROW(pelt_decompose_corrected_bones, pelt_decompose_desc, pelt_decompose_options),
    ROW(pelt_edit_mesh, pelt_edit_desc, pelt_edit_options),
    ROW(pelt_edit_positions, pelt_edit_desc, pelt_edit_options),
    ROW(pelt_edit_displace, pelt_edit_desc, pelt_edit_options),
    ROW(pelt_clip_delta_mush, pelt_delta_mush_desc, pelt_delta_mush_options),
    ROW(pelt_helper_bones_add, pelt_helper_bones_desc, pelt_helper_bones_options),
    ROW(pelt_jiggle_create, pelt_jiggle_desc, pelt_jiggle_options),
    ROW(pelt_jiggle_bake, pelt_jiggle_desc, pelt_jiggle_options),
    ROW(pelt_jiggle_bake_how, pelt_jiggle_bake_desc, pelt_jiggle_bake_options),
    ROW(pelt_jiggle_simulate, pelt_jiggle_simulate_desc, pelt_jiggle_simulate_options),
    ROW(pelt_jiggle_add_bones, pelt_decompose_desc, pelt_decompose_options),
    ROW(pelt_jiggle_add_morphs, pelt_correct_desc, pelt_correct_options),
    ROW(pelt_light, pelt_light_desc, pelt_light_options),
    ROW(pelt_match_joints, pelt_retarget_desc, pelt_retarget_options),
    ROW(pelt_retarget, pelt_retarget_desc, pelt_retarget_options),
    ROW(pelt_simplify, pelt_simplify_desc, pelt_simplify_options),
    ROW(pelt_simplify_levels, pelt_simplify_desc, pelt_simplify_options),
    ROW(pelt_decompose_sliders, pelt_sliders_desc, pelt_sliders_options),
    ROW(pelt_study_components, pelt_components_desc, pelt_components_options),
    ROW(pelt_picture_measure, pelt_picture_desc, pelt_picture_options),
    ROW(pelt_picture_render, pelt_picture_desc, pelt_picture_options),
    ROW(pelt_picture_save, pelt_picture_desc, pelt_picture_options),
    ROW(pelt_page_save, pelt_page_desc, pelt_page_options),
    ROW(pelt_weights_smooth, pelt_smooth_desc, pelt_smooth_options),
    ROW(pelt_weights_prune, pelt_prune_desc, pelt_prune_options),
    ROW(pelt_weights_relax, pelt_relax_desc, pelt_relax_options),
    ROW(pelt_weights_hammer, pelt_hammer_desc, pelt_hammer_options),
    ROW(pelt_weights_limit, pelt_limit_desc, pelt_limit_options),
    ROW(pelt_weights_copy, pelt_copy_desc, pelt_copy_options),
    ROW(pelt_weights_normalise, pelt_weights_scope, pelt_weights_scope_options),
    ROW(pelt_weights_mirror, pelt_mirror_desc, pelt_mirror_options),
    ROW(pelt_weights_transfer, pelt_transfer_desc, pelt_transfer_options),
#undef ROW
};

/* ---- The walk ----------------------------------------------------------------------------------------------- */

static pelt_model *make_rig(subject *s) {
    pelt_model *model;
    test_ok(&s->test, scene_find("tube")->make(s->context, &(scene_desc){60, 3, 1}, &model));
    pelt_clip *clip = pelt_model_alloc(s->context, model, 1, sizeof *clip);
    assert_non_null(clip);
    test_ok(&s->test, pelt_clip_from_motion(s->context, model, &model->motions[0], 30, PELT_SKINNING_LINEAR, clip));
    model->clips = clip;
    model->clip_count = 1;
    return model;
}

/* Calls with one field of the desc set; `right`: the check of the field must pass. */
static void check_call(subject *s, const struct contract *c, const pelt_option *option, const void *desc, bool right) {
    char words[128];
    snprintf(words, sizeof words, "%s.%s is", c->table()->desc, option->field);
    atomic_store(&s->test.cancel_at, right ? 1 : 0); /* cancel valid calls: only the check matters */
    pelt_result result = c->call(s, desc);
    const char *text = pelt_error_text(s->context);
    bool named = strstr(text, words) != NULL || c->call == call_pelt_context_create;
    if (!right && (result != PELT_ERROR_USAGE || !named))
        fail_msg("%s: %s should be refused, got %s: %s", c->function, words, pelt_result_name(result), text);
    if (right && result == PELT_ERROR_USAGE && named)
        fail_msg("%s: %s at a bound is refused: %s", c->function, words, text);
    atomic_store(&s->test.cancel_at, 0);
    if (result == PELT_OK) { /* too short to be cancelled: the rig may have changed */
        pelt_model_destroy(s->rig);
        s->rig = make_rig(s);
    }
}

static void check_uint(subject *s, const struct contract *c, const pelt_option *option, void *desc, double value,
                       bool right) {
    if (value < 0 || value > UINT32_MAX)
        return;
    c->make(desc);
    *(uint32_t *)(void *)((char *)desc + option->offset) = (uint32_t)value;
    check_call(s, c, option, desc, right);
}

static void check_real(subject *s, const struct contract *c, const pelt_option *option, void *desc, int at,
                       double value, bool right) {
    c->make(desc);
    ((double *)(void *)((char *)desc + option->offset))[at] = value;
    check_call(s, c, option, desc, right);
}

static void check_option(subject *s, const struct contract *c, const pelt_option *option, void *desc) {
    bool ranged = option->min != 0 || option->max != 0;
    switch (option->kind) {
    case PELT_OPTION_FLAG:
        c->make(desc);
        ((unsigned char *)desc)[option->offset] = 2;
        check_call(s, c, option, desc, false);
        break;
    case PELT_OPTION_UINT:
        check_uint(s, c, option, desc, option->min - 1, false);
        check_uint(s, c, option, desc, option->min, true);
        check_uint(s, c, option, desc, ranged ? option->max : UINT32_MAX - 1.0, true);
        check_uint(s, c, option, desc, ranged ? option->max + 1 : UINT32_MAX, false);
        break;
    case PELT_OPTION_REAL:
    case PELT_OPTION_VECTOR:
        for (int at = 0; at < (option->kind == PELT_OPTION_VECTOR ? 3 : 1); at++) {
            check_real(s, c, option, desc, at, NAN, false);
            check_real(s, c, option, desc, at, INFINITY, false);
            check_real(s, c, option, desc, at, -INFINITY, false);
            if (!ranged)
                continue;
            check_real(s, c, option, desc, at, nextafter(option->min, -INFINITY), false);
            check_real(s, c, option, desc, at, option->min, true);
            check_real(s, c, option, desc, at, option->max, true);
            check_real(s, c, option, desc, at, nextafter(option->max, INFINITY), false);
        }
        break;
    case PELT_OPTION_CHOICE: {
        uint32_t count = 1;
        for (const char *p = option->choices; *p; p++)
            count += *p == '|';
        check_uint(s, c, option, desc, count - 1, true);
        check_uint(s, c, option, desc, count, false);
        check_uint(s, c, option, desc, UINT32_MAX, false);
        break;
    }
    case PELT_OPTION_SIZE:
    case PELT_OPTION_TEXT: /* every value is valid */
        break;
    }
}

static void begin(subject *s) {
    pelt_context_desc desc = test_desc(&s->test, 1);
    desc.memory_limit = (size_t)256 << 20;
    s->context = test_begin_with(&s->test, &desc);
    s->rig = make_rig(s);
    s->other = make_rig(s);
    pelt_bind_desc coarse = pelt_bind_desc_default();
    coarse.resolution = 16;
    test_ok(&s->test, pelt_binding_create(s->context, s->other, &coarse, &s->binding));
    test_ok(&s->test, pelt_study_create(s->context, s->other, &s->study));
    test_folder(s->folder);
}

static void end(subject *s) {
    static const char *const names[] = {"a.glb", "a.png", "a.html"};
    for (size_t n = 0; n < PX_COUNT(names); n++)
        unlink(in_folder(s, names[n]));
    assert_int_equal(rmdir(s->folder), 0);
    pelt_study_destroy(s->study);
    pelt_binding_destroy(s->binding);
    pelt_model_destroy(s->other);
    pelt_model_destroy(s->rig);
    test_end(&s->test);
}

static void every_field_is_checked(void **state) {
    (void)state;
    subject s;
    begin(&s);
    for (size_t n = 0; n < PX_COUNT(calls); n++) {
        void *desc = malloc(calls[n].size);
        for (size_t o = 0; o < calls[n].table()->count; o++)
            check_option(&s, &calls[n], &calls[n].table()->rows[o], desc);
        free(desc);
    }
    end(&s);
}

static void a_desc_must_be_initialised(void **state) {
    (void)state;
    subject s;
    begin(&s);
    for (size_t n = 0; n < PX_COUNT(calls); n++) {
        const struct contract *c = &calls[n];
        void *desc = malloc(c->size);
        for (int fill = 0; fill < 2; fill++) {
            memset(desc, fill ? 0xAA : 0, c->size);
            test_fails(&s.test, c->call(&s, desc), PELT_ERROR_USAGE,
                       c->call == call_pelt_context_create ? "" : "is not initialised: start from");
        }
        free(desc);
    }
    end(&s);
}

/* ---- Completeness ------------------------------------------------------------------------------------------- */

static bool has_call(const char *name, size_t length) {
    for (size_t n = 0; n < PX_COUNT(calls); n++)
        if (strlen(calls[n].function) == length && memcmp(calls[n].function, name, length) == 0)
            return true;
    return false;
}

/* Declarations "PELT_API pelt_result NAME(… const pelt_X_desc * …);" of a header. Gives their number. */
static uint32_t check_header(const char *text) {
    static const char begins[] = "PELT_API pelt_result ";
    uint32_t count = 0;
    for (const char *p = strstr(text, begins); p; p = strstr(p, begins)) {
        p += sizeof begins - 1;
        size_t length = strcspn(p, "(");
        const char *stop = strchr(p, ';');
        for (const char *d = strstr(p, "_desc *"); d && d < stop; d = stop) {
            count++;
            if (!has_call(p, length))
                fail_msg("%.*s takes a desc and is not in this test", (int)length, p);
        }
    }
    return count;
}

static void all_functions_are_here(void **state) {
    (void)state;
    const char *folder = "../include/pelt"; /* tests run in tests/ */
    DIR *headers = opendir(folder);
    assert_non_null(headers);
    uint32_t count = 0;
    for (struct dirent *entry = readdir(headers); entry; entry = readdir(headers)) {
        char path[512], *text;
        if (!strstr(entry->d_name, ".h"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        assert_non_null(text = calloc(1 << 20, 1));
        assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
        fclose(file);
        count += check_header(text);
        free(text);
    }
    closedir(headers);
    /* a bake, a corrected decomposition and one in a budget have two descs; pelt_weights_normalise takes a scope */
    assert_int_equal(count, PX_COUNT(calls) - 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_checked),
        cmocka_unit_test(a_desc_must_be_initialised),
        cmocka_unit_test(all_functions_are_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
