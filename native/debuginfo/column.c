#include "debuginfo/column.h"

#include "debuginfo/isolate.h"

#include <stdlib.h>
#include <string.h>

static void *grown(void *memory, size_t bytes) {
    void *result = realloc(memory, bytes);
    if (!result)
        isolate_give_up();
    return result;
}

static void *zeroed(size_t count, size_t bytes) {
    void *result = calloc(count, bytes);
    if (!result)
        isolate_give_up();
    return result;
}

static void *column_add_many(struct column *column, size_t count) {
    if (column->capacity - column->count < count) {
        column->capacity = (column->capacity + count) * 2 + 64;
        column->items = grown(column->items, column->capacity * column->item_bytes);
    }
    void *first = column->items + column->count * column->item_bytes;
    column->count += count;
    return first;
}

void *column_add(struct column *column) {
    return memset(column_add_many(column, 1), 0, column->item_bytes);
}

// Eight bytes at a time: lists of locations and names make up much of a large binary's reading.
static uint64_t hash_bytes(const char *bytes, size_t length) {
    uint64_t hash = 0xcbf29ce484222325ull ^ length;
    while (length) {
        uint64_t word = 0;
        size_t taken = length < sizeof word ? length : sizeof word;
        memcpy(&word, bytes, taken);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
        bytes += taken;
        length -= taken;
    }
    return hash;
}

void texts_start(struct texts *texts) {
    *texts = (struct texts){.bytes = COLUMN(char), .offsets = COLUMN(uint64_t), .slot_count = 1024};
    texts->slots = zeroed(texts->slot_count, sizeof *texts->slots);
    column_add(&texts->offsets);
}

const char *texts_at(const struct texts *texts, int32_t number, size_t *length) {
    uint64_t start = COLUMN_AT(&texts->offsets, uint64_t, number);
    *length = COLUMN_AT(&texts->offsets, uint64_t, number + 1) - start;
    return texts->bytes.items + start;
}

static uint32_t *texts_slot(struct texts *texts, const char *text, size_t length) {
    size_t slot = hash_bytes(text, length) & (texts->slot_count - 1);
    for (;; slot = (slot + 1) & (texts->slot_count - 1)) {
        uint32_t *entry = &texts->slots[slot];
        if (!*entry)
            return entry;
        size_t other_length;
        const char *other = texts_at(texts, (int32_t)*entry - 1, &other_length);
        if (other_length == length && !memcmp(other, text, length))
            return entry;
    }
}

static void texts_rehash(struct texts *texts) {
    free(texts->slots);
    texts->slot_count *= 2;
    texts->slots = zeroed(texts->slot_count, sizeof *texts->slots);
    for (size_t i = 0; i + 1 < texts->offsets.count; i++) {
        size_t length;
        const char *text = texts_at(texts, (int32_t)i, &length);
        *texts_slot(texts, text, length) = (uint32_t)i + 1;
    }
}

int32_t texts_intern(struct texts *texts, const char *text, size_t length) {
    if (length > TEXT_BYTES_MAX)
        length = TEXT_BYTES_MAX;
    if (texts->offsets.count * 2 > texts->slot_count)
        texts_rehash(texts);
    uint32_t *slot = texts_slot(texts, text, length);
    if (!*slot) {
        if (length)
            memcpy(column_add_many(&texts->bytes, length), text, length);
        *(uint64_t *)column_add(&texts->offsets) = texts->bytes.count;
        *slot = (uint32_t)texts->offsets.count - 1;
    }
    return (int32_t)*slot - 1;
}

static size_t pointer_slot(const struct pointer_map *map, const void *key) {
    size_t slot = (((uintptr_t)key * 0x9e3779b97f4a7c15ull) >> 20) & (map->slot_count - 1);
    while (map->keys[slot] && map->keys[slot] != key)
        slot = (slot + 1) & (map->slot_count - 1);
    return slot;
}

void pointer_map_put(struct pointer_map *map, const void *key, uint32_t value) {
    if ((map->count + 1) * 2 > map->slot_count) {
        struct pointer_map larger = {.slot_count = map->slot_count ? map->slot_count * 2 : 1024};
        larger.keys = zeroed(larger.slot_count, sizeof *larger.keys);
        larger.values = zeroed(larger.slot_count, sizeof *larger.values);
        for (size_t i = 0; i < map->slot_count; i++) {
            if (map->keys[i])
                pointer_map_put(&larger, map->keys[i], map->values[i]);
        }
        free(map->keys);
        free(map->values);
        *map = larger;
    }
    size_t slot = pointer_slot(map, key);
    map->count += !map->keys[slot];
    map->keys[slot] = key;
    map->values[slot] = value;
}

bool pointer_map_get(const struct pointer_map *map, const void *key, uint32_t *value) {
    if (!map->slot_count || !key)
        return false;
    size_t slot = pointer_slot(map, key);
    *value = map->values[slot];
    return map->keys[slot] != NULL;
}
