/* Options of verbs that write rigs, and limits of the programs of --target. docs/formats.md, "Targets", has the source of every value. A program has a row
 * only if it needs settings other than the defaults, or supports more than 4 bones per vertex, which cause a warning by
 * default. */
#include "cli.h"

#include <string.h>
#include <strings.h>

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

static const pelt_option target_options[] = {
    {"target", 0, PELT_OPTION_CHOICE, PELT_FIELD(rig_settings, target), "any", 0, 0,
     "any|three|babylon|playcanvas|web|blender|godot|godot3|unity|unreal|maya", NULL,
     "settings that are safe in this program, and FBX files with its axes, unit, root and frame rate; --verbose says "
     "why"},
};
OPTION_TABLE(target_table, target_options)

static const pelt_option sparse_options[] = {
    {"sparse", 0, PELT_OPTION_FLAG, PELT_FIELD(rig_settings, sparse), NULL, 0, 0, NULL, NULL,
     "smaller files where morph targets are mostly zero, which Godot 3 misreads"},
};
OPTION_TABLE(sparse_table, sparse_options)

const target *target_of(const rig_settings *settings) {
    return &targets[settings->target];
}

void rig_save(const rig_settings *settings, pelt_save_desc *save) {
    save->sparse = settings->sparse;
    save->player_influences = target_of(settings)->played;
    save->target = target_of(settings)->file;
}

exit_code target_check(const cli_session *session, const char *path) {
    const char *dot = strrchr(path, '.');
    idle_options rule = {!dot || strcasecmp(dot, ".fbx") != 0, "target", "where the output is no .fbx"};
    return options_check(session, &rule, 1);
}

void target_limit(const cli_session *session, const rig_settings *settings, uint32_t *influences) {
    const target *t = target_of(settings);
    if (*influences <= t->influences)
        return;
    *influences = t->influences;
    say(session, MESSAGE_NOTE, "target %s: --influences %u: %s", t->name, t->influences, t->influences_reason);
}
