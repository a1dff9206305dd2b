/* Rigid shells: connected components of the mesh that keep their shape in all frames, such as debris, props and
 * machines.
 *
 * In every frame the rigid motion of a shell is the Procrustes fit of its rest positions to those of the frame. A shell
 * with a vertex farther from it than the tolerance is not rigid. All rigid shells start in one group; in every frame
 * the shells of a group that do not follow the motion of its largest shell are split off into groups by the same rule.
 * Only one frame is held at a time, and reading stops when rigid shells hold less than half of the vertices.
 */
#include "decompose/shells.h"
#include "core/groups.h"
#include "decompose/reduce.h"

#include <math.h>
#include <stdlib.h>

#define TOLERANCE      1e-4 /* relative to the sphere's radius: a tenth of an E_rms of 1 … */
#define TOLERANCE_PART 1e-3 /* … at most this fraction of the shell's radius: more would show in its shading … */
#define ROUNDING       2e-6 /* … but at least the rounding of text files with six digits */
#define THIN           1e-8 /* second over first eigenvalue of the scatter: a line has no unique rotation */

typedef struct shell {
    uint32_t first, count; /* range in finding.members */
    uint32_t group;        /* PELT_NONE: not rigid */
    double tolerance;
    double middle[3]; /* centroid at rest */
    double turn[9];   /* motion from rest to the current frame: y = turn · (x − middle) + at */
    double at[3];
} shell;

typedef struct finding {
    px_fit *fit;
    uint32_t *members; /* vertices sorted by shell */
    shell *shells;     /* sorted by descending count */
    uint32_t shell_count;
    uint32_t *leaders; /* [group] its largest shell */
    uint32_t *origins; /* [group] the group it was split from in this frame */
    double *rest;      /* [3][vertex] */
    double *frame;     /* [3][vertex] */
} finding;

/* ---- Connected components ----------------------------------------------------------------------------------- */

static int larger_first(const void *a, const void *b) {
    const shell *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : (x->first > y->first) - (x->first < y->first);
}

/* Connected components with union-find, then a counting sort of the vertices. Components of fewer than three vertices,
 * such as vertices without a triangle, are no shells. `connected` and `places` [vertex] are scratch. */
static pelt_result find_shells(finding *f, px_arena *scratch, const pelt_mesh *mesh, const pelt_vertex_classes *classes,
                               uint32_t *connected, uint32_t *places) {
    uint32_t N = f->fit->total_count, first = 0, most = 0;
    for (uint32_t i = 0; i < N; i++)
        connected[i] = i;
    for (size_t t = 0; t < mesh->triangle_count; t++)
        for (size_t c = 1; c < 3; c++)
            px_group_join(connected, pelt_vertex_class(classes, mesh->triangles[3 * t]),
                          pelt_vertex_class(classes, mesh->triangles[3 * t + c]));
    memset(places, 0, N * sizeof *places);
    for (uint32_t i = 0; i < N; i++)
        most += ++places[px_group_of(connected, i)] == 3;
    if (!(f->shells = PX_NEW(scratch, shell, most)))
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < N; i++) { /* a root is the lowest vertex of its component */
        uint32_t count = places[i];
        if (px_group_of(connected, i) != i)
            continue;
        places[i] = first;
        if (count >= 3)
            f->shells[f->shell_count++] = (shell){.first = first, .count = count};
        first += count;
    }
    for (uint32_t i = 0; i < N; i++)
        f->members[places[px_group_of(connected, i)]++] = i;
    px_sort(f->shells, f->shell_count, sizeof *f->shells, larger_first);
    return PELT_OK;
}

/* ---- Rigid motions ----------------------------------------------------------------------------------------- */

static void middle_of(const finding *f, const shell *s, const double *positions, double middle[3]) {
    for (size_t axis = 0; axis < 3; axis++) {
        middle[axis] = 0;
        for (uint32_t m = s->first; m < s->first + s->count; m++)
            middle[axis] += positions[axis * f->fit->total_count + f->members[m]] / s->count;
    }
}

/* Σ (y − at) (x − middle)ᵀ, x the rest positions and y `positions`. */
static void covariance_of(const finding *f, const shell *s, const double *positions, const double at[3],
                          double out[9]) {
    size_t N = f->fit->total_count;
    memset(out, 0, 9 * sizeof *out);
    for (uint32_t m = s->first; m < s->first + s->count; m++)
        for (size_t e = 0; e < 9; e++)
            out[e] += (positions[e / 3 * N + f->members[m]] - at[e / 3]) *
                      (f->rest[e % 3 * N + f->members[m]] - s->middle[e % 3]);
}

/* True if all vertices of a shell follow the motion of `leader` in this frame. */
static bool follows(const finding *f, const shell *s, const shell *leader) {
    size_t N = f->fit->total_count;
    for (uint32_t m = s->first; m < s->first + s->count; m++) {
        uint32_t i = f->members[m];
        double distance2 = 0;
        for (size_t r = 0; r < 3; r++) {
            double y = leader->at[r] - f->frame[r * N + i];
            for (size_t c = 0; c < 3; c++)
                y += leader->turn[3 * r + c] * (f->rest[c * N + i] - leader->middle[c]);
            distance2 += y * y;
        }
        if (!(distance2 <= s->tolerance * s->tolerance))
            return false;
    }
    return true;
}

static void start_shell(finding *f, shell *s) {
    double scatter[9], u[9], values[3], v[9];
    middle_of(f, s, f->rest, s->middle);
    covariance_of(f, s, f->rest, s->middle, scatter);
    px_svd3(scatter, u, values, v);
    double radius = sqrt((values[0] + values[1] + values[2]) / s->count);
    s->tolerance = px_fmax(px_fmin(TOLERANCE, TOLERANCE_PART * radius), ROUNDING);
    s->group = values[1] > THIN * values[0] ? 0 : PELT_NONE;
}

/* ---- Groups ------------------------------------------------------------------------------------------------ */

/* Splits the groups by the motions of this frame. Returns their number, `most` + 1 if there are more. */
static uint32_t divide_groups(finding *f, uint32_t most) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < f->shell_count; n++) {
        shell *s = &f->shells[n];
        uint32_t g = 0;
        if (s->group == PELT_NONE)
            continue;
        while (g < count && !(f->origins[g] == s->group && follows(f, s, &f->shells[f->leaders[g]])))
            g++;
        if (g == most)
            return most + 1;
        if (g == count) {
            f->leaders[g] = n;
            f->origins[g] = s->group;
            count++;
        }
        s->group = g;
    }
    return count;
}

static uint32_t use_frame(finding *f, uint32_t most) {
    for (uint32_t n = 0; n < f->shell_count; n++) {
        shell *s = &f->shells[n];
        double covariance[9];
        if (s->group == PELT_NONE)
            continue;
        middle_of(f, s, f->frame, s->at);
        covariance_of(f, s, f->frame, s->at, covariance);
        px_polar3(covariance, s->turn, NULL);
        if (!follows(f, s, s))
            s->group = PELT_NONE;
    }
    return divide_groups(f, most);
}

/* Number of vertices in rigid shells. */
static uint32_t rigid_count(const finding *f) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < f->shell_count; n++)
        count += f->shells[n].group != PELT_NONE ? f->shells[n].count : 0;
    return count;
}

static void store_groups(const finding *f, px_shells *out) {
    for (uint32_t n = 0; n < f->shell_count; n++)
        for (uint32_t m = 0; m < f->shells[n].count; m++)
            out->groups[f->members[f->shells[n].first + m]] = f->shells[n].group;
}

static pelt_result find(finding *f, const pelt_model *input, const px_gathered *plan, uint32_t most, px_shells *out) {
    px_fit *fit = f->fit;
    px_reduction r = {.fit = fit, .clips = input->clips, .plan = plan, .whole = true};
    uint32_t count = 0;
    PX_TRY(px_reduction_read(&r, 0, fit->total_count, (uint32_t)(plan->rest_row / 3), 1, f->rest));
    for (uint32_t n = 0; n < f->shell_count; n++)
        start_shell(f, &f->shells[n]);
    for (uint32_t k = 0; k < fit->row_count / 3; k++) {
        PX_TRY(px_reduction_read(&r, 0, fit->total_count, k, 1, f->frame));
        count = use_frame(f, most);
        if (count > most || 2 * (uint64_t)rigid_count(f) < fit->total_count)
            return PELT_OK;
    }
    out->group_count = count;
    out->vertex_count = rigid_count(f);
    store_groups(f, out);
    return PELT_OK;
}

/* out->groups [total_count] */
static pelt_result find_all(px_fit *fit, const pelt_model *input, const px_gathered *plan, uint32_t most,
                            px_shells *out) {
    size_t N = fit->total_count;
    px_arena *scratch = px_arena_create(fit->context);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    finding f = {.fit = fit,
                 .members = PX_NEW(scratch, uint32_t, N),
                 .leaders = PX_NEW(scratch, uint32_t, most),
                 .origins = PX_NEW(scratch, uint32_t, most),
                 .rest = PX_NEW(scratch, double, 3 * N),
                 .frame = PX_NEW(scratch, double, 3 * N)};
    uint32_t *connected = PX_NEW(scratch, uint32_t, N), *places = PX_NEW(scratch, uint32_t, N);
    bool ready = f.members && f.leaders && f.origins && f.rest && f.frame && connected && places;
    pelt_result result =
        ready ? find_shells(&f, scratch, &input->mesh, &plan->classes, connected, places) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = find(&f, input, plan, most, out);
    px_arena_destroy(scratch);
    return result;
}

/* Process 0 finds the groups for all: shells are not divided as the vertices are. */
pelt_result px_shells_find(px_fit *fit, const pelt_model *input, const px_gathered *plan, uint32_t most,
                           px_shells *out) {
    size_t N = fit->total_count;
    *out = (px_shells){.groups = PX_NEW(fit->arena, uint32_t, fit->vertex_count)};
    uint32_t *own = out->groups, *all = fit->leaves.divided ? PX_ALLOC(fit->context, uint32_t, N) : own;
    pelt_result result = own && all ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        memset(all, 0xFF, N * sizeof *all);
    out->groups = all;
    if (result == PELT_OK && !(fit->leaves.divided && pelt_group_rank(fit->context) > 0))
        result = find_all(fit, input, plan, most, out);
    out->groups = own;
    if (!fit->leaves.divided)
        return result;
    uint32_t counts[2] = {out->group_count, out->vertex_count};
    if (result == PELT_OK)
        result = pelt_group_broadcast(fit->context, 0, counts, sizeof counts);
    if (result == PELT_OK)
        result = pelt_group_broadcast(fit->context, 0, all, N * sizeof *all);
    if (result == PELT_OK)
        memcpy(own, all + fit->first_vertex, fit->vertex_count * sizeof *own);
    out->group_count = counts[0];
    out->vertex_count = counts[1];
    px_free(fit->context, all);
    return result;
}

uint32_t px_shells_bones(const px_fit *fit, const px_shells *shells, uint32_t count) {
    bool rest = shells->vertex_count < fit->total_count;
    return shells->group_count + rest <= count ? shells->group_count : 0;
}
