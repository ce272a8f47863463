#include "probes/code.h"

#include <string.h>

const uint32_t code_machine = EM_X86_64;
const uint32_t code_increment_bytes = 9;
const uintptr_t code_reach = 0x7ff00000;
const uintptr_t code_clear_above = 0x40000000;

enum { DISTANCE_BYTES = 4, LEAST_PATCH = 1 + DISTANCE_BYTES, SHORT_JUMP_BYTES = 2, NEAR_JUMP_BYTES = 6 };

static const uint8_t call_code = 0xe8, jump_code = 0xe9, short_jump_code = 0xeb, no_operation = 0x90, trap_code = 0xcc;
// In front of a call it changes nothing: compilers lengthen calls by it themselves (-mindirect-branch-cs-prefix).
static const uint8_t meaningless_prefix = 0x2e;

// Moved instructions find the module's data as jumps find its code.
struct code_span code_span(const struct module *module) {
    return (struct code_span){module->low, module->high};
}

static int32_t read_distance(const uint8_t *at) {
    int32_t distance;
    memcpy(&distance, at, sizeof distance);
    return distance;
}

static bool write_distance(uint8_t *at, int64_t distance) {
    int32_t stored = (int32_t)distance;
    memcpy(at, &stored, sizeof stored);
    return stored == distance;
}

static bool is_conditional_jump(const struct plan_patch *patch) {
    if (patch->size == SHORT_JUMP_BYTES)
        return (patch->old[0] & 0xf0) == 0x70;
    return patch->size == NEAR_JUMP_BYTES && patch->old[0] == 0x0f && (patch->old[1] & 0xf0) == 0x80;
}

bool code_patch_is_sound(const struct plan_patch *patch) {
    if (patch->kind > PATCH_TRAP)
        return patch->kind <= PATCH_AS_IS && is_conditional_jump(patch);
    uint32_t least = patch->kind == PATCH_TRAP ? 1 : LEAST_PATCH;
    return patch->size >= least && patch->size <= PLAN_OLD_BYTES;
}

// Distances are counted from an instruction's end, so a jump that ends where the old one did keeps its distance.
static void decide(const struct plan_patch *patch, uint8_t *new) {
    if (patch->kind == PATCH_NEVER) {
        memset(new, no_operation, patch->size);
    } else if (patch->kind == PATCH_ALWAYS && patch->size == SHORT_JUMP_BYTES) {
        new[0] = short_jump_code;
    } else if (patch->kind == PATCH_ALWAYS) {
        new[0] = no_operation;
        new[1] = jump_code;
    }
}

static uint32_t distance_at(const struct plan_patch *patch) {
    return patch->kind == PATCH_JUMP ? 1 : patch->size - DISTANCE_BYTES;
}

bool code_patched(const struct plan_patch *patch, int64_t shift, uint8_t new[PLAN_OLD_BYTES]) {
    memcpy(new, patch->old, PLAN_OLD_BYTES);
    if (patch->kind == PATCH_TRAP) {
        new[0] = trap_code;
        return true;
    }
    if (patch->kind > PATCH_TRAP) {
        decide(patch, new);
        return true;
    }
    uint32_t at = distance_at(patch);
    if (patch->kind == PATCH_CALL) {
        memset(new, meaningless_prefix, patch->size);
        new[at - 1] = call_code;
    } else if (patch->kind == PATCH_JUMP) {
        memset(new, no_operation, patch->size);
        new[0] = jump_code;
    }
    int64_t from = (int64_t)patch->at + at + DISTANCE_BYTES;
    return write_distance(new + at, (int64_t)patch->stub + shift - from);
}

int64_t code_fix_target(const uint8_t *stubs, uint32_t fix) {
    return (int64_t)fix + DISTANCE_BYTES + read_distance(stubs + fix);
}

bool code_fix(uint8_t *at, int64_t shift) {
    return write_distance(at, read_distance(at) - shift);
}

void code_was_written(void *at, size_t bytes) {
    (void)at, (void)bytes;
}

enum { JUMP_BYTES = 5, ALIGNMENT = 16 };
static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa}; // endbr64
static const uint8_t return_code = 0xc3;
static const uint8_t jump_to_following[] = {0xff, 0x25, 0, 0, 0, 0};

// Whether a function that only returns is followed by what fills up to the next one.
bool code_may_be_hooked(const uint8_t *hook) {
    size_t at = memcmp(hook, mark, sizeof mark) == 0 ? sizeof mark : 0;
    if ((uintptr_t)hook % ALIGNMENT != 0 || hook[at] != return_code)
        return false;
    uint8_t fill = hook[at + 1];
    return at + 1 >= JUMP_BYTES || fill == 0x66 || fill == 0x0f || fill == 0x90 || fill == 0xcc;
}

struct code_jump code_hook_jump(uint8_t *hook, const uint8_t *stub) {
    struct code_jump jump = {.at = hook, .size = JUMP_BYTES, .new = {jump_code}};
    write_distance(jump.new + 1, stub - (hook + JUMP_BYTES));
    return jump;
}

void code_far_jump(uint8_t stub[CODE_HOOK_BYTES], void (*target)(void)) {
    memcpy(stub, jump_to_following, sizeof jump_to_following);
    memcpy(stub + sizeof jump_to_following, &target, sizeof target);
}
