/* Rotations of triangles (SMA §4.1), and the bones that they form (§4.2).
 *
 * O = [e21 e31 n̂] of a triangle gives the deformation gradient F = O Õ⁻¹, whose polar factor is the rotation. A
 * triangle without an area at rest has no Õ⁻¹ and is skipped. One that loses its area in a frame has no normal there
 * and gets the rotation nearest to the rank-deficient gradient.
 */
#include "core/math3.h"
#include "decompose/reduce.h"
#include "decompose/sma.h"

#define FRAMES       16u /* frames read at a time, fewer if there are many vertices */
#define BLOCK        256u
#define SAMPLED_MOST 96u /* frames whose rotations are clustered, evenly spread over more of them */

typedef struct turning {
    px_sma *sma;
    const px_shift_kernels *kernels;
    px_reduction reduction;
    size_t vertex_count, frame_count;
    size_t stride;    /* frames between two whose rotations are clustered */
    double *inverses; /* [triangle][9] Õ⁻¹ */
    float *points;    /* [triangle][pitch] sampled rotations, entry e of the matrix in sample s at e · samples + s */
    size_t samples, pitch; /* pitch: 9 · samples padded with zeros to a multiple of PX_SHIFT_LANES */
    uint32_t *order;       /* [triangle] triangles by bone */
    uint32_t *firsts;      /* [bone + 1] first place of each bone in `order` */
    size_t first, frames;  /* frames of the block */
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

/* Some triangles, one per lane. */
typedef struct batch {
    size_t count;
    uint32_t triangles[PX_TURN_LANES];
    double inverses[9][PX_TURN_LANES];
} batch;

static batch batch_of(const turning *t, const uint32_t *triangles, size_t count) {
    batch b = {.count = px_min_size(count, PX_TURN_LANES)};
    for (size_t l = 0; l < PX_TURN_LANES; l++) { /* lanes without a triangle repeat the first one */
        b.triangles[l] = triangles[l < b.count ? l : 0];
        for (size_t e = 0; e < 9; e++)
            b.inverses[e][l] = t->inverses[9 * (size_t)b.triangles[l] + e];
    }
    return b;
}

/* The rotation from the singular value decomposition, for gradients that Newton's iteration does not handle. */
static void rotation_of(const turning *t, const double *frame, uint32_t triangle, double rotation[9]) {
    const double *inverse = t->inverses + 9 * (size_t)triangle;
    double o[9], gradient[9];
    orient(frame, t->vertex_count, t->sma->corners[triangle], o);
    for (int e = 0; e < 9; e++)
        gradient[e] = o[e / 3 * 3] * inverse[e % 3] + o[e / 3 * 3 + 1] * inverse[3 + e % 3] +
                      o[e / 3 * 3 + 2] * inverse[6 + e % 3];
    px_polar3(gradient, rotation, NULL);
}

/* The rotations of a batch in frame k of the block. */
static void rotations_of(const turning *t, const batch *b, size_t k, double rotations[9][PX_TURN_LANES]) {
    const double *frame = t->reduction.block + 3 * k * t->vertex_count;
    double edges[6][PX_TURN_LANES];
    for (size_t l = 0; l < PX_TURN_LANES; l++) {
        const uint32_t *corners = t->sma->corners[b->triangles[l]];
        for (size_t axis = 0; axis < 3; axis++) {
            const double *row = frame + axis * t->vertex_count;
            edges[axis][l] = row[corners[1]] - row[corners[0]];
            edges[3 + axis][l] = row[corners[2]] - row[corners[0]];
        }
    }
    unsigned failed = t->kernels->turn(edges, b->inverses, rotations);
    for (size_t l = 0; failed >> l; l++)
        if (failed >> l & 1) {
            double rotation[9];
            rotation_of(t, frame, b->triangles[l], rotation);
            for (size_t e = 0; e < 9; e++)
                rotations[e][l] = rotation[e];
        }
}

/* Stores the rotations of triangles in the sampled frames of the block. */
static pelt_result sample_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const turning *t = user;
    for (size_t n = first; n < first + count; n += PX_TURN_LANES) {
        const uint32_t triangles[PX_TURN_LANES] = {(uint32_t)n, (uint32_t)n + 1, (uint32_t)n + 2, (uint32_t)n + 3};
        batch b = batch_of(t, triangles, first + count - n);
        for (size_t k = (t->stride - t->first % t->stride) % t->stride; k < t->frames; k += t->stride) {
            double rotations[9][PX_TURN_LANES];
            rotations_of(t, &b, k, rotations);
            for (size_t l = 0; l < b.count; l++)
                for (size_t e = 0; e < 9; e++)
                    t->points[(n + l) * t->pitch + e * t->samples + (t->first + k) / t->stride] =
                        (float)rotations[e][l];
        }
    }
    return PELT_OK;
}

/* Sums the rotations of the triangles of some bones in the frames of the block. */
static pelt_result sum_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const turning *t = user;
    const px_sma *sma = t->sma;
    for (size_t j = first; j < first + count; j++)
        for (size_t place = t->firsts[j]; place < t->firsts[j + 1]; place += PX_TURN_LANES) {
            batch b = batch_of(t, t->order + place, t->firsts[j + 1] - place);
            for (size_t k = 0; k < t->frames; k++) {
                double rotations[9][PX_TURN_LANES], *sum = sma->rotations + 9 * (j * t->frame_count + t->first + k);
                rotations_of(t, &b, k, rotations);
                for (size_t l = 0; l < b.count; l++)
                    for (size_t e = 0; e < 9; e++)
                        sum[e] += sma->masses[b.triangles[l]] * rotations[e][l];
            }
        }
    return PELT_OK;
}

/* Reads all frames, a block at a time, and runs `work` over `count` items for each. */
static pelt_result each_block(turning *t, const char *phase, size_t count, size_t size, px_block_fn *work) {
    px_fit *fit = t->reduction.fit;
    size_t most = px_min_size(px_max_size(PX_REDUCE_BLOCK / (3 * t->vertex_count), 1), FRAMES);
    for (t->first = 0; t->first < t->frame_count; t->first += t->frames) {
        t->frames = px_min_size(most, t->frame_count - t->first);
        PX_TRY(px_progress(fit->context, phase, t->first, t->frame_count));
        PX_TRY(px_reduction_read(&t->reduction, 0, fit->vertex_count, (uint32_t)t->first, (uint32_t)t->frames,
                                 t->reduction.block));
        PX_TRY(px_parallel(fit->context, NULL, count, size, work, t));
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

static float kernel(float offset) {
    float x = px_fmaxf(1 - offset, TRACE);
    return x * x;
}

static pelt_result find_triangles(turning *t, const pelt_model *model) {
    px_sma *sma = t->sma;
    px_reduction *r = &t->reduction;
    PX_TRY(read_rest(r, r->block));
    take_triangles(t, &model->mesh, &r->plan->classes, r->block);
    if (sma->triangle_count == 0)
        return px_fail(r->fit->context, PELT_ERROR_INPUT,
                       "there is no triangle with an area at rest, and the method sma goes by how triangles turn; the "
                       "default method needs none");
    size_t size = px_mul_size(px_mul_size(sma->triangle_count, t->pitch), 3 * sizeof(float));
    if (r->desc->memory > 0 && size > r->desc->memory)
        return px_fail(r->fit->context, PELT_ERROR_MEMORY,
                       "the method sma holds the rotations of %u triangles, %zu MB, more than memory allows; the "
                       "default method takes less",
                       sma->triangle_count, size >> 20);
    t->points = PX_ALLOC(r->fit->context, float, px_mul_size(sma->triangle_count, t->pitch));
    return t->points ? each_block(t, "rotations", sma->triangle_count, BLOCK, sample_some) : PELT_ERROR_MEMORY;
}

/* Clusters the rotations: bones, masses and counts. */
static pelt_result find_clusters(turning *t) {
    px_sma *sma = t->sma;
    px_fit *fit = t->reduction.fit;
    size_t least = px_max_size(px_min_size(sma->triangle_count / LEAST_SHARE, ENOUGH_CORE), LEAST_CORE);
    px_shift_points points = {t->points, sma->triangle_count, 9 * t->samples, t->pitch};
    float *offsets = PX_ALLOC(fit->context, float, sma->triangle_count);
    if (!offsets)
        return PELT_ERROR_MEMORY;
    pelt_result result =
        px_mean_shift(fit->context, &points, (double)points.dimension * t->reduction.desc->rotation_tolerance,
                      (uint32_t)least, sma->bones, offsets, &sma->bone_count);
    for (uint32_t n = 0; result == PELT_OK && n < sma->triangle_count; n++) {
        sma->member_count += sma->bones[n] != PELT_NONE;
        sma->core_count += sma->bones[n] != PELT_NONE && offsets[n] < 1;
        if (!fit->published)
            sma->masses[n] *= (double)kernel(offsets[n]);
    }
    px_free(fit->context, offsets);
    if (result == PELT_OK && sma->bone_count > MOST_BONES)
        result = px_fail(fit->context, PELT_ERROR_INPUT,
                         "%u bones with this rotation_tolerance are more than %u; a larger one finds fewer",
                         sma->bone_count, MOST_BONES);
    return result;
}

/* Counting sort of the triangles by bone, then their sums of rotations. */
static pelt_result sum_rotations(turning *t) {
    px_sma *sma = t->sma;
    px_fit *fit = t->reduction.fit;
    sma->rotations = PX_NEW(fit->arena, double, px_mul_size(9 * (size_t)sma->bone_count, t->frame_count));
    t->order = PX_ALLOC(fit->context, uint32_t, sma->triangle_count);
    t->firsts = PX_ALLOC(fit->context, uint32_t, sma->bone_count + (size_t)2);
    if (!sma->rotations || !t->order || !t->firsts)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < sma->triangle_count; n++)
        if (sma->bones[n] != PELT_NONE)
            t->firsts[sma->bones[n] + 2]++;
    for (uint32_t j = 2; j < sma->bone_count + 2; j++)
        t->firsts[j] += t->firsts[j - 1];
    for (uint32_t n = 0; n < sma->triangle_count; n++)
        if (sma->bones[n] != PELT_NONE)
            t->order[t->firsts[sma->bones[n] + 1]++] = n;
    return each_block(t, "bones", sma->bone_count, 1, sum_some);
}

pelt_result px_sma_find(px_sma *sma, px_fit *fit, const pelt_model *model, const px_gathered *plan,
                        const pelt_decompose_desc *desc) {
    uint32_t triangle_count = model->mesh.triangle_count;
    size_t N = fit->vertex_count, F = fit->row_count / 3;
    size_t frames = px_min_size(px_max_size(PX_REDUCE_BLOCK / (3 * N), 1), FRAMES);
    *sma = (px_sma){.corners = px_arena_alloc(fit->arena, triangle_count + (size_t)1, sizeof *sma->corners)};
    sma->masses = PX_NEW(fit->arena, double, triangle_count);
    sma->bones = PX_NEW(fit->arena, uint32_t, triangle_count);
    turning t = {.sma = sma, .kernels = px_shift_kernels_best(), .vertex_count = N, .frame_count = F};
    t.stride = (F + SAMPLED_MOST - 1) / SAMPLED_MOST;
    t.reduction = (px_reduction){.fit = fit, .clips = model->clips, .plan = plan, .desc = desc};
    t.samples = (F + t.stride - 1) / t.stride;
    t.pitch = (9 * t.samples + PX_SHIFT_LANES - 1) / PX_SHIFT_LANES * PX_SHIFT_LANES;
    t.reduction.block = PX_ALLOC(fit->context, double, px_mul_size(3 * frames, N));
    t.inverses = PX_ALLOC(fit->context, double, px_mul_size(9, triangle_count + (size_t)1));
    bool ready = sma->corners && sma->masses && sma->bones && t.reduction.block && t.inverses;
    pelt_result result = ready ? find_triangles(&t, model) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = find_clusters(&t);
    if (result == PELT_OK)
        result = sum_rotations(&t);
    void *const arrays[] = {t.inverses, t.reduction.block, t.points, t.order, t.firsts};
    for (size_t a = 0; a < PX_COUNT(arrays); a++)
        px_free(fit->context, arrays[a]);
    if (result == PELT_OK && sma->flat_count > 0)
        px_log(fit->context, PELT_LOG_WARNING, "%u of %u triangles have no area at rest and say nothing about bones",
               sma->flat_count, sma->flat_count + sma->triangle_count);
    return result;
}
