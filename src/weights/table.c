/* Sparse weight tables: add, lock, cut and store rows; read from a skin and copy to a skin. */
#include "weights/weights.h"

pelt_result px_weight_table_make(px_arena *arena, uint32_t row_count, uint32_t capacity, px_weight_table *out) {
    assert(capacity > 0 && capacity <= PX_WEIGHT_CAPACITY);
    *out = (px_weight_table){.row_count = row_count, .capacity = capacity};
    out->bones = PX_NEW(arena, uint16_t, px_mul_size(row_count, capacity));
    out->weights = PX_NEW(arena, float, px_mul_size(row_count, capacity));
    return out->bones && out->weights ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- One row ---------------------------------------------------------------------------------------------- */

static uint32_t find_bone(const px_weight_sum *sum, uint32_t bone) {
    uint32_t at = 0;
    while (at < sum->count && sum->bones[at] != bone)
        at++;
    return at;
}

void px_weight_sum_add(px_weight_sum *sum, uint32_t bone, double weight) {
    if (!(weight > 0))
        return;
    uint32_t at = find_bone(sum, bone);
    if (at < sum->count) {
        sum->weights[at] += weight;
        return;
    }
    if (sum->count < PX_WEIGHT_SUM_MOST) {
        sum->count++;
    } else {
        at = 0;
        for (uint32_t e = 1; e < sum->count; e++)
            at = sum->weights[e] < sum->weights[at] ? e : at;
        if (!(sum->weights[at] < weight))
            return;
    }
    sum->bones[at] = (uint16_t)bone;
    sum->weights[at] = weight;
}

void px_weight_sum_add_row(px_weight_sum *sum, const px_weight_table *table, size_t row, double factor) {
    bool alone = sum->count == 0 && factor > 0; /* bones of a row are distinct: no search needed */
    for (size_t e = row * table->capacity; e < (row + 1) * table->capacity && table->weights[e] > 0; e++)
        if (alone) {
            sum->bones[sum->count] = table->bones[e];
            sum->weights[sum->count++] = factor * (double)table->weights[e];
        } else {
            px_weight_sum_add(sum, table->bones[e], factor * (double)table->weights[e]);
        }
}

double px_weight_sum_of(const px_weight_sum *sum, uint32_t bone) {
    uint32_t at = find_bone(sum, bone);
    return at < sum->count ? sum->weights[at] : 0;
}

static bool is_locked(const bool *locked, uint32_t bone) {
    return locked && locked[bone];
}

void px_weight_sum_lock(px_weight_sum *sum, const px_weight_table *table, size_t row, const bool *locked) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < sum->count; e++)
        if (!is_locked(locked, sum->bones[e])) {
            sum->bones[count] = sum->bones[e];
            sum->weights[count++] = sum->weights[e];
        }
    sum->count = count;
    for (size_t e = row * table->capacity; e < (row + 1) * table->capacity; e++)
        if (count == 0 || is_locked(locked, table->bones[e]))
            px_weight_sum_add(sum, table->bones[e], (double)table->weights[e]);
}

/* Insertion sort: locked bones first, then by descending weight, then by ascending bone. */
static void sort(px_weight_sum *sum, const bool *locked) {
    for (uint32_t e = 1; e < sum->count; e++) {
        uint16_t bone = sum->bones[e];
        double weight = sum->weights[e];
        bool lock = is_locked(locked, bone);
        uint32_t at = e;
        for (; at > 0; at--) {
            uint16_t other = sum->bones[at - 1];
            double heavy = sum->weights[at - 1];
            bool other_lock = is_locked(locked, other);
            if (other_lock != lock ? other_lock : heavy != weight ? heavy > weight : other < bone)
                break;
            sum->bones[at] = other;
            sum->weights[at] = heavy;
        }
        sum->bones[at] = bone;
        sum->weights[at] = weight;
    }
}

static double total(const px_weight_sum *sum, uint32_t first, uint32_t end) {
    double out = 0;
    for (uint32_t e = first; e < end; e++)
        out += sum->weights[e];
    return out;
}

static void scale(px_weight_sum *sum, uint32_t first, uint32_t end, double factor) {
    for (uint32_t e = first; e < end; e++)
        sum->weights[e] *= factor;
}

void px_weight_sum_cut(px_weight_sum *sum, const px_weight_limits *limits) {
    sort(sum, limits->locked);
    uint32_t locked = 0, most = limits->influences;
    while (locked < sum->count && locked < most && is_locked(limits->locked, sum->bones[locked]))
        locked++;
    uint32_t free_end = sum->count, end = locked;
    double kept = total(sum, 0, locked), rest = kept < 1 ? 1 - kept : 0, free_sum = total(sum, locked, free_end);
    if (locked < sum->count && is_locked(limits->locked, sum->bones[locked])) /* more than K are locked */
        free_end = locked;
    if (rest > 0 && free_sum > 0) {
        scale(sum, locked, free_end, rest / free_sum);
        while (end < free_end && end < most && (end == locked || sum->weights[end] >= limits->threshold))
            end++;
        scale(sum, locked, end, rest / total(sum, locked, end));
    }
    sum->count = end;
    if (end == locked && kept > 0) /* only locked bones: normalise them */
        scale(sum, 0, end, 1 / kept);
    sort(sum, NULL);
}

void px_weight_sum_store(px_weight_sum *sum, px_weight_table *table, size_t row) {
    sort(sum, NULL);
    uint16_t *bones = table->bones + row * table->capacity;
    float *weights = table->weights + row * table->capacity;
    for (uint32_t e = 0; e < table->capacity; e++) {
        bool used = e < sum->count && (float)sum->weights[e] > 0;
        bones[e] = used ? sum->bones[e] : 0;
        weights[e] = used ? (float)sum->weights[e] : 0;
    }
}

/* ---- All rows --------------------------------------------------------------------------------------------- */

/* Lists the vertices of each row: items[offsets[r] .. offsets[r + 1]). */
static pelt_result list_members(px_arena *arena, const pelt_vertex_classes *classes, uint32_t vertex_count,
                                size_t **offsets, uint32_t **items) {
    *offsets = PX_NEW(arena, size_t, (size_t)classes->count + 2);
    *items = PX_NEW(arena, uint32_t, vertex_count);
    if (!*offsets || !*items)
        return PELT_ERROR_MEMORY;
    size_t *places = *offsets + 1; /* counts, then prefix sums: write positions */
    for (uint32_t i = 0; i < vertex_count; i++)
        places[pelt_vertex_class(classes, i) + 1]++;
    for (uint32_t r = 0; r < classes->count; r++)
        places[r + 1] += places[r];
    for (uint32_t i = 0; i < vertex_count; i++)
        (*items)[places[pelt_vertex_class(classes, i)]++] = i;
    return PELT_OK;
}

pelt_result px_weight_table_read(px_arena *arena, const pelt_model *model, const pelt_vertex_classes *classes,
                                 const uint8_t *frozen, px_weight_table *out) {
    const pelt_skin *skin = &model->skin;
    size_t *offsets;
    uint32_t *items;
    PX_TRY(list_members(arena, classes, model->mesh.vertex_count, &offsets, &items));
    PX_TRY(px_weight_table_make(arena, classes->count, PX_WEIGHT_CAPACITY, out));
    px_weight_limits limits = {.influences = out->capacity};
    for (size_t r = 0; r < classes->count; r++) {
        px_weight_sum sum = {0};
        for (size_t m = offsets[r]; m < offsets[r + 1]; m++) {
            size_t first = (size_t)items[m] * skin->influence_count;
            for (size_t e = first; !(frozen && frozen[items[m]]) && e < first + skin->influence_count; e++)
                px_weight_sum_add(&sum, skin->bones[e], (double)skin->weights[e]);
        }
        px_weight_sum_cut(&sum, &limits);
        px_weight_sum_store(&sum, out, r);
    }
    return PELT_OK;
}

double px_weight_table_of(const px_weight_table *table, size_t row, uint32_t bone) {
    for (size_t e = row * table->capacity; e < (row + 1) * table->capacity && table->weights[e] > 0; e++)
        if (table->bones[e] == bone)
            return (double)table->weights[e];
    return 0;
}

void px_weight_table_cut(px_weight_table *table, const px_weight_limits *limits) {
    for (size_t r = 0; r < table->row_count; r++) {
        px_weight_sum sum = {0};
        px_weight_sum_add_row(&sum, table, r, 1);
        px_weight_sum_cut(&sum, limits);
        px_weight_sum_store(&sum, table, r);
    }
}

/* The larger of `most` and the largest number of influences of a frozen vertex. */
static uint32_t most_frozen(const pelt_model *model, const uint8_t *frozen, uint32_t most) {
    const pelt_skin *skin = &model->skin;
    for (size_t i = 0; frozen && i < model->mesh.vertex_count; i++)
        for (uint32_t e = most; frozen[i] && e < skin->influence_count; e++)
            if (skin->weights[i * skin->influence_count + e] > 0)
                most = e + 1;
    return most;
}

pelt_result px_weight_table_spread(const px_weight_table *table, const pelt_model *model,
                                   const pelt_vertex_classes *classes, const uint8_t *frozen, uint32_t influences,
                                   pelt_skin *skin) {
    const pelt_skin *old = &model->skin;
    size_t N = model->mesh.vertex_count, K = most_frozen(model, frozen, influences);
    uint16_t *bones = PX_NEW(model->memory, uint16_t, px_mul_size(N, K));
    float *weights = PX_NEW(model->memory, float, px_mul_size(N, K));
    if (!bones || !weights)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < N; i++) {
        bool keep = frozen && frozen[i];
        size_t from = keep ? i * old->influence_count : (size_t)pelt_vertex_class(classes, i) * table->capacity;
        size_t count = px_min_size(keep ? old->influence_count : table->capacity, K);
        memcpy(bones + i * K, (keep ? old->bones : table->bones) + from, count * sizeof *bones);
        memcpy(weights + i * K, (keep ? old->weights : table->weights) + from, count * sizeof *weights);
        if (!(weights[i * K] > 0))
            weights[i * K] = 1;
    }
    skin->bones = bones;
    skin->weights = weights;
    skin->influence_count = (uint32_t)K;
    return PELT_OK;
}
