/* Secondary motion: forces and substeps.
 *
 * Eq. 12 of FastLSM with consistent units is v += α (g − x) / h + h f / m. A single particle with a constant goal then
 * oscillates with 2 cos(ω h) = 2 − α, so α = 4 sin²(ω h / 2) gives the requested frequency for any substep h. α is at
 * most 1, where shape matching is unconditionally stable: with masses divided evenly among regions (m = mass / regions
 * of p), the map from displacements to goals is a symmetric operator with eigenvalues between 0 and δ.
 */
#include "jiggle/swing.h"

#include "core/rotation.h"

/* ---- Creation --------------------------------------------------------------------------------------------- */

static double pull_of(double frequency, double step) {
    double turn = px_fmin(frequency * step, 1.0 / 6) * 180 * PX_DEGREE; /* ω h / 2, radians */
    return 4 * px_sin(turn) * px_sin(turn);
}

/* The particle nearest to the centre of the lattice. Coordinates relative to it are small, which keeps float
 * precision. */
static uint32_t middle_particle(const px_lattice *lattice) {
    uint32_t best = 0;
    double nearest = INFINITY, middle[3] = {0};
    for (size_t p = 0; p < lattice->particle_count; p++)
        for (int c = 0; c < 3; c++)
            middle[c] += lattice->places[p][c];
    for (uint32_t p = 0; p < lattice->particle_count; p++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            double off = lattice->places[p][c] - middle[c] / lattice->particle_count;
            sum += off * off;
        }
        if (sum < nearest) {
            nearest = sum;
            best = p;
        }
    }
    return best;
}

static pelt_result make_state(px_arena *arena, px_swing *s) {
    size_t padded = s->match.padded;
    float **rows[] = {&s->pass.u, &s->pass.w, &s->pass.skin_before, &s->pass.skin_velocity, &s->pushes};
    for (size_t n = 0; n < PX_COUNT(rows); n++)
        if (!(*rows[n] = PX_NEW(arena, float, px_mul_size(4, padded))))
            return PELT_ERROR_MEMORY;
    s->deltas = PX_NEW(arena, float, padded);
    s->keeps = PX_NEW(arena, float, padded);
    s->pulls = PX_NEW(arena, float, padded);
    s->joint_pushes = px_arena_alloc(arena, s->values.joint_count, sizeof *s->joint_pushes);
    s->pass.deltas = s->deltas;
    s->pass.keeps = s->keeps;
    s->pass.pulls = s->pulls;
    return s->deltas && s->keeps && s->pulls && s->joint_pushes ? PELT_OK : PELT_ERROR_MEMORY;
}

/* The rest shape, for the regions that keep it. */
static pelt_result make_shape(px_arena *arena, px_swing *s) {
    const px_lattice *lattice = s->lattice;
    if (s->match.regions != PELT_JIGGLE_REGIONS_REST)
        return PELT_OK;
    float *shape = PX_NEW(arena, float, px_mul_size(4, s->match.padded));
    for (size_t p = 0; shape && p < lattice->particle_count; p++)
        for (size_t c = 0; c < 3; c++)
            shape[4 * p + c] =
                (lattice->rest[3 * p + c] - lattice->rest[3 * (size_t)s->centre + c]) * (1 / lattice->cell);
    s->pass.shape = shape;
    return shape ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_swing_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                          const px_weight_table *weights, const px_thickness *thickness,
                          const px_jiggle_kernels *kernels, const float *normals, const pelt_jiggle_desc *desc,
                          px_swing *out) {
    *out = (px_swing){.subject = subject,
                      .lattice = lattice,
                      .weights = weights,
                      .centre = middle_particle(lattice),
                      .step = desc->substep,
                      .frequency = desc->frequency,
                      .forces = desc->forces,
                      .pass = {.cell = lattice->cell,
                               .step = (float)desc->substep,
                               .region_damping = (float)-px_expm1(-desc->region_damping * desc->substep)}};
    PX_TRY(px_values_make(arena, subject, lattice, weights, thickness, desc, &out->values));
    PX_TRY(px_match_make(arena, lattice, kernels, (pelt_jiggle_regions)desc->regions, &out->match));
    PX_TRY(make_state(arena, out));
    PX_TRY(make_shape(arena, out));
    PX_TRY(px_grab_make(arena, lattice->particle_count, &out->grab));
    PX_TRY(px_swing_make_colliders(arena, desc, normals, out));
    px_swing_set_values(out, desc->joints, desc->joint_count, &desc->maps);
    return PELT_OK;
}

void px_swing_set_values(px_swing *s, const pelt_jiggle_joint *joints, uint32_t joint_count,
                         const pelt_jiggle_maps *maps) {
    px_values_set(&s->values, joints, joint_count, maps);
    px_match_set_stiffness(&s->match, s->values.stiffness);
    memcpy(s->deltas, s->values.deltas, s->lattice->particle_count * sizeof *s->deltas);
    for (uint32_t p = 0; p < s->lattice->particle_count; p++)
        s->keeps[p] = (float)px_exp(-(double)s->values.damping[p] * s->step);
    float last = -1, pull = (float)(pull_of(s->frequency, s->step) / s->step);
    for (uint32_t p = 0; p < s->lattice->particle_count; p++) {
        if (s->values.frequencies[p] != last)
            pull = (float)(pull_of((double)(last = s->values.frequencies[p]), s->step) / s->step);
        s->pulls[p] = pull;
    }
}

void px_swing_set_forces(px_swing *s, const pelt_jiggle_forces *forces) {
    for (int c = 0; c < 3; c++) {
        s->forces.gravity[c] = isfinite(forces->gravity[c]) ? forces->gravity[c] : 0;
        s->forces.wind[c] = isfinite(forces->wind[c]) ? forces->wind[c] : 0;
    }
    s->forces.drag = forces->drag > 0 ? forces->drag : 0;
}

/* ---- Time ------------------------------------------------------------------------------------------------- */

void px_swing_reset(px_swing *s, const float *skin, const float *turns) {
    size_t size = 4 * s->match.padded * sizeof(float);
    memset(s->pass.u, 0, size);
    memset(s->pass.w, 0, size);
    memset(s->pass.skin_velocity, 0, size);
    memcpy(s->pass.skin_before, skin, size);
    px_match_reset(&s->match, turns);
    for (uint32_t n = 0; n < s->collider_count; n++)
        s->obstacles[n].known = false;
}

/* The rest shape includes gravity in the rest pose, so gravity pushes by its difference from the gravity that turns with
 * the joint; drag accelerates particles towards the velocity of the wind. Then shape matching and contacts. */
void px_swing_step(px_swing *s, const float *skin, const pelt_affine *globals) {
    const float *g = s->forces.gravity;
    bool heavy = g[0] != 0 || g[1] != 0 || g[2] != 0, windy = s->forces.drag > 0;
    s->pass.skin = skin;
    memcpy(s->pass.centre, skin + 4 * (size_t)s->centre, sizeof s->pass.centre);
    s->pass.pushes = heavy || windy || s->grab.count > 0 ? s->pushes : NULL;
    if (s->pass.pushes)
        memset(s->pushes, 0, 4 * s->match.padded * sizeof *s->pushes);
    for (uint32_t j = 0; heavy && j < s->values.joint_count; j++) { /* h (g − R g), cells / s */
        pelt_affine moved = px_affine_mul(&globals[j], &s->subject->inverses[j]);
        double rest[3] = {g[0], g[1], g[2]}, turned[3];
        px_rotation_apply(px_rotation_of_affine(&moved), rest, turned);
        for (int c = 0; c < 3; c++)
            s->joint_pushes[j][c] = (float)(s->step / (double)s->lattice->cell * (rest[c] - turned[c]));
    }
    uint32_t capacity = s->weights->capacity;
    for (size_t p = 0; heavy && p < s->lattice->particle_count; p++)
        for (size_t k = p * capacity; k < (p + 1) * capacity; k++)
            for (size_t c = 0; c < 3; c++)
                s->pushes[4 * p + c] += s->weights->weights[k] * s->joint_pushes[s->weights->bones[k]][c];
    float drag = windy ? (float)-px_expm1(-(double)s->forces.drag * s->step) : 0;
    for (size_t p = 0; windy && p < s->lattice->particle_count; p++)
        for (size_t c = 0; c < 3; c++)
            s->pushes[4 * p + c] += drag * (s->forces.wind[c] / s->lattice->cell -
                                            (s->pass.w[4 * p + c] + s->pass.skin_velocity[4 * p + c]));
    px_swing_pull(s, skin);
    px_match_run(&s->match, &s->pass);
    px_swing_hold(s, skin, globals);
}

void px_swing_show(const px_swing *s, const float *skin, double later, float *out) {
    for (size_t p = 0; p < s->match.padded; p++) {
        float scale = s->deltas[p] * s->lattice->cell;
        for (size_t c = 0; c < 4; c++)
            out[4 * p + c] = skin[4 * p + c] + scale * (s->pass.u[4 * p + c] + (float)later * s->pass.w[4 * p + c]);
    }
}
