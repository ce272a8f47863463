"""Programs with many threads, with limits, and that fork while others count."""

from __future__ import annotations

import pytest

from tests.collect.counts.machine import USES_REGISTER, Machine

WORK = """#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa, aligned(512))) void work(void) { __asm__ volatile("" ::: "memory"); }
"""


def works(machine: Machine, source: str, *command: str) -> tuple[int, list[int], int]:
    """Status, calls of `work` in each process, and threads that were not counted."""
    binary = machine.compiled(source)
    ran = machine.counted(*command, binary)
    calls = [
        sum(count for (_, callee, _), count in machine.edges(binary, [one]).items() if callee == "work")
        for one in ran.processes
        if any(module.path.endswith("/program") for module in one.modules)
    ]
    return ran.status, calls, sum(one.uncounted_threads for one in ran.processes)


def test_blocks_of_threads_that_ended_are_used_again(machine: Machine) -> None:
    source = (
        WORK
        + """static void *run(void *unused) { for (int i = 0; i < 10; i++) work(); return unused; }
        int main(void) {
            pthread_t thread;
            for (int i = 0; i < 300; i++) { pthread_create(&thread, NULL, run, NULL); pthread_join(thread, NULL); }
            return 0;
        }"""
    )
    assert works(machine, source) == (0, [3000], 0)
    file = next(machine.folder.glob("out-*/*.counts"))
    assert file.stat().st_size < 20 * (16 << 20)


def test_three_hundred_threads_at_once(machine: Machine) -> None:
    source = (
        WORK
        + """static pthread_barrier_t all;
        static void *run(void *unused) {
            for (int i = 0; i < 5; i++) work();
            pthread_barrier_wait(&all);
            work();
            return unused;
        }
        int main(void) {
            pthread_t threads[300];
            pthread_barrier_init(&all, NULL, 300);
            for (int i = 0; i < 300; i++) if (pthread_create(&threads[i], NULL, run, NULL)) return 1;
            for (int i = 0; i < 300; i++) pthread_join(threads[i], NULL);
            return 0;
        }"""
    )
    assert works(machine, source) == (0, [1800], 0)


@pytest.mark.parametrize("uses", ["", f"if (getpid() == 1) {{ {USES_REGISTER} }}"], ids=["per thread", "locked"])
def test_forks_of_a_program_whose_threads_count(machine: Machine, uses: str) -> None:
    source = (
        WORK
        + """static volatile int stop;
        static void *run(void *unused) { while (!stop) work(); return unused; }
        int main(void) {
        """
        + uses
        + """    pthread_t threads[2];
            for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, NULL);
            for (int child = 0; child < 5; child++) {
                pid_t pid = fork();
                if (pid == 0) { for (int i = 0; i < 100; i++) work(); _exit(0); }
                waitpid(pid, NULL, 0);
            }
            stop = 1;
            for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
            return 0;
        }"""
    )
    status, calls, uncounted = works(machine, source)
    assert (status, uncounted) == (0, 0)
    assert sorted(calls)[:5] == [100] * 5 and len(calls) == 6


def test_a_limit_on_the_size_of_files_is_respected(machine: Machine) -> None:
    """A file that grew beyond it would bring the program a signal."""
    source = (
        WORK
        + """static void *run(void *unused) { for (int i = 0; i < 10; i++) work(); return unused; }
        int main(void) {
            for (int i = 0; i < 7; i++) work();
            pthread_t threads[3];
            for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, run, NULL);
            for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
            return 6;
        }"""
    )
    binary = machine.compiled(source)
    for kilobytes in (0, 64, 2000, 20000):
        ran = machine.counted("sh", "-c", f'ulimit -f {2 * kilobytes}; exec "$0"', binary)
        assert (ran.status, ran.errors) == (6, ""), kilobytes


def test_a_thread_keeps_the_signal_mask_that_it_was_given(machine: Machine) -> None:
    source = (
        WORK
        + """static volatile int handled;
        static void handler(int number) { (void)number; work(); handled++; }
        static void *run(void *expected) {
            sigset_t now; pthread_sigmask(SIG_SETMASK, NULL, &now);
            if (sigismember(&now, SIGUSR2) != (long)expected || sigismember(&now, SIGUSR1)) exit(1);
            raise(SIGUSR1);
            return NULL;
        }
        int main(void) {
            sigset_t set; pthread_t thread;
            signal(SIGUSR1, handler);
            sigemptyset(&set); sigaddset(&set, SIGUSR2);
            pthread_create(&thread, NULL, run, (void *)0); pthread_join(thread, NULL);
            pthread_sigmask(SIG_BLOCK, &set, NULL);
            pthread_create(&thread, NULL, run, (void *)1); pthread_join(thread, NULL);
            pthread_sigmask(SIG_SETMASK, NULL, &set);
            return sigismember(&set, SIGUSR2) == 1 && handled == 2 ? 0 : 2;
        }"""
    )
    assert works(machine, source) == (0, [2], 0)


def test_threads_that_the_c_library_starts_itself_are_counted(machine: Machine) -> None:
    source = (
        WORK
        + """#include <time.h>
        static volatile int done;
        static void rung(union sigval unused) { (void)unused; for (int i = 0; i < 20; i++) work(); done = 1; }
        int main(void) {
            timer_t timer;
            struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = rung};
            if (timer_create(CLOCK_MONOTONIC, &event, &timer)) return 1;
            struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
            timer_settime(timer, 0, &soon, NULL);
            while (!done) usleep(1000);
            return 0;
        }"""
    )
    assert works(machine, source) == (0, [20], 0)


def test_a_program_that_forbids_itself_system_calls_runs_on(machine: Machine) -> None:
    """Emulators refuse filters: there the program runs without one."""
    source = (
        WORK
        + """#include <linux/filter.h>
        #include <linux/seccomp.h>
        #include <stddef.h>
        #include <sys/prctl.h>
        #include <sys/syscall.h>
        #define EQUAL(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1)
        #define KILLED(call) EQUAL(call), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
        #ifdef SYS_arch_prctl
        #define CHANGES_REGISTER KILLED(SYS_arch_prctl),
        #else
        #define CHANGES_REGISTER
        #endif
        static int filtered(void) {
            struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                CHANGES_REGISTER KILLED(SYS_ftruncate), KILLED(SYS_fallocate),
                KILLED(SYS_tgkill), KILLED(SYS_openat),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
            };
            struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 0;
            return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
        }
        static void *run(void *unused) { for (int i = 0; i < 10; i++) work(); return unused; }
        int main(void) {
            for (int i = 0; i < 7; i++) work();
            int is_filtered = filtered();
            pthread_t thread;
            pthread_create(&thread, NULL, run, NULL); pthread_join(thread, NULL);
            if (fork() == 0) { work(); _exit(0); }
            wait(NULL);
            return is_filtered ? 3 : 4;
        }"""
    )
    status, calls, uncounted = works(machine, source)
    assert status in (3, 4)
    if status == 3:
        assert uncounted == 2 and calls[0] >= 17
    else:
        assert uncounted == 0 and calls == [17, 1]
