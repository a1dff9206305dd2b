/* Edge collapses in the order of their cost: a binary heap of edges, in which an entry is out of date if one of its
 * classes has changed since it was pushed. An invalid collapse is tried in the opposite direction and then dropped,
 * until a collapse next to it pushes it again. When the heap is empty, it is refilled with all edges, as long as the
 * last pass made a collapse. */
#include "simplify/simplify.h"

#include <math.h>

#define MEASURE_BLOCK 4096u
#define PROGRESS_STEP 256u
/* Minimum cosine between the normals of a triangle before and after a collapse, in every pose. */
#define TURN_COSINE 0.2f

typedef struct entry {
    float cost;
    uint32_t go, keep;
    uint32_t stamps[2]; /* of `go` and `keep` when the cost was measured */
    bool last;          /* the opposite direction was tried, or is not allowed */
} entry;

struct px_queue {
    px_simplify *s;
    px_topology *topology;
    entry *entries; /* a min-heap */
    size_t count, capacity;
    uint32_t *stamps; /* [class] number of its changes */
    bool failed;      /* out of memory */
};

/* ---- Heap ------------------------------------------------------------------------------------------------- */

/* Ties go by class index, so that the order is deterministic. */
static bool before(const entry *a, const entry *b) {
    if (a->cost != b->cost)
        return a->cost < b->cost;
    return a->go != b->go ? a->go < b->go : a->keep < b->keep;
}

static void sift_down(px_queue *q, size_t at) {
    entry moving = q->entries[at];
    for (size_t child; (child = 2 * at + 1) < q->count; at = child) {
        child += child + 1 < q->count && before(&q->entries[child + 1], &q->entries[child]);
        if (!before(&q->entries[child], &moving))
            break;
        q->entries[at] = q->entries[child];
    }
    q->entries[at] = moving;
}

static bool reserve(px_queue *q) {
    if (q->count < q->capacity)
        return true;
    size_t capacity = 2 * q->capacity + 1024;
    entry *grown = px_resize(q->s->context, q->entries, capacity, sizeof *grown);
    q->failed |= !grown;
    if (!grown)
        return false;
    q->entries = grown;
    q->capacity = capacity;
    return true;
}

static void push(px_queue *q, const entry *new_one) {
    if (!reserve(q))
        return;
    size_t at = q->count++;
    for (size_t parent; at > 0 && before(new_one, &q->entries[parent = (at - 1) / 2]); at = parent)
        q->entries[at] = q->entries[parent];
    q->entries[at] = *new_one;
}

static entry pop(px_queue *q) {
    entry least = q->entries[0];
    q->entries[0] = q->entries[--q->count];
    if (q->count > 0)
        sift_down(q, 0);
    return least;
}

/* ---- Measuring -------------------------------------------------------------------------------------------- */

/* Whether the kinds of the classes allow this direction. */
static bool may_go(const px_simplify *s, uint32_t go, uint32_t keep) {
    return s->kinds[go] == PX_CLASS_FREE || (s->kinds[go] == PX_CLASS_EDGE && s->kinds[keep] != PX_CLASS_FREE);
}

static void measure(const px_queue *q, uint32_t go, uint32_t keep, bool last, entry *out) {
    px_collapse collapse;
    px_collapse_measure(q->s, go, keep, &collapse, NULL, NULL);
    *out = (entry){(float)collapse.cost, go, keep, {q->stamps[go], q->stamps[keep]}, last};
}

/* Measures the cheaper direction of an edge; false if neither is allowed. */
static bool measure_edge(const px_queue *q, uint32_t a, uint32_t b, entry *out) {
    bool ab = may_go(q->s, a, b), ba = may_go(q->s, b, a);
    entry other;
    if (ab)
        measure(q, a, b, !ba, out);
    if (ba)
        measure(q, b, a, !ab, ab ? &other : out);
    if (ab && ba && before(&other, out))
        *out = other;
    return ab || ba;
}

typedef struct ring {
    px_queue *q;
    uint32_t u;
} ring;

static void push_edge(void *user, uint32_t other) {
    const ring *r = user;
    entry new_one;
    if (measure_edge(r->q, r->u, other, &new_one))
        push(r->q, &new_one);
}

/* Appends an edge without cost, once: from its lower class. */
static void list_edge(void *user, uint32_t other) {
    const ring *r = user;
    if (r->u < other && reserve(r->q))
        r->q->entries[r->q->count++] = (entry){.go = r->u, .keep = other};
}

static pelt_result measure_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    px_queue *q = user;
    for (size_t n = first; n < first + count; n++) {
        entry *at = &q->entries[n];
        if (!measure_edge(q, at->go, at->keep, at))
            at->cost = INFINITY;
    }
    return PELT_OK;
}

static pelt_result fill(px_queue *q) {
    q->count = 0;
    for (uint32_t u = 0; u < q->s->classes.count && !q->failed; u++)
        px_topology_neighbours(q->topology, u, list_edge, &(ring){q, u});
    if (q->failed)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_parallel(q->s->context, NULL, q->count, MEASURE_BLOCK, measure_block, q));
    size_t kept = 0;
    for (size_t n = 0; n < q->count; n++)
        if (q->entries[n].cost < INFINITY)
            q->entries[kept++] = q->entries[n];
    q->count = kept;
    for (size_t n = kept / 2; n-- > 0;)
        sift_down(q, n);
    return PELT_OK;
}

/* ---- Flipped triangles ------------------------------------------------------------------------------------ */

/* Whether the triangle of a corner keeps its orientation in every pose when the corner moves to `to` [3][pose].
 * Degenerate triangles have none to keep. */
static bool keeps_side(const px_simplify *s, uint32_t corner, const float *to) {
    size_t n = s->pose_count, b = px_next_corner(corner), c = px_next_corner((uint32_t)b);
    const float *p = s->places + 3 * n * px_corner_class(s, corner);
    const float *x = s->places + 3 * n * px_corner_class(s, (uint32_t)b);
    const float *y = s->places + 3 * n * px_corner_class(s, (uint32_t)c);
    for (size_t k = 0; k < n; k++) {
        float e[3], f[3], g[3], old[3], new_one[3], dot = 0, square = 0, new_square = 0;
        for (size_t a = 0; a < 3; a++) {
            e[a] = y[a * n + k] - x[a * n + k];
            f[a] = p[a * n + k] - x[a * n + k];
            g[a] = to[a * n + k] - x[a * n + k];
        }
        for (int a = 0; a < 3; a++) {
            int i = (a + 1) % 3, j = (a + 2) % 3;
            old[a] = e[i] * f[j] - e[j] * f[i];
            new_one[a] = e[i] * g[j] - e[j] * g[i];
            dot += old[a] * new_one[a];
            square += old[a] * old[a];
            new_square += new_one[a] * new_one[a];
        }
        if (square > 1e-24f && dot <= TURN_COSINE * sqrtf(square) * sqrtf(new_square))
            return false;
    }
    return true;
}

static bool keeps_sides(px_simplify *s, uint32_t u, uint32_t other, const float *to) {
    PX_CIRCLE(s, u, corner) {
        uint32_t b = px_next_corner(corner), c = px_next_corner(b);
        if (px_corner_class(s, b) != other && px_corner_class(s, c) != other && !keeps_side(s, corner, to))
            return false;
    }
    return true;
}

/* ---- Collapses -------------------------------------------------------------------------------------------- */

static bool try_collapse(px_queue *q, uint32_t go, uint32_t keep) {
    px_simplify *s = q->s;
    size_t n = s->pose_count;
    px_wedges wedges;
    px_collapse collapse;
    float to[3 * PELT_SIMPLIFY_POSES_MAX], moves[3 * PELT_SIMPLIFY_POSES_MAX];
    float quadrics[PX_QUADRIC * PELT_SIMPLIFY_POSES_MAX], *places = s->places + 3 * n * keep;
    if (!px_topology_allows(q->topology, go, keep, &wedges))
        return false;
    px_collapse_measure(s, go, keep, &collapse, moves, quadrics);
    if (s->desc.error > 0 && collapse.distance > s->desc.error)
        return false;
    for (size_t e = 0; e < 3 * n; e++)
        to[e] = places[e] + moves[e];
    if (!keeps_sides(s, go, keep, to) || !keeps_sides(s, keep, go, to))
        return false;
    px_quadrics_shift(s->pose_count, moves, quadrics);
    memcpy(s->quadrics + PX_QUADRIC * n * keep, quadrics, PX_QUADRIC * n * sizeof *quadrics);
    memcpy(places, to, 3 * n * sizeof *to);
    for (int a = 0; a < 3; a++)
        s->moves[keep][a] += collapse.move[a] * s->size;
    s->harm = px_fmax(s->harm, collapse.distance);
    px_topology_collapse(q->topology, go, keep, &wedges);
    q->stamps[go]++;
    q->stamps[keep]++;
    return true;
}

/* Processes the heap until it is empty; *done: number of collapses. */
static pelt_result run_once(px_queue *q, uint32_t wanted, uint32_t begun, uint32_t *done) {
    px_simplify *s = q->s;
    *done = 0;
    while (q->count > 0 && s->triangle_count > wanted) {
        entry at = pop(q);
        if (at.stamps[0] != q->stamps[at.go] || at.stamps[1] != q->stamps[at.keep])
            continue;
        if (try_collapse(q, at.go, at.keep)) {
            px_topology_neighbours(q->topology, at.keep, push_edge, &(ring){q, at.keep});
            if (++*done % PROGRESS_STEP == 0)
                PX_TRY(px_progress(s->context, "simplify", begun - s->triangle_count, begun - wanted));
        } else if (!at.last) {
            entry other;
            measure(q, at.keep, at.go, true, &other);
            push(q, &other);
        }
        if (q->failed)
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

pelt_result px_queue_run(px_queue *q, uint32_t wanted) {
    uint32_t begun = q->s->triangle_count, done = 1;
    PX_TRY(px_progress(q->s->context, "simplify", 0, 1));
    while (q->s->triangle_count > wanted && done > 0) {
        if (q->count == 0)
            PX_TRY(fill(q));
        PX_TRY(run_once(q, wanted, begun, &done));
    }
    return PELT_OK;
}

static void destroy(void *user) {
    const px_queue *q = user;
    px_free(q->s->context, q->entries);
}

pelt_result px_queue_create(px_simplify *s, px_queue **out) {
    px_queue *q = PX_NEW(s->arena, px_queue, 1);
    if (!q || !(q->stamps = PX_NEW(s->arena, uint32_t, s->classes.count)))
        return PELT_ERROR_MEMORY;
    q->s = s;
    PX_TRY(px_topology_create(s, &q->topology));
    PX_TRY(px_arena_defer(s->arena, destroy, q));
    *out = q;
    return PELT_OK;
}
