/* Soft light without noise: the fraction of the sky and of a large key light that each vertex and each ground cell
 * sees.
 *
 * For each of a fixed set of directions the model is drawn into a small depth map along that direction (shadow mapping,
 * Williams 1978), and each receiver is tested against the map for occlusion. A map stores the nearest and the farthest
 * surface, so it serves the opposite direction too. Both sides of a vertex are lit, since flags and capes show both.
 */
#include "view/view.h"

#define SKY_AXES   28
#define KEY_RAYS   14
#define BLOCK_RAYS 7    /* directions per block: six blocks, four of them for the sky */
#define KEY_SPREAD 0.16 /* radius of the key light, as the tangent of its half angle */
#define MAP_SIDE   256
#define TEXEL      (2.0 / MAP_SIDE) /* size of a map cell, in radii of the model */

_Static_assert(SKY_AXES % BLOCK_RAYS == 0 && KEY_RAYS % BLOCK_RAYS == 0, "a block is all sky or all key light");

typedef struct ray {
    float d[3], u[3], v[3]; /* unit vectors: towards the light, and two perpendicular to it */
    bool key;
} ray;

/* Sums over the rays of a block. */
typedef struct sums {
    float front, back, total, key;
} sums;

typedef struct bake {
    pelt_context *context;
    px_scene *scene;
    px_ground *ground;
    float center[3], radius; /* bounding sphere of the pose */
    ray rays[SKY_AXES + KEY_RAYS];
    sums *vertices; /* [block][vertex] */
    float *cells;   /* [block][cell] */
} bake;

#define CELLS ((size_t)PX_GROUND_SIDE * PX_GROUND_SIDE)

static void normalize(float v[3]) {
    float length = sqrtf(px_dot3(v, v));
    for (int c = 0; c < 3; c++)
        v[c] /= length;
}

void px_light_key(const px_camera *camera, float key[3]) {
    float flat[3] = {camera->forward[0], 0, camera->forward[2]}; /* never 0: the pitch stays below 90° */
    normalize(flat);
    for (int c = 0; c < 3; c++)
        key[c] = -0.62f * camera->right[c] - 0.72f * flat[c] + (c == 1 ? 1.15f : 0);
    normalize(key);
}

static void set_ray(ray *r, const float d[3], bool key) {
    memcpy(r->d, d, sizeof r->d);
    float side[3] = {0, 0, 0};
    side[fabsf(d[0]) < 0.6f ? 0 : 1] = 1;
    px_cross3(d, side, r->u);
    normalize(r->u);
    px_cross3(d, r->u, r->v);
    r->key = key;
}

/* Sky: a golden-angle spiral over the upper hemisphere, uniform in area (each axis serves both directions). Key light:
 * a golden-angle spiral over a disc. */
static void make_rays(bake *b, const float key[3]) {
    const float golden = 2.39996323f;
    for (int a = 0; a < SKY_AXES; a++) {
        float y = ((float)a + 0.5f) / SKY_AXES, r = sqrtf(1 - y * y), angle = golden * (float)a;
        set_ray(&b->rays[a], (float[3]){r * px_cosf(angle), y, r * px_sinf(angle)}, false);
    }
    ray middle;
    set_ray(&middle, key, true);
    for (int a = 0; a < KEY_RAYS; a++) {
        float r = (float)KEY_SPREAD * sqrtf(((float)a + 0.5f) / KEY_RAYS), angle = golden * (float)a;
        float d[3];
        for (int c = 0; c < 3; c++)
            d[c] = key[c] + r * (px_cosf(angle) * middle.u[c] + px_sinf(angle) * middle.v[c]);
        normalize(d);
        set_ray(&b->rays[SKY_AXES + a], d, true);
    }
}

/* ---- One direction ---------------------------------------------------------------------------------------- */

/* Map coordinates in cells, and height towards the light in radii. */
static void to_map(const bake *b, const ray *r, const float p[3], float out[3]) {
    float q[3];
    px_sub3(p, b->center, q);
    out[0] = (px_dot3(r->u, q) / b->radius * 0.5f + 0.5f) * MAP_SIDE;
    out[1] = (px_dot3(r->v, q) / b->radius * 0.5f + 0.5f) * MAP_SIDE;
    out[2] = px_dot3(r->d, q) / b->radius;
}

static void draw_map(const bake *b, const ray *r, px_screen_corner *corners, px_tile *map) {
    const px_scene *scene = b->scene;
    for (uint32_t i = 0; i < scene->vertex_count; i++) {
        float m[3];
        to_map(b, r, scene->positions + (size_t)3 * i, m);
        bool fine = px_finite3(m);
        corners[i] = (px_screen_corner){fine ? (int32_t)lrintf(m[0] * PX_SUBPIXEL) : 0,
                                        fine ? (int32_t)lrintf(m[1] * PX_SUBPIXEL) : 0, m[2]};
    }
    for (size_t t = 0; t < (size_t)MAP_SIDE * MAP_SIDE; t++) {
        map->near_depth[t] = -INFINITY;
        map->far_depth[t] = INFINITY;
    }
    for (uint32_t t = 0; t < scene->triangle_count; t++) {
        const uint32_t *c = scene->triangles + (size_t)3 * t;
        const px_screen_corner *x = &corners[c[0]], *y = &corners[c[1]], *z = &corners[c[2]];
        if (isfinite(x->depth + y->depth + z->depth))
            px_tile_fill(map, x, y, z, t);
    }
}

static float visible_cell(const px_tile *map, int x, int y, float height, bool from_below) {
    if (x < 0 || y < 0 || x >= MAP_SIDE || y >= MAP_SIDE)
        return 1;
    size_t t = (size_t)y * MAP_SIDE + (size_t)x;
    const float bias = (float)TEXEL;
    return from_below ? height - bias <= map->far_depth[t] : height + bias >= map->near_depth[t];
}

/* Visible fraction of a point, bilinear over the four nearest cells, seen along the ray or from the opposite direction.
 */
static float visible(const bake *b, const ray *r, const px_tile *map, const float p[3], bool from_below) {
    float m[3];
    to_map(b, r, p, m);
    if (!(fabsf(m[0]) < 2 * MAP_SIDE && fabsf(m[1]) < 2 * MAP_SIDE))
        return 1;
    float fx = floorf(m[0] - 0.5f), fy = floorf(m[1] - 0.5f), u = m[0] - 0.5f - fx, v = m[1] - 0.5f - fy;
    int x = (int)fx, y = (int)fy;
    float low = (1 - u) * visible_cell(map, x, y, m[2], from_below) + u * visible_cell(map, x + 1, y, m[2], from_below);
    float high =
        (1 - u) * visible_cell(map, x, y + 1, m[2], from_below) + u * visible_cell(map, x + 1, y + 1, m[2], from_below);
    return (1 - v) * low + v * high;
}

/* Offsets a receiver from the surface, so that slanted surfaces do not shadow themselves. */
static void off_surface(const bake *b, const float p[3], const float n[3], float side, float out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = p[c] + side * 1.5f * (float)TEXEL * b->radius * n[c];
}

static void light_vertices(const bake *b, const ray *r, const px_tile *map, sums *out) {
    for (uint32_t i = 0; i < b->scene->vertex_count; i++) {
        const float *p = b->scene->positions + (size_t)3 * i, *n = b->scene->normals + (size_t)3 * i;
        float facing = px_dot3(n, r->d), side = facing >= 0 ? 1.0f : -1.0f, weight = fabsf(facing), q[3];
        if (!px_finite3(p))
            continue;
        off_surface(b, p, n, side, q);
        float toward = visible(b, r, map, q, false);
        if (r->key) {
            out[i].key += toward;
            continue;
        }
        off_surface(b, p, n, -side, q);
        float away = visible(b, r, map, q, true);
        out[i].front += weight * (facing >= 0 ? toward : away);
        out[i].back += weight * (facing >= 0 ? away : toward);
        out[i].total += weight;
    }
}

/* Diffuse ground would use the weight d·y. Its square concentrates the shadow under the model. */
static float ground_weight(const ray *r) {
    return r->d[1] * r->d[1];
}

static void light_cells(const bake *b, const ray *r, const px_tile *map, float *out) {
    const px_ground *g = b->ground;
    for (size_t t = 0; t < CELLS; t++) {
        float x = g->x + g->half * (2 * ((float)(t % PX_GROUND_SIDE) + 0.5f) / PX_GROUND_SIDE - 1);
        float z = g->z + g->half * (2 * ((float)(t / PX_GROUND_SIDE) + 0.5f) / PX_GROUND_SIDE - 1);
        out[t] += (r->key ? 1 : ground_weight(r)) * visible(b, r, map, (float[3]){x, g->height, z}, false);
    }
}

/* ---- All directions --------------------------------------------------------------------------------------- */

static pelt_result run_block(void *user, size_t first, size_t count, size_t block) {
    bake *b = user;
    px_tile map = {.width = MAP_SIDE, .row_count = MAP_SIDE};
    px_tile_pattern(&map, 1);
    map.near_depth = PX_ALLOC(b->context, float, (size_t)2 * MAP_SIDE * MAP_SIDE);
    px_screen_corner *corners = PX_ALLOC(b->context, px_screen_corner, b->scene->vertex_count);
    pelt_result result = map.near_depth && corners ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t r = first; r < first + count && result == PELT_OK; r++) {
        map.far_depth = map.near_depth + (size_t)MAP_SIDE * MAP_SIDE;
        draw_map(b, &b->rays[r], corners, &map);
        light_vertices(b, &b->rays[r], &map, b->vertices + block * b->scene->vertex_count);
        if (b->ground)
            light_cells(b, &b->rays[r], &map, b->cells + block * CELLS);
        result = px_cancelled(b->context);
    }
    px_free(b->context, corners);
    px_free(b->context, map.near_depth);
    return result;
}

/* Merges the shadows of single rays: box blur over 2·radius + 1 cells along x, then along z. */
static void soften(float (*light)[3], int kind, int radius) {
    for (int pass = 0; pass < 2; pass++) {
        size_t step = pass == 0 ? 1 : PX_GROUND_SIDE, line = pass == 0 ? PX_GROUND_SIDE : 1;
        for (size_t l = 0; l < PX_GROUND_SIDE; l++) {
            float copy[PX_GROUND_SIDE];
            for (size_t t = 0; t < PX_GROUND_SIDE; t++)
                copy[t] = light[l * line + t * step][kind];
            for (int t = 0; t < PX_GROUND_SIDE; t++) {
                float sum = 0;
                for (int o = -radius; o <= radius; o++)
                    sum += t + o < 0 || t + o >= PX_GROUND_SIDE ? 1 : copy[t + o];
                light[l * line + (size_t)t * step][kind] = sum / (float)(2 * radius + 1);
            }
        }
    }
}

/* Sums the blocks in a fixed order, for results independent of the thread count. */
static void gather(const bake *b, size_t block_count) {
    size_t vertex_count = b->scene->vertex_count;
    for (size_t i = 0; i < vertex_count; i++) {
        sums s = {0};
        for (size_t k = 0; k < block_count; k++) {
            const sums *part = &b->vertices[k * vertex_count + i];
            s.front += part->front, s.back += part->back, s.total += part->total, s.key += part->key;
        }
        float *light = b->scene->light[i];
        light[0] = s.total > 0 ? s.front / s.total : 1;
        light[1] = s.total > 0 ? s.back / s.total : 1;
        light[2] = s.key / KEY_RAYS;
    }
}

static void gather_ground(const bake *b, size_t block_count) {
    size_t sky_blocks = SKY_AXES / BLOCK_RAYS;
    float sky_total = 0;
    for (int a = 0; a < SKY_AXES; a++)
        sky_total += ground_weight(&b->rays[a]);
    for (size_t t = 0; t < CELLS; t++) {
        float sky = 0, key = 0;
        for (size_t k = 0; k < block_count; k++)
            *(k < sky_blocks ? &sky : &key) += b->cells[k * CELLS + t];
        b->ground->light[t][0] = b->ground->light[t][2] = sky / sky_total;
        b->ground->light[t][1] = key / KEY_RAYS;
    }
    for (int pass = 0; pass < 2; pass++) {
        soften(b->ground->light, 0, 3);
        soften(b->ground->light, 1, 2);
        soften(b->ground->light, 2, 1);
    }
}

/* Computes the bounding sphere of the pose's box and the ground square that its shadows reach. */
static void place(bake *b) {
    const px_scene *scene = b->scene;
    float squares = 0, reach = 0;
    for (int c = 0; c < 3; c++) {
        float half = (scene->high[c] - scene->low[c]) / 2;
        b->center[c] = (scene->high[c] + scene->low[c]) / 2;
        squares += half * half;
        reach = c == 1 ? reach : px_fmaxf(reach, half);
    }
    b->radius = squares > 0 ? sqrtf(squares) * 1.02f : 1; /* leaves a margin of empty cells */
    if (!b->ground)
        return;
    b->ground->x = b->center[0];
    b->ground->z = b->center[2];
    b->ground->half = reach + 1.1f * (scene->high[1] - b->ground->height) + 0.05f;
}

pelt_result px_light_scene(px_arena *arena, px_scene *scene, const float key[3], px_ground *ground) {
    bake b = {.context = px_arena_context(arena), .scene = scene, .ground = ground};
    place(&b);
    make_rays(&b, key);
    size_t block_count = px_block_count(PX_COUNT(b.rays), BLOCK_RAYS);
    b.vertices = PX_ALLOC(b.context, sums, px_mul_size(block_count, scene->vertex_count));
    bool enough = b.vertices != NULL;
    if (ground) {
        ground->light = px_arena_alloc(arena, CELLS, sizeof *ground->light);
        b.cells = PX_ALLOC(b.context, float, block_count *CELLS);
        enough = enough && ground->light && b.cells;
    }
    pelt_result result = PELT_ERROR_MEMORY;
    if (enough)
        result = px_parallel(b.context, "light", PX_COUNT(b.rays), BLOCK_RAYS, run_block, &b);
    if (result == PELT_OK)
        gather(&b, block_count);
    if (result == PELT_OK && ground)
        gather_ground(&b, block_count);
    px_free(b.context, b.cells);
    px_free(b.context, b.vertices);
    return result;
}
