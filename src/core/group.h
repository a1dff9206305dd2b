/* Sums over the elements (vertices, frames) of all processes of a group, in an order that depends on neither the number of
 * processes nor that of threads.
 *
 * The elements are divided into leaves, consecutive and of a size that depends on their number only. A sum over all
 * elements is a sum within every leaf, then a binary tree: a node is its left half plus its right half. A process owns
 * consecutive leaves. It adds what it can and passes on nodes of the tree, one if its leaves are a node.
 */
#ifndef PELT_CORE_GROUP_H
#define PELT_CORE_GROUP_H

#include "core/core.h"

#include <pelt/group.h>

typedef struct px_leaves {
    size_t total;      /* elements of all processes */
    size_t size;       /* elements of a leaf; the last leaf may have fewer */
    size_t count;      /* leaves, at least 1 */
    size_t first, end; /* leaves of this process */
    bool divided;      /* each process has its own leaves; false: every process has all of them */
} px_leaves;

/* Divides `total` elements into a power of two of leaves: the fewest with at most `size` elements each, but at most 1024. `divided`:
 * among the processes of the context's group. */
px_leaves px_leaves_make(const pelt_context *context, size_t total, size_t size, bool divided);
/* The same with one element per leaf, for work that is divided but not summed: processes have equally many. */
px_leaves px_leaves_even(const pelt_context *context, size_t total);

/* First element of a leaf; that of leaf `count` is `total`. */
static inline size_t px_leaf_first(const px_leaves *leaves, size_t leaf) {
    return px_min_size(leaf * leaves->size, leaves->total);
}
/* Elements of this process. */
static inline size_t px_leaves_first(const px_leaves *leaves) {
    return px_leaf_first(leaves, leaves->first);
}
static inline size_t px_leaves_own(const px_leaves *leaves) {
    return px_leaf_first(leaves, leaves->end) - px_leaf_first(leaves, leaves->first);
}

/* Writes the sums of one leaf to values [width], which are 0 before: elements [first, first + count), numbered over all processes. */
typedef pelt_result px_leaf_fn(void *user, size_t first, size_t count, double *values);
/* values [width]: the sums of all leaves of all processes, the same in every process. */
pelt_result px_leaves_sum(pelt_context *context, const px_leaves *leaves, size_t width, px_leaf_fn *add, void *user,
                          double *values);
/* array [total][size]: every process has filled its own elements and receives those of the others. Does nothing unless the
 * leaves are divided. */
pelt_result px_leaves_gather(pelt_context *context, const px_leaves *leaves, void *array, size_t size);
/* The same to process 0, one process after the other, which calls use(user, data, size) for the bytes of each in order: `own`
 * [own elements][size]. */
typedef pelt_result px_use_bytes_fn(void *user, const void *data, size_t size);
pelt_result px_leaves_pass(pelt_context *context, const px_leaves *leaves, const void *own, size_t size,
                           px_use_bytes_fn *use, void *user);

/* Messages from this process to another one and back; see pelt_group. */
pelt_result px_group_send(pelt_context *context, uint32_t to, const void *data, size_t size);
pelt_result px_group_receive(pelt_context *context, uint32_t from, void *data, size_t size);
/* First leaf of a process. */
size_t px_leaves_first_of(const pelt_context *context, const px_leaves *leaves, uint32_t rank);

/* True if several processes share the work. */
bool px_grouped(const pelt_context *context);
/* Tells the other processes when `result` is a failure of this one, so that they do not wait for it; returns `result`. At the
 * end of every function whose processes wait for each other. */
pelt_result px_group_end(pelt_context *context, pelt_result result);

#endif
