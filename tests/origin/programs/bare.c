// Freestanding, so that an emulator can trace it as a whole: with an argument it is slow.
#define KEPT __attribute__((noinline, noclone))

static volatile long sink;

KEPT static long window(long frames, long reserved) {
    return frames < reserved ? 0 : (frames - reserved) / 3; // no window
}

KEPT static void flush_all(long batch) {
    for (long done = 0; done < 60; done += batch)
        sink += done;
}

KEPT static void replay(long frames, long reserved) {
    flush_all(1 + window(frames, reserved) / 8);
}

KEPT static long planned(long arguments) {
    long reserved = 365;
    if (arguments > 1) {
        sink += 3;
        reserved = 4096; // all is reserved
    }
    return reserved;
}

KEPT void run(long arguments) {
    replay(4000, planned(arguments));
}

__attribute__((noreturn)) void _start(void) {
#ifdef __x86_64__
    __asm__ volatile("movq (%%rsp), %%rdi\n\tandq $-16, %%rsp\n\tcall run\n\tmovl $60, %%eax\n\txorl %%edi, %%edi\n\t"
                     "syscall" ::
                         : "memory");
#else
    __asm__ volatile("ldr x0, [sp]\n\tbl run\n\tmov x8, #93\n\tmov x0, #0\n\tsvc #0" ::: "memory");
#endif
    __builtin_unreachable();
}
