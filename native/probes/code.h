// What patches and stubs consist of on this machine: native/probes/MACHINE/code.c knows its instructions.
#ifndef WHYPERF_PROBES_CODE_H
#define WHYPERF_PROBES_CODE_H

#include "probes/modules.h"
#include "probes/plan.h"

extern const uint32_t code_machine;         // what plans for it say
extern const uint32_t code_increment_bytes; // of every form of counting
extern const uintptr_t code_reach;          // of a jump to either side, less a margin
extern const uintptr_t code_clear_above;    // room that is left above a program, where its heap grows

struct code_span {
    uintptr_t low, high;
};
// What stubs of the module must be within reach of.
struct code_span code_span(const struct module *module);

bool code_patch_is_sound(const struct plan_patch *patch);
// What a patch puts there when the stubs lie so much farther than distances assume; false: out of reach.
bool code_patched(const struct plan_patch *patch, int64_t shift, uint8_t new[PLAN_OLD_BYTES]);

// What a fix refers to in the module; negative: it is no fix.
int64_t code_fix_target(const uint8_t *stubs, uint32_t fix);
// Corrects an instruction that lies so much farther from the module than it assumes; false: out of reach.
bool code_fix(uint8_t *at, int64_t shift);

// Makes written code visible to the processor.
void code_was_written(void *at, size_t bytes);

// For a function that does nothing but return: a jump over it, by way of a stub within reach.
enum { CODE_HOOK_BYTES = 16, CODE_JUMP_BYTES = 8 };
struct code_jump {
    uint8_t *at;
    uint32_t size;
    uint8_t new[CODE_JUMP_BYTES];
};
bool code_may_be_hooked(const uint8_t *hook);
struct code_jump code_hook_jump(uint8_t *hook, const uint8_t *stub);
void code_far_jump(uint8_t stub[CODE_HOOK_BYTES], void (*target)(void));

#endif
