// A web gateway without sockets: connections are scripts of bytes, and time is counted in ticks.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "buffer.h"
#include "journal.h"
#include "message.h"

enum status { STATUS_OK, STATUS_AGAIN, STATUS_TIMED_OUT, STATUS_FAILED };

enum bucket_kind { BUCKET_DATA, BUCKET_FLUSH, BUCKET_END_OF_STREAM };

struct bucket {
    struct bucket *next;
    enum bucket_kind kind;
    const char *bytes;
    size_t size;
};

// A chain of buckets, passed from filter to filter.
struct brigade {
    struct bucket *first, **last;
    int count;
};

struct connection;

struct filter {
    struct filter *next; // towards the network
    const char *name;
    enum status (*read)(struct filter *filter, struct brigade *brigade, size_t wanted);
    enum status (*write)(struct filter *filter, struct brigade *brigade);
    struct connection *connection;
    struct brigade set_aside; // what could not be written yet
    bool waits;               // has something to do when the connection is writable
    uint64_t passed;
};

struct connection {
    uint32_t id;
    struct arena arena;
    struct buffer incoming; // what the client sent
    size_t taken;
    size_t allowed;     // what the client sends at all; less than announced where it gives up
    struct buffer wire; // what was sent to it
    struct filter *input, *output;
    uint64_t now, timeout;
    struct journal *journal;
    uint64_t digest;
};

struct settings {
    uint64_t timeout; // ticks that reading or writing may take
    size_t chunk;     // bytes that arrive at a time
    bool dump;        // log what passes
};

void brigade_clear(struct brigade *brigade);
void brigade_add(struct brigade *brigade, struct arena *arena, enum bucket_kind kind, const char *bytes, size_t size);
void brigade_move(struct brigade *to, struct brigade *from);
size_t brigade_size(const struct brigade *brigade);
bool brigade_ends(const struct brigade *brigade);

struct filter *push_filter(struct filter **stack, struct connection *connection, const char *name);
enum status core_input(struct filter *filter, struct brigade *brigade, size_t wanted);
enum status dump_input(struct filter *filter, struct brigade *brigade, size_t wanted);
enum status core_output(struct filter *filter, struct brigade *brigade);
enum status digest_output(struct filter *filter, struct brigade *brigade);
enum status request_output(struct filter *filter, struct brigade *brigade);

void serve_connection(struct connection *connection, const struct settings *settings, struct buffer *page);
enum status output_pending(struct connection *connection);
