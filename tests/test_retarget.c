/* Retargeting: meaning of joint names, and joint positions on skeletons small enough to compute by hand. */
#include "support.h"

#include "core/math3.h"
#include "retarget/names.h"

/* ---- Names ------------------------------------------------------------------------------------------------ */

/* A model with these joints, "name" or "name<parent", all at their parent's position. Names must outlive the model. */
static pelt_model *make_joints(pelt_context *context, const char *const *names, uint32_t count) {
    pelt_model *model;
    if (pelt_model_create(context, &model) != PELT_OK)
        return NULL;
    pelt_skeleton *skeleton = &model->skeleton;
    skeleton->names = pelt_model_alloc(context, model, count, sizeof *skeleton->names);
    skeleton->parents = pelt_model_alloc(context, model, count, sizeof *skeleton->parents);
    skeleton->rest = pelt_model_alloc(context, model, count, sizeof *skeleton->rest);
    if (!skeleton->names || !skeleton->parents || !skeleton->rest) {
        pelt_model_destroy(model);
        return NULL;
    }
    for (uint32_t j = 0; j < count; j++) {
        skeleton->names[j] = names[j];
        skeleton->parents[j] = j ? j - 1 : PELT_NONE;
        skeleton->rest[j] = px_transform_identity();
    }
    skeleton->joint_count = count;
    return model;
}

static void words_of_many_programs(void **state) {
    (void)state;
    static const struct {
        const char *name;
        px_body_part body;
        px_body_side side;
    } rows[] = {
        {"mixamorig:Hips", PX_BODY_HIPS, PX_BODY_MIDDLE},
        {"mixamorig:LeftUpLeg", PX_BODY_THIGH, PX_BODY_LEFT},
        {"Bip01 R Thigh", PX_BODY_THIGH, PX_BODY_RIGHT},
        {"Bip001_L_Calf", PX_BODY_SHIN, PX_BODY_LEFT},
        {"thigh_r", PX_BODY_THIGH, PX_BODY_RIGHT},
        {"thigh.R", PX_BODY_THIGH, PX_BODY_RIGHT},
        {"DEF-upper_arm.L", PX_BODY_UPPER_ARM, PX_BODY_LEFT},
        {"lfemur", PX_BODY_THIGH, PX_BODY_LEFT},
        {"rradius", PX_BODY_FOREARM, PX_BODY_RIGHT},
        {"RightForeArm", PX_BODY_FOREARM, PX_BODY_RIGHT},
        {"rForeArm", PX_BODY_FOREARM, PX_BODY_RIGHT},
        {"leftarm", PX_BODY_UPPER_ARM, PX_BODY_LEFT},
        {"J_Bip_L_UpperArm", PX_BODY_UPPER_ARM, PX_BODY_LEFT},
        {"CC_Base_R_Hand", PX_BODY_HAND, PX_BODY_RIGHT},
        {"ValveBiped.Bip01_L_Foot", PX_BODY_FOOT, PX_BODY_LEFT},
        {"spine_03", PX_BODY_SPINE, PX_BODY_MIDDLE},
        {"upperback", PX_BODY_SPINE, PX_BODY_MIDDLE},
        {"ball_l", PX_BODY_TOE, PX_BODY_LEFT},
        {"LeftToeBase", PX_BODY_TOE, PX_BODY_LEFT},
        {"Head", PX_BODY_HEAD, PX_BODY_MIDDLE},
        {"LHipJoint", PX_BODY_NONE, PX_BODY_LEFT},
        {"lhipjoint", PX_BODY_NONE, PX_BODY_LEFT},
        {"LeftShoulder", PX_BODY_CLAVICLE, PX_BODY_LEFT}, /* there is an upper arm */
        {"LeftLeg", PX_BODY_SHIN, PX_BODY_LEFT},          /* there is a thigh */
        {"root", PX_BODY_NONE, PX_BODY_MIDDLE},           /* there are hips */
        {"upperarm_twist_01_l", PX_BODY_NONE, PX_BODY_LEFT},
        {"LeftHand_end", PX_BODY_NONE, PX_BODY_LEFT},
        {"Bip01", PX_BODY_NONE, PX_BODY_MIDDLE},
        {"", PX_BODY_NONE, PX_BODY_MIDDLE},
        {"a:", PX_BODY_NONE, PX_BODY_MIDDLE},
    };
    enum { COUNT = sizeof rows / sizeof rows[0] };
    test_context test;
    test_begin(&test, 1);
    const char *texts[COUNT];
    px_joint_name names[COUNT];
    for (int r = 0; r < COUNT; r++)
        texts[r] = rows[r].name;
    pelt_model *model = make_joints(test.context, texts, COUNT);
    px_read_joint_names(&model->skeleton, names);
    for (int r = 0; r < COUNT; r++)
        if (names[r].body != rows[r].body || names[r].side != rows[r].side)
            fail_msg("'%s' is read as part %d, side %d", rows[r].name, names[r].body, names[r].side);
    pelt_model_destroy(model);
    /* The same names in isolation have another meaning. */
    static const char *const alone[] = {"root", "LeftHip", "LeftKnee", "LeftShoulder", "LeftElbow"};
    static const px_body_part parts[] = {PX_BODY_HIPS, PX_BODY_THIGH, PX_BODY_SHIN, PX_BODY_UPPER_ARM, PX_BODY_FOREARM};
    model = make_joints(test.context, alone, 5);
    px_read_joint_names(&model->skeleton, names);
    for (int r = 0; r < 5; r++)
        assert_int_equal(names[r].body, parts[r]);
    pelt_model_destroy(model);
    test_end(&test);
}

static void check_match(const pelt_joint_match *match, uint32_t joint, pelt_match_kind kind) {
    assert_int_equal(match->joint, joint);
    assert_int_equal(match->kind, kind);
}

static void joints_find_partners(void **state) {
    (void)state;
    static const char *const rig[] = {"Root",    "pelvis", "spine_01", "spine_02", "spine_03", "neck_01", "tail_1",
                                      "thigh_l", "calf_l", "thigh_r",  "prop",     "Tail 2",   "ear",     "ear"};
    static const char *const motion[] = {"root",   "lowerback", "thorax", "lowerneck", "upperneck", "Tail1", "lfemur",
                                         "ltibia", "rfemur",    "weapon", "TAIL_02",   "ear",       "ear"};
    test_context test;
    test_begin(&test, 1);
    pelt_model *a = make_joints(test.context, rig, 14), *b = make_joints(test.context, motion, 13);
    pelt_joint_match matches[14];
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    desc.map = "# weapons\n\n  prop = weapon # here\r\nthigh_r =\n";
    test_ok(&test, pelt_match_joints(test.context, &a->skeleton, &b->skeleton, &desc, matches));
    check_match(&matches[0], PELT_NONE, PELT_MATCH_NONE); /* not matched to "root": that is the motion's pelvis */
    check_match(&matches[1], 0, PELT_MATCH_BODY);
    check_match(&matches[2], 1, PELT_MATCH_BODY); /* three spines mapped to two */
    check_match(&matches[3], 2, PELT_MATCH_BODY);
    check_match(&matches[4], 2, PELT_MATCH_BODY);
    check_match(&matches[5], 4, PELT_MATCH_BODY); /* one neck mapped to the upper of two */
    check_match(&matches[6], 5, PELT_MATCH_ALIKE);
    check_match(&matches[7], 6, PELT_MATCH_BODY);
    check_match(&matches[8], 7, PELT_MATCH_BODY);
    check_match(&matches[9], PELT_NONE, PELT_MATCH_MAP);
    check_match(&matches[10], 9, PELT_MATCH_MAP);
    check_match(&matches[11], 10, PELT_MATCH_ALIKE);
    check_match(&matches[12], 11, PELT_MATCH_NAME); /* each matches its own name */
    check_match(&matches[13], 12, PELT_MATCH_NAME);
    static const struct {
        const char *map, *words;
    } bad[] = {{"prop", "line 1 of the mapping: 'rig joint = motion joint'"},
               {"\nnobody = weapon", "line 2 of the mapping: the rig has no joint 'nobody'"},
               {"prop = nobody", "the motion has no joint 'nobody'"}};
    for (int r = 0; r < 3; r++) {
        desc.map = bad[r].map;
        test_fails(&test, pelt_match_joints(test.context, &a->skeleton, &b->skeleton, &desc, matches), PELT_ERROR_INPUT,
                   bad[r].words);
    }
    pelt_model_destroy(a);
    pelt_model_destroy(b);
    test_end(&test);
}

/* Meshes often have the names of the joints that move them: they are not part of the chain. */
static void meshes_named_like_joints(void **state) {
    (void)state;
    static const char *const rig[] = {"pelvis", "spine_01", "spine_02", "head"};
    static const char *const motion[] = {"Torso", "Head", "Hips", "Abdomen", "Torso", "Head", "hat"};
    static const uint32_t parents[] = {PELT_NONE, PELT_NONE, PELT_NONE, 2, 3, 4, 5};
    test_context test;
    test_begin(&test, 1);
    pelt_model *a = make_joints(test.context, rig, 4), *b = make_joints(test.context, motion, 7);
    memcpy(b->skeleton.parents, parents, sizeof parents);
    pelt_joint_match matches[4];
    test_ok(&test, pelt_match_joints(test.context, &a->skeleton, &b->skeleton, NULL, matches));
    for (uint32_t j = 0; j < 4; j++)
        assert_int_equal(matches[j].joint, 2 + j);
    pelt_model_destroy(a);
    pelt_model_destroy(b);
    test_end(&test);
}

/* Without a joint named hips, the lowest common ancestor of the legs and the upper body is the hips. */
static void hips_by_structure(void **state) {
    (void)state;
    enum { COUNT = 5 };
    static const struct {
        const char *names[COUNT];
        uint32_t hips; /* PELT_NONE: no hips */
    } rows[] = {
        {{"Armature", "Body", "Head", "Leg_L", "Leg_R"}, 1}, {{"Root", "Body", "Head", "Leg_L", "Leg_R"}, 1},
        {{"Root", "Ghost", "Head", "Arm_L", "Arm_R"}, 1},    {{"Root", "Torso", "Head", "Leg_L", "Leg_R"}, 1},
        {{"Root", "Chest", "Head", "Arm_L", "Arm_R"}, 0}, /* a spine without legs */
        {{"Hips", "Body", "Head", "Leg_L", "Leg_R"}, 0},     {{"Armature", "Body", "Head", "tail", "ear"}, PELT_NONE},
    };
    static const uint32_t parents[COUNT] = {PELT_NONE, 0, 1, 1, 1};
    test_context test;
    test_begin(&test, 1);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        px_joint_name names[COUNT];
        pelt_model *model = make_joints(test.context, rows[r].names, COUNT);
        memcpy(model->skeleton.parents, parents, sizeof parents);
        px_read_joint_names(&model->skeleton, names);
        for (uint32_t j = 0; j < COUNT; j++)
            if ((names[j].body == PX_BODY_HIPS) != (j == rows[r].hips))
                fail_msg("skeleton %zu: '%s' is read as part %d", r, rows[r].names[j], names[j].body);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* ---- Motions ---------------------------------------------------------------------------------------------- */

static pelt_model *read_bvh(pelt_context *context, const char *text) {
    pelt_model *model;
    pelt_result result = pelt_load_memory(context, text, strlen(text), "walk.bvh", NULL, &model);
    return result == PELT_OK ? model : NULL;
}

static pelt_result put_on(pelt_context *context, const pelt_model *source, pelt_model *rig,
                          const pelt_retarget_desc *desc, pelt_retarget_report *report) {
    pelt_joint_match matches[32];
    pelt_result result = pelt_match_joints(context, &rig->skeleton, &source->skeleton, desc, matches);
    return result == PELT_OK ? pelt_retarget(context, source, &source->motions[0], matches, desc, rig, report) : result;
}

static void check_place(const pelt_model *model, const char *name, uint32_t key, float x, float y, float z) {
    pelt_transform locals[32];
    pelt_affine globals[32];
    const pelt_motion *motion = &model->motions[model->motion_count - 1];
    pelt_motion_sample(model, motion, motion->tracks[0].times[key], locals, NULL);
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    uint32_t j = 0;
    while (j < model->skeleton.joint_count && strcmp(model->skeleton.names[j], name) != 0)
        j++;
    assert_true(j < model->skeleton.joint_count);
    const float *m = globals[j].m;
    if (fabsf(m[3] - x) + fabsf(m[7] - y) + fabsf(m[11] - z) > 1e-4f)
        fail_msg("%s in frame %u is at %g %g %g, should be at %g %g %g", name, key, (double)m[3], (double)m[7],
                 (double)m[11], (double)x, (double)y, (double)z);
}

/* Y up, facing z: a spine, a head, two legs, one arm that points to the left. In the last frame the body turns by 90
 * degrees about y (so that it faces x), the forearm bends by 90 degrees forwards. */
#define LEG(side, x)                                                                                                   \
    "JOINT " side "UpLeg\n{ OFFSET " x " 0 0 JOINT " side "Leg\n{ OFFSET 0 -2 0 JOINT " side                           \
    "Foot\n{ OFFSET 0 -2 0 } } }\n"
static const char walker[] =
    "HIERARCHY ROOT Hips\n{ OFFSET 0 0 0 CHANNELS 6 Xposition Yposition Zposition Zrotation "
    "Yrotation Xrotation\n"
    "JOINT Spine\n{ OFFSET 0 1 0\n"
    "JOINT Head\n{ OFFSET 0 2 0 }\n"
    "JOINT LeftArm\n{ OFFSET 1 1 0 JOINT LeftForeArm\n{ OFFSET 2 0 0 CHANNELS 1 Yrotation JOINT "
    "LeftHand\n{ OFFSET 2 0 0 } } } }\n" LEG("Left", "1") LEG("Right", "-1") "}\n"
                                                                             "MOTION Frames: 2 Frame Time: 0.25\n"
                                                                             "0 4 0 0 0 0  0\n"
                                                                             "0 5 3 0 90 0 -90\n";

static void onto_itself(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *source = read_bvh(test.context, walker), *rig = read_bvh(test.context, walker);
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    pelt_retarget_report report;
    desc.ground = PELT_GROUND_KEEP;
    test_ok(&test, put_on(test.context, source, rig, &desc, &report));
    assert_int_equal(report.matched, 12);
    assert_int_equal(report.frame_count, 2);
    assert_true(fabs(report.scale - 1) < 1e-6 && fabs(report.fps - 4) < 1e-6 && report.lift == 0);
    assert_int_equal(rig->motion_count, 2);
    assert_true(rig->changed & PELT_CHANGED_MOTIONS);
    test_ok(&test, pelt_model_validate(test.context, rig));
    /* The hand: spine (0, 1), arm (1, 1), forearm 2 along x, then 2 towards z; turned about y: x to −z, z to x. */
    check_place(rig, "LeftHand", 1, 2, 7, 0);
    check_place(rig, "LeftFoot", 1, 0, 1, 2);
    desc.ground = PELT_GROUND_FEET;
    desc.replace = true;
    desc.name = "new";
    test_ok(&test, put_on(test.context, source, rig, &desc, &report));
    assert_int_equal(rig->motion_count, 1);
    assert_string_equal(rig->motions[0].name, "new");
    assert_true(fabs(report.lift + 4) < 1e-5); /* feet are at −4 at rest, and at 0 in the first frame */
    check_place(rig, "LeftFoot", 0, 1, -4, 0);
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* The node of a skinned mesh may have the name of a joint; moving it would move the mesh twice in some programs. */
static void skinned_meshes_stay(void **state) {
    (void)state;
    enum { HEAD = 2 };
    test_context test;
    test_begin(&test, 1);
    pelt_model *source = read_bvh(test.context, walker), *rig = read_bvh(test.context, walker);
    assert_string_equal(rig->skeleton.names[HEAD], "Head");
    pelt_part part = {.name = "", .joint = HEAD, .skinned = true};
    rig->mesh.parts = &part;
    rig->mesh.part_count = 1;
    pelt_retarget_report report;
    test_ok(&test, put_on(test.context, source, rig, NULL, &report));
    assert_int_equal(report.matched, 11);
    const pelt_motion *motion = &rig->motions[1];
    for (uint32_t t = 0; t < motion->track_count; t++)
        assert_int_not_equal(motion->tracks[t].joint, HEAD);
    part.skinned = false; /* an unskinned mesh follows the node: it moves */
    test_ok(&test, put_on(test.context, source, rig, NULL, &report));
    assert_int_equal(report.matched, 12);
    rig->mesh.parts = NULL;
    rig->mesh.part_count = 0;
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* The same body at twice the size, z up, facing −y, with rest rotations, and an arm that hangs down. */
static pelt_model *make_other(pelt_context *context) {
    static const char *const names[] = {"pelvis", "spine_01", "head",   "upperarm_l", "lowerarm_l",
                                        "hand_l", "thigh_l",  "calf_l", "foot_l",     "thigh_r",
                                        "calf_r", "foot_r",   "tail"};
    static const uint32_t parents[] = {PELT_NONE, 0, 1, 1, 3, 4, 0, 6, 7, 0, 9, 10, 0};
    static const float places[][3] = {{0, 0, 8}, {0, 0, 10}, {0, 0, 14}, {2, 0, 12}, {2, 0, 8},  {2, 0, 4}, {2, 0, 8},
                                      {2, 0, 4}, {2, 0, 0},  {-2, 0, 8}, {-2, 0, 4}, {-2, 0, 0}, {0, 3, 8}};
    pelt_model *model = make_joints(context, names, 13);
    if (!model)
        return NULL;
    pelt_affine globals[13];
    for (uint32_t j = 0; j < 13; j++) {
        pelt_transform global = px_transform_identity();
        global.rotation[j % 3] = global.rotation[3] = sqrtf(0.5f);
        memcpy(global.translation, places[j], sizeof places[j]);
        globals[j] = px_affine_from_transform(&global);
        pelt_affine inverse = px_affine_identity();
        model->skeleton.parents[j] = parents[j];
        if (parents[j] != PELT_NONE)
            px_affine_inverse(&globals[parents[j]], &inverse);
        inverse = px_affine_mul(&inverse, &globals[j]);
        px_transform_from_affine(&inverse, &model->skeleton.rest[j]);
    }
    return model;
}

static void onto_another_body(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *source = read_bvh(test.context, walker), *rig = make_other(test.context);
    test_ok(&test, pelt_model_validate(test.context, rig));
    pelt_retarget_report report;
    test_ok(&test, put_on(test.context, source, rig, NULL, &report));
    test_ok(&test, pelt_model_validate(test.context, rig));
    assert_int_equal(report.matched, 12);
    assert_true(fabs(report.scale - 2) < 1e-5);
    assert_true(fabs(report.lift) < 1e-4);
    /* (x, y, z) of the motion is (x, −z, y) here, twice as large; the arm reaches out as the motion's does. */
    check_place(rig, "foot_l", 0, 2, 0, 0);
    check_place(rig, "hand_l", 0, 10, 0, 12);
    check_place(rig, "tail", 0, 0, 3, 8);
    check_place(rig, "pelvis", 1, 0, -6, 10);
    check_place(rig, "foot_l", 1, 0, -4, 2); /* its leg is 2 to the left, which now is −z there, y here */
    check_place(rig, "hand_l", 1, 4, 0, 14); /* upper arm 4 to y, forearm 4 to x */
    check_place(rig, "tail", 1, -3, -6, 10);
    /* Without alignment the arm hangs in the first frame. */
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    desc.align = PELT_ALIGN_NONE;
    desc.scale = 1;
    desc.fps = 8;
    test_ok(&test, put_on(test.context, source, rig, &desc, &report));
    assert_int_equal(report.frame_count, 3);
    check_place(rig, "hand_l", 0, 2, 0, 4);
    check_place(rig, "pelvis", 2, 0, -3, 9);
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* Legs that are not children of the hips stay with them; joints above the hips get translations of their own. */
static void what_travels(void **state) {
    (void)state;
    static const char rig_text[] =
        "HIERARCHY ROOT LeftUpLeg\n{ OFFSET 1 4 0 JOINT LeftLeg\n{ OFFSET 0 -2 0 } }\n"
        "ROOT world\n{ OFFSET 0 0 0 JOINT Hips\n{ OFFSET 0 4 0 JOINT Spine\n{ OFFSET 0 1 0 } } }";
    test_context test;
    test_begin(&test, 1);
    pelt_model *source = read_bvh(test.context, walker), *rig = read_bvh(test.context, rig_text);
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    desc.ground = PELT_GROUND_KEEP;
    desc.map = "world = RightFoot";
    test_ok(&test, put_on(test.context, source, rig, &desc, NULL));
    check_place(rig, "Hips", 1, 0, 5, 3);
    check_place(rig, "LeftUpLeg", 1, 0, 5, 2); /* the hips turn its (1, 0, 0) to −z */
    check_place(rig, "LeftLeg", 1, 0, 3, 2);
    check_place(rig, "world", 1, 0, 1, 4); /* the right foot: (−1, −4, 0), turned and at the hips' place */
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* One vertex with all its weight at each of these joints, and triangles of three consecutive ones. False: out of
 * memory. */
static bool put_skin(pelt_context *context, pelt_model *rig, const char *const *names, uint32_t count) {
    pelt_affine globals[32];
    pelt_skin *skin = &rig->skin;
    pelt_mesh *mesh = &rig->mesh;
    pelt_skeleton_globals(&rig->skeleton, rig->skeleton.rest, globals);
    *skin = (pelt_skin){.bone_count = count,
                        .influence_count = 1,
                        .bone_joints = pelt_model_alloc(context, rig, count, sizeof *skin->bone_joints),
                        .inverse_binds = pelt_model_alloc(context, rig, count, sizeof *skin->inverse_binds),
                        .bones = pelt_model_alloc(context, rig, count, sizeof *skin->bones),
                        .weights = pelt_model_alloc(context, rig, count, sizeof *skin->weights)};
    mesh->vertex_count = mesh->points.count = count;
    mesh->triangle_count = mesh->polygon_count = count < 3 ? 0 : count - 2;
    mesh->positions = pelt_model_alloc(context, rig, count, 3 * sizeof *mesh->positions);
    mesh->triangles = pelt_model_alloc(context, rig, count, 3 * sizeof *mesh->triangles);
    if (!skin->bone_joints || !skin->inverse_binds || !skin->bones || !skin->weights || !mesh->positions ||
        !mesh->triangles)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = 0;
        while (j < rig->skeleton.joint_count && strcmp(rig->skeleton.names[j], names[i]) != 0)
            j++;
        assert_true(j < rig->skeleton.joint_count);
        skin->bone_joints[i] = j;
        skin->bones[i] = (uint16_t)i;
        skin->weights[i] = 1;
        assert_true(px_affine_inverse(&globals[j], &skin->inverse_binds[i]));
        for (int c = 0; c < 3; c++) {
            mesh->positions[3 * i + c] = globals[j].m[4 * c + 3];
            mesh->triangles[3 * i + c] = i + c;
        }
    }
    return true;
}

/* Legs and spine are children of a joint without a meaningful name: it is the hips, and nothing stays behind. */
static void unnamed_hips(void **state) {
    (void)state;
    static const char rig_text[] =
        "HIERARCHY ROOT world\n{ OFFSET 0 0 0 JOINT Torso\n{ OFFSET 0 9 0 } JOINT Lump\n{ OFFSET 0 4 0 "
        "JOINT Lower\n{ OFFSET 0 0 0 " LEG("Left", "1") LEG("Right", "-1") "} JOINT Upper\n{ OFFSET 0 0 0 JOINT "
                                                                           "Spine\n{ OFFSET 0 1 0 JOINT Head\n"
                                                                           "{ OFFSET 0 2 0 } } } } }";
    test_context test;
    test_begin(&test, 1);
    pelt_model *source = read_bvh(test.context, walker), *rig = read_bvh(test.context, rig_text);
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    desc.ground = PELT_GROUND_KEEP;
    test_ok(&test, put_on(test.context, source, rig, &desc, NULL));
    check_place(rig, "Lump", 1, 0, 5, 3);
    check_place(rig, "Upper", 1, 0, 5, 3);
    check_place(rig, "Head", 1, 0, 8, 3);
    check_place(rig, "LeftFoot", 1, 0, 1, 2);
    check_place(rig, "Torso", 1, 0, 9, 0); /* not part of the body */
    /* Unmatched but with weights, it follows its first matched child: the left thigh at (0, 5, 2). */
    desc.map = "Lump =";
    assert_true(put_skin(test.context, rig, (const char *[]){"Lump"}, 1));
    test_ok(&test, put_on(test.context, source, rig, &desc, NULL));
    check_place(rig, "LeftUpLeg", 1, 0, 5, 2);
    check_place(rig, "Lump", 1, 0, 5, 3);
    check_place(rig, "Upper", 1, 0, 5, 3);
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* The arm of `walker`, and an unmatched joint below the spine. */
#define ARM_AND(name, place)                                                                                           \
    "HIERARCHY ROOT Hips\n{ OFFSET 0 0 0 JOINT Spine\n{ OFFSET 0 1 0 JOINT " name "\n{ OFFSET " place                  \
    " JOINT Tip\n{ OFFSET 0 0 1 } } JOINT LeftArm\n{ OFFSET 1 1 0 JOINT LeftForeArm\n{ OFFSET 2 0 0 JOINT "            \
    "LeftHand\n{ OFFSET 2 0 0 } } } } }"

/* Inverse-kinematics goals are children of the body, lie at a hand, and carry its weights. */
static void goals_follow_limbs(void **state) {
    (void)state;
    static const char goal_text[] = ARM_AND("Goal", "5 1 0");
    test_context test;
    test_begin(&test, 1);
    pelt_model *source = read_bvh(test.context, walker), *rig = read_bvh(test.context, goal_text);
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    desc.ground = PELT_GROUND_KEEP;
    test_ok(&test, put_on(test.context, source, rig, &desc, NULL));
    check_place(rig, "Goal", 1, 0, 7, -2); /* it moves no vertex: it stays with the spine */
    assert_true(put_skin(test.context, rig, (const char *[]){"LeftForeArm", "LeftHand", "Tip"}, 3));
    pelt_retarget_report report;
    test_ok(&test, put_on(test.context, source, rig, &desc, &report));
    check_place(rig, "LeftHand", 1, 2, 7, 0);
    check_place(rig, "Goal", 1, 2, 7, 0);
    check_place(rig, "Tip", 1, 2, 7, 1); /* the hand turns by 90 and −90 degrees */
    assert_true(report.stretch < 1e-6 && !report.torn && test.warning_count == 0);
    pelt_model_destroy(rig);
    pelt_model_destroy(source);
    /* A matched foot that is not a child of its leg stays at the end of the leg. */
    static const char kick[] = "HIERARCHY ROOT Hips\n{ OFFSET 0 0 0 CHANNELS 3 Xposition Yposition Zposition JOINT "
                               "LeftUpLeg\n{ OFFSET 1 0 0 CHANNELS 1 Xrotation JOINT LeftLeg\n{ OFFSET 0 -2 0 JOINT "
                               "LeftFoot\n{ OFFSET 0 -2 0 } } } }\nMOTION Frames: 2 Frame Time: 0.25\n"
                               "0 4 0 0\n0 4 0 -90\n";
    static const char foot_text[] =
        "HIERARCHY ROOT world\n{ OFFSET 0 0 0 JOINT LeftFoot\n{ OFFSET 1 0 0 } JOINT Hips\n{ OFFSET 0 4 0 JOINT "
        "LeftUpLeg\n{ OFFSET 1 0 0 JOINT LeftLeg\n{ OFFSET 0 -2 0 } } } }";
    source = read_bvh(test.context, kick);
    rig = read_bvh(test.context, foot_text);
    test_ok(&test, put_on(test.context, source, rig, &desc, NULL));
    check_place(rig, "LeftFoot", 0, 1, 0, 0);
    check_place(rig, "LeftFoot", 1, 1, 4, 4);
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* A leg without a knee points to the centre of its vertices: it is aligned with the motion's leg, which is spread by 45
 * degrees at rest and straight in the motion. */
static void limbs_of_one_bone(void **state) {
    (void)state;
    static const char spread[] = "HIERARCHY ROOT Hips\n{ OFFSET 0 0 0 CHANNELS 3 Xposition Yposition Zposition JOINT "
                                 "LeftUpLeg\n{ OFFSET 1 0 0 CHANNELS 1 Zrotation JOINT LeftLeg\n{ OFFSET 2 -2 0 JOINT "
                                 "LeftFoot\n{ OFFSET 2 -2 0 } } } }\nMOTION Frames: 2 Frame Time: 0.25\n"
                                 "0 4 0 -45\n1 4 0 -45\n";
    static const char block[] = "HIERARCHY ROOT Hips\n{ OFFSET 0 4 0 JOINT LeftLeg\n{ OFFSET 1 0 0 JOINT Tip\n"
                                "{ OFFSET 0 -3 0 } } }";
    test_context test;
    test_begin(&test, 1);
    pelt_model *source = read_bvh(test.context, spread), *rig = read_bvh(test.context, block);
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    desc.ground = PELT_GROUND_KEEP;
    desc.scale = 1;
    assert_true(put_skin(test.context, rig, (const char *[]){"LeftLeg", "Tip"}, 2));
    rig->mesh.positions[1] -= 2; /* below the joint */
    test_ok(&test, put_on(test.context, source, rig, &desc, NULL));
    check_place(rig, "LeftLeg", 0, 1, 4, 0);
    check_place(rig, "Tip", 0, 1, 1, 0);
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* Joints of equal names and nearly equal offsets keep the motion's offset from the parent, scaled to the rig. */
static void equal_skeletons(void **state) {
    (void)state;
#define GOAL(name, spine, place, channels)                                                                             \
    "HIERARCHY ROOT Hips\n{ OFFSET 0 0 0 CHANNELS 3 Xposition Yposition Zposition JOINT Spine\n{ OFFSET " spine        \
    " JOINT " name "\n{ OFFSET " place " " channels " } } }\n"
    static const char moves[] = GOAL(
        "Goal", "0 1 0", "2 0 0",
        "CHANNELS 3 Xposition Yposition Zposition") "MOTION Frames: 2 Frame Time: 0.25\n0 4 0 2 0 0\n0 4 0 2 0 3\n";
    static const struct {
        const char *rig;
        float place[3]; /* in the last frame */
    } rows[] = {
        {GOAL("Goal", "0 2 0", "4 0 0", ""), {4, 10, 6}},  /* twice as large */
        {GOAL("goal", "0 2 0", "4 0 0", ""), {4, 10, 0}},  /* another name */
        {GOAL("Goal", "0 2 0", "-4 0 0", ""), {-4, 10, 0}} /* another offset */
    };
    test_context test;
    test_begin(&test, 1);
    pelt_model *source = read_bvh(test.context, moves);
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    desc.ground = PELT_GROUND_KEEP;
    desc.align = PELT_ALIGN_NONE;
    for (int r = 0; r < 3; r++) {
        pelt_model *rig = read_bvh(test.context, rows[r].rig);
        test_ok(&test, put_on(test.context, source, rig, &desc, NULL));
        check_place(rig, rig->skeleton.names[2], 1, rows[r].place[0], rows[r].place[1], rows[r].place[2]);
        pelt_model_destroy(rig);
    }
    pelt_model_destroy(source);
    test_end(&test);
}

/* A joint that carries weights of the hand, stays with the body, and is not at the position of a matched joint. */
static void torn_meshes_are_reported(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *source = read_bvh(test.context, walker), *rig = read_bvh(test.context, ARM_AND("Far", "5 2 0"));
    assert_true(put_skin(test.context, rig, (const char *[]){"Hips", "LeftHand", "Far"}, 3));
    pelt_retarget_report report;
    test_ok(&test, put_on(test.context, source, rig, NULL, &report));
    /* From (5, 2, 0) and (5, 3, 0) to (2, 2, −3) and (0, 3, −5): 1 to 3. */
    assert_true(fabs(report.stretch - 2 / sqrt(34)) < 1e-5);
    assert_true(report.torn && report.stretch_frame == 1);
    assert_int_equal(test.warning_count, 1);
    assert_non_null(strstr(test.log, "between 'LeftHand' and 'Far' it grows by 34 % of the rig's size in frame 1"));
    assert_non_null(strstr(test.log, "have no partner: 'Far'"));
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    test_end(&test);
}

static void what_is_refused(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *source = read_bvh(test.context, walker), *rig = make_other(test.context);
    pelt_joint_match matches[13] = {{0}};
    for (int j = 0; j < 13; j++)
        matches[j].joint = PELT_NONE;
    const pelt_motion *motion = &source->motions[0];
    test_fails(&test, pelt_retarget(test.context, source, motion, matches, NULL, rig, NULL), PELT_ERROR_INPUT,
               "pelt_retarget_desc.map");
    matches[3].joint = 99;
    test_fails(&test, pelt_retarget(test.context, source, motion, matches, NULL, rig, NULL), PELT_ERROR_USAGE,
               "partner 99 of 12");
    matches[3].joint = 3;
    pelt_retarget_desc desc = pelt_retarget_desc_default();
    desc.align = 7;
    test_fails(&test, pelt_retarget(test.context, source, motion, matches, &desc, rig, NULL), PELT_ERROR_USAGE,
               "pelt_retarget_desc.align is 7");
    desc = pelt_retarget_desc_default();
    desc.fps = 1e9;
    test_fails(&test, pelt_retarget(test.context, source, motion, matches, &desc, rig, NULL), PELT_ERROR_USAGE,
               "pelt_retarget_desc.fps is 1e+09");
    assert_int_equal(rig->motion_count, 0);
    atomic_store(&test.cancel_at, atomic_load(&test.asked) + 1);
    test_fails(&test, pelt_retarget(test.context, source, motion, matches, NULL, rig, NULL), PELT_ERROR_CANCELLED, "");
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    test_end(&test);
}

static pelt_result all_of_it(pelt_context *context, void *user) {
    (void)user;
    pelt_model *source = read_bvh(context, walker), *rig = make_other(context);
    bool made = source && rig && put_skin(context, rig, (const char *[]){"pelvis", "head", "tail"}, 3);
    pelt_result result = made ? put_on(context, source, rig, NULL, NULL) : PELT_ERROR_MEMORY;
    if (rig && result != PELT_OK)
        assert_int_equal(rig->motion_count, 0);
    pelt_model_destroy(source);
    pelt_model_destroy(rig);
    return result;
}

static void every_allocation_fails(void **state) {
    (void)state;
    test_fail_each_allocation(1, all_of_it, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_many_programs),
        cmocka_unit_test(joints_find_partners),
        cmocka_unit_test(meshes_named_like_joints),
        cmocka_unit_test(hips_by_structure),
        cmocka_unit_test(onto_itself),
        cmocka_unit_test(skinned_meshes_stay),
        cmocka_unit_test(onto_another_body),
        cmocka_unit_test(what_travels),
        cmocka_unit_test(unnamed_hips),
        cmocka_unit_test(goals_follow_limbs),
        cmocka_unit_test(limbs_of_one_bone),
        cmocka_unit_test(equal_skeletons),
        cmocka_unit_test(torn_meshes_are_reported),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
