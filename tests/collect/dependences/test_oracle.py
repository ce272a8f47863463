"""Every edge that the tool reports, and no other, is the one that single-stepping the same binary finds."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings

from tests.architecture import HERE
from tests.collect.dependences.effects import UnknownInstructionError
from tests.collect.dependences.oracle import OracleEvent, trace
from tests.collect.dependences.producers import Producer, kinds_of, producers_of
from tests.collect.dependences.programs import FUNCTIONS, compiled, programs
from tests.collect.dependences.tool_run import functions_of, plan_text, record
from whyperf.collect.architecture import X86_64
from whyperf.collect.dependences.stream import DecodedStream, Stream

# A few programs that are always the same; with the variable set, so many new ones.
CHOSEN = os.environ.get("WHYPERF_ORACLE_EXAMPLES")
PROGRAMS = settings(
    max_examples=int(CHOSEN or 6),
    derandomize=CHOSEN is None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # Shrinking would take minutes: each attempt compiles, steps and records a program.
    phases=(Phase.generate,),
)
VECTORS = [("-O3", "-mavx2"), ("-O2", "-msse4.2")] if HERE is X86_64 else [("-O3",), ("-O2",)]
SCALARS = [("-O0",), ("-O2", "-fno-tree-vectorize"), ("-Os",)]


def recorded_events(stream: Stream, decoded: DecodedStream) -> list[OracleEvent]:
    events = []
    for event in range(1, stream.events + 1):
        producers, kinds = producers_of(decoded, event), kinds_of(decoded, event)

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


def stepped(program: Path, is_selected: Callable[[int], bool]) -> list[OracleEvent]:
    try:
        return trace(str(program), functions_of(program)["run"].entry, is_selected)
    except UnknownInstructionError:
        reject()


@pytest.mark.parametrize("flags", [*SCALARS, *VECTORS], ids=" ".join)
@PROGRAMS
@given(source=programs())
def test_every_edge_equals_single_stepping(flags: tuple[str, ...], source: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        program = compiled(source, Path(name), *flags)
        # WHEN all of the generated code is zoomed
        modes = dict.fromkeys(FUNCTIONS, "zoom")
        stream = record(program, plan_text(program, modes, "addresses yes"))
        recorded = recorded_events(stream, stream.decode())
        # THEN the events and their producers are those of the oracle
        compare(recorded, stepped(program, lambda _: True))
        assert stream.complete and "producers" not in stream.inexact


def flattened(recorded: list[OracleEvent], decoded: DecodedStream) -> list[OracleEvent]:
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


@pytest.mark.parametrize("flags", SCALARS, ids=" ".join)
@PROGRAMS
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
        compare(recorded, stepped(program, lambda address: any(address in code for code in zoomed)))
