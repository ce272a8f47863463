#include "lookup.h"

#include <stdlib.h>
#include <string.h>

uint32_t name_hash(const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name; name++) {
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    }
    return hash;
}

static struct lookup_entry **place_of(const struct lookup *lookup, const char *name, uint32_t hash) {
    struct lookup_entry **place = &lookup->chains[hash & (lookup->chain_count - 1)];
    while (*place && ((*place)->hash != hash || strcmp((*place)->name, name) != 0)) {
        place = &(*place)->next;
    }
    return place;
}

void *lookup_find(const struct lookup *lookup, const char *name) {
    if (!lookup->chain_count) {
        return NULL;
    }
    struct lookup_entry *entry = *place_of(lookup, name, name_hash(name));
    return entry ? entry->value : NULL;
}

static void rehash(struct lookup *lookup, size_t chain_count) {
    struct lookup_entry **chains = calloc(chain_count, sizeof *chains);
    if (!chains) {
        abort();
    }
    for (size_t i = 0; i < lookup->chain_count; i++) {
        for (struct lookup_entry *entry = lookup->chains[i], *next; entry; entry = next) {
            next = entry->next;
            struct lookup_entry **chain = &chains[entry->hash & (chain_count - 1)];
            entry->next = *chain;
            *chain = entry;
        }
    }
    free(lookup->chains);
    lookup->chains = chains;
    lookup->chain_count = chain_count;
}

void **lookup_slot(struct lookup *lookup, const char *name) {
    if (lookup->entry_count >= lookup->chain_count) {
        rehash(lookup, lookup->chain_count ? lookup->chain_count * 2 : 16);
    }
    uint32_t hash = name_hash(name);
    struct lookup_entry **place = place_of(lookup, name, hash);
    if (!*place) {
        struct lookup_entry *entry = calloc(1, sizeof *entry);
        if (!entry || !(entry->name = strdup(name))) {
            abort();
        }
        entry->hash = hash;
        *place = entry;
        lookup->entry_count++;
    }
    return &(*place)->value;
}

bool lookup_remove(struct lookup *lookup, const char *name) {
    if (!lookup->chain_count) {
        return false;
    }
    struct lookup_entry **place = place_of(lookup, name, name_hash(name));
    struct lookup_entry *entry = *place;
    if (!entry) {
        return false;
    }
    *place = entry->next;
    free(entry->name);
    free(entry);
    lookup->entry_count--;
    return true;
}

void lookup_each(const struct lookup *lookup, void (*visit)(const char *name, void *value, void *with), void *with) {
    for (size_t i = 0; i < lookup->chain_count; i++) {
        for (const struct lookup_entry *entry = lookup->chains[i]; entry; entry = entry->next) {
            visit(entry->name, entry->value, with);
        }
    }
}

void lookup_free(struct lookup *lookup) {
    for (size_t i = 0; i < lookup->chain_count; i++) {
        for (struct lookup_entry *entry = lookup->chains[i], *next; entry; entry = next) {
            next = entry->next;
            free(entry->name);
            free(entry);
        }
    }
    free(lookup->chains);
    *lookup = (struct lookup){NULL, 0, 0};
}
