/* Weights of the bones of a vertex and of the helpers between them, on the simplex, over all poses. Weights sum to 1, so that
 * errors of single bones are used: e = |Σ w_k (y_k − target)|. Least squares serve the many poses that turn little at the cost
 * of the few that turn far, in which errors show. Therefore Σ e⁶ over the frames of motions is minimised: by least squares whose
 * frames are weighted by the e⁴ of the rounds before. Random poses keep their weight: their errors are no aim. */
#include "core/math3.h"
#include "helpers/helpers.h"
#include "numeric/sparse.h"

#define BLOCK_CLASSES 256u
/* Weights are pulled to those of the given skin, for vertices that no pose moves: a fraction of the mean squared error of
 * single bones. */
#define PULL 1e-7
/* Smaller weights are dropped. */
#define MIN_WEIGHT 1e-4
#define ROUNDS     8u
/* Added to e² over its mean over the frames, so that no frame is without weight. */
#define MIN_SHARE 0.05
/* Exponent of the change of weights in a round: whole steps alternate. */
#define STEP 0.3

typedef struct weights_task {
    const px_helper_plan *plan;
    pelt_skin *skin;
} weights_task;

/* How well the helpers of a pair serve a vertex: the weights of the bones between which they blend. */
static double pair_use(const px_helper_plan *plan, const pelt_helper_pair *pair, const px_simplex_problem *p,
                       size_t own) {
    double use = 0;
    for (size_t y = 1; y < own; y++)
        for (size_t x = 0; x < y; x++)
            use += p->weights[x] * p->weights[y] *
                   px_helper_cover(plan, pair->bones, (const uint32_t[]){p->ids[x], p->ids[y]});
    return use;
}

/* The bones of a vertex, and the helpers that serve it best. */
static void list_bones(const px_helper_plan *plan, size_t i, px_simplex_problem *p) {
    const pelt_skin *skin = &plan->model->skin;
    size_t K = skin->influence_count, own, served = 0;
    uint32_t pairs[PX_SIMPLEX_MAX / 2];
    double uses[PX_SIMPLEX_MAX / 2];
    p->count = 0;
    for (size_t k = 0; k < K; k++)
        if (skin->weights[i * K + k] > 0 && !px_simplex_has(p, skin->bones[i * K + k])) {
            p->weights[p->count] = (double)skin->weights[i * K + k];
            p->ids[p->count++] = skin->bones[i * K + k];
        }
    if (p->count == 0) { /* all weights are 0 */
        p->weights[0] = 1;
        p->ids[p->count++] = skin->bones[i * K];
    }
    own = p->count;
    size_t most = (PX_SIMPLEX_MAX - own) / 2;
    for (uint32_t n = 0; n < plan->pair_count && own > 1; n++) {
        double use = pair_use(plan, &plan->pairs[n], p, own);
        size_t at = served;
        for (; use > 0 && at > 0 && use > uses[at - 1]; at--)
            if (at < most) {
                uses[at] = uses[at - 1];
                pairs[at] = pairs[at - 1];
            }
        if (use > 0 && at < most) {
            uses[at] = use;
            pairs[at] = n;
            served += served < most;
        }
    }
    for (size_t n = 0; n < 2 * served; n++) {
        p->weights[p->count] = 0;
        p->ids[p->count++] = plan->pairs[pairs[n / 2]].first + n % 2;
    }
}

/* The same for delta mush. */
static void list_candidates(const px_helper_plan *plan, size_t c, px_simplex_problem *p) {
    const px_weight_table *table = &plan->candidates;
    p->count = 0;
    for (size_t k = c * table->capacity; k < (c + 1) * table->capacity && table->weights[k] > 0; k++) {
        p->weights[p->count] = (double)table->weights[k];
        p->ids[p->count++] = table->bones[k];
    }
    if (p->count == 0) { /* all weights are 0 */
        p->weights[0] = 1;
        p->ids[p->count++] = 0;
    }
}

/* Errors of single bones in a pose. */
static void bone_errors(const px_helper_plan *plan, const px_helper_pose *pose, uint32_t c, const px_simplex_problem *p,
                        double off[PX_SIMPLEX_MAX][3]) {
    const float *rest = pose->rests + 3 * (size_t)c, *target = pose->targets + 3 * (size_t)c;
    uint32_t own = plan->model->skin.bone_count;
    for (size_t n = 0; n < p->count; n++) {
        const float *m = p->ids[n] < own ? pose->bones.palette[p->ids[n]].m : pose->helpers[p->ids[n] - own].m;
        for (int r = 0; r < 3; r++, m += 4)
            off[n][r] = (double)m[0] * rest[0] + (double)m[1] * rest[1] + (double)m[2] * rest[2] + (double)m[3] -
                        (double)target[r];
    }
}

/* `shares` [pose]: factors on the weights of poses. */
static void gather(const px_helper_plan *plan, uint32_t c, const double *shares, px_simplex_problem *p) {
    memset(p->gram, 0, sizeof p->gram);
    for (uint32_t n = 0; n < plan->pose_count; n++) {
        const px_helper_pose *pose = &plan->poses[n];
        double off[PX_SIMPLEX_MAX][3];
        bone_errors(plan, pose, c, p, off);
        for (size_t a = 0; a < p->count; a++)
            for (size_t b = 0; b <= a; b++)
                p->gram[a][b] += shares[n] * pose->weight * px_dot3d(off[a], off[b]);
    }
    for (size_t a = 0; a < p->count; a++)
        for (size_t b = 0; b < a; b++)
            p->gram[b][a] = p->gram[a][b];
}

/* One round of least squares; the weights are pulled to those of `given`. */
static void solve(const px_helper_plan *plan, uint32_t c, const px_simplex_problem *given, const double *shares,
                  size_t most, bool exchange, px_simplex_problem *p) {
    gather(plan, c, shares, p);
    double trace = 0;
    for (size_t a = 0; a < p->count; a++)
        trace += p->gram[a][a];
    double pull = PULL * trace / (double)p->count;
    for (size_t a = 0; a < p->count; a++) {
        p->gram[a][a] += pull;
        p->linear[a] = 0;
        for (size_t g = 0; g < given->count; g++)
            if (given->ids[g] == p->ids[a])
                p->linear[a] = pull * given->weights[g];
    }
    px_simplex_problem all = *p;
    px_simplex_sparse(p, most, MIN_WEIGHT);
    if (exchange)
        px_simplex_exchange(&all, p);
}

/* Sets the shares of frames to the square of e² over its mean; returns the sum of e⁶. Frames come before random poses. */
static double weigh_frames(const px_helper_plan *plan, uint32_t c, const px_simplex_problem *p, double *shares) {
    double sum = 0, sixth = 0, total = 0;
    for (uint32_t n = 0; n < plan->pose_count; n++)
        shares[n] = 1;
    for (uint32_t n = 0; n < plan->pose_count && plan->poses[n].motion != PELT_NONE; n++) {
        double off[PX_SIMPLEX_MAX][3], e[3] = {0, 0, 0};
        bone_errors(plan, &plan->poses[n], c, p, off);
        for (size_t a = 0; a < p->count; a++)
            for (int r = 0; r < 3; r++)
                e[r] += p->weights[a] * off[a][r];
        shares[n] = px_dot3d(e, e);
        sum += plan->poses[n].weight * shares[n];
        sixth += plan->poses[n].weight * shares[n] * shares[n] * shares[n];
        total += plan->poses[n].weight;
    }
    for (uint32_t n = 0; n < plan->pose_count && plan->poses[n].motion != PELT_NONE; n++) {
        double share = sum > 0 ? shares[n] * total / sum + MIN_SHARE : 1;
        shares[n] = share * share;
    }
    return sixth;
}

/* `shares` [2 · pose]: scratch. */
static void fit_class(const px_helper_plan *plan, uint32_t c, size_t most, double *shares, px_simplex_problem *p) {
    if (plan->mush)
        list_candidates(plan, c, p);
    else
        list_bones(plan, pelt_class_vertex(&plan->classes, c), p);
    if (p->count <= (plan->mush ? 1 : most) && p->ids[p->count - 1] < plan->model->skin.bone_count)
        return; /* no helpers: keep its weights */
    px_simplex_normalise(p);
    px_simplex_problem given = *p, next;
    double *own = shares + plan->pose_count;
    for (uint32_t n = 0; n < plan->pose_count; n++)
        shares[n] = 1;
    solve(plan, c, &given, shares, most, plan->mush != NULL, p);
    double least = weigh_frames(plan, c, p, own);
    next = *p;
    for (uint32_t round = 1; round < ROUNDS && least > 0; round++) {
        for (uint32_t n = 0; n < plan->pose_count; n++)
            shares[n] *= px_pow(own[n] / shares[n], STEP);
        solve(plan, c, &given, shares, most, false, &next);
        double sixth = weigh_frames(plan, c, &next, own);
        if (sixth < least) {
            least = sixth;
            *p = next;
        }
    }
}

static pelt_result fit_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const weights_task *task = user;
    size_t K = task->skin->influence_count;
    double *shares = PX_ALLOC(task->plan->context, double, 2 * (size_t)task->plan->pose_count);
    if (!shares)
        return PELT_ERROR_MEMORY;
    for (size_t c = first; c < first + count; c++) {
        px_simplex_problem p;
        size_t i = pelt_class_vertex(&task->plan->classes, c);
        fit_class(task->plan, (uint32_t)c, K, shares, &p);
        px_simplex_store(&p, K, task->skin->bones + i * K, task->skin->weights + i * K);
    }
    px_free(task->plan->context, shares);
    return PELT_OK;
}

/* Matrices of all helpers in all poses. */
static pelt_result pose_helpers(px_helper_plan *plan) {
    for (uint32_t n = 0; n < plan->pose_count; n++) {
        px_helper_pose *pose = &plan->poses[n];
        if (!(pose->helpers = PX_NEW(plan->arena, pelt_affine, 2 * (size_t)plan->pair_count)))
            return PELT_ERROR_MEMORY;
        for (size_t h = 0; h < 2 * (size_t)plan->pair_count; h += 2) {
            const uint32_t *bones = plan->pairs[h / 2].bones;
            double controls[2][12];
            px_helper_controls(&pose->bones, bones[0], bones[1], plan->desc.transforms, controls[0], controls[1]);
            for (size_t s = 0; s < 2; s++) {
                pelt_affine local;
                for (int e = 0; e < 12; e++)
                    local.m[e] = (float)controls[s][e];
                pose->helpers[h + s] = px_affine_mul(&pose->bones.palette[bones[s]], &local);
            }
        }
    }
    return PELT_OK;
}

pelt_result px_helper_weights(px_helper_plan *plan, pelt_skin *skin) {
    weights_task task = {plan, skin};
    size_t K = skin->influence_count;
    PX_TRY(pose_helpers(plan));
    PX_TRY(px_parallel(plan->context, "fitting weights", plan->classes.count, BLOCK_CLASSES, fit_block, &task));
    for (size_t i = 0; i < plan->model->mesh.vertex_count; i++) {
        size_t from = pelt_class_vertex(&plan->classes, pelt_vertex_class(&plan->classes, i));
        if (from == i)
            continue;
        memcpy(skin->bones + i * K, skin->bones + from * K, K * sizeof *skin->bones);
        memcpy(skin->weights + i * K, skin->weights + from * K, K * sizeof *skin->weights);
    }
    return PELT_OK;
}
