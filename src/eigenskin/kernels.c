/* Kernels of the joints: features, their metric, and the choice of the radius. */
#include "eigenskin/eigenskin.h"

/* Eigenvalues of Φ under this part of the largest count as that much: coefficients are kept as floats, and those of
 * nearly singular kernels would be larger than the floats' precision allows. */
#define LEAST_EIGENVALUE 1e-7
#define MATRIX_BLOCK     1u

typedef struct kernel_work {
    px_eigenskin *e;
    double radius;
} kernel_work;

static px_rotation centre_of(const px_bend *bend, size_t centre) {
    return px_rotation_of(bend->centres + 4 * centre);
}

static double phi(const px_eigenskin *e, const px_bend *bend, px_rotation a, size_t centre) {
    return px_driver_kernel((pelt_kernel)e->desc.kernel, bend->radius, px_driver_angle(a, centre_of(bend, centre)));
}

/* basis = V |Λ|^(−1/2) with Φ = V Λ Vᵀ; parts have nothing to do with each other. */
static pelt_result make_basis(const px_eigenskin *e, px_bend *bend) {
    size_t count = bend->centre_count;
    double *matrix = PX_ALLOC(e->context, double, count *count + count);
    if (!matrix)
        return PELT_ERROR_MEMORY;
    double *values = matrix + count * count, most = 0;
    for (uint32_t n = 0; n < bend->part_count; n++) {
        const px_part *part = &bend->parts[n];
        size_t first = part->first_centre, end = first + part->centre_count;
        for (size_t c = first; c < end; c++)
            for (size_t d = first; d < end; d++)
                matrix[c * count + d] = phi(e, bend, centre_of(bend, c), d);
    }
    pelt_result result = px_symmetric_eigen(e->context, px_matrix_of(matrix, count, count), values);
    for (size_t v = 0; v < count; v++)
        most = fmax(most, fabs(values[v]));
    for (size_t v = 0; result == PELT_OK && v < count; v++) {
        double scale = 1 / sqrt(fmax(fabs(values[v]), LEAST_EIGENVALUE * most));
        for (size_t c = 0; c < count; c++)
            bend->basis[c * count + v] = scale * matrix[v * count + c];
    }
    px_free(e->context, matrix);
    return result;
}

static pelt_result make_kernel(const px_eigenskin *e, px_bend *bend) {
    size_t count = bend->centre_count, poses = e->pose_count;
    double *features = PX_ALLOC(e->context, double, poses *count);
    if (!features)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < bend->part_count; n++) {
        const px_part *part = &bend->parts[n];
        for (size_t c = part->first_centre; c < part->first_centre + part->centre_count; c++) {
            bend->rest[c] = phi(e, bend, px_rotation_identity(), c);
            for (size_t p = 0; p < poses; p++)
                features[p * count + c] = phi(e, bend, part->rotations[p], c) - bend->rest[c];
        }
    }
    px_matrix factor = px_matrix_of(bend->factor, poses, count);
    px_gemm(1, px_matrix_of(features, poses, count), px_matrix_of(bend->basis, count, count), 0, factor);
    px_syrk(1, factor, 0, px_matrix_of(bend->kernel, poses, poses));
    px_free(e->context, features);
    return PELT_OK;
}

static pelt_result kernel_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const kernel_work *w = user;
    for (size_t j = first; j < first + count; j++) {
        px_bend *bend = &w->e->bends[j];
        bend->radius = (double)(float)w->radius; /* as drivers have it */
        PX_TRY(make_basis(w->e, bend));
        PX_TRY(make_kernel(w->e, bend));
    }
    return PELT_OK;
}

static pelt_result make_room(px_eigenskin *e) {
    size_t poses = e->pose_count;
    for (uint32_t j = 0; j < e->bend_count; j++) {
        px_bend *bend = &e->bends[j];
        size_t count = bend->centre_count;
        bend->rest = PX_NEW(e->scratch, double, count);
        bend->basis = PX_NEW(e->scratch, double, count *count);
        bend->factor = PX_NEW(e->scratch, double, px_mul_size(poses, count));
        bend->kernel = PX_NEW(e->scratch, double, px_mul_size(poses, poses));
        if (!bend->rest || !bend->basis || !bend->factor || !bend->kernel)
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

pelt_result px_eigenskin_kernels(px_eigenskin *e, double radius) {
    if (!e->bends[0].kernel)
        PX_TRY(make_room(e));
    return px_parallel(e->context, NULL, e->bend_count, MATRIX_BLOCK, kernel_block, &(kernel_work){e, radius});
}

/* ---- Radius and noise ------------------------------------------------------------------------------------- */

/* Of values [count], that of the least leave-one-out error goes to *setting: *radius, or the noise. */
static pelt_result choose(px_eigenskin *e, const double *values, size_t count, double *radius, double *setting) {
    double least = INFINITY, best = values[0];
    for (size_t n = 0; n < count; n++) {
        double error;
        *setting = values[n];
        PX_TRY(px_eigenskin_kernels(e, *radius));
        PX_TRY(px_eigenskin_leave_out(e, &error));
        if (error < least) {
            least = error;
            best = values[n];
        }
    }
    *setting = best;
    return PELT_OK;
}

pelt_result px_eigenskin_choose(px_eigenskin *e) {
    static const double radii[] = {0.25, 0.5, 1, 2, 4, 8}, noises[] = {1e-4, 1e-3, 1e-2, 1e-1};
    double radius = e->desc.radius;
    bool cut = false;
    for (uint32_t j = 0; j < e->bend_count; j++)
        cut |= e->bends[j].cut;
    bool noisy = cut && !(e->desc.regularise > 0);
    if (noisy)
        e->desc.regularise = 1e-2; /* for comparing radii */
    if (!(radius > 0))
        PX_TRY(choose(e, radii, PX_COUNT(radii), &radius, &radius));
    if (noisy)
        PX_TRY(choose(e, noises, PX_COUNT(noises), &radius, &e->desc.regularise));
    return px_eigenskin_kernels(e, radius);
}
