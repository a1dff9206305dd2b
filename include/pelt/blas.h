/* Pelt: threads of the BLAS library.
 *
 * pelt_decompose, pelt_correct, pelt_eigenskin, pelt_light and pelt_study call OpenBLAS from the threads of their context.
 * By default OpenBLAS starts threads of its own inside each large call: results then differ in their last digits with
 * the number of cores, and the calls are slower (measured on two cores: 1.7 times). OpenBLAS keeps its thread count for the
 * whole process, so Pelt never changes it on its own. For results that depend only on the input, do one of these:
 *
 * - call pelt_blas_single_thread once, before the first call that solves;
 * - call openblas_set_num_threads(1) yourself, at least around calls to Pelt;
 * - start the program with OPENBLAS_NUM_THREADS=1 in its environment.
 */
#ifndef PELT_BLAS_H
#define PELT_BLAS_H

#include <pelt/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes OpenBLAS use one thread, for the whole process: also for calls that the host makes to it. */
PELT_API void pelt_blas_single_thread(void);

#ifdef __cplusplus
}
#endif

#endif
