/* Conversion of frames to examples (poses from a motion, shapes from a clip), and of examples to a motion and a
 * clip. */
#include "correct.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    cli_session *session;
    const correct_input *in;
} reader;

/* ---- Frames ----------------------------------------------------------------------------------------------- */

static pelt_result read_shape(const reader *r, uint32_t frame, float *positions) {
    const pelt_mesh *mesh = &r->in->rig->mesh;
    float *points = must_alloc(r->in->clip.point_count, 3 * sizeof *points);
    pelt_result result = pelt_clip_read(r->session->context, &r->in->clip, frame, 0, r->in->clip.point_count, points);
    if (result == PELT_OK)
        pelt_vertex_classes_spread(&mesh->points, mesh->vertex_count, points, positions);
    free(points);
    return result;
}

static pelt_result add_frame(reader *r, uint32_t frame, bool held, pose_set *seen, pose_set *unseen) {
    pelt_context *context = r->session->context;
    pelt_model *rig = r->in->rig;
    const pelt_motion *motion = &rig->motions[r->in->motion];
    const float *times = r->in->clip.times;
    pelt_transform *locals = pelt_model_alloc(context, rig, rig->skeleton.joint_count, sizeof *locals);
    if (!locals)
        return PELT_ERROR_MEMORY;
    double time = (double)motion->start + ((double)times[frame] - (double)times[0]);
    pelt_motion_sample(rig, motion, (float)time, locals, NULL);
    float *positions = pelt_model_alloc(context, rig, rig->mesh.vertex_count, 3 * sizeof *positions);
    char *name = must_format("frame %u", frame);
    const char *kept = pelt_model_text(context, rig, name);
    free(name);
    if (!positions || !kept)
        return PELT_ERROR_MEMORY;
    pose_set *to = held ? unseen : seen;
    to->items[to->count++] = (pelt_pose_example){kept, locals, positions, NULL};
    return read_shape(r, frame, positions);
}

exit_code poses_of_clip(cli_session *session, const correct_input *in, uint32_t hold_out, pose_set *seen,
                        pose_set *unseen) {
    reader r = {.session = session, .in = in};
    uint32_t count = in->clip.frame_count;
    if (in->motion == PELT_NONE) {
        say(session, MESSAGE_ERROR, "%s: has no motion that would tell the pose of every frame", in->rig->path);
        return EXIT_INPUT;
    }
    *seen = *unseen = (pose_set){0};
    seen->items = pelt_model_alloc(session->context, in->rig, count, sizeof *seen->items);
    unseen->items = pelt_model_alloc(session->context, in->rig, count, sizeof *unseen->items);
    pelt_result result = seen->items && unseen->items ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t k = 0; result == PELT_OK && k < count; k++)
        result = add_frame(&r, k, hold_out && (k + 1) % hold_out == 0, seen, unseen);
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

/* ---- Poses as a motion ------------------------------------------------------------------------------------ */

/* Creates a track of one property of one joint with a key per pose; the caller fills values [pose][width]. */
static pelt_track track_of(pelt_context *context, pelt_model *model, uint32_t joint, pelt_path path, uint32_t width,
                           const float *times, uint32_t count, float **values) {
    *values = pelt_model_alloc(context, model, (size_t)count * width, sizeof **values);
    return (pelt_track){
        .joint = joint, .path = path, .width = width, .key_count = count, .times = times, .values = *values};
}

/* Adds tracks for the local transforms of all joints. */
static pelt_result add_transforms(pelt_context *context, pelt_model *model, const pose_set *set, const float *times,
                                  pelt_motion *motion) {
    static const struct {
        pelt_path path;
        uint32_t width;
        size_t offset;
    } paths[] = {{PELT_PATH_TRANSLATION, 3, offsetof(pelt_transform, translation)},
                 {PELT_PATH_ROTATION, 4, offsetof(pelt_transform, rotation)},
                 {PELT_PATH_SCALE, 3, offsetof(pelt_transform, scale)}};
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        for (size_t n = 0; n < COUNT(paths); n++) {
            float *values;
            motion->tracks[motion->track_count++] =
                track_of(context, model, j, paths[n].path, paths[n].width, times, set->count, &values);
            if (!values)
                return PELT_ERROR_MEMORY;
            for (uint32_t p = 0; p < set->count; p++)
                memcpy(values + (size_t)p * paths[n].width, (const char *)&set->items[p].locals[j] + paths[n].offset,
                       paths[n].width * sizeof *values);
        }
    return PELT_OK;
}

/* Adds tracks for the morph weights that the drivers compute in the poses. */
static pelt_result add_weights(pelt_context *context, pelt_model *model, const pose_set *set, const float *times,
                               pelt_motion *motion) {
    const pelt_morph_set *morphs = &model->morphs;
    float *weights = must_alloc(morphs->morph_count, sizeof *weights);
    pelt_result result = PELT_OK;
    for (uint32_t first = 0, width; result == PELT_OK && first < morphs->morph_count; first += width) {
        uint32_t joint = morphs->morphs[first].joint;
        for (width = 0; first + width < morphs->morph_count && morphs->morphs[first + width].joint == joint;)
            width++;
        float *values;
        motion->tracks[motion->track_count++] =
            track_of(context, model, joint, PELT_PATH_WEIGHTS, width, times, set->count, &values);
        if (!values)
            result = PELT_ERROR_MEMORY;
        for (uint32_t p = 0; values && p < set->count; p++) {
            pelt_motion_sample(model, NULL, 0, NULL, weights);
            pelt_pose_weights(model, set->items[p].locals, weights);
            memcpy(values + (size_t)p * width, weights + first, width * sizeof *values);
        }
    }
    free(weights);
    return result;
}

pelt_result poses_motion(cli_session *session, pelt_model *model, const pose_set *set, const char *name,
                         pelt_clip *clip) {
    pelt_context *context = session->context;
    size_t floats = (size_t)3 * model->mesh.vertex_count;
    float *times = pelt_model_alloc(context, model, set->count, sizeof *times);
    float *positions = pelt_model_alloc(context, model, set->count, floats * sizeof *positions);
    pelt_motion *motions = pelt_model_alloc(context, model, model->motion_count + (size_t)1, sizeof *motions);
    pelt_track *tracks = pelt_model_alloc(
        context, model, (size_t)3 * model->skeleton.joint_count + model->morphs.morph_count, sizeof *tracks);
    if (!times || !positions || !motions || !tracks)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < set->count; p++) {
        times[p] = (float)p;
        memcpy(positions + p * floats, set->items[p].positions, floats * sizeof *positions);
    }
    if (model->motion_count)
        memcpy(motions, model->motions, model->motion_count * sizeof *motions);
    pelt_motion *motion = &motions[model->motion_count];
    *motion = (pelt_motion){.name = name, .end = (float)(set->count - 1), .tracks = tracks};
    pelt_result result = add_transforms(context, model, set, times, motion);
    if (result == PELT_OK)
        result = add_weights(context, model, set, times, motion);
    if (result != PELT_OK)
        return result;
    model->motions = motions;
    model->motion_count++;
    model->changed |= PELT_CHANGED_MOTIONS;
    *clip = (pelt_clip){.name = name,
                        .frame_count = set->count,
                        .point_count = model->mesh.vertex_count,
                        .times = times,
                        .positions = positions};
    return PELT_OK;
}
