#include "message.h"

#include <string.h>

#include "roll.h"
#include "words.h"

static void add_header(struct buffer *out, const char *name, const char *value) {
    buffer_text(out, name);
    buffer_text(out, ": ");
    buffer_text(out, value);
    buffer_text(out, "\r\n");
}

static void add_length(struct buffer *out, size_t length) {
    buffer_text(out, "Content-Length: ");
    buffer_number(out, length);
    buffer_text(out, "\r\n\r\n");
}

void compose_request(struct buffer *out, const char *host, uint32_t serial, size_t body_size) {
    static const char *const languages[] = {"en", "de, en;q=0.7", "fr", "tr, en;q=0.5"};
    uint32_t state = serial * 2654435761u + 1;
    buffer_text(out, body_size ? "POST /item/" : "GET /item/");
    buffer_number(out, roll_below(&state, 100000));
    buffer_text(out, " HTTP/1.1\r\n");
    add_header(out, "Host", host);
    add_header(out, "Accept-Language", languages[roll_below(&state, 4)]);
    add_header(out, "User-Agent", "bench/1.0 (made up; deterministic)");
    add_header(out, "Cache-Control", "max-age=60, must-revalidate");
    add_length(out, body_size);
    for (size_t i = 0; i < body_size; i++) {
        char letter = (char)('a' + roll_below(&state, 16));
        buffer_add(out, &letter, 1);
    }
}

void compose_reply(struct buffer *out, int status, const char *body, size_t body_size) {
    buffer_text(out, "HTTP/1.1 ");
    buffer_number(out, (uint64_t)status);
    buffer_text(out, status == 200 ? " OK\r\n" : " Other\r\n");
    add_header(out, "Server", "bench");
    add_header(out, "Connection", "keep-alive");
    add_length(out, body_size);
    buffer_add(out, body, body_size);
}

static const char *header_end(const char *at, const char *end) {
    const char *stop = line_end(at, end);
    return stop > at && stop[-1] == '\r' ? stop - 1 : stop;
}

static bool parse_header(const char *at, const char *stop, struct arena *arena, struct message *message) {
    const char *colon = memchr(at, ':', (size_t)(stop - at));
    if (!colon || message->header_count == MOST_HEADERS) {
        return false;
    }
    const char *value = colon + 1;
    while (value < stop && *value == ' ') {
        value++;
    }
    struct header *header = &message->headers[message->header_count++];
    header->name = arena_copy(arena, at, (size_t)(colon - at));
    header->value = arena_copy(arena, value, (size_t)(stop - value));
    return true;
}

bool parse_message(const char *bytes, size_t size, struct arena *arena, struct message *message) {
    const char *end = bytes + size, *at = bytes, *stop = header_end(at, end);
    struct words first;
    memset(message, 0, sizeof *message);
    if (!split_words(at, (size_t)(stop - at), arena, &first) || first.count < 3) {
        return false;
    }
    message->method = first.word[0];
    message->path = first.word[1];
    message->version = first.word[2];
    for (at = line_end(at, end) + 1; at < end; at = line_end(at, end) + 1) {
        stop = header_end(at, end);
        if (stop == at) {
            break;
        }
        if (!parse_header(at, stop, arena, message)) {
            return false;
        }
    }
    const char *length = find_header(message, "content-length");
    uint64_t wanted = 0;
    if (length && !read_number(length, &wanted)) {
        return false;
    }
    message->body = line_end(at, end) + 1;
    if (message->body > end) {
        message->body = end;
    }
    message->body_size = (size_t)(end - message->body) < wanted ? (size_t)(end - message->body) : wanted;
    return true;
}

const char *find_header(const struct message *message, const char *name) {
    for (int i = 0; i < message->header_count; i++) {
        if (compare_caseless(message->headers[i].name, name) == 0) {
            return message->headers[i].value;
        }
    }
    return NULL;
}
