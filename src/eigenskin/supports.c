/* Supports: which joints influence which classes.
 *
 * If poses move one joint only, its support is the set of classes it displaces (Kry, James, Pai 2002, §2.2). Otherwise
 * the classes near it are candidates: those with weight on its bones, on the nearest bones above, or on those below.
 * After a first solution the same rule prunes both: a class belongs to a joint that displaces it by more than `support`
 * times the joint's largest displacement. For that maximum, each displacement is bounded by the skin's error in world
 * space: displacements at rest of tissue that blending squeezes are many times larger. Displacements fade to 0 towards
 * the border of the support, so that they are continuous.
 */
#include "eigenskin/eigenskin.h"

/* Lengths below this fraction of the size are rounding errors. */
#define LENGTH_TOLERANCE 1e-6
#define PRIOR_STEPS      16.0
#define BEND_BLOCK       1u
/* Width of the fade at the border of a support, relative to the threshold there. Displacements are small at the
 * border of a joint's own support, but not where max_per_vertex cuts it off. */
#define SUPPORT_FADE 1.0
#define CROWDED_FADE 0.1

/* Dense table of shares during construction, one column per joint. */
typedef struct say {
    float *priors; /* [class][bend] m; 0: no share */
    float *fades;  /* [class][bend] */
} say;

static double smooth_step(double x) {
    x = px_fmin(px_fmax(x, 0), 1);
    return x * x * (3 - 2 * x);
}

/* 0 for lengths up to `border`, 1 from (1 + width) · border on. border 0: 1 for any length > 0. */
static double fade_of(double length, double border, double width) {
    return border > 0 ? smooth_step((length / border - 1) / width) : length > 0;
}

static float prior_of(double m) {
    return (float)(ceil(px_fmin(m, 1) * PRIOR_STEPS) / PRIOR_STEPS);
}

/* Compresses the dense table to sparse lists. */
static pelt_result make_shares(px_eigenskin *e, const say *s) {
    size_t cells = (size_t)e->classes.count * e->bend_count, count = 0;
    for (size_t n = 0; n < cells; n++)
        count += s->priors[n] > 0;
    e->offsets = PX_NEW(e->scratch, size_t, (size_t)e->classes.count + 1);
    e->shares = PX_NEW(e->scratch, px_share, count);
    e->share_classes = PX_NEW(e->scratch, uint32_t, count);
    uint32_t *lists = PX_NEW(e->scratch, uint32_t, count);
    if (!e->offsets || !e->shares || !e->share_classes || !lists)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < e->bend_count; j++) {
        e->bends[j].share_count = 0;
        for (size_t u = 0; u < e->classes.count; u++)
            e->bends[j].share_count += s->priors[u * e->bend_count + j] > 0;
        e->bends[j].shares = lists;
        lists += e->bends[j].share_count;
        e->bends[j].share_count = 0;
    }
    count = 0;
    for (uint32_t u = 0; u < e->classes.count; u++) {
        for (uint32_t j = 0; j < e->bend_count; j++) {
            size_t cell = (size_t)u * e->bend_count + j;
            if (!(s->priors[cell] > 0))
                continue;
            e->bends[j].shares[e->bends[j].share_count++] = (uint32_t)count;
            e->share_classes[count] = u;
            e->shares[count++] = (px_share){j, s->priors[cell], s->fades[cell]};
        }
        e->offsets[u + 1] = count;
    }
    return PELT_OK;
}

static bool make_say(const px_eigenskin *e, say *s) {
    size_t cells = px_mul_size(e->classes.count, e->bend_count);
    s->priors = PX_ALLOC(e->context, float, cells);
    s->fades = s->priors ? PX_ALLOC(e->context, float, cells) : NULL;
    for (size_t n = 0; s->fades && n < cells; n++)
        s->fades[n] = 1;
    return s->fades;
}

static void free_say(const px_eigenskin *e, say *s) {
    px_free(e->context, s->priors);
    px_free(e->context, s->fades);
}

/* ---- Candidates ------------------------------------------------------------------------------------------- */

/* Returns the only joint that rotates in a pose, or PELT_NONE. */
static uint32_t moves_alone(const px_eigenskin *e, uint32_t pose) {
    uint32_t found = PELT_NONE;
    for (uint32_t j = 0; j < e->single_count; j++)
        for (uint32_t n = 0; n < e->bends[j].part_count; n++)
            if (px_driver_angle(e->bends[j].parts[n].rotations[pose], px_rotation_identity()) > PX_ANGLE_TOLERANCE) {
                if (found != PELT_NONE && found != j)
                    return PELT_NONE;
                found = j;
            }
    return found;
}

static double displacement_of(const px_eigenskin *e, size_t class, size_t pose) {
    px_matrix rows = px_class_rows(e, e->displacements, class);
    double d[3] = {*px_matrix_at(rows, 0, pose), *px_matrix_at(rows, 1, pose), *px_matrix_at(rows, 2, pose)};
    return px_length3(d);
}

/* Finds the classes that a joint displaces in poses that move it alone. Returns false if there is no such pose.
 * `lengths` [class]: scratch. */
static bool find_displaced(const px_eigenskin *e, uint32_t bend, const uint32_t *alone, double *lengths, const say *s) {
    double most = 0;
    bool any = false;
    memset(lengths, 0, e->classes.count * sizeof *lengths);
    for (uint32_t p = 0; p < e->pose_count; p++) {
        any |= alone[p] == bend;
        for (size_t u = 0; alone[p] == bend && u < e->classes.count; u++) {
            lengths[u] = px_fmax(lengths[u], displacement_of(e, u, p));
            most = px_fmax(most, px_fmin(lengths[u], e->missed[u]));
        }
    }
    for (size_t u = 0; u < e->classes.count; u++) {
        double border = px_fmax(e->desc.support * most, LENGTH_TOLERANCE * e->size * e->scales[u]);
        s->priors[u * e->bend_count + bend] = any && lengths[u] > border;
    }
    return any;
}

/* Marks [joint] the joints whose weights count for a joint: itself, its nearest weighted ancestor, and the
 * descendants without a weighted joint in between. */
static void mark_near(const px_eigenskin *e, uint32_t joint, uint8_t *near) {
    const pelt_skeleton *skeleton = &e->model->skeleton;
    memset(near, 0, skeleton->joint_count);
    near[joint] = 1;
    near[e->hierarchy.above[joint]] = 1;
    for (uint32_t k = 0; k < skeleton->joint_count; k++) {
        uint32_t up = skeleton->parents[k];
        while (up != PELT_NONE && up != joint && !e->hierarchy.weighted[up])
            up = skeleton->parents[up];
        near[k] |= up == joint || e->hierarchy.against[k] == joint;
    }
}

static void find_near(const px_eigenskin *e, uint32_t bend, const uint8_t *near, const say *s) {
    const pelt_skin *skin = &e->model->skin;
    for (size_t u = 0; u < e->classes.count; u++) {
        size_t row = (size_t)pelt_class_vertex(&e->classes, u) * skin->influence_count;
        double sum = 0;
        for (size_t n = row; n < row + skin->influence_count; n++)
            sum += near[skin->bone_joints[skin->bones[n]]] ? (double)skin->weights[n] : 0;
        s->priors[u * e->bend_count + bend] = prior_of(sum);
    }
}

pelt_result px_eigenskin_candidates(px_eigenskin *e) {
    uint8_t *near = PX_NEW(e->scratch, uint8_t, e->model->skeleton.joint_count);
    uint32_t *alone = PX_NEW(e->scratch, uint32_t, e->pose_count);
    double *lengths = PX_NEW(e->scratch, double, e->classes.count);
    say s = {0};
    pelt_result result = near && alone && lengths && make_say(e, &s) ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t p = 0; result == PELT_OK && p < e->pose_count; p++)
        alone[p] = moves_alone(e, p);
    for (uint32_t j = 0; result == PELT_OK && j < e->bend_count; j++)
        if (!find_displaced(e, j, alone, lengths, &s)) {
            mark_near(e, e->bends[j].joint, near);
            find_near(e, j, near, &s);
        }
    if (result == PELT_OK)
        result = make_shares(e, &s);
    free_say(e, &s);
    return result;
}

/* ---- Supports --------------------------------------------------------------------------------------------- */

typedef struct length_work {
    px_eigenskin *e;
    double *lengths; /* [class][bend] largest displacement over all poses */
} length_work;

static pelt_result length_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const length_work *w = user;
    px_eigenskin *e = w->e;
    size_t poses = e->pose_count;
    double *moved = PX_ALLOC(e->context, double, 3 * poses);
    if (!moved)
        return PELT_ERROR_MEMORY;
    for (size_t j = first; j < first + count; j++) {
        px_bend *bend = &e->bends[j];
        bend->displacement = bend->seen = 0;
        for (size_t n = 0; n < bend->share_count; n++) {
            const px_share *share = &e->shares[bend->shares[n]];
            uint32_t class = e->share_classes[bend->shares[n]];
            double most = 0;
            px_gemm((double)share->prior, px_matrix_of(px_class_rows(e, e->solutions, class).data, 3, poses),
                    px_matrix_of(bend->kernel, poses, poses), 0, px_matrix_of(moved, 3, poses));
            for (size_t p = 0; p < poses; p++) {
                double d[3] = {moved[p], moved[poses + p], moved[2 * poses + p]};
                most = px_fmax(most, px_length3(d));
            }
            w->lengths[(size_t) class * e->bend_count + j] = most;
            bend->displacement = px_fmax(bend->displacement, most);
            bend->seen = px_fmax(bend->seen, px_fmin(most, e->missed[class]));
        }
    }
    px_free(e->context, moved);
    return PELT_OK;
}

/* Returns the threshold above which at most `most` joints displace a class: the largest length that more than `most`
 * joints reach. */
static double crowded_border(const px_eigenskin *e, size_t class, const double *lengths, uint32_t most) {
    size_t first = e->offsets[class], end = e->offsets[class + 1];
    double border = 0;
    for (size_t n = first; n < end; n++) {
        double length = lengths[e->shares[n].bend];
        uint32_t reached = 0;
        for (size_t k = first; k < end; k++)
            reached += lengths[e->shares[k].bend] >= length;
        if (reached > most)
            border = px_fmax(border, length);
    }
    return border;
}

static void cut_class(const px_eigenskin *e, size_t class, const double *lengths, const say *s) {
    double crowded = 0;
    if (e->desc.max_per_vertex && e->desc.modes)
        crowded = crowded_border(e, class, lengths, e->desc.max_per_vertex / e->desc.modes);
    for (size_t n = e->offsets[class]; n < e->offsets[class + 1]; n++) {
        const px_share *share = &e->shares[n];
        double length = lengths[share->bend], most = e->bends[share->bend].seen;
        double fade = fade_of(length, e->desc.support * most, SUPPORT_FADE) * fade_of(length, crowded, CROWDED_FADE);
        size_t cell = class * e->bend_count + share->bend;
        s->fades[cell] = (float)fade;
        s->priors[cell] = prior_of((double)share->prior * fade);
    }
}

pelt_result px_eigenskin_supports(px_eigenskin *e) {
    length_work w = {e, PX_ALLOC(e->context, double, px_mul_size(e->classes.count, e->bend_count))};
    say s = {0};
    pelt_result result = w.lengths && make_say(e, &s) ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = px_parallel(e->context, NULL, e->bend_count, BEND_BLOCK, length_block, &w);
    for (size_t u = 0; result == PELT_OK && u < e->classes.count; u++)
        cut_class(e, u, w.lengths + u * e->bend_count, &s);
    if (result == PELT_OK)
        result = make_shares(e, &s);
    free_say(e, &s);
    px_free(e->context, w.lengths);
    return result;
}
