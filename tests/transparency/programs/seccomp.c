// seccomp strict|filter: CPU time and a few allowed system calls after the door is shut; any other kills.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "work.h"

static void say(const char *text) {
    if (write(1, text, strlen(text)) < 0) {
        syscall(SYS_exit, 98);
    }
}

static _Atomic int running;

static void *burn_in_thread(void *nothing) {
    running = 1;
    burn_steps(60000000);
    return nothing;
}

static void filter_system_calls(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 7, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 6, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    burn_steps(20000000);
    if (strcmp(argv[1], "strict") == 0) {
        MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0);
        burn_steps(100000000);
        say("strict\n");
        syscall(SYS_exit, 5);
    }
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, burn_in_thread, NULL) == 0);
    while (!running) {
        usleep(100);
    }
    filter_system_calls();
    burn_steps(100000000);
    pthread_join(thread, NULL);
    say("filter\n");
    syscall(SYS_exit_group, 6);
}
