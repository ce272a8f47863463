// Slotted pages and the store that owns them.
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

void store_open(struct store *store, size_t pages) {
    memset(store, 0, sizeof *store);
    store->page_capacity = pages;
    store->pages = calloc(pages, sizeof *store->pages);
    if (!store->pages) {
        abort();
    }
}

void store_close(struct store *store) {
    index_free(store->index);
    free(store->pages);
}

// Rows are stored only if they survive a round through the compressor: a check that costs every insert the same.
static bool survives_compression(const struct row *row) {
    char packed[2 * ROW_BYTES], text[2 * ROW_BYTES];
    size_t size = compress_text(row->text, ROW_BYTES, packed);
    return expand_text(packed, size, text) == ROW_BYTES && memcmp(text, row->text, ROW_BYTES) == 0;
}

static struct page *page_with_room(struct store *store) {
    if (store->page_count && store->pages[store->page_count - 1].used < PAGE_SLOTS) {
        return &store->pages[store->page_count - 1];
    }
    if (store->page_count) {
        page_seal(&store->pages[store->page_count - 1]);
    }
    if (store->page_count == store->page_capacity) {
        store->page_capacity *= 2;
        store->pages = realloc(store->pages, store->page_capacity * sizeof *store->pages);
        if (!store->pages) {
            abort();
        }
    }
    struct page *page = &store->pages[store->page_count];
    memset(page, 0, sizeof *page);
    page->number = (uint32_t)store->page_count++;
    return page;
}

void store_put(struct store *store, const struct row *row) {
    if (!survives_compression(row)) {
        abort();
    }
    struct page *page = page_with_room(store);
    page->rows[page->used] = *row;
    store->index = index_insert(store->index, row->key, page->number, page->used);
    page->used++;
    store->transaction++;
}

void page_seal(struct page *page) {
    page->checksum = checksum(page->rows, sizeof page->rows, page->number);
}

bool page_intact(const struct page *page) {
    return page->checksum == checksum(page->rows, sizeof page->rows, page->number);
}
