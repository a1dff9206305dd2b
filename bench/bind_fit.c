/* Whether skeletons of the wrong size or direction are detected: every character unchanged, and with its skeleton
 * scaled and rotated about the origin. A row says whether it is reported, and which correction is proposed. */
#include "bind_bench.h"

#include "core/core.h"
#include "core/rotation.h"

#include <pelt/bind.h>
#include <pelt/io.h>

#include <math.h>
#include <stdio.h>

typedef struct alteration {
    double scale;
    int axis;
    double degrees;
} alteration;

static const alteration changes[] = {{1, 0, 0},    {10, 0, 0},    {0.1, 0, 0},      {100, 0, 0},
                                     {0.01, 0, 0}, {2.54, 0, 0},  {1 / 2.54, 0, 0}, {1, 0, 90},
                                     {1, 0, -90},  {0.01, 0, 90}, {100, 0, -90},    {1, 2, 90}};

static void change_skeleton(pelt_model *rig, const alteration *c) {
    px_rotation turn = px_rotation_about(c->axis, c->degrees * acos(-1) / 180);
    for (uint32_t j = 0; j < rig->skeleton.joint_count; j++) {
        pelt_transform *t = &rig->skeleton.rest[j];
        if (rig->skeleton.parents[j] != PELT_NONE)
            continue;
        double from[3] = {t->translation[0], t->translation[1], t->translation[2]}, to[3];
        px_rotation_apply(turn, from, to);
        px_rotation_store(px_rotation_mul(turn, px_rotation_of(t->rotation)), t->rotation);
        for (int a = 0; a < 3; a++) {
            t->translation[a] = (float)(c->scale * to[a]);
            t->scale[a] *= (float)c->scale;
        }
    }
}

static pelt_result measure(pelt_context *context, const character *c, const alteration *change, bool *found,
                           bool *right) {
    pelt_model *model = NULL, *rig = NULL;
    pelt_bind_fit fit = {0};
    pelt_result result = pelt_load(context, (const char *const[]){c->path}, 1, NULL, &model);
    if (result == PELT_OK)
        result = pelt_load(context, (const char *const[]){c->path}, 1, NULL, &rig);
    if (result == PELT_OK) {
        pelt_bind_desc desc = pelt_bind_desc_default();
        change_skeleton(rig, change);
        desc.skeleton = rig;
        result = pelt_bind_measure_fit(context, model, &desc, &fit);
    }
    *found = fit.misfit;
    px_rotation off = px_rotation_mul(px_rotation_of(fit.rotation),
                                      px_rotation_about(change->axis, change->degrees * acos(-1) / 180));
    double angle = 2 * acos(fmin(fabs((double)fit.rotation[3]), 1)) * 180 / acos(-1);
    *right = fabs(fit.scale * change->scale - 1) < 0.1 && fabs(off.q[3]) > 0.999;
    printf("| %-18s | %5.4g | %4.0f %c | %-5s | %7.4g | %4.0f | %3.0f | %3.0f |\n", c->name, change->scale,
           change->degrees, "xyz"[change->axis], fit.misfit ? "wrong" : "fits", fit.scale, angle,
           100 * fit.inside_before, 100 * fit.inside_after);
    pelt_model_destroy(model);
    pelt_model_destroy(rig);
    return result;
}

int bind_fit(pelt_context *context, const bind_bench *b) {
    character_list list = characters_find(b->filter);
    uint32_t counts[PX_COUNT(changes)] = {0}, rights[PX_COUNT(changes)] = {0}, characters = 0;
    int code = 0;
    printf("| character          | scale | turn   | found | mends   | deg  | in  | then |\n"
           "|--------------------|------:|-------:|-------|--------:|-----:|----:|-----:|\n");
    for (size_t c = 0; c < list.count; c++) {
        pelt_model *model = NULL;
        const char *reason = NULL;
        bool wanted = character_load(context, &list.items[c], &model, &reason) == PELT_OK && !reason;
        pelt_model_destroy(model);
        characters += wanted;
        for (size_t k = 0; wanted && k < PX_COUNT(changes); k++) {
            bool found, right;
            if (measure(context, &list.items[c], &changes[k], &found, &right) != PELT_OK) {
                printf("failed: %s: %s\n", list.items[c].name, pelt_error_text(context));
                code = 1;
                continue;
            }
            counts[k] += found;
            rights[k] += found && right;
        }
    }
    printf("\n| skeleton scaled by | turned | characters | called wrong | corrected by that factor and turn |\n"
           "|---:|---:|---:|---:|---:|\n");
    for (size_t k = 0; k < PX_COUNT(changes); k++) {
        printf("| %.3g |", changes[k].scale);
        if (changes[k].degrees != 0)
            printf(" %.0f° about %c", changes[k].degrees, "xyz"[changes[k].axis]);
        printf(" | %u | %u | %u |\n", characters, counts[k], rights[k]);
    }
    characters_free(&list);
    return code;
}
