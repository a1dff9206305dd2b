/* The HTML page that web/build.mjs makes from web/: the text before and after the data. Sizes are 0 in builds without
 * node. */
#ifndef PELT_VIEW_PAGE_H
#define PELT_VIEW_PAGE_H

#include <stddef.h>

extern const unsigned char px_page_head[], px_page_tail[];
extern const size_t px_page_head_size, px_page_tail_size;

#endif
