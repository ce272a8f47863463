"""Programs of all kinds run as they would, whatever is observed in them."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.collect.observation.programs import ARGUMENT, IS_ARM, compiled, first, functions, instructions, observed
from whyperf.collect.observation.sites import Forced, ObservationLimits, ObservedSite, Watch
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.errors import WhyperfError

EVERY_HIT = ObservationLimits(traps=1 << 30)

MANY_FORMS = r"""
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static _Atomic long counted;
static const char *names[] = {"zero", "one", "two", "three", "four", "five"};
__attribute__((noinline)) static long chosen(long n) {
    switch (n % 9) {
    case 0: return n * 7;
    case 1: return n / 3;
    case 2: return -n;
    case 3: return n ^ 0x123456789abcdef;
    case 4: return n << 5;
    case 5: return n > 100 ? 1 : 2;
    case 6: return n & 0xff0;
    case 7: return n | 3;
    }
    return 42;
}
__attribute__((noinline)) static double curved(double x) { return x * 3.14159265 + sqrt(x) / 2.718281828; }
__attribute__((noinline)) static int compared(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static long deep(long n) { return n < 2 ? n : deep(n - 1) + deep(n - 2); }
__attribute__((noinline)) static void bump(void) { atomic_fetch_add(&counted, 3); }
__attribute__((noinline)) static size_t text(char *to, long n) {
    return (size_t)sprintf(to, "%s-%ld", names[n % 6], n);
}
static long (*const by_pointer[])(long) = {chosen, deep};
__attribute__((noinline)) static long through(long n) { return by_pointer[n & 1](n % 12); }
__attribute__((noinline)) static void moved(char *to, const char *from, long n) {
    for (long i = 0; i < n; i++) to[i] = from[n - 1 - i];
}
int main(void) {
    int numbers[40];
    char buffer[64], other[64];
    double sum = 0;
    long total = 0;
    for (long i = 0; i < 40; i++) {
        numbers[i] = (int)(i * 7919 % 101);
        total += chosen(i) + through(i);
        sum += curved((double)i);
        bump();
        size_t length = text(buffer, i);
        moved(other, buffer, (long)length);
        other[length] = 0;
        printf("%s\n", other);
    }
    qsort(numbers, 40, sizeof *numbers, compared);
    printf("%ld %.9f %ld %d %d\n", total, sum, counted, numbers[0], numbers[39]);
    return 0;
}
"""


@pytest.mark.parametrize("flags", [["-O2"], ["-O0"], ["-O3", "-fno-pie", "-no-pie"]], ids=" ".join)
def test_sites_at_every_instruction_change_nothing(tmp_path: Path, flags: list[str]) -> None:
    program = compiled(tmp_path, MANY_FORMS, *flags, "-lm")
    plain = observed([program])
    names = [
        name
        for name in functions(program)
        if name in ["chosen", "curved", "compared", "deep", "bump", "text", "through", "moved", "main"]
    ]
    rows = [row for name in names for row in instructions(program, name)]
    sites = [
        ObservedSite(program, row.address, after=not row.leaves, register=None if row.leaves else 0) for row in rows
    ]
    seen = observed([program], sites, limits=EVERY_HIT)
    assert plain.status == seen.status == 0 and seen.output == plain.output
    assert sum(seen.placed) > 0.97 * len(sites), Counter(seen.refused)
    assert len(sites) > 100 and sum(hits > 0 for hits in seen.hits) > 0.6 * len(sites)


THREADS = """
#include <pthread.h>
#include <stdio.h>
__attribute__((noinline)) long step(long x) { __asm__ volatile(""); return x + 1; }
static void *run(void *given) {
    long x = 0;
    for (int i = 0; i < 3000; i++) x = step(x);
    return (void *)x;
}
int main(void) {
    pthread_t threads[8];
    long total = 0;
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 8; i++) { void *made; pthread_join(threads[i], &made); total += (long)made; }
    printf("%ld\\n", total);
    return 0;
}
"""


def test_eight_threads_at_one_site(tmp_path: Path) -> None:
    program = compiled(tmp_path, THREADS)
    site = ObservedSite(program, first(program, "step"), after=True, register=0)
    plain, seen, bounded = (
        observed([program]),
        observed([program], [site], limits=EVERY_HIT),
        observed([program], [site]),
    )
    assert seen.output == bounded.output == plain.output
    assert seen.hits == (24000,) and seen.complete == (True,) and len(set(seen.records["thread"].tolist())) == 8
    assert 2000 <= bounded.hits[0] < 24000 and bounded.complete == (False,)
    for record in seen.records:
        assert record["after"] == record["registers"][ARGUMENT] + 1
    assert all((seen.records["hit"] == n).sum() == 1 for n in range(256))


FORKS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int made(int x) { __asm__ volatile(""); return x * 2; }
int main(int count, char **words) {
    if (count > 1 && !strcmp(words[1], "again")) return made(9) - 18;
    int status, sum = made(1);
    if (!fork()) _exit(made(2) + made(3));
    wait(&status);
    sum += WEXITSTATUS(status);
    pid_t child = vfork();
    if (!child) { execl(words[0], words[0], "again", NULL); _exit(9); }
    waitpid(child, &status, 0);
    printf("%d %d\\n", sum, status);
    fflush(stdout);
    execl(words[0], words[0], "again", NULL);
}
"""


def test_children_and_programs_that_they_execute_are_observed(tmp_path: Path) -> None:
    program = compiled(tmp_path, FORKS)
    seen = observed([program], [ObservedSite(program, first(program, "made"))])
    assert seen.status == 0 and seen.complete == (True,)
    arguments = (seen.records["registers"][:, ARGUMENT] & 0xFFFFFFFF).tolist()
    assert seen.hits == (5,) and arguments == [1, 2, 3, 9, 9]
    assert len(set(seen.records["thread"].tolist())) == 3


LIBRARY = """
long held;
__attribute__((noinline)) long twice(long x) { return held = x * 2; }
__attribute__((constructor)) static void begin(void) { twice(100); }
"""
LOADS = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(words[1], RTLD_NOW);
        long (*twice)(long) = (long (*)(long))dlsym(library, "twice");
        printf("%ld\\n", twice(i));
        dlclose(library);
    }
    return 0;
}
"""


def test_libraries_that_are_loaded_later_are_observed_from_their_first_instruction(tmp_path: Path) -> None:
    library = compiled(tmp_path, LIBRARY, "-shared", "-fPIC", name="library.so")
    program = compiled(tmp_path, LOADS)
    plain = observed([program, library])
    seen = observed([program, library], [ObservedSite(library, first(library, "twice"))])
    assert seen.output == plain.output
    assert seen.records["registers"][:, ARGUMENT].tolist() == [100, 0, 100, 1, 100, 2]


HOT = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) long step(long x) { __asm__ volatile(""); return x * 3 + 1; }
int main(int count, char **words) {
    long x = 0;
    for (long i = 0, n = atol(words[1]); i < n; i++) x = step(x);
    printf("%ld\\n", x);
    return 0;
}
"""


def test_a_hot_site_costs_little_and_is_seen_to_the_end(tmp_path: Path) -> None:
    program = compiled(tmp_path, HOT)
    count = "200000000"
    plain = observed([program, count])
    seen = observed([program, count], [ObservedSite(program, first(program, "step"), after=True, register=0)])
    assert seen.output == plain.output
    assert seen.totals.cpu_s < 3 * plain.totals.cpu_s + 0.5
    assert not seen.complete[0] and 2000 < seen.hits[0] < 1_000_000
    begun, ended = seen.records["order"][0], seen.records["order"][-1]
    assert (ended - begun) / 1e9 > 0.5 * seen.totals.wall_s  # it was armed again and again


def test_a_forced_site_by_a_jump_is_cheap(tmp_path: Path) -> None:
    program = compiled(tmp_path, HOT)
    count = "100000000"
    rows = instructions(program, "step")
    place = rows[0] if IS_ARM else next(row for row in rows if row.mnemonic == "lea")
    forced = Forced(0, 8, (5,), by_jump=True)
    site = ObservedSite(program, place.address, after=True, forced=forced)
    plain, seen = observed([program, count]), observed([program, count], [site])
    assert seen.output != plain.output and seen.placed == (True,)
    assert seen.totals.cpu_s < 4 * plain.totals.cpu_s + 0.5


SIGNALS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>
static volatile long fired, trapped;
__attribute__((noinline)) long step(long x) { __asm__ volatile(""); return x + 1; }
static void on_alarm(int number) { fired = step(fired); }
static void on_trap(int number) { trapped++; }
int main(void) {
    sigset_t all, before, read;
    struct sigaction action = {.sa_handler = on_alarm}, old;
    sigfillset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGALRM, NULL, &old);
    signal(SIGTRAP, on_trap);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
    long x = 0;
    while (fired < 30) x = step(x);
    every.it_value.tv_usec = every.it_interval.tv_usec = 0;
    setitimer(ITIMER_REAL, &every, NULL);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    sigprocmask(SIG_BLOCK, NULL, &read);
    long blocked = step(1);
    sigprocmask(SIG_SETMASK, &before, NULL);
    raise(SIGTRAP);
    printf("%d %d %d %ld %ld\\n", sigismember(&old.sa_mask, SIGTRAP), sigismember(&before, SIGTRAP),
           sigismember(&read, SIGTRAP), blocked, trapped);
    return 0;
}
"""


def test_handlers_masks_and_traps_of_the_program_stay_its_own(tmp_path: Path) -> None:
    program = compiled(tmp_path, SIGNALS)
    plain = observed([program])
    seen = observed(
        [program], [ObservedSite(program, first(program, "step"), after=True, register=0)], limits=EVERY_HIT
    )
    assert plain.status == seen.status == 0 and seen.output == plain.output
    for record in seen.records:
        assert record["after"] == record["registers"][ARGUMENT] + 1


def test_a_trap_of_the_program_ends_it_as_ever(tmp_path: Path) -> None:
    trap = "brk #7" if IS_ARM else "int3"
    function = f'__attribute__((noinline)) int made(int x) {{ __asm__ volatile("{trap}"); return x; }}'
    source = f"{function} int main(void) {{ return made(3); }}"
    program = compiled(tmp_path, source)
    plain = observed([program])
    seen = observed([program], [ObservedSite(program, first(program, "main"))])
    assert plain.status == seen.status == 128 + signal.SIGTRAP and seen.hits == (1,)


def test_a_program_that_was_killed_leaves_its_records(tmp_path: Path) -> None:
    program = compiled(tmp_path, HOT)
    seen = observed(
        [program, "9000000000000"],
        [ObservedSite(program, first(program, "step"))],
        lifecycle=Lifecycle(for_s=0.4, stop_signal=signal.SIGKILL),
    )
    assert seen.stopped_by == "for" and len(seen.records) > 500
    assert (seen.records["hit"][:256] == range(256)).all()


def test_the_time_limit_ends_a_run(tmp_path: Path) -> None:
    program = compiled(tmp_path, HOT)
    seen = observed(
        [program, "9000000000000"],
        [ObservedSite(program, first(program, "step"))],
        limits=ObservationLimits(seconds=0.2),
    )
    assert seen.stopped_by == "for"


def test_other_code_than_was_planned_for_is_left_alone(tmp_path: Path) -> None:
    """Of the same build-id."""
    planned = compiled(tmp_path, HOT, name="planned")
    changed = tmp_path / "changed"
    content = bytearray(planned.read_bytes())
    at = first(planned, "step")
    content[at : at + 4] = struct.pack("<I", 0xD503201F) if IS_ARM else b"\x0f\x1f\x40\x00"
    changed.write_bytes(content)
    changed.chmod(0o755)
    plain, seen = observed([changed, "10"]), observed([changed, "10"], [ObservedSite(planned, at)])
    assert seen.placed == (False,) and seen.hits == (0,) and seen.output == plain.output and seen.refused[0]


@pytest.mark.parametrize(
    ("compiler", "flag", "word"),
    [
        ("gcc", "-static", "statically"),
        ("gcc", "-fsanitize=address", "before every other"),
        ("clang", "-fsanitize=thread", "ThreadSanitizer"),
    ],
)
def test_programs_that_cannot_be_observed_are_refused(tmp_path: Path, compiler: str, flag: str, word: str) -> None:
    program = compiled(tmp_path, "int main(void) { return 0; }", flag, compiler=compiler)
    with pytest.raises(WhyperfError, match=word):
        observed([program], [ObservedSite(program, first(program, "main"))])


def test_sites_that_cannot_be_placed_say_why(tmp_path: Path) -> None:
    program = compiled(tmp_path, HOT)
    other = tmp_path / "text"
    other.write_text("no program")
    low = first(program, "step")
    leaving = next(row for row in instructions(program, "step") if row.leaves)
    seen = observed(
        [program, "1"],
        [
            ObservedSite(program, 1 << 20),
            ObservedSite(other, 0),
            ObservedSite(program, leaving.address, after=True),
            ObservedSite(program, low),
        ],
    )
    assert seen.placed == (False, False, False, True)
    assert all(seen.refused[:3]) and not seen.refused[3]


def test_sites_at_the_same_instruction_all_record(tmp_path: Path) -> None:
    program = compiled(tmp_path, HOT)
    low = first(program, "step")
    sites = [
        ObservedSite(program, low),
        ObservedSite(program, low, after=True, register=0),
        ObservedSite(program, low, is_entry=True),
    ]
    seen = observed([program, "7"], sites)
    assert seen.hits == (7, 7, 7) and [len(seen.of(number)) for number in range(3)] == [7, 7, 7]
    assert (seen.of(2)["caller"] != 0).all() and (seen.of(0)["caller"] == 0).all()


SANDBOXED = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) long step(long x) { __asm__ volatile(""); return x + 1; }
int main(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    long x = step(1);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    for (int i = 0; i < 100; i++) x = step(x);
    if (x == 102) (void)!write(1, "done\\n", 5);
    _exit(x != 102);
}
"""


def test_a_program_that_sandboxes_itself_is_left_alone_from_then_on(tmp_path: Path) -> None:
    program = compiled(tmp_path, SANDBOXED)
    seen = observed([program], [ObservedSite(program, first(program, "step"))])
    assert seen.status == 0 and seen.hits == (1,) and seen.complete == (False,)


SERVES = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int ended;
static void on_term(int number) { ended = 1; }
__attribute__((noinline)) long step(long x) { __asm__ volatile(""); return x + 1; }
int main(int count, char **words) {
    signal(SIGTERM, on_term);
    long x = step(1);
    close(open(words[1], O_CREAT | O_WRONLY, 0600));
    while (!ended) { x = step(x); usleep(1000); }
    return 0;
}
"""


def test_servers_are_observed_while_they_are_driven(tmp_path: Path) -> None:
    program, ready = compiled(tmp_path, SERVES), tmp_path / "ready"
    lifecycle = Lifecycle(ready=f"file:{ready}", drive="sleep 0.3")
    seen = observed([program, ready], [ObservedSite(program, first(program, "step"))], lifecycle=lifecycle)
    assert seen.status == 0 and seen.stopped_by == "driver" and seen.hits[0] > 20
    assert seen.totals.wall_s > 0.2 and seen.complete == (True,)


WRITES = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
volatile long shared;
__attribute__((noinline)) void first_writes(long n) { for (long i = 0; i < n; i++) shared = i; }
__attribute__((noinline)) void second_writes(long n) { for (long i = 0; i < n; i++) shared = -i; }
static void *run(void *given) { second_writes(200); return NULL; }
int main(int count, char **words) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    first_writes(300);
    pthread_join(thread, NULL);
    printf("%p\\n", (void *)&shared);
    if (count < 2) return 0;
    fclose(fopen(words[1], "w"));
    return pause();
}
"""


def test_writers_of_all_threads_are_seen(tmp_path: Path) -> None:
    program = compiled(tmp_path, WRITES)
    seen = observed([program], [ObservedSite(program, first(program, "main"))], watches=[Watch(_shared_in(program), 8)])
    bias = dict(seen.modules)[str(program)]
    named = functions(program)
    writers = Counter(_function_of(named, int(at) - bias) for at in seen.writes["address"])
    assert writers == {"first_writes": 300, "second_writes": 200} and seen.lost == 0
    assert len(set(seen.writes["thread"].tolist())) == 2


def test_writes_of_the_driver_are_not_the_programs(tmp_path: Path) -> None:
    """The driver runs the same program, at the same addresses."""
    program = compiled(tmp_path, WRITES)
    site, watch = ObservedSite(program, first(program, "main")), Watch(_shared_in(program), 8)
    written = tmp_path / "written"
    lifecycle = Lifecycle(ready=f"file:{written}", drive=f"setarch -R {program}")
    seen = observed([program, written], [site], watches=[watch], lifecycle=lifecycle)
    assert seen.failure is None and seen.stopped_by == "driver"
    assert len(seen.writes) == 500


def _shared_in(program: Path) -> int:
    bias = dict(observed([program], [ObservedSite(program, first(program, "main"))]).modules)[str(program)]
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return bias + int(listed.split(" B shared")[0].split()[-1], 16)


def _function_of(named: dict[str, tuple[int, int]], address: int) -> str:
    return next(name for name, (low, size) in named.items() if low <= address <= low + size)


def test_a_program_in_go_is_refused(tmp_path: Path) -> None:
    program = compiled(tmp_path, 'const char go[] = "\\xff Go buildinf:"; int main(void) { return go[1] == 0; }')
    with pytest.raises(WhyperfError, match="Go program"):
        observed([program], [ObservedSite(program, first(program, "main"))])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_may_observe(tmp_path: Path) -> None:
    """A child of this process gives up its rights; all it needs has been loaded."""
    program = compiled(tmp_path, HOT)
    site = ObservedSite(program, first(program, "step"), after=True, register=0)
    for folder in (program.parent, *program.parents):
        if folder.stat().st_uid == 0 and folder.parts[-1].startswith(("pytest", "test", "popen")):
            folder.chmod(0o755)
    observed([program, "1"], [site])
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            seen = observed([program, "60000000"], [site], watches=[Watch(1 << 20, 8)])
            said = f"{seen.status} {seen.placed[0]} {seen.hits[0] >= 2000} {len(seen.records) > 500}"
        except BaseException as error:
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert os.read(reading, 4096).decode() == "0 True True True"
    os.close(reading)


def test_the_output_of_a_program_is_what_its_digest_is_of(tmp_path: Path) -> None:
    program = compiled(tmp_path, HOT)
    outputs = {observed([program, count]).output for count in ("3", "3", "4")}
    assert len(outputs) == 2
    assert subprocess.run([program, "3"], capture_output=True, check=True).stdout
