#include "blocks/ways.h"

#include <string.h>

#include "observation/registers.h"

enum { SHORT_BYTES = 2, NEAR_BYTES = 6 };

// Conditions come in pairs: the second is the opposite of the first.
static bool holds(uint8_t code, uint64_t flags) {
    bool carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1, sign = flags >> 7 & 1,
         overflow = flags >> 11 & 1;
    bool conditions[] = {
        overflow, carry, zero, carry || zero, sign, parity, sign != overflow, zero || sign != overflow};
    return conditions[code >> 1 & 7] != (code & 1);
}

bool way_of(const struct plan_patch *jump, uintptr_t at, const ucontext_t *context, struct way *way) {
    int32_t distance;
    uint8_t code;
    if (jump->size == SHORT_BYTES && (jump->old[0] & 0xf0) == 0x70) {
        code = jump->old[0];
        distance = (int8_t)jump->old[1];
    } else if (jump->size == NEAR_BYTES && jump->old[0] == 0x0f && (jump->old[1] & 0xf0) == 0x80) {
        code = jump->old[1];
        memcpy(&distance, jump->old + NEAR_BYTES - sizeof distance, sizeof distance);
    } else {
        return false;
    }
    way->is_taken = holds(code, flags_read(context));
    way->next = at + jump->size + (uintptr_t)(way->is_taken ? distance : 0);
    return true;
}
