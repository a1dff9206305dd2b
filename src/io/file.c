/* Input files mapped into memory; output files that appear all at once or not at all. */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
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
    file->mapped = true;
    return px_arena_defer(arena, unmap, m);
}

void px_file_release(const px_file *file) {
    if (file->mapped) /* on other memory this would destroy what is there */
        madvise((void *)(uintptr_t)file->data, file->size, MADV_DONTNEED);
}

#define RELEASE_SIZE ((size_t)64 << 20)
#define FAULT_SIZE   ((size_t)64 << 10) /* what the system maps around a page that is read */

struct px_pages {
    px_file file;
    atomic_size_t read; /* bytes that may be in memory since the file was last let go of */
};

px_pages *px_pages_create(px_arena *arena, const px_file *file) {
    px_pages *pages = PX_NEW(arena, px_pages, 1);
    if (pages)
        pages->file = *file;
    return pages;
}

void px_pages_read(px_pages *pages, size_t size) {
    size = px_max_size(size, FAULT_SIZE);
    size_t read = atomic_fetch_add(&pages->read, size) + size;
    if (read >= RELEASE_SIZE && atomic_compare_exchange_strong(&pages->read, &read, 0))
        px_file_release(&pages->file);
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
    const char *temporary; /* where it is written; NULL: directly, or in place already */
};

struct px_output {
    px_arena *arena;
    bool replace;
    px_output_file *files; /* in the order of opening, which is the order of renaming */
    px_output_file **last;
    px_output_file *open; /* the one being written, or NULL */
    int descriptor;       /* of `open` */
    size_t used;          /* of buffer */
    char *buffer;         /* [OUTPUT_BUFFER] */
    px_buffer *memory;    /* instead of files, or NULL */
};

px_output *px_output_begin(pelt_context *context, bool replace) {
    px_arena *arena = px_arena_create(context);
    px_output *output = arena ? PX_NEW(arena, px_output, 1) : NULL;
    char *buffer = output ? px_arena_alloc(arena, OUTPUT_BUFFER, 1) : NULL;
    if (!buffer) {
        px_arena_destroy(arena);
        return NULL;
    }
    *output = (px_output){.arena = arena, .replace = replace, .buffer = buffer};
    output->last = &output->files;
    return output;
}

px_output *px_output_begin_memory(pelt_context *context, px_buffer *memory) {
    px_output *output = px_output_begin(context, true);
    if (output)
        output->memory = memory;
    return output;
}

/* "folder/.name.pelt-1234" beside "folder/name". */
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

static pelt_result write_through(px_output *output, const char *data, size_t size) {
    if (output->memory) {
        px_buffer_add(output->memory, data, size);
        return output->memory->failed ? PELT_ERROR_MEMORY : PELT_OK;
    }
    while (size > 0) {
        ssize_t done = write(output->descriptor, data, px_min_size(size, (size_t)1 << 30));
        if (done < 0 && errno != EINTR)
            return fail_output(output, output->open->path, "cannot be written", errno);
        if (done > 0) {
            data += done;
            size -= (size_t)done;
        }
        PX_TRY(px_cancelled(px_arena_context(output->arena)));
    }
    return PELT_OK;
}

static pelt_result flush(px_output *output) {
    size_t used = output->used;
    output->used = 0;
    return write_through(output, output->buffer, used);
}

static pelt_result finish_open(px_output *output) {
    if (!output->open)
        return PELT_OK;
    pelt_result result = flush(output);
    if (!output->memory && close(output->descriptor) != 0 && result == PELT_OK)
        result = fail_output(output, output->open->path, "cannot be written", errno);
    output->open = NULL;
    return result;
}

static pelt_result open_descriptor(px_output *output, px_output_file *file) {
    const char *path = file->path;
    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return fail_output(output, path, "is a folder", 0);
    if (exists && S_ISREG(status.st_mode) && !output->replace)
        return fail_output(output, path, "exists already", 0);
    bool direct = exists && !S_ISREG(status.st_mode);
    if (!direct && !(file->temporary = temporary_path(output, path)))
        return PELT_ERROR_MEMORY;
    output->descriptor = direct ? open(path, O_WRONLY | O_CLOEXEC)
                                : open(file->temporary, O_WRONLY | O_CLOEXEC | O_CREAT | O_TRUNC, 0666);
    if (output->descriptor < 0)
        return fail_output(output, path, "cannot be written", errno);
    return PELT_OK;
}

pelt_result px_output_open(px_output *output, const char *path, px_output_file **out) {
    *out = NULL;
    PX_TRY(finish_open(output));
    px_output_file *file = PX_NEW(output->arena, px_output_file, 1);
    if (!file || !(file->path = px_arena_text(output->arena, path, strlen(path))))
        return PELT_ERROR_MEMORY;
    file->output = output;
    if (!output->memory)
        PX_TRY(open_descriptor(output, file));
    *output->last = output->open = *out = file;
    output->last = &file->next;
    return PELT_OK;
}

pelt_result px_output_write(px_output_file *file, const void *data, size_t size) {
    px_output *output = file->output;
    assert(output->open == file && "a file is finished when the next one is opened");
    if (size > OUTPUT_BUFFER - output->used)
        PX_TRY(flush(output));
    if (size >= OUTPUT_BUFFER)
        return write_through(output, data, size);
    if (size)
        memcpy(output->buffer + output->used, data, size);
    output->used += size;
    return PELT_OK;
}

pelt_result px_output_commit(px_output *output) {
    pelt_result result = finish_open(output);
    for (px_output_file *file = output->files; file && result == PELT_OK; file = file->next) {
        if (!file->temporary)
            continue;
        if (rename(file->temporary, file->path) != 0)
            result = fail_output(output, file->path, "cannot be put in place", errno);
        else
            file->temporary = NULL;
    }
    px_output_abort(output);
    return result;
}

void px_output_abort(px_output *output) {
    if (!output)
        return;
    if (output->open && !output->memory)
        close(output->descriptor);
    for (px_output_file *file = output->files; file; file = file->next)
        if (file->temporary)
            unlink(file->temporary);
    px_arena_destroy(output->arena);
}
