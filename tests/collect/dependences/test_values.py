"""Values through code without events, watched variables, allocations, memory pairs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.collect.dependences.producers import Producer, kinds_of, producers_of
from tests.collect.dependences.tool_run import functions_of, plan_text, record
from whyperf.collect.dependences.stream import DecodedStream, SiteFlag, Stream

TARGET = Path(__file__).parent / "targets" / "data.c"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data"
    flags = ["-O2", "-fno-tree-vectorize", "-no-pie", "-fno-builtin"]
    subprocess.run(["gcc", *flags, TARGET, "-o", path], check=True)
    return path


def _flattened(decoded: DecodedStream, event: int) -> set[int]:
    """An event's memory producers, looking through JOIN events."""
    found, waiting = (
        set[int](),
        [int(p) for p in producers_of(decoded, event)[kinds_of(decoded, event) == Producer.MEMORY]],
    )
    while waiting:
        producer = waiting.pop()
        if decoded.join[producer]:
            waiting += producers_of(decoded, producer).tolist()
        else:
            found.add(producer)
    return found


def _events_in(stream: Stream, decoded: DecodedStream, function: int) -> list[int]:
    sites = stream.sites["function"][decoded.site] == function
    return [int(e) for e in np.flatnonzero(sites & (decoded.join == 0)) if e]


@pytest.mark.parametrize("outside", ["pass", "tag"])
def test_values_pass_through_memcpy(program: Path, outside: str) -> None:
    # GIVEN only who produces numbers and who sums copies of them is zoomed
    plan = plan_text(program, {"produce": "zoom", "sum": "zoom"}, f"outside {outside}")
    stream = record(program, plan)
    decoded = stream.decode()
    produced = _events_in(stream, decoded, 0)
    origins = [
        producers for e in _events_in(stream, decoded, 1) if (producers := _flattened(decoded, e) & set(produced))
    ]
    if outside == "pass":
        # THEN each number's addition depends on the store that made it, in order
        assert len(origins) == 64 and all(len(one) == 1 for one in origins)
        assert origins == sorted(origins, key=min)
    else:
        # THEN no edge is made up, the loss is counted, and the pairs say who wrote
        assert not origins
        assert stream.inexact["outside"] >= 64
        writers = stream.sites[stream.pairs["writer"]]
        assert any("libc" in stream.modules[int(row["module"])].path for row in writers)


def test_copies_keep_the_bytes_of_their_makers(program: Path) -> None:
    plan = plan_text(program, {"produce": "zoom", "sum": "zoom"}, "outside pass")
    stream = record(program, plan)
    decoded = stream.decode()
    # THEN vector moves of 16 or 32 bytes do not mix the numbers that they carry
    loads = [e for e in _events_in(stream, decoded, 1) if (kinds_of(decoded, e) == Producer.MEMORY).any()]
    assert not any(decoded.join[p] for e in loads for p in producers_of(decoded, e))


def test_every_update_of_a_variable(program: Path) -> None:
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    address = next(line.split()[0] for line in listed.splitlines() if line.endswith(" total"))
    stream = record(program, plan_text(program, {"add": "zoom"}, extra=f"watch {int(address, 16):x} 8"))
    changes = [(int(w["old"]), int(w["new"])) for w in stream.watches]
    expected = sum(3 * i + 1 for i in range(64))
    assert changes == [(0, expected), (expected, expected + 100), (expected + 100, expected + 300)]
    # AND each belongs to the event that stored it
    decoded = stream.decode()
    assert (decoded.site[stream.watches["event"]] == stream.watches["site"]).all()


def test_allocations(program: Path) -> None:
    # GIVEN malloc and free of the C library are marked
    libc = next(
        Path(line.split()[2])
        for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()
        if "libc.so" in line
    )
    listed = subprocess.run(["nm", "-D", "--defined-only", libc], capture_output=True, text=True, check=True).stdout
    at = {
        line.split()[2].split("@")[0]: int(line.split()[0], 16)
        for line in listed.splitlines()
        if len(line.split()) == 3
    }
    extra = f"module {libc.resolve().name} -\n" + "".join(
        f"function {at[name]:x} entries heap\nrange {at[name]:x} {at[name] + 16:x}\n" for name in ("malloc", "free")
    )
    stream = record(program, plan_text(program, {"main": "entries", "reserve": "entries"}, extra=extra))
    decoded = stream.decode()
    reserve = functions_of(program)["reserve"]
    mine = [row for row in decoded.heap if reserve.entry <= row["caller"] < reserve.entry + reserve.size]
    # THEN the two calls show their sizes, and what they returned is freed
    assert [int(row["argument0"]) for row in mine] == [100, 200]
    freed = [int(row["argument0"]) for row in decoded.heap if row["function"] == 3]
    assert all(row["returned"] == 0 or int(row["result"]) in freed for row in mine)


def test_pairs_tell_who_writes_what_a_function_reads(program: Path) -> None:
    stream = record(program, plan_text(program, {"sum": "entries", "produce": "entries"}, "pairs yes"))
    readers = stream.sites["function"][stream.pairs["reader"]]
    writers = stream.sites[stream.pairs["writer"]]
    of_sum = readers == 0
    assert int(stream.pairs["loads"][of_sum].sum()) >= 64
    assert any("libc" in stream.modules[int(row["module"])].path for row in writers[of_sum])
    assert stream.events == 0


def test_marks_write_events(program: Path) -> None:
    entry = functions_of(program)["produce"].entry
    stream = record(program, plan_text(program, {"main": "entries"}, extra=f"mark {entry:x}"))
    assert stream.events == 64
    assert stream.sites["flags"][1] & SiteFlag.MARK
