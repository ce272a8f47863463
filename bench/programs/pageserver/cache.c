// The cache of rendered pages.
#include "pageserver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lookup.h"

static void *taken(size_t size) {
    void *memory = malloc(size);
    if (!memory) {
        abort();
    }
    return memory;
}

static struct entry **chain_of(struct cache *cache, const char *path) {
    return &cache->chains[name_hash(path) % CHAINS];
}

struct entry *cache_get(struct cache *cache, const char *path) {
    for (struct entry *entry = *chain_of(cache, path); entry; entry = entry->next) {
        if (strcmp(entry->path, path) == 0) {
            entry->references++;
            cache->hits++;
            return entry;
        }
    }
    cache->misses++;
    return NULL;
}

struct entry *cache_put(struct cache *cache, const char *path, const struct buffer *body, uint64_t now) {
    struct entry *entry = taken(sizeof *entry);
    memset(entry, 0, sizeof *entry);
    snprintf(entry->path, PATH_BYTES, "%s", path);
    entry->body = taken(body->size);
    memcpy(entry->body, body->bytes, body->size);
    entry->size = (uint32_t)body->size;
    entry->version = (uint32_t)(now / LIFETIME);
    entry->references = 2; // the cache's and the caller's
    entry->made = now;
    struct entry **chain = chain_of(cache, path);
    entry->next = *chain;
    *chain = entry;
    entry->older = cache->newest;
    if (cache->newest) {
        cache->newest->newer = entry;
    } else {
        cache->oldest = entry;
    }
    cache->newest = entry;
    return entry;
}

static void unlink_entry(struct cache *cache, struct entry *entry) {
    struct entry **at = chain_of(cache, entry->path);
    while (*at != entry) {
        at = &(*at)->next;
    }
    *at = entry->next;
    *(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
    *(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
}

void cache_release(struct cache *cache, struct entry *entry) {
    if (--entry->references > 0) {
        return;
    }
    free(entry->body);
    free(entry);
    cache->freed++;
}

void cache_expire(struct cache *cache, uint64_t now) {
    while (cache->oldest && cache->oldest->made + LIFETIME < now) {
        struct entry *entry = cache->oldest;
        unlink_entry(cache, entry);
        cache_release(cache, entry);
        cache->expired++;
    }
}

void cache_clear(struct cache *cache) {
    while (cache->oldest) {
        struct entry *entry = cache->oldest;
        unlink_entry(cache, entry);
        cache_release(cache, entry);
    }
}
