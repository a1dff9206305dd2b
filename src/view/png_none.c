/* Replaces png.c in builds without libpng. */
#include "view/view.h"

static pelt_result fail(pelt_context *context, const char *path) {
    return px_fail(context, PELT_ERROR_UNSUPPORTED,
                   "%s: this build cannot read or write PNG pictures (it was built without libpng)", path);
}

pelt_result px_png_write(pelt_context *context, const char *path, uint32_t width, uint32_t height,
                         const uint8_t *pixels) {
    (void)width, (void)height, (void)pixels;
    return fail(context, path);
}

pelt_result pelt_image_luminance(pelt_context *context, const char *path, const float *uvs, size_t count, float *out) {
    (void)uvs, (void)count, (void)out;
    return fail(context, path);
}
