// Visitors of a site: their names are looked up in a hosts file, and the queries that one would have sent are made and
// read.
#define CARES_NO_DEPRECATED
#include <ares.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_CLASS = 1, A_RECORD = 1, HEADER = 12 };

static void heard(void *found, int status, int timeouts, struct ares_addrinfo *answer) {
    (void)timeouts;
    if (status == ARES_SUCCESS) {
        ++*(unsigned *)found;
        ares_freeaddrinfo(answer);
    }
}

// How many bytes the question takes, there and back.
static size_t asked(const char *name, unsigned short id) {
    unsigned char *query = NULL;
    int length = 0;
    if (ares_create_query(name, IN_CLASS, A_RECORD, id, 1, &query, &length, 0) != ARES_SUCCESS) {
        fprintf(stderr, "visitors: %s is no name\n", name);
        exit(1);
    }
    char *again = NULL;
    long encoded = 0;
    if (ares_expand_name(query + HEADER, query, length, &again, &encoded) != ARES_SUCCESS || strcmp(again, name) != 0) {
        fprintf(stderr, "visitors: %s came back as another\n", name);
        exit(1);
    }
    ares_free_string(again);
    ares_free_string(query);
    return (size_t)encoded;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: visitors HOSTS NAMES LOOKUPS QUERIES\n");
        return 2;
    }
    const unsigned names = (unsigned)atoi(argv[2]), lookups = (unsigned)atoi(argv[3]),
                   queries = (unsigned)atoi(argv[4]);
    setenv("CARES_HOSTS", argv[1], 1);
    struct ares_options options = {.lookups = (char *)"f"};
    ares_channel channel;
    if (ares_library_init(ARES_LIB_INIT_ALL) || ares_init_options(&channel, &options, ARES_OPT_LOOKUPS)) {
        fprintf(stderr, "visitors: c-ares does not start\n");
        return 1;
    }
    const struct ares_addrinfo_hints hints = {.ai_flags = ARES_AI_ENVHOSTS, .ai_family = AF_INET};
    unsigned found = 0;
    size_t bytes = 0;
    char name[64];
    for (unsigned visit = 0; visit < lookups; visit++) {
        snprintf(name, sizeof name, "host%u.example.org", visit * 7919u % names);
        ares_getaddrinfo(channel, name, NULL, &hints, heard, &found);
        for (unsigned query = 0; query < queries; query++) {
            bytes += asked(name, (unsigned short)(visit + query));
        }
    }
    printf("%u of %u found, %zu bytes\n", found, lookups, bytes);
    ares_destroy(channel);
    ares_library_cleanup();
    return 0;
}
