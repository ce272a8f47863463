#include "gateway.h"

void brigade_clear(struct brigade *brigade) {
    brigade->first = NULL;
    brigade->last = &brigade->first;
    brigade->count = 0;
}

void brigade_add(struct brigade *brigade, struct arena *arena, enum bucket_kind kind, const char *bytes, size_t size) {
    struct bucket *bucket = arena_take(arena, sizeof *bucket);
    bucket->kind = kind;
    bucket->bytes = bytes;
    bucket->size = size;
    *brigade->last = bucket;
    brigade->last = &bucket->next;
    brigade->count++;
}

void brigade_move(struct brigade *to, struct brigade *from) {
    if (from->first) {
        *to->last = from->first;
        to->last = from->last;
        to->count += from->count;
    }
    brigade_clear(from);
}

size_t brigade_size(const struct brigade *brigade) {
    size_t size = 0;
    for (const struct bucket *bucket = brigade->first; bucket; bucket = bucket->next) {
        size += bucket->size;
    }
    return size;
}

bool brigade_ends(const struct brigade *brigade) {
    for (const struct bucket *bucket = brigade->first; bucket; bucket = bucket->next) {
        if (bucket->kind == BUCKET_END_OF_STREAM) {
            return true;
        }
    }
    return false;
}
