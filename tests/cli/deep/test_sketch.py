"""Sketches: exact counts of a program whose calls are known."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from whyperf.recording.sealed.reader import Recording

from .conftest import RecordDeep


def calls_by_name(recording: Recording) -> dict[str, dict[str, int]]:
    """Counts of a sketch's contexts by function; no function of the program has two."""
    names = recording.table("functions").column("name").to_pylist()
    function_of = recording.table("sites").column("function").to_pylist()
    return {names[function_of[row["site"]]]: row for row in recording.table("calls").to_pylist()}


def test_counts_are_exact(record_deep: RecordDeep) -> None:
    # GIVEN 20 books, each put on the shelf once, and 10 searches
    recording = record_deep("20", "10")
    calls = calls_by_name(recording)
    # THEN every call is counted where it was made
    assert calls["put"]["calls"] == 20 and calls["find"]["calls"] == 10
    main = calls["main"]["call"]
    assert calls["put"]["parent"] == calls["find"]["parent"] == main
    # AND memory is charged to who asked for it: 16 bytes a book, none of them given back
    assert calls["put"]["allocated"] == calls["put"]["live"] == 20 * 16
    [malloc] = [row for row in calls.values() if row["parent"] == calls["put"]["call"]]
    assert malloc["calls"] == 20 and malloc["allocated"] == 0
    deep = recording.manifest.deep
    assert deep is not None and deep.phase == "sketch" and deep.symptom == ""
    assert sum(row["instructions"] for row in calls.values()) <= deep.instructions


def test_what_was_given_back_is_not_live(record_deep: RecordDeep) -> None:
    put = calls_by_name(record_deep("20", "10", "take"))["put"]
    assert (put["allocated"], put["live"]) == (20 * 16, 19 * 16)


def test_calls_per_activation(record_deep: RecordDeep) -> None:
    recording = record_deep("20", "10")
    calls = calls_by_name(recording)
    spread = {(row["call"], row["times"]): row["activations"] for row in recording.table("fanouts").to_pylist()}
    assert spread[calls["put"]["call"], 20] == 1
    [malloc] = [row["call"] for row in calls.values() if row["parent"] == calls["put"]["call"]]
    assert spread[malloc, 1] == 20
    # A function that calls itself keeps its context: main made one of its six calls.
    assert calls["depth_of"]["calls"] == 6
    assert [times for (call, times) in spread if call == calls["depth_of"]["call"]] == [1]


def test_the_same_run_twice_counts_the_same(record_deep: RecordDeep) -> None:
    first, again = (calls_by_name(record_deep("30", "9")) for _ in range(2))
    own = ("main", "put", "find", "depth_of")
    assert [(first[n]["calls"], first[n]["instructions"]) for n in own if n != "main"] == [
        (again[n]["calls"], again[n]["instructions"]) for n in own if n != "main"
    ]


def test_a_stripped_programs_functions_go_by_address(record_deep: RecordDeep, shelf: Path, tmp_path: Path) -> None:
    # GIVEN a program without symbols, and no memory of what it was before
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", shelf, "-o", stripped], check=True)
    symbols = subprocess.run(["nm", shelf], capture_output=True, text=True, check=True).stdout
    entry = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" put"))
    # WHEN
    calls = calls_by_name(record_deep("20", "10", program=stripped, cache=tmp_path / "cache"))
    # THEN
    assert calls[f"stripped+0x{entry:x}"]["calls"] == 20


def test_statically_linked_programs_are_recorded_too(record_deep: RecordDeep, shelf: Path, tmp_path: Path) -> None:
    static = tmp_path / "static"
    source = Path(__file__).parent / "programs" / "shelf.c"
    built = subprocess.run(["gcc", "-O1", "-g", "-static", source, "-o", static], capture_output=True, check=False)
    if built.returncode:
        pytest.skip("no static C library")
    calls = calls_by_name(record_deep("20", "10", program=static))
    assert calls["put"]["calls"] == 20 and calls["put"]["live"] == 20 * 16


def test_memory_that_is_freed_at_the_end_is_counted_at_its_peak(record_deep: RecordDeep, tmp_path: Path) -> None:
    program, source = tmp_path / "tidy", tmp_path / "tidy.c"
    source.write_text("""
#include <stdlib.h>
static void *held[10];
__attribute__((noinline)) void fill(void) { for (int i = 0; i < 10; i++) held[i] = malloc(1000); }
__attribute__((noinline)) void try_out(void) { for (int i = 0; i < 50; i++) free(malloc(100 + i)); }
int main(void) { try_out(); fill(); for (int i = 0; i < 10; i++) free(held[i]); return 0; }
""")
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", source, "-o", program], check=True)
    calls = calls_by_name(record_deep(program=program))
    assert calls["fill"]["live"] == 10 * 1000
    assert calls["try_out"]["live"] == 0


def test_allocators_with_a_prefix_are_counted_as_malloc_is(record_deep: RecordDeep, tmp_path: Path) -> None:
    # GIVEN an allocator on memory of its own, named as a jemalloc that is linked in
    source, program = tmp_path / "prefixed.c", tmp_path / "prefixed"
    source.write_text("""
#include <stddef.h>
static char room[1 << 20];
static size_t used;
__attribute__((noipa)) void *je_malloc(size_t size) { used += (size + 15) / 16 * 16; return room + used; }
__attribute__((noipa)) void je_free(void *block) { (void)block; }
__attribute__((noipa)) void *keep(void) { return je_malloc(1000); }
__attribute__((noipa)) void try_out(void) { je_free(je_malloc(1000)); }
int main(void) { void *kept = 0; for (int i = 0; i < 7; i++) { kept = keep(); try_out(); } return !kept; }
""")
    subprocess.run(["gcc", "-O1", "-g", source, "-o", program], check=True)
    calls = calls_by_name(record_deep(program=program))
    # THEN
    assert (calls["keep"]["allocated"], calls["keep"]["live"]) == (7000, 7000)
    assert (calls["try_out"]["allocated"], calls["try_out"]["live"]) == (7000, 1000)  # one of them at the peak


def test_memory_is_counted_however_it_was_asked_for(record_deep: RecordDeep, shelf: Path, tmp_path: Path) -> None:
    # GIVEN a program that asks three times in each way for 1000 bytes, and keeps the first
    hoard = tmp_path / "hoard"
    source = Path(__file__).parent / "programs" / "hoard.c"
    subprocess.run(["gcc", "-O1", "-g", source, "-o", hoard], check=True)
    calls = calls_by_name(record_deep(program=hoard))
    # THEN
    ways = ("posix_memalign", "memalign", "aligned_alloc", "calloc", "strdup")
    counted = {way: (calls[f"by_{way}"]["allocated"], calls[f"by_{way}"]["live"]) for way in ways}
    assert counted == dict.fromkeys(ways, (3 * 1000, 1000))
    again = calls["by_reallocarray"]
    assert (again["allocated"], again["live"]) == (3 * (10 + 1000), 1000)
    # AND what was refused is no memory
    assert calls["in_vain"]["allocated"] == 0
