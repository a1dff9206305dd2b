/* Sliders: matrices of joints as linear functions of controls. web/src/sliders.ts does the same, step by step.
 *
 * "Compressed Skinning for Facial Blendshapes" (Kavan et al. 2024).
 */
#include "core/slider.h"

#include "core/math3.h"

void px_slider_rests(const pelt_skeleton *skeleton, const pelt_slider_set *sliders, pelt_affine *rests) {
    for (uint32_t n = 0; n < sliders->joint_count; n++) {
        rests[n] = px_affine_identity();
        for (uint32_t j = sliders->joints[n]; j != sliders->bases[n]; j = skeleton->parents[j]) {
            pelt_affine local = px_affine_from_transform(&skeleton->rest[j]);
            rests[n] = px_affine_mul(&local, &rests[n]);
        }
    }
}

void pelt_slider_globals(const pelt_slider_set *sliders, const float *values, pelt_affine *globals) {
    for (uint32_t n = 0; n < sliders->joint_count; n++)
        globals[sliders->joints[n]] = sliders->rests[n];
    for (uint32_t s = 0; s < sliders->slider_count; s++) {
        const pelt_slider *slider = &sliders->sliders[s];
        float by = values[s] - slider->value;
        for (uint32_t m = 0; by != 0 && m < slider->move_count; m++) {
            pelt_affine *to = &globals[sliders->joints[slider->moves[m].joint]], sum = *to;
            for (int e = 0; e < 12; e++)
                sum.m[e] += by * slider->moves[m].change.m[e];
            *to = sum;
        }
    }
    for (uint32_t n = 0; n < sliders->joint_count; n++) {
        pelt_affine *to = &globals[sliders->joints[n]];
        *to = px_affine_mul(&globals[sliders->bases[n]], to);
    }
}

void pelt_slider_weights(const pelt_slider_set *sliders, const float *values, float *weights) {
    for (uint32_t s = 0; s < sliders->slider_count; s++)
        for (uint32_t m = 0; m < sliders->sliders[s].morph_count; m++)
            weights[sliders->sliders[s].morphs[m]] = values[s];
}

uint32_t pelt_slider_find(const pelt_slider_set *sliders, const char *name) {
    for (uint32_t s = 0; s < sliders->slider_count; s++)
        if (strcmp(sliders->sliders[s].name, name) == 0)
            return s;
    return PELT_NONE;
}
