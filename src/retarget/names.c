/* Body parts by names of joints: "mixamorig:LeftUpLeg", "Bip01 L Thigh", "thigh_l" and "lfemur" are one part. */
#include "retarget/names.h"

#include <ctype.h>

/* ---- Words ------------------------------------------------------------------------------------------------ */

typedef struct body_word {
    const char *word;
    bool sided;           /* exists left and right */
    px_body_part body;    /* NONE: no body part, but a side before it is recognised */
    px_body_part beside;  /* `body` applies only if the skeleton has an unambiguous joint of this part; NONE: always */
    px_body_part instead; /* the part otherwise */
} body_word;

static const body_word body_words[] = {
    {"hips", false, PX_BODY_HIPS, 0, 0},
    {"hip", false, PX_BODY_HIPS, 0, 0},
    {"pelvis", false, PX_BODY_HIPS, 0, 0},
    {"root", false, PX_BODY_NONE, PX_BODY_HIPS, PX_BODY_HIPS},
    {"spine", false, PX_BODY_SPINE, 0, 0},
    {"lowerback", false, PX_BODY_SPINE, 0, 0},
    {"upperback", false, PX_BODY_SPINE, 0, 0},
    {"back", false, PX_BODY_SPINE, 0, 0},
    {"thorax", false, PX_BODY_SPINE, 0, 0},
    {"chest", false, PX_BODY_SPINE, 0, 0},
    {"upperchest", false, PX_BODY_SPINE, 0, 0},
    {"abdomen", false, PX_BODY_SPINE, 0, 0},
    {"torso", false, PX_BODY_SPINE, 0, 0},
    {"waist", false, PX_BODY_SPINE, 0, 0},
    {"neck", false, PX_BODY_NECK, 0, 0},
    {"lowerneck", false, PX_BODY_NECK, 0, 0},
    {"upperneck", false, PX_BODY_NECK, 0, 0},
    {"head", false, PX_BODY_HEAD, 0, 0},
    {"clavicle", true, PX_BODY_CLAVICLE, 0, 0},
    {"collar", true, PX_BODY_CLAVICLE, 0, 0},
    {"shoulder", true, PX_BODY_CLAVICLE, PX_BODY_UPPER_ARM, PX_BODY_UPPER_ARM},
    {"upperarm", true, PX_BODY_UPPER_ARM, 0, 0},
    {"uparm", true, PX_BODY_UPPER_ARM, 0, 0},
    {"arm", true, PX_BODY_UPPER_ARM, 0, 0},
    {"humerus", true, PX_BODY_UPPER_ARM, 0, 0},
    {"shldr", true, PX_BODY_UPPER_ARM, 0, 0},
    {"forearm", true, PX_BODY_FOREARM, 0, 0},
    {"lowerarm", true, PX_BODY_FOREARM, 0, 0},
    {"lowarm", true, PX_BODY_FOREARM, 0, 0},
    {"radius", true, PX_BODY_FOREARM, 0, 0},
    {"elbow", true, PX_BODY_FOREARM, 0, 0},
    {"hand", true, PX_BODY_HAND, 0, 0},
    {"wrist", true, PX_BODY_HAND, 0, 0},
    {"thigh", true, PX_BODY_THIGH, 0, 0},
    {"upleg", true, PX_BODY_THIGH, 0, 0},
    {"upperleg", true, PX_BODY_THIGH, 0, 0},
    {"femur", true, PX_BODY_THIGH, 0, 0},
    {"hip", true, PX_BODY_NONE, PX_BODY_THIGH, PX_BODY_THIGH},
    {"leg", true, PX_BODY_SHIN, PX_BODY_THIGH, PX_BODY_THIGH},
    {"calf", true, PX_BODY_SHIN, 0, 0},
    {"shin", true, PX_BODY_SHIN, 0, 0},
    {"lowerleg", true, PX_BODY_SHIN, 0, 0},
    {"lowleg", true, PX_BODY_SHIN, 0, 0},
    {"tibia", true, PX_BODY_SHIN, 0, 0},
    {"knee", true, PX_BODY_SHIN, 0, 0},
    {"foot", true, PX_BODY_FOOT, 0, 0},
    {"ankle", true, PX_BODY_FOOT, 0, 0},
    {"upperfoot", true, PX_BODY_FOOT, 0, 0},
    {"toe", true, PX_BODY_TOE, 0, 0},
    {"toes", true, PX_BODY_TOE, 0, 0},
    {"toebase", true, PX_BODY_TOE, 0, 0},
    {"ball", true, PX_BODY_TOE, 0, 0},
    {"lowerfoot", true, PX_BODY_TOE, 0, 0},
    {"hipjoint", true, PX_BODY_NONE, 0, 0},
    {"thumb", true, PX_BODY_NONE, 0, 0},
    {"fingers", true, PX_BODY_NONE, 0, 0},
};

/* Prefixes that programs give to all names, with or without a number. */
static const char *const prefixes[] = {"mixamorig", "bip", "valve", "biped", "cc", "base",     "def",
                                       "org",       "j",   "jnt",   "bn",    "b",  "character"};

static const body_word *find_word(const char *key, bool sided) {
    size_t length = strlen(key);
    while (length && isdigit((unsigned char)key[length - 1]))
        length--;
    for (size_t w = 0; w < PX_COUNT(body_words); w++)
        if (body_words[w].sided == sided && strlen(body_words[w].word) == length &&
            memcmp(body_words[w].word, key, length) == 0)
            return &body_words[w];
    return NULL;
}

/* ---- One name --------------------------------------------------------------------------------------------- */

/* The next word of a name, in lower case: letters up to a change of case ("LeftArm", "LHip") or of kind, or digits without
 * leading zeros. False at the end. Words beyond the size are cut, which makes the key too long. */
static bool next_word(const char **p, char word[static PX_KEY_SIZE]) {
    const unsigned char *c = (const unsigned char *)*p;
    while (*c && !isalnum(*c) && *c < 128)
        c++;
    size_t length = 0;
    bool digits = isdigit(*c);
    while (digits && c[0] == '0' && isdigit(c[1]))
        c++;
    for (const unsigned char *first = c; *c && (isalnum(*c) || *c >= 128) && !isdigit(*c) == !digits; c++) {
        bool camel = c > first && isupper(*c) && (!isupper(c[-1]) || islower(c[1]));
        if (camel)
            break;
        if (length + 1 < PX_KEY_SIZE)
            word[length++] = (char)tolower(*c);
    }
    word[length] = 0;
    *p = (const char *)c;
    return length > 0;
}

static px_body_side side_of(const char *word) {
    if (strcmp(word, "l") == 0 || strcmp(word, "left") == 0 || strcmp(word, "lft") == 0)
        return PX_BODY_LEFT;
    return strcmp(word, "r") == 0 || strcmp(word, "right") == 0 || strcmp(word, "rgt") == 0 ? PX_BODY_RIGHT
                                                                                            : PX_BODY_MIDDLE;
}

static bool is_prefix(const char *word) {
    for (size_t p = 0; p < PX_COUNT(prefixes); p++)
        if (strcmp(word, prefixes[p]) == 0)
            return true;
    return false;
}

/* The key of a name: its words without the side. */
static void join_words(const char *name, bool drop_prefixes, px_joint_name *out) {
    char word[PX_KEY_SIZE];
    size_t size = 0;
    bool in_front = drop_prefixes;
    *out = (px_joint_name){0};
    for (bool number_too = false; next_word(&name, word);) {
        bool number = isdigit((unsigned char)word[0]);
        if (in_front && (is_prefix(word) || (number && number_too))) {
            number_too = !number;
            continue;
        }
        in_front = false;
        if (out->side == PX_BODY_MIDDLE && (out->side = side_of(word)) != PX_BODY_MIDDLE)
            continue;
        size_t length = strlen(word);
        if (size + length >= PX_KEY_SIZE) {
            out->key[0] = 0;
            return;
        }
        memcpy(out->key + size, word, length + 1);
        size += length;
    }
}

/* Removes leading letters that name a side: "leftarm", "lfemur". */
static void take_side(px_joint_name *name, const char *left, const char *right, bool known) {
    px_body_side side = PX_BODY_MIDDLE;
    if (strncmp(name->key, left, strlen(left)) == 0)
        side = PX_BODY_LEFT;
    else if (strncmp(name->key, right, strlen(right)) == 0)
        side = PX_BODY_RIGHT;
    if (side == PX_BODY_MIDDLE || name->side != PX_BODY_MIDDLE)
        return;
    const char *rest = name->key + strlen(side == PX_BODY_LEFT ? left : right);
    if (!*rest || (known && !find_word(rest, true)))
        return;
    name->side = side;
    memmove(name->key, rest, strlen(rest) + 1);
}

static void read_name(const char *text, px_joint_name *name) {
    for (const char *c = text; *c; c++)
        if ((*c == ':' || *c == '|') && c[1])
            text = c + 1; /* skips namespaces */
    join_words(text, true, name);
    if (!name->key[0])
        join_words(text, false, name);
    if (find_word(name->key, false))
        return;
    take_side(name, "left", "right", false);
    take_side(name, "l", "r", true);
}

/* ---- A skeleton ------------------------------------------------------------------------------------------- */

/* With legs: left leg, right leg, upper body. Without: left arm, right arm, spine to head. 0: none of these. */
static uint8_t branch_of(const px_joint_name *name, bool legs) {
    bool arm = name->body >= PX_BODY_CLAVICLE && name->body <= PX_BODY_HAND;
    if (legs ? name->body == PX_BODY_THIGH : arm)
        return name->side == PX_BODY_LEFT ? 1 : 2;
    return arm || (name->body >= PX_BODY_SPINE && name->body <= PX_BODY_HEAD) ? 4 : 0;
}

/* The lowest common ancestor of all branches of the body, or PELT_NONE. */
static uint32_t find_hips(const pelt_skeleton *skeleton, px_joint_name *names, bool legs) {
    uint8_t all = 0;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        all |= names[j].branches = branch_of(&names[j], legs);
    for (uint32_t j = skeleton->joint_count; j-- > 0;) {
        bool free = names[j].body == PX_BODY_NONE || (legs && names[j].body == PX_BODY_SPINE);
        if (names[j].branches == all && (all & (all - 1)))
            return free ? j : PELT_NONE;
        if (skeleton->parents[j] != PELT_NONE)
            names[skeleton->parents[j]].branches |= names[j].branches;
    }
    return PELT_NONE;
}

static const body_word *word_of(const px_joint_name *name) {
    return find_word(name->key, name->side != PX_BODY_MIDDLE);
}

void px_read_joint_names(const pelt_skeleton *skeleton, px_joint_name *names) {
    bool present[PX_BODY_COUNT] = {0};
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        read_name(skeleton->names[j], &names[j]);
        const body_word *word = word_of(&names[j]);
        if (!word || word->beside != PX_BODY_NONE)
            continue;
        names[j].body = word->body;
        present[word->body] = true;
    }
    bool legs = false;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        const body_word *word = word_of(&names[j]);
        if (word && word->beside != PX_BODY_NONE && word->beside != PX_BODY_HIPS)
            names[j].body = present[word->beside] ? word->body : word->instead;
        legs |= names[j].body == PX_BODY_THIGH;
    }
    if (present[PX_BODY_HIPS])
        return;
    uint32_t hips = find_hips(skeleton, names, legs);
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        const body_word *word = word_of(&names[j]);
        if (j == hips || (hips == PELT_NONE && word && word->beside == PX_BODY_HIPS))
            names[j].body = PX_BODY_HIPS;
    }
}
