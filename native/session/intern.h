// Every distinct stack once: its number, and the addresses it consists of.
#ifndef WHYPERF_INTERN_H
#define WHYPERF_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern_entry {
    uint64_t hash;  // 0: the place is empty
    uint64_t first; // its first address in `words`
    uint64_t id;
    uint32_t count;
};

struct intern {
    struct intern_entry *entries;
    size_t places; // a power of two
    size_t used;
    uint64_t *words;
    size_t word_count, word_capacity;
    uint64_t next_id;
    size_t max_entries, max_words; // forgets everything when it would outgrow them
};

enum intern_result { INTERN_KNOWN, INTERN_NEW, INTERN_NO_MEMORY };

void intern_init(struct intern *intern, size_t max_entries, size_t max_words);
void intern_forget(struct intern *intern); // the stacks, not how far ids were given out: those stay unique
void intern_release(struct intern *intern);
enum intern_result intern_stack(struct intern *intern, const uint64_t *pcs, uint32_t count, uint64_t *id);

#endif
