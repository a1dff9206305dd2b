/* Reads the inputs of pelt correct: a rig with a motion, and an animation of its mesh. */
#include "correct.h"

#include <math.h>

typedef struct reader {
    cli_session *session;
    const correct_settings *settings;
    correct_input *in;
} reader;

static exit_code load(reader *r, const cli_input *input, pelt_model **model) {
    pelt_result result = pelt_load(r->session->context, input->paths, input->path_count, &r->settings->load, model);
    return result == PELT_OK ? EXIT_DONE : session_fail(r->session, result);
}

/* Maps vertices of the rig to points of the animation by the animation's own mesh. */
static exit_code match_source(reader *r) {
    pelt_result result = pelt_model_take_points(r->session->context, r->in->rig, r->in->source);
    return result == PELT_OK ? EXIT_DONE : session_fail(r->session, result);
}

/* Chooses the target animation. */
static exit_code take_clip(reader *r) {
    pelt_model *model = r->in->source ? r->in->source : r->in->rig;
    cli_animation animation;
    exit_code code = choose_animation(r->session, model, NULL, false, &animation);
    if (code != EXIT_DONE)
        return code;
    if (animation.clip == PELT_NONE && (!r->in->source || !animation.motion)) {
        say(r->session, MESSAGE_ERROR, "%s: there is no animation beside the rig's own; give a cache behind it",
            model->path);
        return EXIT_INPUT;
    }
    pelt_result result =
        animation_clip(r->session, model, &animation, r->settings->fps, PELT_SKINNING_LINEAR, &r->in->clip);
    return result == PELT_OK ? EXIT_DONE : session_fail(r->session, result);
}

/* Compares the first frame of the animation with the rig at the start of the motion; warns if axes or units differ. */
static exit_code check_axes(reader *r, const pelt_motion *motion) {
    pelt_clip own;
    float start = motion ? motion->start : 0;
    pelt_model *rig = r->in->rig, *source = r->in->source ? r->in->source : rig;
    pelt_result result =
        pelt_clip_from_motion_at(r->session->context, rig, motion, &start, 1, PELT_SKINNING_LINEAR, &own);
    if (result == PELT_OK)
        result = warn_axes(r->session, rig->path, &own, source == rig ? r->in->clip.name : source->path, &r->in->clip);
    return result == PELT_OK ? EXIT_DONE : session_fail(r->session, result);
}

static exit_code take_motion(reader *r) {
    cli_animation animation;
    exit_code code = choose_animation(r->session, r->in->rig, r->settings->motion, true, &animation);
    if (code != EXIT_DONE)
        return code;
    r->in->motion = PELT_NONE;
    code = check_axes(r, animation.motion);
    if (code != EXIT_DONE || !animation.motion)
        return code;
    const pelt_motion *motion = animation.motion;
    r->in->motion = (uint32_t)(motion - r->in->rig->motions);
    double lasts = (double)motion->end - (double)motion->start, duration = clip_duration(&r->in->clip);
    if (fabs(lasts - duration) > 0.5 * duration / fmax(r->in->clip.frame_count - 1.0, 1))
        warn(r->session, "motion '%s' lasts %.4g s and the animation %.4g s: is --fps right?", motion->name, lasts,
             duration);
    return EXIT_DONE;
}

exit_code correct_read(cli_session *session, const correct_settings *settings, const char *const *args,
                       size_t arg_count, correct_input *in) {
    reader reading = {session, settings, in}, *r = &reading;
    input_list inputs = inputs_group(r->session, args, arg_count);
    exit_code code = EXIT_DONE;
    if (inputs.count < 1 || inputs.count > 2)
        code = usage_error(r->session, "correct needs a rig and an animation of its mesh; %zu inputs are given",
                           inputs.count);
    if (code == EXIT_DONE)
        code = load(r, &inputs.items[0], &r->in->rig);
    if (code == EXIT_DONE && inputs.count == 2)
        code = load(r, &inputs.items[1], &r->in->source);
    if (code == EXIT_DONE && r->in->source)
        code = match_source(r);
    if (code == EXIT_DONE)
        code = take_clip(r);
    if (code == EXIT_DONE)
        code = take_motion(r);
    if (code == EXIT_DONE)
        r->in->bytes = written_size(inputs.items[0].paths[0], 0);
    inputs_free(&inputs);
    return code;
}
