"""Messages of recordings from which the tracer left calls out for a while."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engines.causes.scripted import MS, PIPE, Script
from tests.engines.made import Made
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.settings import CausesSettings
from whyperf.recording.sealed.manifest import Shed

_QUICK = "system calls that neither waited nor woke anybody"


def _shed(made: Made, *sheds: Shed) -> Made:
    assert made.manifest.trace
    return replace(made, manifest=replace(made.manifest, trace=replace(made.manifest.trace, shed=sheds)))


def _pairs(made: Made) -> list[tuple[int, int]]:
    graph = Graph(made, CausesSettings())
    at = graph.trace.events.time // MS
    pairs = zip(graph.messages.send, graph.messages.receive, strict=True)
    return sorted((int(at[send]), int(at[receive])) for send, receive in pairs)


def _transfers(missing: range) -> Script:
    """A message every 10 ms, read 2 ms later; no read is recorded at a time that is missing."""
    script = Script()
    for at in range(10, 100, 10):
        script.did("client", at, "write", 8, object=PIPE | 7)
        if at + 2 not in missing:
            script.did("server", at + 2, "read", 8, object=PIPE | 7)
    return script


def test_bytes_missing_while_calls_were_shed_shift_none_that_follow() -> None:
    # GIVEN reads that were left out between 35 and 55 ms
    made = _transfers(missing=range(35, 55)).made()
    # WHEN this is told, THEN what came before and after is paired as it was, and nothing is in between
    told = _shed(made, Shed(_QUICK, 35 * MS, 55 * MS))
    assert _pairs(told) == [(at, at + 2) for at in (10, 20, 30, 60, 70, 80, 90)]
    # AND were it not told, old messages would be taken for new ones
    assert (40, 62) in _pairs(made)


@pytest.mark.parametrize("what", ["stacks of system calls", "system calls that neither block nor transfer"])
def test_missing_stacks_are_no_gap(what: str) -> None:
    made = _transfers(missing=range(0)).made()
    assert _pairs(made)
    assert _pairs(_shed(made, Shed(what, 0, 100 * MS))) == _pairs(made)


def test_every_level_that_leaves_out_transfers_is_a_gap() -> None:
    tracer = pytest.importorskip("whyperf.collect._tracer")
    made = _transfers(missing=range(0)).made()
    gaps = [what for what in tracer.SHED_LEVELS if not _pairs(_shed(made, Shed(what, 0, 100 * MS)))]
    assert gaps == [_QUICK, "socket lengths and timers", "system calls"]


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 40)), max_size=5))
def test_no_message_crosses_a_gap(spans: list[tuple[int, int]]) -> None:
    sheds = [Shed(_QUICK, begin * MS, (begin + length) * MS) for begin, length in spans]
    for send, receive in _pairs(_shed(_transfers(missing=range(0)).made(), *sheds)):
        for begin, length in spans:
            assert receive < begin or send >= begin + length
