/* Alembic objects and properties in an Ogawa file.
 *
 *   root      versions, top object, metadata, time samplings, metadata texts that headers refer to by index
 *   object    its properties, its child objects, then the headers of the children and 32 bytes of hashes
 *   compound  its properties, then their headers
 *   property  its stored samples; in arrays, each is followed by a data child of dimensions
 *   sample    a key of 16 bytes, then the values
 */
#include "io/abc.h"

#include <float.h>
#include <math.h>

#define KEY_SIZE  ((size_t)16)
#define HASH_SIZE ((size_t)32)
/* Every byte of structure is read once for each property that is looked up, plus a few more times. */
#define BUDGET_FACTOR 16
/* An element takes at least 4 bytes in a file: the factor allows a thousand copies of the whole file. The minimum
 * allows some hundred MB. */
#define ELEMENT_FACTOR 256
#define ELEMENT_LEAST  (UINT64_C(1) << 26)

/* ---- Reading headers -------------------------------------------------------------------------------------- */

static pelt_result fail_damaged(const abc_archive *archive, const char *what) {
    return px_fail(archive->context, PELT_ERROR_INPUT, "is damaged: %s", what);
}

pelt_result px_abc_spend(abc_archive *archive, size_t size) {
    if (size > archive->budget)
        return fail_damaged(archive, "its groups contain each other again and again");
    archive->budget -= size;
    return PELT_OK;
}

pelt_result px_abc_claim(abc_archive *archive, size_t element_count) {
    if (element_count > archive->elements)
        return px_fail(archive->context, PELT_ERROR_UNSUPPORTED,
                       "has objects that share so much data that it would be more than a thousand times as large");
    archive->elements -= element_count;
    return PELT_OK;
}

/* Takes `size` bytes at *at; false if fewer remain. */
static bool take(ogawa_data data, size_t *at, size_t size, const uint8_t **piece) {
    if (size > data.size - *at)
        return false;
    *piece = data.bytes + *at;
    *at += size;
    return true;
}

static bool take_text(ogawa_data data, size_t *at, size_t size, px_text *text) {
    const uint8_t *piece;
    if (!take(data, at, size, &piece))
        return false;
    *text = (px_text){(const char *)piece, size};
    return true;
}

/* Takes an unsigned integer of 1, 2 or 4 bytes: `hint` 0, 1, 2. */
static bool take_number(ogawa_data data, size_t *at, uint32_t hint, uint32_t *value) {
    const uint8_t *piece;
    if (hint > 2 || !take(data, at, (size_t)1 << hint, &piece))
        return false;
    *value = hint == 2 ? px_load_u32(piece) : hint == 1 ? piece[0] | (uint32_t)piece[1] << 8 : piece[0];
    return true;
}

/* Takes metadata by index, or inline from the header if the index is 0xFF. */
static bool take_metadata(const abc_archive *archive, ogawa_data data, size_t *at, uint32_t number, uint32_t hint,
                          px_text *text) {
    uint32_t size;
    if (number == 0xFF)
        return take_number(data, at, hint, &size) && take_text(data, at, size, text);
    *text = archive->metadata[number < archive->metadata_count ? number : 0];
    return number < archive->metadata_count;
}

px_text px_abc_metadata(px_text metadata, const char *key) {
    size_t key_size = strlen(key);
    for (const char *p = metadata.data, *end = p + metadata.size; p < end;) {
        const char *stop = memchr(p, ';', (size_t)(end - p));
        if (!stop)
            stop = end;
        if ((size_t)(stop - p) > key_size && memcmp(p, key, key_size) == 0 && p[key_size] == '=')
            return (px_text){p + key_size + 1, (size_t)(stop - p) - key_size - 1};
        p = stop + 1;
    }
    return (px_text){0};
}

/* ---- Archive ---------------------------------------------------------------------------------------------- */

static pelt_result read_samplings(abc_archive *archive, px_arena *memory, ogawa_data data) {
    archive->samplings = PX_NEW(memory, abc_sampling, data.size / 16 + 1);
    if (!archive->samplings)
        return PELT_ERROR_MEMORY;
    for (size_t at = 0; at < data.size;) {
        const uint8_t *head, *times;
        if (!take(data, &at, 16, &head))
            return fail_damaged(archive, "its time samplings are cut off");
        uint32_t count = px_load_u32(head + 12);
        double period = px_double_from_bits(px_load_u64(head + 4));
        if (!take(data, &at, px_mul_size(8, count), &times))
            return fail_damaged(archive, "its time samplings are cut off");
        archive->samplings[archive->sampling_count++] =
            (abc_sampling){.period = period, .acyclic = !(period < DBL_MAX / 64), .count = count, .times = times};
    }
    return PELT_OK;
}

static pelt_result read_metadata(abc_archive *archive, ogawa_data data) {
    archive->metadata[0] = (px_text){"", 0};
    archive->metadata_count = 1;
    for (size_t at = 0; at < data.size && archive->metadata_count < 255;) {
        uint32_t size;
        if (!take_number(data, &at, 0, &size) ||
            !take_text(data, &at, size, &archive->metadata[archive->metadata_count++]))
            return fail_damaged(archive, "its metadata is cut off");
    }
    return PELT_OK;
}

pelt_result px_abc_open(px_arena *memory, abc_archive *archive, uint64_t *top) {
    ogawa_group root;
    ogawa_data data;
    PX_TRY(px_ogawa_open(&archive->file, &root));
    if (root.count < 6)
        return fail_damaged(archive, "its root has too few children");
    archive->budget = (uint64_t)BUDGET_FACTOR * archive->file.size;
    archive->elements = (uint64_t)ELEMENT_FACTOR * archive->file.size;
    if (archive->elements < ELEMENT_LEAST)
        archive->elements = ELEMENT_LEAST;
    PX_TRY(px_ogawa_data(&archive->file, px_ogawa_child(&root, 4), &data));
    PX_TRY(read_samplings(archive, memory, data));
    PX_TRY(px_ogawa_data(&archive->file, px_ogawa_child(&root, 5), &data));
    PX_TRY(read_metadata(archive, data));
    *top = px_ogawa_child(&root, 2);
    return PELT_OK;
}

/* ---- Objects ---------------------------------------------------------------------------------------------- */

/* The last child of a group, if it is data: the headers of the children before it. */
static pelt_result open_headers(abc_archive *archive, const ogawa_group *group, ogawa_data *headers) {
    *headers = (ogawa_data){(const uint8_t *)"", 0};
    uint64_t last = group->count ? px_ogawa_child(group, group->count - 1) : 0;
    return px_ogawa_is_data(last) ? px_ogawa_data(&archive->file, last, headers) : PELT_OK;
}

pelt_result px_abc_children(abc_archive *archive, uint64_t object, abc_cursor *cursor) {
    *cursor = (abc_cursor){.index = 1};
    PX_TRY(px_ogawa_group(&archive->file, object, &cursor->group));
    PX_TRY(open_headers(archive, &cursor->group, &cursor->headers));
    cursor->headers.size = cursor->headers.size > HASH_SIZE ? cursor->headers.size - HASH_SIZE : 0;
    return px_abc_spend(archive, 16 + cursor->headers.size);
}

pelt_result px_abc_next_child(abc_archive *archive, abc_cursor *cursor, abc_object *child, bool *found) {
    *found = cursor->at < cursor->headers.size;
    if (!*found)
        return PELT_OK;
    uint32_t size, number;
    if (!take_number(cursor->headers, &cursor->at, 2, &size) ||
        !take_text(cursor->headers, &cursor->at, size, &child->name) ||
        !take_number(cursor->headers, &cursor->at, 0, &number) ||
        !take_metadata(archive, cursor->headers, &cursor->at, number, 2, &child->metadata))
        return fail_damaged(archive, "the header of an object is cut off");
    child->place = px_ogawa_child(&cursor->group, cursor->index++);
    return px_ogawa_is_data(child->place) ? fail_damaged(archive, "an object is missing") : PELT_OK;
}

/* ---- Properties ------------------------------------------------------------------------------------------- */

static pelt_result open_compound(abc_archive *archive, uint64_t place, abc_compound *compound) {
    PX_TRY(px_ogawa_group(&archive->file, place, &compound->group));
    return open_headers(archive, &compound->group, &compound->headers);
}

pelt_result px_abc_properties(abc_archive *archive, uint64_t object, abc_compound *compound) {
    ogawa_group group;
    PX_TRY(px_ogawa_group(&archive->file, object, &group));
    uint64_t first = px_ogawa_child(&group, 0);
    return open_compound(archive, px_ogawa_is_data(first) ? 0 : first, compound);
}

pelt_result px_abc_compound(abc_archive *archive, const abc_property *property, abc_compound *compound) {
    return open_compound(archive, property->place, compound);
}

/* Parses the fields that follow the bit field of a property with samples. */
static bool take_samples(ogawa_data headers, size_t *at, uint32_t bits, abc_property *property) {
    uint32_t hint = bits >> 2 & 3;
    property->pod = bits >> 4 & 15;
    property->extent = bits >> 12 & 255;
    property->first = property->last = property->sampling = 0;
    if (!take_number(headers, at, hint, &property->sample_count))
        return false;
    if (bits & 0x200) {
        if (!take_number(headers, at, hint, &property->first) || !take_number(headers, at, hint, &property->last))
            return false;
    } else if (!(bits & 0x800) && property->sample_count > 1) {
        property->first = 1;
        property->last = property->sample_count - 1;
    }
    return !(bits & 0x100) || take_number(headers, at, hint, &property->sampling);
}

static bool take_property(const abc_archive *archive, ogawa_data headers, size_t *at, abc_property *property) {
    uint32_t bits, size;
    *property = (abc_property){0};
    if (!take_number(headers, at, 2, &bits))
        return false;
    uint32_t kind = bits & 3, hint = bits >> 2 & 3;
    property->kind = kind == 0 ? ABC_COMPOUND : kind == 1 ? ABC_SCALAR : ABC_ARRAY;
    if (kind != 0 && !take_samples(headers, at, bits, property))
        return false;
    return take_number(headers, at, hint, &size) && take_text(headers, at, size, &property->name) &&
           take_metadata(archive, headers, at, bits >> 20 & 255, hint, &property->metadata);
}

/* Checks that all samples stated by the header exist. */
static pelt_result open_samples(abc_archive *archive, abc_property *property) {
    bool constant = px_abc_is_constant(property);
    if (!constant && (property->first > property->last || property->last >= property->sample_count))
        return fail_damaged(archive, "a property's first and last changes make no sense");
    if (property->sampling >= archive->sampling_count)
        return fail_damaged(archive, "a property refers to a time sampling that does not exist");
    PX_TRY(px_ogawa_group(&archive->file, property->place, &property->samples));
    uint64_t stored = px_abc_stored_count(property);
    if (stored * (property->kind == ABC_ARRAY ? 2 : 1) > property->samples.count)
        return px_fail(archive->context, PELT_ERROR_INPUT, "is damaged: a property of %llu samples holds %zu",
                       (unsigned long long)stored, property->samples.count);
    return PELT_OK;
}

pelt_result px_abc_find(abc_archive *archive, const abc_compound *compound, const char *name, abc_property *property,
                        bool *found) {
    *found = false;
    PX_TRY(px_abc_spend(archive, compound->headers.size));
    size_t at = 0;
    for (size_t index = 0; at < compound->headers.size; index++) {
        if (!take_property(archive, compound->headers, &at, property))
            return fail_damaged(archive, "the header of a property is cut off");
        if (!px_text_is(property->name, name))
            continue;
        property->place = px_ogawa_child(&compound->group, index);
        *found = property->kind == ABC_COMPOUND || property->sample_count > 0;
        return *found && property->kind != ABC_COMPOUND ? open_samples(archive, property) : PELT_OK;
    }
    return PELT_OK;
}

/* ---- Samples ---------------------------------------------------------------------------------------------- */

pelt_result px_abc_stored(const ogawa_file *file, const abc_property *property, uint32_t index, ogawa_data *data) {
    size_t child = (size_t)index * (property->kind == ABC_ARRAY ? 2 : 1);
    PX_TRY(px_ogawa_data(file, px_ogawa_child(&property->samples, child), data));
    if (data->size == 0) /* an empty array has no key */
        return PELT_OK;
    if (data->size < KEY_SIZE)
        return px_fail(file->context, PELT_ERROR_INPUT, "is damaged: a sample has %zu bytes", data->size);
    data->bytes += KEY_SIZE;
    data->size -= KEY_SIZE;
    return PELT_OK;
}

pelt_result px_abc_sample(const ogawa_file *file, const abc_property *property, uint32_t i, ogawa_data *data) {
    uint32_t index = 0;
    if (!px_abc_is_constant(property) && i >= property->first)
        index = (i < property->last ? i : property->last) - property->first + 1;
    return px_abc_stored(file, property, index, data);
}

/* ---- Times ------------------------------------------------------------------------------------------------ */

double px_abc_time(const abc_sampling *sampling, uint32_t i) {
    uint32_t cycle = sampling->acyclic ? 0 : i / sampling->count;
    double time = px_double_from_bits(px_load_u64(sampling->times + (size_t)8 * (i - cycle * sampling->count)));
    return cycle ? time + sampling->period * cycle : time;
}

abc_moment px_abc_moment(const abc_sampling *samplings, const abc_property *property, double time) {
    if (px_abc_is_constant(property))
        return (abc_moment){0};
    const abc_sampling *sampling = &samplings[property->sampling];
    double tolerance = px_abc_tolerance(time);
    uint32_t low = 0, high = property->sample_count; /* finds the last sample at or before the time, or sample 0 */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (px_abc_time(sampling, middle) <= time + tolerance)
            low = middle;
        else
            high = middle;
    }
    abc_moment moment = {low, low, 0};
    double before = px_abc_time(sampling, low);
    if (low + 1 == property->sample_count || time <= before + tolerance)
        return moment;
    double after = px_abc_time(sampling, low + 1);
    moment.after = low + 1;
    moment.weight = px_fmin((time - before) / (after - before), 1);
    return moment;
}
