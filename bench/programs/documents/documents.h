// A document store in memory: records on pages, indexes that order them, query plans with cursors, eviction of pages
// that hold too many deleted records.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "journal.h"

enum { RECORDS_ON_PAGE = 16, NAME_BYTES = 24, MOST_INDEXES = 4, DEAD_BEFORE_EVICTION = 40, NOWHERE = -1 };

struct record {
    uint32_t id, created;
    bool deleted; // until a checkpoint removes it
    char name[NAME_BYTES];
};

struct table {
    struct record *records;
    uint32_t record_count, live_count;
    uint32_t *page_evictions;
    uint32_t page_count;
    uint64_t evictions, evicted_bytes;
    uint32_t digest;
    struct buffer image;
    struct journal journal;
};

// table.c
void table_open(struct table *table, uint32_t records);
void table_delete(struct table *table, uint32_t id);
void table_checkpoint(struct table *table);
void table_close(struct table *table);

// evict.c
void evict_page(struct table *table, uint32_t page);

// index.c
struct index {
    const char *name;
    uint32_t *order;  // ids by place
    uint32_t *places; // places by id
    uint32_t count;
};

typedef int (*compare_records)(const void *left, const void *right);

void index_build(struct index *index, const struct table *table, const char *name, compare_records compare);
void index_free(struct index *index);
int by_created(const void *left, const void *right);
int by_latest(const void *left, const void *right);
int by_name(const void *left, const void *right);

// cursor.c
struct cursor {
    struct table *table;
    const struct index *index;
    int32_t place;
    uint64_t restored, walked;
};

void cursor_open(struct cursor *cursor, struct table *table, const struct index *index);
bool cursor_search(struct cursor *cursor, uint32_t near_id);
bool cursor_first(struct cursor *cursor);
bool cursor_last(struct cursor *cursor);
const struct record *cursor_record(const struct cursor *cursor);

// plan.c
struct plan {
    struct cursor cursor;
    uint32_t advanced, returned;
    double score;
};

struct planner {
    struct plan plans[MOST_INDEXES];
    int plan_count, winner;
};

void planner_open(struct planner *planner, struct table *table, const struct index *indexes, int index_count);
void planner_choose(struct planner *planner, uint32_t works);
void planner_restore(struct planner *planner, uint32_t near_id);

// remove.c
uint64_t remove_all(struct table *table, struct planner *planner, bool downwards);
