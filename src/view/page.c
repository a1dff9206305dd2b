/* HTML pages: the program of web/, which the build makes into px_page_head and px_page_tail, with the data between
 * them. docs/page.md describes the data layout.
 *
 * Blocks are written as base64, each in a script element that browsers do not run. The JSON that describes them comes
 * last, because the bounding boxes of frames are known only then.
 */
#include "view/page.h"
#include "core/json.h"
#include "io/io.h"
#include <pelt/measure.h>
#include <pelt/view.h>

#include <math.h>
#include <stdio.h>

#define FLOAT_BYTES_MAX ((size_t)32 << 20)  /* more bytes of frames than this are quantized to 16 bits */
#define CLIP_BYTES_MAX  ((size_t)384 << 20) /* as base64 just below the longest string that browsers support */
#define ENCODE_BYTES    49152               /* bytes encoded at a time; a multiple of 3 */

typedef struct page {
    pelt_context *context;
    const pelt_model *model;
    const pelt_page_desc *desc;
    px_arena *arena;
    px_output_file *file;
    px_json *data;
    bool narrow; /* quantize frames to 16 bits */
    bool failed; /* out of memory while building `data` */
} page;

static const pelt_option options[] = {
    {"fps", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_page_desc, fps), "30", 0.001, 100000, NULL, "N",
     "frame rate of animations that store none"},
};

PX_DESC(page, options)

static px_json *set(page *p, px_json *object, const char *key, px_json *value) {
    px_json *done = px_json_set(p->arena, object, key, value);
    p->failed |= !done;
    return done;
}

static void append_float(page *p, px_json *array, float value) {
    p->failed |= !px_json_append(array, px_json_new_float(p->arena, value));
}

/* ---- Blocks ----------------------------------------------------------------------------------------------- */

static pelt_result write_text(px_output_file *file, const char *text) {
    return px_output_write(file, text, strlen(text));
}

static pelt_result put_text(page *p, const char *text) {
    return write_text(p->file, text);
}

static size_t encode(const uint8_t *data, size_t size, char *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *end = out;
    for (size_t b = 0; b < size; b += 3) {
        size_t have = px_min_size(size - b, 3);
        uint32_t bits = (uint32_t)data[b] << 16;
        bits |= have > 1 ? (uint32_t)data[b + 1] << 8 : 0;
        bits |= have > 2 ? data[b + 2] : 0;
        for (size_t c = 0; c < 4; c++)
            *end++ = c <= have ? digits[bits >> (18 - 6 * c) & 63] : '=';
    }
    return (size_t)(end - out);
}

pelt_result px_page_base64(px_output_file *file, const void *data, size_t size) {
    const uint8_t *bytes = data;
    char text[ENCODE_BYTES / 3 * 4];
    for (size_t done = 0; done < size; done += ENCODE_BYTES)
        PX_TRY(px_output_write(file, text, encode(bytes + done, px_min_size(size - done, ENCODE_BYTES), text)));
    return PELT_OK;
}

pelt_result px_page_block_open(px_output_file *file, const char *name, const char *more) {
    PX_TRY(write_text(file, "<script type=\"application/octet-stream\" id=\"pelt-"));
    PX_TRY(write_text(file, name));
    PX_TRY(write_text(file, more ? "\" " : "\">"));
    return more ? write_text(file, more) : PELT_OK;
}

pelt_result px_page_block_close(px_output_file *file) {
    return write_text(file, "</script>\n");
}

static pelt_result put_base64(page *p, const void *data, size_t size) {
    return px_page_base64(p->file, data, size);
}

static pelt_result open_block(page *p, const char *name) {
    return px_page_block_open(p->file, name, NULL);
}

static pelt_result close_block(page *p) {
    return px_page_block_close(p->file);
}

static pelt_result put_block(page *p, const char *name, const void *data, size_t size) {
    PX_TRY(open_block(p, name));
    PX_TRY(put_base64(p, data, size));
    return close_block(p);
}

/* ---- The model -------------------------------------------------------------------------------------------- */

static pelt_result put_model(page *p) {
    pelt_save_desc desc = pelt_save_desc_default();
    desc.skip_clips = true; /* clips have their own blocks */
    px_buffer glb = {.context = p->context};
    pelt_result result = px_save_memory(p->context, p->model, "model.glb", &desc, &glb);
    if (result == PELT_OK)
        result = put_block(p, "model", glb.data, glb.size);
    px_buffer_free(&glb);
    return result;
}

/* Writes the point of every vertex of the GLB. If parts share vertices, the GLB has a copy of all vertices per part. */
static pelt_result put_points(page *p) {
    const pelt_mesh *mesh = &p->model->mesh;
    bool shared = mesh->part_count > 1 && mesh->parts[0].vertex_count == 0;
    if (p->desc->clip_count == 0 || (!mesh->points.of && !shared))
        return PELT_OK;
    size_t count = px_mul_size(mesh->vertex_count, shared ? mesh->part_count : 1);
    uint32_t *points = PX_NEW(p->arena, uint32_t, count);
    if (!points)
        return PELT_ERROR_MEMORY;
    for (size_t v = 0; v < count; v++)
        points[v] = pelt_vertex_class(&mesh->points, v % mesh->vertex_count);
    return put_block(p, "points", points, count * sizeof *points);
}

/* ---- Clips ------------------------------------------------------------------------------------------------ */

static void measure_box(const float *points, uint32_t count, float box[6]) {
    for (int c = 0; c < 3; c++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            float x = points[3 * i + c];
            low = isfinite(x) && x < low ? x : low;
            high = isfinite(x) && x > high ? x : high;
        }
        box[c] = low <= high ? low : 0;
        box[3 + c] = low <= high ? high - low : 0;
    }
}

/* Quantizes a frame to 16 bits in place; floats are twice as wide. NaN becomes the low corner of the box. */
static void narrow_frame(float *points, uint32_t count, const float box[6]) {
    uint8_t *out = (uint8_t *)points;
    for (size_t e = 0; e < (size_t)3 * count; e++) {
        double size = box[3 + e % 3], at = size > 0 ? ((double)points[e] - box[e % 3]) / size : 0;
        uint32_t number = at > 0 ? (uint32_t)(px_fmin(at, 1) * 65535 + 0.5) : 0;
        out[2 * e] = (uint8_t)number;
        out[2 * e + 1] = (uint8_t)(number >> 8);
    }
}

/* Writes the radius of the enclosing sphere, which errors are relative to. Omitted for frames that are not finite. */
static pelt_result put_radius(page *p, px_json *json, const float *points, uint32_t count) {
    pelt_ball ball;
    for (size_t e = 0; e < (size_t)3 * count; e++)
        if (!isfinite(points[e]))
            return PELT_OK;
    PX_TRY(pelt_enclosing_ball(p->context, points, count, &ball));
    set(p, json, "radius", px_json_new_double(p->arena, ball.radius));
    return PELT_OK;
}

static pelt_result put_frames(page *p, const pelt_clip *clip, px_json *json) {
    px_json *boxes = p->narrow ? set(p, json, "boxes", px_json_array(p->arena)) : NULL;
    size_t floats = px_mul_size(3, clip->point_count);
    float *points = PX_ALLOC(p->context, float, floats);
    pelt_result result = points ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < clip->frame_count && result == PELT_OK; k++) {
        float box[6];
        result = pelt_clip_read(p->context, clip, k, 0, clip->point_count, points);
        px_clip_release(clip, clip->point_count);
        if (result == PELT_OK && k == 0)
            result = put_radius(p, json, points, clip->point_count);
        if (result == PELT_OK && p->narrow) {
            measure_box(points, clip->point_count, box);
            narrow_frame(points, clip->point_count, box);
            for (int c = 0; c < 6; c++)
                append_float(p, boxes, box[c]);
        }
        if (result == PELT_OK)
            result = put_base64(p, points, floats * (p->narrow ? 2 : 4));
        if (result == PELT_OK)
            result = px_progress(p->context, "page", k + 1, clip->frame_count);
    }
    px_free(p->context, points);
    return result;
}

static uint32_t motion_of(const page *p, uint32_t clip) {
    const pelt_model *model = p->model;
    if (p->desc->motions)
        return p->desc->motions[clip];
    for (uint32_t m = 0; m < model->motion_count; m++)
        if (strcmp(model->motions[m].name, p->desc->clips[clip].name) == 0)
            return m;
    return clip < model->motion_count ? clip : PELT_NONE;
}

static pelt_result put_clip(page *p, uint32_t index, px_json *list) {
    const pelt_clip *clip = &p->desc->clips[index];
    size_t size = px_mul_size(px_mul_size(p->narrow ? 6 : 12, clip->point_count), clip->frame_count);
    if (clip->point_count != p->model->mesh.points.count)
        return px_fail(p->context, PELT_ERROR_USAGE, "page: clip '%s' has %u points, the model has %u", clip->name,
                       clip->point_count, p->model->mesh.points.count);
    if (size > CLIP_BYTES_MAX) {
        px_log(p->context, PELT_LOG_WARNING, "clip '%s' takes %zu MB, more than a page holds: it is left out",
               clip->name, size >> 20);
        return PELT_OK;
    }
    px_json *json = px_json_append(list, px_json_object(p->arena));
    px_json *times = set(p, json, "times", px_json_array(p->arena));
    uint32_t motion = motion_of(p, index);
    set(p, json, "name", px_json_new_string(p->arena, clip->name));
    if (motion != PELT_NONE)
        set(p, json, "motion", px_json_new_uint(p->arena, motion));
    set(p, json, "points", px_json_new_uint(p->arena, clip->point_count));
    set(p, json, "format", px_json_new_string(p->arena, p->narrow ? "u16" : "f32"));
    for (uint32_t k = 0; k < clip->frame_count; k++)
        append_float(p, times, clip->times[k]);
    char name[32];
    snprintf(name, sizeof name, "clip-%u", px_json_count(list) - 1);
    PX_TRY(open_block(p, name));
    PX_TRY(put_frames(p, clip, json));
    return close_block(p);
}

static pelt_result put_clips(page *p) {
    size_t size = 0;
    for (uint32_t c = 0; c < p->desc->clip_count; c++)
        size += px_mul_size(px_mul_size(12, p->desc->clips[c].point_count), p->desc->clips[c].frame_count);
    p->narrow = size > FLOAT_BYTES_MAX;
    px_json *list = set(p, p->data, "clips", px_json_array(p->arena));
    for (uint32_t c = 0; c < p->desc->clip_count; c++)
        PX_TRY(put_clip(p, c, list));
    return PELT_OK;
}

/* ---- Title and data --------------------------------------------------------------------------------------- */

static pelt_result put_lattice_clip(page *p, const pelt_clip *clip, px_json *list) {
    px_json *json = px_json_append(list, px_json_object(p->arena));
    char name[32];
    set(p, json, "name", px_json_new_string(p->arena, clip->name));
    set(p, json, "points", px_json_new_uint(p->arena, clip->point_count));
    set(p, json, "format", px_json_new_string(p->arena, p->narrow ? "u16" : "f32"));
    set(p, json, "times", px_json_array(p->arena)); /* those of the clip */
    snprintf(name, sizeof name, "lattice-clip-%u", px_json_count(list) - 1);
    if (px_mul_size(px_mul_size(p->narrow ? 6 : 12, clip->point_count), clip->frame_count) > CLIP_BYTES_MAX)
        return PELT_OK;
    PX_TRY(open_block(p, name));
    PX_TRY(put_frames(p, clip, json));
    return close_block(p);
}

static pelt_result put_overlays(page *p) {
    const pelt_page_voxels *voxels = &p->desc->voxels;
    const pelt_page_lattice *lattice = &p->desc->lattice;
    if (voxels->count > 0) {
        px_json *json = set(p, p->data, "voxels", px_json_object(p->arena));
        set(p, json, "size", px_json_new_float(p->arena, voxels->size));
        PX_TRY(put_block(p, "voxels", voxels->centers, px_mul_size(voxels->count, 12)));
    }
    if (lattice->edge_count > 0) {
        PX_TRY(put_block(p, "lattice-points", lattice->positions, px_mul_size(lattice->point_count, 12)));
        PX_TRY(put_block(p, "lattice-edges", lattice->edges, px_mul_size(lattice->edge_count, 8)));
        px_json *list = set(p, p->data, "lattice_clips", px_json_array(p->arena));
        for (uint32_t c = 0; lattice->clips && c < p->desc->clip_count; c++)
            PX_TRY(put_lattice_clip(p, &lattice->clips[c], list));
    }
    return PELT_OK;
}

static const char *title_of(const page *p) {
    const char *name = px_path_name(p->model->path);
    return p->desc->title ? p->desc->title : name[0] ? name : "model";
}

static pelt_result read_report(page *p) {
    if (!p->desc->report)
        return PELT_OK;
    px_json *report;
    const char *previous = px_subject(p->context, "page: report");
    pelt_result result = px_json_read(p->arena, p->desc->report, strlen(p->desc->report), &report);
    px_subject(p->context, previous);
    if (result == PELT_OK)
        set(p, p->data, "report", report);
    return result;
}

/* Escapes '<', which occurs in JSON only inside strings: HTML would read it as the end of the element or as a comment.
 */
static pelt_result put_escaped(page *p, const char *text, size_t size) {
    for (const char *end = text + size, *open; text < end; text = open + 1) {
        open = memchr(text, '<', (size_t)(end - text));
        PX_TRY(px_output_write(p->file, text, (size_t)((open ? open : end) - text)));
        if (!open)
            break;
        PX_TRY(put_text(p, "\\u003c"));
    }
    return PELT_OK;
}

static pelt_result put_data(page *p) {
    set(p, p->data, "title", px_json_new_string(p->arena, title_of(p)));
    set(p, p->data, "pelt", px_json_new_string(p->arena, PELT_VERSION));
    set(p, p->data, "fps", px_json_new_double(p->arena, p->desc->fps));
    PX_TRY(read_report(p));
    if (p->failed)
        return PELT_ERROR_MEMORY;
    px_buffer text = {.context = p->context};
    px_json_write(&text, p->data, 0);
    pelt_result result = text.failed ? PELT_ERROR_MEMORY : PELT_OK;
    if (result == PELT_OK)
        result = put_text(p, "<script type=\"application/json\" id=\"pelt-data\">");
    if (result == PELT_OK)
        result = put_escaped(p, text.data, text.size);
    px_buffer_free(&text);
    return result == PELT_OK ? close_block(p) : result;
}

static pelt_result write_page(page *p) {
    p->data = px_json_object(p->arena);
    PX_TRY(px_output_write(p->file, px_page_head, px_page_head_size));
    PX_TRY(put_model(p));
    PX_TRY(put_points(p));
    PX_TRY(put_clips(p));
    PX_TRY(put_overlays(p));
    PX_TRY(put_data(p));
    return px_output_write(p->file, px_page_tail, px_page_tail_size);
}

bool pelt_page_supported(void) {
    return px_page_head_size > 0;
}

pelt_result pelt_page_save(pelt_context *context, const pelt_model *model, const pelt_page_desc *given,
                           const char *path) {
    PX_TAKE_DESC(context, page, given, desc);
    if (!pelt_page_supported())
        return px_fail(
            context, PELT_ERROR_UNSUPPORTED,
            "%s: this build makes no pages: node or its packages were missing. Install nodejs and npm, run npm "
            "ci in Pelt's source folder and build again",
            path);
    page p = {.context = context, .model = model, .desc = &desc};
    px_output *output = px_output_begin(context, true);
    p.arena = output ? px_arena_create(context) : NULL;
    pelt_result result = p.arena ? px_output_open(output, path, &p.file) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = write_page(&p);
    px_arena_destroy(p.arena);
    if (result == PELT_OK)
        return px_output_commit(output);
    px_output_abort(output);
    return result;
}
