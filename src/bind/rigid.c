/* Shells (connected components of the surface) that follow one joint rigidly.
 *
 * Accessories: a small shell with nearly all weights on one joint follows that joint, as a button does; skinned clothes
 * are larger, or spread over several joints. A smaller shell that is a sphere or hemisphere around a joint follows that
 * joint, as an eye does: the bones of head and lids may be equally near. Other small shells, and round ones of any
 * accessory's size, do not bend either: all of their vertices get the mean of their weights, sharpened.
 *
 * Machines: where most of the mesh consists of shells that mainly belong to one joint each, none of these bends.
 * Diffusion leaks between parts that touch, so a shell without a clear owner follows the bone nearest to its
 * vertices. */
#include "bind/apply.h"

#include <math.h>

#define MAX_ACCESSORY_SIZE  0.3  /* of the mesh's diagonal */
#define MIN_ACCESSORY_SHARE 0.75 /* of a shell's mean weights */
#define MAX_NEAREST_SIZE    0.1  /* of the mesh's diagonal */
#define MAX_RADIUS_SPREAD   0.1  /* standard deviation / mean of the distances from the joint or from the centre */
#define MAX_SMALL_RATIO     0.5  /* fraction of the rows in small shells: with more, the surface consists of them */
#define MAX_MACHINE_PART    0.7  /* of the mesh's diagonal: machine parts may be larger than accessories */
#define MIN_MACHINE_SHARE   0.5  /* of a shell's mean weights, on one joint */
#define MIN_MACHINE_RATIO   0.72 /* fraction of the rows in such shells that makes the mesh a machine … */
#define MIN_MACHINE_SHELLS  20u  /* … with at least this many shells */
#define MAX_RADIUS_RATIO    0.45 /* mean radius / diagonal of the shell's box: a sphere has 0.29, a hemisphere 0.33 */

static double diagonal(const px_bind_box *box) {
    double sum = 0;
    for (int c = 0; c < 3; c++)
        sum += ((double)box->high[c] - box->low[c]) * ((double)box->high[c] - box->low[c]);
    return sqrt(sum);
}

/* Rows of shell n: items[firsts[n]] to items[firsts[n + 1] − 1]. */
static pelt_result list_rows(px_arena *arena, const pelt_binding *b, uint32_t **firsts, uint32_t **items) {
    *firsts = PX_NEW(arena, uint32_t, (size_t)b->shell_count + 1);
    *items = PX_NEW(arena, uint32_t, b->turned.classes.count);
    if (!*firsts || !*items)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < b->turned.classes.count; i++)
        (*firsts)[b->shells[i]]++;
    for (uint32_t n = 0, sum = 0; n <= b->shell_count; n++)
        (*firsts)[n] = sum += n < b->shell_count ? (*firsts)[n] : 0;
    for (uint32_t i = b->turned.classes.count;
         i-- > 0;) /* descending: keeps the rows of a shell in ascending order and ends at its first row */
        (*items)[--(*firsts)[b->shells[i]]] = i;
    return PELT_OK;
}

/* The joint with the largest share of the rows' weights, and that share. `sums` [joint]: scratch, 0 before and
 * after. */
static uint32_t strongest(const px_weight_table *table, const uint32_t *rows, uint32_t count, double *sums,
                          double *share) {
    uint32_t best = PELT_NONE;
    for (uint32_t n = 0; n < count; n++)
        for (size_t e = (size_t)rows[n] * table->capacity; e < ((size_t)rows[n] + 1) * table->capacity; e++)
            sums[table->bones[e]] += (double)table->weights[e];
    for (uint32_t n = 0; n < count; n++)
        for (size_t e = (size_t)rows[n] * table->capacity; e < ((size_t)rows[n] + 1) * table->capacity; e++) {
            uint32_t joint = table->bones[e];
            if (table->weights[e] > 0 &&
                (best == PELT_NONE || sums[joint] > sums[best] || (sums[joint] == sums[best] && joint < best)))
                best = joint;
        }
    *share = best == PELT_NONE ? 0 : sums[best] / count;
    for (uint32_t n = 0; n < count; n++)
        for (size_t e = (size_t)rows[n] * table->capacity; e < ((size_t)rows[n] + 1) * table->capacity; e++)
            sums[table->bones[e]] = 0;
    return best;
}

static double distance(const float *p, const pelt_affine *joint) {
    double sum = 0;
    for (int c = 0; c < 3; c++)
        sum += ((double)p[c] - joint->m[4 * c + 3]) * ((double)p[c] - joint->m[4 * c + 3]);
    return sqrt(sum);
}

/* Standard deviation / mean of the rows' distances from a joint; INFINITY if the mean is 0 or larger than `most`. */
static double spread_about(const px_bind_subject *s, const uint32_t *rows, uint32_t count, const pelt_affine *joint,
                           double most) {
    double sum = 0, squares = 0;
    for (uint32_t n = 0; n < count; n++) {
        double d = distance(s->positions + 3 * (size_t)rows[n], joint);
        sum += d / count;
        squares += d * d / count;
    }
    return sum > 0 && sum <= most ? sqrt(px_fmax(squares - sum * sum, 0)) / sum : INFINITY;
}

/* The joint at the centre of a spherical shell, or PELT_NONE. Only joints inside the shell with all of their
 * descendants are candidates. `there` [joint]: scratch. */
static uint32_t joint_inside(const pelt_binding *b, const px_bind_settings *settings, const px_bind_box *box,
                             const uint32_t *rows, uint32_t count, bool *there) {
    const px_bind_subject *s = &b->turned;
    double size = diagonal(box), least = MAX_RADIUS_SPREAD;
    uint32_t best = PELT_NONE;
    float middle[3];
    for (int c = 0; c < 3; c++)
        middle[c] = 0.5f * (box->low[c] + box->high[c]);
    for (uint32_t j = 0; j < s->rig->skeleton.joint_count; j++)
        there[j] = distance(middle, &s->joints[j]) < 0.5 * size;
    for (uint32_t j = s->rig->skeleton.joint_count; j-- > 0;) { /* children come after their parents */
        uint32_t parent = s->rig->skeleton.parents[j], target = s->joint_targets[j];
        if (!there[j] && parent != PELT_NONE)
            there[parent] = false;
        if (!there[j] || target == PELT_NONE || settings->out[target])
            continue;
        double spread = spread_about(s, rows, count, &s->joints[j], MAX_RADIUS_RATIO * size);
        if (spread < least) {
            least = spread;
            best = j;
        }
    }
    return best;
}

/* Measurements of one shell. */
typedef struct shell {
    double size;    /* diagonal of its bounding box */
    double share;   /* fraction of its weights on `joint` */
    uint32_t joint; /* joint with the largest weight; PELT_NONE: no weights */
} shell;

/* The joint whose bone has the least mean distance from a shell's rows. means [target]: scratch. */
static uint32_t nearest_bone(const pelt_binding *b, const px_bind_settings *settings, const uint32_t *rows,
                             uint32_t count, double *means) {
    const px_bind_subject *s = &b->turned;
    const px_grid *grid = &b->volume.voxels.grid;
    for (uint32_t t = 0; t < s->target_count; t++)
        means[t] = 0;
    uint32_t best = PELT_NONE;
    for (uint32_t n = 0; n < count; n++) {
        float p[3], unused[3];
        px_bind_to_grid(grid, s->positions + 3 * (size_t)rows[n], p);
        for (uint32_t k = 0, end; k < b->bones.segment_count; k = end) {
            float least = INFINITY;
            for (end = k; end < b->bones.segment_count && b->bones.segments[end].target == b->bones.segments[k].target;
                 end++)
                least = px_fminf(least, px_bind_segment_distance(&b->bones.segments[end], b->volume.step, p, unused));
            means[b->bones.segments[k].target] += (double)least;
        }
    }
    for (uint32_t t = 0; t < s->target_count; t++)
        if (means[t] > 0 && !settings->out[t] && (best == PELT_NONE || means[t] < means[best]))
            best = t;
    return best == PELT_NONE ? PELT_NONE : s->targets[best];
}

/* Whether the rows of a shell lie on a sphere around the centre of its box. */
static bool is_round(const px_bind_subject *s, const px_bind_box *box, const uint32_t *rows, uint32_t count) {
    pelt_affine centre = {{0}};
    for (int c = 0; c < 3; c++)
        centre.m[4 * c + 3] = 0.5f * (box->low[c] + box->high[c]);
    return spread_about(s, rows, count, &centre, INFINITY) < MAX_RADIUS_SPREAD;
}

/* Gives all rows of a shell the same weights: the cubes of their mean, so that what leaks in from a bone beside the shell
 * counts little. */
static void stiffen(const uint32_t *rows, uint32_t count, px_weight_table *table) {
    px_weight_sum sum = {0};
    for (uint32_t n = 0; n < count; n++)
        px_weight_sum_add_row(&sum, table, rows[n], 1.0 / count);
    for (uint32_t e = 0; e < sum.count; e++)
        sum.weights[e] *= sum.weights[e] * sum.weights[e];
    px_weight_sum_cut(&sum, &(px_weight_limits){.influences = table->capacity});
    for (uint32_t n = 0; n < count && sum.count; n++)
        px_weight_sum_store(&sum, table, rows[n]);
}

/* Whether the mesh is a machine: most of it is many shells that mainly belong to one joint each, or boxes. */
static bool is_machine(const shell *shells, const uint32_t *firsts, uint32_t shell_count, double whole) {
    double rigid = 0, boxes = 0, all = 0;
    for (uint32_t n = 0; n < shell_count; n++) {
        double rows = firsts[n + 1] - firsts[n];
        all += rows;
        rigid += shells[n].size < MAX_MACHINE_PART * whole && shells[n].share >= MIN_MACHINE_SHARE ? rows : 0;
        boxes += shells[n].size < MAX_MACHINE_PART * whole && rows <= PX_BIND_BOX_CORNERS ? rows : 0;
    }
    return (shell_count >= MIN_MACHINE_SHELLS && rigid >= MIN_MACHINE_RATIO * all) ||
           (shell_count >= PX_BIND_MIN_BOXES && boxes >= MIN_MACHINE_RATIO * all);
}

pelt_result px_bind_rigid_shells(px_arena *arena, const pelt_binding *b, const px_bind_settings *settings,
                                 px_weight_table *table) {
    uint32_t *firsts, *items, small = 0;
    float low[3], high[3];
    double whole = px_box(b->turned.positions, b->turned.classes.count, low, high);
    px_bind_box *boxes = px_bind_shell_boxes(arena, &b->turned, b->shells, b->shell_count);
    double *sums = PX_NEW(arena, double, b->turned.rig->skeleton.joint_count);
    bool *there = PX_NEW(arena, bool, b->turned.rig->skeleton.joint_count);
    double *means = PX_NEW(arena, double, b->turned.target_count);
    shell *shells = PX_NEW(arena, shell, b->shell_count);
    if (!boxes || !sums || !there || !means || !shells)
        return PELT_ERROR_MEMORY;
    PX_TRY(list_rows(arena, b, &firsts, &items));
    for (uint32_t n = 0; n < b->shell_count; n++) {
        uint32_t count = firsts[n + 1] - firsts[n];
        shells[n].size = diagonal(&boxes[n]);
        shells[n].joint = PELT_NONE;
        if (shells[n].size < px_fmax(MAX_MACHINE_PART, MAX_ACCESSORY_SIZE) * whole) /* others bend anyway */
            shells[n].joint = strongest(table, items + firsts[n], count, sums, &shells[n].share);
        small += shells[n].size < MAX_NEAREST_SIZE * whole ? count : 0;
    }
    bool machine = is_machine(shells, firsts, b->shell_count, whole);
    for (uint32_t n = 0; n < b->shell_count; n++) {
        double size = shells[n].size, share = shells[n].share;
        uint32_t count = firsts[n + 1] - firsts[n], joint = shells[n].joint, round = PELT_NONE;
        if (!(size < (machine ? MAX_MACHINE_PART : MAX_ACCESSORY_SIZE) * whole))
            continue;
        if (!machine && size < MAX_NEAREST_SIZE * whole && count > 3)
            round = joint_inside(b, settings, &boxes[n], items + firsts[n], count, there);
        if (machine && share < MIN_ACCESSORY_SHARE)
            joint = nearest_bone(b, settings, items + firsts[n], count, means);
        double least = !machine                                                          ? MIN_ACCESSORY_SHARE
                       : size < MAX_NEAREST_SIZE * whole || count <= PX_BIND_BOX_CORNERS ? 0
                                                                                         : MIN_MACHINE_SHARE;
        if (round == PELT_NONE && (joint == PELT_NONE || share < least)) {
            if (!machine && small < MAX_SMALL_RATIO * b->turned.classes.count &&
                (size < MAX_NEAREST_SIZE * whole || is_round(&b->turned, &boxes[n], items + firsts[n], count)))
                stiffen(items + firsts[n], count, table);
            continue;
        }
        for (uint32_t k = firsts[n]; k < firsts[n + 1]; k++)
            if (settings->follows[items[k]] == PELT_NONE)
                settings->follows[items[k]] = round != PELT_NONE ? round : joint;
    }
    return PELT_OK;
}
