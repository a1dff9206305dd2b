/* A crowd: 100 instances of one character, each at its own time and place, into one vertex buffer. */
#include "arm.h"

enum { COUNT = 100, SPACING = (ARM_VERTICES + PELT_CROWD_ALIGN - 1) / PELT_CROWD_ALIGN * PELT_CROWD_ALIGN };

int main(void) {
    static pelt_crowd_instance instances[COUNT];
    static _Alignas(64) float buffer[6 * COUNT * SPACING]; /* position, normal */
    pelt_context *context = NULL;
    pelt_model *arm = NULL;
    pelt_crowd *crowd = NULL;
    if (pelt_context_create(NULL, &context) != PELT_OK || !(arm = arm_create(context)))
        return arm_fail(context);
    const pelt_model *levels[1] = {arm};
    const pelt_crowd_character character = {levels, 1};
    pelt_crowd_desc desc = pelt_crowd_desc_default();
    desc.instance_count = COUNT; /* reserve, so that no frame allocates */
    if (pelt_crowd_create(context, &character, 1, &desc, &crowd) != PELT_OK)
        return arm_fail(context);

    for (int i = 0; i < COUNT; i++) {
        instances[i].layer_count = 1;
        instances[i].layers[0] = (pelt_crowd_layer){.motion = 0, .time = 0.01f * (float)i, .weight = 1, .loop = true};
        instances[i].world =
            (pelt_affine){{1, 0, 0, 5.0f * (float)(i % 10), 0, 1, 0, 0, 0, 0, 1, 5.0f * (float)(i / 10)}};
    }
    size_t vertex_count;
    if (pelt_crowd_place(crowd, instances, COUNT, &vertex_count) != PELT_OK)
        return arm_fail(context);
    const pelt_crowd_output output = {buffer, buffer + 3, 6 * sizeof(float), COUNT * SPACING};
    if (pelt_crowd_frame(crowd, instances, COUNT, &output) != PELT_OK)
        return arm_fail(context);
    const float *tip = buffer + 6 * (instances[50].first_vertex + ARM_VERTICES - 1); /* bent, at x = 0, z = 25 */
    printf("%zu vertices; tip of number 50 at %.2f %.2f %.2f\n", vertex_count, (double)tip[0], (double)tip[1],
           (double)tip[2]);
    bool right = fabsf(tip[0] + 2) < 0.01f && fabsf(tip[2] - 25) < 0.01f;
    pelt_crowd_destroy(crowd);
    pelt_model_destroy(arm);
    pelt_context_destroy(context);
    return !right;
}
