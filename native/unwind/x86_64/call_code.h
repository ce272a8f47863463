// x86-64: calls by their code.
#ifndef WHYPERF_X86_64_CALL_CODE_H
#define WHYPERF_X86_64_CALL_CODE_H

#include <stdbool.h>
#include <stdint.h>

enum { CALL_CODE_LONGEST = 7, CALL_CODE_DIRECT = 5 };

// Whether an indirect near call (ff /2) of exactly `length` bytes stands at `code`.
static inline bool is_indirect_call(const uint8_t *code, unsigned length) {
    if (length < 2 || code[0] != 0xff || (code[1] >> 3 & 7) != 2)
        return false;
    unsigned mode = code[1] >> 6, rm = code[1] & 7;
    if (mode == 3)
        return length == 2;
    unsigned sib = rm == 4;
    unsigned displacement = mode == 1 ? 1 : mode == 2 || rm == 5 || (sib && length > 2 && (code[2] & 7) == 5) ? 4 : 0;
    return length == 2 + sib + displacement;
}

static inline bool ends_in_indirect_call(const uint8_t code[CALL_CODE_LONGEST]) {
    for (unsigned length = 2; length <= CALL_CODE_LONGEST; length++)
        if (is_indirect_call(code + CALL_CODE_LONGEST - length, length))
            return true;
    return false;
}

static inline bool ends_in_call(const uint8_t code[CALL_CODE_LONGEST]) {
    return code[CALL_CODE_LONGEST - CALL_CODE_DIRECT] == 0xe8 || ends_in_indirect_call(code);
}

#endif
