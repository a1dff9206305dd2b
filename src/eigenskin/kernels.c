/* Kernels of the joints: features, their metric, and the choice of radius and noise. */
#include "eigenskin/eigenskin.h"

/* Eigenvalues of Φ are clamped to this fraction of the largest: coefficients are stored as floats, and those of nearly
 * singular kernels would exceed their precision. */
#define MIN_EIGENVALUE_RATIO 1e-7
#define MATRIX_BLOCK         1u
/* λ in the first comparison of kernels; and λ if there are too few poses for meaningful leave-one-out errors:
 * examples are then interpolated almost exactly. */
#define INITIAL_NOISE   1e-2
#define FEW_POSES_NOISE 1e-4
/* Number of radii tried for Gaussians: wider ones approach polynomials, which diverge beyond the examples. */
#define GAUSSIAN_RADII 4u
/* A smaller noise is chosen only if it lowers the error to less than this ratio. */
#define MIN_IMPROVEMENT 0.99

typedef struct kernel_work {
    px_eigenskin *e;
    double radius;
} kernel_work;

static px_rotation centre_of(const px_bend *bend, size_t centre) {
    return px_rotation_of(bend->centres + 4 * centre);
}

static double phi(const px_eigenskin *e, const px_bend *bend, px_rotation a, size_t centre) {
    return px_driver_kernel(e->kernel, bend->radius, px_driver_angle(a, centre_of(bend, centre)));
}

/* basis = V |Λ|^(−1/2) with Φ = V Λ Vᵀ; Φ is block diagonal: parts do not interact. */
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
        most = px_fmax(most, fabs(values[v]));
    for (size_t v = 0; result == PELT_OK && v < count; v++) {
        double scale = 1 / sqrt(px_fmax(fabs(values[v]), MIN_EIGENVALUE_RATIO * most));
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
        bend->radius = (double)(float)w->radius; /* rounded to float, as stored in drivers */
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
        if (bend->kernel)
            continue;
        bend->rest = PX_NEW(e->scratch, double, count);
        bend->basis = PX_NEW(e->scratch, double, count *count);
        bend->factor = PX_NEW(e->scratch, double, px_mul_size(poses, count));
        bend->kernel = PX_NEW(e->scratch, double, px_mul_size(poses, poses));
        if (!bend->rest || !bend->basis || !bend->factor || !bend->kernel)
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

static pelt_result make_kernels(px_eigenskin *e, double radius) {
    PX_TRY(make_room(e));
    return px_parallel(e->context, NULL, e->bend_count, MATRIX_BLOCK, kernel_block, &(kernel_work){e, radius});
}

/* ---- Radius and noise ------------------------------------------------------------------------------------- */

typedef struct search {
    px_eigenskin *e;
    double radius, noise; /* setting with the least error so far */
    double error;         /* its error over the counted poses, or over all if none count */
    double all;           /* its error over all poses */
    bool counts;          /* there are counted poses */
} search;

/* Evaluates the leave-one-out error with this radius (recomputing kernels if it differs) and noise. Keeps the
 * setting if the error is less than `factor` times the least. */
static pelt_result try_setting(search *s, double radius, double noise, double factor) {
    double errors[2];
    s->e->noise = noise;
    if (radius != s->e->bends[0].radius)
        PX_TRY(make_kernels(s->e, radius));
    PX_TRY(px_eigenskin_leave_out(s->e, errors));
    s->counts = !isnan(errors[0]);
    double error = s->counts ? errors[0] : errors[1];
    if (error < factor * s->error || !(s->error < INFINITY)) {
        s->error = error;
        s->all = errors[1];
        s->radius = radius;
        s->noise = noise;
    }
    return PELT_OK;
}

static pelt_result try_radii(search *s) {
    static const double radii[] = {0.25, 0.5, 1, 2, 4, 8};
    double given = s->e->desc.radius, noise = s->noise;
    s->error = INFINITY;
    for (size_t n = 0; n < (given > 0                              ? 1
                            : s->e->kernel == PELT_KERNEL_GAUSSIAN ? GAUSSIAN_RADII
                                                                   : PX_COUNT(radii));
         n++)
        PX_TRY(try_setting(s, given > 0 ? given : radii[n], noise, 1));
    return PELT_OK;
}

/* Tries noises in descending order. */
static pelt_result try_noises(search *s) {
    static const double noises[] = {1, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5};
    double radius = s->radius;
    s->error = INFINITY;
    for (size_t n = 0; n < PX_COUNT(noises); n++)
        PX_TRY(try_setting(s, radius, noises[n], MIN_IMPROVEMENT));
    return PELT_OK;
}

static pelt_result settle(search *s, double *error) {
    s->e->noise = s->noise;
    *error = s->all;
    return s->radius == s->e->bends[0].radius ? PELT_OK : make_kernels(s->e, s->radius);
}

static bool noise_is_free(const px_eigenskin *e) {
    return !e->desc.interpolate && !(e->desc.regularise > 0);
}

pelt_result px_eigenskin_choose(px_eigenskin *e, pelt_kernel kernel) {
    search s = {.e = e, .noise = noise_is_free(e) ? INITIAL_NOISE : e->desc.interpolate ? 0 : e->desc.regularise};
    double error;
    e->kernel = kernel;
    e->bends[0].radius = 0; /* forces recomputation */
    PX_TRY(try_radii(&s));
    if (noise_is_free(e) && s.counts) {
        PX_TRY(try_noises(&s));
        PX_TRY(try_radii(&s));
    } else if (noise_is_free(e))
        s.noise = FEW_POSES_NOISE;
    return settle(&s, &error);
}

pelt_result px_eigenskin_choose_noise(px_eigenskin *e, double *error) {
    search s = {.e = e, .radius = e->bends[0].radius, .noise = e->noise, .error = INFINITY};
    PX_TRY(try_setting(&s, s.radius, s.noise, 1));
    if (noise_is_free(e) && s.counts)
        PX_TRY(try_noises(&s));
    return settle(&s, error);
}
