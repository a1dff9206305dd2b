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
    {.name = "blender", .influences = 8, .played = 8, .plain = true},
    {.name = "godot", .influences = 8, .played = 8, .plain = true},
    {.name = "godot3", .influences = 4, .influences_reason = "it plays 4 bones per vertex", .played = 4, .plain = true},
    {.name = "unity",
     .file = PELT_FILE_UNITY,
     .plain = true,
     .influences = 4,
     .influences_reason = "its quality settings play at most 4 bones per vertex, unless they are Unlimited",
     .played = 4},
    {.name = "unreal",
     .file = PELT_FILE_UNREAL,
     .plain = true,
     .transforms = "trs",
     .transforms_reason = "its bones are translation, rotation and scale: the shear of nested bones would be lost",
     .influences = 8,
     .played = 8},
    {.name = "maya",
     .file = PELT_FILE_MAYA,
     .plain = true,
     .transforms = "trs",
     .transforms_reason = "its joints are translation, rotation and scale: the shear of nested bones would be lost",
     .influences = 8,
     .played = 8},
};

static const pelt_option target_options[] = {
    {"target", 0, PELT_OPTION_CHOICE, PELT_FIELD(rig_settings, target), "any", 0, 0,
     "any|three|babylon|playcanvas|web|blender|godot|godot3|unity|unreal|maya", NULL,
     "settings that are safe in this program, plain arrays where it reads no others, and FBX files with its axes, "
     "unit, root and frame rate; --verbose says why"},
    {"plain", 0, PELT_OPTION_FLAG, PELT_FIELD(rig_settings, plain), NULL, 0, 0, NULL, NULL,
     "glTF: write plain arrays, also of what the input has compressed or quantised"},
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
    save->plain = settings->plain || target_of(settings)->plain;
}

exit_code target_check(const cli_session *session, const char *path) {
    static const char *const extensions[] = {".glb", ".gltf", ".vrm"};
    const char *dot = strrchr(path, '.');
    bool gltf = false, fbx = dot && strcasecmp(dot, ".fbx") == 0;
    for (size_t e = 0; e < COUNT(extensions); e++)
        gltf |= dot && strcasecmp(dot, extensions[e]) == 0;
    const idle_options rules[] = {{!gltf && !fbx, "target", "where the output is neither glTF nor .fbx"},
                                  {!gltf, "plain", "where the output is no .glb or .gltf"}};
    return options_check(session, rules, COUNT(rules));
}

exit_code compress_check(const cli_session *session, const rig_settings *settings, const char *option) {
    const target *t = target_of(settings);
    if (option && settings->plain)
        return usage_error(session, "--plain means nothing with --%s, which compresses the file", option);
    if (option && t->plain)
        return usage_error(session, "--%s compresses the file, which --target %s does not read", option, t->name);
    return EXIT_DONE;
}

void target_limit(const cli_session *session, const rig_settings *settings, uint32_t *influences) {
    const target *t = target_of(settings);
    if (*influences <= t->influences)
        return;
    *influences = t->influences;
    say(session, MESSAGE_NOTE, "target %s: --influences %u: %s", t->name, t->influences, t->influences_reason);
}
