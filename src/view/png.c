/* PNG writer; the only file that calls libpng. */
#include "io/io.h"
#include "view/view.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>

/* State of one file that libpng writes or reads. */
typedef struct codec {
    pelt_context *context;
    px_output_file *file;   /* output; NULL when reading */
    const uint8_t *p, *end; /* remaining input, when reading */
    pelt_result result;     /* first failure */
    jmp_buf leave;          /* libpng reports errors by longjmp; no frame in between owns memory */
} codec;

static void on_error(png_structp png, png_const_charp text) {
    codec *c = png_get_error_ptr(png);
    if (c->result == PELT_OK)
        c->result = c->file ? px_fail(c->context, PELT_ERROR_OUTPUT, "the picture cannot be written as PNG: %s", text)
                            : px_fail(c->context, PELT_ERROR_INPUT, "cannot be read as a PNG picture: %s", text);
    longjmp(c->leave, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png, (void)text;
}

static void on_write(png_structp png, png_bytep data, size_t size) {
    codec *c = png_get_io_ptr(png);
    c->result = px_output_write(c->file, data, size);
    if (c->result != PELT_OK)
        png_error(png, "write");
}

static void on_flush(png_structp png) {
    (void)png;
}

static png_voidp on_malloc(png_structp png, png_alloc_size_t size) {
    codec *c = png_get_mem_ptr(png);
    void *block = px_alloc(c->context, size, 1);
    if (!block)
        c->result = PELT_ERROR_MEMORY;
    return block;
}

static void on_free(png_structp png, png_voidp block) {
    codec *c = png_get_mem_ptr(png);
    px_free(c->context, block);
}

/* ---- Writing ----------------------------------------------------------------------------------------------- */

static bool is_opaque(uint32_t width, uint32_t height, const uint8_t *pixels) {
    for (size_t p = 0; p < (size_t)width * height; p++)
        if (pixels[4 * p + 3] != 255)
            return false;
    return true;
}

/* All calls that may longjmp. Writes no alpha channel if the picture is opaque: a smaller file with the same look. */
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

static pelt_result write_file(codec *c, uint32_t width, uint32_t height, const uint8_t *pixels) {
    png_structp volatile png = NULL;
    png_infop volatile info = NULL;
    if (setjmp(c->leave) == 0) {
        png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, c, on_error, on_warning, c, on_malloc, on_free);
        info = png ? png_create_info_struct(png) : NULL;
        if (info) {
            png_set_write_fn(png, c, on_write, on_flush);
            encode(png, info, width, height, pixels);
        } else if (c->result == PELT_OK) {
            c->result = px_fail_memory(c->context);
        }
    }
    png_structp end_png = png;
    png_infop end_info = info;
    if (end_png)
        png_destroy_write_struct(&end_png, &end_info);
    return c->result;
}

pelt_result px_png_write(pelt_context *context, const char *path, uint32_t width, uint32_t height,
                         const uint8_t *pixels) {
    px_output *output = px_output_begin(context, true);
    if (!output)
        return PELT_ERROR_MEMORY;
    codec c = {.context = context};
    c.result = px_output_open(output, path, &c.file);
    if (c.result == PELT_OK)
        write_file(&c, width, height, pixels);
    if (c.result == PELT_OK)
        return px_output_commit(output);
    px_output_abort(output);
    return c.result;
}

/* ---- Reading ----------------------------------------------------------------------------------------------- */

typedef struct image {
    uint32_t width, height;
    uint8_t *pixels; /* [height][width][3] RGB, top row first */
} image;

static void on_read(png_structp png, png_bytep data, size_t size) {
    codec *c = png_get_io_ptr(png);
    if ((size_t)(c->end - c->p) < size)
        png_error(png, "it ends too early");
    memcpy(data, c->p, size);
    c->p += size;
}

/* All calls that may longjmp. Converts every pixel format to 8-bit RGB. */
static void decode(codec *c, png_structp png, png_infop info, image *out) {
    png_set_user_limits(png, PELT_PICTURE_MAX_SIDE, PELT_PICTURE_MAX_SIDE);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    out->width = png_get_image_width(png, info);
    out->height = png_get_image_height(png, info);
    out->pixels = px_alloc(c->context, (size_t)out->width * out->height, 3);
    if (!out->pixels) {
        c->result = PELT_ERROR_MEMORY;
        png_error(png, "memory");
    }
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = 0; y < out->height; y++)
            png_read_row(png, out->pixels + (size_t)3 * out->width * y, NULL);
    png_read_end(png, NULL);
}

static pelt_result read_file(codec *c, image *out) {
    png_structp volatile png = NULL;
    png_infop volatile info = NULL;
    if (setjmp(c->leave) == 0) {
        png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, c, on_error, on_warning, c, on_malloc, on_free);
        info = png ? png_create_info_struct(png) : NULL;
        if (info) {
            png_set_read_fn(png, c, on_read);
            decode(c, png, info, out);
        } else if (c->result == PELT_OK) {
            c->result = px_fail_memory(c->context);
        }
    }
    png_structp end_png = png;
    png_infop end_info = info;
    if (end_png)
        png_destroy_read_struct(&end_png, &end_info, NULL);
    return c->result;
}

/* Rec. 709 weights on the stored (non-linear) values: a pixel painted as half gives ½. */
static double luminance(const image *picture, size_t x, size_t y) {
    const uint8_t *p = picture->pixels + 3 * (y * picture->width + x);
    return (0.2126 * p[0] + 0.7152 * p[1] + 0.0722 * p[2]) / 255;
}

/* Linear interpolation along one side, with wrap-around: the pixels whose centres are before and after a place. Returns
 * the weight of the second. */
static double between(double place, uint32_t size, size_t *a, size_t *b) {
    double at = (place - floor(place)) * size - 0.5, first = floor(at);
    *a = (size_t)(first < 0 ? size - 1 : first);
    *b = (*a + 1) % size;
    return at - first;
}

static float sample(const image *picture, const float uv[2]) {
    size_t x[2], y[2];
    if (!isfinite(uv[0]) || !isfinite(uv[1]))
        return NAN;
    double s = between((double)uv[0], picture->width, &x[0], &x[1]);
    double t = between(1 - (double)uv[1], picture->height, &y[0], &y[1]);
    double above = (1 - s) * luminance(picture, x[0], y[0]) + s * luminance(picture, x[1], y[0]);
    double below = (1 - s) * luminance(picture, x[0], y[1]) + s * luminance(picture, x[1], y[1]);
    return (float)((1 - t) * above + t * below);
}

pelt_result pelt_image_luminance(pelt_context *context, const char *path, const float *uvs, size_t count, float *out) {
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    const char *subject = px_subject(context, path);
    image picture = {0};
    px_file file = {0};
    pelt_result result = px_file_open(arena, path, &file);
    if (result == PELT_OK) {
        codec c = {.context = context, .p = file.data, .end = file.data + file.size};
        result = read_file(&c, &picture);
    }
    for (size_t i = 0; result == PELT_OK && i < count; i++)
        out[i] = sample(&picture, uvs + 2 * i);
    px_free(context, picture.pixels);
    px_subject(context, subject);
    px_arena_destroy(arena);
    return result;
}
