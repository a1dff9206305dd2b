/* PC2 point caches: little-endian. "POINTCACHE2\0", i32 version, i32 point count, f32 start, f32 rate, i32 frame count,
 * then f32 xyz frame by frame. Start and rate are in scene frames: frame k is at (start + k·rate) / fps seconds. */
#include "io/cache.h"

#include <math.h>

#define MAGIC       "POINTCACHE2" /* with its terminating 0 */
#define HEADER_SIZE ((size_t)32)

static bool sniff(const uint8_t *data, size_t size) {
    return size >= sizeof MAGIC && memcmp(data, MAGIC, sizeof MAGIC) == 0;
}

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static float *read_times(const px_read *read, const px_cache *cache, float start, float rate) {
    double last = ((double)start + (double)rate * (cache->frame_count - 1)) / read->desc->fps;
    if (!(rate > 0) || !isfinite((float)last) || !isfinite(start)) {
        px_log(read->context, PELT_LOG_WARNING, "starts at frame %g with a rate of %g; taken as 0 and 1", (double)start,
               (double)rate);
        return px_cache_frame_times(read, cache->frame_count);
    }
    float *times = PX_NEW(read->model->memory, float, cache->frame_count);
    for (uint32_t k = 0; times && k < cache->frame_count; k++)
        times[k] = (float)(((double)start + (double)rate * k) / read->desc->fps);
    return times;
}

static pelt_result read_pc2(const px_read *read) {
    const uint8_t *data = read->file.data;
    if (!sniff(data, read->file.size))
        return px_fail(read->context, PELT_ERROR_INPUT, "does not begin with POINTCACHE2, as a PC2 file must");
    if (read->file.size < HEADER_SIZE)
        return px_fail(read->context, PELT_ERROR_INPUT, "is cut off: it has %zu bytes, its header alone %zu",
                       read->file.size, HEADER_SIZE);
    uint32_t version = px_load_u32(data + 12), points = px_load_u32(data + 16), frames = px_load_u32(data + 28);
    if (points > INT32_MAX || frames > INT32_MAX)
        return px_fail(read->context, PELT_ERROR_INPUT, "has a damaged header: %d points, %d frames", (int32_t)points,
                       (int32_t)frames);
    if (version != 1)
        px_log(read->context, PELT_LOG_WARNING, "is PC2 version %u; read as version 1", version);
    px_cache cache = {.frame_count = frames, .point_count = points, .data_offset = HEADER_SIZE};
    PX_TRY(px_cache_check_size(read, &cache));
    float start = px_float_from_bits(px_load_u32(data + 20)), rate = px_float_from_bits(px_load_u32(data + 24));
    const float *times = read_times(read, &cache, start, rate);
    return times ? px_cache_add_clip(read, &cache, times) : PELT_ERROR_MEMORY;
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

/* Rounds a number of frames that differs from an integer only by the rounding of float times. */
static double whole(double frames) {
    return fabs(frames - round(frames)) < 1e-3 ? round(frames) : frames;
}

/* Finds start and rate in frames at desc.fps. PC2 has one rate: warns if the times deviate by more than 0.01 frames. */
static void find_rate(const px_write *write, const pelt_clip *clip, float *start, float *rate) {
    double fps = write->desc->fps, first = clip->frame_count ? clip->times[0] : 0, count = clip->frame_count;
    double step = count > 1 ? (clip->times[clip->frame_count - 1] - first) / (count - 1) : 1 / fps;
    *start = (float)whole(first * fps);
    *rate = (float)whole(step * fps);
    if (!(*rate > 0))
        *rate = 1;
    double worst = 0;
    for (uint32_t k = 0; k < clip->frame_count; k++)
        worst = px_fmax(worst, fabs(first + step * k - clip->times[k]));
    if (worst * fps > 0.01)
        px_log(write->context, PELT_LOG_WARNING, "PC2 holds frames at one rate; those of '%s' move by up to %g seconds",
               clip->name, worst);
}

static void store(uint8_t *out, uint32_t value) {
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

static pelt_result write_pc2(const px_write *write) {
    const pelt_clip *clip = &write->model->clips[write->desc->clip];
    if (clip->point_count > INT32_MAX || clip->frame_count > INT32_MAX)
        return px_fail(write->context, PELT_ERROR_OUTPUT, "PC2 cannot count %u points and %u frames", clip->point_count,
                       clip->frame_count);
    float start, rate;
    find_rate(write, clip, &start, &rate);
    uint8_t header[HEADER_SIZE] = MAGIC;
    const uint32_t fields[] = {1, clip->point_count, px_float_bits(start), px_float_bits(rate), clip->frame_count};
    for (size_t i = 0; i < PX_COUNT(fields); i++)
        store(header + 12 + 4 * i, fields[i]);
    px_output_file *file;
    PX_TRY(px_output_open(write->output, write->path, &file));
    PX_TRY(px_output_write(file, header, sizeof header));
    return px_cache_write_frames(write, clip, false, file);
}

const px_format px_format_pc2 = {
    .info = {"PC2", "pc2", "PC2 point cache",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_CLIP | PELT_FORMAT_CACHE},
    .sniff = sniff,
    .read = read_pc2,
    .write = write_pc2,
};
