/* Declarations shared by the files of the command-line program. It uses only the library's public headers and the platform layer.
 *
 *   main.c      the table of verbs, signals, exit codes
 *   args.c      command-line parser, driven by option tables
 *   inputs.c    grouping of positional arguments, choice of an animation, outputs
 *   values.c    per-vertex values from images, number files or vertex attributes
 *   terminal.c  messages and the progress line
 *   json.c      JSON writer
 *   report.c    end of a run: the report of --json and the page of --report
 *   table.c     reports as aligned text
 *   picture.c   PNG images of pelt view
 *   page.c      HTML pages
 *   mpi.c       several processes (mpi_none.c: one)
 *   help.c      help texts from the option tables; completion.c: shell completion; man.c: manual pages
 *   one file per verb
 */
#ifndef PELT_CLI_H
#define PELT_CLI_H

#include "core/platform.h"

#include <pelt/pelt.h>

#include <stdarg.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef enum exit_code {
    EXIT_DONE = 0,
    EXIT_USAGE = 1,
    EXIT_INPUT = 2,
    EXIT_OUTPUT = 3,
    EXIT_QUALITY = 4, /* the run succeeded, but the result misses the requested error */
    EXIT_INTERRUPTED = 130
} exit_code;

typedef struct cli_session cli_session;

/* ---- Verbs ------------------------------------------------------------------------------------------------ */

/* A table of options whose values are stored in the verb's settings: the verb's own table, or one of the library
 * (pelt_load_options). A name that occurs in several tables of a verb is one option that sets all of them; help shows
 * the first. */
typedef struct option_group {
    const char *title; /* heading in the help */
    const pelt_option_table *(*table)(void);
    size_t offset; /* bytes: position of the table's desc struct in the settings */
} option_group;

typedef struct example {
    const char *command;
    const char *meaning;
} example;

typedef struct cli_verb {
    const char *name;
    const char *summary;        /* one line, no full stop */
    const char *usage;          /* "pelt bake RIG -o CACHE" */
    const char *about;          /* one or more paragraphs, separated by empty lines; or NULL */
    const option_group *groups; /* [group_count] without the common options */
    size_t group_count;
    size_t settings_size; /* bytes of the struct that holds the values of the groups' options */
    const example *examples;
    size_t example_count;
    bool grouped; /* runs as several processes (group.h) */
    bool utility; /* concerns the program itself: listed separately in the overview, has no --report */
    exit_code (*run)(cli_session *session, const void *settings, const char *const *args, size_t arg_count);
} cli_verb;

/* The table of verbs. To add one, define `const cli_verb verb_NAME` in a file of its own and add a line here. */
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
    X(batch)                                                                                                           \
    X(view)                                                                                                            \
    X(studio)                                                                                                          \
    X(help)                                                                                                            \
    X(version)                                                                                                         \
    X(completion)                                                                                                      \
    X(man)

#define VERB_DECLARATION(name) extern const cli_verb verb_##name;
VERBS(VERB_DECLARATION)
#undef VERB_DECLARATION

/* The verb at an index in the order of VERBS; NULL past the last. */
const cli_verb *verb_at(size_t index);
const cli_verb *verb_find(const char *name);
/* Finds a verb; reports a usage error with the nearest name if there is none. */
exit_code verb_require(cli_session *session, const char *name, const cli_verb **out);

/* Defines a function that returns an array of rows as an option table, for option_group.table. */
#define OPTION_TABLE(function, rows)                                                                                   \
    const pelt_option_table *function(void) {                                                                          \
        static const pelt_option_table table = {NULL, rows, COUNT(rows), NULL, 0};                                     \
        return &table;                                                                                                 \
    }

/* ---- Session ---------------------------------------------------------------------------------------------- */

typedef struct cli_json {
    char *data;
    size_t size, capacity;
    uint32_t depth;
    bool comma; /* the current object or array has a member already: the next one needs a comma */
} cli_json;

typedef struct common_settings {
    bool quiet;
    bool verbose;
    bool progress;
    bool help;
    const char *json_path;
    const char *page_path;
    const char *settings_path;
    uint32_t thread_count;
    size_t memory_limit;
} common_settings;

#define OPTION_MAX 128

/* One occurrence of an option on the command line. */
typedef struct given_option {
    const pelt_option *option;
    const char *value; /* NULL: a flag */
} given_option;

/* One run of the program. */
struct cli_session {
    const cli_verb *verb; /* NULL until the verb is parsed */
    common_settings common;
    given_option *given; /* [given_count] in the order of the command line; those of --settings first */
    size_t given_count;
    char **texts; /* [text_count] values of --settings */
    size_t text_count;
    pelt_context *context;
    const pelt_group *group; /* processes that share the work; NULL: one */
    cli_json report;         /* written by --json; filled by every verb */
    bool report_done;        /* set by the verb when the report is to be written, also after an error */
    FILE *out;               /* stream for text results; NULL when stdout carries JSON */
    char **warnings;         /* [warning_count] all messages passed to warn, without duplicates */
    size_t warning_count;
    size_t warnings_shown;        /* warnings [0, warnings_shown) are printed already */
    bool hold_warnings;           /* defer printing until show_warnings */
    const pelt_model *page_model; /* model shown by --report; NULL: no page */
    pelt_page_desc page;          /* clips and settings of the page */
    pelt_model **kept;            /* [kept_count] models to destroy after the page is written, in reverse order */
    size_t kept_count;
};

/* Prints the error message of a failed library call and returns the exit code for its result. */
exit_code session_fail(cli_session *session, pelt_result result);
/* The exit code for a result; prints nothing. */
exit_code session_exit_code(pelt_result result);

/* Allocate zeroed memory, resize, or format text. The caller frees the result. Out of memory ends the program. */
void *must_alloc(size_t count, size_t size);
_Noreturn void end_without_memory(void);
void *must_resize(void *pointer, size_t count, size_t size);
char *must_format(const char *format, ...) PELT_PRINTF(1, 2);
char *must_format_list(const char *format, va_list list) PELT_PRINTF(1, 0);

/* A text that grows; {0} is empty. data is freed by the caller. */
typedef struct cli_text {
    char *data;
    size_t size, capacity; /* bytes, without and with the final 0 */
} cli_text;
/* Cuts the next item off a list divided by commas; NULL: no more. */
char *next_item(char **list);
void text_add(cli_text *text, const char *format, ...) PELT_PRINTF(2, 3);

/* ---- args.c ----------------------------------------------------------------------------------------------- */

typedef struct arg_list {
    const char **items;
    size_t count;
} arg_list;

extern const option_group common_group;

/* The option groups of a verb in order, then the common group; NULL past the last. */
const option_group *verb_group(const cli_verb *verb, size_t index);

/* Parses options into session->common and `settings`, whose layout session->verb describes; both are NULL before the
 * verb is known. Positional arguments go to `rest`. `stop_at_first`: the first positional argument ends option parsing;
 * it and all following arguments go to `rest`. */
exit_code args_parse(cli_session *session, const char *const *args, size_t count, bool stop_at_first, void *settings,
                     arg_list *rest);
/* Fills a verb's settings with the defaults of its tables. */
void args_default(const cli_verb *verb, void *settings);
/* Whether an option was on the command line. */
bool option_given(const cli_session *session, const char *name);
/* Whether a table has a row of this name. */
bool table_has(const pelt_option_table *table, const char *name);
/* Options that have no effect under a condition. */
typedef struct idle_options {
    bool idle;         /* the condition holds */
    const char *names; /* separated by spaces */
    const char *why;   /* "without --method sma" */
} idle_options;
/* Reports a usage error if the command line has an option that has no effect by one of the rules. */
exit_code options_check(const cli_session *session, const idle_options *rules, size_t rule_count);
/* All values of a repeatable option, in order; the caller frees `items`. */
arg_list option_values(const cli_session *session, const char *name);

/* ---- target.c --------------------------------------------------------------------------------------------- */

/* Limits of a program that plays the files (--target). */
typedef struct target {
    const char *name;
    const char *transforms; /* supported value of --transforms; NULL: all */
    const char *transforms_reason;
    uint32_t influences; /* maximum bones per vertex */
    const char *influences_reason;
    uint32_t played; /* bones per vertex that may be written without a warning */
    uint32_t file;   /* pelt_file_target: axes, unit, root and frame rate of FBX files */
    bool plain;      /* it does not read compressed glTF files, or that is not known */
} target;
/* How verbs write rigs. */
typedef struct rig_settings {
    uint32_t target; /* index among the choices of --target */
    bool plain;      /* glTF: plain arrays */
    bool sparse;     /* verbs that add morph targets */
} rig_settings;
/* --target and --plain, for every verb that writes rigs; --sparse, for those that add morph targets. */
const pelt_option_table *target_table(void);
const pelt_option_table *sparse_table(void);
const target *target_of(const rig_settings *settings);
/* What these settings say about a file. */
void rig_save(const rig_settings *settings, pelt_save_desc *save);
/* For verbs that keep skins: reports a usage error for --target and --plain where they have no effect on the output. */
exit_code target_check(const cli_session *session, const char *path);
/* Reports a usage error for an option that compresses glTF files (NULL: none is given) with --plain, or with a target that
 * cannot read them. */
exit_code compress_check(const cli_session *session, const rig_settings *settings, const char *option);
/* Limits bones per vertex to those of the target, and says so. */
void target_limit(const cli_session *session, const rig_settings *settings, uint32_t *influences);

/* ---- inputs.c --------------------------------------------------------------------------------------------- */

typedef struct cli_input {
    const char **paths;
    size_t path_count;
} cli_input;

typedef struct input_list {
    cli_input *items;
    size_t count;
} input_list;

/* Groups arguments into inputs: a cache belongs to the mesh before it, a motion (AMC) to the skeleton (ASF) before
 * it. */
input_list inputs_group(cli_session *session, const char *const *args, size_t count);
void inputs_free(input_list *list);
/* The paths of an input, separated by spaces, for messages; freed by the caller. */
char *input_name(const cli_input *input);

/* Reads a written file back with the same motions as `saved`, the model that was written. If the motion count differs
 * without joining, the file is read again with the --join setting of its source. */
pelt_result load_written(cli_session *session, const pelt_model *saved, const char *path, pelt_model **model);
/* Reports a usage error if --up or --scale names a file (FILE=VALUE) that is not on the command line. `rest`:
 * positional arguments. */
exit_code check_files(const cli_session *session, const arg_list *rest);
/* Warns that the file `other_name` has other axes or units than the file `name`. */
void warn_of_axes(cli_session *session, const char *name, const pelt_axes *axes, const char *other_name);
/* Compares the first frames of two clips; warns if they differ by axes or units. */
pelt_result warn_axes(cli_session *session, const char *name, const pelt_clip *clip, const char *other_name,
                      const pelt_clip *other);

/* One animation of a model: one of its clips, or one of its motions (skeleton and morphs). Neither: the rest pose. */
typedef struct cli_animation {
    uint32_t clip;             /* index, or PELT_NONE */
    const pelt_motion *motion; /* or NULL */
} cli_animation;

/* Finds the animation `wanted` (a name or an index; NULL: the first) among the clips of a model, or among its motions
 * if it has no clips or `motions_only`. Without any animation and with `wanted` NULL: the rest pose. */
exit_code choose_animation(cli_session *session, const pelt_model *model, const char *wanted, bool motions_only,
                           cli_animation *out);
/* The animation as a clip. Motions are evaluated when the clip is read. */
pelt_result animation_clip(cli_session *session, pelt_model *model, const cli_animation *animation, double fps,
                           pelt_skinning skinning, pelt_clip *clip);
/* Appends the animation to the model's clips, unless it is one of them; `clip` receives the index. */
pelt_result animation_add(cli_session *session, pelt_model *model, const cli_animation *animation, double fps,
                          pelt_skinning skinning, uint32_t *clip);
/* Appends a clip in the model's memory to the model's clips; `index` receives its index. */
pelt_result clip_add(cli_session *session, pelt_model *model, const pelt_clip *clip, uint32_t *index);
/* Makes motions [first, first + count) of a rig the clips of `model`. They are evaluated on `source` when read; it must
 * outlive the clips. */
pelt_result motions_to_clips(cli_session *session, pelt_model *source, uint32_t first, uint32_t count, double fps,
                             pelt_model *model);
/* Concatenates clips [count] of the same points; the result has no times. The clips must outlive it. */
pelt_clip join_clips(const pelt_clip *clips, uint32_t count);
/* The model's mesh, welded, with normals computed from its triangles. The mesh's own normals only tell which edges are
 * hard. The new normals are in the model's memory. */
pelt_result edged_mesh(cli_session *session, pelt_model *model, pelt_mesh *mesh);
/* Parses three numbers, such as "90,0,-0.5". */
bool read_three(const char *text, double out[3]);
/* A name for messages: the name itself, or "(no name)" if it is empty. */
const char *shown_name(const char *name);
/* Seconds from the first to the last frame. */
double clip_duration(const pelt_clip *clip);
/* Frames per second of a clip that was sampled at `fps`. Not `fps` if the duration is no multiple of 1 / fps. */
double clip_rate(const pelt_clip *clip, double fps);

/* Saves the model as a mesh in its rest pose. The model's own positions are those of the bind pose. `ply`:
 * pelt_ply_encoding. */
pelt_result save_rest_pose(cli_session *session, pelt_model *model, const char *path, uint32_t ply, bool one_object);
/* Saves a clip as a cache or a sequence and, unless mesh_path is NULL, its mesh in the rest pose as one object. Either
 * both files are written or neither. */
pelt_result save_frames(cli_session *session, pelt_model *model, const char *path, const char *mesh_path,
                        const pelt_save_desc *desc);
/* Whether a path is a printf pattern (%d, %4d, %04d) for a sequence of files. */
bool is_pattern(const char *path);
/* The path for one number of a pattern; freed by the caller. */
char *pattern_path(const char *pattern, uint32_t number);
/* Bytes of a file, or of all `frame_count` files of a pattern; 0 if there is no regular file. */
uint64_t written_size(const char *path, uint32_t frame_count);

/* Finds the format of an output; reports a usage error with the writable extensions if there is none. */
exit_code output_format(cli_session *session, const char *path, const pelt_format_info **format);
/* Reports a usage error unless the path (NULL: not given) has a format that stores meshes with skins. */
exit_code output_rig(cli_session *session, const char *path);

/* ---- values.c --------------------------------------------------------------------------------------------- */

/* Contents of a file of at most 16 MB, with a 0 behind them, freed by the caller; NULL, with errno, if it cannot be read. */
char *file_text(const char *path);
/* Reads a text file; `what` it holds, for messages: "a mapping". *text is freed by the caller; NULL after a failure. */
exit_code read_text(cli_session *session, const char *path, const char *what, char **text);
bool is_picture(const char *path);
/* Reads a number per vertex into out [vertex]: from a file (an image sampled at the UVs, or a list of numbers), or from
 * a vertex attribute if `path` is NULL. `option`: name of the option that gave the path, for messages. */
exit_code vertex_values(cli_session *session, const pelt_model *model, const char *option, const char *path,
                        const char *attribute, float *out);

/* Reads the vertex colours of the model's source file (glTF, COLOR_0) into the model. Returns false if it has none. */
bool vertex_colors(cli_session *session, pelt_model *model);

/* ---- terminal.c ------------------------------------------------------------------------------------------- */

typedef enum message_kind { MESSAGE_ERROR, MESSAGE_WARNING, MESSAGE_NOTE, MESSAGE_DETAIL } message_kind;

void terminal_start(const cli_session *session);
/* Prints one message on stderr. --quiet suppresses all but errors; MESSAGE_DETAIL needs --verbose. */
void say(const cli_session *session, message_kind kind, const char *format, ...) PELT_PRINTF(3, 4);
/* Prints a command-line error and how to get help; returns EXIT_USAGE. */
exit_code usage_error(const cli_session *session, const char *format, ...) PELT_PRINTF(2, 3);
/* Prints a warning on stderr and adds it to the report. */
void warn(cli_session *session, const char *format, ...) PELT_PRINTF(2, 3);
/* Prints the warnings that hold_warnings deferred. */
void show_warnings(cli_session *session);
pelt_log_fn terminal_log;           /* user: the session */
pelt_progress_fn terminal_progress; /* user: the session */
/* Erases the progress line. */
void terminal_clear(void);
/* Whether colours may be written to this stream. */
bool terminal_colours(FILE *stream);
/* Makes text from files safe for a terminal, in place: control characters become '?'. */
void make_printable(char *text);

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
/* Writes the text to a file (to a temporary file, then renamed), or to stdout if the path is "-". */
exit_code json_write(const cli_session *session, const cli_json *json, const char *path);

/* ---- table.c ---------------------------------------------------------------------------------------------- */

/* A table with two columns: name and value. */
typedef struct cli_table {
    char **cells; /* name, value, name, value … */
    size_t row_count;
} cli_table;

void table_row(cli_table *table, const char *name, const char *format, ...) PELT_PRINTF(3, 4);
/* Prints the table under a title (NULL: none) and clears it. `out` NULL: only clears it. */
void table_print(cli_table *table, FILE *out, const char *title);
/* Prints cells [row][column] in aligned columns: the first `left` columns left-aligned, the others right-aligned. */
void columns_print(FILE *out, char *const *cells, size_t row_count, size_t column_count, size_t left);
/* "hips, chest and 3 more": the first `most` non-empty names; freed by the caller. */
char *list_names(const char *const *names, size_t count, size_t most);
#define NAMES_SHOWN 8u /* longest list in a message or table */
/* "8,431" in one of a few static buffers. */
const char *grouped(uint64_t value);
/* "4.9 MB" in one of the same buffers. */
const char *bytes_text(uint64_t bytes);

/* ---- report.c --------------------------------------------------------------------------------------------- */

/* Sets the content of the --report page: the model beside clips [clip_count] of its points. The caller may set more
 * fields of the returned desc; title and report are filled in later. Model and clips must live until the end of the
 * run: see keep_model. */
pelt_page_desc *report_page(cli_session *session, const pelt_model *model, const pelt_clip *clips, uint32_t clip_count,
                            double fps);
/* Defers destruction of a model (or NULL) to the end of the run, after the page is written. Models are destroyed in
 * reverse order of these calls. */
void keep_model(cli_session *session, pelt_model *model);
/* Writes a curve; call inside the report's array "curves". */
void report_curve(cli_json *json, const char *title, const char *x, const char *y, const double (*points)[2],
                  size_t count);
/* Writes a curve of values at x = 0, 1, 2 … */
void report_steps(cli_json *json, const char *title, const char *x, const char *y, const double *values, size_t count);
/* Writes the results of pelt_correct (correct.c). */
void report_corrections(cli_json *json, const pelt_correct_report *report);
/* Writes normal errors, if measured, as JSON and as table rows: normals of the triangles, and skinned normals. */
void report_normals(cli_json *json, const pelt_difference *difference);
void normal_rows(cli_table *table, const pelt_difference *difference);
/* Appends settings and warnings to the report, writes the files of --json and --report, destroys kept models. */
exit_code report_finish(cli_session *session, const void *settings, exit_code code);

/* ---- pose.c ----------------------------------------------------------------------------------------------- */

/* Evaluates the mesh of a skinned model in a pose: local transforms [joint] and morph weights [morph], or, where `sliders`
 * [slider] is not NULL, those instead of weights. `posed` is
 * a static mesh in world space, without skeleton, skin, morphs or motions: borrowed from the model, kept (keep_model). */
pelt_result pose_mesh(cli_session *session, pelt_model *model, const pelt_transform *locals, const float *weights,
                      const float *sliders, pelt_skinning skinning, pelt_model **posed);

/* ---- picture.c -------------------------------------------------------------------------------------------- */

typedef struct picture_settings {
    pelt_picture_desc picture;
    const char *png;
    const char *size;
    const char *frames;
    bool sheet;
} picture_settings;

/* Options of the other fields; those of `picture` are in a table of the library. */
const pelt_option_table *picture_table(void);
/* Checks the settings before any work. Copies --size to settings->picture. */
exit_code picture_check(cli_session *session, picture_settings *settings);
exit_code picture_draw(cli_session *session, const picture_settings *settings, const pelt_model *model);

/* ---- page.c ----------------------------------------------------------------------------------------------- */

/* Reports a usage error unless the path, the value of this option, is that of an HTML page. */
exit_code page_check(const cli_session *session, const char *option, const char *path);
/* Writes a page that shows the model beside the clips of its source, or beside the source's motions if it has no
 * clips (source NULL: beside the model's own clips). `desc`: other settings. The model takes over the points of the
 * source. */
exit_code page_write(cli_session *session, pelt_model *model, pelt_model *source, const pelt_page_desc *desc,
                     const char *path);
/* Reports the written page. */
void page_report(cli_session *session, const char *path, double seconds);
/* Opens a page in the user's browser. */
void page_open(const cli_session *session, const char *path);

/* ---- help.c, man.c ---------------------------------------------------------------------------------------- */

void help_overview(FILE *out);
void help_verb(const cli_verb *verb, FILE *out);
/* "FILE", "linear|dual-quaternion", or NULL for flags. */
const char *option_value_name(const pelt_option *option);
/* Visits every option of the verb once, group by group. `title`: the group's title at its first option, else NULL. */
typedef void option_fn(const cli_verb *verb, const char *title, const pelt_option *option, void *user);
void each_option(const cli_verb *verb, option_fn *visit, void *user);

typedef struct exit_text {
    exit_code code;
    const char *text;
} exit_text;
extern const exit_text exit_texts[6];

#endif
