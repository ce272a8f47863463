// 64-bit ARM code, as far as variables need it.
#include "debuginfo/machine.h"

#include <string.h>

enum { INSTRUCTION = 4, FP = 29, SP = 31 };

static uint32_t word_at(const uint8_t *code) {
    uint32_t word;
    memcpy(&word, code, sizeof word);
    return word;
}

// The signed number in bits [low, low + bits).
static int64_t number_in(uint32_t word, unsigned low, unsigned bits) {
    return (int64_t)((uint64_t)word << (64 - low - bits)) >> (64 - bits);
}

static bool direct_target(const uint8_t *code, uint64_t size, uint64_t address, uint32_t opcode, uint64_t *target) {
    if (size < INSTRUCTION)
        return false;
    uint32_t word = word_at(code + size - INSTRUCTION);
    *target = address - INSTRUCTION + (uint64_t)(number_in(word, 0, 26) * 4);
    return word >> 26 == opcode;
}

static bool call_target(const uint8_t *code, uint64_t size, uint64_t address, uint64_t *target) {
    return direct_target(code, size, address, 0x25, target);
}

static bool jump_target(const uint8_t *code, uint64_t size, uint64_t address, uint64_t *target) {
    return direct_target(code, size, address, 0x05, target);
}

static bool branches_to(const uint8_t *code, uint64_t size, uint64_t address, uint64_t target) {
    for (uint64_t at = 0; at + INSTRUCTION <= size; at += INSTRUCTION) {
        uint32_t word = word_at(code + at);
        int64_t distance;
        if ((word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000) // b.cond, cbz, cbnz
            distance = number_in(word, 5, 19);
        else if ((word & 0x7e000000) == 0x36000000) // tbz, tbnz
            distance = number_in(word, 5, 14);
        else
            continue;
        if (address + at + (uint64_t)(distance * 4) == target)
            return true;
    }
    return false;
}

static int64_t immediate12(uint32_t word) {
    return (int64_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
}

// Slots are addressed by sp, and by x29 where there is one. The prologue says how far both are below the CFA:
// stp x29, x30, [sp, -N]!, or sub sp, sp, N; then mov x29, sp or add x29, sp, M.
static bool slot_registers(const uint8_t *code, uint64_t size, struct slot_registers *found) {
    enum { PROLOGUE = 8 };
    int64_t frame = 0;
    *found = (struct slot_registers){.count = 0};
    for (uint64_t at = 0; at + INSTRUCTION <= size && at < PROLOGUE * INSTRUCTION; at += INSTRUCTION) {
        uint32_t word = word_at(code + at);
        if ((word & 0xffc003ff) == 0xa98003fd) // stp x29, x?, [sp, N]!
            frame -= number_in(word, 15, 7) * 8;
        else if ((word & 0xff8003ff) == 0xd10003ff) // sub sp, sp, N
            frame += immediate12(word);
        else if ((word & 0xff8003ff) == 0x910003fd) { // add x29, sp, M
            found->number[1] = FP;
            found->below[1] = frame - immediate12(word);
            found->count = 2;
        }
    }
    found->number[0] = SP;
    found->below[0] = frame;
    if (!found->count)
        found->count = 1;
    return frame > 0;
}

static bool below_cfa(const struct slot_registers *registers, unsigned number, int64_t *below) {
    for (unsigned i = 0; i < registers->count; i++)
        if (registers->number[i] == number) {
            *below = registers->below[i];
            return true;
        }
    return false;
}

// What a store sets: its displacement and its bytes. False for other instructions, and where the register moves.
static bool stored(uint32_t word, int64_t *displacement, uint64_t *bytes) {
    bool is_vector = word >> 26 & 1;
    unsigned size = word >> 30, form = word >> 22 & 3;
    if ((word & 0x3a000000) == 0x28000000) { // a pair
        unsigned scale = is_vector ? 2 + size : 2 + (size >> 1);
        *displacement = number_in(word, 15, 7) * (1 << scale);
        *bytes = 2u << scale;
        return (word & 0x03c00000) == 0x01000000;
    }
    unsigned scale = is_vector && form == 2 ? 4 : size;
    bool is_store = form == 0 || (is_vector && form == 2);
    *bytes = 1u << scale;
    if ((word & 0x3b000000) == 0x39000000) {
        *displacement = (int64_t)(word >> 10 & 0xfff) << scale;
        return is_store;
    }
    *displacement = number_in(word, 12, 9);
    return is_store && (word & 0x3b200c00) == 0x38000000;
}

// add x?, sp or x29, N, or sub: the slot's address.
static bool is_address_of_slot(uint32_t word, int64_t *displacement) {
    unsigned target = word & 31;
    *displacement = word >> 30 & 1 ? -immediate12(word) : immediate12(word);
    return (word & 0xbf800000) == 0x91000000 && target != SP && target != FP;
}

static bool mention(const uint8_t *code, uint64_t size, uint64_t at, const struct slot_registers *registers,
                    struct mention *found) {
    if (at % INSTRUCTION || at + INSTRUCTION > size)
        return false;
    uint32_t word = word_at(code + at);
    int64_t below, displacement;
    uint64_t bytes = INT32_MAX;
    if (!below_cfa(registers, word >> 5 & 31, &below))
        return false;
    bool is_address = is_address_of_slot(word, &displacement);
    if (!is_address && !stored(word, &displacement, &bytes))
        return false;
    *found = (struct mention){.at = at, .offset = displacement - below, .bytes = bytes, .is_address = is_address};
    return true;
}

const struct code_machine aarch64_code = {
    .registers = 32,
    .first_vector = 64,
    .vectors = 32,
    .kept = 0x7ffu << 19 | 1u << SP,
    .points_to_stack = 1u << FP | 1u << SP,
    .call_bytes = INSTRUCTION,
    .alignment = INSTRUCTION,
    .jump_bytes = {INSTRUCTION},
    .call_target = call_target,
    .jump_target = jump_target,
    .branches_to = branches_to,
    .slot_registers = slot_registers,
    .mention = mention,
};
