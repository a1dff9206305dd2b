/* Weight transfer by closest points: each welded vertex takes the interpolated weights of the nearest point on the
 * source surface, if it is near and has a similar normal; the others are inpainted from these (fill.c). */
#include "weights/transfer.h"

#include "core/math3.h"

#define ROW_BLOCK    256u
#define POSE_SAMPLES 1000u /* classes sampled to find the pose in which the meshes coincide */
/* A point with a similar normal may be farther away than the nearest point by this factor, plus this fraction of the
 * diagonal: this separates the two sides of thin sheets, but does not reach across a gap. */
#define DETOUR_FACTOR 1.5
#define DETOUR_SLACK  1e-3
/* Relative to the allowed distance: a nearer point is accepted with any normal. Levels of detail and linings of clothes
 * lie so close that rejecting them only loses weights. */
#define ANY_SIDE_RATIO 0.1
/* A shell is turned round when more than this many of its vertices face away from the source for each that faces it. */
#define FLIP_VOTES 2
/* Of the longest edge of the target's triangle: a vertex of the source as near as this to the target lies on a finer
 * version of the same surface, and the weights are fitted to it. */
#define SAMPLE_RATIO  0.25
#define SAMPLE_COSINE 0.3 /* smallest between their normals */
/* Of the mean edge of a shell: levels of detail of real characters lie up to 0.06 above or below the original on
 * average, clothes 0.15 and more. */
#define LEVEL_OFFSET 0.08
#define FLAT_OFFSET  1e-3 /* the same for shells on the triangles of the source, to which linear weights belong */

/* Of the diagonal of a shell's box: shells whose boxes differ by less are the same shell in two versions of a mesh. */
#define SAME_BOX 0.5

typedef struct box {
    float low[3], high[3];
} box;

/* A mesh in one pose, welded. */
typedef struct surface {
    float *positions;    /* [row][3] */
    double *normals;     /* [row][3] */
    uint32_t *triangles; /* [triangle][3] rows */
    uint32_t shell_count;
    uint32_t *shells; /* [row] its connected component */
    box *boxes;       /* [shell] */
} surface;

/* How a shell of the target lies to the source. */
typedef enum level {
    LEVEL_NONE,  /* above or below it: clothes */
    LEVEL_FLAT,  /* on its triangles */
    LEVEL_CURVED /* it approximates the same surface */
} level;

typedef struct transfer {
    pelt_context *context;
    px_arena *arena;
    const pelt_transfer_desc *desc;
    const pelt_model *from;
    pelt_mesh from_mesh; /* of `from`, with the weld of px_weight_classes */
    pelt_model *to;
    surface source, target;
    px_surface tree;          /* of the source */
    double diagonal, cosine;  /* of the box of the source's skin; of the largest angle between normals */
    px_weight_table weights;  /* of the source, with bones of the result */
    px_weight_table table;    /* of the target */
    uint8_t *known;           /* [target row] 1: it has a match */
    px_surface_point *points; /* [target row] its match */
    double *offsets;          /* [target row] the same, < 0 below the surface of the source; first, votes for `flips` */
    uint32_t *twins;          /* [target shell] the same shell of the source, or PELT_NONE */
    double *flips;            /* [target shell] −1: its triangles are turned the other way round; else 1 */
    uint32_t *shell_matches;  /* [target shell] rows with a match */
    double *lengths;          /* [target row] length over which weights of the nearest point are averaged; 0: none */
    px_curve curve;           /* of the source */
    uint8_t *levels;          /* [target shell] level */
    px_carried carried;
} transfer;

/* ---- Poses ------------------------------------------------------------------------------------------------ */

/* Skinned positions in the rest pose, [vertex][3]; NULL when out of memory. */
static float *rest_positions(px_arena *arena, const pelt_model *model) {
    const pelt_skin *skin = &model->skin;
    px_joint_bones bones;
    float *out = PX_NEW(arena, float, 3 * (size_t)model->mesh.vertex_count);
    if (!out || px_joint_bones_make(arena, model, &bones) != PELT_OK)
        return NULL;
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        for (size_t e = i * skin->influence_count; e < (i + 1) * skin->influence_count; e++) {
            float moved[3];
            px_affine_point(&bones.palette[skin->bones[e]], model->mesh.positions + 3 * i, moved);
            for (size_t c = 0; c < 3; c++)
                out[3 * i + c] += skin->weights[e] * moved[c];
        }
    return out;
}

/* The surface of a model (`mesh`: its mesh, welded), skinned in the rest pose (`rest`) or as stored. */
static pelt_result make_surface(transfer *t, const pelt_model *model, const pelt_mesh *mesh, bool rest, surface *out) {
    const float *positions = mesh->positions;
    if (rest && !(positions = rest_positions(t->arena, model)))
        return PELT_ERROR_MEMORY;
    out->positions = px_class_positions(t->arena, &mesh->weld, positions);
    out->normals = px_class_normals(t->arena, mesh, positions);
    out->triangles = px_class_triangles(t->arena, mesh, &mesh->weld);
    return out->positions && out->normals && out->triangles ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Diagonal of the box of the rows with a skin. Parts that follow a node are in a space of their own, which may have
 * another unit. */
static pelt_result measure_skin(transfer *t) {
    const pelt_mesh *mesh = &t->from_mesh;
    float low[3], high[3];
    uint8_t *outside = PX_NEW(t->arena, uint8_t, mesh->vertex_count);
    float *positions = PX_NEW(t->arena, float, 3 * (size_t)mesh->vertex_count);
    uint32_t count = 0;
    if (!outside || !positions)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        if (!mesh->parts[p].skinned)
            px_mark_part(mesh, &mesh->parts[p], outside);
    for (size_t i = 0; i < mesh->vertex_count; i++)
        if (!outside[i])
            memcpy(positions + 3 * (size_t)count++, t->source.positions + 3 * (size_t)pelt_vertex_class(&mesh->weld, i),
                   3 * sizeof *positions);
    t->diagonal =
        count ? px_box(positions, count, low, high) : px_box(t->source.positions, mesh->weld.count, low, high);
    return PELT_OK;
}

static pelt_result set_pose(transfer *t, bool own, bool rest) {
    const pelt_mesh *mesh = &t->from_mesh;
    PX_TRY(make_surface(t, t->from, mesh, rest, &t->source));
    PX_TRY(make_surface(t, t->to, &t->to->mesh, rest && own && t->to->skin.bone_count > 0, &t->target));
    PX_TRY(measure_skin(t));
    return px_surface_make(t->arena, t->source.positions, t->source.triangles, mesh->triangle_count, &t->tree);
}

static void row_place(const surface *s, size_t row, double out[3]) {
    for (size_t c = 0; c < 3; c++)
        out[c] = (double)s->positions[3 * row + c];
}

/* Mean distance of sampled target vertices from the source, relative to the diagonal of the source. */
static double mean_distance(const transfer *t) {
    uint32_t count = t->to->mesh.weld.count, step = count / POSE_SAMPLES + 1, used = 0;
    double sum = 0;
    for (uint32_t r = 0; r < count; r += step, used++) {
        double p[3];
        px_surface_point found;
        row_place(&t->target, r, p);
        if (px_surface_nearest(&t->tree, p, INFINITY, NULL, NULL, &found))
            sum += found.distance;
    }
    return t->diagonal > 0 ? sum / (used * t->diagonal) : 0;
}

/* PELT_TRANSFER_AUTO: selects the rest pose only if it is clearly better (by 20 %), so that rounding never decides. */
static pelt_result choose_pose(transfer *t, bool own, bool *rest) {
    *rest = t->desc->pose == PELT_TRANSFER_REST;
    if (t->desc->pose != PELT_TRANSFER_AUTO)
        return set_pose(t, own, *rest);
    PX_TRY(set_pose(t, own, true));
    double at_rest = mean_distance(t);
    transfer posed = *t;
    PX_TRY(set_pose(t, own, false));
    *rest = at_rest < 0.8 * mean_distance(t) - 1e-6;
    if (*rest)
        *t = posed;
    return PELT_OK;
}

/* ---- Matches ---------------------------------------------------------------------------------------------- */

typedef struct seeker {
    const surface *surface;
    const double *normal; /* of length 1, or 0 */
    double flip;          /* 1, or −1: the normal is turned round */
    double cosine;        /* smallest that is accepted */
    uint32_t twin;        /* the only shell that is accepted; PELT_NONE: all are */
} seeker;

/* Cosine of the angle between a seeker's normal and that at a point; NaN where one of them is 0. */
static double normal_cosine(const seeker *s, const px_surface_point *point) {
    const uint32_t *rows = s->surface->triangles + 3 * (size_t)point->triangle;
    double n[3] = {0, 0, 0}, square = 0, dot = 0, own = 0;
    for (size_t e = 0; e < 9; e++)
        n[e % 3] += point->corners[e / 3] * s->surface->normals[3 * (size_t)rows[e / 3] + e % 3];
    for (size_t c = 0; c < 3; c++) {
        square += n[c] * n[c];
        own += s->normal[c] * s->normal[c];
        dot += s->flip * n[c] * s->normal[c];
    }
    return square == 0 || own == 0 ? NAN : dot / sqrt(square);
}

static bool is_on_twin(const void *user, const px_surface_point *candidate) {
    const seeker *s = user;
    const surface *on = s->surface;
    return s->twin == PELT_NONE || on->shells[on->triangles[3 * (size_t)candidate->triangle]] == s->twin;
}

static bool faces_alike(const void *user, const px_surface_point *candidate) {
    const seeker *s = user;
    return is_on_twin(user, candidate) && !(normal_cosine(s, candidate) < s->cosine - 1e-9); /* no normal: accept */
}

/* ---- Shells ----------------------------------------------------------------------------------------------- */

/* Numbers the connected components of a surface and measures their boxes. */
static pelt_result find_shells(px_arena *arena, const px_neighbours *n, uint32_t count, surface *s) {
    uint32_t end = 0, *queue = PX_NEW(arena, uint32_t, count);
    s->shells = PX_NEW(arena, uint32_t, count);
    s->boxes = PX_NEW(arena, box, count);
    s->shell_count = 0;
    if (!queue || !s->shells || !s->boxes)
        return PELT_ERROR_MEMORY;
    memset(s->shells, 0xFF, count * sizeof *s->shells);
    for (uint32_t r = 0; r < count; r++) {
        if (s->shells[r] != PELT_NONE)
            continue;
        box *around = &s->boxes[s->shell_count];
        memcpy(around->low, s->positions + 3 * (size_t)r, sizeof around->low);
        memcpy(around->high, around->low, sizeof around->high);
        s->shells[r] = s->shell_count;
        queue[end++] = r;
        for (uint32_t at = end - 1; at < end; at++) {
            for (size_t c = 0; c < 3; c++) {
                float p = s->positions[3 * (size_t)queue[at] + c];
                around->low[c] = px_fminf(around->low[c], p);
                around->high[c] = px_fmaxf(around->high[c], p);
            }
            for (size_t e = n->offsets[queue[at]]; e < n->offsets[queue[at] + 1]; e++)
                if (s->shells[n->items[e]] == PELT_NONE) {
                    s->shells[n->items[e]] = s->shell_count;
                    queue[end++] = n->items[e];
                }
        }
        s->shell_count++;
    }
    return PELT_OK;
}

/* Largest difference of two boxes along an axis, relative to the diagonal of the first; INFINITY for single vertices. */
static double box_difference(const box *a, const box *b) {
    double square = 0, most = 0;
    for (int c = 0; c < 3; c++) {
        double side = (double)a->high[c] - (double)a->low[c];
        square += side * side;
        most = px_fmax(most, fabs((double)a->low[c] - (double)b->low[c]));
        most = px_fmax(most, fabs((double)a->high[c] - (double)b->high[c]));
    }
    return square > 0 ? most / sqrt(square) : INFINITY;
}

/* The same shell of another surface for every shell of this one, or PELT_NONE: vertices are matched there alone. Upper and
 * lower teeth, eyes and lids lie so close to each other that the nearest point may be on the other one. */
static pelt_result find_twins(px_arena *arena, const surface *of, const surface *in, uint32_t **twins) {
    if (!(*twins = PX_NEW(arena, uint32_t, of->shell_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t a = 0; a < of->shell_count; a++) {
        double least = SAME_BOX;
        (*twins)[a] = PELT_NONE;
        for (uint32_t b = 0; b < in->shell_count; b++) {
            double difference = box_difference(&of->boxes[a], &in->boxes[b]);
            if (difference < least) {
                least = difference;
                (*twins)[a] = b;
            }
        }
    }
    return PELT_OK;
}

/* Votes of rows: above 0 if the normals at the nearest point agree, below 0 if they are opposite. */
static pelt_result vote_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    transfer *t = user;
    for (size_t row = first; row < first + count; row++) {
        double p[3];
        px_surface_point nearest;
        seeker s = {&t->source, t->target.normals + 3 * row, 1, 0, PELT_NONE};
        row_place(&t->target, row, p);
        if (!px_surface_nearest(&t->tree, p, t->desc->distance * t->diagonal, NULL, NULL, &nearest))
            continue;
        double cosine = normal_cosine(&s, &nearest);
        t->offsets[row] = cosine >= t->cosine ? FLIP_VOTES : cosine <= -t->cosine ? -1 : 0;
    }
    return PELT_OK;
}

/* Open cloth may be modelled inside out: turns the normals of a shell round if, at the nearest points, most of them are
 * opposite to those of the source. */
static pelt_result orient_shells(transfer *t) {
    uint32_t count = t->to->mesh.weld.count;
    PX_TRY(px_parallel(t->context, NULL, count, ROW_BLOCK, vote_block, t));
    for (uint32_t r = 0; r < count; r++) {
        t->flips[t->target.shells[r]] += t->offsets[r];
        t->offsets[r] = 0;
    }
    for (uint32_t s = 0; s < t->target.shell_count; s++)
        t->flips[s] = t->flips[s] < 0 ? -1 : 1;
    return PELT_OK;
}

/* ---- Matches of rows -------------------------------------------------------------------------------------- */

static void take_weights(transfer *t, size_t row, const px_surface_point *found, bool curved) {
    px_curve_point point;
    px_weight_sum sum;
    px_curve_at(&t->curve, found, curved, &point);
    px_curve_weights(&point, &t->weights, &sum);
    px_weight_sum_cut(&sum, &(px_weight_limits){.influences = t->table.capacity});
    px_weight_sum_store(&sum, &t->table, row);
}

static bool has_weights(const transfer *t, size_t row) {
    return t->table.weights[row * t->table.capacity] > 0;
}

static bool is_below(const surface *s, const double p[3], const px_surface_point *found) {
    const uint32_t *rows = s->triangles + 3 * (size_t)found->triangle;
    double dot = 0;
    for (size_t e = 0; e < 9; e++)
        dot += found->corners[e / 3] * s->normals[3 * (size_t)rows[e / 3] + e % 3] *
               (p[e % 3] - (double)s->positions[3 * (size_t)rows[e / 3] + e % 3]);
    return dot < 0;
}

static pelt_result match_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    transfer *t = user;
    double limit = t->desc->distance * t->diagonal;
    for (size_t row = first; row < first + count; row++) {
        double p[3];
        px_surface_point found, nearest;
        uint32_t shell = t->target.shells[row];
        seeker s = {&t->source, t->target.normals + 3 * row, t->flips[shell], t->cosine, t->twins[shell]};
        row_place(&t->target, row, p);
        if (!px_surface_nearest(&t->tree, p, limit, is_on_twin, &s, &nearest))
            continue;
        double detour = px_fmin(limit, DETOUR_FACTOR * nearest.distance + DETOUR_SLACK * t->diagonal);
        if (!px_surface_nearest(&t->tree, p, detour, faces_alike, &s, &found)) {
            if (nearest.distance > ANY_SIDE_RATIO * limit)
                continue;
            found = nearest;
        }
        take_weights(t, row, &found, false);
        t->known[row] = has_weights(t, row);
        t->points[row] = found;
        t->offsets[row] = is_below(&t->source, p, &found) ? -found.distance : found.distance;
    }
    return PELT_OK;
}

/* Rows of shells without any match take the nearest point at any distance; px_fill averages over that distance. */
static pelt_result nearest_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    transfer *t = user;
    for (size_t row = first; row < first + count; row++) {
        double p[3];
        px_surface_point found;
        row_place(&t->target, row, p);
        if (t->shell_matches[t->target.shells[row]] == 0 &&
            px_surface_nearest(&t->tree, p, INFINITY, NULL, NULL, &found)) {
            take_weights(t, row, &found, false);
            t->lengths[row] = has_weights(t, row) ? px_fmax(found.distance, 1e-6 * t->diagonal) : 0;
        }
    }
    return PELT_OK;
}

/* ---- Fit to all vertices of the source -------------------------------------------------------------------- */

/* Sets the levels of shells. Clothes keep the weights right below them, so that the skin does not come through. */
static pelt_result find_levels(transfer *t, const px_neighbours *n) {
    uint32_t count = t->to->mesh.weld.count, shells = t->target.shell_count;
    double *offsets = PX_NEW(t->arena, double, shells), *lengths = PX_NEW(t->arena, double, shells);
    double *edges = PX_NEW(t->arena, double, shells); /* sums over the edges at matched rows */
    t->levels = PX_NEW(t->arena, uint8_t, shells);
    if (!offsets || !lengths || !edges || !t->levels)
        return PELT_ERROR_MEMORY;
    for (size_t r = 0; r < count; r++)
        for (size_t e = n->offsets[r]; t->known[r] && e < n->offsets[r + 1]; e++) {
            offsets[t->target.shells[r]] += t->offsets[r];
            lengths[t->target.shells[r]] += t->points[r].distance;
            edges[t->target.shells[r]] += px_row_distance(t->target.positions, r, n->items[e]);
        }
    for (uint32_t s = 0; s < shells; s++)
        if (fabs(offsets[s]) <= LEVEL_OFFSET * edges[s])
            t->levels[s] = lengths[s] > FLAT_OFFSET * edges[s] ? LEVEL_CURVED : LEVEL_FLAT;
    return PELT_OK;
}

/* Weights to second order where a finer version of the surface lies between the vertices of the source. */
static pelt_result curve_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    transfer *t = user;
    for (size_t row = first; row < first + count; row++)
        if (t->known[row] && t->levels[t->target.shells[row]] == LEVEL_CURVED)
            take_weights(t, row, &t->points[row], true);
    return PELT_OK;
}

typedef struct sampling {
    const transfer *t;
    px_surface tree;        /* of the target */
    uint32_t *twins;        /* [source shell] the same shell of the target, or PELT_NONE */
    px_fit_sample *samples; /* [source row] source PELT_NONE: none */
} sampling;

static pelt_result sample_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const sampling *s = user;
    const transfer *t = s->t;
    for (size_t row = first; row < first + count; row++) {
        px_fit_sample *sample = &s->samples[row];
        px_surface_point found;
        double p[3], longest = 0;
        sample->source = PELT_NONE;
        seeker normal = {&t->target, t->source.normals + 3 * row, 1, SAMPLE_COSINE, s->twins[t->source.shells[row]]};
        row_place(&t->source, row, p);
        if (!px_surface_nearest(&s->tree, p, t->desc->distance * t->diagonal, faces_alike, &normal, &found))
            continue;
        const uint32_t *rows = t->target.triangles + 3 * (size_t)found.triangle;
        for (size_t e = 0; e < 3; e++)
            longest = px_fmax(longest, px_row_distance(t->target.positions, rows[e], rows[(e + 1) % 3]));
        bool matched =
            t->levels[t->target.shells[rows[0]]] && t->known[rows[0]] && t->known[rows[1]] && t->known[rows[2]];
        if (!matched || found.distance > SAMPLE_RATIO * longest)
            continue;
        *sample = (px_fit_sample){.source = (uint32_t)row};
        memcpy(sample->rows, rows, sizeof sample->rows);
        memcpy(sample->corners, found.corners, sizeof sample->corners);
    }
    return PELT_OK;
}

static pelt_result fit_weights(transfer *t, uint32_t influences) {
    uint32_t count = t->from_mesh.weld.count, used = 0;
    sampling s = {.t = t, .samples = PX_NEW(t->arena, px_fit_sample, count)};
    if (!s.samples)
        return PELT_ERROR_MEMORY;
    PX_TRY(find_twins(t->arena, &t->source, &t->target, &s.twins));
    PX_TRY(px_surface_make(t->arena, t->target.positions, t->target.triangles, t->to->mesh.triangle_count, &s.tree));
    PX_TRY(px_parallel(t->context, NULL, count, ROW_BLOCK, sample_block, &s));
    for (uint32_t r = 0; r < count; r++)
        if (s.samples[r].source != PELT_NONE)
            s.samples[used++] = s.samples[r];
    return px_weight_fit(t->context, &t->table, &t->weights, s.samples, used, t->carried.skin.bone_count, influences);
}

/* ---- All of it -------------------------------------------------------------------------------------------- */

/* Reads the weights of the source and maps them to bones of the result. */
static pelt_result read_weights(transfer *t) {
    px_weight_table old;
    PX_TRY(px_weight_table_read(t->arena, t->from, &t->from_mesh.weld, NULL, &old));
    PX_TRY(px_weight_table_make(t->arena, old.row_count, old.capacity, &t->weights));
    for (size_t row = 0; row < old.row_count; row++) {
        px_weight_sum sum = {0};
        for (size_t e = row * old.capacity; e < (row + 1) * old.capacity; e++)
            if (t->carried.bones[old.bones[e]] != PELT_NONE)
                px_weight_sum_add(&sum, t->carried.bones[old.bones[e]], (double)old.weights[e]);
        px_weight_sum_cut(&sum, &(px_weight_limits){.influences = old.capacity});
        px_weight_sum_store(&sum, &t->weights, row);
    }
    return PELT_OK;
}

static uint32_t count_known(const transfer *t) {
    uint32_t count = 0;
    for (uint32_t r = 0; r < t->table.row_count; r++)
        count += t->known[r];
    return count;
}

static void tell_matches(const transfer *t, pelt_transfer_report *report) {
    report->vertex_count = t->table.row_count;
    report->matched_count = count_known(t);
    double sum = 0, scale = t->diagonal > 0 ? 1 / t->diagonal : 0;
    for (uint32_t r = 0; r < t->table.row_count; r++)
        if (t->known[r]) {
            sum += t->points[r].distance * scale;
            report->distance_max = px_fmax(report->distance_max, t->points[r].distance * scale);
        }
    report->distance_mean = report->matched_count ? sum / report->matched_count : 0;
    if (report->matched_count == 0) {
        float low[3], high[3];
        px_log(
            t->context, PELT_LOG_WARNING,
            "no vertex lies near the mesh that the weights are from, which measures %.3g units across, this one %.3g: "
            "bring both to one unit and one place; now all vertices have the weights of the nearest points",
            t->diagonal, px_box(t->target.positions, t->table.row_count, low, high));
    }
}

static pelt_result find_weights(transfer *t, uint32_t influences, pelt_transfer_report *report) {
    const pelt_mesh *mesh = &t->to->mesh;
    uint32_t count = mesh->weld.count;
    px_neighbours neighbours, source_neighbours;
    t->known = PX_NEW(t->arena, uint8_t, count);
    t->points = PX_NEW(t->arena, px_surface_point, count);
    t->offsets = PX_NEW(t->arena, double, count);
    t->lengths = PX_NEW(t->arena, double, count);
    if (!t->known || !t->points || !t->offsets || !t->lengths)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_weight_table_make(t->arena, count, PX_WEIGHT_CAPACITY, &t->table));
    PX_TRY(px_neighbours_make(t->arena, mesh, &mesh->weld, &neighbours));
    PX_TRY(px_neighbours_make(t->arena, &t->from_mesh, &t->from_mesh.weld, &source_neighbours));
    PX_TRY(px_curve_make(t->arena, t->source.positions, t->source.normals, t->source.triangles, &source_neighbours,
                         t->from_mesh.weld.count, &t->curve));
    PX_TRY(find_shells(t->arena, &source_neighbours, t->from_mesh.weld.count, &t->source));
    PX_TRY(find_shells(t->arena, &neighbours, count, &t->target));
    t->shell_matches = PX_NEW(t->arena, uint32_t, t->target.shell_count);
    t->flips = PX_NEW(t->arena, double, t->target.shell_count);
    if (!t->shell_matches || !t->flips)
        return PELT_ERROR_MEMORY;
    PX_TRY(find_twins(t->arena, &t->target, &t->source, &t->twins));
    PX_TRY(orient_shells(t));
    PX_TRY(px_parallel(t->context, "match", count, ROW_BLOCK, match_block, t));
    tell_matches(t, report);
    PX_TRY(find_levels(t, &neighbours));
    PX_TRY(px_parallel(t->context, NULL, count, ROW_BLOCK, curve_block, t));
    PX_TRY(fit_weights(t, influences));
    for (uint32_t r = 0; r < count; r++)
        t->shell_matches[t->target.shells[r]] += t->known[r];
    PX_TRY(px_parallel(t->context, NULL, count, ROW_BLOCK, nearest_block, t));
    PX_TRY(px_fill(t->context, &t->table, &neighbours, t->target.positions, t->lengths, t->carried.skin.bone_count,
                   t->known));
    for (uint32_t r = 0; r < count; r++)
        report->far_count += t->shell_matches[t->target.shells[r]] == 0;
    report->filled_count = report->vertex_count - report->matched_count - report->far_count;
    return PELT_OK;
}

static pelt_result check(const transfer *t) {
    if (t->from->skin.bone_count == 0)
        return px_fail(t->context, PELT_ERROR_INPUT, "%s: has no skin to take weights from", t->from->path);
    if (t->from->mesh.triangle_count == 0)
        return px_fail(t->context, PELT_ERROR_INPUT, "%s: has no triangles to take weights from", t->from->path);
    if (t->to->mesh.vertex_count == 0)
        return px_fail(t->context, PELT_ERROR_INPUT, "%s: has no vertices", t->to->path);
    return PELT_OK;
}

static pelt_result run(transfer *t, pelt_transfer_report *report) {
    bool rest, own = px_carry_keeps(t->from, t->to, t->desc->skeleton);
    PX_TRY(check(t));
    t->cosine = px_cos(t->desc->angle * 3.14159265358979323846 / 180);
    t->from_mesh = t->from->mesh;
    PX_TRY(px_weight_classes(t->arena, t->from, &t->from_mesh.weld));
    PX_TRY(pelt_model_weld(t->context, t->to));
    PX_TRY(choose_pose(t, own, &rest));
    PX_TRY(px_carry(t->arena, t->from, t->to, own, rest, &t->carried));
    PX_TRY(read_weights(t));
    uint32_t influences = t->desc->influences ? t->desc->influences : t->from->skin.influence_count;
    PX_TRY(find_weights(t, influences, report));
    px_weight_limits limits = {influences, 0, NULL};
    px_weight_table_cut(&t->table, &limits);
    report->pose = rest ? PELT_TRANSFER_REST : PELT_TRANSFER_BIND;
    report->skeleton = own ? PELT_SKELETON_TO : PELT_SKELETON_FROM;
    report->lost_count = t->carried.lost_count;
    report->lost = t->carried.lost;
    return px_carry_finish(t->arena, &t->carried, &t->table, limits.influences, t->to);
}

pelt_result pelt_weights_transfer(pelt_context *context, const pelt_model *from, pelt_model *to,
                                  const pelt_transfer_desc *desc, pelt_transfer_report *report) {
    pelt_transfer_report own, *out = report ? report : &own;
    *out = (pelt_transfer_report){0};
    PX_TAKE_DESC(context, transfer, desc, settings);
    transfer t = {.context = context, .desc = &settings, .from = from, .to = to};
    if (!(t.arena = px_arena_create(context)))
        return PELT_ERROR_MEMORY;
    px_operation operation = px_operation_begin(to);
    pelt_result result = px_operation_end(&operation, run(&t, out));
    px_arena_destroy(t.arena);
    if (result != PELT_OK)
        *out = (pelt_transfer_report){0};
    return result;
}
