"""A few targets of `python -m bench.transparency`: those in which something was once found."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest
from bench.odd_targets.listed import TARGETS
from bench.odd_targets.matrix import compare_targets
from bench.odd_targets.target import Target

BY_NAME = {target.name: target for target in TARGETS}
_PR_GET_MDWE = 66
TRACES = os.geteuid() == 0 and Path("/sys/kernel/btf/vmlinux").exists()


def answers(names: list[str], way: str) -> dict[str, str]:
    chosen: list[Target] = [BY_NAME[name] for name in names]
    return {row.target: row.cells[way].answer for row in compare_targets(chosen, [way])}


def test_names_are_told_apart() -> None:
    assert len(BY_NAME) == len(TARGETS) >= 31


@pytest.mark.skipif(not TRACES, reason="tracing needs root and a kernel with BTF")
def test_program_without_sampler_is_traced_without_its_variables() -> None:
    # musl's linker ends programs for a library that it cannot load.
    told = answers(["static", "musl"], "trace")
    assert told["static"] == "same"
    assert told["musl"] in {"same", "skipped"}


def test_program_whose_sanitizer_must_come_first_is_not_counted() -> None:
    assert answers(["gcc address sanitizer"], "counts")["gcc address sanitizer"] in {"refused", "skipped"}


def test_programs_that_look_for_others_find_none() -> None:
    names = ["own handlers of all signals", "lists its descriptors", "closes its outputs", "looks at itself"]
    assert set(answers(names, "record").values()) == {"same"}


@pytest.mark.parametrize("way", ["record", "memory", "counts", "observed"])
def test_a_program_that_its_parent_traces_is_not_stopped(way: str) -> None:
    assert answers(["has itself traced"], way) == {"has itself traced": "same"}


@pytest.mark.parametrize(
    "name", ["seccomp filter", "clone flags", "dlopen storm", "dlmopen", "traces its child", "looks for a tracer"]
)
def test_observed_programs_do_the_same(name: str) -> None:
    assert answers([name], "observed") == {name: "same"}


@pytest.mark.parametrize("way", ["record", "memory", "observed", "blocks"])
def test_a_programs_own_clock_is_not_called(way: str) -> None:
    # It may hold a lock when a sample or a trap comes.
    assert answers(["own clock"], way) == {"own clock": "same"}


@pytest.mark.parametrize("way", ["observed", "blocks"])
def test_traps_get_through_however_the_program_blocks_them(way: str) -> None:
    assert answers(["own traps"], way) == {"own traps": "same"}


@pytest.mark.skipif(
    ctypes.CDLL(None).prctl(_PR_GET_MDWE, 0, 0, 0, 0) < 0,
    reason="the kernel has no PR_SET_MDWE: it is of Linux 6.3 and later",
)
@pytest.mark.parametrize("way", ["record", "memory", "observed", "blocks"])
def test_a_program_that_gets_no_new_executable_memory_does_the_same(way: str) -> None:
    assert answers(["write xor execute"], way) == {"write xor execute": "same"}
