#include "order.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT = 12 };

static void insert_all(void **items, size_t count, int (*compare)(const void *, const void *)) {
    for (size_t i = 1; i < count; i++) {
        void *item = items[i];
        size_t place = i;
        for (; place > 0 && compare(items[place - 1], item) > 0; place--) {
            items[place] = items[place - 1];
        }
        items[place] = item;
    }
}

static void sort_with(void **items, size_t count, void **spare, int (*compare)(const void *, const void *)) {
    if (count <= SHORT) {
        insert_all(items, count, compare);
        return;
    }
    size_t half = count / 2;
    sort_with(items, half, spare, compare);
    sort_with(items + half, count - half, spare, compare);
    memcpy(spare, items, half * sizeof *items);
    size_t left = 0, right = half, to = 0;
    while (left < half && right < count) {
        items[to++] = compare(spare[left], items[right]) <= 0 ? spare[left++] : items[right++];
    }
    memcpy(items + to, spare + left, (half - left) * sizeof *items);
}

void sort_pointers(void **items, size_t count, int (*compare)(const void *left, const void *right)) {
    void **spare = calloc(count / 2 + 1, sizeof *spare);
    if (!spare) {
        abort();
    }
    sort_with(items, count, spare, compare);
    free(spare);
}
