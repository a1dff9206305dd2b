/* Mirrors weights across a plane, or along the topological symmetry of the mesh (topology.h).
 *
 * A row on the target side takes the weights of the row at its mirrored position, or else of the nearest point on the
 * source side's surface with a similar normal. Rows on the plane are made symmetric first, so that the operation is
 * idempotent.
 */
#include "core/math3.h"
#include "core/surface.h"
#include "weights/edit.h"
#include "weights/topology.h"

#define SYMMETRY_TOLERANCE  2e-4 /* of the diagonal: asymmetry that modelling and rounding cause */
#define MAX_SOURCE_DISTANCE 0.05 /* of the diagonal: largest distance of a source point */
#define ROW_BLOCK           256u

/* Source of a row's weights. STAYS: unchanged; MIDDLE: on the plane; EXACT: one row; NEAR: a point of a triangle; LONE:
 * no source found. */
typedef enum row_kind { ROW_STAYS, ROW_MIDDLE, ROW_EXACT, ROW_NEAR, ROW_LONE } row_kind;
typedef struct row_source {
    row_kind kind;
    uint32_t rows[3];  /* EXACT: only the first is used */
    double corners[3]; /* barycentric coordinates */
} row_source;

typedef struct mirroring {
    px_edit *edit;
    px_mirror_plane plane;
    int giving;       /* source side, 1 or −1; 0: both are averaged */
    float *positions; /* [row][3] */
    double *normals;  /* [row][3] */
    double diagonal;
    uint32_t *bones;          /* [bone] its counterpart; itself when there is none */
    bool *kept;               /* [bone] locked or without a mutual counterpart: not averaged */
    px_surface points, faces; /* source rows as points, and as a surface */
    uint32_t *triangles;      /* of `faces`, as rows */
    row_source *sources;      /* [row] */
    px_symmetry symmetry;     /* partners NULL: by position alone */
} mirroring;

/* ---- Joints and bones ------------------------------------------------------------------------------------- */

/* Positions of joints in the space of the mesh: joints with bones in the bind pose, others relative to them. */
static void place_joints(const px_joint_bones *bones, float *positions) {
    const pelt_model *model = bones->model;
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++) {
        pelt_affine palette = px_joint_palette(bones, j), back = px_affine_identity();
        px_affine_inverse(&palette, &back);
        float at[3] = {bones->globals[j].m[3], bones->globals[j].m[7], bones->globals[j].m[11]};
        px_affine_point(&back, at, positions + 3 * (size_t)j);
    }
}

static void find_bones(mirroring *m, const px_joint_bones *bones, const uint32_t *pairs) {
    const pelt_model *model = m->edit->model;
    for (uint32_t b = 0; b < model->skin.bone_count; b++) {
        uint32_t joint = model->skin.bone_joints[b];
        m->bones[b] = PELT_NONE;
        for (; joint != PELT_NONE && m->bones[b] == PELT_NONE; joint = model->skeleton.parents[joint])
            if (pairs[joint] != PELT_NONE)
                m->bones[b] = px_bone_like(bones, pairs[joint], &bones->palette[b]);
        if (m->bones[b] == PELT_NONE)
            m->bones[b] = b;
    }
    const bool *locked = m->edit->limits.locked;
    for (uint32_t b = 0; b < model->skin.bone_count; b++)
        m->kept[b] = m->bones[m->bones[b]] != b || (locked && locked[b]);
}

/* The side of the joints named left, 1 or −1. Logs a warning when left and right are separated along another axis. Joints
 * without bones, such as controls, do not count: no matrix tells where they are in the bind pose. */
static int left_side(const mirroring *m, const px_joint_bones *bones, const px_joint_side *sides,
                     const float *positions) {
    double apart[3] = {0, 0, 0};
    for (size_t e = 0; e < 3 * (size_t)m->edit->model->skeleton.joint_count; e++)
        if (sides[e / 3] != PX_SIDE_NONE && bones->offsets[e / 3] < bones->offsets[e / 3 + 1])
            apart[e % 3] += (sides[e / 3] == PX_SIDE_LEFT ? 1 : -1) * (double)positions[e];
    for (uint32_t axis = 0; axis < 3; axis++)
        if (fabs(apart[axis]) > 2 * fabs(apart[m->plane.axis]))
            px_log(m->edit->context, PELT_LOG_WARNING, "left and right joints lie across %c rather than %c",
                   "xyz"[axis], "xyz"[m->plane.axis]);
    return apart[m->plane.axis] < 0 ? -1 : 1;
}

static pelt_result match_joints(mirroring *m, uint32_t side, uint32_t *pairs) {
    px_edit *edit = m->edit;
    uint32_t count = edit->model->skeleton.joint_count;
    px_joint_bones bones;
    PX_TRY(px_joint_bones_make(edit->arena, edit->model, &bones));
    float *positions = PX_NEW(edit->arena, float, 3 * (size_t)count);
    px_joint_side *sides = PX_NEW(edit->arena, px_joint_side, count);
    m->bones = PX_NEW(edit->arena, uint32_t, edit->model->skin.bone_count);
    m->kept = PX_NEW(edit->arena, bool, edit->model->skin.bone_count);
    if (!positions || !sides || !m->bones || !m->kept)
        return PELT_ERROR_MEMORY;
    place_joints(&bones, positions);
    PX_TRY(px_mirror_joints(edit->context, &edit->model->skeleton, positions, m->plane, pairs, sides));
    find_bones(m, &bones, pairs);
    int left = left_side(m, &bones, sides, positions);
    const int giving[] = {left, -left, 1, -1, 0};
    m->giving = giving[side];
    return PELT_OK;
}

/* ---- Vertices --------------------------------------------------------------------------------------------- */

/* The row's image by topology; PELT_NONE: none. */
static uint32_t partner_of(const mirroring *m, size_t row) {
    return m->symmetry.partners ? m->symmetry.partners[row] : PELT_NONE;
}

/* The side of a row: 1, −1, or 0 on the plane. */
static int side_of(const mirroring *m, size_t row) {
    if (partner_of(m, row) != PELT_NONE)
        return m->symmetry.sides[row];
    double off = (double)m->positions[3 * row + m->plane.axis] - m->plane.at;
    return off > SYMMETRY_TOLERANCE * m->diagonal ? 1 : off < -SYMMETRY_TOLERANCE * m->diagonal ? -1 : 0;
}

static bool gives(const mirroring *m, size_t row) {
    return m->giving == 0 || side_of(m, row) * m->giving >= 0;
}

static pelt_result prepare_places(mirroring *m) {
    const pelt_mesh *mesh = &m->edit->mesh;
    px_arena *arena = m->edit->arena;
    float low[3], high[3];
    m->positions = px_class_positions(arena, &mesh->weld, mesh->positions);
    m->normals = px_class_normals(arena, mesh, mesh->positions);
    m->triangles = px_class_triangles(arena, mesh, &mesh->weld);
    m->sources = PX_NEW(arena, row_source, mesh->weld.count);
    if (!m->positions || !m->normals || !m->triangles || !m->sources)
        return PELT_ERROR_MEMORY;
    m->diagonal = px_box(m->positions, mesh->weld.count, low, high);
    return PELT_OK;
}

/* Builds the trees of the source: each row as a degenerate triangle, and the triangles whose corners are all source
 * rows. */
static pelt_result make_trees(mirroring *m) {
    const pelt_mesh *mesh = &m->edit->mesh;
    px_arena *arena = m->edit->arena;
    uint32_t *points = PX_NEW(arena, uint32_t, 3 * (size_t)mesh->weld.count), point_count = 0, count = 0;
    if (!points)
        return PELT_ERROR_MEMORY;
    for (uint32_t r = 0; r < mesh->weld.count; r++)
        if (gives(m, r)) {
            points[3 * point_count] = points[3 * point_count + 1] = points[3 * point_count + 2] = r;
            point_count++;
        }
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        uint32_t *rows = m->triangles + 3 * (size_t)count;
        memmove(rows, m->triangles + 3 * t, 3 * sizeof *rows);
        count += gives(m, rows[0]) && gives(m, rows[1]) && gives(m, rows[2]);
    }
    PX_TRY(px_surface_make(arena, m->positions, points, point_count, &m->points));
    return px_surface_make(arena, m->positions, m->triangles, count, &m->faces);
}

/* Data of the normal test of a query. */
typedef struct seeker {
    const mirroring *m;
    double normal[3]; /* mirrored */
} seeker;

static bool faces_alike(const void *user, const px_surface_point *candidate) {
    const seeker *s = user;
    double dot = 0;
    for (size_t e = 0; e < 9; e++)
        dot += s->normal[e % 3] * candidate->corners[e / 3] *
               s->m->normals[3 * (size_t)s->m->triangles[3 * (size_t)candidate->triangle + e / 3] + e % 3];
    return dot >= 0;
}

static row_source find_source(const mirroring *m, size_t row) {
    row_source out = {.kind = side_of(m, row) == 0 ? ROW_MIDDLE : ROW_STAYS};
    if (m->edit->fixed[row] || out.kind == ROW_MIDDLE || (m->giving && gives(m, row)))
        return m->edit->fixed[row] ? (row_source){.kind = ROW_STAYS} : out;
    if (partner_of(m, row) != PELT_NONE)
        return (row_source){.kind = ROW_EXACT, .rows = {partner_of(m, row)}, .corners = {1}};
    seeker s = {.m = m};
    double at[3];
    for (size_t c = 0; c < 3; c++) {
        bool flip = c == m->plane.axis;
        double value = (double)m->positions[3 * row + c], normal = m->normals[3 * row + c];
        at[c] = flip ? 2 * m->plane.at - value : value;
        s.normal[c] = flip ? -normal : normal;
    }
    px_surface_point found;
    if (px_surface_nearest(&m->points, at, SYMMETRY_TOLERANCE * m->diagonal, NULL, NULL, &found)) {
        out.kind = ROW_EXACT;
        out.rows[0] = m->points.triangles[3 * (size_t)found.triangle];
        out.corners[0] = 1;
    } else if (px_surface_nearest(&m->faces, at, MAX_SOURCE_DISTANCE * m->diagonal, faces_alike, &s, &found)) {
        out.kind = ROW_NEAR;
        memcpy(out.rows, m->triangles + 3 * (size_t)found.triangle, sizeof out.rows);
        memcpy(out.corners, found.corners, sizeof out.corners);
    } else {
        out.kind = ROW_LONE;
    }
    return out;
}

static pelt_result find_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const mirroring *m = user;
    for (size_t row = first; row < first + count; row++)
        m->sources[row] = find_source(m, row);
    return PELT_OK;
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

/* Adds factor · row with each bone replaced by its counterpart; bones in `skip` (NULL: none) are left out. */
static void add_mirrored(const mirroring *m, px_weight_sum *sum, const px_weight_table *from, size_t row, double factor,
                         const bool *skip) {
    for (size_t e = row * from->capacity; e < (row + 1) * from->capacity; e++)
        if (!(skip && skip[from->bones[e]]))
            px_weight_sum_add(sum, m->bones[from->bones[e]], factor * (double)from->weights[e]);
}

/* The mean of a row and its mirrored source, without kept bones. */
static px_weight_sum mean_with(const mirroring *m, size_t row, const row_source *source) {
    px_weight_sum image = {0}, sum = {0};
    px_weight_sum_add_row(&image, &m->edit->before, row, 0.5);
    for (uint32_t e = 0; e < image.count; e++)
        if (!m->kept[image.bones[e]])
            px_weight_sum_add(&sum, image.bones[e], image.weights[e]);
    for (size_t c = 0; c < 3; c++)
        add_mirrored(m, &sum, &m->edit->before, source->rows[c], 0.5 * source->corners[c], m->kept);
    return sum;
}

/* Restores the row's weights of locked bones, then cuts the sum to the limits. */
static void cut(const mirroring *m, px_weight_sum *sum, size_t row, const bool *locked) {
    px_weight_limits limits = m->edit->limits;
    limits.locked = locked;
    px_weight_sum_lock(sum, &m->edit->before, row, locked);
    px_weight_sum_cut(sum, &limits);
}

static void store(const mirroring *m, px_weight_sum *sum, size_t row, const bool *locked) {
    cut(m, sum, row, locked);
    px_weight_sum_store(sum, &m->edit->table, row);
}

/* Stores the mean of a row and its mirror image. A bone whose counterpart was cut is removed too. */
static void make_symmetric(const mirroring *m, size_t row) {
    row_source self = {.rows = {(uint32_t)row}, .corners = {1}};
    px_weight_sum sum = mean_with(m, row, &self), paired = {0};
    cut(m, &sum, row, m->kept);
    for (uint32_t e = 0; e < sum.count; e++)
        if (px_weight_sum_of(&sum, m->bones[sum.bones[e]]) > 0)
            px_weight_sum_add(&paired, sum.bones[e], sum.weights[e]);
    store(m, &paired, row, m->kept);
}

/* For rows of both sides that are each other's sources: one gets the mean, the other its mirror image. */
static void average_pair(const mirroring *m, size_t row) {
    const row_source *source = &m->sources[row];
    px_weight_sum sum = mean_with(m, row, source), image = {0};
    px_weight_sum_cut(&sum, &m->edit->limits);
    for (uint32_t e = 0; e < sum.count; e++)
        px_weight_sum_add(&image, m->bones[sum.bones[e]], sum.weights[e]);
    store(m, &sum, row, m->kept);
    store(m, &image, source->rows[0], m->kept);
}

static void take_weights(const mirroring *m, size_t row) {
    const row_source *source = &m->sources[row];
    px_weight_sum sum = {0};
    if (m->giving == 0)
        sum = mean_with(m, row, source);
    for (size_t c = 0; c < 3 && m->giving != 0; c++)
        add_mirrored(m, &sum, &m->edit->table, source->rows[c], source->corners[c], NULL);
    store(m, &sum, row, m->giving ? m->edit->limits.locked : m->kept);
}

static bool is_mutual(const mirroring *m, size_t row) {
    const row_source *source = &m->sources[row], *back = &m->sources[source->rows[0]];
    return m->giving == 0 && source->kind == ROW_EXACT && back->kind == ROW_EXACT && back->rows[0] == row;
}

static void apply(const mirroring *m, pelt_mirror_report *report) {
    for (size_t row = 0; row < m->edit->table.row_count; row++)
        if (m->sources[row].kind == ROW_MIDDLE) {
            make_symmetric(m, row);
            report->middle_count++;
        }
    for (size_t row = 0; row < m->edit->table.row_count; row++) {
        row_kind kind = m->sources[row].kind;
        report->exact_count += kind == ROW_EXACT;
        report->near_count += kind == ROW_NEAR;
        report->kept_count += kind == ROW_LONE;
        if (is_mutual(m, row)) {
            if (m->sources[row].rows[0] > row)
                average_pair(m, row);
        } else if (kind == ROW_EXACT || kind == ROW_NEAR) {
            take_weights(m, row);
        }
    }
}

/* Reads "A-B", two vertices, as rows. */
static pelt_result read_seed(const px_edit *edit, const char *text, uint32_t rows[2]) {
    const char *end = text + strlen(text), *at = text;
    for (int n = 0; n < 2; n++) {
        double vertex;
        const char *next = px_parse_double(at, end, &vertex);
        bool divided = n == 1 ? next == end : next < end && *next == '-';
        if (next == at || !divided || !(vertex >= 0 && vertex < edit->mesh.vertex_count) || vertex != floor(vertex))
            return px_fail(edit->context, PELT_ERROR_INPUT, "seed: '%s' should be two vertices below %u, like 12-15",
                           text, edit->mesh.vertex_count);
        rows[n] = edit->mesh.weld.of[(size_t)vertex];
        at = next + 1;
    }
    return PELT_OK;
}

static pelt_result find_symmetry(mirroring *m, const pelt_mirror_desc *desc, pelt_mirror_report *report) {
    const px_edit *edit = m->edit;
    px_symmetry_query query = {m->positions, m->triangles, m->plane, m->diagonal, {PELT_NONE, PELT_NONE}};
    if (desc->match != PELT_MIRROR_BY_TOPOLOGY)
        return PELT_OK;
    if (desc->seed)
        PX_TRY(read_seed(edit, desc->seed, query.seed));
    PX_TRY(px_symmetry_find(edit->arena, &edit->mesh, &query, &m->symmetry));
    report->topology_count = m->symmetry.count;
    if (m->symmetry.count == 0)
        px_log(edit->context, PELT_LOG_WARNING,
               "the two sides of the mesh are not connected alike, or no edges lie on its middle line: mirrored by "
               "position");
    return PELT_OK;
}

static pelt_result mirror(px_edit *edit, const pelt_mirror_desc *desc, pelt_mirror_report *report) {
    mirroring m = {.edit = edit, .plane = {desc->axis, desc->plane}};
    uint32_t *pairs = PX_NEW_LASTING(edit->model->memory, uint32_t, edit->model->skeleton.joint_count);
    if (!pairs)
        return PELT_ERROR_MEMORY;
    PX_TRY(match_joints(&m, desc->side, pairs));
    PX_TRY(prepare_places(&m));
    PX_TRY(find_symmetry(&m, desc, report));
    PX_TRY(make_trees(&m));
    PX_TRY(px_parallel(edit->context, "mirror", edit->table.row_count, ROW_BLOCK, find_block, &m));
    apply(&m, report);
    report->pairs = pairs;
    return PELT_OK;
}

pelt_result pelt_weights_mirror(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                const pelt_mirror_desc *desc, pelt_mirror_report *report) {
    pelt_mirror_report own, *out = report ? report : &own;
    px_edit edit;
    *out = (pelt_mirror_report){0};
    PX_TAKE_DESC(context, mirror, desc, settings);
    PX_TRY(px_edit_begin(context, model, scope, &edit));
    pelt_result result = px_edit_finish(&edit, mirror(&edit, &settings, out), &out->weights);
    if (result != PELT_OK)
        *out = (pelt_mirror_report){0};
    return result;
}
