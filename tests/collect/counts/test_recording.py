"""`whyperf record --counts`: from a run to the table of calls."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.collect.counts.machine import ROOT, Machine, environment_outside, preloaded
from tests.shared_cache import SHARED_CACHE
from whyperf.cli import record
from whyperf.cli.counts_options import check_counts
from whyperf.cli.main import main
from whyperf.collect.architecture import X86_64
from whyperf.collect.counts.run import check_counts_here, record_counts
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.errors import WhyperfError
from whyperf.recording.schemas.call_tables import CallKind
from whyperf.recording.sealed.reader import Recording
from whyperf.seal.opening import seal

SOURCE = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void help(void);
static volatile long x;
__attribute__((noipa, aligned(512))) void flush(int n) { x += n; }
static inline __attribute__((always_inline)) void twice(int n) {
    flush(n);
    flush(n + 1);
}
__attribute__((noipa, aligned(512))) void plan(int n) {
    for (int i = 0; i < n; i++)
        twice(i);
    help();
}
int main(int count, char **arguments) {
    for (int i = 0; i < 7; i++)
        plan(10);
    if (count > 1) {
        fclose(fopen(arguments[1], "w"));
        while (access(arguments[1], F_OK) == 0)
            usleep(1000);
        for (int i = 0; i < 3; i++)
            plan(2);
        pause();
    }
    return 4;
}
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", SHARED_CACHE)


def recorded(machine: Machine, *arguments: str, lifecycle: Lifecycle | None = None) -> Recording:
    flags = ("-shared", "-fPIC", "-Wl,-soname,libhelp.so")
    helper = machine.compiled("void help(void) {}", *flags, name="libhelp.so", plan=False)
    binary = machine.compiled(SOURCE, str(helper), "-Wl,-rpath,$ORIGIN", plan=False)
    environment = environment_outside()
    program = find_program([str(binary), *arguments], environment)
    path = machine.folder / "recording"
    outcome = record_counts(
        program,
        path,
        lifecycle=lifecycle or Lifecycle(),
        environment=environment,
        capture_output=True,
        library=preloaded()[0],
        architecture=X86_64 if ROOT else None,
    )
    assert outcome.status == (4 if lifecycle is None else None) and outcome.failure is None
    return seal(path)


def calls(recording: Recording) -> Counter[tuple[str, str, str, int, CallKind]]:
    """By function, callee, innermost function and line at the place, kind."""
    functions = recording.table("functions").to_pylist()
    frames = recording.table("frames").to_pylist()
    found: Counter[tuple[str, str, str, int, CallKind]] = Counter()
    for row in recording.table("call_counts").to_pylist():
        frame = frames[row["frame"]]
        names = [functions[n]["name"] if n >= 0 else "" for n in (row["function"], row["callee"], frame["function"])]
        found[names[0], names[1], names[2], frame["line"], CallKind(row["kind"])] += row["count"]
    return found


def test_calls_are_sealed_with_their_names_and_lines(machine: Machine) -> None:
    recording = recorded(machine)
    found = calls(recording)
    assert found["main", "plan", "main", 19, CallKind.CALL] == 7
    assert found["plan", "flush", "twice", 9, CallKind.CALL] == 70
    assert found["plan", "flush", "twice", 10, CallKind.CALL] == 70
    by_name = sum(count for (function, callee, *_), count in found.items() if (function, callee) == ("plan", "help"))
    assert by_name == 7  # in another file
    manifest = recording.manifest
    assert manifest.counting is not None and manifest.counting.counted > 5
    assert manifest.exit_status == 4 and manifest.sampling.source == "counts"
    assert [row["origin"] for row in recording.table("processes").to_pylist()] == ["exec"]


def test_a_recording_needs_neither_program_nor_plan_once_it_is_sealed(machine: Machine) -> None:
    recording = recorded(machine)
    (machine.folder / "program").unlink()
    assert calls(Recording(recording.path))["main", "plan", "main", 19, CallKind.CALL] == 7
    assert not (recording.path / "raw").exists()


def test_what_is_counted_before_ready_is_left_out(machine: Machine, tmp_path: Path) -> None:
    mark = tmp_path / "ready"
    recording = recorded(
        machine, str(mark), lifecycle=Lifecycle(ready=f"file:{mark}", drive=f"sh -c 'rm {mark}; sleep 2'")
    )
    found = calls(recording)
    assert sum(count for (_, callee, *_), count in found.items() if callee == "plan") == 3
    assert sum(count for (_, callee, *_), count in found.items() if callee == "flush") == 12


def test_options_that_exclude_each_other() -> None:
    parser = argparse.ArgumentParser()
    record.add_arguments(parser)
    for options in (["--pid", "1"], ["--rate", "50"], ["--skip", "2s"], ["--clock", "wall"]):
        with pytest.raises(WhyperfError, match="exclude each other"):
            check_counts(parser.parse_args(["--counts", *options, "--", "true"]))


def test_systems_with_larger_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda _name: 65536)
    with pytest.raises(WhyperfError, match="needs memory pages of 4 KiB; this system's have 64 KiB"):
        check_counts_here()


def test_info_says_what_was_counted(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    recording = recorded(machine)
    assert main(["info", str(recording.path)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"counted\s+\d+ calls and entries at \d+ of \d+ counted sites", said)
