"""Classes of system calls are data: each name is known, and the tracer's table in C does not contradict them."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from whyperf.engines.kernel import system_calls
from whyperf.engines.kernel.rules import CallRule
from whyperf.engines.kernel.wait_kinds import WaitKind
from whyperf.recording.names.system_calls import NUMBERS

HEADER = Path(__file__).parents[3] / "native" / "tracer" / "bpf" / "call_classes.h"
CLASSES = tomllib.loads(resources.files("whyperf.engines.kernel").joinpath("system_calls.toml").read_text())
DO = system_calls.WHAT_THEY_DO


def in_c() -> dict[str, str]:
    found = dict(re.findall(r"\[__NR_(\w+)\] = CALL_(\w+),", HEADER.read_text()))
    assert len(found) > 100
    return found


def waits_in() -> set[str]:
    return {call for calls in CLASSES["waited_for"].values() for call in calls} | {
        call for calls in CLASSES["waiting"].values() for call in calls
    }


def test_each_name_is_a_system_call() -> None:
    names = {name.partition(":")[0] for table in CLASSES.values() for calls in table.values() for name in calls}
    assert names <= set(NUMBERS)
    assert set(in_c()) <= set(NUMBERS)


def test_each_class_is_one_that_the_engines_know() -> None:
    assert {name.upper() for name in CLASSES["waited_for"]} < set(WaitKind.__members__)
    assert {name.upper() for name in DO} == set(CallRule.__members__)


def test_a_thread_waits_for_one_thing_in_a_call() -> None:
    listed = [call for calls in CLASSES["waited_for"].values() for call in calls]
    assert len(listed) == len(set(listed))


def test_no_call_that_the_tracer_leaves_out_is_waited_in_or_carries_anything() -> None:
    inert = {name for name, kind in in_c().items() if kind == "INERT"}
    assert not inert & waits_in()
    assert not inert & {call for name, calls in DO.items() if name != "close" for call in calls}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (DO["receive"], {"TRANSFER", "DESCRIPTOR", "QUEUE"}),
        (DO["send"], {"TRANSFER", "DESCRIPTOR", "QUEUE"}),
        (DO["accept"], {"DESCRIPTOR"}),
        (DO["lock"], {"FCNTL", "FLOCK"}),
        (["futex"], {"FUTEX"}),
        (system_calls.COUNTED, {"POLL"}),
        (system_calls.SENDING, {"TRANSFER", "DESCRIPTOR"}),
        (CLASSES["waited_for"]["queue"], {"SEMAPHORES", "QUEUE", "DESCRIPTOR"}),
    ],
)
def test_the_tracer_tells_what_such_a_call_is_about(ours: list[str], theirs: set[str]) -> None:
    known = in_c()
    assert {name: known.get(name) for name in ours if known.get(name) not in theirs} == {}


def test_each_call_that_the_tracer_says_the_length_of_receives_or_sends() -> None:
    transfers = {name for name, kind in in_c().items() if kind == "TRANSFER"}
    assert transfers <= {*DO["receive"], *DO["send"]}
