// A chained hash table from names to anything.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lookup_entry {
    struct lookup_entry *next;
    char *name;
    void *value;
    uint32_t hash;
};

struct lookup {
    struct lookup_entry **chains;
    size_t chain_count, entry_count;
};

uint32_t name_hash(const char *name);
void *lookup_find(const struct lookup *lookup, const char *name);
void **lookup_slot(struct lookup *lookup, const char *name); // made empty where the name is new
bool lookup_remove(struct lookup *lookup, const char *name);
void lookup_each(const struct lookup *lookup, void (*visit)(const char *name, void *value, void *with), void *with);
void lookup_free(struct lookup *lookup);

#ifdef __cplusplus
}
#endif
