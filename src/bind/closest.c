/* Weights by the distance of bones without regard to the mesh, for comparison (figure 2 of Dionne and de Lasa 2013): the
 * straight distance of every bone (closest), or only of bones close to the nearest one in the skeleton (hierarchy). */
#include "bind/bind.h"

#include <math.h>

#define MAX_LINKS 2u /* between the joint of the nearest bone and those of the others */

typedef struct closest {
    const px_bind_subject *subject;
    const px_bind_volume *volume;
    const px_bind_bones *bones;
    bool hierarchy;
    float *values; /* [class][target] */
} closest;

/* Number of links between two joints, at most MAX_LINKS + 1. Parents have lower indices. */
static uint32_t links_between(const pelt_skeleton *skeleton, uint32_t a, uint32_t b) {
    uint32_t links = 0;
    for (; a != b && links <= MAX_LINKS; links++) {
        uint32_t *higher = a > b ? &a : &b;
        if (skeleton->parents[*higher] == PELT_NONE)
            return MAX_LINKS + 1;
        *higher = skeleton->parents[*higher];
    }
    return links;
}

static pelt_result closest_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const closest *c = user;
    const px_bind_subject *s = c->subject;
    for (size_t i = first; i < first + count; i++) {
        float p[3], unused[3], *values = c->values + i * s->target_count;
        uint32_t nearest = 0;
        px_bind_to_grid(&c->volume->voxels.grid, s->positions + 3 * i, p);
        for (uint32_t t = 0; t < s->target_count; t++)
            values[t] = INFINITY;
        for (uint32_t k = 0; k < c->bones->segment_count; k++) {
            const px_bind_segment *bone = &c->bones->segments[k];
            float distance = px_bind_segment_distance(bone, c->volume->step, p, unused) / c->volume->diagonal;
            values[bone->target] = px_fminf(values[bone->target], distance);
        }
        for (uint32_t t = 1; t < s->target_count; t++)
            nearest = values[t] < values[nearest] ? t : nearest;
        for (uint32_t t = 0; t < s->target_count && c->hierarchy; t++)
            if (links_between(&s->rig->skeleton, s->targets[nearest], s->targets[t]) > MAX_LINKS)
                values[t] = INFINITY;
    }
    return PELT_OK;
}

pelt_result px_bind_closest(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                            const px_bind_bones *bones, bool hierarchy, float *values) {
    closest c = {subject, volume, bones, hierarchy, values};
    return px_parallel(context, "distances", subject->classes.count, 1024, closest_block, &c);
}
