/* Weights that a binder gives the rigged characters of the real data, measured against their artists' weights.
 *
 * Prints, for every character, the measures of rig_measures.h and the seconds, then means and medians of each set and
 * of all. Characters without motions are left out of the mean of E. Files that are no characters are named with the
 * reason. The artist's weights must be 0 from themselves, or the program stops.
 *
 *   bench_bind [FILTER] [--worst] [--threads N]
 *
 *   FILTER      only files whose path contains this
 *   --worst     the 8 joints of each character that add most to L1: weight that they lack, with the joint that mostly
 *               has it instead, and weight that they have too much of, with the joint that it is mostly taken from
 *   --threads   of the binder; default one per core
 */
#include "characters.h"
#include "rig_measures.h"

#include "core/core.h"
#include "core/math3.h"

#include <pelt/pelt.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORST 8

typedef struct settings {
    const char *filter;
    bool worst;
    uint32_t thread_count;
} settings;

typedef struct outcome {
    const character *character;
    rig_measures measures;
    double seconds;
} outcome;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- The simplest binder: each vertex follows the nearest bone alone --------------------------------------- */

static double segment_distance(const float p[3], const pelt_affine *a, const pelt_affine *b) {
    double length = 0, dot = 0, distance = 0;
    for (int c = 0; c < 3; c++) {
        double side = (double)b->m[4 * c + 3] - a->m[4 * c + 3];
        length += side * side;
        dot += side * ((double)p[c] - a->m[4 * c + 3]);
    }
    double u = length > 0 ? fmin(fmax(dot / length, 0), 1) : 0;
    for (int c = 0; c < 3; c++) {
        double d = (double)p[c] - (1 - u) * a->m[4 * c + 3] - u * b->m[4 * c + 3];
        distance += d * d;
    }
    return distance;
}

static uint16_t nearest_bone(const pelt_model *model, const pelt_affine *globals, const float p[3]) {
    const pelt_skin *skin = &model->skin;
    double best = INFINITY;
    uint16_t bone = 0;
    for (uint32_t b = 0; b < skin->bone_count; b++)
        for (uint32_t j = skin->bone_joints[b]; j < model->skeleton.joint_count; j++) {
            if (j != skin->bone_joints[b] && model->skeleton.parents[j] != skin->bone_joints[b])
                continue;
            double distance = segment_distance(p, &globals[skin->bone_joints[b]], &globals[j]);
            if (distance < best)
                best = distance, bone = (uint16_t)b;
        }
    return bone;
}

static pelt_result bind(pelt_context *context, pelt_model *model) {
    size_t count = model->mesh.vertex_count;
    float *rest = pelt_model_alloc(context, model, count, 3 * sizeof(float));
    pelt_affine *globals = pelt_model_alloc(context, model, model->skeleton.joint_count, sizeof(pelt_affine));
    uint16_t *bones = pelt_model_alloc(context, model, count, sizeof(uint16_t));
    float *weights = pelt_model_alloc(context, model, count, sizeof(float));
    if (!rest || !globals || !bones || !weights)
        return PELT_ERROR_MEMORY;
    PX_TRY(pelt_model_pose(context, model, NULL, 0, PELT_SKINNING_LINEAR, rest, NULL));
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, globals);
    for (size_t i = 0; i < count; i++) {
        bones[i] = nearest_bone(model, globals, rest + 3 * i);
        weights[i] = 1;
    }
    model->skin.influence_count = 1;
    model->skin.bones = bones;
    model->skin.weights = weights;
    return PELT_OK;
}

/* ---- Joints that are most wrong ---------------------------------------------------------------------------- */

/* The largest of `count` values, `stride` apart; *sum gets all of them. */
static uint32_t largest(const double *values, uint32_t count, size_t stride, double *sum) {
    uint32_t best = 0;
    *sum = 0;
    for (uint32_t j = 0; j < count; j++) {
        *sum += values[j * stride];
        best = values[j * stride] > values[best * stride] ? j : best;
    }
    return best;
}

typedef struct wrong_joint {
    uint32_t joint, taker, giver;
    double lacks, excess;
} wrong_joint;

static int by_error(const void *a, const void *b) {
    const wrong_joint *x = a, *y = b;
    double dx = x->lacks + x->excess, dy = y->lacks + y->excess;
    return dx != dy ? (dx < dy) - (dx > dy) : (x->joint > y->joint) - (x->joint < y->joint);
}

static void print_wrong(const pelt_skeleton *skeleton, const wrong_joint *w) {
    printf("    %-32s lacks %.4f", skeleton->names[w->joint], w->lacks);
    if (w->lacks > 0)
        printf(" (most on %s)", skeleton->names[w->taker]);
    printf(", has %.4f too much", w->excess);
    if (w->excess > 0)
        printf(" (most from %s)", skeleton->names[w->giver]);
    printf("\n");
}

static void print_worst(const pelt_skeleton *skeleton, const double *moved) {
    uint32_t count = skeleton->joint_count;
    wrong_joint *joints = calloc(count, sizeof *joints);
    for (uint32_t j = 0; joints && j < count; j++) {
        joints[j].joint = j;
        joints[j].taker = largest(moved + (size_t)j * count, count, 1, &joints[j].lacks);
        joints[j].giver = largest(moved + j, count, count, &joints[j].excess);
    }
    if (joints)
        qsort(joints, count, sizeof *joints, by_error);
    for (uint32_t n = 0; joints && n < count && n < WORST; n++)
        print_wrong(skeleton, &joints[n]);
    free(joints);
}

/* ---- The table --------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean and median of one measure over the results of a set (NULL: all); NaNs are left out. */
static void mean_median(const outcome *results, size_t count, const char *set, size_t offset, double out[2]) {
    double *values = malloc((count + 1) * sizeof *values), sum = 0;
    size_t used = 0;
    for (size_t n = 0; values && n < count; n++) {
        double value;
        memcpy(&value, (const char *)&results[n] + offset, sizeof value);
        if ((!set || results[n].character->set == set) && !isnan(value))
            sum += values[used++] = value;
    }
    out[0] = out[1] = NAN;
    if (used) {
        qsort(values, used, sizeof *values, by_size);
        out[0] = sum / (double)used;
        out[1] = (values[(used - 1) / 2] + values[used / 2]) / 2;
    }
    free(values);
}

static void print_number(const char *format, double value) {
    if (isnan(value))
        printf("      – |");
    else
        printf(format, value);
}

static void print_numbers(double l1, double e, double r, double pooled, double seconds) {
    print_number(" %6.4f |", l1);
    print_number(" %6.3f |", e);
    print_number(" %6.4f |", r);
    print_number(" %6.4f |", pooled);
    print_number(" %6.3f |", seconds);
    printf("\n");
}

static void print_head(void) {
    printf("| set          | character          | vertices | joints | without |     L1 |    E %% |      R | R pool |  "
           "  sec |\n"
           "|--------------|--------------------|---------:|-------:|--------:|-------:|-------:|-------:|-------:|--"
           "-----:|\n");
}

static void print_row(const outcome *r) {
    const rig_measures *m = &r->measures;
    printf("| %-12s | %-18s | %8u | %6u | %7u |", r->character->set, r->character->name, m->vertex_count,
           m->joint_count, m->unweighted_count);
    print_numbers(m->l1, m->clip_percent, m->bend, m->bend_pooled, r->seconds);
    fflush(stdout);
}

static void print_summary(const outcome *results, size_t count, const char *set) {
    static const size_t offsets[] = {offsetof(outcome, measures.l1), offsetof(outcome, measures.clip_percent),
                                     offsetof(outcome, measures.bend), offsetof(outcome, measures.bend_pooled),
                                     offsetof(outcome, seconds)};
    static const char *const kinds[] = {"mean", "median"};
    double values[PX_COUNT(offsets)][2];
    for (size_t o = 0; o < PX_COUNT(offsets); o++)
        mean_median(results, count, set, offsets[o], values[o]);
    uint32_t vertices = 0, unweighted = 0, characters = 0;
    for (size_t n = 0; n < count; n++)
        if (!set || results[n].character->set == set) {
            vertices += results[n].measures.vertex_count;
            unweighted += results[n].measures.unweighted_count;
            characters++;
        }
    for (int k = 0; k < 2; k++) {
        char name[32];
        snprintf(name, sizeof name, "%s of %u", kinds[k], characters);
        printf("| %-12s | %-18s | %8u |        | %7u |", set ? set : "all", name, vertices, unweighted);
        print_numbers(values[0][k], values[1][k], values[2][k], values[3][k], values[4][k]);
    }
}

/* ---- Running ----------------------------------------------------------------------------------------------- */

static pelt_result bind_character(pelt_context *context, const settings *s, const pelt_model *artist, outcome *r) {
    pelt_model *model = NULL;
    const char *paths[] = {r->character->path};
    PX_TRY(pelt_load(context, paths, 1, NULL, &model));
    size_t joints = artist->skeleton.joint_count;
    double *moved = PX_ALLOC(context, double, joints *joints), start = now();
    pelt_result result = moved ? bind(context, model) : PELT_ERROR_MEMORY;
    r->seconds = now() - start;
    if (result == PELT_OK)
        result = rig_compare(context, artist, model, moved, &r->measures);
    if (result == PELT_OK) {
        print_row(r);
        if (s->worst)
            print_worst(&artist->skeleton, moved);
    }
    px_free(context, moved);
    pelt_model_destroy(model);
    return result;
}

/* A file that is no character leaves no outcome: r->measures.vertex_count is 0. */
static pelt_result run_character(pelt_context *context, const settings *s, const character *c, outcome *r) {
    pelt_model *artist = NULL;
    const char *reason = NULL;
    *r = (outcome){.character = c};
    pelt_result result = character_load(context, c, &artist, &reason);
    if (result == PELT_OK && !reason)
        result = bind_character(context, s, artist, r);
    pelt_model_destroy(artist);
    if (result != PELT_OK)
        printf("failed: %s\n", pelt_error_text(context));
    else if (reason)
        printf("left out: %s: %s\n", c->name, reason);
    return result;
}

static int run(pelt_context *context, const settings *s) {
    character_list list = characters_find(s->filter);
    outcome *results = calloc(list.count + 1, sizeof *results);
    size_t count = 0;
    int code = results ? 0 : 1;
    print_head();
    for (size_t c = 0; results && c < list.count; c++) {
        if (run_character(context, s, &list.items[c], &results[count]) != PELT_OK)
            code = 1;
        else
            count += results[count].measures.vertex_count > 0;
    }
    for (size_t n = 0; n < count; n++)
        if (n == 0 || results[n].character->set != results[n - 1].character->set)
            print_summary(results, count, results[n].character->set);
    if (count)
        print_summary(results, count, NULL);
    free(results);
    characters_free(&list);
    return code;
}

static bool parse(int argc, char **argv, settings *s) {
    for (int a = 1; a < argc; a++)
        if (strcmp(argv[a], "--worst") == 0)
            s->worst = true;
        else if (strcmp(argv[a], "--threads") == 0 && a + 1 < argc)
            s->thread_count = (uint32_t)atoi(argv[++a]);
        else if (argv[a][0] != '-' && !s->filter)
            s->filter = argv[a];
        else
            return false;
    return true;
}

int main(int argc, char **argv) {
    settings s = {0};
    if (!parse(argc, argv, &s)) {
        fprintf(stderr, "usage: bench_bind [FILTER] [--worst] [--threads N]\n");
        return 1;
    }
    pelt_context_desc desc = pelt_context_desc_default();
    desc.thread_count = s.thread_count;
    pelt_context *context;
    if (pelt_context_create(&desc, &context) != PELT_OK)
        return 1;
    int code = run(context, &s);
    pelt_context_destroy(context);
    return code;
}
