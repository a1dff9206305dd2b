/* Pose-driven corrections: exact at the examples, accurate at others, within their supports, the same for any number of
 * threads and orientation of the rig, model unchanged when memory runs out. */
#include "support.h"

#include "arm.h"
#include "core/rotation.h"
#include "eigenskin/eigenskin.h"
#include "scenes.h"

#include <math.h>

static const scene_desc arm_desc = {.vertex_count = 700, .frame_count = 20, .seed = 1};

typedef struct arm {
    pelt_model *model;
    scene_poses poses;
    pelt_pose_example *examples; /* [seen_count] */
} arm;

static pelt_result arm_make(pelt_context *context, const scene_desc *desc, arm *a) {
    const scene *s = scene_find("arm");
    pelt_result result = s->make(context, desc, &a->model);
    if (result == PELT_OK)
        result = s->poses(context, desc, a->model, &a->poses);
    if (result != PELT_OK)
        return result;
    a->examples = pelt_model_alloc(context, a->model, a->poses.seen_count, sizeof *a->examples);
    for (uint32_t p = 0; a->examples && p < a->poses.seen_count; p++) {
        const scene_pose *pose = &a->poses.seen[p];
        a->examples[p] = (pelt_pose_example){pose->name, pose->locals, pose->positions, NULL};
    }
    return a->examples ? PELT_OK : PELT_ERROR_MEMORY;
}

static arm arm_open(const test_context *test) {
    arm a = {0};
    test_ok(test, arm_make(test->context, &arm_desc, &a));
    return a;
}

/* The model in a pose, with weights set by drivers: positions [vertex][3] in its memory. */
static float *driven(const test_context *test, pelt_model *model, const pelt_transform *locals) {
    float *weights = pelt_model_alloc(test->context, model, model->morphs.morph_count, sizeof *weights);
    float *out = pelt_model_alloc(test->context, model, 3 * (size_t)model->mesh.vertex_count, sizeof *out);
    assert_true(weights && out);
    pelt_pose_weights(model, locals, weights);
    test_ok(test, pelt_model_pose_locals(test->context, model, locals, weights, PELT_SKINNING_LINEAR, out, NULL));
    return out;
}

/* √(Σ |a − b|²) and the largest |a − b| over the vertices. */
typedef struct difference {
    double root, most;
} difference;

static difference compare(const pelt_model *model, const float *a, const float *b) {
    difference d = {0};
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        double sum = 0;
        for (size_t c = 3 * i; c < 3 * i + 3; c++)
            sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
        d.root += sum;
        d.most = fmax(d.most, sqrt(sum));
    }
    d.root = sqrt(d.root);
    return d;
}

/* Remaining error in the poses, relative to the error of `before` [pose]. */
static double relative_error(const test_context *test, pelt_model *model, const scene_pose *poses, uint32_t count,
                             float *const *before) {
    double left = 0, all = 0;
    for (uint32_t p = 0; p < count; p++) {
        double now = compare(model, driven(test, model, poses[p].locals), poses[p].positions).root;
        double then = compare(model, before[p], poses[p].positions).root;
        left += now * now;
        all += then * then;
    }
    return sqrt(left / all);
}

static float **plain_skins(const test_context *test, pelt_model *model, const scene_pose *poses, uint32_t count) {
    float **out = pelt_model_alloc(test->context, model, count, sizeof *out);
    assert_non_null(out);
    for (uint32_t p = 0; p < count; p++)
        out[p] = driven(test, model, poses[p].locals);
    return out;
}

/* ---- Accuracy --------------------------------------------------------------------------------------------- */

static void few_modes_are_enough(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    float **seen = plain_skins(&test, a.model, a.poses.seen, a.poses.seen_count);
    float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, NULL, &r));
    test_ok(&test, pelt_model_validate(context, a.model));
    assert_int_equal(r.mode_count, 5);
    assert_int_equal(r.morph_count, 15);
    assert_int_equal(a.model->driver_count, 3);
    assert_string_equal(a.model->morphs.morphs[5].name, "elbow mode 1");
    assert_true(r.errors[0] == 1 && r.errors[2] <= 0.1);
    for (uint32_t n = 1; n <= r.mode_count; n++)
        assert_true(r.errors[n] <= r.errors[n - 1]);
    assert_true(r.left_out_error > r.errors[5] && r.left_out_error < 0.5);
    assert_true(relative_error(&test, a.model, a.poses.seen, a.poses.seen_count, seen) <= 0.06);
    assert_true(relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen) <= 0.2);
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* The largest distance of the driven model from the poses, relative to the arm's length. */
static double largest_error(const test_context *test, arm *a, const scene_pose *poses, uint32_t count) {
    double most = 0;
    for (uint32_t p = 0; p < count; p++)
        most = fmax(most, compare(a->model, driven(test, a->model, poses[p].locals), poses[p].positions).most);
    return most / 3.3;
}

static pelt_eigenskin_desc exact_desc(void) {
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.exact = true;
    return desc;
}

/* With all modes, any kernel, swing and twist together or separate; the rest pose is unchanged. */
static void exact_at_the_examples(void **state) {
    (void)state;
    for (uint32_t kernel = 0; kernel < 3; kernel++)
        for (int split = 0; split < 2; split++) {
            test_context test;
            pelt_context *context = test_begin(&test, 2);
            arm a = arm_open(&test);
            pelt_eigenskin_desc desc = exact_desc();
            desc.kernel = kernel;
            desc.split = split;
            const scene_pose rest = {"rest", a.model->skeleton.rest, driven(&test, a.model, a.model->skeleton.rest),
                                     NULL};
            assert_true(largest_error(&test, &a, a.poses.seen, a.poses.seen_count) > 0.02);
            test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, NULL));
            assert_true(largest_error(&test, &a, a.poses.seen, a.poses.seen_count) < 1e-5);
            assert_true(largest_error(&test, &a, &rest, 1) < 1e-6);
            assert_int_equal(a.model->driver_count, split ? 6 : 3);
            pelt_model_destroy(a.model);
            test_end(&test);
        }
}

static void learn_unseen(const test_context *test, arm *a, const pelt_eigenskin_desc *desc) {
    pelt_pose_example examples[64];
    assert_true(a->poses.unseen_count <= 64);
    for (uint32_t p = 0; p < a->poses.unseen_count; p++) {
        const scene_pose *pose = &a->poses.unseen[p];
        examples[p] = (pelt_pose_example){pose->name, pose->locals, pose->positions, NULL};
    }
    test_ok(test, pelt_eigenskin(test->context, a->model, examples, a->poses.unseen_count, desc, NULL));
}

/* Poses of all joints at once determine which joint displaces which vertices: other poses improve too. */
static void any_poses_will_do(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    arm a = arm_open(&test);
    float **others = plain_skins(&test, a.model, a.poses.seen, a.poses.seen_count);
    pelt_eigenskin_desc desc = exact_desc();
    learn_unseen(&test, &a, &desc);
    assert_true(largest_error(&test, &a, a.poses.unseen, a.poses.unseen_count) < 1e-5);
    assert_true(relative_error(&test, a.model, a.poses.seen, a.poses.seen_count, others) < 0.5);
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* Fewer centres than poses: least squares, which removes most of the error. */
static void few_centres_are_least_squares(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    float **seen = plain_skins(&test, a.model, a.poses.seen, a.poses.seen_count);
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.centres = 3;
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, &r));
    for (uint32_t j = 0; j < r.joint_count; j++)
        assert_int_equal(r.joints[j].centre_count, 3);
    double error = relative_error(&test, a.model, a.poses.seen, a.poses.seen_count, seen);
    assert_true(error > 0.06 && error < 0.2);
    pelt_model_destroy(a.model);
    test_end(&test);
}

static void as_few_modes_as_reach_the_error(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.error = 0.1;
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, &r));
    assert_int_equal(r.mode_count, 2);
    assert_int_equal(r.morph_count, 6);
    assert_true(r.errors[2] <= 0.1 && r.errors[1] > 0.1);
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* ---- Supports --------------------------------------------------------------------------------------------- */

/* Offsets belong to no joint: they keep the weights of motions in [0, 1]. */
static double length_at(const pelt_morph *morph, uint32_t vertex) {
    if (strcmp(morph->name, "mode offset") == 0 || vertex - morph->first_vertex >= morph->vertex_count)
        return 0;
    const float *d = morph->positions + 3 * (size_t)(vertex - morph->first_vertex);
    return sqrt((double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]);
}

/* No mode of a joint displaces a vertex that the joint's own poses move by less than 4 % of the largest
 * displacement. */
static void supports_do_not_leak(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    uint32_t count = a.model->mesh.vertex_count;
    float **plain = plain_skins(&test, a.model, a.poses.seen, a.poses.seen_count);
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, NULL, NULL));
    for (uint32_t d = 0; d < a.model->driver_count; d++) {
        const pelt_driver *driver = &a.model->drivers[d];
        double *moved = pelt_model_alloc(context, a.model, count, sizeof *moved), most = 0;
        uint32_t outside = 0, inside = 0;
        for (uint32_t p = 0; p < a.poses.seen_count; p++) {
            const float *q = a.poses.seen[p].locals[driver->joint].rotation;
            bool turned = memcmp(q, a.model->skeleton.rest[driver->joint].rotation, 4 * sizeof *q) != 0;
            for (size_t i = 0; turned && i < count; i++) {
                const float *x = plain[p] + 3 * i, *y = a.poses.seen[p].positions + 3 * i;
                moved[i] = fmax(moved[i], hypot(hypot((double)x[0] - y[0], (double)x[1] - y[1]), (double)x[2] - y[2]));
                most = fmax(most, moved[i]);
            }
        }
        for (uint32_t i = 0; i < count; i++) {
            double length = 0;
            for (uint32_t m = 0; m < driver->morph_count; m++)
                length += length_at(&a.model->morphs.morphs[driver->morphs[m]], i);
            bool is_outside = moved[i] < 0.03 * most; /* 3 % in posed space can be 4 % at rest, by blending */
            outside += is_outside;
            inside += length > 0;
            assert_true(!is_outside || length == 0);
        }
        assert_true(outside > count / 4 && inside > count / 8);
    }
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* From poses that move all joints, a joint learns only at vertices with weight on its bone, the parent or a child. */
static void supports_stay_near(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    arm a = arm_open(&test);
    pelt_eigenskin_desc desc = exact_desc();
    learn_unseen(&test, &a, &desc);
    const pelt_skin *skin = &a.model->skin;
    for (uint32_t d = 0; d < a.model->driver_count; d++) {
        const pelt_driver *driver = &a.model->drivers[d];
        uint32_t far_count = 0;
        for (uint32_t i = 0; i < a.model->mesh.vertex_count; i++) {
            bool near = false;
            for (uint32_t n = i * skin->influence_count; n < (i + 1) * skin->influence_count; n++)
                near |= skin->weights[n] > 0 && abs((int)skin->bone_joints[skin->bones[n]] - (int)driver->joint) <= 1;
            far_count += !near;
            for (uint32_t m = 0; m < driver->morph_count; m++)
                assert_true(near || length_at(&a.model->morphs.morphs[driver->morphs[m]], i) == 0);
        }
        assert_true(far_count > 20 || driver->joint == 2); /* the whole chain is adjacent to the elbow */
    }
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* Where two joints meet, a vertex has at most the allowed number of displacements. */
static void displacements_of_a_vertex_are_bounded(void **state) {
    (void)state;
    for (uint32_t most = 5; most <= 10; most += 5) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
        desc.support = 0;
        desc.kernel = PELT_KERNEL_EXPONENTIAL;
        desc.max_per_vertex = most;
        test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, NULL));
        uint32_t largest = 0;
        for (uint32_t i = 0; i < a.model->mesh.vertex_count; i++) {
            uint32_t count = 0;
            for (uint32_t m = 0; m < a.model->morphs.morph_count; m++)
                count += length_at(&a.model->morphs.morphs[m], i) > 0;
            largest = count > largest ? count : largest;
        }
        assert_int_equal(largest, most);
        pelt_model_destroy(a.model);
        test_end(&test);
    }
}

/* The rig is rotated and moved as a whole, in all poses: drivers and morphs are the same up to rounding. */
static void the_whole_may_move(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test), b = arm_open(&test);
    uint32_t joints = b.model->skeleton.joint_count;
    for (uint32_t p = 0; p < b.poses.seen_count; p++) {
        pelt_transform *locals = pelt_model_alloc(context, b.model, joints, sizeof *locals);
        memcpy(locals, b.examples[p].locals, joints * sizeof *locals);
        /* half a turn about z, composed with the base's rotation: (x, y, z, w) becomes (-y, x, w, -z) */
        float q[4], *r = locals[0].rotation;
        memcpy(q, r, sizeof q);
        r[0] = -q[1], r[1] = q[0], r[2] = q[3], r[3] = -q[2];
        locals[0].translation[0] = 5 - locals[0].translation[0];
        locals[0].translation[1] = -locals[0].translation[1];
        float *positions = (float *)(uintptr_t)b.examples[p].positions;
        for (size_t i = 0; i < b.model->mesh.vertex_count; i++) {
            positions[3 * i] = 5 - positions[3 * i];
            positions[3 * i + 1] = -positions[3 * i + 1];
        }
        b.examples[p].locals = locals;
    }
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, NULL, NULL));
    test_ok(&test, pelt_eigenskin(context, b.model, b.examples, b.poses.seen_count, NULL, NULL));
    assert_int_equal(a.model->driver_count, b.model->driver_count);
    float first[16], second[16]; /* 3 joints, 5 modes each, and the offset */
    assert_true(a.model->morphs.morph_count == 16 && b.model->morphs.morph_count == 16);
    for (uint32_t p = 0; p < a.poses.unseen_count; p++) {
        pelt_transform *locals = (pelt_transform *)(uintptr_t)a.poses.unseen[p].locals;
        pelt_pose_weights(a.model, locals, first);
        locals[0].rotation[0] = locals[0].rotation[3] = sqrtf(0.5f);
        pelt_pose_weights(a.model, locals, second); /* the base has no driver */
        assert_memory_equal(first, second, sizeof first);
        difference d = compare(a.model, driven(&test, a.model, locals), driven(&test, b.model, locals));
        assert_true(d.most < 1e-5);
    }
    pelt_model_destroy(a.model);
    pelt_model_destroy(b.model);
    test_end(&test);
}

/* ---- Flat skeletons --------------------------------------------------------------------------------------- */

/* Converts the local transforms of a hierarchy to those of joints without parents. */
static pelt_transform *flatten_pose(const test_context *test, arm *a, const pelt_skeleton *skeleton,
                                    const pelt_transform *locals) {
    pelt_affine globals[8];
    pelt_transform *flat = pelt_model_alloc(test->context, a->model, skeleton->joint_count, sizeof *flat);
    assert_true(flat && skeleton->joint_count <= 8);
    pelt_skeleton_globals(skeleton, locals, globals);
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        flat[j] = locals[j];
        px_rotation_store(px_rotation_of_affine(&globals[j]), flat[j].rotation);
        for (int c = 0; c < 3; c++)
            flat[j].translation[c] = globals[j].m[4 * c + 3];
    }
    return flat;
}

static void flatten(const test_context *test, arm *a) {
    pelt_skeleton *skeleton = &a->model->skeleton, old = *skeleton;
    uint32_t *none = pelt_model_alloc(test->context, a->model, old.joint_count, sizeof *none);
    assert_non_null(none);
    for (uint32_t j = 0; j < old.joint_count; j++)
        none[j] = PELT_NONE;
    for (uint32_t p = 0; p < a->poses.seen_count; p++)
        a->examples[p].locals = flatten_pose(test, a, &old, a->examples[p].locals);
    for (uint32_t p = 0; p < a->poses.unseen_count; p++)
        ((scene_pose *)(uintptr_t)a->poses.unseen)[p].locals = flatten_pose(test, a, &old, a->poses.unseen[p].locals);
    skeleton->rest = flatten_pose(test, a, &old, old.rest);
    skeleton->parents = none;
    a->model->motion_count = 0;
}

/* Joints without shared vertices are connected by distance, in any order. */
static void joined_by_distance(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, pelt_model_create(test.context, &model));
    uint32_t parents[] = {PELT_NONE, PELT_NONE, PELT_NONE}, joints[] = {0, 1, 2};
    const char *names[] = {"root", "tip", "middle"};
    pelt_transform rest[3];
    const float places[] = {0, 2, 1};
    for (int j = 0; j < 3; j++)
        rest[j] = (pelt_transform){.translation = {places[j], 0, 0}, .rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}};
    uint16_t bones[] = {0, 0, 1, 2};
    float weights[] = {1, 1, 1, 1};
    model->skeleton = (pelt_skeleton){.joint_count = 3, .names = names, .parents = parents, .rest = rest};
    model->skin =
        (pelt_skin){.bone_count = 3, .influence_count = 1, .bone_joints = joints, .bones = bones, .weights = weights};
    model->mesh.vertex_count = 4;
    px_eigenskin e = {.context = test.context, .scratch = px_arena_create(test.context), .model = model};
    test_ok(&test, px_eigenskin_find_hierarchy(&e));
    assert_int_equal(e.hierarchy.against[2], 0);
    assert_int_equal(e.hierarchy.against[1], 2);
    px_arena_destroy(e.scratch);
    pelt_model_destroy(model);
    test_end(&test);
}

/* An arm whose joints are all siblings: joints are driven relative to their neighbours, with the same results as for
 * the arm with parents. Relative to a named joint they work too, less accurately. */
static void siblings_drive_as_children_do(void **state) {
    (void)state;
    double errors[3];
    for (int n = 0; n < 3; n++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
        if (n)
            flatten(&test, &a);
        desc.against = n == 2 ? a.model->skeleton.names[0] : NULL;
        float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
        test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, NULL));
        test_ok(&test, pelt_model_validate(context, a.model));
        errors[n] = relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen);
        assert_int_equal(a.model->driver_count, 3);
        for (uint32_t d = 0; d < a.model->driver_count; d++) {
            const pelt_driver *driver = &a.model->drivers[d];
            assert_int_equal(driver->relative, n > 0);
            if (n == 1)
                assert_int_equal(abs((int)driver->joint - (int)driver->against), 1);
            if (n == 2)
                assert_int_equal(driver->against, 0);
        }
        desc.against = "nobody";
        test_fails(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, NULL),
                   PELT_ERROR_INPUT, "against: there is no joint 'nobody'");
        pelt_model_destroy(a.model);
        test_end(&test);
    }
    assert_true(fabs(errors[1] - errors[0]) < 0.02);
    assert_true(errors[2] < 1);
}

/* ---- Pairs ------------------------------------------------------------------------------------------------ */

#define COUPLED 60u

/* Poses of shoulder and elbow about x, the second half within the range of the first; around the elbow the skin swells
 * by the product of both angles (`product`), or by a sum of functions of each. */
static void couple(const test_context *test, arm *a, bool product, pelt_pose_example *examples) {
    pelt_mesh *mesh = &a->model->mesh;
    size_t joints = a->model->skeleton.joint_count, floats = 3 * (size_t)mesh->vertex_count;
    pelt_transform *locals = pelt_model_alloc(test->context, a->model, COUPLED * joints, sizeof *locals);
    float *rest = pelt_model_alloc(test->context, a->model, floats, sizeof *rest);
    assert_true(locals && rest);
    memcpy(rest, mesh->positions, floats * sizeof *rest);
    scene_random random = {3};
    for (uint32_t x = 0; x < COUPLED; x++, locals += joints) {
        double angles[2];
        memcpy(locals, a->model->skeleton.rest, joints * sizeof *locals);
        for (int j = 0; j < 2; j++) {
            angles[j] = (x < COUPLED / 2 ? 1 : 0.75) * scene_random_range(&random, -1, 1);
            locals[j + 1].rotation[0] = (float)sin(angles[j] / 2);
            locals[j + 1].rotation[3] = (float)cos(angles[j] / 2);
        }
        double swelling = product ? angles[0] * angles[1] : angles[0] * angles[0] - angles[1] / 2;
        for (size_t i = 0; i < mesh->vertex_count; i++) {
            double u = (rest[3 * i + 1] - 1.6) / 0.5, bump = u * u < 1 ? (1 - u * u) * (1 - u * u) : 0;
            for (int c = 0; c < 3; c += 2)
                mesh->positions[3 * i + (size_t)c] = (float)(rest[3 * i + (size_t)c] * (1 + 0.5 * swelling * bump));
        }
        examples[x] = (pelt_pose_example){"coupled", locals, driven(test, a->model, locals), NULL};
    }
    memcpy(mesh->positions, rest, floats * sizeof *rest);
}

/* Two joints that displace the skin together are driven as a pair, kept only if it predicts poses better. */
static void joints_drive_as_pairs(void **state) {
    (void)state;
    double errors[2][2];
    for (int n = 0; n < 4; n++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = {0};
        test_ok(&test, arm_make(context, &(scene_desc){.vertex_count = 200, .frame_count = 2, .seed = 1}, &a));
        pelt_pose_example examples[COUPLED];
        bool product = n / 2, coupled = n % 2;
        couple(&test, &a, product, examples);
        pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
        desc.coupled = coupled;
        desc.max_per_vertex = 0;
        pelt_eigenskin_report r;
        test_ok(&test, pelt_eigenskin(context, a.model, examples, COUPLED / 2, &desc, &r));
        test_ok(&test, pelt_model_validate(context, a.model));
        if (product || !coupled)
            assert_int_equal(r.joint_count, coupled ? 3 : 2);
        if (product && coupled) {
            assert_int_equal(r.joints[2].joint, 2);
            assert_int_equal(r.joints[2].with, 1);
            assert_int_equal(r.joints[2].against, 0);
        }
        double missed = 0, all = 0;
        uint32_t drivers = a.model->driver_count;
        for (uint32_t x = COUPLED / 2; x < COUPLED; x++) {
            const float *plain = driven(&test, a.model, examples[x].locals);
            difference d = compare(a.model, plain, examples[x].positions);
            missed += d.root * d.root;
            a.model->driver_count = 0;
            d = compare(a.model, driven(&test, a.model, examples[x].locals), examples[x].positions);
            a.model->driver_count = drivers;
            all += d.root * d.root;
        }
        errors[product][coupled] = sqrt(missed / all);
        pelt_model_destroy(a.model);
        test_end(&test);
    }
    assert_true(errors[0][0] < 0.2 && errors[0][1] < 1.1 * errors[0][0]);
    assert_true(errors[1][0] > 0.5 && errors[1][1] < 0.5 * errors[1][0]);
}

/* ---- Units ------------------------------------------------------------------------------------------------ */

/* Half of the vertices in centimetres, the others in metres, with matching bind matrices: the same corrections. */
static void units_of_meshes_may_differ(void **state) {
    (void)state;
    double errors[2];
    for (int n = 0; n < 2; n++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        pelt_model *model = a.model;
        pelt_skin *skin = &model->skin;
        float **unseen = plain_skins(&test, model, a.poses.unseen, a.poses.unseen_count);
        uint32_t bones = skin->bone_count;
        uint32_t *joints = pelt_model_alloc(context, model, 2 * (size_t)bones, sizeof *joints);
        pelt_affine *binds = pelt_model_alloc(context, model, 2 * (size_t)bones, sizeof *binds);
        assert_true(joints && binds);
        for (uint32_t b = 0; b < 2 * bones; b++) {
            joints[b] = skin->bone_joints[b % bones];
            binds[b] = skin->inverse_binds[b % bones];
            for (int c = 0; n && b >= bones && c < 12; c++)
                binds[b].m[c] *= c % 4 < 3 ? 0.01f : 1;
        }
        for (uint32_t i = 0; n && i < model->mesh.vertex_count; i += 2) {
            for (int c = 0; c < 3; c++)
                ((float *)(uintptr_t)model->mesh.positions)[3 * i + c] *= 100;
            for (uint32_t k = i * skin->influence_count; k < (i + 1) * skin->influence_count; k++)
                skin->bones[k] = (uint16_t)(skin->bones[k] + bones);
        }
        skin->bone_count *= 2;
        skin->bone_joints = joints;
        skin->inverse_binds = binds;
        test_ok(&test, pelt_eigenskin(context, model, a.examples, a.poses.seen_count, NULL, NULL));
        errors[n] = relative_error(&test, model, a.poses.unseen, a.poses.unseen_count, unseen);
        pelt_model_destroy(model);
        test_end(&test);
    }
    assert_true(errors[0] < 0.13 && fabs(errors[1] - errors[0]) < 0.01);
}

/* ---- Other data of the model ------------------------------------------------------------------------------ */

/* Keeps every tenth key of a motion: joints rotate far between keys. */
static void thin_out(pelt_motion *motion) {
    for (uint32_t t = 0; t < motion->track_count; t++) {
        pelt_track *track = &motion->tracks[t];
        float *times = (float *)(uintptr_t)track->times, *values = (float *)(uintptr_t)track->values;
        uint32_t count = 0;
        for (uint32_t k = 0; k < track->key_count; k += 10, count++) {
            times[count] = times[k];
            memmove(values + count * track->width, values + k * track->width, track->width * sizeof *values);
        }
        track->key_count = count;
        motion->end = times[count - 1];
    }
}

/* A motion plays the driven weights, also between its keys: each of 15 modes within 1e-4 of the size. */
static void motions_play_what_is_driven(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    pelt_model *model = a.model;
    thin_out(&model->motions[0]);
    test_ok(&test, pelt_eigenskin(context, model, a.examples, a.poses.seen_count, NULL, NULL));
    const pelt_motion *motion = &model->motions[0];
    pelt_transform *locals = pelt_model_alloc(context, model, model->skeleton.joint_count, sizeof *locals);
    float *played = pelt_model_alloc(context, model, 3 * (size_t)model->mesh.vertex_count, sizeof *played);
    double most = 0;
    for (int k = 0; k <= 101; k++) {
        float time = motion->start + (motion->end - motion->start) * (float)k / 101;
        pelt_motion_sample(model, motion, time, locals, NULL);
        test_ok(&test, pelt_model_pose(context, model, motion, time, PELT_SKINNING_LINEAR, played, NULL));
        most = fmax(most, compare(model, played, driven(&test, model, locals)).most);
    }
    assert_true(most < 1e-3);
    assert_int_equal(model->changed & (PELT_CHANGED_MORPHS | PELT_CHANGED_DRIVERS | PELT_CHANGED_MOTIONS),
                     PELT_CHANGED_MORPHS | PELT_CHANGED_DRIVERS | PELT_CHANGED_MOTIONS);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Applied twice: existing morphs, drivers and tracks stay and are taken into account. */
static void others_stay_and_count(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    pelt_eigenskin_desc one = pelt_eigenskin_desc_default(), all = exact_desc();
    one.modes = 1;
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &one, &r));
    assert_int_equal(a.model->morphs.morph_count, 3 + 1); /* the offset */
    double left = largest_error(&test, &a, a.poses.seen, a.poses.seen_count);
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &all, &r));
    test_ok(&test, pelt_model_validate(context, a.model));
    assert_int_equal(a.model->driver_count, 6);
    assert_int_equal(a.model->morphs.morph_count, 3 + 1 + r.morph_count); /* the existing offset serves both */
    assert_string_equal(a.model->morphs.morphs[2].name, "wrist mode 1");
    assert_true(left > 1e-3 && largest_error(&test, &a, a.poses.seen, a.poses.seen_count) < 1e-5);
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* Normals of the surface, or those of the examples. */
static void normals_come_nearer(void **state) {
    (void)state;
    for (int given = 0; given < 2; given++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        for (uint32_t p = 0; given && p < a.poses.seen_count; p++)
            a.examples[p].normals = a.poses.seen[p].normals;
        pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
        desc.normals = true;
        pelt_eigenskin_report r;
        test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, &r));
        assert_true(r.normals_before > 0.03 && r.normals_after < 0.35 * r.normals_before);
        for (uint32_t m = 0; m < a.model->morphs.morph_count; m++)
            assert_non_null(a.model->morphs.morphs[m].normals);
        pelt_model_destroy(a.model);
        test_end(&test);
    }
}

/* ---- Threads, memory, bad input --------------------------------------------------------------------------- */

static void same_for_any_number_of_threads(void **state) {
    (void)state;
    test_context tests[2];
    arm arms[2];
    for (int n = 0; n < 2; n++) {
        test_begin(&tests[n], n ? 4 : 1);
        arms[n] = arm_open(&tests[n]);
        test_ok(&tests[n], pelt_eigenskin(tests[n].context, arms[n].model, arms[n].examples, arms[n].poses.seen_count,
                                          NULL, NULL));
    }
    const pelt_model *a = arms[0].model, *b = arms[1].model;
    assert_int_equal(a->morphs.morph_count, b->morphs.morph_count);
    for (uint32_t m = 0; m < a->morphs.morph_count; m++)
        assert_memory_equal(a->morphs.morphs[m].positions, b->morphs.morphs[m].positions,
                            12 * (size_t)a->morphs.morphs[m].vertex_count);
    for (uint32_t d = 0; d < a->driver_count; d++)
        assert_memory_equal(a->drivers[d].coefficients, b->drivers[d].coefficients,
                            sizeof(float) * a->drivers[d].morph_count * (a->drivers[d].centre_count + 1));
    for (int n = 0; n < 2; n++) {
        pelt_model_destroy(arms[n].model);
        test_end(&tests[n]);
    }
}

/* After every failure the model is unchanged. */
static pelt_result learn_small(pelt_context *context, void *user) {
    (void)user;
    const scene_desc size = {.vertex_count = 60, .frame_count = 3, .seed = 1};
    arm a = {0};
    pelt_result result = arm_make(context, &size, &a);
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.modes = 2;
    desc.normals = true;
    pelt_eigenskin_report report;
    const pelt_motion *motions = a.model ? a.model->motions : NULL;
    if (result == PELT_OK) {
        result = pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, &report);
        if (result != PELT_OK)
            assert_true(a.model->morphs.morph_count == 0 && a.model->driver_count == 0 && a.model->motions == motions);
    }
    pelt_model_destroy(a.model);
    return result;
}

static void memory_may_run_out(void **state) {
    (void)state;
    test_fail_some_allocations(1, 150, learn_small, NULL);
}

static void bad_input_is_reported(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    arm a = arm_open(&test);
    pelt_model *model = a.model;
    uint32_t count = a.poses.seen_count;
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    test_fails(&test, pelt_eigenskin(context, model, a.examples, 0, &desc, NULL), PELT_ERROR_USAGE, "no examples");
    desc.modes = 12;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_USAGE, "12 modes");
    desc = pelt_eigenskin_desc_default();
    desc.centres = 1;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_USAGE, "centres is 1");
    desc = pelt_eigenskin_desc_default();
    desc.exact = true;
    pelt_pose_example kept = a.examples[4];
    a.examples[4] = a.examples[1];
    a.examples[4].name = "the twin";
    char words[256];
    snprintf(words, sizeof words, "examples '%s' and 'the twin' have the same pose", a.examples[1].name);
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT, words);
    a.examples[4].locals = model->skeleton.rest;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT,
               "'the twin' has the rest pose but not its shape");
    a.examples[4] = kept;
    desc.exact = false;
    for (uint32_t p = 0; p < count; p++)
        a.examples[p].locals = model->skeleton.rest;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT,
               "no joint turns against another");
    for (uint32_t p = 0; p < count; p++)
        a.examples[p].locals = a.poses.seen[p].locals;
    ((float *)(uintptr_t)a.examples[2].positions)[10] = NAN;
    snprintf(words, sizeof words, "example '%s', vertex 3", a.examples[2].name);
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT, words);
    desc.normals = true;
    model->mesh.normals = NULL;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT, "no normals");
    model->skin.bone_count = 0;
    test_fails(&test, pelt_eigenskin(context, model, a.examples, count, &desc, NULL), PELT_ERROR_INPUT, "no skin");
    assert_true(model->morphs.morph_count == 0 && model->changed == 0);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Noise ------------------------------------------------------------------------------------------------ */

/* Rotates every joint of every example by so many degrees about random axes. With `true_shapes` the examples have the
 * shape of the rotated pose: bends are off by up to so much in x, z and twist. Otherwise the shape is unchanged. */
static void add_noise(arm *a, double degrees, bool true_shapes, uint64_t seed) {
    scene_random random = {seed};
    for (uint32_t p = 0; p < a->poses.seen_count; p++) {
        pelt_transform *locals = (pelt_transform *)(uintptr_t)a->examples[p].locals;
        arm_bend bends[ARM_BENDS];
        for (uint32_t j = 0; j <= ARM_BENDS; j++) {
            float *r = locals[j].rotation;
            quat q = {r[0], r[1], r[2], r[3]};
            double noise[3];
            for (int c = 0; c < 3; c++)
                noise[c] = scene_random_range(&random, -degrees, degrees) * 3.141592653589793 / 180;
            vec axis = {noise[0], noise[1], noise[2]};
            double angle = sqrt(noise[0] * noise[0] + noise[1] * noise[1] + noise[2] * noise[2]);
            if (true_shapes && j > 0) {
                double twist = 2 * atan2(q.y, q.w), half = sqrt(q.x * q.x + q.z * q.z);
                double swing = half > 0 ? 2 * atan2(half, sqrt(q.y * q.y + q.w * q.w)) / half : 0;
                assert_true(half == 0 || q.y == 0); /* examples either twist or swing */
                bends[j - 1] = (arm_bend){swing * q.x + noise[0], swing * q.z + noise[1], twist + noise[2]};
                q = arm_turn(&bends[j - 1]);
            } else if (!true_shapes && angle > 0)
                q = quat_mul(q, quat_turn(vec_unit(axis), angle));
            r[0] = (float)q.x, r[1] = (float)q.y, r[2] = (float)q.z, r[3] = (float)q.w;
        }
        if (!true_shapes)
            continue;
        arm_pose pose = arm_pose_make(bends);
        float *positions = (float *)(uintptr_t)a->examples[p].positions;
        for (size_t i = 0; i < a->model->mesh.vertex_count; i++)
            vec_store(positions + 3 * i, arm_place(&pose, vec_load(a->model->mesh.positions + 3 * i)));
    }
}

/* Joints that are never exactly at rest are harmless: in other poses the error stays that without noise. */
static void noise_does_no_harm(void **state) {
    (void)state;
    static const double levels[] = {0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};
    for (size_t n = 0; n < sizeof levels / sizeof levels[0]; n++)
        for (int true_shapes = 0; true_shapes < 2; true_shapes++) {
            test_context test;
            pelt_context *context = test_begin(&test, 2);
            arm a = arm_open(&test);
            float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
            add_noise(&a, levels[n], true_shapes, 1 + n);
            test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, NULL, NULL));
            double error = relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen);
            assert_true(error <= (true_shapes || levels[n] < 1 ? 0.13 : 0.15)); /* 0.112 without */
            pelt_model_destroy(a.model);
            test_end(&test);
        }
}

/* Thin-plate kernels have negative eigenvalues, whose absolute values are used: clamping them to 0 gives 0.1185. */
static void thin_plates_have_negative_eigenvalues(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.kernel = PELT_KERNEL_THIN_PLATE;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, NULL));
    double error = relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen);
    assert_true(error < 0.115); /* 0.1120 */
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* Examples whose shapes are unrelated to their poses are ignored: the rig is unchanged, and the report says so. */
static void nonsense_teaches_nothing(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
    scene_random random = {7};
    for (uint32_t p = 0; p < a.poses.seen_count; p++) {
        float *positions = (float *)(uintptr_t)a.examples[p].positions;
        float *skinned = driven(&test, a.model, a.examples[p].locals);
        for (size_t c = 0; c < 3 * (size_t)a.model->mesh.vertex_count; c++)
            positions[c] = skinned[c] + (float)scene_random_range(&random, -0.1, 0.1);
    }
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, NULL, &r));
    assert_true(r.left_out_error == 1);
    double kept = 0;
    for (uint32_t j = 0; j < r.joint_count; j++)
        kept = fmax(kept, r.joints[j].gain);
    double error = relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen);
    assert_true(kept == 0 && r.morph_count == 0 && fabs(error - 1) < 1e-6);
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* A joint with too few examples for leave-one-out validation uses them: one sculpt, or two to either side. */
static void few_examples_are_trusted(void **state) {
    (void)state;
    for (uint32_t count = 1; count <= 2; count++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        float **seen = plain_skins(&test, a.model, a.poses.seen + 12, 1);
        pelt_pose_example two[2] = {a.examples[12], a.examples[15]}; /* of the wrist: −50 and 50 degrees */
        test_ok(&test, pelt_eigenskin(context, a.model, two, count, NULL, NULL));
        assert_true(relative_error(&test, a.model, a.poses.seen + 12, 1, seen) < 0.1);
        pelt_model_destroy(a.model);
        test_end(&test);
    }
}

/* The same pose twice becomes one with the mean shape; the rest pose in another shape is ignored. */
static void equal_poses_are_merged(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    float **seen = plain_skins(&test, a.model, a.poses.seen, a.poses.seen_count);
    pelt_pose_example examples[64];
    assert_true(a.poses.seen_count < 63);
    memcpy(examples, a.examples, a.poses.seen_count * sizeof *examples);
    examples[a.poses.seen_count] = a.examples[0];
    examples[a.poses.seen_count + 1] =
        (pelt_pose_example){"rest", a.model->skeleton.rest, a.examples[0].positions, NULL};
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, examples, a.poses.seen_count + 2, NULL, &r));
    assert_true(r.example_count == a.poses.seen_count + 2 && r.pose_count == a.poses.seen_count);
    assert_true(r.rest_count == 1 && r.odd_count == 1);
    assert_true(relative_error(&test, a.model, a.poses.seen, a.poses.seen_count, seen) < 0.06);
    test_ok(&test, pelt_model_validate(context, a.model));
    pelt_model_destroy(a.model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_modes_are_enough),
        cmocka_unit_test(exact_at_the_examples),
        cmocka_unit_test(any_poses_will_do),
        cmocka_unit_test(joints_drive_as_pairs),
        cmocka_unit_test(few_centres_are_least_squares),
        cmocka_unit_test(as_few_modes_as_reach_the_error),
        cmocka_unit_test(supports_do_not_leak),
        cmocka_unit_test(supports_stay_near),
        cmocka_unit_test(displacements_of_a_vertex_are_bounded),
        cmocka_unit_test(the_whole_may_move),
        cmocka_unit_test(joined_by_distance),
        cmocka_unit_test(siblings_drive_as_children_do),
        cmocka_unit_test(units_of_meshes_may_differ),
        cmocka_unit_test(motions_play_what_is_driven),
        cmocka_unit_test(others_stay_and_count),
        cmocka_unit_test(normals_come_nearer),
        cmocka_unit_test(same_for_any_number_of_threads),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(bad_input_is_reported),
        cmocka_unit_test(noise_does_no_harm),
        cmocka_unit_test(thin_plates_have_negative_eigenvalues),
        cmocka_unit_test(nonsense_teaches_nothing),
        cmocka_unit_test(few_examples_are_trusted),
        cmocka_unit_test(equal_poses_are_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
