/* Skins instances one by one: those that have morphs or blend dual quaternions. */
#include "crowd/crowd.h"

/* Vertices morphed or scattered at a time: 12 KB, which fits in the L1 cache. */
#define CHUNK_VERTICES 512

static bool any_weight(const px_crowd_level *level, const float *weights) {
    for (uint32_t m = 0; level->morphs.vertex_count && m < level->model->morphs.morph_count; m++)
        if (weights[m] != 0)
            return true;
    return false;
}

/* The skinning job of a pose, without its vertices. */
static pelt_skin_job make_job(const pelt_crowd *crowd, const px_crowd_level *level, px_crowd_slot *slot) {
    const pelt_skin *skin = &level->model->skin;
    const pelt_affine *palette = (const pelt_affine *)slot->palette;
    pelt_skin_job job = {.influence_count = skin->influence_count, .palette = palette, .skinning = crowd->skinning};
    if (crowd->skinning == PELT_SKINNING_DUAL_QUATERNION) {
        pelt_dual_quaternions(palette, skin->bone_count, slot->dual_quaternions);
        job.dual_quaternions = slot->dual_quaternions;
        if (pelt_stretches(palette, slot->dual_quaternions, skin->bone_count, slot->stretches))
            job.stretches = slot->stretches;
    }
    return job;
}

/* Skins vertices [first, first + job->vertex_count) of a level to vertex `at` of the target; `weights` NULL: no
 * morph is active. */
static void skin_chunk(pelt_skin_job job, const px_crowd_level *level, const float *weights, size_t first, size_t at,
                       const px_crowd_target *target) {
    float morphed[2][3 * CHUNK_VERTICES], skinned[2][3 * CHUNK_VERTICES];
    const pelt_mesh *mesh = &level->model->mesh;
    bool normals = target->normals, apart = target->stride == 3;
    job.bones = level->model->skin.bones + first * job.influence_count;
    job.weights = level->model->skin.weights + first * job.influence_count;
    job.positions = mesh->positions + 3 * first;
    job.normals = normals ? mesh->normals + 3 * first : NULL;
    if (weights) {
        pelt_morph_run_packed(mesh, &level->morphs, weights, (uint32_t)first, job.vertex_count, morphed[0],
                              normals ? morphed[1] : NULL);
        job.positions = morphed[0];
        job.normals = normals ? morphed[1] : NULL;
    }
    job.out_positions = apart ? target->positions + 3 * at : skinned[0];
    job.out_normals = !normals ? NULL : apart ? target->normals + 3 * at : skinned[1];
    pelt_skin_run(&job);
    if (!apart)
        px_crowd_spread(target, skinned[0], skinned[1], at, job.vertex_count);
}

void px_crowd_single(const pelt_crowd *crowd, const pelt_crowd_instance *instance, px_crowd_slot *slot,
                     const px_crowd_target *target) {
    const px_crowd_character *character = &crowd->characters[instance->character];
    const px_crowd_level *level = &character->levels[instance->level];
    px_crowd_pose pose = px_crowd_pose_of(character, instance, slot, slot->posed[0]);
    px_crowd_one.gather(&pose, level->model->skin.bone_count, slot->palette);
    pelt_skin_job job = make_job(crowd, level, slot);
    const float *weights = any_weight(level, slot->weights) ? slot->weights : NULL;
    size_t vertex_count = level->model->mesh.vertex_count;
    for (size_t first = 0; first < vertex_count; first += CHUNK_VERTICES) {
        job.vertex_count = (uint32_t)px_min_size(CHUNK_VERTICES, vertex_count - first);
        skin_chunk(job, level, weights, first, instance->first_vertex + first, target);
    }
}
