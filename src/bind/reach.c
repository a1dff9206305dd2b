/* Reach of bones: half the thickness of the limb around each, measured by casting rays across it. */
#include "bind/bind.h"
#include "core/math3.h"

#include <math.h>
#include <stdlib.h>

#define RAYS          128   /* directions, evenly distributed over the sphere */
#define SAMPLES       9     /* sample points along a segment */
#define RAY_TOLERANCE 0.25f /* in cells: accuracy of a ray's length */

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Trimmed mean: the mean of the sorted values between two quantiles. Unlike a single quantile it is continuous. */
static float middle(float *values, size_t count, float low, float high) {
    px_sort(values, count, sizeof *values, ascending);
    size_t first = (size_t)(low * (float)count), end = px_max_size((size_t)(high * (float)count), first + 1);
    double sum = 0;
    for (size_t k = first; k < end; k++)
        sum += values[k];
    return (float)(sum / (double)(end - first));
}

static bool is_inside(const px_bind_volume *volume, const float from[3], const float way[3], float length) {
    float p[3];
    for (int c = 0; c < 3; c++)
        p[c] = from[c] + length * way[c] / volume->step[c];
    return px_bind_voxel(volume, p) != PELT_NONE;
}

static float ray_length(const px_bind_volume *volume, const float from[3], const float way[3]) {
    float length = 1;
    while (is_inside(volume, from, way, length))
        length += 1;
    for (float step = 0.5f; step >= RAY_TOLERANCE; step *= 0.5f)
        length += is_inside(volume, from, way, length - step) ? 0 : -step;
    return length;
}

/* Half the thickness of the volume across a segment at p, from rays at least 60° off the segment's axis; 0 outside. */
static float thickness(const px_bind_volume *volume, const px_bind_segment *segment, const float p[3]) {
    const float golden = 2.39996323f; /* golden angle of a Fibonacci sphere */
    float axis[3], lengths[RAYS];
    size_t count = 0;
    if (px_bind_voxel(volume, p) == PELT_NONE)
        return 0;
    for (int c = 0; c < 3; c++)
        axis[c] = (segment->b[c] - segment->a[c]) * volume->step[c];
    float length = sqrtf(px_dot3(axis, axis));
    for (int k = 0; k < RAYS; k++) {
        float z = 1 - (2 * (float)k + 1) / RAYS, r = sqrtf(1 - z * z);
        float way[3] = {r * px_cosf(golden * (float)k), r * px_sinf(golden * (float)k), z};
        if (fabsf(px_dot3(way, axis)) <= 0.5f * length)
            lengths[count++] = ray_length(volume, p, way);
    }
    return middle(lengths, count, 0.4f, 0.8f);
}

/* Limbs often begin inside thicker parts (an arm in the chest), so the lower half of the widths is used. At most eight
 * segments of a bone are sampled. */
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
    if (width_count == 0) /* the bone lies outside: let it take voxels near it */
        return PX_BIND_OUTSIDE * volume->diagonal;
    return middle(widths, width_count, 0.1f, 0.45f);
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
