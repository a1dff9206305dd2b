/* Pairs of left and right joints.
 *
 * First by name: find all tokens that may denote a side, the words left and right anywhere, lft and rgt and the letters
 * l and r only at word boundaries. A false token does no harm, because a joint with the swapped name must exist. Joints
 * without such a name are paired by position: the mirrored position must be that of another joint, and the parents must
 * be compatible (see parents_agree).
 */
#include "weights/weights.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

/* Tolerance of mirrored positions, relative to the diagonal of the joints' bounding box. */
#define POSITION_TOLERANCE 0.01

/* ---- Names ------------------------------------------------------------------------------------------------ */

typedef struct token {
    size_t at, length;
    const char *other; /* the replacement in the counterpart's name */
    px_joint_side side;
} token;
#define MAX_TOKENS 8u

typedef struct side_word {
    const char *left, *right;
    bool anywhere; /* false: only at word boundaries */
} side_word;
static const side_word side_words[] = {{"left", "right", true}, {"lft", "rgt", false}, {"l", "r", false}};

/* True when a word may begin at `at`: L_arm, arm_L, arm01L, armL. */
static bool begins(const char *name, size_t at) {
    unsigned char before = at ? (unsigned char)name[at - 1] : '_', own = (unsigned char)name[at];
    return !isalpha(before) || (islower(before) && isupper(own));
}

/* True when a word may end before `end`: arm_l, l_arm, lArm, LArm. */
static bool ends(const char *name, size_t end) {
    unsigned char own = (unsigned char)name[end - 1], after = (unsigned char)name[end];
    return !isalpha(after) || (isupper(after) && (islower(own) || end == 1));
}

static bool match_word(const char *name, size_t at, const side_word *word, px_joint_side side, token *out) {
    const char *own = side == PX_SIDE_LEFT ? word->left : word->right;
    size_t length = strlen(own);
    if (strncasecmp(name + at, own, length) != 0)
        return false;
    if (!word->anywhere && !(begins(name, at) && ends(name, at + length)))
        return false;
    *out = (token){at, length, side == PX_SIDE_LEFT ? word->right : word->left, side};
    return true;
}

static size_t find_tokens(const char *name, token tokens[MAX_TOKENS]) {
    size_t count = 0;
    for (size_t at = 0; name[at] && count < MAX_TOKENS; at++)
        for (size_t w = 0; w < PX_COUNT(side_words); w++)
            if (match_word(name, at, &side_words[w], PX_SIDE_LEFT, &tokens[count]) ||
                match_word(name, at, &side_words[w], PX_SIDE_RIGHT, &tokens[count])) {
                at += tokens[count++].length - 1;
                break;
            }
    return count;
}

/* The name with these tokens replaced; its case is not preserved, since the look-up ignores case. */
static void swap_tokens(px_buffer *out, const char *name, const token *tokens, size_t count) {
    size_t at = 0;
    out->size = 0;
    for (size_t t = 0; t < count; t++) {
        px_buffer_add(out, name + at, tokens[t].at - at);
        px_buffer_text(out, tokens[t].other);
        at = tokens[t].at + tokens[t].length;
    }
    px_buffer_add(out, name + at, strlen(name + at) + 1);
}

/* ---- Joints ----------------------------------------------------------------------------------------------- */

typedef struct named {
    const char *name;
    uint32_t joint;
} named;

typedef struct pairing {
    const pelt_skeleton *skeleton;
    const float *positions;
    px_mirror_plane plane;
    double tolerance;
    named *sorted; /* [joint] sorted by name, ignoring case */
    uint32_t *pairs;
    px_joint_side *sides; /* or NULL */
} pairing;

static int compare_named(const void *a, const void *b) {
    const named *l = a, *r = b;
    int order = strcasecmp(l->name, r->name);
    return order ? order : (l->joint > r->joint) - (l->joint < r->joint);
}

/* Distance of joint b from the mirrored position of joint a. */
static double miss(const pairing *p, uint32_t a, uint32_t b) {
    double square = 0;
    for (uint32_t c = 0; c < 3; c++) {
        double mine = (double)p->positions[3 * (size_t)a + c], other = (double)p->positions[3 * (size_t)b + c];
        double off = (c == p->plane.axis ? 2 * p->plane.at - mine : mine) - other;
        square += off * off;
    }
    return sqrt(square);
}

/* The unpaired joint with this name; of several, the nearest to the mirrored position. Else PELT_NONE. */
static uint32_t find_named(const pairing *p, const char *name, uint32_t joint) {
    uint32_t low = 0, high = p->skeleton->joint_count, best = PELT_NONE;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcasecmp(p->sorted[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->skeleton->joint_count && strcasecmp(p->sorted[low].name, name) == 0; low++) {
        uint32_t other = p->sorted[low].joint;
        if (other != joint && p->pairs[other] == PELT_NONE &&
            (best == PELT_NONE || miss(p, joint, other) < miss(p, joint, best)))
            best = other;
    }
    return best;
}

static void set_pair(pairing *p, uint32_t a, uint32_t b, px_joint_side side) {
    static const px_joint_side across[] = {PX_SIDE_NONE, PX_SIDE_RIGHT, PX_SIDE_LEFT};
    p->pairs[a] = b;
    p->pairs[b] = a;
    if (p->sides) {
        p->sides[a] = side;
        p->sides[b] = across[side];
    }
}

/* Pairs joints by name: tries all tokens of a name swapped, then each token alone. */
static pelt_result pair_names(pelt_context *context, pairing *p) {
    px_buffer text = {.context = context};
    for (uint32_t j = 0; j < p->skeleton->joint_count && !text.failed; j++) {
        const char *name = p->skeleton->names[j];
        token tokens[MAX_TOKENS];
        size_t count = p->pairs[j] == PELT_NONE ? find_tokens(name, tokens) : 0;
        for (size_t t = 0; t <= count && count > 0 && p->pairs[j] == PELT_NONE; t++) {
            const token *first = t ? &tokens[t - 1] : tokens;
            swap_tokens(&text, name, first, t ? 1 : count);
            uint32_t other = text.failed ? PELT_NONE : find_named(p, text.data, j);
            if (other != PELT_NONE)
                set_pair(p, j, other, first->side);
        }
    }
    bool failed = text.failed;
    px_buffer_free(&text);
    return failed ? PELT_ERROR_MEMORY : PELT_OK;
}

static bool parents_agree(const pairing *p, uint32_t a, uint32_t b) {
    uint32_t parent = p->skeleton->parents[a], other = p->skeleton->parents[b];
    return parent == PELT_NONE || p->pairs[parent] == PELT_NONE ? parent == other || other == PELT_NONE
                                                                : p->pairs[parent] == other;
}

/* Pairs the remaining joints by position; parents precede children, so their pairs are known. A joint on the plane is
 * its own counterpart. */
static void pair_places(pairing *p) {
    for (uint32_t j = 0; j < p->skeleton->joint_count; j++) {
        if (p->pairs[j] != PELT_NONE)
            continue;
        uint32_t best = miss(p, j, j) <= p->tolerance ? j : PELT_NONE;
        for (uint32_t other = j + 1; best != j && other < p->skeleton->joint_count; other++)
            if (p->pairs[other] == PELT_NONE && parents_agree(p, j, other) && miss(p, j, other) <= p->tolerance &&
                (best == PELT_NONE || miss(p, j, other) < miss(p, j, best)))
                best = other;
        if (best != PELT_NONE)
            set_pair(p, j, best, PX_SIDE_NONE);
    }
}

pelt_result px_mirror_joints(pelt_context *context, const pelt_skeleton *skeleton, const float *positions,
                             px_mirror_plane plane, uint32_t *pairs, px_joint_side *sides) {
    uint32_t count = skeleton->joint_count;
    float low[3], high[3];
    pairing p = {skeleton, positions, plane, POSITION_TOLERANCE * px_box(positions, count, low, high),
                 NULL,     pairs,     sides};
    if (!(p.sorted = PX_ALLOC(context, named, count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < count; j++) {
        p.sorted[j] = (named){skeleton->names[j], j};
        pairs[j] = PELT_NONE;
        if (sides)
            sides[j] = PX_SIDE_NONE;
    }
    px_sort(p.sorted, count, sizeof *p.sorted, compare_named);
    pelt_result result = pair_names(context, &p);
    px_free(context, p.sorted);
    if (result == PELT_OK)
        pair_places(&p);
    return result;
}
