// Leaves signal handlers by siglongjmp, thousands of times, and by an alarm out of a busy loop.
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "work.h"

static sigjmp_buf back;

static void leave(int number) {
    siglongjmp(back, number);
}

int main(void) {
    signal(SIGUSR1, leave);
    signal(SIGALRM, leave);
    volatile int raised = 0, alarms = 0;
    for (volatile int i = 0; i < 5000; i++) {
        if (sigsetjmp(back, 1) == 0) {
            raise(SIGUSR1);
        } else {
            raised++;
            burn_steps(2000);
        }
    }
    struct itimerval once = {{0, 0}, {0, 5000}};
    for (volatile int i = 0; i < 40; i++) {
        if (sigsetjmp(back, 1) == 0) {
            setitimer(ITIMER_REAL, &once, NULL);
            for (;;) {
                burn_steps(1000);
            }
        }
        alarms++;
    }
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    printf("raised %d alarms %d blocked %d\n", raised, alarms, sigismember(&blocked, SIGUSR1));
    return 0;
}
