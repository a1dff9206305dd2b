/* How long it takes to apply other settings to an existing binding: a bent tube of 50,000 vertices with 60 joints. */
#include "bind_bench.h"

#include "core/core.h"

#include <pelt/bind.h>

#include <math.h>
#include <stdio.h>
#include <time.h>

#define RINGS  1000u
#define AROUND 50u
#define JOINTS 60u
#define RUNS   9

static void put_rings(pelt_mesh *mesh) {
    for (uint32_t i = 0; i < RINGS * AROUND; i++) {
        double along = (double)(i / AROUND) / (RINGS - 1), angle = 2 * 3.14159265358979323846 * (i % AROUND) / AROUND;
        float *p = mesh->positions + 3 * (size_t)i;
        p[0] = (float)(10 * along);
        p[1] = (float)(sin(6 * along) + 0.3 * cos(angle));
        p[2] = (float)(0.3 * sin(angle));
    }
    for (uint32_t i = 0; i < (RINGS - 1) * AROUND; i++) {
        uint32_t next = i % AROUND == AROUND - 1 ? i + 1 - AROUND : i + 1;
        const uint32_t corners[6] = {i, next, next + AROUND, i, next + AROUND, i + AROUND};
        memcpy(mesh->triangles + 6 * (size_t)i, corners, sizeof corners);
    }
}

static pelt_result make_tube(pelt_context *context, pelt_model *model) {
    pelt_mesh *mesh = &model->mesh;
    pelt_skeleton *s = &model->skeleton;
    mesh->vertex_count = mesh->points.count = RINGS * AROUND;
    mesh->triangle_count = mesh->polygon_count = 2 * (RINGS - 1) * AROUND;
    mesh->positions = pelt_model_alloc(context, model, 3 * (size_t)mesh->vertex_count, sizeof(float));
    mesh->triangles = pelt_model_alloc(context, model, 3 * (size_t)mesh->triangle_count, sizeof(uint32_t));
    s->joint_count = JOINTS;
    s->names = pelt_model_alloc(context, model, JOINTS, sizeof *s->names);
    s->parents = pelt_model_alloc(context, model, JOINTS, sizeof *s->parents);
    s->rest = pelt_model_alloc(context, model, JOINTS, sizeof *s->rest);
    if (!mesh->positions || !mesh->triangles || !s->names || !s->parents || !s->rest)
        return PELT_ERROR_MEMORY;
    put_rings(mesh);
    double before[2] = {0, 0};
    for (uint32_t j = 0; j < JOINTS; j++) {
        char name[16];
        double at[2] = {10.0 * j / JOINTS, sin(6.0 * j / JOINTS)};
        snprintf(name, sizeof name, "joint_%02u", j);
        if (!(s->names[j] = pelt_model_text(context, model, name)))
            return PELT_ERROR_MEMORY;
        s->parents[j] = j ? j - 1 : PELT_NONE;
        s->rest[j] =
            (pelt_transform){{(float)(at[0] - before[0]), (float)(at[1] - before[1]), 0}, {0, 0, 0, 1}, {1, 1, 1}};
        memcpy(before, at, sizeof at);
    }
    return PELT_OK;
}

static pelt_result print_settings(pelt_context *context, pelt_model *model, uint32_t method) {
    static const char *const names[] = {"as made",      "falloff 0.3",    "a joint excluded",
                                        "8 influences", "smoothed twice", "mirrored"};
    pelt_bind_desc usual = pelt_bind_desc_default();
    pelt_binding *binding;
    usual.method = method;
    PX_TRY(pelt_binding_create(context, model, &usual, &binding));
    pelt_result result = PELT_OK;
    for (size_t n = 0; n < PX_COUNT(names) && result == PELT_OK; n++) {
        pelt_bind_desc desc = usual;
        double least = INFINITY, least_work = INFINITY;
        desc.falloff = n == 1 ? 0.3 : desc.falloff;
        desc.exclude = n == 2 ? "joint_07" : NULL;
        desc.influences = n == 3 ? 8 : desc.influences;
        desc.smooth = n == 4 ? 2 : 0;
        desc.mirror = n == 5 ? PELT_BIND_MIRROR_Z : PELT_BIND_MIRROR_OFF;
        for (int run = 0; run < RUNS && result == PELT_OK; run++) {
            clock_t start = clock();
            result = pelt_binding_apply(binding, &desc);
            least_work = fmin(least_work, (double)(clock() - start) / CLOCKS_PER_SEC);
            least = fmin(least, pelt_binding_report(binding).seconds_weights);
        }
        if (result == PELT_OK)
            printf("| %-8s | %-16s | %8.1f | %12.1f |\n", method == PELT_BIND_HEAT ? "heat" : "geodesic", names[n],
                   1e3 * least, 1e3 * least_work);
    }
    pelt_binding_destroy(binding);
    return result;
}

int bind_apply(pelt_context *context, const bind_bench *b) {
    (void)b;
    pelt_model *model = NULL;
    printf("Milliseconds until other settings are weights: %u vertices, %u joints, %u threads; best of %d\n"
           "| method   | settings         |       ms | of all cores "
           "|\n|----------|------------------|---------:|-------------:|\n",
           RINGS * AROUND, JOINTS, px_thread_count(context), RUNS);
    pelt_result result = pelt_model_create(context, &model);
    if (result == PELT_OK)
        result = make_tube(context, model);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_GEODESIC && result == PELT_OK; method++)
        result = print_settings(context, model, method);
    if (result != PELT_OK)
        printf("failed: %s\n", pelt_error_text(context));
    pelt_model_destroy(model);
    return result == PELT_OK ? 0 : 1;
}
