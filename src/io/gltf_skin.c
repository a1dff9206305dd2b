/* Merges all skins into one skin that covers every vertex. Its bones are the distinct pairs of joint and inverse bind
 * matrix of all skins in use. An unskinned part gets its node as its only bone. */
#include "io/gltf_document.h"

#include <float.h>
#include <stdio.h>

#define MAX_BONES 65535u
#define MAX_SETS  64u
/* Number of vertices whose influences are unpacked at a time: scratch stays in the cache. */
#define BLOCK 1024u
/* Difference of a sum of weights from 1 that the specification allows, per non-zero weight. */
#define WEIGHT_TOLERANCE 2e-7

/* ---- Bones ------------------------------------------------------------------------------------------------ */

typedef struct bone {
    uint32_t joint;
    pelt_affine inverse_bind;
} bone;

typedef struct bone_table {
    px_gltf *doc;
    bone *bones; /* [count] */
    uint32_t count, capacity;
    uint32_t *slots; /* hash table [slot_count] of bone + 1, or 0; a power of two, at most half full */
    uint32_t slot_count;
} bone_table;

static uint32_t hash_bone(const bone *b) {
    uint32_t hash = 2166136261u ^ b->joint;
    for (int e = 0; e < 12; e++)
        hash = (hash ^ px_float_bits(b->inverse_bind.m[e])) * 16777619u;
    return hash ^ hash >> 15;
}

static uint32_t *find_slot(bone_table *t, const bone *b) {
    uint32_t slot = hash_bone(b) & (t->slot_count - 1);
    while (t->slots[slot] && memcmp(&t->bones[t->slots[slot] - 1], b, sizeof *b) != 0)
        slot = (slot + 1) & (t->slot_count - 1);
    return &t->slots[slot];
}

static pelt_result grow(bone_table *t) {
    uint32_t capacity = t->capacity ? 2 * t->capacity : 128;
    bone *bones = px_resize(t->doc->context, t->bones, capacity, sizeof *bones);
    if (!bones)
        return PELT_ERROR_MEMORY;
    t->bones = bones;
    t->capacity = capacity;
    uint32_t *slots = PX_ALLOC(t->doc->context, uint32_t, 2 * (size_t)capacity);
    if (!slots)
        return PELT_ERROR_MEMORY;
    px_free(t->doc->context, t->slots);
    t->slots = slots;
    t->slot_count = 2 * capacity;
    for (uint32_t b = 0; b < t->count; b++)
        *find_slot(t, &t->bones[b]) = b + 1;
    return PELT_OK;
}

/* Finds a bone in the table; adds it if it is new. */
static pelt_result find_bone(bone_table *t, uint32_t joint, const pelt_affine *inverse_bind, uint16_t *out) {
    bone b = {joint, *inverse_bind};
    if (t->count == t->capacity)
        PX_TRY(grow(t));
    uint32_t *slot = find_slot(t, &b);
    if (!*slot) {
        if (t->count == MAX_BONES)
            return px_fail(t->doc->context, PELT_ERROR_UNSUPPORTED, "%s: the file needs more than %u bones",
                           t->doc->place, MAX_BONES);
        t->bones[t->count] = b;
        *slot = ++t->count;
    }
    *out = (uint16_t)(*slot - 1);
    return PELT_OK;
}

/* The inverse bind matrices of a skin as floats [joint][16]; NULL: identities. */
static pelt_result read_matrices(px_gltf *doc, const px_json *json, uint32_t joint_count, float **out) {
    uint32_t index;
    px_gltf_accessor a;
    *out = NULL;
    PX_TRY(px_gltf_index(doc, json, "inverseBindMatrices", doc->accessors.count, &index));
    if (index == PELT_NONE)
        return PELT_OK;
    PX_TRY(px_gltf_accessor_get(doc, index, "inverseBindMatrices", 16, PX_GLTF_FLOAT, &a));
    if (a.count < joint_count)
        return px_gltf_fail(doc, "has %u joints, but %u inverse bind matrices", joint_count, a.count);
    PX_TRY(px_gltf_charge(doc, a.count, 64));
    float *matrices = PX_ALLOC(doc->context, float, 16 * (size_t)a.count);
    if (!matrices)
        return PELT_ERROR_MEMORY;
    pelt_result result = px_gltf_floats(doc, &a, matrices);
    for (size_t v = 0; result == PELT_OK && v < 16 * (size_t)joint_count; v++)
        if (!isfinite(matrices[v]))
            result = px_gltf_fail(doc, "accessor %u: matrix %zu is not finite", index, v / 16);
    if (result != PELT_OK) {
        px_free(doc->context, matrices);
        return result;
    }
    *out = matrices;
    return PELT_OK;
}

/* Bones of one skin, [joint index of the skin]. */
typedef struct skin_bones {
    uint16_t *bones; /* NULL: not read yet */
    uint32_t count;
} skin_bones;

static pelt_result add_bones(bone_table *t, const px_json *joints, const float *matrices, skin_bones *out) {
    for (const px_json *item = joints->first; item; item = item->next, out->count++) {
        uint32_t node = (uint32_t)px_json_uint(item, PELT_NONE - 1, PELT_NONE);
        if (node >= t->doc->nodes.count)
            return px_gltf_fail(t->doc, "its joint %.40s does not exist, there are %u nodes",
                                item->text ? item->text : "", t->doc->nodes.count);
        pelt_affine inverse_bind = px_affine_identity();
        for (int e = 0; matrices && e < 12; e++)
            inverse_bind.m[e] = matrices[16 * (size_t)out->count + 4 * (size_t)(e % 4) + (size_t)(e / 4)];
        PX_TRY(find_bone(t, t->doc->node_joints[node], &inverse_bind, &out->bones[out->count]));
    }
    return PELT_OK;
}

static pelt_result read_bones(bone_table *t, uint32_t skin, skin_bones *out) {
    px_gltf *doc = t->doc;
    const px_json *json = doc->skins.items[skin], *joints = px_json_get(json, "joints");
    uint32_t count = px_json_count(joints);
    float *matrices;
    px_gltf_place(doc, "skin %u", skin);
    if (!px_json_is(joints, PX_JSON_ARRAY) || count == 0)
        return px_gltf_fail(doc, "has no joints");
    if (!(out->bones = PX_NEW(doc->memory, uint16_t, count)))
        return PELT_ERROR_MEMORY;
    PX_TRY(read_matrices(doc, json, count, &matrices));
    pelt_result result = add_bones(t, joints, matrices, out);
    px_free(doc->context, matrices);
    return result;
}

/* ---- Influences ------------------------------------------------------------------------------------------- */

typedef struct influences {
    uint32_t count;
    uint16_t bones[PELT_MAX_INFLUENCES];
    float weights[PELT_MAX_INFLUENCES];
} influences;

typedef struct skin_reader {
    px_gltf *doc;
    pelt_model *model;
    bone_table table;
    skin_bones *skins;
    uint32_t stride;    /* influences kept per vertex while reading */
    uint32_t most;      /* largest number of influences of a vertex */
    bool off;           /* a sum of weights in the current part is not 1 */
    uint64_t zero;      /* number of vertices without weight */
    uint64_t shortened; /* number of vertices with dropped influences */
} skin_reader;

/* Inserts an influence, sorted by descending weight. If there are too many, drops the smallest and returns true. */
static bool insert(influences *v, uint16_t bone_index, float weight) {
    for (uint32_t k = 0; k < v->count; k++)
        if (v->bones[k] == bone_index) { /* duplicate: remove it, then insert it with the sum */
            weight += v->weights[k];
            v->count--;
            for (uint32_t m = k; m < v->count; m++) {
                v->bones[m] = v->bones[m + 1];
                v->weights[m] = v->weights[m + 1];
            }
            break;
        }
    bool full = v->count == PELT_MAX_INFLUENCES;
    if (full && v->weights[v->count - 1] >= weight)
        return true;
    uint32_t place = full ? v->count - 1 : v->count++;
    for (; place > 0 && v->weights[place - 1] < weight; place--) {
        v->bones[place] = v->bones[place - 1];
        v->weights[place] = v->weights[place - 1];
    }
    v->bones[place] = bone_index;
    v->weights[place] = weight;
    return full;
}

static void finish_vertex(skin_reader *r, influences *v, uint16_t fallback) {
    double sum = 0;
    for (uint32_t k = 0; k < v->count; k++)
        sum += (double)v->weights[k];
    r->off |= !(fabs(sum - 1) <= WEIGHT_TOLERANCE * v->count);
    if (v->count == 0 || !isfinite(1 / sum)) {
        *v = (influences){1, {fallback}, {1}};
        r->zero++;
    } else if (fabs(sum - 1) > WEIGHT_TOLERANCE * v->count) {
        for (uint32_t k = 0; k < v->count; k++)
            v->weights[k] = (float)((double)v->weights[k] / sum);
    }
    r->most = v->count > r->most ? v->count : r->most;
}

/* Fast path: one set, descending weights that sum to 1, distinct bones. Returns false for any other vertex. */
static bool read_usual(skin_reader *r, const skin_bones *skin, const uint32_t *joints, const float *weights,
                       influences *v) {
    float a = weights[0], b = weights[1], c = weights[2], d = weights[3];
    uint32_t count = (uint32_t)(a > 0) + (b > 0) + (c > 0) + (d > 0);
    double sum = (double)a + (double)b + (double)c + (double)d;
    if (!(a >= b && b >= c && c >= d && d >= 0) || !(fabs(sum - 1) <= WEIGHT_TOLERANCE * count))
        return false;
    for (uint32_t k = 0; k < count; k++) {
        if (joints[k] >= skin->count)
            return false;
        v->bones[k] = skin->bones[joints[k]];
        v->weights[k] = weights[k];
        for (uint32_t m = 0; m < k; m++)
            if (v->bones[m] == v->bones[k])
                return false;
    }
    v->count = count;
    r->most = count > r->most ? count : r->most;
    return true;
}

/* Reads one vertex. `joints` and `weights` point to its elements in the arrays [set][BLOCK][4]. */
static pelt_result read_vertex(skin_reader *r, const skin_bones *skin, const uint32_t *joints, const float *weights,
                               uint32_t set_count, influences *v) {
    bool shortened = false;
    uint32_t first = joints[0];
    if (set_count == 1 && read_usual(r, skin, joints, weights, v))
        return PELT_OK;
    v->count = 0;
    for (uint32_t set = 0; set < set_count; set++, joints += 4 * BLOCK, weights += 4 * BLOCK)
        for (uint32_t c = 0; c < 4; c++) {
            if (!(weights[c] > 0 && weights[c] <= FLT_MAX))
                continue;
            if (joints[c] >= skin->count)
                return px_gltf_fail(r->doc, "JOINTS_%u: joint %u is out of range, the skin has %u", set, joints[c],
                                    skin->count);
            shortened |= insert(v, skin->bones[joints[c]], weights[c]);
        }
    r->shortened += shortened;
    finish_vertex(r, v, skin->bones[first < skin->count ? first : 0]);
    return PELT_OK;
}

uint32_t px_gltf_count_sets(const px_json *attributes) {
    char joints[24], weights[24];
    uint32_t count = 0;
    for (; count < MAX_SETS; count++) {
        snprintf(joints, sizeof joints, "JOINTS_%u", count);
        snprintf(weights, sizeof weights, "WEIGHTS_%u", count);
        if (!px_json_get(attributes, joints) || !px_json_get(attributes, weights))
            break;
    }
    return count;
}

/* The influence sets of a part, and one unpacked block of them. */
typedef struct sets {
    uint32_t count;
    px_gltf_accessor joints[MAX_SETS], weights[MAX_SETS];
    uint32_t *block_joints; /* [set][BLOCK][4] */
    float *block_weights;   /* [set][BLOCK][4] */
} sets;

static pelt_result find_sets(px_gltf *doc, const px_json *attributes, uint32_t vertex_count, sets *s) {
    for (uint32_t set = 0; set < s->count; set++) {
        char name[24];
        snprintf(name, sizeof name, "JOINTS_%u", set);
        PX_TRY(px_gltf_attribute(doc, attributes, name, vertex_count, 4, PX_GLTF_INTEGER, &s->joints[set]));
        snprintf(name, sizeof name, "WEIGHTS_%u", set);
        PX_TRY(
            px_gltf_attribute(doc, attributes, name, vertex_count, 4, PX_GLTF_FLOAT | PX_GLTF_UNIT, &s->weights[set]));
    }
    return PELT_OK;
}

static pelt_result unpack_block(px_gltf *doc, const sets *s, uint32_t first, uint32_t count) {
    for (uint32_t set = 0; set < s->count; set++) {
        px_gltf_accessor joints = px_gltf_slice(&s->joints[set], first, count);
        px_gltf_accessor weights = px_gltf_slice(&s->weights[set], first, count);
        PX_TRY(px_gltf_uints(doc, &joints, s->block_joints + 4 * (size_t)set * BLOCK));
        PX_TRY(px_gltf_floats(doc, &weights, s->block_weights + 4 * (size_t)set * BLOCK));
    }
    return PELT_OK;
}

static void store(skin_reader *r, size_t vertex, const influences *v) {
    uint16_t *bones = r->model->skin.bones + vertex * r->stride;
    float *weights = r->model->skin.weights + vertex * r->stride;
    for (uint32_t k = 0; k < v->count; k++) {
        bones[k] = v->bones[k];
        weights[k] = v->weights[k];
    }
}

static pelt_result read_skinned(skin_reader *r, uint32_t part_index, sets *s) {
    const pelt_part *part = &r->model->mesh.parts[part_index];
    px_gltf_source *source = &r->doc->sources[part_index];
    uint32_t skin;
    r->off = false;
    PX_TRY(px_gltf_index(r->doc, r->doc->nodes.items[source->node], "skin", r->doc->skins.count, &skin));
    if (!r->skins[skin].bones)
        PX_TRY(read_bones(&r->table, skin, &r->skins[skin]));
    px_gltf_place(r->doc, "mesh %u, primitive %u", source->mesh, source->primitive);
    PX_TRY(find_sets(r->doc, px_json_get(source->json, "attributes"), part->vertex_count, s));
    for (uint32_t first = 0; first < part->vertex_count; first += BLOCK) {
        uint32_t count = (uint32_t)px_min_size(BLOCK, part->vertex_count - first);
        PX_TRY(unpack_block(r->doc, s, first, count));
        for (size_t i = 0; i < count; i++) {
            influences v;
            PX_TRY(read_vertex(r, &r->skins[skin], s->block_joints + 4 * i, s->block_weights + 4 * i, s->count, &v));
            store(r, (size_t)part->first_vertex + first + i, &v);
        }
    }
    source->off = r->off;
    return PELT_OK;
}

static pelt_result read_rigid(skin_reader *r, const pelt_part *part) {
    pelt_affine inverse_bind;
    influences v = {1, {0}, {1}};
    px_gltf_moves_part(r->doc, part->joint, &inverse_bind);
    PX_TRY(find_bone(&r->table, part->joint, &inverse_bind, &v.bones[0]));
    for (size_t i = 0; i < part->vertex_count; i++)
        store(r, part->first_vertex + i, &v);
    r->most = r->most ? r->most : 1;
    return PELT_OK;
}

static pelt_result read_part(skin_reader *r, uint32_t index) {
    const pelt_part *part = &r->model->mesh.parts[index];
    if (!part->skinned)
        return read_rigid(r, part);
    sets *s = PX_ALLOC(r->doc->context, sets, 1);
    if (!s)
        return PELT_ERROR_MEMORY;
    s->count = px_gltf_count_sets(px_json_get(r->doc->sources[index].json, "attributes"));
    s->block_joints = PX_ALLOC(r->doc->context, uint32_t, 4 * (size_t)s->count * BLOCK);
    s->block_weights = PX_ALLOC(r->doc->context, float, 4 * (size_t)s->count * BLOCK);
    pelt_result result = s->block_joints && s->block_weights ? read_skinned(r, index, s) : PELT_ERROR_MEMORY;
    px_free(r->doc->context, s->block_joints);
    px_free(r->doc->context, s->block_weights);
    px_free(r->doc->context, s);
    return result;
}

/* ---- The skin --------------------------------------------------------------------------------------------- */

/* Reduces the stride of the influences to the largest number in use. */
static void compact(skin_reader *r) {
    pelt_skin *skin = &r->model->skin;
    size_t vertex_count = r->model->mesh.vertex_count;
    skin->influence_count = r->most;
    for (size_t i = 0; r->most < r->stride && i < vertex_count; i++) {
        memmove(skin->bones + i * r->most, skin->bones + i * r->stride, r->most * sizeof *skin->bones);
        memmove(skin->weights + i * r->most, skin->weights + i * r->stride, r->most * sizeof *skin->weights);
    }
}

static pelt_result store_bones(skin_reader *r) {
    pelt_skin *skin = &r->model->skin;
    skin->bone_joints = PX_NEW(r->doc->memory, uint32_t, r->table.count);
    skin->inverse_binds = PX_NEW(r->doc->memory, pelt_affine, r->table.count);
    if (!skin->bone_joints || !skin->inverse_binds)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < r->table.count; b++) {
        skin->bone_joints[b] = r->table.bones[b].joint;
        skin->inverse_binds[b] = r->table.bones[b].inverse_bind;
    }
    skin->bone_count = r->table.count;
    return PELT_OK;
}

static pelt_result read_all(skin_reader *r) {
    pelt_mesh *mesh = &r->model->mesh;
    px_gltf *doc = r->doc;
    r->stride = 1;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        uint32_t set_count =
            mesh->parts[p].skinned ? px_gltf_count_sets(px_json_get(doc->sources[p].json, "attributes")) : 0;
        uint32_t need = set_count == 0 ? 1 : set_count == 1 ? 4 : PELT_MAX_INFLUENCES;
        r->stride = need > r->stride ? need : r->stride;
    }
    size_t count = (size_t)mesh->vertex_count * r->stride;
    px_gltf_place(doc, "skins");
    if (!(r->model->skin.bones = PX_GLTF_NEW(doc, uint16_t, count)) ||
        !(r->model->skin.weights = PX_GLTF_NEW(doc, float, count)))
        return doc->failure;
    r->skins = PX_NEW(doc->memory, skin_bones, doc->skins.count);
    if (!r->skins)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        PX_TRY(read_part(r, p));
        PX_TRY(px_cancelled(doc->context));
    }
    compact(r);
    return store_bones(r);
}

pelt_result px_gltf_read_skin(px_gltf *doc, pelt_model *model) {
    skin_reader r = {.doc = doc, .model = model, .table = {.doc = doc}};
    if (model->mesh.vertex_count == 0)
        return PELT_OK;
    pelt_result result = read_all(&r);
    px_free(doc->context, r.table.bones);
    px_free(doc->context, r.table.slots);
    if (result == PELT_OK && r.zero > 0)
        px_log(doc->context, PELT_LOG_WARNING, "%llu vertices have no skin weight; they follow their first joint",
               (unsigned long long)r.zero);
    if (result == PELT_OK && r.shortened > 0)
        px_log(doc->context, PELT_LOG_WARNING, "%llu vertices have more than %u joints; the largest weights are kept",
               (unsigned long long)r.shortened, PELT_MAX_INFLUENCES);
    return result;
}
