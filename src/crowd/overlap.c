/* Overlap check: instances are written by several threads, so no two of them may write the same bytes. */
#include "crowd/crowd.h"

#define DIGIT_BITS 8
#define DIGITS     (1u << DIGIT_BITS)

static uint32_t vertex_count_of(const pelt_crowd *crowd, const pelt_crowd_instance *instance) {
    return crowd->characters[instance->character].levels[instance->level].model->mesh.vertex_count;
}

/* Returns true if the ranges ascend in skinning order, as pelt_crowd_place assigns them: then no sort is needed. */
static bool ascending(const pelt_crowd *crowd, const pelt_crowd_instance *instances, uint32_t count) {
    size_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        const pelt_crowd_instance *instance = &instances[crowd->order[i]];
        if (instance->first_vertex < end)
            return false;
        end = instance->first_vertex + vertex_count_of(crowd, instance);
    }
    return true;
}

/* Sorts ranges by first vertex, then by instance: radix sort, least significant digit first, between the two halves
 * of the array. */
static const px_crowd_range *sort(const pelt_crowd *crowd, const pelt_crowd_instance *instances, uint32_t count,
                                  size_t vertex_count) {
    px_crowd_range *from = crowd->ranges, *to = crowd->ranges + crowd->capacity;
    for (uint32_t i = 0; i < count; i++)
        from[i] = (px_crowd_range){instances[i].first_vertex, vertex_count_of(crowd, &instances[i]), i};
    for (unsigned shift = 0; shift < 8 * sizeof(size_t) && vertex_count >> shift; shift += DIGIT_BITS) {
        uint32_t next[DIGITS + 1] = {0};
        for (uint32_t i = 0; i < count; i++)
            next[(from[i].first >> shift) % DIGITS + 1]++;
        for (uint32_t d = 0; d < DIGITS; d++)
            next[d + 1] += next[d];
        for (uint32_t i = 0; i < count; i++)
            to[next[(from[i].first >> shift) % DIGITS]++] = from[i];
        px_crowd_range *other = from;
        from = to;
        to = other;
    }
    return from;
}

static pelt_result check_vertices(const pelt_crowd *crowd, const px_crowd_range *ranges, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        const px_crowd_range *a = &ranges[i - 1], *b = &ranges[i];
        if (b->first < a->first + a->count)
            return px_fail(crowd->context, PELT_ERROR_USAGE,
                           "instances %u and %u overlap: vertices %zu to %zu and %zu to %zu of the output; each needs "
                           "vertices of its own, as pelt_crowd_place gives them",
                           a->instance, b->instance, a->first, a->first + a->count, b->first, b->first + b->count);
    }
    return PELT_OK;
}

/* Fails if normals overlap positions, where the normal of vertex v + shift and the position of vertex v share bytes. */
static pelt_result check_normals(const pelt_crowd *crowd, const px_crowd_range *ranges, uint32_t count, int64_t shift) {
    size_t raise_positions = shift > 0 ? (size_t)shift : 0, raise_normals = shift < 0 ? (size_t)-shift : 0;
    for (uint32_t p = 0, n = 0; p < count && n < count;) {
        size_t position = ranges[p].first + raise_positions, normal = ranges[n].first + raise_normals;
        if (position + ranges[p].count <= normal)
            p++;
        else if (normal + ranges[n].count <= position)
            n++;
        else
            return px_fail(crowd->context, PELT_ERROR_USAGE,
                           "normals of instance %u would be written over positions of instance %u; output.positions, "
                           "output.normals and output.stride do not fit together",
                           ranges[n].instance, ranges[p].instance);
    }
    return PELT_OK;
}

/* Finds the shifts, at most two, for which the normal of vertex v + shift shares bytes with the position of vertex
 * v. Returns their number. */
static uint32_t shifts_of(const pelt_crowd_output *output, int64_t shifts[2]) {
    const int64_t size = 3 * sizeof(float), stride = output->stride ? (int64_t)output->stride : size;
    uint32_t count = 0;
    if (!output->normals)
        return 0;
    int64_t ahead = (int64_t)(uintptr_t)output->positions - (int64_t)(uintptr_t)output->normals;
    int64_t nearest = ahead / stride - (ahead % stride < 0);
    for (int64_t shift = nearest; shift <= nearest + 1; shift++) {
        int64_t off = shift * stride - ahead;
        if (off > -size && off < size && (uint64_t)(shift < 0 ? -shift : shift) < output->vertex_count)
            shifts[count++] = shift;
    }
    return count;
}

pelt_result px_crowd_check_overlap(const pelt_crowd *crowd, const pelt_crowd_instance *instances, uint32_t count,
                                   const pelt_crowd_output *output) {
    int64_t shifts[2];
    uint32_t shift_count = shifts_of(output, shifts);
    if (!shift_count && ascending(crowd, instances, count))
        return PELT_OK;
    const px_crowd_range *ranges = sort(crowd, instances, count, output->vertex_count);
    PX_TRY(check_vertices(crowd, ranges, count));
    for (uint32_t s = 0; s < shift_count; s++)
        PX_TRY(check_normals(crowd, ranges, count, shifts[s]));
    return PELT_OK;
}
