/* Validates the invariants of pelt/model.h: every index, count, order and range, and that all numbers that determine
 * positions are finite. Lengths of normals and tangents are not checked: no code relies on them. Model files may be
 * hostile, and all later code relies on this check. Clip positions are not read (they may be far larger than memory).
 */
#include "core/core.h"
#include "core/driver.h"
#include "core/slider.h"

#include <math.h>

/* A skin's weights may be off by the rounding of a reader's division, quantised files by more. */
#define WEIGHT_SUM_TOLERANCE 1e-3
/* Rotations and axes of files are rounded floats or 16-bit integers. */
#define UNIT_TOLERANCE 1e-3

#define WRONG(...) return px_fail(context, PELT_ERROR_INPUT, __VA_ARGS__)

/* ---- Whole arrays, in a form compilers vectorise ---------------------------------------------------------- */

#define SCAN_BLOCK ((size_t)4096)

/* The index of the first number that is not finite, or SIZE_MAX. */
static size_t find_not_finite(const float *values, size_t count) {
    for (size_t first = 0; first < count; first += SCAN_BLOCK) {
        size_t end = first + px_min_size(SCAN_BLOCK, count - first);
        uint32_t bad = 0;
        for (size_t v = first; v < end; v++)
            bad |= (px_float_bits(values[v]) & UINT32_C(0x7F800000)) == UINT32_C(0x7F800000);
        for (size_t v = first; bad && v < end; v++)
            if (!isfinite(values[v]))
                return v;
    }
    return SIZE_MAX;
}

/* The index of the first value ≥ limit, or SIZE_MAX. */
static size_t find_too_large(const uint32_t *values, size_t count, uint32_t limit) {
    for (size_t first = 0; first < count; first += SCAN_BLOCK) {
        size_t end = first + px_min_size(SCAN_BLOCK, count - first);
        uint32_t bad = 0;
        for (size_t v = first; v < end; v++)
            bad |= values[v] >= limit;
        for (size_t v = first; bad && v < end; v++)
            if (values[v] >= limit)
                return v;
    }
    return SIZE_MAX;
}

/* The index of the first time that is not finite or before (strictly: or at) the one in front of it, or SIZE_MAX. */
static size_t find_time_disorder(const float *times, size_t count, bool strictly) {
    for (size_t k = 0; k < count; k++)
        if (!isfinite(times[k]) || (k && (strictly ? times[k] <= times[k - 1] : times[k] < times[k - 1])))
            return k;
    return SIZE_MAX;
}

static double vector_length(const float *values, int count) {
    double length2 = 0;
    for (int c = 0; c < count; c++)
        length2 += (double)values[c] * (double)values[c];
    return sqrt(length2);
}

/* ---- Mesh ------------------------------------------------------------------------------------------------- */

/* `field` is the mesh's, for messages. */
static pelt_result check_classes(pelt_context *context, const pelt_vertex_classes *classes, uint32_t vertex_count,
                                 const char *field) {
    if (!classes->of != !classes->first)
        WRONG("mesh.%s: 'of' and 'first' come together, or not at all", field);
    if (!classes->of && classes->count != vertex_count)
        WRONG("mesh.%s: %u classes for %u vertices, without a map between them", field, classes->count, vertex_count);
    if (!classes->of)
        return PELT_OK;
    if (classes->count > vertex_count)
        WRONG("mesh.%s: %u classes but only %u vertices; every class needs a vertex", field, classes->count,
              vertex_count);
    size_t bad = find_too_large(classes->of, vertex_count, classes->count);
    if (bad != SIZE_MAX)
        WRONG("mesh.%s: vertex %zu is of class %u of %u", field, bad, classes->of[bad], classes->count);
    for (uint32_t c = 0; c < classes->count; c++)
        if (classes->first[c] >= vertex_count || classes->of[classes->first[c]] != c)
            WRONG("mesh.%s: the first vertex of class %u is %u, which is not of that class", field, c,
                  classes->first[c]);
    for (uint32_t i = 0; i < vertex_count; i++)
        if (classes->first[classes->of[i]] > i)
            WRONG("mesh.%s: the first vertex of class %u is %u, not %u", field, classes->of[i], i,
                  classes->first[classes->of[i]]);
    return PELT_OK;
}

/* Polygons ascend, and each is a fan around its first vertex. */
static pelt_result check_polygons(pelt_context *context, const pelt_mesh *mesh) {
    const uint32_t *polygons = mesh->triangle_polygons;
    if (!polygons) {
        if (mesh->polygon_count != mesh->triangle_count)
            WRONG("mesh: %u polygons for %u triangles, without a map between them", mesh->polygon_count,
                  mesh->triangle_count);
        return PELT_OK;
    }
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corners = mesh->triangles + 3 * t;
        if (polygons[t] >= mesh->polygon_count)
            WRONG("triangle %zu: is of polygon %u of %u", t, polygons[t], mesh->polygon_count);
        if (t == 0 || polygons[t] > polygons[t - 1])
            continue;
        if (polygons[t] < polygons[t - 1])
            WRONG("triangle %zu: its polygon %u comes before the last one, %u", t, polygons[t], polygons[t - 1]);
        if (corners[0] != corners[-3] || corners[1] != corners[-1])
            WRONG("triangle %zu: does not continue the fan of polygon %u", t, polygons[t]);
    }
    return PELT_OK;
}

static pelt_result check_parts(pelt_context *context, const pelt_model *model) {
    const pelt_mesh *mesh = &model->mesh;
    if (mesh->part_count == 0)
        return PELT_OK;
    if (!mesh->parts)
        WRONG("mesh: %u parts, but no list of them", mesh->part_count);
    uint64_t next = 0;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        if (!part->name)
            WRONG("part %u: has no name", p);
        if (part->first_triangle != next)
            WRONG("part %u: begins at triangle %u, should at %llu where the last one ends", p, part->first_triangle,
                  (unsigned long long)next);
        next += part->triangle_count;
        if ((uint64_t)part->first_vertex + part->vertex_count > mesh->vertex_count)
            WRONG("part %u: has vertices %u to %llu of %u", p, part->first_vertex,
                  (unsigned long long)part->first_vertex + part->vertex_count, mesh->vertex_count);
        if (part->joint != PELT_NONE && part->joint >= model->skeleton.joint_count)
            WRONG("part %u: hangs from joint %u of %u", p, part->joint, model->skeleton.joint_count);
    }
    if (next != mesh->triangle_count)
        WRONG("mesh: its parts have %llu triangles, the mesh %u", (unsigned long long)next, mesh->triangle_count);
    return PELT_OK;
}

static pelt_result check_weld(pelt_context *context, const pelt_mesh *mesh) {
    const pelt_vertex_classes *weld = &mesh->weld;
    if (!weld->of && !weld->first && weld->count == 0)
        return PELT_OK; /* not computed yet */
    PX_TRY(check_classes(context, weld, mesh->vertex_count, "weld"));
    for (uint32_t c = 1; weld->of && c < weld->count; c++)
        if (weld->first[c] < weld->first[c - 1])
            WRONG("mesh.weld: class %u appears before class %u", c, c - 1);
    return PELT_OK;
}

static pelt_result check_mesh(pelt_context *context, const pelt_model *model) {
    const pelt_mesh *mesh = &model->mesh;
    if (mesh->vertex_count == PELT_NONE)
        WRONG("mesh: more than %u vertices", PELT_NONE - 1);
    if ((mesh->vertex_count && !mesh->positions) || (mesh->triangle_count && !mesh->triangles))
        WRONG("mesh: %u vertices and %u triangles, but the %s are missing", mesh->vertex_count, mesh->triangle_count,
              mesh->vertex_count && !mesh->positions ? "positions" : "triangles");
    size_t bad = find_not_finite(mesh->positions, 3 * (size_t)mesh->vertex_count);
    if (bad != SIZE_MAX)
        WRONG("vertex %zu: its position is not finite", bad / 3);
    bad = find_too_large(mesh->triangles, 3 * (size_t)mesh->triangle_count, mesh->vertex_count);
    if (bad != SIZE_MAX)
        WRONG("triangle %zu: refers to vertex %u of %u", bad / 3, mesh->triangles[bad], mesh->vertex_count);
    PX_TRY(check_classes(context, &mesh->points, mesh->vertex_count, "points"));
    PX_TRY(check_polygons(context, mesh));
    PX_TRY(check_parts(context, model));
    return check_weld(context, mesh);
}

/* ---- Clips, skeleton, motions ----------------------------------------------------------------------------- */

static pelt_result check_clips(pelt_context *context, const pelt_model *model) {
    if (model->clip_count && !model->clips)
        WRONG("model: %u clips, but no list of them", model->clip_count);
    for (uint32_t c = 0; c < model->clip_count; c++) {
        const pelt_clip *clip = &model->clips[c];
        if (!clip->name)
            WRONG("clip %u: has no name", c);
        if (clip->point_count != model->mesh.points.count)
            WRONG("clip %u: has %u points, the mesh %u", c, clip->point_count, model->mesh.points.count);
        if (clip->frame_count == 0)
            continue;
        if (!clip->times)
            WRONG("clip %u: has %u frames, but no times", c, clip->frame_count);
        if (!clip->positions && !clip->source.read && clip->point_count)
            WRONG("clip %u: has neither positions nor a source of them", c);
        size_t bad = find_time_disorder(clip->times, clip->frame_count, false);
        if (bad != SIZE_MAX)
            WRONG("clip %u: the time of frame %zu, %g, is not finite or before the frame in front of it", c, bad,
                  (double)clip->times[bad]);
    }
    return PELT_OK;
}

static pelt_result check_skeleton(pelt_context *context, const pelt_skeleton *skeleton) {
    if (skeleton->joint_count && (!skeleton->names || !skeleton->parents || !skeleton->rest))
        WRONG("skeleton: %u joints, but their names, parents or rest transforms are missing", skeleton->joint_count);
    if (skeleton->joint_count == PELT_NONE)
        WRONG("skeleton: more than %u joints", PELT_NONE - 1);
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        const pelt_transform *rest = &skeleton->rest[j];
        if (!skeleton->names[j])
            WRONG("joint %u: has no name", j);
        if (skeleton->parents[j] != PELT_NONE && skeleton->parents[j] >= j)
            WRONG("joint %u: its parent, %u, must come before it", j, skeleton->parents[j]);
        double length = vector_length(rest->rotation, 4);
        if (find_not_finite(rest->translation, 3) != SIZE_MAX || find_not_finite(rest->scale, 3) != SIZE_MAX)
            WRONG("joint %u: its translation or scale is not finite", j);
        if (!(fabs(length - 1) <= UNIT_TOLERANCE))
            WRONG("joint %u: its rotation has length %g, should have 1", j, length);
    }
    return PELT_OK;
}

/* How many weights a joint's morphs need: morphs are sorted, so that the last one of the joint has the largest. */
static uint64_t weight_count(const pelt_morph_set *set, uint32_t joint) {
    uint32_t low = 0, high = set->morph_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->morphs[middle].joint <= joint)
            low = middle + 1;
        else
            high = middle;
    }
    return low && set->morphs[low - 1].joint == joint ? (uint64_t)set->morphs[low - 1].index + 1 : 0;
}

static pelt_result check_track(pelt_context *context, const pelt_model *model, uint32_t m, uint32_t t) {
    static const uint32_t widths[] = {
        [PELT_PATH_TRANSLATION] = 3, [PELT_PATH_ROTATION] = 4, [PELT_PATH_SCALE] = 3, [PELT_PATH_WEIGHTS] = 0};
    const pelt_track *track = &model->motions[m].tracks[t];
    if (track->joint >= model->skeleton.joint_count)
        WRONG("motion %u track %u: moves joint %u of %u", m, t, track->joint, model->skeleton.joint_count);
    if ((unsigned)track->path > PELT_PATH_WEIGHTS || (unsigned)track->interpolation > PELT_INTERPOLATION_CUBIC)
        WRONG("motion %u track %u: unknown property or interpolation", m, t);
    if (track->key_count == 0 || !track->times || !track->values)
        WRONG("motion %u track %u: has no keys", m, t);
    if (track->path != PELT_PATH_WEIGHTS && track->width != widths[track->path])
        WRONG("motion %u track %u: has %u numbers per key, should have %u", m, t, track->width, widths[track->path]);
    /* More weights than morphs do no harm: files have morphs that move nothing. */
    if (track->path == PELT_PATH_WEIGHTS &&
        (!track->width || track->width < weight_count(&model->morphs, track->joint)))
        WRONG("motion %u track %u: has %u morph weights, joint %u needs %llu", m, t, track->width, track->joint,
              (unsigned long long)weight_count(&model->morphs, track->joint));
    size_t bad = find_time_disorder(track->times, track->key_count, true);
    if (bad != SIZE_MAX)
        WRONG("motion %u track %u: the time of key %zu, %g, is not finite or not after the key in front of it", m, t,
              bad, (double)track->times[bad]);
    size_t per_key = (size_t)track->width * (track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 : 1);
    bad = find_not_finite(track->values, per_key * track->key_count);
    if (bad != SIZE_MAX)
        WRONG("motion %u track %u: the value of key %zu is not finite", m, t, bad / per_key);
    return PELT_OK;
}

static pelt_result check_motions(pelt_context *context, const pelt_model *model) {
    if (model->motion_count && !model->motions)
        WRONG("model: %u motions, but no list of them", model->motion_count);
    for (uint32_t m = 0; m < model->motion_count; m++) {
        const pelt_motion *motion = &model->motions[m];
        if (!motion->name)
            WRONG("motion %u: has no name", m);
        if (motion->track_count && !motion->tracks)
            WRONG("motion %u: %u tracks, but no list of them", m, motion->track_count);
        float start = INFINITY, end = -INFINITY;
        for (uint32_t t = 0; t < motion->track_count; t++) {
            const pelt_track *track = &motion->tracks[t];
            PX_TRY(check_track(context, model, m, t));
            start = px_fminf(start, track->times[0]);
            end = px_fmaxf(end, track->times[track->key_count - 1]);
        }
        bool kept = motion->track_count
                        ? motion->start == start && motion->end == end
                        : isfinite(motion->start) && motion->start <= motion->end && isfinite(motion->end);
        if (!kept)
            WRONG("motion %u: says it goes from %g to %g s, its keys do not", m, (double)motion->start,
                  (double)motion->end);
    }
    return PELT_OK;
}

/* ---- Skin, morphs, drivers, sliders ----------------------------------------------------------------------- */

static pelt_result check_weights(pelt_context *context, const pelt_skin *skin, uint32_t vertex_count) {
    uint32_t influence_count = skin->influence_count;
    for (uint32_t i = 0; i < vertex_count; i++) {
        const uint16_t *bones = skin->bones + (size_t)i * influence_count;
        const float *weights = skin->weights + (size_t)i * influence_count;
        double sum = 0;
        for (uint32_t k = 0; k < influence_count; k++) {
            if (bones[k] >= skin->bone_count)
                WRONG("vertex %u: refers to bone %u of %u", i, bones[k], skin->bone_count);
            if (!(weights[k] >= 0))
                WRONG("vertex %u: its weight %u is %g, should not be below 0", i, k, (double)weights[k]);
            if (k && weights[k] > weights[k - 1])
                WRONG("vertex %u: its weights are not sorted, largest first", i);
            sum += (double)weights[k];
        }
        if (!(fabs(sum - 1) <= WEIGHT_SUM_TOLERANCE))
            WRONG("vertex %u: its weights sum to %g, should to 1", i, sum);
    }
    return PELT_OK;
}

static pelt_result check_skin(pelt_context *context, const pelt_model *model) {
    const pelt_skin *skin = &model->skin;
    if (skin->bone_count == 0)
        return PELT_OK;
    if (skin->bone_count > 65535)
        WRONG("skin: %u bones; at most 65535 can be used", skin->bone_count);
    if (skin->influence_count < 1 || skin->influence_count > PELT_MAX_INFLUENCES)
        WRONG("skin: %u influences per vertex; 1 to %u can be used", skin->influence_count, PELT_MAX_INFLUENCES);
    if (!skin->bone_joints || !skin->inverse_binds || (model->mesh.vertex_count && (!skin->bones || !skin->weights)))
        WRONG("skin: its joints, inverse bind matrices, bones or weights are missing");
    size_t bad = find_too_large(skin->bone_joints, skin->bone_count, model->skeleton.joint_count);
    if (bad != SIZE_MAX)
        WRONG("bone %zu: refers to joint %u of %u", bad, skin->bone_joints[bad], model->skeleton.joint_count);
    for (uint32_t b = 0; b < skin->bone_count; b++)
        if (find_not_finite(skin->inverse_binds[b].m, 12) != SIZE_MAX)
            WRONG("bone %u: its inverse bind matrix is not finite", b);
    return check_weights(context, skin, model->mesh.vertex_count);
}

static pelt_result check_morphs(pelt_context *context, const pelt_model *model) {
    const pelt_morph_set *set = &model->morphs;
    if (set->morph_count && !set->morphs)
        WRONG("model: %u morphs, but no list of them", set->morph_count);
    for (uint32_t m = 0; m < set->morph_count; m++) {
        const pelt_morph *morph = &set->morphs[m], *last = m ? morph - 1 : NULL;
        if (!morph->name)
            WRONG("morph %u: has no name", m);
        if (morph->joint >= model->skeleton.joint_count)
            WRONG("morph %u: belongs to joint %u of %u", m, morph->joint, model->skeleton.joint_count);
        if (last && (last->joint > morph->joint || (last->joint == morph->joint && last->index > morph->index)))
            WRONG("morph %u: is not sorted by joint and index", m);
        if ((uint64_t)morph->first_vertex + morph->vertex_count > model->mesh.vertex_count)
            WRONG("morph %u: moves vertices %u to %llu of %u", m, morph->first_vertex,
                  (unsigned long long)morph->first_vertex + morph->vertex_count, model->mesh.vertex_count);
        if (!isfinite(morph->weight))
            WRONG("morph %u: its weight is not finite", m);
        if (morph->vertex_count && !morph->positions)
            WRONG("morph %u: has no displacements", m);
        size_t bad = find_not_finite(morph->positions, 3 * (size_t)morph->vertex_count);
        if (bad != SIZE_MAX)
            WRONG("morph %u: the displacement of vertex %zu is not finite", m, morph->first_vertex + bad / 3);
    }
    return PELT_OK;
}

/* True when a joint is another one or below it. */
static bool is_below(const pelt_skeleton *skeleton, uint32_t joint, uint32_t other) {
    while (joint != PELT_NONE && joint > other)
        joint = skeleton->parents[joint];
    return joint == other;
}

static pelt_result check_driver(pelt_context *context, const pelt_model *model, uint32_t d) {
    const pelt_driver *driver = &model->drivers[d];
    if (driver->joint >= model->skeleton.joint_count)
        WRONG("driver %u: follows joint %u of %u", d, driver->joint, model->skeleton.joint_count);
    if (driver->relative &&
        (driver->against >= model->skeleton.joint_count || is_below(&model->skeleton, driver->against, driver->joint)))
        WRONG("driver %u: joint %u turns against joint %u of %u, which must not be below it", d, driver->joint,
              driver->against, model->skeleton.joint_count);
    if ((unsigned)driver->part > PELT_ROTATION_TWIST || (unsigned)driver->kernel > PELT_KERNEL_THIN_PLATE)
        WRONG("driver %u: unknown part of a rotation or kernel", d);
    double axis = driver->part == PELT_ROTATION_WHOLE ? 1 : vector_length(driver->axis, 3);
    if (!(fabs(axis - 1) <= UNIT_TOLERANCE))
        WRONG("driver %u: its axis has length %g, should have 1", d, axis);
    if (!(driver->radius > 0) || !isfinite(driver->radius))
        WRONG("driver %u: its radius is %g, should be more than 0", d, (double)driver->radius);
    if ((driver->centre_count && !driver->centres) ||
        (driver->morph_count && (!driver->morphs || !driver->coefficients)))
        WRONG("driver %u: its centres, morphs or coefficients are missing", d);
    for (uint32_t c = 0; c < driver->centre_count; c++) {
        double length = vector_length(driver->centres + 4 * (size_t)c, 4);
        if (!(fabs(length - 1) <= UNIT_TOLERANCE))
            WRONG("driver %u: its centre %u has length %g, should have 1", d, c, length);
    }
    size_t bad = find_too_large(driver->morphs, driver->morph_count, model->morphs.morph_count);
    if (bad != SIZE_MAX)
        WRONG("driver %u: drives morph %u of %u", d, driver->morphs[bad], model->morphs.morph_count);
    size_t per_morph = (size_t)driver->centre_count + 1;
    bad = find_not_finite(driver->coefficients, per_morph * driver->morph_count);
    if (bad != SIZE_MAX)
        WRONG("driver %u: coefficient %zu of morph %zu is not finite", d, bad % per_morph, bad / per_morph);
    return PELT_OK;
}

pelt_result px_drivers_validate(pelt_context *context, const pelt_model *model) {
    if (model->driver_count && !model->drivers)
        WRONG("model: %u drivers, but no list of them", model->driver_count);
    for (uint32_t d = 0; d < model->driver_count; d++)
        PX_TRY(check_driver(context, model, d));
    return PELT_OK;
}

static pelt_result check_slider(pelt_context *context, const pelt_model *model, uint32_t s) {
    const pelt_slider *slider = &model->sliders.sliders[s];
    if (!slider->name)
        WRONG("slider %u: has no name", s);
    if (!isfinite(slider->value))
        WRONG("slider %u: its value is not finite", s);
    if ((slider->move_count && !slider->moves) || (slider->morph_count && !slider->morphs))
        WRONG("slider %u: its moves or morphs are missing", s);
    for (uint32_t m = 0; m < slider->move_count; m++) {
        const pelt_slider_move *move = &slider->moves[m];
        if (move->joint >= model->sliders.joint_count || (m && move->joint <= slider->moves[m - 1].joint))
            WRONG("slider %u: its move %u is of joint %u of %u, or not sorted", s, m, move->joint,
                  model->sliders.joint_count);
        if (find_not_finite(move->change.m, 12) != SIZE_MAX)
            WRONG("slider %u: its move %u is not finite", s, m);
    }
    size_t bad = find_too_large(slider->morphs, slider->morph_count, model->morphs.morph_count);
    if (bad != SIZE_MAX)
        WRONG("slider %u: moves morph %u of %u", s, slider->morphs[bad], model->morphs.morph_count);
    return PELT_OK;
}

pelt_result px_sliders_validate(pelt_context *context, const pelt_model *model) {
    const pelt_slider_set *set = &model->sliders;
    const pelt_skeleton *skeleton = &model->skeleton;
    if (set->slider_count == 0)
        return PELT_OK;
    if (!set->sliders || (set->joint_count && (!set->joints || !set->bases || !set->rests)))
        WRONG("model: %u sliders, but their lists are missing", set->slider_count);
    for (uint32_t n = 0; n < set->joint_count; n++) {
        uint32_t joint = set->joints[n], base = set->bases[n];
        if (joint >= skeleton->joint_count || (n && joint <= set->joints[n - 1]))
            WRONG("sliders: move joint %u of %u, or joints that are not sorted", joint, skeleton->joint_count);
        if (base >= joint || !is_below(skeleton, joint, base))
            WRONG("sliders: joint %u is not below its base, joint %u", joint, base);
        for (uint32_t other = 0; other < set->joint_count; other++)
            if (set->joints[other] == base)
                WRONG("sliders: move joint %u, which is the base of another", base);
        if (find_not_finite(set->rests[n].m, 12) != SIZE_MAX)
            WRONG("sliders: the rest matrix of joint %u is not finite", joint);
    }
    for (uint32_t s = 0; s < set->slider_count; s++)
        PX_TRY(check_slider(context, model, s));
    return PELT_OK;
}

pelt_result pelt_model_validate(pelt_context *context, const pelt_model *model) {
    PX_TRY(check_mesh(context, model));
    PX_TRY(check_clips(context, model));
    PX_TRY(check_skeleton(context, &model->skeleton));
    PX_TRY(check_morphs(context, model));
    PX_TRY(px_drivers_validate(context, model));
    PX_TRY(px_sliders_validate(context, model));
    PX_TRY(check_motions(context, model));
    return check_skin(context, model);
}
