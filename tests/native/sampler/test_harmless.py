"""Programs at the edge of what is legal end as they would without the sampler."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.sampler.conftest import Outcome
from tests.patience import PATIENCE_S

Compile = Callable[..., Path]
Run = Callable[..., Outcome]

HEADERS = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
static void burn(void) { for (volatile long i = 0; i < 100000000; i++) ; }
"""

PROGRAMS = {
    # A thread cancelled at birth runs up to its first cancellation point, and leaves no descriptor open.
    "cancelled at birth": (
        """
static void *run(void *ran) { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); ++*(int *)ran; return NULL; }
int main(void) {
    int ran = 0;
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, run, &ran);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    printf("%d %d", ran, dup(0));
}""",
        "100 3",
    ),
    # Cancelled at any instruction, also in our handler.
    "cancelled anywhere": (
        """
static void *run(void *unused) { pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL); for (;;) ; }
int main(void) {
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, run, NULL);
        usleep(3000);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    printf("%d", dup(0));
}""",
        "3",
    ),
    "errno": (
        """
int main(void) {
    int first = errno;
    errno = 77;
    if (!fork()) { printf("%d %d", first, errno); fflush(stdout); _exit(0); }
    wait(NULL);
}""",
        "0 77",
    ),
    "exec of a FIFO": (
        """
int main(void) {
    char folder[] = "/tmp/harmlessXXXXXX";
    if (!mkdtemp(folder) || chdir(folder) || mkfifo("fifo", 0777)) return 1;
    execl("./fifo", "fifo", NULL);
    int why = errno;
    unlink("fifo"), rmdir(folder);
    printf("%d", why == EACCES);
}""",
        "1",
    ),
    # The processor's counter out of bounds, then a filter; the first one is refused.
    "no counter": (
        """
int main(void) {
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog none = {0, all}, program = {1, all};
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int refused = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none, 0, 0);
    burn();
    int taken = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    burn();
    printf("%d %d", refused, taken);
}""",
        "-1 0",
    ),
    "large frames in a handler": (
        """
static char sum;
static void handler(int number) { char large[300000]; memset(large, number, sizeof large); sum += large[sum]; }
int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    printf("%d", sum == SIGUSR1);
}""",
        "1",
    ),
    "smallest alternate stack": (
        """
static char small[2048], medium[8192];
int main(void) {
    stack_t stack = {.ss_sp = small, .ss_size = sizeof small}, before;
    int first = sigaltstack(&stack, NULL);
    burn();
    stack = (stack_t){.ss_sp = medium, .ss_size = sizeof medium};
    int second = sigaltstack(&stack, &before);
    burn();
    printf("%d %d %d", first, second, before.ss_sp == small);
}""",
        "0 0 1",
    ),
    # Other threads change variables while a shell runs.
    "environment": (
        """
static void *run(void *unused) {
    usleep(100000);
    setenv("THERE", "new", 1);
    unsetenv("GONE");
    return NULL;
}
static void *add(void *unused) { usleep(100000); setenv("ADDED", "1", 1); return NULL; }
static void *shell(void *unused) { system("sleep 5"); return NULL; }
static void show(void) {
    printf("%s %d %d %d;", getenv("THERE"), getenv("GONE") != NULL, getenv("ADDED") != NULL,
           getenv("LD_PRELOAD") || getenv("WHYPERF_SESSION"));
}
int main(void) {
    pthread_t thread;
    setenv("THERE", "old", 1);
    setenv("GONE", "1", 1);
    pthread_create(&thread, NULL, run, NULL);
    system("sleep 0.3");
    pthread_join(thread, NULL);
    show();
    pthread_create(&thread, NULL, add, NULL);
    system("sleep 0.3");
    pthread_join(thread, NULL);
    show();
    pthread_create(&thread, NULL, shell, NULL);
    usleep(100000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    show();
}""",
        "new 0 0 0;new 0 1 0;new 0 1 0;",
    ),
    "large environment on a small stack": (
        """
static char *environment[3001];
static void *run(void *unused) {
    fflush(stdout);
    if (!fork()) { execle("/bin/echo", "echo", "-n", "hello", NULL, environment); _exit(1); }
    int status;
    wait(&status);
    if (status) printf("%x", status);
    return NULL;
}
int main(void) {
    for (int i = 0; i < 3000; i++) asprintf(&environment[i], "V%d=1", i);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    pthread_t thread;
    pthread_create(&thread, &attributes, run, NULL);
    pthread_join(thread, NULL);
}""",
        "hello",
    ),
    # A coroutine's stack below its thread's own, and nothing readable between them. The frame pointer leads there.
    "hole above a coroutine": (
        """
static ucontext_t thread_context, coroutine;
void astray(void);
#ifdef __x86_64__
__asm__(".text; .type astray, @function; astray: .cfi_startproc; push %rbp; .cfi_def_cfa_offset 16;"
        ".cfi_offset 6, -16; mov %rsp, %rbp; .cfi_def_cfa_register 6; add $0x80000, %rbp; mov $300000000, %ecx;"
        "1: dec %ecx; jnz 1b; sub $0x80000, %rbp; pop %rbp; .cfi_def_cfa 7, 8; ret; .cfi_endproc;"
        ".size astray, .-astray");
#else
__asm__(".text; .type astray, %function; astray: .cfi_startproc; stp x29, x30, [sp, -16]!; .cfi_def_cfa_offset 16;"
        ".cfi_offset 29, -16; .cfi_offset 30, -8; mov x29, sp; .cfi_def_cfa_register 29; add x29, x29, 0x80000;"
        "mov w9, 0x10000000; 1: subs w9, w9, 1; b.ne 1b; mov x29, sp; ldp x29, x30, [sp], 16; .cfi_def_cfa 31, 0;"
        "ret; .cfi_endproc; .size astray, .-astray");
#endif
static void start(void) { astray(); }
static void *run(void *unused) {
    size_t bytes = 256 << 10, hole = 2 << 20;
    char *stack = mmap(NULL, bytes + hole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack + bytes, hole, PROT_NONE);
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = bytes;
    coroutine.uc_link = &thread_context;
    makecontext(&coroutine, start, 0);
    swapcontext(&thread_context, &coroutine);
    return NULL;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    printf("back");
}""",
        "back",
    ),
    # Our signal's number in the program's own hands: to interrupt a call, to jump out of a handler, to wait for.
    "our signal interrupts": (
        """
static void handler(int number) { }
static void *run(void *result) {
    int ends[2];
    char byte;
    *(int *)result = pipe(ends) == 0 && read(ends[0], &byte, 1) < 0 && errno == EINTR;
    return NULL;
}
int main(void) {
    int interrupted = 0;
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGRTMAX - 6, &action, NULL);
    pthread_create(&thread, NULL, run, &interrupted);
    usleep(200000);
    pthread_kill(thread, SIGRTMAX - 6);
    pthread_join(thread, NULL);
    printf("%d", interrupted);
}""",
        "1",
    ),
    "our signal's handler is left by a jump": (
        """
static jmp_buf place;
static void handler(int number) { longjmp(place, 1); }
int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER};
    sigaction(SIGRTMAX - 6, &action, NULL);
    if (!setjmp(place)) raise(SIGRTMAX - 6);
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    printf("%d %d", sigismember(&mask, SIGUSR1), sigismember(&mask, SIGRTMAX - 6));
}""",
        "0 0",
    ),
    "our signal is waited for": (
        """
static void *run(void *ours) {
    int number = 0;
    usleep(100000);
    sigwait(ours, &number);
    *(int *)ours = number;
    return NULL;
}
int main(void) {
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGRTMAX - 6);
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, run, &ours);
    kill(getpid(), SIGRTMAX - 6);
    pthread_join(thread, NULL);
    printf("%d", *(int *)&ours == SIGRTMAX - 6);
}""",
        "1",
    ),
    # The kernel would send SIGIO for an event's signal that cannot be queued.
    "no signal may be queued any more": (
        """
static void *run(void *unused) { burn(); return unused; }
int main(void) {
    pthread_t thread;
    struct rlimit none = {0, 0};
    pthread_create(&thread, NULL, run, NULL);
    usleep(10000);
    setrlimit(RLIMIT_SIGPENDING, &none);
    burn();
    pthread_join(thread, NULL);
    printf("done");
}""",
        "done",
    ),
    "no signal can be queued": (
        """
int main(void) {
    struct rlimit few = {2000, 2000};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    setrlimit(RLIMIT_SIGPENDING, &few);
    while (sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == 0) ;
    burn();
    printf("done");
}""",
        "done",
    ),
    "its own SIGIO": (
        """
static void handler(int number) { (void)number; }
static void (*now(void))(int) { struct sigaction is; sigaction(SIGIO, NULL, &is); return is.sa_handler; }
static int how_a_child_ends(void) {
    int status;
    if (fork() == 0) { raise(SIGIO); _exit(0); }
    wait(&status);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}
static void say(int value) { printf("%d ", value); fflush(stdout); }
int main(void) {
    struct sigaction own = {.sa_handler = handler}, before;
    say(now() == SIG_DFL);
    say(how_a_child_ends());
    sigaction(SIGIO, &own, &before);
    say(before.sa_handler == SIG_DFL);
    say(now() == handler);
    say(how_a_child_ends());
    say(signal(SIGIO, SIG_DFL) == handler);
    say(how_a_child_ends());
    say(signal(SIGIO, SIG_IGN) == SIG_DFL);
    say(how_a_child_ends());
    sigaction(SIGIO, &before, NULL);
    say(now() == SIG_DFL);
    say(how_a_child_ends());
}""",
        "1 29 1 1 0 1 29 1 0 1 29 ",
    ),
    "no signal may be queued any more, by prlimit": (
        """
int main(void) {
    struct rlimit none = {0, 0};
    prlimit(getpid(), RLIMIT_SIGPENDING, &none, NULL);
    burn();
    printf("done");
}""",
        "done",
    ),
}


@pytest.mark.parametrize("perf_events", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_program_ends_as_it_would_alone(compiled: Compile, sampled: Run, program: str, perf_events: bool) -> None:
    source, expected = PROGRAMS[program]
    binary = compiled(HEADERS + source, "-Wno-unused-result")
    outcome = sampled(binary, perf_events=perf_events, timeout=PATIENCE_S)
    assert (outcome.status, outcome.output) == (0, expected)


def test_who_may_queue_no_signal_is_still_sampled_and_others_are_counted(compiled: Compile, sampled: Run) -> None:
    binary = compiled(HEADERS + PROGRAMS["no signal may be queued any more"][0])
    outcome = sampled(binary, timeout=PATIENCE_S)
    # It sleeps until then: all that is sampled of it comes after.
    assert any("main" in stack for stack in outcome.named_stacks(binary))
    assert outcome.counters["threads_limited"] == 1
    assert outcome.counters["threads_without_slot"] == 0


def test_what_cannot_queue_its_signals_is_sampled_all_the_same(compiled: Compile, sampled: Run) -> None:
    binary = compiled(HEADERS + PROGRAMS["no signal can be queued"][0])
    outcome = sampled(binary, timeout=PATIENCE_S)
    in_burn = [stack for stack in outcome.named_stacks(binary) if "main" in stack]
    assert outcome.status == 0
    assert len(in_burn) > 20
    assert outcome.counters["dropped"] == 0


LIMITS = {
    # Writing an unwind table would raise SIGXFSZ.
    "fsize": "ulimit -f 0",
    # The kernel would send SIGIO for an event's signal that cannot be queued.
    "sigpending": "ulimit -i 0",
}


@pytest.mark.parametrize("limit", LIMITS)
def test_program_under_a_limit_ends_as_it_would_alone(compiled: Compile, sampled: Run, limit: str) -> None:
    binary = compiled(HEADERS + 'int main(void) { burn(); burn(); printf("done"); }')
    shell = "/bin/bash"
    if not Path(shell).exists():
        pytest.skip("no shell that knows ulimit -i")
    outcome = sampled(shell, "-c", f"{LIMITS[limit]}; exec {binary}")
    assert (outcome.status, outcome.output) == (0, "done")
