/* PNG files, the only place that knows libpng. */
#include "io/io.h"
#include "view/view.h"

#include <png.h>
#include <setjmp.h>

typedef struct writer {
    pelt_context *context;
    px_output_file *file;
    pelt_result result; /* of the first failure */
    jmp_buf leave;      /* libpng leaves by jumping: to one place of ours, past nothing that must be freed */
} writer;

static void on_error(png_structp png, png_const_charp text) {
    writer *w = png_get_error_ptr(png);
    if (w->result == PELT_OK)
        w->result = px_fail(w->context, PELT_ERROR_OUTPUT, "the picture cannot be written as PNG: %s", text);
    longjmp(w->leave, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png, (void)text;
}

static void on_write(png_structp png, png_bytep data, size_t size) {
    writer *w = png_get_io_ptr(png);
    w->result = px_output_write(w->file, data, size);
    if (w->result != PELT_OK)
        png_error(png, "write");
}

static void on_flush(png_structp png) {
    (void)png;
}

static png_voidp on_malloc(png_structp png, png_alloc_size_t size) {
    writer *w = png_get_mem_ptr(png);
    void *block = px_alloc(w->context, size, 1);
    if (!block)
        w->result = PELT_ERROR_MEMORY;
    return block;
}

static void on_free(png_structp png, png_voidp block) {
    writer *w = png_get_mem_ptr(png);
    px_free(w->context, block);
}

static bool is_opaque(uint32_t width, uint32_t height, const uint8_t *pixels) {
    for (size_t p = 0; p < (size_t)width * height; p++)
        if (pixels[4 * p + 3] != 255)
            return false;
    return true;
}

/* Everything that may jump. Without alpha where there is none: a smaller file that shows the same. */
static void encode(png_structp png, png_infop info, uint32_t width, uint32_t height, const uint8_t *pixels) {
    bool opaque = is_opaque(width, height, pixels);
    png_set_IHDR(png, info, width, height, 8, opaque ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGB_ALPHA,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_set_compression_level(png, 9);
    png_write_info(png, info);
    if (opaque)
        png_set_filler(png, 0, PNG_FILLER_AFTER);
    for (uint32_t y = 0; y < height; y++)
        png_write_row(png, pixels + (size_t)4 * width * y);
    png_write_end(png, info);
}

static pelt_result write_file(writer *w, uint32_t width, uint32_t height, const uint8_t *pixels) {
    png_structp volatile png = NULL;
    png_infop volatile info = NULL;
    if (setjmp(w->leave) == 0) {
        png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, w, on_error, on_warning, w, on_malloc, on_free);
        info = png ? png_create_info_struct(png) : NULL;
        if (info) {
            png_set_write_fn(png, w, on_write, on_flush);
            encode(png, info, width, height, pixels);
        } else if (w->result == PELT_OK) {
            w->result = px_fail_memory(w->context);
        }
    }
    png_structp end_png = png;
    png_infop end_info = info;
    if (end_png)
        png_destroy_write_struct(&end_png, &end_info);
    return w->result;
}

pelt_result px_png_write(pelt_context *context, const char *path, uint32_t width, uint32_t height,
                         const uint8_t *pixels) {
    px_output *output = px_output_begin(context, true);
    if (!output)
        return PELT_ERROR_MEMORY;
    writer w = {.context = context};
    w.result = px_output_open(output, path, &w.file);
    if (w.result == PELT_OK)
        write_file(&w, width, height, pixels);
    if (w.result == PELT_OK)
        return px_output_commit(output);
    px_output_abort(output);
    return w.result;
}
