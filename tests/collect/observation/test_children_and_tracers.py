"""Children that no library function made, processes that somebody traces, libraries that come and go."""

from __future__ import annotations

import itertools
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from tests.collect.observation.programs import compiled, first, observed
from whyperf.collect.observation.sites import ObservationLimits, ObservedSite

STEP = '__attribute__((noinline)) long step(long x) { __asm__ volatile(""); return x + 1; }\n'

BY_SYSTEM_CALL = (
    """
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
"""
    + STEP
    + """
static long steps(long n) { long x = 0; while (n--) x = step(x); return x; }
int main(void) {
    steps(1);
    int status;
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!child) _exit(steps(100000) == 100000);
    waitpid(child, &status, 0);
    printf("%d %ld\\n", WEXITSTATUS(status), steps(100000));
    return 0;
}
"""
)


def test_a_child_by_the_system_call_itself_has_traps_and_records_of_its_own(tmp_path: Path) -> None:
    program = compiled(tmp_path, BY_SYSTEM_CALL)
    plain, seen = observed([program]), observed([program], [ObservedSite(program, first(program, "step"))])
    assert seen.output == plain.output
    # Both leave the site alone after 2000 hits; neither mistakes the other's code for its own.
    assert 4000 <= seen.hits[0] < 20000 and seen.complete == (False,)
    assert len(set(seen.records["thread"].tolist())) == 2


MANY_CHILDREN = (
    "#include <sys/wait.h>\n#include <unistd.h>\n"
    + STEP
    + """
int main(void) {
    for (int i = 0; i < 300; i++) {
        if (!fork()) _exit((int)step(0) - 1);
        wait(0);
        usleep(1000);
    }
    return 0;
}
"""
)


def test_files_of_ended_processes_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled(tmp_path, MANY_CHILDREN)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    there: list[int] = []
    seen = observed(
        [program],
        [ObservedSite(program, first(program, "step"))],
        on_tick=lambda: there.append(len(list(tmp_path.glob("whyperf-observe-*/records/*")))),
    )
    assert seen.status == 0 and seen.hits == (300,) and len(seen.records) == 300 and seen.complete == (True,)
    # Half of them are never there at once; on a starved machine, at least some go while the program still runs.
    went = any(later < earlier for earlier, later in itertools.pairwise(there))
    assert len(there) > 2 and (max(there) < 150 or went)


def test_a_child_without_room_for_records_runs_without_traps(tmp_path: Path) -> None:
    source = """
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
"""
    source += f"{STEP} int main(void) {{ struct rlimit none = {{0, 0}}; setrlimit(RLIMIT_FSIZE, &none);"
    source += " long x = step(0); if (!fork()) _exit((int)step(x)); int status; wait(&status); return status >> 8; }"
    program = compiled(tmp_path, source)
    seen = observed([program], [ObservedSite(program, first(program, "step"))])
    assert seen.status == 2 and seen.hits == (1,) and seen.complete == (False,)
    assert seen.unseen == ("whyperf did not observe 1 child process(es): there was no room for their records.",)


TRACED = (
    "#include <stdio.h>\n#include <sys/ptrace.h>\n"
    + STEP
    + """
int main(void) {
    long x = step(0);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    for (int i = 0; i < 5; i++) x = step(x);
    printf("%ld\\n", x);
    return 0;
}
"""
)


def test_a_program_that_has_itself_traced_has_no_traps_from_then_on(tmp_path: Path) -> None:
    """Its tracer is whyperf, which does not know what to do with a trap."""
    program = compiled(tmp_path, TRACED)
    plain = observed([program])
    seen = observed([program], [ObservedSite(program, first(program, "step"))])
    assert plain.status == seen.status == 0 and seen.output == plain.output
    assert seen.hits == (1,) and seen.complete == (False,)
    assert seen.unseen == ("whyperf did not observe 1 process(es) while a debugger traced them.",)


@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_a_debugger_gets_no_traps_of_ours(tmp_path: Path) -> None:
    program = compiled(tmp_path, f"{STEP} int main(void) {{ return (int)step(41) - 42; }}")
    command = ["gdb", "-q", "-batch", "-nx", "-ex", "run", "--args", program]
    plain, seen = observed(command), observed(command, [ObservedSite(program, first(program, "step"))])
    assert seen.status == plain.status and seen.output_shape == plain.output_shape
    assert seen.hits == (0,) and seen.refused == ("a debugger traces the program",)


LIBRARY = """
long turns;
__attribute__((noinline)) static long step(long x) { __asm__ volatile(""); return x + 1; }
long many(long n) { long x = 0; for (long i = 0; i < n; i++) x = step(x); turns++; return x; }
"""
LOADS = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
    long sum = 0;
    for (int i = 0; i < 1000; i++) {
        void *library = dlopen(words[1], RTLD_NOW);
        sum += ((long (*)(long))dlsym(library, "many"))(1000);
        dlclose(library);
    }
    printf("%ld\\n", sum);
    return 0;
}
"""


def test_a_library_may_go_and_come_back_while_a_site_in_it_is_armed_again(tmp_path: Path) -> None:
    library = compiled(tmp_path, LIBRARY, "-shared", "-fPIC", name="library.so")
    program = compiled(tmp_path, LOADS)
    plain = observed([program, library])
    often = ObservationLimits(traps=100, again_s=0.0001)
    for _ in range(3):
        seen = observed([program, library], [ObservedSite(library, first(library, "step"))], limits=often)
        assert seen.status == 0 and seen.output == plain.output, signal.Signals(seen.signal or 0)


LOADS_MEANWHILE = (
    """
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
static _Atomic int ended;
"""
    + STEP
    + """
static void *run(void *given) { long x = 0; while (!ended) x = step(x); return given; }
int main(int count, char **words) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 2000; i++) dlclose(dlopen(words[1], RTLD_NOW));
    ended = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return 0;
}
"""
)


def test_libraries_may_be_loaded_while_a_site_elsewhere_is_armed_again(tmp_path: Path) -> None:
    library = compiled(tmp_path, LIBRARY, "-shared", "-fPIC", name="library.so")
    program = compiled(tmp_path, LOADS_MEANWHILE)
    often = ObservationLimits(traps=100, again_s=0.0001)
    seen = observed([program, library], [ObservedSite(program, first(program, "step"))], limits=often)
    assert seen.status == 0, signal.Signals(seen.signal or 0)
    assert seen.hits[0] < 200_000  # it was disarmed again each time


SANDBOXED_WHILE_ARMED = (
    """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
"""
    + STEP
    + """
int main(int count, char **words) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    long x = 0;
    for (long i = atol(words[1]); i; i--) x = step(x);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    for (long i = 0; i < 10000000; i++) x = step(x);
    _exit(x == atol(words[1]) + 10000000 ? 5 : 6);
}
"""
)


def test_no_trap_is_armed_again_once_a_program_has_sandboxed_itself(tmp_path: Path) -> None:
    """The return from the handler would end it."""
    program = compiled(tmp_path, SANDBOXED_WHILE_ARMED)
    often = ObservationLimits(traps=100, again_s=0.0001)
    site = ObservedSite(program, first(program, "step"))
    ends = [observed([program, f"{number}000000"], [site], limits=often) for number in range(10, 30)]
    assert [(one.status, one.signal) for one in ends] == [(5, None)] * len(ends)
    assert ends[0].unseen == ("whyperf did not observe 1 process(es) after they sandboxed themselves.",)
