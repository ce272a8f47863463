// Cursors over an index. After a deletion a cursor stands on nothing and is restored: to the next record, else the
// previous.
#include "documents.h"

void cursor_open(struct cursor *cursor, struct table *table, const struct index *index) {
    *cursor = (struct cursor){.table = table, .index = index, .place = NOWHERE};
}

static const struct record *record_at(const struct cursor *cursor, int32_t place) {
    return &cursor->table->records[cursor->index->order[place]];
}

// Too many deleted records in a row: the page is better written and forgotten.
static void pass_deleted(struct cursor *cursor, const struct record *record, uint32_t *in_a_row) {
    cursor->walked++;
    if (++*in_a_row > DEAD_BEFORE_EVICTION) {
        evict_page(cursor->table, record->id / RECORDS_ON_PAGE);
        *in_a_row = 0;
    }
}

static int32_t search_forward(struct cursor *cursor, int32_t place) {
    uint32_t in_a_row = 0;
    for (; place < (int32_t)cursor->index->count; place++) {
        const struct record *record = record_at(cursor, place);
        if (!record->deleted) {
            return place;
        }
        pass_deleted(cursor, record, &in_a_row);
    }
    return NOWHERE;
}

static int32_t search_backward(struct cursor *cursor, int32_t place) {
    uint32_t in_a_row = 0;
    for (; place >= 0; place--) {
        const struct record *record = record_at(cursor, place);
        if (!record->deleted) {
            return place;
        }
        pass_deleted(cursor, record, &in_a_row);
    }
    return NOWHERE;
}

bool cursor_search(struct cursor *cursor, uint32_t near_id) {
    int32_t from = (int32_t)cursor->index->places[near_id];
    int32_t found = search_forward(cursor, from);
    if (found == NOWHERE) {
        found = search_backward(cursor, from);
    }
    cursor->place = found;
    cursor->restored++;
    return found != NOWHERE;
}

bool cursor_first(struct cursor *cursor) {
    cursor->place = search_forward(cursor, 0);
    return cursor->place != NOWHERE;
}

bool cursor_last(struct cursor *cursor) {
    cursor->place = search_backward(cursor, (int32_t)cursor->index->count - 1);
    return cursor->place != NOWHERE;
}

const struct record *cursor_record(const struct cursor *cursor) {
    return cursor->place == NOWHERE ? NULL : record_at(cursor, cursor->place);
}
