// Joins tables: each has a number of slots of its own, planned by slots_for() from the memory that is allowed.
//     tables MEGABYTES      from 4096 on what it is planned from overflows
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES = 24, KEYS = 3000, ROUNDS = 20 };

struct entry {
    struct entry *next;
    uint32_t key;
};

__attribute__((noinline)) static uint32_t slots_for(uint32_t table, uint32_t megabytes) {
    uint32_t bytes = (megabytes + table % 2 * 3) << 20;
    uint32_t share = bytes / 4096 / (table + 3);
    return share % 4096 < 8 + table ? 8 + table : share % 4096;
}

__attribute__((noinline)) static uint32_t find(struct entry **slots, uint32_t count, uint32_t key) {
    struct entry *entry = slots[(key * 2654435761u >> 7) % count];
    while (entry && entry->key != key)
        entry = entry->next;
    return entry ? entry->key : 0;
}

__attribute__((noinline)) static uint32_t joined(uint32_t table, uint32_t megabytes) {
    uint32_t count = slots_for(table, megabytes), sum = 0;
    struct entry **slots = calloc(count, sizeof *slots), *entries = calloc(KEYS, sizeof *entries);
    for (uint32_t key = 0; key < KEYS; key++) {
        struct entry **at = &slots[(key * 2654435761u >> 7) % count];
        entries[key] = (struct entry){*at, key};
        *at = &entries[key];
    }
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t key = 0; key < KEYS; key++)
            sum += find(slots, count, key);
    free(slots);
    free(entries);
    return sum;
}

int main(int argc, char **argv) {
    uint32_t megabytes = (uint32_t)strtoul(argv[1], NULL, 10), sum = 0;
    for (uint32_t table = 0; table < TABLES; table++)
        sum += joined(table, megabytes);
    printf("%u\n", sum);
    return 0;
}
