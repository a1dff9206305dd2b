/* Pelt: turn a mesh with named morph targets (a face) into bones whose matrices are linear in the same sliders
 * ("Compressed Skinning for Facial Blendshapes", Kavan et al. 2024).
 */
#ifndef PELT_SLIDERS_H
#define PELT_SLIDERS_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pelt_sliders_desc {
    uint32_t cookie;     /* set by pelt_sliders_desc_default; do not change */
    uint32_t bones;      /* at most, 2 to 4000, counting the bone that the others are children of; default 0: 40 */
    uint32_t influences; /* bones per vertex at most, 1 to 8; default 4 */
    uint32_t moves;      /* pairs of slider and bone with a transform, at most; default 0: 19 per slider */
    uint32_t morphs;     /* sliders that stay morph targets, at most: those that bones show worst; default 0 */
    const char *keep; /* names of sliders that stay morph targets besides, separated by commas or newlines; or NULL */
    /* a normal that is off by one radian counts like a position that is off by this fraction of half the size, 0 to
     * 1; 0: fit positions only; default 0.01 */
    double normals;
    uint32_t iterations; /* at least 1 is made; default 24 */
    bool no_clips;       /* do not make a motion per slider that plays it from 0 to 1; default false */
    bool fit_motions;    /* weigh combinations of sliders as the motions of the model use them; default false */

    /* Combinations of sliders that matter besides single ones. */
    uint32_t pose_count; /* default 0 */
    const float *poses;  /* [pose][slider] values, in the order of the report; NULL: none */
} pelt_sliders_desc;
PELT_API const pelt_option_table *pelt_sliders_options(void);
PELT_API pelt_sliders_desc pelt_sliders_desc_default(void);

/* Arrays live in the model. */
typedef struct pelt_sliders_report {
    uint32_t slider_count;    /* sliders: morph targets with the same name in several nodes are one */
    const char *const *names; /* [slider] */
    const bool *kept;         /* [slider] it is still a morph target */
    uint32_t vertex_count;    /* welded vertices that sliders move */
    uint32_t bone_count;      /* bones of the moved parts, with those that they are children of */
    uint32_t move_count;      /* pairs of slider and bone with a transform */
    uint32_t influence_count; /* bones per vertex at most */
    double seconds;           /* wall time */
} pelt_sliders_report;

/* Replaces the morph targets of the model, except those that stay, by bones that follow the same sliders (model.sliders), and
 * the morph weights in its motions by motions of these bones. Adds a motion per slider, named after it, one second long,
 * that plays the slider from 0 to 1. All other parts of the model are kept. The rest pose does not change. Vertices of skinned
 * meshes share the weight of the bone that holds them most with the new bones, which are children of that bone. Colours of
 * morph targets stay in morph targets that are kept only. After a failure the model is as it was. `desc` NULL: defaults.
 * `report` may be NULL. */
PELT_API pelt_result pelt_decompose_sliders(pelt_context *context, pelt_model *model, const pelt_sliders_desc *desc,
                                            pelt_sliders_report *report);

/* The sliders that pelt_decompose_sliders finds in the morph targets of a model, in its order: sets names [*count], in the
 * model's memory. */
PELT_API pelt_result pelt_sliders_find(pelt_context *context, pelt_model *model, const char *const **names,
                                       uint32_t *count);

/* How far a model with sliders is from the morph targets that it was made from, with one slider at 1 and the others at 0,
 * over the vertices that any slider moves. */
typedef struct pelt_slider_error {
    double mean;     /* object units */
    double rms;      /* object units */
    double largest;  /* object units */
    uint32_t vertex; /* where the error is largest */
} pelt_slider_error;

/* Measures errors [slider of result] against the morph targets of `source` with the same names, in the rest pose of both,
 * which must be the same mesh. *height: extent along y of the vertices that morph targets of `source` may move. Fails where
 * `source` has no morph target with the name of a slider. */
PELT_API pelt_result pelt_sliders_measure(pelt_context *context, const pelt_model *source, const pelt_model *result,
                                          pelt_slider_error *errors, double *height);

/* The same for a motion of `source` and one of `result` (NULL: its rest pose), at `fps` frames per second from start to end, of all frames. */
PELT_API pelt_result pelt_sliders_measure_motion(pelt_context *context, const pelt_model *source,
                                                 const pelt_motion *source_motion, const pelt_model *result,
                                                 const pelt_motion *result_motion, double fps,
                                                 pelt_slider_error *error);

/* Time of the kernels for one pose with all sliders at work, on the calling thread: positions, and normals where the mesh has
 * them, of the vertices that morph targets of the source may move. */
typedef struct pelt_sliders_cost {
    uint32_t vertex_count; /* vertices in the range from the first to the last that a morph target may move */
    double morph_seconds;  /* morph targets alone, pelt_morph_run */
    double packed_seconds; /* the same, pelt_morph_run_packed: 16 bits, only where a target moves vertices */
    double bone_seconds;   /* sliders, palette, skinning (pelt_prepared_run), and morph targets that stay */
} pelt_sliders_cost;
/* Measures the minimum of several rounds, which takes a fraction of a second. The models are as for pelt_sliders_measure. */
PELT_API pelt_result pelt_sliders_time(pelt_context *context, const pelt_model *source, const pelt_model *result,
                                       pelt_sliders_cost *cost);

#ifdef __cplusplus
}
#endif

#endif
