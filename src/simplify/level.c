/* Builds the simplified model: remaining vertices, in their original order, with all of their attributes. */
#include "core/mesh.h"
#include "simplify/simplify.h"

#include <math.h>

/* Passes that reset the displacements of triangles which these would flip, in a frame of a clip. */
#define MEND_ROUNDS 4

typedef struct level {
    px_simplify *s;
    pelt_model *target;
    pelt_mesh mesh;
    uint32_t *kept;          /* [new vertex] original vertex */
    uint32_t *places;        /* [original vertex + 1] prefix sums: number of kept vertices before it, its new index */
    uint32_t *kept_points;   /* [new point] original point */
    uint32_t *roots;         /* [class] remaining class that it collapsed into */
    uint32_t *point_classes; /* [new point] class */
} level;

/* ---- Vertices and points ---------------------------------------------------------------------------------- */

/* Marks vertices of remaining triangles, and of parts that never had triangles: points and lines. */
static void mark_vertices(const level *l, uint8_t *marks) {
    const pelt_mesh *mesh = &l->s->model->mesh;
    for (size_t t = 0; t < mesh->triangle_count; t++)
        for (size_t c = 3 * t; c < 3 * t + 3 && l->s->corners[3 * t] != PELT_NONE; c++)
            marks[l->s->corners[c]] = 1;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        if (mesh->parts[p].triangle_count == 0)
            px_mark_part(mesh, &mesh->parts[p], marks);
}

static void keep_vertices(level *l, uint8_t *marks) {
    const pelt_mesh *mesh = &l->s->model->mesh;
    mark_vertices(l, marks);
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        l->places[i] = l->mesh.vertex_count;
        if (marks[i])
            l->kept[l->mesh.vertex_count++] = i;
    }
    l->places[mesh->vertex_count] = l->mesh.vertex_count;
}

/* Points of the kept vertices, in their original order. */
static pelt_result keep_points(level *l, uint32_t *numbers) {
    const pelt_mesh *mesh = &l->s->model->mesh;
    uint32_t count = 0, *of = NULL;
    for (uint32_t i = 0; i < l->mesh.vertex_count; i++)
        numbers[pelt_vertex_class(&mesh->points, l->kept[i])] = 1;
    for (uint32_t p = 0; p < mesh->points.count; p++)
        if (numbers[p]) {
            numbers[p] = count;
            l->kept_points[count++] = p;
        }
    if (mesh->points.of && !(of = PX_NEW(l->target->memory, uint32_t, l->mesh.vertex_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < l->mesh.vertex_count; i++) {
        uint32_t point = numbers[pelt_vertex_class(&mesh->points, l->kept[i])];
        if (of)
            of[i] = point;
        l->point_classes[point] = l->s->classes.of[l->kept[i]];
    }
    if (of)
        return px_classes_make(l->target->memory, l->mesh.vertex_count, count, of, &l->mesh.points);
    l->mesh.points = (pelt_vertex_classes){.count = count};
    return PELT_OK;
}

/* Copies the kept rows of an array with rows of `size` bytes; NULL stays NULL. */
static pelt_result gather(const level *l, const void *array, size_t size, void *out) {
    char *rows = NULL;
    if (array && !(rows = px_arena_alloc(l->target->memory, l->mesh.vertex_count, size)))
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; array && i < l->mesh.vertex_count; i++)
        memcpy(rows + i * size, (const char *)array + l->kept[i] * size, size);
    memcpy(out, &rows, sizeof rows);
    return PELT_OK;
}

static pelt_result gather_vertices(level *l) {
    const pelt_mesh *mesh = &l->s->model->mesh;
    PX_TRY(gather(l, mesh->positions, 3 * sizeof(float), &l->mesh.positions));
    PX_TRY(gather(l, mesh->normals, 3 * sizeof(float), &l->mesh.normals));
    PX_TRY(gather(l, mesh->tangents, 4 * sizeof(float), &l->mesh.tangents));
    PX_TRY(gather(l, mesh->uvs, 2 * sizeof(float), &l->mesh.uvs));
    PX_TRY(gather(l, mesh->colors, 3 * sizeof(float), &l->mesh.colors));
    PX_TRY(gather(l, mesh->origins, sizeof(uint32_t), &l->mesh.origins));
    if (!mesh->origins) {
        if (!(l->mesh.origins = PX_NEW(l->target->memory, uint32_t, l->mesh.vertex_count)))
            return PELT_ERROR_MEMORY;
        memcpy(l->mesh.origins, l->kept, l->mesh.vertex_count * sizeof *l->kept);
    }
    return PELT_OK;
}

/* ---- Triangles and parts ---------------------------------------------------------------------------------- */

static pelt_result take_triangles(level *l) {
    const pelt_mesh *mesh = &l->s->model->mesh;
    l->mesh.triangle_count = l->mesh.polygon_count = l->s->triangle_count;
    l->mesh.triangle_polygons = NULL;
    l->mesh.triangles = PX_NEW(l->target->memory, uint32_t, 3 * (size_t)l->s->triangle_count);
    l->mesh.parts = PX_NEW(l->target->memory, pelt_part, mesh->part_count);
    if (!l->mesh.triangles || !l->mesh.parts)
        return PELT_ERROR_MEMORY;
    uint32_t at = 0, part = 0;
    for (uint32_t t = 0; t <= mesh->triangle_count; t++) {
        for (; part < mesh->part_count && mesh->parts[part].first_triangle <= t; part++)
            l->mesh.parts[part].first_triangle = at;
        if (t == mesh->triangle_count || l->s->corners[3 * (size_t)t] == PELT_NONE)
            continue;
        for (size_t c = 0; c < 3; c++)
            l->mesh.triangles[3 * (size_t)at + c] = l->places[l->s->corners[3 * (size_t)t + c]];
        at++;
    }
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *old = &mesh->parts[p];
        uint32_t first = l->mesh.parts[p].first_triangle;
        uint32_t end = p + 1 < mesh->part_count ? l->mesh.parts[p + 1].first_triangle : at;
        l->mesh.parts[p] = *old;
        l->mesh.parts[p].first_triangle = first;
        l->mesh.parts[p].triangle_count = end - first;
        l->mesh.parts[p].first_vertex = l->places[old->first_vertex];
        l->mesh.parts[p].vertex_count = l->places[old->first_vertex + old->vertex_count] - l->places[old->first_vertex];
    }
    return PELT_OK;
}

/* ---- Skin and morphs -------------------------------------------------------------------------------------- */

static pelt_result take_skin(const level *l, pelt_skin *skin) {
    *skin = l->s->model->skin;
    PX_TRY(gather(l, skin->bones, skin->influence_count * sizeof *skin->bones, &skin->bones));
    return gather(l, skin->weights, skin->influence_count * sizeof *skin->weights, &skin->weights);
}

/* Radiance transfer with the planes of the kept vertices. */
static pelt_result take_transfer(const level *l, const pelt_transfer **out) {
    const pelt_transfer *from = l->s->model->transfer;
    *out = NULL;
    if (!from)
        return PELT_OK;
    size_t before = l->s->model->mesh.vertex_count, count = l->mesh.vertex_count;
    pelt_transfer *to = PX_NEW(l->target->memory, pelt_transfer, 1);
    float *patterns = PX_NEW(l->target->memory, float, 4 * count * from->plane_count);
    if (!to || !patterns)
        return PELT_ERROR_MEMORY;
    for (size_t n = 0; n < from->plane_count; n++)
        for (size_t i = 0; i < count; i++)
            memcpy(patterns + 4 * (n * count + i), from->patterns + 4 * (n * before + l->kept[i]),
                   4 * sizeof *patterns);
    *to = *from;
    to->patterns = patterns;
    *out = to;
    return PELT_OK;
}

static pelt_result take_offsets(const level *l, const pelt_morph *from, const pelt_morph *to, const float **offsets) {
    if (!*offsets)
        return PELT_OK;
    float *out = PX_NEW(l->target->memory, float, 3 * (size_t)to->vertex_count);
    if (!out)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < to->vertex_count; i++)
        memcpy(out + 3 * (size_t)i, *offsets + 3 * (size_t)(l->kept[to->first_vertex + i] - from->first_vertex),
               3 * sizeof *out);
    *offsets = out;
    return PELT_OK;
}

static pelt_result take_morphs(const level *l, pelt_morph_set *set) {
    const pelt_morph_set *old = &l->s->model->morphs;
    *set = *old;
    if (!(set->morphs = PX_NEW(l->target->memory, pelt_morph, old->morph_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < old->morph_count; m++) {
        const pelt_morph *from = &old->morphs[m];
        pelt_morph *to = &set->morphs[m];
        *to = *from;
        to->first_vertex = l->places[from->first_vertex];
        to->vertex_count = l->places[from->first_vertex + from->vertex_count] - to->first_vertex;
        PX_TRY(take_offsets(l, from, to, &to->positions));
        PX_TRY(take_offsets(l, from, to, &to->normals));
        PX_TRY(take_offsets(l, from, to, &to->tangents));
        PX_TRY(take_offsets(l, from, to, &to->colors));
    }
    return PELT_OK;
}

/* ---- Clips ------------------------------------------------------------------------------------------------ */

/* Scratch buffers to place the classes in one frame. */
typedef struct frame_places {
    float *positions; /* [class][3] before displacement, as fractions of the model's size */
    float *moves;     /* [class][3] displacements */
    float *quadrics;  /* [class][10] */
    double *normals;  /* [class][3] area-weighted normals of the original surface */
    float *points;    /* [original point][3] */
} frame_places;

static pelt_result frame_places_create(px_arena *arena, const px_simplify *s, frame_places *f) {
    size_t classes = s->classes.count;
    *f = (frame_places){PX_NEW(arena, float, 3 * classes), PX_NEW(arena, float, 3 * classes),
                        PX_NEW(arena, float, PX_QUADRIC *classes), PX_NEW(arena, double, 3 * classes),
                        PX_NEW(arena, float, 3 * (size_t)s->model->mesh.points.count)};
    return f->positions && f->moves && f->quadrics && f->normals && f->points ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Positive if a triangle faces the same way as the original surface at its corners. `moved`: factor of the
 * displacements, 0 or 1. */
static double facing(const px_simplify *s, const frame_places *f, const uint32_t *corners, double moved) {
    double p[3][3], way[3] = {0, 0, 0}, sum = 0;
    for (size_t c = 0; c < 3; c++) {
        size_t u = s->classes.of[corners[c]];
        for (size_t a = 0; a < 3; a++) {
            p[c][a] = (double)f->positions[3 * u + a] + moved * (double)f->moves[3 * u + a];
            way[a] += f->normals[3 * u + a];
        }
    }
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        sum += way[a] * ((p[1][b] - p[0][b]) * (p[2][c] - p[0][c]) - (p[1][c] - p[0][c]) * (p[2][b] - p[0][b]));
    }
    return sum;
}

static void mend_turned(const px_simplify *s, frame_places *f) {
    for (int round = 0; round < MEND_ROUNDS; round++) {
        bool turned = false;
        for (size_t t = 0; t < s->model->mesh.triangle_count; t++) {
            const uint32_t *corners = s->corners + 3 * t;
            if (corners[0] == PELT_NONE || facing(s, f, corners, 1) >= 0 || facing(s, f, corners, 0) < 0)
                continue;
            for (int c = 0; c < 3; c++)
                memset(f->moves + 3 * (size_t)s->classes.of[corners[c]], 0, 3 * sizeof *f->moves);
            turned = true;
        }
        if (!turned)
            break;
    }
}

/* Displacements in a frame: minimize the quadrics of all classes that collapsed into each remaining one. */
static void place_classes(const level *l, frame_places *f) {
    const px_simplify *s = l->s;
    size_t classes = s->classes.count;
    memset(f->moves, 0, 3 * classes * sizeof *f->moves);
    if (s->desc.keep_positions)
        return;
    memset(f->quadrics, 0, PX_QUADRIC * classes * sizeof *f->quadrics);
    memset(f->normals, 0, 3 * classes * sizeof *f->normals);
    px_quadrics_add(s, f->positions, l->roots, 1, f->quadrics, 1, 0);
    px_normals_sum(s->faces, s->model->mesh.triangle_count, NULL, NULL, f->positions, f->normals);
    for (size_t u = 0; u < classes; u++) {
        double q[PX_QUADRIC], move[3];
        if (l->roots[u] != u || s->kinds[u] == PX_CLASS_LOCKED || s->first[u] == PELT_NONE)
            continue;
        for (size_t e = 0; e < PX_QUADRIC; e++)
            q[e] = (double)f->quadrics[PX_QUADRIC * u + e];
        px_quadric_solve(q, move);
        for (size_t a = 0; a < 3; a++)
            f->moves[3 * u + a] = (float)move[a];
    }
    mend_turned(s, f);
}

/* Positions of the classes from positions [class of `at`][3], relative to the first of them, as fractions of the
 * model's size. */
static void take_classes(const level *l, const float *positions, const pelt_vertex_classes *at, frame_places *f) {
    const px_simplify *s = l->s;
    const float *first = positions + 3 * (size_t)pelt_vertex_class(at, s->classes.first[0]);
    for (uint32_t u = 0; u < s->classes.count; u++) {
        const float *p = positions + 3 * (size_t)pelt_vertex_class(at, s->classes.first[u]);
        for (size_t a = 0; a < 3; a++)
            f->positions[3 * (size_t)u + a] = (float)(((double)p[a] - (double)first[a]) / s->size);
    }
}

static float moved(const level *l, const frame_places *f, float value, uint32_t u, size_t axis) {
    return (float)((double)value + (double)f->moves[3 * (size_t)u + axis] * l->s->size);
}

typedef struct clip_writer {
    const level *l;
    const pelt_clip *from;
    float *out; /* [frame][new point][3] */
} clip_writer;

static pelt_result write_frame(const clip_writer *w, uint32_t k, frame_places *f) {
    const level *l = w->l;
    float *out = w->out + 3 * (size_t)k * l->mesh.points.count;
    PX_TRY(pelt_clip_read(l->s->context, w->from, k, 0, w->from->point_count, f->points));
    px_clip_release(w->from, w->from->point_count);
    if (l->s->own_places) {
        take_classes(l, f->points, &l->s->model->mesh.points, f);
        place_classes(l, f);
    }
    for (uint32_t p = 0; p < l->mesh.points.count; p++)
        for (size_t a = 0; a < 3; a++)
            out[3 * (size_t)p + a] = moved(l, f, f->points[3 * (size_t)l->kept_points[p] + a], l->point_classes[p], a);
    return PELT_OK;
}

static pelt_result write_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const clip_writer *w = user;
    px_arena *arena = px_arena_create(w->l->s->context);
    frame_places f;
    pelt_result result = arena ? frame_places_create(arena, w->l->s, &f) : PELT_ERROR_MEMORY;
    for (size_t k = first; k < first + count && result == PELT_OK; k++)
        result = write_frame(w, (uint32_t)k, &f);
    px_arena_destroy(arena);
    return result;
}

static pelt_result take_clips(const level *l, pelt_clip **out) {
    const pelt_model *model = l->s->model;
    pelt_clip *clips = PX_NEW(l->target->memory, pelt_clip, model->clip_count);
    if (!clips)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < model->clip_count; n++) {
        const pelt_clip *from = &model->clips[n];
        clip_writer w = {l, from, NULL};
        w.out =
            px_arena_alloc(l->target->memory, px_mul_size(from->frame_count, l->mesh.points.count), 3 * sizeof(float));
        if (!w.out)
            return PELT_ERROR_MEMORY;
        PX_TRY(px_parallel(l->s->context, "frames", from->frame_count, 4, write_frames, &w));
        clips[n] = (pelt_clip){.name = from->name,
                               .frame_count = from->frame_count,
                               .point_count = l->mesh.points.count,
                               .times = from->times,
                               .positions = w.out};
    }
    *out = clips;
    return PELT_OK;
}

/* ---- Model ------------------------------------------------------------------------------------------------ */

/* Rest positions: by displacements at rest, or with own_places as a frame like others. */
static pelt_result move_vertices(const level *l, px_arena *arena) {
    const px_simplify *s = l->s;
    frame_places f;
    if (s->own_places) {
        PX_TRY(frame_places_create(arena, s, &f));
        take_classes(l, s->model->mesh.positions, &(pelt_vertex_classes){0}, &f);
        place_classes(l, &f);
    }
    for (uint32_t i = 0; i < l->mesh.vertex_count; i++) {
        uint32_t u = s->classes.of[l->kept[i]];
        for (size_t a = 0; a < 3; a++) {
            float *at = &l->mesh.positions[3 * (size_t)i + a];
            *at = s->own_places ? moved(l, &f, *at, u, a) : (float)((double)*at + s->moves[u][a]);
        }
    }
    return PELT_OK;
}

static pelt_result build(level *l, px_arena *arena) {
    px_simplify *s = l->s;
    const pelt_mesh *mesh = &s->model->mesh;
    pelt_skin skin;
    pelt_morph_set morphs;
    pelt_clip *clips = NULL;
    const pelt_transfer *transfer;
    uint8_t *marks = PX_NEW(arena, uint8_t, mesh->vertex_count);
    uint32_t *numbers = PX_NEW(arena, uint32_t, mesh->points.count);
    l->kept = PX_NEW(arena, uint32_t, mesh->vertex_count);
    l->places = PX_NEW(arena, uint32_t, (size_t)mesh->vertex_count + 1);
    l->kept_points = PX_NEW(arena, uint32_t, mesh->points.count);
    l->point_classes = PX_NEW(arena, uint32_t, mesh->points.count);
    l->roots = PX_NEW(arena, uint32_t, s->classes.count);
    if (!marks || !numbers || !l->kept || !l->places || !l->kept_points || !l->point_classes || !l->roots)
        return PELT_ERROR_MEMORY;
    for (uint32_t u = 0; u < s->classes.count; u++)
        for (l->roots[u] = u; s->parents[l->roots[u]] != l->roots[u];)
            l->roots[u] = s->parents[l->roots[u]];
    l->mesh = (pelt_mesh){.part_count = mesh->part_count};
    keep_vertices(l, marks);
    PX_TRY(keep_points(l, numbers));
    PX_TRY(gather_vertices(l));
    PX_TRY(take_triangles(l));
    PX_TRY(move_vertices(l, arena));
    PX_TRY(take_skin(l, &skin));
    PX_TRY(take_morphs(l, &morphs));
    PX_TRY(take_clips(l, &clips));
    PX_TRY(take_transfer(l, &transfer));
    l->target->mesh = l->mesh;
    l->target->skin = skin;
    l->target->morphs = morphs;
    l->target->clips = clips;
    l->target->transfer = transfer;
    l->target->clip_count = s->model->clip_count;
    l->target->changed = s->model->changed | PELT_CHANGED_VERTICES | PELT_CHANGED_POSITIONS;
    return PELT_OK;
}

pelt_result px_simplify_build(px_simplify *s, pelt_model *target) {
    level l = {.s = s, .target = target};
    px_arena *arena = px_arena_create(s->context);
    pelt_result result = arena ? build(&l, arena) : PELT_ERROR_MEMORY;
    px_arena_destroy(arena);
    return result;
}
