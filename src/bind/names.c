/* Classification of joints by name. Names such as PoleTarget.L, ik_hand_r and Bip01_Nub are split into words: a word
 * ends at a character that is no letter and at a change to upper case. */
#include "bind/bind.h"

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

/* Length of the word at `p`: "PoleTarget" is two words, "IKFoot" is IK and Foot. */
static size_t word_length(const char *p) {
    size_t n = 1;
    while (is_lower(p[n]) || (is_upper(p[n]) && is_upper(p[n - 1]) && !is_lower(p[n + 1])))
        n++;
    return n;
}

static bool word_is(const char *p, size_t length, const char *word) {
    size_t n = 0;
    for (; n < length && word[n]; n++)
        if ((is_upper(p[n]) ? p[n] - 'A' + 'a' : p[n]) != word[n])
            return false;
    return n == length && !word[n];
}

/* Whether a name contains a word of a NULL-terminated list. */
static bool has_word(const char *name, const char *const *words) {
    while (*name) {
        if (!is_upper(*name) && !is_lower(*name)) {
            name++;
            continue;
        }
        size_t length = word_length(name);
        for (size_t w = 0; words[w]; w++)
            if (word_is(name, length, words[w]))
                return true;
        name += length;
    }
    return false;
}

bool px_bind_name_steers(const char *name) {
    static const char *const words[] = {"pole", "target", "ctrl", "ctl", "control", "drv", "mch", NULL};
    return has_word(name, words);
}

bool px_bind_name_is_ik(const char *name) {
    static const char *const words[] = {"ik", NULL};
    return has_word(name, words);
}

bool px_bind_name_is_root(const char *name) {
    static const char *const words[] = {"root", "armature", "world", "origin", "reference", "master", "scene", NULL};
    return has_word(name, words);
}

bool px_bind_name_is_end(const char *name) {
    static const char *const words[] = {"end", "nub", "leaf", "site", NULL};
    return has_word(name, words);
}

bool px_bind_name_is_clavicle(const char *name) {
    static const char *const words[] = {"clavicle", "collar", "collarbone", "shoulder", NULL};
    return has_word(name, words);
}

pelt_result px_bind_mark_named(pelt_context *context, const pelt_skeleton *skeleton, const char *names,
                               const char *field, bool *marks) {
    const char *name;
    size_t length;
    while (names && px_next_name(&names, &name, &length)) {
        bool found = false;
        for (uint32_t j = 0; j < skeleton->joint_count; j++)
            if (px_is_name(skeleton->names[j], name, length))
                marks[j] = found = true;
        if (!found)
            return px_fail_joint(context, skeleton, field, name, length);
    }
    return PELT_OK;
}
