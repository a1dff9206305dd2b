/* The characters' weights by the binder against their artists': a row each, then means and medians. */
#include "bind_bench.h"
#include "rig_measures.h"

#include "core/core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WORST 8

typedef struct outcome {
    const character *character;
    rig_measures measures;
    bind_figures figures;
} outcome;

/* ---- Joints with the largest errors ------------------------------------------------------------------------ */

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
    double lacks, excess, bend;
} wrong_joint;

static int falling(double a, double b) {
    return (a < b) - (a > b);
}

static int by_weight(const void *a, const void *b) {
    const wrong_joint *x = a, *y = b;
    return falling(x->lacks + x->excess, y->lacks + y->excess);
}

static int by_bend(const void *a, const void *b) {
    const wrong_joint *x = a, *y = b;
    return falling(x->bend, y->bend);
}

static void print_wrong(const pelt_skeleton *skeleton, const wrong_joint *w) {
    printf("    %-32s lacks %.4f", skeleton->names[w->joint], w->lacks);
    if (w->lacks > 0)
        printf(" (most on %s)", skeleton->names[w->taker]);
    printf(", has %.4f too much", w->excess);
    if (w->excess > 0)
        printf(" (most from %s)", skeleton->names[w->giver]);
    printf(", R %.3f\n", w->bend);
}

static void print_worst(const pelt_skeleton *skeleton, const rig_details *details) {
    uint32_t count = skeleton->joint_count;
    wrong_joint *joints = calloc(count, sizeof *joints);
    if (!joints)
        return;
    for (uint32_t j = 0; j < count; j++) {
        joints[j].joint = j;
        joints[j].taker = largest(details->moved + (size_t)j * count, count, 1, &joints[j].lacks);
        joints[j].giver = largest(details->moved + j, count, count, &joints[j].excess);
        joints[j].bend = details->bends[j];
    }
    qsort(joints, count, sizeof *joints, by_weight);
    for (uint32_t n = 0; n < count && n < WORST; n++)
        print_wrong(skeleton, &joints[n]);
    qsort(joints, count, sizeof *joints, by_bend);
    printf("    largest R:");
    for (uint32_t n = 0; n < count && n < WORST; n++)
        printf("%s %s %.2f", n ? "," : "", skeleton->names[joints[n].joint], joints[n].bend);
    printf("\n");
    free(joints);
}

/* ---- The table --------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_number(const char *format, double value) {
    if (isnan(value))
        printf("      – |");
    else
        printf(format, value);
}

/* L1, E, R, R pooled, then the seconds. */
#define NUMBERS 8
static void print_numbers(const double numbers[NUMBERS]) {
    static const char *const formats[NUMBERS] = {" %6.4f |", " %6.3f |", " %6.4f |", " %6.4f |",
                                                 " %6.3f |", " %6.3f |", " %6.3f |", " %6.3f |"};
    for (int n = 0; n < NUMBERS; n++)
        print_number(formats[n], numbers[n]);
    printf("\n");
    fflush(stdout);
}

static void get_numbers(const outcome *r, double numbers[NUMBERS]) {
    const rig_measures *m = &r->measures;
    const bind_figures *f = &r->figures;
    double own[NUMBERS] = {m->l1,       m->clip_percent, m->bend,    m->bend_pooled,
                           f->voxelize, f->solve,        f->weights, f->total};
    memcpy(numbers, own, sizeof own);
}

/* Constants are chosen on one half of the characters, every second of the list, and reported on the other. */
typedef struct selection {
    const char *set; /* NULL: all */
    int half;        /* 0: of the choosing half, 1: of the reporting half, -1: all */
} selection;

static bool is_selected(const outcome *results, size_t n, selection s) {
    return (!s.set || results[n].character->set == s.set) && (s.half < 0 || (int)(n % 2) == s.half);
}

/* Mean and median of one number over the selected results; NaNs are left out. */
static void mean_median(const outcome *results, size_t count, selection selected, int number, double *mean,
                        double *median) {
    double *values = malloc((count + 1) * sizeof *values), sum = 0;
    size_t used = 0;
    for (size_t n = 0; values && n < count; n++) {
        double numbers[NUMBERS];
        get_numbers(&results[n], numbers);
        if (is_selected(results, n, selected) && !isnan(numbers[number]))
            sum += values[used++] = numbers[number];
    }
    *mean = *median = NAN;
    if (used) {
        qsort(values, used, sizeof *values, by_size);
        *mean = sum / (double)used;
        *median = (values[(used - 1) / 2] + values[used / 2]) / 2;
    }
    free(values);
}

static void print_head(void) {
    printf("| set          | character          | vertices | joints | without |     L1 |    E %% |      R | R pool |"
           " voxels |  solve |  weigh |  total |\n"
           "|--------------|--------------------|---------:|-------:|--------:|-------:|-------:|-------:|-------:|"
           "-------:|-------:|-------:|-------:|\n");
}

static void print_row(const outcome *r) {
    double numbers[NUMBERS];
    printf("| %-12s | %-18s | %8u | %6u | %7u |", r->character->set, r->character->name, r->measures.vertex_count,
           r->measures.joint_count, r->measures.unweighted_count);
    get_numbers(r, numbers);
    print_numbers(numbers);
}

static void print_summary(const outcome *results, size_t count, selection selected) {
    const char *name = selected.set        ? selected.set
                       : selected.half < 0 ? "all"
                       : selected.half     ? "reporting"
                                           : "choosing";
    uint32_t vertices = 0, unweighted = 0, characters = 0;
    for (size_t n = 0; n < count; n++)
        if (is_selected(results, n, selected)) {
            vertices += results[n].measures.vertex_count;
            unweighted += results[n].measures.unweighted_count;
            characters++;
        }
    double both[2][NUMBERS];
    for (int n = 0; n < NUMBERS; n++)
        mean_median(results, count, selected, n, &both[0][n], &both[1][n]);
    for (int k = 0; k < 2; k++) {
        printf("| %-12s | %-6s of %-8u | %8u |        | %7u |", name, k ? "median" : "mean", characters, vertices,
               unweighted);
        print_numbers(both[k]);
    }
}

/* ---- Running ----------------------------------------------------------------------------------------------- */

static pelt_result bind_character(pelt_context *context, const bind_bench *b, const pelt_model *artist, outcome *r) {
    size_t joints = artist->skeleton.joint_count;
    rig_details details = {PX_ALLOC(context, double, joints *joints), PX_ALLOC(context, double, joints)};
    pelt_model *model = NULL;
    pelt_result result = details.moved && details.bends ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = bind_loaded(context, b, NULL, r->character, &model, &r->figures);
    if (result == PELT_OK)
        result = rig_compare(context, artist, model, &details, &r->measures);
    if (result == PELT_OK) {
        print_row(r);
        if (b->worst)
            print_worst(&artist->skeleton, &details);
    }
    px_free(context, details.moved);
    px_free(context, details.bends);
    pelt_model_destroy(model);
    return result;
}

/* A file that is not a character leaves no outcome: r->measures.vertex_count is 0. */
static pelt_result run_character(pelt_context *context, const bind_bench *b, const character *c, outcome *r) {
    pelt_model *artist = NULL;
    const char *reason = NULL;
    *r = (outcome){.character = c};
    pelt_result result = character_load(context, c, &artist, &reason);
    if (result == PELT_OK && !reason)
        result = bind_character(context, b, artist, r);
    pelt_model_destroy(artist);
    if (result != PELT_OK)
        printf("failed: %s\n", pelt_error_text(context));
    else if (reason)
        printf("left out: %s: %s\n", c->name, reason);
    return result;
}

int bind_table(pelt_context *context, const bind_bench *b) {
    character_list list = characters_find(b->filter);
    outcome *results = calloc(list.count + 1, sizeof *results);
    size_t count = 0;
    int code = results ? 0 : 1;
    print_head();
    for (size_t c = 0; results && c < list.count; c++) {
        if (run_character(context, b, &list.items[c], &results[count]) != PELT_OK)
            code = 1;
        else
            count += results[count].measures.vertex_count > 0;
    }
    for (size_t n = 0; n < count; n++)
        if (n == 0 || results[n].character->set != results[n - 1].character->set)
            print_summary(results, count, (selection){results[n].character->set, -1});
    for (int half = 0; half < 2 && count > 1; half++)
        print_summary(results, count, (selection){NULL, half});
    if (count)
        print_summary(results, count, (selection){NULL, -1});
    free(results);
    characters_free(&list);
    return code;
}
