/* The skeleton drawn over the surface: a kite shape from each joint to its child and a disc at each joint, antialiased.
 */
#include "view/view.h"

#include <stdlib.h>

#define MAX_SIDES 4

/* A convex polygon, or a disc if side_count is 0. Coordinates in pixels of the cell. */
typedef struct mark {
    float x[MAX_SIDES], y[MAX_SIDES]; /* corners in order; disc: [0] is the centre */
    uint32_t side_count;
    float radius;      /* radius of a disc */
    float border;      /* width of the outline */
    px_color fill;     /* colour inside the outline */
    float fill_alpha;  /* its opacity, 0 to 1 */
    float low, high;   /* range of rows */
    float left, right; /* range of columns */
    double nearness;   /* sort key: far marks are drawn first */
    uint32_t joint;    /* tie-breaker for equal nearness */
} mark;

struct px_overlay {
    uint32_t width;
    uint32_t mark_count;
    mark *marks; /* [mark] farthest first */
};

/* Signed distance, negative inside. Exact next to the sides, which suffices for antialiasing. */
static float distance_to(const mark *m, float x, float y) {
    if (m->side_count == 0)
        return px_hypotf(x - m->x[0], y - m->y[0]) - m->radius;
    float largest = -INFINITY;
    for (uint32_t s = 0; s < m->side_count; s++) {
        uint32_t n = (s + 1) % m->side_count;
        float dx = m->x[n] - m->x[s], dy = m->y[n] - m->y[s], length = px_hypotf(dx, dy);
        if (length > 0)
            largest = px_fmaxf(largest, ((y - m->y[s]) * dx - (x - m->x[s]) * dy) / length);
    }
    return largest;
}

static float coverage(float distance) {
    return distance <= -0.5f ? 1 : distance >= 0.5f ? 0 : 0.5f - distance;
}

static void over(float pixel[4], px_color color, float alpha) {
    const float c[4] = {color.r, color.g, color.b, 1};
    for (int e = 0; e < 4; e++)
        pixel[e] = pixel[e] * (1 - alpha) + c[e] * alpha;
}

static void draw_mark(const mark *m, float x, float y, float pixel[4]) {
    const px_color ink = {0.018f, 0.023f, 0.035f};
    float d = distance_to(m, x, y), inside = coverage(d + m->border), outline = coverage(d) - inside;
    if (inside > 0)
        over(pixel, m->fill, inside * m->fill_alpha);
    if (outline > 0)
        over(pixel, ink, 0.85f * outline);
}

void px_overlay_draw(const px_overlay *overlay, uint32_t first_row, uint32_t row_count, float (*rows)[4]) {
    for (uint32_t k = 0; k < overlay->mark_count; k++) {
        const mark *m = &overlay->marks[k];
        if (m->high < (float)first_row || m->low > (float)(first_row + row_count) || m->right < 0)
            continue;
        uint32_t x0 = m->left > 0 ? (uint32_t)px_fminf(m->left, (float)overlay->width) : 0;
        uint32_t x1 = (uint32_t)px_fminf(m->right + 1, (float)overlay->width);
        for (uint32_t row = 0; row < row_count; row++)
            for (uint32_t x = x0; x < x1; x++)
                draw_mark(m, (float)x + 0.5f, (float)(first_row + row) + 0.5f, rows[(size_t)row * overlay->width + x]);
    }
}

/* ---- Making ----------------------------------------------------------------------------------------------- */

static void set_bounds(mark *m) {
    uint32_t count = m->side_count ? m->side_count : 1;
    m->left = m->low = INFINITY;
    m->right = m->high = -INFINITY;
    for (uint32_t s = 0; s < count; s++) {
        m->left = px_fminf(m->left, m->x[s] - m->radius - 1);
        m->right = px_fmaxf(m->right, m->x[s] + m->radius + 1);
        m->low = px_fminf(m->low, m->y[s] - m->radius - 1);
        m->high = px_fmaxf(m->high, m->y[s] + m->radius + 1);
    }
}

/* Kite shape from joint a to its child b, widest near a, as is usual for bones. Returns false if it is too short to
 * see. */
static bool make_kite(const double a[3], const double b[3], float unit, mark *m) {
    float dx = (float)(b[0] - a[0]), dy = (float)(b[1] - a[1]), length = px_hypotf(dx, dy);
    if (!(length > 1.5f * unit))
        return false;
    float wide = px_fminf(0.11f * length + unit, 5.5f * unit), nx = -dy / length * wide, ny = dx / length * wide;
    float ax = (float)a[0], ay = (float)a[1], mx = ax + 0.16f * dx, my = ay + 0.16f * dy;
    const float x[4] = {ax, mx + nx, ax + dx, mx - nx}, y[4] = {ay, my + ny, ay + dy, my - ny};
    memcpy(m->x, x, sizeof x);
    memcpy(m->y, y, sizeof y);
    m->side_count = 4;
    return true;
}

static int compare_marks(const void *a, const void *b) {
    const mark *ma = a, *mb = b;
    if (ma->nearness != mb->nearness)
        return ma->nearness < mb->nearness ? -1 : 1;
    if (ma->joint != mb->joint)
        return ma->joint < mb->joint ? -1 : 1;
    return (ma->side_count == 0) - (mb->side_count == 0);
}

static void add_joint(const px_panel *panel, uint32_t joint, float unit, px_overlay *overlay) {
    const px_scene *scene = panel->scene;
    const float limit = 1 << 20; /* pixels; see raster.c */
    double at[3], from[3];
    const float *p = scene->joints + (size_t)3 * joint;
    if (scene->joint_numbers[joint] == PELT_NONE || !px_finite3(p) || !px_camera_project(panel->camera, p, at) ||
        !(fabs(at[0]) < limit && fabs(at[1]) < limit))
        return;
    const px_color white = {1, 1, 1};
    px_color own = px_color_category(scene->joint_numbers[joint]);
    mark *m = &overlay->marks[overlay->mark_count++];
    *m = (mark){.x = {(float)at[0]},
                .y = {(float)at[1]},
                .radius = 2.1f * unit,
                .border = 0.85f * unit,
                .fill = own,
                .fill_alpha = 1,
                .nearness = at[2],
                .joint = joint};
    set_bounds(m);
    uint32_t parent = scene->joint_parents[joint];
    if (parent == PELT_NONE || !px_finite3(scene->joints + (size_t)3 * parent) ||
        !px_camera_project(panel->camera, scene->joints + (size_t)3 * parent, from) ||
        !(fabs(from[0]) < limit && fabs(from[1]) < limit))
        return;
    px_color bone = px_color_mix(px_color_category(scene->joint_numbers[parent]), white, 0.72f);
    m = &overlay->marks[overlay->mark_count];
    *m = (mark){
        .border = 0.85f * unit, .fill = bone, .fill_alpha = 0.88f, .nearness = px_fmin(at[2], from[2]), .joint = joint};
    if (!make_kite(from, at, unit, m))
        return;
    set_bounds(m);
    overlay->mark_count++;
}

pelt_result px_overlay_make(px_arena *arena, const px_panel *panel, const px_overlay **out) {
    px_overlay *overlay = PX_NEW(arena, px_overlay, 1);
    mark *marks = PX_NEW(arena, mark, px_mul_size(2, panel->scene->joint_count));
    if (!overlay || !marks)
        return PELT_ERROR_MEMORY;
    *overlay = (px_overlay){.width = panel->width, .marks = marks};
    float unit = px_fmaxf((float)panel->height / 480, 0.8f); /* line widths scale with the picture */
    for (uint32_t j = 0; j < panel->scene->joint_count; j++)
        add_joint(panel, j, unit, overlay);
    if (overlay->mark_count > 0)
        px_sort(marks, overlay->mark_count, sizeof *marks, compare_marks);
    *out = overlay;
    return PELT_OK;
}
