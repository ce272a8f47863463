#include "session/decode.h"

#include <stdlib.h>
#include <string.h>

void decoder_init(struct decoder *decoder) {
    memset(decoder, 0, sizeof *decoder);
    intern_init(&decoder->stacks, SIZE_MAX, SIZE_MAX);
}

void decoder_release(struct decoder *decoder) {
    struct column *columns[] = {
        &decoder->time,   &decoder->owner,         &decoder->stack,      &decoder->weight,        &decoder->cut,
        &decoder->clock,  &decoder->wait,          &decoder->stack_ends, &decoder->values_sample, &decoder->values_ends,
        &decoder->values, &decoder->memory_sample, &decoder->memory};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        free(columns[i]->bytes);
    intern_release(&decoder->stacks);
    free(decoder->ids);
}

void decoder_new_file(struct decoder *decoder) {
    if (decoder->ids)
        memset(decoder->ids, 0, decoder->id_places * sizeof *decoder->ids);
    decoder->id_count = 0;
}

static bool push(struct column *column, const void *value, size_t size) {
    if (column->capacity - column->size < size) {
        size_t capacity = column->capacity ? column->capacity * 2 : 4096;
        while (capacity - column->size < size)
            capacity *= 2;
        unsigned char *bytes = realloc(column->bytes, capacity);
        if (!bytes)
            return false;
        column->bytes = bytes;
        column->capacity = capacity;
    }
    memcpy(column->bytes + column->size, value, size);
    column->size += size;
    return true;
}

static struct id_entry *id_place(struct id_entry *ids, size_t places, uint64_t id) {
    size_t at = (id * 0x9e3779b97f4a7c15ull) >> 20 & (places - 1);
    while (ids[at].id_plus_one && ids[at].id_plus_one != id + 1)
        at = (at + 1) & (places - 1);
    return &ids[at];
}

static bool grow_ids(struct decoder *decoder) {
    size_t places = decoder->id_places ? decoder->id_places * 2 : 4096;
    struct id_entry *ids = calloc(places, sizeof *ids);
    if (!ids)
        return false;
    for (size_t i = 0; i < decoder->id_places; i++)
        if (decoder->ids[i].id_plus_one)
            *id_place(ids, places, decoder->ids[i].id_plus_one - 1) = decoder->ids[i];
    free(decoder->ids);
    decoder->ids = ids;
    decoder->id_places = places;
    return true;
}

static bool stack_row(struct decoder *decoder, struct pcs pcs, uint32_t *row) {
    uint64_t id;
    enum intern_result result = intern_stack(&decoder->stacks, pcs.first, pcs.count, &id);
    if (result == INTERN_NO_MEMORY || id > INT32_MAX)
        return false;
    *row = (uint32_t)id;
    int64_t end = (int64_t)decoder->stacks.word_count;
    return result == INTERN_KNOWN || push(&decoder->stack_ends, &end, sizeof end);
}

static bool add_stack(struct decoder *decoder, const struct whyperf_record *record) {
    uint64_t id = *(const uint64_t *)record_payload(record);
    if (id == UINT64_MAX)
        return true;
    if (decoder->id_count * 2 >= decoder->id_places && !grow_ids(decoder))
        return false;
    struct id_entry *entry = id_place(decoder->ids, decoder->id_places, id);
    decoder->id_count += entry->id_plus_one == 0;
    entry->id_plus_one = id + 1;
    return stack_row(decoder, record_pcs(record, 1), &entry->row);
}

struct sample {
    int64_t time, weight;
    int32_t owner, stack;
    uint8_t cut, clock;
    int16_t wait;
};

static bool add_sample(struct decoder *decoder, const struct sample *sample) {
    return push(&decoder->time, &sample->time, sizeof sample->time) &&
           push(&decoder->owner, &sample->owner, sizeof sample->owner) &&
           push(&decoder->stack, &sample->stack, sizeof sample->stack) &&
           push(&decoder->weight, &sample->weight, sizeof sample->weight) &&
           push(&decoder->cut, &sample->cut, sizeof sample->cut) &&
           push(&decoder->clock, &sample->clock, sizeof sample->clock) &&
           push(&decoder->wait, &sample->wait, sizeof sample->wait);
}

static int32_t referred_stack(struct decoder *decoder, const struct whyperf_record *record) {
    uint64_t id = *(const uint64_t *)record_payload(record);
    const struct id_entry *entry =
        decoder->id_places && id != UINT64_MAX ? id_place(decoder->ids, decoder->id_places, id) : NULL;
    if (entry && entry->id_plus_one)
        return (int32_t)entry->row;
    decoder->stacks_missing++;
    return -1;
}

static bool add_values(struct decoder *decoder, const struct whyperf_record *record) {
    int32_t sample = (int32_t)(decoder->time.size / sizeof(int64_t)) - 1;
    if (!decoder->sample_before)
        return true;
    if (!push(&decoder->values, record_payload(record), record->detail))
        return false;
    int64_t end = (int64_t)decoder->values.size;
    return push(&decoder->values_sample, &sample, sizeof sample) && push(&decoder->values_ends, &end, sizeof end);
}

static bool add_memory(struct decoder *decoder, const struct whyperf_record *record) {
    enum { CLOCK_MEMORY = 2 };
    int32_t sample = (int32_t)(decoder->time.size / sizeof(int64_t)) - 1;
    if (decoder->sample_before)
        decoder->clock.bytes[sample] = CLOCK_MEMORY;
    return !decoder->sample_before || (push(&decoder->memory, record_payload(record), sizeof(struct whyperf_memory)) &&
                                       push(&decoder->memory_sample, &sample, sizeof sample));
}

static bool add_record(struct decoder *decoder, int32_t owner, const struct whyperf_record *record) {
    uint32_t low = record->detail & 0xffffff;
    uint32_t row;
    struct sample sample = {
        .time = (int64_t)record->time, .owner = owner, .weight = low, .cut = record->detail >> 24, .wait = -1};
    switch (record->kind) {
    case WHYPERF_RECORD_STACK:
        return add_stack(decoder, record);
    case WHYPERF_RECORD_VALUES:
        return add_values(decoder, record);
    case WHYPERF_RECORD_MEMORY:
        return add_memory(decoder, record);
    case WHYPERF_RECORD_SAMPLE_REF:
        sample.stack = referred_stack(decoder, record);
        return add_sample(decoder, &sample);
    case WHYPERF_RECORD_BLOCKED:
        sample.weight = *(const int64_t *)record_payload(record);
        sample.clock = 1;
        sample.wait = low <= INT16_MAX ? (int16_t)low : -1;
        if (!stack_row(decoder, record_pcs(record, 1), &row))
            return false;
        break;
    default: // WHYPERF_RECORD_SAMPLE
        if (!stack_row(decoder, record_pcs(record, 0), &row))
            return false;
    }
    sample.stack = (int32_t)row;
    return add_sample(decoder, &sample);
}

bool decoder_add(struct decoder *decoder, int32_t owner, const void *records, size_t size, decode_other other,
                 void *context) {
    decoder->sample_before = false;
    for (size_t at = 0; at < size;) {
        const struct whyperf_record *record = (const void *)((const unsigned char *)records + at);
        if (!record_is_sound_in_log(record, size - at)) {
            decoder->damaged_bytes += size - at;
            return true;
        }
        bool is_sample = record->kind == WHYPERF_RECORD_SAMPLE || record->kind == WHYPERF_RECORD_SAMPLE_REF;
        bool belongs_to_sample = record->kind == WHYPERF_RECORD_VALUES || record->kind == WHYPERF_RECORD_MEMORY;
        bool is_other = !is_sample && record->kind < WHYPERF_RECORD_STACK && !belongs_to_sample;
        if (!(is_other ? other(context, record) : add_record(decoder, owner, record)))
            return false;
        decoder->sample_before = is_sample || (decoder->sample_before && record->kind == WHYPERF_RECORD_MEMORY);
        at += record_bytes(record);
    }
    return true;
}
