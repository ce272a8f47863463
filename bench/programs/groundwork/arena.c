#include "arena.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 * 1024, ALIGNMENT = 16 };

struct arena_chunk {
    struct arena_chunk *older;
    size_t room;
    _Alignas(ALIGNMENT) char bytes[];
};

static void add_chunk(struct arena *arena, size_t least) {
    size_t room = least > CHUNK ? least : CHUNK;
    struct arena_chunk *chunk = malloc(sizeof *chunk + room);
    if (!chunk) {
        abort();
    }
    chunk->older = arena->chunk;
    chunk->room = room;
    arena->chunk = chunk;
    arena->used = 0;
}

void *arena_take(struct arena *arena, size_t size) {
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (!arena->chunk || arena->chunk->room - arena->used < size) {
        add_chunk(arena, size);
    }
    void *taken = arena->chunk->bytes + arena->used;
    arena->used += size;
    arena->total += size;
    memset(taken, 0, size);
    return taken;
}

char *arena_copy(struct arena *arena, const char *text, size_t size) {
    char *copy = arena_take(arena, size + 1);
    memcpy(copy, text, size);
    return copy;
}

void arena_clear(struct arena *arena) {
    while (arena->chunk) {
        struct arena_chunk *older = arena->chunk->older;
        free(arena->chunk);
        arena->chunk = older;
    }
    arena->used = arena->total = 0;
}
