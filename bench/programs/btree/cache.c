// Pages in memory. When too many of them are dirty, the longest unused ones are written.
#include "btree.h"

#include <stdlib.h>
#include <string.h>

void cache_open(struct cache *cache, uint32_t pages, uint32_t entries, uint32_t dirty_limit, const char *path) {
    memset(cache, 0, sizeof *cache);
    cache->pages = calloc(pages, sizeof *cache->pages);
    if (!cache->pages) {
        abort();
    }
    cache->page_count = pages;
    cache->dirty_limit = dirty_limit;
    cache->journal.least = JOURNAL_NOTICE;
    store_open(&cache->store, path);
    for (uint32_t number = 0; number < pages; number++) {
        page_fill(&cache->pages[number], number, entries);
    }
}

struct page *cache_page(struct cache *cache, uint32_t number) {
    struct page *page = &cache->pages[number % cache->page_count];
    page->last_use = ++cache->clock;
    return page;
}

static uint32_t dirty_pages(const struct cache *cache) {
    uint32_t count = 0;
    for (uint32_t number = 0; number < cache->page_count; number++) {
        count += cache->pages[number].dirty;
    }
    return count;
}

static struct page *longest_unused(const struct cache *cache) {
    struct page *found = NULL;
    for (uint32_t number = 0; number < cache->page_count; number++) {
        struct page *page = &cache->pages[number];
        if (page->dirty && (!found || page->last_use < found->last_use)) {
            found = page;
        }
    }
    return found;
}

static void evict(struct cache *cache, struct page *page) {
    reconcile(page, &cache->image);
    store_write(&cache->store, &cache->image);
    page->dirty = false;
    cache->evictions++;
}

void cache_trim(struct cache *cache) {
    for (uint32_t dirty = dirty_pages(cache); dirty > cache->dirty_limit; dirty--) {
        evict(cache, longest_unused(cache));
    }
    if (cache->evictions % 64 == 0) {
        journal_write(&cache->journal, JOURNAL_NOTICE, cache->clock, "cache", "evictions", cache->evictions);
    }
}

void cache_close(struct cache *cache) {
    for (uint32_t number = 0; number < cache->page_count; number++) {
        page_free(&cache->pages[number]);
    }
    free(cache->pages);
    buffer_free(&cache->image.cells);
    buffer_free(&cache->image.packed);
    store_close(&cache->store);
    journal_free(&cache->journal);
}
