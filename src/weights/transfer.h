/* A transfer from inside.
 *
 *   transfer.c   entry point; the place on the surface that each vertex takes its weights from
 *   fill.c       what has no good match gets weights from around
 *   carry.c      whose joints and bones the result has
 */
#ifndef PELT_WEIGHTS_TRANSFER_H
#define PELT_WEIGHTS_TRANSFER_H

#include "core/surface.h"
#include "weights/edit.h"

/* What the result's skin will be, and how bones of `from` are called in it. */
typedef struct px_carried {
    bool own;             /* it has the joints of `to` */
    px_joined_rig joined; /* else these */
    pelt_skin skin;       /* without bones and weights of vertices */
    uint32_t *bones;      /* [bone of from] its number in the result, or PELT_NONE */
    uint8_t *frozen;      /* [vertex of to] it keeps what it has; NULL: none */
    uint32_t lost_count;
    uint32_t *lost; /* [lost_count] joints of from */
} px_carried;

/* Whose joints, as far as `wish` (pelt_transfer_skeleton) leaves that open. */
bool px_carry_keeps(const pelt_model *from, const pelt_model *to, uint32_t wish);
/* `posed`: the mesh of `to` lies over that of `from` at rest. Scratch is in the arena, what stays in the memory of
 * `to`. */
pelt_result px_carry(px_arena *arena, const pelt_model *from, pelt_model *to, bool own, bool posed, px_carried *out);
/* Puts the table's rows and the rest into the model. */
pelt_result px_carry_finish(px_arena *arena, const px_carried *carried, const px_weight_table *table,
                            uint32_t influences, pelt_model *to);

#endif
