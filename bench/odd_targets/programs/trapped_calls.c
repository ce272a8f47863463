// A seccomp filter answers system calls by SIGSYS, and a handler emulates them; others get an error number.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "work.h"

static volatile int trapped;

static void emulate(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    ucontext_t *state = context;
    trapped++;
#if defined(__aarch64__)
    state->uc_mcontext.regs[0] = 4242;
#else
    state->uc_mcontext.gregs[REG_RAX] = 4242;
#endif
}

int main(void) {
    struct sigaction action = {.sa_sigaction = emulate, .sa_flags = SA_SIGINFO};
    MUST(sigaction(SIGSYS, &action, NULL) == 0);
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    burn(0.05);
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    long sum = 0;
    for (int i = 0; i < 200; i++) {
        sum += syscall(SYS_getppid);
        burn(0.001);
    }
    printf("trapped %d sum %ld open %d\n", trapped, sum, fopen("/dev/null", "r") == NULL);
    return 0;
}
