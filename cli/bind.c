/* pelt bind: computes skin weights for a mesh and a skeleton. */
#include "bind.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(bind_settings, output), NULL, 0, 0, NULL, "FILE",
     "the rig (.glb, .gltf); may be the input"},
    {"preset", 0, PELT_OPTION_CHOICE, PELT_FIELD(bind_settings, preset), "none", 0, 0, "none|voxel2013", NULL,
     "the settings of a paper: voxel2013 is Dionne and de Lasa; other options take precedence"},
    {"skeleton", 's', PELT_OPTION_TEXT, PELT_FIELD(bind_settings, skeleton), NULL, 0, 0, NULL, "FILE",
     "whose joints and motions the mesh gets; without this its own"},
    {"also", 0, PELT_OPTION_TEXT, PELT_FIELD(bind_settings, also), NULL, 0, 0, NULL, "MESH=FILE",
     "weight another mesh in the same voxels and write it; repeatable"},
    {"prefer", 0, PELT_OPTION_TEXT, PELT_FIELD(bind_settings, prefer), NULL, 0, 0, NULL, "POSES",
     "examples of good poses: a folder of meshes with a pose each, as of 'pelt correct --poses', or a cache of the "
     "rig's first "
     "motion; weights are pulled to them"},
    {"falloff-map", 0, PELT_OPTION_TEXT, PELT_FIELD(bind_settings, falloff_map), NULL, 0, 0, NULL, "FILE",
     "a PNG painted over the mesh's UVs: black is falloff 0, white 1; or a text file with a number for each vertex"},
    {"falloff-attribute", 0, PELT_OPTION_TEXT, PELT_FIELD(bind_settings, falloff_attribute), NULL, 0, 0, NULL, "NAME",
     "a vertex attribute of the glTF file: _FALLOFF, COLOR_0 (its red), COLOR_0.g"},
    {"paint-file", 0, PELT_OPTION_TEXT, PELT_FIELD(bind_settings, paint_file), NULL, 0, 0, NULL, "FILE",
     "strokes of --paint, one per line"},
    {"section", 0, PELT_OPTION_TEXT, PELT_FIELD(bind_settings, section), NULL, 0, 0, NULL, "SECTION=FILE",
     "a PNG of a section through the voxels: 'z=FILE', 'x 0.1 weights=FILE', 'z Hand=FILE'; repeatable"},
    {"weights-format", 0, PELT_OPTION_CHOICE, PELT_FIELD(bind_settings, format), "f32", 0, 0, "f32|u16|u8", NULL,
     "numbers that weights are written as"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", target_table, offsetof(bind_settings, written)},
        {"Binding", pelt_bind_options, offsetof(bind_settings, bind)},
        {"Binding", pelt_bind_prefer_options, offsetof(bind_settings, prefer_desc)},
        {"Reading", pelt_load_options, offsetof(bind_settings, load)},
};

/* ---- Inputs ----------------------------------------------------------------------------------------------- */

static exit_code load(bind_work *w, const char *const *args, size_t arg_count) {
    cli_session *session = w->session;
    input_list inputs = inputs_group(session, args, arg_count);
    exit_code code = EXIT_DONE;
    if (inputs.count != 1)
        code = usage_error(session, "bind needs one input, a rig or a mesh; %zu are given", inputs.count);
    pelt_result result = PELT_OK;
    if (code == EXIT_DONE)
        result = pelt_load(session->context, inputs.items[0].paths, inputs.items[0].path_count, &w->settings->load,
                           &w->model);
    if (code == EXIT_DONE && result == PELT_OK && w->settings->skeleton)
        result = pelt_load(session->context, &w->settings->skeleton, 1, &w->settings->load, &w->rig);
    inputs_free(&inputs);
    return result == PELT_OK ? code : session_fail(session, result);
}

/* Reports an error for falloffs outside 0 to 1, instead of clamping them. NaN: use --falloff. */
static exit_code check_falloffs(bind_work *w, const char *source) {
    for (uint32_t i = 0; i < w->model->mesh.vertex_count; i++) {
        if (isnan(w->falloffs[i]))
            w->falloffs[i] = (float)w->desc.falloff;
        if (w->falloffs[i] >= 0 && w->falloffs[i] <= 1)
            continue;
        say(w->session, MESSAGE_ERROR, "%s: %s is %g at vertex %u; falloffs are from 0 to 1", w->model->path, source,
            (double)w->falloffs[i], i);
        return EXIT_INPUT;
    }
    w->desc.vertex_falloff = w->falloffs;
    return EXIT_DONE;
}

static exit_code read_falloffs(bind_work *w) {
    const bind_settings *settings = w->settings;
    if (!settings->falloff_map && !settings->falloff_attribute)
        return EXIT_DONE;
    w->falloffs = must_alloc(w->model->mesh.vertex_count, sizeof *w->falloffs);
    exit_code code = vertex_values(w->session, w->model, "falloff-map", settings->falloff_map,
                                   settings->falloff_attribute, w->falloffs);
    if (code != EXIT_DONE)
        return code;
    return check_falloffs(w, settings->falloff_map ? settings->falloff_map : settings->falloff_attribute);
}

/* ---- Work ------------------------------------------------------------------------------------------------- */

/* Adds the boundary voxels to the page; interior voxels are hidden by them. The array is in the model's memory, so that
 * it lives until the page is written. */
static pelt_result show_voxels(bind_work *w, pelt_page_desc *page) {
    pelt_bind_voxels voxels = pelt_binding_voxels(w->binding);
    float(*centers)[3] =
        pelt_model_alloc(w->session->context, w->model, w->report.boundary_voxel_count, sizeof *centers);
    if (!centers)
        return PELT_ERROR_MEMORY;
    uint32_t count = 0;
    for (uint32_t v = 0; v < voxels.count; v++) {
        if (!voxels.boundary[v])
            continue;
        for (int c = 0; c < 3; c++)
            for (int a = 0; a < 3; a++)
                centers[count][c] += (float)((voxels.origin[a] + (voxels.cells[v][a] + 0.5) * voxels.cell[a]) *
                                             (double)voxels.axes[a][c]);
        count++;
    }
    double side = fmin(voxels.cell[0], fmin(voxels.cell[1], voxels.cell[2]));
    page->voxels = (pelt_page_voxels){.centers = centers[0], .count = count, .size = (float)side};
    return PELT_OK;
}

static pelt_result bind_model(bind_work *w) {
    pelt_result result = pelt_binding_create(w->session->context, w->model, &w->desc, &w->binding);
    return result == PELT_OK ? pelt_binding_apply(w->binding, NULL) : result;
}

static pelt_result write_model(bind_work *w) {
    pelt_context *context = w->session->context;
    w->report = pelt_binding_report(w->binding);
    if (!w->settings->bind.fit)
        w->report.fit.inside_before = w->report.fit.inside_after = w->inside;
    double start = px_seconds();
    pelt_save_desc save = pelt_save_desc_default();
    save.weights = w->settings->format;
    rig_save(&w->settings->written, &save);
    pelt_result result = pelt_save(context, w->model, w->settings->output, &save);
    w->seconds_write = px_seconds() - start;
    if (result == PELT_OK)
        result = bind_section_write(w);
    return result == PELT_OK ? bind_also_run(w) : result;
}

/* Rejects a skeleton that does not fit the mesh, unless --fit or --no-fit is given. */
static exit_code check_fit(bind_work *w) {
    pelt_bind_fit fit;
    char text[256];
    if (w->desc.fit || w->desc.no_fit)
        return EXIT_DONE;
    pelt_result result = pelt_bind_measure_fit(w->session->context, w->model, &w->desc, &fit);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    w->desc.no_fit = true; /* the check is done: skip it in pelt_binding_create */
    w->inside = fit.inside_before;
    if (!fit.misfit)
        return EXIT_DONE;
    say(w->session, MESSAGE_ERROR,
        "%s: the skeleton %s: %.0f %% of its joints lie inside it, and %.0f %% would when fitted; give --fit to fit "
        "skeleton and motions, or --no-fit to bind as it is",
        w->rig ? w->rig->path : w->model->path, pelt_bind_fit_text(&fit, text, sizeof text), 100 * fit.inside_before,
        100 * fit.inside_after);
    return EXIT_INPUT;
}

/* Root nodes that carry an unskinned mesh do not count as joints: a model with no other node has no skeleton. */
static bool has_skeleton(const pelt_model *model) {
    const pelt_mesh *mesh = &model->mesh;
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++) {
        bool carries = false;
        for (uint32_t p = 0; p < mesh->part_count; p++)
            carries |= mesh->parts[p].joint == j && !mesh->parts[p].skinned;
        if (!carries || model->skeleton.parents[j] != PELT_NONE)
            return true;
    }
    return false;
}

static exit_code work_all(bind_work *w, const char *const *args, size_t arg_count) {
    double start = px_seconds();
    exit_code code = load(w, args, arg_count);
    if (code == EXIT_DONE)
        code = read_falloffs(w);
    if (code == EXIT_DONE)
        code = bind_read_regions(w);
    if (code == EXIT_DONE && !has_skeleton(w->rig ? w->rig : w->model)) {
        say(w->session, MESSAGE_ERROR, "%s: there is no skeleton; give one with --skeleton FILE",
            w->rig ? w->rig->path : w->model->path);
        code = EXIT_INPUT;
    }
    if (code != EXIT_DONE)
        return code;
    w->seconds_load = px_seconds() - start;
    w->desc.skeleton = w->rig;
    code = check_fit(w);
    if (code != EXIT_DONE)
        return code;
    pelt_result result = bind_model(w);
    if (result == PELT_OK && (code = bind_prefer_run(w)) != EXIT_DONE)
        return code;
    if (result == PELT_OK)
        result = write_model(w);
    w->seconds_total = px_seconds() - start;
    if (result == PELT_OK) {
        bind_report(w);
        pelt_page_desc *page = report_page(w->session, w->model, NULL, 0, 30);
        if (w->session->common.page_path)
            result = show_voxels(w, page);
    }
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const bind_settings *settings = given;
    exit_code code = output_rig(session, settings->output);
    if (code != EXIT_DONE)
        return code;
    if (settings->bind.fit && settings->bind.no_fit)
        return usage_error(session, "--fit and --no-fit exclude each other; give one of them");
    if (settings->falloff_map && settings->falloff_attribute)
        return usage_error(session, "--falloff-map and --falloff-attribute say the same thing; give one of them");
    if (settings->paint_file && settings->bind.paint)
        return usage_error(session, "--paint and --paint-file say the same thing; give one of them");
    const idle_options rules[] = {
        {settings->bind.method != PELT_BIND_GEODESIC, "distance", "without --method geodesic"},
        {settings->bind.method == PELT_BIND_HEAT || settings->bind.method == PELT_BIND_SURFACE, "curve",
         "without --method geodesic"},
        {!settings->prefer, "prefer-strength", "without --prefer"},
        {settings->bind.lock, "prefer", "with --lock, whose weights it would change"},
        {settings->bind.method > PELT_BIND_GEODESIC, "also", "without --method heat or geodesic"}};
    if ((code = options_check(session, rules, COUNT(rules))) != EXIT_DONE)
        return code;
    bind_work w = {.session = session, .settings = settings, .desc = settings->bind, .inside = -1};
    target_limit(session, &settings->written, &w.desc.influences);
    code = bind_also_list(&w);
    if (code == EXIT_DONE)
        code = bind_section_check(&w);
    if (code == EXIT_DONE)
        code = work_all(&w, args, arg_count);
    bind_also_free(&w);
    bind_free_regions(&w);
    pelt_binding_destroy(w.binding);
    keep_model(session, w.model);
    keep_model(session, w.rig);
    free(w.falloffs);
    return code;
}

static const example examples[] = {
    {"pelt bind hero.glb -o hero.glb", "new weights for the skeleton that is in the file"},
    {"pelt bind scan.obj --skeleton walk.bvh -o scan.glb", "a mesh without a rig gets a skeleton with its motion"},
    {"pelt bind scan.obj --skeleton walk.bvh -o scan.glb --fit", "… whose size, axes and pose are others"},
    {"pelt bind hero.glb -o hero.glb --exclude prop_l,prop_r --rigid sword=hand_r", "who moves what"},
    {"pelt bind hero.glb -o hero.glb --rigid 'sphere(0 1.7 0 0.15)=head' --falloffs coat=0.9 --paint '-box(0 0 0 1 1 "
     "1)'",
     "regions by place: a rigid skull, a stiff coat, voxels that must not be there"},
    {"pelt bind hero.glb -o hero.glb --prefer sculpts",
     "sculpts/raised.obj and raised.json show how the shoulder should look with the arm raised"},
    {"pelt bind hero.glb -o hero.glb --lock jaw,eye_l,eye_r", "painted weights of the face stay"},
    {"pelt bind hero.glb -o hero.glb --also shirt.obj=shirt.glb --also low.glb=low.glb",
     "a garment and a level of detail get the weights of the same voxels"},
    {"pelt bind hero.glb -o hero.glb --section z=voxels.png --section 'z weights=weights.png' --section 'z "
     "head=head.png'",
     "look inside: kinds of voxels, weights of all joints, the field of one"},
    {"pelt bind hero.glb -o hero.glb --resolution 512 --report hero.html", "finer voxels, and a page that shows them"},
};

const cli_verb verb_bind = {
    .name = "bind",
    .summary = "give a mesh and a skeleton skin weights",
    .usage = "pelt bind RIG -o FILE [options]\n"
             "       pelt bind MESH --skeleton SKELETON -o FILE [options]",
    .about =
        "The mesh becomes voxels, so that holes, shells and triangles through triangles do no harm, and weights "
        "spread from the bones through them. Every vertex gets weights. Parts that no bone reaches are bridged to "
        "the nearest that one does; parts that are plainly accessories follow one joint.\n\n"
        "A rig is bound in the pose that its skin was bound in, else in its rest pose. Only weights change: "
        "materials, motions, morphs and everything else in the file stay as they were.\n\n"
        "Joints with weights in the file's own skin are used, the others are named in a warning; where nobody has "
        "painted weights yet, and with --joints all, names and places tell which joints only steer.\n\n"
        "A skeleton of other units or axes than the mesh is refused; --fit scales, turns and moves it, and its "
        "motions with it. Limbs of a skeleton without a skin (BVH) are turned into the mesh too.\n\n"
        "--also weights other meshes in the same voxels: garments, edited meshes, levels of detail. A mesh without "
        "the joints gets the skeleton and the motions.\n\n"
        "The table tells which joints got nothing and why, and warnings tell where the voxels are too coarse.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(bind_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
