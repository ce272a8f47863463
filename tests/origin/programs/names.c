// A table of names whose hash is the sum of their letters: names of the same letters share a list.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PLACES = 1024, NAMES = 3000, LENGTH = 12 };

struct entry {
    struct entry *next;
    char name[LENGTH + 1];
};

static struct entry *table[PLACES];
static struct entry entries[NAMES];

__attribute__((noinline)) static uint32_t sum_of(const char *name) {
    uint32_t sum = 0;
    while (*name) {
        sum = sum + (uint8_t)*name++ * 31; // the hash
    }
    return sum % PLACES;
}

__attribute__((noinline)) static struct entry *find(const char *name) {
    for (struct entry *one = table[sum_of(name)]; one; one = one->next) { // the list that is walked
        if (!strcmp(one->name, name)) {
            return one;
        }
    }
    return NULL;
}

int main(int count, char **words) {
    char line[LENGTH + 2];
    uint32_t known = 0, found = 0;
    FILE *names = count > 1 ? fopen(words[1], "r") : NULL;
    while (names && fgets(line, sizeof line, names)) {
        line[strcspn(line, "\n")] = 0;
        if (find(line)) {
            found++;
        } else if (known < NAMES) {
            struct entry *one = &entries[known++];
            memcpy(one->name, line, sizeof one->name);
            uint32_t place = sum_of(line);
            one->next = table[place];
            table[place] = one;
        }
    }
    printf("%u\n", found);
    return names ? fclose(names) : 1;
}
