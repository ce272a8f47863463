// Growing arrays and interned text: what the reader collects before it is written out as columns.
#ifndef WHYPERF_DEBUGINFO_COLUMN_H
#define WHYPERF_DEBUGINFO_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct column {
    char *items;
    size_t count, capacity, item_bytes;
};

// Room for one more item, zeroed. Running out of memory ends the process: it is a child made for this one job.
void *column_add(struct column *column);

#define COLUMN(type) {.item_bytes = sizeof(type)}
#define COLUMN_AT(column, type, index) (((type *)(column)->items)[index])

// Every text once, numbered in order of appearance.
struct texts {
    struct column bytes;   // char, one after the other
    struct column offsets; // uint64_t, where each text ends
    uint32_t *slots;       // open addressing: number + 1
    size_t slot_count;
};

enum { TEXT_BYTES_MAX = 16384 }; // longer names come from damaged files

void texts_start(struct texts *texts);
int32_t texts_intern(struct texts *texts, const char *text, size_t length);
const char *texts_at(const struct texts *texts, int32_t number, size_t *length);

// Addresses in memory to numbers. Keys are never null.
struct pointer_map {
    const void **keys;
    uint32_t *values;
    size_t count, slot_count;
};

void pointer_map_put(struct pointer_map *map, const void *key, uint32_t value);
bool pointer_map_get(const struct pointer_map *map, const void *key, uint32_t *value);

#endif
