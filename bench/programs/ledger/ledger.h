// A toy storage engine: keyed rows in slotted pages, a write-ahead log, an ordered index, row compression.
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef LEDGER_VERSION
#define LEDGER_VERSION 1
#endif

enum { PAGE_BYTES = 8192, PAGE_SLOTS = 96, KEY_BYTES = 24, ROW_BYTES = 64, LOG_RECORD_BYTES = 112 };

struct row {
    char key[KEY_BYTES];
    uint32_t created, deleted; // transactions; deleted is 0 while the row lives
    char text[ROW_BYTES];
};

struct page {
    uint32_t number, used;
    uint32_t checksum;
    uint32_t freed;
    struct row rows[PAGE_SLOTS];
};

struct store {
    struct page *pages;
    size_t page_count, page_capacity;
    struct index_node *index;
    uint32_t transaction;
};

// numbers.c
uint32_t next_random(uint32_t *state);
uint32_t checksum(const void *bytes, size_t size, uint32_t seed);
uint64_t hash_bytes(const void *bytes, size_t size);

// rows.c
void make_row(struct row *row, uint32_t number, uint32_t transaction);
size_t compress_text(const char *text, size_t size, char *out);
size_t expand_text(const char *packed, size_t size, char *out);

// collate.c
int compare_keys(const char *left, const char *right);

// index.c
struct index_node *index_insert(struct index_node *root, const char *key, uint32_t page, uint32_t slot);
bool index_find(const struct index_node *root, const char *key, uint32_t *page, uint32_t *slot);
void index_walk(const struct index_node *root, void (*visit)(const char *key, uint32_t page, uint32_t slot, void *),
                void *to);
void index_free(struct index_node *root);

// pages.c
void store_open(struct store *store, size_t pages);
void store_close(struct store *store);
void store_put(struct store *store, const struct row *row);
void page_seal(struct page *page);
bool page_intact(const struct page *page);

// log.c
struct log {
    unsigned char *bytes;
    size_t size, capacity;
};
void log_append(struct log *log, const struct row *row, uint32_t sequence);
bool log_parse_record(const unsigned char *at, struct row *row, uint32_t *sequence);

// recovery.c
struct pool_settings {
    uint32_t frames;    // pages that fit into memory
    uint32_t instances; // parts of the pool
};
uint64_t recover(struct store *store, const struct log *log, struct pool_settings pool);

// vacuum.c
uint64_t vacuum(struct store *store, uint32_t oldest_snapshot);

// report.c
uint64_t report_rows(const struct store *store);

#endif
