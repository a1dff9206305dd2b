/* The program: what its files share. Only the library's public headers are used.
 *
 *   main.c      the table of verbs, signals, exit codes
 *   args.c      reading the command line by option tables
 *   inputs.c    positional arguments as inputs, choosing an animation
 *   values.c    a number for every vertex
 *   terminal.c  messages and the progress line
 *   json.c      writing JSON
 *   report.c    the end of a run: its report for programs, and the page of --report
 *   table.c     reports for people
 *   picture.c   what view draws
 *   page.c      pages for browsers
 *   help.c      help from the tables; completion.c and man.c: the same for shells and for man
 *   one file per verb
 */
#ifndef PELT_CLI_H
#define PELT_CLI_H

#include <pelt/pelt.h>

#include <stdarg.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef enum exit_code {
    EXIT_DONE = 0,
    EXIT_USAGE = 1,
    EXIT_INPUT = 2,
    EXIT_OUTPUT = 3,
    EXIT_QUALITY = 4, /* everything worked, but the result is worse than was asked for */
    EXIT_INTERRUPTED = 130
} exit_code;

typedef struct cli_session cli_session;

/* ---- Verbs ------------------------------------------------------------------------------------------------ */

/* A table of options in the verb's settings: its own rows, or a library's (pelt_load_options). A name that stands in
 * several tables of a verb is one option that sets all of them; help shows the first. */
typedef struct option_group {
    const char *title;                       /* heading in the help */
    const pelt_option_table *(*table)(void); /* its rows */
    size_t offset;                           /* of the table's desc struct in the settings */
} option_group;

typedef struct example {
    const char *command;
    const char *meaning;
} example;

typedef struct cli_verb {
    const char *name;
    const char *summary;        /* one line, no full stop */
    const char *usage;          /* "pelt bake RIG -o CACHE" */
    const char *about;          /* a paragraph or more, divided by empty lines; or NULL */
    const option_group *groups; /* without the common options */
    size_t group_count;
    size_t settings_size; /* of the struct that holds what the groups describe */
    const example *examples;
    size_t example_count;
    bool utility; /* about the program itself: apart in the overview, and without --report */
    exit_code (*run)(cli_session *session, const void *settings, const char *const *args, size_t arg_count);
} cli_verb;

/* The table of verbs. Adding one: a file that defines `const cli_verb verb_NAME`, and a line here. */
#define VERBS(X)                                                                                                       \
    X(info)                                                                                                            \
    X(convert)                                                                                                         \
    X(bake)                                                                                                            \
    X(decompose)                                                                                                       \
    X(bind)                                                                                                            \
    X(correct)                                                                                                         \
    X(edit)                                                                                                            \
    X(jiggle)                                                                                                          \
    X(light)                                                                                                           \
    X(pose)                                                                                                            \
    X(retarget)                                                                                                        \
    X(simplify)                                                                                                        \
    X(weights)                                                                                                         \
    X(compare)                                                                                                         \
    X(collide)                                                                                                         \
    X(study)                                                                                                           \
    X(view)                                                                                                            \
    X(help)                                                                                                            \
    X(version)                                                                                                         \
    X(completion)                                                                                                      \
    X(man)

#define VERB_DECLARATION(name) extern const cli_verb verb_##name;
VERBS(VERB_DECLARATION)
#undef VERB_DECLARATION

/* The verbs in order; NULL behind the last. */
const cli_verb *verb_at(size_t index);
const cli_verb *verb_find(const char *name);
/* As verb_find, else a usage error with the nearest name. */
exit_code verb_require(cli_session *session, const char *name, const cli_verb **out);

/* A function that returns the table of an array of rows, for option_group. */
#define OPTION_TABLE(function, rows)                                                                                   \
    const pelt_option_table *function(void) {                                                                          \
        static const pelt_option_table table = {NULL, rows, COUNT(rows)};                                              \
        return &table;                                                                                                 \
    }

/* ---- Session ---------------------------------------------------------------------------------------------- */

typedef struct cli_json {
    char *data;
    size_t size, capacity;
    uint32_t depth;
    bool comma; /* something stands before, on this level */
} cli_json;

typedef struct common_settings {
    bool quiet;
    bool verbose;
    bool help;
    const char *json_path;
    const char *page_path;
    uint32_t thread_count;
    size_t memory_limit;
} common_settings;

#define OPTION_MAX 128

/* An option on the command line; once for every time it is there. */
typedef struct given_option {
    const pelt_option *option;
    const char *value; /* NULL: a flag */
} given_option;

/* One run of the program. */
struct cli_session {
    const cli_verb *verb; /* NULL before it is known */
    common_settings common;
    given_option *given; /* in the order of the command line */
    size_t given_count;
    pelt_context *context;
    cli_json report;  /* what --json writes; every verb fills it … */
    bool report_done; /* … and sets this when there is something to write, be it with an error in it */
    FILE *out;        /* where text results go; NULL when stdout is for JSON */
    char **warnings;  /* [warning_count] everything that warn was told */
    size_t warning_count;
    size_t warnings_shown;        /* the first of them */
    bool hold_warnings;           /* they wait for show_warnings */
    const pelt_model *page_model; /* what --report shows; NULL: nothing */
    pelt_page_desc page;          /* and beside it */
    pelt_model **kept;            /* [kept_count] models that go when the page is written */
    size_t kept_count;
};

/* Prints the sentence of a failed library call and gives the exit code of its result. */
exit_code session_fail(cli_session *session, pelt_result result);
/* The exit code alone. */
exit_code session_exit_code(pelt_result result);
/* Whether Ctrl-C was pressed. */
bool session_interrupted(void);

/* Zeroed memory, larger memory, text: freed by the caller. They end the program when there is no memory. */
void *must_alloc(size_t count, size_t size);
void *must_resize(void *pointer, size_t count, size_t size);
char *must_format(const char *format, ...) PELT_PRINTF(1, 2);
char *must_format_list(const char *format, va_list list) PELT_PRINTF(1, 0);

/* ---- args.c ----------------------------------------------------------------------------------------------- */

typedef struct arg_list {
    const char **items;
    size_t count;
} arg_list;

extern const option_group common_group;

/* The verb's groups in order, then the common one; NULL behind. */
const option_group *verb_group(const cli_verb *verb, size_t index);

/* Reads options into session->common and `settings` (described by session->verb; both may be NULL when the verb is
 * not known yet). Positional arguments go to `rest`. `stop_at_first`: the first positional ends it, and everything
 * from there on goes to `rest`. */
exit_code args_parse(cli_session *session, const char *const *args, size_t count, bool stop_at_first, void *settings,
                     arg_list *rest);
/* Fills a verb's settings with the defaults of its tables. */
void args_default(const cli_verb *verb, void *settings);
/* Whether an option was on the command line. */
bool option_given(const cli_session *session, const char *name);
/* Whether a table has a row of this name. */
bool table_has(const pelt_option_table *table, const char *name);
/* Options that mean nothing in some case. */
typedef struct idle_options {
    bool idle;         /* whether this is the case */
    const char *names; /* divided by spaces */
    const char *why;   /* "without --method sma" */
} idle_options;
/* A usage error when one of them is on the command line where it means nothing. */
exit_code options_check(const cli_session *session, const idle_options *rules, size_t rule_count);
/* All values of an option that may be given again; `items` is freed by the caller. */
arg_list option_values(const cli_session *session, const char *name);

/* ---- inputs.c --------------------------------------------------------------------------------------------- */

typedef struct cli_input {
    const char **paths;
    size_t path_count;
} cli_input;

typedef struct input_list {
    cli_input *items;
    size_t count;
} input_list;

/* Groups arguments: a cache belongs to the mesh before it, a motion (AMC) to the skeleton (ASF) before it. */
input_list inputs_group(cli_session *session, const char *const *args, size_t count);
void inputs_free(input_list *list);
/* The paths of an input with spaces between, for people; freed by the caller. */
char *input_name(const cli_input *input);

/* Reads an output back, with the motions of `saved`, the model that was written: a file that keeps its own motions is joined as
 * its source was. */
pelt_result load_written(cli_session *session, const pelt_model *saved, const char *path, pelt_model **model);
/* A usage error where --up or --scale is about a file (FILE=VALUE) that is not on the command line; `rest`: all but options. */
exit_code check_files(const cli_session *session, const arg_list *rest);
/* Warns that a file has other axes or units than the file `name`. */
void warn_of_axes(cli_session *session, const char *name, const pelt_axes *axes, const char *other_name);
/* Does so where the points of two clips differ by axes or units in their first frames. */
pelt_result warn_axes(cli_session *session, const char *name, const pelt_clip *clip, const char *other_name,
                      const pelt_clip *other);

/* One animation of a model: a clip it holds, or a motion of its skeleton and morphs; neither: the rest pose. */
typedef struct cli_animation {
    uint32_t clip; /* or PELT_NONE */
    const pelt_motion *motion;
} cli_animation;

/* The animation that `wanted` (a name or an index; NULL: the first) says, among the clips of a model, or among its
 * motions when it has no clips or when `motions_only`. Without any animation and nothing wanted: the rest pose. */
exit_code choose_animation(cli_session *session, const pelt_model *model, const char *wanted, bool motions_only,
                           cli_animation *out);
/* It as a clip, evaluated when read. */
pelt_result animation_clip(cli_session *session, pelt_model *model, const cli_animation *animation, double fps,
                           pelt_skinning skinning, pelt_clip *clip);
/* Makes it one of the model's clips and gives the index. */
pelt_result animation_add(cli_session *session, pelt_model *model, const cli_animation *animation, double fps,
                          pelt_skinning skinning, uint32_t *clip);
/* `count` motions of a rig become the clips of a model, evaluated on the rig when read; it must stay. */
pelt_result motions_to_clips(cli_session *session, pelt_model *source, uint32_t first, uint32_t count, double fps,
                             pelt_model *model);
/* Clips [count] of the same points one after another, without times; they must stay. */
pelt_clip join_clips(const pelt_clip *clips, uint32_t count);
/* The model's mesh, welded, with the normals of its triangles in place of its own, which say where edges are hard. The
 * new ones are in the model's memory. */
pelt_result edged_mesh(cli_session *session, pelt_model *model, pelt_mesh *mesh);
/* "90,0,-0.5" */
bool read_three(const char *text, double out[3]);
/* A name from a file for people, who cannot see an empty one. */
const char *shown_name(const char *name);
double clip_duration(const pelt_clip *clip);
/* Frames per second of a clip that was made with `fps`: that, unless it does not divide the duration. */
double clip_rate(const pelt_clip *clip, double fps);

/* Saves the model as a mesh in its rest pose: the model's own positions are those of the bind pose. `ply` is a
 * pelt_ply_encoding. */
pelt_result save_rest_pose(cli_session *session, pelt_model *model, const char *path, uint32_t ply, bool one_object);
/* Saves a clip as a cache or a sequence and, unless mesh_path is NULL, the mesh that it belongs to, in its rest pose and as one
 * object. Both files appear, or none. */
pelt_result save_frames(cli_session *session, pelt_model *model, const char *path, const char *mesh_path,
                        const pelt_save_desc *desc);
/* Whether a path stands for many files: it holds a printf pattern. */
bool is_pattern(const char *path);
/* The file of a pattern with this number; freed by the caller. */
char *pattern_path(const char *pattern, uint32_t number);
/* Bytes of a written file; of all `frame_count` files of a pattern. */
uint64_t written_size(const char *path, uint32_t frame_count);

/* The format of an output, or a usage error that lists what there is. */
exit_code output_format(cli_session *session, const char *path, const pelt_format_info **format);
/* A usage error unless the path (NULL: none was given) is one of a format that holds meshes with skins. */
exit_code output_rig(cli_session *session, const char *path);

/* ---- values.c --------------------------------------------------------------------------------------------- */

bool is_picture(const char *path);
/* A number for every vertex of a model, out [vertex]: from a file (a picture over its UVs, or numbers), or where `path` is
 * NULL, from a vertex attribute. `option` is what the path was given with. */
exit_code vertex_values(cli_session *session, const pelt_model *model, const char *option, const char *path,
                        const char *attribute, float *out);

/* Gives a model the colours of the file that it was read from (glTF, COLOR_0), where it has any; whether it has. */
bool vertex_colors(cli_session *session, pelt_model *model);

/* ---- terminal.c ------------------------------------------------------------------------------------------- */

typedef enum message_kind { MESSAGE_ERROR, MESSAGE_WARNING, MESSAGE_NOTE, MESSAGE_DETAIL } message_kind;

void terminal_start(const cli_session *session);
/* One message on stderr. Quiet leaves errors only; details need --verbose. */
void say(const cli_session *session, message_kind kind, const char *format, ...) PELT_PRINTF(3, 4);
/* An error in how the program was called, with where to find help. */
exit_code usage_error(const cli_session *session, const char *format, ...) PELT_PRINTF(2, 3);
/* A warning on stderr, which is also part of the report. */
void warn(cli_session *session, const char *format, ...) PELT_PRINTF(2, 3);
/* Shows the warnings that were held back. */
void show_warnings(cli_session *session);
pelt_log_fn terminal_log;           /* user: the session */
pelt_progress_fn terminal_progress; /* user: the session */
/* Takes the progress line away. */
void terminal_clear(void);
/* Whether this stream may have colours. */
bool terminal_colours(FILE *stream);
/* Text from files, made harmless in place for a terminal: control characters become '?'. */
void make_printable(char *text);
/* Seconds from some fixed moment. */
double now(void);

/* ---- json.c ----------------------------------------------------------------------------------------------- */

/* `key` is NULL in arrays. `bracket` is '{' or '['. */
void json_open(cli_json *json, const char *key, char bracket);
void json_close(cli_json *json, char bracket);
void json_text(cli_json *json, const char *key, const char *text);
void json_count(cli_json *json, const char *key, uint64_t value);
void json_flag(cli_json *json, const char *key, bool value);
/* NaN and infinity become null. */
void json_real(cli_json *json, const char *key, double value);
void json_reals(cli_json *json, const char *key, const double *values, size_t count);
void json_floats(cli_json *json, const char *key, const float *values, size_t count);
/* Writes it to a file (beside, then renamed) or "-". */
exit_code json_write(const cli_session *session, const cli_json *json, const char *path);

/* ---- table.c ---------------------------------------------------------------------------------------------- */

/* Rows of a name and a value. */
typedef struct cli_table {
    char **cells; /* name, value, name, value … */
    size_t row_count;
} cli_table;

void table_row(cli_table *table, const char *name, const char *format, ...) PELT_PRINTF(3, 4);
/* Prints under a title (NULL: none) and empties the table. `out` NULL: only empties. */
void table_print(cli_table *table, FILE *out, const char *title);
/* Prints cells [row][column] under each other, the first `left` columns to the left and numbers to the right. */
void columns_print(FILE *out, char *const *cells, size_t row_count, size_t column_count, size_t left);
/* "hips, chest and 3 more": the first `most` of names that are not empty; freed by the caller. */
char *list_names(const char *const *names, size_t count, size_t most);
#define NAMES_SHOWN 8u /* where all of them would be too many */
/* "8,431" in one of a few static buffers. */
const char *grouped(uint64_t value);
/* "4.9 MB", likewise. */
const char *bytes_text(uint64_t bytes);

/* ---- report.c --------------------------------------------------------------------------------------------- */

/* What the page of --report shows: the model beside clips of its points [clip_count]. More may be set in what it gives;
 * title and report are filled in later. All of it must stay until the end of the run: see keep_model. */
pelt_page_desc *report_page(cli_session *session, const pelt_model *model, const pelt_clip *clips, uint32_t clip_count,
                            double fps);
/* Destroys a model (NULL: nothing) at the end of the run, when no page needs it any more. */
void keep_model(cli_session *session, pelt_model *model);
/* A curve of the report, inside its list "curves". */
void report_curve(cli_json *json, const char *title, const char *x, const char *y, const double (*points)[2],
                  size_t count);
/* The same of values at 0, 1, 2 … */
void report_steps(cli_json *json, const char *title, const char *x, const char *y, const double *values, size_t count);
/* What corrections came to (correct.c). */
void report_corrections(cli_json *json, const pelt_correct_report *report);
/* Differences of normals, where they were measured: those of triangles, and skinned ones; for programs, for people. */
void report_normals(cli_json *json, const pelt_difference *difference);
void normal_rows(cli_table *table, const pelt_difference *difference);
/* Ends the report with settings and warnings; writes it and the page, when the verb had something to say. */
exit_code report_finish(cli_session *session, const void *settings, exit_code code);

/* ---- pose.c ----------------------------------------------------------------------------------------------- */

/* The mesh of a model with a skin, in world space and without what moves it: in a pose of local transforms [joint] and
 * morph weights [morph]. Its arrays live in the model's memory. */
pelt_result pose_mesh(cli_session *session, pelt_model *model, const pelt_transform *locals, const float *weights,
                      pelt_skinning skinning, pelt_model *posed);

/* ---- picture.c -------------------------------------------------------------------------------------------- */

typedef struct picture_settings {
    pelt_picture_desc picture;
    const char *png;
    const char *size;
    const char *frames;
    bool sheet;
} picture_settings;

/* Its own options; those of `picture` are the library's. */
const pelt_option_table *picture_table(void);
/* What is wrong is told before any work. Takes --size into the picture. */
exit_code picture_check(cli_session *session, picture_settings *settings);
exit_code picture_draw(cli_session *session, const picture_settings *settings, const pelt_model *model);

/* ---- page.c ----------------------------------------------------------------------------------------------- */

/* A usage error unless the path, the value of this option, is one of a page. */
exit_code page_check(const cli_session *session, const char *option, const char *path);
/* Writes a page: the model beside the clips, or else the motions, of its source (NULL: beside clips of its own). `desc`
 * says the rest. The points of the model become those of the source. */
exit_code page_write(cli_session *session, pelt_model *model, pelt_model *source, const pelt_page_desc *desc,
                     const char *path);
/* Says what was written. */
void page_report(cli_session *session, const char *path, double seconds);
/* Opens a page in the user's browser. */
void page_open(const cli_session *session, const char *path);

/* ---- help.c, man.c ---------------------------------------------------------------------------------------- */

void help_overview(FILE *out);
void help_verb(const cli_verb *verb, FILE *out);
/* "FILE", "linear|dual-quaternion", or NULL for flags. */
const char *option_value_name(const pelt_option *option);
/* Calls visit for every option of the verb once, group by group; `title` is the group's at its first option, else NULL. */
typedef void option_fn(const cli_verb *verb, const char *title, const pelt_option *option, void *user);
void each_option(const cli_verb *verb, option_fn *visit, void *user);

typedef struct exit_text {
    exit_code code;
    const char *text;
} exit_text;
extern const exit_text exit_texts[6];

#endif
