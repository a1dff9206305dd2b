/* wring: the arm, its elbow bent by a right angle and its wrist twisted by half a turn and back: where linear blending
 * loses most volume. */
#include "arm.h"

#define LOOP   60u /* frames */
#define DEGREE (SCENE_PI / 180)

static pelt_result build(pelt_context *context, pelt_model *scratch, const scene_desc *desc, pelt_model *model) {
    (void)scratch;
    scene_random random = {desc->seed};
    double lift = scene_random_range(&random, 5, 15) * DEGREE;
    /* From 0 to 90 and 180 degrees, the shoulder a little; a loop begins and ends at rest. */
    const scene_wave waves[] = {{1, 2, lift, lift, 1, 0.75},
                                {2, 0, 45 * DEGREE, 45 * DEGREE, 1, 0.75},
                                {3, 1, 90 * DEGREE, 90 * DEGREE, 1, 0.75}};
    SCENE_TRY(arm_build_rig(context, desc, model));
    uint32_t frame_count = scene_count(desc->frame_count, LOOP + 1, 1, SCENE_MAX_FRAMES);
    return scene_motion(context, model, "wring", waves, SCENE_COUNT(waves), frame_count, LOOP);
}

static pelt_result make(pelt_context *context, const scene_desc *desc, pelt_model **model) {
    return scene_build(context, desc, build, model);
}

const scene scene_wring = {"wring", "the arm, bent by 90 degrees and twisted by 180: where blending loses volume", make,
                           NULL};
