// Numbers out of a stream's chunks. Whatever is damaged makes `bad` true and reads as 0 from then on.
#ifndef WHYPERF_DEPENDENCES_BYTES_H
#define WHYPERF_DEPENDENCES_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *at, *end;
    bool bad;
};

static inline uint64_t bytes_number(struct bytes *bytes) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (bytes->at >= bytes->end)
            break;
        uint8_t byte = *bytes->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    bytes->bad = true;
    bytes->at = bytes->end;
    return 0;
}

static inline int64_t unzigzag(uint64_t value) {
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static inline const uint8_t *bytes_run(struct bytes *bytes, size_t *length) {
    *length = bytes_number(bytes);
    if (*length > (size_t)(bytes->end - bytes->at)) {
        bytes->bad = true;
        *length = 0;
        bytes->at = bytes->end;
    }
    const uint8_t *run = bytes->at;
    bytes->at += *length;
    return run;
}

#endif
