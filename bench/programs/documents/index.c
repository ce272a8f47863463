// Orders of records, and where each record stands in them.
#include "documents.h"

#include <stdlib.h>
#include <string.h>

#include "order.h"

int by_created(const void *left, const void *right) {
    const struct record *one = left, *other = right;
    return one->created < other->created ? -1 : one->created > other->created;
}

int by_latest(const void *left, const void *right) {
    return by_created(right, left);
}

int by_name(const void *left, const void *right) {
    const struct record *one = left, *other = right;
    return strcmp(one->name, other->name);
}

void index_build(struct index *index, const struct table *table, const char *name, compare_records compare) {
    index->name = name;
    index->count = table->record_count;
    index->order = calloc(index->count, sizeof *index->order);
    index->places = calloc(index->count, sizeof *index->places);
    void **sorted = calloc(index->count, sizeof *sorted);
    if (!index->order || !index->places || !sorted) {
        abort();
    }
    for (uint32_t id = 0; id < index->count; id++) {
        sorted[id] = &table->records[id];
    }
    sort_pointers(sorted, index->count, compare);
    for (uint32_t place = 0; place < index->count; place++) {
        const struct record *record = sorted[place];
        index->order[place] = record->id;
        index->places[record->id] = place;
    }
    free(sorted);
}

void index_free(struct index *index) {
    free(index->order);
    free(index->places);
}
