#include "buffer.h"

#include <stdlib.h>
#include <string.h>

void buffer_reserve(struct buffer *buffer, size_t more) {
    if (buffer->room - buffer->size >= more) {
        return;
    }
    size_t room = buffer->room ? buffer->room : 64;
    while (room - buffer->size < more) {
        room *= 2;
    }
    buffer->bytes = (char *)realloc(buffer->bytes, room);
    if (!buffer->bytes) {
        abort();
    }
    buffer->room = room;
}

void buffer_add(struct buffer *buffer, const void *bytes, size_t size) {
    buffer_reserve(buffer, size);
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

void buffer_text(struct buffer *buffer, const char *text) {
    buffer_add(buffer, text, strlen(text));
}

static int digits_of(uint64_t number, unsigned base, char *end) {
    int count = 0;
    do {
        *--end = "0123456789abcdef"[number % base];
        number /= base;
        count++;
    } while (number);
    return count;
}

void buffer_number(struct buffer *buffer, uint64_t number) {
    char digits[24];
    int count = digits_of(number, 10, digits + sizeof digits);
    buffer_add(buffer, digits + sizeof digits - count, (size_t)count);
}

static void fill_up(struct buffer *buffer, uint64_t number, unsigned base, int width) {
    char digits[24];
    int count = digits_of(number, base, digits + sizeof digits);
    for (int missing = width - count; missing > 0; missing--) {
        buffer_add(buffer, "0", 1);
    }
    buffer_add(buffer, digits + sizeof digits - count, (size_t)count);
}

void buffer_padded(struct buffer *buffer, uint64_t number, int width) {
    fill_up(buffer, number, 10, width);
}

void buffer_hex(struct buffer *buffer, uint64_t number, int width) {
    fill_up(buffer, number, 16, width);
}

void buffer_quoted(struct buffer *buffer, const char *text) {
    buffer_add(buffer, "\"", 1);
    for (; *text; text++) {
        unsigned char letter = (unsigned char)*text;
        if (letter == '"' || letter == '\\') {
            buffer_add(buffer, "\\", 1);
            buffer_add(buffer, text, 1);
        } else if (letter < ' ') {
            buffer_text(buffer, "\\u");
            buffer_hex(buffer, letter, 4);
        } else {
            buffer_add(buffer, text, 1);
        }
    }
    buffer_add(buffer, "\"", 1);
}

void buffer_free(struct buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct buffer){NULL, 0, 0};
}
