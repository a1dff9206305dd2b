/* Draws a panel of a picture in bands of rows: finds the triangle that each sample sees, shades it, then draws the
 * overlay.
 *
 * Bands are fixed and share no data, so the picture is the same for any thread count.
 */
#include "view/view.h"

#define BAND_ROWS 16

typedef struct draw {
    px_arena *arena;
    const px_panel *panel;
    const px_overlay *overlay;  /* NULL: none */
    px_screen_corner *corners;  /* [vertex] depth is 1 / distance; 0: not drawn */
    px_color sky_high, sky_low; /* background colours: centre, corners */
} draw;

/* ---- Light on the surface --------------------------------------------------------------------------------- */

typedef struct sample {
    float position[3], normal[3], color[3], light[3];
    float edge; /* distance to the nearest drawn edge, pixels */
} sample;

static void normalize(float v[3]) {
    float length = sqrtf(px_dot3(v, v));
    for (int c = 0; c < 3 && length > 0; c++)
        v[c] /= length;
}

static float clamp01(float x) {
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static float smooth(float low, float high, float x) {
    float u = clamp01((x - low) / (high - low));
    return u * u * (3 - 2 * u);
}

/* Tone curve: compresses bright values smoothly instead of clipping them; leaves dark values unchanged. */
static float shoulder(float x) {
    const float knee = 0.62f;
    return x <= knee ? x : knee + (1 - knee) * (1 - px_expf((knee - x) / (1 - knee)));
}

/* Lighting model: key light from the upper left, a cool fill light from the right, a sky dome that is brighter above
 * than below, a thin rim light, and a broad specular highlight. */
static px_color shade(const px_panel *panel, const sample *s, float sky) {
    const px_camera *camera = panel->camera;
    float view[3], half[3], fill[3];
    px_sub3(camera->eye, s->position, view);
    normalize(view);
    for (int c = 0; c < 3; c++) {
        half[c] = view[c] + panel->key[c];
        fill[c] = 0.80f * camera->right[c] - 0.52f * camera->forward[c] + (c == 1 ? 0.25f : 0);
    }
    normalize(half);
    float lambert = px_dot3(s->normal, panel->key), facing = clamp01(px_dot3(s->normal, view));
    float key = clamp01((lambert + 0.12f) / 1.12f) * s->light[2];
    float side = clamp01(px_dot3(s->normal, fill)) * (0.35f + 0.65f * sky);
    float above = 0.5f + 0.5f * s->normal[1];
    float rim = px_powf(1 - facing, 3.5f) * sky * above;
    float shine = px_powf(clamp01(px_dot3(s->normal, half)), 28) * s->light[2];
    float open = 0.10f + 0.90f * sky;
    const float key_color[3] = {1.02f, 0.97f, 0.90f}, fill_color[3] = {0.11f, 0.14f, 0.18f};
    const float high[3] = {0.32f, 0.35f, 0.395f}, low[3] = {0.155f, 0.155f, 0.165f};
    float out[3];
    for (int c = 0; c < 3; c++) {
        float dome = (low[c] + (high[c] - low[c]) * above) * open;
        /* interreflection: light between folds takes the surface's colour */
        float bounce = (1 - sky) * 0.10f * s->color[c];
        float light = dome + bounce + key * key_color[c] + side * fill_color[c];
        out[c] = shoulder(s->color[c] * light + 0.10f * rim * high[c] + 0.045f * shine);
    }
    return (px_color){out[0], out[1], out[2]};
}

/* Perspective-correct barycentric weights for a point of the cell. Returns false for a triangle seen edge-on. */
static bool corner_weights(const px_screen_corner *const c[3], double x, double y, double w[3], double pixels[3]) {
    double area = 0, sum = 0, e[3];
    for (int k = 0; k < 3; k++) {
        const px_screen_corner *a = c[(k + 1) % 3], *b = c[(k + 2) % 3];
        e[k] = ((double)a->x - x) * ((double)b->y - y) - ((double)b->x - x) * ((double)a->y - y);
        double length = px_hypot((double)b->x - a->x, (double)b->y - a->y);
        pixels[k] = length > 0 ? fabs(e[k]) / length / PX_SUBPIXEL : 0;
        area += e[k];
    }
    if (area == 0)
        return false;
    for (int k = 0; k < 3; k++) {
        w[k] = px_fmax(e[k] / area, 0) * c[k]->depth;
        sum += w[k];
    }
    for (int k = 0; k < 3; k++)
        w[k] /= sum;
    return sum > 0;
}

static void blend(const float *values, const uint32_t corners[3], const double w[3], float out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (float)(w[0] * values[(size_t)3 * corners[0] + c] + w[1] * values[(size_t)3 * corners[1] + c] +
                         w[2] * values[(size_t)3 * corners[2] + c]);
}

/* Flips the normal towards the side of the face that the camera sees. Returns true if it is the back side. */
static bool turn_normal(const px_scene *scene, const uint32_t corners[3], const float eye[3], sample *s) {
    float ab[3], ac[3], face[3], view[3];
    const float *a = scene->positions + (size_t)3 * corners[0];
    px_sub3(scene->positions + (size_t)3 * corners[1], a, ab);
    px_sub3(scene->positions + (size_t)3 * corners[2], a, ac);
    px_cross3(ab, ac, face);
    px_sub3(eye, s->position, view);
    bool back = (px_dot3(face, view) < 0) != (px_dot3(face, s->normal) < 0);
    normalize(s->normal);
    for (int c = 0; c < 3 && back; c++)
        s->normal[c] = -s->normal[c];
    return back;
}

static px_color shade_triangle(const draw *d, uint32_t triangle, double x, double y) {
    const px_panel *panel = d->panel;
    const px_scene *scene = panel->scene;
    const uint32_t *corners = scene->triangles + (size_t)3 * triangle;
    const px_screen_corner *const c[3] = {&d->corners[corners[0]], &d->corners[corners[1]], &d->corners[corners[2]]};
    double w[3], pixels[3];
    sample s = {.edge = INFINITY};
    if (!corner_weights(c, x, y, w, pixels))
        w[0] = 1, w[1] = w[2] = 0;
    blend(scene->positions, corners, w, s.position);
    blend(scene->normals, corners, w, s.normal);
    blend(&scene->light[0][0], corners, w, s.light);
    if (scene->triangle_colors)
        memcpy(s.color, scene->triangle_colors + (size_t)3 * triangle, sizeof s.color);
    else
        blend(scene->colors, corners, w, s.color);
    bool back = turn_normal(scene, corners, panel->camera->eye, &s);
    px_color color = shade(panel, &s, s.light[back ? 1 : 0]);
    if (panel->desc->wireframe) {
        for (int k = 0; k < 3; k++) /* corner k lies opposite the edge from k + 1 to k + 2 */
            if (scene->edges[triangle] >> ((k + 1) % 3) & 1)
                s.edge = px_fminf(s.edge, (float)pixels[k]);
        px_color line = {0.035f, 0.045f, 0.065f};
        color = px_color_mix(color, line, 0.55f * (1 - smooth(0.15f, 0.95f, s.edge)));
    }
    return color;
}

/* ---- Background and ground -------------------------------------------------------------------------------- */

/* Background gradient: brighter around the middle. In picture coordinates, so that all cells of a sheet share one
 * gradient. */
static px_color backdrop(const draw *d, double x, double y) {
    const px_panel *panel = d->panel;
    float v = (float)((panel->y + y) / panel->desc->height);
    float u = (float)((panel->x + x) / panel->desc->width) - 0.5f;
    float away = clamp01(1.15f * sqrtf(u * u + 0.8f * (v - 0.42f) * (v - 0.42f)));
    return px_color_mix(d->sky_high, d->sky_low, smooth(0.05f, 0.95f, away));
}

static float ground_cell(const px_ground *g, int x, int z, int kind) {
    if (x < 0 || z < 0 || x >= PX_GROUND_SIDE || z >= PX_GROUND_SIDE)
        return 1;
    return g->light[(size_t)z * PX_GROUND_SIDE + (size_t)x][kind];
}

static float ground_light(const px_ground *g, float gx, float gz, int kind) {
    float fx = floorf(gx), fz = floorf(gz), u = gx - fx, v = gz - fz;
    int x = (int)fx, z = (int)fz;
    float low = (1 - u) * ground_cell(g, x, z, kind) + u * ground_cell(g, x + 1, z, kind);
    float high = (1 - u) * ground_cell(g, x, z + 1, kind) + u * ground_cell(g, x + 1, z + 1, kind);
    return (1 - v) * low + v * high;
}

/* Distance to the nearest neighbouring cell, as a fraction of the cell's size. Shadows fade out there; at the border of
 * the picture they are cut off. */
static float inner_border(const px_panel *panel, double x, double y) {
    double near_x = panel->x > 0 ? x : panel->width, near_y = panel->y > 0 ? y : panel->height;
    if (panel->x + panel->width < panel->desc->width)
        near_x = px_fmin(near_x, panel->width - x);
    if (panel->y + panel->height < panel->desc->height)
        near_y = px_fmin(near_y, panel->height - y);
    return (float)px_fmin(near_x / panel->width, near_y / panel->height);
}

/* Darkness of the ground at a pixel, 0 to 1. */
static float ground_shadow(const px_panel *panel, double x, double y) {
    const px_camera *camera = panel->camera;
    const px_ground *g = panel->ground;
    float across = (float)(x - camera->x) / camera->focal, above = (float)(camera->y - y) / camera->focal, ray[3];
    for (int c = 0; c < 3; c++)
        ray[c] = camera->forward[c] + across * camera->right[c] + above * camera->up[c];
    float fall = g->height - camera->eye[1];
    if (!(fall < 0 && ray[1] < -1e-4f))
        return 0;
    float t = fall / ray[1];
    float gx = (camera->eye[0] + t * ray[0] - g->x) / g->half, gz = (camera->eye[2] + t * ray[2] - g->z) / g->half;
    if (!(fabsf(gx) < 1 && fabsf(gz) < 1))
        return 0;
    float cx = (gx + 1) / 2 * PX_GROUND_SIDE - 0.5f, cz = (gz + 1) / 2 * PX_GROUND_SIDE - 0.5f;
    float sky = 1 - ground_light(g, cx, cz, 0), key = 1 - ground_light(g, cx, cz, 1);
    float touch = smooth(0.45f, 1.0f, 1 - ground_light(g, cx, cz, 2)); /* contact shadow */
    float rim = smooth(1.0f, 0.72f, sqrtf(gx * gx + gz * gz));
    sky = px_fmaxf(0, sky - 0.03f); /* removes the faint outer part, which would show at cell borders */
    float dark = 0.78f * sky + 0.20f * key + 0.22f * touch;
    return dark / (1 + 0.35f * dark) * rim * smooth(0, 0.2f, inner_border(panel, x, y)); /* never fully black */
}

static void set_background(draw *d) {
    bool dark = d->panel->desc->background == PELT_PICTURE_DARK;
    d->sky_high = px_color_decode(dark ? 0x3A4049 : 0xFBFBFA);
    d->sky_low = px_color_decode(dark ? 0x1B1E23 : 0xE3E6EB);
}

/* Premultiplied RGBA. */
static void background_pixel(const draw *d, double x, double y, float out[4]) {
    float shadow = d->panel->ground ? ground_shadow(d->panel, x, y) : 0;
    bool clear = d->panel->desc->background == PELT_PICTURE_TRANSPARENT;
    px_color sky = backdrop(d, x, y), umbra = px_color_decode(0x2A2C38);
    umbra = px_color_mix(umbra, (px_color){0, 0, 0}, d->panel->desc->background == PELT_PICTURE_DARK ? 1 : 0);
    px_color color = px_color_mix(sky, umbra, shadow);
    out[0] = clear ? umbra.r * shadow : color.r;
    out[1] = clear ? umbra.g * shadow : color.g;
    out[2] = clear ? umbra.b * shadow : color.b;
    out[3] = clear ? shadow : 1;
}

/* ---- Bands ------------------------------------------------------------------------------------------------ */

static void fill_band(const draw *d, px_tile *tile) {
    const px_scene *scene = d->panel->scene;
    for (uint32_t t = 0; t < scene->triangle_count; t++) {
        const uint32_t *c = scene->triangles + (size_t)3 * t;
        const px_screen_corner *p = &d->corners[c[0]], *q = &d->corners[c[1]], *r = &d->corners[c[2]];
        if (p->depth > 0 && q->depth > 0 && r->depth > 0)
            px_tile_fill(tile, p, q, r, t);
    }
}

static void shade_pixel(const draw *d, const px_tile *tile, uint32_t x, uint32_t row, float out[4]) {
    const uint32_t *ids = tile->ids + ((size_t)row * (size_t)tile->width + x) * (size_t)tile->sample_count;
    float sum[4] = {0, 0, 0, 0}, back[4];
    uint32_t y = (uint32_t)tile->first_row + row;
    int32_t open = 0;
    for (int32_t s = 0; s < tile->sample_count; s++) {
        if (ids[s] == PELT_NONE) {
            open++;
            continue;
        }
        px_color c = shade_triangle(d, ids[s], (double)x * PX_SUBPIXEL + tile->sample_x[s],
                                    (double)y * PX_SUBPIXEL + tile->sample_y[s]);
        sum[0] += c.r, sum[1] += c.g, sum[2] += c.b, sum[3] += 1;
    }
    if (open > 0) {
        background_pixel(d, x + 0.5, y + 0.5, back);
        for (int c = 0; c < 4; c++)
            sum[c] += back[c] * (float)open;
    }
    for (int c = 0; c < 4; c++)
        out[c] = sum[c] / (float)tile->sample_count;
}

static void store_row(const px_panel *panel, uint32_t y, const float (*row)[4]) {
    uint8_t *out = panel->pixels + ((size_t)(panel->y + y) * panel->desc->width + panel->x) * 4;
    for (uint32_t x = 0; x < panel->width; x++) {
        float alpha = row[x][3];
        for (int c = 0; c < 3; c++)
            out[4 * x + c] = px_color_encode(alpha > 0 ? row[x][c] / alpha : 0);
        out[4 * x + 3] = (uint8_t)(clamp01(alpha) * 255 + 0.5f);
    }
}

static pelt_result run_band(void *user, size_t first, size_t count, size_t block) {
    const draw *d = user;
    (void)block;
    pelt_context *context = px_arena_context(d->arena);
    uint32_t width = d->panel->width;
    px_tile tile = {.width = (int32_t)width, .first_row = (int32_t)first, .row_count = (int32_t)count};
    px_tile_pattern(&tile, d->panel->desc->samples);
    size_t samples = count * width * (size_t)tile.sample_count;
    tile.near_depth = PX_ALLOC(context, float, samples); /* depth 0: infinitely far */
    tile.ids = PX_ALLOC(context, uint32_t, samples);
    float(*rows)[4] = px_alloc(context, count * width, sizeof *rows);
    pelt_result result = tile.near_depth && tile.ids && rows ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        memset(tile.ids, 0xFF, samples * sizeof *tile.ids);
        fill_band(d, &tile);
        for (uint32_t row = 0; row < count; row++)
            for (uint32_t x = 0; x < width; x++)
                shade_pixel(d, &tile, x, row, rows[(size_t)row * width + x]);
        if (d->overlay)
            px_overlay_draw(d->overlay, (uint32_t)first, (uint32_t)count, rows);
        for (uint32_t row = 0; row < count; row++)
            store_row(d->panel, (uint32_t)first + row, (const float(*)[4])rows + (size_t)row * width);
    }
    px_free(context, rows);
    px_free(context, tile.ids);
    px_free(context, tile.near_depth);
    return result;
}

/* Projects a vertex. In close-ups, vertices too far outside for subpixel integers get depth 0, which drops their
 * triangles. */
static px_screen_corner project(const px_camera *camera, const float p[3]) {
    const double limit = 1 << 20; /* pixels; products of two such values times PX_SUBPIXEL² fit in 64 bits */
    double at[3];
    if (!px_finite3(p) || !px_camera_project(camera, p, at) || fabs(at[0]) > limit || fabs(at[1]) > limit)
        return (px_screen_corner){0, 0, 0};
    return (px_screen_corner){(int32_t)lrint(at[0] * PX_SUBPIXEL), (int32_t)lrint(at[1] * PX_SUBPIXEL), (float)at[2]};
}

pelt_result px_panel_draw(px_arena *arena, const px_panel *panel) {
    const px_scene *scene = panel->scene;
    draw d = {.arena = arena, .panel = panel, .corners = PX_NEW(arena, px_screen_corner, scene->vertex_count)};
    if (!d.corners)
        return PELT_ERROR_MEMORY;
    set_background(&d);
    for (uint32_t i = 0; i < scene->vertex_count; i++)
        d.corners[i] = project(panel->camera, scene->positions + (size_t)3 * i);
    if (panel->skeleton)
        PX_TRY(px_overlay_make(arena, panel, &d.overlay));
    return px_parallel(px_arena_context(arena), "draw", panel->height, BAND_ROWS, run_band, &d);
}
