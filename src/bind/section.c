/* For display. Distances of the vertices from a joint. Sections through the voxels of a binding: kinds of voxels, the field of one joint, or the weights of all joints
 * (figures 3, 4 and 7 of Dionne and de Lasa 2013). */
#include "bind/apply.h"

#include <math.h>

#define CONTOURS 16.0 /* bands of a distance field */

typedef struct drawing {
    const pelt_binding *binding;
    uint32_t axis, across, up;     /* of the grid: axis of the section; axes along the width and the height */
    bool across_turned, up_turned; /* the axis of the grid runs against that of the input */
    uint32_t slice, width;         /* cell along `axis`; cells along the width */
    uint32_t height;
    float (*colors)[3]; /* [height][width] linear, 0 to 1; upper row first */
} drawing;

/* The colour at a voxel, or NULL outside of the section. */
static float *color_at(const drawing *s, uint32_t voxel) {
    const uint16_t *cell = s->binding->volume.voxels.cells[voxel];
    uint32_t column = s->across_turned ? s->width - 1 - cell[s->across] : cell[s->across];
    uint32_t row = s->up_turned ? cell[s->up] : s->height - 1 - cell[s->up];
    return cell[s->axis] == s->slice ? s->colors[(size_t)row * s->width + column] : NULL;
}

static void set_color(float out[3], float r, float g, float b) {
    out[0] = r, out[1] = g, out[2] = b;
}

/* Interior red, boundary blue, voxels on bones white: the colours of the paper. */
static void draw_kinds(drawing *s) {
    const px_voxels *voxels = &s->binding->volume.voxels;
    for (uint32_t v = 0; v < voxels->count; v++) {
        float *color = color_at(s, v);
        if (color && voxels->kinds[v] == PX_VOXEL_BOUNDARY)
            set_color(color, 0.2f, 0.35f, 0.85f);
        else if (color)
            set_color(color, 0.85f, 0.25f, 0.2f);
    }
    for (uint32_t k = 0; k < s->binding->bones.segment_count; k++) {
        const px_bind_segment *bone = &s->binding->bones.segments[k];
        uint32_t steps = 1;
        for (int c = 0; c < 3; c++)
            steps = (uint32_t)px_fminf(px_fmaxf((float)steps, 2 * fabsf(bone->b[c] - bone->a[c])), 4 * PX_GRID_MAX);
        for (uint32_t n = 0; n <= steps; n++) {
            float p[3];
            for (int c = 0; c < 3; c++)
                p[c] = bone->a[c] + (float)n / (float)steps * (bone->b[c] - bone->a[c]);
            uint32_t voxel = px_bind_voxel(&s->binding->volume, p);
            float *color = voxel == PELT_NONE ? NULL : color_at(s, voxel);
            if (color)
                set_color(color, 1, 1, 1);
        }
    }
}

/* Hues at golden angles: neighbouring numbers differ most. */
static void joint_color(uint32_t number, float out[3]) {
    double hue = fmod(number * 0.61803398875, 1) * 6;
    for (int c = 0; c < 3; c++) {
        double off = fabs(fmod(hue + (c == 0 ? 3 : c == 1 ? 1 : 5), 6) - 3); /* distance from the opposite hue */
        out[c] = (float)(0.15 + 0.8 * px_fmin(px_fmax(off - 1, 0), 1));
    }
}

/* One target: weights from grey to orange; distances in bands from white (near) to dark blue (far). */
static void draw_field(drawing *s, uint32_t target) {
    const px_bind_fields *fields = &s->binding->fields;
    const px_voxels *voxels = &s->binding->volume.voxels;
    const px_bind_field *field = &fields->voxels[target];
    for (uint32_t v = 0; v < voxels->count; v++) {
        float *color = color_at(s, v);
        if (color)
            set_color(color, 0.3f, 0.3f, 0.3f);
    }
    double far = 0;
    for (uint32_t n = 0; n < field->count && fields->method == PELT_BIND_GEODESIC; n++)
        far = isfinite(field->values[n]) ? px_fmax(far, (double)field->values[n]) : far;
    for (uint32_t n = 0; n < field->count; n++) {
        float *color = color_at(s, field->voxels ? field->voxels[n] : n), value = field->values[n];
        if (!color || !isfinite(value))
            continue;
        if (fields->method == PELT_BIND_HEAT) {
            set_color(color, 0.3f + 0.7f * value, 0.3f + 0.2f * value, 0.3f - 0.2f * value);
            continue;
        }
        float near = 1 - (float)(floor(CONTOURS * (far > 0 ? (double)value / far : 0)) / CONTOURS);
        set_color(color, 0.05f + 0.95f * near * near, 0.1f + 0.8f * near, 0.35f + 0.6f * near);
    }
}

/* All targets, each in a colour of its own, mixed by their weights. sums [height][width]: scratch, 0. */
static void draw_weights(drawing *s, float *sums) {
    const pelt_binding *b = s->binding;
    for (uint32_t t = 0; t < b->subject.target_count; t++) {
        const px_bind_field *field = &b->fields.voxels[t];
        float own[3];
        joint_color(t, own);
        for (uint32_t n = 0; n < field->count; n++) {
            float *color = color_at(s, field->voxels ? field->voxels[n] : n);
            if (!color)
                continue;
            double weight = (double)field->values[n];
            if (b->fields.method == PELT_BIND_GEODESIC)
                weight = px_bind_falloff(weight / (double)b->volume.diagonal, b->desc.falloff, b->desc.curve);
            size_t at = (size_t)(color - s->colors[0]) / 3;
            for (int c = 0; c < 3; c++)
                color[c] = (float)((color[c] * sums[at] + weight * own[c]) / px_fmax(sums[at] + weight, 1e-30));
            sums[at] += (float)weight;
        }
    }
}

/* The cell along the axis at a position; NaN: the one with most voxels. */
static uint32_t choose_slice(const px_voxels *voxels, uint32_t axis, double position, uint32_t *counts) {
    uint32_t size = voxels->grid.size[axis], best = 0;
    if (!isnan(position)) {
        double cell = floor((position - voxels->grid.origin[axis]) / voxels->grid.cell[axis]);
        return (uint32_t)px_fmin(px_fmax(cell, 0), size - 1.0);
    }
    for (uint32_t v = 0; v < voxels->count; v++)
        counts[voxels->cells[v][axis]]++;
    for (uint32_t n = 1; n < size; n++)
        best = counts[n] > counts[best] ? n : best;
    return best;
}

static pelt_result find_target(const pelt_binding *b, uint32_t joint, const char *what, uint32_t *target) {
    *target = joint < b->subject.rig->skeleton.joint_count ? b->subject.joint_targets[joint] : PELT_NONE;
    return *target != PELT_NONE ? PELT_OK
                                : px_fail(b->context, PELT_ERROR_INPUT, "the joint of the %s gets no weights", what);
}

static pelt_result check(const pelt_binding *b, uint32_t kind, uint32_t axis, uint32_t joint, uint32_t *target) {
    *target = PELT_NONE;
    if (axis > 2 || kind > PELT_BIND_SECTION_WEIGHTS)
        return px_fail(b->context, PELT_ERROR_USAGE,
                       "a section needs an axis from 0 to 2 and a pelt_bind_section_kind");
    if (kind != PELT_BIND_SECTION_VOXELS && !b->fields.voxels)
        return px_fail(b->context, PELT_ERROR_USAGE, "set keep_fields for sections of fields and weights");
    return kind == PELT_BIND_SECTION_FIELD ? find_target(b, joint, "section", target) : PELT_OK;
}

pelt_result pelt_binding_section(const pelt_binding *b, uint32_t kind, uint32_t axis, double position, uint32_t joint,
                                 pelt_bind_section *out) {
    const px_voxels *voxels = &b->volume.voxels;
    const px_bind_frame *frame = &b->frame;
    uint32_t target, across = axis == 0 ? 2 : 0, up = axis == 1 ? 2 : 1;
    *out = (pelt_bind_section){0};
    PX_TRY(check(b, kind, axis, joint, &target));
    drawing s = {.binding = b, .axis = frame->named[axis], .across = frame->named[across], .up = frame->named[up]};
    s.across_turned = frame->axes[s.across][across] < 0;
    s.up_turned = frame->axes[s.up][up] < 0;
    double sign = frame->axes[s.axis][axis] < 0 ? -1 : 1, offset = px_bind_frame_offset(frame, s.axis);
    s.width = voxels->grid.size[s.across];
    s.height = voxels->grid.size[s.up];
    px_arena *arena = px_arena_create(b->context);
    size_t count = (size_t)s.width * s.height;
    s.colors = arena ? px_arena_alloc(arena, count, sizeof *s.colors) : NULL;
    float *sums = arena ? PX_NEW(arena, float, count) : NULL;
    uint32_t *counts = arena ? PX_NEW(arena, uint32_t, voxels->grid.size[s.axis]) : NULL;
    uint8_t *pixels = PX_ALLOC(b->context, uint8_t, 4 * count);
    pelt_result result = s.colors && sums && counts && pixels ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        s.slice = choose_slice(voxels, s.axis, sign * position - offset, counts);
        if (kind == PELT_BIND_SECTION_VOXELS)
            draw_kinds(&s);
        else if (kind == PELT_BIND_SECTION_FIELD)
            draw_field(&s, target);
        else
            draw_weights(&s, sums);
        for (size_t n = 0; n < 4 * count; n++)
            pixels[n] = n % 4 == 3 ? 255 : (uint8_t)(255 * px_fminf(px_fmaxf(s.colors[n / 4][n % 4], 0), 1) + 0.5f);
        double along = px_grid_centre(&voxels->grid, s.slice, s.axis);
        *out = (pelt_bind_section){s.width, s.height, sign * (along + offset), pixels};
    } else {
        px_free(b->context, pixels);
    }
    px_arena_destroy(arena);
    return result;
}

void pelt_bind_section_free(pelt_context *context, pelt_bind_section *section) {
    px_free(context, section->pixels);
    *section = (pelt_bind_section){0};
}

/* ---- Distances ---------------------------------------------------------------------------------------------- */

pelt_result pelt_binding_distances(const pelt_binding *b, uint32_t joint, float *distances) {
    const pelt_mesh *mesh = &b->subject.model->mesh;
    uint32_t target;
    PX_TRY(find_target(b, joint, "distances", &target));
    float *rows = PX_ALLOC(b->context, float, b->subject.classes.count);
    if (!rows)
        return PELT_ERROR_MEMORY;
    pelt_result result =
        px_bind_geodesic_target(b->context, &b->turned, &b->volume, &b->bones, &b->bridges, target, rows);
    float units = b->volume.diagonal * (float)b->volume.voxels.grid.cell[0];
    for (uint32_t i = 0; result == PELT_OK && i < mesh->vertex_count; i++) {
        uint32_t row = b->subject.classes.of[i];
        distances[i] = row == PELT_NONE ? NAN : units * rows[row];
    }
    px_free(b->context, rows);
    return result;
}
