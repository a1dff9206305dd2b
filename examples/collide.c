/* Collision queries on a posed character: a ray, and the nearest point. Only vertices that a query reaches are
 * skinned. */
#include "arm.h"

int main(void) {
    pelt_context *context = NULL;
    pelt_model *arm = NULL;
    pelt_bdtree *tree = NULL; /* once per character */
    pelt_body *body = NULL;   /* once per instance */
    if (pelt_context_create(NULL, &context) != PELT_OK || !(arm = arm_create(context)) ||
        pelt_bdtree_create(context, arm, &tree) != PELT_OK || pelt_body_create(context, tree, &body) != PELT_OK)
        return arm_fail(context);

    const pelt_ray ray = {.origin = {-1.5f, 10, 0}, .direction = {0, -1, 0}, .most = 100};
    pelt_body_point hit, nearest;
    bool straight = pelt_body_ray(body, &ray, &hit); /* rest pose: the ray misses the arm */
    pelt_body_motion(body, &arm->motions[0], 0.5f);
    bool bent = pelt_body_ray(body, &ray, &hit); /* the lower arm lies along −x at y = 2 */
    const float place[3] = {-1.5f, 0, 0};
    bool near = pelt_body_nearest(body, place, 5, &nearest);
    pelt_body_stats work = pelt_body_query_stats(body);
    printf("straight: %s; bent: hit at distance %.3f, nearest at %.3f; %u of %u leaves opened\n",
           straight ? "hit" : "no hit", hit.distance, nearest.distance, work.open_count, work.leaf_count);
    bool right = !straight && bent && fabs(hit.distance - 7.5) < 0.05 && near && fabs(nearest.distance - 1) < 0.05;
    pelt_body_destroy(body);
    pelt_bdtree_destroy(tree);
    pelt_model_destroy(arm);
    pelt_context_destroy(context);
    return !right;
}
