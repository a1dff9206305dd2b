/* Symmetric weights: a row and the row at its mirrored position share the mean of their weights, one of them mirrored.
 * One of the two is computed and the other is its image, so that both are equal to the bit. */
#include "bind/apply.h"
#include "core/math3.h"
#include "core/surface.h"

#define SYMMETRY_TOLERANCE 1e-3 /* of the diagonal: asymmetry that modelling and file formats introduce */
#define ROW_BLOCK          256u

typedef struct mirroring {
    const pelt_binding *binding;
    const px_bind_settings *settings;
    const px_weight_limits *limits;
    px_weight_table *table;
    px_mirror_plane plane;
    double reach;       /* maximum distance of a counterpart from the mirrored position */
    uint32_t *joints;   /* [joint] counterpart across the plane, or itself */
    bool *barred;       /* [joint] its counterpart cannot get weights */
    px_surface points;  /* rows as degenerate triangles, for nearest-point queries */
    uint32_t *partners; /* [class] row nearest to its mirrored position, or PELT_NONE */
} mirroring;

/* ---- Joints ---------------------------------------------------------------------------------------------------- */

/* Finds the mirror plane and the counterparts of joints: first through the mean of all joints, then, if that gives pairs,
 * through the mean of the paired joints. */
static pelt_result match_joints(px_arena *arena, mirroring *m) {
    const px_bind_subject *s = &m->binding->subject;
    uint32_t count = s->rig->skeleton.joint_count, paired = 0;
    float *places = PX_NEW(arena, float, 3 * (size_t)count);
    m->joints = PX_NEW(arena, uint32_t, count);
    m->barred = PX_NEW(arena, bool, count);
    if (!places || !m->joints || !m->barred)
        return PELT_ERROR_MEMORY;
    double mean = 0, middle = 0;
    for (uint32_t j = 0; j < count; j++) {
        for (size_t c = 0; c < 3; c++)
            places[3 * (size_t)j + c] = s->joints[j].m[4 * c + 3];
        mean += (double)places[3 * (size_t)j + m->plane.axis] / count;
    }
    m->plane.at = mean;
    PX_TRY(px_mirror_joints(m->binding->context, &s->rig->skeleton, places, m->plane, m->joints, NULL));
    for (uint32_t j = 0; j < count; j++)
        if (m->joints[j] != PELT_NONE && m->joints[j] != j) {
            middle += (double)places[3 * (size_t)j + m->plane.axis];
            paired++;
        }
    if (paired > 0) {
        m->plane.at = middle / paired;
        PX_TRY(px_mirror_joints(m->binding->context, &s->rig->skeleton, places, m->plane, m->joints, NULL));
    }
    for (uint32_t j = 0; j < count; j++)
        if (m->joints[j] == PELT_NONE)
            m->joints[j] = j;
    for (uint32_t j = 0; j < count; j++) {
        uint32_t other = m->joints[j], target = s->joint_targets[other];
        m->barred[j] = m->joints[other] != j || target == PELT_NONE || m->settings->out[target];
    }
    return PELT_OK;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static pelt_result find_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const mirroring *m = user;
    for (size_t row = first; row < first + count; row++) {
        px_surface_point found;
        double at[3];
        for (size_t c = 0; c < 3; c++)
            at[c] = (double)m->binding->subject.positions[3 * row + c];
        at[m->plane.axis] = 2 * m->plane.at - at[m->plane.axis];
        bool any = px_surface_nearest(&m->points, at, m->reach, NULL, NULL, &found);
        m->partners[row] = any ? found.triangle : PELT_NONE;
    }
    return PELT_OK;
}

static pelt_result find_partners(px_arena *arena, mirroring *m) {
    const px_bind_subject *s = &m->binding->subject;
    uint32_t *points = PX_NEW(arena, uint32_t, 3 * (size_t)s->classes.count);
    float low[3], high[3];
    m->partners = PX_NEW(arena, uint32_t, s->classes.count);
    if (!points || !m->partners)
        return PELT_ERROR_MEMORY;
    for (size_t e = 0; e < 3 * (size_t)s->classes.count; e++)
        points[e] = (uint32_t)(e / 3);
    m->reach = SYMMETRY_TOLERANCE * px_box(s->positions, s->classes.count, low, high);
    PX_TRY(px_surface_make(arena, s->positions, points, s->classes.count, &m->points));
    return px_parallel(m->binding->context, "mirror", s->classes.count, ROW_BLOCK, find_block, m);
}

static bool can_mirror(const mirroring *m, size_t row) {
    const px_weight_table *t = m->table;
    for (size_t e = row * t->capacity; e < (row + 1) * t->capacity; e++)
        if (t->weights[e] > 0 && m->barred[t->bones[e]])
            return false;
    return !m->settings->regions[row];
}

static void lock_and_store(const mirroring *m, px_weight_sum *sum, size_t row) {
    if (m->settings->locked)
        px_weight_sum_lock(sum, &m->settings->kept, row, m->settings->locked);
    px_weight_sum_cut(sum, m->limits);
    px_weight_sum_store(sum, m->table, row);
}

/* Averages a row and its partner, which may be the same row. */
static void average(const mirroring *m, size_t row, size_t partner) {
    const px_weight_table *t = m->table;
    px_weight_limits limits = {m->limits->influences, m->limits->threshold, NULL};
    px_weight_sum sum = {0}, own = {0}, image = {0};
    px_weight_sum_add_row(&sum, t, row, 0.5);
    for (size_t e = partner * t->capacity; e < (partner + 1) * t->capacity; e++)
        px_weight_sum_add(&sum, m->joints[t->bones[e]], 0.5 * (double)t->weights[e]);
    px_weight_sum_cut(&sum, &limits);
    for (uint32_t e = 0; e < sum.count; e++) {
        uint32_t other = m->joints[sum.bones[e]];
        if (row == partner && px_weight_sum_of(&sum, other) == 0) /* its counterpart was cut off: drop both */
            continue;
        px_weight_sum_add(&own, sum.bones[e], sum.weights[e]);
        px_weight_sum_add(&image, other, sum.weights[e]);
    }
    if (own.count == 0) /* only one of a pair fits into the limits */
        own = sum;
    lock_and_store(m, &own, row);
    if (row != partner)
        lock_and_store(m, &image, partner);
}

/* Several rows at one position have the same partner, but only one row is mutual: copies its weights to the others. */
static bool copy_double(const mirroring *m, size_t row, const uint8_t *unmatched) {
    const px_weight_table *t = m->table;
    const float *places = m->binding->subject.positions;
    uint32_t partner = m->partners[row], first = partner == PELT_NONE ? PELT_NONE : m->partners[partner];
    if (first == PELT_NONE || m->partners[first] != partner || unmatched[first] ||
        memcmp(places + 3 * row, places + 3 * (size_t)first, 3 * sizeof *places) != 0 ||
        m->settings->follows[row] != m->settings->follows[first])
        return false;
    memcpy(t->bones + row * t->capacity, t->bones + first * (size_t)t->capacity, t->capacity * sizeof *t->bones);
    memcpy(t->weights + row * t->capacity, t->weights + first * (size_t)t->capacity, t->capacity * sizeof *t->weights);
    return true;
}

pelt_result px_bind_mirror(px_arena *arena, const pelt_binding *binding, const px_bind_settings *settings,
                           const px_weight_limits *limits, px_weight_table *table, uint8_t *unmatched) {
    mirroring m = {.binding = binding, .settings = settings, .limits = limits, .table = table};
    m.plane.axis = settings->desc->mirror - PELT_BIND_MIRROR_X;
    PX_TRY(match_joints(arena, &m));
    PX_TRY(find_partners(arena, &m));
    for (uint32_t row = 0; row < table->row_count; row++) {
        uint32_t partner = m.partners[row];
        bool mutual = partner != PELT_NONE && m.partners[partner] == row;
        if (mutual && partner < row) {
            unmatched[row] = unmatched[partner];
            continue;
        }
        unmatched[row] = !mutual || !can_mirror(&m, row) || !can_mirror(&m, partner);
        if (!unmatched[row])
            average(&m, row, partner);
    }
    for (uint32_t row = 0; row < table->row_count; row++)
        if (unmatched[row] && copy_double(&m, row, unmatched))
            unmatched[row] = 0;
    return PELT_OK;
}
