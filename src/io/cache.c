/* Point caches: checking, mapping and writing the frames. */
#include "io/cache.h"
#include "core/group.h"

/* Whether floats of this byte order are native. */
static bool is_native(bool big_endian) {
    return (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) == big_endian;
}

/* Swaps the byte order of `count` 32-bit words; `out` may equal `from`. Works on bits, since a float copy may change a
 * NaN. */
static void swap_words(void *out, const void *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)from + 4 * i, sizeof bits);
        bits = __builtin_bswap32(bits);
        memcpy((char *)out + 4 * i, &bits, sizeof bits);
    }
}

/* ---- Reading ---------------------------------------------------------------------------------------------- */

/* Clip source of a cache file. Frames that are not native or not aligned are converted on read. */
typedef struct frame_source {
    const uint8_t *frames;
    size_t frame_size;
    bool native;
    px_pages *pages;
} frame_source;

static void release_frames(const void *user, uint32_t count) {
    px_pages_read(((const frame_source *)user)->pages, (size_t)12 * count);
}

static pelt_result read_frame(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                              float *out) {
    (void)context;
    const frame_source *source = user;
    const uint8_t *from = source->frames + frame * source->frame_size + (size_t)12 * first;
    if (source->native)
        memcpy(out, from, (size_t)12 * count);
    else
        swap_words(out, from, (size_t)3 * count);
    return PELT_OK;
}

pelt_result px_cache_check_size(const px_read *read, const px_cache *cache) {
    if (cache->frame_count == 0)
        return px_fail(read->context, PELT_ERROR_INPUT, "holds no frames");
    if (cache->point_count == 0)
        return px_fail(read->context, PELT_ERROR_INPUT, "holds no points");
    size_t size = read->file.size, frame_size = px_mul_size(12, cache->point_count);
    size_t room = size > cache->data_offset ? size - cache->data_offset : 0, wanted = cache->frame_count;
    if (room / frame_size < wanted)
        return px_fail(read->context, PELT_ERROR_INPUT,
                       "is cut off: it promises %zu frames of %u points and holds %zu whole ones", wanted,
                       cache->point_count, room / frame_size);
    if (room > wanted * frame_size)
        px_log(read->context, PELT_LOG_WARNING, "%zu bytes behind the last frame are left out",
               room - wanted * frame_size);
    return PELT_OK;
}

float *px_cache_frame_times(const px_read *read, uint32_t frame_count) {
    float *times = PX_NEW(read->model->memory, float, frame_count);
    for (uint32_t k = 0; times && k < frame_count; k++)
        times[k] = (float)(k / read->desc->fps);
    return times;
}

pelt_result px_cache_add_clip(const px_read *read, const px_cache *cache, const float *times) {
    px_arena *memory = read->model->memory;
    PX_TRY(px_cache_fit(read->context, read->model, cache->point_count));
    pelt_clip clip = {.name = px_read_name(read),
                      .frame_count = cache->frame_count,
                      .point_count = cache->point_count,
                      .times = times};
    if (!clip.name)
        return PELT_ERROR_MEMORY;
    const uint8_t *frames = read->file.data + cache->data_offset;
    bool native = is_native(cache->big_endian);
    frame_source *source = PX_NEW(memory, frame_source, 1);
    px_pages *pages = px_pages_create(memory, &read->file);
    if (!source || !pages)
        return PELT_ERROR_MEMORY;
    *source = (frame_source){frames, (size_t)12 * cache->point_count, native, pages};
    clip.source = (pelt_clip_source){.read = read_frame, .user = source, .release = release_frames};
    if (native && (uintptr_t)frames % _Alignof(float) == 0)
        clip.positions = (const float *)(const void *)frames;
    return px_model_add_clip(read->context, read->model, &clip);
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

/* Of a group, the processes evaluate frames in turn, and process 0 writes them. */

pelt_result px_cache_send_frames(const px_write *write) {
    pelt_context *context = write->context;
    const pelt_clip *clip = &write->model->clips[write->desc->clip];
    size_t floats = (size_t)3 * clip->point_count;
    float *frame = PX_ALLOC(context, float, floats);
    pelt_result result = frame ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t k = pelt_group_rank(context); k < clip->frame_count && result == PELT_OK;
         k += pelt_group_size(context)) {
        result = pelt_clip_read(context, clip, k, 0, clip->point_count, frame);
        px_clip_release(clip, clip->point_count);
        if (result == PELT_OK)
            result = px_group_send(context, 0, frame, floats * sizeof *frame);
    }
    px_free(context, frame);
    return result;
}

static pelt_result next_frame(const px_write *write, const pelt_clip *clip, uint32_t k, float *frame) {
    uint32_t from = write->in_memory ? 0 : k % pelt_group_size(write->context);
    if (from > 0)
        return px_group_receive(write->context, from, frame, 3 * (size_t)clip->point_count * sizeof *frame);
    PX_TRY(pelt_clip_read(write->context, clip, k, 0, clip->point_count, frame));
    px_clip_release(clip, clip->point_count);
    return PELT_OK;
}

pelt_result px_cache_write_frames(const px_write *write, const pelt_clip *clip, bool big_endian, px_output_file *file) {
    if (clip->frame_count == 0 || clip->point_count == 0)
        return px_fail(write->context, PELT_ERROR_INPUT, "the clip '%s' has no frames or no points", clip->name);
    size_t floats = (size_t)3 * clip->point_count;
    float *frame = PX_ALLOC(write->context, float, floats);
    if (!frame)
        return PELT_ERROR_MEMORY;
    pelt_result result = PELT_OK;
    for (uint32_t k = 0; k < clip->frame_count && result == PELT_OK; k++) {
        result = next_frame(write, clip, k, frame);
        if (result != PELT_OK)
            break;
        if (!is_native(big_endian))
            swap_words(frame, frame, floats);
        result = px_output_write(file, frame, floats * sizeof(float));
        if (result == PELT_OK)
            result = px_progress(write->context, "write", (uint64_t)k + 1, clip->frame_count);
    }
    px_free(write->context, frame);
    return result;
}
