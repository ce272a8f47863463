// An array that grows.
#ifndef WHYPERF_DEPENDENCES_COLUMN_H
#define WHYPERF_DEPENDENCES_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct column {
    void *data;
    size_t count, room;
};

// Room for one more item; NULL: no memory.
static inline void *column_add(struct column *column, size_t size) {
    if (column->count == column->room) {
        size_t room = column->room ? 2 * column->room : 64;
        void *data = realloc(column->data, room * size);
        if (!data)
            return NULL;
        column->data = data;
        column->room = room;
    }
    return (char *)column->data + size * column->count++;
}

static inline void column_free(struct column *column) {
    free(column->data);
    *column = (struct column){0};
}

#endif
