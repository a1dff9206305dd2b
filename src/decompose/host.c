/* Choice of hosts: the bone of a kept rig to which a new bone is attached. */
#include "decompose/host.h"
#include "core/math3.h"
#include "decompose/kinds.h"

#define SIMILARITY_TOLERANCE 1e-4 /* relative: joint transforms are floats, multiplied along a chain */
#define RIGID_TOLERANCE      2e-5 /* deviation from scale 1, for bone kinds that cannot scale */
#define CONDITION_LEAST      1e-3 /* smallest over largest singular value: below, division magnifies errors */

/* ---- Similarities ----------------------------------------------------------------------------------------- */

/* The scale of a 3×3 matrix; *off is its distance from scale · rotation, relative to the scale. */
static double scale_of(const double m[9], double rotation[9], double *off) {
    double stretch[9], scale, largest = 0;
    px_polar3(m, rotation, stretch);
    scale = (stretch[0] + stretch[4] + stretch[8]) / 3;
    for (int e = 0; e < 9; e++)
        largest = px_fmax(largest, fabs(stretch[e] - (e % 4 == 0 ? scale : 0)));
    *off = scale > 0 ? largest / scale : INFINITY;
    return scale;
}

bool px_host_bind(const pelt_affine *a, px_similarity *out) {
    double linear[9], off, sign = px_affine_determinant(a) < 0 ? -1 : 1; /* mirrored: negative scale */
    for (int e = 0; e < 9; e++)
        linear[e] = sign * (double)a->m[4 * (e / 3) + e % 3];
    out->scale = sign * scale_of(linear, out->turn, &off);
    for (int r = 0; r < 3; r++)
        out->shift[r] = (double)a->m[4 * r + 3];
    return off <= SIMILARITY_TOLERANCE;
}

/* ---- Matrices --------------------------------------------------------------------------------------------- */

static void rig_matrix(const px_given *given, uint32_t rig_bone, size_t row, double out[12]) {
    size_t pitch = 4 * (size_t)given->bone_count;
    for (size_t r = 0; r < 3; r++)
        memcpy(out + 4 * r, given->transforms + (row + r) * pitch + 4 * (size_t)rig_bone, 4 * sizeof *out);
}

void px_host_matrix(const px_hosts *hosts, uint32_t bone, size_t row, double out[12]) {
    rig_matrix(hosts->given, hosts->bones[bone], row, out);
}

static void linear_part(const double m[12], double out[9]) {
    for (int e = 0; e < 9; e++)
        out[e] = m[4 * (e / 3) + e % 3];
}

void px_host_divide(const px_hosts *hosts, uint32_t bone, size_t row, double m[12]) {
    double host[12], linear[9], inverse[9], out[12];
    px_host_matrix(hosts, bone, row, host);
    linear_part(host, linear);
    px_invert3(linear, CONDITION_LEAST, inverse);
    for (int r = 0; r < 3; r++)
        m[4 * r + 3] -= host[4 * r + 3];
    for (int e = 0; e < 12; e++) {
        const double *line = inverse + 3 * (e / 4);
        out[e] = line[0] * m[e % 4] + line[1] * m[4 + e % 4] + line[2] * m[8 + e % 4];
    }
    memcpy(m, out, sizeof out);
}

void px_host_multiply(const px_hosts *hosts, uint32_t bone, size_t row, double m[12]) {
    double host[12], out[12];
    px_host_matrix(hosts, bone, row, host);
    for (int e = 0; e < 12; e++) {
        const double *line = host + 4 * (e / 4);
        out[e] = line[0] * m[e % 4] + line[1] * m[4 + e % 4] + line[2] * m[8 + e % 4] + (e % 4 == 3 ? line[3] : 0);
    }
    memcpy(m, out, sizeof out);
}

/* ---- Choice ----------------------------------------------------------------------------------------------- */

/* True if a bone of the rig can be a host for the fit's bone kind; *size is the largest scale of its matrices. */
static bool can_carry(const px_given *given, const px_fit *fit, uint32_t rig_bone, double *size) {
    px_similarity bind;
    *size = 0;
    if (!fit->lock_motions[rig_bone] || !px_host_bind(&given->rig->skin.inverse_binds[rig_bone], &bind))
        return false;
    for (size_t row = 0; row < fit->row_count; row += 3) {
        double m[12], linear[9], other[9], off;
        rig_matrix(given, rig_bone, row, m);
        linear_part(m, linear);
        if (fit->kind->host == PX_HOST_INVERTIBLE) {
            double s[3], v[9];
            px_svd3(linear, other, s, v);
            if (!(s[2] > CONDITION_LEAST * s[0]))
                return false;
            *size = px_fmax(*size, s[0]);
            continue;
        }
        double scale = scale_of(linear, other, &off);
        if (!(off <= SIMILARITY_TOLERANCE) ||
            (fit->kind->host == PX_HOST_RIGID && !(fabs(scale - 1) <= RIGID_TOLERANCE)))
            return false;
        *size = px_fmax(*size, scale);
    }
    return *size > 0;
}

/* shares [bone of the fit][bone of the rig]: Σ over vertices of the product of both weights. With fit->base, weights of
 * the rig are those before helper bones took their share. */
static void sum_shares(const px_given *given, const px_fit *fit, double *shares) {
    const px_fit_state *now = &fit->now, *base = fit->base ? fit->base : now;
    size_t K = fit->influence_count;
    for (size_t i = 0; i < fit->vertex_count; i++)
        for (size_t a = 0; a < K; a++)
            for (size_t c = 0; c < K; c++) {
                size_t bone = now->bones[i * K + a], rig_bone = base->bones[i * K + c];
                if (rig_bone < given->bone_count)
                    shares[bone * given->bone_count + rig_bone] += now->weights[i * K + a] * base->weights[i * K + c];
            }
}

pelt_result px_hosts_find(const px_given *given, px_fit *fit, px_hosts *hosts) {
    *hosts = (px_hosts){.given = given,
                        .bones = PX_NEW(fit->arena, uint32_t, fit->bone_count),
                        .sizes = PX_NEW(fit->arena, double, fit->bone_count)};
    if (!hosts->bones || !hosts->sizes)
        return PELT_ERROR_MEMORY;
    for (uint32_t bone = 0; bone < fit->bone_count; bone++) {
        hosts->bones[bone] = PELT_NONE;
        hosts->sizes[bone] = 1;
    }
    if (!given->kept || !given->transforms)
        return PELT_OK;
    double *sizes = PX_NEW(fit->arena, double, given->bone_count);
    double *shares = PX_NEW(fit->arena, double, px_mul_size(fit->bone_count, given->bone_count));
    if (!sizes || !shares)
        return PELT_ERROR_MEMORY;
    for (uint32_t rig_bone = 0; rig_bone < given->bone_count; rig_bone++)
        if (!can_carry(given, fit, rig_bone, &sizes[rig_bone]))
            sizes[rig_bone] = 0;
    sum_shares(given, fit, shares);
    for (uint32_t bone = 0; bone < fit->bone_count; bone++) {
        const double *share = shares + (size_t)bone * given->bone_count;
        uint32_t best = PELT_NONE;
        for (uint32_t rig_bone = 0; rig_bone < given->bone_count && !fit->lock_motions[bone]; rig_bone++)
            if (sizes[rig_bone] > 0 && (best == PELT_NONE || share[rig_bone] > share[best]))
                best = rig_bone;
        hosts->bones[bone] = best;
        hosts->sizes[bone] = best == PELT_NONE ? 1 : sizes[best];
    }
    return PELT_OK;
}
