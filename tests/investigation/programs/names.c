// Looks up names in a table whose hash is the sum of their letters: names of the same letters all have one hash.
//
//     names plain     names differ in their letters
//     names turned    all have the same letters, in another order
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 3000, LETTERS = 10, BUCKETS = 4096, ROUNDS = 4 };

struct entry {
    struct entry *next;
    char name[LETTERS + 1];
};

static struct entry *table[BUCKETS], entries[NAMES];

static inline uint32_t hash_of(const char *name) {
    uint32_t sum = 0;
    for (; *name; name++)
        sum += (unsigned char)*name;
    return sum;
}

// Whether an entry is in its list: code that somebody copied from hash_of.
__attribute__((noinline)) static int is_in_order(const struct entry *entry) {
    const char *name = entry->name;
    uint32_t sum = 0;
    for (; *name; name++)
        sum += (unsigned char)*name;
    const struct entry *other = table[sum % BUCKETS];
    while (other && other != entry)
        other = other->next;
    return other == entry;
}

__attribute__((noinline)) static void insert(struct entry *entry) {
    uint32_t bucket = hash_of(entry->name) % BUCKETS;
    entry->next = table[bucket];
    table[bucket] = entry;
}

__attribute__((noinline)) static const struct entry *find(const char *name) {
    struct entry *entry = table[hash_of(name) % BUCKETS];
    while (entry && strcmp(entry->name, name) != 0)
        entry = entry->next;
    return entry;
}

// Of a number one order of the letters, or letters of its own.
static void write_name(char *name, uint32_t number, int is_turned) {
    for (int i = 0; i < LETTERS; i++)
        name[i] = (char)(is_turned ? 'a' + i : 0x21 + (number >> (i % 3) * 4) % 16 * (2 * i % 11 + 1) % 90);
    for (int i = LETTERS - 1; is_turned && i > 0; i--) {
        int other = (int)(number % (uint32_t)(i + 1));
        number /= (uint32_t)(i + 1);
        char kept = name[i];
        name[i] = name[other];
        name[other] = kept;
    }
    name[LETTERS] = 0;
}

int main(int count, char **words) {
    int is_turned = count > 1 && strcmp(words[1], "turned") == 0;
    for (uint32_t i = 0; i < NAMES; i++) {
        write_name(entries[i].name, i, is_turned);
        insert(&entries[i]);
    }
    long found = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (uint32_t i = 0; i < NAMES; i++)
            found += find(entries[i].name) != NULL;
    for (uint32_t i = 0; i < NAMES; i += NAMES / 10)
        found += is_in_order(&entries[i]);
    printf("%ld\n", found);
    return 0;
}
