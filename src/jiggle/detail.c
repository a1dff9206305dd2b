/* The fine lattice of thin tissue and its motion; see detail.h. */
#include "jiggle/detail.h"

#include "core/math3.h"
#include "core/mesh.h"

#include <math.h>

/* A joint is thin if the mean distance of its vertices from its bones is below this, in cells, and its slenderness
 * is large enough. */
#define MAX_THIN_RADIUS 0.25
/* Slenderness, bone length / mean distance, above which a joint may be thin: true for fingers, false for eyes and
 * parts of a face. */
#define MIN_SLENDERNESS 2

/* Vertices with a smaller weight of the fine lattice stay in the coarse one. */
#define MIN_OWN_SHARE 0.01f

/* Side of a fine cell, in mean distances of thin tissue from its bones; lower and upper bound, in coarse cells. */
#define FINE_CELL_RADII 1.5
#define MIN_FINE_CELL   0.15
#define MAX_FINE_CELL   0.5

/* Bound on the number of fine particles, relative to coarse ones; cells grow by CELL_GROWTH until it is met. */
#define MAX_PARTICLE_RATIO 0.45
#define CELL_GROWTH        1.25

/* ---- Thin joints ------------------------------------------------------------------------------------------ */

/* The joint with the largest weight. */
static uint32_t main_joint(const pelt_skin *skin, size_t vertex) {
    size_t best = vertex * skin->influence_count;
    for (size_t k = best; k < (vertex + 1) * skin->influence_count; k++)
        if (skin->weights[k] > skin->weights[best])
            best = k;
    return skin->bone_joints[skin->bones[best]];
}

static float bone_distance(const px_jiggle_bones *bones, uint32_t joint, const float p[3]) {
    float least = INFINITY, along;
    for (uint32_t b = 0; b < bones->count; b++)
        if (bones->items[b].joint == joint)
            least = px_fminf(least, px_jiggle_bone_distance(&bones->items[b], p, &along));
    return least;
}

static double bone_length(const px_jiggle_bones *bones, uint32_t joint) {
    double longest = 0;
    for (uint32_t b = 0; b < bones->count; b++) {
        float way[3];
        px_sub3(bones->items[b].to, bones->items[b].from, way);
        if (bones->items[b].joint == joint)
            longest = px_fmax(longest, sqrt((double)px_dot3(way, way)));
    }
    return longest;
}

/* Sets thin [joint] and *radius, the mean distance of the vertices of thin joints from their bones. */
static pelt_result find_thin(px_arena *arena, const px_jiggle_subject *subject, float cell, bool **thin,
                             double *radius) {
    const pelt_model *model = subject->model;
    uint32_t joints = model->skeleton.joint_count;
    double *sums = PX_NEW(arena, double, joints), *counts = PX_NEW(arena, double, joints), sum = 0, count = 0;
    px_jiggle_bones bones;
    *thin = PX_NEW(arena, bool, joints);
    if (!sums || !counts || !*thin)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_jiggle_bones_make(arena, subject, &bones));
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        uint32_t joint = main_joint(&model->skin, i);
        sums[joint] += (double)bone_distance(&bones, joint, subject->positions + 3 * i);
        counts[joint]++;
    }
    for (uint32_t n = 0; n < joints; n++) {
        double distance = counts[n] > 0 ? sums[n] / counts[n] : INFINITY;
        (*thin)[n] = distance < MAX_THIN_RADIUS * (double)cell && distance * MIN_SLENDERNESS < bone_length(&bones, n);
        sum += (*thin)[n] ? sums[n] : 0;
        count += (*thin)[n] ? counts[n] : 0;
    }
    *radius = count > 0 ? sum / count : 0;
    return PELT_OK;
}

/* ---- Blending --------------------------------------------------------------------------------------------- */

/* owns [coarse particle]: 1 at the corners of cells with thin tissue, else 0. Interpolated in cells, the weight
 * falls to 0 across the next cell. */
static pelt_result find_owns(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                             const bool *thin, float **owns) {
    *owns = PX_NEW(arena, float, lattice->particle_count);
    if (!*owns)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < lattice->vertex_count; i++)
        for (int c = 0; c < 8; c++)
            if (thin[main_joint(&subject->model->skin, i)])
                (*owns)[lattice->cells[lattice->vertex_cells[i]][c]] = 1;
    return PELT_OK;
}

static void corner_shares(const float place[3], float shares[8]) {
    for (uint32_t c = 0; c < 8; c++) {
        shares[c] = 1;
        for (uint32_t axis = 0; axis < 3; axis++)
            shares[c] *= c >> axis & 1 ? place[axis] : 1 - place[axis];
    }
}

static float own_at(const px_lattice *lattice, const float *owns, uint32_t cell, const float place[3]) {
    float shares[8], sum = 0, inside[3];
    for (int c = 0; c < 3; c++)
        inside[c] = px_fminf(px_fmaxf(place[c], 0), 1);
    corner_shares(inside, shares);
    for (int c = 0; c < 8; c++)
        sum += shares[c] * owns[lattice->cells[cell][c]];
    return sum;
}

/* ---- The fine lattice ------------------------------------------------------------------------------------- */

/* Classes of the subject whose vertices are embedded in the fine lattice, and the triangles between them. */
typedef struct selection {
    uint32_t *numbers; /* [class] index in the selection; PELT_NONE: not selected */
    px_lattice_source source;
    float *positions;
    uint32_t *triangles;
    float longest; /* longest side of the bounding box */
} selection;

static pelt_result select_classes(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                                  const float *owns, selection *out) {
    uint32_t triangle_count = subject->model->mesh.triangle_count, count = 0, kept = 0;
    *out = (selection){.numbers = PX_NEW(arena, uint32_t, subject->classes.count),
                       .positions = PX_NEW(arena, float, 3 * (size_t)subject->classes.count),
                       .triangles = PX_NEW(arena, uint32_t, 3 * (size_t)triangle_count)};
    if (!out->numbers || !out->positions || !out->triangles)
        return PELT_ERROR_MEMORY;
    memset(out->numbers, 0xFF, subject->classes.count * sizeof *out->numbers);
    for (size_t i = 0; i < lattice->vertex_count; i++) {
        uint32_t c = pelt_vertex_class(&subject->classes, i), *number = &out->numbers[c];
        if (*number != PELT_NONE ||
            !(own_at(lattice, owns, lattice->vertex_cells[i], lattice->vertex_places + 3 * i) > MIN_OWN_SHARE))
            continue;
        memcpy(out->positions + 3 * (size_t)count, subject->class_positions + 3 * (size_t)c, 3 * sizeof(float));
        *number = count++;
    }
    for (size_t t = 0; t < triangle_count; t++) {
        const uint32_t *corners = subject->triangles + 3 * t;
        uint32_t a = out->numbers[corners[0]], b = out->numbers[corners[1]], c = out->numbers[corners[2]];
        if (a == PELT_NONE || b == PELT_NONE || c == PELT_NONE)
            continue;
        memcpy(out->triangles + 3 * (size_t)kept++, (uint32_t[3]){a, b, c}, 3 * sizeof a);
    }
    float low[3], high[3];
    out->source = (px_lattice_source){out->positions, count, out->triangles, kept, 0, 0};
    if (count > 0)
        px_box(out->positions, count, low, high);
    for (int c = 0; c < 3 && count > 0; c++)
        out->longest = px_fmaxf(out->longest, high[c] - low[c]);
    return PELT_OK;
}

/* Chooses the cell size by the thickness of the tissue and the bound on particles. */
static pelt_result make_lattice(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                const px_lattice *coarse, double radius, selection *s, px_lattice *fine) {
    double cell = (double)coarse->cell;
    double side = px_fmin(px_fmax(FINE_CELL_RADII * radius, MIN_FINE_CELL * cell), MAX_FINE_CELL * cell);
    for (;; side *= CELL_GROWTH) {
        double cells = ceil((double)s->longest / side);
        s->source.cells = (uint32_t)px_fmin(px_fmax(cells, 1), PX_LATTICE_MAX_CELLS);
        PX_TRY(px_lattice_make(context, arena, &s->source, fine));
        if (fine->particle_count <= MAX_PARTICLE_RATIO * coarse->particle_count)
            break;
        if ((double)fine->cell >= MAX_FINE_CELL * cell) { /* not fine enough to help: use only the coarse lattice */
            *fine = (px_lattice){0};
            return PELT_OK;
        }
    }
    uint32_t *cells = PX_NEW(arena, uint32_t, coarse->vertex_count);
    float *places = PX_NEW(arena, float, 3 * (size_t)coarse->vertex_count);
    if (!cells || !places)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < coarse->vertex_count; i++) {
        uint32_t number = s->numbers[pelt_vertex_class(&subject->classes, i)];
        cells[i] = number == PELT_NONE ? PELT_NONE : fine->vertex_cells[number];
        if (number != PELT_NONE)
            memcpy(places + 3 * i, fine->vertex_places + 3 * (size_t)number, 3 * sizeof *places);
    }
    fine->vertex_count = coarse->vertex_count;
    fine->vertex_cells = cells;
    fine->vertex_places = places;
    return PELT_OK;
}

/* ---- Between the lattices --------------------------------------------------------------------------------- */

/* homes [fine particle]: a nearby vertex; the particle is embedded in the coarse cell of that vertex. */
static pelt_result find_homes(px_arena *arena, const px_lattice *fine, uint32_t **homes) {
    uint32_t last = 0;
    *homes = PX_NEW(arena, uint32_t, fine->particle_count);
    if (!*homes)
        return PELT_ERROR_MEMORY;
    memset(*homes, 0xFF, fine->particle_count * sizeof **homes);
    for (uint32_t i = 0; i < fine->vertex_count; i++)
        for (int c = 0; c < 8 && fine->vertex_cells[i] != PELT_NONE; c++)
            (*homes)[fine->cells[fine->vertex_cells[i]][c]] = last = i;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t p = 0; p < fine->particle_count; p++)
            for (uint32_t e = fine->links.firsts[p]; e < fine->links.firsts[p + 1] && (*homes)[p] == PELT_NONE; e++)
                if ((*homes)[fine->links.to[e]] != PELT_NONE) {
                    (*homes)[p] = (*homes)[fine->links.to[e]];
                    changed = true;
                }
    }
    for (uint32_t p = 0; p < fine->particle_count; p++)
        if ((*homes)[p] == PELT_NONE)
            (*homes)[p] = last;
    return PELT_OK;
}

static pelt_result place_particles(px_arena *arena, const px_lattice *coarse, const float *owns, px_detail *d) {
    uint32_t *homes;
    PX_TRY(find_homes(arena, &d->lattice, &homes));
    d->places = PX_NEW(arena, px_detail_place, d->lattice.particle_count);
    if (!d->places)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < d->lattice.particle_count; p++) {
        uint32_t cell = coarse->vertex_cells[homes[p]];
        const int32_t *corner = coarse->places[coarse->cells[cell][0]];
        float place[3];
        for (int c = 0; c < 3; c++)
            place[c] = (float)(((double)d->lattice.rest[3 * (size_t)p + c] - coarse->origin[c]) / (double)coarse->cell -
                               corner[c]);
        memcpy(d->places[p].corners, coarse->cells[cell], sizeof d->places[p].corners);
        corner_shares(place, d->places[p].shares);
        d->places[p].own = own_at(coarse, owns, cell, place);
    }
    return PELT_OK;
}

pelt_result px_detail_make(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                           const px_lattice *lattice, const pelt_jiggle_desc *desc, px_detail *d) {
    float *owns;
    double radius;
    selection s;
    *d = (px_detail){0};
    if (subject->model->skin.bone_count == 0)
        return PELT_OK;
    PX_TRY(find_thin(arena, subject, lattice->cell, &d->thin, &radius));
    PX_TRY(find_owns(arena, subject, lattice, d->thin, &owns));
    PX_TRY(select_classes(arena, subject, lattice, owns, &s));
    if (s.source.triangle_count == 0)
        return PELT_OK;
    PX_TRY(make_lattice(context, arena, subject, lattice, radius, &s, &d->lattice));
    if (d->lattice.particle_count == 0)
        return PELT_OK;
    PX_TRY(place_particles(arena, lattice, owns, d));
    PX_TRY(px_jiggle_weights_from_skin(context, arena, subject, &d->lattice, &d->weights));
    PX_TRY(px_jiggle_parts_make(arena, subject, &d->lattice, &d->weights, desc, &d->parts));
    PX_TRY(px_primary_make(arena, subject, &d->lattice, &d->weights, &d->parts, desc, &d->primary));
    d->shown = PX_NEW(arena, float, 4 * px_jiggle_padded(d->lattice.particle_count));
    return d->shown ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_detail_rest(px_arena *arena, const px_detail *detail, const px_lattice *lattice, px_lattice *rest) {
    *rest = *lattice;
    if (detail->lattice.particle_count == 0)
        return PELT_OK;
    rest->vertex_cells = PX_NEW(arena, uint32_t, lattice->vertex_count);
    if (!rest->vertex_cells)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < lattice->vertex_count; i++)
        rest->vertex_cells[i] = detail->lattice.vertex_cells[i] == PELT_NONE ? lattice->vertex_cells[i] : PELT_NONE;
    return PELT_OK;
}

/* ---- Volumes ---------------------------------------------------------------------------------------------- */

bool px_detail_has(const px_detail *d, uint32_t joint) {
    return d->lattice.particle_count > 0 && d->thin[joint];
}

void px_detail_relieve(const px_detail *d, px_primary *primary) {
    for (uint32_t k = 0; k < primary->part_count; k++)
        if (px_detail_has(d, primary->parts[k].joint))
            primary->parts[k].swelling_count = 0;
}

uint32_t px_detail_report(px_detail *d, const px_primary *primary, pelt_jiggle_volume *volumes) {
    uint32_t total = primary->part_count, count = 0;
    if (d->lattice.particle_count == 0)
        return total;
    px_primary_follow(&d->primary, primary);
    px_primary_report(&d->primary, volumes + total);
    for (uint32_t k = 0; k < total + d->primary.part_count; k++) {
        pelt_jiggle_volume volume = volumes[k];
        if (px_detail_has(d, volume.joint) != (k >= total))
            continue;
        uint32_t at = count++;
        for (; at > 0 && volumes[at - 1].joint > volume.joint; at--)
            volumes[at] = volumes[at - 1];
        volumes[at] = volume;
    }
    return count;
}

/* ---- Motion ----------------------------------------------------------------------------------------------- */

void px_detail_follow(const px_detail *d, const float *still, const float *swung, float *particles) {
    for (size_t p = 0; p < d->lattice.particle_count; p++) {
        const px_detail_place *place = &d->places[p];
        float from[4] = {0}, to[4] = {0}, *own = particles + 4 * p;
        for (int k = 0; k < 8; k++)
            for (size_t c = 0, at = 4 * (size_t)place->corners[k]; c < 4; c++) {
                from[c] += place->shares[k] * still[at + c];
                to[c] += place->shares[k] * swung[at + c];
            }
        for (size_t c = 0; c < 4; c++)
            own[c] = to[c] + place->own * (own[c] - from[c]);
    }
}

const float *px_detail_move(px_detail *d, const px_primary *primary, const float *skin, const float *shown) {
    memcpy(d->shown, px_primary_follow(&d->primary, primary), 4 * d->lattice.particle_count * sizeof *d->shown);
    px_detail_follow(d, skin, shown, d->shown);
    return d->shown;
}
