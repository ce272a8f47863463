"""Every edge that the tool reports, and no other, is the one that single-stepping the same binary finds."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.dependences.oracle import OracleEvent, trace, trace_through
from tests.dependences.programs import FUNCTIONS, compiled, programs
from tests.dependences.tool_run import functions_of, plan_text, record
from whyperf.collect.dependence_stream import Decoded, Producer, Stream

EXAMPLES = int(os.environ.get("WHYPERF_ORACLE_EXAMPLES", "6"))
FLAGS = [("-O0",), ("-O2", "-fno-tree-vectorize"), ("-O3", "-mavx2"), ("-O2", "-msse4.2"), ("-Os",)]


def recorded_events(stream: Stream, decoded: Decoded) -> list[OracleEvent]:
    events = []
    for event in range(1, stream.events + 1):
        producers, kinds = decoded.producers_of(event), decoded.kinds_of(event)

        def of(kind: Producer, producers=producers, kinds=kinds) -> frozenset[int]:
            return frozenset(producers[kinds == kind].tolist())

        address = int(stream.sites["address"][decoded.site[event]])
        events.append(
            OracleEvent(address, of(Producer.REGISTER), of(Producer.MEMORY), of(Producer.OLD), of(Producer.ADDRESS))
        )
    return events


def compare(recorded: list[OracleEvent], expected: list[OracleEvent]) -> None:
    for number, (got, want) in enumerate(zip(recorded, expected, strict=False), 1):
        same = (got.address, got.registers, got.memory, got.old, got.addresses)
        if same != (want.address, want.registers, want.memory, want.old, want.addresses):
            before = "\n".join(f"  {n} {expected[n - 1].text}" for n in range(max(1, number - 12), number + 1))
            raise AssertionError(f"event {number}: recorded {got}\nexpected {want}\n{before}")
    assert len(recorded) == len(expected)


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
# Shrinking would take minutes: each attempt compiles, steps and records a program.
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.generate)
)
@given(source=programs())
def test_every_edge_equals_single_stepping(flags: tuple[str, ...], source: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        program = compiled(source, Path(name), *flags)
        # WHEN all of the generated code is zoomed
        modes = dict.fromkeys(FUNCTIONS, "zoom")
        stream = record(program, plan_text(program, modes, "addresses yes"))
        recorded = recorded_events(stream, stream.decode())
        # THEN the events and their producers are those of the oracle
        compare(recorded, trace(str(program), functions_of(program)["run"].entry))
        assert stream.complete and "producers" not in stream.inexact


def flattened(recorded: list[OracleEvent], decoded: Decoded) -> list[OracleEvent]:
    """Without JOIN events: what they joined stands where they stood, and the others are numbered anew."""
    origins: dict[int, frozenset[int]] = {}
    kept: list[OracleEvent] = []

    def through(producers: frozenset[int]) -> frozenset[int]:
        return frozenset[int]().union(*(origins[producer] for producer in producers))

    for number, event in enumerate(recorded, 1):
        if decoded.join[number]:
            origins[number] = through(event.registers)
            continue
        kept.append(
            OracleEvent(
                event.address,
                through(event.registers),
                through(event.memory),
                through(event.old),
                through(event.addresses),
            )
        )
        origins[number] = frozenset({len(kept)})
    return kept


@pytest.mark.parametrize("flags", [FLAGS[0], FLAGS[1], FLAGS[4]], ids=" ".join)
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.generate)
)
@given(source=programs(vectors=False))
def test_values_that_pass_through_equal_single_stepping(flags: tuple[str, ...], source: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        program = compiled(source, Path(name), *flags)
        # WHEN some functions are zoomed, and values pass through the others
        stream = record(program, plan_text(program, {"run": "zoom", "deeper": "zoom"}, "outside pass", "addresses yes"))
        decoded = stream.decode()
        recorded = flattened(recorded_events(stream, decoded), decoded)
        # THEN the producers are the nearest zoomed ones that the oracle finds
        functions = functions_of(program)
        zoomed = [range(f.entry, f.entry + f.size) for f in (functions["run"], functions["deeper"])]
        compare(recorded, trace_through(str(program), functions["run"].entry, lambda a: any(a in r for r in zoomed)))
