"""Chains of one run alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from whyperf.collect.target.program import Program
from whyperf.diagnose.origin import Origin
from whyperf.origin.search import search
from whyperf.origin.starts import Start, start_at_variable


def alone(start: Start, program: Path, *words: str, **options: Any) -> Origin:
    command = Program(str(program), (str(program), *words))
    origin = search(start, command, command, environment=dict(os.environ), alone=True, **options).origin
    # THEN nothing is said of runs that were not made
    assert origin.is_alone and all(hop.good == "" and ", was" not in hop.sentence for hop in origin.hops)
    assert "good run" not in origin.sentence and "was `" not in origin.sentence
    return origin


def spin(program: Path, *words: str, **options: Any) -> Origin:
    return alone(start_at_variable(program, "spin", "rounds"), program, *words, **options)


def places(origin: Origin) -> list[tuple[str, int]]:
    return [(hop.function, hop.line) for hop in origin.hops]
