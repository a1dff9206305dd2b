/* Automatic skinning: bind a mesh to a skeleton through a voxelized volume (internal header).
 *
 *   subject.c   input: vertex classes, joints and spaces, all in world space
 *   regions.h   regions of the mesh that options name
 *   blocks.c    separates touching boxes that the weld would merge
 *   frame.c     axes of the grid
 *   names.c     classifies joints by name
 *   volume.c    voxel lookup, distance to segments
 *   place.c     interpolation weights of vertices in the grid
 *   fit.h       checks whether the skeleton fits the mesh, and fits it
 *   bones.c     bone segments from joints
 *   reach.c     limb thickness around each bone
 *   nearest.c   nearest-voxel search
 *   wave.c      distance of every voxel from the bones (fast marching)
 *   shells.c    bridges to volume components that no bone reaches; connected components of the surface
 *   graph.c     voxel graph
 *   heat.c      weights by diffusion; system.c: the linear system of one bone
 *   geodesic.c  distances from every bone
 *   fields.c    fields of voxels: sampled at vertices, kept for other meshes
 *   apply.h     weights from fields and settings, and the skin of the model
 *   touch.c     contacts between limbs that are far apart in the skeleton
 *   gaps.c      the gap between them, and the resolution that separates them
 *   closest.c   comparison: distances without the mesh; surface.c: heat on the surface
 *   section.c   pictures of sections
 *   bind.c      entry points
 *
 * Target: a joint that may get weights. Shell: a connected component of the surface. Grid space: the centre of voxel
 * (x, y, z) is at (x, y, z). Lengths "in cells" are multiples of a cell's edge along x, also for cells that are not
 * cubes. */
#ifndef PELT_BIND_INTERNAL_H
#define PELT_BIND_INTERNAL_H

#include "voxel/graph.h"
#include "voxel/voxel.h"
#include <pelt/bind.h>

#include <stdatomic.h>

/* ---- Subject ---------------------------------------------------------------------------------------------- */

typedef struct px_bind_subject {
    pelt_model *model;
    const pelt_model *rig; /* owner of the skeleton: `model`, or desc.skeleton */
    /* Vertices that get the same weights; class c is row c of the weight tables. `of` is PELT_NONE for vertices that
     * keep their weights. */
    pelt_vertex_classes classes;
    float *positions;        /* [class][3] world space, bind pose */
    uint32_t triangle_count; /* triangles of vertices that get weights */
    uint32_t *triangles;     /* [triangle][3] classes */
    uint32_t target_count;   /* joints that may get weights */
    uint32_t *targets;       /* [target] joint, ascending */
    uint32_t *joint_targets; /* [joint] target, or PELT_NONE */
    /* [joint] A target because of its weights in the file or because of desc.only. Its name and position cannot make it
     * a control joint. */
    bool *trusted;
    pelt_affine *joints;     /* [joint] world space, bind pose */
    uint8_t *idle;           /* [joint] pelt_bind_idle, updated by each step */
    uint32_t space_count;    /* coordinate spaces of the mesh's vertices: one per skin or node */
    pelt_affine *spaces;     /* [space] to world space, bind pose */
    uint32_t *vertex_spaces; /* [vertex of the mesh] space */
    uint32_t *space_bones;   /* [space][joint] bone of the model's skin, or PELT_NONE */
} px_bind_subject;

/* Arrays are allocated in the arena. */
pelt_result px_bind_subject_make(pelt_context *context, px_arena *arena, pelt_model *model, const pelt_bind_desc *desc,
                                 px_bind_subject *subject);

/* The subject of another mesh that shares joints with `source`: those of its own skeleton if it has all of the source's
 * targets, else those of `rig`, which is not the model. columns [target]: the source's target of the same joint. */
pelt_result px_bind_subject_share(pelt_context *context, px_arena *arena, pelt_model *model,
                                  const px_bind_subject *source, const pelt_model *rig, px_bind_subject *subject,
                                  uint32_t **columns);

/* The space of the grid. */
typedef struct px_bind_frame {
    float axes[3][3];  /* unit vectors along the axes of the grid, world space */
    double origin[3];  /* of that space, world space */
    uint32_t named[3]; /* [axis of the input] the axis of the grid nearest to it */
    uint32_t across;   /* axis of the grid across the plane about which the surface is most symmetric, or PELT_NONE */
} px_bind_frame;

/* That of the input. */
px_bind_frame px_bind_frame_of_input(void);
/* The principal axes of the surface, about its centroid. */
pelt_result px_bind_frame_make(pelt_context *context, const px_bind_subject *subject, px_bind_frame *frame);
/* Position of the frame's origin along one of its axes, from that of the input. */
double px_bind_frame_offset(const px_bind_frame *frame, uint32_t axis);
/* A copy of the subject whose positions and joints are in the space of a frame. Arrays that do not depend on the space
 * are shared. */
pelt_result px_bind_subject_turn(px_arena *arena, const px_bind_subject *subject, const px_bind_frame *frame,
                                 px_bind_subject *turned);

/* ---- Names ------------------------------------------------------------------------------------------------ */

/* A control joint: pole, target, controller. */
bool px_bind_name_steers(const char *name);
/* A joint of inverse kinematics: a control joint if another joint coincides with it, else possibly a bone. */
bool px_bind_name_is_ik(const char *name);
/* A joint above the first bone: root, armature, world. */
bool px_bind_name_is_root(const char *name);
/* A joint that only marks the end of a bone. */
bool px_bind_name_is_end(const char *name);
/* A clavicle, between chest and upper arm. */
bool px_bind_name_is_clavicle(const char *name);
/* Sets marks [joint] for every joint named in a list (NULL: empty list) of an option. Fails if a name matches no
 * joint. */
pelt_result px_bind_mark_named(pelt_context *context, const pelt_skeleton *skeleton, const char *names,
                               const char *option, bool *marks);

/* ---- Volume ----------------------------------------------------------------------------------------------- */

/* Spatial bins of the surface voxels: those with a free face. */
typedef struct px_bind_bins {
    uint32_t side;    /* edge of a bin, number of voxels */
    uint32_t size[3]; /* number of bins along each axis */
    size_t count;     /* number of bins */
    uint32_t *firsts; /* [bin + 1] prefix sums: first entry of each bin in `voxels` */
    uint32_t *voxels; /* voxels sorted by bin */
} px_bind_bins;

typedef struct px_bind_volume {
    px_voxels voxels;
    px_bind_bins bins;
    float step[3];             /* cell edges along x, y, z, in cells: step[0] = 1 */
    float diagonal;            /* of the mesh's bounding box, in cells */
    uint32_t (*neighbours)[6]; /* [voxel] −x +x −y +y −z +z, or PELT_NONE */
    px_voxel_pieces pieces;    /* if the voxels are blocks of those of `fine` */
    px_grid fine;              /* the grid that separates surfaces; that of the voxels unless these are blocks */
    /* voxels of the fine grid */
    uint32_t fine_count, fine_interior_count;
} px_bind_volume;

/* World space to grid space. */
static inline void px_bind_to_grid(const px_grid *grid, const float p[3], float out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (float)((p[c] - grid->origin[c]) / grid->cell[c] - 0.5);
}
/* The voxel at a position in grid space, or PELT_NONE. */
uint32_t px_bind_voxel(const px_bind_volume *volume, const float p[3]);
/* The voxel that contains p, else the nearest one closer than `most`, else PELT_NONE. *distance: to its centre, in
 * cells. */
uint32_t px_bind_nearest_voxel(const px_bind_volume *volume, const float p[3], float most, float *distance);

/* `make` allocates bins in the arena and fills them with all surface voxels; `fill` refills them. owners [voxel]:
 * voxels with PELT_NONE are left out; NULL: none is. */
pelt_result px_bind_bins_make(px_arena *arena, const px_bind_volume *volume, px_bind_bins *bins);
void px_bind_bins_fill(const px_bind_volume *volume, const uint32_t *owners, px_bind_bins *bins);
/* The voxel of the bins nearest to p (grid space) and closer than `most`, or PELT_NONE. *distance: to its centre, in
 * cells. */
uint32_t px_bind_bins_nearest(const px_bind_volume *volume, const px_bind_bins *bins, const float p[3], float most,
                              float *distance);

#define PX_BIND_OUTSIDE 0.06f /* of the diagonal: a bone outside the volume moves voxels up to this distance */

/* ---- Bones ------------------------------------------------------------------------------------------------ */

/* A line segment of a bone, in grid space. */
typedef struct px_bind_segment {
    float a[3], b[3];
    uint32_t target;
} px_bind_segment;

typedef struct px_bind_bones {
    uint32_t segment_count;
    px_bind_segment *segments; /* [segment] grouped by target, ascending; targets without segments get no weights */
    float *reach;              /* [target] half the thickness of the limb around the bone, in cells */
    /* [target] distance in cells from which the fallback target takes over; finite only for bones of nearly zero
     * length, else INFINITY */
    float *limit;
    uint32_t *heirs; /* [target] fallback: the target of the joint's parent, or PELT_NONE */
    float *handicap; /* [target] factor on distances while bones compete for voxels; 1: none */
    float *behind;   /* [target] the same for voxels behind the joint, added to the factor; 0: none */
    float anchor;    /* factor on the anchors of the diffusion; the lower, the wider joints blend */
} px_bind_bones;

/* Classifies control joints, computes the segments of the others, and records idle joints in the subject. */
pelt_result px_bind_bones_make(pelt_context *context, px_arena *arena, px_bind_subject *subject,
                               const px_bind_volume *volume, px_bind_bones *bones);
/* Computes `reach` from the segments. */
pelt_result px_bind_bones_reach(pelt_context *context, const px_bind_volume *volume, uint32_t target_count,
                                px_bind_bones *bones);
/* Distance from p (grid space) to a segment, in cells; `nearest`: the closest point of the segment. */
float px_bind_segment_distance(const px_bind_segment *segment, const float step[3], const float p[3], float nearest[3]);
/* Fraction of the line from a to b that lies in voxels. */
float px_bind_share_inside(const px_bind_volume *volume, const float a[3], const float b[3]);

/* Calls `near` with the voxel closest to each sample of a segment and the distance from that voxel's centre to the
 * segment, in cells. Samples farther than `most` from any voxel are skipped. */
typedef pelt_result px_bind_near_fn(void *user, uint32_t voxel, float distance);
pelt_result px_bind_near_segment(const px_bind_volume *volume, const px_bind_segment *segment, float most,
                                 px_bind_near_fn *near, void *user);

/* ---- Distance propagation --------------------------------------------------------------------------------- */

#define PX_BIND_WAVE_BUCKETS 64u

/* A growable array of voxels. */
typedef struct px_bind_wave_list {
    uint32_t *voxels;
    size_t count, capacity;
} px_bind_wave_list;

/* Read by several threads while one of them writes it. */
typedef struct px_bind_wave_byte {
    _Atomic uint8_t value;
} px_bind_wave_byte;

/* A front that starts at bones and propagates through the volume. */
typedef struct px_bind_wave {
    pelt_context *context;
    const px_bind_volume *volume;
    const px_bind_segment *segments;
    /* [target] Distances beyond this are penalized, so that the bone of a thin limb does not take voxels of a thick
     * one. NULL: no penalty. */
    const float *reach;
    const float *handicap, *behind;            /* [target] as in px_bind_bones; NULL: none. Only with `reach` */
    const struct px_bind_crossings *crossings; /* propagation over bridges; NULL: none */
    /* Breadth-first search instead of fast marching: faster; owners and distances are approximate. */
    bool floods;
    float *distances;          /* [voxel] to the segment that owns it, in cells; INFINITY: not reached */
    uint32_t *owners;          /* [voxel] owning segment, or PELT_NONE */
    float *keys;               /* [voxel] priority: the distance with penalties */
    uint8_t *finals;           /* [voxel] WAVE_… bits; 0: its distance is not final */
    px_bind_wave_byte *sees;   /* [voxel] tag of the owner if it has a line of sight to it; else 0 */
    uint64_t *marks;           /* [voxel / 64] bits of the voxels that become final in this round; else 0 */
    px_bind_wave_byte *rounds; /* [voxel] the last round in which it was relaxed: by one thread */
    uint8_t round;
    /* Voxels whose keys are in [n, n + 1) · width wait in bucket n modulo PX_BIND_WAVE_BUCKETS; `bucket` is the first. */
    px_bind_wave_list buckets[PX_BIND_WAVE_BUCKETS];
    uint64_t bucket;
    size_t waiting; /* entries of all buckets */
    float width;
    px_bind_wave_list front;        /* voxels that became final in this round */
    px_bind_wave_list reached;      /* voxels that came nearer in this round; before `run`, where to start */
    px_bind_wave_list block_counts; /* [block] number of them */
} px_bind_wave;

/* Call px_bind_wave_free afterwards, also after a failure. */
pelt_result px_bind_wave_make(pelt_context *context, const px_bind_volume *volume, const px_bind_segment *segments,
                              const float *reach, px_bind_wave *wave);
void px_bind_wave_free(px_bind_wave *wave);
/* Clears all distances, owners and the heap. */
void px_bind_wave_reset(px_bind_wave *wave);
/* Starts at a voxel with a given distance to a segment, without a line of sight. */
pelt_result px_bind_wave_seed(px_bind_wave *wave, uint32_t voxel, float distance, uint32_t segment);
/* Starts at the voxels on segments [first, first + count) of one bone; if the bone lies mostly outside, also at the
 * voxels nearest to it, up to `most` away. *seeded: at least one voxel was found. */
pelt_result px_bind_wave_start(px_bind_wave *wave, uint32_t first, uint32_t count, float most, bool *seeded);
/* Propagates until every reachable voxel has its final distance. */
pelt_result px_bind_wave_run(px_bind_wave *wave);

/* ---- Connected components ---------------------------------------------------------------------------------- */

/* A link from a voxel of a component that no bone reaches to the nearest reached voxel, or between pieces of blocks. */
typedef struct px_bind_bridge {
    uint32_t from, to;
} px_bind_bridge;

typedef struct px_bind_bridges {
    uint32_t count;
    px_bind_bridge *items;
    uint8_t *bridged; /* [voxel] 1: its component was reached over a bridge */
} px_bind_bridges;

/* Bridges all components that the front has not reached and continues the propagation. Allocates in the arena. */
pelt_result px_bind_bridges_make(px_arena *arena, px_bind_wave *wave, px_bind_bridges *bridges);

/* One direction of a bridge. */
typedef struct px_bind_crossing {
    uint32_t from, to;
    float length; /* between the voxels' centres, in cells */
} px_bind_crossing;

typedef struct px_bind_crossings {
    uint32_t count;
    px_bind_crossing *items; /* sorted by `from`, then `to`; both directions of each bridge */
    uint64_t *ends;          /* [voxel / 64] bit set: the voxel is the end of a bridge */
} px_bind_crossings;

pelt_result px_bind_crossings_make(px_arena *arena, const px_bind_volume *volume, const px_bind_bridges *bridges,
                                   px_bind_crossings *crossings);
/* Index of the first crossing from a voxel; `count` if it has none. */
uint32_t px_bind_crossings_from(const px_bind_crossings *crossings, uint32_t voxel);

/* Connected components of the surface: shells [class], numbered by first appearance. */
pelt_result px_bind_shells(px_arena *arena, const px_bind_subject *subject, uint32_t *shells, uint32_t *shell_count);

typedef struct px_bind_box {
    float low[3], high[3]; /* world space */
    uint32_t row_count;
} px_bind_box;

/* Bounding boxes [shell]. NULL: out of memory. */
px_bind_box *px_bind_shell_boxes(px_arena *arena, const px_bind_subject *subject, const uint32_t *shells,
                                 uint32_t shell_count);

#define PX_BIND_BOX_CORNERS 8u /* a shell with no more vertices has no edge loop between its ends and cannot bend */
#define PX_BIND_MIN_BOXES   4u /* a torso and limbs: from this many on a mesh of boxes is a character of rigid parts */

/* Copies mesh.weld. For characters made of boxes, splits classes so that corners of different boxes never share one,
 * even where boxes touch. Sets count and `of`, not `first`. */
pelt_result px_bind_part_blocks(px_arena *arena, const pelt_mesh *mesh, pelt_vertex_classes *out);

/* ---- Graphs ------------------------------------------------------------------------------------------------ */

/* Graph of the voxels; edges are shared faces and bridges. Allocated in the arena. */
pelt_result px_graph_of_voxels(px_arena *arena, const px_bind_volume *volume, const px_bind_bridges *bridges,
                               px_graph *graph);

/* ---- Fields ------------------------------------------------------------------------------------------------ */

/* The field of one target on the voxels: weights (HEAT) or distances in cells (GEODESIC). */
typedef struct px_bind_field {
    uint32_t count;   /* 0: the target reaches nothing */
    uint32_t *voxels; /* [count] ascending, the values of others are 0; NULL: all voxels */
    float *values;    /* [count] */
} px_bind_field;

/* A weight of one class. */
typedef struct px_bind_ranked {
    float value;
    uint32_t target;
} px_bind_ranked;

/* The result of the solver: one value for every class and target. */
typedef struct px_bind_fields {
    float *values; /* [class][target] weights, sum 1, or distances over the diagonal, INFINITY: not reached */
    uint32_t method;
    /* The weights > 0 of class c are ranked [firsts[c] .. firsts[c + 1]), largest first, ties by target. NULL for methods
     * that give distances. */
    size_t *firsts;
    struct px_bind_ranked *ranked;
    px_bind_field *voxels; /* [target] NULL unless desc.keep_fields. Freed by px_bind_fields_free */
} px_bind_fields;

/* Trilinear interpolation: up to eight voxels with weights that sum to 1. */
typedef struct px_bind_place {
    uint32_t voxels[8];
    float weights[8];
    uint32_t count;
} px_bind_place;
/* Of the eight voxels around the position, uses those connected through faces to the one with the largest weight. */
void px_bind_place_at(const px_bind_volume *volume, const float position[3], px_bind_place *place);
/* The voxel that contains a position, else the nearest one (vertices without triangles). */
uint32_t px_bind_voxel_at(const px_bind_volume *volume, const float position[3]);

/* Where the classes of a subject are in the voxels. */
typedef struct px_bind_sampler {
    uint32_t class_count, target_count;
    float diagonal;        /* of the mesh, in cells */
    px_bind_place *places; /* [class] HEAT: interpolation weights */
    uint32_t *voxels;      /* [class] GEODESIC: voxel that contains it … */
    float *gaps;           /* [class] … and the distance to its centre, in cells */
} px_bind_sampler;
pelt_result px_bind_sampler_make(pelt_context *context, px_arena *arena, const px_bind_subject *subject,
                                 const px_bind_volume *volume, uint32_t method, px_bind_sampler *sampler);
/* Sets values [class][target] of one target from its field [voxel], `stride` apart; NULL: the target reaches
 * nothing. */
void px_bind_sample(const px_bind_sampler *sampler, uint32_t target, const float *field, size_t stride, float *values);
/* Stores the field of a target if fields->voxels is set. `voxels` [count] lists those that are not 0; NULL: all
 * `count` voxels. */
pelt_result px_bind_keep_field(pelt_context *context, px_bind_fields *fields, uint32_t target, const float *field,
                               size_t stride, const uint32_t *voxels, uint32_t count);
/* Fills out->values from kept fields; target t of `subject` is target columns[t] of `kept`. */
pelt_result px_bind_sample_kept(pelt_context *context, const px_bind_fields *kept, const uint32_t *columns,
                                const px_bind_subject *subject, const px_bind_volume *volume, px_bind_fields *out);
/* Sets `firsts` and `ranked` from `values`. */
pelt_result px_bind_fields_rank(pelt_context *context, px_arena *arena, uint32_t class_count, uint32_t target_count,
                                px_bind_fields *fields);
void px_bind_fields_free(pelt_context *context, px_bind_fields *fields, uint32_t target_count);

pelt_result px_bind_heat(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                         const px_bind_bones *bones, const px_bind_wave *wave, const px_bind_bridges *bridges,
                         px_bind_fields *fields);
/* fields->values [class][target]: INFINITY for idle targets and for classes that the bone cannot reach. */
pelt_result px_bind_geodesic(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                             const px_bind_bones *bones, const px_bind_bridges *bridges, uint32_t distance,
                             px_bind_fields *fields);
/* Isotropic distances [class] from one target, over the diagonal. */
pelt_result px_bind_geodesic_target(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                                    const px_bind_bones *bones, const px_bind_bridges *bridges, uint32_t target,
                                    float *distances);

/* Finds voxels in which limbs touch that are far apart in the skeleton, and fills the report's touching_… fields; pairs
 * are allocated in the arena. Where `neighbours` [voxel] (the volume's) is given, removes the faces between those
 * limbs; NULL: leaves them. */
pelt_result px_bind_touching(px_arena *arena, const px_bind_subject *subject, const px_bind_bones *bones,
                             const px_bind_wave *wave, uint32_t (*neighbours)[6], pelt_bind_report *report);

/* Methods for comparison. */
pelt_result px_bind_closest(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                            const px_bind_bones *bones, bool hierarchy, float *values);
pelt_result px_bind_surface(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                            const px_bind_bones *bones, px_bind_fields *fields);
/* Whether the values of a method are weights; else they are distances. */
static inline bool px_bind_gives_weights(uint32_t method) {
    return method == PELT_BIND_HEAT || method == PELT_BIND_SURFACE;
}

/* A voxel in which limbs touch: pair = lower target · target_count + higher target. */
typedef struct px_bind_contact {
    uint32_t voxel, pair;
} px_bind_contact;

typedef struct px_bind_gap {
    double distance; /* least distance between the surfaces, object units; INFINITY: none found */
    double cell;     /* edge of a cell below which the surfaces are in no adjacent voxels; INFINITY */
} px_bind_gap;

/* The smallest gap at the contacts of each pair: updates gaps [pair]. Sorts the contacts by pair. */
pelt_result px_bind_gaps(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                         px_bind_contact *contacts, size_t contact_count, px_bind_gap *gaps);

/* ---- Binding ----------------------------------------------------------------------------------------------- */

struct pelt_binding {
    pelt_context *context;
    pelt_model *model;
    px_arena *arena;     /* keeps the arrays of the model that were in use when the binding was made */
    pelt_bind_desc desc; /* as passed to create; strings are copies */
    bool shared;         /* the voxels are those of another mesh: regions that this one does not have are left out */
    px_bind_subject subject;
    px_bind_frame frame;    /* of the grid */
    px_bind_subject turned; /* the subject in this frame, in which volume, bones and fields are */
    px_bind_volume volume;
    px_bind_bones bones;
    px_bind_fields fields;
    uint32_t shell_count;
    uint32_t *shells;              /* [class] connected component of the surface */
    px_bind_bridges bridges;       /* links over which volume was reached that no bone touches */
    uint8_t *bridged;              /* [class] 1: in such a component */
    uint8_t *idle;                 /* [joint] pelt_bind_idle; report.idle */
    pelt_transform *pose;          /* [joint] fitted rest pose; NULL: the rig's own */
    pelt_model *fitted;            /* the rig with fitted rest pose and motions; set if report.fit.changes */
    struct px_bind_output *output; /* data that apply stored in the model; NULL before the first apply */
    pelt_bind_report report;
};

/* Computes weights from fields and settings and stores the skin in the model. pose [joint]: for falloffs; NULL: at
 * rest. */
pelt_result px_bind_apply(pelt_binding *binding, const pelt_bind_desc *desc, const pelt_transform *pose);

#endif
