"""Allocators inside the program: which functions can be sampled, and that programs do the same while they are."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import capstone
import pytest

from tests.native.memory.programs import POOL, POOL_ON_MALLOC
from whyperf.allocators.functions import Allocator, AllocatorRole
from whyperf.allocators.known import KNOWN, parse_allocator
from whyperf.collect.runs.runner import record_run
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.target.program import find_program
from whyperf.debuginfo.allocators.planning import PlannedAllocators, plan_allocators
from whyperf.debuginfo.probes import plan_file
from whyperf.diagnose.diagnosis import diagnose
from whyperf.engines.holdings import holdings_of
from whyperf.errors import WhyperfError
from whyperf.recording.layout import OUTPUT
from whyperf.recording.sealed.reader import Recording
from whyperf.seal.opening import seal

pytestmark = pytest.mark.process

HERE = Path(__file__).parent
NATIVE = HERE.parents[2] / "native"
INTERVAL = 64 * 1024
X86 = "x86_64-linux-gnu-gcc"
EMULATOR = "qemu-x86_64-static"
POOL_FUNCTIONS = "arena_take,reset=arena_clear"


def compiled(folder: Path, source: str, *flags: str, name: str = "program", compiler: str = "gcc") -> Path:
    file, program = folder / f"{name}.c", folder / name
    file.write_text(source)
    subprocess.run([compiler, "-g", "-O2", "-Wl,--build-id", "-o", program, file, *flags], check=True)
    return program


def recorded(path: Path, allocators: tuple[str, ...], *command: str, interval: int = INTERVAL) -> Recording:
    outcome = record_run(
        find_program(command, os.environ),
        path,
        lifecycle=Lifecycle(),
        measuring=Measuring(memory_interval=interval, allocators=tuple(map(parse_allocator, allocators))),
        environment=dict(os.environ),
        capture_output=True,
    )
    assert outcome.status == 0
    return seal(outcome.path)


def printed(recording: Recording) -> str:
    return (recording.path / OUTPUT[0]).read_text()


def planned(program: Path, *names: str) -> PlannedAllocators:
    return plan_allocators(program, [parse_allocator(name) for name in names])


def test_users_name_functions_and_arguments() -> None:
    made = parse_allocator("take:2,free=give,realloc=grow:3,reset=empty")
    assert [(one.name, one.role, one.asked) for one in made.functions] == [
        ("take", AllocatorRole.ALLOCATE, 1),
        ("give", AllocatorRole.FREE, None),
        ("grow", AllocatorRole.REALLOCATE, 2),
        ("empty", AllocatorRole.RESET, None),
    ]
    assert parse_allocator("jemalloc") == Allocator("jemalloc", KNOWN["jemalloc"])
    for wrong in ("take:0", "take size", "free=give", "take,close=x", ""):
        with pytest.raises(WhyperfError):
            parse_allocator(wrong)


PROTOTYPES = """
#include <stddef.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline, noclone, used))
static char room[1 << 20];
static size_t at;
KEPT void *plain(size_t size) { at += size; return room + at; }
KEPT void *narrow(void *pool, unsigned size, int zero) { at += size + zero; return (char *)pool + at; }
KEPT void *tiny(short size) { at += size; return room + at; }
KEPT void *variadic(size_t size, ...) { at += size; return room + at; }
KEPT void *with_double(double factor, size_t size) { at += size * factor; return room + at; }
KEPT void *two(size_t rows, size_t columns) { at += rows * columns; return room + at; }
KEPT int number(size_t size) { at += size; return at; }
struct pair { long a, b, c; };
KEPT void *with_structure(struct pair pair, size_t size) { at += size + pair.c; return room + at; }
KEPT void *only_leads(size_t size) { return malloc(size); }
int main(int count, char **words) {
    struct pair pair = {count, count, count};
    return !plain(count) + !narrow(room, count, 1) + !tiny(count) + !variadic(count, count) + !with_double(count, count)
        + !two(count, count) + number(count) + !with_structure(pair, count) + !only_leads(count) + !words;
}
"""


def test_functions_that_are_not_understood_are_left_alone(tmp_path: Path) -> None:
    program = compiled(tmp_path, PROTOTYPES)
    names = ("tiny", "variadic", "with_double", "two", "number", "with_structure", "only_leads")
    made = planned(program, "plain", "narrow", *names)
    assert made.sampled == ("plain", "narrow")
    assert set(made.refused) == set(names)
    assert "name it" in made.refused["two"]
    # THEN naming the argument helps where that is what is missing, and nothing else does
    assert planned(program, "two:2", "with_double:2").sampled == ("two",)
    # THEN nothing is known of user-named functions without debug information
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-g", program, "-o", stripped], check=True)
    assert "no debug information" in planned(stripped, "plain").refused["plain"]


def test_a_program_without_the_function_is_refused(tmp_path: Path) -> None:
    program = compiled(tmp_path, "int main(void) { return 0; }")
    with pytest.raises(WhyperfError, match=r"neither .* nor the libraries"):
        recorded(tmp_path / "r", ("zmalloc",), str(program))
    assert not (tmp_path / "r").exists()


def test_what_an_arena_holds_is_known_until_it_is_reset(tmp_path: Path) -> None:
    # GIVEN a program that takes 60 MB in all from an arena that it resets 3000 times, and 30 MB from one that it keeps
    program = compiled(tmp_path, POOL)
    plain = subprocess.run([program, "bad"], capture_output=True, text=True, check=True).stdout
    recording = recorded(tmp_path / "r", (POOL_FUNCTIONS,), str(program), "bad")
    assert printed(recording) == plain
    # THEN bytes are those that it asked for: 90 MB are 1370 samples, or fewer where the recorder was slow
    held = holdings_of(recording)
    assert recording.manifest.sampling.allocators == ("arena_take",)
    assert held.weight.sum() == pytest.approx(90e6, rel=0.3)
    assert held.kept_bytes == pytest.approx(30e6, rel=0.4)
    assert held.kept_bytes <= held.peak_bytes <= held.kept_bytes + 5e6


def test_memory_of_an_arena_is_not_counted_twice(tmp_path: Path) -> None:
    # GIVEN the same, on chunks that it allocates by malloc
    program = compiled(tmp_path, POOL_ON_MALLOC)
    own = recorded(tmp_path / "own", (POOL_FUNCTIONS,), str(program), "bad")
    plain = recorded(tmp_path / "plain", (), str(program), "bad")
    # THEN chunks are counted where the arena is not sampled itself, and only there
    assert holdings_of(plain).peak_bytes == pytest.approx(31e6, rel=0.3)
    assert holdings_of(own).peak_bytes == pytest.approx(31e6, rel=0.4)
    assert holdings_of(own).size.max() < 1 << 16 < holdings_of(plain).size.max()


def test_who_takes_more_from_an_arena_comes_first(tmp_path: Path) -> None:
    program = compiled(tmp_path, POOL)
    runs = {
        word: [recorded(tmp_path / f"{word}{number}", (POOL_FUNCTIONS,), str(program), word) for number in range(3)]
        for word in ("good", "bad")
    }
    verdict = diagnose(runs["good"], runs["bad"])
    first = verdict.suspects[0]
    assert (first.function, first.pattern) == ("remember", "growth")
    assert "allocates more often" in first.why


def handled(folder: Path, compiler: str, *runner: str) -> subprocess.CompletedProcess[str]:
    """Runs registers.c with handlers that lead to clobbering.c."""
    machine = "x86_64" if compiler == X86 else os.uname().machine
    program = compiled(folder, (HERE / "registers.c").read_text(), compiler=compiler)
    library = folder / "library.so"
    parts = [f"memory/{machine}/handlers.c", "memory/linked.c", "memory/live.c", "memory/owned.c", "sampler/plans.c"]
    patching = (f"{machine}/code", "checksum", "install", "loaded_plans", "memory", "modules", "plan")
    parts += [f"probes/{name}.c" for name in patching]
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-ftls-model=initial-exec", f"-I{NATIVE}"]
    sources = [str(NATIVE / part) for part in parts]
    subprocess.run([compiler, *flags, str(HERE / "clobbering.c"), *sources, "-o", str(library)], check=True)
    plan = planned(program, "zmalloc").plan
    assert plan is not None
    (folder / "allocators").mkdir()
    (folder / "allocators" / f"{plan.build_id}.plan").write_bytes(plan_file.written(plan))
    settings = {"LD_PRELOAD": str(library), "WHYPERF_SESSION": str(folder / "rings")}
    if runner:
        given = [word for name, value in settings.items() for word in ("-E", f"{name}={value}")]
        return subprocess.run([*runner, *given, str(program)], capture_output=True, text=True, check=True)
    return subprocess.run([program], env={**os.environ, **settings}, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("machine", ["native", "x86-64"])
def test_no_register_is_changed(tmp_path: Path, machine: str) -> None:
    # GIVEN functions that change next to no register, which compilers know and rely on
    if machine == "native":
        ran = handled(tmp_path, "gcc")
    elif shutil.which(EMULATOR) and shutil.which(X86):
        ran = handled(tmp_path, X86, EMULATOR, "-cpu", "max", "-L", "/usr/x86_64-linux-gnu")
    else:
        pytest.skip("no emulator of x86-64")
    # WHEN every fourth call is sampled, and every sampled block is freed
    assert ran.stdout == "0 registers lost\n"
    sampled, ended = (int(part.split()[0]) for part in ran.stderr.split(",")[:2])
    assert 400 <= sampled == ended
    assert ran.stderr.endswith("0 not patched\n")


@pytest.mark.skipif(not shutil.which(X86), reason="no compiler for x86-64")
def test_stubs_of_x86_64_are_what_was_meant(tmp_path: Path) -> None:
    plan = planned(compiled(tmp_path, PROTOTYPES, compiler=X86), "plain", "narrow:2").plan
    assert plan is not None
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    stubs = [
        [f"{one.mnemonic} {one.op_str}".strip() for one in decoder.disasm(plan.stubs[start:], start)]
        for start in plan.patches["stub"].tolist()
    ]
    assert stubs[0][0] == "sub qword ptr fs:[0], rdi"
    assert stubs[0][1].startswith("js ")
    assert stubs[1][:4] == ["push rax", "mov eax, esi", "sub qword ptr fs:[0], rax", "pop rax"]
    assert stubs[1][4].startswith("js ")


@pytest.mark.parametrize("mode", ["handlers", "interrupted"])
def test_programs_whose_handlers_call_their_own_allocator_do_the_same(tmp_path: Path, mode: str) -> None:
    # GIVEN an allocator of the program's own under the names of malloc's family
    program = tmp_path / "linked"
    sources = [str(HERE / "awkward.c"), str(HERE / "own_malloc.c")]
    flags = ["-O2", "-g", "-pthread", "-D_GNU_SOURCE", "-fno-builtin"]
    subprocess.run(["gcc", *flags, "-o", program, *sources], check=True)
    _does_the_same(tmp_path, program, mode)


@pytest.mark.parametrize(
    ("library", "mode"),
    # A child of tcmalloc's threads waits forever by itself: no storm, which forks.
    [("jemalloc", "storm"), ("jemalloc", "limited"), ("tcmalloc_minimal", "limited")],
)
def test_awkward_programs_with_a_well_known_allocator_do_the_same(tmp_path: Path, library: str, mode: str) -> None:
    program = tmp_path / "linked"
    flags = ["-O2", "-g", "-pthread", "-D_GNU_SOURCE", "-fno-builtin", str(HERE / "awkward.c"), "-o", str(program)]
    done = subprocess.run(["gcc", *flags, f"-l:lib{library}.a", "-lstdc++", "-lm"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"{library} has no libraries here to link with")
    _does_the_same(tmp_path, program, mode)


def _does_the_same(folder: Path, program: Path, mode: str) -> None:
    plain = subprocess.run([program, mode], capture_output=True, text=True, check=True).stdout
    recording = recorded(folder / "r", ("malloc",), str(program), mode, interval=4096)
    assert printed(recording) == plain
    assert recording.table("allocations").num_rows > 20
    assert recording.manifest.losses.modules_not_patched == 0
