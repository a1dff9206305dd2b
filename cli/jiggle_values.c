/* Options of pelt jiggle for joints, vertices, forces and colliders. */
#include "jiggle.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) PELT_FIELD(jiggle_settings, name)
static const pelt_option soft_options[] = {
    {"soft", 0, PELT_OPTION_TEXT, FIELD(soft), NULL, 0, 0, NULL, "JOINT[@TIME]=D,…",
     "--delta of these joints, 0 to 1; the others then have 0, unless --delta is given"},
    {"pin", 0, PELT_OPTION_TEXT, FIELD(pin), NULL, 0, 0, NULL, "JOINT[@TIME]=P,…",
     "fraction by which --delta is reduced, 0 to 1"},
    {"joint-stiffness", 0, PELT_OPTION_TEXT, FIELD(stiffness), NULL, 0, 0, NULL, "JOINT[@TIME]=W,…",
     "--stiffness of joints"},
    {"joint-damping", 0, PELT_OPTION_TEXT, FIELD(damping), NULL, 0, 0, NULL, "JOINT[@TIME]=RATE,…",
     "--damping of joints"},
    {"joint-frequency", 0, PELT_OPTION_TEXT, FIELD(frequency), NULL, 0, 0, NULL, "JOINT[@TIME]=HZ,…",
     "--frequency of joints"},
    {"merge-parts", 0, PELT_OPTION_TEXT, FIELD(merge), NULL, 0, 0, NULL, "JOINT=JOINT,…",
     "make the part of one joint, whose volume is preserved, a part of another's"},
    {"split-parts", 0, PELT_OPTION_TEXT, FIELD(split), NULL, 0, 0, NULL, "JOINT,…",
     "split the part of a joint into the halves of its two bones"},
    {"heat", 0, PELT_OPTION_TEXT, FIELD(heat), NULL, 0, 0, NULL, "JOINT=S,…",
     "strength of the heat of joints, with --weights lattice; default 1"},
    {"heat-width", 0, PELT_OPTION_TEXT, FIELD(heat_width), NULL, 0, 0, NULL, "JOINT=CELLS,…",
     "distance from a bone within which it alone heats, with --weights lattice; default 1"},
    {"soft-map", 0, PELT_OPTION_TEXT, FIELD(soft_map), NULL, 0, 0, NULL, "FILE|NAME",
     "--soft of vertices: a PNG painted over the UVs (white is soft), a text file with a number for each vertex, or a "
     "vertex attribute"},
    {"pin-map", 0, PELT_OPTION_TEXT, FIELD(pin_map), NULL, 0, 0, NULL, "FILE|NAME",
     "--pin of vertices (white is rigid)"},
    {"stiffness-map", 0, PELT_OPTION_TEXT, FIELD(stiffness_map), NULL, 0, 0, NULL, "FILE|NAME",
     "--stiffness of vertices; in a picture white is --stiffness and black 0"},
    {"damping-map", 0, PELT_OPTION_TEXT, FIELD(damping_map), NULL, 0, 0, NULL, "FILE|NAME",
     "--damping of vertices; in a picture white is --damping and black 0"},
};

OPTION_TABLE(jiggle_soft_table, soft_options)

static const pelt_option force_options[] = {
    {"gravity", 0, PELT_OPTION_TEXT, FIELD(gravity), NULL, 0, 0, NULL, "X,Y,Z|G",
     "units per second²; one number is downwards along y. The rest pose does not sag"},
    {"wind", 0, PELT_OPTION_TEXT, FIELD(wind), NULL, 0, 0, NULL, "X,Y,Z", "velocity of the air, units per second"},
    {"drag", 0, PELT_OPTION_REAL, FIELD(drag), "0", 0, 1e6, NULL, "RATE",
     "air drag, per second; default 1 with --wind"},
    {"collider", 0, PELT_OPTION_TEXT, FIELD(collider), NULL, 0, 0, NULL, "KIND:NUMBERS[@JOINT]",
     "obstacle, in world space or in the space of a joint: sphere:X,Y,Z,R capsule:X,Y,Z,X,Y,Z,R "
     "plane:X,Y,Z,NX,NY,NZ floor:Y, each optionally followed by ,FRICTION"},
};

OPTION_TABLE(jiggle_force_table, force_options)

/* ---- Values of joints ------------------------------------------------------------------------------------- */

/* Settings of a joint, by option. */
static const struct {
    const char *option;
    size_t field; /* in pelt_jiggle_joint */
    double most;
    bool fixed; /* constant over time */
} kinds[] = {
    {"soft", offsetof(pelt_jiggle_joint, delta), 1, false},
    {"pin", offsetof(pelt_jiggle_joint, pin), 1, false},
    {"joint-stiffness", offsetof(pelt_jiggle_joint, stiffness), PELT_JIGGLE_MAX_STIFFNESS, false},
    {"joint-damping", offsetof(pelt_jiggle_joint, damping), 1e6, false},
    {"joint-frequency", offsetof(pelt_jiggle_joint, frequency), 1000, false},
    {"heat", offsetof(pelt_jiggle_joint, strength), 1e6, true},
    {"heat-width", offsetof(pelt_jiggle_joint, width), 1e6, true},
};

struct value_key {
    uint32_t joint;
    size_t kind;
    double time;
    float value;
};

static bool same_track(const value_key *a, const value_key *b) {
    return a->joint == b->joint && a->kind == b->kind;
}

static int compare_keys(const void *a, const void *b) {
    const value_key *l = a, *r = b;
    if (l->joint != r->joint)
        return l->joint < r->joint ? -1 : 1;
    if (l->kind != r->kind)
        return l->kind < r->kind ? -1 : 1;
    return (l->time > r->time) - (l->time < r->time);
}

/* Removes a time such as "@1.5" from the end of a name and returns it; 0 if there is none. */
static double take_time(char *name) {
    char *at = strrchr(name, '@'), *end;
    double time = at ? strtod(at + 1, &end) : 0;
    if (!at || end == at + 1 || *end || !isfinite(time))
        return 0;
    *at = 0;
    return time;
}

static exit_code no_joint(cli_session *session, const char *option, const char *name, const pelt_skeleton *skeleton) {
    const char *near = pelt_nearest_name(name, skeleton->names, skeleton->joint_count);
    say(session, MESSAGE_ERROR, "--%s: there is no joint '%s'%s%s%s", option, name, near ? "; did you mean '" : "",
        near ? near : "; 'pelt info' lists them", near ? "'?" : "");
    return EXIT_INPUT;
}

static bool name_matches(const char *pattern, const char *name) {
    return px_glob_matches(pattern, strlen(pattern), name, strlen(name), "");
}

/* Parses "belly=0.8" or "ear*@1.5=0.2": adds a key for every joint that matches the name. */
static exit_code read_key(cli_session *session, const pelt_skeleton *skeleton, size_t kind, char *text,
                          jiggle_values *values) {
    const char *option = kinds[kind].option;
    char *equals = strrchr(text, '='), *end; /* the last '=': names may contain one */
    double value = equals ? strtod(equals + 1, &end) : NAN;
    if (!equals || equals == text || end == equals + 1 || *end || !(value >= 0 && value <= kinds[kind].most))
        return usage_error(session, "--%s %s: give a joint and a number from 0 to %g, as in belly=0.8", option, text,
                           kinds[kind].most);
    *equals = 0;
    value_key key = {.kind = kind, .time = take_time(text), .value = (float)value};
    if (kinds[kind].fixed && key.time != 0)
        return usage_error(session, "--%s cannot change over time", option);
    bool found = false;
    values->keys = must_resize(values->keys, values->key_count + skeleton->joint_count, sizeof *values->keys);
    for (key.joint = 0; key.joint < skeleton->joint_count; key.joint++)
        if (name_matches(text, skeleton->names[key.joint])) {
            values->keys[values->key_count++] = key;
            found = true;
        }
    return found ? EXIT_DONE : no_joint(session, option, text, skeleton);
}

static exit_code read_keys(cli_session *session, const pelt_skeleton *skeleton, size_t kind, jiggle_values *values) {
    exit_code code = EXIT_DONE;
    arg_list given = option_values(session, kinds[kind].option);
    for (size_t a = 0; code == EXIT_DONE && a < given.count; a++) {
        char *list = must_format("%s", given.items[a]), *rest = list, *text;
        while (code == EXIT_DONE && (text = next_item(&rest)))
            code = read_key(session, skeleton, kind, text, values);
        free(list);
    }
    free(given.items);
    return code;
}

/* Interpolates keys linearly; constant before the first and after the last. */
static void fill_joints(const jiggle_values *values, double time, pelt_jiggle_joint *joints) {
    pelt_jiggle_joint *joint = joints;
    for (size_t k = 0, end; k < values->key_count; k = end) {
        const value_key *keys = values->keys;
        for (end = k + 1; end < values->key_count && same_track(&keys[k], &keys[end]); end++)
            ;
        if (k == 0 || keys[k].joint != keys[k - 1].joint)
            *(joint = k ? joint + 1 : joints) = pelt_jiggle_joint_default(keys[k].joint);
        size_t next = k;
        while (next < end && keys[next].time <= time)
            next++;
        const value_key *a = &keys[next > k ? next - 1 : k], *b = &keys[next < end ? next : end - 1];
        double part = b->time > a->time ? (time - a->time) / (b->time - a->time) : 0;
        *(float *)((char *)joint + kinds[keys[k].kind].field) =
            (float)((double)a->value + part * ((double)b->value - (double)a->value));
    }
}

static exit_code read_joints(cli_session *session, const pelt_skeleton *skeleton, jiggle_values *values) {
    exit_code code = EXIT_DONE;
    for (size_t kind = 0; code == EXIT_DONE && kind < COUNT(kinds); kind++)
        code = read_keys(session, skeleton, kind, values);
    if (code != EXIT_DONE || values->key_count == 0)
        return code;
    qsort(values->keys, values->key_count, sizeof *values->keys, compare_keys);
    values->joint_count = 1;
    for (size_t k = 1; k < values->key_count; k++) {
        const value_key *key = &values->keys[k];
        values->joint_count += key->joint != key[-1].joint;
        values->changing |= same_track(key - 1, key);
        if (compare_keys(key - 1, key) == 0)
            return usage_error(session, "--%s: '%s' has two values at %g s", kinds[key->kind].option,
                               skeleton->names[key->joint], key->time);
    }
    values->joints = must_alloc(values->joint_count, sizeof *values->joints);
    fill_joints(values, 0, values->joints);
    return EXIT_DONE;
}

void jiggle_values_at(void *user, double time, pelt_jiggle *jiggle) {
    jiggle_values *values = user;
    pelt_jiggle_joint *joints = must_alloc(values->joint_count, sizeof *joints);
    fill_joints(values, time, joints);
    if (memcmp(joints, values->joints, values->joint_count * sizeof *joints) != 0) {
        memcpy(values->joints, joints, values->joint_count * sizeof *joints);
        pelt_jiggle_set_values(jiggle, joints, values->joint_count, &values->maps);
    }
    free(joints);
}

/* ---- Parts ------------------------------------------------------------------------------------------------ */

/* Adds a change for every joint whose name matches; `into` NULL: split. */
static exit_code change_parts(cli_session *session, const pelt_skeleton *skeleton, const char *option, const char *name,
                              const char *into, jiggle_values *values) {
    uint32_t whole = PELT_NONE;
    bool found = false;
    for (uint32_t j = 0; into && j < skeleton->joint_count; j++)
        if (strcmp(skeleton->names[j], into) == 0)
            whole = j;
    if (into && whole == PELT_NONE)
        return no_joint(session, option, into, skeleton);
    values->parts = must_resize(values->parts, values->part_count + skeleton->joint_count, sizeof *values->parts);
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        if (j != whole && name_matches(name, skeleton->names[j])) {
            values->parts[values->part_count++] = (pelt_jiggle_part){j, whole};
            found = true;
        }
    return found ? EXIT_DONE : no_joint(session, option, name, skeleton);
}

static exit_code read_parts(cli_session *session, const pelt_skeleton *skeleton, const char *option, bool merge,
                            jiggle_values *values) {
    exit_code code = EXIT_DONE;
    arg_list given = option_values(session, option);
    for (size_t a = 0; code == EXIT_DONE && a < given.count; a++) {
        char *list = must_format("%s", given.items[a]), *rest = list, *text;
        while (code == EXIT_DONE && (text = next_item(&rest))) {
            char *equals = merge ? strrchr(text, '=') : NULL;
            if (merge && (!equals || equals == text || !equals[1]))
                code = usage_error(session, "--%s %s: give two joints, as in thumb.L=hand.L", option, text);
            else {
                if (equals)
                    *equals++ = 0;
                code = change_parts(session, skeleton, option, text, equals, values);
            }
        }
        free(list);
    }
    free(given.items);
    return code;
}

/* ---- Values of vertices ----------------------------------------------------------------------------------- */

/* Reads a map from a file or, if there is none of that name, from a vertex attribute. White in an image means
 * `white`. */
static exit_code read_map(cli_session *session, const pelt_model *rig, const char *option, const char *source,
                          double white, const float **map, float **memory) {
    if (!source)
        return EXIT_DONE;
    uint64_t size;
    const char *path = px_path_look(source, &size) == PX_PATH_NONE ? NULL : source;
    *map = *memory = must_alloc(rig->mesh.vertex_count, sizeof **memory);
    exit_code code = vertex_values(session, rig, option, path, source, *memory);
    if (code == EXIT_DONE && path && is_picture(path))
        for (uint32_t i = 0; i < rig->mesh.vertex_count; i++)
            (*memory)[i] = (float)(white * (double)(*memory)[i]);
    return code;
}

static exit_code read_maps(cli_session *session, const jiggle_settings *s, const pelt_model *rig,
                           jiggle_values *values) {
    pelt_jiggle_maps *maps = &values->maps;
    float **memory = values->map_values;
    exit_code code = read_map(session, rig, "soft-map", s->soft_map, 1, &maps->delta, &memory[0]);
    if (code == EXIT_DONE)
        code = read_map(session, rig, "pin-map", s->pin_map, 1, &maps->pin, &memory[1]);
    if (code == EXIT_DONE)
        code = read_map(session, rig, "stiffness-map", s->stiffness_map, s->jiggle.stiffness, &maps->stiffness,
                        &memory[2]);
    if (code == EXIT_DONE)
        code = read_map(session, rig, "damping-map", s->damping_map, s->jiggle.damping, &maps->damping, &memory[3]);
    return code;
}

/* ---- Forces and colliders --------------------------------------------------------------------------------- */

/* Parses at most `most` numbers separated by commas. Returns their count, or 0 on a syntax error. */
static size_t read_numbers(const char *text, float *numbers, size_t most) {
    for (size_t n = 0; n < most; n++) {
        char *end;
        numbers[n] = strtof(text, &end);
        if (end == text || !isfinite(numbers[n]))
            return 0;
        if (*end == 0)
            return n + 1;
        if (*end != ',')
            return 0;
        text = end + 1;
    }
    return 0;
}

static exit_code read_forces(cli_session *session, const jiggle_settings *s, pelt_jiggle_forces *forces) {
    size_t count = s->gravity ? read_numbers(s->gravity, forces->gravity, 3) : 3;
    if (count == 1) {
        forces->gravity[1] = -forces->gravity[0];
        forces->gravity[0] = 0;
    } else if (count != 3)
        return usage_error(session, "--gravity %s: give three numbers, as in 0,-9.81,0, or one", s->gravity);
    if (s->wind && read_numbers(s->wind, forces->wind, 3) != 3)
        return usage_error(session, "--wind %s: give three numbers, as in 3,0,0", s->wind);
    forces->drag = s->wind && !option_given(session, "drag") ? 1 : (float)s->drag;
    return EXIT_DONE;
}

/* Collider shapes by name, with an example of their numbers. */
static const struct {
    const char *name;
    size_t count; /* without friction */
    pelt_collider_kind kind;
    const char *like;
} shapes[] = {
    {"sphere", 4, PELT_COLLIDER_SPHERE, "sphere:0,1,0,0.3"},
    {"capsule", 7, PELT_COLLIDER_CAPSULE, "capsule:0,0,0,0,1,0,0.2"},
    {"plane", 6, PELT_COLLIDER_PLANE, "plane:0,0,0,0,1,0"},
    {"floor", 1, PELT_COLLIDER_PLANE, "floor:0"},
};

static void place(size_t shape, const float *n, pelt_collider *c) {
    const size_t three = 3 * sizeof(float);
    c->kind = shapes[shape].kind;
    if (shapes[shape].count == 1) {
        c->a[1] = n[0];
        c->b[1] = 1;
        return;
    }
    memcpy(c->a, n, three);
    if (c->kind == PELT_COLLIDER_SPHERE)
        c->radius = n[3];
    else
        memcpy(c->b, n + 3, three);
    if (c->kind == PELT_COLLIDER_CAPSULE)
        c->radius = n[6];
}

/* Parses "sphere:0,1,0,0.3,0.5@head"; modifies `text`. */
static exit_code read_collider(cli_session *session, const pelt_model *rig, char *text, pelt_collider *out) {
    char *at = strchr(text, '@'), *numbers = strchr(text, ':');
    float n[8];
    *out = (pelt_collider){.joint = PELT_NONE};
    if (at)
        *at = 0;
    if (numbers)
        *numbers++ = 0;
    size_t shape = 0;
    while (shape < COUNT(shapes) && strcmp(shapes[shape].name, text) != 0)
        shape++;
    if (shape == COUNT(shapes))
        return usage_error(session, "--collider %s: is none of sphere, capsule, plane and floor", text);
    size_t wanted = shapes[shape].count, count = numbers ? read_numbers(numbers, n, wanted + 1) : 0;
    if (count < wanted)
        return usage_error(session, "--collider %s: give %zu numbers, as in %s, and friction if you like", text, wanted,
                           shapes[shape].like);
    place(shape, n, out);
    out->friction = count > wanted ? n[wanted] : 0;
    pelt_result result = at ? pelt_joint_find(session->context, rig, at + 1, &out->joint) : PELT_OK;
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

static exit_code read_colliders(cli_session *session, const pelt_model *rig, jiggle_values *values) {
    arg_list given = option_values(session, "collider");
    exit_code code = EXIT_DONE;
    values->colliders = must_alloc(given.count, sizeof *values->colliders);
    for (size_t a = 0; code == EXIT_DONE && a < given.count; a++) {
        char *text = must_format("%s", given.items[a]);
        code = read_collider(session, rig, text, &values->colliders[values->collider_count++]);
        free(text);
    }
    free(given.items);
    return code;
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

exit_code jiggle_values_read(cli_session *session, const jiggle_settings *settings, const pelt_model *rig,
                             jiggle_values *values, pelt_jiggle_desc *desc) {
    exit_code code = read_joints(session, &rig->skeleton, values);
    if (code == EXIT_DONE)
        code = read_parts(session, &rig->skeleton, "merge-parts", true, values);
    if (code == EXIT_DONE)
        code = read_parts(session, &rig->skeleton, "split-parts", false, values);
    if (code == EXIT_DONE)
        code = read_maps(session, settings, rig, values);
    if (code == EXIT_DONE)
        code = read_forces(session, settings, &desc->forces);
    if (code == EXIT_DONE)
        code = read_colliders(session, rig, values);
    /* With --soft the other joints are rigid. */
    if ((settings->soft || settings->soft_map) && !option_given(session, "delta"))
        desc->delta = 0;
    desc->joints = values->joints;
    desc->joint_count = values->joint_count;
    desc->parts = values->parts;
    desc->part_count = values->part_count;
    desc->maps = values->maps;
    desc->colliders = values->colliders;
    desc->collider_count = values->collider_count;
    return code;
}

void jiggle_values_free(jiggle_values *values) {
    free(values->keys);
    free(values->joints);
    free(values->parts);
    free(values->colliders);
    for (size_t m = 0; m < COUNT(values->map_values); m++)
        free(values->map_values[m]);
}
