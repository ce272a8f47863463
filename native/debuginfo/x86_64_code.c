// x86-64 code, as far as variables need it: found by matching bytes, not by decoding.
#include "debuginfo/machine.h"

#include <string.h>

enum { NEAR_BYTES = 5, SHORT_BYTES = 2 };

static int32_t distance_at(const uint8_t *bytes) {
    int32_t distance;
    memcpy(&distance, bytes, sizeof distance);
    return distance;
}

static bool near_target(const uint8_t *code, uint64_t size, uint64_t address, uint8_t instruction, uint64_t *target) {
    if (size < NEAR_BYTES || code[size - NEAR_BYTES] != instruction)
        return false;
    *target = address + (uint64_t)(int64_t)distance_at(code + size - 4);
    return true;
}

static bool call_target(const uint8_t *code, uint64_t size, uint64_t address, uint64_t *target) {
    return near_target(code, size, address, 0xe8, target);
}

static bool jump_target(const uint8_t *code, uint64_t size, uint64_t address, uint64_t *target) {
    if (near_target(code, size, address, 0xe9, target))
        return true;
    *target = address + code[size - 1];
    return size >= SHORT_BYTES && code[size - SHORT_BYTES] == 0xeb && (int8_t)code[size - 1] > 0;
}

static bool branches_to(const uint8_t *code, uint64_t size, uint64_t address, uint64_t target) {
    enum { LONG_BYTES = 6 };
    for (uint64_t i = 0; i + SHORT_BYTES <= size; i++) {
        int32_t wide = i + LONG_BYTES <= size ? distance_at(code + i + 2) : 0;
        if ((code[i] & 0xf0) == 0x70 && address + i + SHORT_BYTES + (uint64_t)(int64_t)(int8_t)code[i + 1] == target)
            return true;
        if (code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80 &&
            address + i + LONG_BYTES + (uint64_t)(int64_t)wide == target)
            return true;
    }
    return false;
}

// By rbp, as at -O0.
static bool slot_registers(const uint8_t *code, uint64_t size, struct slot_registers *found) {
    static const uint8_t SET_UP[] = {0x55, 0x48, 0x89, 0xe5}; // push %rbp; mov %rsp,%rbp
    if (size < 4 + sizeof SET_UP)
        return false;
    bool marked = code[0] == 0xf3; // endbr64
    *found = (struct slot_registers){.number = {6}, .below = {16}, .count = 1};
    return memcmp(code + (marked ? 4 : 0), SET_UP, sizeof SET_UP) == 0;
}

static uint64_t bytes_set(const uint8_t *code, uint64_t modrm) {
    enum { MOVUPS = 0x11, MOVAPS = 0x29, MOVDQ = 0x7f };
    uint8_t opcode = code[modrm - 1];
    bool is_vector = modrm >= 2 && code[modrm - 2] == 0x0f && (opcode == MOVUPS || opcode == MOVAPS || opcode == MOVDQ);
    bool is_scalar = modrm >= 3 && (code[modrm - 3] == 0xf2 || (code[modrm - 3] == 0xf3 && opcode == MOVUPS));
    if (is_vector && !is_scalar)
        return 16;
    bool is_wide = modrm >= 2 && (code[modrm - 2] & 0xf8) == 0x48;
    return is_wide ? 8 : 1;
}

// An operand "rbp + displacement": a ModRM byte and the displacement.
static bool mention(const uint8_t *code, uint64_t size, uint64_t at, const struct slot_registers *registers,
                    struct mention *found) {
    enum { LEA = 0x8d };
    int64_t displacement;
    if (at < 1 || at + 5 > size)
        return false;
    if ((code[at] & 0xc7) == 0x45)
        displacement = (int8_t)code[at + 1];
    else if ((code[at] & 0xc7) == 0x85)
        displacement = distance_at(code + at + 1);
    else
        return false;
    bool is_address = code[at - 1] == LEA;
    *found = (struct mention){.at = at,
                              .offset = displacement - registers->below[0],
                              .bytes = is_address ? INT32_MAX : bytes_set(code, at),
                              .is_address = is_address};
    return true;
}

const struct code_machine x86_64_code = {
    .registers = 16,
    .first_vector = 17,
    .vectors = 16,
    .kept = 1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12,
    .points_to_stack = 1u << 6 | 1u << 7,
    .call_bytes = NEAR_BYTES,
    .alignment = 1,
    .jump_bytes = {SHORT_BYTES, NEAR_BYTES},
    .call_target = call_target,
    .jump_target = jump_target,
    .branches_to = branches_to,
    .slot_registers = slot_registers,
    .mention = mention,
};
