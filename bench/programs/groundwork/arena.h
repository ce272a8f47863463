// Memory that is given back all at once.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct arena_chunk;

struct arena {
    struct arena_chunk *chunk;
    size_t used, total;
};

void *arena_take(struct arena *arena, size_t size);
char *arena_copy(struct arena *arena, const char *text, size_t size); // with a zero at its end
void arena_clear(struct arena *arena);

#ifdef __cplusplus
}
#endif
