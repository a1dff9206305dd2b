/* A frame: check instances, sort them by level, check for overlaps, then pose and skin them in batches on the
 * context's threads. */
#include "crowd/crowd.h"

#include <math.h>

/* Large enough to hide the cost of scheduling, small enough for an even load. */
#define BLOCK_BATCHES 4
/* A larger frame, in bytes, is evicted from the caches before it is read, so it is written with non-temporal stores. */
#define STREAM_SIZE ((size_t)8 << 20)

/* ---- Checks ----------------------------------------------------------------------------------------------- */

uint32_t pelt_crowd_vertex_count(const pelt_crowd *crowd, uint32_t character, uint32_t level) {
    if (character >= crowd->character_count || level >= crowd->characters[character].level_count)
        return 0;
    return crowd->characters[character].levels[level].model->mesh.vertex_count;
}

static pelt_result check_level(const pelt_crowd *crowd, const pelt_crowd_instance *instance, uint32_t i) {
    if (instance->character >= crowd->character_count)
        return px_fail(crowd->context, PELT_ERROR_USAGE, "instance %u: there is no character %u, only %u of them", i,
                       instance->character, crowd->character_count);
    uint32_t level_count = crowd->characters[instance->character].level_count;
    if (instance->level >= level_count)
        return px_fail(crowd->context, PELT_ERROR_USAGE, "instance %u: character %u has no level %u, only %u of them",
                       i, instance->character, instance->level, level_count);
    return PELT_OK;
}

/* Vertices reserved for an instance: whole cache lines for any stride. */
static size_t room_of(const pelt_crowd *crowd, const pelt_crowd_instance *instance) {
    size_t vertex_count = pelt_crowd_vertex_count(crowd, instance->character, instance->level);
    return px_block_count(vertex_count, PELT_CROWD_ALIGN) * PELT_CROWD_ALIGN;
}

static uint32_t key_of(const pelt_crowd *crowd, const pelt_crowd_instance *instance) {
    return crowd->characters[instance->character].first_key + instance->level;
}

pelt_result pelt_crowd_place(pelt_crowd *crowd, pelt_crowd_instance *instances, uint32_t instance_count,
                             size_t *vertex_count) {
    size_t *next = crowd->first_vertex; /* [key] first vertex of the key's next instance */
    *vertex_count = 0;
    memset(next, 0, (crowd->key_count + 1) * sizeof *next);
    for (uint32_t i = 0; i < instance_count; i++) {
        PX_TRY(check_level(crowd, &instances[i], i));
        next[key_of(crowd, &instances[i]) + 1] += room_of(crowd, &instances[i]);
    }
    for (uint32_t key = 0; key < crowd->key_count; key++)
        next[key + 1] += next[key];
    *vertex_count = next[crowd->key_count];
    for (uint32_t i = 0; i < instance_count; i++) {
        size_t *at = &next[key_of(crowd, &instances[i])];
        instances[i].first_vertex = *at;
        *at += room_of(crowd, &instances[i]);
    }
    return PELT_OK;
}

static pelt_result check_layers(const pelt_crowd *crowd, const pelt_crowd_instance *instance, uint32_t i) {
    uint32_t motion_count = crowd->characters[instance->character].motion_count;
    if (instance->layer_count > PELT_CROWD_LAYERS)
        return px_fail(crowd->context, PELT_ERROR_USAGE, "instance %u has %u layers; %u are possible", i,
                       instance->layer_count, PELT_CROWD_LAYERS);
    float sum = 0;
    for (uint32_t l = 0; l < instance->layer_count; l++) {
        const pelt_crowd_layer *layer = &instance->layers[l];
        if (layer->motion >= motion_count)
            return px_fail(crowd->context, PELT_ERROR_USAGE,
                           "instance %u, layer %u: character %u has no motion %u, only %u of them", i, l,
                           instance->character, layer->motion, motion_count);
        if (!isfinite(layer->time) || !(layer->weight >= 0) || !isfinite(layer->weight))
            return px_fail(crowd->context, PELT_ERROR_USAGE,
                           "instance %u, layer %u: time %g, weight %g; both must be finite, the weight at least 0", i,
                           l, (double)layer->time, (double)layer->weight);
        sum += layer->weight;
    }
    if (instance->layer_count && !(sum > 0 && isfinite(sum)))
        return px_fail(crowd->context, PELT_ERROR_USAGE, "instance %u: the weights of its layers sum to %g", i,
                       (double)sum);
    return PELT_OK;
}

static pelt_result check_output(const pelt_crowd *crowd, const pelt_crowd_instance *instance, uint32_t i,
                                const pelt_crowd_output *output) {
    const pelt_mesh *mesh = &crowd->characters[instance->character].levels[instance->level].model->mesh;
    if (instance->first_vertex > output->vertex_count ||
        mesh->vertex_count > output->vertex_count - instance->first_vertex)
        return px_fail(crowd->context, PELT_ERROR_USAGE,
                       "instance %u: vertices %zu to %zu do not fit into an output of %zu", i, instance->first_vertex,
                       instance->first_vertex + mesh->vertex_count, output->vertex_count);
    if (output->normals && !mesh->normals)
        return px_fail(crowd->context, PELT_ERROR_USAGE,
                       "instance %u: normals are wanted, but character %u has none at level %u", i, instance->character,
                       instance->level);
    return PELT_OK;
}

typedef struct frame {
    pelt_crowd *crowd;
    const pelt_crowd_instance *instances;
    const px_crowd_body *body;
    px_crowd_target target;
} frame;

/* ---- Blocks of batches ------------------------------------------------------------------------------------ */

/* Binary search for the key of batch b: first_batch[key] ≤ b < first_batch[key + 1]. */
static uint32_t key_of_batch(const pelt_crowd *crowd, uint32_t b) {
    uint32_t low = 0, high = crowd->key_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (crowd->first_batch[middle] <= b)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static pelt_result run_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const frame *f = user;
    const pelt_crowd *crowd = f->crowd;
    px_crowd_slot *slot = px_crowd_take(f->crowd);
    px_crowd_writer writer;
    px_crowd_writer_begin(&writer, f->body, &f->target);
    for (size_t b = first; b < first + count; b++) {
        uint32_t key = key_of_batch(crowd, (uint32_t)b);
        uint32_t begin = crowd->first_instance[key] + ((uint32_t)b - crowd->first_batch[key]) * f->body->lanes;
        uint32_t size = (uint32_t)px_min_size(f->body->lanes, crowd->first_instance[key + 1] - begin);
        px_crowd_batch(crowd, f->instances, crowd->order + begin, size, slot, &writer);
    }
    px_crowd_writer_end(&writer);
    px_crowd_give(slot);
    return PELT_OK;
}

/* Stable counting sort of instances by level. */
static void sort(pelt_crowd *crowd, const pelt_crowd_instance *instances, uint32_t count, uint32_t lanes) {
    uint32_t *first = crowd->first_instance, *next = crowd->first_batch;
    memset(first, 0, (crowd->key_count + 1) * sizeof *first);
    for (uint32_t i = 0; i < count; i++)
        first[key_of(crowd, &instances[i]) + 1]++;
    for (uint32_t key = 0; key < crowd->key_count; key++) {
        first[key + 1] += first[key];
        next[key] = first[key];
    }
    for (uint32_t i = 0; i < count; i++)
        crowd->order[next[key_of(crowd, &instances[i])]++] = i;
    crowd->first_batch[0] = 0;
    for (uint32_t key = 0; key < crowd->key_count; key++)
        crowd->first_batch[key + 1] =
            crowd->first_batch[key] + (uint32_t)px_block_count(first[key + 1] - first[key], lanes);
}

static px_crowd_target make_target(const pelt_crowd_output *output, size_t vertex_count) {
    px_crowd_target target = {.positions = output->positions, .normals = output->normals};
    target.stride = output->stride ? output->stride / sizeof(float) : 3;
    bool packed = target.stride == 6 && target.normals == target.positions + 3;
    target.layout = !target.normals ? PX_CROWD_POSITIONS : packed ? PX_CROWD_INTERLEAVED : PX_CROWD_PLANAR;
    target.streams = vertex_count > STREAM_SIZE / (target.stride * sizeof(float));
    return target;
}

pelt_result pelt_crowd_frame(pelt_crowd *crowd, const pelt_crowd_instance *instances, uint32_t instance_count,
                             const pelt_crowd_output *output) {
    if (output->stride % sizeof(float) || (output->stride && output->stride < 3 * sizeof(float)))
        return px_fail(crowd->context, PELT_ERROR_USAGE,
                       "a stride of %zu bytes; it must be a multiple of 4, at least 12, or 0", output->stride);
    size_t vertex_count = 0;
    for (uint32_t i = 0; i < instance_count; i++) {
        PX_TRY(check_level(crowd, &instances[i], i));
        PX_TRY(check_layers(crowd, &instances[i], i));
        PX_TRY(check_output(crowd, &instances[i], i, output));
        vertex_count += pelt_crowd_vertex_count(crowd, instances[i].character, instances[i].level);
    }
    PX_TRY(px_crowd_reserve(crowd, instance_count));
    frame f = {crowd, instances, px_crowd_body_of(pelt_simd_best()), make_target(output, vertex_count)};
    sort(crowd, instances, instance_count, f.body->lanes);
    PX_TRY(px_crowd_check_overlap(crowd, instances, instance_count, output));
    return px_parallel(crowd->context, NULL, crowd->first_batch[crowd->key_count], BLOCK_BATCHES, run_block, &f);
}
