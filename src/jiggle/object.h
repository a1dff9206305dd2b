/* The stepping object from inside.
 *
 *   object.c    poses in, time, vertices out; options.c: its settings
 *   path.c      poses between those that are set
 *   swing.c     what swings about the skin: forces, substeps; collide.c: what keeps it where it may be
 *   match.c     regions and what they want        match_kernel.h
 *   values.c    what particles are like: stiffness, damping, δ
 *   thickness.c how thick flesh is, and how soft therefore
 *   mesh.c      vertices from particles           mesh_kernel.h
 *   hold.c      vertices of flesh that is thinner than the cells, and of rigid shells
 *   rigid.c     which shells are rigid
 *   detail.c    a finer lattice where flesh is thin
 */
#ifndef PELT_JIGGLE_OBJECT_H
#define PELT_JIGGLE_OBJECT_H

#include "jiggle/detail.h"
#include "jiggle/hold.h"
#include "jiggle/path.h"
#include "jiggle/primary.h"
#include "jiggle/swing.h"

struct pelt_jiggle {
    px_arena *arena;
    pelt_model *model;
    pelt_jiggle_desc desc; /* arrays in it are the caller's, and gone */
    px_jiggle_subject subject;
    px_lattice lattice;
    px_weight_table weights;
    px_jiggle_parts parts;
    px_primary primary;
    px_swing swing;
    px_detail detail;
    px_lattice rest;        /* the lattice without vertices of `detail` */
    px_mesh_embedding mesh; /* in it */
    px_thickness thickness;
    px_hold hold;
    double jump; /* units: a joint that moves farther jumps; 0: none does */
    uint32_t jump_count;
    bool fresh;     /* the next pose holds at once */
    double waiting; /* seconds since the last substep */
    px_path path;
    pelt_transform *locals;      /* [joint] on it */
    pelt_affine *globals;        /* [joint] of `locals` */
    pelt_affine *globals_before; /* [joint] at the end of the last step */
    float *skin;                 /* [particle][4] where `globals` take them */
    float *shown;                /* [particle][4] */
    pelt_jiggle_volume *volumes; /* [part] */
};

/* Vertices with particles at `particles` [particle][4], as pelt_jiggle_positions gives them for those that are shown. */
void px_jiggle_vertices(const pelt_jiggle *jiggle, const float *particles, float *positions, float *normals);

/* Whether a model and settings may become a pelt_jiggle. */
pelt_result px_jiggle_check(pelt_context *context, const pelt_model *model, const pelt_jiggle_desc *desc);

#endif
