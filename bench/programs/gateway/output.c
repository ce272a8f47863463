// Writing: what a request says passes a filter of the request, one that computes a digest, and the network's.
#include <string.h>

#include "digest.h"
#include "gateway.h"

enum { WRITABLE_EVERY = 3, SMALL = 256 };

// The client takes data at every third tick only; what it does not take is set aside.
enum status core_output(struct filter *filter, struct brigade *brigade) {
    struct connection *connection = filter->connection;
    connection->now++;
    if (brigade) {
        brigade_move(&filter->set_aside, brigade);
    }
    bool flush = brigade_size(&filter->set_aside) >= SMALL || brigade_ends(&filter->set_aside);
    if (!flush || connection->now % WRITABLE_EVERY) {
        filter->waits = filter->set_aside.first != NULL;
        return STATUS_AGAIN;
    }
    for (const struct bucket *bucket = filter->set_aside.first; bucket; bucket = bucket->next) {
        buffer_add(&connection->wire, bucket->bytes, bucket->size);
        filter->passed += bucket->size;
    }
    brigade_clear(&filter->set_aside);
    filter->waits = false;
    return STATUS_OK;
}

enum status digest_output(struct filter *filter, struct brigade *brigade) {
    struct connection *connection = filter->connection;
    if (brigade) {
        for (const struct bucket *bucket = brigade->first; bucket; bucket = bucket->next) {
            connection->digest ^= crc_of(bucket->bytes, bucket->size);
            filter->passed += bucket->size;
        }
    }
    return filter->next->write(filter->next, brigade);
}

static size_t bytes_before_end(const struct brigade *brigade) {
    size_t size = 0;
    for (const struct bucket *bucket = brigade->first; bucket && bucket->kind != BUCKET_END_OF_STREAM;
         bucket = bucket->next) {
        size += bucket->kind == BUCKET_DATA ? bucket->size : 0;
    }
    return size;
}

// Gathers small writes of one request. At the end of the stream everything goes down and the filter is done; if the
// end comes when nothing has been said before it, the filter leaves early and goes on saying that it waits.
enum status request_output(struct filter *filter, struct brigade *brigade) {
    if (brigade) {
        filter->waits = true;
        brigade_move(&filter->set_aside, brigade);
    }
    size_t size = bytes_before_end(&filter->set_aside);
    bool ends = brigade_ends(&filter->set_aside);
    if (size < SMALL && !ends) {
        return STATUS_OK;
    }
    if (size == 0) {
        return STATUS_OK;
    }
    filter->passed += size;
    struct brigade down;
    brigade_clear(&down);
    brigade_move(&down, &filter->set_aside);
    filter->waits = false;
    return filter->next->write(filter->next, &down);
}
