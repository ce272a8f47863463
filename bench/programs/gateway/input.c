// Reading: the network's filter, and one that logs what passes.
#include <string.h>

#include "digest.h"
#include "gateway.h"

enum { CHUNK = 512, SHOWN = 24 };

struct filter *push_filter(struct filter **stack, struct connection *connection, const char *name) {
    struct filter *filter = arena_take(&connection->arena, sizeof *filter);
    filter->next = *stack;
    filter->name = name;
    filter->connection = connection;
    brigade_clear(&filter->set_aside);
    return *stack = filter;
}

// Gives what has arrived; where the client has stopped sending, the read timeout passes.
enum status core_input(struct filter *filter, struct brigade *brigade, size_t wanted) {
    struct connection *connection = filter->connection;
    size_t there = connection->allowed < connection->incoming.size ? connection->allowed : connection->incoming.size;
    size_t size = there - connection->taken;
    connection->now++;
    if (size > wanted) {
        size = wanted;
    }
    if (size > CHUNK) {
        size = CHUNK;
    }
    if (!size) {
        return wanted ? STATUS_TIMED_OUT : STATUS_OK;
    }
    const char *bytes = connection->incoming.bytes + connection->taken;
    connection->digest = mix_of(bytes, size, connection->digest);
    brigade_add(brigade, &connection->arena, BUCKET_DATA, bytes, size);
    connection->taken += size;
    filter->passed += size;
    return STATUS_OK;
}

static void show_bucket(struct connection *connection, const struct bucket *bucket) {
    char shown[SHOWN + 1];
    size_t size = bucket->size < SHOWN ? bucket->size : SHOWN;
    for (size_t i = 0; i < size; i++) {
        char letter = bucket->bytes[i];
        shown[i] = letter >= ' ' && letter < 127 ? letter : '.';
    }
    shown[size] = 0;
    journal_write(connection->journal, JOURNAL_DEBUG, connection->now, shown, "bytes", bucket->size);
}

// Logs what the filter below gives. What that one answers is logged too, but not passed on: whoever reads is told
// that all is well, also when nothing can come any more.
enum status dump_input(struct filter *filter, struct brigade *brigade, size_t wanted) {
    struct connection *connection = filter->connection;
    journal_write(connection->journal, JOURNAL_DEBUG, connection->now, filter->name, "wanted", wanted);
    enum status result = filter->next->read(filter->next, brigade, wanted);
    if (result == STATUS_OK) {
        for (const struct bucket *bucket = brigade->first; bucket; bucket = bucket->next) {
            show_bucket(connection, bucket);
        }
    } else {
        journal_write(connection->journal, JOURNAL_WARNING, connection->now, filter->name, "status", result);
    }
    filter->passed += brigade_size(brigade);
    return STATUS_OK;
}
