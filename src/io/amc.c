/* Reader for Acclaim motions (AMC): frames of bones with one number per degree of freedom, for the skeleton of an ASF
 * file. The format has no times; frames are numbered. */
#include "io/asf.h"

#include "core/frames.h"

#include <ctype.h>

typedef struct reader {
    const px_read *read;
    px_words words;
    const px_asf *asf;
    double angle;                      /* radians = angle · file angle */
    double (*values)[PX_ASF_FREEDOMS]; /* [bone][freedom] of the current frame; missing bones keep their values */
    px_frames frames;
    uint32_t next_bone; /* index of the bone that is expected next */
} reader;

/* ---- The skeleton in the same folder ---------------------------------------------------------------------- */

/* Rates how well the name of an .asf file matches: 3 the same stem ("walk.asf" for "walk.amc"), 2 the same subject
 * ("07.asf" or "07-walk.asf" for "07_05.amc"), 1 any other .asf file, 0 not an .asf file. */
static int fit_of(const char *name, const char *motion) {
    size_t length = strlen(name), stem = strcspn(motion, "."), subject = strcspn(motion, "_.");
    if (length < 4 || !px_format_by_extension(name) || px_format_by_extension(name) != &px_format_asf)
        return 0;
    if (length == stem + 4 && strncmp(name, motion, stem) == 0)
        return 3;
    return subject && strncmp(name, motion, subject) == 0 && !isalnum((unsigned char)name[subject]) ? 2 : 1;
}

/* Finds the best-matching .asf file in the folder. *found is NULL if there is none or if two match equally well. */
static pelt_result find_skeleton(px_arena *arena, const char *path, const char **found) {
    const char *motion = px_path_name(path), *folder = px_arena_text(arena, path, (size_t)(motion - path));
    px_folder list;
    *found = NULL;
    if (!folder)
        return PELT_ERROR_MEMORY;
    if (!px_folder_open(&list, *folder ? folder : "."))
        return PELT_OK;
    pelt_result result = PELT_OK;
    int best = 0;
    for (const char *entry; result == PELT_OK && (entry = px_folder_next(&list));) {
        int fit = fit_of(entry, motion);
        if (fit == 0 || fit < best)
            continue;
        bool tie = fit == best;
        best = fit;
        char *name = px_arena_alloc(arena, strlen(folder) + strlen(entry) + 1, 1);
        if (!name)
            result = PELT_ERROR_MEMORY;
        else
            strcat(strcpy(name, folder), entry);
        *found = tie ? NULL : name;
    }
    px_folder_close(&list);
    return result;
}

static pelt_result read_skeleton(const px_read *read) {
    pelt_model *model = read->model;
    const char *path = NULL;
    if (!read->in_memory && model->skeleton.joint_count == 0 && model->mesh.vertex_count == 0)
        PX_TRY(find_skeleton(model->memory, read->file.path, &path));
    if (!path)
        return px_fail(
            read->context, PELT_ERROR_INPUT,
            "holds a motion alone; give its skeleton (.asf) in front of it, or put it beside it as the only one");
    px_log(read->context, PELT_LOG_INFO, "its skeleton is %s", path);
    px_read skeleton = *read;
    const char *previous = px_subject(read->context, path);
    pelt_result result = px_file_open(model->memory, path, &skeleton.file);
    if (result == PELT_OK)
        result = px_asf_read(&skeleton);
    px_subject(read->context, previous);
    return result;
}

/* ---- Frames ----------------------------------------------------------------------------------------------- */

static pelt_result find_bone(reader *r, px_word name, uint32_t *found) {
    for (uint32_t n = 0; n < r->asf->bone_count; n++) {
        uint32_t b = (r->next_bone + n) % r->asf->bone_count;
        if (strlen(r->asf->bones[b].name) != name.length || memcmp(r->asf->bones[b].name, name.text, name.length) != 0)
            continue;
        *found = b;
        r->next_bone = b + 1;
        return PELT_OK;
    }
    return px_words_fail(&r->words, name, "bone '%.*s' is not in the skeleton", PX_WORD_ARGS(name));
}

/* Reads "name number number …", one number per degree of freedom of the bone. */
static pelt_result read_bone(reader *r, px_word name) {
    uint32_t b = 0;
    PX_TRY(find_bone(r, name, &b));
    const px_asf_bone *bone = &r->asf->bones[b];
    for (uint32_t f = 0; f < bone->freedom_count; f++) {
        px_word word = px_words_next_in_line(&r->words);
        if (!px_word_number(word, &r->values[b][bone->freedoms[f]]))
            return px_words_fail(&r->words, name, "bone '%s' needs %u numbers, number %u is none", bone->name,
                                 bone->freedom_count, f + 1);
    }
    px_word more = px_words_next_in_line(&r->words);
    return more.length == 0 ? PELT_OK
                            : px_words_fail(&r->words, more, "bone '%s' has more than the %u numbers of its freedoms",
                                            bone->name, bone->freedom_count);
}

/* Stores the current values as frame k: translation = rest + C · t, rotation = C · M · C⁻¹. */
static void keep_frame(reader *r, uint32_t k) {
    const pelt_transform *rest = r->asf->rest;
    for (uint32_t b = 0; b < r->asf->bone_count; b++) {
        const px_asf_bone *bone = &r->asf->bones[b];
        const double *values = r->values[b];
        float *translation = r->frames.translations[bone->joint], *rotation = r->frames.rotations[bone->joint];
        if (translation) {
            double t[3] = {values[0], values[1], values[2]};
            if (b > 0) /* the root's translation is in world axes */
                px_rotation_apply(bone->axes, t, t);
            for (size_t c = 0; c < 3; c++)
                translation[(size_t)3 * k + c] = rest[bone->joint].translation[c] + (float)(t[c] * r->asf->unit);
        }
        px_rotation turn = px_rotation_identity();
        for (uint32_t t = 0; t < bone->turn_count; t++) {
            double angle = values[PX_ASF_ROTATION + bone->turns[t]] * r->angle;
            turn = px_rotation_mul(px_rotation_about(bone->turns[t], angle), turn);
        }
        turn = px_rotation_mul(px_rotation_mul(bone->axes, turn), px_rotation_inverse(bone->axes));
        if (rotation)
            px_rotation_store(turn, rotation + (size_t)4 * k);
    }
}

/* The first word of the next non-empty line. */
static px_word next_line(reader *r) {
    px_words_line(&r->words);
    return px_words_next(&r->words);
}

static pelt_result read_header(reader *r, px_word *word) {
    for (*word = px_words_next(&r->words); word->length && word->text[0] == ':'; *word = next_line(r)) {
        if (px_word_is(*word, ":DEGREES"))
            r->angle = PX_DEGREE;
        else if (px_word_is(*word, ":RADIANS"))
            r->angle = 1;
    }
    double number;
    if (px_word_number(*word, &number))
        return PELT_OK;
    return px_words_fail(&r->words, *word, "'%.*s' stands where the number of the first frame should",
                         PX_WORD_ARGS(*word));
}

/* Counts the frames: the lines that begin with a number. `word` is the number of the first frame. */
static uint32_t count_frames(const reader *r, px_word word) {
    reader ahead = *r;
    uint32_t count = 0;
    double number;
    for (; word.length && count < PELT_NONE - 1; word = next_line(&ahead))
        count += px_word_number(word, &number);
    return count;
}

static pelt_result read_frames(reader *r, px_word word) {
    double first, number, fps = px_read_motion_fps(r->read);
    px_word_number(word, &first);
    for (uint32_t k = 0; k < r->frames.frame_count; k++) {
        if (k % 256 == 0)
            PX_TRY(px_progress(r->read->context, "read", k, r->frames.frame_count));
        px_word_number(word, &number);
        r->frames.times[k] = (float)((number - first) / fps);
        if (k && !(r->frames.times[k] > r->frames.times[k - 1]))
            return px_words_fail(&r->words, word, "frame '%.*s' does not come after the one before it",
                                 PX_WORD_ARGS(word));
        for (word = next_line(r); word.length && !px_word_number(word, &number); word = next_line(r))
            PX_TRY(read_bone(r, word));
        keep_frame(r, k);
    }
    return PELT_OK;
}

/* Determines which joints the degrees of freedom of the skeleton move. */
static void find_moves(const reader *r, uint8_t *moves) {
    bool length = false;
    for (uint32_t b = 0; b < r->asf->bone_count; b++) {
        const px_asf_bone *bone = &r->asf->bones[b];
        for (uint32_t f = 0; f < bone->freedom_count; f++) {
            length |= bone->freedoms[f] == PX_ASF_LENGTH;
            moves[bone->joint] |= bone->freedoms[f] < PX_ASF_ROTATION ? PX_MOVES_TRANSLATION : 0;
        }
        moves[bone->joint] |= bone->turn_count ? PX_MOVES_ROTATION : 0;
    }
    if (length)
        px_log(r->read->context, PELT_LOG_WARNING, "bones that change their length keep it");
}

static pelt_result read_motion(reader *r) {
    pelt_model *model = r->read->model;
    PX_TRY(px_words_begin(r->read, '#', &r->words));
    r->angle = r->asf->angle;
    px_word word;
    PX_TRY(read_header(r, &word));
    uint32_t frame_count = count_frames(r, word);
    uint8_t *moves = PX_NEW(model->memory, uint8_t, model->skeleton.joint_count);
    const char *name = px_read_name(r->read);
    r->values = px_arena_alloc(model->memory, r->asf->bone_count, sizeof *r->values);
    if (!moves || !name || !r->values)
        return PELT_ERROR_MEMORY;
    find_moves(r, moves);
    PX_TRY(px_frames_create(model, moves, frame_count, &r->frames));
    PX_TRY(read_frames(r, word));
    PX_TRY(px_frames_add_motion(model, &r->frames, name));
    return px_space_motions(model, &r->asf->space, model->motion_count - 1);
}

static pelt_result read_amc(const px_read *read) {
    if (!px_asf_of(read->model))
        PX_TRY(read_skeleton(read));
    reader r = {.read = read, .asf = px_asf_of(read->model)};
    return read_motion(&r);
}

const px_format px_format_amc = {
    .info = {"AMC", "amc", "Acclaim motion, beside its ASF skeleton", PELT_FORMAT_READ | PELT_FORMAT_MOTION},
    .read = read_amc,
};
