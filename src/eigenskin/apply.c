/* Adds modes to the model: morphs, drivers, and weight tracks of motions. */
#include "core/morphs.h"
#include "eigenskin/eigenskin.h"

#include <stdio.h>

/* Displacements below this fraction of the size are set to 0: positions are floats. Zeros take no space in sparse
 * files. */
#define MIN_DISPLACEMENT 0x1p-24

typedef struct morph_source {
    uint32_t bend, mode;
} morph_source;

typedef struct apply_work {
    px_eigenskin *e;
    px_morph_group *groups;
    uint32_t group_count;
    uint32_t *widths; /* [group] number of morphs of its joint, including the new ones */
    uint32_t added_count;
    pelt_morph *added;     /* [added] */
    morph_source *sources; /* [added] */
    uint32_t *places;      /* [added] index in `morphs` */
    pelt_morph_set morphs; /* old and added morphs of the model */
    pelt_driver *drivers;  /* [driver] old ones first */
    uint32_t driver_count;
    pelt_motion *motions; /* [motion] */
} apply_work;

/* ---- Morphs ----------------------------------------------------------------------------------------------- */

/* Writes the displacements of one mode, rows [row, row + 3), to out [class][3]. */
static void spread_mode(const px_eigenskin *e, const px_bend *bend, uint32_t mode, size_t row, double *out) {
    memset(out, 0, 3 * e->classes.count * sizeof *out);
    for (size_t n = 0; n < bend->share_count; n++) {
        uint32_t share = bend->shares[n];
        const double *modes = e->modes + (size_t)share * e->width * e->desc.modes;
        double scale = row == 0 ? e->scales[e->share_classes[share]] : 1;
        for (size_t a = 0; a < 3; a++)
            out[3 * (size_t)e->share_classes[share] + a] = modes[(row + a) * e->desc.modes + mode] / scale;
    }
}

/* Returns the range of a group's vertices that a mode displaces; vertex_count 0: none. */
static px_morph_group reached(const px_eigenskin *e, const px_morph_group *group, const double *places) {
    px_morph_group out = {.joint = group->joint};
    for (uint32_t i = group->first_vertex; i < group->first_vertex + group->vertex_count; i++) {
        if (!(px_length3(places + 3 * (size_t)pelt_vertex_class(&e->classes, i)) > MIN_DISPLACEMENT * e->size))
            continue;
        out.first_vertex = out.vertex_count ? out.first_vertex : i;
        out.vertex_count = i + 1 - out.first_vertex;
    }
    return out;
}

static const char *mode_name(const px_eigenskin *e, const px_bend *bend, uint32_t mode) {
    const char *joint = e->model->skeleton.names[bend->joint];
    px_buffer text = {.context = e->context};
    if (bend->with != PELT_NONE)
        px_buffer_format(&text, "%s and %s mode %u", joint, e->model->skeleton.names[bend->with], mode + 1);
    else if (*joint)
        px_buffer_format(&text, "%s mode %u", joint, mode + 1);
    else
        px_buffer_format(&text, "joint %u mode %u", bend->joint, mode + 1);
    const char *name = text.failed ? NULL : px_arena_text(e->model->memory, text.data, text.size);
    px_buffer_free(&text);
    return name;
}

/* Makes the morphs of one mode for all groups. `places` and `normals` [class][3]: scratch; normals NULL: no normals. */
static pelt_result make_morphs(apply_work *w, uint32_t bend, uint32_t mode, double *places, double *normals) {
    px_eigenskin *e = w->e;
    const char *name = mode_name(e, &e->bends[bend], mode);
    if (!name)
        return PELT_ERROR_MEMORY;
    spread_mode(e, &e->bends[bend], mode, 0, places);
    if (normals)
        spread_mode(e, &e->bends[bend], mode, 3, normals);
    for (uint32_t g = 0; g < w->group_count; g++) {
        px_morph_group run = reached(e, &w->groups[g], places);
        if (run.vertex_count == 0)
            continue;
        pelt_morph *morph = &w->added[w->added_count];
        *morph = (pelt_morph){.name = name,
                              .joint = run.joint,
                              .index = w->widths[g]++,
                              .first_vertex = run.first_vertex,
                              .vertex_count = run.vertex_count};
        w->sources[w->added_count++] = (morph_source){bend, mode};
        morph->positions = px_morph_spread(e->model->memory, &run, &e->classes, places, 1, MIN_DISPLACEMENT * e->size);
        if (normals)
            morph->normals = px_morph_spread(e->model->memory, &run, &e->classes, normals, 1, MIN_DISPLACEMENT);
        if (!morph->positions || (normals && !morph->normals))
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

static pelt_result make_all_morphs(apply_work *w) {
    px_eigenskin *e = w->e;
    size_t floats = 3 * (size_t)e->classes.count, most = 0;
    for (uint32_t j = 0; j < e->bend_count; j++)
        most += (size_t)e->bends[j].mode_count * w->group_count;
    double *places = PX_NEW(e->scratch, double, floats);
    double *normals = e->desc.normals ? PX_NEW(e->scratch, double, floats) : NULL;
    w->added = PX_NEW(e->scratch, pelt_morph, most);
    w->sources = PX_NEW(e->scratch, morph_source, most);
    w->places = PX_NEW(e->scratch, uint32_t, most);
    w->widths = PX_NEW(e->scratch, uint32_t, w->group_count);
    if (!places || (e->desc.normals && !normals) || !w->added || !w->sources || !w->places || !w->widths)
        return PELT_ERROR_MEMORY;
    for (uint32_t g = 0; g < w->group_count; g++)
        w->widths[g] = w->groups[g].old_count;
    for (uint32_t j = 0; j < e->bend_count; j++)
        for (uint32_t n = 0; n < e->bends[j].mode_count; n++)
            PX_TRY(make_morphs(w, j, n, places, normals));
    PX_TRY(px_morphs_with(e->model, w->added, w->added_count, &w->morphs));
    for (uint32_t m = 0; m < w->added_count; m++)
        w->places[m] = px_morph_find(&w->morphs, w->added[m].joint, w->added[m].index);
    return PELT_OK;
}

/* ---- Drivers ---------------------------------------------------------------------------------------------- */

static pelt_result make_driver(const apply_work *w, uint32_t bend, const px_part *part, pelt_driver *driver) {
    const px_eigenskin *e = w->e;
    const px_bend *b = &e->bends[bend];
    size_t centres = part->centre_count, first = part->first_centre;
    uint32_t *morphs = PX_NEW(e->model->memory, uint32_t, w->added_count);
    float *centre_copy = PX_NEW(e->model->memory, float, 4 * centres);
    float *coefficients = PX_NEW(e->model->memory, float, px_mul_size(w->added_count, centres + 1));
    if (!morphs || !centre_copy || !coefficients)
        return PELT_ERROR_MEMORY;
    memcpy(centre_copy, b->centres + 4 * first, 4 * centres * sizeof *centre_copy);
    uint32_t count = 0;
    for (uint32_t m = 0; m < w->added_count; m++) {
        if (w->sources[m].bend != bend)
            continue;
        const double *from = b->coefficients + (size_t)w->sources[m].mode * b->centre_count + first;
        float *row = coefficients + count * (centres + 1);
        double constant = 0;
        for (size_t c = 0; c < centres; c++) {
            row[c] = (float)from[c];
            constant -= (double)row[c] * b->rest[first + c];
        }
        row[centres] = (float)constant;
        morphs[count++] = w->places[m];
    }
    *driver = (pelt_driver){.joint = b->joint,
                            .relative = b->against != PELT_NONE,
                            .against = b->against != PELT_NONE ? b->against : 0,
                            .part = part->part,
                            .kernel = e->kernel,
                            .radius = (float)b->radius,
                            .centre_count = (uint32_t)centres,
                            .centres = centre_copy,
                            .morph_count = count,
                            .morphs = morphs,
                            .coefficients = coefficients};
    if (part->part != PELT_ROTATION_WHOLE)
        memcpy(driver->axis, part->axis, sizeof driver->axis);
    return PELT_OK;
}

static pelt_result make_drivers(apply_work *w) {
    const px_eigenskin *e = w->e;
    uint32_t old_count = e->model->driver_count;
    pelt_driver *old;
    PX_TRY(px_drivers_follow(e->model->memory, e->model, &w->morphs, &old));
    w->drivers = PX_NEW(e->model->memory, pelt_driver, old_count + 2 * (size_t)e->bend_count);
    if (!w->drivers)
        return PELT_ERROR_MEMORY;
    if (old_count)
        memcpy(w->drivers, old, old_count * sizeof *w->drivers);
    w->driver_count = old_count;
    for (uint32_t j = 0; j < e->bend_count; j++)
        for (uint32_t n = 0; e->bends[j].mode_count && n < e->bends[j].part_count; n++)
            PX_TRY(make_driver(w, j, &e->bends[j].parts[n], &w->drivers[w->driver_count++]));
    return PELT_OK;
}

/* ---- Motions ---------------------------------------------------------------------------------------------- */

/* Makes `motions` of the model, which already has the new morphs and drivers; the first `old_count` drivers are old. */
static pelt_result make_motions(apply_work *w, uint32_t old_count) {
    px_eigenskin *e = w->e;
    const pelt_model *model = e->model;
    if (!(w->motions = PX_NEW(model->memory, pelt_motion, model->motion_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->motion_count; m++) {
        pelt_motion *motion = &w->motions[m];
        PX_TRY(px_motion_extend(model->memory, &model->motions[m], 0, motion));
        for (uint32_t g = 0; g < w->group_count; g++) {
            pelt_track *track = px_weights_track(motion, w->groups[g].joint);
            if (track && track->width != w->widths[g])
                PX_TRY(px_weights_widen(model->memory, w->widths[g], track));
        }
        PX_TRY(px_motion_drive(e->context, e->scratch, model, old_count, motion, motion));
    }
    return PELT_OK;
}

pelt_result px_eigenskin_apply(px_eigenskin *e) {
    apply_work w = {.e = e};
    pelt_model *model = e->model;
    PX_TRY(px_morph_groups_find(e->scratch, model, &w.groups, &w.group_count));
    PX_TRY(make_all_morphs(&w));
    if (w.added_count == 0)
        return PELT_OK;
    PX_TRY(make_drivers(&w));
    const pelt_morph_set kept = model->morphs;
    uint32_t driver_count = model->driver_count;
    model->morphs = w.morphs;
    model->drivers = w.drivers;
    model->driver_count = w.driver_count;
    PX_TRY(make_motions(&w, driver_count));
    model->motions = w.motions;
    PX_TRY(px_morphs_fit_range(e->scratch, &kept, "mode offset", model));
    model->mesh.weld = (pelt_vertex_classes){0}; /* welding depends on morphs */
    model->changed |= PELT_CHANGED_MORPHS | PELT_CHANGED_DRIVERS | (model->motion_count ? PELT_CHANGED_MOTIONS : 0);
    e->morph_count = w.added_count;
    return PELT_OK;
}
