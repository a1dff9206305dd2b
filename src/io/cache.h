/* Shared by the point cache formats (PC2, MDD): a header, then float xyz positions, frame by frame. */
#ifndef PELT_IO_CACHE_H
#define PELT_IO_CACHE_H

#include "io/io.h"

/* Contents of a cache's header. Not checked against the file size. */
typedef struct px_cache {
    uint32_t frame_count, point_count;
    size_t data_offset; /* byte offset of the first frame */
    bool big_endian;
} px_cache;

/* Checks the header against the file's size, fits the model to the point count and adds the clip, named after the file.
 * `times` [frame] must live as long as the model. Frames are used in place if their byte order and alignment are
 * native, else they are converted on every read. */
pelt_result px_cache_add_clip(const px_read *read, const px_cache *cache, const float *times);
/* The size check alone. Readers call it before they allocate by the header's counts. */
pelt_result px_cache_check_size(const px_read *read, const px_cache *cache);
/* Frame k at k / fps, for caches whose own times are unusable. NULL: out of memory. */
float *px_cache_frame_times(const px_read *read, uint32_t frame_count);

/* Writes all frames of a clip. Memory: one frame. */
pelt_result px_cache_write_frames(const px_write *write, const pelt_clip *clip, bool big_endian, px_output_file *file);
/* The part of another process than 0 in writing a cache: evaluates its share of the frames and sends them. */
pelt_result px_cache_send_frames(const px_write *write);

#endif
