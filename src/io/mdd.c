/* MDD point caches: big-endian. i32 frame count, i32 point count, f32 times in seconds [frame], then f32 xyz frame by
 * frame. There is no magic number: the format is identified by its extension. */
#include "io/cache.h"

#include <math.h>

#define HEADER_SIZE ((size_t)8)

/* ---- Reading ---------------------------------------------------------------------------------------------- */

/* Reads the file's times. If they are not finite or do not ascend, warns and uses desc.fps instead. */
static const float *read_times(const px_read *read, uint32_t frame_count) {
    float *times = PX_NEW(read->model->memory, float, frame_count);
    if (!times)
        return NULL;
    for (uint32_t k = 0; k < frame_count; k++) {
        times[k] = px_float_from_bits(px_load_u32_big(read->file.data + HEADER_SIZE + (size_t)4 * k));
        if (isfinite(times[k]) && (k == 0 || times[k] > times[k - 1]))
            continue;
        px_log(read->context, PELT_LOG_WARNING, "the time of frame %u is %g; frames are taken at %g per second", k,
               (double)times[k], read->desc->fps);
        return px_cache_frame_times(read, frame_count);
    }
    return times;
}

static pelt_result read_mdd(const px_read *read) {
    const uint8_t *data = read->file.data;
    if (read->file.size < HEADER_SIZE)
        return px_fail(read->context, PELT_ERROR_INPUT, "is cut off: it has %zu bytes, its header alone %zu",
                       read->file.size, HEADER_SIZE);
    uint32_t frames = px_load_u32_big(data), points = px_load_u32_big(data + 4);
    if (points > INT32_MAX || frames > INT32_MAX)
        return px_fail(read->context, PELT_ERROR_INPUT,
                       "is no MDD file, or its header is damaged: %d points, %d frames", (int32_t)points,
                       (int32_t)frames);
    px_cache cache = {.frame_count = frames,
                      .point_count = points,
                      .data_offset = px_size(HEADER_SIZE + (uint64_t)4 * frames),
                      .big_endian = true};
    PX_TRY(px_cache_check_size(read, &cache));
    const float *times = read_times(read, frames);
    return times ? px_cache_add_clip(read, &cache, times) : PELT_ERROR_MEMORY;
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

static pelt_result write_word(px_output_file *file, uint32_t value) {
    const uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value};
    return px_output_write(file, bytes, sizeof bytes);
}

static pelt_result write_mdd(const px_write *write) {
    const pelt_clip *clip = &write->model->clips[write->desc->clip];
    if (clip->point_count > INT32_MAX || clip->frame_count > INT32_MAX)
        return px_fail(write->context, PELT_ERROR_OUTPUT, "MDD cannot count %u points and %u frames", clip->point_count,
                       clip->frame_count);
    px_output_file *file;
    PX_TRY(px_output_open(write->output, write->path, &file));
    PX_TRY(write_word(file, clip->frame_count));
    PX_TRY(write_word(file, clip->point_count));
    for (uint32_t k = 0; k < clip->frame_count; k++)
        PX_TRY(write_word(file, px_float_bits(clip->times[k])));
    return px_cache_write_frames(write, clip, true, file);
}

const px_format px_format_mdd = {
    .info = {"MDD", "mdd", "MDD point cache",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_CLIP | PELT_FORMAT_CACHE},
    .read = read_mdd,
    .write = write_mdd,
};
