// gateway CONNECTIONS HEADS_PERMILLE SHORT_PERMILLE: serves connections of eight requests each. So many in a thousand
// end with a HEAD request, so many with a body of which only a part is sent.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway.h"
#include "roll.h"

enum { REQUESTS = 8, BODY = 1500 };

static void add_head_request(struct buffer *out) {
    buffer_text(out, "HEAD /preview HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: insights\r\n\r\n");
}

static void prepare(struct connection *connection, uint32_t id, bool ends_with_head, bool ends_short) {
    memset(connection, 0, sizeof *connection);
    connection->id = id;
    for (uint32_t i = 0; i < REQUESTS; i++) {
        bool last = i + 1 == REQUESTS;
        if (last && ends_with_head) {
            add_head_request(&connection->incoming);
        } else {
            compose_request(&connection->incoming, "shop.example", id * REQUESTS + i, last ? BODY : i % 2 * 300);
        }
    }
    connection->allowed = connection->incoming.size - (ends_short ? BODY / 2 : 0);
}

static uint32_t number(const char *text) {
    return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: gateway CONNECTIONS HEADS_PERMILLE SHORT_PERMILLE\n");
        return 2;
    }
    struct settings settings = {.timeout = 60000, .chunk = 512, .dump = true};
    struct journal journal = {.least = JOURNAL_DEBUG};
    struct buffer page = {0};
    uint32_t connections = number(argv[1]), heads = number(argv[2]), shorts = number(argv[3]), state = 77;
    uint64_t sent = 0, digest = 0;
    for (uint32_t id = 0; id < connections; id++) {
        struct connection connection;
        uint32_t kind = roll_below(&state, 1000);
        prepare(&connection, id, kind < heads, kind >= 1000 - shorts);
        connection.journal = &journal;
        serve_connection(&connection, &settings, &page);
        sent += connection.wire.size;
        digest ^= connection.digest;
        buffer_free(&connection.incoming);
        buffer_free(&connection.wire);
        arena_clear(&connection.arena);
    }
    printf("sent=%llu digest=%016llx lines=%llu\n", (unsigned long long)sent, (unsigned long long)digest,
           (unsigned long long)journal.written);
    buffer_free(&page);
    journal_free(&journal);
    return 0;
}
