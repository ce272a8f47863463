// Records and their pages.
#include "documents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roll.h"

void table_open(struct table *table, uint32_t records) {
    memset(table, 0, sizeof *table);
    table->records = calloc(records, sizeof *table->records);
    table->page_count = records / RECORDS_ON_PAGE + 1;
    table->page_evictions = calloc(table->page_count, sizeof *table->page_evictions);
    if (!table->records || !table->page_evictions) {
        abort();
    }
    table->record_count = table->live_count = records;
    table->journal.least = JOURNAL_NOTICE;
    uint32_t random = 57221;
    for (uint32_t id = 0; id < records; id++) {
        struct record *record = &table->records[id];
        record->id = id;
        record->created = 1600000000 + id * 60 + roll_below(&random, 60);
        snprintf(record->name, NAME_BYTES, "order-%08x", roll(&random));
    }
}

static void note_deletion(struct table *table, const struct record *record) {
    if (record->id % 128 == 0) {
        journal_write(&table->journal, JOURNAL_NOTICE, record->created, "table", record->name, table->live_count);
    }
}

void table_delete(struct table *table, uint32_t id) {
    struct record *record = &table->records[id];
    if (!record->deleted) {
        record->deleted = true;
        table->live_count--;
        note_deletion(table, record);
    }
}

// Pages go to the store in turn, whatever was deleted.
void table_checkpoint(struct table *table) {
    for (uint32_t page = 0; page < table->page_count; page += 8) {
        evict_page(table, page);
    }
}

void table_close(struct table *table) {
    free(table->records);
    free(table->page_evictions);
    buffer_free(&table->image);
    journal_free(&table->journal);
}
