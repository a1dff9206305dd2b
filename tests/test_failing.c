/* Robustness: every format and every verb with failing allocations, one alone or all after it, and every format
 * truncated at every byte. The result is an error message, no leak, and a complete file or none. */
#include "support.h"

#include "core/core.h"
#include "core/morphs.h"
#include "scenes.h"

#include <dirent.h>

#define ABSENT   UINT32_MAX
#define CASE_MAX 120 /* failing allocations per case; as many again with all later ones failing */
#define CUT_MAX  500 /* truncated sizes per file */

/* ---- Small files of every format -------------------------------------------------------------------------- */

static char folder[1024];

static const char *in_folder(const char *name) {
    static char paths[4][1300]; /* up to four paths in use */
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static size_t file_count(void) {
    size_t count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return count;
}

static void put_file(const char *name, const void *bytes, size_t size) {
    FILE *f = fopen(in_folder(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* The contents of a file; freed by the caller. */
static uint8_t *get_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 20, f);
    assert_in_range(*size, 1, (1 << 20) - 1);
    fclose(f);
    return bytes;
}

static const char skeleton[] = ":units\n length 0.5\n angle deg\n:root\n order TX TY TZ RX RY RZ\n axis XYZ\n"
                               ":bonedata\n begin\n name lfemur\n direction 0 -1 0\n length 4\n axis 0 0 0 XYZ\n"
                               " dof rx ry rz\n limits (-10 10)\n (-20 20)\n (-30 30)\n end\n"
                               ":hierarchy\n begin\n root lfemur\n end\n";
static const char motion[] = ":FULLY-SPECIFIED\n:DEGREES\n1\nroot 0 4 0 0 0 0\nlfemur 0 0 0\n"
                             "2\nroot 0 4 1 0 0 0\nlfemur 30 0 0\n";

static const char pose_text[] = "{\"joints\": {\"upper\": {\"euler\": [0, 0, 60]}}}\n";

/* Two motions of the same name and one of another, on three nodes. */
static const char apart_text[] =
    "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}],"
    "\"buffers\":[{\"byteLength\":32,\"uri\":\"data:;base64,AAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/AAAAAAAAAAA=\"}],"
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":8},{\"buffer\":0,\"byteOffset\":8,\"byteLength\":24}],"
    "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"type\":\"SCALAR\",\"count\":2,\"min\":[0],\"max\":[1]},"
    "{\"bufferView\":1,\"componentType\":5126,\"type\":\"VEC3\",\"count\":2}],\"animations\":["
    "{\"name\":\"Walk\",\"samplers\":[{\"input\":0,\"output\":1}],\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,"
    "\"path\":\"translation\"}}]},"
    "{\"name\":\"Walk\",\"samplers\":[{\"input\":0,\"output\":1}],\"channels\":[{\"sampler\":0,\"target\":{\"node\":1,"
    "\"path\":\"translation\"}}]},"
    "{\"name\":\"Nod\",\"samplers\":[{\"input\":0,\"output\":1}],\"channels\":[{\"sampler\":0,\"target\":{\"node\":2,"
    "\"path\":\"translation\"}}]}]}\n";

/* A tube with three bones, and its motion as a clip, in every writable format; the others are written by hand. */
static int make_files(void **state) {
    (void)state;
    static const char *const outputs[] = {"rig.glb",  "rig.gltf", "rig.bvh",  "rig.usdz", "mesh.obj",
                                          "mesh.ply", "clip.pc2", "clip.mdd", "clip.abc", "frame_%d.obj"};
    test_folder(folder);
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, scene_find("tube")->make(test.context, &(scene_desc){30, 4, 1}, &model));
    pelt_clip *clip = pelt_model_alloc(test.context, model, 1, sizeof *clip);
    test_ok(&test, pelt_clip_from_motion(test.context, model, &model->motions[0], 4, PELT_SKINNING_LINEAR, clip));
    model->clips = clip;
    model->clip_count = 1;
    for (size_t o = 0; o < PX_COUNT(outputs); o++)
        test_ok(&test, pelt_save(test.context, model, in_folder(outputs[o]), NULL));
    pelt_model_destroy(model);
    test_end(&test);
    put_file("s.asf", skeleton, sizeof skeleton - 1);
    put_file("t.amc", motion, sizeof motion - 1);
    put_file("pose.json", pose_text, sizeof pose_text - 1);
    put_file("apart.gltf", apart_text, sizeof apart_text - 1);
    size_t size;
    uint8_t *alembic = get_file("../fuzz/corpus/abc/transforms.abc", &size);
    put_file("move.abc", alembic, size);
    free(alembic);
    uint8_t *fbx = get_file("../fuzz/corpus/fbx/strip_7400.fbx", &size);
    put_file("strip.fbx", fbx, size);
    free(fbx);
    uint8_t *usd = get_file("../fuzz/corpus/usd/strip.usda", &size);
    put_file("strip.usda", usd, size);
    free(usd);
    usd = get_file("../fuzz/corpus/usd/layers.usda", &size);
    put_file("layers.usda", usd, size);
    free(usd);
    fbx = get_file("../fuzz/corpus/fbx/layers.fbx", &size);
    put_file("layers.fbx", fbx, size);
    free(fbx);
    usd = get_file("../fuzz/corpus/usd/moving.usda", &size);
    put_file("moving.usda", usd, size);
    free(usd);
    return 0;
}

static int remove_files(void **state) {
    (void)state;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));)
        unlink(in_folder(e->d_name));
    return d && closedir(d) == 0 ? rmdir(folder) : -1;
}

static pelt_result load_as(pelt_context *context, const char *first, const char *second, const pelt_load_desc *desc,
                           pelt_model **model) {
    const char *const paths[] = {in_folder(first), second ? in_folder(second) : NULL};
    return pelt_load(context, paths, second ? 2 : 1, desc, model);
}

static pelt_result load(pelt_context *context, const char *first, const char *second, pelt_model **model) {
    return load_as(context, first, second, NULL, model);
}

/* Saving writes the complete file, or none. */
static pelt_result judge_output(const char *path, pelt_result result, size_t before) {
    assert_int_equal(access(path, F_OK) == 0, result == PELT_OK);
    unlink(path);
    assert_int_equal(file_count(), before);
    return result;
}

/* ---- Formats ---------------------------------------------------------------------------------------------- */

typedef struct format_case {
    const char *first, *second; /* input files; NULL: no second file */
    const char *output;         /* output file; NULL: none */
    const char *second_output;  /* file written with it, or NULL */
    const char *up, *join;      /* as in pelt_load_desc */
} format_case;

static const format_case formats[] = {
    {"rig.glb", NULL, "out.glb", NULL, NULL, NULL},         {"rig.gltf", NULL, "out.gltf", "out.bin", NULL, NULL},
    {"mesh.obj", NULL, "out.obj", NULL, NULL, NULL},        {"mesh.ply", NULL, "out.ply", NULL, NULL, NULL},
    {"mesh.obj", "clip.pc2", "out.pc2", NULL, NULL, NULL},  {"mesh.obj", "clip.mdd", "out.mdd", NULL, NULL, NULL},
    {"clip.pc2", NULL, "out.mdd", NULL, NULL, NULL},        {"frame_%d.obj", NULL, "out.pc2", NULL, NULL, NULL},
    {"mesh.obj", "clip.pc2", "out.glb", NULL, NULL, NULL},  {"move.abc", NULL, "out.obj", NULL, NULL, NULL},
    {"strip.fbx", NULL, "out.glb", NULL, NULL, NULL},       {"rig.glb", NULL, "out.fbx", NULL, NULL, NULL},
    {"rig.glb", NULL, "out.usdz", NULL, NULL, NULL},        {"strip.usda", NULL, "out.glb", NULL, NULL, NULL},
    {"layers.usda", NULL, "out.fbx", NULL, NULL, NULL},     {"layers.fbx", NULL, "out.usda", NULL, NULL, NULL},
    {"layers.fbx", NULL, "out.glb", NULL, NULL, NULL},      {"rig.usdz", NULL, "out.usda", NULL, NULL, NULL},
    {"moving.usda", NULL, "out.pc2", NULL, NULL, NULL},     {"mesh.obj", "clip.pc2", "out.usda", NULL, NULL, NULL},
    {"move.abc", NULL, "out.abc", NULL, NULL, NULL},        {"clip.abc", NULL, "out.abc", NULL, NULL, NULL},
    {"mesh.obj", NULL, "out.abc", NULL, NULL, NULL},        {"move.abc", NULL, "out.pc2", NULL, NULL, NULL},
    {"rig.bvh", NULL, "out.bvh", NULL, NULL, NULL},         {"s.asf", NULL, NULL, NULL, NULL, NULL},
    {"s.asf", "t.amc", "out.bvh", NULL, NULL, NULL},        {"t.amc", NULL, "out.glb", NULL, NULL, NULL},
    {"rig.glb", NULL, "out.glb", NULL, "z", NULL},          {"mesh.obj", "clip.pc2", "out.pc2", NULL, "z", NULL},
    {"s.asf", "t.amc", "out.bvh", NULL, "x", NULL},         {"apart.gltf", NULL, "out.glb", NULL, NULL, "auto"},
    {"apart.gltf", NULL, "out.glb", NULL, "z", "Walk+Nod"},
};

static pelt_result read_and_write(pelt_context *context, void *user) {
    const format_case *c = user;
    size_t before = file_count();
    pelt_load_desc desc = pelt_load_desc_default();
    desc.up = c->up;
    desc.join = c->join;
    pelt_model *model;
    pelt_result result = load_as(context, c->first, c->second, &desc, &model);
    assert_true((model != NULL) == (result == PELT_OK));
    if (model && c->output) {
        result = pelt_save(context, model, in_folder(c->output), NULL);
        if (c->second_output) {
            assert_int_equal(access(in_folder(c->second_output), F_OK) == 0, result == PELT_OK);
            unlink(in_folder(c->second_output));
        }
        judge_output(in_folder(c->output), result, before);
    }
    pelt_model_destroy(model);
    return result;
}

static void formats_without_memory(void **state) {
    (void)state;
    for (size_t f = 0; f < PX_COUNT(formats); f++) {
        format_case c = formats[f];
        test_fail_some_allocations(1, CASE_MAX, read_and_write, &c);
    }
}

/* ---- Verbs ------------------------------------------------------------------------------------------------ */

/* Calls of a verb with one or two models. */
typedef struct verb_case {
    const char *first, *first_second; /* files of the first model … */
    const char *other;                /* … and of the second; NULL: none */
    pelt_result (*run)(pelt_context *context, pelt_model *model, pelt_model *other);
    uint32_t most; /* allocations that fail; 0: CASE_MAX; ABSENT: not in this build */
} verb_case;

static pelt_result decompose(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 2;
    desc.iterations = 2;
    return pelt_decompose(context, model, &desc, NULL);
}

/* Automatic number of bones; bones become a skeleton. */
static pelt_result decompose_rigid(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.transforms = PELT_TRANSFORMS_RIGID;
    desc.hierarchy = true;
    desc.iterations = 2;
    return pelt_decompose(context, model, &desc, NULL);
}

static pelt_result bind(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    pelt_bind_desc desc = pelt_bind_desc_default();
    desc.resolution = 16;
    desc.smooth = 1;
    return pelt_bind(context, model, &desc, NULL);
}

/* The model's own skeleton is ten times too small. */
static pelt_result bind_fitted(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    pelt_bind_desc desc = pelt_bind_desc_default();
    desc.resolution = 16;
    desc.fit = true;
    for (uint32_t b = 0; b < model->skin.bone_count; b++)
        for (int e = 3; e < 12; e += 4)
            model->skin.inverse_binds[b].m[e] *= 0.1f;
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        for (int c = 0; c < 3; c++)
            model->skeleton.rest[j].translation[c] *= 0.1f;
    return pelt_bind(context, model, &desc, NULL);
}

static pelt_result bind_geodesic(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    pelt_bind_desc desc = pelt_bind_desc_default();
    desc.resolution = 16;
    desc.method = PELT_BIND_GEODESIC;
    desc.mirror = PELT_BIND_MIRROR_X;
    return pelt_bind(context, model, &desc, NULL);
}

/* The start of the rig's own motion, stretched over its duration: a difference to correct. */
static pelt_result correct(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    const pelt_motion *played = &model->motions[0];
    float lasts = played->end - played->start;
    const float from[] = {played->start, played->start + 0.1f * lasts, played->start + 0.2f * lasts};
    const float to[] = {0, 0.5f * lasts, lasts};
    pelt_clip clip;
    PX_TRY(pelt_clip_from_motion_at(context, model, played, from, PX_COUNT(from), PELT_SKINNING_LINEAR, &clip));
    clip.times = to;
    pelt_correct_desc desc = pelt_correct_desc_default();
    desc.rank = 2;
    return pelt_correct(context, model, &(pelt_correct_pair){0, &clip}, 1, &desc, NULL);
}

/* One morph with weights of both signs, which gets an offset; then another, for which the offset is extended. */
static pelt_result fit_range(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    static const float times[] = {0, 1}, signs[] = {-0.5f, 0.5f};
    px_morph_group *groups;
    uint32_t group_count;
    px_arena *scratch = px_arena_create(context);
    model->mesh.part_count = 1; /* only counts matter: large enough that every array is its own allocation */
    model->mesh.vertex_count = model->mesh.parts[0].vertex_count = 6000;
    pelt_result result = scratch ? px_morph_groups_find(scratch, model, &groups, &group_count) : PELT_ERROR_MEMORY;
    for (uint32_t round = 0; round < 2 && result == PELT_OK; round++) {
        uint32_t index = model->morphs.morph_count;
        pelt_morph_set kept = model->morphs;
        pelt_morph added = {.name = "bump",
                            .joint = groups[0].joint,
                            .index = index,
                            .vertex_count = model->mesh.vertex_count,
                            .positions = pelt_model_alloc(context, model, model->mesh.vertex_count, 3 * sizeof(float))};
        for (size_t e = 0; added.positions && e < 3 * (size_t)added.vertex_count; e++)
            ((float *)(uintptr_t)added.positions)[e] = 1;
        pelt_track *track = pelt_model_alloc(context, model, 1, sizeof *track);
        float *values = pelt_model_alloc(context, model, 2 * ((size_t)index + 1), sizeof *values);
        result =
            added.positions && track && values ? px_morphs_with(model, &added, 1, &model->morphs) : PELT_ERROR_MEMORY;
        if (result != PELT_OK)
            break;
        for (uint32_t k = 0; k < 2; k++) {
            for (uint32_t m = 0; m < index; m++)
                values[k * (index + 1) + m] = model->motions[0].tracks[0].values[k * index + m];
            values[k * (index + 1) + index] = signs[k];
        }
        *track = (pelt_track){added.joint, PELT_PATH_WEIGHTS, PELT_INTERPOLATION_LINEAR, index + 1, 2, times, values};
        model->motions[0] = (pelt_motion){"both", 0, 1, 1, track};
        result = px_morphs_fit_range(scratch, &kept, "offset", model);
    }
    if (result == PELT_OK) {
        assert_int_equal(model->morphs.morph_count, 3);
        assert_true(model->morphs.morphs[1].positions[0] == -1); /* the lowest weights of both */
    }
    px_arena_destroy(scratch);
    return result;
}

/* The second rig is the first, bent: its rest pose becomes that of the first. */
static pelt_result edit(pelt_context *context, pelt_model *model, pelt_model *other) {
    for (size_t n = 0; n < 3 * (size_t)other->mesh.vertex_count; n++)
        other->mesh.positions[n] += 0.1f * other->mesh.positions[n / 3 * 3 + 1];
    pelt_edit_desc desc = {PELT_DESC_COOKIE, PELT_EDIT_MOTION, 0, 0.1f};
    PX_TRY(pelt_edit_mesh(context, model, other, NULL, NULL, NULL));
    return pelt_edit_mesh(context, model, other, model, &desc, NULL);
}

static pelt_result edit_weights(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    PX_TRY(pelt_weights_smooth(context, model, NULL, NULL, NULL));
    PX_TRY(pelt_weights_prune(context, model, NULL, NULL, NULL));
    PX_TRY(pelt_weights_relax(context, model, NULL, NULL, NULL));
    pelt_hammer_desc all = pelt_hammer_desc_default();
    pelt_weights_scope some = pelt_weights_scope_default();
    all.difference = 0;
    some.parts = "vertices(0-20)";
    PX_TRY(pelt_weights_hammer(context, model, &some, &all, NULL));
    PX_TRY(pelt_weights_copy(context, model, &some, NULL, NULL));
    some.influences = 2;
    PX_TRY(pelt_weights_limit(context, model, &some, NULL, NULL));
    PX_TRY(pelt_weights_normalise(context, model, NULL, NULL));
    pelt_mirror_desc mirror = pelt_mirror_desc_default();
    mirror.match = PELT_MIRROR_BY_TOPOLOGY;
    PX_TRY(pelt_weights_mirror(context, model, NULL, &mirror, NULL));
    return pelt_weights_mirror(context, model, NULL, NULL, NULL);
}

static pelt_result transfer(pelt_context *context, pelt_model *model, pelt_model *other) {
    return pelt_weights_transfer(context, model, other, NULL, NULL);
}

static pelt_result retarget(pelt_context *context, pelt_model *model, pelt_model *other) {
    pelt_joint_match matches[64];
    assert_in_range(model->skeleton.joint_count, 1, PX_COUNT(matches));
    PX_TRY(pelt_match_joints(context, &model->skeleton, &other->skeleton, NULL, matches));
    return pelt_retarget(context, other, &other->motions[0], matches, NULL, model, NULL);
}

/* Loads poses of a pose file and of a BVH skeleton, and evaluates the first of each. */
static pelt_result pose(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    static const char *const files[] = {"pose.json", "rig.bvh"};
    float positions[3 * 128], weights[8];
    assert_in_range(model->mesh.vertex_count, 1, 128);
    assert_in_range(model->morphs.morph_count, 0, 8);
    for (size_t f = 0; f < PX_COUNT(files); f++) {
        pelt_pose *poses;
        uint32_t count;
        pelt_result result = pelt_load_poses(context, model, in_folder(files[f]), NULL, &poses, &count);
        assert_int_equal(count, result == PELT_OK);
        PX_TRY(result);
        PX_TRY(pelt_model_pose_locals(context, model, poses[0].locals, weights, PELT_SKINNING_LINEAR, positions, NULL));
    }
    return PELT_OK;
}

/* Two times of the motion at which the mesh should be slightly larger. */
static pelt_result learn(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    pelt_transform locals[2][8];
    float positions[2][3 * 128], weights[8];
    pelt_pose_example examples[2];
    assert_in_range(model->mesh.vertex_count, 1, 128);
    assert_in_range(model->skeleton.joint_count, 1, 8);
    assert_in_range(model->morphs.morph_count, 0, 8);
    for (int k = 0; k < 2; k++) {
        pelt_motion_sample(model, &model->motions[0], 0.05f + 0.04f * (float)k, locals[k], weights);
        PX_TRY(pelt_model_pose_locals(context, model, locals[k], weights, PELT_SKINNING_LINEAR, positions[k], NULL));
        for (uint32_t e = 0; e < 3 * model->mesh.vertex_count; e++)
            positions[k][e] += 0.1f * (float)(k + 1) * model->mesh.normals[e];
        examples[k] = (pelt_pose_example){k ? "later" : "sooner", locals[k], positions[k], NULL};
    }
    return pelt_eigenskin(context, model, examples, 2, NULL, NULL);
}

static pelt_result compare(pelt_context *context, pelt_model *model, pelt_model *other) {
    pelt_clip clip;
    pelt_difference clips;
    pelt_weight_difference weights;
    PX_TRY(pelt_clip_from_motion(context, model, &model->motions[0], 4, PELT_SKINNING_DUAL_QUATERNION, &clip));
    PX_TRY(pelt_compare_clips(context, &clip, &clip, &model->mesh, &clips, NULL));
    return pelt_compare_weights(context, model, other, &weights);
}

static pelt_result bake(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    size_t before = file_count();
    pelt_clip clip;
    PX_TRY(pelt_clip_from_motion(context, model, &model->motions[0], 4, PELT_SKINNING_LINEAR, &clip));
    model->clips = &clip;
    model->clip_count = 1;
    return judge_output(in_folder("out.pc2"), pelt_save(context, model, in_folder("out.pc2"), NULL), before);
}

static pelt_result compress(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    size_t before = file_count();
    pelt_save_desc desc = pelt_save_desc_default();
    desc.compress = true;
    return judge_output(in_folder("out.glb"), pelt_save(context, model, in_folder("out.glb"), &desc), before);
}

static pelt_result decompose_budget(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    size_t before = file_count();
    pelt_decompose_desc bones = pelt_decompose_desc_default();
    pelt_budget_desc desc = pelt_budget_desc_default();
    bones.iterations = 2;
    desc.bones = 2;
    desc.one_kind = true;
    return judge_output(in_folder("out.glb"),
                        pelt_decompose_budget(context, model, &bones, &desc, in_folder("out.glb"), NULL), before);
}

static pelt_result decompose_max_error(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    size_t before = file_count();
    pelt_decompose_desc bones = pelt_decompose_desc_default();
    pelt_budget_desc desc = pelt_budget_desc_default();
    bones.iterations = 2;
    desc.bones = 2;
    desc.max_error = 1000;
    desc.smallest = true;
    return judge_output(in_folder("out.glb"),
                        pelt_decompose_budget(context, model, &bones, &desc, in_folder("out.glb"), NULL), before);
}

static pelt_result draw(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    size_t before = file_count();
    pelt_picture_desc desc = pelt_picture_desc_default();
    desc.width = desc.height = 24;
    desc.columns = 2;
    desc.samples = 1;
    desc.mode = PELT_PICTURE_BONES;
    desc.wireframe = desc.labels = true;
    return judge_output(in_folder("out.png"), pelt_picture_save(context, model, &desc, in_folder("out.png")), before);
}

static pelt_result show(pelt_context *context, pelt_model *model, pelt_model *other) {
    (void)other;
    size_t before = file_count();
    pelt_page_desc desc = pelt_page_desc_default();
    desc.clips = model->clips;
    desc.clip_count = model->clip_count;
    desc.report = "{\"verb\":\"test\",\"warnings\":[\"none\"]}";
    return judge_output(in_folder("out.html"), pelt_page_save(context, model, &desc, in_folder("out.html")), before);
}

static const verb_case verbs[] = {
    {"mesh.obj", "clip.pc2", NULL, decompose, 0},
    {"mesh.obj", "clip.pc2", NULL, decompose_rigid, 0},
    {"rig.glb", NULL, NULL, bind, 0},
    {"rig.glb", NULL, NULL, bind_geodesic, 0},
    {"rig.glb", NULL, NULL, bind_fitted, 0},
    {"rig.glb", NULL, NULL, correct, 0},
    {"rig.glb", NULL, NULL, fit_range, 0},
    {"rig.glb", NULL, "rig.gltf", edit, 0},
    {"rig.glb", NULL, NULL, edit_weights, 0},
    {"rig.glb", NULL, "mesh.obj", transfer, 0},
    {"rig.glb", NULL, "rig.bvh", retarget, 0},
    {"rig.glb", NULL, NULL, pose, 0},
    {"rig.glb", NULL, NULL, learn, 0},
    {"rig.glb", NULL, "rig.gltf", compare, 0},
    {"rig.glb", NULL, NULL, bake, 0},
    {"rig.glb", NULL, NULL, compress, TEST_MESHOPTIMIZER ? 0 : ABSENT},
    {"mesh.obj", "clip.pc2", NULL, decompose_budget, TEST_MESHOPTIMIZER ? 0 : ABSENT},
    {"mesh.obj", "clip.pc2", NULL, decompose_max_error, TEST_MESHOPTIMIZER ? 0 : ABSENT},
    {"rig.glb", NULL, NULL, draw, TEST_PICTURES ? 12 : ABSENT},
    {"mesh.obj", "clip.pc2", NULL, show, 0},
    {"rig.glb", NULL, NULL, show, 0},
};

static pelt_result run_verb(pelt_context *context, void *user) {
    const verb_case *c = user;
    pelt_model *model, *other = NULL;
    pelt_result result = load(context, c->first, c->first_second, &model);
    if (result == PELT_OK && c->other)
        result = load(context, c->other, NULL, &other);
    if (result == PELT_OK)
        result = c->run(context, model, other);
    pelt_model_destroy(other);
    pelt_model_destroy(model);
    return result;
}

static void verbs_without_memory(void **state) {
    (void)state;
    for (size_t v = 0; v < PX_COUNT(verbs); v++) {
        verb_case c = verbs[v];
        for (uint32_t threads = 1; threads <= 2 && c.most != ABSENT; threads++)
            test_fail_some_allocations(threads, c.most ? c.most : CASE_MAX, run_verb, &c);
    }
}

/* ---- Files that end too early ----------------------------------------------------------------------------- */

static void judge_read(const test_context *test, pelt_result result) {
    assert_true(result == PELT_OK || result == PELT_ERROR_INPUT || result == PELT_ERROR_UNSUPPORTED);
    assert_true(result == PELT_OK || pelt_error_text(test->context)[0] != 0);
}

/* The first `size` bytes of a file, in a block of that size, so that sanitizers detect overruns; files that extend
 * another are added to `base`. */
static void read_cut(const uint8_t *bytes, size_t size, const char *name, const char *base) {
    test_context test;
    test_begin(&test, 1);
    uint8_t *exact = malloc(size + (size == 0));
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    pelt_model *model = NULL;
    if (base) {
        test_ok(&test, load(test.context, base, NULL, &model));
        uint32_t clips = model->clip_count, motions = model->motion_count;
        pelt_result result = pelt_load_cache_memory(test.context, exact, size, name, NULL, model);
        judge_read(&test, result);
        assert_int_equal(model->clip_count + model->motion_count, clips + motions + (result == PELT_OK));
    } else {
        judge_read(&test, pelt_load_memory(test.context, exact, size, name, NULL, &model));
    }
    pelt_model_destroy(model);
    free(exact);
    test_end(&test);
}

static void cut_anywhere(void **state) {
    (void)state;
    static const struct {
        const char *name, *base;
    } files[] = {
        {"rig.glb", NULL},     {"mesh.obj", NULL},   {"mesh.ply", NULL},       {"move.abc", NULL},
        {"clip.pc2", NULL},    {"rig.bvh", NULL},    {"clip.pc2", "mesh.obj"}, {"clip.mdd", "mesh.obj"},
        {"s.asf", NULL},       {"t.amc", "s.asf"},   {"strip.fbx", NULL},      {"layers.fbx", NULL},
        {"layers.usda", NULL}, {"strip.usda", NULL}, {"moving.usda", NULL},    {"rig.usdz", NULL},
        {"clip.abc", NULL},
    };
    for (size_t f = 0; f < PX_COUNT(files); f++) {
        size_t size;
        uint8_t *bytes = get_file(in_folder(files[f].name), &size);
        size_t step = 1 + size / CUT_MAX;
        for (size_t cut = 0; cut < size; cut += step) /* step by step to the end, then its last bytes */
            read_cut(bytes, cut, files[f].name, files[f].base);
        for (size_t cut = size - px_min_size(size, 16); cut <= size; cut++)
            read_cut(bytes, cut, files[f].name, files[f].base);
        free(bytes);
    }
}

/* A .gltf and its external buffer, as files. */
static void cut_beside(void **state) {
    (void)state;
    static const char *const names[] = {"rig.gltf", "rig.bin"};
    for (size_t n = 0; n < PX_COUNT(names); n++) {
        size_t size;
        uint8_t *bytes = get_file(in_folder(names[n]), &size);
        size_t step = 1 + size / CUT_MAX;
        for (size_t cut = 0; cut < size; cut += step) {
            test_context test;
            test_begin(&test, 1);
            put_file(names[n], bytes, cut);
            pelt_model *model;
            judge_read(&test, load(test.context, "rig.gltf", NULL, &model));
            pelt_model_destroy(model);
            test_end(&test);
        }
        put_file(names[n], bytes, size);
        free(bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_without_memory),
        cmocka_unit_test(verbs_without_memory),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(cut_beside),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
