// Bytes that grow at their end: replies, pages, log lines.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct buffer {
    char *bytes;
    size_t size, room;
};

void buffer_reserve(struct buffer *buffer, size_t more);
void buffer_add(struct buffer *buffer, const void *bytes, size_t size);
void buffer_text(struct buffer *buffer, const char *text);
void buffer_number(struct buffer *buffer, uint64_t number);
void buffer_padded(struct buffer *buffer, uint64_t number, int width);
void buffer_hex(struct buffer *buffer, uint64_t number, int width);
void buffer_quoted(struct buffer *buffer, const char *text);
void buffer_free(struct buffer *buffer);

#ifdef __cplusplus
}
#endif
