// Puts traps into code of its own making and meets those of its own in itself, blocks SIGTRAP in the ways that the C
// library has, and waits for it.
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "work.h"

#ifdef __x86_64__
static const unsigned char made[] = {0xcc, 0xc3}; // int3; ret
#else
static const unsigned char made[] = {0, 0, 0x20, 0xd4, 0xc0, 0x03, 0x5f, 0xd6}; // brk #0; ret
#endif

static volatile int taken;
static ucontext_t here, there;

static void take(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    taken++;
#ifdef __aarch64__
    if (info->si_code > 0)
        ((ucontext_t *)context)->uc_mcontext.pc += 4;
#else
    (void)context;
#endif
}

static __attribute__((noinline)) int some_blocks(int number) {
    return number % 3 == 0 ? number + 1 : number % 3 == 1 ? number * 2 : number - taken;
}

static __attribute__((noinline)) int other_blocks(int number) {
    return number % 3 == 0 ? number + 5 : number % 3 == 1 ? number * 7 : number - 9;
}

static __attribute__((noinline)) int more_blocks(int number) {
    return number % 3 == 0 ? number + 3 : number % 3 == 1 ? number * 4 : number - 8;
}

static void elsewhere(void) {
    printf("elsewhere %d\n", more_blocks(5));
}

int main(void) {
    struct sigaction action = {.sa_sigaction = take, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, made, sizeof made);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    for (int i = 0; i < 10; i++)
        ((void (*)(void))page)();
    raise(SIGTRAP);
    printf("%d traps\n", taken);
    // Blocked: it stays pending until it is let through.
    sigset_t trap, pending;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    sigprocmask(SIG_BLOCK, &trap, NULL);
    printf("blocked %d\n", some_blocks(1));
    sigprocmask(SIG_UNBLOCK, &trap, NULL);
    sigset_t before;
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    int mask = sigsetmask(~0);
    printf("all blocked %d %d\n", mask, other_blocks(2));
    sigsetmask(mask);
    sigprocmask(SIG_BLOCK, NULL, &before);
    printf("blocked before: %d\n", sigismember(&before, SIGTRAP));
    // With a stack and a mask of its own.
    static char stack[256 << 10];
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    there.uc_link = &here;
    sigfillset(&there.uc_sigmask);
    makecontext(&there, elsewhere, 0);
    swapcontext(&here, &there);
    sigpending(&pending);
    printf("%d traps, pending %d\n", taken, sigismember(&pending, SIGTRAP));
    signal(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
    printf("%d traps\n", taken);
    sigset(SIGTRAP, SIG_IGN);
    burn(0.05);
    return some_blocks(5) & 1;
}
