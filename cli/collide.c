/* pelt collide: finds the frames and triangles in which two animations intersect, or one intersects itself. */
#include "cli.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct collide_settings {
    pelt_load_desc load;
    double fps;
    const char *motion;
    uint32_t skinning; /* pelt_skinning */
    const char *offset;
    uint32_t pairs;
    uint32_t max_pairs;
} collide_settings;

static const pelt_option own_options[] = {
    {"fps", 0, PELT_OPTION_REAL, PELT_FIELD(collide_settings, fps), "30", 0.001, 100000, NULL, "N",
     "frames per second at which rigs are evaluated, and of inputs that do not say"},
    {"motion", 0, PELT_OPTION_TEXT, PELT_FIELD(collide_settings, motion), NULL, 0, 0, NULL, "NAME|INDEX",
     "which animation, where an input has several; without this the first"},
    {"skinning", 0, PELT_OPTION_CHOICE, PELT_FIELD(collide_settings, skinning), "linear", 0, 0,
     "linear|dual-quaternion", NULL, "how the bones of rigs are blended"},
    {"offset", 0, PELT_OPTION_TEXT, PELT_FIELD(collide_settings, offset), NULL, 0, 0, NULL, "X,Y,Z",
     "move B by this, in units of the files"},
    {"pairs", 0, PELT_OPTION_UINT, PELT_FIELD(collide_settings, pairs), "10", 0, 1000, NULL, "N",
     "list so many pairs of triangles of every frame in --json, at most"},
    {"max-pairs", 0, PELT_OPTION_UINT, PELT_FIELD(collide_settings, max_pairs), NULL, 0, 0, NULL, "N",
     "exit with 4 when a frame has more"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", pelt_load_options, offsetof(collide_settings, load)},
};

typedef struct collide_side {
    char *name;
    pelt_model *model;
    pelt_clip clip;
    pelt_mover mover;
} collide_side;

/* ---- Inputs ----------------------------------------------------------------------------------------------- */

static exit_code load_side(cli_session *session, const collide_settings *settings, const cli_input *input,
                           collide_side *side) {
    cli_animation animation;
    side->name = input_name(input);
    pelt_result result = pelt_load(session->context, input->paths, input->path_count, &settings->load, &side->model);
    if (result != PELT_OK)
        return session_fail(session, result);
    if (side->model->mesh.triangle_count == 0) {
        say(session, MESSAGE_ERROR, "%s: there are no triangles in it, so nothing can meet it", side->name);
        return EXIT_INPUT;
    }
    exit_code code = choose_animation(session, side->model, settings->motion, false, &animation);
    if (code != EXIT_DONE)
        return code;
    result =
        animation_clip(session, side->model, &animation, settings->fps, (pelt_skinning)settings->skinning, &side->clip);
    if (result == PELT_OK)
        result = pelt_model_weld(session->context, side->model); /* neighbours across a seam share vertices */
    if (result != PELT_OK)
        return session_fail(session, result);
    bool posed = animation.clip == PELT_NONE && settings->skinning == PELT_SKINNING_LINEAR;
    side->mover = (pelt_mover){.model = side->model,
                               .frame_count = side->clip.frame_count,
                               .times = side->clip.times,
                               .motion = animation.motion,
                               .clip = posed ? NULL : &side->clip};
    return EXIT_DONE;
}

/* ---- Report ----------------------------------------------------------------------------------------------- */

/* Totals over all frames. */
typedef struct summary {
    const pelt_contacts *frames; /* [count] */
    const float *times;          /* [count] seconds, of the longer animation */
    uint32_t count;
    uint32_t meeting; /* number of frames with contacts */
    uint32_t first;   /* first frame with contacts, or PELT_NONE */
    uint32_t worst;   /* frame with the most pairs */
    double opened;    /* fraction of the surface that was tested, mean over all frames */
} summary;

static summary summarise(const pelt_contacts *frames, const collide_side sides[2], size_t side_count) {
    const collide_side *longer = &sides[side_count == 2 && sides[1].clip.frame_count > sides[0].clip.frame_count];
    summary s = {.frames = frames, .times = longer->clip.times, .count = longer->clip.frame_count, .first = PELT_NONE};
    for (uint32_t k = 0; k < s.count; k++) {
        s.opened += frames[k].opened / s.count;
        s.meeting += frames[k].pair_count > 0;
        if (frames[k].pair_count > 0 && s.first == PELT_NONE)
            s.first = k;
        if (frames[k].pair_count > frames[s.worst].pair_count)
            s.worst = k;
    }
    return s;
}

static void report_frame(cli_json *json, const summary *s, uint32_t k, bool two) {
    const pelt_contacts *frame = &s->frames[k];
    json_open(json, NULL, '{');
    json_count(json, "frame", k);
    json_real(json, "time", (double)s->times[k]);
    json_count(json, "pairs", frame->pair_count);
    json_count(json, "triangles_a", frame->triangle_count[0]);
    if (two)
        json_count(json, "triangles_b", frame->triangle_count[1]);
    json_open(json, "listed", '[');
    for (uint32_t n = 0; n < frame->listed_count; n++) {
        json_open(json, NULL, '[');
        json_count(json, NULL, frame->pairs[n][0]);
        json_count(json, NULL, frame->pairs[n][1]);
        json_close(json, ']');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void report(cli_json *json, const summary *s, bool two) {
    double *pairs = must_alloc(s->count, sizeof *pairs);
    json_count(json, "frames", s->count);
    json_count(json, "meeting_frames", s->meeting);
    if (s->meeting) {
        json_count(json, "first_frame", s->first);
        json_count(json, "worst_frame", s->worst);
    }
    json_count(json, "most_pairs", s->frames[s->worst].pair_count);
    json_real(json, "opened", s->opened);
    json_open(json, "contacts", '[');
    for (uint32_t k = 0; k < s->count; k++) {
        pairs[k] = (double)s->frames[k].pair_count;
        if (s->frames[k].pair_count)
            report_frame(json, s, k, two);
    }
    json_close(json, ']');
    json_open(json, "curves", '[');
    report_steps(json, "Pairs of triangles that meet", "frame", "pairs", pairs, s->count);
    json_close(json, ']');
    free(pairs);
}

/* "3 to 17, 20 …": the first NAMES_SHOWN runs of consecutive frames with contacts; freed by the caller. */
static char *list_runs(const summary *s) {
    char *text = must_format("%s", "");
    uint32_t shown = 0;
    for (uint32_t k = 0, end; k < s->count; k = end) {
        for (end = k + 1; end < s->count && !s->frames[end - 1].pair_count == !s->frames[end].pair_count;)
            end++;
        if (!s->frames[k].pair_count)
            continue;
        const char *comma = shown ? ", " : "";
        char *longer = shown == NAMES_SHOWN ? must_format("%s …", text)
                       : end == k + 1       ? must_format("%s%s%u", text, comma, k)
                                            : must_format("%s%s%u to %u", text, comma, k, end - 1);
        free(text);
        text = longer;
        if (shown++ == NAMES_SHOWN)
            break;
    }
    return text;
}

static void print(FILE *out, const summary *s, const collide_side sides[2], bool two) {
    cli_table table = {0};
    const pelt_contacts *worst = &s->frames[s->worst];
    table_row(&table, two ? "a" : "itself", "%s", sides[0].name);
    if (two)
        table_row(&table, "b", "%s", sides[1].name);
    table_row(&table, "frames", "%s", grouped(s->count));
    if (s->meeting) {
        char *runs = list_runs(s);
        table_row(&table, "meet in", "%s: %s", grouped(s->meeting), runs);
        free(runs);
        if (two)
            table_row(&table, "most", "%s pairs of triangles (%s of a, %s of b) in frame %u, %.3g s",
                      grouped(worst->pair_count), grouped(worst->triangle_count[0]), grouped(worst->triangle_count[1]),
                      s->worst, (double)s->times[s->worst]);
        else
            table_row(&table, "most", "%s pairs of %s triangles in frame %u, %.3g s", grouped(worst->pair_count),
                      grouped(worst->triangle_count[0]), s->worst, (double)s->times[s->worst]);
    } else
        table_row(&table, "meet in", "none of them");
    table_row(&table, "looked at", "%.3g %% of the surface", 100 * s->opened);
    table_print(&table, out, NULL);
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code collide(cli_session *session, const collide_settings *settings, const collide_side sides[2],
                         size_t side_count) {
    uint32_t frame_count = 0;
    for (size_t s = 0; s < side_count; s++)
        frame_count = sides[s].clip.frame_count > frame_count ? sides[s].clip.frame_count : frame_count;
    pelt_contacts *frames = must_alloc(frame_count, sizeof *frames);
    uint32_t(*pairs)[2] = must_alloc((size_t)frame_count * settings->pairs + 1, sizeof *pairs);
    for (uint32_t k = 0; k < frame_count; k++)
        frames[k].pairs = pairs + (size_t)settings->pairs * k;
    bool two = side_count == 2, missed = false;
    pelt_result result =
        pelt_collide(session->context, &sides[0].mover, two ? &sides[1].mover : NULL, settings->pairs, frames);
    if (result == PELT_OK) {
        summary s = summarise(frames, sides, side_count);
        json_text(&session->report, "a", sides[0].name);
        if (two)
            json_text(&session->report, "b", sides[1].name);
        report(&session->report, &s, two);
        session->report_done = true;
        print(session->out, &s, sides, two);
        report_page(session, sides[0].model, sides[0].model->clips, sides[0].model->clip_count, settings->fps);
        missed = option_given(session, "max-pairs") && frames[s.worst].pair_count > settings->max_pairs;
        if (missed)
            say(session, MESSAGE_ERROR, "%s pairs of triangles meet in frame %u, more than --max-pairs %u",
                grouped(frames[s.worst].pair_count), s.worst, settings->max_pairs);
    }
    free(pairs);
    free(frames);
    if (result != PELT_OK)
        return session_fail(session, result);
    return missed ? EXIT_QUALITY : EXIT_DONE;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const collide_settings *settings = given;
    collide_side sides[2] = {0};
    double offset[3] = {0};
    input_list list = inputs_group(session, args, arg_count);
    exit_code code = EXIT_DONE;
    if (list.count != 1 && list.count != 2)
        code = usage_error(session,
                           "collide takes one or two inputs, these are %zu; a cache belongs to the mesh before it",
                           list.count);
    else if (settings->offset && list.count == 1)
        code = usage_error(session, "--offset moves the second input, and there is one only");
    else if (settings->offset && !read_three(settings->offset, offset))
        code = usage_error(session, "--offset %s: it takes three numbers with commas between", settings->offset);
    for (size_t s = 0; s < list.count && code == EXIT_DONE; s++)
        code = load_side(session, settings, &list.items[s], &sides[s]);
    for (int c = 0; c < 3; c++)
        sides[1].mover.offset[c] = (float)offset[c];
    if (code == EXIT_DONE)
        code = collide(session, settings, sides, list.count);
    for (size_t s = 0; s < 2; s++) {
        keep_model(session, sides[s].model);
        free(sides[s].name);
    }
    inputs_free(&list);
    return code;
}

static const example examples[] = {
    {"pelt collide horse.glb rider.glb", "the frames in which two animated characters meet"},
    {"pelt collide body.glb cloth.obj cloth.pc2 --json contacts.json", "a rig and a simulated garment, with the pairs"},
    {"pelt collide wolf.glb --motion run --max-pairs 0", "does it run into itself? exit code 4 when it does"},
};

const cli_verb verb_collide = {
    .name = "collide",
    .summary = "find the frames in which two animations, or one with itself, intersect",
    .usage = "pelt collide A [B] [options]",
    .about = "A and B are each a file, a mesh with its cache, or a sequence; a cache belongs to the mesh before it. "
             "Rigs are evaluated at --fps. Frame k of A is tested against frame k of B; the shorter animation holds "
             "its last frame. Without B, triangles of A are tested against other triangles of A that share no vertex "
             "with them.\n\nTriangles are tested exactly, and touching counts as intersecting. Surfaces are tested, "
             "not volumes: a mesh wholly inside another does not intersect it. With linear blending, only those parts "
             "of a rig are skinned that may intersect.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(collide_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
