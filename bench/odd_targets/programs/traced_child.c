// A debugger: it traces its child, passes all signals on, steps it a while, reads its registers and memory.
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "work.h"

static volatile long answer = 42;

static void tell(int number) {
    (void)number;
    answer++;
}

int main(void) {
    signal(SIGUSR1, tell);
    burn(0.05);
    pid_t child = fork();
    if (child == 0) {
        MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
        raise(SIGSTOP);
        raise(SIGUSR1);
        burn(0.2);
        _exit((int)answer);
    }
    int status, stops = 0;
    MUST(waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    for (int i = 0; i < 1000; i++) {
        MUST(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
        MUST(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
        if (WSTOPSIG(status) == SIGUSR1) {
            stops++;
            break;
        }
    }
    MUST(ptrace(PTRACE_PEEKDATA, child, &answer, NULL) == 42);
    long number = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    for (;;) {
        MUST(ptrace(PTRACE_CONT, child, NULL, number) == 0);
        MUST(waitpid(child, &status, 0) == child);
        if (!WIFSTOPPED(status)) {
            break;
        }
        number = WSTOPSIG(status);
        stops += number == SIGUSR1;
    }
    printf("SIGUSR1 %d, ended with %d\n", stops, WEXITSTATUS(status));
    return 0;
}
