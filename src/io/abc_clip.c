/* Frames of an Alembic clip: the times at which anything moves, and the point positions at these times.
 *
 * Each property has its own time sampling. The clip's frame times are the union of the sample times of all animated
 * properties; a property without a sample at a frame time is interpolated linearly between its neighbouring samples.
 * Samples are read from the mapped file when a frame is requested.
 */
#include "io/abc.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Limit on frames: repeated samples take no space in a file, but each frame takes time. 12 hours at 24 fps. */
#define MAX_FRAMES ((uint64_t)1 << 20)

/* ---- Times ------------------------------------------------------------------------------------------------ */

/* Whether the times of `count` samples are finite and strictly ascending. */
static bool is_sound(const abc_sampling *sampling, uint32_t count) {
    if (sampling->count == 0 || (sampling->acyclic && sampling->count < count))
        return false;
    if (!sampling->acyclic && !(sampling->period > 0 && sampling->period < FLT_MAX))
        return false;
    uint32_t checked = sampling->count < count ? sampling->count + 1 : count; /* one step into the next cycle */
    for (uint32_t i = 0; i < checked; i++) {
        double time = px_abc_time(sampling, i);
        if (!(fabs(time) < FLT_MAX) || (i && !(time > px_abc_time(sampling, i - 1))))
            return false;
    }
    return fabs(px_abc_time(sampling, count - 1)) < FLT_MAX;
}

/* counts [sampling]: the largest number of samples that an animated property takes from each sampling. */
static void count_samples(const abc_property *property, uint32_t *counts) {
    if (!px_abc_is_constant(property) && property->sample_count > counts[property->sampling])
        counts[property->sampling] = property->sample_count;
}

static void count_all(const abc_scene *scene, uint32_t *counts, uint8_t *seen) {
    for (uint32_t m = 0; m < scene->mesh_count; m++) {
        const abc_mesh *mesh = &scene->meshes[m];
        count_samples(&mesh->positions, counts);
        for (uint32_t x = mesh->xform; x != PELT_NONE && !seen[x]; x = scene->xforms[x].parent) {
            seen[x] = 1;
            if (scene->xforms[x].has_values)
                count_samples(&scene->xforms[x].values, counts);
            if (scene->xforms[x].has_inherits)
                count_samples(&scene->xforms[x].inherits, counts);
        }
    }
}

static void mend_samplings(const abc_archive *archive, double fps, const uint32_t *counts) {
    static const uint8_t zero[8];
    for (uint32_t s = 0; s < archive->sampling_count; s++) {
        if (counts[s] == 0 || is_sound(&archive->samplings[s], counts[s]))
            continue;
        px_log(archive->context, PELT_LOG_WARNING,
               "the times of its samples are missing or do not ascend; frames are taken at %g per second", fps);
        archive->samplings[s] = (abc_sampling){.period = 1 / fps, .count = 1, .times = zero};
    }
}

static int compare_times(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Merges the times of all samplings in use, sorted, without duplicates. */
static pelt_result merge_times(const abc_archive *archive, px_arena *memory, const uint32_t *counts, abc_scene *scene) {
    uint64_t total = 0;
    for (uint32_t s = 0; s < archive->sampling_count; s++)
        total += counts[s];
    if (total > MAX_FRAMES)
        return px_fail(archive->context, PELT_ERROR_UNSUPPORTED, "has %llu frames; %llu are the most that are read",
                       (unsigned long long)total, (unsigned long long)MAX_FRAMES);
    scene->times = PX_NEW(memory, double, px_max_size((size_t)total, 1));
    if (!scene->times)
        return PELT_ERROR_MEMORY;
    size_t filled = 0;
    for (uint32_t s = 0; s < archive->sampling_count; s++)
        for (uint32_t i = 0; i < counts[s]; i++)
            scene->times[filled++] = px_abc_time(&archive->samplings[s], i);
    px_sort(scene->times, filled, sizeof *scene->times, compare_times);
    scene->frame_count = 1;
    for (size_t i = 1; i < filled; i++) {
        double last = scene->times[scene->frame_count - 1];
        if (scene->times[i] > last + px_abc_tolerance(last))
            scene->times[scene->frame_count++] = scene->times[i];
    }
    return PELT_OK;
}

pelt_result px_abc_find_times(abc_archive *archive, px_arena *memory, double fps, abc_scene *scene) {
    uint32_t *counts = PX_ALLOC(archive->context, uint32_t, archive->sampling_count);
    uint8_t *seen = PX_ALLOC(archive->context, uint8_t, scene->xform_count);
    pelt_result result = counts && seen ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        count_all(scene, counts, seen);
        mend_samplings(archive, fps, counts);
        result = merge_times(archive, memory, counts, scene);
    }
    px_free(archive->context, seen);
    px_free(archive->context, counts);
    for (uint32_t m = 0; m < scene->mesh_count && result == PELT_OK; m++)
        if (!scene->meshes[m].moves)
            result = px_abc_world(scene, scene->meshes[m].xform, scene->times[0], &scene->meshes[m].world);
    return result;
}

/* ---- Points ----------------------------------------------------------------------------------------------- */

static double load_number(const uint8_t *bytes, uint32_t pod, size_t index) {
    return pod == ABC_F32 ? (double)px_float_from_bits(px_load_u32(bytes + 4 * index))
                          : px_double_from_bits(px_load_u64(bytes + 8 * index));
}

static pelt_result read_mesh(const abc_scene *scene, const abc_mesh *mesh, double time, uint32_t first, uint32_t count,
                             float *out) {
    const abc_property *positions = &mesh->positions;
    abc_moment moment = px_abc_moment(scene->samplings, positions, time);
    ogawa_data before, after;
    PX_TRY(px_abc_sample(&scene->file, positions, moment.before, &before));
    PX_TRY(px_abc_sample(&scene->file, positions, moment.after, &after));
    px_scene_matrix world = mesh->world;
    if (mesh->moves)
        PX_TRY(px_abc_world(scene, mesh->xform, time, &world));
    for (size_t i = 0; i < count; i++) {
        double p[3];
        for (size_t c = 0; c < 3; c++) {
            size_t at = 3 * (first + i) + c;
            p[c] = load_number(before.bytes, positions->pod, at);
            if (moment.weight > 0)
                p[c] += (load_number(after.bytes, positions->pod, at) - p[c]) * moment.weight;
        }
        for (size_t c = 0; c < 3; c++) {
            const double *row = world.m + 4 * c;
            out[3 * i + c] =
                (float)(mesh->xform == PELT_NONE ? p[c] : row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3]);
        }
    }
    return PELT_OK;
}

pelt_result px_abc_read_points(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                               float *out) {
    (void)context;
    const abc_scene *scene = user;
    uint32_t low = 0, high = scene->mesh_count; /* binary search for the mesh that contains `first` */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (scene->meshes[middle].first_point <= first)
            low = middle;
        else
            high = middle;
    }
    for (; count; low++) {
        const abc_mesh *mesh = &scene->meshes[low];
        uint32_t own = first - mesh->first_point, left = mesh->point_count - own, part = count < left ? count : left;
        PX_TRY(read_mesh(scene, mesh, scene->times[frame], own, part, out));
        first += part;
        count -= part;
        out += (size_t)3 * part;
    }
    return PELT_OK;
}

void px_abc_release(const void *user, uint32_t count) {
    px_pages_read(((const abc_scene *)user)->pages, (size_t)12 * count);
}
