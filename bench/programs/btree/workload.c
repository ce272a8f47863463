// Orders that change: mostly values, now and then a key.
#include "btree.h"

#include "roll.h"

static uint64_t read_some(struct cache *cache, uint32_t *random) {
    uint64_t sum = 0;
    for (int i = 0; i < 6; i++) {
        uint32_t number = roll_below(random, cache->page_count);
        struct page *page = cache_page(cache, number);
        const struct entry *entry = page_search(page, number * 100000 + roll_below(random, page->entry_count * 10));
        sum += entry->version + (uint8_t)entry->value[sum % VALUE_BYTES];
    }
    return sum;
}

uint64_t run_updates(struct cache *cache, uint32_t rounds) {
    uint32_t random = 1967;
    uint64_t sum = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t number = roll_below(&random, cache->page_count);
        struct page *page = cache_page(cache, number);
        uint32_t suffix = number * 100000 + roll_below(&random, page->entry_count * 10);
        if (round % 8 == 0) {
            page_rename(page, suffix);
        } else {
            page_update(page, suffix, round);
        }
        sum += read_some(cache, &random);
        cache_trim(cache);
    }
    return sum;
}
