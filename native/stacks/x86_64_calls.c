#include "stacks/calls.h"
#include "stacks/remote.h"
#include "unwind/call_code.h"

#include <string.h>

static uint64_t relative(const uint8_t *bytes, uint64_t end) {
    int32_t distance;
    memcpy(&distance, bytes, sizeof distance);
    return end + (uint64_t)(int64_t)distance;
}

// Where a PLT entry jumps to: [endbr64] [bnd] jmp *GOT(%rip). 0 if `address` holds no such entry.
static uint64_t through_plt(pid_t pid, uint64_t address) {
    static const uint8_t ENDBR64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    uint8_t code[11];
    uint64_t target;
    if (!remote_read(&pid, address, code, sizeof code))
        return 0;
    unsigned at = memcmp(code, ENDBR64, sizeof ENDBR64) == 0 ? sizeof ENDBR64 : 0;
    at += code[at] == 0xf2;
    if (code[at] != 0xff || code[at + 1] != 0x25)
        return 0;
    return remote_read(&pid, relative(code + at + 2, address + at + 6), &target, sizeof target) ? target : 0;
}

enum call_evidence call_evidence(pid_t pid, uint64_t return_address, uint64_t function) {
    enum { THROUGH_GOT = 6 };
    uint8_t code[CALL_CODE_LONGEST];
    uint64_t target;
    if (!remote_read(&pid, return_address - sizeof code, code, sizeof code))
        return CALL_NONE;
    const uint8_t *direct = code + sizeof code - CALL_CODE_DIRECT;
    if (direct[0] == 0xe8) {
        target = relative(direct + 1, return_address);
        if (target == function || through_plt(pid, target) == function)
            return CALL_CERTAIN;
    }
    const uint8_t *got = code + sizeof code - THROUGH_GOT;
    if (got[0] == 0xff && got[1] == 0x15 &&
        remote_read(&pid, relative(got + 2, return_address), &target, sizeof target) && target == function)
        return CALL_CERTAIN;
    return ends_in_indirect_call(code) ? CALL_POSSIBLE : CALL_NONE;
}
