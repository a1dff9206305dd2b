/* FBX writer: binary files of version 7.4, in the axes and unit of a target. See fbx_write.h. */
#include "io/fbx_write.h"

#include "io/fbx.h"

static void write_header(px_fbx_out *out) {
    static const char *const names[] = {"Year", "Month", "Day", "Hour", "Minute", "Second", "Millisecond"};
    static const int32_t time[] = {1970, 1, 1, 10, 0, 0, 0}; /* constant: the same model gives the same bytes */
    static const uint8_t file_id[] = {0x28, 0xB3, 0x2A, 0xEB, 0xB6, 0x24, 0xCC, 0xC2,
                                      0xBF, 0xC8, 0xB0, 0x2A, 0xA9, 0x2B, 0xFC, 0xF1};
    px_fbx_begin(out, "FBXHeaderExtension");
    px_fbx_record_i32(out, "FBXHeaderVersion", 1003);
    px_fbx_record_i32(out, "FBXVersion", 7400);
    px_fbx_record_i32(out, "EncryptionType", 0);
    px_fbx_begin(out, "CreationTimeStamp");
    px_fbx_record_i32(out, "Version", 1000);
    for (size_t n = 0; n < PX_COUNT(names); n++)
        px_fbx_record_i32(out, names[n], time[n]);
    px_fbx_end(out);
    px_fbx_record_text(out, "Creator", "Pelt " PELT_VERSION);
    px_fbx_end(out);
    px_fbx_begin(out, "FileId");
    px_fbx_bytes(out, file_id, sizeof file_id);
    px_fbx_end(out);
    px_fbx_record_text(out, "CreationTime", "1970-01-01 10:00:00:000");
    px_fbx_record_text(out, "Creator", "Pelt " PELT_VERSION);
}

/* y up, z towards the viewer, or z up, −y towards the viewer; x to the right. */
static void write_settings(px_fbx_writer *w) {
    bool z_up = w->target->z_up;
    const struct {
        const char *name;
        int32_t value;
    } axes[] = {{"UpAxis", z_up ? 2 : 1},         {"UpAxisSign", 1},        {"FrontAxis", z_up ? 1 : 2},
                {"FrontAxisSign", z_up ? -1 : 1}, {"CoordAxis", 0},         {"CoordAxisSign", 1},
                {"OriginalUpAxis", z_up ? 2 : 1}, {"OriginalUpAxisSign", 1}};
    px_fbx_out *out = &w->out;
    px_fbx_begin(out, "GlobalSettings");
    px_fbx_record_i32(out, "Version", 1000);
    px_fbx_begin(out, "Properties70");
    for (size_t a = 0; a < PX_COUNT(axes); a++)
        px_fbx_property_i32(out, axes[a].name, "int", "Integer", axes[a].value);
    px_fbx_property_f64(out, "UnitScaleFactor", "double", "Number", "", 100 / w->target->unit);
    px_fbx_property_f64(out, "OriginalUnitScaleFactor", "double", "Number", "", 100 / w->target->unit);
    px_fbx_property_i32(out, "TimeMode", "enum", "", px_fbx_time_mode(w->rate));
    px_fbx_end(out);
    px_fbx_end(out);
}

/* Writes counts of 0; places [PX_FBX_SORTS + 1] tells where they are, that of all objects last. */
static void write_definitions(px_fbx_out *out, size_t places[PX_FBX_SORTS + 1]) {
    static const char *const names[PX_FBX_SORTS] = {
        "Model", "NodeAttribute",  "Geometry",       "Material",           "Texture",       "Video", "Deformer",
        "Pose",  "AnimationStack", "AnimationLayer", "AnimationCurveNode", "AnimationCurve"};
    px_fbx_begin(out, "Documents");
    px_fbx_record_i32(out, "Count", 1);
    px_fbx_begin(out, "Document");
    px_fbx_i64(out, 1);
    px_fbx_text(out, "");
    px_fbx_text(out, "Scene");
    px_fbx_begin(out, "RootNode");
    px_fbx_i64(out, 0);
    px_fbx_end(out);
    px_fbx_end(out);
    px_fbx_end(out);
    px_fbx_begin(out, "References");
    px_fbx_end(out);
    px_fbx_begin(out, "Definitions");
    px_fbx_record_i32(out, "Version", 100);
    px_fbx_record_i32(out, "Count", 0);
    places[PX_FBX_SORTS] = out->bytes.size - sizeof(int32_t);
    px_fbx_begin(out, "ObjectType");
    px_fbx_text(out, "GlobalSettings");
    px_fbx_record_i32(out, "Count", 1);
    px_fbx_end(out);
    for (int s = 0; s < PX_FBX_SORTS; s++) {
        px_fbx_begin(out, "ObjectType");
        px_fbx_text(out, names[s]);
        px_fbx_record_i32(out, "Count", 0);
        places[s] = out->bytes.size - sizeof(int32_t);
        px_fbx_end(out);
    }
    px_fbx_end(out);
}

static void set_counts(px_fbx_writer *w, const size_t places[PX_FBX_SORTS + 1]) {
    uint32_t all = 1;
    for (int s = 0; s < PX_FBX_SORTS; s++) {
        px_fbx_set_i32(&w->out, places[s], (int32_t)w->counts[s]);
        all += w->counts[s];
    }
    px_fbx_set_i32(&w->out, places[PX_FBX_SORTS], (int32_t)all);
}

static void write_links(px_fbx_writer *w) {
    const px_fbx_connection *links = (const px_fbx_connection *)(const void *)w->links.data;
    px_fbx_begin(&w->out, "Connections");
    for (size_t l = 0; l < w->links.size / sizeof *links; l++) {
        px_fbx_begin(&w->out, "C");
        px_fbx_text(&w->out, links[l].property ? "OP" : "OO");
        px_fbx_i64(&w->out, links[l].child);
        px_fbx_i64(&w->out, links[l].parent);
        if (links[l].property)
            px_fbx_text(&w->out, links[l].property);
        px_fbx_end(&w->out);
    }
    px_fbx_end(&w->out);
}

static pelt_result write_objects(px_fbx_writer *w) {
    w->last_id = PX_FBX_FIRST_ID;
    px_fbx_begin(&w->out, "Objects");
    px_fbx_write_joints(w);
    PX_TRY(px_fbx_write_materials(w));
    PX_TRY(px_fbx_write_meshes(w));
    PX_TRY(px_fbx_write_motions(w));
    px_fbx_end(&w->out);
    return PELT_OK;
}

static pelt_result write_all(px_fbx_writer *w) {
    size_t places[PX_FBX_SORTS + 1];
    px_output_file *file;
    PX_TRY(px_fbx_plan(w));
    px_fbx_target_tell(w);
    px_fbx_start(&w->out, w->write->context);
    write_header(&w->out);
    write_settings(w);
    write_definitions(&w->out, places);
    PX_TRY(write_objects(w));
    write_links(w);
    set_counts(w, places);
    PX_TRY(px_fbx_finish(&w->out));
    if (w->links.failed)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_output_open(w->write->output, w->write->path, &file));
    return px_output_write(file, w->out.bytes.data, w->out.bytes.size);
}

/* Says what FBX files cannot hold. A joint that turns below a stretched one is sheared: nodes of a scene can be, bones of most programs cannot. */
static void warn(const px_write *write) {
    const pelt_model *model = write->model;
    uint32_t sheared = px_sheared_joints(model);
    if (model->driver_count)
        px_log(write->context, PELT_LOG_WARNING,
               "FBX holds no drivers: morph targets follow the motions of the file, not other poses; write .glb to "
               "keep them");
    if (model->sliders.slider_count)
        px_log(write->context, PELT_LOG_WARNING,
               "FBX holds no sliders: only the motions of the file move their joints; write .glb to keep them");
    if (model->clip_count && !write->desc->skip_clips)
        px_log(write->context, PELT_LOG_WARNING, "FBX holds no vertex animations; those of the model are left out");
    if (sheared && !write->trial)
        px_log(write->context, PELT_LOG_WARNING,
               "%u joints are sheared, which most programs drop from bones of FBX files; decompose with transforms trs "
               "or rigid for files that look the same",
               sheared);
}

pelt_result px_fbx_write(const px_write *write) {
    px_fbx_writer w = {.write = write,
                       .model = write->model,
                       .target = px_fbx_target_at(write->desc->target),
                       .arena = px_arena_create(write->context),
                       .links.context = write->context};
    warn(write);
    pelt_result result = w.arena ? write_all(&w) : PELT_ERROR_MEMORY;
    px_buffer_free(&w.out.bytes);
    px_buffer_free(&w.links);
    px_arena_destroy(w.arena);
    return result;
}
