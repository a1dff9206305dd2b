/* Colliders (spheres, capsules, planes) and the bound on the distance from the primary motion. Both act on displayed
 * positions δ x + (1 − δ) x̄. */
#include "jiggle/swing.h"

#include "core/rotation.h"

/* Particles with a smaller δ do not collide: their displacement x would be the push divided by δ. */
#define MIN_DELTA 0.01f

/* ---- Creation --------------------------------------------------------------------------------------------- */

/* Distance of particles outside the surface, along the normal of the nearest vertex in their cells. */
static void measure_outside(px_swing *s, const float *normals, float *nearest) {
    const px_lattice *lattice = s->lattice;
    for (size_t i = 0; i < lattice->vertex_count; i++)
        for (uint32_t k = 0; k < 8; k++) {
            uint32_t p = lattice->cells[lattice->vertex_cells[i]][k];
            float off[3];
            px_sub3(lattice->rest + 3 * (size_t)p, s->subject->positions + 3 * i, off);
            if (nearest[p] > 0 && nearest[p] <= px_dot3(off, off))
                continue;
            nearest[p] = px_dot3(off, off);
            s->outside[p] = px_dot3(off, normals + 3 * i);
        }
}

pelt_result px_swing_make_colliders(px_arena *arena, const pelt_jiggle_desc *desc, const float *normals, px_swing *s) {
    if (desc->collider_count == 0)
        return PELT_OK;
    float *nearest = PX_NEW(arena, float, s->lattice->particle_count);
    s->outside = PX_NEW(arena, float, s->lattice->particle_count);
    s->colliders = PX_NEW(arena, pelt_collider, desc->collider_count);
    s->obstacles = PX_NEW(arena, px_obstacle, desc->collider_count);
    if (!nearest || !s->outside || !s->colliders || !s->obstacles)
        return PELT_ERROR_MEMORY;
    s->collider_count = desc->collider_count;
    memcpy(s->colliders, desc->colliders, desc->collider_count * sizeof *s->colliders);
    measure_outside(s, normals, nearest);
    return PELT_OK;
}

void px_swing_set_collider(px_swing *s, uint32_t index, const pelt_collider *collider) {
    assert(index < s->collider_count);
    s->colliders[index] = *collider;
    s->obstacles[index].known = false;
}

/* ---- Motion of colliders ---------------------------------------------------------------------------------- */

/* Velocity since the last substep; 0 after a reset. */
static void move_end(const px_swing *s, const double to[3], bool known, double at[3], double velocity[3]) {
    for (int c = 0; c < 3; c++) {
        velocity[c] = known ? (to[c] - at[c]) / s->step : 0;
        at[c] = to[c];
    }
}

static void place_obstacle(const px_swing *s, const pelt_affine *globals, const pelt_collider *collider,
                           px_obstacle *o) {
    pelt_affine space = collider->joint == PELT_NONE ? px_affine_identity() : globals[collider->joint];
    float a[3], b[3], tip[3];
    bool plane = collider->kind == PELT_COLLIDER_PLANE;
    for (int c = 0; c < 3; c++)
        tip[c] =
            collider->kind == PELT_COLLIDER_SPHERE ? collider->a[c] : (plane ? collider->a[c] : 0) + collider->b[c];
    px_affine_point(&space, collider->a, a);
    px_affine_point(&space, tip, b);
    move_end(s, (double[3]){a[0], a[1], a[2]}, o->known, o->a, o->a_velocity);
    double to[3] = {b[0], b[1], b[2]};
    if (plane) {
        for (int c = 0; c < 3; c++)
            to[c] = (double)b[c] - (double)a[c];
        px_normalize3(to);
    }
    move_end(s, to, o->known && !plane, o->b, o->b_velocity);
    o->radius = (double)collider->radius * px_cbrt(fabs(px_affine_determinant(&space)));
    o->known = true;
}

/* ---- Contact ---------------------------------------------------------------------------------------------- */

typedef struct contact {
    double depth; /* penetration, units */
    double normal[3], velocity[3];
} contact;

static contact find_contact(const px_obstacle *o, pelt_collider_kind kind, const double x[3]) {
    contact out = {0};
    if (kind == PELT_COLLIDER_PLANE) {
        out.depth = o->radius;
        for (int c = 0; c < 3; c++) {
            out.depth -= (x[c] - o->a[c]) * o->b[c];
            out.normal[c] = o->b[c];
            out.velocity[c] = o->a_velocity[c];
        }
        return out;
    }
    double along = 0, length2 = 0;
    for (int c = 0; c < 3; c++) {
        along += (x[c] - o->a[c]) * (o->b[c] - o->a[c]);
        length2 += (o->b[c] - o->a[c]) * (o->b[c] - o->a[c]);
    }
    double t = length2 > 0 ? px_fmin(px_fmax(along / length2, 0), 1) : 0;
    for (int c = 0; c < 3; c++) {
        out.normal[c] = x[c] - (o->a[c] + t * (o->b[c] - o->a[c]));
        out.velocity[c] = o->a_velocity[c] + t * (o->b_velocity[c] - o->a_velocity[c]);
    }
    double far = px_length3(out.normal);
    out.depth = o->radius - far;
    for (int c = 0; c < 3; c++)
        out.normal[c] = far > 0 ? out.normal[c] / far : c == 1;
    return out;
}

static void push_out(px_swing *s, size_t p, const float *skin, uint32_t n) {
    float *u = s->pass.u + 4 * p, *w = s->pass.w + 4 * p, delta = s->deltas[p];
    double cell = (double)s->lattice->cell, shown = (double)delta * cell, x[3], against[3], into = 0;
    for (int c = 0; c < 3; c++)
        x[c] = (double)skin[4 * p + (size_t)c] + shown * (double)u[c];
    contact hit = find_contact(&s->obstacles[n], s->colliders[n].kind, x);
    double depth = hit.depth - (double)s->outside[p];
    if (!(depth > 0))
        return;
    for (int c = 0; c < 3; c++) {
        against[c] = cell * (double)s->pass.skin_velocity[4 * p + (size_t)c] + shown * (double)w[c] - hit.velocity[c];
        into += against[c] * hit.normal[c];
    }
    for (int c = 0; c < 3; c++) {
        double slide = against[c] - into * hit.normal[c];
        u[c] += (float)(depth * hit.normal[c] / shown);
        w[c] -= (float)((px_fmin(into, 0) * hit.normal[c] + (double)s->colliders[n].friction * slide) / shown);
    }
}

/* Clamps the distance, and removes velocity that would increase it. */
static void hold_back(px_swing *s, size_t p) {
    float *u = s->pass.u + 4 * p, *w = s->pass.w + 4 * p;
    float far2 = px_dot3(u, u), most = s->values.limits[p] / (s->lattice->cell * s->deltas[p]);
    if (!(far2 > most * most))
        return;
    float shrink = most / sqrtf(far2), away = px_dot3(u, w) / far2;
    for (int c = 0; c < 3; c++) {
        w[c] -= px_fmaxf(away, 0) * u[c];
        u[c] *= shrink;
    }
}

void px_swing_hold(px_swing *s, const float *skin, const pelt_affine *globals) {
    for (uint32_t n = 0; n < s->collider_count; n++)
        place_obstacle(s, globals, &s->colliders[n], &s->obstacles[n]);
    for (size_t p = 0; p < s->lattice->particle_count; p++) {
        for (uint32_t n = 0; s->deltas[p] >= MIN_DELTA && n < s->collider_count; n++)
            push_out(s, p, skin, n);
        if (s->deltas[p] > 0)
            hold_back(s, p);
    }
}
