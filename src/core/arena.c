/* Arenas: a chain of blocks, freed together. */
#include "core/core.h"

#define CHUNK_SIZE ((size_t)64 * 1024)

typedef struct chunk {
    struct chunk *next;
    size_t used, size; /* of the bytes behind this head */
    char pad[40];      /* keeps those bytes 64-byte aligned */
} chunk;
_Static_assert(sizeof(chunk) == 64, "data behind a chunk head must stay aligned");

typedef struct deferred {
    struct deferred *next;
    void (*release)(void *user);
    void *user;
} deferred;

struct px_arena {
    pelt_context *context;
    chunk *chunks; /* the one being filled comes first */
    deferred *deferreds;
};

px_arena *px_arena_create(pelt_context *context) {
    px_arena *arena = PX_ALLOC(context, px_arena, 1);
    if (arena)
        arena->context = context;
    return arena;
}

void px_arena_destroy(px_arena *arena) {
    if (!arena)
        return;
    for (deferred *d = arena->deferreds; d; d = d->next)
        d->release(d->user);
    for (chunk *next, *c = arena->chunks; c; c = next) {
        next = c->next;
        px_free(arena->context, c);
    }
    px_free(arena->context, arena);
}

pelt_context *px_arena_context(const px_arena *arena) {
    return arena->context;
}

/* A new chunk with room for `size` bytes. A chunk of its own for something large goes second in the chain, so that the
 * one being filled stays first. */
static chunk *add_chunk(px_arena *arena, size_t size) {
    bool large = size > CHUNK_SIZE / 4;
    size_t room = large ? size : CHUNK_SIZE - sizeof(chunk);
    if (room > SIZE_MAX - sizeof(chunk))
        room = SIZE_MAX - sizeof(chunk);
    chunk *c = px_alloc(arena->context, 1, sizeof(chunk) + room);
    if (!c)
        return NULL;
    c->size = room;
    if (large && arena->chunks) {
        c->next = arena->chunks->next;
        arena->chunks->next = c;
    } else {
        c->next = arena->chunks;
        arena->chunks = c;
    }
    return c;
}

static void *alloc_aligned(px_arena *arena, size_t bytes, size_t alignment) {
    chunk *c = arena->chunks;
    size_t start = c ? (c->used + alignment - 1) & ~(alignment - 1) : 0;
    if (!c || start > c->size || bytes > c->size - start) {
        c = add_chunk(arena, bytes);
        start = 0;
    }
    if (!c)
        return NULL;
    c->used = start + bytes;
    return (char *)(c + 1) + start; /* chunks come zeroed */
}

void *px_arena_alloc(px_arena *arena, size_t count, size_t size) {
    size_t bytes = px_mul_size(count, size);
    return alloc_aligned(arena, bytes, bytes >= 64 ? 64 : 16);
}

/* Packed: documents have many short texts. */
char *px_arena_text(px_arena *arena, const char *text, size_t length) {
    char *copy = alloc_aligned(arena, length < SIZE_MAX ? length + 1 : SIZE_MAX, 1);
    return copy ? memcpy(copy, text, length) : NULL;
}

pelt_result px_arena_defer(px_arena *arena, void (*release)(void *user), void *user) {
    deferred *d = PX_NEW(arena, deferred, 1);
    if (!d) {
        release(user);
        return PELT_ERROR_MEMORY;
    }
    *d = (deferred){arena->deferreds, release, user};
    arena->deferreds = d;
    return PELT_OK;
}
