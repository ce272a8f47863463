#include "stacks/calls.h"
#include "stacks/remote.h"
#include "unwind/call_code.h"

// Where a PLT entry jumps to: [bti c] adrp x16, PAGE; ldr x17, [x16, OFFSET]. 0 if `address` holds no such entry.
static uint64_t through_plt(pid_t pid, uint64_t address) {
    enum { BTI_C = 0xd503245f };
    uint32_t code[3];
    uint64_t target;
    if (!remote_read(&pid, address, code, sizeof code))
        return 0;
    unsigned at = code[0] == BTI_C;
    uint32_t adrp = code[at], load = code[at + 1];
    if ((adrp & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
        return 0;
    int64_t pages = (int64_t)((uint64_t)(adrp >> 5 & 0x7ffff) << 45) >> 43 | (adrp >> 29 & 3);
    uint64_t page = ((address + 4 * at) & ~4095ull) + ((uint64_t)pages << 12);
    return remote_read(&pid, page + (load >> 10 & 0xfff) * 8, &target, sizeof target) ? target : 0;
}

enum call_evidence call_evidence(pid_t pid, uint64_t return_address, uint64_t function) {
    uint32_t code;
    uint64_t target, call = return_address - sizeof code;
    if (!remote_read(&pid, call, &code, sizeof code))
        return CALL_NONE;
    if (direct_call(code, call, &target) && (target == function || through_plt(pid, target) == function))
        return CALL_CERTAIN;
    return is_indirect_call(code) ? CALL_POSSIBLE : CALL_NONE;
}
