// Answers questions one after another, and keeps the latest answers. Argument: how many (0: all of them).
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTIONS = 32000, CELLS = 1 << 20, LETTERS = 2000 };

struct kept {
    struct kept *next;
    char text[LETTERS];
};

static struct kept *oldest, **newest = &oldest;
static unsigned kept_count;
static uint64_t *table;

static void fill_table(void) {
    table = malloc(CELLS * sizeof *table);
    for (uint64_t at = 0; at < CELLS; at++)
        table[at] = at * 6364136223846793005u;
}

static __attribute__((noinline)) uint64_t write_answer(unsigned question, char *text) {
    uint64_t value = question;
    for (int step = 0; step < 6000; step++)
        value = value * 6364136223846793005u + table[question % CELLS];
    for (int letter = 0; letter < LETTERS; letter++) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        text[letter] = (char)('a' + (value >> 33) % 26);
    }
    return value;
}

static __attribute__((noinline)) void drop_oldest(void) {
    struct kept *one = oldest;
    oldest = one->next;
    kept_count--;
    free(one);
}

static __attribute__((noinline)) void keep_answer(const char *text, unsigned limit) {
    struct kept *one = malloc(sizeof *one);
    memcpy(one->text, text, sizeof one->text);
    one->next = NULL;
    *newest = one;
    newest = &one->next;
    kept_count++;
    if (limit && kept_count > limit)
        drop_oldest();
}

int main(int count, char **words) {
    unsigned limit = count > 1 ? (unsigned)atoi(words[1]) : 0;
    char text[LETTERS];
    uint64_t sum = 0;
    fill_table();
    for (unsigned question = 0; question < QUESTIONS; question++) {
        sum ^= write_answer(question, text);
        keep_answer(text, limit);
    }
    printf("%llu %c\n", (unsigned long long)sum, oldest->text[0]);
    return 0;
}
