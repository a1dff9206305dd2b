/* How far bones reach: half the thickness of the limb around each, by rays across it. */
#include "bind/bind.h"
#include "core/math3.h"

#include <stdlib.h>

#define RAYS    98 /* directions: the outer cells of a cube of 5 */
#define SAMPLES 9  /* places along a segment */

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static float ray_length(const px_bind_volume *volume, const float from[3], const float way[3]) {
    float length = 1;
    for (;; length += 1) {
        float p[3];
        for (int c = 0; c < 3; c++)
            p[c] = from[c] + length * way[c] / volume->step[c];
        if (px_bind_voxel(volume, p) == PELT_NONE)
            return length - 0.5f;
    }
}

/* Half the thickness of the volume across a segment at p; 0 outside. */
static float thickness(const px_bind_volume *volume, const px_bind_segment *segment, const float p[3]) {
    float axis[3], lengths[RAYS];
    size_t count = 0;
    if (px_bind_voxel(volume, p) == PELT_NONE)
        return 0;
    for (int c = 0; c < 3; c++)
        axis[c] = (segment->b[c] - segment->a[c]) * volume->step[c];
    float length = sqrtf(px_dot3(axis, axis));
    for (int z = -2; z <= 2; z++)
        for (int y = -2; y <= 2; y++)
            for (int x = -2; x <= 2; x++) {
                float way[3] = {(float)x, (float)y, (float)z}, norm = sqrtf(px_dot3(way, way));
                if (x * x < 4 && y * y < 4 && z * z < 4)
                    continue;
                for (int c = 0; c < 3; c++)
                    way[c] /= norm;
                if (fabsf(px_dot3(way, axis)) <= 0.5f * length)
                    lengths[count++] = ray_length(volume, p, way);
            }
    qsort(lengths, count, sizeof *lengths, ascending);
    return lengths[(size_t)(0.6f * (float)count)];
}

/* A limb often begins inside something thicker (an arm in the chest): what counts is where it is thinner. */
static float reach_of(const px_bind_volume *volume, const px_bind_segment *segments, uint32_t count) {
    float widths[SAMPLES * 8];
    size_t width_count = 0;
    uint32_t stride = count / 8 + 1;
    for (uint32_t s = 0; s < count; s += stride)
        for (int i = 1; i <= SAMPLES; i++) {
            float p[3], u = (float)i / (SAMPLES + 1);
            for (int c = 0; c < 3; c++)
                p[c] = segments[s].a[c] + u * (segments[s].b[c] - segments[s].a[c]);
            float width = thickness(volume, &segments[s], p);
            if (width > 0)
                widths[width_count++] = width;
        }
    if (width_count == 0) /* a bone outside: it may take what is near it */
        return PX_BIND_OUTSIDE * volume->diagonal;
    qsort(widths, width_count, sizeof *widths, ascending);
    return widths[width_count / 4];
}

typedef struct reach_job {
    const px_bind_volume *volume;
    px_bind_bones *bones;
} reach_job;

static pelt_result reach_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const reach_job *job = user;
    for (size_t t = first; t < first + count; t++) {
        uint32_t from = 0, to;
        while (from < job->bones->segment_count && job->bones->segments[from].target != t)
            from++;
        for (to = from; to < job->bones->segment_count && job->bones->segments[to].target == t;)
            to++;
        job->bones->reach[t] = reach_of(job->volume, job->bones->segments + from, to - from);
    }
    return PELT_OK;
}

pelt_result px_bind_bones_reach(pelt_context *context, const px_bind_volume *volume, uint32_t target_count,
                                px_bind_bones *bones) {
    reach_job job = {volume, bones};
    return px_parallel(context, NULL, target_count, 1, reach_block, &job);
}
