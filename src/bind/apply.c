/* From fields and settings to weights: rows from fields, rigid shells, smoothing, symmetry, at most K influences.
 *
 *   α  falloff of a row      K  desc.influences      ε  MIN_DISTANCE
 * Equation numbers: Dionne, de Lasa 2013. */
#include "bind/apply.h"
#include "core/math3.h"

#define ROW_BLOCK       256u
#define NEUTRAL_FALLOFF 0.7  /* α that leaves weights by diffusion unchanged */
#define MIN_DISTANCE    1e-4 /* ε, relative to the diagonal: lower bound of distances */
#define MIN_TARGET_WEIGHT                                                                                              \
    0.01 /* minimum share of the allowed targets in a row: below it, fallbacks of excluded joints get weights too */

typedef struct weighing {
    const pelt_binding *binding;
    const px_bind_settings *settings;
    px_weight_limits limits; /* of the result */
    px_weight_table *table;
} weighing;

/* ---- From fields to rows --------------------------------------------------------------------------------------- */

/* x^y for x ≥ 1e-30, 0.5 ≤ y ≤ 2, to 1e-12 of the result: weights are stored as floats. Half the time of px_pow. */
static double power(double x, double y) {
    static const double inverses[] = {1, 1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5, 1.0 / 6, 1.0 / 7, 1.0 / 8, 1.0 / 9, 0.1};
    uint64_t bits = px_double_bits(x), above = (bits & 0xFFFFFFFFFFFFFu) > 0x6A09E667F3BCCu;
    /* x = 2^exponent · m, m from √½ to √2 */
    double m = px_double_from_bits((bits & 0xFFFFFFFFFFFFFu) | (0x3FF0000000000000u - (above << 52)));
    double exponent = (double)((int64_t)(bits >> 52) - 1023 + (int64_t)above);
    /* log₂ m = 2/ln 2 · artanh z */
    double z = (m - 1) / (m + 1), q = z * z;
    double series = 1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q * (1.0 / 11 + q / 13)))));
    double log2 = y * (exponent + 2.8853900817779268 * z * series);
    int64_t whole = (int64_t)(log2 + (log2 < 0 ? -0.5 : 0.5));
    double f = (log2 - (double)whole) * 0.69314718055994531, sum = 1; /* e^f, |f| < 0.35, by Horner's scheme */
    for (int n = 9; n >= 0; n--)
        sum = 1 + sum * f * inverses[n];
    return sum * px_double_from_bits((uint64_t)(whole + 1023) << 52);
}

double px_bind_falloff(double distance, double alpha, uint32_t curve) {
    if (!isfinite(distance))
        return 0;
    double d = px_fmin(px_fmax(distance, MIN_DISTANCE), 1), w = 1 / ((1 - alpha) * d + alpha * d * d);
    w *= w;
    return curve == PELT_BIND_CURVE_SHARP ? w * w * w : w;
}

/* Inserts a value in descending order; drops the smallest value when the row is full. On a tie the lower joint stays,
 * since it comes first. */
static void keep_largest(px_weight_sum *sum, uint32_t joint, double value) {
    if (sum->count == PX_WEIGHT_CAPACITY && !(value > sum->weights[sum->count - 1]))
        return;
    uint32_t at = sum->count < PX_WEIGHT_CAPACITY ? sum->count++ : PX_WEIGHT_CAPACITY - 1;
    for (; at > 0 && sum->weights[at - 1] < value; at--) {
        sum->bones[at] = sum->bones[at - 1];
        sum->weights[at] = sum->weights[at - 1];
    }
    sum->bones[at] = (uint16_t)joint;
    sum->weights[at] = value;
}

/* The allowed target nearest to a row that no field reaches. */
static uint32_t nearest_joint(const weighing *w, size_t row) {
    const px_bind_subject *s = &w->binding->subject;
    const float *p = s->positions + 3 * row;
    double best = INFINITY;
    uint32_t nearest = PELT_NONE;
    for (uint32_t t = 0; t < s->target_count; t++) {
        const float *m = s->joints[s->targets[t]].m;
        double x = (double)m[3] - p[0], y = (double)m[7] - p[1], z = (double)m[11] - p[2], d = x * x + y * y + z * z;
        if (!w->settings->out[t] && (d < best || nearest == PELT_NONE)) {
            best = d;
            nearest = s->targets[t];
        }
    }
    return nearest;
}

static void scale_sum(px_weight_sum *sum, double factor) {
    for (uint32_t e = 0; e < sum->count; e++)
        sum->weights[e] *= factor;
}

/* Converts field values to weights; returns their sum. Diffusion weights are sharpened by a power: the larger α, the
 * steeper the transition between bones. */
static double make_weights(const weighing *w, size_t row, px_weight_sum *sum) {
    const px_bind_settings *settings = w->settings;
    double alpha = settings->falloffs ? (double)settings->falloffs[row] : settings->desc->falloff, total = 0;
    double exponent = (1 + alpha / NEUTRAL_FALLOFF) / 2;
    bool gives_weights = px_bind_gives_weights(w->binding->fields.method);
    for (uint32_t e = 0; e < sum->count; e++) {
        double value = sum->weights[e];
        if (!gives_weights)
            sum->weights[e] = px_bind_falloff(-value, alpha, settings->desc->curve);
        else if (exponent != 1 && value > 1e-30)
            sum->weights[e] = power(value, exponent);
        total += sum->weights[e];
    }
    return total;
}

/* Reads the largest weights or least distances of a row: `sum` for allowed targets, `lost` for the fallbacks of
 * excluded ones. Distances are negated, so that larger is better for both methods. */
static void read_fields(const weighing *w, size_t row, px_weight_sum *sum, px_weight_sum *lost) {
    const px_bind_subject *s = &w->binding->subject;
    const px_bind_fields *fields = &w->binding->fields;
    const px_bind_settings *settings = w->settings;
    sum->count = lost->count = 0;
    for (size_t e = fields->ranked ? fields->firsts[row] : 0; fields->ranked && e < fields->firsts[row + 1]; e++) {
        uint32_t t = fields->ranked[e].target;
        if (settings->out[t]) {
            keep_largest(lost, settings->heirs[t], (double)fields->ranked[e].value);
        } else if (sum->count < PX_WEIGHT_CAPACITY) {
            sum->bones[sum->count] = (uint16_t)s->targets[t];
            sum->weights[sum->count++] = (double)fields->ranked[e].value;
        }
    }
    const float *values = fields->values + row * s->target_count;
    for (uint32_t t = 0; !fields->ranked && t < s->target_count; t++) {
        if (!(values[t] < INFINITY))
            continue;
        if (settings->out[t])
            keep_largest(lost, settings->heirs[t], -(double)values[t]);
        else
            keep_largest(sum, s->targets[t], -(double)values[t]);
    }
}

/* Weights of the allowed targets; where their share is below MIN_TARGET_WEIGHT, fallbacks of excluded targets
 * contribute. */
static void weigh_row(const weighing *w, size_t row, px_weight_sum *sum) {
    const uint32_t *targets = w->binding->subject.targets;
    px_weight_sum lost;
    read_fields(w, row, sum, &lost);
    double kept_total = make_weights(w, row, sum), lost_total = make_weights(w, row, &lost);
    if (!(kept_total + lost_total > 0)) {
        sum->count = 0;
        keep_largest(sum, nearest_joint(w, row), 1);
        return;
    }
    double trust = lost_total > 0 ? px_fmin(kept_total / (MIN_TARGET_WEIGHT * (kept_total + lost_total)), 1) : 1;
    scale_sum(sum, kept_total > 0 ? trust / kept_total : 0);
    for (uint32_t e = 0; e < lost.count && trust < 1; e++)
        px_weight_sum_add(sum, targets[lost.bones[e]], (1 - trust) * lost.weights[e] / lost_total);
}

/* px_weight_sum_store in a row of zeros. Fields are ranked, so most rows are sorted already. */
static void store_new(px_weight_sum *sum, px_weight_table *table, size_t row) {
    uint16_t *joints = table->bones + row * table->capacity;
    float *weights = table->weights + row * table->capacity;
    bool sorted = true;
    for (uint32_t e = 1; e < sum->count; e++)
        sorted &= sum->weights[e] < sum->weights[e - 1];
    if (!sorted) {
        px_weight_sum_store(sum, table, row);
        return;
    }
    for (uint32_t e = 0; e < sum->count && (float)sum->weights[e] > 0; e++) {
        joints[e] = sum->bones[e];
        weights[e] = (float)sum->weights[e];
    }
}

static pelt_result weigh_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const weighing *w = user;
    for (size_t row = first; row < first + count; row++) {
        px_weight_sum sum;
        weigh_row(w, row, &sum);
        store_new(&sum, w->table, row);
    }
    return PELT_OK;
}

/* ---- Constraints of the skin ----------------------------------------------------------------------------------- */

/* Gives rows that follow a joint weight 1 for it. Except in regions, locked joints keep their weights and the others
 * share the rest. */
static pelt_result follow_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const weighing *w = user;
    for (size_t row = first; row < first + count; row++) {
        px_weight_sum sum;
        sum.count = 0;
        if (w->settings->follows[row] == PELT_NONE && !w->settings->locked)
            continue;
        if (w->settings->follows[row] != PELT_NONE)
            keep_largest(&sum, w->settings->follows[row], 1);
        else
            px_weight_sum_add_row(&sum, w->table, row, 1);
        if (w->settings->locked && !w->settings->regions[row]) {
            px_weight_sum_lock(&sum, &w->settings->kept, row, w->settings->locked);
            px_weight_sum_cut(&sum, &(px_weight_limits){w->table->capacity, 0, w->settings->locked});
        }
        px_weight_sum_store(&sum, w->table, row);
    }
    return PELT_OK;
}

/* px_weight_sum_cut of a row without locked joints: its weights are sorted, and scaling keeps their order. */
static void cut_row(const px_weight_limits *limits, uint32_t capacity, uint16_t *joints, float *weights) {
    double all = 0, kept = 0;
    uint32_t count = 0;
    for (uint32_t e = 0; e < capacity && weights[e] > 0; e++)
        all += (double)weights[e];
    if (!(all > 0))
        return;
    double factor = 1 / all;
    for (; count < capacity && count < limits->influences && weights[count] > 0; count++) {
        double weight = (double)weights[count] * factor;
        if (count > 0 && !(weight >= limits->threshold))
            break;
        kept += weight;
    }
    double rest = 1 / kept;
    for (uint32_t e = 0; e < capacity && weights[e] > 0; e++) {
        weights[e] = e < count ? (float)((double)weights[e] * factor * rest) : 0;
        joints[e] = weights[e] > 0 ? joints[e] : 0;
    }
}

static pelt_result cut_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const weighing *w = user;
    size_t capacity = w->table->capacity;
    for (size_t row = first; row < first + count; row++) {
        if (!w->limits.locked) {
            cut_row(&w->limits, (uint32_t)capacity, w->table->bones + row * capacity,
                    w->table->weights + row * capacity);
            continue;
        }
        px_weight_sum sum;
        sum.count = 0;
        px_weight_sum_add_row(&sum, w->table, row, 1);
        px_weight_sum_cut(&sum, &w->limits);
        px_weight_sum_store(&sum, w->table, row);
    }
    return PELT_OK;
}

static pelt_result each_row(const weighing *w, px_block_fn *run) {
    return px_parallel(w->binding->context, NULL, w->table->row_count, ROW_BLOCK, run, (void *)(uintptr_t)w);
}

/* Smooths rows along edges of the surface; rows that follow a joint stay unchanged. */
static pelt_result smooth(px_arena *arena, const weighing *w) {
    const px_bind_subject *s = &w->binding->subject;
    pelt_mesh rows = {.triangle_count = s->triangle_count, .triangles = s->triangles};
    px_neighbours neighbours;
    uint8_t *fixed = PX_NEW(arena, uint8_t, s->classes.count);
    if (!fixed)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < s->classes.count; i++)
        fixed[i] = w->settings->follows[i] != PELT_NONE;
    PX_TRY(px_neighbours_make(arena, &rows, &(pelt_vertex_classes){.count = s->classes.count}, &neighbours));
    px_weight_smoothing how = {0.5, w->settings->desc->smooth, w->settings->locked, fixed};
    return px_weight_table_smooth(w->binding->context, w->table, &neighbours, &how);
}

/* ---- Report ---------------------------------------------------------------------------------------------------- */

static void count_vertices(pelt_binding *b, const uint32_t *follows, const uint8_t *unmatched) {
    b->report.rigid_count = b->report.unmatched_count = 0;
    for (uint32_t i = 0; i < b->subject.model->mesh.vertex_count; i++) {
        uint32_t row = b->subject.classes.of[i];
        b->report.rigid_count += row != PELT_NONE && follows[row] != PELT_NONE;
        b->report.unmatched_count += row != PELT_NONE && unmatched && unmatched[row];
    }
}

/* `used` [space][joint]: from px_bind_put_skin. */
static void find_idle(pelt_binding *b, const px_bind_settings *settings, const uint8_t *used) {
    const px_bind_subject *s = &b->subject;
    memcpy(b->idle, s->idle, s->rig->skeleton.joint_count);
    for (uint32_t t = 0; t < s->target_count; t++)
        if (settings->out[t])
            b->idle[s->targets[t]] = PELT_BIND_EXCLUDED;
        else if (s->idle[s->targets[t]] == PELT_BIND_ACTIVE)
            b->idle[s->targets[t]] = PELT_BIND_OVERSHADOWED;
    for (size_t n = 0; n < (size_t)s->space_count * s->rig->skeleton.joint_count; n++)
        if (used[n])
            b->idle[n % s->rig->skeleton.joint_count] = PELT_BIND_ACTIVE;
}

static pelt_result apply(px_arena *arena, pelt_binding *b, const pelt_bind_desc *desc, const pelt_transform *pose) {
    px_bind_settings settings;
    px_weight_table table;
    uint8_t *unmatched = NULL, *used;
    PX_TRY(px_bind_settings_make(arena, b, desc, pose, &settings));
    PX_TRY(px_weight_table_make(arena, b->subject.classes.count, PX_WEIGHT_CAPACITY, &table));
    weighing w = {b, &settings, {desc->influences, desc->prune, settings.locked}, &table};
    PX_TRY(each_row(&w, weigh_block));
    if (desc->rigid_parts == PELT_BIND_RIGID_AUTO)
        PX_TRY(px_bind_rigid_shells(arena, b, &settings, &table));
    PX_TRY(each_row(&w, follow_block));
    if (desc->smooth)
        PX_TRY(smooth(arena, &w));
    if (desc->mirror) {
        if (!(unmatched = PX_NEW(arena, uint8_t, b->subject.classes.count)))
            return PELT_ERROR_MEMORY;
        PX_TRY(px_bind_mirror(arena, b, &settings, &w.limits, &table, unmatched));
    }
    PX_TRY(each_row(&w, cut_block));
    PX_TRY(px_bind_put_skin(arena, b, &table, desc->influences, &used));
    count_vertices(b, settings.follows, unmatched);
    find_idle(b, &settings, used);
    return PELT_OK;
}

pelt_result px_bind_apply(pelt_binding *binding, const pelt_bind_desc *desc, const pelt_transform *pose) {
    px_arena *arena = px_arena_create(binding->context);
    pelt_result result = arena ? apply(arena, binding, desc, pose) : PELT_ERROR_MEMORY;
    px_arena_destroy(arena);
    return result;
}
