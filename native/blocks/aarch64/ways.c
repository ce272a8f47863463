#include "blocks/ways.h"

#include "observation/registers.h"
#include "probes/aarch64/words.h"

enum { ZERO_REGISTER = 31, ALWAYS_TOO = 15 };

// Conditions come in pairs: the second is the opposite of the first, but for the last one.
static bool holds(uint32_t code, uint64_t flags) {
    bool negative = flags >> 31 & 1, zero = flags >> 30 & 1, carry = flags >> 29 & 1, overflow = flags >> 28 & 1;
    bool conditions[] = {
        zero, carry, negative, overflow, carry && !zero, negative == overflow, !zero && negative == overflow, true};
    return conditions[code >> 1 & 7] != (code & 1 && code != ALWAYS_TOO);
}

static uint64_t tested(uint32_t word, const ucontext_t *context) {
    uint32_t number = word & 31;
    return number == ZERO_REGISTER ? 0 : register_read(context, number);
}

// Jumps on a register's being zero or not, and on one of its bits being clear or set.
static bool test_holds(uint32_t word, const ucontext_t *context) {
    uint64_t value = tested(word, context);
    bool is_other = word >> 24 & 1, is_wide = word >> 31;
    if (word >> 25 & 1)
        value &= 1ull << ((is_wide ? 32 : 0) + (word >> 19 & 31));
    else if (!is_wide)
        value = (uint32_t)value;
    return (value == 0) != is_other;
}

bool way_of(const struct plan_patch *jump, uintptr_t at, const ucontext_t *context, struct way *way) {
    uint32_t word = word_read(jump->old);
    if (!word_is_conditional(word))
        return false;
    bool is_by_flags = word >> 25 == 0x54000000u >> 25;
    way->is_taken = is_by_flags ? holds(word & 15, flags_read(context)) : test_holds(word, context);
    way->next = at + (uintptr_t)(way->is_taken ? word_conditional_distance(word) : WORD_BYTES);
    return true;
}
