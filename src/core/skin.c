/* Linear blend skinning of single vertices: see skin.h. */
#include "core/skin.h"
#include "core/math3.h"

void px_skin_blend(const pelt_skin *skin, const pelt_affine *palette, uint32_t vertex, double out[12]) {
    size_t row = (size_t)vertex * skin->influence_count;
    memset(out, 0, 12 * sizeof *out);
    for (size_t n = row; n < row + skin->influence_count && skin->weights[n] != 0; n++)
        for (int e = 0; e < 12; e++)
            out[e] += (double)skin->weights[n] * (double)palette[skin->bones[n]].m[e];
}

static void sum_to_one(const float *in, uint32_t count, float *out) {
    double sum = 0, rest = 0;
    for (uint32_t k = 0; k < count; k++)
        sum += (double)in[k];
    for (uint32_t k = 1; k < count; k++) {
        out[k] = (float)((double)in[k] / sum);
        rest += (double)out[k];
    }
    out[0] = (float)(1 - rest);
}

void px_skin_round_weights(const float *in, uint32_t count, pelt_weight_format format, float *out) {
    double sum = 0, lost[PELT_MAX_INFLUENCES];
    uint32_t total = px_weight_total(format), missing = total;
    if (total == 0) {
        sum_to_one(in, count, out);
        return;
    }
    for (uint32_t k = 0; k < count; k++)
        sum += (double)in[k];
    for (uint32_t k = 0; k < count; k++) {
        double exact = (double)in[k] / sum * total, whole = floor(exact);
        lost[k] = exact - whole;
        out[k] = (float)whole;
        missing -= (uint32_t)whole;
    }
    for (; missing > 0 && missing <= count; missing--) {
        uint32_t most = 0;
        for (uint32_t k = 1; k < count; k++)
            most = lost[k] > lost[most] ? k : most;
        lost[most] = -1;
        out[most]++;
    }
}

void px_skin_cofactors(const double b[9], double out[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            out[3 * i + j] = b[3 * i1 + j1] * b[3 * i2 + j2] - b[3 * i1 + j2] * b[3 * i2 + j1];
        }
}

void px_skin_direction(const double b[9], const double n[3], double out[3]) {
    for (int r = 0; r < 3; r++)
        out[r] = b[3 * r] * n[0] + b[3 * r + 1] * n[1] + b[3 * r + 2] * n[2];
    px_normalize3(out);
}

void px_skin_normal(const double b[9], const double n[3], double out[3]) {
    double cofactors[9];
    px_skin_cofactors(b, cofactors);
    px_skin_direction(cofactors, n, out);
}

void px_unskin_normal(const double b[9], const float n[3], double out[3]) {
    for (int a = 0; a < 3; a++)
        out[a] = b[a] * (double)n[0] + b[3 + a] * (double)n[1] + b[6 + a] * (double)n[2];
    px_normalize3(out);
}

void px_morphed_place(const pelt_model *model, const float *weights, uint32_t vertex, double out[3]) {
    for (int a = 0; a < 3; a++)
        out[a] = (double)model->mesh.positions[3 * (size_t)vertex + a];
    for (uint32_t t = 0; t < model->morphs.morph_count; t++) {
        const pelt_morph *morph = &model->morphs.morphs[t];
        if (vertex - morph->first_vertex < morph->vertex_count)
            for (int a = 0; a < 3; a++)
                out[a] += (double)weights[t] * (double)morph->positions[3 * (size_t)(vertex - morph->first_vertex) + a];
    }
}
