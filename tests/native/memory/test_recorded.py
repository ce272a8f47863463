"""Real programs under `record --memory` and `compare --memory`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.collect.open_recording import paths
from tests.native.memory.programs import (
    ARENA,
    CHURN,
    GROWN,
    GROWTH,
    JUMPS_TO_FREE,
    LARGER,
    LEAK,
    NEVER_EMPTIED,
    NOT_CALLED,
    SHRUNK,
    WASTE,
    compiled,
)
from tests.warm_interpreter import run_whyperf
from whyperf.collect.perf_events import cpu_clock_permitted
from whyperf.collect.runs.runner import record_run
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.target.program import find_program
from whyperf.diagnose.diagnosis import diagnose
from whyperf.diagnose.settings import DiagnoseSettings, Floors
from whyperf.diagnose.verdict import Verdict, VerdictKind
from whyperf.engines.holdings import holdings_of
from whyperf.engines.memory.compare import compare
from whyperf.engines.memory.findings import findings
from whyperf.engines.run import Run
from whyperf.recording.schemas.memory_tables import MemoryKind
from whyperf.recording.sealed.reader import Recording
from whyperf.seal.opening import seal

pytestmark = pytest.mark.process

# So few samples that they fit into a ring: the recorder may be starved of CPU.
INTERVAL = 512 * 1024


def recorded(path: Path, *command: str, units: float | None = None) -> Recording:
    reports = None if units is None else (lambda _: units)
    outcome = record_run(
        find_program(command, os.environ),
        path,
        lifecycle=Lifecycle(),
        measuring=Measuring(memory_interval=INTERVAL, unit=units and "item", reported_work=reports),
        environment=dict(os.environ),
        capture_output=True,
    )
    assert outcome.status == 0
    return seal(outcome.path)


_NEVER = Floors(relative=1e6, single_relative=1e6)
# The programs run for milliseconds, whose time says nothing on a busy machine.
ONLY_MEMORY = DiagnoseSettings(cpu=_NEVER, wall=_NEVER)


def verdict_of(tmp_path: Path, program: Path, good: str = "good", bad: str = "bad") -> Verdict:
    runs = {
        side: [recorded(tmp_path / f"{side}{number}", str(program), word) for number in range(3)]
        for side, word in (("good", good), ("bad", bad))
    }
    return diagnose(runs["good"], runs["bad"], ONLY_MEMORY)


def test_bytes_are_as_many_as_the_program_allocates(tmp_path: Path) -> None:
    # GIVEN a program that allocates 60 MB and keeps 30 of them
    recording = recorded(tmp_path / "r", str(compiled(tmp_path, LEAK)), "bad")
    # WHEN its samples are weighed
    held = holdings_of(recording)
    # THEN they come to about that: 115 samples vary by 9%, 57 by 13%
    assert held.weight.sum() == pytest.approx(60e6, rel=0.45)
    assert held.kept_bytes == pytest.approx(30e6, rel=0.65)
    assert held.kept_bytes <= held.peak_bytes <= 1.2 * held.kept_bytes
    assert recording.manifest.losses.allocations_lost == recording.manifest.losses.frees_lost == 0


def test_functions_that_jump_to_free_are_in_the_stack(tmp_path: Path) -> None:
    # GIVEN frees by a function that jumps to free, and is itself jumped to
    program = compiled(tmp_path, JUMPS_TO_FREE, "program", "-foptimize-sibling-calls")
    recording = recorded(tmp_path / "r", str(program), "good")
    freed = {one["freed_by"] for one in recording.table("allocations").to_pylist() if one["freed_by"] >= 0}
    # THEN every stack has both
    stacks = paths(recording)
    assert freed
    assert {stacks[sample][:3] for sample in freed} <= {("drop", "take_back", "work"), ()}
    assert any(stacks[sample] for sample in freed)
    # AND what was read lies where its depth says
    frames = [recording.table("stacks").column(name).to_pylist() for name in ("parent", "frame")]
    leaves = recording.table("samples").column("stack").to_pylist()
    held = [one for one in recording.table("values").to_pylist() if one["depth"] >= 0]
    assert held
    for value in held:
        node = leaves[value["sample"]]
        for _ in range(value["depth"]):
            node = frames[0][node]
        assert frames[1][node] == value["frame"]


def test_who_no_longer_frees_comes_first(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, compiled(tmp_path, LEAK))
    first = verdict.suspects[0]
    assert (verdict.kind, verdict.symptom.kind) == (VerdictKind.DIFFERENCE, "memory")
    assert (first.function, first.pattern) == ("drop_item", "leak")
    assert "frees less of" in first.why


@pytest.mark.parametrize(
    ("body", "function", "words", "counted"),
    [
        (NOT_CALLED, "keep", "no longer calls clean, which frees what", ("clean", 60000.0, 0.0)),
        (LEAK, "drop_item", "frees less of", (None, None, None)),
    ],
)
def test_counted_calls_tell_whether_who_frees_is_still_called(
    tmp_path: Path, body: str, function: str, words: str, counted: tuple[str | None, float | None, float | None]
) -> None:
    # WHEN two runs of a kind are compared as shipped
    compiled(tmp_path, body)
    sides = ("./program good", "./program bad")
    done = run_whyperf("compare", *sides, "--memory", "--runs", "2", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # THEN calls are counted, and the first suspect is the one for whom nothing changed but whom it calls
    assert "counting calls, to see whether the function that freed the memory is still called" in done.stderr
    first = json.loads(done.stdout)["suspects"][0]
    detail = first["evidence"][0]["detail"]
    assert first["function"] == function and words in first["why"]
    assert tuple(detail.get(name) for name in ("no_longer_called", "good_calls", "bad_calls")) == counted


@pytest.mark.parametrize(
    ("body", "function", "words"),
    [(GROWTH, "fill", "allocates more often"), (LARGER, "work", "allocates more each time")],
)
def test_who_allocates_more_comes_first_though_all_is_freed(
    tmp_path: Path, body: str, function: str, words: str
) -> None:
    # GIVEN programs that free everything before they end, and allocate through a wrapper
    verdict = verdict_of(tmp_path, compiled(tmp_path, body))
    # THEN they are judged at their peak, and who is told the size is passed through
    first = verdict.suspects[0]
    assert (first.function, first.pattern) == (function, "growth")
    assert words in first.why
    # THEN shares are counted once
    assert sum(one.share for one in verdict.suspects) <= 1 + 1e-9


def test_who_no_longer_shrinks_comes_first(tmp_path: Path) -> None:
    # GIVEN a program whose good runs shrink 40 MB to 10
    verdict = verdict_of(tmp_path, compiled(tmp_path, SHRUNK))
    first = verdict.suspects[0]
    # THEN that is what is said, and it is no leak
    assert (first.function, first.pattern) == ("fit", "growth")
    assert "no longer shrinks what fill allocates" in first.why


def test_a_buffer_that_grew_and_is_no_longer_freed_leaks(tmp_path: Path) -> None:
    first = verdict_of(tmp_path, compiled(tmp_path, GROWN)).suspects[0]
    assert (first.function, first.pattern) == ("finish", "leak")
    assert "no longer frees what" in first.why


@pytest.mark.skipif(not cpu_clock_permitted(), reason="the kernel permits no perf events")
def test_who_touches_an_arena_of_the_programs_own_comes_first(tmp_path: Path) -> None:
    # GIVEN a program that never calls malloc, and gives 40 MB back at once
    program = compiled(tmp_path, ARENA)
    runs = {
        word: [recorded(tmp_path / f"{word}{number}", str(program), word) for number in range(3)]
        for word in ("good", "bad")
    }
    pages = holdings_of(runs["bad"][0], MemoryKind.PAGE)
    assert pages.weight.sum() == pytest.approx(102e6, rel=0.1)
    assert pages.weight[pages.freed].sum() == pytest.approx(42e6, rel=0.1)
    # WHEN its memory grows by pages that it touches
    excess = compare(*([Run(one) for one in runs[word]] for word in ("good", "bad")), kind=MemoryKind.PAGE)
    # THEN what was given back is not held against anybody
    first = findings(excess)[0]
    assert first.function.name == "fill"
    assert first.detail.bad_live_bytes == pytest.approx(60e6, rel=0.1)


def test_what_few_samples_say_of_good_runs_is_a_bound(tmp_path: Path) -> None:
    # GIVEN good runs that hold a kilobyte, each sample of which stands for half a megabyte or more
    verdict = verdict_of(tmp_path, compiled(tmp_path, LEAK))
    # THEN no figure and no ratio of it is said
    assert verdict.suspects[0].why.endswith(".")
    assert ", was less than " in verdict.suspects[0].why
    sentence = verdict.symptom.sentence
    assert "was less than " in sentence and "(too little to sample" in sentence
    assert ("times the memory" in sentence) is ("resident" in sentence)


def test_counters_that_only_grow_are_told_where_it_allocates(tmp_path: Path) -> None:
    # GIVEN a list that was emptied whenever it held 100 items, and no longer is
    verdict = verdict_of(tmp_path, compiled(tmp_path, NEVER_EMPTIED))
    told = next(one for one in verdict.suspects if one.function == "push").why
    assert "`list->used`" in told  # and that it only grows, where enough was read


def test_sizes_are_told_where_it_allocates(tmp_path: Path) -> None:
    loop = "size_t size = size_of(bad); for (int i = 0; i < 15000; i++) held[i] = make_item(i, size)"
    program = compiled(tmp_path, LARGER.replace("fill(size_of(bad))", loop))
    runs = [[Run(recorded(tmp_path / f"{word}{n}", str(program), word)) for n in range(3)] for word in ("good", "bad")]
    first = findings(compare(runs[0], runs[1]))[0]
    assert first.function.name == "work"
    assert {(one.name, one.good, one.bad) for one in first.detail.values} == {("size", 1000, 4000)}


def test_memory_that_is_never_touched_is_waste(tmp_path: Path) -> None:
    # GIVEN a program whose buffers became 40 times as large, of which it writes as much as before
    program = compiled(tmp_path, WASTE)
    held = holdings_of(recorded(tmp_path / "r", str(program), "bad"))
    large = held.size >= 1e6
    assert (held.touched[large] < 0.2).all()
    # THEN that is what is said of it
    first = verdict_of(tmp_path, program).suspects[0]
    assert (first.function, first.pattern) == ("work", "waste")
    assert "of it is ever touched" in first.why


def test_memory_that_is_touched_is_no_waste(tmp_path: Path) -> None:
    program = compiled(tmp_path, WASTE.replace("memset(held[i], i, 100000)", "memset(held[i], i, size)"))
    held = holdings_of(recorded(tmp_path / "r", str(program), "bad"))
    assert (held.touched > 0.9).all()
    assert verdict_of(tmp_path, program).suspects[0].pattern == "growth"


def test_allocating_and_freeing_for_the_same_memory_is_churn(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, compiled(tmp_path, CHURN))
    assert (verdict.kind, verdict.symptom.kind) == (VerdictKind.DIFFERENCE, "memory")
    assert verdict.symptom.measure == "allocated_bytes"
    first = verdict.suspects[0]
    assert first.pattern == "churn"
    assert first.function in ("work", "refresh")
    assert "for the same memory in use" in first.why


@pytest.mark.parametrize("bad_units", [60_000, 15_000])
def test_memory_for_more_work_is_more_work(tmp_path: Path, bad_units: int) -> None:
    # GIVEN a program that holds four times as much, for four times the items or for as many as before
    program = compiled(tmp_path, GROWTH)
    units = {"good": 15_000, "bad": bad_units}
    good, bad = (
        [recorded(tmp_path / f"{word}{n}", str(program), word, units=units[word]) for n in range(3)] for word in units
    )
    verdict = diagnose(good, bad, ONLY_MEMORY)
    # THEN only the latter is somebody's doing
    if bad_units == 60_000:
        assert (verdict.kind, verdict.suspects) == (VerdictKind.MORE_WORK, ())
    else:
        assert (verdict.kind, verdict.suspects[0].function) == (VerdictKind.DIFFERENCE, "fill")


def test_programs_without_sampled_allocations_get_a_hint(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, compiled(tmp_path, "void work(int bad) { drop_item(0, bad); }"))
    assert verdict.suspects == ()
    assert any("--allocator malloc" in note for note in verdict.notes)


def test_the_same_twice_names_nobody(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, compiled(tmp_path, GROWTH), "bad", "bad")
    assert verdict.suspects == ()
    assert verdict.symptom.kind != "memory"
