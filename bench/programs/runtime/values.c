// Numbers, texts, pairs and tables of the language.
#include "runtime.h"

#include <string.h>

#include "digest.h"

static struct value *new_value(enum value_kind kind, bool flat) {
    struct value *value = rt_malloc(sizeof *value, flat);
    value->kind = kind;
    return value;
}

struct value *new_number(int64_t number) {
    struct value *value = new_value(VALUE_NUMBER, true);
    value->as.number = number;
    return value;
}

struct value *new_text(const char *text, size_t size) {
    struct value *value = new_value(VALUE_TEXT, false);
    value->size = (uint32_t)size;
    value->as.text = rt_malloc(size + 1, true);
    memcpy(value->as.text, text, size);
    return value;
}

struct value *new_pair(struct value *first, struct value *rest) {
    struct value *value = new_value(VALUE_PAIR, false);
    value->as.pair.first = first;
    value->as.pair.rest = rest;
    return value;
}

struct value *new_table(uint32_t slots) {
    struct value *value = new_value(VALUE_TABLE, false);
    value->size = slots;
    value->as.table.slots = rt_malloc(slots * sizeof(struct value *), false);
    value->as.table.names = rt_malloc(slots * sizeof(struct value *), false);
    return value;
}

static uint32_t slot_of(const struct value *table, const char *name) {
    uint32_t slot = (uint32_t)(mix_of(name, strlen(name), 7) % table->size);
    for (uint32_t step = 0; step < table->size; step++) {
        const struct value *taken = table->as.table.names[slot];
        if (!taken || strcmp(taken->as.text, name) == 0) {
            return slot;
        }
        slot = slot + 1 == table->size ? 0 : slot + 1;
    }
    return slot;
}

struct value *table_find(const struct value *table, const char *name) {
    uint32_t slot = slot_of(table, name);
    return table->as.table.names[slot] ? table->as.table.slots[slot] : NULL;
}

void table_store(struct value *table, const char *name, struct value *stored) {
    uint32_t slot = slot_of(table, name);
    if (!table->as.table.names[slot]) {
        table->as.table.names[slot] = new_text(name, strlen(name));
    }
    table->as.table.slots[slot] = stored;
}

size_t list_length(const struct value *list) {
    size_t length = 0;
    for (; list; list = list->as.pair.rest) {
        length++;
    }
    return length;
}

static uint64_t pair_digest(const struct value *pair) {
    uint64_t digest = 5;
    for (; pair && pair->kind == VALUE_PAIR; pair = pair->as.pair.rest) {
        digest = digest * 31 + (pair->as.pair.first ? value_digest(pair->as.pair.first) : 0);
    }
    return digest;
}

uint64_t value_digest(const struct value *value) {
    switch (value->kind) {
    case VALUE_NUMBER:
        return mix_of(&value->as.number, sizeof value->as.number, 1);
    case VALUE_TEXT:
        return mix_of(value->as.text, value->size, 2);
    case VALUE_PAIR:
        return pair_digest(value);
    default:
        return value->size;
    }
}
