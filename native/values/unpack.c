#include "values/unpack.h"

#include <stdlib.h>
#include <string.h>

#include "values/replay.h"

int64_t values_widen(uint64_t bytes, uint8_t size, uint8_t flags) {
    if ((flags & VALUES_FLAG_FLOAT) && size == 4) {
        float narrow;
        memcpy(&narrow, &bytes, sizeof narrow);
        double wide = narrow;
        int64_t bits;
        memcpy(&bits, &wide, sizeof bits);
        return bits;
    }
    if (size == 8)
        return (int64_t)bytes;
    unsigned shift = 64 - 8 * size;
    if (flags & VALUES_FLAG_SIGNED)
        return (int64_t)(bytes << shift) >> shift;
    return (int64_t)(bytes << shift >> shift);
}

struct taking {
    struct replay *replay;
    values_take_fn take;
    void *context;
};

static bool take_value(const struct taking *taking, uint32_t depth, uint32_t variable, uint64_t value, uint8_t size,
                       uint8_t flags) {
    const struct replay *replay = taking->replay;
    if ((flags & VALUES_FLAG_POINTER) && value >= replay->stack_low && value < replay->stack_high)
        value = VALUES_OWN_STACK | (replay->stack_high - value);
    struct values_unpacked row = {depth, variable, values_widen(value, size, flags)};
    return taking->take(taking->context, &row);
}

static bool take_fields(const struct taking *taking, uint32_t depth, const struct values_table *table,
                        const struct values_location *location, uint64_t pointer) {
    for (uint32_t i = 0; i < location->field_count; i++) {
        const struct values_field *field = &table->fields[location->first_field + i];
        bool is_span = field->flags & VALUES_FLAG_SPAN;
        uint64_t address = pointer + (uint64_t)(int64_t)field->offset, words[2] = {0, 0};
        if (!replay_read(taking->replay, address, words, is_span ? sizeof words : field->size))
            continue;
        uint64_t value = is_span ? (words[1] - words[0]) / field->scale : words[0];
        if (!take_value(taking, depth, field->variable, value, field->size, field->flags))
            return false;
    }
    return true;
}

static bool take_location(const struct taking *taking, uint32_t depth, const struct values_location *location) {
    const struct values_frame *frame = &taking->replay->frames[depth];
    uint64_t answer, value = 0;
    switch (values_evaluate(frame, location, replay_read, taking->replay, &answer)) {
    case VALUES_IS:
        value = answer;
        break;
    case VALUES_IS_AT:
        if (!replay_read(taking->replay, answer, &value, location->size))
            return true;
        break;
    default:
        return true;
    }
    return take_value(taking, depth, location->variable, value, location->size, location->flags) &&
           take_fields(taking, depth, frame->table, location, value);
}

enum values_unpack_result values_unpack(const unsigned char *packed, size_t size, const struct values_place *places,
                                        uint32_t place_count, values_take_fn take, void *context) {
    struct replay replay;
    struct taking taking = {&replay, take, context};
    if (!replay_record(&replay, packed, size, places, place_count))
        return VALUES_DAMAGED;
    for (uint32_t depth = 0; depth < REPLAY_FRAMES && depth < place_count; depth++) {
        const struct values_table *table = replay.frames[depth].table;
        if (!table || replay.flags[depth] & RECORD_CALLER_ONLY)
            continue;
        const struct values_segment *segment = values_find(table, places[depth].address);
        for (uint32_t i = 0; i < segment->count; i++)
            if (!take_location(&taking, depth, &table->locations[table->list[segment->first + i]]))
                return VALUES_STOPPED;
    }
    return VALUES_UNPACKED;
}
