/* Morph targets: out = rest + Σ weight · displacement, target by target. */
#include "run/skin.h"

/* Adds weight · deltas [count][3] to out [count][width]. */
static void add_weighted(float *restrict out, const float *restrict deltas, size_t count, size_t width, float weight) {
    if (width == 3)
        for (size_t e = 0; e < 3 * count; e++)
            out[e] += weight * deltas[e];
    else
        for (size_t i = 0; i < count; i++)
            for (size_t c = 0; c < 3; c++)
                out[width * i + c] += weight * deltas[3 * i + c];
}

void px_morph_range(const pelt_mesh *mesh, const pelt_morph_set *morphs, const float *weights, size_t first,
                    size_t count, float *out_positions, float *out_normals, float *out_tangents) {
    out_normals = mesh->normals ? out_normals : NULL;
    out_tangents = mesh->tangents ? out_tangents : NULL;
    memcpy(out_positions, mesh->positions + 3 * first, 3 * count * sizeof(float));
    if (out_normals)
        memcpy(out_normals, mesh->normals + 3 * first, 3 * count * sizeof(float));
    if (out_tangents)
        memcpy(out_tangents, mesh->tangents + 4 * first, 4 * count * sizeof(float));
    for (uint32_t t = 0; t < morphs->morph_count; t++) {
        const pelt_morph *morph = &morphs->morphs[t];
        size_t begin = px_max_size(first, morph->first_vertex);
        size_t end = px_min_size(first + count, (size_t)morph->first_vertex + morph->vertex_count);
        if (weights[t] == 0 || begin >= end)
            continue;
        size_t from = begin - morph->first_vertex, to = begin - first, n = end - begin;
        add_weighted(out_positions + 3 * to, morph->positions + 3 * from, n, 3, weights[t]);
        if (out_normals && morph->normals)
            add_weighted(out_normals + 3 * to, morph->normals + 3 * from, n, 3, weights[t]);
        if (out_tangents && morph->tangents)
            add_weighted(out_tangents + 4 * to, morph->tangents + 3 * from, n, 4, weights[t]);
    }
}

void pelt_morph_run(const pelt_mesh *mesh, const pelt_morph_set *morphs, const float *weights, float *out_positions,
                    float *out_normals, float *out_tangents) {
    px_morph_range(mesh, morphs, weights, 0, mesh->vertex_count, out_positions, out_normals, out_tangents);
}
