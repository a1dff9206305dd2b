/* Pelt: decompose a vertex animation within the budget of an engine, or to the smallest file of a given error.
 *
 * Bones, their kind, corrective morph targets, key frames and the precision of all numbers are chosen together. Files are
 * compressed (pelt_save_desc.compress); errors and sizes are those of the file, read back and compared with the clips.
 */
#ifndef PELT_BUDGET_H
#define PELT_BUDGET_H

#include <pelt/decompose_corrected.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pelt_budget_desc {
    uint32_t cookie;     /* set by pelt_budget_desc_default; do not change */
    uint32_t bones;      /* at most, 1 to 4000; default 128 */
    uint32_t influences; /* bones per vertex at most, 1 to 8; default 4 */
    /* corrective morph targets in the file at most, 0 to 100; default 0. One holds the offset of weights that would be
     * negative, so 1 is as good as 0 */
    uint32_t morphs;
    size_t bytes; /* of the file at most; default 0: no limit */
    /* more than 0: the smallest file in which no vertex is farther from its place in any frame, object units;
     * `bytes` must be 0 then. Default 0: the smallest E_rms within the budget */
    double max_error;
    bool one_kind; /* use only bones of `transforms` of pelt_decompose_desc; default false: rigid ones too */
    /* with max_error: bytes count, the surface does not. Vertices lie anywhere within the distance, which makes the surface
     * uneven, and normals are written only where the model has some. Default false */
    bool smallest;
} pelt_budget_desc;
PELT_EXPERIMENTAL PELT_API const pelt_option_table *pelt_budget_options(void);
PELT_EXPERIMENTAL PELT_API pelt_budget_desc pelt_budget_desc_default(void);

/* A file that was tried. */
typedef struct pelt_budget_trial {
    uint32_t bones;         /* number of bones */
    uint32_t transforms;    /* pelt_transforms */
    uint32_t morphs;        /* morph targets at most */
    uint32_t key_count;     /* frames that have keys, over all motions */
    double error_rms;       /* E_rms of the file; of exact numbers where `bytes` is 0 */
    double error_max_units; /* largest distance of a vertex, object units; likewise */
    uint64_t bytes;         /* size of the file; 0: exact numbers exceed max_error already, so none was written */
} pelt_budget_trial;

/* Arrays live in the model. */
typedef struct pelt_budget_report {
    pelt_budget_trial chosen;        /* the file that was written */
    bool met;                        /* the file is within the budget and the error. False: it comes closest */
    uint64_t numbers_bytes;          /* of the file: without JSON, normals and tangents */
    double error_max;                /* largest distance as a fraction of the diameter, as in pelt_difference */
    uint32_t trial_count;            /* files tried */
    const pelt_budget_trial *trials; /* [trial_count] in order */
} pelt_budget_report;

/* Decomposes all clips of the model as pelt_decompose does and writes `path`, a .glb (NULL: no file). `bones` has the settings of all
 * decompositions, of which `bones`, `error`, `influences` and `key_tolerance` are replaced; a rig and the method sma are
 * usage errors. The model receives the result; keys are not rounded.
 * Needs a build with meshoptimizer. After a failure the
 * model and the file are as they were. `bones`, `desc` and `report` may be NULL. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_decompose_budget(pelt_context *context, pelt_model *model,
                                                             const pelt_decompose_desc *bones,
                                                             const pelt_budget_desc *desc, const char *path,
                                                             pelt_budget_report *report);

/* Other ways to store a vertex animation, rounded and encoded as compressed glTF files are. */
typedef enum pelt_storage {
    PELT_STORAGE_SVD,   /* truncated SVD: coordinates of each point, trajectories */
    PELT_STORAGE_CPCA,  /* clustered PCA: the same per cluster, and the cluster of each point */
    PELT_STORAGE_CACHE, /* positions of every frame, or their differences from the frame before */
    PELT_STORAGES
} pelt_storage;

/* Size of a vertex animation in another representation. */
typedef struct pelt_storage_size {
    uint32_t clusters;   /* of points; 0: a cache */
    uint32_t components; /* of each cluster; 0: a cache */
    /* with the triangles; without containers, normals and texture coordinates. 0: no size that was tried keeps the
     * error */
    uint64_t bytes;
    double error_max_units; /* largest distance of a point in any frame, object units */
} pelt_storage_size;

/* The smallest sizes found at which no point of the model's clips is farther than `max_error` (object units, more than 0)
 * from its place in any frame: sizes [PELT_STORAGES]. Points are sorted along the surface and all numbers are encoded by
 * meshoptimizer, as in pelt_decompose_budget. Needs a build with it, and the memory of pelt_study_create. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_storage_sizes(pelt_context *context, const pelt_model *model,
                                                          double max_error, pelt_storage_size *sizes);

#ifdef __cplusplus
}
#endif

#endif
