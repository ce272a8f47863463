// A page leaves memory: its image is written with a checksum.
#include "documents.h"

#include "digest.h"

static void put_record(struct buffer *image, const struct record *record) {
    buffer_hex(image, record->id, 8);
    buffer_padded(image, record->created, 12);
    buffer_add(image, record->name, NAME_BYTES);
    buffer_add(image, &record->deleted, 1);
}

void evict_page(struct table *table, uint32_t page) {
    table->image.size = 0;
    for (uint32_t slot = 0; slot < RECORDS_ON_PAGE; slot++) {
        uint32_t id = page * RECORDS_ON_PAGE + slot;
        if (id < table->record_count) {
            put_record(&table->image, &table->records[id]);
        }
    }
    table->digest = table->digest * 31 + adler_of(table->image.bytes, table->image.size);
    table->evicted_bytes += table->image.size;
    table->page_evictions[page]++;
    table->evictions++;
}
