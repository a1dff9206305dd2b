/* Input files mapped into memory; output files that appear all at once or not at all. */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Input ------------------------------------------------------------------------------------------------ */

typedef struct mapping {
    void *address;
    size_t size;
} mapping;

static void unmap(void *user) {
    mapping *m = user;
    munmap(m->address, m->size);
}

/* What cannot be mapped: pipes, /dev/stdin, files in /proc. */
static pelt_result read_stream(px_arena *arena, int descriptor, px_file *file) {
    pelt_context *context = px_arena_context(arena);
    px_buffer buffer = {.context = context};
    pelt_result result = PELT_OK;
    char block[65536];
    for (ssize_t got; result == PELT_OK && (got = read(descriptor, block, sizeof block)) != 0;) {
        if (got > 0)
            px_buffer_add(&buffer, block, (size_t)got);
        else if (errno != EINTR)
            result = px_fail(context, PELT_ERROR_INPUT, "cannot be read: %s", strerror(errno));
        if (result == PELT_OK)
            result = buffer.failed ? PELT_ERROR_MEMORY : px_cancelled(context);
    }
    if (result == PELT_OK) {
        file->size = buffer.size;
        file->data = (const uint8_t *)px_arena_text(arena, buffer.data ? buffer.data : "", buffer.size);
        result = file->data ? PELT_OK : PELT_ERROR_MEMORY;
    }
    px_buffer_free(&buffer);
    return result;
}

static pelt_result map_descriptor(px_arena *arena, int descriptor, size_t size, px_file *file) {
    mapping *m = PX_NEW(arena, mapping, 1);
    if (!m)
        return PELT_ERROR_MEMORY;
    m->address = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (m->address == MAP_FAILED)
        return px_fail(px_arena_context(arena), PELT_ERROR_INPUT, "cannot be mapped: %s", strerror(errno));
    m->size = size;
    file->data = m->address;
    file->size = size;
    return px_arena_defer(arena, unmap, m);
}

pelt_result px_file_map(px_arena *arena, const char *path, px_file *file) {
    pelt_context *context = px_arena_context(arena);
    *file = (px_file){.data = (const uint8_t *)"", .path = path};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return px_fail(context, PELT_ERROR_INPUT, "cannot be opened: %s", strerror(errno));
    struct stat status;
    pelt_result result = PELT_OK;
    if (fstat(descriptor, &status) != 0)
        result = px_fail(context, PELT_ERROR_INPUT, "cannot be read: %s", strerror(errno));
    else if (S_ISDIR(status.st_mode))
        result = px_fail(context, PELT_ERROR_INPUT, "is a folder, not a file");
    else if (S_ISREG(status.st_mode) && status.st_size > 0)
        result = map_descriptor(arena, descriptor, (size_t)status.st_size, file);
    else
        result = read_stream(arena, descriptor, file);
    close(descriptor);
    return result;
}

/* ---- Output ----------------------------------------------------------------------------------------------- */

#define OUTPUT_BUFFER ((size_t)1 << 18)

struct px_output_file {
    px_output *output;
    px_output_file *next;
    const char *path;      /* final place */
    const char *temporary; /* where it is written; NULL: directly */
    int descriptor;        /* −1 once closed */
    size_t used;
    char *buffer; /* [OUTPUT_BUFFER] while open */
};

struct px_output {
    px_arena *arena;
    bool replace;
    px_output_file *files; /* in the order of opening, so that a file is renamed after those opened before it */
    px_output_file **last;
};

px_output *px_output_begin(pelt_context *context, bool replace) {
    px_arena *arena = px_arena_create(context);
    px_output *output = arena ? PX_NEW(arena, px_output, 1) : NULL;
    if (!output) {
        px_arena_destroy(arena);
        return NULL;
    }
    *output = (px_output){.arena = arena, .replace = replace};
    output->last = &output->files;
    return output;
}

/* "folder/.name.pelt-1234-1" beside "folder/name". */
static const char *temporary_path(px_output *output, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    px_buffer text = {.context = px_arena_context(output->arena)};
    px_buffer_format(&text, "%.*s.%s.pelt-%ld", (int)(name - path), path, name, (long)getpid());
    const char *copy = text.failed ? NULL : px_arena_text(output->arena, text.data, text.size);
    px_buffer_free(&text);
    return copy;
}

/* Messages about output are about the file itself, whatever the subject is. */
static pelt_result fail_output(px_output *output, const char *path, const char *what, int error) {
    pelt_context *context = px_arena_context(output->arena);
    const char *previous = px_subject(context, path);
    px_fail(context, PELT_ERROR_OUTPUT, "%s%s%s", what, error ? ": " : "", error ? strerror(error) : "");
    px_subject(context, previous);
    return PELT_ERROR_OUTPUT;
}

static pelt_result cannot_write(px_output_file *file, const char *what) {
    return fail_output(file->output, file->path, what, errno);
}

pelt_result px_output_open(px_output *output, const char *path, px_output_file **out) {
    *out = NULL;
    pelt_context *context = px_arena_context(output->arena);
    px_output_file *file = PX_NEW(output->arena, px_output_file, 1);
    if (!file || !(file->path = px_arena_text(output->arena, path, strlen(path))))
        return PELT_ERROR_MEMORY;
    file->output = output;
    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return fail_output(output, path, "is a folder", 0);
    if (exists && S_ISREG(status.st_mode) && !output->replace)
        return fail_output(output, path, "exists already", 0);
    bool direct = exists && !S_ISREG(status.st_mode);
    if (!direct && !(file->temporary = temporary_path(output, path)))
        return PELT_ERROR_MEMORY;
    if (!(file->buffer = px_alloc(context, OUTPUT_BUFFER, 1)))
        return PELT_ERROR_MEMORY;
    int flags = O_WRONLY | O_CLOEXEC | (direct ? 0 : O_CREAT | O_TRUNC);
    file->descriptor = open(direct ? path : file->temporary, flags, 0666);
    if (file->descriptor < 0) {
        int error = errno;
        px_free(context, file->buffer);
        return fail_output(output, path, "cannot be written", error);
    }
    *output->last = file;
    output->last = &file->next;
    *out = file;
    return PELT_OK;
}

static pelt_result write_through(px_output_file *file, const char *data, size_t size) {
    while (size > 0) {
        ssize_t done = write(file->descriptor, data, px_min_size(size, (size_t)1 << 30));
        if (done < 0 && errno != EINTR)
            return cannot_write(file, "cannot be written");
        if (done > 0) {
            data += done;
            size -= (size_t)done;
        }
        PX_TRY(px_cancelled(px_arena_context(file->output->arena)));
    }
    return PELT_OK;
}

static pelt_result flush(px_output_file *file) {
    size_t used = file->used;
    file->used = 0;
    return write_through(file, file->buffer, used);
}

pelt_result px_output_write(px_output_file *file, const void *data, size_t size) {
    if (size > OUTPUT_BUFFER - file->used)
        PX_TRY(flush(file));
    if (size >= OUTPUT_BUFFER)
        return write_through(file, data, size);
    memcpy(file->buffer + file->used, data, size);
    file->used += size;
    return PELT_OK;
}

static pelt_result close_file(px_output_file *file) {
    pelt_result result = flush(file);
    if (close(file->descriptor) != 0 && result == PELT_OK)
        result = cannot_write(file, "cannot be written");
    file->descriptor = -1;
    return result;
}

static void release(px_output *output) {
    pelt_context *context = px_arena_context(output->arena);
    for (px_output_file *file = output->files; file; file = file->next)
        px_free(context, file->buffer);
    px_arena_destroy(output->arena);
}

pelt_result px_output_commit(px_output *output) {
    pelt_result result = PELT_OK;
    for (px_output_file *file = output->files; file && result == PELT_OK; file = file->next)
        result = close_file(file);
    for (px_output_file *file = output->files; file && result == PELT_OK; file = file->next) {
        if (!file->temporary)
            continue;
        if (rename(file->temporary, file->path) != 0)
            result = cannot_write(file, "cannot be put in place");
        else
            file->temporary = NULL;
    }
    if (result != PELT_OK)
        px_output_abort(output);
    else
        release(output);
    return result;
}

void px_output_abort(px_output *output) {
    if (!output)
        return;
    for (px_output_file *file = output->files; file; file = file->next) {
        if (file->descriptor >= 0)
            close(file->descriptor);
        if (file->temporary)
            unlink(file->temporary);
    }
    release(output);
}
