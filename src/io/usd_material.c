/* Materials of USD files as UsdPreviewSurface: see usd.h. */
#include "io/usd.h"

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static const char *const shaders[PX_TEXTURE_USES] = {"Base", "Surfacing", "Normal", "Shade", "Emissive"};

/* "TYPE inputs:NAME.connect = </ROOT/Materials/MATERIAL/SHADER.outputs:OUTPUT>" */
static void connect(px_usd_out *out, const char *input, const char *root, const char *material, const char *shader,
                    const char *output) {
    px_usd_start(out, input);
    px_buffer_format(&out->text, ".connect = </%s/Materials/%s/%s.outputs:%s>\n", root, material, shader, output);
}

static void write_texture(px_usd_out *out, const char *root, const char *name, const px_material *m, px_texture_use use,
                          const char *file) {
    static const char *const wraps[] = {"repeat", "mirror", "clamp"};
    const px_texture *texture = &m->textures[use];
    float scale[4] = {1, 1, 1, 1}, bias[4] = {0};
    bool colors = use == PX_TEXTURE_BASE || use == PX_TEXTURE_EMISSIVE;
    if (use == PX_TEXTURE_BASE)
        memcpy(scale, m->base_color, sizeof scale);
    for (int c = 0; c < 3 && use == PX_TEXTURE_EMISSIVE; c++)
        scale[c] = m->emissive[c];
    for (int c = 0; c < 3 && use == PX_TEXTURE_NORMAL; c++) {
        scale[c] = 2;
        bias[c] = -1;
    }
    if (use == PX_TEXTURE_SURFACE) {
        scale[1] = m->roughness;
        scale[2] = m->metallic;
    }
    px_usd_begin(out, "Shader", shaders[use], NULL);
    px_usd_line(out, "uniform token info:id = \"UsdUVTexture\"");
    if (use == PX_TEXTURE_NORMAL) {
        px_usd_start(out, "float4 inputs:bias = ");
        px_usd_tuple(out, bias, 4);
        px_buffer_text(&out->text, "\n");
    }
    px_usd_start(out, "asset inputs:file = @");
    px_buffer_format(&out->text, "%s@\n", file);
    px_usd_start(out, "float4 inputs:scale = ");
    px_usd_tuple(out, scale, 4);
    px_buffer_text(&out->text, "\n");
    px_usd_line(out, "token inputs:sourceColorSpace = \"%s\"", colors ? "sRGB" : "raw");
    connect(out, "float2 inputs:st", root, name, "Coordinates", "result");
    px_usd_line(out, "token inputs:wrapS = \"%s\"", wraps[texture->wrap[0]]);
    px_usd_line(out, "token inputs:wrapT = \"%s\"", wraps[texture->wrap[1]]);
    if (use == PX_TEXTURE_SHADE)
        px_usd_line(out, "float outputs:r");
    if (use == PX_TEXTURE_SURFACE) {
        px_usd_line(out, "float outputs:g");
        px_usd_line(out, "float outputs:b");
    } else if (use != PX_TEXTURE_SHADE) {
        px_usd_line(out, "float3 outputs:rgb");
    }
    if (use == PX_TEXTURE_BASE)
        px_usd_line(out, "float outputs:a");
    px_usd_end(out);
}

static void put_number(px_usd_out *out, const char *start, float value) {
    px_usd_start(out, start);
    px_buffer_float(&out->text, value);
    px_buffer_text(&out->text, "\n");
}

static void put_color(px_usd_out *out, const char *start, const float *value) {
    px_usd_start(out, start);
    px_usd_tuple(out, value, 3);
    px_buffer_text(&out->text, "\n");
}

static void write_surface(px_usd_out *out, const char *root, const char *name, const px_material *m,
                          const bool used[PX_TEXTURE_USES]) {
    px_usd_begin(out, "Shader", "Surface", NULL);
    px_usd_line(out, "uniform token info:id = \"UsdPreviewSurface\"");
    if (used[PX_TEXTURE_BASE])
        connect(out, "color3f inputs:diffuseColor", root, name, shaders[PX_TEXTURE_BASE], "rgb");
    else
        put_color(out, "color3f inputs:diffuseColor = ", m->base_color);
    if (used[PX_TEXTURE_EMISSIVE])
        connect(out, "color3f inputs:emissiveColor", root, name, shaders[PX_TEXTURE_EMISSIVE], "rgb");
    else
        put_color(out, "color3f inputs:emissiveColor = ", m->emissive);
    if (used[PX_TEXTURE_SURFACE]) {
        connect(out, "float inputs:metallic", root, name, shaders[PX_TEXTURE_SURFACE], "b");
        connect(out, "float inputs:roughness", root, name, shaders[PX_TEXTURE_SURFACE], "g");
    } else {
        put_number(out, "float inputs:metallic = ", m->metallic);
        put_number(out, "float inputs:roughness = ", m->roughness);
    }
    if (used[PX_TEXTURE_NORMAL])
        connect(out, "normal3f inputs:normal", root, name, shaders[PX_TEXTURE_NORMAL], "rgb");
    if (used[PX_TEXTURE_SHADE])
        connect(out, "float inputs:occlusion", root, name, shaders[PX_TEXTURE_SHADE], "r");
    if (m->alpha != PX_ALPHA_OPAQUE && used[PX_TEXTURE_BASE])
        connect(out, "float inputs:opacity", root, name, shaders[PX_TEXTURE_BASE], "a");
    else if (m->alpha != PX_ALPHA_OPAQUE)
        put_number(out, "float inputs:opacity = ", m->base_color[3]);
    if (m->alpha == PX_ALPHA_MASK)
        put_number(out, "float inputs:opacityThreshold = ", m->cutoff);
    px_usd_line(out, "token outputs:surface");
    px_usd_end(out);
}

void px_usd_write_materials(px_usd_out *out, const char *root, const px_material *materials, uint32_t material_count,
                            const char *const *names, const char *const *files) {
    px_usd_begin(out, "Scope", "Materials", NULL);
    for (uint32_t n = 0; n < material_count; n++) {
        const px_material *m = &materials[n];
        bool used[PX_TEXTURE_USES], any = false;
        for (int use = 0; use < PX_TEXTURE_USES; use++) {
            used[use] = m->textures[use].image != PELT_NONE && files[m->textures[use].image];
            any |= used[use];
        }
        px_usd_begin(out, "Material", names[n], NULL);
        px_usd_original(out, names[n], m->name);
        connect(out, "token outputs:surface", root, names[n], "Surface", "surface");
        write_surface(out, root, names[n], m, used);
        if (any) {
            px_usd_begin(out, "Shader", "Coordinates", NULL);
            px_usd_line(out, "uniform token info:id = \"UsdPrimvarReader_float2\"");
            px_usd_line(out, "string inputs:varname = \"st\"");
            px_usd_line(out, "float2 outputs:result");
            px_usd_end(out);
        }
        for (int use = 0; use < PX_TEXTURE_USES; use++)
            if (used[use])
                write_texture(out, root, names[n], m, (px_texture_use)use, files[m->textures[use].image]);
        px_usd_end(out);
    }
    px_usd_end(out);
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

/* The surface shader of a material; NULL: it has none that is known. */
static const px_usd_prim *find_surface(const px_usd *usd, const px_usd_prim *material) {
    const px_usd_prim *shader = px_usd_target(usd, material, "outputs:surface", PX_USD_CONNECTION);
    return shader && px_text_is(px_usd_first_text(px_usd_value(shader, "info:id")), "UsdPreviewSurface") ? shader
                                                                                                         : NULL;
}

/* The texture that an input is connected to; NULL: none. */
static const px_usd_prim *find_texture(const px_usd *usd, const px_usd_prim *surface, const char *input) {
    const px_usd_prim *shader = px_usd_target(usd, surface, input, PX_USD_CONNECTION);
    return shader && px_text_is(px_usd_first_text(px_usd_value(shader, "info:id")), "UsdUVTexture") ? shader : NULL;
}

/* Numbers of an input, or what they are multiplied by where a texture gives them; kept where the file has none. */
static pelt_result read_input(px_usd *usd, const px_usd_prim *prim, const char *name, float *values, size_t count) {
    double numbers[4];
    bool found;
    PX_TRY(px_usd_tuple_of(usd, px_usd_value(prim, name), numbers, count, &found));
    for (size_t c = 0; c < count && found; c++)
        values[c] = (float)numbers[c];
    return PELT_OK;
}

static px_wrap read_wrap(const px_usd_prim *texture, const char *name) {
    px_text word = px_usd_first_text(px_usd_value(texture, name));
    return px_text_is(word, "clamp") || px_text_is(word, "black") ? PX_WRAP_CLAMP
           : px_text_is(word, "mirror")                           ? PX_WRAP_MIRROR
                                                                  : PX_WRAP_REPEAT;
}

/* The content of an image: from the package, or a file in the folder of the text. */
static pelt_result open_image(px_usd *usd, const char *name, px_image *image) {
    px_arena *memory = usd->read->model->memory;
    const char *plain = strncmp(name, "./", 2) == 0 ? name + 2 : name, *own = px_path_name(plain);
    if (usd->entry_count == 0) {
        PX_TRY(px_image_beside(usd->read, plain, image));
    } else {
        *image = (px_image){.name = own};
        for (uint32_t n = 0; n < usd->entry_count; n++)
            if (strcmp(usd->entries[n].name, plain) == 0) {
                uint8_t *copy = px_arena_alloc(memory, px_max_size(1, usd->entries[n].size), 1);
                if (!copy)
                    return PELT_ERROR_MEMORY;
                memcpy(copy, usd->entries[n].data, usd->entries[n].size);
                image->data = copy;
                image->size = usd->entries[n].size;
                image->extension = px_image_extension(copy, image->size);
            }
        const char *dot = strrchr(own, '.');
        if (!(image->name = px_arena_text(memory, own, dot ? (size_t)(dot - own) : strlen(own))))
            return PELT_ERROR_MEMORY;
    }
    if (!image->extension)
        px_log(usd->context, PELT_LOG_WARNING, "the image %.200s cannot be read; it is left out", plain);
    return PELT_OK;
}

/* Images by the path in the file: each is read once. */
typedef struct image_list {
    px_buffer names;  /* const char * */
    px_buffer images; /* px_image */
} image_list;

static pelt_result read_texture(px_usd *usd, image_list *list, const px_usd_prim *texture, px_texture *out) {
    px_text file = px_usd_first_text(px_usd_value(texture, "inputs:file"));
    if (!file.data || file.size == 0)
        return PELT_OK;
    const char *name = px_arena_text(usd->arena, file.data, file.size);
    const char *const *names = (const char *const *)(const void *)list->names.data;
    size_t count = list->names.size / sizeof name, n = 0;
    if (!name)
        return PELT_ERROR_MEMORY;
    while (n < count && strcmp(names[n], name) != 0)
        n++;
    if (n == count) {
        px_image image;
        PX_TRY(open_image(usd, name, &image));
        px_buffer_add(&list->names, &name, sizeof name);
        px_buffer_add(&list->images, &image, sizeof image);
        if (list->names.failed || list->images.failed)
            return PELT_ERROR_MEMORY;
    }
    out->image = ((const px_image *)(const void *)list->images.data)[n].extension ? (uint32_t)n : PELT_NONE;
    out->wrap[0] = read_wrap(texture, "inputs:wrapS");
    out->wrap[1] = read_wrap(texture, "inputs:wrapT");
    return PELT_OK;
}

static pelt_result read_material(px_usd *usd, image_list *list, const px_usd_prim *prim, px_material *m) {
    const px_usd_prim *surface = find_surface(usd, prim);
    if (!surface)
        return PELT_OK;
    static const char *const inputs[PX_TEXTURE_USES] = {"inputs:diffuseColor", "inputs:roughness", "inputs:normal",
                                                        "inputs:occlusion", "inputs:emissiveColor"};
    const px_usd_prim *textures[PX_TEXTURE_USES];
    float scale[4] = {1, 1, 1, 1}, opacity = 1, threshold = 0;
    m->metallic = 0;
    m->roughness = 0.5f; /* as the schema has it */
    for (int c = 0; c < 3; c++)
        m->base_color[c] = 0.18f;
    PX_TRY(read_input(usd, surface, "inputs:diffuseColor", m->base_color, 3));
    PX_TRY(read_input(usd, surface, "inputs:emissiveColor", m->emissive, 3));
    PX_TRY(read_input(usd, surface, "inputs:metallic", &m->metallic, 1));
    PX_TRY(read_input(usd, surface, "inputs:roughness", &m->roughness, 1));
    PX_TRY(read_input(usd, surface, "inputs:opacity", &opacity, 1));
    PX_TRY(read_input(usd, surface, "inputs:opacityThreshold", &threshold, 1));
    for (int use = 0; use < PX_TEXTURE_USES; use++) {
        textures[use] = find_texture(usd, surface, inputs[use]);
        if (textures[use])
            PX_TRY(read_texture(usd, list, textures[use], &m->textures[use]));
    }
    bool cut = find_texture(usd, surface, "inputs:opacity") != NULL;
    if (textures[PX_TEXTURE_BASE]) {
        PX_TRY(read_input(usd, textures[PX_TEXTURE_BASE], "inputs:scale", scale, 4));
        memcpy(m->base_color, scale, 3 * sizeof *scale);
        opacity = cut ? scale[3] : opacity;
    }
    if (textures[PX_TEXTURE_SURFACE]) {
        float factors[4] = {1, 1, 1, 1};
        PX_TRY(read_input(usd, textures[PX_TEXTURE_SURFACE], "inputs:scale", factors, 4));
        m->roughness = factors[1];
        if (find_texture(usd, surface, "inputs:metallic") == textures[PX_TEXTURE_SURFACE])
            m->metallic = factors[2];
    }
    if (textures[PX_TEXTURE_EMISSIVE]) {
        float factors[4] = {1, 1, 1, 1};
        PX_TRY(read_input(usd, textures[PX_TEXTURE_EMISSIVE], "inputs:scale", factors, 4));
        memcpy(m->emissive, factors, sizeof m->emissive);
    }
    m->base_color[3] = opacity;
    m->alpha = threshold > 0 ? PX_ALPHA_MASK : cut || opacity < 1 ? PX_ALPHA_BLEND : PX_ALPHA_OPAQUE;
    m->cutoff = threshold > 0 ? threshold : 0.5f;
    return PELT_OK;
}

/* Materials of meshes that are seen from both sides. */
static void read_sides(const px_usd *usd, px_materials *materials, const px_usd_prim *const *prims) {
    for (const px_usd_prim *mesh = usd->root; (mesh = px_usd_next(usd->root, mesh));) {
        px_text value = px_usd_value(mesh, "doubleSided");
        if (!px_usd_is(mesh, "Mesh") || !(px_text_is(value, "1") || px_text_is(value, "true")))
            continue;
        for (const px_usd_prim *part = mesh; part; part = part == mesh ? mesh->first : part->next) {
            const px_usd_prim *bound = px_usd_target(usd, part, "material:binding", PX_USD_VALUE);
            for (uint32_t m = 0; bound && m < materials->material_count; m++)
                materials->materials[m].double_sided |= prims[m] == bound;
        }
    }
}

static pelt_result read_all(px_usd *usd, image_list *list, px_materials *out) {
    px_arena *memory = usd->read->model->memory;
    size_t count = 0;
    for (const px_usd_prim *prim = usd->root; (prim = px_usd_next(usd->root, prim));)
        count += px_usd_is(prim, "Material");
    const px_usd_prim **prims = PX_NEW(usd->arena, const px_usd_prim *, count);
    out->materials = PX_NEW(memory, px_material, count);
    if (!prims || !out->materials)
        return PELT_ERROR_MEMORY;
    for (const px_usd_prim *prim = usd->root; (prim = px_usd_next(usd->root, prim));) {
        if (!px_usd_is(prim, "Material"))
            continue;
        px_material *m = &out->materials[out->material_count];
        *m = px_material_default(px_usd_prim_name(usd, prim));
        if (!m->name)
            return PELT_ERROR_MEMORY;
        prims[out->material_count++] = prim;
        PX_TRY(read_material(usd, list, prim, m));
    }
    read_sides(usd, out, prims);
    out->image_count = (uint32_t)(list->images.size / sizeof *out->images);
    if (!(out->images = PX_NEW(memory, px_image, out->image_count)))
        return PELT_ERROR_MEMORY;
    if (out->image_count)
        memcpy(out->images, list->images.data, list->images.size);
    return PELT_OK;
}

pelt_result px_usd_read_materials(px_usd *usd) {
    px_arena *memory = usd->read->model->memory;
    px_document *document = PX_NEW(memory, px_document, 1);
    px_kept *kept = PX_NEW(memory, px_kept, 1);
    image_list list = {{.context = usd->context}, {.context = usd->context}};
    if (!document || !kept)
        return PELT_ERROR_MEMORY;
    kept->layers = usd->layers;
    pelt_result result = read_all(usd, &list, &kept->materials);
    px_buffer_free(&list.names);
    px_buffer_free(&list.images);
    *document = (px_document){px_format_usd.info.name, kept};
    usd->read->model->document = document;
    return result;
}
