/* A small bitmap font, and text drawing on pictures. */
#include "view/view.h"

#define GLYPHS_PER_LINE 16
#define BOX             0x7F

/* Printable ASCII from the space on. The last glyph is the box for all other characters. */
static const char *const glyphs[] = {
    "        #    # #   # #    #   ##     ##     #      #   #                                       ",
    "        #    # #   # #   #### ##  # #  #    #     #     #   # # #   #                         #",
    "        #         ##### # #      #  # #          #       #   ###    #                        # ",
    "        #          # #   ###    #    #           #       #  ##### #####       #####         #  ",
    "        #         #####   # #  #    # # #        #       #   ###    #    ##                #   ",
    "                   # #  ####  #  ## #  #          #     #   # # #   #     #          ##   #    ",
    "        #          # #    #      ##  ## #          #   #                 #           ##        ",

    " ###    #    ###  #####    #  #####   ##  #####  ###   ###                 #         #     ### ",
    "#   #  ##   #   #    #    ##  #      #        # #   # #   #  ##    ##     #           #   #   #",
    "#  ##   #       #   #    # #  ####  #        #  #   # #   #  ##    ##    #    #####    #      #",
    "# # #   #      #     #  #  #      # ####    #    ###   ####             #               #    # ",
    "##  #   #     #       # #####     # #   #  #    #   #     #  ##    ##    #    #####    #    #  ",
    "#   #   #    #    #   #    #  #   # #   #  #    #   #    #   ##     #     #           #        ",
    " ###   ###  #####  ###     #   ###   ###   #     ###   ##          #       #         #      #  ",

    " ###   ###  ####   ###  ###   ##### #####  ###  #   #  ###    ### #   # #     #   # #   #  ### ",
    "#   # #   # #   # #   # #  #  #     #     #   # #   #   #      #  #  #  #     ## ## #   # #   #",
    "# ### #   # #   # #     #   # #     #     #     #   #   #      #  # #   #     # # # ##  # #   #",
    "# # # ##### ####  #     #   # ####  ####  # ### #####   #      #  ##    #     # # # # # # #   #",
    "# ### #   # #   # #     #   # #     #     #   # #   #   #      #  # #   #     #   # #  ## #   #",
    "#     #   # #   # #   # #  #  #     #     #   # #   #   #   #  #  #  #  #     #   # #   # #   #",
    " #### #   # ####   ###  ###   ##### #      #### #   #  ###   ##   #   # ##### #   # #   #  ### ",

    "####   ###  ####   #### ##### #   # #   # #   # #   # #   # #####  ###         ###    #        ",
    "#   # #   # #   # #       #   #   # #   # #   # #   # #   #     #  #    #        #   # #       ",
    "#   # #   # #   # #       #   #   # #   # #   #  # #   # #     #   #     #       #  #   #      ",
    "####  #   # ####   ###    #   #   # #   # # # #   #     #     #    #      #      #             ",
    "#     # # # # #       #   #   #   # #   # # # #  # #    #    #     #       #     #             ",
    "#     #  #  #  #      #   #   #   #  # #  ## ## #   #   #   #      #        #    #             ",
    "#      ## # #   # ####    #    ###    #   #   # #   #   #   #####  ###         ###        #####",

    " #          #               #         ##        #       #      #  #      ##                    ",
    "  #         #               #        #  #       #                 #       #                    ",
    "       ###  ####   ###   ####  ###   #     #### # ##   ##     ##  #  #    #   ## #  # ##   ### ",
    "          # #   # #     #   # #   # ###   #   # ##  #   #      #  # #     #   # # # ##  # #   #",
    "       #### #   # #     #   # #####  #     #### #   #   #      #  ##      #   # # # #   # #   #",
    "      #   # #   # #   # #   # #      #        # #   #   #   #  #  # #     #   #   # #   # #   #",
    "       #### ####   ###   ####  ###   #     ###  #   #  ###   ##   #  #   ###  #   # #   #  ### ",

    "                         #                                           #    #    #          #####",
    "                         #                                          #     #     #         #   #",
    "####   #### # ##   ###  ###   #   # #   # #   # #   # #   # #####   #     #     #    #    #   #",
    "#   # #   # ##  # #      #    #   # #   # #   #  # #  #   #    #   #      #      #  # # # #   #",
    "####   #### #      ###   #    #   # #   # # # #   #    ####   #     #     #     #      #  #   #",
    "#         # #         #  #  # #  ##  # #  # # #  # #      #  #      #     #     #         #   #",
    "#         # #     ####    ##   ## #   #    # #  #   #  ###  #####    #    #    #          #####",
};

static bool glyph_dot(uint32_t code, uint32_t column, uint32_t row) {
    uint32_t g = code - ' ';
    const char *line = glyphs[g / GLYPHS_PER_LINE * PX_TEXT_HEIGHT + row];
    return line[g % GLYPHS_PER_LINE * PX_TEXT_ADVANCE + column] == '#';
}

/* Reads one UTF-8 character and advances. Accepts invalid UTF-8. */
static uint32_t next_code(const char **text) {
    const unsigned char *p = (const unsigned char *)*text;
    uint32_t code = *p >= ' ' && *p < BOX ? *p : BOX;
    for (p++; (*p & 0xC0) == 0x80;)
        p++;
    *text = (const char *)p;
    return code;
}

uint32_t px_text_width(const char *text) {
    uint32_t count = 0;
    for (; *text; next_code(&text))
        count++;
    return count ? PX_TEXT_ADVANCE * count - 1 : 0;
}

/* Composites a colour over a pixel; both have straight alpha. */
static void over(uint8_t pixel[4], const uint8_t rgb[3], float alpha) {
    float below = (float)pixel[3] / 255 * (1 - alpha), sum = alpha + below;
    for (int c = 0; c < 3 && sum > 0; c++)
        pixel[c] = (uint8_t)(((float)rgb[c] * alpha + (float)pixel[c] * below) / sum + 0.5f);
    pixel[3] = (uint8_t)(sum * 255 + 0.5f);
}

static int64_t clamp(int64_t value, int64_t high) {
    return value < 0 ? 0 : value > high ? high : value;
}

void px_canvas_rect(const px_canvas *canvas, int64_t x, int64_t y, int64_t width, int64_t height, const uint8_t rgb[3],
                    float alpha) {
    int64_t x1 = clamp(x + width, canvas->width), y1 = clamp(y + height, canvas->height);
    for (int64_t row = clamp(y, canvas->height); row < y1; row++)
        for (int64_t column = clamp(x, canvas->width); column < x1; column++)
            over(canvas->pixels + 4 * ((size_t)row * canvas->width + (size_t)column), rgb, alpha);
}

void px_canvas_text(const px_canvas *canvas, int64_t x, int64_t y, uint32_t dot, const uint8_t rgb[3],
                    const char *text) {
    for (; *text; x += (int64_t)PX_TEXT_ADVANCE * dot) {
        uint32_t code = next_code(&text);
        for (uint32_t row = 0; row < PX_TEXT_HEIGHT; row++)
            for (uint32_t column = 0; column + 1 < PX_TEXT_ADVANCE; column++)
                if (glyph_dot(code, column, row))
                    px_canvas_rect(canvas, x + (int64_t)column * dot, y + (int64_t)row * dot, dot, dot, rgb, 1);
    }
}
