"""What other tools read must add up to what was recorded, whatever functions are called."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from hypothesis import given

from tests.export.made import sampled, seconds_by_function, stacks
from tests.export.readers import npm_package
from whyperf.export.chrome import chrome
from whyperf.export.collapsed import collapsed, collapsed_difference
from whyperf.export.firefox import firefox
from whyperf.export.profile import profile_of
from whyperf.export.speedscope import speedscope
from whyperf.recording.schemas.tables import Clock

SLOW = [(("main", "parse"), 0.5), (("main", "store", "libc:memcpy"), 1.0), (("main", "store"), 0.25)]


def one_line(name: str) -> str:
    return name.replace(";", ":").replace("\n", " ")


@pytest.mark.thorough
@given(stacks)
def test_collapsed_stacks_add_up(stacks):
    lines = list(collapsed(profile_of(sampled(stacks)), Clock.CPU))
    spent: Counter[str] = Counter()
    for line in lines:
        path, micros = line.rstrip("\n").rsplit(" ", 1)
        program, *functions = path.split(";")
        assert program == "tool"
        for name in set(functions):
            spent[name] += int(micros) / 1e6
    expected = {one_line(name): seconds for name, seconds in seconds_by_function(stacks).items()}
    assert spent == pytest.approx(expected, abs=1e-4)


def test_the_difference_has_both_weights():
    fast = [(("main", "parse"), 0.5), (("main", "gone"), 0.1)]
    lines = list(collapsed_difference(profile_of(sampled(fast)), profile_of(sampled(SLOW)), Clock.CPU))
    assert lines == [
        "tool;main;gone 100000 0\n",
        "tool;main;parse 500000 500000\n",
        "tool;main;store 0 250000\n",
        "tool;main;store;memcpy 0 1000000\n",
    ]


def test_blocked_time_is_a_clock_of_its_own():
    made = sampled(SLOW, blocked=[(("main", "wait", "libc:poll"), 2.0)], clock="wall")
    assert list(collapsed(profile_of(made), Clock.BLOCKED)) == ["tool;main;wait;poll 2000000\n"]


def test_inlined_functions_are_frames_of_their_own():
    lines = list(collapsed(profile_of(sampled([(("main", "outer", "~inner"), 1.0)])), Clock.CPU))
    assert lines == ["tool;main;outer;inner 1000000\n"]


@pytest.mark.thorough
@given(stacks)
def test_speedscope_profiles_add_up(stacks):
    made = speedscope(profile_of(sampled(stacks, threads=2)))
    spent: Counter[str] = Counter()
    for profile in made["profiles"]:
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        for path, weight in zip(profile["samples"], profile["weights"], strict=True):
            for name in {made["shared"]["frames"][frame]["name"] for frame in path}:
                spent[name] += weight / 1e9
    assert spent == pytest.approx(dict(seconds_by_function(stacks)), abs=1e-6)


@pytest.mark.process
def test_speedscope_takes_its_own_schema():
    schema = json.loads((npm_package("speedscope") / "dist/release/file-format-schema.json").read_text())
    jsonschema.validate(json.loads(json.dumps(speedscope(profile_of(sampled(SLOW, threads=2))))), schema)


@pytest.mark.thorough
@given(stacks)
def test_slices_nest_and_add_up(stacks):
    events = chrome(profile_of(sampled(stacks, threads=2)))["traceEvents"]
    by_thread = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            by_thread[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    total = 0.0
    for slices in by_thread.values():
        slices.sort(key=lambda one: (one[0], -one[1]))
        opened: list[tuple[float, float]] = []
        for start, end in slices:
            while opened and opened[-1][1] <= start + 1e-6:
                opened.pop()
            assert not opened or end <= opened[-1][1] + 1e-6  # inside what is open
            total += 0 if opened else end - start
            opened.append((start, end))
    assert total / 1e6 == pytest.approx(sum(seconds for _, seconds in stacks), rel=1e-3)


def test_a_gap_ends_a_slice():
    # GIVEN samples of 5 ms, then nothing for longer than that, then more of the same
    profile = profile_of(sampled([(("main", "parse"), 0.1)]))
    (thread,) = profile.threads
    gapped = replace(thread, time=thread.time + np.where(np.arange(len(thread.time)) >= 10, 50_000_000, 0))
    # THEN each function is two slices
    events = chrome(replace(profile, threads=(gapped,)))["traceEvents"]
    assert Counter(event["name"] for event in events if event["ph"] == "X") == {"main": 2, "parse": 2}


@pytest.mark.thorough
@given(stacks)
def test_firefox_tables_are_consistent(stacks):
    made = firefox(profile_of(sampled(stacks)))
    (thread,) = made["threads"]
    stack, frame, func = thread["stackTable"], thread["frameTable"], thread["funcTable"]
    for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "samples"):
        table = thread[name]
        columns = [column for column in table.values() if isinstance(column, list)]
        assert {len(column) for column in columns} == {table["length"]}
    spent: Counter[str] = Counter()
    for node, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"], strict=True):
        names, at = set(), node
        while at is not None:
            assert stack["prefix"][at] is None or stack["prefix"][at] < at
            names.add(thread["stringArray"][func["name"][frame["func"][stack["frame"][at]]]])
            at = stack["prefix"][at]
        for name in names:
            spent[name] += weight / 1000
    assert spent == pytest.approx(dict(seconds_by_function(stacks)), abs=1e-6)
