/* Reads OBJ text into lists, in one pass over the file.
 *
 * Lines end in LF, CR or CRLF. A backslash before the line end continues a numeric statement; in names and comments it
 * is an ordinary character, since paths may end in it. Indices count from 1, or backwards from the last element so far.
 * They may refer to later elements, so their upper bound is checked at the end.
 */
#include "io/obj.h"

#include <ctype.h>
#include <math.h>

/* Number of bytes between two progress reports. */
#define REPORT_SIZE ((ptrdiff_t)8 << 20)

/* The highest index of an element that came later in the file, and the place of its use. */
typedef struct forward {
    uint64_t index;
    const char *place;
} forward;

typedef struct reader {
    pelt_context *context;
    const char *start, *end; /* the text, [start, end) */
    const char *p;           /* read position */
    obj_content content;
    obj_section names;                        /* current names; first_polygon is unused */
    bool names_changed;                       /* `names` changed since the last section began */
    forward points, uvs, normals;             /* references to elements that come later */
    size_t short_faces, elements, statements; /* ignored: faces of fewer than 3 corners; `l` and `p`; unknown */
    size_t odd_uvs, odd_normals;              /* not finite; without a direction */
} reader;

/* ---- Lines, blanks and words ------------------------------------------------------------------------------ */

static size_t line_of(const reader *r, const char *place) {
    size_t line = 1;
    for (const char *c = r->start; c < place; c++)
        line += *c == '\n' || (*c == '\r' && !(c + 1 < r->end && c[1] == '\n'));
    return line;
}

static inline bool is_line_end(char c) {
    return c == '\n' || c == '\r';
}

static inline bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

/* Skips a backslash and the line end after it. Returns false if no line end follows. */
static bool skip_continuation(reader *r) {
    const char *c = r->p + 1;
    if (c < r->end && *c == '\r')
        c++;
    if (c < r->end && *c == '\n')
        c++;
    if (c == r->p + 1)
        return false;
    r->p = c;
    return true;
}

static inline void skip_blanks(reader *r) {
    while (r->p < r->end) {
        if (is_blank(*r->p))
            r->p++;
        else if (*r->p != '\\' || !skip_continuation(r))
            return;
    }
}

/* Skips blanks. Returns whether the statement ends here. */
static inline bool at_end(reader *r) {
    skip_blanks(r);
    return r->p >= r->end || is_line_end(*r->p) || *r->p == '#';
}

/* Whether a word cannot contain the character at c. */
static inline bool is_word_end(const reader *r, const char *c) {
    return c >= r->end || is_blank(*c) || is_line_end(*c) || *c == '\\';
}

static void skip_line(reader *r) {
    while (r->p < r->end && !is_line_end(*r->p))
        r->p++;
}

/* Skips the rest of a numeric statement, including its continuation lines. */
static void skip_statement(reader *r) {
    while (r->p < r->end && !is_line_end(*r->p) && *r->p != '#')
        if (*r->p != '\\' || !skip_continuation(r))
            r->p++;
    skip_line(r);
}

/* Quotes the word at p for a message: "'1.2.3'". If it is not printable, returns a description. */
static const char *quote_word(const reader *r, char text[static 40]) {
    size_t length = 0;
    while (length < 30 && !is_word_end(r, r->p + length) && isprint((unsigned char)r->p[length]))
        length++;
    if (length == 0)
        return "a strange character";
    text[0] = '\'';
    memcpy(text + 1, r->p, length);
    memcpy(text + 1 + length, is_word_end(r, r->p + length) ? "'" : "…'", is_word_end(r, r->p + length) ? 2 : 5);
    return text;
}

/* ---- Numbers ---------------------------------------------------------------------------------------------- */

/* Handles text that is not a finite number: infinity and NaN give NAN, anything else fails. */
static pelt_result read_odd_number(reader *r, const char *what, int wanted, int got, float *value) {
    char word[40];
    if (at_end(r))
        return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: the %s has %d number%s, it needs %d", line_of(r, r->p),
                       what, got, got == 1 ? "" : "s", wanted);
    if (!px_is_not_finite(r->p, r->end))
        return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: %s in a %s is not a number", line_of(r, r->p),
                       quote_word(r, word), what);
    while (!is_word_end(r, r->p))
        r->p++;
    *value = NAN;
    return PELT_OK;
}

/* Reads `wanted` numbers. *finite is false if any is not finite. */
static inline pelt_result read_numbers(reader *r, const char *what, int wanted, float *values, bool *finite) {
    *finite = true;
    for (int i = 0; i < wanted; i++) {
        skip_blanks(r);
        double value;
        const char *next = px_parse_double(r->p, r->end, &value);
        if (next != r->p && is_word_end(r, next)) {
            values[i] = (float)value;
            r->p = next;
        } else {
            PX_TRY(read_odd_number(r, what, wanted, i, &values[i]));
        }
        *finite &= isfinite(values[i]) != 0;
    }
    return PELT_OK;
}

static pelt_result read_position(reader *r) {
    float *values = px_list_room(r->context, &r->content.mesh.positions, 3, sizeof *values);
    bool finite;
    if (!values)
        return PELT_ERROR_MEMORY;
    PX_TRY(read_numbers(r, "position", 3, values, &finite));
    if (!finite)
        return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: the position is not finite", line_of(r, r->p));
    r->content.mesh.positions.count += 3;
    return PELT_OK;
}

static pelt_result read_uv(reader *r) {
    float *values = px_list_room(r->context, &r->content.mesh.uvs, 2, sizeof *values);
    bool finite, second = true;
    if (!values)
        return PELT_ERROR_MEMORY;
    values[1] = 0; /* default for one-dimensional textures */
    PX_TRY(read_numbers(r, "texture coordinate", 1, values, &finite));
    if (!at_end(r))
        PX_TRY(read_numbers(r, "texture coordinate", 1, values + 1, &second));
    if (!finite || !second) {
        values[0] = values[1] = 0;
        r->odd_uvs++;
    }
    r->content.mesh.uvs.count += 2;
    return PELT_OK;
}

static pelt_result read_normal(reader *r) {
    float *values = px_list_room(r->context, &r->content.mesh.normals, 3, sizeof *values);
    bool finite;
    if (!values)
        return PELT_ERROR_MEMORY;
    PX_TRY(read_numbers(r, "normal", 3, values, &finite));
    if (!px_unit_normal(values))
        r->odd_normals++;
    r->content.mesh.normals.count += 3;
    return PELT_OK;
}

/* ---- Faces ------------------------------------------------------------------------------------------------ */

/* Reads the index of an element; `count` elements of its kind precede it. A negative index counts backwards from the
 * last of them. `ahead` records the highest index above `count`, which is checked at the end. */
static inline pelt_result read_index(reader *r, const char *what, uint64_t count, forward *ahead, uint32_t *index) {
    const char *place = r->p, *c = place;
    bool backwards = c < r->end && *c == '-';
    c += backwards;
    uint64_t value = 0;
    for (unsigned digit; c < r->end && (digit = (unsigned)(unsigned char)*c - '0') <= 9; c++)
        if (value < UINT64_C(1) << 40)
            value = value * 10 + digit;
    if (c == place + backwards) {
        char word[40];
        return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: %s is not the corner of a face", line_of(r, place),
                       quote_word(r, word));
    }
    if (value == 0)
        return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: the face uses %s 0, but they count from 1",
                       line_of(r, place), what);
    if (backwards && value > count)
        return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: the face uses %s -%llu, but only %llu stand before it",
                       line_of(r, place), what, (unsigned long long)value, (unsigned long long)count);
    if (value > count && value > ahead->index)
        *ahead = (forward){value, place};
    *index = (uint32_t)(backwards ? count - value + 1 : value);
    r->p = c;
    return PELT_OK;
}

/* Whether an index follows a slash: "1//2" and "1/" omit it. */
static inline bool has_index(const reader *r) {
    return !is_word_end(r, r->p) && *r->p != '/';
}

/* Reads a corner: "7", "7/2", "7//3" or "7/2/3". */
static inline pelt_result read_corner(reader *r, px_corner *corner) {
    obj_content *content = &r->content;
    *corner = (px_corner){0};
    PX_TRY(read_index(r, "vertex", content->mesh.positions.count / 3, &r->points, &corner->point));
    if (r->p < r->end && *r->p == '/') {
        r->p++;
        if (has_index(r))
            PX_TRY(read_index(r, "texture coordinate", content->mesh.uvs.count / 2, &r->uvs, &corner->uv));
    }
    if (r->p < r->end && *r->p == '/') {
        r->p++;
        if (has_index(r))
            PX_TRY(read_index(r, "normal", content->mesh.normals.count / 3, &r->normals, &corner->normal));
    }
    if (is_word_end(r, r->p) || *r->p == '#')
        return PELT_OK;
    char word[40];
    return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: %s follows the corner of a face", line_of(r, r->p),
                   quote_word(r, word));
}

/* Begins a section at the next polygon if the current names differ from those of the last section. */
static pelt_result begin_section(reader *r) {
    px_list *sections = &r->content.sections;
    r->names_changed = false;
    obj_section *section = px_list_room(r->context, sections, 1, sizeof *section);
    if (!section)
        return PELT_ERROR_MEMORY;
    const obj_section *last = section - 1;
    if (sections->count && px_text_equal(last->object, r->names.object) && px_text_equal(last->group, r->names.group) &&
        px_text_equal(last->material, r->names.material))
        return PELT_OK;
    *section = r->names;
    section->first_polygon = (uint32_t)r->content.mesh.polygons.count;
    sections->count++;
    return PELT_OK;
}

static pelt_result read_face(reader *r) {
    px_list *corners = &r->content.mesh.corners;
    size_t first = corners->count;
    while (!at_end(r)) {
        px_corner *corner = px_list_room(r->context, corners, 1, sizeof *corner);
        if (!corner)
            return PELT_ERROR_MEMORY;
        PX_TRY(read_corner(r, corner));
        corners->count++;
    }
    size_t count = corners->count - first;
    if (count < 3) {
        corners->count = first;
        r->short_faces++;
        return PELT_OK;
    }
    if (r->names_changed || r->content.sections.count == 0)
        PX_TRY(begin_section(r));
    uint32_t *polygon = px_list_room(r->context, &r->content.mesh.polygons, 1, sizeof *polygon);
    if (!polygon)
        return PELT_ERROR_MEMORY;
    *polygon = (uint32_t)count;
    r->content.mesh.polygons.count++;
    return PELT_OK;
}

/* ---- Names ------------------------------------------------------------------------------------------------ */

/* Reads the rest of the line, trimmed. data NULL: it is empty. */
static px_text read_name(reader *r) {
    while (r->p < r->end && is_blank(*r->p))
        r->p++;
    const char *first = r->p;
    skip_line(r);
    const char *last = r->p;
    while (last > first && is_blank(last[-1]))
        last--;
    return last > first ? (px_text){first, (size_t)(last - first)} : (px_text){0};
}

static pelt_result read_library(reader *r) {
    px_text *library = px_list_room(r->context, &r->content.libraries, 1, sizeof *library);
    if (!library)
        return PELT_ERROR_MEMORY;
    *library = read_name(r);
    r->content.libraries.count += library->data != NULL;
    return PELT_OK;
}

/* ---- Statements ------------------------------------------------------------------------------------------- */

/* Skips the keyword `word` if the statement begins with it; returns whether it does. */
static inline bool take_word(reader *r, const char *word, size_t length) {
    if ((size_t)(r->end - r->p) < length || memcmp(r->p, word, length) != 0 || !is_word_end(r, r->p + length))
        return false;
    r->p += length;
    return true;
}
#define TAKE(r, word) take_word(r, word, sizeof(word) - 1)

/* Reads any statement but `v`, `vt`, `vn` and `f`. */
static pelt_result read_other_statement(reader *r) {
    if (*r->p == '#') {
        skip_line(r);
    } else if (TAKE(r, "o")) {
        r->names.object = read_name(r);
        r->names.group = (px_text){0};
        r->names_changed = true;
    } else if (TAKE(r, "g")) {
        r->names.group = read_name(r);
        r->names_changed = true;
    } else if (TAKE(r, "usemtl")) {
        r->names.material = read_name(r);
        r->names_changed = true;
    } else if (TAKE(r, "mtllib")) {
        return read_library(r);
    } else if (TAKE(r, "l") || TAKE(r, "p")) {
        r->elements++;
        skip_statement(r);
    } else {
        r->statements += !TAKE(r, "s");
        skip_statement(r);
    }
    return PELT_OK;
}

static pelt_result read_statement(reader *r) {
    pelt_result result;
    if (TAKE(r, "v"))
        result = read_position(r);
    else if (TAKE(r, "f"))
        result = read_face(r);
    else if (TAKE(r, "vt"))
        result = read_uv(r);
    else if (TAKE(r, "vn"))
        result = read_normal(r);
    else
        return read_other_statement(r);
    if (result == PELT_OK && r->p < r->end && !is_line_end(*r->p))
        skip_statement(r); /* colours after a position, w, comments */
    return result;
}

static pelt_result read_text(reader *r) {
    const char *report_at = r->start + px_min_size((size_t)(r->end - r->start), (size_t)REPORT_SIZE);
    while (r->p < r->end) {
        if (is_blank(*r->p) || is_line_end(*r->p)) {
            r->p++;
            continue;
        }
        PX_TRY(read_statement(r));
        if (r->p >= report_at && r->p < r->end) {
            PX_TRY(px_progress(r->context, "read", (uint64_t)(r->p - r->start), (uint64_t)(r->end - r->start)));
            report_at = r->end - r->p > REPORT_SIZE ? r->p + REPORT_SIZE : r->end;
        }
    }
    return PELT_OK;
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

static pelt_result check_forward(reader *r, const forward *ahead, const char *what, size_t count) {
    if (ahead->index <= count)
        return PELT_OK;
    return px_fail(r->context, PELT_ERROR_INPUT, "line %zu: the face uses %s %llu, but the file holds %zu",
                   line_of(r, ahead->place), what, (unsigned long long)ahead->index, count);
}

static pelt_result check_content(reader *r) {
    const obj_content *c = &r->content;
    if (c->mesh.positions.count == 0)
        return px_fail(r->context, PELT_ERROR_INPUT, "holds no vertices");
    if (c->mesh.positions.count / 3 >= PELT_NONE || c->mesh.corners.count >= PELT_NONE ||
        c->mesh.uvs.count / 2 >= PELT_NONE || c->mesh.normals.count / 3 >= PELT_NONE)
        return px_fail(r->context, PELT_ERROR_UNSUPPORTED, "holds more than %u vertices or corners", PELT_NONE - 1);
    PX_TRY(check_forward(r, &r->points, "vertex", c->mesh.positions.count / 3));
    PX_TRY(check_forward(r, &r->uvs, "texture coordinate", c->mesh.uvs.count / 2));
    return check_forward(r, &r->normals, "normal", c->mesh.normals.count / 3);
}

static void tell_ignored(const reader *r) {
    static const char plural[] = "s";
    px_polygons_tell(r->context, r->short_faces, r->odd_uvs, r->odd_normals);
    if (r->elements)
        px_log(r->context, PELT_LOG_INFO, "%zu line and point element%s left out", r->elements,
               plural + (r->elements == 1));
    if (r->statements)
        px_log(r->context, PELT_LOG_INFO, "%zu unknown statement%s left out", r->statements,
               plural + (r->statements == 1));
}

pelt_result px_obj_read(const px_read *read) {
    pelt_context *context = read->context;
    const char *text = (const char *)read->file.data;
    size_t size = read->file.size;
    if (memchr(text, 0, px_min_size(size, 1024)))
        return px_fail(context, PELT_ERROR_INPUT, "is not text, as an OBJ file must be");
    reader r = {.context = context, .start = text, .p = text, .end = text + size};
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        r.p += 3; /* UTF-8 byte order mark */
    pelt_result result = read_text(&r);
    if (result == PELT_OK)
        result = check_content(&r);
    if (result == PELT_OK)
        tell_ignored(&r);
    if (result == PELT_OK)
        result = px_obj_build(context, read->model, &r.content);
    px_polygons_free(context, &r.content.mesh);
    px_free(context, r.content.sections.data);
    px_free(context, r.content.libraries.data);
    return result;
}
