/* pelt_jiggle, the simulation object.
 *
 *   object.c    creation, poses, time, vertices; options.c: settings
 *   path.c      interpolation between poses
 *   swing.c     secondary motion: forces, substeps; collide.c: colliders and bounds; grab.c: held tissue
 *   match.c     lattice shape matching            match_kernel.h
 *   values.c    stiffness, damping and δ of particles
 *   thickness.c thickness of tissue, and its softness
 *   mesh.c      vertices from particles           mesh_kernel.h
 *   hold.c      vertices of tissue thinner than the cells, and of rigid shells
 *   rigid.c     detection of rigid shells
 *   detail.c    a finer lattice where tissue is thin
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
    pelt_jiggle_desc desc; /* its pointers are dangling after creation: the caller owns the arrays */
    px_jiggle_subject subject;
    px_lattice lattice;
    px_weight_table weights;
    px_jiggle_parts parts;
    px_primary primary;
    px_swing swing;
    px_detail detail;
    px_lattice rest;        /* the lattice without vertices of `detail` */
    px_mesh_embedding mesh; /* embedding in `rest` */
    px_thickness thickness;
    px_hold hold;
    double jump; /* units: a joint that moves farther in one step resets the simulation; 0: off */
    uint32_t jump_count;
    bool fresh;     /* the next pose is set without a transition */
    double waiting; /* time since the last substep, seconds */
    px_path path;
    pelt_transform *locals;      /* [joint] at the current time */
    pelt_affine *globals;        /* [joint] of `locals` */
    pelt_affine *globals_before; /* [joint] at the end of the last step */
    float *skin;                 /* [particle][4] primary motion at `globals` */
    float *shown;                /* [particle][4] */
    pelt_jiggle_volume *volumes; /* [part] */
};

/* Vertices for given particles [particle][4]; pelt_jiggle_positions passes the shown ones. */
void px_jiggle_vertices(const pelt_jiggle *jiggle, const float *particles, float *positions, float *normals);

/* Checks model and settings before creation. */
pelt_result px_jiggle_check(pelt_context *context, const pelt_model *model, const pelt_jiggle_desc *desc);

#endif
