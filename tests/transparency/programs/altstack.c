// Handlers on an alternate stack, and recovery from a stack overflow by a jump out of such a handler.
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "work.h"

static sigjmp_buf back;
static char stack[64 * 1024];
static volatile sig_atomic_t on_alternate, handled;

static void overflowed(int number) {
    (void)number;
    siglongjmp(back, 1);
}

static void look(int number) {
    (void)number;
    char here;
    handled++;
    on_alternate += &here >= stack && &here < stack + sizeof stack;
    burn_steps(20000);
}

static int __attribute__((noinline)) dig(int depth) {
    volatile char room[1024];
    room[depth % 1024] = (char)depth;
    return dig(depth + 1) + room[(depth + 1) % 1024];
}

int main(void) {
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack}, told;
    MUST(sigaltstack(NULL, &told) == 0 && told.ss_flags == SS_DISABLE);
    MUST(sigaltstack(&alternate, NULL) == 0);
    struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_ONSTACK};
    MUST(sigaction(SIGSEGV, &action, NULL) == 0);
    action.sa_handler = look;
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    volatile int recovered = 0;
    for (volatile int i = 0; i < 20; i++) {
        if (sigsetjmp(back, 1) == 0) {
            dig(0);
        } else {
            recovered++;
        }
        burn(0.01);
    }
    for (int i = 0; i < 2000; i++) {
        raise(SIGUSR1);
    }
    MUST(sigaltstack(NULL, &told) == 0 && told.ss_sp == stack && told.ss_flags == 0);
    printf("recovered=%d handled=%d on_alternate=%d\n", recovered, (int)handled, (int)on_alternate);
    return 0;
}
