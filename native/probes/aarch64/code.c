#include "probes/code.h"

#include "probes/aarch64/words.h"

const uint32_t code_machine = EM_AARCH64;
const uint32_t code_increment_bytes = 6 * WORD_BYTES;
const uintptr_t code_reach = 0x7f00000;
const uintptr_t code_clear_above = 0x4000000;

// Data may be farther: what finds it reaches 4 GB.
struct code_span code_span(const struct module *module) {
    return (struct code_span){module->code_low, module->code_high};
}

static bool suits(uint32_t old, enum patch_kind kind) {
    switch (kind) {
    case PATCH_DISTANCE:
        return word_is_jump(old) || word_is_call(old);
    case PATCH_CALL:
        return word_is_call_by_register(old);
    case PATCH_JUMP:
    case PATCH_TRAP:
        return true;
    case PATCH_ALWAYS:
    case PATCH_NEVER:
    case PATCH_AS_IS:
        return word_is_conditional(old);
    }
    return false;
}

bool code_patch_is_sound(const struct plan_patch *patch) {
    return patch->size == WORD_BYTES && patch->at % WORD_BYTES == 0 && patch->stub % WORD_BYTES == 0 &&
           suits(word_read(patch->old), patch->kind);
}

bool code_patched(const struct plan_patch *patch, int64_t shift, uint8_t new[PLAN_OLD_BYTES]) {
    memcpy(new, patch->old, PLAN_OLD_BYTES);
    uint32_t word = word_read(patch->old);
    if (patch->kind == PATCH_TRAP) {
        word_write(new, word_trap);
        return true;
    }
    if (patch->kind > PATCH_TRAP) {
        uint32_t always = WORD_JUMP;
        bool reaches = word_set_distance(&always, word_conditional_distance(word));
        if (patch->kind != PATCH_AS_IS)
            word_write(new, patch->kind == PATCH_ALWAYS ? always : word_no_operation);
        return reaches;
    }
    if (patch->kind == PATCH_CALL)
        word = word_call;
    else if (patch->kind == PATCH_JUMP)
        word = WORD_JUMP;
    bool reaches = word_set_distance(&word, (int64_t)patch->stub + shift - (int64_t)patch->at);
    word_write(new, word);
    return reaches;
}

int64_t code_fix_target(const uint8_t *stubs, uint32_t fix) {
    uint32_t word = word_read(stubs + fix);
    if (fix % WORD_BYTES == 0 && (word_is_jump(word) || word_is_call(word)))
        return (int64_t)fix + word_distance(word);
    if (fix % WORD_BYTES == 0 && word_is_page(word))
        return ((int64_t)(fix >> WORD_PAGE_BITS) + word_pages(word)) * (1 << WORD_PAGE_BITS);
    return -1;
}

bool code_fix(uint8_t *at, int64_t shift) {
    uint32_t word = word_read(at);
    bool is_page = word_is_page(word);
    bool reaches = !is_page ? word_set_distance(&word, word_distance(word) - shift)
                            : word_set_pages(&word, word_pages(word) - shift / (1 << WORD_PAGE_BITS));
    word_write(at, word);
    return reaches;
}

void code_was_written(void *at, size_t bytes) {
    __builtin___clear_cache(at, (char *)at + bytes);
}

static const uint32_t return_word = 0xd65f03c0, mark = 0xd503245f; // ret, bti c
static const uint32_t load_following[] = {0x58000050, 0xd61f0200}; // ldr x16, .+8; br x16

static const uint8_t *return_at(const uint8_t *hook) {
    return hook + (word_read(hook) == mark ? WORD_BYTES : 0);
}

bool code_may_be_hooked(const uint8_t *hook) {
    return word_read(return_at(hook)) == return_word;
}

struct code_jump code_hook_jump(uint8_t *hook, const uint8_t *stub) {
    struct code_jump jump = {.at = hook + (return_at(hook) - hook), .size = WORD_BYTES};
    uint32_t word = WORD_JUMP;
    word_set_distance(&word, stub - jump.at);
    word_write(jump.new, word);
    return jump;
}

void code_far_jump(uint8_t stub[CODE_HOOK_BYTES], void (*target)(void)) {
    memcpy(stub, load_following, sizeof load_following);
    memcpy(stub + sizeof load_following, &target, sizeof target);
}
