/* BVH reader: a hierarchy of joints with their channels, then the channel values of each frame.
 *
 * A joint's rotation is the product of its rotation channels in file order: "Zrotation Xrotation Yrotation" is Rz · Rx
 * · Ry. Position channels are the joint's position relative to its parent: they replace its OFFSET, as exporters write
 * them. An End Site becomes a joint "PARENT_end" without channels, unless its offset is 0.
 */
#include "io/bvh.h"

#include "core/frames.h"
#include "core/rotation.h"

/* Channel kinds: positions 0 to 2, rotations 3 to 5. */
enum { FIRST_ROTATION = 3, CHANNEL_KINDS = 6 };

typedef struct bvh_joint {
    px_word name; /* end site: the name of its parent */
    bool end_site;
    uint32_t parent;
    double offset[3];
    uint32_t first_channel, channel_count;
} bvh_joint;

typedef struct reader {
    const px_read *read;
    px_words words;
    px_buffer joints;   /* bvh_joint */
    px_buffer channels; /* uint8_t, in file order */
    uint32_t current;   /* innermost joint whose braces are open, or PELT_NONE */
} reader;

static uint32_t joint_count(const reader *r) {
    return (uint32_t)(r->joints.size / sizeof(bvh_joint));
}

static bvh_joint *joint_at(const reader *r, uint32_t j) {
    return (bvh_joint *)(void *)r->joints.data + j;
}

/* ---- Hierarchy -------------------------------------------------------------------------------------------- */

static pelt_result add_joint(reader *r, px_word name, bool end_site) {
    if (joint_count(r) >= PX_BVH_MAX_JOINTS)
        return px_words_fail(&r->words, name, "more than %u joints", PX_BVH_MAX_JOINTS);
    bvh_joint joint = {.name = name, .end_site = end_site, .parent = r->current};
    joint.first_channel = (uint32_t)r->channels.size;
    px_buffer_add(&r->joints, &joint, sizeof joint);
    return r->joints.failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Reads the rest of the line up to a brace. Names may contain blanks. */
static px_word read_name(reader *r) {
    px_word name = px_words_line(&r->words);
    const char *brace = name.length ? memchr(name.text, '{', name.length) : NULL;
    if (!brace)
        return name;
    r->words.p = brace;
    name.length = (size_t)(brace - name.text);
    while (name.length && (name.text[name.length - 1] == ' ' || name.text[name.length - 1] == '\t'))
        name.length--;
    return name;
}

/* Reads "ROOT name {" or "JOINT name {". */
static pelt_result open_joint(reader *r) {
    px_word name = read_name(r);
    PX_TRY(px_words_expect(&r->words, "{"));
    PX_TRY(add_joint(r, name, false));
    r->current = joint_count(r) - 1;
    return PELT_OK;
}

static pelt_result read_end_site(reader *r) {
    PX_TRY(px_words_expect(&r->words, "Site"));
    read_name(r); /* some files name end sites */
    PX_TRY(px_words_expect(&r->words, "{"));
    PX_TRY(px_words_expect(&r->words, "OFFSET"));
    double offset[3];
    PX_TRY(px_words_numbers(&r->words, "the offset of an end site", offset, 3));
    PX_TRY(px_words_expect(&r->words, "}"));
    if (offset[0] == 0 && offset[1] == 0 && offset[2] == 0)
        return PELT_OK;
    PX_TRY(add_joint(r, joint_at(r, r->current)->name, true));
    memcpy(joint_at(r, joint_count(r) - 1)->offset, offset, sizeof offset);
    return PELT_OK;
}

static pelt_result read_channels(reader *r) {
    static const char *const names[CHANNEL_KINDS] = {"Xposition", "Yposition", "Zposition",
                                                     "Xrotation", "Yrotation", "Zrotation"};
    bvh_joint *joint = joint_at(r, r->current);
    double count;
    PX_TRY(px_words_number(&r->words, "a number of channels", &count));
    if (joint->channel_count || r->channels.size != joint->first_channel)
        return px_words_fail(&r->words, (px_word){0}, "the channels of a joint stand once, before its children");
    for (double c = 0; c < count; c++) {
        px_word word = px_words_next(&r->words);
        uint8_t kind = 0;
        while (kind < CHANNEL_KINDS && !px_word_is(word, names[kind]))
            kind++;
        if (kind == CHANNEL_KINDS)
            return px_words_fail(&r->words, word, "'%.*s' is no channel: there are [XYZ]position and [XYZ]rotation",
                                 PX_WORD_ARGS(word));
        px_buffer_add(&r->channels, &kind, 1);
        joint->channel_count++;
    }
    return r->channels.failed ? PELT_ERROR_MEMORY : PELT_OK;
}

static pelt_result read_statement(reader *r, px_word word) {
    bool inside = r->current != PELT_NONE;
    if (px_word_is(word, inside ? "JOINT" : "ROOT"))
        return open_joint(r);
    if (inside && px_word_is(word, "OFFSET"))
        return px_words_numbers(&r->words, "an offset", joint_at(r, r->current)->offset, 3);
    if (inside && px_word_is(word, "CHANNELS"))
        return read_channels(r);
    if (inside && px_word_is(word, "End"))
        return read_end_site(r);
    if (inside && px_word_is(word, "}")) {
        r->current = joint_at(r, r->current)->parent;
        return PELT_OK;
    }
    return px_words_fail(&r->words, word, "'%.*s' is not expected here", PX_WORD_ARGS(word));
}

/* Reads up to the word MOTION or the end of the file; *motion is true for MOTION. */
static pelt_result read_hierarchy(reader *r, bool *motion) {
    PX_TRY(px_words_expect(&r->words, "HIERARCHY"));
    *motion = false;
    r->current = PELT_NONE;
    for (px_word word; !*motion && (word = px_words_next(&r->words)).length;) {
        *motion = r->current == PELT_NONE && px_word_is(word, "MOTION");
        if (!*motion)
            PX_TRY(read_statement(r, word));
    }
    if (r->current != PELT_NONE)
        return px_words_fail(&r->words, (px_word){0}, "the file ends inside of joint '%.*s'",
                             PX_WORD_ARGS(joint_at(r, r->current)->name));
    if (joint_count(r) == 0)
        return px_fail(r->read->context, PELT_ERROR_INPUT, "holds no joints");
    return PELT_OK;
}

static pelt_result build_skeleton(reader *r) {
    PX_TRY(px_joints_begin(r->read->model, joint_count(r)));
    for (uint32_t j = 0; j < joint_count(r); j++) {
        const bvh_joint *joint = joint_at(r, j);
        const char *suffix = joint->end_site ? PX_JOINT_END : "";
        PX_TRY(px_joints_add(r->read->model, joint->name, suffix, joint->parent, joint->offset));
    }
    return PELT_OK;
}

/* ---- Motion ----------------------------------------------------------------------------------------------- */

/* Reads one joint's channels of one frame. */
static pelt_result read_joint_frame(reader *r, const bvh_joint *joint, float *translation, float *rotation) {
    const uint8_t *channels = (const uint8_t *)r->channels.data + joint->first_channel;
    px_rotation turn = px_rotation_identity();
    for (int c = 0; translation && c < 3; c++)
        translation[c] = (float)joint->offset[c];
    for (uint32_t c = 0; c < joint->channel_count; c++) {
        double value;
        PX_TRY(px_words_number(&r->words, "a channel's value", &value));
        if (channels[c] < FIRST_ROTATION)
            translation[channels[c]] = (float)value;
        else
            turn = px_rotation_mul(turn, px_rotation_about(channels[c] - FIRST_ROTATION, value * PX_DEGREE));
    }
    if (rotation)
        px_rotation_store(turn, rotation);
    return PELT_OK;
}

static pelt_result read_frames(reader *r, px_frames *frames, double frame_time) {
    for (uint32_t k = 0; k < frames->frame_count; k++) {
        if (k % 256 == 0)
            PX_TRY(px_progress(r->read->context, "read", k, frames->frame_count));
        frames->times[k] = (float)(k * frame_time);
        for (uint32_t j = 0; j < joint_count(r); j++) {
            float *translation = frames->translations[j], *rotation = frames->rotations[j];
            PX_TRY(read_joint_frame(r, joint_at(r, j), translation ? translation + (size_t)3 * k : NULL,
                                    rotation ? rotation + (size_t)4 * k : NULL));
        }
    }
    px_word rest = px_words_next(&r->words);
    if (rest.length)
        px_log(r->read->context, PELT_LOG_WARNING, "what stands behind frame %u, the last promised one, is left out",
               frames->frame_count);
    return PELT_OK;
}

/* Reads "Frames: n" and "Frame Time: t". */
static pelt_result read_motion_header(reader *r, uint32_t *frame_count, double *frame_time) {
    double count;
    PX_TRY(px_words_expect(&r->words, "Frames:"));
    PX_TRY(px_words_number(&r->words, "the number of frames", &count));
    PX_TRY(px_words_expect(&r->words, "Frame"));
    PX_TRY(px_words_expect(&r->words, "Time:"));
    PX_TRY(px_words_number(&r->words, "the frame time", frame_time));
    size_t room = (size_t)(r->words.end - r->words.p) / 2; /* a number and its separator take at least two bytes */
    if (!(count >= 0 && count * (double)r->channels.size <= (double)room + 1 && count < PELT_NONE))
        return px_fail(r->read->context, PELT_ERROR_INPUT,
                       "promises %g frames of %zu channels; the file is too short for them", count, r->channels.size);
    *frame_count = (uint32_t)count;
    if (*frame_time > 0 || *frame_count < 2)
        return PELT_OK;
    px_log(r->read->context, PELT_LOG_WARNING, "the frame time is %g; taken as %g frames per second", *frame_time,
           px_read_motion_fps(r->read));
    *frame_time = 1 / px_read_motion_fps(r->read);
    return PELT_OK;
}

static pelt_result read_motion(reader *r) {
    uint32_t frame_count = 0;
    double frame_time = 0;
    PX_TRY(read_motion_header(r, &frame_count, &frame_time));
    if (frame_count == 0 || r->channels.size == 0)
        return PELT_OK;
    uint8_t *moves = PX_NEW(r->read->model->memory, uint8_t, joint_count(r));
    const char *name = px_read_name(r->read);
    if (!moves || !name)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < joint_count(r); j++)
        for (uint32_t c = 0; c < joint_at(r, j)->channel_count; c++) {
            uint8_t kind = (uint8_t)r->channels.data[joint_at(r, j)->first_channel + c];
            moves[j] |= kind < FIRST_ROTATION ? PX_MOVES_TRANSLATION : PX_MOVES_ROTATION;
        }
    px_frames frames;
    PX_TRY(px_frames_create(r->read->model, moves, frame_count, &frames));
    PX_TRY(read_frames(r, &frames, frame_time));
    return px_frames_add_motion(r->read->model, &frames, name);
}

static pelt_result read_all(reader *r) {
    bool motion = false;
    PX_TRY(px_words_begin(r->read, 0, &r->words));
    PX_TRY(read_hierarchy(r, &motion));
    PX_TRY(build_skeleton(r));
    return motion ? read_motion(r) : PELT_OK;
}

static pelt_result read_bvh(const px_read *read) {
    reader r = {.read = read, .joints.context = read->context, .channels.context = read->context};
    pelt_result result = read_all(&r);
    px_buffer_free(&r.joints);
    px_buffer_free(&r.channels);
    return result;
}

static bool sniff(const uint8_t *data, size_t size) {
    static const char magic[] = "HIERARCHY";
    size_t first = size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (first < size && (data[first] == ' ' || data[first] == '\n' || data[first] == '\r' || data[first] == '\t'))
        first++;
    return size - first > strlen(magic) && memcmp(data + first, magic, strlen(magic)) == 0;
}

const px_format px_format_bvh = {
    .info = {"BVH", "bvh", "Biovision skeleton and motion", PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_RIG},
    .sniff = sniff,
    .read = read_bvh,
    .write = px_bvh_write,
};
