"""Counts of generated programs are exactly what the programs do."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings

from tests.collect.counts.generated import Program, programs
from tests.collect.counts.machine import UNCOUNTED, counting_machine
from whyperf.recording.schemas.call_tables import CallKind

_GENERATED = re.compile(r"f\d+")


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(programs())
def test_every_site_is_counted_exactly(program: Program) -> None:
    source, places = program.source()
    with counting_machine() as machine:
        binary = machine.compiled(source, kinds=frozenset(CallKind))
        plain, counted = machine.plain(binary), machine.counted(binary)
        assert (counted.status, counted.output) == (plain.status, plain.output) == (7, counted.output)
        found = machine.line_edges(binary, counted.processes)
    expected = program.expected(places)
    for edge, count in found.items():
        function, kind = edge[0], edge[3]
        if kind is CallKind.ENTRY and _GENERATED.fullmatch(function):
            assert count in (UNCOUNTED, program.entries()[int(function[1:])]), edge
        elif _GENERATED.fullmatch(function) and count != UNCOUNTED and kind is not CallKind.ITERATION:
            assert count == expected[edge], edge
    # No direct call is missing; jumps into other functions may be too short, even so far apart.
    for edge, count in expected.items():
        if edge[3] is CallKind.CALL and count:
            assert found[edge] == count, edge
