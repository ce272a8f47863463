// Stands in for the sampler behind the handlers of native/memory/linked.c: changes every register that it may. Says in
// the end how many blocks it was told of.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/allocations.h"
#include "sampler/sampler.h"

struct process_state this_process;
__thread struct thread_allocations these_allocations;
static int sampled, ended;

static void change_registers(void) {
#ifdef __aarch64__
    __asm__ volatile("mov x1, #7\nmov x2, x1\nmov x3, x1\nmov x4, x1\nmov x5, x1\nmov x6, x1\nmov x7, x1\nmov x8, x1\n"
                     "mov x9, x1\nmov x10, x1\nmov x11, x1\nmov x12, x1\nmov x13, x1\nmov x14, x1\nmov x15, x1\n"
                     "movi v0.16b, #7\nmovi v1.16b, #7\nmovi v5.16b, #7\nmovi v7.16b, #7\nmovi v16.16b, #7\n"
                     "movi v17.16b, #7\nmovi v23.16b, #7\nmovi v30.16b, #7\nmovi v31.16b, #7\n"
                     :
                     :
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "v0", "v1", "v5", "v7", "v16", "v17", "v23", "v30", "v31");
#else
    __asm__ volatile("mov $7, %%ecx\nmov $7, %%edx\nmov $7, %%esi\nmov $7, %%r8d\nmov $7, %%r9d\nmov $7, %%r10d\n"
                     "mov $7, %%r11d\npcmpeqd %%xmm0, %%xmm0\npcmpeqd %%xmm1, %%xmm1\npcmpeqd %%xmm7, %%xmm7\n"
                     "pcmpeqd %%xmm8, %%xmm8\npcmpeqd %%xmm14, %%xmm14\npcmpeqd %%xmm15, %%xmm15\n"
                     :
                     :
                     : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm7", "xmm8", "xmm14", "xmm15",
                       "cc");
#endif
}

bool allocation_sample(void *address, size_t bytes) {
    these_allocations.until_sample = 3 * (int64_t)bytes;
    sampled++;
    change_registers();
    return live_add((uint64_t)address, bytes);
}

bool allocation_leaves(uint64_t address, struct ending_allocation *ending) {
    change_registers();
    ending->address = address;
    return live_remove(address, &ending->bytes);
}

bool allocation_stays(const struct ending_allocation *ending) {
    return live_add(ending->address, ending->bytes);
}

void allocation_ended(const struct ending_allocation *ending) {
    (void)ending;
    ended++;
    change_registers();
}

__attribute__((constructor)) static void start(void) {
    static struct whyperf_session session;
    this_process.session = &session;
    strcpy(this_process.session_path, getenv("WHYPERF_SESSION"));
    allocators_start();
}

__attribute__((destructor)) static void finish(void) {
    fprintf(stderr, "%d sampled, %d ended, %d not patched\n", sampled, ended,
            (int)this_process.session->modules_not_patched);
}
