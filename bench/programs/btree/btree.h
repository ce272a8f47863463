// A storage engine's pages: keys share prefixes on a page, updates gather in memory, eviction writes pages to a store.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "journal.h"

enum { KEY_BYTES = 72, PREFIX_BYTES = 40, PREFIXES_ON_PAGE = 8, VALUE_BYTES = 48 };

// A key as it is kept: which prefix of the page it begins with, and the rest. Its whole text is built when first
// needed.
struct key {
    uint8_t prefix;
    uint32_t suffix;
    char *built; // NULL until then
    uint32_t built_size;
};

struct entry {
    struct key key;
    uint32_t version;
    char value[VALUE_BYTES];
};

struct page {
    uint32_t number;
    bool dirty;
    uint64_t last_use;
    uint32_t entry_count, prefix_count;
    char prefixes[PREFIXES_ON_PAGE][PREFIX_BYTES];
    struct entry *entries;
};

// info.c
struct key_info {
    const char *data;
    uint32_t size;
    uint32_t prefix_size;
};

void get_key_info(const struct page *page, const struct key *key, struct key_info *info);

// key.c
extern uint64_t keys_built, keys_copied;

void build_key(const struct page *page, struct key *key, char *text, uint32_t *size);
void forget_key(struct key *key);
void convert_key(const struct page *page, struct key *key, char *text, uint32_t *size);

// page.c
void page_fill(struct page *page, uint32_t number, uint32_t entries);
struct entry *page_search(struct page *page, uint32_t suffix);
void page_update(struct page *page, uint32_t suffix, uint32_t version);
void page_rename(struct page *page, uint32_t suffix);
void page_free(struct page *page);

// reconcile.c
struct image {
    struct buffer cells, packed;
    uint32_t checksum;
};

void reconcile(struct page *page, struct image *image);

// store.c
struct store {
    int file;
    uint64_t writes, bytes;
    uint32_t digest;
    uint64_t *extents;
    size_t extent_count, extent_room;
};

void store_open(struct store *store, const char *path);
void store_write(struct store *store, const struct image *image);
void store_close(struct store *store);

// cache.c
struct cache {
    struct page *pages;
    uint32_t page_count, dirty_limit;
    uint64_t clock, evictions;
    struct image image;
    struct store store;
    struct journal journal;
};

void cache_open(struct cache *cache, uint32_t pages, uint32_t entries, uint32_t dirty_limit, const char *path);
struct page *cache_page(struct cache *cache, uint32_t number);
void cache_trim(struct cache *cache);
void cache_close(struct cache *cache);

// workload.c
uint64_t run_updates(struct cache *cache, uint32_t rounds);
