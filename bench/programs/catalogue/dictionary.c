// The dictionary: one definition a table, read as text, kept by name.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "catalogue.h"
#include "digest.h"
#include "order.h"
#include "roll.h"
#include "words.h"

static void define(struct buffer *text, const struct tablespace *space, uint32_t id) {
    static const char *const types[] = {"int", "varchar(80)", "timestamp", "decimal(12,2)"};
    uint32_t state = id + 1, columns = 8 + roll_below(&state, 40);
    buffer_text(text, "create table ");
    buffer_quoted(text, space->name);
    buffer_add(text, "\n", 1);
    for (uint32_t i = 0; i < columns; i++) {
        buffer_text(text, "column c");
        buffer_number(text, i);
        buffer_add(text, " ", 1);
        buffer_text(text, types[roll_below(&state, 4)]);
        buffer_text(text, i % 5 ? " null\n" : " not null indexed\n");
    }
}

static void read_definition(struct dictionary_entry *entry, const struct buffer *text) {
    struct arena arena = {0};
    const char *end = text->bytes + text->size;
    for (const char *at = text->bytes; at < end; at = line_end(at, end) + 1) {
        struct words words;
        if (!split_words(at, (size_t)(line_end(at, end) - at), &arena, &words) || !words.count) {
            continue;
        }
        entry->columns += compare_caseless(words.word[0], "COLUMN") == 0;
        entry->indexes += compare_caseless(words.word[words.count - 1], "INDEXED") == 0;
    }
    entry->flags = expected_flags();
    arena_clear(&arena);
}

void load_dictionary(struct database *database) {
    struct buffer text = {0};
    for (uint32_t i = 0; i < database->space_count; i++) {
        struct dictionary_entry *entry = calloc(1, sizeof *entry);
        if (!entry) {
            abort();
        }
        text.size = 0;
        entry->space = &database->spaces[i];
        define(&text, entry->space, i);
        read_definition(entry, &text);
        *lookup_slot(&database->dictionary, entry->space->name) = entry;
    }
    buffer_free(&text);
}

static int by_name(const void *left, const void *right) {
    const struct tablespace *const one = left, *const other = right;
    return strcmp(one->name, other->name);
}

// The pages that were used most before the last shutdown are read again, in the order of their tables' names.
void warm_up(struct database *database, uint32_t pages) {
    void **spaces = calloc(database->space_count, sizeof *spaces);
    struct buffer bytes = {0};
    uint32_t state = 5;
    if (!spaces) {
        abort();
    }
    for (uint32_t i = 0; i < database->space_count; i++) {
        spaces[i] = &database->spaces[roll_below(&state, database->space_count)];
    }
    sort_pointers(spaces, database->space_count, by_name);
    for (uint32_t i = 0; i < pages; i++) {
        const struct tablespace *space = spaces[i % database->space_count];
        database->warmed += page_intact(&space->pages[i % space->page_count], &bytes);
    }
    buffer_free(&bytes);
    free(spaces);
}
