/* USD writer: text (.usda) or a package with its images (.usdz), in metres and y up.
 *
 * Joints become one Skeleton, motions SkelAnimation prims below it; the skeleton is bound to one of them, since USD plays one. A group of
 * parts becomes a Mesh with a GeomSubset for each part. With joint matrices J(t) and a mesh's geomBindTransform G,
 *   v' = Σ w · J(t) · bind⁻¹ · G · v
 * so a skin whose bones have other bind matrices than those of an earlier bone of the same joint gets joints of its own for them
 * (PX_USD_BIND_JOINT), and a mesh that follows one joint gets the matrix G that fits. Morph targets become BlendShape prims, their weights
 * channels of the animations. Without a skin a vertex animation becomes time samples of the points.
 */
#include "io/usd_write.h"

#include <stdio.h>
#include <strings.h>

static void write_header(px_usd_writer *w) {
    px_usd_out *out = &w->out;
    const pelt_clip *clip = px_usd_written_clip(w);
    float start = 0, end = 0;
    bool timed = false;
    for (uint32_t m = 0; m < w->model->motion_count; m++, timed = true) {
        const pelt_motion *motion = &w->model->motions[m];
        start = !timed || motion->start < start ? motion->start : start;
        end = !timed || motion->end > end ? motion->end : end;
    }
    if (clip && clip->frame_count) {
        start = !timed || clip->times[0] < start ? clip->times[0] : start;
        end = !timed || clip->times[clip->frame_count - 1] > end ? clip->times[clip->frame_count - 1] : end;
        timed = true;
    }
    px_usd_line(out, "#usda 1.0");
    px_usd_line(out, "(");
    out->depth++;
    px_usd_line(out, "defaultPrim = \"%s\"", w->root);
    px_usd_line(out, "doc = \"Pelt " PELT_VERSION "\"");
    if (timed) {
        px_usd_start(out, "endTimeCode = ");
        px_usd_time(out, end);
        px_buffer_text(&out->text, "\n");
    }
    px_usd_line(out, "framesPerSecond = %d", (int)PX_USD_RATE);
    px_usd_line(out, "metersPerUnit = 1");
    if (timed) {
        px_usd_start(out, "startTimeCode = ");
        px_usd_time(out, start);
        px_buffer_text(&out->text, "\n");
    }
    px_usd_line(out, "timeCodesPerSecond = %d", (int)PX_USD_RATE);
    px_usd_line(out, "upAxis = \"Y\"");
    out->depth--;
    px_usd_line(out, ")");
    px_usd_line(out, "%s", "");
}

static pelt_result write_scene(px_usd_writer *w) {
    const pelt_clip *clip = px_usd_written_clip(w);
    write_header(w);
    px_usd_begin(&w->out, w->has_joints ? "SkelRoot" : "Xform", w->root, w->has_joints ? "\"SkelBindingAPI\"" : NULL);
    if (clip) {
        px_usd_start(&w->out, "custom string pelt:clip = ");
        px_usd_text(&w->out, clip->name);
        px_buffer_text(&w->out.text, "\n");
    }
    if (w->has_joints)
        PX_TRY(px_usd_write_skeleton(w));
    PX_TRY(px_usd_write_meshes(w));
    if (w->used_count)
        px_usd_write_materials(&w->out, w->root, w->used, w->used_count, w->used_names, w->files);
    px_usd_end(&w->out);
    return w->out.text.failed ? PELT_ERROR_MEMORY : PELT_OK;
}

static pelt_result write_package(px_usd_writer *w, px_output_file *file) {
    px_usd_entry *entries = PX_NEW(w->arena, px_usd_entry, (size_t)w->materials.image_count + 1);
    uint32_t count = 1;
    if (!entries)
        return PELT_ERROR_MEMORY;
    entries[0] = (px_usd_entry){"model.usda", w->out.text.data, w->out.text.size};
    for (uint32_t i = 0; i < w->materials.image_count; i++)
        if (w->files[i])
            entries[count++] = (px_usd_entry){w->files[i], w->materials.images[i].data, w->materials.images[i].size};
    return px_usd_write_zip(w->write->context, file, entries, count);
}

static pelt_result write_files(px_usd_writer *w) {
    const px_write *write = w->write;
    px_output_file *file;
    PX_TRY(px_output_open(write->output, write->path, &file));
    if (px_usd_is_package(write->path))
        return write_package(w, file);
    PX_TRY(px_output_write(file, w->out.text.data, w->out.text.size));
    for (uint32_t i = 0; i < w->materials.image_count; i++) {
        if (!w->files[i])
            continue;
        const char *folder = px_arena_text(w->arena, write->path, (size_t)(px_path_name(write->path) - write->path));
        const char *path = folder ? px_usd_join(w->arena, folder, "", w->files[i]) : NULL;
        if (!path)
            return PELT_ERROR_MEMORY;
        PX_TRY(px_output_open(write->output, path, &file));
        PX_TRY(px_output_write(file, w->materials.images[i].data, w->materials.images[i].size));
    }
    return PELT_OK;
}

/* Says what USD files cannot hold. */
static void warn(const px_write *write) {
    const pelt_model *model = write->model;
    uint32_t sheared = px_sheared_joints(model);
    if (write->trial)
        return;
    if (model->driver_count)
        px_log(write->context, PELT_LOG_WARNING,
               "USD holds no drivers: morph targets follow the motions of the file, not other poses; write .glb to "
               "keep them");
    if (model->sliders.slider_count)
        px_log(write->context, PELT_LOG_WARNING,
               "USD holds no sliders: only the motions of the file move their joints; write .glb to keep them");
    if (model->mesh.colors)
        px_log(write->context, PELT_LOG_WARNING, "vertex colours are not written to USD; write .glb to keep them");
    if (model->clip_count && model->skin.bone_count && !write->desc->skip_clips)
        px_log(write->context, PELT_LOG_WARNING,
               "a USD file holds a skin or a vertex animation; the vertex animations of the model are left out");
    if (model->clip_count > 1 && model->skin.bone_count == 0 && !write->desc->skip_clips)
        px_log(write->context, PELT_LOG_WARNING, "a USD file holds one vertex animation: '%s' of %u",
               model->clips[write->desc->clip < model->clip_count ? write->desc->clip : 0].name, model->clip_count);
    if (sheared)
        px_log(write->context, PELT_LOG_WARNING,
               "%u joints are sheared, which some programs drop from joints of USD files; decompose with transforms "
               "trs or rigid for files that look the same everywhere",
               sheared);
}

pelt_result px_usd_write(const px_write *write) {
    px_usd_writer w = {.write = write, .model = write->model, .arena = px_arena_create(write->context)};
    w.out.text.context = write->context;
    w.out.arena = w.arena;
    pelt_result result = w.arena ? PELT_OK : PELT_ERROR_MEMORY;
    warn(write);
    if (result == PELT_OK)
        result = px_usd_plan(&w);
    if (result == PELT_OK)
        result = write_scene(&w);
    if (result == PELT_OK)
        result = write_files(&w);
    px_buffer_free(&w.out.text);
    px_arena_destroy(w.arena);
    return result;
}
