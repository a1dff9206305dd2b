/* Messages between the processes of a group, and sums in a fixed order (core/group.h). Everything goes along a binomial tree
 * over the processes: log2(processes) steps. */
#include "core/group.h"
#include "core/context.h"

#define LEAVES_MOST 1024u
#define NODES_MOST  128u /* nodes that cover consecutive leaves: fewer than two for each level of the tree */

uint32_t pelt_group_rank(const pelt_context *context) {
    return context->group.rank;
}

uint32_t pelt_group_size(const pelt_context *context) {
    return context->group.size;
}

uint64_t pelt_group_sent(const pelt_context *context) {
    return context->sent;
}

bool px_grouped(const pelt_context *context) {
    return context->group.size > 1;
}

/* ---- Messages --------------------------------------------------------------------------------------------- */

static pelt_result check(pelt_context *context, pelt_result result) {
    if (result == PELT_OK)
        return PELT_OK;
    const char *text = context->group.failure(context->group.user);
    context->lost = text != NULL; /* NULL: the fault is here, and the others must be told */
    return px_fail(context, result, "%s", text ? text : "another process of the group does not answer");
}

pelt_result px_group_send(pelt_context *context, uint32_t to, const void *data, size_t size) {
    context->sent += size;
    return size > 0 ? check(context, context->group.send(context->group.user, to, data, size)) : PELT_OK;
}

pelt_result px_group_receive(pelt_context *context, uint32_t from, void *data, size_t size) {
    return size > 0 ? check(context, context->group.receive(context->group.user, from, data, size)) : PELT_OK;
}

pelt_result px_group_end(pelt_context *context, pelt_result result) {
    if (result == PELT_OK || !px_grouped(context) || context->lost)
        return result;
    context->lost = true;
    context->group.abort(context->group.user, result,
                         result == PELT_ERROR_CANCELLED ? "interrupted" : pelt_error_text(context));
    return result;
}

pelt_result pelt_group_broadcast(pelt_context *context, uint32_t from, void *data, size_t size) {
    uint32_t count = context->group.size, rank = (context->group.rank + count - from % count) % count, step = 1;
    while (step < count && !(rank & step))
        step *= 2;
    if (rank > 0)
        PX_TRY(px_group_receive(context, (rank - step + from) % count, data, size));
    while ((step /= 2) > 0)
        if (rank + step < count)
            PX_TRY(px_group_send(context, (rank + step + from) % count, data, size));
    return PELT_OK;
}

pelt_result pelt_group_gather(pelt_context *context, void *items, size_t size) {
    const px_leaves leaves = px_leaves_even(context, context->group.size);
    return px_leaves_gather(context, &leaves, items, size);
}

static pelt_result add_process(void *user, size_t first, size_t count, double *values) {
    (void)first, (void)count;
    double *const *own = user;
    memcpy(values, own[0], (size_t)(own[1] - own[0]) * sizeof *values);
    return PELT_OK;
}

pelt_result pelt_group_sum(pelt_context *context, double *values, size_t count) {
    const px_leaves leaves = px_leaves_even(context, context->group.size);
    double *ends[] = {values, values + count};
    return px_grouped(context) ? px_leaves_sum(context, &leaves, count, add_process, ends, values) : PELT_OK;
}

pelt_result pelt_group_agree(pelt_context *context, pelt_result result) {
    uint8_t token = 0;
    PX_TRY(px_group_end(context, result));
    if (!px_grouped(context))
        return PELT_OK;
    for (uint32_t step = 1; step < context->group.size; step *= 2) { /* all have come, … */
        if (context->group.rank & step) {
            PX_TRY(px_group_send(context, context->group.rank - step, &token, 1));
            break;
        }
        if (context->group.rank + step < context->group.size)
            PX_TRY(px_group_receive(context, context->group.rank + step, &token, 1));
    }
    return pelt_group_broadcast(context, 0, &token, 1); /* … and all know */
}

/* ---- Leaves ----------------------------------------------------------------------------------------------- */

size_t px_leaves_first_of(const pelt_context *context, const px_leaves *leaves, uint32_t rank) {
    return (size_t)((uint64_t)leaves->count * rank / context->group.size);
}

static void take_leaves(const pelt_context *context, px_leaves *leaves) {
    uint32_t rank = context->group.rank;
    leaves->first = leaves->divided ? px_leaves_first_of(context, leaves, rank) : 0;
    leaves->end = leaves->divided ? px_leaves_first_of(context, leaves, rank + 1) : leaves->count;
}

px_leaves px_leaves_make(const pelt_context *context, size_t total, size_t size, bool divided) {
    px_leaves leaves = {.total = total, .count = 1, .divided = divided && px_grouped(context)};
    while (leaves.count < LEAVES_MOST && leaves.count * size < total)
        leaves.count *= 2;
    leaves.size = px_max_size(px_block_count(total, leaves.count), 1);
    take_leaves(context, &leaves);
    return leaves;
}

px_leaves px_leaves_even(const pelt_context *context, size_t total) {
    px_leaves leaves = {.total = total, .size = 1, .count = total, .divided = px_grouped(context)};
    take_leaves(context, &leaves);
    return leaves;
}

/* Nodes of the tree, from left to right; together they cover consecutive leaves. */
typedef struct nodes {
    pelt_context *context;
    size_t width, count;
    uint64_t first[NODES_MOST], span[NODES_MOST]; /* leaves [first, first + span), span a power of two */
    double *values[NODES_MOST];                   /* [width]; allocated when first used */
} nodes;

/* Values of the next node, not yet part of the nodes; NULL: out of memory. */
static double *next_values(nodes *n) {
    double **values = &n->values[n->count];
    if (!*values)
        *values = PX_ALLOC(n->context, double, n->width);
    return *values;
}

/* Appends the node whose values are next_values, and adds halves of a node while there are any. */
static void append(nodes *n, uint64_t first, uint64_t span) {
    n->first[n->count] = first;
    n->span[n->count] = span;
    for (n->count++; n->count > 1; n->count--) {
        size_t right = n->count - 1, left = right - 1;
        if (n->span[left] != n->span[right] || n->first[left] & n->span[left])
            break;
        for (size_t e = 0; e < n->width; e++)
            n->values[left][e] += n->values[right][e];
        n->span[left] *= 2;
    }
}

static pelt_result add_own(nodes *n, const px_leaves *leaves, px_leaf_fn *add, void *user) {
    for (size_t leaf = leaves->first; leaf < leaves->end; leaf++) {
        size_t first = px_leaf_first(leaves, leaf);
        double *values = next_values(n);
        if (!values)
            return PELT_ERROR_MEMORY;
        memset(values, 0, n->width * sizeof *values);
        PX_TRY(add(user, first, px_leaf_first(leaves, leaf + 1) - first, values));
        append(n, leaf, 1);
    }
    return PELT_OK;
}

static pelt_result send_nodes(const nodes *n, uint32_t to) {
    uint64_t used[1 + 2 * NODES_MOST] = {n->count};
    for (size_t e = 0; e < n->count; e++) {
        used[1 + 2 * e] = n->first[e];
        used[2 + 2 * e] = n->span[e];
    }
    PX_TRY(px_group_send(n->context, to, used, sizeof *used));
    PX_TRY(px_group_send(n->context, to, used + 1, 2 * n->count * sizeof *used));
    for (size_t e = 0; e < n->count; e++)
        PX_TRY(px_group_send(n->context, to, n->values[e], n->width * sizeof(double)));
    return PELT_OK;
}

static pelt_result receive_nodes(nodes *n, uint32_t from) {
    uint64_t count, used[2 * NODES_MOST];
    PX_TRY(px_group_receive(n->context, from, &count, sizeof count));
    if (count > NODES_MOST)
        return px_fail(n->context, PELT_ERROR_INPUT, "the processes of the group do not make the same calls");
    PX_TRY(px_group_receive(n->context, from, used, 2 * count * sizeof *used));
    for (size_t e = 0; e < count; e++) {
        double *values = next_values(n);
        if (!values)
            return PELT_ERROR_MEMORY;
        PX_TRY(px_group_receive(n->context, from, values, n->width * sizeof *values));
        append(n, used[2 * e], used[2 * e + 1]);
    }
    return PELT_OK;
}

static pelt_result add_others(nodes *n) {
    const pelt_group *group = &n->context->group;
    for (uint32_t step = 1; step < group->size; step *= 2) {
        if (group->rank & step)
            return send_nodes(n, group->rank - step);
        if (group->rank + step < group->size)
            PX_TRY(receive_nodes(n, group->rank + step));
    }
    return PELT_OK;
}

pelt_result px_leaves_sum(pelt_context *context, const px_leaves *leaves, size_t width, px_leaf_fn *add, void *user,
                          double *values) {
    if (leaves->count == 1 && !leaves->divided) {
        memset(values, 0, width * sizeof *values);
        return add(user, 0, leaves->total, values);
    }
    nodes n = {.context = context, .width = width};
    pelt_result result = add_own(&n, leaves, add, user);
    if (result == PELT_OK && leaves->divided)
        result = add_others(&n);
    for (; result == PELT_OK && n.count > 1; n.count--) /* the number of leaves is no power of two */
        for (size_t e = 0; e < width; e++)
            n.values[n.count - 2][e] += n.values[n.count - 1][e];
    if (result == PELT_OK && n.count > 0)
        memcpy(values, n.values[0], width * sizeof *values);
    for (size_t e = 0; e < NODES_MOST && n.values[e]; e++)
        px_free(context, n.values[e]);
    if (result == PELT_OK && leaves->divided)
        result = pelt_group_broadcast(context, 0, values, width * sizeof *values);
    return result;
}

/* ---- Arrays ----------------------------------------------------------------------------------------------- */

/* Bytes of the elements of processes [rank, rank + count), which are consecutive. */
static size_t bytes_of(const pelt_context *context, const px_leaves *leaves, uint32_t rank, uint32_t count, size_t size,
                       size_t *offset) {
    uint32_t end = (uint32_t)px_min_size((size_t)rank + count, context->group.size);
    size_t first = px_leaf_first(leaves, px_leaves_first_of(context, leaves, rank));
    size_t last = px_leaf_first(leaves, px_leaves_first_of(context, leaves, end));
    *offset = first * size;
    return (last - first) * size;
}

pelt_result px_leaves_gather(pelt_context *context, const px_leaves *leaves, void *array, size_t size) {
    const pelt_group *group = &context->group;
    if (!leaves->divided)
        return PELT_OK;
    char *bytes = array;
    size_t offset;
    for (uint32_t step = 1; step < group->size; step *= 2) {
        if (group->rank & step) {
            size_t count = bytes_of(context, leaves, group->rank, step, size, &offset);
            PX_TRY(px_group_send(context, group->rank - step, bytes + offset, count));
            break;
        }
        if (group->rank + step < group->size) {
            size_t count = bytes_of(context, leaves, group->rank + step, step, size, &offset);
            PX_TRY(px_group_receive(context, group->rank + step, bytes + offset, count));
        }
    }
    return pelt_group_broadcast(context, 0, array, leaves->total * size);
}

pelt_result px_leaves_pass(pelt_context *context, const px_leaves *leaves, const void *own, size_t size,
                           px_use_bytes_fn *use, void *user) {
    size_t offset, count = px_leaves_own(leaves) * size;
    if (leaves->divided && context->group.rank > 0)
        return px_group_send(context, 0, own, count);
    PX_TRY(use(user, own, count));
    for (uint32_t rank = 1; leaves->divided && rank < context->group.size; rank++) {
        count = bytes_of(context, leaves, rank, 1, size, &offset);
        void *data = px_alloc(context, px_max_size(count, 1), 1);
        pelt_result result = data ? px_group_receive(context, rank, data, count) : PELT_ERROR_MEMORY;
        if (result == PELT_OK)
            result = use(user, data, count);
        px_free(context, data);
        PX_TRY(result);
    }
    return PELT_OK;
}
