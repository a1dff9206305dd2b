/* Legends that explain the colours of a picture (a colour bar with numbers below the picture), and labels of the cells.
 */
#include "view/view.h"

#include <stdio.h>

/* Sizes in dots of the font. */
#define MARGIN    6
#define GAP       3
#define BAR_LEAST 60
#define BAR_MOST  140
#define STRIP     (2 * MARGIN + 2 * PX_TEXT_HEIGHT + GAP)
#define SLOT      (BAR_LEAST + 10 * PX_TEXT_ADVANCE + 3 * MARGIN) /* smallest width of a bar with its title */

static uint32_t dot_size(const pelt_picture_desc *desc) {
    uint32_t least = desc->width < desc->height ? desc->width : desc->height;
    return least < 440 ? 1 : least < 900 ? 2 : (least + 180) / 360;
}

static bool has_scale(pelt_picture_mode mode) {
    return mode == PELT_PICTURE_WEIGHTS || mode == PELT_PICTURE_INFLUENCES || mode == PELT_PICTURE_ERROR ||
           mode == PELT_PICTURE_DISPLACEMENT;
}

/* Lists the modes that get a bar; desc->mode comes first. */
static uint32_t list_modes(const pelt_picture_desc *desc, pelt_picture_mode modes[2]) {
    uint32_t count = 0;
    if (has_scale((pelt_picture_mode)desc->mode))
        modes[count++] = (pelt_picture_mode)desc->mode;
    for (uint32_t m = 0; m < PELT_PICTURE_MODE_COUNT; m++)
        if (m != desc->mode && has_scale((pelt_picture_mode)m) && px_picture_has(desc, (pelt_picture_mode)m))
            modes[count++] = (pelt_picture_mode)m;
    return count;
}

uint32_t px_legend_height(const pelt_picture_desc *desc) {
    pelt_picture_mode modes[2];
    uint32_t dot = dot_size(desc), count = list_modes(desc, modes);
    bool fits = desc->width >= count * SLOT * dot && desc->height >= 4 * STRIP * dot;
    return count > 0 && fits && !desc->no_legend ? STRIP * dot : 0;
}

typedef struct bar {
    char title[96];
    double low, high;
    bool middle; /* label the middle value too */
    px_color (*color)(float);
} bar;

static pelt_result describe(pelt_context *context, const px_shot *shot, pelt_picture_mode mode, bar *b) {
    *b = (bar){.low = 0, .high = 1, .middle = true, .color = px_color_heat};
    const px_reference *reference = px_shot_reference(shot, mode);
    if (reference) {
        b->high = reference->max;
        snprintf(b->title, sizeof b->title, "%s in object units",
                 mode == PELT_PICTURE_ERROR ? "error" : "distance from rest");
    } else if (mode == PELT_PICTURE_INFLUENCES) {
        b->low = 1, b->high = PELT_MAX_INFLUENCES, b->middle = false, b->color = px_color_count;
        snprintf(b->title, sizeof b->title, "bones of a vertex");
    } else {
        uint32_t joint;
        PX_TRY(px_view_joint(context, shot->model, shot->desc->joint, &joint));
        const char *name = shot->model->skeleton.names[joint];
        if (*name)
            snprintf(b->title, sizeof b->title, "weight of %s", name);
        else
            snprintf(b->title, sizeof b->title, "weight of joint %u", joint);
    }
    return PELT_OK;
}

/* Shortens a title to `count` letters; count > 2. A multi-byte character that is cut still shows as one letter. */
static void shorten(char *title, size_t count) {
    if (strlen(title) > count)
        snprintf(title + count - 2, 3, "..");
}

static void write_number(const px_canvas *canvas, int64_t x, int64_t y, uint32_t dot, const uint8_t ink[3],
                         double value, double align) {
    char text[32];
    snprintf(text, sizeof text, "%.3g", value);
    px_canvas_text(canvas, x - (int64_t)lround(align * px_text_width(text) * dot), y, dot, ink, text);
}

/* Draws the title, the bar to its right, and the numbers below the bar. `slot` is in dots. */
static void draw_bar(const px_canvas *canvas, bar *b, int64_t x, int64_t y, uint32_t slot, uint32_t dot,
                     const uint8_t ink[3]) {
    uint32_t most = slot - 3 * MARGIN - BAR_LEAST;
    shorten(b->title, most / PX_TEXT_ADVANCE);
    uint32_t title = px_text_width(b->title), left = slot - 3 * MARGIN - title;
    uint32_t width = (left < BAR_MOST ? left : BAR_MOST) * dot;
    int64_t top = y + MARGIN * (int64_t)dot, start = x + (2 * MARGIN + title) * (int64_t)dot;
    px_canvas_text(canvas, x + MARGIN * (int64_t)dot, top, dot, ink, b->title);
    for (uint32_t column = 0; column < width; column++) {
        px_color c = b->color(((float)column + 0.5f) / (float)width);
        const uint8_t rgb[3] = {px_color_encode(c.r), px_color_encode(c.g), px_color_encode(c.b)};
        px_canvas_rect(canvas, start + column, top, 1, (int64_t)PX_TEXT_HEIGHT * dot, rgb, 1);
    }
    int64_t below = top + (PX_TEXT_HEIGHT + GAP) * (int64_t)dot;
    write_number(canvas, start, below, dot, ink, b->low, 0);
    if (b->middle)
        write_number(canvas, start + width / 2, below, dot, ink, (b->low + b->high) / 2, 0.5);
    write_number(canvas, start + width, below, dot, ink, b->high, 1);
}

static const uint8_t *ink_of(const pelt_picture_desc *desc) {
    static const uint8_t dark[3] = {0x2A, 0x2F, 0x38}, light[3] = {0xE6, 0xE9, 0xEE};
    return desc->background == PELT_PICTURE_DARK ? light : dark;
}

pelt_result px_legend_draw(pelt_context *context, const px_shot *shot, const px_canvas *canvas) {
    const pelt_picture_desc *desc = shot->desc;
    uint32_t height = px_legend_height(desc), dot = dot_size(desc), y = canvas->height - height;
    pelt_picture_mode modes[2];
    uint32_t count = height > 0 ? list_modes(desc, modes) : 0;
    if (count > 0 && desc->background == PELT_PICTURE_TRANSPARENT) /* text needs a background */
        px_canvas_rect(canvas, 0, y, canvas->width, height, (const uint8_t[3]){255, 255, 255}, 0.85f);
    for (uint32_t m = 0; m < count; m++) {
        bar b;
        PX_TRY(describe(context, shot, modes[m], &b));
        draw_bar(canvas, &b, (int64_t)canvas->width * m / count, y, canvas->width / count / dot, dot, ink_of(desc));
    }
    return PELT_OK;
}

void px_label_draw(const pelt_picture_desc *desc, const px_canvas *canvas, uint32_t x, uint32_t y, const char *text) {
    uint32_t dot = dot_size(desc);
    px_canvas_text(canvas, (int64_t)x + MARGIN * dot, (int64_t)y + MARGIN * dot, dot, ink_of(desc), text);
}
