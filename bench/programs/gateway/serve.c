// One connection from its first request to its last byte.
#define _GNU_SOURCE
#include <string.h>

#include "digest.h"
#include "gateway.h"
#include "pack.h"
#include "words.h"

static void install_filters(struct connection *connection, const struct settings *settings) {
    struct filter *core = push_filter(&connection->input, connection, "core-in");
    core->read = core_input;
    if (settings->dump) {
        push_filter(&connection->input, connection, "dump-in")->read = dump_input;
    }
    push_filter(&connection->output, connection, "core-out")->write = core_output;
    push_filter(&connection->output, connection, "digest-out")->write = digest_output;
    push_filter(&connection->output, connection, "request-out")->write = request_output;
}

static enum status read_some(struct connection *connection, struct brigade *brigade, size_t wanted) {
    brigade_clear(brigade);
    return connection->input->read(connection->input, brigade, wanted);
}

// Reads until the empty line that ends the headers; what came after it is given back.
static bool read_head(struct connection *connection, struct buffer *head) {
    const char *end = NULL;
    while (!head->size || !(end = memmem(head->bytes, head->size, "\r\n\r\n", 4))) {
        struct brigade brigade;
        if (read_some(connection, &brigade, 128) != STATUS_OK || !brigade.first) {
            return false;
        }
        for (const struct bucket *bucket = brigade.first; bucket; bucket = bucket->next) {
            buffer_add(head, bucket->bytes, bucket->size);
        }
    }
    size_t size = (size_t)(end + 4 - head->bytes);
    connection->taken -= head->size - size;
    head->size = size;
    return true;
}

// The body is of no interest, but has to be read before the connection can be used again.
static size_t discard_body(struct connection *connection, size_t announced) {
    size_t left = announced;
    uint64_t deadline = connection->now + connection->timeout;
    while (left) {
        struct brigade brigade;
        if (read_some(connection, &brigade, left) != STATUS_OK || connection->now > deadline) {
            return announced - left;
        }
        left -= brigade_size(&brigade);
    }
    return announced;
}

static void make_page(const struct message *request, struct buffer *page) {
    page->size = 0;
    for (int i = 0; i < 24; i++) {
        buffer_text(page, "<li>");
        buffer_quoted(page, request->path);
        buffer_number(page, crc_of(request->path, strlen(request->path)) + (uint32_t)i);
        buffer_text(page, "</li>\n");
    }
}

static void send_page(struct connection *connection, const struct message *request, struct buffer *page) {
    struct brigade brigade;
    struct buffer packed = {0}, reply = {0};
    brigade_clear(&brigade);
    if (strcmp(request->method, "HEAD") != 0) {
        make_page(request, page);
        pack(page->bytes, page->size, &packed);
        compose_reply(&reply, 200, packed.bytes, packed.size);
        const char *bytes = arena_copy(&connection->arena, reply.bytes, reply.size);
        for (size_t at = 0; at < reply.size; at += 512) {
            size_t size = reply.size - at < 512 ? reply.size - at : 512;
            brigade_add(&brigade, &connection->arena, BUCKET_DATA, bytes + at, size);
        }
    }
    brigade_add(&brigade, &connection->arena, BUCKET_END_OF_STREAM, NULL, 0);
    connection->output->write(connection->output, &brigade);
    buffer_free(&packed);
    buffer_free(&reply);
}

// Lets every filter that waits write what it has set aside, until none waits or the write timeout is over. That a
// filter which makes no progress need not be asked again is not considered.
enum status output_pending(struct connection *connection) {
    uint64_t deadline = connection->now + connection->timeout;
    bool waits = true;
    while (waits) {
        waits = false;
        for (struct filter *filter = connection->output; filter; filter = filter->next) {
            if (filter->waits) {
                filter->write(filter, NULL);
                waits |= filter->waits;
            }
        }
        if (++connection->now > deadline) {
            return STATUS_TIMED_OUT;
        }
    }
    return STATUS_OK;
}

static bool serve_request(struct connection *connection, struct buffer *head, struct buffer *page) {
    struct message request;
    head->size = 0;
    if (!read_head(connection, head) || !parse_message(head->bytes, head->size, &connection->arena, &request)) {
        return false;
    }
    const char *length = find_header(&request, "content-length");
    uint64_t announced = 0;
    if (length && read_number(length, &announced)) {
        discard_body(connection, announced);
    }
    send_page(connection, &request, page);
    journal_write(connection->journal, JOURNAL_NOTICE, connection->now, request.path, "answered", connection->id);
    return output_pending(connection) == STATUS_OK;
}

void serve_connection(struct connection *connection, const struct settings *settings, struct buffer *page) {
    struct buffer head = {0};
    connection->timeout = settings->timeout;
    install_filters(connection, settings);
    while (serve_request(connection, &head, page)) {
    }
    buffer_free(&head);
}
