/* EigenSkin on the hand of pelt-scenes, the example of the paper (Kry, James, Pai 2002): 120 training poses of one
 * joint each, 25 unseen poses that move all joints. Prints the tables of docs/papers/eigenskin.md.
 *
 *   bench_hand curve     relative error against eigendisplacements per joint (Fig. 7), with the paper's settings and
 *                        the defaults: training poses of the thumb's metacarpal, all training poses, unseen poses
 *   bench_hand joints    supports (Fig. 3) and singular values (Fig. 5)
 *   bench_hand settings  unseen error by settings
 *   bench_hand coupled   unseen error of joints that drive alone and as pairs, with COUPLED more training
 *                        poses of all joints
 *   bench_hand weights   error with the given bone weights and with those fitted under the corrections
 *   [VERTICES]           of the hand; default 7000, as the paper's mesh of 13,976 triangles
 *   [MODES]              weights: only this many eigendisplacements per joint
 */
#include "hand.h"

#include <pelt/pelt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODES   5u
#define COUPLED 40u

typedef struct work {
    pelt_context *context;
    pelt_model *hand; /* without corrections */
    scene_poses poses;
    const char *modes; /* of print_weights; NULL: 1, 3 and 5 */
} work;

/* Settings to compare: a preset and options, as on the command line. */
typedef struct setting {
    const char *name, *preset;
    const char *options[4][2];
} setting;

static pelt_result learn(const work *w, const setting *s, pelt_model **out, pelt_eigenskin_report *report) {
    pelt_context *context = w->context;
    const pelt_option_table *table = pelt_eigenskin_options();
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    pelt_pose_example *examples = calloc(w->poses.seen_count, sizeof *examples);
    if (!examples)
        return PELT_ERROR_MEMORY;
    pelt_result result = s->preset ? pelt_options_preset(context, table, &desc, s->preset) : PELT_OK;
    for (int n = 0; n < 4 && s->options[n][0] && result == PELT_OK; n++)
        result = pelt_options_set(context, table, &desc, s->options[n][0], s->options[n][1]);
    for (uint32_t p = 0; p < w->poses.seen_count; p++) {
        const scene_pose *pose = &w->poses.seen[p];
        examples[p] = (pelt_pose_example){pose->name, pose->locals, pose->positions, NULL};
    }
    if (result == PELT_OK)
        result = pelt_model_borrow(context, w->hand, out);
    if (result == PELT_OK)
        result = pelt_eigenskin(context, *out, examples, w->poses.seen_count, &desc, report);
    free(examples);
    return result;
}

/* The index of a mode in its joint, "elbow mode 3"; 0: the offset or another morph. */
static unsigned mode_number(const char *name) {
    const char *at = strstr(name, " mode ");
    return at ? (unsigned)strtoul(at + 6, NULL, 10) : 0;
}

/* Σ |made − right|² over poses whose name begins with `prefix`, with the first `modes` modes of every joint. */
static pelt_result miss(const work *w, const pelt_model *m, const scene_pose *poses, uint32_t count, const char *prefix,
                        unsigned modes, double *sum) {
    size_t floats = 3 * (size_t)m->mesh.vertex_count;
    float *weights = calloc(m->morphs.morph_count + 1u, sizeof *weights), *made = calloc(floats, sizeof *made);
    pelt_result result = weights && made ? PELT_OK : PELT_ERROR_MEMORY;
    *sum = 0;
    for (uint32_t p = 0; result == PELT_OK && p < count; p++) {
        if (strncmp(poses[p].name, prefix, strlen(prefix)) != 0)
            continue;
        pelt_motion_sample(m, NULL, 0, NULL, weights);
        pelt_pose_weights(m, poses[p].locals, weights);
        for (uint32_t n = 0; n < m->morphs.morph_count; n++)
            weights[n] = mode_number(m->morphs.morphs[n].name) > modes ? 0 : weights[n];
        result = pelt_model_pose_locals(w->context, m, poses[p].locals, weights, PELT_SKINNING_LINEAR, made, NULL);
        for (size_t c = 0; result == PELT_OK && c < floats; c++)
            *sum +=
                ((double)made[c] - (double)poses[p].positions[c]) * ((double)made[c] - (double)poses[p].positions[c]);
    }
    free(weights);
    free(made);
    return result;
}

enum { POSE, THUMB, TRAINING, UNSEEN, ERRORS };

/* Relative errors with `modes` modes: one pose of the thumb, all of that joint, training poses, unseen poses. */
static pelt_result measure(const work *w, const pelt_model *m, unsigned modes, double errors[ERRORS]) {
    static const char *const prefixes[ERRORS] = {"thumb-metacarpal_40_0", "thumb-metacarpal_", "", ""};
    for (int n = 0; n < ERRORS; n++) {
        double before, after;
        const scene_pose *poses = n < UNSEEN ? w->poses.seen : w->poses.unseen;
        uint32_t count = n < UNSEEN ? w->poses.seen_count : w->poses.unseen_count;
        pelt_result result = miss(w, w->hand, poses, count, prefixes[n], 0, &before);
        if (result == PELT_OK)
            result = miss(w, m, poses, count, prefixes[n], modes, &after);
        if (result != PELT_OK)
            return result;
        errors[n] = sqrt(after / before);
    }
    return PELT_OK;
}

static const setting paper = {"the paper's", "eigenskin2002", {{0}}};
static const setting own = {"default", NULL, {{0}}};

static pelt_result print_curve(const work *w) {
    static const char *const published[MODES + 1] = {"1.000", "0.161", "0.160", "0.100", "0.098", "0.065"};
    const setting *settings[2] = {&paper, &own};
    double errors[2][MODES + 1][ERRORS];
    for (int s = 0; s < 2; s++) {
        pelt_model *m = NULL;
        pelt_result result = learn(w, settings[s], &m, NULL);
        for (unsigned n = 0; result == PELT_OK && n <= MODES; n++)
            result = measure(w, m, n, errors[s][n]);
        pelt_model_destroy(m);
        if (result != PELT_OK)
            return result;
    }
    printf(
        "| eigendisplacements per joint | published, one pose of the thumb | paper's settings: thumb at 40° | thumb | "
        "training | unseen | default: thumb at 40° | thumb | training | unseen "
        "|\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (unsigned n = 0; n <= MODES; n++) {
        printf("| %u | %s |", n, published[n]);
        for (int s = 0; s < 2; s++)
            for (int k = 0; k < ERRORS; k++)
                printf(" %.3f |", errors[s][n][k]);
        printf("\n");
    }
    return PELT_OK;
}

static pelt_result print_joints(const work *w) {
    pelt_eigenskin_report report;
    pelt_model *m = NULL;
    pelt_result result = learn(w, &paper, &m, &report);
    if (result == PELT_OK)
        printf("| joint | vertices in its support | of the hand | singular values, σ₁ to σ₅ |\n|---|---|---|---|\n");
    for (uint32_t j = 0; result == PELT_OK && j < report.joint_count; j++) {
        const pelt_eigenskin_joint *joint = &report.joints[j];
        printf("| %s | %u | %.0f %% |", m->skeleton.names[joint->joint], joint->vertex_count,
               100.0 * joint->vertex_count / m->mesh.vertex_count);
        for (uint32_t n = 0; n < joint->mode_count; n++)
            printf("%s%.3f", n ? ", " : " ", joint->singular_values[n]);
        printf(" |\n");
    }
    pelt_model_destroy(m);
    return result;
}

/* Adds training poses that move all joints. */
static pelt_result add_coupled(work *w) {
    pelt_model *memory = NULL;
    hand_tissue *tissue;
    uint32_t count = w->poses.seen_count;
    scene_pose *seen = pelt_model_alloc(w->context, w->hand, count + COUPLED, sizeof *seen);
    pelt_result result = seen ? pelt_model_create(w->context, &memory) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = hand_tissue_of(w->context, w->hand, memory, &tissue);
    if (result == PELT_OK)
        result = hand_random_poses(w->context, w->hand, tissue, 12345, "coupled", COUPLED, seen + count);
    pelt_model_destroy(memory);
    if (result != PELT_OK)
        return result;
    memcpy(seen, w->poses.seen, count * sizeof *seen);
    w->poses.seen = seen;
    w->poses.seen_count += COUPLED;
    return PELT_OK;
}

static pelt_result print_settings(const work *w, const setting *list, size_t count) {
    printf("| settings | targets | training | left out | unseen |\n|---|---|---|---|---|\n");
    for (size_t n = 0; n < count; n++) {
        pelt_model *m = NULL;
        pelt_eigenskin_report report;
        double errors[ERRORS];
        pelt_result result = learn(w, &list[n], &m, &report);
        if (result == PELT_OK)
            result = measure(w, m, 1000, errors);
        if (result == PELT_OK)
            printf("| %s | %u | %.3f | %.3f | %.3f |\n", list[n].name, report.morph_count, errors[TRAINING],
                   report.left_out_error, errors[UNSEEN]);
        pelt_model_destroy(m);
        if (result != PELT_OK)
            return result;
    }
    return PELT_OK;
}

static pelt_result print_coupled(const work *given) {
    static const setting list[] = {
        {"additive", NULL, {{0}}},
        {"pairs, `--coupled`", NULL, {{"coupled", NULL}}},
        {"additive, `--max-per-vertex 0`", NULL, {{"max-per-vertex", "0"}}},
        {"pairs, `--coupled --max-per-vertex 0`", NULL, {{"coupled", NULL}, {"max-per-vertex", "0"}}},
    };
    work w = *given;
    pelt_result result = add_coupled(&w);
    return result == PELT_OK ? print_settings(&w, list, sizeof list / sizeof list[0]) : result;
}

static pelt_result print_own_settings(const work *w) {
    static const setting list[] = {
        {"the paper's (`--preset eigenskin2002`)", "eigenskin2002", {{0}}},
        {"and `--max-per-vertex 0`", "eigenskin2002", {{"max-per-vertex", "0"}}},
        {"and `--modes 10 --max-per-vertex 0`", "eigenskin2002", {{"modes", "10"}, {"max-per-vertex", "0"}}},
        {"`--exact`", NULL, {{"exact", NULL}}},
        {"default", NULL, {{0}}},
        {"`--max-per-vertex 0`", NULL, {{"max-per-vertex", "0"}}},
        {"`--support 0.01 --max-per-vertex 0`", NULL, {{"support", "0.01"}, {"max-per-vertex", "0"}}},
        {"`--split`", NULL, {{"split", NULL}}},
        {"`--kernel gaussian`", NULL, {{"kernel", "gaussian"}}},
    };
    return print_settings(w, list, sizeof list / sizeof list[0]);
}

/* Bone weights as given and fitted under the corrections, by eigendisplacements per joint. */
static pelt_result print_weights(const work *w) {
    static const char *const modes[] = {"1", "3", "5"};
    printf(
        "| eigendisplacements per joint | left out: ratio | rounds | training | with `--refit-weights` | unseen | with "
        "`--refit-weights` |\n"
        "|---|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < sizeof modes / sizeof modes[0]; n++) {
        double errors[2][ERRORS];
        pelt_eigenskin_report report;
        if (w->modes && strcmp(w->modes, modes[n]) != 0)
            continue;
        for (int refit = 0; refit < 2; refit++) {
            setting s = {"", NULL, {{"modes", modes[n]}, {refit ? "refit-weights" : NULL, NULL}}};
            pelt_model *m = NULL;
            pelt_result result = learn(w, &s, &m, &report);
            if (result == PELT_OK)
                result = measure(w, m, 1000, errors[refit]);
            pelt_model_destroy(m);
            if (result != PELT_OK)
                return result;
        }
        printf("| %s | %.3f | %u | %.3f | %.3f | %.3f | %.3f |\n", modes[n], report.refit_ratio, report.refit_rounds,
               errors[0][TRAINING], errors[1][TRAINING], errors[0][UNSEEN], errors[1][UNSEEN]);
    }
    return PELT_OK;
}

int main(int count, char **texts) {
    const char *name = count > 1 ? texts[1] : "curve";
    scene_desc size = {.vertex_count = count > 2 ? (uint32_t)strtoul(texts[2], NULL, 10) : 7000};
    work w = {.modes = count > 3 ? texts[3] : NULL};
    if (pelt_context_create(NULL, &w.context) != PELT_OK)
        return 1;
    const scene *hand = scene_find("hand");
    pelt_result result = hand->make(w.context, &size, &w.hand);
    if (result == PELT_OK)
        result = hand->poses(w.context, &size, w.hand, &w.poses);
    if (result == PELT_OK)
        result = (strcmp(name, "joints") == 0     ? print_joints
                  : strcmp(name, "settings") == 0 ? print_own_settings
                  : strcmp(name, "coupled") == 0  ? print_coupled
                  : strcmp(name, "weights") == 0  ? print_weights
                                                  : print_curve)(&w);
    if (result != PELT_OK)
        fprintf(stderr, "bench_hand: %s\n", pelt_error_text(w.context));
    pelt_model_destroy(w.hand);
    pelt_context_destroy(w.context);
    return result == PELT_OK ? 0 : 1;
}
