/* pelt bind --prefer: weights pulled to examples of good poses, sculpted or baked. */
#include "bind.h"
#include "correct.h"

#include <stdlib.h>

/* Frames of a cache of the bound mesh, spread evenly over the first motion of the rig, as 'pelt bake' writes them at any rate. */
static exit_code read_clip(bind_work *w, const char *cache, pose_set *out) {
    const char *paths[] = {w->model->path, cache};
    pose_set unseen;
    correct_input in = {.rig = w->model};
    pelt_result result = pelt_load(w->session->context, paths, COUNT(paths), &w->settings->load, &in.source);
    if (result == PELT_OK)
        result = pelt_model_take_points(w->session->context, w->model, in.source);
    if (result != PELT_OK) {
        pelt_model_destroy(in.source);
        return session_fail(w->session, result);
    }
    in.motion = w->model->motion_count ? 0 : PELT_NONE;
    in.clip = in.source->clips[in.source->clip_count - 1];
    float *times = must_alloc(in.clip.frame_count, sizeof *times);
    const pelt_motion *motion = w->model->motion_count ? w->model->motions : NULL;
    for (uint32_t k = 1; motion && k < in.clip.frame_count; k++)
        times[k] = (motion->end - motion->start) * (float)k / (float)(in.clip.frame_count - 1);
    in.clip.times = times;
    exit_code code = poses_of_clip(w->session, &in, 0, out, &unseen);
    free(times);
    pelt_model_destroy(in.source);
    return code;
}

exit_code bind_prefer_run(bind_work *w) {
    const char *path = w->settings->prefer;
    pose_set set = {0};
    if (!path)
        return EXIT_DONE;
    exit_code code = poses_are_frames(path) ? read_clip(w, path, &set)
                                            : poses_read(w->session, w->model, path, &w->settings->load, &set);
    if (code != EXIT_DONE)
        return code;
    pelt_bind_example *examples = must_alloc(set.count, sizeof *examples);
    for (uint32_t e = 0; e < set.count; e++)
        examples[e] = (pelt_bind_example){set.items[e].name, set.items[e].locals, set.items[e].positions};
    pelt_bind_prefer_desc desc = w->settings->prefer_desc;
    desc.influences = w->desc.influences;
    pelt_result result = pelt_bind_prefer(w->session->context, w->model, examples, set.count, &desc, &w->preferred);
    w->example_count = set.count;
    free(examples);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

void bind_prefer_json(const bind_work *w, cli_json *json) {
    if (!w->example_count)
        return;
    json_open(json, "prefer", '{');
    json_count(json, "examples", w->example_count);
    json_count(json, "changed", w->preferred.changed_count);
    json_real(json, "change_mean", w->preferred.change_mean);
    json_real(json, "before", w->preferred.before);
    json_real(json, "after", w->preferred.after);
    json_close(json, '}');
}

void bind_prefer_rows(const bind_work *w, cli_table *table) {
    if (!w->example_count)
        return;
    table_row(table, "examples", "%u: %.3f %% of the size RMS before, %.3f %% after; weights of %s vertices changed",
              w->example_count, 100 * w->preferred.before, 100 * w->preferred.after,
              grouped(w->preferred.changed_count));
}
