/* Colours and colour maps. Maps are piecewise linear in OKLab (Ottosson 2020), where equal steps look equally large. */
#include "view/view.h"

typedef struct lab {
    float l, a, b;
} lab;

uint8_t px_color_encode(float linear) {
    if (!(linear > 0))
        return 0;
    float s = linear <= 0.0031308f ? 12.92f * linear : 1.055f * px_powf(linear, 1 / 2.4f) - 0.055f;
    return s >= 1 ? 255 : (uint8_t)(s * 255 + 0.5f);
}

static float decode(uint32_t byte) {
    float s = (float)(byte & 255) / 255;
    return s <= 0.04045f ? s / 12.92f : px_powf((s + 0.055f) / 1.055f, 2.4f);
}

px_color px_color_decode(uint32_t rgb) {
    return (px_color){decode(rgb >> 16), decode(rgb >> 8), decode(rgb)};
}

px_color px_color_mix(px_color a, px_color b, float u) {
    return (px_color){a.r + (b.r - a.r) * u, a.g + (b.g - a.g) * u, a.b + (b.b - a.b) * u};
}

static px_color from_lab(lab c) {
    float l = c.l + 0.3963377774f * c.a + 0.2158037573f * c.b;
    float m = c.l - 0.1055613458f * c.a - 0.0638541728f * c.b;
    float s = c.l - 0.0894841775f * c.a - 1.2914855480f * c.b;
    l *= l * l, m *= m * m, s *= s * s;
    return (px_color){px_fmaxf(0, 4.0767416621f * l - 3.3077115913f * m + 0.2309699292f * s),
                      px_fmaxf(0, -1.2684380046f * l + 2.6097574011f * m - 0.3413193965f * s),
                      px_fmaxf(0, -0.0041960863f * l - 0.7034186147f * m + 1.7076147010f * s)};
}

static lab from_hue(float l, float chroma, float degrees) {
    float angle = degrees * 0.01745329252f;
    return (lab){l, chroma * px_cosf(angle), chroma * px_sinf(angle)};
}

px_color px_color_category(uint32_t index) {
    /* Hue steps of 85°: 360° · φ⁻³ (golden ratio), so that hues hardly ever repeat. Neighbours are far enough apart to
     * distinguish and near enough that their blend is still saturated. The lightness separates similar hues. */
    static const float lightness[] = {0.77f, 0.69f, 0.84f};
    float turn = fmodf(0.23606798f * (float)(index % 4096), 1);
    return from_lab(from_hue(lightness[index % 3], 0.130f, 25 + 360 * turn));
}

static px_color along(const lab *stops, int stop_count, float u) {
    u = px_fminf(px_fmaxf(u, 0), 1) * (float)(stop_count - 1);
    int s = (int)u < stop_count - 1 ? (int)u : stop_count - 2;
    float f = u - (float)s;
    return from_lab((lab){stops[s].l + (stops[s + 1].l - stops[s].l) * f,
                          stops[s].a + (stops[s + 1].a - stops[s].a) * f,
                          stops[s].b + (stops[s + 1].b - stops[s].b) * f});
}

px_color px_color_heat(float heat) {
    const lab stops[] = {from_hue(0.90f, 0.010f, 250), from_hue(0.84f, 0.120f, 90), from_hue(0.72f, 0.155f, 58),
                         from_hue(0.57f, 0.185f, 25), from_hue(0.38f, 0.130f, 350)};
    return along(stops, (int)PX_COUNT(stops), heat);
}

px_color px_color_count(float count) {
    const lab stops[] = {from_hue(0.91f, 0.020f, 120), from_hue(0.76f, 0.090f, 190), from_hue(0.58f, 0.115f, 240),
                         from_hue(0.38f, 0.130f, 280)};
    return along(stops, (int)PX_COUNT(stops), count);
}

px_color px_color_clay(void) {
    return from_lab(from_hue(0.865f, 0.022f, 62));
}
