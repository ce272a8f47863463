#include "session/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

bool output_reserve(struct output *output, size_t more) {
    if (output->capacity - output->size >= more)
        return true;
    size_t capacity = output->capacity ? output->capacity : 64 * 1024;
    while (capacity - output->size < more)
        capacity *= 2;
    unsigned char *bytes = realloc(output->bytes, capacity);
    if (!bytes)
        return false;
    output->bytes = bytes;
    output->capacity = capacity;
    return true;
}

void output_append(struct output *output, const void *bytes, size_t size) {
    memcpy(output->bytes + output->size, bytes, size);
    output->size += size;
}

size_t chunk_begin(struct output *output, const struct ring_header *owner) {
    size_t at = output->size;
    struct chunk_header header = {.magic = CHUNK_MAGIC, .kind = CHUNK_RING};
    output_append(output, &header, sizeof header);
    output_append(output, owner, sizeof *owner);
    return at;
}

void chunk_end(struct output *output, size_t at) {
    struct chunk_header header;
    memcpy(&header, output->bytes + at, sizeof header);
    header.length = (uint32_t)(output->size - at - sizeof header);
    if (header.length == sizeof(struct ring_header)) {
        output->size = at;
        return;
    }
    uLong crc = crc32(0, (const Bytef *)&header.kind, sizeof header.kind + sizeof header.length);
    header.crc = (uint32_t)crc32(crc, output->bytes + at + sizeof header, header.length);
    memcpy(output->bytes + at, &header, sizeof header);
}

bool output_write(const struct output *output, int fd) {
    const unsigned char *bytes = output->bytes;
    size_t size = output->size;
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

void output_clear(struct output *output) {
    output->size = 0;
    output->repeated = 0;
    output->consumed_count = 0;
    output->records = 0;
}
