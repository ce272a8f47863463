"""What a hop is called."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from whyperf.debuginfo.slices.module import SourcePlace
from whyperf.diagnose.origin import Hop, HopKind
from whyperf.origin.hops import Grouped, as_hop
from whyperf.origin.program_code import CodeAddress
from whyperf.origin.trail import TrailStep
from whyperf.origin.values import ComparedValues, Sample


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("return weight * 8; /* bytes */", "room_for()"),
        ("static long room_for(long weight) { return weight * 8; }", "room_for()"),
        ("size_t room_for(int x) const noexcept { return weight_ * 8; } // bytes", "room_for()"),
        ("room = weight * 8;", "room = weight * 8"),
        ("long room = weight * 8; /* bytes */", "room = weight * 8"),
        ("if (weight > 8) { return 8; }", "if (weight > 8) { return 8; }"),
        ("long room_for(long weight) { if (!weight) return 0; return weight * 8; }", None),
        ("returned = weight * 8;", "returned = weight * 8"),
    ],
)
def test_what_a_function_returns_is_named_by_the_function(source: str, name: str | None) -> None:
    hop = _hop(source)
    assert (hop.what == name) if name else hop.what != "room_for()"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("__attribute__((noinline)) static long room_for(int size)", "size"),
        ("long room_for(const struct order *order) { // for one", "order"),
        ("long room_for(void)", None),
        ("long room_for(int)", None),
        ("static long room_for(unsigned int)", None),
        ("long room_for(unsigned size) {", "size"),
        ("long room_for(const struct order)", None),
        ("long room_for(char *const)", None),
        ("long room_for(int size, int more)", None),
        ("room = room_for(more size);", None),
        ("total += room_for(size)", None),
    ],
)
def test_the_only_parameter_names_the_head_of_a_function(source: str, name: str | None) -> None:
    assert _hop(source).what == (name or source.rstrip(";"))


def _hop(source: str) -> Hop:
    at = cast(CodeAddress, SimpleNamespace(module=SimpleNamespace(path=Path("tool"))))
    good, bad = (Sample(np.full(4, value, np.uint64), np.arange(4, dtype=np.uint64), 4, True) for value in (1, 2))
    step = TrailStep(HopKind.COMPUTED, at, ComparedValues(good, bad), "")
    return as_hop(Grouped((step,), SourcePlace("room_for", "tool.c", 7)), lambda _file, _line: source)
