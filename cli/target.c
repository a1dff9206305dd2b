/* Limits of the programs of --target. docs/formats.md, "Targets", has the source of every value. A program has a row
 * only if it needs settings other than the defaults, or supports more than 4 bones per vertex, which cause a warning by
 * default. */
#include "decompose.h"

/* In the order of the choices of --target. */
static const target targets[] = {
    {.name = "any", .influences = 8, .played = 4},
    {.name = "three", .influences = 4, .influences_reason = "it plays 4 bones per vertex", .played = 4},
    {.name = "babylon", .influences = 8, .played = 8},
    {.name = "playcanvas", .influences = 4, .influences_reason = "it plays 4 bones per vertex", .played = 4},
    {.name = "web",
     .influences = 4,
     .influences_reason = "three.js and PlayCanvas play 4 bones per vertex",
     .played = 4},
    {.name = "blender", .influences = 8, .played = 8},
    {.name = "godot", .influences = 8, .played = 8},
    {.name = "godot3", .influences = 4, .influences_reason = "it plays 4 bones per vertex", .played = 4},
    {.name = "unity",
     .file = PELT_FILE_UNITY,
     .influences = 4,
     .influences_reason = "its quality settings play at most 4 bones per vertex, unless they are Unlimited",
     .played = 4},
    {.name = "unreal",
     .file = PELT_FILE_UNREAL,
     .transforms = "trs",
     .transforms_reason = "its bones are translation, rotation and scale: the shear of nested bones would be lost",
     .influences = 8,
     .played = 8},
    {.name = "maya",
     .file = PELT_FILE_MAYA,
     .transforms = "trs",
     .transforms_reason = "its joints are translation, rotation and scale: the shear of nested bones would be lost",
     .influences = 8,
     .played = 8},
};

const target *target_at(uint32_t index) {
    return &targets[index];
}
