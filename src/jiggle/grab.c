/* A hold on soft tissue: springs from particles to places that move with the target.
 *
 * Every held particle has a goal of its own, its place when it was grabbed plus the motion of the target, so the force is
 * diagonal: v += σ α (g − x) / h with the strength σ ≤ 1 of the particle. Together with shape matching the eigenvalues of the
 * step stay below 2 of the 4 that are stable. */
#include "jiggle/swing.h"

#include "core/math3.h"

#define PULL    1.0f /* α, as stiff as shape matching may be */
#define DAMPING 0.8f /* fraction of the velocity lost in a substep */
/* Particles with a smaller δ are not held: their displacement x would be the way divided by δ. */
#define MIN_DELTA 0.01f

pelt_result px_grab_make(px_arena *arena, uint32_t particle_count, px_grab *out) {
    *out = (px_grab){.vertex = PELT_NONE,
                     .particles = PX_NEW(arena, uint32_t, particle_count),
                     .held = PX_NEW(arena, bool, particle_count),
                     .strengths = PX_NEW(arena, float, particle_count),
                     .places = px_arena_alloc(arena, particle_count, sizeof *out->places)};
    return out->particles && out->held && out->strengths && out->places ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Strength by the distance at rest: 1 at the vertex, 0 from the radius on. */
static float strength_at(float distance2, float radius) {
    float rest = 1 - distance2 / (radius * radius);
    return rest > 0 ? rest * rest : 0;
}

static void let_go(px_grab *g) {
    for (uint32_t n = 0; n < g->count; n++)
        g->held[g->particles[n]] = false;
    g->count = 0;
    g->vertex = PELT_NONE;
}

/* Adds a particle unless it is held already. */
static void hold(px_grab *g, uint32_t p, float strength) {
    if (g->held[p])
        return;
    g->held[p] = true;
    g->strengths[g->count] = strength;
    g->particles[g->count++] = p;
}

/* The corners of the vertex's cell, and from there on particles within the radius along the links of the lattice. */
static void gather(const px_swing *s, const float *vertex, const uint32_t corners[8], float radius, px_grab *g) {
    const px_lattice *lattice = s->lattice;
    float off[3];
    radius = px_fmaxf(radius, lattice->cell);
    for (uint32_t k = 0; k < 8; k++) {
        px_sub3(lattice->rest + 3 * (size_t)corners[k], vertex, off);
        hold(g, corners[k], px_fmaxf(strength_at(px_dot3(off, off), radius), 0.1f));
    }
    for (uint32_t n = 0; n < g->count; n++)
        for (uint32_t e = lattice->links.firsts[g->particles[n]]; e < lattice->links.firsts[g->particles[n] + 1]; e++) {
            uint32_t p = lattice->links.to[e];
            px_sub3(lattice->rest + 3 * (size_t)p, vertex, off);
            float strength = strength_at(px_dot3(off, off), radius);
            if (strength > 0)
                hold(g, p, strength);
        }
}

void px_swing_set_grab(px_swing *s, const float *shown, const pelt_jiggle_grab *grab) {
    px_grab *g = &s->grab;
    bool valid = grab && grab->vertex < s->lattice->vertex_count && isfinite(grab->target[0]) &&
                 isfinite(grab->target[1]) && isfinite(grab->target[2]);
    if (!valid) {
        let_go(g);
        return;
    }
    memcpy(g->target, grab->target, sizeof g->target);
    if (g->vertex == grab->vertex)
        return;
    let_go(g);
    g->vertex = grab->vertex;
    const uint32_t *corners = s->lattice->cells[s->lattice->vertex_cells[grab->vertex]];
    const float *place = s->lattice->vertex_places + 3 * (size_t)grab->vertex;
    memset(g->start, 0, sizeof g->start);
    for (uint32_t k = 0; k < 8; k++) {
        float share = 1;
        for (uint32_t axis = 0; axis < 3; axis++)
            share *= k >> axis & 1 ? place[axis] : 1 - place[axis];
        for (int c = 0; c < 3; c++)
            g->start[c] += share * shown[4 * (size_t)corners[k] + (size_t)c];
    }
    gather(s, s->subject->positions + 3 * (size_t)grab->vertex, corners, grab->radius > 0 ? grab->radius : 0, g);
    for (uint32_t n = 0; n < g->count; n++)
        memcpy(g->places[n], shown + 4 * (size_t)g->particles[n], sizeof g->places[n]);
}

void px_swing_pull(px_swing *s, const float *skin) {
    const px_grab *g = &s->grab;
    for (uint32_t n = 0; n < g->count; n++) {
        size_t p = g->particles[n];
        float scale = s->deltas[p] * s->lattice->cell;
        if (!(s->deltas[p] >= MIN_DELTA))
            continue;
        for (size_t c = 0; c < 3; c++) {
            float goal = (g->places[n][c] + (g->target[c] - g->start[c]) - skin[4 * p + c]) / scale;
            s->pushes[4 * p + c] += g->strengths[n] * (PULL / s->pass.step * (goal - s->pass.u[4 * p + c]) -
                                                       DAMPING * s->pass.w[4 * p + c]);
        }
    }
}
