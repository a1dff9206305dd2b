/* Normals that follow the faces of a clip: see frame_normals.c. Used by formats that hold normals of frames. */
#ifndef PELT_IO_FRAME_NORMALS_H
#define PELT_IO_FRAME_NORMALS_H

#include "io/io.h"

typedef struct px_frame_normals {
    const pelt_mesh *mesh;
    const pelt_clip *clip; /* NULL: normals are those of the mesh */
    uint32_t rule;         /* 1 + pelt_normal_rule: normals that the skin moves; 0: they follow the faces */
    float *rows;           /* [vertex][PELT_NORMAL_RULES][3] scratch; with a rule */
    uint32_t group_count;
    uint32_t *groups; /* [vertex] group of vertices that turn together */
    float *rest;      /* [group][3] mean of the faces' normals at rest */
    float *now;       /* [group][3] scratch */
} px_frame_normals;

/* Normals [vertex][3] of a mesh at rest, smooth over the faces at each point; z where they have no direction. */
pelt_result px_point_normals(pelt_context *context, const pelt_mesh *mesh, float *normals);
/* Whether frames of a clip (may be NULL) have normals: the mesh has, or the skin moves some by the rule `rule`, as in
 * pelt_save_desc.normals. */
bool px_frame_normals_exist(const pelt_mesh *mesh, const pelt_clip *clip, uint32_t rule);
/* Prepares the normals of a clip's frames, which must exist. Allocates in `memory`. */
pelt_result px_frame_normals_begin(pelt_context *context, px_arena *memory, const pelt_mesh *mesh,
                                   const pelt_clip *clip, uint32_t rule, px_frame_normals *normals);
/* Normals out [vertex][3] of a frame with these positions [point][3]. */
pelt_result px_frame_normals_read(pelt_context *context, const px_frame_normals *normals, uint32_t frame,
                                  const float *positions, float *out);

#endif
