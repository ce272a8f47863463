// Pages of sorted entries.
#include "btree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"

static void put_value(struct entry *entry) {
    uint64_t seed = mix_of(&entry->key.suffix, sizeof entry->key.suffix, entry->version);
    for (int i = 0; i < VALUE_BYTES; i += 8) {
        uint64_t part = seed * (uint64_t)(i + 3);
        memcpy(entry->value + i, &part, 8);
    }
}

void page_fill(struct page *page, uint32_t number, uint32_t entries) {
    page->number = number;
    page->entry_count = entries;
    page->prefix_count = PREFIXES_ON_PAGE;
    page->entries = calloc(entries, sizeof *page->entries);
    if (!page->entries) {
        abort();
    }
    for (uint32_t i = 0; i < page->prefix_count; i++) {
        snprintf(page->prefixes[i], PREFIX_BYTES, "customers/region-%u/orders-%u/", number % 7, i);
    }
    for (uint32_t i = 0; i < entries; i++) {
        struct entry *entry = &page->entries[i];
        entry->key.prefix = (uint8_t)(i * page->prefix_count / entries);
        entry->key.suffix = number * 100000 + i * 10;
        put_value(entry);
    }
}

struct entry *page_search(struct page *page, uint32_t suffix) {
    uint32_t low = 0, high = page->entry_count;
    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;
        if (page->entries[middle].key.suffix <= suffix) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &page->entries[low];
}

void page_update(struct page *page, uint32_t suffix, uint32_t version) {
    struct entry *entry = page_search(page, suffix);
    entry->version = version;
    put_value(entry);
    page->dirty = true;
}

// The key changes too: its built text is no longer its text.
void page_rename(struct page *page, uint32_t suffix) {
    struct entry *entry = page_search(page, suffix);
    forget_key(&entry->key);
    entry->key.suffix += entry->key.suffix % 10 < 8 ? 1 : 0;
    page->dirty = true;
}

void page_free(struct page *page) {
    for (uint32_t i = 0; i < page->entry_count; i++) {
        forget_key(&page->entries[i].key);
    }
    free(page->entries);
}
