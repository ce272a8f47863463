"""Which blocks a real program enters, against single steps; and that it does the same as without traps."""

from __future__ import annotations

import bisect
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.collect.blocks.jumps import jumps_of
from tests.collect.dependences.single_step import steps
from tests.collect.observation.device_files import needs_root
from tests.collect.observation.programs import IS_ARM, compiled, functions, instructions
from whyperf.collect.blocks import run
from whyperf.collect.blocks.run import EnteredBlocks, ModuleBlocks, check_branches, run_noting_blocks
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.loaded_files import LoadedFile
from whyperf.collect.target.module_layers import origin_of
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.describe import describe
from whyperf.errors import WhyperfError

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler"),
]

_CHOICES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static int score(const char *word, int limit) {
    int sum = 0;
    for (const char *at = word; *at; at++) {
        switch (*at) {
        case 'a': sum += 3; break;
        case 'b': sum ^= 5; break;
        case 'c': sum -= limit; break;
        case 'd': sum *= 7; break;
        case 'e': sum |= 64; break;
        default: sum++;
        }
        if (sum > limit)
            sum -= limit / 2;
    }
    return sum;
}
int main(int argc, char **argv) {
    long total = 0;
    for (int i = 1; i < argc; i++)
        total += strlen(argv[i]) > 3 ? score(argv[i], 40) : -score(argv[i], 4);
    printf("%ld\n", total);
    return total > 100 ? 3 : 0;
}
"""


def entered(binary: Path, *arguments: str) -> EnteredBlocks:
    environment = dict(os.environ)
    program = find_program([str(binary), *arguments], environment)
    return run_noting_blocks(program, lifecycle=Lifecycle(), environment=environment)


def of_program(seen: EnteredBlocks, binary: Path) -> ModuleBlocks:
    return next(one for one in seen.modules if one.path == binary)


def first_entered(seen: EnteredBlocks, binary: Path) -> dict[int, int]:
    module = of_program(seen, binary)
    return {
        at: time
        for at, time in zip(module.plan.patches["at"].tolist(), module.noted["entered"].tolist(), strict=True)
        if time
    }


@pytest.fixture(scope="module")
def choices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("choices"), _CHOICES, "-no-pie", name="choices")


def test_a_shell_that_starts_the_program_has_no_branches_to_compare(choices: Path) -> None:
    environment = dict(os.environ)
    program = find_program(["/bin/sh", "-c", f"cd /; exec {choices} abc"], environment)
    with pytest.raises(WhyperfError, match="has source lines, so no branch could be compared; programs that it starts"):
        check_branches(program, environment)
    check_branches(find_program([str(choices), "abc"], environment), environment)


def stepped(binary: Path, words: list[str]) -> list[int]:
    """Addresses of the instructions that it runs from main() on."""
    entry, _ = functions(binary)["main"]
    return [step.pc for step in steps(str(binary), entry, 100_000, words)]


@pytest.mark.parametrize("words", [[], ["abcabc"], ["ee", "dad", "zzzzzz", "accc"]])
def test_the_same_blocks_as_by_single_steps(choices: Path, words: list[str]) -> None:
    # GIVEN a program at fixed addresses, stepped through without anything of ours in it
    module = of_program(entered(choices, *words), choices)
    begins = module.plan.patches["at"].tolist()
    expected = set(stepped(choices, words)).intersection(begins)
    assert {at for at, time in zip(begins, module.noted["entered"].tolist(), strict=True) if time} == expected


@pytest.mark.parametrize("words", [[], ["abcabc"], ["ee", "dad", "zzzzzz", "accc"]])
def test_the_same_ways_of_jumps_as_by_single_steps(choices: Path, words: list[str]) -> None:
    # GIVEN jumps that the blocks tell of, and others whose own traps do
    module = of_program(entered(choices, *words), choices)
    jumps = jumps_of(module.plan)
    assert {bool(one.asked) for one in jumps} == {True, False}
    followed_by = set(pairwise(stepped(choices, words)))
    assert gone(module) == {
        (one.address, way)
        for one in jumps
        for way, leads in ((True, one.taken), (False, one.passed))
        if (one.address, leads) in followed_by
    }


def gone(module: ModuleBlocks) -> set[tuple[int, bool]]:
    """Jumps, and whether they were taken."""
    ways = module.ways
    both = ((True, ways.taken), (False, ways.passed))
    return {(at, way) for way, first in both for at, time in zip(ways.address.tolist(), first, strict=True) if time}


def test_blocks_are_in_the_order_in_which_they_were_entered(choices: Path) -> None:
    words = ["abcd", "ee"]
    seen = first_entered(entered(choices, *words), choices)
    order = list(dict.fromkeys(at for at in stepped(choices, words) if at in seen))
    assert sorted(seen, key=seen.__getitem__) == order


def test_status_is_the_programs(choices: Path) -> None:
    assert entered(choices, "zzzzzzzzzzzz" * 9).status == 0
    assert entered(choices, *["zzzzzzzzzzzz"] * 40).status == 3


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    endless = compiled(tmp_path, "int main(void) { for (volatile long i = 0;; i++) ; }", name="endless")
    environment = dict(os.environ)
    program = find_program([str(endless)], environment)
    with pytest.raises(WhyperfError, match="ran longer than the time"):
        run_noting_blocks(program, lifecycle=Lifecycle(), environment=environment, seconds=0.5)


_CONDITIONS = r"""
#include <stdio.h>
#include <stdlib.h>
#if defined(__x86_64__)
#define TRY(name, jump)                                                                                              \
    __attribute__((noinline)) static int name(long a, long b) {                                                      \
        int passed = 0;                                                                                              \
        __asm__ volatile("cmp %2, %1\n\t" jump " 1f\n\tincl %0\n1:" : "+r"(passed) : "r"(a), "r"(b) : "cc");        \
        return passed;                                                                                               \
    }
#define ALL                                                                                                          \
    X(o, "jo") X(no, "jno") X(b, "jb") X(ae, "jae") X(e, "je") X(ne, "jne") X(be, "jbe") X(a, "ja") X(s, "js")       \
    X(ns, "jns") X(p, "jp") X(np, "jnp") X(l, "jl") X(ge, "jge") X(le, "jle") X(g, "jg")                             \
    X(far_g, "jg 1f\n\tjmp 2f\n\t.skip 200, 0x90\n2: jg")
#else
#define TRY(name, jump)                                                                                              \
    __attribute__((noinline)) static int name(long a, long b) {                                                      \
        int passed = 0;                                                                                              \
        __asm__ volatile("cmp %1, %2\n\t" jump " 1f\n\tadd %w0, %w0, 1\n1:"                                         \
                         : "+r"(passed) : "r"(a), "r"(b) : "cc");                                                    \
        return passed;                                                                                               \
    }
#define ALL                                                                                                          \
    X(eq, "b.eq") X(ne, "b.ne") X(cs, "b.cs") X(cc, "b.cc") X(mi, "b.mi") X(pl, "b.pl") X(vs, "b.vs") X(vc, "b.vc")  \
    X(hi, "b.hi") X(ls, "b.ls") X(ge, "b.ge") X(lt, "b.lt") X(gt, "b.gt") X(le, "b.le")                              \
    X(z, "cbz %1,") X(nz, "cbnz %1,") X(wz, "cbz %w1,") X(wnz, "cbnz %w1,")                                          \
    X(t0, "tbz %w1, 0,") X(tn0, "tbnz %w1, 0,") X(t63, "tbz %1, 63,") X(tn63, "tbnz %1, 63,")
#endif
#define X(name, jump) TRY(if_##name, jump)
ALL
#undef X
int main(int argc, char **argv) {
    long a = strtol(argv[argc - 2], 0, 0), b = strtol(argv[argc - 1], 0, 0);
#define X(name, jump) printf(#name " %d\n", if_##name(a, b));
    ALL
    return 0;
}
"""
_LEAST, _MOST = str(-(1 << 63)), str((1 << 63) - 1)


@pytest.fixture(scope="module")
def conditions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("conditions"), _CONDITIONS, name="conditions")


@pytest.mark.parametrize(
    ("one", "other"),
    [("0", "0"), ("1", "2"), ("2", "1"), ("-1", "1"), ("1", "-1"), (_LEAST, "1"), (_MOST, "-1"), ("4294967296", "3")],
)
def test_jumps_go_the_way_that_their_conditions_say(conditions: Path, one: str, other: str) -> None:
    # GIVEN traps at jumps on all conditions, so that the processor does not decide
    environment = dict(os.environ)
    program = find_program([str(conditions), one, other], environment)
    plain = subprocess.run([str(conditions), one, other], capture_output=True, text=True, check=True).stdout
    seen = run_noting_blocks(program, lifecycle=Lifecycle(), environment=environment, capture_output=True)
    module = of_program(seen, conditions)
    passed = {name for name, count in map(str.split, plain.splitlines()) if count == "1"}
    asked = {one.address for one in jumps_of(module.plan) if one.asked}
    listed = subprocess.run(["nm", str(conditions)], capture_output=True, text=True, check=True).stdout
    begins = sorted((int(row[0], 16), row[2]) for row in map(str.split, listed.splitlines()) if len(row) == 3)
    names = {at: begins[bisect.bisect_right(begins, (at, "~")) - 1][1] for at in asked}
    found = {names[at].removeprefix("if_") for at, taken in gone(module) if at in asked and not taken}
    # THEN those that were seen to be passed are those that are
    assert found & {name.split()[0] for name in plain.splitlines()} == passed


_CHILDREN = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void in_child(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void in_thread(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void without_files(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void with_mask(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void never(void) { __asm__ volatile("" ::: "memory"); }
static void *thread(void *unused) { in_thread(); return unused; }
int main(int argc, char **argv) {
    (void)argv;
    if (argc > 5)
        never();
    pid_t child = fork();
    if (!child) {
        in_child();
        _exit(0);
    }
    waitpid(child, 0, 0);
    pthread_t other;
    pthread_create(&other, 0, thread, 0);
    pthread_join(other, 0);
    struct rlimit none = {3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    without_files();
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, 0);
    with_mask();
    if (argc > 1)
        kill(getpid(), SIGKILL);
    return 0;
}
"""


@pytest.fixture(scope="module")
def children(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("children"), _CHILDREN, name="children")


def entered_functions(seen: EnteredBlocks, binary: Path) -> set[str]:
    listed = subprocess.run(["nm", str(binary)], capture_output=True, text=True, check=True).stdout
    names = {int(row[0], 16): row[2] for row in map(str.split, listed.splitlines()) if len(row) == 3}
    return {names[at] for at in first_entered(seen, binary) if at in names}


def test_children_threads_and_programs_that_take_precautions(children: Path) -> None:
    seen = entered(children)
    assert seen.status == 0 and seen.is_whole
    found = entered_functions(seen, children)
    assert {"main", "in_child", "in_thread", "without_files", "with_mask"} <= found and "never" not in found


def test_what_a_killed_program_entered_is_known(children: Path) -> None:
    seen = entered(children, "killed")
    assert seen.status == 128 + signal.SIGKILL
    assert "with_mask" in entered_functions(seen, children)


def test_where_there_is_no_room_for_marks_that_is_said(children: Path) -> None:
    assert entered(children).is_whole
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, hard))
    try:
        seen = entered(children)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert seen.status == 0 and seen.modules == () and not seen.is_whole


_WITHOUT_PROC = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    if (argc > 1)
        return 0;
    pid_t child = fork();
    if (!child) {
        if (unshare(CLONE_NEWNS) || mount("none", "/", 0, MS_REC | MS_PRIVATE, 0) || umount2("/proc", MNT_DETACH))
            _exit(9);
        execl(argv[0], argv[0], "again", (char *)0);
        _exit(8);
    }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
"""


@needs_root
def test_where_traps_cannot_be_put_into_a_process_that_is_said(tmp_path: Path) -> None:
    # GIVEN a child that cannot write to its own code
    seen = entered(compiled(tmp_path, _WITHOUT_PROC, name="child"))
    assert seen.status == 0 and len(seen.modules) == 1 and not seen.is_whole


_REMAINS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int left = argc > 1 ? atoi(argv[1]) : 0;
    if (!left) {
        if (fork())
            return 0;
        setsid();
        int null = open("/dev/null", O_RDWR);
        for (int number = 0; number < 3; number++)
            dup2(null, number);
        left = 1000;
    }
    char text[16];
    int at = 15;
    for (text[at] = 0, left--; left; left /= 10)
        text[--at] = (char)('0' + left % 10);
    if (text[at])
        execl(argv[0], argv[0], text + at, (char *)0);
    return 0;
}
"""


def test_what_remains_of_a_program_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a child that goes on after its parent, and leaves new marks all the time
    remains = compiled(tmp_path, _REMAINS, name="remains")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    for _ in range(5):
        assert entered(remains).status == 0
        assert not list(scratch.iterdir())


_SANDBOX = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
__attribute__((noinline)) void before(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void after(void) { __asm__ volatile("" ::: "memory"); }
int main(void) {
    before();
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 1;
    after();
    return 0;
}
"""


def test_from_a_sandbox_on_nothing_is_noted_and_that_is_said(tmp_path: Path) -> None:
    sandbox = compiled(tmp_path, _SANDBOX, name="sandbox")
    seen = entered(sandbox)
    found = entered_functions(seen, sandbox)
    assert seen.status == 0 and not seen.is_whole
    assert "before" in found and "after" not in found


_MANY = 2000
_RUSH = (
    r"""
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { THREADS = 4 };
static volatile int go;
"""
    + "".join(f'static void f{n}(void) {{ __asm__ volatile("" ::: "memory"); }}\n' for n in range(_MANY))
    + f"static void (*const all[])(void) = {{{','.join(f'f{n}' for n in range(_MANY))}}};"
    + r"""
static void *run(void *unused) {
    while (!go) {}
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i]();
    return unused;
}
// Opening a file ends every thread from then on.
static int open_no_more(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {4, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
}
int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, run, 0);
    if (argc > 2)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
    go = 1;
    if (strcmp(argv[1], "free")) {
        usleep((unsigned)atoi(argv[1]));
        if (open_no_more())
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"""
)


@pytest.fixture(scope="module")
def rush(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Threads that enter many blocks side by side."""
    return compiled(tmp_path_factory.mktemp("rush"), _RUSH, "-pthread", name="rush")


def test_threads_of_a_program_that_can_open_no_files_survive_their_traps(rush: Path) -> None:
    seen = entered(rush, "free", "no files")
    assert seen.status == 0 and seen.is_whole
    assert len(entered_functions(seen, rush)) > _MANY


@pytest.mark.parametrize("files", [(), ("no files",)])
def test_no_thread_meets_the_sandbox_in_its_trap(rush: Path, files: tuple[str, ...]) -> None:
    # GIVEN a filter for all threads, at any moment between their blocks
    for microseconds in range(0, 5000, 500):
        seen = entered(rush, str(microseconds), *files)
        assert seen.status == 0 and not seen.is_whole, microseconds


_OWN_LIBRARY = r"""
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
__attribute__((optimize("no-tree-loop-distribute-patterns"))) void *memcpy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = ((const char *)from)[i];
    return to;
}
static long calls;
int clock_gettime(clockid_t clock, struct timespec *time) {
    calls++;
    time->tv_sec = clock == 77 ? 5 : 1;
    time->tv_nsec = 0;
    return 0;
}
int main(void) {
    struct timespec time;
    static const char words[64] = "done";
    char text[64];
    volatile size_t size = sizeof text;
    clock_gettime(CLOCK_MONOTONIC, &time);
    memcpy(text, words, size);
    puts(text);
    return (int)time.tv_sec - 1;
}
"""


def test_a_program_with_its_own_library_functions_runs_on(tmp_path: Path) -> None:
    # GIVEN functions that whoever takes a trap out calls as well
    own = compiled(tmp_path, _OWN_LIBRARY, "-fno-builtin", "-rdynamic", name="own")
    seen = entered(own)
    assert seen.status == 0
    found = entered_functions(seen, own)
    assert "main" in found and "memcpy" not in found


_OWN_BREAKPOINTS = r"""
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
static volatile int met;
static void handle(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    met++;
#if defined(__aarch64__)
    ((ucontext_t *)context)->uc_mcontext.pc += 4;
#else
    (void)context;
#endif
}
__attribute__((noipa)) static int stops(int often) {
    if (often % 2)
#if defined(__aarch64__)
        __asm__ volatile("brk 7");
#else
        __asm__ volatile("int3");
#endif
    return often;
}
int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, 0);
    for (int i = 0; i < 10; i++)
        stops(i);
    return met;
}
"""


def test_a_program_meets_its_own_breakpoints(tmp_path: Path) -> None:
    # GIVEN blocks that begin with a breakpoint
    own = compiled(tmp_path, _OWN_BREAKPOINTS, name="breakpoints")
    program = find_program([str(own)], dict(os.environ))
    seen = run_noting_blocks(program, lifecycle=Lifecycle(), environment=dict(os.environ), seconds=20.0)
    assert seen.status == 5
    assert {"main", "stops"} <= entered_functions(seen, own)


_OWN_STEPS = r"""
#include <signal.h>
#include <stdio.h>
static volatile int steps;
static void count(int number) {
    (void)number;
    steps++;
}
__attribute__((noinline)) static int folded(int depth) {
    return depth ? depth ^ folded(depth - 1) * folded(depth - 1) : 3;
}
int main(void) {
    signal(SIGTRAP, count);
    __asm__ volatile("sub $128, %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n add $128, %%rsp" ::: "cc", "memory");
    int sum = folded(3);
    __asm__ volatile("sub $128, %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n add $128, %%rsp" ::: "cc", "memory");
    printf("%d\n", sum);
    return steps > 20 ? 7 : 1;
}
"""


@pytest.mark.skipif(IS_ARM, reason="programs step through themselves on x86-64 only")
def test_a_program_that_a_trap_ends_is_not_taken_for_one_that_ended(tmp_path: Path) -> None:
    # GIVEN a signal that is blocked without the C library's knowledge
    source = """
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) int blocked(int count) { return count > 7 ? 4 : 0; }
int main(int argc, char **argv) {
    sigset_t trap;
    (void)argv;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &trap, 0, 8);
    return blocked(argc);
}
"""
    with pytest.raises(WhyperfError, match="ended by SIGTRAP"):
        entered(compiled(tmp_path, source, name="blocked"))


def test_a_program_that_steps_through_itself(tmp_path: Path) -> None:
    # GIVEN functions whose first instruction is as long as a trap: a step ends right behind it
    own = compiled(tmp_path, _OWN_STEPS, "-fcf-protection=none", "-fno-shrink-wrap", name="steps")
    assert instructions(own, "folded")[0].size == 1
    seen = entered(own)
    assert seen.status == 7
    assert {"main", "folded"} <= entered_functions(seen, own)


_WAITS = r"""
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>
static volatile int rung;
__attribute__((noipa)) static int often(int number) { return number % 3 == 0 ? 5 : number % 3 == 1 ? 9 : 13; }
static void ring(int number) {
    (void)number;
    rung += often(rung);
}
int main(int argc, char **argv) {
    sigset_t alarm, others;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, 0);
    sigfillset(&others);
    sigdelset(&others, SIGALRM);
    signal(SIGALRM, ring);
    struct pollfd files[2];
    memset(files, -1, sizeof files);
    struct timespec patience = {10, 0};
    ualarm(1000, 0);
    if (!strcmp(argv[1], "ppoll"))
        ppoll(files, (nfds_t)argc - 1, &patience, &others);
    else if (!strcmp(argv[1], "pselect"))
        pselect(0, 0, 0, 0, &patience, &others);
    else if (!strcmp(argv[1], "sigsuspend"))
        sigsuspend(&others);
    else if (!strcmp(argv[1], "epoll_pwait"))
        epoll_pwait(epoll_create1(0), &(struct epoll_event){0}, 1, 10000, &others);
#if __GLIBC_PREREQ(2, 35)
    else if (!strcmp(argv[1], "epoll_pwait2"))
        epoll_pwait2(epoll_create1(0), &(struct epoll_event){0}, 1, &patience, &others);
#endif
    return rung;
}
"""


@pytest.fixture(scope="module")
def waits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("waits"), _WAITS, "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", name="waits")


@pytest.mark.parametrize("by", ["ppoll", "pselect", "sigsuspend", "epoll_pwait", "epoll_pwait2"])
def test_handlers_run_while_the_program_waits_with_all_other_signals_blocked(waits: Path, by: str) -> None:
    plain = subprocess.run([waits, by], check=False).returncode
    if by == "epoll_pwait2" and plain == 0:
        pytest.skip("this C library or kernel does not have it")
    assert plain == 5
    seen = entered(waits, by)
    assert seen.status == 5
    assert "often" in entered_functions(seen, waits)


_DATA = r"""
#include <stdio.h>
// Behind a jump lie bytes that read like instructions, among them a conditional jump.
__attribute__((noipa)) static long sum(int times) {
    const unsigned char *data;
    long total = 0;
#if defined(__aarch64__)
    __asm__("b 2f\n1: nop\n nop\n cbz x0, 2f\n nop\n nop\n2: adr %0, 1b" : "=r"(data));
#else
    __asm__("jmp 2f\n1: .skip 6, 0x90\n .byte 0x74, 2\n .skip 12, 0x90\n2: lea 1b(%%rip), %0" : "=r"(data));
#endif
    for (int i = 0; i < 20 * times; i++)
        total += data[i % 20];
    return total;
}
int main(int argc, char **argv) {
    (void)argv;
    return sum(argc) == sum(argc + 1) / 2 ? (int)(sum(argc) % 251) : 255;
}
"""


def test_data_among_code_is_left_alone(tmp_path: Path) -> None:
    data = compiled(tmp_path, _DATA, name="data")
    plain = subprocess.run([data], check=False).returncode
    seen = entered(data)
    assert seen.status == plain
    assert {"main", "sum"} <= entered_functions(seen, data)


_FAR = r"""
#include <stdio.h>
__attribute__((noipa, section(".far"))) static int far(int count) { return count > 2 ? 7 : 3; }
__attribute__((noipa)) static int near(int count) { return count > 2 ? 5 : 2; }
int main(int argc, char **argv) {
    (void)argv;
    return far(argc) + near(argc);
}
"""


@pytest.mark.skipif(IS_ARM, reason="the linker's default addresses are those of x86-64")
def test_code_in_several_segments(tmp_path: Path) -> None:
    # GIVEN nothing between the code of two segments
    apart = compiled(tmp_path, _FAR, "-no-pie", "-Wl,--section-start=.far=0x4000000", name="apart")
    seen = entered(apart)
    assert seen.status == 5 and seen.is_whole
    assert {"main", "far", "near"} <= entered_functions(seen, apart)


def test_the_c_library_and_what_we_preload_get_no_traps(choices: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a C library of one's own beside a program that lies among the system's libraries
    names = [
        "/usr/lib/tool/bin/tool",
        "/opt/glibc/lib/libc.so.6",
        "/opt/glibc/lib/libpthread.so.0",
        "/opt/whyperf/libwhyperf_blocks.so",
        "/usr/lib/x86_64-linux-gnu/libz.so.1",
        "/opt/tool/libtool.so",
    ]
    binary = describe(str(choices))
    files = [LoadedFile(replace(binary, path=name), origin_of(name, {names[0]}, "")) for name in names]
    monkeypatch.setattr(run, "files_of", lambda *_: files)
    monkeypatch.setattr(run, "ensure_plan", lambda *_: True)
    program = find_program([str(choices)], dict(os.environ))
    assert [str(path) for path, _ in run._planned(program, {})] == [names[0], names[-1]]


def test_functions_without_lines_are_left_alone(tmp_path: Path) -> None:
    choices = compiled(tmp_path, _CHOICES, "-g0", name="plain")
    assert not any(len(one.noted) for one in entered(choices, "abc").modules)


def test_every_block_begins_at_an_instruction_and_is_found_in_order(choices: Path) -> None:
    # GIVEN the instructions that binutils see
    listed = subprocess.run(["objdump", "-d", str(choices)], capture_output=True, text=True, check=True).stdout
    addresses = sorted(
        int(line.split(":")[0], 16) for line in listed.splitlines() if line.startswith("  ") and ":\t" in line
    )
    begins = of_program(entered(choices), choices).plan.patches["at"].tolist()
    assert begins == sorted(set(begins)) and len(begins) > 20
    assert all(addresses[bisect.bisect_left(addresses, at)] == at for at in begins)
