/* What the point caches share: a header, then float xyz, frame by frame. */
#ifndef PELT_IO_CACHE_H
#define PELT_IO_CACHE_H

#include "io/io.h"

/* What a cache's header promises. */
typedef struct px_cache {
    uint32_t frame_count, point_count;
    size_t data_offset; /* of the first frame */
    bool big_endian;
} px_cache;

/* Checks the promise against the file's size, fits the model to it and adds the clip, named after the file. `times`
 * [frame] must live in the model. Frames are used where they are mapped when the machine can read them so, and else
 * converted whenever they are read. */
pelt_result px_cache_add_clip(const px_read *read, const px_cache *cache, const float *times);
/* The same check alone: readers use it before they allocate by the header's counts. */
pelt_result px_cache_check_size(const px_read *read, const px_cache *cache);
/* Frame k at k / fps, for caches whose own times are of no use. NULL: out of memory. */
float *px_cache_frame_times(const px_read *read, uint32_t frame_count);

/* Writes all frames of a clip, one at a time. */
pelt_result px_cache_write_frames(const px_write *write, const pelt_clip *clip, bool big_endian, px_output_file *file);

#endif
