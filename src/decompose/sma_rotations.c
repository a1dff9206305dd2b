/* Rotations of triangles (SMA §4.1), and the bones that they form (§4.2).
 *
 * O = [e21 e31 n̂] of a triangle gives the deformation gradient F = O Õ⁻¹, whose polar factor is the rotation. A
 * triangle without an area at rest has no Õ⁻¹ and is skipped. One that loses its area in a frame has no normal there
 * and gets the rotation nearest to the rank-deficient gradient.
 */
#include "core/math3.h"
#include "decompose/reduce.h"
#include "decompose/sma.h"

#define FRAMES 16u /* frames read at a time, fewer if there are many vertices */
#define BLOCK  256u

typedef struct turning {
    px_sma *sma;
    size_t vertex_count, frame_count;
    double *inverses;     /* [triangle][9] Õ⁻¹ */
    const double *block;  /* [3 · count][vertex] */
    size_t first, frames; /* frames of the block */
} turning;

/* O, row-major: its columns are two edges and the unit normal. Returns twice the area. */
static double orient(const double *frame, size_t vertex_count, const uint32_t corners[3], double o[9]) {
    double u[3], v[3];
    for (size_t axis = 0; axis < 3; axis++) {
        const double *row = frame + axis * vertex_count;
        u[axis] = row[corners[1]] - row[corners[0]];
        v[axis] = row[corners[2]] - row[corners[0]];
    }
    double normal[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    double length = px_length3(normal);
    for (int r = 0; r < 3; r++) {
        o[3 * r] = u[r];
        o[3 * r + 1] = v[r];
        o[3 * r + 2] = length > 0 ? normal[r] / length : 0;
    }
    return length;
}

/* Inverse of [u v n̂] with n̂ ⊥ u, v: rows (v × n̂, n̂ × u, u × v) / |u × v|. */
static void invert(const double o[9], double area2, double out[9]) {
    for (int r = 0; r < 3; r++) {
        int a = (r + 1) % 3, b = (r + 2) % 3; /* columns of o: row r of out is column a × column b */
        for (int c = 0; c < 3; c++) {
            int d = (c + 1) % 3, e = (c + 2) % 3;
            out[3 * r + c] = (o[3 * d + a] * o[3 * e + b] - o[3 * e + a] * o[3 * d + b]) / area2;
        }
    }
}

#define FLAT 1e-12 /* twice the area, normalised to the unit sphere: floats have edges to 1e-7 */

static void take_triangles(turning *t, const pelt_mesh *mesh, const pelt_vertex_classes *classes, const double *rest) {
    px_sma *sma = t->sma;
    for (uint32_t n = 0; n < mesh->triangle_count; n++) {
        uint32_t *corners = sma->corners[sma->triangle_count];
        for (size_t c = 0; c < 3; c++)
            corners[c] = pelt_vertex_class(classes, mesh->triangles[3 * (size_t)n + c]);
        double o[9], area2 = orient(rest, t->vertex_count, corners, o);
        if (!(area2 > FLAT)) {
            sma->flat_count++;
            continue;
        }
        sma->masses[sma->triangle_count] = area2 / 2;
        invert(o, area2, t->inverses + 9 * (size_t)sma->triangle_count++);
    }
}

static pelt_result turn_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const turning *t = user;
    for (size_t n = first; n < first + count; n++) {
        float *out = t->sma->rotations + n * t->sma->pitch + t->first;
        const double *inverse = t->inverses + 9 * n;
        for (size_t k = 0; k < t->frames; k++) {
            double o[9], gradient[9], rotation[9];
            orient(t->block + 3 * k * t->vertex_count, t->vertex_count, t->sma->corners[n], o);
            for (int e = 0; e < 9; e++)
                gradient[e] = o[e / 3 * 3] * inverse[e % 3] + o[e / 3 * 3 + 1] * inverse[3 + e % 3] +
                              o[e / 3 * 3 + 2] * inverse[6 + e % 3];
            px_polar3(gradient, rotation, NULL);
            for (size_t e = 0; e < 9; e++)
                out[e * t->frame_count + k] = (float)rotation[e];
        }
    }
    return PELT_OK;
}

/* Reads the rest pose in the layout of a frame. */
static pelt_result read_rest(px_reduction *r, double *out) {
    const px_gathered *plan = r->plan;
    uint32_t N = r->fit->vertex_count;
    if (!r->desc->rest_positions)
        return px_reduction_read(r, 0, N, r->desc->rest_frame, 1, out);
    for (size_t axis = 0; axis < 3; axis++)
        for (size_t i = 0; i < N; i++)
            out[axis * N + i] =
                ((double)r->desc->rest_positions[3 * (size_t)plan->points[i] + axis] - plan->center[axis]) /
                plan->radius;
    return PELT_OK;
}

static pelt_result turn_all(turning *t, px_reduction *r, const pelt_mesh *mesh) {
    px_sma *sma = t->sma;
    PX_TRY(read_rest(r, r->block));
    take_triangles(t, mesh, &r->plan->classes, r->block);
    if (sma->triangle_count == 0)
        return px_fail(r->fit->context, PELT_ERROR_INPUT,
                       "there is no triangle with an area at rest, and the method sma goes by how triangles turn; the "
                       "default method needs none");
    size_t size = px_mul_size(px_mul_size(sma->triangle_count, sma->pitch), 2 * sizeof(float));
    if (r->desc->memory > 0 && size > r->desc->memory)
        return px_fail(r->fit->context, PELT_ERROR_MEMORY,
                       "the method sma holds the rotations of %u triangles twice, %zu MB, more than memory allows; "
                       "the default method takes less",
                       sma->triangle_count, size >> 20);
    if (!(sma->rotations = PX_NEW(r->fit->arena, float, px_mul_size(sma->triangle_count, sma->pitch))))
        return PELT_ERROR_MEMORY;
    size_t most = px_min_size(px_max_size(PX_REDUCE_BLOCK / (3 * t->vertex_count), 1), FRAMES);
    for (t->first = 0; t->first < t->frame_count; t->first += t->frames) {
        t->frames = px_min_size(most, t->frame_count - t->first);
        PX_TRY(px_progress(r->fit->context, "rotations", t->first, t->frame_count));
        PX_TRY(px_reduction_read(r, 0, r->fit->vertex_count, (uint32_t)t->first, (uint32_t)t->frames, r->block));
        PX_TRY(px_parallel(r->fit->context, NULL, sma->triangle_count, BLOCK, turn_some, t));
    }
    return PELT_OK;
}

pelt_result px_sma_rotations(px_sma *sma, px_fit *fit, const pelt_model *model, const px_gathered *plan,
                             const pelt_decompose_desc *desc) {
    uint32_t triangle_count = model->mesh.triangle_count;
    size_t N = fit->vertex_count, F = fit->row_count / 3;
    size_t frames = px_min_size(px_max_size(PX_REDUCE_BLOCK / (3 * N), 1), FRAMES);
    *sma = (px_sma){.pitch = (9 * F + PX_SHIFT_LANES - 1) / PX_SHIFT_LANES * PX_SHIFT_LANES};
    sma->corners = px_arena_alloc(fit->arena, triangle_count + (size_t)1, sizeof *sma->corners);
    sma->masses = PX_NEW(fit->arena, double, triangle_count);
    sma->bones = PX_NEW(fit->arena, uint32_t, triangle_count);
    px_reduction r = {.fit = fit, .clips = model->clips, .plan = plan, .desc = desc};
    r.block = PX_ALLOC(fit->context, double, px_mul_size(3 * frames, N));
    turning t = {.sma = sma, .vertex_count = N, .frame_count = F, .block = r.block};
    t.inverses = PX_ALLOC(fit->context, double, px_mul_size(9, triangle_count + (size_t)1));
    bool ready = sma->corners && sma->masses && sma->bones && r.block && t.inverses;
    pelt_result result = ready ? turn_all(&t, &r, &model->mesh) : PELT_ERROR_MEMORY;
    px_free(fit->context, t.inverses);
    px_free(fit->context, r.block);
    return result;
}

/* ---- Bones ------------------------------------------------------------------------------------------------ */

/* Fewest triangles of a mode that becomes a bone: a hundredth of all, at least LEAST_CORE, which determine a motion,
 * and at most ENOUGH_CORE, the number required by the program that the paper uses. */
#define LEAST_SHARE 100u
#define LEAST_CORE  4u
#define ENOUGH_CORE 40u
#define MOST_BONES  4000u

/* Kernel weight of a triangle whose own rotations are `offset` bandwidths from its mode, the weight it had in the mean;
 * it scales the triangle's area. Some triangles moved far to reach their mode and rotate differently. They keep a
 * minimum, TRACE², so that no bone has zero mass. */
#define TRACE 1e-2f

static float say(float offset) {
    float x = fmaxf(1 - offset, TRACE);
    return x * x;
}

pelt_result px_sma_find(px_sma *sma, px_fit *fit, const pelt_model *model, const px_gathered *plan,
                        const pelt_decompose_desc *desc) {
    PX_TRY(px_sma_rotations(sma, fit, model, plan, desc));
    size_t least = px_max_size(px_min_size(sma->triangle_count / LEAST_SHARE, ENOUGH_CORE), LEAST_CORE);
    px_shift_points points = {sma->rotations, sma->triangle_count, 3 * (size_t)fit->row_count, sma->pitch};
    float *offsets = PX_NEW(fit->arena, float, sma->triangle_count);
    if (!offsets)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_mean_shift(fit->context, &points, (double)points.dimension * desc->rotation_tolerance, (uint32_t)least,
                         sma->bones, offsets, &sma->bone_count));
    if (sma->bone_count > MOST_BONES)
        return px_fail(fit->context, PELT_ERROR_INPUT,
                       "%u bones with this rotation_tolerance are more than %u; a larger one finds fewer",
                       sma->bone_count, MOST_BONES);
    for (uint32_t n = 0; n < sma->triangle_count; n++) {
        sma->core_count += sma->bones[n] != PELT_NONE && offsets[n] < 1;
        sma->masses[n] *= (double)say(offsets[n]);
    }
    if (sma->flat_count > 0)
        px_log(fit->context, PELT_LOG_WARNING, "%u of %u triangles have no area at rest and say nothing about bones",
               sma->flat_count, sma->flat_count + sma->triangle_count);
    return PELT_OK;
}
