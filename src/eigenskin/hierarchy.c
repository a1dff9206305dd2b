/* Driving joints, and the joints that their rotations are measured against.
 *
 * A joint drives if there is a weighted joint above it, and one at or below it: its rotation is the bend between them.
 * But skeletons may be flat (those of WebXR hands are), or have several branches below a joint without weights. Then
 * one of the topmost weighted joints is the root, and each of the others is measured against one that it shares
 * vertices with: a maximum spanning tree of shared weight. Joints that share none are attached
 * by distance, the nearest first. Distance alone would connect knuckles with each other.
 */
#include "eigenskin/eigenskin.h"

/* The topmost weighted joints ("tops"). */
typedef struct top_set {
    uint32_t count;
    uint32_t *joints;    /* [top] its joint */
    uint32_t *of;        /* [joint] the top at or above the joint, or PELT_NONE */
    double *shared;      /* [top][top] Σ_i min of both tops' weights; diagonal: total weight of the top */
    double (*places)[3]; /* [top] position at rest, world space */
} top_set;

static void find_weighted(const px_eigenskin *e, uint8_t *weighted) {
    const pelt_skin *skin = &e->model->skin;
    size_t count = (size_t)e->model->mesh.vertex_count * skin->influence_count;
    for (size_t n = 0; n < count; n++)
        if (skin->weights[n] > 0)
            weighted[skin->bone_joints[skin->bones[n]]] = 1;
}

/* Finds the nearest weighted ancestor of each joint, and the joints that drive because they have one. */
static pelt_result find_below(px_eigenskin *e) {
    const pelt_skeleton *skeleton = &e->model->skeleton;
    px_bend_hierarchy *h = &e->hierarchy;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        uint32_t parent = skeleton->parents[j];
        h->against[j] = PELT_NONE;
        h->above[j] = parent == PELT_NONE ? PELT_NONE : h->weighted[parent] ? parent : h->above[parent];
        h->drives[j] = h->weighted[j];
    }
    for (uint32_t j = skeleton->joint_count; j-- > 0;)
        if (h->drives[j] && skeleton->parents[j] != PELT_NONE)
            h->drives[skeleton->parents[j]] = 1;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        h->drives[j] = h->drives[j] && h->above[j] != PELT_NONE;
    return PELT_OK;
}

/* ---- Flat skeletons --------------------------------------------------------------------------------------- */

static pelt_result find_tops(const px_eigenskin *e, top_set *t) {
    const pelt_skeleton *skeleton = &e->model->skeleton;
    const px_bend_hierarchy *h = &e->hierarchy;
    size_t count = skeleton->joint_count;
    t->joints = PX_NEW(e->scratch, uint32_t, count);
    t->of = PX_NEW(e->scratch, uint32_t, count);
    pelt_affine *globals = PX_NEW(e->scratch, pelt_affine, count);
    if (!t->joints || !t->of || !globals)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < count; j++) {
        uint32_t parent = skeleton->parents[j];
        t->of[j] = parent == PELT_NONE ? PELT_NONE : t->of[parent];
        if (!h->weighted[j] || t->of[j] != PELT_NONE)
            continue;
        t->of[j] = t->count;
        t->joints[t->count++] = j;
    }
    t->shared = PX_NEW(e->scratch, double, px_mul_size(t->count, t->count));
    t->places = px_arena_alloc(e->scratch, t->count, sizeof *t->places);
    if (!t->shared || !t->places)
        return PELT_ERROR_MEMORY;
    pelt_skeleton_globals(skeleton, skeleton->rest, globals);
    for (uint32_t n = 0; n < t->count; n++)
        for (int a = 0; a < 3; a++)
            t->places[n][a] = (double)globals[t->joints[n]].m[4 * a + 3];
    return PELT_OK;
}

static void share_weights(const px_eigenskin *e, const top_set *t) {
    const pelt_skin *skin = &e->model->skin;
    uint32_t width = skin->influence_count;
    for (uint32_t i = 0; i < e->model->mesh.vertex_count; i++) {
        uint32_t tops[PELT_MAX_INFLUENCES], count = 0;
        double sums[PELT_MAX_INFLUENCES];
        for (uint32_t n = 0; n < width; n++) {
            size_t at = (size_t)i * width + n;
            if (!(skin->weights[at] > 0))
                continue;
            uint32_t top = t->of[skin->bone_joints[skin->bones[at]]], k = 0;
            while (k < count && tops[k] != top)
                k++;
            sums[k] = (k < count ? sums[k] : 0) + (double)skin->weights[at];
            tops[k] = top;
            count += k == count;
        }
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t l = 0; l < count; l++)
                t->shared[(size_t)tops[k] * t->count + tops[l]] += px_fmin(sums[k], sums[l]);
    }
}

/* Returns true if the tops of pair a are connected more strongly than those of b: by shared weight, then by distance. */
static bool is_nearer(const top_set *t, const uint32_t a[2], const uint32_t b[2]) {
    double in_a = t->shared[(size_t)a[0] * t->count + a[1]], in_b = t->shared[(size_t)b[0] * t->count + b[1]];
    double along_a[3], along_b[3];
    for (int k = 0; k < 3; k++) {
        along_a[k] = t->places[a[1]][k] - t->places[a[0]][k];
        along_b[k] = t->places[b[1]][k] - t->places[b[0]][k];
    }
    return in_a != in_b ? in_a > in_b : px_length3(along_a) < px_length3(along_b);
}

/* Prim's algorithm, starting from the top with the most weight. */
static pelt_result join_tops(px_eigenskin *e, const top_set *t) {
    uint32_t *on = PX_NEW(e->scratch, uint32_t, t->count),
             root = 0; /* on [top]: best neighbour in the tree; itself: in the tree */
    if (!on)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 1; n < t->count; n++)
        if (t->shared[n * ((size_t)t->count + 1)] > t->shared[root * ((size_t)t->count + 1)])
            root = n;
    for (uint32_t n = 0; n < t->count; n++)
        on[n] = root;
    for (uint32_t step = 1; step < t->count; step++) {
        uint32_t next = PELT_NONE;
        for (uint32_t n = 0; n < t->count; n++)
            if (on[n] != n &&
                (next == PELT_NONE || is_nearer(t, (const uint32_t[2]){n, on[n]}, (const uint32_t[2]){next, on[next]})))
                next = n;
        uint32_t joint = t->joints[next];
        e->hierarchy.against[joint] = e->hierarchy.above[joint] = t->joints[on[next]];
        e->hierarchy.drives[joint] = 1;
        on[next] = next;
        for (uint32_t n = 0; n < t->count; n++)
            if (on[n] != n && is_nearer(t, (const uint32_t[2]){n, next}, (const uint32_t[2]){n, on[n]}))
                on[n] = next;
    }
    return PELT_OK;
}

/* Measures all other tops against the joint named desc.against. */
static pelt_result join_named(px_eigenskin *e, const top_set *t) {
    const pelt_skeleton *skeleton = &e->model->skeleton;
    const char *name = e->desc.against;
    uint32_t named = px_joint_named(skeleton, name, strlen(name), 0);
    if (named == PELT_NONE)
        return px_fail_joint(e->context, skeleton, "against", name, strlen(name));
    if (t->of[named] == PELT_NONE)
        return px_fail(e->context, PELT_ERROR_USAGE,
                       "against: nothing at or above joint '%s' has weights; name one that moves the skin", name);
    if (t->count < 2)
        return px_fail(e->context, PELT_ERROR_USAGE,
                       "against: every joint but '%s' has a weighted one above it, and turns against that",
                       skeleton->names[t->joints[0]]);
    for (uint32_t n = 0; n < t->count; n++)
        if (n != t->of[named]) {
            e->hierarchy.against[t->joints[n]] = e->hierarchy.above[t->joints[n]] = named;
            e->hierarchy.drives[t->joints[n]] = 1;
        }
    return PELT_OK;
}

pelt_result px_eigenskin_find_hierarchy(px_eigenskin *e) {
    size_t count = e->model->skeleton.joint_count;
    e->hierarchy = (px_bend_hierarchy){.weighted = PX_NEW(e->scratch, uint8_t, count),
                                       .drives = PX_NEW(e->scratch, uint8_t, count),
                                       .above = PX_NEW(e->scratch, uint32_t, count),
                                       .against = PX_NEW(e->scratch, uint32_t, count)};
    const px_bend_hierarchy *h = &e->hierarchy;
    top_set tops = {0};
    if (!h->weighted || !h->drives || !h->above || !h->against)
        return PELT_ERROR_MEMORY;
    find_weighted(e, h->weighted);
    PX_TRY(find_below(e));
    PX_TRY(find_tops(e, &tops));
    if (e->desc.against)
        return join_named(e, &tops);
    if (tops.count < 2)
        return PELT_OK;
    share_weights(e, &tops);
    return join_tops(e, &tops);
}
