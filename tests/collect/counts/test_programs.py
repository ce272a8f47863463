"""Programs that do what is hard to count, or would notice: counts are exact, output and end are the same."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.collect.counts.machine import MACHINE, USES_REGISTER, Machine, Ran, reasons
from whyperf.collect.counts.counter_files import UncountedReason
from whyperf.recording.schemas.call_tables import CallKind

CALL, POINTER, ENTRY, TAIL = CallKind.CALL, CallKind.POINTER, CallKind.ENTRY, CallKind.TAIL
APART = "#define APART __attribute__((noipa, aligned(512)))\n"


def run_both(machine: Machine, binary: Path, *arguments: str | Path) -> Ran:
    """Counted, after a look that it does what it does without."""
    plain, counted = machine.plain(binary, *arguments), machine.counted(binary, *arguments)
    assert (counted.status, counted.output, counted.errors) == (plain.status, plain.output, plain.errors)
    return counted


def test_jumps_out_of_nested_calls(machine: Machine) -> None:
    binary = machine.compiled(
        APART
        + """#include <setjmp.h>
        #include <stdio.h>
        static jmp_buf place;
        APART void inner(int n) { if (n == 0) longjmp(place, 1); inner(n - 1); puts("never"); }
        APART void outer(int n) { inner(n); puts("never"); }
        int main(void) {
            volatile int jumps = 0;
            for (volatile int i = 0; i < 50; i++)
                if (setjmp(place)) jumps++; else outer(4);
            printf("%d\\n", jumps);
            return 0;
        }"""
    )
    ran = run_both(machine, binary)
    found = machine.edges(binary, ran.processes)
    assert ran.output == "50\n"
    assert found["main", "outer", CALL] == found["outer", "inner", CALL] == found["inner", "longjmp", CALL] == 50


def test_exceptions_pass_through_counted_frames(machine: Machine) -> None:
    source = (
        APART
        + """#include <cstdio>
        #include <stdexcept>
        #include <string>
        static int destroyed;
        struct Guard { ~Guard() { destroyed++; } };
        APART void thrower(int n) { if (n % 3 == 0) throw std::runtime_error("n" + std::to_string(n)); }
        APART void middle(int n) { Guard guard; thrower(n); }
        struct Shape { virtual int area(int n) { return n; } virtual ~Shape() {} };
        struct Square : Shape { int area(int n) override { return n * n; } };
        APART int measured(Shape *shape, int n) { return shape->area(n) + 1; }
        int main() {
            int caught = 0; long sum = 0;
            Shape shape; Square square;
            for (int i = 0; i < 300; i++) {
                try { middle(i); } catch (const std::runtime_error &error) { caught++; sum += error.what()[1]; }
                sum += measured(i % 2 ? &shape : &square, i);
            }
            printf("%d %d %ld\\n", caught, destroyed, sum);
        }"""
    )
    protected = "-fcf-protection=full" if MACHINE == "x86_64" else "-mbranch-protection=standard"
    for name, flags in {"usual": (), "fixed": ("-no-pie", protected), "slow": ("-O0",)}.items():
        binary = machine.compiled(source, *flags, name=name)
        ran = run_both(machine, binary)
        found = machine.edges(binary, ran.processes)
        assert found["main", "middle", CALL] == found["middle", "thrower", CALL] == 300
        assert found["main", "measured", CALL] == 300


def test_handlers_of_signals_are_counted(machine: Machine) -> None:
    binary = machine.compiled(
        APART
        + """#include <signal.h>
        #include <stdio.h>
        static volatile long handled, worked;
        APART void work(void) { worked++; }
        APART void handler(int number) { (void)number; handled++; work(); }
        int main(void) {
            signal(SIGUSR1, handler);
            for (int i = 0; i < 1000; i++) { work(); if (i % 10 == 0) raise(SIGUSR1); }
            printf("%ld %ld\\n", handled, worked);
            return 0;
        }"""
    )
    found = machine.edges(binary, run_both(machine, binary).processes)
    assert found["main", "work", CALL] == 1000
    assert found["handler", "work", CALL] + found["handler", "work", TAIL] == 100
    assert found["handler", "", ENTRY] in (0, 100)


def test_a_childs_counts_are_its_own(machine: Machine) -> None:
    binary = machine.compiled(
        APART
        + """#include <stdio.h>
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static volatile long x;
        APART void work(void) { x++; }
        int main(void) {
            for (int i = 0; i < 10; i++) work();
            for (int child = 1; child <= 3; child++)
                if (fork() == 0) { for (int i = 0; i < 100 * child; i++) work(); _exit(child); }
            int status, sum = 0;
            while (wait(&status) > 0) sum += WEXITSTATUS(status);
            for (int i = 0; i < 5; i++) work();
            printf("%d %ld\\n", sum, x);
            return 0;
        }"""
    )
    ran = run_both(machine, binary)
    assert [one.forked for one in ran.processes] == [False, True, True, True]
    calls = [machine.edges(binary, [one])["main", "work", CALL] for one in ran.processes]
    assert sorted(calls) == [15, 100, 200, 300] and calls[0] == 15


THREADS = (
    APART
    + """#include <pthread.h>
    #include <stdio.h>
    #include <threads.h>
    __thread long mine;
    APART void work(void) { mine++; }
    static pthread_key_t key;
    APART void ended(void *unused) { (void)unused; work(); }
    static void *run(void *argument) {
        pthread_setspecific(key, argument);
        for (long i = 0; i < (long)argument; i++) work();
        return NULL;
    }
    static int run_c11(void *argument) { run(argument); return 0; }
    int main(int count, char **arguments) {
        (void)arguments;
        pthread_key_create(&key, ended);
        for (int round = 0; round < 3; round++) {
            pthread_t threads[6]; thrd_t other;
            for (long i = 0; i < 6; i++) pthread_create(&threads[i], NULL, run, (void *)(50000 + i));
            thrd_create(&other, run_c11, (void *)777);
            for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
            thrd_join(other, NULL);
        }
        if (count > 100) { USES_REGISTER }
        puts("done");
        return 0;
    }"""
)


@pytest.mark.parametrize("locked", [False, True])
def test_threads_lose_no_counts(machine: Machine, locked: bool) -> None:
    source = THREADS.replace("USES_REGISTER", USES_REGISTER if locked else "")
    binary = machine.compiled(source)
    ran = run_both(machine, binary)
    (process,) = ran.processes
    found = machine.edges(binary, ran.processes)
    works = sum(count for (_, callee, _), count in found.items() if callee == "work")
    assert works == 3 * (6 * 50000 + 15 + 777 + 7)  # destructors, too
    assert process.locked is locked and process.uncounted_threads == 0


def test_libraries_that_come_go_and_come_again(machine: Machine) -> None:
    plug_in = machine.compiled(
        APART
        + """static volatile long x;
        APART void count_one(void) { x++; }
        long steps(int n) { for (int i = 0; i < n; i++) count_one(); return x; }
        __attribute__((constructor)) static void begin(void) { count_one(); }""",
        "-shared",
        "-fPIC",
        name="plug.so",
    )
    host = machine.compiled(
        """#include <dlfcn.h>
        #include <stdio.h>
        int main(int count, char **arguments) {
            (void)count;
            for (int i = 0; i < 4; i++) {
                void *handle = dlopen(arguments[1], RTLD_NOW);
                if (!handle) return 9;
                long (*steps)(int) = (long (*)(int))dlsym(handle, "steps");
                printf("%ld\\n", steps(1000));
                dlclose(handle);
            }
            return 0;
        }"""
    )
    ran = run_both(machine, host, plug_in)
    assert ran.output == "1001\n" * 4
    found = machine.edges(plug_in, ran.processes)
    assert found["steps", "count_one", CALL] == 4000
    assert found["begin", "count_one", CALL] + found["begin", "count_one", TAIL] == 4


def test_constructors_of_linked_libraries_are_counted(machine: Machine) -> None:
    library = machine.compiled(
        APART
        + """static volatile long x;
        APART void count_one(void) { x++; }
        __attribute__((constructor)) static void begin(void) { for (int i = 0; i < 30; i++) count_one(); }
        long steps(void) { return x; }""",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libearly.so",
        name="libearly.so",
    )
    program = machine.compiled(
        '#include <stdio.h>\nlong steps(void); int main(void) { printf("%ld\\n", steps()); return 0; }',
        str(library),
        "-Wl,-rpath,$ORIGIN",
    )
    ran = run_both(machine, program)
    assert ran.output == "30\n"
    assert machine.edges(library, ran.processes)["begin", "count_one", CALL] == 30


def test_counts_survive_a_kill(machine: Machine) -> None:
    binary = machine.compiled(
        APART
        + """#include <stdio.h>
        #include <unistd.h>
        static volatile long x;
        APART void work(void) { x++; }
        int main(void) {
            for (int i = 0; i < 12345; i++) work();
            puts("counted"); fflush(stdout);
            for (;;) pause();
        }"""
    )
    ran = machine.counted(binary, kill_when="counted\n")
    assert ran.status == -signal.SIGKILL
    assert machine.edges(binary, ran.processes)["main", "work", CALL] == 12345


def test_a_program_that_starts_another_is_counted_twice(machine: Machine) -> None:
    binary = machine.compiled(
        APART
        + """#include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        static volatile long x;
        APART void work(void) { x++; }
        int main(int count, char **arguments) {
            for (int i = 0; i < 11; i++) work();
            if (count == 1) execl(arguments[0], arguments[0], "again", (char *)NULL);
            printf("%ld\\n", x);
            return 0;
        }"""
    )
    ran = run_both(machine, binary)
    assert [machine.edges(binary, [one])["main", "work", CALL] for one in ran.processes] == [11, 11]


def test_a_stripped_program_is_counted_alike(machine: Machine) -> None:
    source = (
        APART
        + """#include <stdio.h>
        #include <stdlib.h>
        static int compared(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
        APART int leaf(int n) { return n * 7 % 101; }
        APART int choose(int n) {
            switch (n % 9) {
            case 0: return leaf(n); case 1: return leaf(n + 4) ^ 3; case 2: return 5; case 3: return leaf(1);
            case 4: return 9; case 5: return leaf(n) + leaf(n + 1); case 6: return n;
            case 7: return n * n; default: return 1;
            }
        }
        int main(void) {
            int numbers[200];
            for (int i = 0; i < 200; i++) numbers[i] = choose(i);
            qsort(numbers, 200, sizeof *numbers, compared);
            printf("%d %d\\n", numbers[0], numbers[199]);
            return 0;
        }"""
    )
    whole = machine.compiled(source)
    stripped = machine.stripped(whole, "stripped")
    counts = [run_both(machine, one).processes[0].modules[0].counts for one in (whole, stripped)]
    assert counts[0].tolist() == counts[1].tolist() and counts[0].sum() > 300


def test_code_that_is_not_what_was_planned_for_is_left_alone(machine: Machine) -> None:
    source = """#include <stdlib.h>
    __attribute__((noipa)) int work(int n) { return n + %d; }
    int main(void) { return work(1); }"""
    planned = machine.compiled(source % 1, "-Wl,--build-id=0x1234567890", name="planned")
    other = machine.compiled(source % 1 + "\nint more(void) { return 3; }", "-O1", "-Wl,--build-id=0x1234567890")
    assert run_both(machine, planned).status == 2
    ran = run_both(machine, other)
    assert ran.status == 2 and reasons(other, ran.processes) <= {
        UncountedReason.OTHER_CODE,
        UncountedReason.PLAN_DAMAGED,
    }
    assert Counter(one.reason for process in ran.processes for one in process.modules)[UncountedReason.COUNTED] == 0


def test_iterations_of_loops(machine: Machine) -> None:
    binary = machine.compiled(
        APART
        + """#include <stdio.h>
        #include <stdlib.h>
        static volatile long x;
        APART void nested(int n, int m) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x += j; }
        APART void halved(unsigned long n) { while (n) { x++; n >>= 1; } }
        int main(void) {
            nested(20, 30);
            halved(1ul << 40);
            printf("%ld\\n", x);
            return 0;
        }""",
        kinds=frozenset(CallKind),
    )
    ran = run_both(machine, binary)
    found = machine.line_edges(binary, ran.processes)
    iterations: Counter[str] = Counter()
    for (function, _, _, kind), count in found.items():
        iterations[function] += count if kind is CallKind.ITERATION else 0
    # The first time round nothing jumps back.
    assert iterations["nested"] == 19 + 20 * 29
    assert iterations["halved"] == 40


def test_calls_of_other_files_without_linkage_stubs(machine: Machine) -> None:
    binary = machine.compiled(
        APART
        + """#include <stdio.h>
        #include <stdlib.h>
        APART void said(const char *text) { puts(text); }
        APART int both(const char *text) { int n = atoi(text); said(text); return n + abs(atoi(text)); }
        int main(void) {
            int sum = 0;
            for (int i = 0; i < 9; i++) sum += both("12");
            printf("%d\\n", sum);
            return 0;
        }""",
        "-fno-plt",
    )
    found = machine.edges(binary, run_both(machine, binary).processes)
    assert found["said", "puts", CallKind.POINTER_TAIL] == 9
    assert sum(count for (function, _, kind), count in found.items() if (function, kind) == ("both", POINTER)) == 18
