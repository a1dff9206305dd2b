/* Option tables of the weight operations. */
#include "core/core.h"

#include <pelt/weights.h>

static const pelt_option scope_options[] = {
    {"joints", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_weights_scope, joints), NULL, 0, 0, NULL, "NAMES",
     "change weights of these joints only, divided by commas"},
    {"parts", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_weights_scope, parts), NULL, 0, 0, NULL, "NAMES",
     "change only vertices of these parts, materials or regions: box(X Y Z X Y Z), sphere(X Y Z R), vertices(0 7-12)"},
    {"lock", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_weights_scope, lock), NULL, 0, 0, NULL, "NAMES",
     "weights of these joints stay as they are; the others share the rest"},
    {"influences", 'k', PELT_OPTION_UINT, PELT_FIELD(pelt_weights_scope, influences), NULL, 0, PELT_MAX_INFLUENCES,
     NULL, "K", "bones per vertex at most; 0: as many as there are"},
};
static const pelt_option smooth_options[] = {
    {"strength", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_smooth_desc, strength), "0.5", 0, 1, NULL, "S",
     "how far a vertex goes to the mean of its neighbours each time"},
    {"iterations", 0, PELT_OPTION_UINT, PELT_FIELD(pelt_smooth_desc, iterations), "5", 0, 10000, NULL, "N",
     "how often"},
};
static const pelt_option prune_options[] = {
    {"threshold", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_prune_desc, threshold), "0.01", 0, 1, NULL, "W",
     "smaller weights go"},
};
static const pelt_option relax_options[] = {
    {"radius", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_relax_desc, radius), "0.005", 0, 1, NULL, "F",
     "length over which weights are averaged, as a fraction of the diagonal"},
    {"displacement", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_relax_desc, displacement), "0.01", 0, 1, NULL, "F",
     "how far a vertex may move in the poses of the motions, as a fraction of the diagonal; 0: any distance"},
};
static const pelt_option hammer_options[] = {
    {"difference", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_hammer_desc, difference), "1", 0, 2, NULL, "L1",
     "repair vertices that differ by more from their neighbours; 0: all in the scope"},
};
static const pelt_option limit_options[] = {
    {"poses", 0, PELT_OPTION_UINT, PELT_FIELD(pelt_limit_desc, poses), "16", 1, 64, NULL, "N",
     "poses of the motions in which the change is measured"},
};
static const pelt_option copy_options[] = {
    {"source", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_copy_desc, source), NULL, 0, 0, NULL, "REGIONS",
     "parts, materials or regions to copy weights from; default: all that may not change"},
    {"rigid", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_copy_desc, rigid), NULL, 0, 0, NULL, NULL,
     "give all vertices the mean weights of the source, not those of the nearest point"},
};
static const pelt_option mirror_options[] = {
    {"axis", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_mirror_desc, axis), "x", 0, 0, "x|y|z", NULL,
     "across which the mesh is symmetric"},
    {"side", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_mirror_desc, side), "left-to-right", 0, 0,
     "left-to-right|right-to-left|positive-to-negative|negative-to-positive|average", NULL, "whose weights go where"},
    {"plane", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_mirror_desc, plane), "0", 0, 0, NULL, "N",
     "where on the axis, in the mesh's own units"},
    {"match", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_mirror_desc, match), "position", 0, 0, "position|topology", NULL,
     "how vertices find their mirror images; topology: by the connections of the mesh, in any pose"},
    {"seed", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_mirror_desc, seed), NULL, 0, 0, NULL, "A-B",
     "vertices at the ends of an edge of the middle line, for topology"},
};

static const pelt_option transfer_options[] = {
    {"angle", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_transfer_desc, angle), "45", 0, 180, NULL, "DEGREES",
     "by how much normals of a match may differ, but for very near ones"},
    {"distance", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_transfer_desc, distance), "0.05", 0, 1000, NULL, "F",
     "how far a match may be, as a fraction of the diagonal"},
    {"influences", 'k', PELT_OPTION_UINT, PELT_FIELD(pelt_transfer_desc, influences), NULL, 0, PELT_MAX_INFLUENCES,
     NULL, "K", "bones per vertex at most; 0: as many as there are"},
    {"pose", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_transfer_desc, pose), "auto", 0, 0, "auto|bind|rest", NULL,
     "in which the meshes lie over each other"},
    {"skeleton", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_transfer_desc, skeleton), "auto", 0, 0, "auto|from|to", NULL,
     "whose joints the result has"},
};

PX_DESC_OF(pelt_weights_scope, pelt_weights_scope_options, scope_options)
PX_DESC(smooth, smooth_options)
PX_DESC(prune, prune_options)
PX_DESC(relax, relax_options)
PX_DESC(hammer, hammer_options)
PX_DESC(limit, limit_options)
PX_DESC(copy, copy_options)
PX_DESC(mirror, mirror_options)
PX_DESC(transfer, transfer_options)
