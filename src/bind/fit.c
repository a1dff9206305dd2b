/* Measures whether a skeleton has the size, orientation and position of the mesh, and finds the similarity transform
 * that fits it.
 *
 * The misfit of a skeleton is the mean distance of its joints from the solid plus the RMS distance of the surface from
 * its bones, over the mesh's diagonal. A skeleton that is too large or displaced has joints outside; one that is too
 * small leaves most of the solid far from any bone, even if all of its joints are inside.
 *
 * Candidates: the conversion factors between common units, about the origin, in all 24 quarter-turn rotations; and the
 * scale and translation of least misfit, starting with coinciding bounding boxes. Skeletons without skin are posed too
 * (fit_pose.c). */
#include "bind/fit.h"
#include "core/math3.h"
#include "core/mesh.h"
#include "core/rotation.h"

#include <stdarg.h>
#include <stdio.h>

#define RESOLUTION     64u  /* voxels along the mesh's longest side */
#define SAMPLES        256u /* number of boundary voxels that represent the solid */
#define MAX_BONES      96u  /* approximate number of bones that represent the skeleton */
#define MAX_DISTANCE   0.4  /* of the diagonal: upper bound of distances */
#define MAX_MISFIT     0.07 /* a skeleton with a smaller misfit fits, even if another placement is better … */
#define MIN_INSIDE     0.7  /* … if at least this share of its joints is inside */
#define WRONG_RATIO    1.75 /* the skeleton is reported as wrong if another placement is better by this factor */
#define MIN_JOINTS     5u   /* fewer joints do not determine the size, unless most are outside */
#define KEEP_RATIO     1.15 /* a skeleton within this factor of the best fit is kept when a fit is asked for */
#define UNIT_RATIO     1.25 /* prefer unit factors, and simpler rotations of the free fit, up to this factor worse */
#define TURN_RATIO     1.1  /* among unit factors, prefer simpler rotations and factors up to this factor worse */
#define UNIT_TOLERANCE 0.04 /* relative: a scale this close to a unit factor is replaced by that factor */
#define POSED_RATIO    0.8  /* a posed skeleton is used if its misfit is below this fraction of the unposed one's */
#define REFINED_TURNS  4u   /* number of rotations whose free fit is refined: the identity and the best others */

/* ---- Misfit ------------------------------------------------------------------------------------------------ */

static bool is_inside(const px_fit_search *f, const double p[3]) {
    const px_grid *grid = &f->voxels->grid;
    uint32_t cell[3];
    for (int c = 0; c < 3; c++) {
        double at = (p[c] - grid->origin[c]) / grid->cell[c];
        if (!(at >= 0 && at < grid->size[c]))
            return false;
        cell[c] = (uint32_t)at;
    }
    return px_voxel_at(f->voxels, cell[0], cell[1], cell[2]) != PELT_NONE;
}

static double square_distance(const double a[3], const double b[3]) {
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

static double square_to_segment(const double p[3], const double a[3], const double b[3]) {
    double way[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, nearest[3];
    double length = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
    double along = (p[0] - a[0]) * way[0] + (p[1] - a[1]) * way[1] + (p[2] - a[2]) * way[2];
    double u = length > 0 ? px_fmin(px_fmax(along / length, 0), 1) : 0;
    for (int c = 0; c < 3; c++)
        nearest[c] = a[c] + u * way[c];
    return square_distance(p, nearest);
}

/* Distance of a point from the solid; 0 inside, at most MAX_DISTANCE · diagonal. */
static double outside(const px_fit_search *f, const double p[3]) {
    double best = MAX_DISTANCE * f->diagonal;
    if (is_inside(f, p))
        return 0;
    best *= best;
    for (uint32_t k = 0; k < f->sample_count; k++)
        best = px_fmin(best, square_distance(p, f->samples[k]));
    return sqrt(best);
}

double px_fit_misfit(const px_fit_search *f, const px_similarity *m, double *inside) {
    double out = 0, far = 0, most = MAX_DISTANCE * f->diagonal;
    uint32_t within = 0, count = 0;
    for (uint32_t n = 0; n < f->joint_count; n++)
        px_similarity_map(m, f->places[n], f->moved[n]);
    for (uint32_t n = 0; n < f->joint_count; n++) {
        const double *a = f->moved[f->above[n]], *b = f->moved[n];
        double middle[3] = {0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])};
        double own = outside(f, b);
        within += own == 0;
        out += own + (f->whole_bones ? outside(f, middle) : 0);
        count += f->whole_bones ? 2 : 1;
    }
    for (uint32_t k = 0; k < f->sample_count; k++) {
        double best = most * most;
        for (uint32_t n = 0; n < f->joint_count; n++)
            best = px_fmin(best, square_to_segment(f->samples[k], f->moved[f->above[n]], f->moved[n]));
        far += best;
    }
    if (inside)
        *inside = (double)within / f->joint_count;
    return (out / count + sqrt(far / f->sample_count)) / f->diagonal;
}

/* ---- Samples ----------------------------------------------------------------------------------------------- */

static pelt_result sample_solid(pelt_context *context, px_arena *arena, px_fit_search *f, px_voxels *voxels) {
    const px_bind_subject *s = f->s;
    float low[3], high[3];
    f->diagonal = px_box(s->positions, s->classes.count, low, high);
    for (int c = 0; c < 3; c++)
        f->centre[c] = 0.5 * ((double)low[c] + high[c]);
    px_grid grid = px_grid_around(low, high, RESOLUTION);
    PX_TRY(px_voxels_make(context, arena, s->positions, s->classes.count, s->triangles, s->triangle_count, &grid,
                          PX_VIEWS_ALL, voxels));
    f->voxels = voxels;
    uint32_t surface = voxels->count - voxels->interior_count, met = 0;
    f->samples = px_arena_alloc(arena, SAMPLES, sizeof *f->samples);
    if (!f->samples)
        return PELT_ERROR_MEMORY;
    for (uint32_t v = 0; v < voxels->count && f->sample_count < SAMPLES; v++) {
        if (voxels->kinds[v] != PX_VOXEL_BOUNDARY || met++ < (uint64_t)f->sample_count * surface / SAMPLES)
            continue;
        for (int c = 0; c < 3; c++)
            f->samples[f->sample_count][c] = grid.origin[c] + (voxels->cells[v][c] + 0.5) * grid.cell[c];
        f->sample_count++;
    }
    return PELT_OK;
}

/* Whether a joint enters the misfit: targets, bones of the skin without weights, and end markers of targets. */
static bool counts(const px_bind_subject *s, uint32_t joint) {
    const char *name = s->rig->skeleton.names[joint];
    uint32_t parent = s->rig->skeleton.parents[joint];
    bool ends = px_bind_name_is_end(name) && parent != PELT_NONE && s->joint_targets[parent] != PELT_NONE;
    bool named = s->joint_targets[joint] != PELT_NONE || s->idle[joint] == PELT_BIND_UNWEIGHTED;
    return (named || ends) && !px_bind_name_steers(name) && !px_bind_name_is_ik(name) && !px_bind_name_is_root(name);
}

/* Selects joints for the misfit. Control joints are left out: they may be anywhere. Large skeletons are subsampled. */
static pelt_result choose_joints(px_arena *arena, px_fit_search *f) {
    const px_bind_subject *s = f->s;
    uint32_t all = s->rig->skeleton.joint_count, usable = 0, met = 0;
    uint32_t *numbers = PX_NEW(arena, uint32_t, all);
    f->joints = PX_NEW(arena, uint32_t, all);
    f->above = PX_NEW(arena, uint32_t, all);
    if (!numbers || !f->joints || !f->above)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < all; j++)
        usable += counts(s, j);
    for (uint32_t j = 0; j < all; j++) {
        numbers[j] = PELT_NONE;
        if (!counts(s, j))
            continue;
        uint32_t step = usable / MAX_BONES + 1, parent = s->rig->skeleton.parents[j];
        if (met++ % step != 0)
            continue;
        while (parent != PELT_NONE && numbers[parent] == PELT_NONE)
            parent = s->rig->skeleton.parents[parent];
        numbers[j] = f->joint_count;
        f->joints[f->joint_count] = j;
        f->above[f->joint_count] = parent == PELT_NONE ? f->joint_count : numbers[parent];
        f->joint_count++;
    }
    f->places = px_arena_alloc(arena, f->joint_count, sizeof *f->places);
    f->moved = px_arena_alloc(arena, f->joint_count, sizeof *f->moved);
    return f->places && f->moved ? PELT_OK : PELT_ERROR_MEMORY;
}

void px_fit_take(px_fit_search *f, const pelt_affine *globals) {
    for (int c = 0; c < 3; c++) {
        f->low[c] = INFINITY;
        f->high[c] = -INFINITY;
    }
    for (uint32_t n = 0; n < f->joint_count; n++)
        for (int c = 0; c < 3; c++) {
            f->places[n][c] = (double)globals[f->joints[n]].m[4 * c + 3];
            f->low[c] = px_fmin(f->low[c], f->places[n][c]);
            f->high[c] = px_fmax(f->high[c], f->places[n][c]);
        }
}

/* ---- Candidates -------------------------------------------------------------------------------------------- */

/* Translates the centre of the skeleton's box to that of the mesh. */
static void centre(const px_fit_search *f, px_similarity *m) {
    double middle[3], to[3];
    for (int c = 0; c < 3; c++) {
        middle[c] = 0.5 * (f->low[c] + f->high[c]);
        m->shift[c] = 0;
    }
    px_similarity_map(m, middle, to);
    for (int c = 0; c < 3; c++)
        m->shift[c] = f->centre[c] - to[c];
}

/* Scales about the centre of the skeleton's box, which stays in place. */
static void scale_about_middle(const px_fit_search *f, px_similarity *m, double factor) {
    double middle[3], before[3], after[3];
    for (int c = 0; c < 3; c++)
        middle[c] = 0.5 * (f->low[c] + f->high[c]);
    px_similarity_map(m, middle, before);
    m->scale *= factor;
    px_similarity_map(m, middle, after);
    for (int c = 0; c < 3; c++)
        m->shift[c] += before[c] - after[c];
}

double px_fit_refine(const px_fit_search *f, px_similarity *m, double cost, bool scales) {
    for (double step = 0.08; step > 0.004; step *= 0.5)
        for (bool better = true; better;) {
            better = false;
            for (int move = 0; move < (scales ? 8 : 6); move++) {
                px_similarity next = *m;
                if (move < 6)
                    next.shift[move / 2] += (move % 2 ? -step : step) * f->diagonal;
                else
                    scale_about_middle(f, &next, move % 2 ? 1 / (1 + step) : 1 + step);
                double own = px_fit_misfit(f, &next, NULL);
                if (own < cost * (1 - 1e-9)) {
                    cost = own;
                    *m = next;
                    better = true;
                }
            }
        }
    return cost;
}

static px_similarity unit_change(const double turn[9], uint32_t k) {
    px_similarity m = {.scale = px_unit_scale(k)};
    memcpy(m.turn, turn, sizeof m.turn);
    return m;
}

static double skeleton_diagonal(const px_fit_search *f) {
    return sqrt(square_distance(f->low, f->high));
}

/* Simplest rotation and unit factor, about the origin, nearly as good as the best combination; INFINITY if no factor
 * gives a comparable size. Rotations and factors are ordered by simplicity (px_unit_scale). */
static double try_units(const px_fit_search *f, double turns[PX_TURN_COUNT][9], px_similarity *best) {
    double costs[PX_TURN_COUNT][PX_UNIT_COUNT], least[PX_TURN_COUNT], all = INFINITY, size = skeleton_diagonal(f);
    for (uint32_t t = 0; t < PX_TURN_COUNT; t++) {
        least[t] = INFINITY;
        for (uint32_t k = 0; k < PX_UNIT_COUNT; k++) {
            px_similarity m = unit_change(turns[t], k);
            double ratio = m.scale * size / f->diagonal;
            costs[t][k] = ratio < 0.3 || ratio > 2 ? INFINITY : px_fit_misfit(f, &m, NULL);
            least[t] = px_fmin(least[t], costs[t][k]);
        }
        all = px_fmin(all, least[t]);
    }
    for (uint32_t t = 0; t < PX_TURN_COUNT && all < INFINITY; t++)
        for (uint32_t k = 0; k < PX_UNIT_COUNT && least[t] <= TURN_RATIO * all; k++)
            if (costs[t][k] <= TURN_RATIO * least[t]) {
                *best = unit_change(turns[t], k);
                return costs[t][k];
            }
    return INFINITY;
}

/* Scale and translation of least misfit. */
static double try_free(const px_fit_search *f, double turns[PX_TURN_COUNT][9], px_similarity *best) {
    double costs[PX_TURN_COUNT], least = INFINITY, size = skeleton_diagonal(f);
    px_similarity found[PX_TURN_COUNT];
    if (!(size > 0))
        return INFINITY;
    for (uint32_t t = 0; t < PX_TURN_COUNT; t++) {
        found[t] = (px_similarity){.scale = 0.9 * f->diagonal / size};
        memcpy(found[t].turn, turns[t], sizeof found[t].turn);
        centre(f, &found[t]);
        costs[t] = px_fit_misfit(f, &found[t], NULL);
    }
    bool refined[PX_TURN_COUNT] = {false};
    for (uint32_t n = 0; n < REFINED_TURNS; n++) {
        uint32_t next = PELT_NONE;
        for (uint32_t t = 0; t < PX_TURN_COUNT; t++)
            if (!refined[t] && (next == PELT_NONE || (n > 0 && costs[t] < costs[next])))
                next = t;
        refined[next] = true;
        costs[next] = px_fit_refine(f, &found[next], costs[next], true);
        least = px_fmin(least, costs[next]);
    }
    for (uint32_t t = 0; t < PX_TURN_COUNT; t++)
        if (refined[t] && costs[t] <= UNIT_RATIO * least) {
            *best = found[t];
            least = costs[t];
            break;
        }
    for (uint32_t k = 0; k < PX_UNIT_COUNT; k++) {
        double factor = px_unit_scale(k);
        if (fabs(best->scale / factor - 1) > UNIT_TOLERANCE)
            continue;
        px_similarity snapped = *best;
        scale_about_middle(f, &snapped, factor / best->scale);
        snapped.scale = factor;
        double cost = px_fit_refine(f, &snapped, px_fit_misfit(f, &snapped, NULL), false);
        if (cost <= KEEP_RATIO * least) {
            *best = snapped;
            return cost;
        }
    }
    return least;
}

static double try_all(const px_fit_search *f, px_similarity *best) {
    double turns[PX_TURN_COUNT][9];
    px_similarity unit, free_fit;
    px_quarter_turns(turns);
    double unit_cost = try_units(f, turns, &unit), free_cost = try_free(f, turns, &free_fit);
    if (!(unit_cost < INFINITY) && !(free_cost < INFINITY))
        return INFINITY;
    bool simple = unit_cost <= UNIT_RATIO * free_cost;
    *best = simple ? unit : free_fit;
    return simple ? unit_cost : free_cost;
}

/* ---- Skeletons without skin -------------------------------------------------------------------------------- */

/* Whether the skeleton has no skin. A skin would define its bind pose. */
static bool is_bare(const pelt_model *rig) {
    for (uint32_t p = 0; p < rig->mesh.part_count; p++)
        if (rig->mesh.parts[p].skinned)
            return false;
    return true;
}

/* Local transforms of globals [joint]; translations and scales are those of `locals`. */
static pelt_transform *find_locals(px_arena *arena, const pelt_skeleton *skeleton, const pelt_affine *globals,
                                   const pelt_transform *locals) {
    pelt_transform *out = PX_NEW(arena, pelt_transform, skeleton->joint_count);
    for (uint32_t j = 0; out && j < skeleton->joint_count; j++) {
        uint32_t parent = skeleton->parents[j];
        px_rotation own = px_rotation_of_affine(&globals[j]);
        if (parent != PELT_NONE)
            own = px_rotation_mul(px_rotation_inverse(px_rotation_of_affine(&globals[parent])), own);
        out[j] = locals[j];
        px_rotation_store(own, out[j].rotation);
    }
    return out;
}

/* Poses the skeleton, starting from the rest pose and from the first frame of the first motion, at several scales. Sets
 * the pose, and *best with it, if it fits better than the rest pose under *best. */
static pelt_result pose_bare(px_arena *arena, px_fit_search *f, px_similarity *best, double *cost,
                             pelt_transform **pose) {
    const pelt_model *rig = f->s->rig;
    uint32_t count = rig->skeleton.joint_count;
    pelt_affine *globals = PX_NEW(arena, pelt_affine, count);
    pelt_transform *locals = PX_NEW(arena, pelt_transform, count);
    if (!globals || !locals)
        return PELT_ERROR_MEMORY;
    f->whole_bones = true;
    px_fit_take(f, f->s->joints);
    *cost = px_fit_misfit(f, best, NULL);
    for (uint32_t start = 0; start < (rig->motion_count ? 2u : 1u); start++)
        for (double size = 0.7; size < 1.3; size += 0.2) {
            px_similarity m = *best;
            pelt_motion_sample(rig, start ? &rig->motions[0] : NULL, start ? rig->motions[0].start : 0, locals, NULL);
            pelt_skeleton_globals(&rig->skeleton, locals, globals);
            px_fit_take(f, globals);
            m.scale = size * f->diagonal / skeleton_diagonal(f);
            centre(f, &m);
            double own = px_fit_refine(f, &m, px_fit_misfit(f, &m, NULL), false);
            PX_TRY(px_fit_pose(arena, f, globals, &m, &own));
            if (!(own < POSED_RATIO * *cost) && !(*pose && own < *cost))
                continue;
            *cost = own;
            *best = m;
            if (!(*pose = find_locals(arena, &rig->skeleton, globals, locals)))
                return PELT_ERROR_MEMORY;
        }
    f->whole_bones = false;
    return PELT_OK;
}

/* ---- Entry points ------------------------------------------------------------------------------------------ */

static const px_similarity identity = {.scale = 1, .turn = {1, 0, 0, 0, 1, 0, 0, 0, 1}};

static pelt_result find(px_arena *arena, px_fit_search *f, bool full, pelt_bind_fit *fit, pelt_transform **pose) {
    px_similarity best = identity;
    px_fit_take(f, f->s->joints);
    double before = px_fit_misfit(f, &identity, &fit->inside_before), after;
    fit->inside_after = fit->inside_before;
    bool fits = before <= MAX_MISFIT && fit->inside_before >= MIN_INSIDE;
    bool telling = f->joint_count >= MIN_JOINTS || fit->inside_before < 0.5;
    if (fits && !full)
        return PELT_OK;
    after = try_all(f, &best);
    fit->misfit = !fits && telling && before > WRONG_RATIO * after;
    if (full && after > MAX_MISFIT && is_bare(f->s->rig))
        PX_TRY(pose_bare(arena, f, &best, &after, pose));
    fit->changes = before > KEEP_RATIO * after;
    if (!fit->changes) {
        *pose = NULL;
        return PELT_OK;
    }
    if (is_bare(f->s->rig))
        PX_TRY(px_fit_stand(arena, f, &best, pose));
    px_fit_take(f, f->s->joints);
    if (*pose) {
        pelt_affine *globals = PX_NEW(arena, pelt_affine, f->s->rig->skeleton.joint_count);
        if (!globals)
            return PELT_ERROR_MEMORY;
        pelt_skeleton_globals(&f->s->rig->skeleton, *pose, globals);
        px_fit_take(f, globals);
    }
    fit->posed = *pose != NULL;
    fit->scale = best.scale;
    px_quat_from_matrix(best.turn, fit->rotation);
    memcpy(fit->translation, best.shift, sizeof fit->translation);
    px_fit_misfit(f, &best, &fit->inside_after);
    return PELT_OK;
}

pelt_result px_bind_fit_find(px_arena *arena, const px_bind_subject *subject, bool full, pelt_bind_fit *fit,
                             pelt_transform **pose) {
    px_fit_search f = {.s = subject};
    px_voxels voxels;
    *fit = (pelt_bind_fit){.scale = 1, .rotation = {0, 0, 0, 1}};
    *pose = NULL;
    PX_TRY(choose_joints(arena, &f));
    if (f.joint_count < 2 || subject->triangle_count == 0)
        return PELT_OK;
    PX_TRY(sample_solid(px_arena_context(arena), arena, &f, &voxels));
    return f.sample_count > 0 && f.diagonal > 0 ? find(arena, &f, full, fit, pose) : PELT_OK;
}

/* ---- Text --------------------------------------------------------------------------------------------------- */

static void add_text(char *text, size_t size, const char *format, ...) PELT_PRINTF(3, 4);
static void add_text(char *text, size_t size, const char *format, ...) {
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

const char *pelt_bind_fit_text(const pelt_bind_fit *fit, char *text, size_t size) {
    if (size == 0)
        return text;
    text[0] = 0;
    double larger = fit->scale >= 1 ? fit->scale : 1 / fit->scale;
    if (larger > 1 + UNIT_TOLERANCE)
        add_text(text, size, "is %.3g times too %s for the mesh", larger, fit->scale >= 1 ? "small" : "large");
    double angle = 2 * px_acos(px_fmin(fabs((double)fit->rotation[3]), 1)) * 180 / px_acos(-1);
    double sine = sqrt(px_fmax(1 - (double)fit->rotation[3] * fit->rotation[3], 0));
    double sign = fit->rotation[3] < 0 ? -1 : 1, axis[3];
    for (int c = 0; c < 3 && sine > 0; c++)
        axis[c] = sign * fit->rotation[c] / sine;
    if (angle > 1) {
        int main_axis = fabs(axis[0]) > 0.99 ? 0 : fabs(axis[1]) > 0.99 ? 1 : fabs(axis[2]) > 0.99 ? 2 : -1;
        add_text(text, size, "%s by ", *text ? " and has to be turned" : "has to be turned");
        if (main_axis >= 0)
            add_text(text, size, "%.0f degrees about %c", axis[main_axis] < 0 ? -angle : angle, "xyz"[main_axis]);
        else
            add_text(text, size, "%.0f degrees about (%.2f, %.2f, %.2f)", angle, axis[0], axis[1], axis[2]);
    }
    if (!*text)
        add_text(text, size, "stands elsewhere than the mesh");
    return text;
}
