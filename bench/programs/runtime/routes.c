// Routes to the hosts of one network, kept as words in the data segment: an address and the host it is reached through.
#include "runtime.h"

#include <stdlib.h>

#include "roll.h"

static uintptr_t destinations[ROUTE_COUNT];
static uintptr_t gateways[ROUTE_COUNT];

static int compare_words(const void *left, const void *right) {
    uintptr_t one = *(const uintptr_t *)left, other = *(const uintptr_t *)right;
    return one < other ? -1 : one > other;
}

void load_routes(uint32_t network) {
    uint32_t random = 90210;
    for (int i = 0; i < ROUTE_COUNT; i++) {
        destinations[i] = network + roll_below(&random, 1 << 20);
        gateways[i] = (uintptr_t)i * 3 + 1;
    }
    qsort(destinations, ROUTE_COUNT, sizeof *destinations, compare_words);
    add_roots(destinations, sizeof destinations);
    add_roots(gateways, sizeof gateways);
}

uint32_t route_for(uint32_t address) {
    size_t low = 0, high = ROUTE_COUNT;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (destinations[middle] <= address) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (uint32_t)gateways[low];
}
