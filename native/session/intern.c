#include "session/intern.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_PLACES = 4096, FIRST_WORDS = 1 << 16 };

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdull;
    return hash ^ hash >> 32;
}

// Four chains, because one multiplication has to wait for the last one of its chain.
static uint64_t hash_words(const uint64_t *words, uint32_t count) {
    uint64_t chain[4] = {count, 1, 2, 3};
    uint32_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int k = 0; k < 4; k++)
            chain[k] = mix(chain[k], words[i + k]);
    for (; i < count; i++)
        chain[0] = mix(chain[0], words[i]);
    uint64_t hash = mix(mix(mix(chain[0], chain[1]), chain[2]), chain[3]);
    return hash ? hash : 1;
}

void intern_init(struct intern *intern, size_t max_entries, size_t max_words) {
    memset(intern, 0, sizeof *intern);
    intern->max_entries = max_entries;
    intern->max_words = max_words;
}

void intern_forget(struct intern *intern) {
    if (intern->entries)
        memset(intern->entries, 0, intern->places * sizeof *intern->entries);
    intern->used = 0;
    intern->word_count = 0;
}

void intern_release(struct intern *intern) {
    free(intern->entries);
    free(intern->words);
    memset(intern, 0, sizeof *intern);
}

static struct intern_entry *place_of(struct intern_entry *entries, size_t places, uint64_t hash) {
    size_t at = hash & (places - 1);
    while (entries[at].hash && entries[at].hash != hash)
        at = (at + 1) & (places - 1);
    return &entries[at];
}

static bool grow_table(struct intern *intern) {
    size_t places = intern->places ? intern->places * 2 : FIRST_PLACES;
    struct intern_entry *entries = calloc(places, sizeof *entries);
    if (!entries)
        return false;
    for (size_t i = 0; i < intern->places; i++) {
        if (!intern->entries[i].hash)
            continue;
        size_t at = intern->entries[i].hash & (places - 1);
        while (entries[at].hash)
            at = (at + 1) & (places - 1);
        entries[at] = intern->entries[i];
    }
    free(intern->entries);
    intern->entries = entries;
    intern->places = places;
    return true;
}

static bool reserve_words(struct intern *intern, size_t more) {
    size_t capacity = intern->word_capacity ? intern->word_capacity : FIRST_WORDS;
    while (capacity < intern->word_count + more)
        capacity *= 2;
    if (capacity == intern->word_capacity)
        return true;
    uint64_t *words = realloc(intern->words, capacity * sizeof *words);
    if (!words)
        return false;
    intern->words = words;
    intern->word_capacity = capacity;
    return true;
}

enum intern_result intern_stack(struct intern *intern, const uint64_t *pcs, uint32_t count, uint64_t *id) {
    if (intern->used >= intern->max_entries || intern->word_count + count > intern->max_words)
        intern_forget(intern);
    if (intern->used * 2 >= intern->places && !grow_table(intern))
        return INTERN_NO_MEMORY;

    uint64_t hash = hash_words(pcs, count);
    struct intern_entry *entry = place_of(intern->entries, intern->places, hash);
    while (entry->hash) {
        if (entry->hash == hash && entry->count == count &&
            memcmp(intern->words + entry->first, pcs, count * sizeof *pcs) == 0) {
            *id = entry->id;
            return INTERN_KNOWN;
        }
        if (++entry == intern->entries + intern->places)
            entry = intern->entries;
    }
    if (!reserve_words(intern, count))
        return INTERN_NO_MEMORY;
    memcpy(intern->words + intern->word_count, pcs, count * sizeof *pcs);
    *entry = (struct intern_entry){.hash = hash, .first = intern->word_count, .id = intern->next_id++, .count = count};
    intern->word_count += count;
    intern->used++;
    *id = entry->id;
    return INTERN_NEW;
}
