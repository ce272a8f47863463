// 64-bit ARM: calls by their code.
#ifndef WHYPERF_AARCH64_CALL_CODE_H
#define WHYPERF_AARCH64_CALL_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { CALL_CODE_LONGEST = 4 };

// bl: where it leads, for an instruction at `address`; false if it is none.
static inline bool direct_call(uint32_t code, uint64_t address, uint64_t *target) {
    *target = address + (uint64_t)((int64_t)((uint64_t)code << 38) >> 36);
    return code >> 26 == 0x25;
}

// blr, and the forms of it that check a signature.
static inline bool is_indirect_call(uint32_t code) {
    return (code & 0xfffffc1f) == 0xd63f0000 || (code & 0xfefff800) == 0xd63f0800;
}

static inline bool ends_in_call(const uint8_t bytes[CALL_CODE_LONGEST]) {
    uint32_t code;
    uint64_t unused;
    memcpy(&code, bytes, sizeof code);
    return direct_call(code, 0, &unused) || is_indirect_call(code);
}

#endif
