/* Joint weights of particles: from the mesh's skin, or by heat diffusion from the bones (Chen et al. 2011, section
 * III.C).
 *
 * The paper diffuses heat until the temperatures are stationary. If only a bone's own particles were fixed, at
 * temperature 1, the steady state would be 1 everywhere; here the particles of all other bones are fixed at 0. Then
 * weights are harmonic, and the solver that fills gaps in transferred weights computes them. */
#include "core/math3.h"
#include "jiggle/jiggle.h"

/* ---- Common steps ----------------------------------------------------------------------------------------- */

static pelt_result neighbours_of(px_arena *arena, const px_graph *links, px_neighbours *out) {
    out->offsets = PX_NEW(arena, size_t, (size_t)links->count + 1);
    out->items = links->to;
    for (uint32_t p = 0; out->offsets && p <= links->count; p++)
        out->offsets[p] = links->firsts[p];
    return out->offsets ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Copies the nearest known row to each unknown row. */
static void copy_nearest(const px_lattice *lattice, const uint8_t *known, px_weight_table *table) {
    for (uint32_t p = 0; p < lattice->particle_count; p++) {
        uint32_t best = PELT_NONE;
        float least = INFINITY;
        for (uint32_t q = 0; !known[p] && q < lattice->particle_count; q++) {
            float off[3];
            px_sub3(lattice->rest + 3 * (size_t)q, lattice->rest + 3 * (size_t)p, off);
            if (known[q] && px_dot3(off, off) < least) {
                least = px_dot3(off, off);
                best = q;
            }
        }
        if (best == PELT_NONE)
            continue;
        px_weight_sum sum = {0};
        px_weight_sum_add_row(&sum, table, best, 1);
        px_weight_sum_store(&sum, table, p);
    }
}

pelt_result px_jiggle_weights_cut(px_arena *arena, const px_lattice *lattice, const px_jiggle_heat *heat,
                                  uint32_t influences, const uint8_t *known, px_weight_table *table,
                                  px_weight_table *out) {
    const px_weight_limits limits = {.influences = influences, .threshold = 1e-4};
    copy_nearest(lattice, known, table);
    PX_TRY(px_weight_table_make(arena, lattice->particle_count, influences, out));
    for (uint32_t p = 0; p < lattice->particle_count; p++) {
        px_weight_sum sum = {0};
        px_weight_sum_add_row(&sum, table, p, 1);
        for (uint32_t e = 0; heat && e < sum.count; e++)
            sum.weights[e] *= (double)heat[sum.bones[e]].strength;
        px_weight_sum_cut(&sum, &limits);
        px_weight_sum_store(&sum, out, p);
    }
    return PELT_OK;
}

/* Fills unknown rows harmonically. */
static pelt_result finish(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                          const px_lattice *lattice, const px_jiggle_heat *heat, uint8_t *known, px_weight_table *table,
                          px_weight_table *out) {
    px_neighbours neighbours;
    PX_TRY(neighbours_of(arena, &lattice->links, &neighbours));
    PX_TRY(px_fill(context, table, &neighbours, lattice->rest, NULL, subject->model->skeleton.joint_count, known));
    return px_jiggle_weights_cut(arena, lattice, heat, PX_JIGGLE_INFLUENCES, known, table, out);
}

static pelt_result begin(px_arena *arena, const px_lattice *lattice, px_weight_table *table, uint8_t **known) {
    *known = PX_NEW(arena, uint8_t, lattice->particle_count);
    PX_TRY(px_weight_table_make(arena, lattice->particle_count, PX_WEIGHT_CAPACITY, table));
    return *known ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- From the skin ---------------------------------------------------------------------------------------- */

static double share_of_corner(const float place[3], uint32_t corner) {
    double share = 1;
    for (uint32_t axis = 0; axis < 3; axis++)
        share *= corner >> axis & 1 ? (double)place[axis] : 1 - (double)place[axis];
    return share;
}

/* Adds the weights of a vertex, times `share`, to a particle's row. */
static void give(const pelt_skin *skin, size_t vertex, double share, px_weight_table *table, uint32_t particle) {
    px_weight_sum sum = {0};
    px_weight_sum_add_row(&sum, table, particle, 1);
    for (size_t k = vertex * skin->influence_count; k < (vertex + 1) * skin->influence_count; k++)
        px_weight_sum_add(&sum, skin->bone_joints[skin->bones[k]], share * (double)skin->weights[k]);
    px_weight_sum_store(&sum, table, particle);
}

pelt_result px_jiggle_weights_from_skin(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                        const px_lattice *lattice, px_weight_table *weights) {
    const pelt_skin *skin = &subject->model->skin;
    const px_weight_limits all = {.influences = PX_WEIGHT_CAPACITY};
    px_weight_table table;
    uint8_t *known;
    *weights = (px_weight_table){0};
    if (skin->bone_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "there are no skin weights to take over; find some by heat");
    PX_TRY(begin(arena, lattice, &table, &known));
    for (size_t i = 0; i < lattice->vertex_count; i++)
        for (uint32_t k = 0; k < 8 && lattice->vertex_cells[i] != PELT_NONE; k++) {
            uint32_t particle = lattice->cells[lattice->vertex_cells[i]][k];
            double share = share_of_corner(lattice->vertex_places + 3 * i, k);
            if (!(share > 1e-6))
                continue;
            give(skin, i, share, &table, particle);
            known[particle] = 1;
        }
    px_weight_table_cut(&table, &all);
    return finish(context, arena, subject, lattice, NULL, known, &table, weights);
}

/* ---- By heat ---------------------------------------------------------------------------------------------- */

static float width_of(const px_jiggle_heat *heat, uint32_t joint) {
    return heat ? heat[joint].width : 1;
}

/* Returns the bone with the smallest distance / width. */
static uint32_t nearest_bone(const px_jiggle_bones *bones, const px_jiggle_heat *heat, const float p[3],
                             float *distance) {
    uint32_t best = PELT_NONE;
    *distance = INFINITY;
    for (uint32_t b = 0; b < bones->count; b++) {
        float along, off = px_jiggle_bone_distance(&bones->items[b], p, &along) / width_of(heat, bones->items[b].joint);
        if (off < *distance) {
            *distance = off;
            best = bones->items[b].joint;
        }
    }
    return best;
}

static uint32_t nearest_particle(const px_lattice *lattice, const px_jiggle_bones *bones, uint32_t joint) {
    uint32_t best = 0;
    float least = INFINITY;
    for (uint32_t b = 0; b < bones->count; b++)
        for (uint32_t p = 0; bones->items[b].joint == joint && p < lattice->particle_count; p++) {
            float along, off = px_jiggle_bone_distance(&bones->items[b], lattice->rest + 3 * (size_t)p, &along);
            if (off < least) {
                least = off;
                best = p;
            }
        }
    return best;
}

static void hold(px_weight_table *table, uint32_t particle, uint32_t joint, uint8_t *known) {
    px_weight_sum sum = {0};
    px_weight_sum_add(&sum, joint, 1);
    px_weight_sum_store(&sum, table, particle);
    known[particle] = 1;
}

pelt_result px_jiggle_heat_sources(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                   const px_lattice *lattice, const px_jiggle_heat *heat, px_weight_table *table,
                                   uint8_t **out_known) {
    px_jiggle_bones bones;
    uint8_t *known, *held = PX_NEW(arena, uint8_t, subject->model->skeleton.joint_count);
    if (!held)
        return PELT_ERROR_MEMORY;
    if (subject->model->skeleton.joint_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "there is no skeleton for heat to come from");
    PX_TRY(px_jiggle_bones_make(arena, subject, &bones));
    PX_TRY(begin(arena, lattice, table, &known));
    *out_known = known;
    for (uint32_t p = 0; p < lattice->particle_count; p++) {
        float distance;
        uint32_t joint = nearest_bone(&bones, heat, lattice->rest + 3 * (size_t)p, &distance);
        if (distance <= lattice->cell) {
            hold(table, p, joint, known);
            held[joint] = 1;
        }
    }
    for (uint32_t b = 0; b < bones.count; b++) {
        uint32_t joint = bones.items[b].joint, particle;
        if (held[joint])
            continue;
        particle = nearest_particle(lattice, &bones, joint);
        held[joint] = 1;
        if (!known[particle])
            hold(table, particle, joint, known);
    }
    return PELT_OK;
}

pelt_result px_jiggle_weights_by_heat(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                      const px_lattice *lattice, const px_jiggle_heat *heat, px_weight_table *weights) {
    px_weight_table table;
    uint8_t *known;
    *weights = (px_weight_table){0};
    PX_TRY(px_jiggle_heat_sources(context, arena, subject, lattice, heat, &table, &known));
    return finish(context, arena, subject, lattice, heat, known, &table, weights);
}
