/* Input files, read or mapped into memory, and atomic output: either all output files appear or none. */
#include "io/io.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Opening a pipe blocks until its other end is opened; a signal that cancels the operation ends the wait. */
static pelt_result open_descriptor(pelt_context *context, const char *path, px_open_mode mode, int *descriptor) {
    while ((*descriptor = px_open(path, mode)) < 0 && errno == EINTR)
        PX_TRY(px_cancelled(context));
    return PELT_OK;
}

/* ---- Input ------------------------------------------------------------------------------------------------ */

static void unmap(void *user) {
    px_unmap(user);
}

/* Reads files that cannot be mapped: pipes, /dev/stdin, files in /proc. */
static pelt_result read_stream(px_arena *arena, int descriptor, px_file *file) {
    pelt_context *context = px_arena_context(arena);
    px_buffer buffer = {.context = context};
    pelt_result result = PELT_OK;
    char block[65536];
    for (int64_t got; result == PELT_OK && (got = px_descriptor_read(descriptor, block, sizeof block)) != 0;) {
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

/* Files up to this size are read into memory: truncation by another process is then harmless. Larger files are mapped,
 * so that they need not fit into memory; if a mapped file is truncated, access raises SIGBUS (see docs/security.md). */
#define READ_SIZE ((size_t)16 << 20)

/* Reads up to `size` bytes of a regular file; fewer if the file was truncated. */
static pelt_result read_whole(px_arena *arena, int descriptor, size_t size, px_file *file) {
    pelt_context *context = px_arena_context(arena);
    uint8_t *data = PX_NEW(arena, uint8_t, size);
    if (!data)
        return PELT_ERROR_MEMORY;
    file->data = data;
    while (file->size < size) {
        int64_t got = px_descriptor_read(descriptor, data + file->size, size - file->size);
        if (got < 0 && errno != EINTR)
            return px_fail(context, PELT_ERROR_INPUT, "cannot be read: %s", strerror(errno));
        if (got == 0)
            break;
        file->size += got > 0 ? (size_t)got : 0;
        PX_TRY(px_cancelled(context));
    }
    return PELT_OK;
}

static pelt_result map_descriptor(px_arena *arena, int descriptor, size_t size, px_file *file) {
    px_mapping *mapping = PX_NEW(arena, px_mapping, 1);
    if (!mapping)
        return PELT_ERROR_MEMORY;
    if (!px_map(descriptor, size, mapping))
        return px_fail(px_arena_context(arena), PELT_ERROR_INPUT, "cannot be mapped: %s", strerror(errno));
    file->data = mapping->data;
    file->size = size;
    file->mapped = true;
    return px_arena_defer(arena, unmap, mapping);
}

void px_file_release(const px_file *file) {
    if (file->mapped) /* the content of other memory would be lost */
        px_map_release(file->data, file->size);
}

#define RELEASE_SIZE ((size_t)64 << 20)
#define FOLIO_SIZE   ((size_t)2 << 20) /* Linux 6.18 maps a whole folio of the page cache, up to this, at a page fault */

struct px_pages {
    px_file file;
    atomic_size_t read; /* bytes that may have become resident since the last release */
};

px_pages *px_pages_create(px_arena *arena, const px_file *file) {
    px_pages *pages = PX_NEW(arena, px_pages, 1);
    if (pages)
        pages->file = *file;
    return pages;
}

void px_pages_read(px_pages *pages, size_t size) {
    if (pages->file.size <= RELEASE_SIZE)
        return;
    size += 2 * FOLIO_SIZE; /* those that the first and the last byte are in */
    size_t read = atomic_fetch_add(&pages->read, size) + size;
    if (read >= RELEASE_SIZE && atomic_compare_exchange_strong(&pages->read, &read, 0))
        px_file_release(&pages->file);
}

pelt_result px_file_open(px_arena *arena, const char *path, px_file *file) {
    pelt_context *context = px_arena_context(arena);
    *file = (px_file){.data = (const uint8_t *)"", .path = path};
    int descriptor;
    PX_TRY(open_descriptor(context, path, PX_OPEN_READ, &descriptor));
    if (descriptor < 0)
        return px_fail(context, PELT_ERROR_INPUT, "cannot be opened: %s", strerror(errno));
    uint64_t size;
    px_path_kind kind = px_descriptor_look(descriptor, &size);
    pelt_result result = PELT_OK;
    if (kind == PX_PATH_NONE)
        result = px_fail(context, PELT_ERROR_INPUT, "cannot be read: %s", strerror(errno));
    else if (kind == PX_PATH_FOLDER)
        result = px_fail(context, PELT_ERROR_INPUT, "is a folder, not a file");
    else if ((size_t)size != size)
        result = px_fail(context, PELT_ERROR_INPUT, "is too large for this machine's addresses");
    else if (size > 0)
        result = (size <= READ_SIZE ? read_whole : map_descriptor)(arena, descriptor, (size_t)size, file);
    else
        result = read_stream(arena, descriptor, file);
    px_descriptor_close(descriptor);
    return result;
}

/* ---- Output ----------------------------------------------------------------------------------------------- */

#define OUTPUT_BUFFER ((size_t)1 << 18)

struct px_output_file {
    px_output *output;
    px_output_file *next;
    const char *path;      /* as given by the caller */
    const char *place;     /* final path */
    const char *temporary; /* path while it is written; NULL: written directly, or already renamed */
    const char *backup;    /* backup of the old file at `place`, until all files are renamed; NULL: none */
    bool renamed;
};

struct px_output {
    px_arena *arena;
    bool replace;
    px_output_file *files; /* last opened first. Renamed in this order: the file opened first appears last */
    px_output_file *open;  /* the file being written, or NULL */
    int descriptor;        /* descriptor of `open` */
    size_t used;           /* bytes used in buffer */
    char *buffer;          /* [OUTPUT_BUFFER]; NULL: no file was opened, or `memory` */
    px_buffer *memory;     /* receives all bytes; NULL: write files */
};

px_output *px_output_begin(pelt_context *context, bool replace) {
    px_arena *arena = px_arena_create(context);
    px_output *output = arena ? PX_NEW(arena, px_output, 1) : NULL;
    if (!output) {
        px_arena_destroy(arena);
        return NULL;
    }
    *output = (px_output){.arena = arena, .replace = replace};
    return output;
}

px_output *px_output_begin_memory(pelt_context *context, px_buffer *memory) {
    px_output *output = px_output_begin(context, true);
    if (output)
        output->memory = memory;
    return output;
}

/* Temporary path in the same folder: "folder/.name.pelt-1234" for "folder/name" in process 1234, then `ending`. */
static const char *temporary_path(px_output *output, const char *path, const char *ending) {
    const char *name = px_path_name(path);
    px_buffer text = {.context = px_arena_context(output->arena)};
    px_buffer_format(&text, "%.*s.%s.pelt-%u%s", (int)(name - path), path, name, px_process_id(), ending);
    const char *copy = text.failed ? NULL : px_arena_text(output->arena, text.data, text.size);
    px_buffer_free(&text);
    return copy;
}

/* Reports an output error with the output file as the subject. */
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
        int64_t done = px_descriptor_write(output->descriptor, data, size);
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
    if (!output->memory && !px_descriptor_close(output->descriptor) && result == PELT_OK)
        result = fail_output(output, output->open->path, "cannot be written", errno);
    output->open = NULL;
    return result;
}

/* Anything but a regular file is written directly. A symbolic link is kept; the file that it points to is replaced. */
static pelt_result open_output(px_output *output, px_output_file *file) {
    pelt_context *context = px_arena_context(output->arena);
    const char *path = file->path;
    char real[PX_PATH_SIZE];
    uint64_t size;
    px_path_kind kind = px_path_look(path, &size);
    if (kind == PX_PATH_FOLDER)
        return fail_output(output, path, "is a folder", 0);
    output->descriptor = kind == PX_PATH_NONE ? -1 : px_open_standard(path);
    if (output->descriptor >= 0)
        return PELT_OK;
    if (kind == PX_PATH_FILE && !output->replace)
        return fail_output(output, path, "exists already", 0);
    if (kind == PX_PATH_STREAM) {
        PX_TRY(open_descriptor(context, path, PX_OPEN_WRITE, &output->descriptor));
    } else {
        const char *place = kind == PX_PATH_FILE && px_path_real(path, real) ? real : path;
        file->place = px_arena_text(output->arena, place, strlen(place));
        if (!file->place || !(file->temporary = temporary_path(output, place, "")))
            return PELT_ERROR_MEMORY;
        px_path_remove(file->temporary); /* never write through an existing file or link */
        PX_TRY(open_descriptor(context, file->temporary, PX_OPEN_NEW, &output->descriptor));
    }
    return output->descriptor < 0 ? fail_output(output, path, "cannot be written", errno) : PELT_OK;
}

pelt_result px_output_open(px_output *output, const char *path, px_output_file **out) {
    *out = NULL;
    PX_TRY(finish_open(output));
    px_output_file *file = PX_NEW(output->arena, px_output_file, 1);
    if (!file || !(file->path = px_arena_text(output->arena, path, strlen(path))))
        return PELT_ERROR_MEMORY;
    file->output = output;
    if (!output->memory) {
        if (!output->buffer && !(output->buffer = px_arena_alloc(output->arena, OUTPUT_BUFFER, 1)))
            return PELT_ERROR_MEMORY;
        PX_TRY(open_output(output, file));
    }
    file->next = output->files;
    output->files = output->open = *out = file;
    return PELT_OK;
}

pelt_result px_output_write(px_output_file *file, const void *data, size_t size) {
    px_output *output = file->output;
    assert(output->open == file && "a file is finished when the next one is opened");
    if (size > OUTPUT_BUFFER - output->used)
        PX_TRY(flush(output));
    if (output->memory || size >= OUTPUT_BUFFER)
        return write_through(output, data, size);
    if (size)
        memcpy(output->buffer + output->used, data, size);
    output->used += size;
    return PELT_OK;
}

/* Gives the file at `place` a backup name with a hard link. If the file system has no hard links (FAT, some network
 * file systems), renames the file; `place` then does not exist until the new file is renamed to it. */
static pelt_result back_up(px_output *output, px_output_file *file) {
    uint64_t size;
    if (px_path_look(file->place, &size) != PX_PATH_FILE) /* a new folder: renaming to it fails */
        return PELT_OK;
    const char *backup = temporary_path(output, file->place, "-old");
    if (!backup)
        return PELT_ERROR_MEMORY;
    px_path_remove(backup);
    if (px_path_link(file->place, backup) || (errno != ENOSPC && px_path_rename(file->place, backup))) {
        file->backup = backup;
        return PELT_OK;
    }
    return fail_output(output, file->path, "cannot be put in place", errno);
}

static pelt_result put_in_place(px_output *output, px_output_file *file) {
    if (!file->temporary)
        return PELT_OK;
    if (output->files->next) /* a single file needs no backup: renaming replaces it or fails */
        PX_TRY(back_up(output, file));
    if (!px_path_rename(file->temporary, file->place))
        return fail_output(output, file->path, "cannot be put in place", errno);
    file->temporary = NULL;
    file->renamed = true;
    return PELT_OK;
}

pelt_result px_output_commit(px_output *output) {
    pelt_result result = finish_open(output);
    for (px_output_file *file = output->files; file && result == PELT_OK; file = file->next)
        result = put_in_place(output, file);
    for (px_output_file *file = output->files; file; file = file->next) {
        if (result != PELT_OK && file->renamed && !file->backup)
            px_path_remove(file->place);
        /* If restoring the old file fails, it stays under its backup name. rename() does nothing if both names are hard
         * links to the same file (POSIX): unlink the backup name then, too. */
        if (file->backup && (result == PELT_OK || px_path_rename(file->backup, file->place)))
            px_path_remove(file->backup);
    }
    px_output_abort(output);
    return result;
}

void px_output_abort(px_output *output) {
    if (!output)
        return;
    if (output->open && !output->memory)
        px_descriptor_close(output->descriptor);
    for (px_output_file *file = output->files; file; file = file->next)
        if (file->temporary)
            px_path_remove(file->temporary);
    px_arena_destroy(output->arena);
}

pelt_result pelt_file_write(pelt_context *context, const char *path, const void *data, size_t size) {
    px_output_file *file;
    px_output *output = px_output_begin(context, true);
    pelt_result result = output ? px_output_open(output, path, &file) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = px_output_write(file, data, size);
    if (result == PELT_OK)
        return px_output_commit(output);
    px_output_abort(output);
    return result;
}
