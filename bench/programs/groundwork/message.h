// Requests and replies of a protocol much like HTTP: a first line, headers, an empty line, a body.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "buffer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MOST_HEADERS = 24 };

struct header {
    const char *name, *value;
};

struct message {
    const char *method, *path, *version; // of a reply: version, status, reason
    struct header headers[MOST_HEADERS];
    int header_count;
    const char *body;
    size_t body_size;
};

void compose_request(struct buffer *out, const char *host, uint32_t serial, size_t body_size);
void compose_reply(struct buffer *out, int status, const char *body, size_t body_size);
bool parse_message(const char *bytes, size_t size, struct arena *arena, struct message *message);
const char *find_header(const struct message *message, const char *name);

#ifdef __cplusplus
}
#endif
