/* Entry points: create a binding (subject, volume, bones, fields), then apply it any number of times. */
#include "bind/fit.h"
#include "bind/regions.h"
#include "core/math3.h"

#include <math.h>

static const pelt_option options[] = {
    {"method", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_bind_desc, method), "heat", 0, 0,
     "heat|geodesic|surface|closest|hierarchy", NULL,
     "how weights spread: by diffusion, or by a falloff of distances; the last three are for comparison"},
    {"resolution", 'r', PELT_OPTION_UINT, PELT_FIELD(pelt_bind_desc, resolution), "256", 8, PX_GRID_MAX - 2, NULL, "N",
     "voxels along the longest side of the mesh"},
    {"max-voxels", 0, PELT_OPTION_UINT, PELT_FIELD(pelt_bind_desc, max_voxels), "1000000", 1, UINT32_MAX, NULL, "N",
     "above resolution 256, solve on blocks of voxels if there are more: bounds memory"},
    {"separate", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_bind_desc, separate), NULL, 0, 0, NULL, NULL,
     "raise the resolution until limbs with a gap between them do not touch"},
    {"max-resolution", 0, PELT_OPTION_UINT, PELT_FIELD(pelt_bind_desc, max_resolution), "1024", 8, PX_GRID_MAX - 2,
     NULL, "N", "with --separate: at most"},
    {"grid", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_bind_desc, grid), NULL, 0, 0, NULL, "X,Y,Z",
     "voxels along each side instead"},
    {"views", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_bind_desc, views), NULL, 0, 0, NULL, "VIEWS",
     "views that do not vote on what is inside: +x,-x,+y,-y,+z,-z"},
    {"distance", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_bind_desc, distance), "paper", 0, 0, "isotropic|paper", NULL,
     "geodesic: how distances are measured"},
    {"fit", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_bind_desc, fit), NULL, 0, 0, NULL, NULL,
     "scale, turn and move the skeleton to fit the mesh, with its motions"},
    {"no-fit", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_bind_desc, no_fit), NULL, 0, 0, NULL, NULL,
     "bind even where the skeleton does not fit the mesh"},
    {"joints", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_bind_desc, joints), "weighted", 0, 0, "weighted|all", NULL,
     "which joints of a skin may deform: those with weights in the file, or all"},
    {"exclude", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_bind_desc, exclude), NULL, 0, 0, NULL, "JOINTS",
     "joints, divided by commas, that must not deform"},
    {"only", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_bind_desc, only), NULL, 0, 0, NULL, "JOINTS",
     "joints that may deform, and no others; with or without weights in the file"},
    {"falloff", 'a', PELT_OPTION_REAL, PELT_FIELD(pelt_bind_desc, falloff), "0.7", 0, 1, NULL, "A",
     "how stiff: 1 keeps bones apart, 0 blends them widely"},
    {"falloffs", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_bind_desc, falloffs), NULL, 0, 0, NULL, "REGION=A",
     "falloffs of regions, divided by commas; regions as for --rigid"},
    {"paint", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_bind_desc, paint), NULL, 0, 0, NULL, "±REGION",
     "voxels to add (+) or remove (-), divided by commas; regions as for --rigid"},
    {"curve", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_bind_desc, curve), "sharp", 0, 0, "paper|sharp", NULL,
     "geodesic: the falloff's shape"},
    {"influences", 'k', PELT_OPTION_UINT, PELT_FIELD(pelt_bind_desc, influences), "4", 1, PELT_MAX_INFLUENCES, NULL,
     "K", "joints per vertex at most"},
    {"prune", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_bind_desc, prune), "0.01", 0, 1, NULL, "W",
     "weights below this are dropped"},
    {"smooth", 0, PELT_OPTION_UINT, PELT_FIELD(pelt_bind_desc, smooth), "0", 0, 1000, NULL, "N",
     "average weights along edges this many times"},
    {"mirror", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_bind_desc, mirror), "off", 0, 0, "off|x|y|z", NULL,
     "make weights the same on both sides of the middle"},
    {"rigid-parts", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_bind_desc, rigid_parts), "auto", 0, 0, "auto|off", NULL,
     "whether accessories and parts of machines follow one joint"},
    {"rigid", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_bind_desc, rigid), NULL, 0, 0, NULL, "REGION=JOINT",
     "regions, divided by commas, that follow one joint: a part, a material, box(X Y Z X Y Z), sphere(X Y Z R), "
     "vertices(A B-C), attribute(NAME)"},
    {"lock", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_bind_desc, lock), NULL, 0, 0, NULL, "JOINTS",
     "joints that keep the weights they have in the file"},
};

/* Dionne, de Lasa 2013: section 7 (four influences, α), section 8 (grid, distances). */
static const pelt_preset_value presets[] = {
    {"voxel2013", "method", "geodesic"}, {"voxel2013", "grid", "256,256,128"}, {"voxel2013", "distance", "paper"},
    {"voxel2013", "curve", "paper"},     {"voxel2013", "falloff", "0.7"},      {"voxel2013", "influences", "4"},
    {"voxel2013", "prune", "0"},         {"voxel2013", "rigid-parts", "off"},
};

PX_DESC_PRESETS(bind, options, presets)

/* Largest side of a grid whose voxels are never grouped to blocks: the default resolution with its margin. */
#define DENSE_SIZE 258u
/* Of a cell: distance of the nearest centres of voxels from the plane about which the box is symmetric. On it, voxels would
 * be as far from bones on the left as on the right, and rounding would decide to which of them they belong. */
#define OFF_PLANE 0.0625
#define START_GAP 0.05f /* of a cell */

/* ---- Voxels -------------------------------------------------------------------------------------------------- */

static pelt_result parse_grid(pelt_context *context, const char *text, uint32_t size[3]) {
    const char *rest = text, *name;
    size_t length;
    uint32_t count = 0;
    while (px_next_name(&rest, &name, &length)) {
        double value = 0;
        if (count == 3 || px_parse_double(name, name + length, &value) != name + length || value != floor(value) ||
            value < 3 || value > PX_GRID_MAX)
            count = 4;
        else
            size[count++] = (uint32_t)value;
        if (count > 3)
            break;
    }
    if (count != 3)
        return px_fail(context, PELT_ERROR_USAGE, "grid %s: give three whole numbers from 3 to %u, like 256,256,128",
                       text, PX_GRID_MAX);
    return PELT_OK;
}

static pelt_result parse_views(pelt_context *context, const char *text, uint32_t *views) {
    static const char *const names[] = {"+x", "-x", "+y", "-y", "+z", "-z"};
    const char *name;
    size_t length;
    *views = PX_VIEWS_ALL;
    while (text && px_next_name(&text, &name, &length)) {
        uint32_t view = 0;
        while (view < 6 && !px_is_name(names[view], name, length))
            view++;
        if (view == 6)
            return px_fail(context, PELT_ERROR_USAGE, "views: \"%.*s\" is none of +x, -x, +y, -y, +z, -z", (int)length,
                           name);
        *views &= ~(1u << view);
    }
    return PELT_OK;
}

/* One "+REGION" or "-REGION". */
static pelt_result parse_stroke(pelt_binding *b, const char *text, size_t length, px_voxel_paint *paint) {
    const px_bind_subject *s = &b->subject;
    px_region region;
    uint8_t *rows, *triangles;
    uint32_t count;
    if (length < 2 || (text[0] != '+' && text[0] != '-'))
        return px_fail(b->context, PELT_ERROR_USAGE, "paint %.*s: begin with + to add or - to remove voxels",
                       (int)length, text);
    PX_TRY(px_region_parse(b->context, "paint", text + 1, length - 1, &region));
    *paint = (px_voxel_paint){.add = text[0] == '+', .kind = PX_PAINT_TRIANGLES};
    memcpy(paint->numbers, region.numbers, sizeof paint->numbers);
    if (region.kind == PX_REGION_BOX || region.kind == PX_REGION_SPHERE) {
        paint->kind = region.kind == PX_REGION_BOX ? PX_PAINT_BOX : PX_PAINT_SPHERE;
        return PELT_OK;
    }
    PX_TRY(px_bind_region_rows(b->arena, b->context, s, &b->desc, "paint", &region, &rows, &count));
    paint->triangles = triangles = PX_NEW(b->arena, uint8_t, s->triangle_count);
    if (!triangles)
        return PELT_ERROR_MEMORY;
    for (size_t t = 0; t < s->triangle_count; t++)
        triangles[t] = rows[s->triangles[3 * t]] && rows[s->triangles[3 * t + 1]] && rows[s->triangles[3 * t + 2]];
    return PELT_OK;
}

static pelt_result parse_paint(pelt_binding *b, px_voxel_paint **paints, uint32_t *paint_count) {
    const char *rest = b->desc.paint, *text;
    size_t length;
    uint32_t count = 0;
    while (rest && px_next_name(&rest, &text, &length))
        count++;
    *paints = PX_NEW(b->arena, px_voxel_paint, count);
    *paint_count = 0;
    if (!*paints)
        return PELT_ERROR_MEMORY;
    for (rest = b->desc.paint; rest && px_next_name(&rest, &text, &length);)
        PX_TRY(parse_stroke(b, text, length, &(*paints)[(*paint_count)++]));
    return PELT_OK;
}

static pelt_result make_volume(pelt_binding *b) {
    const px_bind_subject *s = &b->turned;
    px_bind_volume *volume = &b->volume;
    float low[3], high[3];
    uint32_t size[3], views;
    for (int c = 0; c < 3; c++) {
        low[c] = INFINITY;
        high[c] = -INFINITY;
    }
    for (size_t k = 0; k < 3 * (size_t)s->classes.count; k++) {
        low[k % 3] = px_fminf(low[k % 3], s->positions[k]);
        high[k % 3] = px_fmaxf(high[k % 3], s->positions[k]);
    }
    PX_TRY(parse_views(b->context, b->desc.views, &views));
    if (b->desc.grid)
        PX_TRY(parse_grid(b->context, b->desc.grid, size));
    px_grid grid = b->desc.grid ? px_grid_of_size(low, high, size) : px_grid_around(low, high, b->desc.resolution);
    uint32_t across = b->frame.across;
    if (!b->desc.grid && across != PELT_NONE)
        grid.origin[across] += OFF_PLANE * grid.cell[across];
    px_voxel_paint *paints;
    uint32_t paint_count;
    PX_TRY(parse_paint(b, &paints, &paint_count));
    *volume = (px_bind_volume){.fine = grid};
    px_voxels fine = {0};
    uint32_t factor = 1, longest = grid.size[0] > grid.size[1] ? grid.size[0] : grid.size[1];
    if (longest > DENSE_SIZE || grid.size[2] > DENSE_SIZE)
        PX_TRY(px_voxels_make_painted(b->context, b->arena, s->positions, s->classes.count, s->triangles,
                                      s->triangle_count, &grid, views, paints, paint_count, true, &fine));
    while (factor < PX_MAX_BLOCK && fine.count / (factor * factor * factor) > b->desc.max_voxels)
        factor *= 2;
    if (factor > 1)
        grid = px_grid_of_blocks(&grid, factor);
    PX_TRY(px_voxels_make_painted(b->context, b->arena, s->positions, s->classes.count, s->triangles, s->triangle_count,
                                  &grid, views, paints, paint_count, false, &volume->voxels));
    if (volume->voxels.count == 0)
        return px_fail(b->context, PELT_ERROR_INPUT,
                       s->triangle_count ? "paint removes all voxels"
                                         : "the mesh has no triangles; a surface is needed to bind it");
    double diagonal = 0;
    for (int c = 0; c < 3; c++) {
        volume->step[c] = (float)(grid.cell[c] / grid.cell[0]);
        diagonal += ((double)high[c] - low[c]) * ((double)high[c] - low[c]);
    }
    volume->diagonal = (float)(sqrt(diagonal) / grid.cell[0]);
    volume->fine_count = factor > 1 ? fine.count : volume->voxels.count;
    volume->fine_interior_count = factor > 1 ? fine.interior_count : volume->voxels.interior_count;
    if (factor > 1) {
        PX_TRY(px_voxels_split(b->context, b->arena, &fine, factor, &volume->voxels, &volume->neighbours,
                               &volume->pieces));
    } else {
        volume->neighbours = px_arena_alloc(b->arena, volume->voxels.count, sizeof *volume->neighbours);
        if (!volume->neighbours)
            return PELT_ERROR_MEMORY;
        PX_TRY(px_voxels_neighbours(b->context, &volume->voxels, volume->neighbours));
    }
    return px_bind_bins_make(b->arena, volume, &volume->bins);
}

/* ---- Fields -------------------------------------------------------------------------------------------------- */

/* Starts the front at all bones at once. Bones with no voxel nearby become idle; if that is true of all bones, each
 * starts at the voxels nearest to it. */
static pelt_result start_wave(pelt_binding *b, px_bind_wave *wave) {
    const px_bind_bones *bones = &b->bones;
    bool any = false;
    for (int far = 0; far < 2 && !any; far++)
        for (uint32_t s = 0, end; s < bones->segment_count; s = end) {
            uint32_t target = bones->segments[s].target;
            bool seeded;
            for (end = s; end < bones->segment_count && bones->segments[end].target == target;)
                end++;
            PX_TRY(
                px_bind_wave_start(wave, s, end - s, far ? INFINITY : PX_BIND_OUTSIDE * b->volume.diagonal, &seeded));
            b->subject.idle[b->subject.targets[target]] = seeded ? PELT_BIND_ACTIVE : PELT_BIND_FAR;
            any |= seeded;
        }
    return PELT_OK;
}

/* With desc.separate: the resolution that separates limbs which touch, if it is finer; else 0. */
static uint32_t finer_resolution(const pelt_binding *b) {
    uint32_t need = 0, most = b->desc.max_resolution, now = b->desc.resolution;
    for (uint32_t n = 0; b->desc.separate && n < b->report.touching_pair_count; n++)
        need = b->report.touching[n].resolution > need ? b->report.touching[n].resolution : need;
    need = need > now ? (uint32_t)px_max_size(need, now + now / 4) : 0; /* in few steps, whatever is found next */
    need = need > most ? most : need;
    return need > now ? need : 0;
}

static pelt_result solve(pelt_binding *b, px_bind_wave *wave) {
    px_bind_subject *s = &b->turned;
    b->fields.method = b->desc.method;
    b->fields.values = PX_NEW(b->arena, float, px_mul_size(s->classes.count, s->target_count));
    if (b->desc.keep_fields)
        b->fields.voxels = PX_NEW(b->arena, px_bind_field, s->target_count);
    if (!b->fields.values || (b->desc.keep_fields && !b->fields.voxels))
        return PELT_ERROR_MEMORY;
    PX_TRY(px_bind_bridges_make(b->arena, wave, &b->bridges));
    if (b->desc.method != PELT_BIND_HEAT)
        px_bind_wave_free(wave); /* a third of the memory; only heat reads it */
    switch (b->desc.method) {
    case PELT_BIND_SURFACE:
        return px_bind_surface(b->context, s, &b->volume, &b->bones, &b->fields);
    case PELT_BIND_CLOSEST:
    case PELT_BIND_HIERARCHY:
        return px_bind_closest(b->context, s, &b->volume, &b->bones, b->desc.method == PELT_BIND_HIERARCHY,
                               b->fields.values);
    case PELT_BIND_HEAT:
        return px_bind_heat(b->context, s, &b->volume, &b->bones, wave, &b->bridges, &b->fields);
    default:
        return px_bind_geodesic(b->context, s, &b->volume, &b->bones, &b->bridges, b->desc.distance, &b->fields);
    }
}

/* The segments as the wavefront sees them: each begins START_GAP after its joint, so that the outside of a bend, whose nearest
 * point is the joint, belongs to the bone above, whatever rounding says. */
static px_bind_segment *begin_later(px_arena *arena, const px_bind_bones *bones) {
    px_bind_segment *out = PX_NEW(arena, px_bind_segment, bones->segment_count);
    for (uint32_t k = 0; out && k < bones->segment_count; k++) {
        float way[3];
        out[k] = bones->segments[k];
        px_sub3(out[k].b, out[k].a, way);
        float length = sqrtf(px_dot3(way, way));
        for (int c = 0; c < 3 && length > START_GAP; c++)
            out[k].a[c] += START_GAP / length * way[c];
    }
    return out;
}

/* *finer: the resolution to begin again with, without fields; 0: done. */
static pelt_result make_fields(pelt_binding *b, uint32_t *finer) {
    px_bind_wave wave;
    px_bind_crossings crossings;
    px_bind_bridges links = {.count = b->volume.pieces.link_count};
    *finer = 0;
    links.items = PX_NEW(b->arena, px_bind_bridge, links.count);
    px_bind_segment *segments = begin_later(b->arena, &b->bones);
    if (!links.items || !segments)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < links.count; n++)
        links.items[n] = (px_bind_bridge){b->volume.pieces.links[n][0], b->volume.pieces.links[n][1]};
    PX_TRY(px_bind_crossings_make(b->arena, &b->volume, &links, &crossings));
    pelt_result result = px_bind_wave_make(b->context, &b->volume, segments, b->bones.reach, &wave);
    wave.handicap = b->bones.handicap;
    wave.behind = b->bones.behind;
    wave.floods = b->desc.method != PELT_BIND_HEAT;
    wave.crossings = links.count ? &crossings : NULL;
    if (result == PELT_OK)
        result = start_wave(b, &wave);
    if (result == PELT_OK)
        result = px_bind_wave_run(&wave);
    if (result == PELT_OK)
        result = px_bind_touching(b->arena, &b->turned, &b->bones, &wave,
                                  b->desc.method == PELT_BIND_HEAT ? b->volume.neighbours : NULL, &b->report);
    if (result == PELT_OK && !(*finer = finer_resolution(b)))
        result = solve(b, &wave);
    px_bind_wave_free(&wave);
    return result;
}

/* Properties of the classes and shells, from the voxels. */
static pelt_result make_rows(pelt_binding *b) {
    const px_bind_subject *s = &b->turned;
    b->shells = PX_NEW(b->arena, uint32_t, s->classes.count);
    b->bridged = PX_NEW(b->arena, uint8_t, s->classes.count);
    if (!b->shells || !b->bridged)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < s->classes.count; i++)
        b->bridged[i] = b->bridges.bridged[px_bind_voxel_at(&b->volume, s->positions + 3 * i)];
    if (px_bind_gives_weights(b->fields.method))
        PX_TRY(px_bind_fields_rank(b->context, b->arena, s->classes.count, s->target_count, &b->fields));
    return px_bind_shells(b->arena, s, b->shells, &b->shell_count);
}

/* ---- Entry points ------------------------------------------------------------------------------------------ */

/* Copies the strings of the description: apply reads them again. */
static pelt_result keep_desc(pelt_binding *b, const pelt_bind_desc *desc) {
    b->desc = *desc;
    const char **texts[] = {&b->desc.grid,  &b->desc.views, &b->desc.exclude,  &b->desc.only,
                            &b->desc.rigid, &b->desc.lock,  &b->desc.falloffs, &b->desc.paint};
    for (size_t n = 0; n < PX_COUNT(texts); n++)
        if (*texts[n] && !(*texts[n] = px_arena_text(b->arena, *texts[n], strlen(*texts[n]))))
            return PELT_ERROR_MEMORY;
    return PELT_OK;
}

static bool is_bridged(const pelt_binding *b, uint32_t vertex) {
    uint32_t row = b->subject.classes.of[vertex];
    return row != PELT_NONE && b->bridged[row];
}

/* Reports the parts with bridged vertices, their own or those of their triangles. */
static pelt_result report_parts(pelt_binding *b) {
    const pelt_mesh *mesh = &b->subject.model->mesh;
    uint32_t *parts = PX_NEW(b->arena, uint32_t, mesh->part_count);
    if (!parts)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        size_t first = 3 * (size_t)part->first_triangle, end = first + 3 * (size_t)part->triangle_count;
        bool any = false;
        for (uint32_t i = 0; i < part->vertex_count && !any; i++)
            any = is_bridged(b, part->first_vertex + i);
        for (size_t e = first; e < end && !any; e++)
            any = is_bridged(b, mesh->triangles[e]);
        if (any)
            parts[b->report.bridged_part_count++] = p;
    }
    b->report.bridged_parts = parts;
    return PELT_OK;
}

static pelt_result report_volume(pelt_binding *b) {
    pelt_bind_report *r = &b->report;
    const px_voxels *voxels = &b->volume.voxels;
    const px_bind_volume *volume = &b->volume;
    for (int c = 0; c < 3; c++) {
        r->grid[c] = volume->fine.size[b->frame.named[c]];
        r->cell[c] = volume->fine.cell[b->frame.named[c]];
    }
    r->interior_voxel_count = volume->fine_interior_count;
    r->boundary_voxel_count = volume->fine_count - volume->fine_interior_count;
    r->block_size = volume->pieces.factor ? volume->pieces.factor : 1;
    r->solved_voxel_count = voxels->count;
    r->joint_count = b->subject.rig->skeleton.joint_count;
    b->idle = PX_NEW(b->arena, uint8_t, r->joint_count);
    if (!b->idle)
        return PELT_ERROR_MEMORY;
    memcpy(b->idle, b->subject.idle, r->joint_count);
    r->idle = b->idle;
    for (uint32_t i = 0; i < b->subject.model->mesh.vertex_count; i++) {
        uint32_t row = b->subject.classes.of[i], cell[3];
        r->vertex_count += row != PELT_NONE;
        r->bridged_count += is_bridged(b, i);
        if (row == PELT_NONE)
            continue;
        px_grid_cell(&voxels->grid, b->turned.positions + 3 * (size_t)row, cell);
        r->outside_count += px_voxel_at(voxels, cell[0], cell[1], cell[2]) == PELT_NONE;
    }
    return report_parts(b);
}

/* Options that name axes of the grid keep those of the input. */
static pelt_result turn_subject(pelt_binding *b) {
    bool kept = b->desc.grid || b->desc.views || b->desc.paint;
    b->frame = px_bind_frame_of_input();
    if (!kept)
        PX_TRY(px_bind_frame_make(b->context, &b->subject, &b->frame));
    return px_bind_subject_turn(b->arena, &b->subject, &b->frame, &b->turned);
}

/* Fits the skeleton to the mesh if desc.fit is set; else fails if it does not fit. */
static pelt_result fit_skeleton(pelt_binding *b) {
    pelt_bind_fit *fit = &b->report.fit;
    px_bind_subject *s = &b->subject;
    char text[256];
    *fit = (pelt_bind_fit){.scale = 1, .rotation = {0, 0, 0, 1}};
    if (b->desc.fit && b->desc.no_fit)
        return px_fail(b->context, PELT_ERROR_USAGE, "fit and no_fit exclude each other; set one of them");
    if (b->desc.no_fit)
        return PELT_OK;
    PX_TRY(px_bind_fit_find(b->arena, s, b->desc.fit, fit, &b->pose));
    if (!b->desc.fit && fit->misfit)
        return px_fail(b->context, PELT_ERROR_INPUT,
                       "the skeleton %s; set fit to fit it to the mesh, no_fit to bind it as it is",
                       pelt_bind_fit_text(fit, text, sizeof text));
    if (!b->desc.fit)
        *fit = (pelt_bind_fit){.scale = 1,
                               .rotation = {0, 0, 0, 1},
                               .inside_before = fit->inside_before,
                               .inside_after = fit->inside_before};
    if (!fit->changes)
        return PELT_OK;
    pelt_transform *rest;
    pelt_motion *motions;
    PX_TRY(px_bind_fit_rig(b->arena, fit, b->pose, s, &rest, &motions));
    PX_TRY(px_bind_fit_joints(b->arena, fit, rest, s));
    PX_TRY(px_model_borrow(b->arena, s->rig, &b->fitted));
    b->fitted->skeleton.rest = rest;
    b->fitted->motions = motions;
    if (s->rig != s->model)
        s->rig = b->fitted;
    return PELT_OK;
}

static pelt_result fill(pelt_binding *b, pelt_model *model, const pelt_bind_desc *desc) {
    double start = px_seconds();
    PX_TRY(keep_desc(b, desc));
    PX_TRY(px_bind_subject_make(b->context, b->arena, model, &b->desc, &b->subject));
    PX_TRY(fit_skeleton(b));
    PX_TRY(turn_subject(b));
    b->report.seconds_fit = px_seconds() - start;
    uint32_t joint_count = b->subject.rig->skeleton.joint_count, finer = 0;
    uint8_t *idle = PX_NEW(b->arena, uint8_t, joint_count);
    if (!idle)
        return PELT_ERROR_MEMORY;
    if (b->desc.keep_fields && b->desc.method > PELT_BIND_GEODESIC)
        return px_fail(b->context, PELT_ERROR_USAGE, "keep_fields: only heat and geodesic have fields of voxels");
    if (b->desc.separate && b->desc.grid)
        return px_fail(b->context, PELT_ERROR_USAGE, "separate chooses a resolution; leave it or grid out");
    memcpy(idle, b->subject.idle, joint_count);
    do {
        start = px_seconds();
        memcpy(b->subject.idle, idle, joint_count); /* bones and fields change it */
        PX_TRY(px_progress(b->context, "voxels", 0, 1));
        PX_TRY(make_volume(b));
        b->report.seconds_voxelize += px_seconds() - start;
        start = px_seconds();
        PX_TRY(px_bind_bones_make(b->context, b->arena, &b->turned, &b->volume, &b->bones));
        PX_TRY(make_fields(b, &finer));
        b->desc.resolution = finer ? finer : b->desc.resolution;
        b->report.seconds_solve += px_seconds() - start;
    } while (finer);
    PX_TRY(make_rows(b));
    return report_volume(b);
}

/* An empty binding. NULL: out of memory. */
static pelt_binding *binding_new(pelt_context *context, pelt_model *model) {
    px_arena *arena = px_arena_create(context);
    pelt_binding *b = arena ? PX_NEW(arena, pelt_binding, 1) : NULL;
    if (!b) {
        px_arena_destroy(arena);
        return NULL;
    }
    px_arena_keep_for(model->memory, arena);
    b->context = context;
    b->model = model;
    b->arena = arena;
    return b;
}

pelt_result pelt_binding_create(pelt_context *context, pelt_model *model, const pelt_bind_desc *desc,
                                pelt_binding **binding) {
    *binding = NULL;
    PX_TAKE_DESC(context, bind, desc, settings);
    pelt_binding *b = binding_new(context, model);
    if (!b)
        return PELT_ERROR_MEMORY;
    const char *subject = px_subject(context, model->path[0] ? model->path : NULL);
    pelt_result result = fill(b, model, &settings);
    px_subject(context, subject);
    if (result == PELT_OK)
        *binding = b;
    else
        pelt_binding_destroy(b);
    return result;
}

/* ---- Other meshes in the same voxels --------------------------------------------------------------------------- */

/* The bones of `from` for targets in the order of `columns`. */
static pelt_result share_bones(pelt_binding *b, const px_bind_bones *from, const uint32_t *columns) {
    px_bind_bones *bones = &b->bones;
    bones->segments = PX_NEW(b->arena, px_bind_segment, from->segment_count);
    if (!bones->segments)
        return PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < b->subject.target_count; t++)
        for (uint32_t k = 0; k < from->segment_count; k++)
            if (from->segments[k].target == columns[t]) {
                bones->segments[bones->segment_count] = from->segments[k];
                bones->segments[bones->segment_count++].target = t;
            }
    return PELT_OK;
}

static pelt_result share(pelt_binding *b, const pelt_binding *from, pelt_model *model) {
    double start = px_seconds();
    uint32_t *columns;
    PX_TRY(keep_desc(b, &from->desc));
    b->desc.vertex_falloff = NULL;
    b->desc.attributes = NULL;
    b->desc.attribute_count = 0;
    b->desc.lock = NULL;
    b->shared = true;
    b->desc.keep_fields = false;
    PX_TRY(px_bind_subject_share(b->context, b->arena, model, &from->subject,
                                 from->report.fit.changes ? from->fitted : from->subject.rig, &b->subject, &columns));
    if (from->report.fit.changes && b->subject.rig == model)
        return px_fail(b->context, PELT_ERROR_INPUT,
                       "the mesh has a skeleton of its own, which does not fit; bind it without fit, or on its own");
    b->volume = from->volume;
    b->bridges = from->bridges;
    b->report.fit = from->report.fit;
    b->fields.method = from->fields.method;
    b->fields.values = PX_NEW(b->arena, float, px_mul_size(b->subject.classes.count, b->subject.target_count));
    if (!b->fields.values)
        return PELT_ERROR_MEMORY;
    b->frame = from->frame;
    PX_TRY(px_bind_subject_turn(b->arena, &b->subject, &b->frame, &b->turned));
    PX_TRY(share_bones(b, &from->bones, columns));
    PX_TRY(px_bind_sample_kept(b->context, &from->fields, columns, &b->turned, &b->volume, &b->fields));
    PX_TRY(make_rows(b));
    b->report.touching_joints[0] = b->report.touching_joints[1] = PELT_NONE;
    b->report.seconds_solve = px_seconds() - start;
    return report_volume(b);
}

pelt_result pelt_binding_reuse(const pelt_binding *binding, pelt_model *model, pelt_binding **reused) {
    pelt_context *context = binding->context;
    *reused = NULL;
    if (!binding->fields.voxels)
        return px_fail(context, PELT_ERROR_USAGE, "set keep_fields to weight other meshes in the voxels of a binding");
    pelt_binding *b = binding_new(context, model);
    if (!b)
        return PELT_ERROR_MEMORY;
    const char *subject = px_subject(context, model->path[0] ? model->path : NULL);
    pelt_result result = share(b, binding, model);
    px_subject(context, subject);
    if (result == PELT_OK)
        *reused = b;
    else
        pelt_binding_destroy(b);
    return result;
}

pelt_result pelt_bind_measure_fit(pelt_context *context, pelt_model *model, const pelt_bind_desc *desc,
                                  pelt_bind_fit *fit) {
    px_bind_subject subject;
    pelt_transform *pose;
    *fit = (pelt_bind_fit){.scale = 1, .rotation = {0, 0, 0, 1}};
    PX_TAKE_DESC(context, bind, desc, settings);
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    const char *before = px_subject(context, model->path[0] ? model->path : NULL);
    pelt_result result = px_bind_subject_make(context, arena, model, &settings, &subject);
    if (result == PELT_OK)
        result = px_bind_fit_find(arena, &subject, settings.fit, fit, &pose);
    px_subject(context, before);
    px_arena_destroy(arena);
    return result;
}

pelt_result pelt_binding_apply(pelt_binding *binding, const pelt_bind_desc *desc) {
    return pelt_binding_apply_pose(binding, desc, NULL);
}

pelt_result pelt_binding_apply_pose(pelt_binding *binding, const pelt_bind_desc *desc, const pelt_transform *pose) {
    desc = desc ? desc : &binding->desc;
    PX_TRY(pelt_options_check(binding->context, pelt_bind_options(), desc));
    double start = px_seconds();
    const char *subject =
        px_subject(binding->context, binding->subject.model->path[0] ? binding->subject.model->path : NULL);
    pelt_result result = px_bind_apply(binding, desc, pose);
    px_subject(binding->context, subject);
    binding->report.seconds_weights = px_seconds() - start;
    return result;
}

pelt_bind_report pelt_binding_report(const pelt_binding *binding) {
    return binding->report;
}

void pelt_binding_destroy(pelt_binding *binding) {
    if (!binding)
        return;
    pelt_model *model = binding->model;
    px_bind_fields_free(binding->context, &binding->fields, binding->subject.target_count);
    px_arena_destroy(binding->arena);
    px_operation operation = px_operation_begin(model); /* frees arrays that only the binding kept */
    px_operation_end(&operation, PELT_OK);
}

pelt_bind_voxels pelt_binding_voxels(const pelt_binding *binding) {
    const px_voxels *v = &binding->volume.voxels;
    pelt_bind_voxels out = {.count = v->count, .cells = (const uint16_t(*)[3])v->cells, .boundary = v->kinds};
    memcpy(out.axes, binding->frame.axes, sizeof out.axes);
    for (uint32_t c = 0; c < 3; c++) {
        out.origin[c] = v->grid.origin[c] + px_bind_frame_offset(&binding->frame, c);
        out.cell[c] = v->grid.cell[c];
    }
    return out;
}

/* Allocates the report's arrays in the model's memory. */
static pelt_result reserve_report(pelt_model *model, const pelt_bind_report *report, uint8_t **idle, uint32_t **parts,
                                  pelt_bind_touch **touching) {
    *idle = PX_NEW_LASTING(model->memory, uint8_t, report->joint_count);
    *parts = PX_NEW_LASTING(model->memory, uint32_t, report->bridged_part_count);
    *touching = PX_NEW_LASTING(model->memory, pelt_bind_touch, report->touching_pair_count);
    return *idle && *parts && *touching ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result bind(pelt_context *context, pelt_model *model, const pelt_bind_desc *desc, pelt_bind_report *out) {
    pelt_binding *binding;
    uint8_t *idle;
    uint32_t *parts;
    pelt_bind_touch *touching;
    PX_TRY(pelt_binding_create(context, model, desc, &binding));
    pelt_result result = reserve_report(model, &binding->report, &idle, &parts, &touching);
    if (result == PELT_OK)
        result = pelt_binding_apply(binding, NULL);
    if (result == PELT_OK) {
        *out = binding->report;
        memcpy(idle, out->idle, out->joint_count);
        memcpy(parts, out->bridged_parts, out->bridged_part_count * sizeof *parts);
        if (out->touching_pair_count)
            memcpy(touching, out->touching, out->touching_pair_count * sizeof *touching);
        out->idle = idle;
        out->touching = touching;
        out->bridged_parts = parts;
    }
    pelt_binding_destroy(binding);
    return result;
}

pelt_result pelt_bind(pelt_context *context, pelt_model *model, const pelt_bind_desc *desc, pelt_bind_report *report) {
    pelt_bind_report unused, *out = report ? report : &unused;
    *out = (pelt_bind_report){0};
    px_operation operation = px_operation_begin(model);
    return px_operation_end(&operation, bind(context, model, desc, out));
}
