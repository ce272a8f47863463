"""Programs do the same while their allocations are sampled, whatever they allocate with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from whyperf.collect.runs.runner import record_run
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.target.program import find_program
from whyperf.engines.holdings import holdings_of
from whyperf.recording.layout import OUTPUT
from whyperf.recording.schemas.memory_tables import MemoryKind
from whyperf.recording.sealed.reader import Recording
from whyperf.seal.opening import seal

pytestmark = pytest.mark.process

HERE = Path(__file__).parent
OFTEN = 4096


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program, the same with an allocator linked in, and that allocator as a library."""
    folder = tmp_path_factory.mktemp("built")
    program, own = str(HERE / "awkward.c"), str(HERE / "own_malloc.c")
    flags = ["gcc", "-O1", "-g", "-pthread", "-D_GNU_SOURCE", "-fno-builtin"]
    for name, *sources in (("plain", program), ("linked", program, own)):
        subprocess.run([*flags, "-o", folder / name, *sources], check=True)
    subprocess.run([*flags, "-shared", "-fPIC", "-o", folder / "own.so", own], check=True)
    return folder


def watched(
    folder: Path, command: list[str], environment: dict[str, str], interval: int = OFTEN
) -> tuple[str, Recording]:
    outcome = record_run(
        find_program(command, os.environ),
        folder,
        lifecycle=Lifecycle(),
        measuring=Measuring(memory_interval=interval),
        environment={**os.environ, **environment},
        capture_output=True,
    )
    printed = (folder / OUTPUT[0]).read_text()
    assert outcome.status == 0, (outcome, printed)
    return printed, seal(outcome.path)


@pytest.mark.parametrize("mode", ["storm", "handlers", "limited", "unqueued", "queue-full"])
def test_awkward_programs_do_the_same(tmp_path: Path, built: Path, mode: str) -> None:
    # GIVEN threads that free each other's memory while the program forks, handlers that allocate, little memory, no
    # signals that may be queued, or no room left for them
    command = [str(built / "plain"), mode]
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # WHEN nearly every allocation is sampled
    printed, recording = watched(tmp_path / "r", command, {})
    # THEN nobody can tell, and it was seen
    assert printed == plain
    assert recording.table("allocations").num_rows > 20
    # AND page faults are sampled where the kernel gives signals for them
    if mode == "unqueued":
        assert recording.manifest.losses.threads_without_faults == 1
    if mode == "queue-full":
        assert holdings_of(recording, MemoryKind.PAGE).weight.sum() > 32e6


def test_every_free_of_a_storm_is_found(tmp_path: Path, built: Path) -> None:
    _, recording = watched(tmp_path / "r", [str(built / "plain"), "storm"], {})
    table = recording.table("allocations").to_pydict()
    main = [freed for freed, size in zip(table["freed"], table["size"], strict=True) if 64 <= size < 20100]
    lost = recording.manifest.losses.frees_lost
    assert len(main) > 100
    assert sum(not freed for freed in main) <= lost + 0.02 * len(main)


def test_what_a_child_frees_is_still_its_parents(tmp_path: Path, built: Path) -> None:
    # GIVEN 40 blocks of 100 kB that a child frees for itself, and 40 of 50 kB of its own: at this interval each is seen
    printed, recording = watched(tmp_path / "r", [str(built / "plain"), "inherited"], {})
    assert printed == "inherited: child 7, 40 kept\n"
    # THEN neither process freed any of its own
    table = recording.table("allocations").to_pydict()
    freed = {
        size: [gone for gone, other in zip(table["freed"], table["size"], strict=True) if other == size]
        for size in (100_000, 50_000)
    }
    assert freed == {100_000: [False] * 40, 50_000: [False] * 40}
    processes = recording.table("samples")["process"].to_numpy()[table["sample"]]
    owners = {(size, row) for size, row in zip(table["size"], processes.tolist(), strict=True) if size in freed}
    assert len(owners) == len({row for _, row in owners}) == 2


@pytest.mark.parametrize("how", ["linked", "preloaded"])
def test_programs_keep_their_own_allocator(tmp_path: Path, built: Path, how: str) -> None:
    # GIVEN an allocator that ends the program when it is given a block of another one
    program = built / ("linked" if how == "linked" else "plain")
    environment = {} if how == "linked" else {"LD_PRELOAD": str(built / "own.so")}
    printed, recording = watched(tmp_path / "r", [str(program), "handlers"], environment)
    assert printed == "handlers: errno 5\n"
    # THEN what is preloaded stands behind us, and is seen
    if how == "preloaded":
        assert recording.table("allocations").num_rows > 20


def test_handlers_that_interrupt_an_allocation_may_allocate_and_leave(tmp_path: Path, built: Path) -> None:
    # GIVEN an allocator that may be interrupted, called again and left by longjmp at every place
    command, environment = [str(built / "plain"), "interrupted"], {"LD_PRELOAD": str(built / "own.so")}
    # WHEN our functions are before it
    printed, recording = watched(tmp_path / "r", command, environment, 64)
    # THEN that is still so
    assert printed == "interrupted: 0 wrong\n"
    assert recording.table("allocations").num_rows > 20


@pytest.mark.parametrize("kilobytes", [9_000, 12_000, 20_000, 40_000, 150_000])
def test_programs_that_start_with_little_address_space_do_the_same(tmp_path: Path, built: Path, kilobytes: int) -> None:
    # GIVEN so little that our library, the rings or both may find no room
    command = ["/bin/sh", "-c", f"ulimit -v {kilobytes}; exec {built / 'plain'} zeroed"]
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    printed, _ = watched(tmp_path / "r", command, {})
    assert printed == plain == "zeroed: 60 MB\n"


@pytest.mark.parametrize("how", ["libc", "calloc that calls malloc"])
def test_bytes_count_once_where_an_allocator_calls_another(tmp_path: Path, built: Path, how: str) -> None:
    # GIVEN 60 MB from calloc, which in one of two allocators asks malloc for it
    environment = {} if how == "libc" else {"LD_PRELOAD": str(built / "own.so")}
    # WHEN so few bytes are sampled that most calls pass by
    _, recording = watched(tmp_path / "r", [str(built / "plain"), "zeroed"], environment, 256 * 1024)
    # THEN they come to about that: 230 samples vary by 7%
    assert holdings_of(recording).weight.sum() == pytest.approx(60e6, rel=0.4)
