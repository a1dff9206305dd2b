/* The HTML page that web/build.mjs makes from web/: the text before and after the data. Sizes are 0 in builds without
 * node. */
#ifndef PELT_VIEW_PAGE_H
#define PELT_VIEW_PAGE_H

#include "io/io.h"

extern const unsigned char px_page_head[], px_page_tail[];
extern const size_t px_page_head_size, px_page_tail_size;

/* Writes base64. A block may be written in pieces; all but the last must hold a multiple of 3 bytes. */
pelt_result px_page_base64(px_output_file *file, const void *data, size_t size);
/* The script element of the block pelt-NAME. `more`: the beginning of further attributes, which the caller ends with ">; NULL: none. */
pelt_result px_page_block_open(px_output_file *file, const char *name, const char *more);
pelt_result px_page_block_close(px_output_file *file);

#endif
