/* An engine's view: <pelt/runtime.h> and libpelt-run alone; compiled as C and as C++. Every module is called once. */
#include <pelt/runtime.h>

#include <stdio.h>
#include <string.h>

int main(void) {
    pelt_context *context = NULL;
    pelt_model *model = NULL;
    pelt_jiggle *jiggle = NULL;
    pelt_crowd *crowd = NULL;
    pelt_bdtree *tree = NULL;
    if (pelt_context_create(NULL, &context) != PELT_OK || pelt_model_create(context, &model) != PELT_OK)
        return 1;
    bool refused = pelt_jiggle_create(context, model, NULL, &jiggle) != PELT_OK; /* an empty model */
    if (pelt_crowd_create(context, NULL, 0, NULL, &crowd) == PELT_OK)
        pelt_crowd_destroy(crowd);
    if (pelt_bdtree_create(context, model, &tree) == PELT_OK)
        pelt_bdtree_destroy(tree);
    pelt_motion_sample(model, NULL, 0, NULL, NULL);
    printf("pelt %s\n", pelt_version());
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    return !refused || strcmp(pelt_version(), PELT_VERSION) != 0 || !pelt_simd_available(pelt_simd_best());
}
