/* Arenas: linked chunks that are freed together. While an arena is open (px_arena_open), allocations go to a part, a
 * sub-arena that can be freed before the arena. */
#include "core/core.h"
#include "core/poison.h"

#define FIRST_CHUNK_SIZE ((size_t)4 * 1024) /* later ones double, up to: */
#define CHUNK_SIZE       ((size_t)64 * 1024)

typedef struct chunk {
    struct chunk *next;
    size_t used, size;                                          /* bytes of data, which follow this header */
    char pad[64 - sizeof(struct chunk *) - 2 * sizeof(size_t)]; /* keeps the data 64-byte aligned */
} chunk;
_Static_assert(sizeof(chunk) == 64, "data behind a chunk head must stay aligned");

typedef struct deferred {
    struct deferred *next;
    void (*release)(void *user);
    void *user;
} deferred;

struct px_arena {
    pelt_context *context;
    chunk *chunks; /* the first one is being filled */
    deferred *deferreds;
    px_arena *parts;  /* newest first */
    px_arena *filled; /* the part that receives allocations while the arena is open; NULL: not created yet */
    px_arena *next;   /* for a part: the next older part */
    uint32_t opened;  /* nesting depth of px_arena_open and px_arena_open_result */
    bool for_result;  /* the outermost of these was px_arena_open_result */
    /* For a part: */
    bool is_result; /* freed by px_arena_free_result, or with the arena */
    uint32_t kept;  /* calls of px_arena_keep: it is not freed while above 0 */
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
    for (px_arena *next, *part = arena->parts; part; part = next) {
        next = part->next;
        px_arena_destroy(part);
    }
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

/* Adds a chunk with capacity for `size` bytes. A large block gets a chunk of its own in second position, so that the
 * chunk being filled stays first. */
static chunk *add_chunk(px_arena *arena, size_t size) {
    size_t usual =
        arena->chunks ? px_min_size(2 * (sizeof(chunk) + arena->chunks->size), CHUNK_SIZE) : FIRST_CHUNK_SIZE;
    bool large = size > usual / 4;
    size_t capacity = px_min_size(large ? size : usual - sizeof(chunk), SIZE_MAX - sizeof(chunk));
    chunk *c = px_alloc(arena->context, 1, sizeof(chunk) + capacity);
    if (!c)
        return NULL;
    c->size = capacity;
    PX_POISON(c + 1, capacity);
    if (large && arena->chunks) {
        c->next = arena->chunks->next;
        arena->chunks->next = c;
    } else {
        c->next = arena->chunks;
        arena->chunks = c;
    }
    return c;
}

void px_arena_adopt(px_arena *arena, px_arena *part) {
    part->next = arena->parts;
    arena->parts = part;
}

/* The arena that receives allocations now: the arena itself or its current part; NULL when out of memory. */
static px_arena *filled(px_arena *arena) {
    if (arena->opened == 0 || arena->filled)
        return arena->opened == 0 ? arena : arena->filled;
    px_arena *part = px_arena_create(arena->context);
    if (part)
        px_arena_adopt(arena, part);
    return arena->filled = part;
}

static void *alloc_aligned(px_arena *arena, size_t bytes, size_t alignment) {
    chunk *c = arena->chunks;
    size_t start = c ? (c->used + PX_POISON_GAP + alignment - 1) & ~(alignment - 1) : 0;
    if (!c || start > c->size || bytes > c->size - start) {
        c = add_chunk(arena, bytes);
        start = 0;
    }
    if (!c)
        return NULL;
    c->used = start + bytes;
    char *data = (char *)(c + 1) + start; /* chunks come zeroed */
    PX_UNPOISON(data, bytes);
    return data;
}

static void *alloc_from(px_arena *arena, size_t count, size_t size) {
    size_t bytes = px_mul_size(count, size);
    return !arena ? NULL : alloc_aligned(arena, bytes, bytes >= 64 ? 64 : 16);
}

void *px_arena_alloc(px_arena *arena, size_t count, size_t size) {
    return alloc_from(filled(arena), count, size);
}

void *px_arena_alloc_lasting(px_arena *arena, size_t count, size_t size) {
    return alloc_from(arena->for_result ? filled(arena) : arena, count, size);
}

/* Not aligned: documents have many short strings. */
char *px_arena_text(px_arena *arena, const char *text, size_t length) {
    px_arena *part = filled(arena);
    char *copy = !part ? NULL : alloc_aligned(part, length < SIZE_MAX ? length + 1 : SIZE_MAX, 1);
    return copy ? memcpy(copy, text, length) : NULL;
}

pelt_result px_arena_defer(px_arena *arena, void (*release)(void *user), void *user) {
    deferred *d = px_arena_alloc_lasting(arena, 1, sizeof *d);
    if (!d) {
        release(user);
        return PELT_ERROR_MEMORY;
    }
    *d = (deferred){arena->deferreds, release, user};
    arena->deferreds = d;
    return PELT_OK;
}

/* ---- Parts ------------------------------------------------------------------------------------------------ */

void px_arena_open(px_arena *arena) {
    arena->opened++;
}

void px_arena_close(px_arena *arena, px_arena_used_fn *used, const void *user) {
    assert(arena->opened > 0);
    if (--arena->opened > 0)
        return;
    arena->filled = NULL;
    for (px_arena **link = &arena->parts; *link;) {
        px_arena *part = *link;
        if (part->is_result || part->kept > 0 || used(user, part)) {
            link = &part->next;
            continue;
        }
        *link = part->next;
        px_arena_destroy(part);
    }
}

static void unkeep(void *part) {
    ((px_arena *)part)->kept--;
}

void px_arena_keep(px_arena *arena) {
    if (!arena || (arena->opened > 0 && !arena->for_result))
        return;
    px_arena *result = arena->opened > 0 ? filled(arena) : NULL;
    for (px_arena *part = arena->parts; part; part = part->next) {
        if (part->is_result || part == result)
            continue;
        part->kept++;
        /* Parts are destroyed newest first, a result before what it keeps. Without memory: as long as the arena. */
        if (result && px_arena_defer(result, unkeep, part) != PELT_OK)
            part->kept++;
    }
}

void px_arena_keep_for(px_arena *arena, px_arena *holder) {
    for (px_arena *part = arena->opened > 0 ? NULL : arena->parts; part; part = part->next) {
        part->kept++;
        if (px_arena_defer(holder, unkeep, part) != PELT_OK) /* without memory: as long as the arena */
            part->kept++;
    }
}

/* The result that holds a pointer, or NULL. */
static px_arena *result_of(const px_arena *arena, const void *pointer) {
    px_arena *part = pointer ? arena->parts : NULL;
    while (part && !(part->is_result && px_arena_holds(part, pointer)))
        part = part->next;
    return part;
}

static void unlink_part(px_arena *arena, const px_arena *part) {
    px_arena **link = &arena->parts;
    while (*link != part)
        link = &(*link)->next;
    *link = part->next;
}

void px_arena_open_result(px_arena *arena, const void *extended) {
    if (arena->opened++ > 0)
        return;
    arena->for_result = true;
    arena->filled = result_of(arena, extended);
    if (arena->filled) { /* it may keep parts that are newer: make it the newest */
        unlink_part(arena, arena->filled);
        px_arena_adopt(arena, arena->filled);
    }
}

void px_arena_close_result(px_arena *arena, bool good) {
    assert(arena->opened > 0);
    if (--arena->opened > 0)
        return;
    px_arena *part = arena->filled;
    arena->filled = NULL;
    arena->for_result = false;
    if (part && !good && !part->is_result) {
        unlink_part(arena, part);
        px_arena_destroy(part);
    } else if (part) {
        part->is_result = true;
    }
}

void px_arena_free_result(px_arena *arena, const void *pointer) {
    px_arena *part = arena->opened == 0 ? result_of(arena, pointer) : NULL;
    if (part) {
        unlink_part(arena, part);
        px_arena_destroy(part);
    }
}

bool px_arena_holds(const px_arena *arena, const void *pointer) {
    for (const chunk *c = arena->chunks; c; c = c->next)
        if ((uintptr_t)pointer - (uintptr_t)(c + 1) <= c->size) /* ≤: an empty array may start at the end */
            return true;
    for (const px_arena *part = arena->parts; part; part = part->next)
        if (px_arena_holds(part, pointer))
            return true;
    return false;
}
