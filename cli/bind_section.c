/* pelt bind --section: pictures of sections through the voxels. */
#include "bind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_SIZE 640u /* of a picture's longer side, pixels: smaller sections are magnified */

/* "AXIS [POSITION] [voxels|weights|JOINT]=FILE.png". */
typedef struct section_spec {
    uint32_t axis, kind;
    double position; /* NaN: the section with most voxels */
    char *joint;     /* or NULL */
    const char *path;
} section_spec;

static exit_code parse(const bind_work *w, const char *text, section_spec *out) {
    const char *divide = strrchr(text, '=');
    *out = (section_spec){.kind = PELT_BIND_SECTION_VOXELS, .position = NAN};
    size_t length = divide ? strlen(divide) : 0;
    if (length < 6 || strcmp(divide + length - 4, ".png") != 0 || !strchr("xyz", text[0]) ||
        (text[1] != ' ' && text + 1 != divide))
        return usage_error(
            w->session, "--section %s: give an axis and a picture, like z=section.png or 'z 0.1 Hand=hand.png'", text);
    out->axis = (uint32_t)(text[0] - 'x');
    out->path = divide + 1;
    const char *at = text + 1;
    char *end;
    while (at < divide && *at == ' ')
        at++;
    double position = strtod(at, &end);
    if (end > at && end <= divide && (*end == ' ' || end == divide)) {
        out->position = position;
        for (at = end; at < divide && *at == ' ';)
            at++;
    }
    if (at == divide)
        return EXIT_DONE;
    out->joint = must_format("%.*s", (int)(divide - at), at);
    out->kind = strcmp(out->joint, "voxels") == 0    ? PELT_BIND_SECTION_VOXELS
                : strcmp(out->joint, "weights") == 0 ? PELT_BIND_SECTION_WEIGHTS
                                                     : PELT_BIND_SECTION_FIELD;
    return EXIT_DONE;
}

exit_code bind_section_check(bind_work *w) {
    arg_list values = option_values(w->session, "section");
    exit_code code = EXIT_DONE;
    for (size_t n = 0; n < values.count && code == EXIT_DONE; n++) {
        section_spec spec;
        code = parse(w, values.items[n], &spec);
        w->desc.keep_fields |= spec.kind != PELT_BIND_SECTION_VOXELS;
        free(spec.joint);
    }
    free(values.items);
    return code;
}

static pelt_result write_section(bind_work *w, const section_spec *spec) {
    pelt_context *context = w->session->context;
    pelt_bind_section section;
    uint32_t joint = PELT_NONE;
    pelt_result result = PELT_OK;
    if (spec->kind == PELT_BIND_SECTION_FIELD)
        result = pelt_joint_find(context, w->rig ? w->rig : w->model, spec->joint, &joint);
    if (result == PELT_OK)
        result = pelt_binding_section(w->binding, spec->kind, spec->axis, spec->position, joint, &section);
    if (result != PELT_OK)
        return result;
    uint32_t longer = section.width > section.height ? section.width : section.height, scale = 1;
    while (scale * longer < MIN_SIZE)
        scale++;
    uint32_t width = scale * section.width, height = scale * section.height;
    uint8_t *pixels = must_alloc((size_t)width * height, 4);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            memcpy(pixels + 4 * ((size_t)y * width + x),
                   section.pixels + 4 * ((size_t)(y / scale) * section.width + x / scale), 4);
    result = pelt_image_save(context, spec->path, width, height, pixels);
    free(pixels);
    pelt_bind_section_free(context, &section);
    return result;
}

pelt_result bind_section_write(bind_work *w) {
    arg_list values = option_values(w->session, "section");
    pelt_result result = PELT_OK;
    for (size_t n = 0; n < values.count && result == PELT_OK; n++) {
        section_spec spec;
        if (parse(w, values.items[n], &spec) == EXIT_DONE)
            result = write_section(w, &spec);
        free(spec.joint);
    }
    free(values.items);
    return result;
}
