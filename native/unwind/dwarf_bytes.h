// Reading DWARF's encodings from bytes that may be damaged: every read is bounded, none fails loudly.
#ifndef WHYPERF_DWARF_BYTES_H
#define WHYPERF_DWARF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end;
    bool bad; // something was read beyond the end; all further reads give 0
};

static inline uint64_t read_bytes(struct cursor *in, size_t size) {
    uint64_t value = 0;
    if ((size_t)(in->end - in->at) < size) {
        in->bad = true;
        in->at = in->end;
        return 0;
    }
    memcpy(&value, in->at, size);
    in->at += size;
    return value;
}

static inline uint64_t read_uleb(struct cursor *in) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = (uint8_t)read_bytes(in, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static inline int64_t read_sleb(struct cursor *in) {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint8_t byte = (uint8_t)read_bytes(in, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if ((byte & 0x40) && shift < 64)
            value |= ~(uint64_t)0 << shift;
        return (int64_t)value;
    }
}

static inline struct cursor read_block(struct cursor *in) {
    uint64_t size = read_uleb(in);
    struct cursor block = {in->at, in->at, false};
    if (size > (uint64_t)(in->end - in->at)) {
        in->bad = true;
        in->at = in->end;
        return block;
    }
    in->at += size;
    block.end = in->at;
    return block;
}

enum { ENCODING_OMIT = 0xff, ENCODING_INDIRECT = 0x80, ENCODING_PCREL = 0x10, ENCODING_APPLICATION = 0x70 };

static inline uint64_t read_format(struct cursor *in, uint8_t encoding) {
    switch (encoding & 0x0f) {
    case 0x00: // absptr
    case 0x04: // udata8
    case 0x0c: // sdata8
        return read_bytes(in, 8);
    case 0x01:
        return read_uleb(in);
    case 0x02:
        return read_bytes(in, 2);
    case 0x03:
        return read_bytes(in, 4);
    case 0x09:
        return (uint64_t)read_sleb(in);
    case 0x0a:
        return (uint64_t)(int64_t)(int16_t)read_bytes(in, 2);
    case 0x0b:
        return (uint64_t)(int64_t)(int32_t)read_bytes(in, 4);
    default:
        in->bad = true;
        return 0;
    }
}

// A code address; `address` is where the encoded value lies. Bases other than the place itself are not known here.
static inline uint64_t read_code_pointer(struct cursor *in, uint8_t encoding, uint64_t address) {
    uint64_t value = read_format(in, encoding);
    if (encoding & ENCODING_INDIRECT)
        in->bad = true;
    switch (encoding & ENCODING_APPLICATION) {
    case 0:
        return value;
    case ENCODING_PCREL:
        return value + address;
    default:
        in->bad = true;
        return 0;
    }
}

#endif
