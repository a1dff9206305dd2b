/* Reader for Acclaim skeletons (ASF), with the conventions of CMU's motion capture database.
 *
 * A bone has a direction and a length in world axes; its children begin at its tip. It becomes a joint at its base with
 * an identity rest rotation. A leaf bone gets a further joint NAME_end at its tip. A bone moves about its own axes:
 * with C the rotation given by `axis` and M the motion, the joint's rotation is C · M · C⁻¹. Angles in the order "XYZ"
 * rotate about x first: Rz · Ry · Rx. Lengths, also those of an AMC, are divided by `length` of :units.
 */
#include "io/asf.h"

#include "io/joints.h"

#define MAX_BONES 4096u

typedef struct file_bone {
    px_word name;
    double direction[3], length;
    double axis[3];        /* Euler angles of `axis`; root: `orientation` */
    uint8_t axis_order[3]; /* axes in order of application */
    uint8_t freedoms[PX_ASF_FREEDOMS];
    uint32_t freedom_count;
    uint32_t parent;                                /* PELT_NONE: the root, or not (yet) in the hierarchy */
    uint32_t first_child, last_child, next_sibling; /* bones, or PELT_NONE */
    uint32_t joint;                                 /* joint of the model */
} file_bone;

typedef struct reader {
    const px_read *read;
    px_words words;
    px_buffer bones; /* file_bone, the root first */
    double length_unit, angle_unit;
    double position[3]; /* position of the root */
} reader;

static uint32_t bone_count(const reader *r) {
    return (uint32_t)(r->bones.size / sizeof(file_bone));
}

static file_bone *bone_at(const reader *r, uint32_t b) {
    return (file_bone *)(void *)r->bones.data + b;
}

static pelt_result add_bone(reader *r, px_word name) {
    if (bone_count(r) >= MAX_BONES)
        return px_words_fail(&r->words, name, "more than %u bones", MAX_BONES);
    file_bone bone = {.name = name, .axis_order = {0, 1, 2}};
    bone.parent = bone.first_child = bone.last_child = bone.next_sibling = PELT_NONE;
    px_buffer_add(&r->bones, &bone, sizeof bone);
    return r->bones.failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Reads the next word. Returns false at the beginning of a section (":name") and at the end. */
static bool next_in_section(reader *r, px_word *word) {
    *word = px_words_next(&r->words);
    if (word->length && word->text[0] != ':')
        return true;
    r->words.p = word->text;
    return false;
}

/* ---- Values ----------------------------------------------------------------------------------------------- */

/* Reads an axis order such as "XYZ". */
static pelt_result read_axis_order(reader *r, uint8_t order[3]) {
    px_word word = px_words_next_in_line(&r->words);
    unsigned seen = 0;
    for (size_t a = 0; word.length == 3 && a < 3; a++) {
        order[a] = (uint8_t)((word.text[a] | 32) - 'x');
        seen |= order[a] < 3 ? 1u << order[a] : 0;
    }
    if (seen == 7)
        return PELT_OK;
    return px_words_fail(&r->words, word, "'%.*s' is no order of axes like XYZ", PX_WORD_ARGS(word));
}

/* Reads the rest of the line: "TX TY TZ RX RY RZ", "rx rz", "l". */
static pelt_result read_freedoms(reader *r, file_bone *bone) {
    static const char *const names[PX_ASF_FREEDOMS] = {"tx", "ty", "tz", "rx", "ry", "rz", "l"};
    bone->freedom_count = 0;
    for (px_word word; (word = px_words_next_in_line(&r->words)).length;) {
        uint8_t kind = 0;
        while (kind < PX_ASF_FREEDOMS && !px_word_is(word, names[kind]))
            kind++;
        bool fresh = kind < PX_ASF_FREEDOMS;
        for (uint32_t f = 0; f < bone->freedom_count; f++)
            fresh &= bone->freedoms[f] != kind;
        if (!fresh)
            return px_words_fail(&r->words, word, "'%.*s' is no degree of freedom, or is there twice",
                                 PX_WORD_ARGS(word));
        bone->freedoms[bone->freedom_count++] = kind;
    }
    return PELT_OK;
}

/* ---- Sections --------------------------------------------------------------------------------------------- */

static pelt_result read_units(reader *r) {
    for (px_word word; next_in_section(r, &word);) {
        if (px_word_is(word, "length")) {
            PX_TRY(px_words_number(&r->words, "the unit of length", &r->length_unit));
            if (!(r->length_unit > 1e-6 && r->length_unit < 1e6))
                return px_words_fail(&r->words, word, "a unit of length of %g is none", r->length_unit);
        } else if (px_word_is(word, "angle")) {
            px_word unit = px_words_next(&r->words);
            r->angle_unit = px_word_is(unit, "rad") || px_word_is(unit, "radians") ? 1 : PX_DEGREE;
        } else {
            px_words_line(&r->words);
        }
    }
    return PELT_OK;
}

static pelt_result read_root(reader *r) {
    file_bone *root = bone_at(r, 0);
    for (px_word word; next_in_section(r, &word);) {
        if (px_word_is(word, "order"))
            PX_TRY(read_freedoms(r, root));
        else if (px_word_is(word, "axis"))
            PX_TRY(read_axis_order(r, root->axis_order));
        else if (px_word_is(word, "position"))
            PX_TRY(px_words_numbers(&r->words, "the root's position", r->position, 3));
        else if (px_word_is(word, "orientation"))
            PX_TRY(px_words_numbers(&r->words, "the root's orientation", root->axis, 3));
        else
            px_words_line(&r->words);
    }
    return PELT_OK;
}

/* Reads a bone from after "begin" to "end". */
static pelt_result read_bone(reader *r) {
    PX_TRY(add_bone(r, (px_word){0}));
    file_bone *bone = bone_at(r, bone_count(r) - 1);
    for (px_word word; next_in_section(r, &word);) {
        if (px_word_is(word, "end"))
            break;
        if (px_word_is(word, "name"))
            bone->name = px_words_next_in_line(&r->words);
        else if (px_word_is(word, "direction"))
            PX_TRY(px_words_numbers(&r->words, "a direction", bone->direction, 3));
        else if (px_word_is(word, "length"))
            PX_TRY(px_words_number(&r->words, "a length", &bone->length));
        else if (px_word_is(word, "dof"))
            PX_TRY(read_freedoms(r, bone));
        else if (px_word_is(word, "axis")) {
            PX_TRY(px_words_numbers(&r->words, "an axis", bone->axis, 3));
            PX_TRY(read_axis_order(r, bone->axis_order));
        } else
            px_words_line(&r->words); /* id, limits and extensions */
    }
    if (bone->name.length == 0)
        return px_words_fail(&r->words, (px_word){0}, "a bone ends here that has no name");
    return PELT_OK;
}

static pelt_result read_bones(reader *r) {
    for (px_word word; next_in_section(r, &word);) {
        if (!px_word_is(word, "begin"))
            return px_words_fail(&r->words, word, "'%.*s' stands where 'begin' should", PX_WORD_ARGS(word));
        PX_TRY(read_bone(r));
    }
    return PELT_OK;
}

static pelt_result find_bone(const reader *r, px_word name, uint32_t *bone) {
    for (*bone = 0; *bone < bone_count(r); ++*bone) {
        px_word other = bone_at(r, *bone)->name;
        if (other.length == name.length && memcmp(other.text, name.text, name.length) == 0)
            return PELT_OK;
    }
    return px_words_fail(&r->words, name, "there is no bone '%.*s'", PX_WORD_ARGS(name));
}

/* Reads "parent child child …". */
static pelt_result read_family(reader *r, px_word parent_name) {
    uint32_t parent, child;
    PX_TRY(find_bone(r, parent_name, &parent));
    for (px_word word; (word = px_words_next_in_line(&r->words)).length;) {
        PX_TRY(find_bone(r, word, &child));
        file_bone *bone = bone_at(r, child), *above = bone_at(r, parent);
        if (child == 0 || bone->parent != PELT_NONE)
            return px_words_fail(&r->words, word, "bone '%.*s' has a parent already", PX_WORD_ARGS(word));
        bone->parent = parent;
        if (above->last_child == PELT_NONE)
            above->first_child = child;
        else
            bone_at(r, above->last_child)->next_sibling = child;
        above->last_child = child;
    }
    return PELT_OK;
}

static pelt_result read_hierarchy(reader *r) {
    for (px_word word; next_in_section(r, &word);)
        if (!px_word_is(word, "begin") && !px_word_is(word, "end"))
            PX_TRY(read_family(r, word));
    return PELT_OK;
}

/* Skips free text. Only a section name at the beginning of a line ends it. */
static void skip_section(reader *r) {
    for (px_word word; next_in_section(r, &word);)
        px_words_line(&r->words);
}

static pelt_result read_sections(reader *r) {
    for (px_word word; (word = px_words_next(&r->words)).length;) {
        if (px_word_is(word, ":units"))
            PX_TRY(read_units(r));
        else if (px_word_is(word, ":root"))
            PX_TRY(read_root(r));
        else if (px_word_is(word, ":bonedata"))
            PX_TRY(read_bones(r));
        else if (px_word_is(word, ":hierarchy"))
            PX_TRY(read_hierarchy(r));
        else if (word.text[0] == ':')
            skip_section(r);
        else
            return px_words_fail(&r->words, word, "'%.*s' stands where a section (':bonedata') should begin",
                                 PX_WORD_ARGS(word));
    }
    return PELT_OK;
}

/* ---- The model -------------------------------------------------------------------------------------------- */

static bool has_tip(const file_bone *bone) {
    return bone->parent != PELT_NONE && bone->first_child == PELT_NONE && bone->length != 0;
}

/* Adds the bone's joint at its parent's tip, and an end joint at its own tip if the bone is a leaf. */
static pelt_result add_bone_joints(const reader *r, file_bone *bone) {
    pelt_model *model = r->read->model;
    const file_bone *parent = bone->parent == PELT_NONE ? NULL : bone_at(r, bone->parent);
    double place[3], tip[3];
    for (int c = 0; c < 3; c++) {
        place[c] = (parent ? parent->direction[c] * parent->length : r->position[c]) / r->length_unit;
        tip[c] = bone->direction[c] * bone->length / r->length_unit;
    }
    bone->joint = model->skeleton.joint_count;
    PX_TRY(px_joints_add(model, bone->name, "", parent ? parent->joint : PELT_NONE, place));
    return has_tip(bone) ? px_joints_add(model, bone->name, PX_JOINT_END, bone->joint, tip) : PELT_OK;
}

/* Depth-first traversal from the root: parents precede their children. */
static pelt_result build_skeleton(const reader *r) {
    uint32_t count = bone_count(r), reached = 0;
    PX_TRY(px_joints_begin(r->read->model, 2 * count));
    for (uint32_t b = 1; b < count; b++)
        bone_at(r, b)->joint = PELT_NONE;
    for (uint32_t b = 0; b != PELT_NONE; reached++) {
        PX_TRY(add_bone_joints(r, bone_at(r, b)));
        if (bone_at(r, b)->first_child != PELT_NONE) {
            b = bone_at(r, b)->first_child;
            continue;
        }
        while (b != PELT_NONE && bone_at(r, b)->next_sibling == PELT_NONE)
            b = bone_at(r, b)->parent;
        b = b == PELT_NONE ? b : bone_at(r, b)->next_sibling;
    }
    for (uint32_t b = 1; b < count && reached < count; b++)
        if (bone_at(r, b)->joint == PELT_NONE)
            return px_fail(r->read->context, PELT_ERROR_INPUT, "bone '%.*s' does not hang from the root in :hierarchy",
                           PX_WORD_ARGS(bone_at(r, b)->name));
    return PELT_OK;
}

static px_rotation axes_of(const reader *r, const file_bone *bone) {
    px_rotation axes = px_rotation_identity();
    for (int a = 0; a < 3; a++) {
        int axis = bone->axis_order[a];
        axes = px_rotation_mul(px_rotation_about(axis, bone->axis[axis] * r->angle_unit), axes);
    }
    return axes;
}

/* The order of rotations: the root's from its `axis`, that of other bones from their `dof`. */
static void find_turns(const file_bone *from, bool is_root, px_asf_bone *bone) {
    for (uint32_t a = 0; is_root && a < 3; a++)
        for (uint32_t f = 0; f < from->freedom_count; f++)
            if (from->freedoms[f] == PX_ASF_ROTATION + from->axis_order[a])
                bone->turns[bone->turn_count++] = from->axis_order[a];
    for (uint32_t f = 0; !is_root && f < from->freedom_count; f++)
        if (from->freedoms[f] >= PX_ASF_ROTATION && from->freedoms[f] < PX_ASF_LENGTH)
            bone->turns[bone->turn_count++] = (uint8_t)(from->freedoms[f] - PX_ASF_ROTATION);
}

/* Stores the data that motions of the skeleton need. */
static pelt_result build_document(const reader *r) {
    pelt_model *model = r->read->model;
    px_document *document = PX_NEW(model->memory, px_document, 1);
    px_asf *asf = PX_NEW(model->memory, px_asf, 1);
    px_asf_bone *bones = PX_NEW(model->memory, px_asf_bone, bone_count(r));
    pelt_transform *rest = PX_NEW(model->memory, pelt_transform, model->skeleton.joint_count);
    if (!document || !asf || !bones || !rest)
        return PELT_ERROR_MEMORY;
    memcpy(rest, model->skeleton.rest, model->skeleton.joint_count * sizeof *rest);
    *asf = (px_asf){.bone_count = bone_count(r),
                    .bones = bones,
                    .unit = 1 / r->length_unit,
                    .angle = r->angle_unit,
                    .rest = rest,
                    .space = {.scale = 1}};
    for (uint32_t b = 0; b < asf->bone_count; b++) {
        const file_bone *from = bone_at(r, b);
        bones[b] = (px_asf_bone){.name = model->skeleton.names[from->joint], .joint = from->joint};
        bones[b].freedom_count = from->freedom_count;
        memcpy(bones[b].freedoms, from->freedoms, sizeof from->freedoms);
        bones[b].axes = axes_of(r, from);
        find_turns(from, b == 0, &bones[b]);
    }
    *document = (px_document){px_format_asf.info.name, asf};
    model->document = document;
    return PELT_OK;
}

static pelt_result read_all(reader *r) {
    PX_TRY(px_words_begin(r->read, '#', &r->words));
    PX_TRY(add_bone(r, (px_word){"root", 4}));
    PX_TRY(read_sections(r));
    if (bone_count(r) < 2)
        return px_fail(r->read->context, PELT_ERROR_INPUT, "holds no bones");
    PX_TRY(build_skeleton(r));
    return build_document(r);
}

pelt_result px_asf_read(const px_read *read) {
    reader r = {.read = read, .bones.context = read->context, .length_unit = 1, .angle_unit = PX_DEGREE};
    pelt_result result = read_all(&r);
    px_buffer_free(&r.bones);
    return result;
}

px_asf *px_asf_of(const pelt_model *model) {
    const px_document *document = model->document;
    return document && strcmp(document->format, px_format_asf.info.name) == 0 ? document->data : NULL;
}

void px_asf_turned(const pelt_model *model, const px_space *space) {
    px_asf *asf = px_asf_of(model);
    if (asf)
        asf->space = *space;
}

const px_format px_format_asf = {
    .info = {"ASF", "asf", "Acclaim skeleton, for AMC motions", PELT_FORMAT_READ | PELT_FORMAT_RIG},
    .read = px_asf_read,
};
