/* pelt info: lists the contents of files. */
#include "cli.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct info_settings {
    pelt_load_desc load;
    bool intersections;
} info_settings;

static const pelt_option own_options[] = {
    {"intersections", 0, PELT_OPTION_FLAG, PELT_FIELD(info_settings, intersections), NULL, 0, 0, NULL, NULL,
     "count the triangles that intersect others in the rest pose"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Reading", pelt_load_options, offsetof(info_settings, load)},
};

/* Statistics of one input. */
typedef struct info_facts {
    const pelt_model *model;
    uint64_t file_size; /* of the named files; 0 for folders and patterns */
    const char **materials;
    size_t material_count;
    float min[3], max[3]; /* rest pose, finite positions only */
    uint64_t non_finite;  /* rest positions that are infinite or NaN */
    pelt_mesh_defects defects;
    pelt_contacts crossing; /* triangles of the rest pose that intersect others; only with --intersections */
    uint32_t influence_max;
    double influence_mean;
} info_facts;

/* ---- Counting --------------------------------------------------------------------------------------------- */

static void count_box(info_facts *facts, const float *positions) {
    for (int axis = 0; axis < 3; axis++) {
        facts->min[axis] = FLT_MAX;
        facts->max[axis] = -FLT_MAX;
    }
    for (uint32_t i = 0; i < facts->model->mesh.vertex_count; i++) {
        const float *p = positions + (size_t)3 * i;
        if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2])) {
            facts->non_finite++;
            continue;
        }
        for (int axis = 0; axis < 3; axis++) {
            facts->min[axis] = fminf(facts->min[axis], p[axis]);
            facts->max[axis] = fmaxf(facts->max[axis], p[axis]);
        }
    }
}

/* Bounding box of the rest pose. Positions of a skinned mesh are those of the bind pose, so it is evaluated. */
static pelt_result measure_box(cli_session *session, info_facts *facts) {
    const pelt_model *model = facts->model;
    if (model->skin.bone_count == 0 && model->morphs.morph_count == 0) {
        count_box(facts, model->mesh.positions);
        return PELT_OK;
    }
    float *posed = must_alloc((size_t)3 * model->mesh.vertex_count, sizeof *posed);
    pelt_result result = pelt_model_pose(session->context, model, NULL, 0, PELT_SKINNING_LINEAR, posed, NULL);
    if (result == PELT_OK)
        count_box(facts, posed);
    free(posed);
    return result;
}

static void count_influences(info_facts *facts) {
    const pelt_skin *skin = &facts->model->skin;
    uint32_t vertices = facts->model->mesh.vertex_count;
    if (skin->bone_count == 0 || vertices == 0)
        return;
    uint64_t sum = 0;
    for (size_t i = 0; i < vertices; i++) {
        uint32_t used = 0;
        for (size_t k = 0; k < skin->influence_count; k++)
            used += skin->weights[i * skin->influence_count + k] > 0;
        facts->influence_max = used > facts->influence_max ? used : facts->influence_max;
        sum += used;
    }
    facts->influence_mean = (double)sum / vertices;
}

static void list_materials(info_facts *facts) {
    const pelt_mesh *mesh = &facts->model->mesh;
    facts->materials = must_alloc(mesh->part_count, sizeof *facts->materials);
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const char *name = mesh->parts[p].material;
        bool known = !name;
        for (size_t m = 0; m < facts->material_count && !known; m++)
            known = strcmp(facts->materials[m], name) == 0;
        if (!known)
            facts->materials[facts->material_count++] = name;
    }
}

static pelt_result count_defects(cli_session *session, const info_settings *settings, info_facts *facts) {
    pelt_result result = pelt_mesh_count_defects(session->context, &facts->model->mesh, &facts->defects);
    float start = 0;
    pelt_mover mover = {.model = facts->model, .frame_count = 1, .times = &start};
    if (result == PELT_OK && settings->intersections)
        result = pelt_collide(session->context, &mover, NULL, 0, &facts->crossing);
    return result;
}

static pelt_result gather(cli_session *session, const info_settings *settings, const cli_input *input,
                          info_facts *facts) {
    for (size_t p = 0; p < input->path_count; p++)
        facts->file_size += written_size(input->paths[p], 0);
    list_materials(facts);
    count_influences(facts);
    pelt_result result = count_defects(session, settings, facts);
    return result == PELT_OK ? measure_box(session, facts) : result;
}

/* ---- For people ------------------------------------------------------------------------------------------- */

/* "3: body, eyes, teeth". */
static void row_of_names(cli_table *table, const char *title, const char *const *names, size_t count, size_t most) {
    char *list = list_names(names, count, most);
    table_row(table, title, "%s%s%s", grouped(count), *list ? ": " : "", list);
    free(list);
}

static void mesh_rows(cli_table *table, const info_facts *facts, bool show_crossing) {
    const pelt_mesh *mesh = &facts->model->mesh;
    table_row(table, "vertices", "%s", grouped(mesh->vertex_count));
    table_row(table, "points", "%s", grouped(mesh->points.count));
    table_row(table, "welded", "%s", grouped(mesh->weld.count));
    table_row(table, "triangles", "%s", grouped(mesh->triangle_count));
    table_row(table, "polygons", "%s", grouped(mesh->polygon_count));
    const pelt_mesh_defects *d = &facts->defects;
    table_row(table, "shells", "%s", grouped(d->shell_count));
    table_row(table, "holes", "%s, of %s edges", grouped(d->hole_count), grouped(d->boundary_edge_count));
    table_row(table, "non-manifold", "%s edges, %s vertices", grouped(d->nonmanifold_edge_count),
              grouped(d->nonmanifold_vertex_count));
    if (show_crossing)
        table_row(table, "intersecting", "%s triangles", grouped(facts->crossing.triangle_count[0]));
    const char **names = must_alloc(mesh->part_count, sizeof *names);
    for (uint32_t p = 0; p < mesh->part_count; p++)
        names[p] = mesh->parts[p].name;
    row_of_names(table, "parts", names, mesh->part_count, NAMES_SHOWN);
    free(names);
    row_of_names(table, "materials", facts->materials, facts->material_count, NAMES_SHOWN);
    const float *min = facts->min, *max = facts->max;
    if (min[0] <= max[0]) {
        table_row(table, "box", "%g %g %g to %g %g %g", (double)min[0], (double)min[1], (double)min[2], (double)max[0],
                  (double)max[1], (double)max[2]);
        table_row(table, "size", "%g × %g × %g", (double)max[0] - (double)min[0], (double)max[1] - (double)min[1],
                  (double)max[2] - (double)min[2]);
    }
    if (facts->non_finite)
        table_row(table, "not finite", "%s vertices", grouped(facts->non_finite));
}

/* Rows of morph targets, and of the joints whose rotations drive them. */
static void morph_rows(cli_table *table, const pelt_model *model) {
    uint32_t morph_count = model->morphs.morph_count, driver_count = model->driver_count;
    const char **names = must_alloc(morph_count > driver_count ? morph_count : driver_count, sizeof *names);
    for (uint32_t m = 0; m < morph_count; m++)
        names[m] = model->morphs.morphs[m].name;
    if (morph_count)
        row_of_names(table, "morphs", names, morph_count, NAMES_SHOWN);
    for (uint32_t d = 0; d < driver_count; d++)
        names[d] = model->skeleton.names[model->drivers[d].joint];
    if (driver_count)
        row_of_names(table, "drivers", names, driver_count, NAMES_SHOWN);
    const pelt_slider_set *sliders = &model->sliders;
    if (sliders->slider_count)
        table_row(table, "sliders", "%u on %u joints: %s%s", sliders->slider_count, sliders->joint_count,
                  sliders->sliders[0].name, sliders->slider_count > 1 ? " …" : "");
    free(names);
}

static void rig_rows(cli_table *table, const info_facts *facts, bool all_joints) {
    const pelt_model *model = facts->model;
    for (uint32_t c = 0; c < model->clip_count; c++)
        table_row(table, c ? "" : "clips", "%s: %s frames, %.3f s", shown_name(model->clips[c].name),
                  grouped(model->clips[c].frame_count), clip_duration(&model->clips[c]));
    if (model->skeleton.joint_count)
        row_of_names(table, "joints", model->skeleton.names, model->skeleton.joint_count,
                     all_joints ? SIZE_MAX : NAMES_SHOWN);
    if (model->skin.bone_count) {
        table_row(table, "bones", "%s", grouped(model->skin.bone_count));
        table_row(table, "influences", "%u at most, %.2f on average", facts->influence_max, facts->influence_mean);
    }
    morph_rows(table, model);
    for (uint32_t m = 0; m < model->motion_count; m++) {
        const pelt_motion *motion = &model->motions[m];
        table_row(table, m ? "" : "motions", "%s: %.3f s, %s tracks", shown_name(motion->name),
                  (double)motion->end - (double)motion->start, grouped(motion->track_count));
    }
}

static void print_facts(const cli_session *session, const cli_input *input, const info_facts *facts) {
    cli_table table = {0};
    table_row(&table, "format", "%s", facts->model->format);
    if (facts->file_size)
        table_row(&table, "file size", "%s", bytes_text(facts->file_size));
    if (facts->model->mesh.vertex_count || facts->model->skeleton.joint_count == 0) /* else only a skeleton */
        mesh_rows(&table, facts, option_given(session, "intersections"));
    rig_rows(&table, facts, session->common.verbose);
    for (size_t w = session->warnings_shown; w < session->warning_count; w++)
        table_row(&table, w > session->warnings_shown ? "" : "warnings", "%s", session->warnings[w]);
    char *name = input_name(input);
    table_print(&table, session->out, name);
    free(name);
}

/* ---- For programs ----------------------------------------------------------------------------------------- */

static void report_mesh(cli_json *json, const info_facts *facts, bool show_crossing) {
    const pelt_mesh *mesh = &facts->model->mesh;
    json_count(json, "vertices", mesh->vertex_count);
    json_count(json, "points", mesh->points.count);
    json_count(json, "welded_vertices", mesh->weld.count);
    json_count(json, "triangles", mesh->triangle_count);
    json_count(json, "polygons", mesh->polygon_count);
    json_open(json, "parts", '[');
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        json_open(json, NULL, '{');
        json_text(json, "name", mesh->parts[p].name);
        if (mesh->parts[p].material)
            json_text(json, "material", mesh->parts[p].material);
        json_count(json, "triangles", mesh->parts[p].triangle_count);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "materials", '[');
    for (size_t m = 0; m < facts->material_count; m++)
        json_text(json, NULL, facts->materials[m]);
    json_close(json, ']');
    if (facts->min[0] <= facts->max[0]) {
        json_open(json, "box", '{');
        json_floats(json, "min", facts->min, 3);
        json_floats(json, "max", facts->max, 3);
        json_close(json, '}');
    }
    json_count(json, "not_finite", facts->non_finite);
    const pelt_mesh_defects *d = &facts->defects;
    json_count(json, "shells", d->shell_count);
    json_count(json, "holes", d->hole_count);
    json_count(json, "boundary_edges", d->boundary_edge_count);
    json_count(json, "nonmanifold_edges", d->nonmanifold_edge_count);
    json_count(json, "nonmanifold_vertices", d->nonmanifold_vertex_count);
    if (show_crossing)
        json_count(json, "intersecting_triangles", facts->crossing.triangle_count[0]);
}

static void report_animations(cli_json *json, const pelt_model *model) {
    json_open(json, "clips", '[');
    for (uint32_t c = 0; c < model->clip_count; c++) {
        json_open(json, NULL, '{');
        json_text(json, "name", model->clips[c].name);
        json_count(json, "frames", model->clips[c].frame_count);
        json_real(json, "duration", clip_duration(&model->clips[c]));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "motions", '[');
    for (uint32_t m = 0; m < model->motion_count; m++) {
        const pelt_motion *motion = &model->motions[m];
        json_open(json, NULL, '{');
        json_text(json, "name", motion->name);
        json_real(json, "start", (double)motion->start);
        json_real(json, "duration", (double)motion->end - (double)motion->start);
        json_count(json, "tracks", motion->track_count);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void report_driver(cli_json *json, const pelt_model *model, const pelt_driver *driver) {
    static const char *const parts[] = {"whole", "swing", "twist"};
    json_open(json, NULL, '{');
    json_text(json, "joint", model->skeleton.names[driver->joint]);
    if (driver->relative)
        json_text(json, "against", model->skeleton.names[driver->against]);
    json_text(json, "part", parts[driver->part]);
    json_count(json, "centres", driver->centre_count);
    json_open(json, "morphs", '[');
    for (uint32_t m = 0; m < driver->morph_count; m++)
        json_text(json, NULL, model->morphs.morphs[driver->morphs[m]].name);
    json_close(json, ']');
    json_close(json, '}');
}

static void report_rig(cli_json *json, const info_facts *facts) {
    const pelt_model *model = facts->model;
    json_count(json, "joints", model->skeleton.joint_count);
    json_open(json, "joint_names", '[');
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        json_text(json, NULL, model->skeleton.names[j]);
    json_close(json, ']');
    json_count(json, "bones", model->skin.bone_count);
    json_open(json, "influences", '{');
    json_count(json, "max", facts->influence_max);
    json_real(json, "mean", facts->influence_mean);
    json_close(json, '}');
    json_open(json, "morphs", '[');
    for (uint32_t m = 0; m < model->morphs.morph_count; m++)
        json_text(json, NULL, model->morphs.morphs[m].name);
    json_close(json, ']');
    json_open(json, "sliders", '[');
    for (uint32_t n = 0; n < model->sliders.slider_count; n++) {
        const pelt_slider *slider = &model->sliders.sliders[n];
        json_open(json, NULL, '{');
        json_text(json, "name", slider->name);
        json_real(json, "value", (double)slider->value);
        json_count(json, "joints", slider->move_count);
        json_flag(json, "morph", slider->morph_count > 0);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "drivers", '[');
    for (uint32_t d = 0; d < model->driver_count; d++)
        report_driver(json, model, &model->drivers[d]);
    json_close(json, ']');
}

static void report_input(cli_session *session, const cli_input *input, const info_facts *facts, const char *error) {
    cli_json *json = &session->report;
    json_open(json, NULL, '{');
    json_open(json, "paths", '[');
    for (size_t p = 0; p < input->path_count; p++)
        json_text(json, NULL, input->paths[p]);
    json_close(json, ']');
    if (error)
        json_text(json, "error", error);
    else {
        json_text(json, "format", facts->model->format);
        json_count(json, "file_size", facts->file_size);
        report_mesh(json, facts, option_given(session, "intersections"));
        report_animations(json, facts->model);
        report_rig(json, facts);
    }
    json_open(json, "warnings", '[');
    for (size_t w = session->warnings_shown; w < session->warning_count; w++)
        json_text(json, NULL, session->warnings[w]);
    json_close(json, ']');
    json_close(json, '}');
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code show_input(cli_session *session, const info_settings *settings, const cli_input *input) {
    pelt_model *model = NULL;
    pelt_result result = pelt_load(session->context, input->paths, input->path_count, &settings->load, &model);
    if (result == PELT_OK)
        result = pelt_model_weld(session->context, model);
    info_facts facts = {.model = model};
    if (result == PELT_OK)
        result = gather(session, settings, input, &facts);
    exit_code code = result == PELT_OK ? EXIT_DONE : session_fail(session, result);
    report_input(session, input, &facts, result == PELT_OK ? NULL : pelt_error_text(session->context));
    if (result == PELT_OK)
        print_facts(session, input, &facts);
    if (result != PELT_OK)
        show_warnings(session);
    session->warnings_shown = session->warning_count;
    free(facts.materials);
    if (result == PELT_OK && session->common.page_path) { /* --report takes one input only */
        report_page(session, model, model->clips, model->clip_count, settings->load.fps);
        keep_model(session, model);
    } else
        pelt_model_destroy(model);
    return code;
}

static exit_code run(cli_session *session, const void *settings, const char *const *args, size_t arg_count) {
    if (arg_count == 0)
        return usage_error(session, "info needs a file");
    input_list inputs = inputs_group(session, args, arg_count);
    exit_code code = EXIT_DONE;
    bool blank = false;
    if (session->common.page_path && inputs.count > 1) {
        code = usage_error(session, "--report shows one input, these are %zu", inputs.count);
        inputs_free(&inputs);
        return code;
    }
    session->hold_warnings = true; /* the table lists them */
    json_open(&session->report, "inputs", '[');
    for (size_t n = 0; n < inputs.count && code != EXIT_INTERRUPTED; n++) {
        if (blank && session->out)
            fputc('\n', session->out);
        exit_code one = show_input(session, settings, &inputs.items[n]);
        blank = one == EXIT_DONE;
        code = one == EXIT_DONE ? code : one == EXIT_INTERRUPTED ? one : EXIT_INPUT;
    }
    json_close(&session->report, ']');
    session->report_done = code != EXIT_INTERRUPTED;
    inputs_free(&inputs);
    return code;
}

static const example examples[] = {
    {"pelt info horse.glb", "show a rig"},
    {"pelt info horse.obj horse.pc2", "show a mesh and its cache; a cache belongs to the mesh before it"},
    {"pelt info frames/ --fps 24", "show a folder of OBJ files as a sequence at 24 frames per second"},
    {"pelt info skeleton.asf walk.amc run.amc", "show a skeleton and two motions of it"},
    {"pelt info hero.glb --intersections", "shells, holes, non-manifold edges and triangles that intersect others"},
    {"pelt info *.glb --json -", "write everything about many files as JSON"},
};

const cli_verb verb_info = {
    .name = "info",
    .summary = "show the contents of files",
    .usage = "pelt info INPUT… [options]",
    .about =
        "Prints for each input: format, counts, parts, materials, bounding box of the rest pose, clips, skeleton, "
        "skin, "
        "morph targets, joints that drive them, motions and warnings. Files that cannot be read are reported on "
        "standard error; the others are still shown, and the exit code is 2.\n\n"
        "Shells, holes (connected boundary edges) and non-manifold edges and vertices are those of the welded mesh; "
        "--intersections counts triangles that intersect others that they share no vertex with, tested exactly.\n\n"
        "Vertices count as welded when their positions are equal in every frame and every morph target. --verbose "
        "lists "
        "all joints.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(info_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
