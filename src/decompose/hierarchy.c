/* Hierarchy from the motions of bones: the joint of two bones is the point that both move most alike, and the hierarchy
 * is the minimum spanning tree of the distances between bones at these points.
 *
 * The squared distance between the images of a point p under bones j and l, summed over frames, is p̃ᵀ (H_jj − H_jl −
 * H_lj + H_ll) p̃, p̃ = (p, 1): blocks of the fit's Gram matrix. Where the motion leaves the point undetermined (along
 * a hinge axis, or without rotation), it is the centroid of the vertices that both bones influence, from S_jl. A point
 * is rarely exactly undetermined, and small errors of the fit could then place it anywhere. The regularisation towards
 * the centroid therefore grows with the distance that remains at the best point.
 */
#include "decompose/hierarchy.h"

#include <math.h>

typedef struct joint {
    double point[3];
    double drift; /* RMS over frames of the distance between the bones there */
    double cost;
    bool inside; /* the bone is already in the tree */
} joint;

/* ---- Joint of two bones ------------------------------------------------------------------------------------- */

/* The 4×4 quadric of the squared distance between two bones. */
static void parting(const px_fit *fit, size_t j, size_t l, double out[16]) {
    size_t n = 4 * (size_t)fit->bone_count;
    const double *h = fit->gram;
    for (size_t r = 0; r < 4; r++)
        for (size_t c = 0; c < 4; c++)
            out[4 * r + c] = h[(4 * j + r) * n + 4 * j + c] - h[(4 * j + r) * n + 4 * l + c] -
                             h[(4 * l + r) * n + 4 * j + c] + h[(4 * l + r) * n + 4 * l + c];
}

/* RMS distance between the images of p under the two bones. */
static double parting_at(const px_fit *fit, const double quadric[16], const double p[3]) {
    const double v[4] = {p[0], p[1], p[2], 1};
    double sum = 0;
    for (size_t e = 0; e < 16; e++)
        sum += v[e / 4] * quadric[e] * v[e % 4];
    return sqrt(px_fmax(sum, 0) / (fit->row_count / 3.0));
}

/* Minimises the quadric with a penalty amount · ‖p − middle‖². */
static void closest_point(const double quadric[16], double amount, const double middle[3], double p[3]) {
    double system[9], right[3];
    memcpy(p, middle, sizeof right);
    for (size_t r = 0; r < 3; r++) {
        right[r] = -quadric[4 * r + 3] + amount * middle[r];
        for (size_t c = 0; c < 3; c++)
            system[3 * r + c] = quadric[4 * r + c] + (r == c ? amount : 0);
    }
    if (px_cholesky_solve(px_matrix_of(system, 3, 3), px_matrix_of(right, 3, 1)))
        memcpy(p, right, sizeof right);
}

/* Finds the joint of two bones whose shared vertices have centroid `middle` and RMS radius `reach`. First with almost
 * no penalty: it moves a hinge's point by a ten-thousandth, and bones that move as one meet at the centroid. The
 * distance left there measures the error of the fit. Rotations that move a point at radius `reach` by less are not
 * reliable, and the second solve penalises accordingly. */
static void place_joint(const px_fit *fit, const double quadric[16], const double middle[3], double reach, joint *out) {
    double trace = quadric[0] + quadric[5] + quadric[10], frames = fit->row_count / 3.0;
    double least = 1e-4 * trace + 1e-12 * frames;
    closest_point(quadric, least, middle, out->point);
    out->drift = parting_at(fit, quadric, out->point);
    double doubt = out->drift / px_fmax(reach, 1e-3); /* 1e-3: smaller extents count as a point */
    closest_point(quadric, px_fmax(least, frames * doubt * doubt), middle, out->point);
    out->drift = parting_at(fit, quadric, out->point);
}

/* Cost of a joint: the distance between the bones there, relative to that at their centroids. Bones that share no
 * vertices are joined only if no others remain, nearest first. */
static joint find_joint(const px_fit *fit, const double *middles, size_t j, size_t l) {
    size_t n = 4 * (size_t)fit->bone_count;
    const double *shared = fit->scatter + (4 * j + 3) * n + 4 * l;
    double own = fit->scatter[(4 * j + 3) * n + 4 * j + 3], other = fit->scatter[(4 * l + 3) * n + 4 * l + 3];
    double quadric[16], middle[3], far = 0, spread = 0;
    joint out = {.inside = false};
    bool touch = shared[3] > 0;
    for (size_t c = 0; c < 3; c++) {
        double a = middles[3 * j + c], b = middles[3 * l + c];
        middle[c] = touch ? shared[c] / shared[3] : (a + b) / 2;
        far += (a - b) * (a - b);
        spread += touch ? fit->scatter[(4 * j + c) * n + 4 * l + c] / shared[3] - middle[c] * middle[c] : 0;
    }
    parting(fit, j, l, quadric);
    place_joint(fit, quadric, middle, touch ? sqrt(px_fmax(spread, 0)) : 0.5 * sqrt(far), &out);
    double motion = parting_at(fit, quadric, middles + 3 * j) + parting_at(fit, quadric, middles + 3 * l);
    double likeness = touch ? shared[3] / sqrt(own * other) : 0;
    out.cost = out.drift / (0.02 + motion) * (2 - likeness) + (touch ? 0 : 4 + sqrt(far)); /* 0.02: RMS motion that
                                                                                            * counts as small */
    return out;
}

/* ---- Tree --------------------------------------------------------------------------------------------------- */

pelt_result px_hierarchy_flat(px_fit *fit, double *pivots, px_hierarchy *h) {
    size_t P = fit->bone_count;
    *h = (px_hierarchy){.pivots = pivots};
    h->parents = PX_NEW(fit->arena, uint32_t, P);
    h->order = PX_NEW(fit->arena, uint32_t, P);
    h->drifts = PX_NEW(fit->arena, double, P);
    if (!h->parents || !h->order || !h->drifts)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < P; j++) {
        h->parents[j] = PELT_NONE;
        h->order[j] = j;
        h->drifts[j] = INFINITY;
    }
    return PELT_OK;
}

/* Prim's algorithm. `best` [bone]: its cheapest joint to the tree so far. */
static void grow_tree(px_fit *fit, const double *middles, uint32_t root, joint *best, px_hierarchy *h) {
    uint32_t next = root;
    for (uint32_t j = 0; j < fit->bone_count; j++) {
        best[j] = (joint){.cost = INFINITY};
        h->parents[j] = PELT_NONE;
    }
    memcpy(h->pivots, middles, 3 * (size_t)fit->bone_count * sizeof *middles);
    for (uint32_t count = 0; count < fit->bone_count; count++) {
        h->order[count] = next;
        best[next].inside = true;
        if (count > 0) {
            memcpy(h->pivots + 3 * (size_t)next, best[next].point, sizeof best[next].point);
            h->drifts[next] = best[next].drift;
        }
        uint32_t nearest = PELT_NONE;
        for (uint32_t j = 0; j < fit->bone_count; j++) {
            if (best[j].inside)
                continue;
            joint found = find_joint(fit, middles, j, next);
            if (!(found.cost >= best[j].cost)) {
                best[j] = found;
                h->parents[j] = next;
            }
            if (nearest == PELT_NONE || best[j].cost < best[nearest].cost)
                nearest = j;
        }
        next = nearest;
    }
}

/* The centroid of the tree: the bone with the smallest sum of path lengths to all others. Moving from a bone to its
 * child brings the child's subtree one joint nearer and all other bones one joint farther. `below` [bone]: scratch,
 * size of its subtree. */
static uint32_t central_bone(const px_fit *fit, const px_hierarchy *h, uint32_t *below) {
    uint32_t P = fit->bone_count, best = h->order[0];
    for (uint32_t j = 0; j < P; j++)
        below[j] = 1;
    for (uint32_t place = P; place-- > 1;)
        below[h->parents[h->order[place]]] += below[h->order[place]];
    for (uint32_t place = 1; place < P; place++) { /* parents first: descends from the best so far */
        uint32_t j = h->order[place];
        if (h->parents[j] == best && 2 * below[j] > P)
            best = j;
    }
    return best;
}

pelt_result px_hierarchy_find(px_fit *fit, px_hierarchy *h) {
    size_t P = fit->bone_count;
    PX_TRY(px_fit_moments(fit));
    px_fit_gram(fit);
    double *middles = PX_ALLOC(fit->context, double, 3 * P);
    joint *best = PX_ALLOC(fit->context, joint, P);
    uint32_t *below = PX_ALLOC(fit->context, uint32_t, P);
    bool ready = middles && best && below;
    if (ready) {
        memcpy(middles, h->pivots, 3 * P * sizeof *middles);
        grow_tree(fit, middles, 0, best, h); /* the minimum spanning tree does not depend on the start */
        grow_tree(fit, middles, central_bone(fit, h, below), best, h);
        h->drifts[h->order[0]] = INFINITY;
    }
    px_free(fit->context, below);
    px_free(fit->context, best);
    px_free(fit->context, middles);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}
