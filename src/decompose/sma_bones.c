/* Transforms of bones from their core triangles (SMA §4.3, §4.4 and Appendix A).
 *
 * Rigid: the mean of the triangles' rotations, weighted by `masses` and projected to a rotation, and the translation
 * that moves the mean centroid. Other bone kinds start from the rigid bone and are fitted to the centroids by the fit's
 * own step, with moments summed over triangles: directions that the centroids leave undetermined (flat cores) keep the
 * values of the rigid bone.
 */
#include "decompose/kinds.h"
#include "decompose/sma.h"

#include <math.h>

static void centroid(const px_sma *sma, const px_fit *fit, size_t triangle, double place[4], double *coords) {
    size_t d = fit->dimension;
    place[0] = place[1] = place[2] = 0, place[3] = 1;
    memset(coords, 0, d * sizeof *coords);
    for (size_t c = 0; c < 3; c++) {
        size_t i = sma->corners[triangle][c];
        for (size_t axis = 0; axis < 3; axis++)
            place[axis] += fit->now.rest[3 * i + axis] / 3;
        for (size_t e = 0; e < d; e++)
            coords[e] += (double)fit->coords[i * d + e] / 3;
    }
}

/* Sums S and Q of the centroids. `coords` [dimension] is scratch. */
static void add_triangles(const px_sma *sma, px_fit *fit, double *coords) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension;
    memset(fit->scatter, 0, n * n * sizeof *fit->scatter);
    memset(fit->cross, 0, n * d * sizeof *fit->cross);
    for (size_t t = 0; t < sma->triangle_count; t++) {
        size_t j = sma->bones[t];
        if (j == PELT_NONE)
            continue;
        double place[4], mass = sma->masses[t];
        centroid(sma, fit, t, place, coords);
        for (size_t r = 0; r < 4; r++) {
            for (size_t c = 0; c < 4; c++)
                fit->scatter[(4 * j + r) * n + 4 * j + c] += mass * place[r] * place[c];
            for (size_t e = 0; e < d; e++)
                fit->cross[(4 * j + r) * d + e] += mass * place[r] * coords[e];
        }
    }
}

/* Stores bone j as a rigid bone in fit->now.full. `middles` [row] is scratch: the mean centroid in each frame. */
static void put_rigid(px_fit *fit, size_t j, const double *rotations, double *middles) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, rows = fit->row_count, F = rows / 3;
    const double *sums = fit->scatter + (4 * j + 3) * n + 4 * j; /* Σ a c̃ and Σ a */
    px_gemm(1 / sums[3], px_matrix_in(fit->basis, rows, d),
            px_transposed(px_matrix_in(fit->cross + (4 * j + 3) * d, 1, d)), 0, px_matrix_of(middles, rows, 1));
    for (size_t k = 0; k < F; k++) {
        double rotation[9];
        px_polar3(rotations + 9 * k, rotation, NULL);
        for (size_t r = 0; r < 3; r++) {
            const double *line = rotation + 3 * r;
            double *out = fit->now.full + (3 * k + r) * n + 4 * j;
            memcpy(out, line, 3 * sizeof *out);
            out[3] = middles[3 * k + r] - (line[0] * sums[0] + line[1] * sums[1] + line[2] * sums[2]) / sums[3];
        }
    }
}

static void fit_rigid(const px_sma *sma, px_fit *fit, double *scratch) {
    size_t P = fit->bone_count, turns = 3 * (size_t)fit->row_count;
    double *coords = scratch, *middles = coords + fit->dimension;
    add_triangles(sma, fit, coords);
    for (size_t j = 0; j < P; j++)
        put_rigid(fit, j, sma->rotations + j * turns, middles);
    px_blocks_reduce(fit);
    for (size_t e = 0; fit->now.axes && e < 9 * P; e++)
        fit->now.axes[e] = e % 9 % 4 == 0;
}

pelt_result px_sma_bones(const px_sma *sma, px_fit *fit) {
    fit->bone_count = sma->bone_count;
    size_t n = 4 * (size_t)fit->bone_count, rows = fit->row_count;
    double *full = fit->now.full, *own = full ? NULL : PX_ALLOC(fit->context, double, px_mul_size(n, rows));
    double *scratch = PX_ALLOC(fit->context, double, fit->dimension + rows);
    bool ready = scratch && (full || own);
    if (ready) {
        fit->now.full = full ? full : own;
        fit_rigid(sma, fit, scratch);
        fit->now.full = full; /* affine bones are stored in the basis only */
    }
    px_free(fit->context, scratch);
    px_free(fit->context, own);
    if (!ready)
        return PELT_ERROR_MEMORY;
    if (fit->kind->scales) /* all kinds except rigid */
        PX_TRY(px_fit_transforms(fit));
    px_fit_gram(fit);
    return PELT_OK;
}

/* ---- Colours ------------------------------------------------------------------------------------------------ */

/* A saturated colour: hues of successive bones are a golden section apart, and brightness alternates. */
static void bone_color(uint32_t bone, float color[3]) {
    double hue = 6 * fmod(0.618033988749895 * bone, 1), value = bone % 2 ? 0.45 : 0.9;
    for (int c = 0; c < 3; c++) {
        double off = fabs(fmod(hue + 2 * c, 6) - 3) - 1;
        color[c] = (float)(value * (0.1 + 0.9 * px_fmin(px_fmax(off, 0), 1)));
    }
}

float *px_sma_colors(const px_sma *sma, const px_fit *fit, const pelt_vertex_classes *classes,
                     const pelt_model *model) {
    uint32_t count = model->mesh.vertex_count;
    float *colors = PX_NEW_LASTING(model->memory, float, 3 * (size_t)count);
    float(*sums)[4] = px_alloc(fit->context, fit->vertex_count, sizeof *sums);
    for (uint32_t t = 0; colors && sums && t < sma->triangle_count; t++) {
        float color[3] = {0};
        if (sma->bones[t] != PELT_NONE)
            bone_color(sma->bones[t], color);
        for (size_t corner = 0; corner < 3; corner++) {
            float *sum = sums[sma->corners[t][corner]];
            for (size_t c = 0; c < 3; c++)
                sum[c] += color[c];
            sum[3]++;
        }
    }
    for (uint32_t i = 0; colors && sums && i < count; i++) {
        const float *sum = sums[pelt_vertex_class(classes, i)];
        for (size_t c = 0; c < 3 && sum[3] > 0; c++)
            colors[3 * (size_t)i + c] = sum[c] / sum[3];
    }
    px_free(fit->context, sums);
    return sums ? colors : NULL;
}
