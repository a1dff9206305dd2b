/* Table of bone kinds, and the transform step that dispatches to them. */
#include "decompose/kinds.h"

#define ENTRY(name) &px_bone_##name,
static const px_bone_kind *const kinds[] = {PX_BONE_KINDS(ENTRY)};

const px_bone_kind *px_bone_kind_at(uint32_t transforms) {
    assert(transforms < PX_COUNT(kinds));
    return kinds[transforms];
}

pelt_result px_fit_transforms(px_fit *fit) {
    const px_bone_kind *kind = fit->kind;
    if (kind->fit)
        return kind->fit(fit);
    px_blocks blocks;
    PX_TRY(px_blocks_create(fit, &blocks));
    pelt_result result = kind->prepare ? kind->prepare(&blocks) : PELT_OK;
    if (result == PELT_OK)
        result = px_blocks_sweep(&blocks, kind->solve_block);
    px_blocks_reduce(fit);
    px_blocks_free(&blocks);
    return result;
}
