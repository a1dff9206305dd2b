/* Example poses of a rig with their target shapes: a folder of meshes with a pose each, or poses of the rig's own morph
 * targets. poses_clip.c makes examples of the frames of a clip. */
#include "correct.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct reader {
    cli_session *session;
    pelt_model *rig;
    const pelt_load_desc *load;
    pose_set *out;
} reader;

static exit_code no_memory(const reader *r) {
    return session_fail(r->session, PELT_ERROR_MEMORY);
}

/* Allocates capacity for `count` examples. */
static exit_code make_room(const reader *r, size_t count, pose_set *set) {
    set->items = pelt_model_alloc(r->session->context, r->rig, count, sizeof *set->items);
    return set->items ? EXIT_DONE : no_memory(r);
}

static float *new_positions(const reader *r) {
    return pelt_model_alloc(r->session->context, r->rig, r->rig->mesh.vertex_count, 3 * sizeof(float));
}

/* ---- Meshes ----------------------------------------------------------------------------------------------- */

/* Vertex positions of a loaded model at rest, in world space: [vertex][3], freed by the caller. */
static pelt_result stand(const reader *r, const pelt_model *model, float **positions) {
    size_t size = (size_t)3 * model->mesh.vertex_count * sizeof(float);
    *positions = must_alloc(size, 1);
    if (model->skin.bone_count || model->morphs.morph_count)
        return pelt_model_pose(r->session->context, model, NULL, 0, PELT_SKINNING_LINEAR, *positions, NULL);
    if (size)
        memcpy(*positions, model->mesh.positions, size);
    return PELT_OK;
}

/* Copies the positions of a mesh to the matching vertices of the rig, out [rig vertex][3]. */
static exit_code take_mesh(const reader *r, const pelt_model *model, float *out) {
    uint32_t count = r->rig->mesh.vertex_count, *vertices = must_alloc(count, sizeof *vertices);
    float *positions = NULL;
    pelt_result result = pelt_model_match(r->session->context, r->rig, model, vertices);
    if (result == PELT_OK)
        result = stand(r, model, &positions);
    exit_code code = result == PELT_OK ? EXIT_DONE : session_fail(r->session, result);
    for (uint32_t v = 0; code == EXIT_DONE && v < count; v++)
        if (vertices[v] == PELT_NONE) {
            say(r->session, MESSAGE_ERROR,
                "%s has no vertex for vertex %u of %s, which no triangle uses: remove it there", model->path, v,
                r->rig->path);
            code = EXIT_INPUT;
        } else {
            memcpy(out + (size_t)3 * v, positions + (size_t)3 * vertices[v], 3 * sizeof *out);
        }
    free(positions);
    free(vertices);
    return code;
}

static exit_code read_mesh(const reader *r, const char *path, float *out) {
    pelt_model *model;
    pelt_result result = pelt_load(r->session->context, &path, 1, r->load, &model);
    if (result != PELT_OK)
        return session_fail(r->session, result);
    exit_code code = take_mesh(r, model, out);
    pelt_model_destroy(model);
    return code;
}

static exit_code read_pose(const reader *r, const char *path, pelt_pose *pose) {
    pelt_pose *poses;
    uint32_t count;
    pelt_result result = pelt_load_poses(r->session->context, r->rig, path, r->load, &poses, &count);
    if (result != PELT_OK)
        return session_fail(r->session, result);
    if (count == 1) {
        *pose = poses[0];
        return EXIT_DONE;
    }
    say(r->session, MESSAGE_ERROR, "%s: has %u poses; the mesh beside it needs one", path, count);
    return EXIT_INPUT;
}

/* ---- A folder --------------------------------------------------------------------------------------------- */

/* Files of a folder that may be meshes or poses, sorted by name. */
typedef struct file_list {
    char **names;
    size_t count;
} file_list;

/* Extensions in order of preference. */
static const char *const mesh_kinds[] = {"obj", "ply", "glb", "gltf"};
static const char *const pose_kinds[] = {"json", "bvh", "glb", "gltf"};

/* Index of a file's extension in kinds [4]; 4 if it is not there. */
static size_t kind_of(const char *name, const char *const *kinds) {
    const char *dot = strrchr(name, '.');
    size_t kind = 0;
    while (kind < COUNT(mesh_kinds) && !(dot && strcasecmp(dot + 1, kinds[kind]) == 0))
        kind++;
    return kind;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static exit_code list_files(const reader *r, const char *folder, file_list *files) {
    px_folder entries;
    if (!px_folder_open(&entries, folder)) {
        say(r->session, MESSAGE_ERROR, "%s: cannot be read: %s", folder, strerror(errno));
        return EXIT_INPUT;
    }
    for (const char *name; (name = px_folder_next(&entries));)
        if (name[0] != '.' &&
            (kind_of(name, mesh_kinds) < COUNT(mesh_kinds) || kind_of(name, pose_kinds) < COUNT(pose_kinds))) {
            files->names = must_resize(files->names, files->count + 1, sizeof *files->names);
            files->names[files->count++] = must_format("%s", name);
        }
    px_folder_close(&entries);
    if (files->count)
        qsort(files->names, files->count, sizeof *files->names, by_name);
    return EXIT_DONE;
}

static size_t stem_length(const char *name) {
    return (size_t)(strrchr(name, '.') - name);
}

static bool same_stem(const char *a, const char *b) {
    return stem_length(a) == stem_length(b) && strncmp(a, b, stem_length(a)) == 0;
}

/* Of the files with the same stem as `name`, except `other`: the one whose extension is first in `kinds`; or NULL. */
static const char *find_beside(const file_list *files, const char *name, const char *const *kinds, const char *other) {
    const char *found = NULL;
    for (size_t f = 0; f < files->count; f++) {
        const char *file = files->names[f];
        if (file != other && same_stem(file, name) && kind_of(file, kinds) < COUNT(mesh_kinds) &&
            (!found || kind_of(file, kinds) < kind_of(found, kinds)))
            found = file;
    }
    return found;
}

/* Reads an example: a mesh and a pose file with the same stem. */
static exit_code read_pair(const reader *r, const char *folder, const char *mesh, const char *pose) {
    float *positions = new_positions(r);
    char *mesh_path = must_format("%s/%s", folder, mesh), *pose_path = must_format("%s/%s", folder, pose);
    pelt_pose read = {0};
    exit_code code = positions ? read_mesh(r, mesh_path, positions) : no_memory(r);
    if (code == EXIT_DONE)
        code = read_pose(r, pose_path, &read);
    free(mesh_path);
    free(pose_path);
    if (code != EXIT_DONE)
        return code;
    r->out->items[r->out->count++] = (pelt_pose_example){read.name, read.locals, positions, NULL};
    return EXIT_DONE;
}

static exit_code read_files(const reader *r, const char *folder, const file_list *files) {
    exit_code code = make_room(r, files->count, r->out);
    for (size_t f = 0; code == EXIT_DONE && f < files->count; f++) {
        const char *name = files->names[f];
        const char *mesh = find_beside(files, name, mesh_kinds, NULL);
        if (mesh && mesh != name) /* the pair is read at its mesh */
            continue;
        const char *pose = find_beside(files, name, pose_kinds, mesh);
        if (mesh && pose) {
            code = read_pair(r, folder, mesh, pose);
            continue;
        }
        say(r->session, MESSAGE_ERROR, "%s/%s: there is no %s beside it (%.*s.%s)", folder, name,
            mesh ? "pose" : "mesh", (int)stem_length(name), name, mesh ? "json, .bvh or .glb" : "obj, .ply or .glb");
        code = EXIT_INPUT;
    }
    return code;
}

static exit_code read_folder(const reader *r, const char *folder) {
    file_list files = {0};
    exit_code code = list_files(r, folder, &files);
    if (code == EXIT_DONE)
        code = read_files(r, folder, &files);
    for (size_t f = 0; f < files.count; f++)
        free(files.names[f]);
    free(files.names);
    return code;
}

/* ---- Morph targets ---------------------------------------------------------------------------------------- */

/* Sets the weights of targets with this name to 1, all others to their rest weight. Returns false if no target has the
 * name. */
static bool target_weights(const pelt_morph_set *morphs, const char *name, float *weights) {
    bool found = false;
    for (uint32_t m = 0; m < morphs->morph_count; m++) {
        bool named = strcmp(morphs->morphs[m].name, name) == 0;
        weights[m] = named ? 1 : morphs->morphs[m].weight;
        found |= named;
    }
    return found;
}

static exit_code no_such_target(const reader *r, const char *path, const char *name) {
    const pelt_morph_set *morphs = &r->rig->morphs;
    const char **names = must_alloc(morphs->morph_count, sizeof *names);
    for (uint32_t m = 0; m < morphs->morph_count; m++)
        names[m] = morphs->morphs[m].name;
    const char *near = pelt_nearest_name(name, names, morphs->morph_count);
    free(names);
    if (near)
        say(r->session, MESSAGE_ERROR, "%s: %s has no morph target '%s'; did you mean '%s'?", path, r->rig->path, name,
            near);
    else
        say(r->session, MESSAGE_ERROR, "%s: %s has no morph target '%s', only %u others", path, r->rig->path, name,
            morphs->morph_count);
    return EXIT_INPUT;
}

static exit_code add_target(const reader *r, const char *path, const pelt_pose *pose, float *weights) {
    if (!target_weights(&r->rig->morphs, pose->name, weights))
        return no_such_target(r, path, pose->name);
    float *positions = new_positions(r);
    if (!positions)
        return no_memory(r);
    pelt_result result = pelt_model_pose_locals(r->session->context, r->rig, pose->locals, weights,
                                                PELT_SKINNING_LINEAR, positions, NULL);
    if (result != PELT_OK)
        return session_fail(r->session, result);
    r->out->items[r->out->count++] = (pelt_pose_example){pose->name, pose->locals, positions, NULL};
    return EXIT_DONE;
}

static exit_code read_targets(const reader *r, const char *path) {
    pelt_pose *poses;
    uint32_t count;
    pelt_result result = pelt_load_poses(r->session->context, r->rig, path, r->load, &poses, &count);
    if (result != PELT_OK)
        return session_fail(r->session, result);
    float *weights = must_alloc(r->rig->morphs.morph_count, sizeof *weights);
    exit_code code = make_room(r, count, r->out);
    for (uint32_t p = 0; code == EXIT_DONE && p < count; p++)
        code = add_target(r, path, &poses[p], weights);
    free(weights);
    return code;
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

static bool is_folder(const char *path) {
    uint64_t size;
    return px_path_look(path, &size) == PX_PATH_FOLDER;
}

bool poses_are_frames(const char *path) {
    const char *dot = strrchr(path, '.');
    return !is_folder(path) && !(dot && strcasecmp(dot, ".json") == 0);
}

exit_code poses_read(cli_session *session, pelt_model *rig, const char *path, const pelt_load_desc *load,
                     pose_set *out) {
    *out = (pose_set){0};
    reader r = {session, rig, load, out};
    exit_code code = is_folder(path) ? read_folder(&r, path) : read_targets(&r, path);
    if (code != EXIT_DONE || out->count)
        return code;
    say(session, MESSAGE_ERROR, "%s: there are no poses in it", path);
    return EXIT_INPUT;
}
