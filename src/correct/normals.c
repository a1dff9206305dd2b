/* Corrections of normals, James and Twigg 2005 eq. 13, with the weights that the positions have.
 *
 * A normal goes through the cofactors of the blended transform B, so B transposed brings it back to the rest pose, but
 * for its length: no inverse is needed. What the frames have there beside the rest pose's own is projected on the
 * weights. Normals are smooth ones of the surface; displacements are added to whatever the mesh has.
 */
#include "correct/correct.h"

#include <math.h>

typedef struct normal_work {
    px_correction *c;
    float *points;    /* [point][3] */
    float *positions; /* [vertex][3] */
    float *rest;      /* [vertex][3] smooth normals at rest … */
    float *normals;   /* [vertex][3] … and of a frame */
    double *shares;   /* [rank] 1 / Σ_k c_rk²: weights of different modes are orthogonal */
} normal_work;

static pelt_result read_normals(normal_work *w, uint32_t frame) {
    px_correction *c = w->c;
    uint32_t pair = px_correct_pair_of(c, frame);
    const pelt_clip *clip = c->pairs[pair].clip;
    PX_TRY(pelt_clip_read(c->context, clip, frame - c->pair_frames[pair], 0, clip->point_count, w->points));
    px_clip_release(clip, clip->point_count);
    for (uint32_t i = 0; i < c->mesh.vertex_count; i++)
        memcpy(w->positions + 3 * (size_t)i, w->points + 3 * (size_t)px_correct_point(c, i), 3 * sizeof *w->positions);
    return pelt_mesh_normals(c->context, &c->mesh, w->positions, w->normals);
}

/* Squared distance of a unit's skinned normal, corrected by what is known so far, from the frame's. */
static double miss(const normal_work *w, uint32_t unit, uint32_t frame, const double b[9]) {
    const px_correction *c = w->c;
    const float *wanted = w->normals + 3 * (size_t)c->units.vertices[unit];
    const float *rest = w->rest + 3 * (size_t)c->units.vertices[unit];
    double n[3], shown[3], sum = 0;
    for (size_t a = 0; a < 3; a++) {
        n[a] = (double)rest[a];
        for (size_t r = 0; r < c->rank; r++)
            n[a] += c->modes.weights[r * c->frame_count + frame] * c->normals[(3 * (size_t)unit + a) * c->rank + r];
    }
    px_skin_normal(b, n, shown);
    for (int a = 0; a < 3; a++)
        sum += (shown[a] - (double)wanted[a]) * (shown[a] - (double)wanted[a]);
    return sum;
}

static void project(const normal_work *w, uint32_t unit, uint32_t frame, const double b[9], double *sums) {
    const px_correction *c = w->c;
    const float *n = w->normals + 3 * (size_t)c->units.vertices[unit],
                *rest = w->rest + 3 * (size_t)c->units.vertices[unit];
    double back[3];
    px_unskin_normal(b, n, back);
    for (size_t a = 0; a < 3; a++)
        for (size_t r = 0; r < c->rank; r++)
            sums[(3 * (size_t)unit + a) * c->rank + r] +=
                w->shares[r] * c->modes.weights[r * c->frame_count + frame] * (back[a] - (double)rest[a]);
}

/* Measures; with `sums`, projects too. */
static pelt_result visit(normal_work *w, double *sums, double *rms) {
    px_correction *c = w->c;
    double sum = 0, count = 0;
    for (uint32_t k = 0; k < c->frame_count; k++) {
        PX_TRY(read_normals(w, k));
        PX_TRY(px_progress(c->context, "normals", k, c->frame_count));
        for (uint32_t u = 0; u < c->units.count; u++) {
            double b[9];
            px_correct_blend(c, u, k, b);
            sum += c->shares[u] * miss(w, u, k, b);
            count += c->shares[u];
            if (sums)
                project(w, u, k, b, sums);
        }
    }
    *rms = sqrt(sum / count);
    return PELT_OK;
}

pelt_result px_correct_normals(px_correction *c) {
    size_t floats = 3 * (size_t)c->mesh.vertex_count, numbers = 3 * (size_t)c->units.count * c->rank;
    normal_work w = {.c = c,
                     .points = PX_NEW(c->scratch, float, 3 * (size_t)c->mesh.point_count),
                     .positions = PX_NEW(c->scratch, float, floats),
                     .rest = PX_NEW(c->scratch, float, floats),
                     .normals = PX_NEW(c->scratch, float, floats),
                     .shares = PX_NEW(c->scratch, double, c->rank)};
    double *sums = PX_NEW(c->scratch, double, numbers);
    c->normals = PX_NEW(c->scratch, double, numbers);
    if (!w.points || !w.positions || !w.rest || !w.normals || !w.shares || !sums || !c->normals)
        return PELT_ERROR_MEMORY;
    PX_TRY(pelt_mesh_normals(c->context, &c->mesh, NULL, w.rest));
    for (size_t r = 0; r < c->rank; r++) {
        double sum = 0;
        for (size_t k = 0; k < c->frame_count; k++)
            sum += c->modes.weights[r * c->frame_count + k] * c->modes.weights[r * c->frame_count + k];
        w.shares[r] = sum > 0 ? 1 / sum : 0;
    }
    PX_TRY(visit(&w, sums, &c->normal_rms[0]));
    memcpy(c->normals, sums, numbers * sizeof *sums);
    return visit(&w, NULL, &c->normal_rms[1]);
}
