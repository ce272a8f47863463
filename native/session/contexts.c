#include "session/contexts.h"

#include <stdlib.h>

static size_t hash_pair(int32_t parent, int32_t frame) {
    uint64_t hash = ((uint64_t)(uint32_t)parent << 32 | (uint32_t)frame) * 0xff51afd7ed558ccdull;
    return (size_t)(hash ^ hash >> 32);
}

static int32_t *find_place(const struct contexts *contexts, int32_t parent, int32_t frame) {
    size_t at = hash_pair(parent, frame) & (contexts->places - 1);
    for (;;) {
        int32_t node = contexts->table[at] - 1;
        if (node < 0 || (contexts->parents[node] == parent && contexts->frames[node] == frame))
            return &contexts->table[at];
        at = (at + 1) & (contexts->places - 1);
    }
}

static bool grow(struct contexts *contexts) {
    size_t capacity = contexts->capacity ? contexts->capacity * 2 : 4096;
    if (capacity > INT32_MAX)
        return false;
    int32_t *table = calloc(capacity * 2, sizeof *table);
    int32_t *parents = table ? realloc(contexts->parents, capacity * sizeof *parents) : NULL;
    if (parents)
        contexts->parents = parents;
    int32_t *frames = parents ? realloc(contexts->frames, capacity * sizeof *frames) : NULL;
    if (frames)
        contexts->frames = frames;
    if (!frames) {
        free(table);
        return false;
    }
    free(contexts->table);
    contexts->table = table;
    contexts->places = capacity * 2;
    contexts->capacity = capacity;
    for (size_t i = 0; i < contexts->count; i++)
        *find_place(contexts, parents[i], frames[i]) = (int32_t)i + 1;
    return true;
}

int32_t contexts_add(struct contexts *contexts, const int32_t *frames, size_t count) {
    int32_t node = -1;
    while (count--) {
        if (frames[count] < 0)
            continue;
        if (contexts->count == contexts->capacity && !grow(contexts))
            return -2;
        int32_t *place = find_place(contexts, node, frames[count]);
        if (!*place) {
            contexts->parents[contexts->count] = node;
            contexts->frames[contexts->count] = frames[count];
            *place = (int32_t)++contexts->count;
        }
        node = *place - 1;
    }
    return node;
}

void contexts_release(struct contexts *contexts) {
    free(contexts->parents);
    free(contexts->frames);
    free(contexts->table);
}
