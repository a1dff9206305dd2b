/* Groups of processes: clips that no machine holds (experimental).
 *
 * Every process of a group makes the same calls with the same inputs and settings. Decomposition divides the vertices: a
 * process reads and holds its own, and only sums travel. Comparison and saving a point cache divide the frames, pelt_study_create the points. All other calls
 * do the whole work in every process. Results are in every process and have the same bytes for any number of processes, also for one.
 *
 * A host fills a pelt_group and sets pelt_context_desc.group. The library knows no MPI: the host carries bytes from process to
 * process; the order of the sums is the library's. cli/mpi.c is an implementation; tests/test_group.c has one with threads.
 */
#ifndef PELT_GROUP_H
#define PELT_GROUP_H

#include <pelt/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number of this process, from 0; 0 without a group. */
PELT_API PELT_EXPERIMENTAL uint32_t pelt_group_rank(const pelt_context *context);
/* Number of processes; 1 without a group. */
PELT_API PELT_EXPERIMENTAL uint32_t pelt_group_size(const pelt_context *context);

/* All processes call these together, with the same sizes. Without a group they do nothing. */

/* Replaces values [count] by their sums over all processes, in the order of a binary tree over the processes: the same bits in
 * every process and every run. */
PELT_API PELT_EXPERIMENTAL pelt_result pelt_group_sum(pelt_context *context, double *values, size_t count);
/* Copies data [size] of process `from` to all others. */
PELT_API PELT_EXPERIMENTAL pelt_result pelt_group_broadcast(pelt_context *context, uint32_t from, void *data,
                                                            size_t size);
/* items [process][size]: every process fills its own item and receives those of the others. */
PELT_API PELT_EXPERIMENTAL pelt_result pelt_group_gather(pelt_context *context, void *items, size_t size);
/* Succeeds if `result` is PELT_OK in every process. A process whose own result is another one tells the others, whose calls fail
 * with it, and gets its own back. */
PELT_API PELT_EXPERIMENTAL pelt_result pelt_group_agree(pelt_context *context, pelt_result result);
/* Bytes that this process has sent since its context was made. */
PELT_API PELT_EXPERIMENTAL uint64_t pelt_group_sent(const pelt_context *context);

#ifdef __cplusplus
}
#endif

#endif
