// Files of tables, kept in memory: made once by some release of the database.
#include <stdio.h>
#include <string.h>

#include "catalogue.h"
#include "digest.h"
#include "pack.h"
#include "roll.h"

uint32_t expected_flags(void) {
    return FLAG_PACKED | FLAG_CHECKSUM | 12u << FLAG_PAGE_SHIFT;
}

static uint32_t flags_of_release(uint32_t release) {
    return release >= 10 ? expected_flags() : (FLAG_PACKED | FLAG_CHECKSUM | 12u << FLAG_OLD_PAGE_SHIFT);
}

static void fill_page(char *bytes, uint32_t seed) {
    uint32_t state = seed * 2654435761u + 1;
    for (size_t at = 0; at < PAGE_BYTES; at += 16) {
        uint32_t key = roll_below(&state, 64);
        memcpy(bytes + at, "row 00 of order", 15);
        bytes[at + 4] = (char)('0' + key / 10);
        bytes[at + 5] = (char)('0' + key % 10);
        bytes[at + 15] = (char)roll(&state);
    }
}

void write_tablespace(struct tablespace *space, uint32_t id, uint32_t release) {
    char bytes[PAGE_BYTES];
    snprintf(space->name, sizeof space->name, "shop/orders_%05u", id);
    space->flags = flags_of_release(release);
    space->page_count = 16 + id % (MOST_PAGES - 16);
    for (uint32_t i = 0; i < space->page_count; i++) {
        fill_page(bytes, id * MOST_PAGES + i);
        space->pages[i].sum = crc_of(bytes, sizeof bytes);
        pack(bytes, sizeof bytes, &space->pages[i].packed);
    }
}

bool page_intact(const struct page *page, struct buffer *bytes) {
    bytes->size = 0;
    if (unpack(page->packed.bytes, page->packed.size, bytes) != 0 || bytes->size != PAGE_BYTES) {
        return false;
    }
    return crc_of(bytes->bytes, bytes->size) == page->sum;
}
