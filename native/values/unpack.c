#include "values/unpack.h"

#include <string.h>

int64_t values_widen(uint64_t bytes, uint8_t size, uint8_t flags) {
    if ((flags & VALUES_FLAG_FLOAT) && size == 4) {
        float narrow;
        memcpy(&narrow, &bytes, sizeof narrow);
        double wide = narrow;
        int64_t bits;
        memcpy(&bits, &wide, sizeof bits);
        return bits;
    }
    if ((flags & VALUES_FLAG_SIGNED) && size < 8) {
        unsigned shift = 64 - 8 * size;
        return (int64_t)(bytes << shift) >> shift;
    }
    return (int64_t)bytes;
}

struct cells {
    const unsigned char *bitmap, *at, *end;
    uint32_t next;
    bool damaged;
};

// The next cell's bytes; false when it was not readable.
static bool next_cell(struct cells *cells, uint8_t size, uint64_t *bytes) {
    uint32_t cell = cells->next++;
    if (!(cells->bitmap[cell / 8] >> cell % 8 & 1))
        return false;
    if ((size_t)(cells->end - cells->at) < size) {
        cells->damaged = true;
        return false;
    }
    *bytes = 0;
    memcpy(bytes, cells->at, size);
    cells->at += size;
    return true;
}

static bool take_frame(struct cells *cells, uint32_t depth, const struct values_table *table,
                       const struct values_segment *segment, values_take_fn take, void *context) {
    for (uint32_t i = 0; i < segment->count; i++) {
        const struct values_location *location = &table->locations[table->list[segment->first + i]];
        struct values_unpacked row = {.depth = depth, .variable = location->variable};
        uint64_t bytes;
        if (next_cell(cells, location->size, &bytes)) {
            row.value = values_widen(bytes, location->size, location->flags);
            if (!take(context, &row))
                return false;
        }
        for (uint32_t k = 0; k < location->field_count; k++) {
            const struct values_field *field = &table->fields[location->first_field + k];
            if (!next_cell(cells, field->size, &bytes))
                continue;
            row.variable = field->variable;
            row.value = values_widen(bytes, field->size, field->flags);
            if (!take(context, &row))
                return false;
        }
    }
    return true;
}

enum values_unpack_result values_unpack(const unsigned char *packed, size_t size, const struct values_place *places,
                                        uint32_t place_count, values_take_fn take, void *context) {
    for (size_t at = 0; at < size;) {
        if (size - at < 4)
            return VALUES_DAMAGED;
        uint32_t depth = packed[at], count = packed[at + 2] | (uint32_t)packed[at + 3] << 8;
        size_t bitmap_bytes = (count + 7) / 8;
        if (depth >= place_count || size - at - 4 < bitmap_bytes)
            return VALUES_DAMAGED;
        struct cells cells = {.bitmap = packed + at + 4, .at = packed + at + 4 + bitmap_bytes, .end = packed + size};
        const struct values_table *table = places[depth].table;
        const struct values_segment *segment = table ? values_find(table, places[depth].address) : NULL;
        // Without the table the cells' sizes are unknown, and so is where the next frame begins.
        if (!segment || values_cells(table, segment) != count)
            return VALUES_DAMAGED;
        if (!take_frame(&cells, depth, table, segment, take, context))
            return VALUES_STOPPED;
        if (cells.damaged)
            return VALUES_DAMAGED;
        at = (size_t)(cells.at - packed);
    }
    return VALUES_UNPACKED;
}
