// Floating-point numbers that become whole ones: a table whose hash cuts the fraction off, and a loop whose bound is a
// product.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 4096, WEIGHTS = 3000, STEPS = 300 };

struct entry {
    struct entry *next;
    double weight;
};

static struct entry *table[PLACES];
static struct entry entries[WEIGHTS];
static double limit;

__attribute__((noinline)) static uint32_t place_of(const double *weight) {
    return (uint32_t)*weight % PLACES; // the hash
}

__attribute__((noinline)) static struct entry *find(const double *weight) {
    for (struct entry *one = table[place_of(weight)]; one; one = one->next) { // the list that is walked
        if (one->weight == *weight) {
            return one;
        }
    }
    return NULL;
}

static uint32_t by_hash(double step) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < 2 * WEIGHTS; i++) {
        double weight = (i % WEIGHTS) * step;
        if (find(&weight)) {
            found++;
        } else {
            struct entry *one = &entries[i % WEIGHTS];
            one->weight = weight;
            one->next = table[place_of(&weight)];
            table[place_of(&weight)] = one;
        }
    }
    return found;
}

__attribute__((noinline)) static uint32_t spin(uint32_t rounds) {
    volatile uint32_t sum = 0;
    for (uint32_t i = 0; i < rounds; i++) { // the loop that costs
        sum += i;
    }
    return sum;
}

__attribute__((noinline)) static void plan(double rate) {
    limit = rate * 1.5; // planned
}

static uint32_t by_product(double rate) {
    uint32_t sum = 0;
    plan(rate);
    for (uint32_t i = 0; i < STEPS; i++) {
        sum += spin((uint32_t)(limit * 100)); // converted
    }
    return sum;
}

int main(int count, char **words) {
    if (count < 3) {
        return 2;
    }
    double given = strtod(words[2], NULL); // the option
    printf("%u\n", strcmp(words[1], "hash") ? by_product(given) : by_hash(given));
    return 0;
}
