/* Replaces the bundled page in builds without node: see pelt_page_save. */
#include "view/page.h"

const unsigned char px_page_head[1] = {0}, px_page_tail[1] = {0};
const size_t px_page_head_size = 0, px_page_tail_size = 0;
