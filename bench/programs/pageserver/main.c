// pageserver REQUESTS PERCENT [SEED]: serves requests; that many in a hundred ask for changed pages only.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pageserver.h"

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: pageserver REQUESTS PERCENT [SEED]\n");
        return 2;
    }
    struct server server;
    memset(&server, 0, sizeof server);
    server.journal.least = JOURNAL_NOTICE;
    struct clients clients = {.random = argc == 4 ? (uint32_t)atol(argv[3]) : 80,
                              .conditional_percent = (uint32_t)atol(argv[2])};
    uint64_t requests = (uint64_t)atol(argv[1]);
    for (uint64_t number = 0; number < requests; number++) {
        next_request(&clients, number);
        serve(&server, clients.request.bytes, clients.request.size);
    }
    const struct cache *cache = &server.cache;
    printf("whole %lu unchanged %lu refused %lu hits %lu misses %lu expired %lu freed %lu digest %08x\n", server.whole,
           server.unchanged, server.refused, cache->hits, cache->misses, cache->expired, cache->freed, server.digest);
    buffer_free(&clients.request);
    server_close(&server);
    return 0;
}
