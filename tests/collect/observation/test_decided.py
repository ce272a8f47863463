"""Conditional jumps that go one way, whatever their condition says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.collect.blocks.jumps import jumps_of
from tests.collect.observation.programs import compiled, instructions, observed
from whyperf.collect.observation.sites import Decided, ObservedSite
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.probes.blocks import plan_blocks

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler"),
]

# One jump over few instructions, one over many: x86-64 has two forms, 64-bit ARM three.
_SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int near(int value) {
    if (value > 7)
        __asm__ volatile("nop");
    else
        value += 100;
    __asm__ volatile("");
    return value;
}
__attribute__((noinline)) int far(int value) {
    if (value & 4) {
        __asm__ volatile(".rept 100\n nop\n .endr");
        value += 1000;
    }
    __asm__ volatile("");
    return value;
}
__attribute__((noinline)) int zero(const char *text) {
    if (text)
        return puts(text);
    return 7;
}
int main(int argc, char **argv) {
    int value = argc > 1 ? atoi(argv[1]) : 0;
    printf("%d %d %d\n", near(value), far(value), zero(0));
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("decided"), _SOURCE, name="decided")


def _described(path: Path) -> Binary:
    return describe(str(path))


def jump_in(program: Path, function: str) -> int:
    """The one conditional jump of a function."""
    plan = plan_blocks(_described(program))
    assert plan is not None
    inside = {one.address for one in instructions(program, function)}
    (found,) = (one.address for one in jumps_of(plan) if one.address in inside)
    return found


def printed(program: Path, value: int, function: str, taken: bool | None) -> tuple[int, str]:
    site = ObservedSite(program, jump_in(program, function), decided=Decided(taken))
    seen = observed([program, str(value)], [site])
    assert seen.placed == (True,), seen.refused
    return seen.status, seen.output


@pytest.mark.parametrize(("function", "values"), [("near", (3, 9)), ("far", (3, 4))])
def test_a_jump_goes_the_way_that_it_is_told(program: Path, function: str, values: tuple[int, int]) -> None:
    # GIVEN what the program prints for two values that go different ways
    plain = [observed([program, str(value)]).output for value in values]
    as_is = [printed(program, value, function, None) for value in values]
    assert as_is == [(0, plain[0]), (0, plain[1])]
    # WHEN the jump is always taken, or never
    always = [printed(program, value, function, True)[1] for value in values]
    never = [printed(program, value, function, False)[1] for value in values]
    # THEN of each value one way is its own, and the other one is not
    for own, one, other in zip(plain, always, never, strict=True):
        assert own in (one, other) and one != other


def test_what_is_no_conditional_jump_is_refused(program: Path) -> None:
    first = instructions(program, "near")[0].address
    seen = observed([program, "3"], [ObservedSite(program, first, decided=Decided(True))])
    assert not seen.placed[0] and "no conditional jump" in seen.refused[0] and seen.status == 0
