// A database's start: every table has a file with a header and packed pages; the dictionary says what to expect.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "journal.h"
#include "lookup.h"

enum { PAGE_BYTES = 4096, MOST_PAGES = 64 };

// Flags of a tablespace. Releases before the tenth stored the page size in another place.
enum { FLAG_PACKED = 1, FLAG_CHECKSUM = 2, FLAG_PAGE_SHIFT = 4, FLAG_OLD_PAGE_SHIFT = 10 };

struct page {
    struct buffer packed;
    uint32_t sum;
};

struct tablespace {
    char name[48];
    uint32_t flags; // as the file's header has them
    uint32_t page_count;
    struct page pages[MOST_PAGES];
    bool open;
};

struct dictionary_entry {
    uint32_t flags; // as they should be
    uint32_t columns, indexes;
    struct tablespace *space;
};

struct options {
    bool validate; // look at every page of every table
    uint32_t release;
};

struct database {
    struct tablespace *spaces;
    uint32_t space_count;
    struct lookup dictionary;
    struct options options;
    struct journal journal;
    uint64_t opened, validated, warmed, adjusted;
};

void write_tablespace(struct tablespace *space, uint32_t id, uint32_t release);
uint32_t expected_flags(void);
bool page_intact(const struct page *page, struct buffer *bytes);
bool open_tablespace(struct database *database, const struct dictionary_entry *entry);
void load_dictionary(struct database *database);
void warm_up(struct database *database, uint32_t pages);
