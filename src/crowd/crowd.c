/* Creation of a crowd: checks, and memory for everything that frames need. */
#include "crowd/crowd.h"

#include <math.h>

#define FIELD(name) PELT_FIELD(pelt_crowd_desc, name)
static const pelt_option options[] = {
    {"fps", 0, PELT_OPTION_REAL, FIELD(fps), "30", 0.001, 100000, NULL, "N", "samples per second of motions"},
    {"skinning", 0, PELT_OPTION_CHOICE, FIELD(skinning), "linear", 0, 0, "linear|dual-quaternion", NULL,
     "how bones blend"},
    {"instance-count", 0, PELT_OPTION_UINT, FIELD(instance_count), "0", 0, 0, NULL, "N",
     "instances to reserve memory for"},
};

PX_DESC(crowd, options)

/* ---- Levels ----------------------------------------------------------------------------------------------- */

static pelt_result check_level(pelt_context *context, const pelt_model *first, const pelt_model *level, uint32_t c,
                               uint32_t l) {
    if (!level->skin.bone_count || !level->mesh.vertex_count)
        return px_fail(context, PELT_ERROR_USAGE, "character %u, level %u has no %s; crowds are of skinned meshes", c,
                       l, level->mesh.vertex_count ? "skin" : "vertices");
    uint32_t joints = first->skeleton.joint_count, morphs = first->morphs.morph_count;
    if (level->skeleton.joint_count != joints ||
        memcmp(level->skeleton.parents, first->skeleton.parents, joints * sizeof *first->skeleton.parents) != 0)
        return px_fail(
            context, PELT_ERROR_USAGE,
            "character %u: the joints of level %u (%u) are not those of level 0 (%u); make levels from one rig", c, l,
            level->skeleton.joint_count, joints);
    if (level->morphs.morph_count && level->morphs.morph_count != morphs)
        return px_fail(context, PELT_ERROR_USAGE,
                       "character %u: level %u has %u morphs, level 0 has %u; levels have all or none", c, l,
                       level->morphs.morph_count, morphs);
    return PELT_OK;
}

static pelt_result add_level(pelt_crowd *crowd, const pelt_model *model, px_crowd_level *level) {
    PX_TRY(px_model_borrow(crowd->memory, model, &level->model));
    level->dual = crowd->skinning == PELT_SKINNING_DUAL_QUATERNION;
    if (model->morphs.morph_count)
        PX_TRY(pelt_morph_pack(crowd->context, level->model, &level->morphs));
    return px_crowd_quads_make(crowd->memory, model, &level->quads);
}

static pelt_result add_character(pelt_crowd *crowd, const pelt_crowd_character *given, px_crowd_character *character) {
    uint32_t c = (uint32_t)(character - crowd->characters);
    if (!given->level_count)
        return px_fail(crowd->context, PELT_ERROR_USAGE, "character %u has no levels; it needs at least one", c);
    character->level_count = given->level_count;
    character->first_key = crowd->key_count;
    crowd->key_count += given->level_count;
    character->levels = PX_NEW(crowd->memory, px_crowd_level, given->level_count);
    if (!character->levels)
        return PELT_ERROR_MEMORY;
    for (uint32_t l = 0; l < given->level_count; l++) {
        PX_TRY(check_level(crowd->context, given->levels[0], given->levels[l], c, l));
        PX_TRY(add_level(crowd, given->levels[l], &character->levels[l]));
    }
    return PELT_OK;
}

/* ---- Slots ------------------------------------------------------------------------------------------------ */

/* Largest counts over all characters and levels. */
typedef struct sizes {
    size_t joints, bones, morphs;
} sizes;

static sizes largest(const pelt_crowd *crowd) {
    sizes most = {0};
    for (uint32_t c = 0; c < crowd->character_count; c++)
        for (uint32_t l = 0; l < crowd->characters[c].level_count; l++) {
            const pelt_model *model = crowd->characters[c].levels[l].model;
            most.joints = px_max_size(most.joints, model->skeleton.joint_count);
            most.bones = px_max_size(most.bones, model->skin.bone_count);
            most.morphs = px_max_size(most.morphs, model->morphs.morph_count);
        }
    return most;
}

static pelt_result add_slots(pelt_crowd *crowd) {
    sizes most = largest(crowd);
    size_t width = sizeof(px_crowd_dual) / sizeof(float); /* the larger kind of bone */
    crowd->slot_count = px_thread_count(crowd->context);
    crowd->slots = PX_NEW(crowd->memory, px_crowd_slot, crowd->slot_count);
    for (uint32_t s = 0; crowd->slots && s < crowd->slot_count; s++) {
        px_crowd_slot *slot = &crowd->slots[s];
        atomic_flag_clear(&slot->taken);
        slot->locals = PX_NEW(crowd->memory, pelt_transform, most.joints);
        slot->globals = PX_NEW(crowd->memory, pelt_affine, most.joints);
        slot->affines = PX_NEW(crowd->memory, pelt_affine, most.bones);
        slot->dual_quaternions = PX_NEW(crowd->memory, pelt_dual_quaternion, most.bones);
        slot->stretches = PX_NEW(crowd->memory, pelt_affine, most.bones);
        slot->palette = PX_NEW(crowd->memory, float, PX_CROWD_LANES *width *most.bones);
        slot->lane_weights = PX_NEW(crowd->memory, float, PX_CROWD_LANES *most.morphs);
        for (uint32_t v = 0; v < PX_CROWD_LANES; v++) {
            slot->posed[v] = PX_NEW(crowd->memory, float, width *most.bones);
            slot->weights[v] = PX_NEW(crowd->memory, float, most.morphs);
            if (!slot->posed[v] || !slot->weights[v])
                return PELT_ERROR_MEMORY;
        }
        if (!slot->locals || !slot->globals || !slot->affines || !slot->dual_quaternions || !slot->stretches ||
            !slot->palette || !slot->lane_weights)
            return PELT_ERROR_MEMORY;
    }
    return crowd->slots ? PELT_OK : PELT_ERROR_MEMORY;
}

px_crowd_slot *px_crowd_take(pelt_crowd *crowd) {
    for (uint32_t s = 0;; s = (s + 1) % crowd->slot_count)
        if (!atomic_flag_test_and_set_explicit(&crowd->slots[s].taken, memory_order_acquire))
            return &crowd->slots[s];
}

void px_crowd_give(px_crowd_slot *slot) {
    atomic_flag_clear_explicit(&slot->taken, memory_order_release);
}

/* ---- Capacity of a frame ---------------------------------------------------------------------------------- */

pelt_result px_crowd_reserve(pelt_crowd *crowd, uint32_t instance_count) {
    if (instance_count <= crowd->capacity)
        return PELT_OK;
    uint32_t *order = px_resize(crowd->context, crowd->order, instance_count, sizeof *order);
    if (!order)
        return PELT_ERROR_MEMORY;
    crowd->order = order;
    px_crowd_range *ranges = px_resize(crowd->context, crowd->ranges, instance_count, 2 * sizeof *ranges);
    if (!ranges)
        return PELT_ERROR_MEMORY;
    crowd->ranges = ranges;
    crowd->capacity = instance_count;
    return PELT_OK;
}

/* ---- The crowd -------------------------------------------------------------------------------------------- */

static pelt_result fill(pelt_crowd *crowd, const pelt_crowd_character *characters, uint32_t count,
                        const pelt_crowd_desc *desc) {
    crowd->characters = PX_NEW(crowd->memory, px_crowd_character, count);
    if (!crowd->characters)
        return PELT_ERROR_MEMORY;
    for (; crowd->character_count < count; crowd->character_count++) {
        uint32_t c = crowd->character_count;
        PX_TRY(add_character(crowd, &characters[c], &crowd->characters[c]));
    }
    crowd->first_instance = PX_NEW(crowd->memory, uint32_t, crowd->key_count + 1);
    crowd->first_batch = PX_NEW(crowd->memory, uint32_t, crowd->key_count + 1);
    crowd->first_vertex = PX_NEW(crowd->memory, size_t, crowd->key_count + 1);
    if (!crowd->first_instance || !crowd->first_batch || !crowd->first_vertex)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_crowd_reserve(crowd, desc->instance_count));
    PX_TRY(add_slots(crowd));
    return px_crowd_sample(crowd, desc->fps);
}

pelt_result pelt_crowd_create(pelt_context *context, const pelt_crowd_character *characters, uint32_t character_count,
                              const pelt_crowd_desc *desc, pelt_crowd **out) {
    *out = NULL;
    PX_TAKE_DESC(context, crowd, desc, settings);
    px_arena *memory = px_arena_create(context);
    pelt_crowd *crowd = memory ? PX_NEW(memory, pelt_crowd, 1) : NULL;
    pelt_result result = PELT_ERROR_MEMORY;
    if (crowd) {
        *crowd = (pelt_crowd){.context = context, .memory = memory, .skinning = (pelt_skinning)settings.skinning};
        result = fill(crowd, characters, character_count, &settings);
    }
    if (result == PELT_OK)
        *out = crowd;
    else if (crowd)
        pelt_crowd_destroy(crowd);
    else
        px_arena_destroy(memory);
    return result;
}

void pelt_crowd_destroy(pelt_crowd *crowd) {
    if (!crowd)
        return;
    px_free(crowd->context, crowd->order);
    px_free(crowd->context, crowd->ranges);
    px_arena_destroy(crowd->memory);
}
