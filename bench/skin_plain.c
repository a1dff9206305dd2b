/* Straightforward skinning loop: the reference of bench_skin, compiled for this machine alone (see CMakeLists.txt). */
#include "skin_bench.h"

#include <math.h>

static void blend(const pelt_skin_job *job, size_t i, float m[12]) {
    for (int e = 0; e < 12; e++)
        m[e] = 0;
    for (size_t k = 0; k < job->influence_count; k++) {
        float weight = job->weights[i * job->influence_count + k];
        const float *bone = job->palette[job->bones[i * job->influence_count + k]].m;
        for (int e = 0; e < 12; e++)
            m[e] += weight * bone[e];
    }
}

void skin_plain(const pelt_skin_job *job) {
    for (size_t i = 0; i < job->vertex_count; i++) {
        float m[12], out[3];
        blend(job, i, m);
        const float *p = job->positions + 3 * i, *n = job->normals + 3 * i;
        for (int r = 0; r < 3; r++)
            job->out_positions[3 * i + r] = m[4 * r] * p[0] + m[4 * r + 1] * p[1] + m[4 * r + 2] * p[2] + m[4 * r + 3];
        for (int r = 0; r < 3; r++) {
            const float *a = m + 4 * ((r + 1) % 3), *b = m + 4 * ((r + 2) % 3);
            out[r] = (a[1] * b[2] - a[2] * b[1]) * n[0] + (a[2] * b[0] - a[0] * b[2]) * n[1] +
                     (a[0] * b[1] - a[1] * b[0]) * n[2];
        }
        float inverse = 1 / sqrtf(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
        for (int r = 0; r < 3; r++)
            job->out_normals[3 * i + r] = inverse * out[r];
    }
}
