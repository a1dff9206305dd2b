/* Precomputed radiance transfer (Sloan, Kautz and Snyder 2002) of a moving rig, as in "Skinning Mesh Animations" (James
 * and Twigg 2005, section 6): the light that leaves a vertex is a linear function of the light around the rig,
 *   colour = Σ_c T_c · L_c,   T_c = 1/π ∫ V(ω) max(n·ω, 0) Y_c(ω) dω + reflections,
 * with L the coefficients of that light in real spherical harmonics Y. The vectors T of all frames are compressed by a
 * truncated SVD, T(k) ≈ Σ_r weights[k][r] · patterns[r].
 *
 * Coefficients are in the order l = 0, 1 …, m = −l … l, with the polar axis z. */
#include "light/light.h"

#include <math.h>

#define PI 3.14159265358979323846

void px_harmonics(const double d[3], uint32_t band_count, double *out) {
    double x = d[0], y = d[1], z = d[2];
    out[0] = 0.5 * sqrt(1 / PI);
    double a = sqrt(3 / (4 * PI)), b = 0.5 * sqrt(15 / PI), c = 0.25 * sqrt(5 / PI);
    out[1] = a * y;
    out[2] = a * z;
    out[3] = a * x;
    out[4] = b * x * y;
    out[5] = b * y * z;
    out[6] = c * (3 * z * z - 1);
    out[7] = b * x * z;
    out[8] = 0.5 * b * (x * x - y * y);
    if (band_count < 4)
        return;
    double e = 0.25 * sqrt(35 / (2 * PI)), f = 0.5 * sqrt(105 / PI), g = 0.25 * sqrt(21 / (2 * PI));
    out[9] = e * y * (3 * x * x - y * y);
    out[10] = f * x * y * z;
    out[11] = g * y * (5 * z * z - 1);
    out[12] = 0.25 * sqrt(7 / PI) * z * (5 * z * z - 3);
    out[13] = g * x * (5 * z * z - 1);
    out[14] = 0.5 * f * z * (x * x - y * y);
    out[15] = e * x * (x * x - 3 * y * y);
}

/* Share of a band in the cosine lobe over π: T_c = lobe · Y_c(n) without shadows. */
static double lobe(uint32_t band) {
    static const double shares[] = {1, 2.0 / 3, 0.25, 0};
    return shares[band];
}

/* A sky that blends from `ground` below to `sky` above, and a sun. A sun is too small for a few bands: it is blurred by
 * a Hann window, which avoids dark rings, and scaled so that a surface that faces it in the open gets its colour. */
void px_light_environment(const pelt_light_desc *desc, double out[][3]) {
    uint32_t bands = desc->bands;
    double d[3], values[PX_LIGHT_CHANNELS], scale = 0, length = 0;
    for (int c = 0; c < 3; c++)
        length += desc->sun[c] * desc->sun[c];
    for (int c = 0; c < 3; c++)
        d[c] = desc->sun[c] / sqrt(length);
    px_harmonics(d, bands, values);
    for (uint32_t l = 0; l < bands; l++)
        scale += lobe(l) * 0.5 * (1 + px_cos(PI * l / (bands + 1))) * (2 * l + 1) / (4 * PI);
    for (uint32_t l = 0, n = 0; l < bands; l++)
        for (uint32_t m = 0; m < 2 * l + 1; m++, n++)
            for (int c = 0; c < 3; c++) {
                double mean = 0.5 * (desc->sky[c] + desc->ground[c]), slope = 0.5 * (desc->sky[c] - desc->ground[c]);
                out[n][c] = desc->sun_color[c] * values[n] * 0.5 * (1 + px_cos(PI * l / (bands + 1))) / scale;
                out[n][c] += n == 0 ? mean * sqrt(4 * PI) : n == 1 ? slope * sqrt(4 * PI / 3) : 0; /* 1 and y */
            }
}

pelt_result px_light_transfer(px_light *l, pelt_light_report *report) {
    size_t classes = l->model->mesh.weld.count, count = l->channel_count;
    double environment[PX_LIGHT_CHANNELS][3];
    l->transfer = l->colors;
    l->transfer_columns = l->column_count;
    l->transfer_rank = (uint32_t)px_min_size(l->desc.transfer_rank, l->frame_count);
    l->transfer_weights = PX_NEW(l->arena, double, (size_t)l->frame_count * l->transfer_rank);
    l->transfer_patterns = PX_NEW(l->arena, double, px_mul_size(l->transfer_rank, l->column_count));
    if (!l->transfer_weights || !l->transfer_patterns)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_light_svd(l->context, l->transfer, l->frame_count, l->column_count, l->transfer_rank, l->transfer_weights,
                        l->transfer_patterns, report->transfer_bounds));
    report->transfer_rank = l->transfer_rank;
    report->coefficient_count = l->channel_count;
    /* From here on, colours are those of the chosen light. */
    l->channel_count = 3;
    l->column_count = 3 * classes;
    l->colors = PX_NEW(l->arena, double, px_mul_size(l->frame_count, l->column_count));
    if (!l->colors)
        return PELT_ERROR_MEMORY;
    px_light_environment(&l->desc, environment);
    for (size_t e = 0; e < (size_t)l->frame_count * classes; e++)
        for (size_t c = 0; c < 3; c++) {
            double sum = 0;
            for (size_t n = 0; n < count; n++)
                sum += l->transfer[e * count + n] * environment[n][c];
            l->colors[3 * e + c] = px_fmax(sum, 0); /* bands may ring below 0 */
        }
    return PELT_OK;
}

/* Patterns: [plane][vertex][4], values of a vertex in the order [pattern][coefficient]. */
pelt_result px_light_store(px_light *l, const pelt_transfer **out) {
    pelt_model *model = l->model;
    size_t vertices = model->mesh.vertex_count, coefficients = l->transfer_columns / model->mesh.weld.count;
    size_t values = l->transfer_rank * coefficients, planes = (values + 3) / 4;
    pelt_transfer *t = PX_NEW(model->memory, pelt_transfer, 1);
    float *patterns = PX_NEW(model->memory, float, px_mul_size(4 * planes, vertices));
    float *weights = PX_NEW(model->memory, float, (size_t)l->frame_count * l->transfer_rank);
    float *times = PX_NEW(model->memory, float, l->frame_count);
    uint32_t *motions = PX_NEW(model->memory, uint32_t, l->frame_count);
    float *light = PX_NEW(model->memory, float, 3 * coefficients);
    double environment[PX_LIGHT_CHANNELS][3];
    if (!t || !patterns || !weights || !times || !motions || !light)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < vertices; i++)
        for (size_t v = 0; v < values; v++)
            patterns[(v / 4 * vertices + i) * 4 + v % 4] =
                (float)l->transfer_patterns[v / coefficients * l->transfer_columns +
                                            model->mesh.weld.of[i] * coefficients + v % coefficients];
    for (size_t e = 0; e < (size_t)l->frame_count * l->transfer_rank; e++)
        weights[e] = (float)l->transfer_weights[e];
    for (uint32_t m = 0, k = 0; m < l->motion_count; m++)
        for (uint32_t f = 0; f < l->clips[m].frame_count; f++, k++) {
            times[k] = l->clips[m].times[f];
            motions[k] = model->motion_count > 0 ? m : PELT_NONE;
        }
    px_light_environment(&l->desc, environment);
    for (size_t e = 0; e < 3 * coefficients; e++)
        light[e] = (float)environment[e / 3][e % 3];
    *t = (pelt_transfer){.coefficient_count = (uint32_t)coefficients,
                         .rank = l->transfer_rank,
                         .plane_count = (uint32_t)planes,
                         .frame_count = l->frame_count,
                         .patterns = patterns,
                         .motions = motions,
                         .times = times,
                         .weights = weights,
                         .light = light};
    double length =
        sqrt(l->desc.sun[0] * l->desc.sun[0] + l->desc.sun[1] * l->desc.sun[1] + l->desc.sun[2] * l->desc.sun[2]);
    for (int c = 0; c < 3; c++) {
        t->sun[c] = (float)(l->desc.sun[c] / length);
        t->sun_color[c] = (float)l->desc.sun_color[c];
    }
    *out = t;
    return PELT_OK;
}
