/* Values of points, corners and polygons of USD meshes: see usd.h. */
#include "io/usd.h"

#include <stdio.h>

px_usd_mapping px_usd_read_mapping(const px_usd_property *property, px_usd_mapping fallback) {
    px_text word = px_usd_first_text(px_usd_metadata(property->metadata, "interpolation"));
    return px_text_is(word, "vertex") || px_text_is(word, "varying") ? PX_USD_BY_POINT
           : px_text_is(word, "faceVarying")                         ? PX_USD_BY_CORNER
           : px_text_is(word, "uniform")                             ? PX_USD_BY_POLYGON
           : px_text_is(word, "constant")                            ? PX_USD_CONSTANT
                                                                     : fallback;
}

/* Gives equal values one number. */
static pelt_result number_values(px_usd *usd, px_usd_primvar *v, size_t width) {
    size_t size = 1024;
    while (size < 2 * v->value_count && size < (size_t)1 << 31)
        size *= 2;
    uint32_t *table = PX_ALLOC(usd->context, uint32_t, size);
    v->indices = PX_NEW(usd->arena, uint32_t, v->value_count);
    size_t kept = 0;
    for (size_t i = 0; table && v->indices && i < v->value_count; i++) {
        uint64_t hash = UINT64_C(0x9E3779B97F4A7C15);
        for (size_t c = 0; c < width; c++)
            hash = (hash ^ px_float_bits(v->values[width * i + c])) * UINT64_C(0xD6E8FEB86659FD93) ^ hash >> 32;
        size_t at = (size_t)(hash ^ hash >> 29) & (size - 1);
        while (table[at] &&
               memcmp(v->values + width * (table[at] - 1), v->values + width * i, width * sizeof(float)) != 0)
            at = (at + 1) & (size - 1);
        if (!table[at]) {
            memmove(v->values + width * kept, v->values + width * i, width * sizeof(float));
            table[at] = (uint32_t)++kept;
        }
        v->indices[i] = table[at] - 1;
    }
    v->index_count = v->value_count;
    v->value_count = kept;
    bool ready = table && v->indices;
    px_free(usd->context, table);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Values of `stored` numbers each, in rows of `width`. */
static pelt_result read_values(px_usd *usd, const px_usd_property *property, size_t stored, size_t width,
                               px_usd_primvar *out) {
    const double *numbers;
    size_t count;
    PX_TRY(px_usd_numbers(usd, property->value, &numbers, &count));
    if (count / stored >= PELT_NONE)
        return px_fail(usd->context, PELT_ERROR_UNSUPPORTED, "has too many values");
    out->value_count = count / stored;
    if (!(out->values = PX_NEW(usd->arena, float, px_mul_size(out->value_count, width))))
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < out->value_count * stored; i++)
        out->values[i / stored * width + i % stored] = isfinite((float)numbers[i]) ? (float)numbers[i] : 0;
    return PELT_OK;
}

/* Reads the indices of values, or numbers the values of corners. */
static pelt_result read_numbering(px_usd *usd, const px_usd_prim *prim, const char *indices, size_t width,
                                  px_usd_primvar *out) {
    const double *numbers;
    size_t count;
    const px_usd_property *numbered = indices ? px_usd_find(prim, indices, PX_USD_VALUE) : NULL;
    if (!numbered)
        return out->mapping == PX_USD_BY_CORNER ? number_values(usd, out, width) : PELT_OK;
    PX_TRY(px_usd_numbers(usd, numbered->value, &numbers, &count));
    if (!(out->indices = PX_NEW(usd->arena, uint32_t, count)))
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        out->indices[i] = numbers[i] >= 0 && numbers[i] < (double)out->value_count ? (uint32_t)numbers[i] : PELT_NONE;
    out->index_count = count;
    return PELT_OK;
}

pelt_result px_usd_read_primvar(px_usd *usd, const px_usd_prim *prim, const px_usd_property *property,
                                const char *indices, size_t width, px_usd_mapping fallback, px_usd_primvar *out) {
    *out = (px_usd_primvar){.mapping = fallback};
    if (!property)
        return PELT_OK;
    out->mapping = px_usd_read_mapping(property, fallback);
    PX_TRY(read_values(usd, property, width, width, out));
    return read_numbering(usd, prim, indices, width, out);
}

/* The number of a value, from 1; 0: there is none. */
uint32_t px_usd_primvar_at(const px_usd_primvar *v, size_t corner, size_t point, size_t polygon) {
    size_t at = v->mapping == PX_USD_BY_POINT     ? point
                : v->mapping == PX_USD_BY_CORNER  ? corner
                : v->mapping == PX_USD_BY_POLYGON ? polygon
                                                  : 0;
    if (v->indices) {
        if (at >= v->index_count || v->indices[at] == PELT_NONE)
            return 0;
        at = v->indices[at];
    }
    return at < v->value_count ? (uint32_t)at + 1 : 0;
}

/* ---- Texture coordinates and colours ---------------------------------------------------------------------------- */

#define PREFIX "primvars:"

static bool is_primvar(const px_usd_property *p, const char *type) {
    return p->kind == PX_USD_VALUE && p->name.size > strlen(PREFIX) &&
           memcmp(p->name.data, PREFIX, strlen(PREFIX)) == 0 && px_text_is(p->type, type);
}

static void name_indices(const px_usd_property *property, char *indices, size_t size) {
    snprintf(indices, size, "%.*s:indices", property ? (int)px_min_size(property->name.size, 200) : 0,
             property ? property->name.data : "");
}

const px_usd_property *px_usd_find_uvs(const px_usd_prim *prim, char *indices, size_t size) {
    const px_usd_property *found = px_usd_find(prim, PREFIX "st", PX_USD_VALUE);
    for (const px_usd_property *p = prim->properties; p && !found; p = p->next)
        if (is_primvar(p, "texCoord2f") || is_primvar(p, "float2"))
            found = p;
    name_indices(found, indices, size);
    return found;
}

/* Opacities that stand beside colours of the mesh, one for each. */
static pelt_result read_opacity(px_usd *usd, const px_usd_prim *prim, px_usd_primvar *colors) {
    const px_usd_property *property = px_usd_find(prim, PREFIX "displayOpacity", PX_USD_VALUE);
    const double *numbers;
    size_t count = 0;
    if (property)
        PX_TRY(px_usd_numbers(usd, property->value, &numbers, &count));
    for (size_t i = 0; i < colors->value_count; i++) {
        double alpha = count == colors->value_count ? numbers[i] : count == 1 ? numbers[0] : 1;
        colors->values[PX_COLOR_WIDTH * i + 3] = isfinite((float)alpha) ? (float)alpha : 1;
    }
    return PELT_OK;
}

pelt_result px_usd_read_layers(px_usd *usd, const px_usd_prim *prim, px_polygons *content, px_usd_primvar *values) {
    char indices[256];
    const px_usd_property *first = px_usd_find_uvs(prim, indices, sizeof indices);
    for (const px_usd_property *p = prim->properties; p; p = p->next) {
        bool uvs = p != first && is_primvar(p, "texCoord2f"), wide = is_primvar(p, "color4f"),
             colors = wide || is_primvar(p, "color3f");
        if ((!uvs && !colors) || content->layers.layer_count == PX_MAX_LAYERS)
            continue;
        px_usd_primvar *v = &values[content->layers.layer_count];
        px_layer layer = {.width = uvs ? PX_UV_WIDTH : PX_COLOR_WIDTH};
        layer.name = px_arena_text(usd->arena, p->name.data + strlen(PREFIX), p->name.size - strlen(PREFIX));
        if (!layer.name)
            return PELT_ERROR_MEMORY;
        *v = (px_usd_primvar){.mapping = px_usd_read_mapping(p, PX_USD_CONSTANT)};
        PX_TRY(read_values(usd, p, uvs ? 2 : wide ? 4 : 3, layer.width, v));
        if (v->value_count == 0)
            continue;
        if (colors && !wide)
            PX_TRY(read_opacity(usd, prim, v));
        name_indices(p, indices, sizeof indices);
        PX_TRY(read_numbering(usd, prim, indices, layer.width, v));
        layer.values = v->values;
        PX_TRY(px_polygons_add_layer(usd->arena, content, &layer));
    }
    return PELT_OK;
}
