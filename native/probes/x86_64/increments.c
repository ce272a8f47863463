#include "probes/increments.h"

#include <asm/prctl.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probes/code.h"
#include "probes/counters.h"
#include "probes/memory.h"

enum { CODE_BYTES = 5 };                                                  // before the operand
static const uint8_t by_gs[CODE_BYTES] = {0x65, 0x48, 0xff, 0x04, 0x25};  // inc qword ptr gs:[address]
static const uint8_t locked[CODE_BYTES] = {0x3e, 0xf0, 0x48, 0xff, 0x05}; // ds lock inc qword ptr [rip + distance]

// What %gs is relative to; threads without a block count here, unseen.
static uint8_t *low;

bool increments_find_threads(void) {
    uint64_t base = 0;
    bool is_free = syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == 0;
    low = is_free ? memory_low(COUNTERS_BLOCK_BYTES) : NULL;
    return low;
}

bool increments_can_lock(void) {
    return true;
}

void thread_counts_in(uint8_t *block) {
    syscall(SYS_arch_prctl, ARCH_SET_GS, block ? (uintptr_t)block - (uintptr_t)low : 0);
}

uint8_t *thread_first_block(void) {
    return NULL;
}

// A new thread has its creator's %gs.
uint8_t *thread_block(void) {
    return NULL;
}

void thread_shares(uint8_t *creators_block) {
    (void)creators_block;
}

static void write_increment(uint8_t *increment, const uint8_t code[CODE_BYTES], uint32_t operand) {
    memcpy(increment, code, CODE_BYTES);
    memcpy(increment + CODE_BYTES, &operand, sizeof operand);
}

void increment_per_thread(uint8_t *increment, uint32_t in_block) {
    write_increment(increment, by_gs, (uint32_t)(uintptr_t)low + in_block);
}

void increment_locked(uint8_t *increment, const uint8_t *placed_at, const uint8_t *counter) {
    write_increment(increment, locked, (uint32_t)(counter - (placed_at + code_increment_bytes)));
}
