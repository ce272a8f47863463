// btree ROUNDS [FILE]: updates orders and evicts pages, into FILE where one is named.
#include <stdio.h>
#include <stdlib.h>

#include "btree.h"

enum { PAGES = 24, ENTRIES = 60, DIRTY_LIMIT = 6 };

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: btree ROUNDS [FILE]\n");
        return 2;
    }
    struct cache cache;
    cache_open(&cache, PAGES, ENTRIES, DIRTY_LIMIT, argc == 3 ? argv[2] : NULL);
    uint64_t sum = run_updates(&cache, (uint32_t)atol(argv[1]));
    printf("sum %lu evictions %lu built %lu copied %lu digest %08x\n", sum, cache.evictions, keys_built, keys_copied,
           cache.store.digest);
    cache_close(&cache);
    return 0;
}
