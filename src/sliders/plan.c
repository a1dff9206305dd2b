/* Sliders, groups of vertices, and the problem of each group. */
#include "sliders/plan.h"
#include "core/classes.h"
#include "core/math3.h"
#include "core/mesh.h"

#include <math.h>

/* Displacements below this fraction of the mesh's size are taken as 0: rounding of files. */
#define LEAST_MOVE 1e-6

/* ---- Sliders ---------------------------------------------------------------------------------------------- */

pelt_result px_sliders_name(px_arena *arena, const pelt_model *model, const char ***names, uint32_t *count,
                            uint32_t *morph_sliders) {
    const pelt_morph_set *set = &model->morphs;
    *names = PX_NEW(arena, const char *, set->morph_count);
    uint32_t *last = PX_NEW(arena, uint32_t, set->morph_count); /* [slider] joint of its last morph */
    if (!*names || !last)
        return PELT_ERROR_MEMORY;
    *count = 0;
    for (uint32_t m = 0; m < set->morph_count; m++) {
        uint32_t s = 0;
        while (s < *count && (last[s] == set->morphs[m].joint || strcmp((*names)[s], set->morphs[m].name) != 0))
            s++;
        if (s == *count)
            (*names)[(*count)++] = set->morphs[m].name;
        last[s] = set->morphs[m].joint;
        if (morph_sliders)
            morph_sliders[m] = s;
    }
    return PELT_OK;
}

static pelt_result keep_named(px_slider_plan *plan) {
    const char *text = plan->desc.keep, *name;
    size_t length;
    while (text && px_next_name(&text, &name, &length)) {
        bool found = false;
        for (uint32_t s = 0; s < plan->slider_count; s++)
            if (px_is_name(plan->names[s], name, length))
                plan->kept[s] = found = true;
        if (!found)
            return px_fail(plan->context, PELT_ERROR_INPUT, "keep: there is no slider '%.*s'", (int)length, name);
    }
    return PELT_OK;
}

/* ---- Groups ----------------------------------------------------------------------------------------------- */

/* The displacement of a vertex by a morph; NULL: none. */
static const float *moved_by(const pelt_morph *morph, size_t i, double least) {
    if (i < morph->first_vertex || i - morph->first_vertex >= morph->vertex_count)
        return NULL;
    const float *d = morph->positions + 3 * (i - morph->first_vertex);
    return (double)px_dot3(d, d) > least * least ? d : NULL;
}

static pelt_result find_groups(px_slider_plan *plan, double least) {
    const pelt_model *model = plan->model;
    const pelt_skin *skin = &model->skin;
    uint32_t count = plan->classes.count;
    plan->class_groups = PX_NEW(plan->arena, uint32_t, count);
    plan->class_places = PX_NEW(plan->arena, uint32_t, count);
    px_slider_group *groups = plan->groups = PX_NEW(plan->arena, px_slider_group, count);
    if (!plan->class_groups || !plan->class_places || !groups)
        return PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < count; c++) {
        uint32_t i = pelt_class_vertex(&plan->classes, c), m = 0, g = 0;
        while (m < model->morphs.morph_count && !moved_by(&model->morphs.morphs[m], i, least))
            m++;
        plan->class_groups[c] = PELT_NONE;
        if (m == model->morphs.morph_count)
            continue;
        uint32_t host = skin->bones[(size_t)i * skin->influence_count], joint = model->morphs.morphs[m].joint;
        while (g < plan->group_count && (groups[g].host != host || groups[g].joint != joint))
            g++;
        if (g == plan->group_count)
            groups[plan->group_count++] = (px_slider_group){.joint = joint, .host = host};
        plan->class_groups[c] = g;
        plan->class_places[c] = groups[g].vertex_count++;
    }
    for (uint32_t g = 0; g < plan->group_count; g++)
        if (!(groups[g].vertices = PX_NEW(plan->arena, uint32_t, groups[g].vertex_count)))
            return PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < count; c++)
        if (plan->class_groups[c] != PELT_NONE)
            groups[plan->class_groups[c]].vertices[plan->class_places[c]] = c;
    return PELT_OK;
}

pelt_result px_slider_plan_make(px_slider_plan *plan) {
    pelt_model *model = plan->model;
    if (model->morphs.morph_count == 0)
        return px_fail(plan->context, PELT_ERROR_INPUT, "there are no morph targets to make sliders of");
    if (model->skin.bone_count == 0)
        return px_fail(plan->context, PELT_ERROR_INPUT, "the mesh has morph targets, but neither skin nor node");
    if (model->driver_count > 0)
        return px_fail(plan->context, PELT_ERROR_UNSUPPORTED,
                       "morph targets are driven by joints here, so they cannot become sliders");
    PX_TRY(pelt_model_weld(plan->context, model));
    PX_TRY(px_classes_by_weights(plan->arena, &model->mesh, &model->skin, &plan->classes));
    plan->morph_sliders = PX_NEW(plan->arena, uint32_t, model->morphs.morph_count);
    plan->kept = PX_NEW(plan->arena, bool, model->morphs.morph_count);
    if (!plan->morph_sliders || !plan->kept)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_sliders_name(plan->arena, model, &plan->names, &plan->slider_count, plan->morph_sliders));
    PX_TRY(keep_named(plan));
    float low[3], high[3];
    return find_groups(plan, LEAST_MOVE * px_box(model->mesh.positions, model->mesh.vertex_count, low, high));
}

/* ---- Problems --------------------------------------------------------------------------------------------- */

/* Center and radius of a group, and the rows of its vertices. */
static pelt_result gather_points(px_slider_plan *plan, px_slider_group *group, const float *normals) {
    const pelt_mesh *mesh = &plan->model->mesh;
    const pelt_skin *skin = &plan->model->skin;
    px_slider_fit *fit = &group->fit;
    double *points = PX_NEW(plan->arena, double, 4 * PX_SLIDER_ROWS * (size_t)group->vertex_count);
    double *importance = PX_NEW(plan->arena, double, group->vertex_count);
    uint8_t *capacities = PX_NEW(plan->arena, uint8_t, group->vertex_count);
    if (!points || !importance || !capacities)
        return PELT_ERROR_MEMORY;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0;
    for (uint32_t n = 0; n < group->vertex_count; n++)
        for (int a = 0; a < 3; a++) {
            const float *v = mesh->positions + 3 * (size_t)pelt_class_vertex(&plan->classes, group->vertices[n]);
            low[a] = px_fmin(low[a], (double)v[a]);
            high[a] = px_fmax(high[a], (double)v[a]);
        }
    for (int a = 0; a < 3; a++) {
        group->center[a] = 0.5 * (low[a] + high[a]);
        square += 0.25 * (high[a] - low[a]) * (high[a] - low[a]);
    }
    group->radius = square > 0 ? sqrt(square) : 1;
    for (uint32_t n = 0; n < group->vertex_count; n++) {
        size_t i = pelt_class_vertex(&plan->classes, group->vertices[n]);
        double *p = points + 4 * PX_SLIDER_ROWS * n;
        for (size_t a = 0; a < 3; a++) {
            p[a] = ((double)mesh->positions[3 * i + a] - group->center[a]) / group->radius;
            p[4 + a] = plan->desc.normals * (double)normals[3 * i + a];
        }
        p[3] = 1;
        double share = (double)skin->weights[i * skin->influence_count];
        importance[n] = share * share; /* displacements are divided by the share */
        uint32_t others = 0;
        for (size_t k = 1; k < skin->influence_count; k++)
            others += skin->weights[i * skin->influence_count + k] > 0;
        capacities[n] = (uint8_t)(plan->desc.influences > others ? plan->desc.influences - others : 1);
    }
    fit->points = points;
    fit->importance = importance;
    fit->capacities = capacities;
    return PELT_OK;
}

/* Normals [vertex][3] with one morph at 1; `rest`: without. They are those of the morph, or turn with the triangles. */
static pelt_result morphed_normals(px_slider_plan *plan, const pelt_morph *morph, const float *rest, const float *plain,
                                   float *positions, float *normals) {
    const pelt_mesh *mesh = &plan->model->mesh;
    size_t first = morph->first_vertex, count = morph->vertex_count;
    if (morph->normals) {
        for (size_t i = first; i < first + count; i++) {
            double n[3];
            for (size_t a = 0; a < 3; a++)
                n[a] = (double)rest[3 * i + a] + (double)morph->normals[3 * (i - first) + a];
            px_normalize3(n);
            for (size_t a = 0; a < 3; a++)
                normals[3 * i + a] = (float)n[a];
        }
        return PELT_OK;
    }
    memcpy(positions, mesh->positions, 3 * (size_t)mesh->vertex_count * sizeof *positions);
    for (size_t e = 0; e < 3 * count; e++)
        positions[3 * first + e] += morph->positions[e];
    PX_TRY(pelt_mesh_edged_normals(plan->context, mesh, positions, normals));
    for (size_t e = 3 * first; e < 3 * (first + count); e++)
        normals[e] += rest[e] - plain[e];
    return PELT_OK;
}

typedef struct gathering {
    float *rest;      /* [vertex][3] normals at rest */
    float *plain;     /* [vertex][3] of the triangles at rest */
    float *normals;   /* [vertex][3] scratch */
    float *positions; /* [vertex][3] scratch */
    double least;
} gathering;

/* One slider after another: in the first pass counts entries into offsets, in the second writes them. */
static pelt_result gather_entries(px_slider_plan *plan, gathering *g, bool filling) {
    const pelt_model *model = plan->model;
    for (uint32_t s = 0; s < plan->slider_count; s++) {
        PX_TRY(px_cancelled(plan->context));
        for (uint32_t m = 0; m < model->morphs.morph_count && !plan->kept[s]; m++) {
            const pelt_morph *morph = &model->morphs.morphs[m];
            if (plan->morph_sliders[m] != s)
                continue;
            if (filling)
                PX_TRY(morphed_normals(plan, morph, g->rest, g->plain, g->positions, g->normals));
            for (uint32_t c = 0; c < plan->classes.count; c++) {
                size_t i = pelt_class_vertex(&plan->classes, c);
                const float *d = plan->class_groups[c] == PELT_NONE ? NULL : moved_by(morph, i, g->least);
                if (!d || plan->groups[plan->class_groups[c]].joint != morph->joint)
                    continue;
                px_slider_group *group = &plan->groups[plan->class_groups[c]];
                size_t *next = group->fit.offsets + 1 + plan->class_places[c];
                if (!filling) {
                    ++next[1];
                    continue;
                }
                px_slider_entry *entry = &group->fit.entries[(*next)++];
                double share = sqrt(group->fit.importance[plan->class_places[c]]);
                entry->slider = s;
                for (size_t a = 0; a < 3; a++) {
                    entry->rows[0][a] = (float)((double)d[a] / (share * group->radius));
                    entry->rows[1][a] =
                        (float)(plan->desc.normals * (double)(g->normals[3 * i + a] - g->rest[3 * i + a]) / share);
                }
            }
        }
    }
    return PELT_OK;
}

static double group_energy(const px_slider_fit *fit) {
    double sum = 0;
    for (size_t i = 0; i < fit->vertex_count; i++)
        for (size_t e = fit->offsets[i]; e < fit->offsets[i + 1]; e++)
            for (size_t c = 0; c < 3 * PX_SLIDER_ROWS; c++)
                sum += fit->importance[i] * (double)fit->entries[e].rows[c / 3][c % 3] *
                       (double)fit->entries[e].rows[c / 3][c % 3];
    return sum;
}

/* Shares bones and transforms among the groups by the square root of what moves in them; every group gets a bone. */
static pelt_result share_budget(px_slider_plan *plan) {
    uint32_t sliders = 0, groups = plan->group_count, bones_left = plan->desc.bones;
    for (uint32_t s = 0; s < plan->slider_count; s++)
        sliders += !plan->kept[s];
    uint32_t moves_left = plan->desc.moves ? plan->desc.moves : 19 * sliders;
    if (plan->desc.bones < 2 * groups)
        return px_fail(plan->context, PELT_ERROR_INPUT,
                       "bones: %u are too few; morph targets move vertices of %u bones, each of which needs 2",
                       plan->desc.bones, groups);
    double total = 0;
    for (uint32_t g = 0; g < groups; g++)
        total += sqrt(plan->groups[g].fit.energy) * plan->groups[g].radius;
    for (uint32_t g = 0; g < groups; g++) {
        px_slider_fit *fit = &plan->groups[g].fit;
        double part = sqrt(fit->energy) * plan->groups[g].radius, share = total > 0 ? part / total : 1;
        uint32_t spare = bones_left - 2 * (groups - g), bones = 2 + (uint32_t)(share * (double)spare + 0.5);
        if (bones > fit->vertex_count + 1)
            bones = fit->vertex_count + 1;
        fit->bone_count = bones;
        fit->nonzero_count = (uint32_t)(share * (double)moves_left + 0.5);
        total -= part;
        bones_left -= bones;
        moves_left -= fit->nonzero_count;
    }
    return PELT_OK;
}

pelt_result px_slider_plan_gather(px_slider_plan *plan) {
    const pelt_mesh *mesh = &plan->model->mesh;
    size_t floats = 3 * (size_t)mesh->vertex_count;
    float low[3], high[3];
    gathering g = {PX_NEW(plan->arena, float, floats), PX_NEW(plan->arena, float, floats),
                   PX_NEW(plan->arena, float, floats), PX_NEW(plan->arena, float, floats),
                   LEAST_MOVE * px_box(mesh->positions, mesh->vertex_count, low, high)};
    if (!g.rest || !g.plain || !g.normals || !g.positions)
        return PELT_ERROR_MEMORY;
    PX_TRY(pelt_mesh_edged_normals(plan->context, mesh, NULL, g.plain));
    memcpy(g.rest, mesh->normals ? mesh->normals : g.plain, floats * sizeof *g.rest);
    for (uint32_t n = 0; n < plan->group_count; n++) {
        px_slider_group *group = &plan->groups[n];
        group->fit = (px_slider_fit){.context = plan->context,
                                     .arena = plan->arena,
                                     .vertex_count = group->vertex_count,
                                     .slider_count = plan->slider_count,
                                     .influence_count = plan->desc.influences,
                                     .metric = plan->metric};
        PX_TRY(gather_points(plan, group, g.rest));
        if (!(group->fit.offsets = PX_NEW(plan->arena, size_t, (size_t)group->vertex_count + 2)))
            return PELT_ERROR_MEMORY;
    }
    PX_TRY(gather_entries(plan, &g, false));
    for (uint32_t n = 0; n < plan->group_count; n++) {
        px_slider_fit *fit = &plan->groups[n].fit;
        for (size_t i = 0; i <= fit->vertex_count; i++)
            fit->offsets[i + 1] += fit->offsets[i];
        if (!(fit->entries = PX_NEW(plan->arena, px_slider_entry, fit->offsets[(size_t)fit->vertex_count + 1])))
            return PELT_ERROR_MEMORY;
    }
    PX_TRY(gather_entries(plan, &g, true));
    for (uint32_t n = 0; n < plan->group_count; n++)
        plan->groups[n].fit.energy = group_energy(&plan->groups[n].fit);
    return share_budget(plan);
}
