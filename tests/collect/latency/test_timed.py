"""Calls of a function that are timed in the target: by the program's own clock, and however they end."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from whyperf.collect.latency.durations import DurationsFile
from whyperf.collect.latency.plans import plan_of
from whyperf.collect.runs.runner import record_run
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.latency.planning import plan_latency
from whyperf.debuginfo.probes import plan_file
from whyperf.errors import WhyperfError
from whyperf.recording.layout import OUTPUT
from whyperf.recording.sealed.latency import Latency
from whyperf.recording.sealed.reader import Recording
from whyperf.seal.opening import seal

pytestmark = pytest.mark.process

HERE = Path(__file__).parent
NATIVE = HERE.parents[2] / "native"
X86, EMULATOR = "x86_64-linux-gnu-", "qemu-x86_64-static"


def compiled(folder: Path, source: str | Path, *flags: str, prefix: str = "") -> Path:
    if isinstance(source, str):
        (folder / "program.c").write_text(source)
        source = folder / "program.c"
    program = folder / "program"
    compiler = prefix + ("g++" if source.suffix == ".cpp" else "gcc")
    subprocess.run([compiler, "-g", "-O2", "-pthread", "-Wl,--build-id", "-o", program, source, *flags], check=True)
    return program


@dataclass(frozen=True)
class Timed:
    latency: Latency | None
    printed: str
    recording: Recording
    signal: int | None


def timed(folder: Path, function: str, *command: str | Path, **measured: Any) -> Timed:
    folder.mkdir(exist_ok=True)
    outcome = record_run(
        find_program(tuple(map(str, command)), os.environ),
        folder / "r",
        lifecycle=Lifecycle(),
        measuring=Measuring(latency=function, **measured),
        environment=dict(os.environ),
        capture_output=True,
    )
    recording = seal(outcome.path)
    printed = (recording.path / OUTPUT[0]).read_text()
    return Timed(recording.manifest.totals.latency, printed, recording, outcome.signal)


@pytest.mark.parametrize("memory_interval", [0, 1 << 20])
def test_percentiles_are_those_that_the_program_measures_itself(tmp_path: Path, memory_interval: int) -> None:
    seen = timed(tmp_path, "handle", compiled(tmp_path, HERE / "oracle.c"), memory_interval=memory_interval)
    number, *measured = seen.printed.split()
    assert seen.latency is not None
    assert (seen.latency.count, seen.latency.lost, seen.latency.unfinished) == (int(number), 0, 0)
    for which, seconds in zip((50, 90, 99), measured, strict=True):
        assert seen.latency.percentile(which) == pytest.approx(float(seconds), rel=0.05)
    # THEN the slowest are kept with their times, and calls are the units of work
    slowest = seen.latency.slowest
    assert [one.seconds for one in slowest] == sorted((one.seconds for one in slowest), reverse=True)
    assert slowest[0].seconds >= seen.latency.percentile(99) * 0.99
    assert all(0 <= one.begins_s <= seen.recording.manifest.totals.wall_s for one in slowest)
    assert seen.recording.table("work").to_pylist()[-1]["count"] == int(number)


def test_calls_that_are_left_otherwise_are_counted_as_lost_and_nothing_is_mixed_up(tmp_path: Path) -> None:
    program = compiled(tmp_path, HERE / "awkward.cpp")
    plain = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    seen = timed(tmp_path, "handle", program)
    assert seen.printed == plain
    returned, left, within, _ = map(int, plain.split())
    assert seen.latency is not None
    assert (seen.latency.count, seen.latency.lost, seen.latency.nested) == (returned, left, within)
    assert seen.latency.unfinished == 0


KILLED = """
#include <signal.h>
#include <unistd.h>
__attribute__((noinline)) int handle(int number) {
    if (number == 500) kill(getpid(), SIGKILL);
    usleep(1);
    return number;
}
// Behind the last function of the code nothing fills up what a jump needs more than a return.
int what_follows(int number) { return number + 1; }
int main(void) { for (int i = 0; i < 501; i++) handle(i); return 0; }
"""


def test_a_killed_target_leaves_what_it_timed(tmp_path: Path) -> None:
    seen = timed(tmp_path, "handle", compiled(tmp_path, KILLED))
    assert seen.signal == 9
    assert seen.latency is not None
    assert (seen.latency.count, seen.latency.unfinished, seen.latency.lost) == (500, 1, 0)


INLINED = """
#include <stdio.h>
#ifdef __aarch64__
#define JUMP "b"
#else
#define JUMP "jmp"
#endif
static inline __attribute__((always_inline)) int small(int a) { return a * 3 + 1; }
int only_leads(int a);
__asm__(".text\\n.type only_leads, %function\\nonly_leads:\\n.cfi_startproc\\n" JUMP " putchar\\n.cfi_endproc\\n"
        ".size only_leads, . - only_leads");
__attribute__((noinline, noreturn)) void never(int a) { for (;;) printf("%d", a); }
int main(int count, char **words) { if (count > 9) never(count); return small(count) + only_leads(65) + !words; }
"""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("handel", "nor the libraries that it loads at its start have a function of that name"),
        ("small", "the compiler inlined all of them into main"),
        ("never", "because it never returns"),
        ("only_leads", "because it (only leads to another function|begins with instructions that cannot be replaced)"),
    ],
)
def test_what_cannot_be_timed_is_said_before_the_target_starts(tmp_path: Path, function: str, said: str) -> None:
    with pytest.raises(WhyperfError, match=said) as caught:
        timed(tmp_path, function, compiled(tmp_path, INLINED))
    assert caught.value.next_command
    assert not (tmp_path / "r").exists()


LIBRARY = """
#include <time.h>
int library_handle(int number) { struct timespec t = {0, 1000}; nanosleep(&t, 0); return number + 1; }
"""
USER = """
#include <dlfcn.h>
int main(int count, char **words) {
    int (*handle)(int) = dlsym(dlopen(words[1], RTLD_NOW), "library_handle"), sum = 0;
    for (int i = 0; i < 50; i++) sum += handle(i);
    return sum != 1275 + count - 2;
}
"""


def test_a_function_of_a_library_that_is_loaded_later_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "library.c").write_text(LIBRARY)
    library = tmp_path / "library.so"
    subprocess.run(["gcc", "-O2", "-g", "-shared", "-fPIC", "-o", library, tmp_path / "library.c"], check=True)
    seen = timed(tmp_path, f"{library}:library_handle", compiled(tmp_path, USER), library)
    assert seen.latency is not None
    assert (seen.latency.count, seen.latency.function) == (50, "library_handle")
    assert seen.latency.percentile(50) > 1e-6


def test_no_register_is_changed(tmp_path: Path) -> None:
    seen = timed(tmp_path, "timed", compiled(tmp_path, HERE.parents[1] / "native" / "memory" / "registers.c"))
    assert seen.printed == "0 registers lost\n"
    assert seen.latency is not None
    assert seen.latency.count == 2000


def emulated(folder: Path, source: Path, function: str) -> tuple[str, DurationsFile]:
    """What the program prints on x86-64, and what was counted."""
    if not shutil.which(EMULATOR) or not shutil.which(f"{X86}g++"):
        pytest.skip("no emulator of x86-64")
    program, library = compiled(folder, source, prefix=X86), folder / "library.so"
    parts = ["latency/x86_64/handlers.c", "latency/latency.c", "sampler/plans.c"]
    patching = ("x86_64/code", "checksum", "install", "loaded_plans", "memory", "modules", "plan")
    parts += [f"probes/{name}.c" for name in patching]
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-ftls-model=initial-exec", f"-I{NATIVE}"]
    sources = [str(NATIVE / part) for part in parts]
    subprocess.run([f"{X86}gcc", *flags, str(HERE / "alone.c"), *sources, "-o", str(library)], check=True)
    binary = describe(str(program))
    entries = [address for row in binary.function_at(function) for address in binary.entry_addresses(row)]
    plan = plan_latency(binary, function, entries).plan
    (folder / "latency").mkdir()
    (folder / "latency" / f"{plan.build_id}.plan").write_bytes(plan_file.written(plan))
    counted = DurationsFile(folder / "latency" / "durations")
    given = [f"LD_PRELOAD={library}", f"WHYPERF_SESSION={folder / 'rings'}"]
    words = [word for one in given for word in ("-E", one)]
    command = [EMULATOR, "-cpu", "max", *words, "-L", "/usr/x86_64-linux-gnu", str(program)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout, counted


@pytest.mark.parametrize("source", ["awkward.cpp", "oracle.c"])
def test_x86_64_does_the_same(tmp_path: Path, source: str) -> None:
    printed, counted = emulated(tmp_path, HERE / source, "handle")
    expected = [int(float(word)) for word in printed.split()]
    tally = counted.tally()
    assert counted.patched == (1, 0)
    assert tally.ended == expected[0]
    if source == "awkward.cpp":
        assert (tally.lost, tally.nested) == (expected[1], expected[2])


def test_registers_of_x86_64_stay(tmp_path: Path) -> None:
    printed, counted = emulated(tmp_path, HERE.parents[1] / "native" / "memory" / "registers.c", "timed")
    assert printed == "0 registers lost\n"
    assert counted.tally().ended == 2000


def test_cells_are_as_wide_as_said(tmp_path: Path) -> None:
    """The middle of each cell is less than half a percent away from all that falls into it."""
    source = """
    #include <stdio.h>
    #include "latency/durations.h"
    int main(void) {
        for (uint64_t ticks = 1; ticks < 1ull << 47; ticks += ticks / 1000 + 1)
            printf("%lu %u\\n", ticks, duration_cell(ticks));
        return duration_cell(UINT64_MAX) != CELLS - 1;
    }
    """
    from whyperf.collect.latency.durations import cell_ticks

    program = compiled(tmp_path, source, f"-I{NATIVE}")
    middle = cell_ticks()
    rows = [
        tuple(map(int, line.split()))
        for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    ]
    assert all(abs(middle[cell] - ticks) <= max(0.5, ticks * 0.004) for ticks, cell in rows)


def test_plans_name_what_is_not_seen(tmp_path: Path) -> None:
    program = compiled(
        tmp_path,
        """
    #include <stdlib.h>
    __attribute__((noinline)) void handle(volatile char *a, int n) { while (n--) a[n] = 1; free((void *)a); }
    int main(int count, char **words) { handle(malloc(100), count); return !words; }
    """,
    )
    notes = plan_of("handle", find_program([str(program)], os.environ), os.environ).notes
    assert notes == [
        "handle ends in 1 place(s) with a jump into a library or through a pointer. Calls are timed until that jump."
    ]
