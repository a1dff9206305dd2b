/* Input rig: matches its vertices and motions to the mesh and clips, sets the fit's initial state from its bones, and
 * sets locks.
 *
 * The rig's motion need not lie in the subspace of the animation. The basis is therefore extended by the missing
 * directions, in which the animation's coordinates are zero, so later steps need no special case.
 */
#include "decompose/given.h"
#include "core/mesh.h"
#include "decompose/kinds.h"
#include "decompose/reduce.h"

#include <math.h>
#include <stdlib.h>

#define BONES_MOST 4000u /* limit of the option `bones`: moments grow with its square */

static bool is_empty(const char *text) {
    return !text || !text[0];
}

/* ---- Settings ----------------------------------------------------------------------------------------------- */

/* Helper bones (desc->add) imply that motion and weights of the rig are used. */
static bool wants_motion(const pelt_decompose_desc *desc) {
    return desc->given_motion || desc->add > 0;
}

static bool wants_weights(const pelt_decompose_desc *desc) {
    return desc->given_weights || desc->add > 0;
}

/* True if the rig only provides initial values. */
static bool is_start(const pelt_decompose_desc *desc) {
    return desc->refine || (desc->given_motion && desc->given_weights && desc->add == 0);
}

/* True if bones of the rig keep their motion. */
static bool is_kept(const pelt_decompose_desc *desc) {
    return !is_empty(desc->lock_bones) || (wants_motion(desc) && !is_start(desc));
}

static pelt_result check_wishes(pelt_context *context, const pelt_decompose_desc *desc) {
    bool any = wants_motion(desc) || wants_weights(desc);
    if (!desc->rig && (any || desc->refine || !is_empty(desc->lock_bones) || !is_empty(desc->lock_vertices)))
        return px_fail(context, PELT_ERROR_USAGE,
                       "refining, locking and adding bones need a rig whose motion or weights are given");
    if (desc->rig && !any)
        return px_fail(context, PELT_ERROR_USAGE, "a rig is given, but neither its motion nor its weights are");
    if (!is_empty(desc->lock_bones) && !(wants_motion(desc) && wants_weights(desc)))
        return px_fail(context, PELT_ERROR_USAGE,
                       "bones can be locked only where both their motion and their weights are given");
    if (!is_empty(desc->lock_vertices) && !wants_weights(desc))
        return px_fail(context, PELT_ERROR_USAGE, "vertices can be locked only where their weights are given");
    if (desc->rig && desc->hierarchy)
        return px_fail(context, PELT_ERROR_USAGE, "bones of a rig cannot be joined into another hierarchy");
    return PELT_OK;
}

/* ---- Matching motions --------------------------------------------------------------------------------------- */

/* Motion for clip c: motion c if its name matches, otherwise the first with that name, otherwise motion c. */
static uint32_t motion_for(const pelt_model *rig, const pelt_model *model, uint32_t c) {
    const char *name = model->clips[c].name;
    if (c < rig->motion_count && strcmp(rig->motions[c].name, name) == 0)
        return c;
    for (uint32_t m = 0; m < rig->motion_count; m++)
        if (strcmp(rig->motions[m].name, name) == 0)
            return m;
    return c;
}

static pelt_result check_motion(pelt_context *context, const pelt_clip *clip, const pelt_motion *motion) {
    double first = clip->times[0], last = clip->times[clip->frame_count - 1];
    double slack = clip->frame_count > 1 ? 0.51 * (last - first) / (clip->frame_count - 1) : INFINITY;
    if (motion->start > first + slack || motion->end < last - slack)
        return px_fail(context, PELT_ERROR_INPUT,
                       "the rig's motion '%s' runs from %g to %g seconds, but clip '%s' from %g to %g", motion->name,
                       (double)motion->start, (double)motion->end, clip->name, first, last);
    return PELT_OK;
}

static pelt_result match_motions(px_given *given, px_fit *fit, const pelt_model *model) {
    const pelt_model *rig = given->rig;
    given->motions = PX_NEW(fit->arena, uint32_t, model->clip_count);
    if (!given->motions)
        return PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < model->clip_count; c++) {
        const pelt_clip *clip = &model->clips[c];
        uint32_t m = given->motions[c] = motion_for(rig, model, c);
        if (clip->frame_count == 0)
            continue;
        if (m >= rig->motion_count)
            return px_fail(fit->context, PELT_ERROR_INPUT, "the rig has no motion for clip '%s': it has %u of %u",
                           clip->name, rig->motion_count, model->clip_count);
        for (uint32_t other = 0; other < c; other++)
            if (given->motions[other] == m && model->clips[other].frame_count)
                return px_fail(fit->context, PELT_ERROR_INPUT, "clips '%s' and '%s' would share the rig's motion '%s'",
                               model->clips[other].name, clip->name, rig->motions[m].name);
        PX_TRY(check_motion(fit->context, clip, &rig->motions[m]));
    }
    return PELT_OK;
}

/* ---- Matching vertices -------------------------------------------------------------------------------------- */

/* A vertex's coordinate along an oblique line, on which few vertices of a mesh coincide; sorted for binary search. */
typedef struct slanted {
    double at;
    uint32_t vertex;
} slanted;

static double slant(const float *p) {
    return 0.577 * (double)p[0] + 0.642 * (double)p[1] + 0.505 * (double)p[2]; /* unit vector */
}

static int compare_slanted(const void *a, const void *b) {
    const slanted *l = a, *r = b;
    if (l->at != r->at)
        return l->at < r->at ? -1 : 1;
    return l->vertex < r->vertex ? -1 : l->vertex > r->vertex;
}

static bool is_near(const float *a, const float *b, double distance) {
    return fabs((double)a[0] - b[0]) <= distance && fabs((double)a[1] - b[1]) <= distance &&
           fabs((double)a[2] - b[2]) <= distance;
}

static uint32_t find_near(const slanted *sorted, uint32_t count, const float *positions, const float *p,
                          double distance) {
    double from = slant(p) - 2 * distance, to = slant(p) + 2 * distance;
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sorted[middle].at < from)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && sorted[low].at <= to; low++)
        if (is_near(positions + 3 * (size_t)sorted[low].vertex, p, distance))
            return sorted[low].vertex;
    return PELT_NONE;
}

/* Fills given->vertices by position. *matched is false if a vertex has no counterpart within 1e-5 of the radius. */
static pelt_result match_places(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_mesh *mesh,
                                bool *matched) {
    const pelt_mesh *other = &given->rig->mesh;
    double distance = 1e-5 * plan->radius; /* precision of files with rounded numbers */
    slanted *sorted = PX_ALLOC(fit->context, slanted, other->vertex_count);
    if (!sorted)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < other->vertex_count; i++)
        sorted[i] = (slanted){slant(other->positions + 3 * (size_t)i), i};
    px_sort(sorted, other->vertex_count, sizeof *sorted, compare_slanted);
    *matched = true;
    for (uint32_t f = 0; f < fit->vertex_count && *matched; f++) {
        given->vertices[f] = find_near(sorted, other->vertex_count, other->positions,
                                       mesh->positions + 3 * (size_t)pelt_class_vertex(&plan->classes, f), distance);
        *matched = given->vertices[f] != PELT_NONE;
    }
    px_free(fit->context, sorted);
    return PELT_OK;
}

/* Matches by index if the counts agree and either the positions agree too or matching by position fails; otherwise by
 * position. */
static pelt_result match_vertices(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_mesh *mesh) {
    const pelt_mesh *other = &given->rig->mesh;
    uint32_t *vertices = given->vertices = PX_NEW(fit->arena, uint32_t, fit->vertex_count);
    if (!vertices)
        return PELT_ERROR_MEMORY;
    bool by_vertex = other->vertex_count == mesh->vertex_count, ordered = true, matched = false;
    bool by_point = !by_vertex && other->vertex_count == mesh->points.count;
    const uint32_t *by_index = by_vertex ? plan->classes.first : by_point ? plan->points : NULL;
    for (uint32_t f = 0; f < fit->vertex_count && by_index && ordered; f++)
        ordered = is_near(other->positions + 3 * (size_t)by_index[f],
                          mesh->positions + 3 * (size_t)pelt_class_vertex(&plan->classes, f), 1e-5 * plan->radius);
    if (!by_index || !ordered)
        PX_TRY(match_places(given, fit, plan, mesh, &matched));
    if (by_index && !matched)
        memcpy(vertices, by_index, fit->vertex_count * sizeof *vertices);
    if (!by_index && !matched)
        given->vertices = NULL;
    given->in_order = by_vertex && !matched;
    return PELT_OK;
}

/* ---- Checks before the reduction ---------------------------------------------------------------------------- */

static uint32_t most_influences(const pelt_skin *skin, uint32_t vertex_count) {
    uint32_t most = 1;
    for (size_t i = 0; i < vertex_count; i++) {
        uint32_t count = 0; /* zeros may stand between weights */
        for (uint32_t a = 0; a < skin->influence_count; a++)
            count += skin->weights[i * skin->influence_count + a] > 0;
        most = count > most ? count : most;
    }
    return most;
}

pelt_result px_given_plan(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_model *model,
                          const pelt_decompose_desc *desc) {
    PX_TRY(check_wishes(fit->context, desc));
    const pelt_model *rig = given->rig = desc->rig;
    if (!rig)
        return PELT_OK;
    given->bone_count = rig->skin.bone_count;
    given->kept = is_kept(desc);
    given->keeps_morphs = given->kept && rig == model && rig->morphs.morph_count > 0;
    if (given->bone_count == 0)
        return px_fail(fit->context, PELT_ERROR_INPUT, "the rig has no bones: its mesh has no skin");
    if (given->bone_count > BONES_MOST - desc->add)
        return px_fail(fit->context, PELT_ERROR_INPUT, "%u bones are more than can be solved for (%u)",
                       given->bone_count + desc->add, BONES_MOST);
    fit->bone_target = fit->bone_capacity = given->bone_count + desc->add;
    PX_TRY(match_vertices(given, fit, plan, &model->mesh));
    if (wants_motion(desc))
        PX_TRY(match_motions(given, fit, model));
    if (wants_weights(desc) && !given->vertices)
        return px_fail(fit->context, PELT_ERROR_INPUT,
                       "the rig's %u vertices are not those of the mesh, which has %u (%u points), by place either",
                       rig->mesh.vertex_count, model->mesh.vertex_count, model->mesh.points.count);
    uint32_t most = wants_weights(desc) ? most_influences(&rig->skin, rig->mesh.vertex_count) : 1;
    fit->influence_count = most > fit->influence_count ? most : fit->influence_count;
    fit->fixed_rest = desc->fixed_rest || (!is_start(desc) && !desc->free_rest);
    return PELT_OK;
}

/* ---- Rest pose and motion --------------------------------------------------------------------------------- */

const float *px_given_position(const px_given *given, const pelt_mesh *mesh, const px_gathered *plan, uint32_t i) {
    if (!given->vertices)
        return mesh->positions + 3 * (size_t)i;
    return given->rig->mesh.positions + 3 * (size_t)given->vertices[pelt_vertex_class(&plan->classes, i)];
}

void px_given_normal(const px_given *given, const pelt_mesh *mesh, uint32_t i, float normal[3], float tangent[4]) {
    if (given->vertices && !given->in_order)
        return;
    const pelt_mesh *source = given->in_order ? &given->rig->mesh : mesh;
    if (source->normals)
        memcpy(normal, source->normals + 3 * (size_t)i, 3 * sizeof *normal);
    if (source->tangents && tangent)
        memcpy(tangent, source->tangents + 4 * (size_t)i, 4 * sizeof *tangent);
}

static pelt_result set_rest(const px_given *given, px_fit *fit, const px_gathered *plan, const pelt_model *model,
                            const float *positions) {
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
        uint32_t f = pelt_vertex_class(&plan->classes, i);
        const float *p =
            positions ? positions + 3 * (size_t)plan->points[f] : px_given_position(given, &model->mesh, plan, i);
        for (size_t axis = 0; axis < 3; axis++) {
            if (!isfinite(p[axis]))
                return px_fail(fit->context, PELT_ERROR_INPUT, "rest pose, vertex %u: the position is not finite", i);
            fit->now.rest[3 * (size_t)f + axis] = ((double)p[axis] - plan->center[axis]) / plan->radius;
        }
    }
    return PELT_OK;
}

/* Converts x' = L x + t to normalised coordinates y, where x = center + radius · y. */
static void normalise(const pelt_affine *palette, const px_gathered *plan, double *out, size_t pitch) {
    for (size_t r = 0; r < 3; r++) {
        const float *m = palette->m + 4 * r;
        double moved = (double)m[3] - plan->center[r];
        for (size_t c = 0; c < 3; c++) {
            out[r * pitch + c] = (double)m[c];
            moved += (double)m[c] * plan->center[c];
        }
        out[r * pitch + 3] = moved / plan->radius;
    }
}

static pelt_result read_motion(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_model *model) {
    const pelt_model *rig = given->rig;
    size_t P = given->bone_count, joints = rig->skeleton.joint_count, row = 0;
    given->transforms = PX_NEW(fit->arena, double, px_mul_size(fit->row_count, 4 * P));
    pelt_transform *locals = PX_NEW(fit->arena, pelt_transform, joints);
    pelt_affine *globals = PX_NEW(fit->arena, pelt_affine, joints), *palette = PX_NEW(fit->arena, pelt_affine, P);
    if (!given->transforms || !locals || !globals || !palette)
        return PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < model->clip_count; c++)
        for (uint32_t k = 0; k < model->clips[c].frame_count; k++, row += 3) {
            pelt_motion_sample(rig, &rig->motions[given->motions[c]], model->clips[c].times[k], locals, NULL);
            pelt_skeleton_globals(&rig->skeleton, locals, globals);
            pelt_skin_palette(&rig->skin, globals, palette);
            for (size_t j = 0; j < P; j++)
                normalise(&palette[j], plan, given->transforms + row * 4 * P + 4 * j, 4 * P);
        }
    return PELT_OK;
}

/* Extends the basis by the directions of the rig's motion that it lacks. */
static pelt_result extend_basis(const px_given *given, px_fit *fit) {
    size_t rows = fit->row_count, d = fit->dimension, n = 4 * (size_t)given->bone_count, count = d,
           N = fit->vertex_count;
    double *q = PX_ALLOC(fit->context, double, px_mul_size(px_min_size(d + n, rows) + 1, rows));
    double *scratch = PX_ALLOC(fit->context, double, rows);
    for (size_t e = 0; q && scratch && e < d * rows; e++)
        q[e] = fit->basis[e % rows * d + e / rows];
    for (size_t column = 0; q && scratch && column < n && count < rows; column++) {
        double square = 0, *next = q + count * rows;
        for (size_t r = 0; r < rows; r++) {
            next[r] = given->transforms[r * n + column];
            square += next[r] * next[r];
        }
        /* 1e-7: precision of matrices in floats */
        count += px_orthonormalise(q, count, rows, scratch) > 1e-7 * sqrt(square);
    }
    double *basis = PX_NEW(fit->arena, double, px_mul_size(rows, count));
    float *coords = PX_NEW(fit->arena, float, px_mul_size(N, count));
    bool ready = q && scratch && basis && coords;
    for (size_t e = 0; ready && e < count * rows; e++)
        basis[e % rows * count + e / rows] = q[e];
    for (size_t i = 0; ready && i < N; i++)
        memcpy(coords + i * count, fit->coords + i * d, d * sizeof *coords);
    px_free(fit->context, scratch);
    px_free(fit->context, q);
    fit->basis = basis;
    fit->coords = coords;
    fit->dimension = (uint32_t)count;
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_given_reduce(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_model *model,
                            const pelt_decompose_desc *desc) {
    if (given->rig || desc->rest_positions)
        PX_TRY(set_rest(given, fit, plan, model, desc->rest_positions));
    if (!given->motions)
        return PELT_OK;
    PX_TRY(read_motion(given, fit, plan, model));
    return extend_basis(given, fit);
}

/* ---- Locks ------------------------------------------------------------------------------------------------ */

static pelt_result lock_named_bones(const px_given *given, px_fit *fit, const char *names, uint8_t *locked) {
    const char *name;
    size_t length;
    while (names && px_next_name(&names, &name, &length)) {
        bool found = false;
        for (uint32_t j = 0; j < given->bone_count; j++)
            if (px_is_name(given->rig->skeleton.names[given->rig->skin.bone_joints[j]], name, length))
                locked[j] = found = true;
        if (!found)
            return px_fail(fit->context, PELT_ERROR_INPUT, "the rig has no bone '%.*s' to lock", (int)length, name);
    }
    return PELT_OK;
}

static pelt_result lock_named_parts(px_fit *fit, const px_gathered *plan, const pelt_mesh *mesh, const char *names,
                                    uint8_t *locked) {
    const char *name;
    size_t length;
    uint8_t *marks = PX_NEW(fit->arena, uint8_t, mesh->vertex_count);
    if (!marks)
        return PELT_ERROR_MEMORY;
    while (names && px_next_name(&names, &name, &length)) {
        bool found = false;
        for (uint32_t p = 0; p < mesh->part_count; p++)
            if (px_is_name(mesh->parts[p].name, name, length) || px_is_name(mesh->parts[p].material, name, length)) {
                px_mark_part(mesh, &mesh->parts[p], marks);
                found = true;
            }
        if (!found)
            return px_fail(fit->context, PELT_ERROR_INPUT, "the mesh has no part or material '%.*s' to lock",
                           (int)length, name);
    }
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        locked[pelt_vertex_class(&plan->classes, i)] |= marks[i];
    return PELT_OK;
}

static pelt_result set_locks(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_mesh *mesh,
                             const pelt_decompose_desc *desc) {
    bool bones = !is_empty(desc->lock_bones), start = is_start(desc), added = desc->add > 0 && !start;
    uint8_t *motions = PX_NEW(fit->arena, uint8_t, fit->bone_capacity);
    uint8_t *weights = PX_NEW(fit->arena, uint8_t, fit->bone_capacity);
    uint8_t *vertices = PX_NEW(fit->arena, uint8_t, fit->vertex_count);
    if (!motions || !weights || !vertices)
        return PELT_ERROR_MEMORY;
    memset(motions, given->motions && !start, given->bone_count);
    memset(weights, added, given->bone_count);
    memset(vertices, wants_weights(desc) && !start && !added, fit->vertex_count);
    PX_TRY(lock_named_bones(given, fit, desc->lock_bones, motions));
    PX_TRY(lock_named_bones(given, fit, desc->lock_bones, weights));
    PX_TRY(lock_named_parts(fit, plan, mesh, desc->lock_vertices, vertices));
    fit->lock_motions = given->kept ? motions : NULL;
    fit->lock_weights = bones || added ? weights : NULL;
    fit->lock_vertices = wants_weights(desc) ? vertices : NULL;
    return PELT_OK;
}

/* ---- Initial state ------------------------------------------------------------------------------------------ */

static void set_motion(const px_given *given, px_fit *fit) {
    size_t P = given->bone_count, rows = fit->row_count;
    px_fit_state *s = &fit->now;
    fit->bone_count = given->bone_count;
    if (!s->full) {
        px_gemm(1, px_transposed(px_matrix_in(given->transforms, rows, 4 * P)),
                px_matrix_in(fit->basis, rows, fit->dimension), 0, px_matrix_of(s->reduced, 4 * P, fit->dimension));
        return;
    }
    memcpy(s->full, given->transforms, rows * 4 * P * sizeof *s->full);
    for (size_t j = 0; j < P; j++) {
        double bind[9];
        for (size_t e = 0; e < 9; e++)
            bind[e] = (double)given->rig->skin.inverse_binds[j].m[4 * (e / 3) + e % 3];
        if (s->axes) /* scale axes of the bone: those of its joint */
            px_polar3(bind, s->axes + 9 * j, NULL);
        for (size_t row = 0; row < rows && !(fit->lock_motions && fit->lock_motions[j]); row += 3) {
            double linear[9], *m = s->full + row * 4 * P + 4 * j;
            for (size_t e = 0; e < 9; e++)
                linear[e] = m[e / 3 * 4 * P + e % 3];
            fit->kind->project(s->axes ? s->axes + 9 * j : NULL, linear);
            for (size_t e = 0; e < 9; e++)
                m[e / 3 * 4 * P + e % 3] = linear[e];
        }
    }
    px_blocks_reduce(fit);
}

static void set_weights(const px_given *given, px_fit *fit) {
    const pelt_skin *skin = &given->rig->skin;
    size_t K = fit->influence_count, rig_K = skin->influence_count;
    for (size_t i = 0; i < fit->vertex_count; i++) {
        size_t count = 0, from = given->vertices[i] * rig_K;
        for (size_t a = 0; a < rig_K; a++)
            if (skin->weights[from + a] > 0) {
                fit->now.bones[i * K + count] = skin->bones[from + a];
                fit->now.weights[i * K + count++] = (double)skin->weights[from + a];
            }
        fit->now.counts[i] = (uint8_t)count;
        for (; count < K; count++) {
            fit->now.bones[i * K + count] = 0;
            fit->now.weights[i * K + count] = 0;
        }
    }
}

/* Copies the current weights to fit->base, from which helper bones take their share. */
static pelt_result keep_base(px_fit *fit) {
    size_t N = fit->vertex_count, K = fit->influence_count, full = 0;
    px_fit_state *base = PX_NEW(fit->arena, px_fit_state, 1);
    PX_TRY(base ? px_fit_state_make(fit, base) : PELT_ERROR_MEMORY);
    px_fit_state_copy(fit, &fit->now, base);
    fit->base = base;
    for (size_t i = 0; i < N; i++)
        full += base->counts[i] == K;
    if (full > 0)
        px_log(
            fit->context, PELT_LOG_WARNING,
            "%zu of %zu vertices have %zu bones already and no room for helper bones; more influences would make some",
            full, N, K);
    return PELT_OK;
}

pelt_result px_given_start(px_given *given, px_fit *fit, const px_gathered *plan, const pelt_model *model,
                           const pelt_decompose_desc *desc) {
    PX_TRY(set_locks(given, fit, plan, &model->mesh, desc));
    if (given->motions) {
        set_motion(given, fit);
    } else { /* initial motion of every bone: that of the whole mesh */
        PX_TRY(px_fit_seed(fit, NULL, 1, PX_FREE_BONES));
        while (fit->bone_count < given->bone_count)
            px_fit_copy_bone(fit, 0);
    }
    if (wants_weights(desc))
        set_weights(given, fit);
    if (fit->lock_weights && desc->add > 0 && !is_start(desc))
        PX_TRY(keep_base(fit));
    if (!given->motions) {
        PX_TRY(px_fit_moments(fit));
        PX_TRY(px_fit_transforms(fit));
    }
    px_fit_gram(fit);
    if (!wants_weights(desc))
        PX_TRY(px_fit_assign(fit));
    fit->wide = !wants_weights(desc); /* without initial weights only the wide search finds the right bones */
    PX_TRY(px_fit_vertices(fit, false));
    fit->wide = fit->wide && !is_start(desc);
    return PELT_OK;
}
