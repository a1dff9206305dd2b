/* Binding from inside.
 *
 *   subject.c   what is bound to what: welded vertices and joints, in one space
 *   blocks.c    boxes that touch, told apart
 *   names.c     what names of joints say
 *   volume.c    looking things up among voxels
 *   fit.h       whether the skeleton fits the mesh, and mending it
 *   bones.c     where the bones lie
 *   reach.c     how far each reaches
 *   nearest.c   the voxel nearest to a place outside
 *   wave.c      how far every voxel is from the bones
 *   shells.c    pieces of the volume that no bone reaches; pieces of the surface that are plainly accessories
 *   graph.c     voxels as a graph
 *   heat.c      weights by diffusion; system.c: one bone's part of it
 *   geodesic.c  distances of every bone
 *   apply.h     fields and settings to weights, and those into the model
 *   touch.c     places where limbs touch that should not
 *   bind.c      entry points
 *
 * Targets are the joints that may get weights. Grid space: the centre of voxel (x, y, z) is at (x, y, z). */
#ifndef PELT_BIND_INTERNAL_H
#define PELT_BIND_INTERNAL_H

#include "voxel/graph.h"
#include "voxel/voxel.h"
#include <pelt/bind.h>

/* ---- What is bound to what -------------------------------------------------------------------------------- */

typedef struct px_bind_subject {
    pelt_model *model;
    const pelt_model *rig;       /* whose skeleton it is: the model, or another */
    pelt_vertex_classes classes; /* vertices that get the same weights: class c has row c of the weight tables; `of` is
                                  * PELT_NONE for vertices that keep the weights they have */
    float *positions;            /* [class][3] in the world, in the bind pose */
    uint32_t triangle_count;     /* those with three corners that get weights */
    uint32_t *triangles;         /* [triangle][3] classes */
    uint32_t target_count;       /* joints that may get weights */
    uint32_t *targets;           /* [target] joint, ascending */
    uint32_t *joint_targets;     /* [joint] target, or PELT_NONE */
    bool *trusted;           /* [joint] a target because of its weights in the file, or by `only`: its name and place
                              * do not make it one that steers */
    pelt_affine *joints;     /* [joint] in the world, in the bind pose */
    uint8_t *idle;           /* [joint] pelt_bind_idle: what is known so far */
    uint32_t space_count;    /* spaces that the mesh's vertices are given in: one per skin or node */
    pelt_affine *spaces;     /* [space] to the world, in the bind pose */
    uint32_t *vertex_spaces; /* [vertex of the mesh] */
    uint32_t *space_bones;   /* [space][joint] the bone of the model's skin, or PELT_NONE */
} px_bind_subject;

/* Arrays live in the arena. */
pelt_result px_bind_subject_make(pelt_context *context, px_arena *arena, pelt_model *model, const pelt_bind_desc *desc,
                                 px_bind_subject *subject);

/* ---- Names ------------------------------------------------------------------------------------------------ */

/* A joint that steers others: poles, targets, controls. */
bool px_bind_name_steers(const char *name);
/* A joint of inverse kinematics: it steers where another stands at its place, else it may be a bone like others. */
bool px_bind_name_is_ik(const char *name);
/* A joint above the first bone: a root, the armature, the world. */
bool px_bind_name_is_root(const char *name);
/* A joint that only marks where a bone ends. */
bool px_bind_name_is_end(const char *name);
/* marks [joint]: joints in a list of names (NULL: none) of an option. A name means every joint of that name; one that
 * means none is an error. */
pelt_result px_bind_mark_named(pelt_context *context, const pelt_skeleton *skeleton, const char *names,
                               const char *option, bool *marks);

/* ---- The volume ------------------------------------------------------------------------------------------- */

/* Voxels with a free face by place. */
typedef struct px_bind_bins {
    uint32_t side;    /* of a bin, in cells */
    uint32_t size[3]; /* bins */
    size_t count;     /* number of entries */
    uint32_t *firsts; /* [bin + 1] */
    uint32_t *voxels; /* those of a bin side by side */
} px_bind_bins;

typedef struct px_bind_volume {
    px_voxels voxels;
    px_bind_bins bins;
    float step[3];             /* a cell's sides, in sides along x */
    float diagonal;            /* of the mesh's box, in sides along x */
    uint32_t (*neighbours)[6]; /* [voxel] −x +x −y +y −z +z, or PELT_NONE */
} px_bind_volume;

/* Into grid space. */
static inline void px_bind_to_grid(const px_grid *grid, const float p[3], float out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (float)((p[c] - grid->origin[c]) / grid->cell[c] - 0.5);
}
/* The voxel at a place in grid space, or PELT_NONE. */
uint32_t px_bind_voxel(const px_bind_volume *volume, const float p[3]);
/* The voxel nearest to a place, its own one where there is one; PELT_NONE where none is nearer than `most`. *distance is
 * to its centre, in sides along x. */
uint32_t px_bind_nearest_voxel(const px_bind_volume *volume, const float p[3], float most, float *distance);

/* In the arena, of all voxels; `fill` leaves those without an owner out. */
pelt_result px_bind_bins_make(px_arena *arena, const px_bind_volume *volume, px_bind_bins *bins);
void px_bind_bins_fill(const px_bind_volume *volume, const uint32_t *owners, px_bind_bins *bins);
/* The voxel in bins that is nearest to a place (grid space); as above. */
uint32_t px_bind_bins_nearest(const px_bind_volume *volume, const px_bind_bins *bins, const float p[3], float most,
                              float *distance);

#define PX_BIND_OUTSIDE 0.06f /* of the diagonal: how far a bone outside the volume may be from what it moves */

/* ---- Bones ------------------------------------------------------------------------------------------------ */

/* A stretch of a bone, in grid space. */
typedef struct px_bind_segment {
    float a[3], b[3];
    uint32_t target;
} px_bind_segment;

typedef struct px_bind_bones {
    uint32_t segment_count;
    px_bind_segment *segments; /* [segment] in the order of targets; targets without any get no weights */
    float *reach;              /* [target] half the thickness of the limb around it, in sides along x */
    float *limit;    /* [target] farther away its heir takes over: of bones that are mere points; or INFINITY */
    uint32_t *heirs; /* [target] the target of its parent, or PELT_NONE */
} px_bind_bones;

/* Decides which joints steer, and where the others' bones lie; notes the idle ones in the subject. */
pelt_result px_bind_bones_make(pelt_context *context, px_arena *arena, px_bind_subject *subject,
                               const px_bind_volume *volume, px_bind_bones *bones);
/* Finds reach, once segments are there. */
pelt_result px_bind_bones_reach(pelt_context *context, const px_bind_volume *volume, uint32_t target_count,
                                px_bind_bones *bones);
/* The distance from p (grid space) to a segment in sides along x, and the segment's nearest point. */
float px_bind_segment_distance(const px_bind_segment *segment, const float step[3], const float p[3], float nearest[3]);
/* The share of a stretch that is occupied. */
float px_bind_share_inside(const px_bind_volume *volume, const float a[3], const float b[3]);

/* Calls for the voxels nearest to places along a segment, with their distances from it; at most `most` away. */
typedef pelt_result px_bind_near_fn(void *user, uint32_t voxel, float distance);
pelt_result px_bind_near_segment(const px_bind_volume *volume, const px_bind_segment *segment, float most,
                                 px_bind_near_fn *near, void *user);

/* ---- Waves ------------------------------------------------------------------------------------------------ */

/* A wave that leaves bones and runs through the volume. */
typedef struct px_bind_wave {
    pelt_context *context;
    const px_bind_volume *volume;
    const px_bind_segment *segments;
    const float *reach; /* [target] beyond this a bone's distances count more, so that a thin limb does not take what
                              * is thick; NULL: they do not */
    const struct px_bind_crossings *crossings; /* it crosses these too; NULL: none */
    bool floods;      /* quick: all bones at the same pace, voxel by voxel; owners and distances are roughly right */
    float *distances; /* [voxel] to the bone that it belongs to, in sides along x; INFINITY where not reached */
    uint32_t *owners; /* [voxel] the segment it belongs to, or PELT_NONE */
    float *keys;      /* [voxel] what the distance counts */
    uint8_t *states;  /* [voxel] WAVE_… bits */
    uint64_t *heap;   /* of voxels by key */
    size_t heap_count, heap_capacity;
} px_bind_wave;

/* Needs to be freed, also after a failure. */
pelt_result px_bind_wave_make(pelt_context *context, const px_bind_volume *volume, const px_bind_segment *segments,
                              const float *reach, px_bind_wave *wave);
void px_bind_wave_free(px_bind_wave *wave);
/* Forgets everything. */
void px_bind_wave_reset(px_bind_wave *wave);
/* A voxel is this far from a segment, whatever lies between. */
pelt_result px_bind_wave_seed(px_bind_wave *wave, uint32_t voxel, float distance, uint32_t segment);
/* The voxels that segments [first, first + count) of one bone pass through; where the bone lies outside, those nearest to
 * it, up to `most` away. *seeded: there were any. */
pelt_result px_bind_wave_start(px_bind_wave *wave, uint32_t first, uint32_t count, float most, bool *seeded);
/* On until all that can be reached is. */
pelt_result px_bind_wave_run(px_bind_wave *wave);

/* ---- Pieces ------------------------------------------------------------------------------------------------ */

/* Two voxels that belong together though they do not touch: one of a piece that no bone reaches, and the nearest one that
 * is reached. */
typedef struct px_bind_bridge {
    uint32_t from, to;
} px_bind_bridge;

typedef struct px_bind_bridges {
    uint32_t count;
    px_bind_bridge *items;
    uint8_t *bridged; /* [voxel] it is in a piece that was reached over a bridge */
} px_bind_bridges;

/* Builds bridges to everything that a wave has not reached, and lets it run on. In the arena. */
pelt_result px_bind_bridges_make(px_arena *arena, px_bind_wave *wave, px_bind_bridges *bridges);

/* Bridges as they are seen from their ends. */
typedef struct px_bind_crossing {
    uint32_t from, to;
    float length; /* from centre to centre, in sides along x */
} px_bind_crossing;

typedef struct px_bind_crossings {
    uint32_t count;
    px_bind_crossing *items; /* in the order of `from`, then `to` */
    uint64_t *ends;          /* [voxel / 64] bits: voxels that have any */
} px_bind_crossings;

pelt_result px_bind_crossings_make(px_arena *arena, const px_bind_volume *volume, const px_bind_bridges *bridges,
                                   px_bind_crossings *crossings);
/* The first crossing from a voxel; `count` where there is none. */
uint32_t px_bind_crossings_from(const px_bind_crossings *crossings, uint32_t voxel);

/* Pieces of the surface: shells [class], numbered by first appearance. */
pelt_result px_bind_shells(px_arena *arena, const px_bind_subject *subject, uint32_t *shells, uint32_t *shell_count);

typedef struct px_bind_box {
    float low[3], high[3]; /* world */
    uint32_t row_count;
} px_bind_box;

/* The box around each shell; NULL: out of memory. */
px_bind_box *px_bind_shell_boxes(px_arena *arena, const px_bind_subject *subject, const uint32_t *shells,
                                 uint32_t shell_count);

/* A copy of mesh.weld; for characters of boxes, corners of different boxes are in different classes even where boxes touch.
 * Sets count and `of`, not `first`. */
pelt_result px_bind_part_blocks(px_arena *arena, const pelt_mesh *mesh, pelt_vertex_classes *out);

/* ---- Graphs ------------------------------------------------------------------------------------------------ */

/* Voxels, their faces and the bridges. Lives in the arena. */
pelt_result px_graph_of_voxels(px_arena *arena, const px_bind_volume *volume, const px_bind_bridges *bridges,
                               px_graph *graph);

/* ---- Fields ------------------------------------------------------------------------------------------------ */

/* What a binding keeps: a number for every class and target. */
typedef struct px_bind_fields {
    float *
        values; /* [class][target] HEAT: weights, sum 1; GEODESIC: distances over the diagonal, INFINITY: not reached */
    uint32_t method;
} px_bind_fields;

/* Where a class lies among voxels: at most eight of them, weights sum 1. */
typedef struct px_bind_place {
    uint32_t voxels[8];
    float weights[8];
    uint32_t count;
} px_bind_place;
/* Only voxels that are connected to the own one within the eight count. */
void px_bind_place_at(const px_bind_volume *volume, const float position[3], px_bind_place *place);
/* The voxel that a row is in; the nearest one for a row that no triangle uses. */
uint32_t px_bind_voxel_at(const px_bind_volume *volume, const float position[3]);

pelt_result px_bind_heat(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                         const px_bind_bones *bones, const px_bind_wave *wave, const px_bind_bridges *bridges,
                         float *values);
/* INFINITY for targets that are idle, and where a bone has no way to. */
pelt_result px_bind_geodesic(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                             const px_bind_bones *bones, const px_bind_bridges *bridges, uint32_t distance,
                             float *values);

/* Finds voxels in which limbs touch that the skeleton holds apart; of the report, whose pairs are in the arena. Where
 * `neighbours` [voxel] (the volume's; NULL: none) are given, the limbs are parted there. */
pelt_result px_bind_touching(px_arena *arena, const px_bind_subject *subject, const px_bind_bones *bones,
                             const px_bind_wave *wave, uint32_t (*neighbours)[6], pelt_bind_report *report);

/* ---- The binding ------------------------------------------------------------------------------------------- */

struct pelt_binding {
    pelt_context *context;
    px_arena *arena;
    pelt_bind_desc desc; /* as it was made; its texts are copies */
    px_bind_subject subject;
    px_bind_volume volume;
    px_bind_bones bones;
    px_bind_fields fields;
    uint32_t shell_count;
    uint32_t *shells;              /* [class] */
    uint8_t *bridged;              /* [class] */
    uint8_t *idle;                 /* [joint] pelt_bind_idle, of the report */
    pelt_transform *pose;          /* [joint] the rest pose that was fitted; NULL: the rig's own */
    pelt_model fitted;             /* the rig with a fitted rest pose and motions, where report.fit changes any */
    struct px_bind_output *output; /* what apply has put into the model; NULL: nothing yet */
    pelt_bind_report report;
};

/* Fields and settings to a skin of the model. */
pelt_result px_bind_apply(pelt_binding *binding, const pelt_bind_desc *desc);

#endif
