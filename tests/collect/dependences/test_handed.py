"""Values that cross from one thread to another, or come from a signal's handler, keep who made them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.collect.dependences.producers import Producer, kinds_of, producers_of
from tests.collect.dependences.tool_run import functions_of, plan_text, record

TARGET = Path(__file__).parent / "targets" / "handed.c"


@pytest.mark.parametrize("flags", [("-O0",), ("-O2", "-fno-tree-vectorize", "-fno-unroll-loops")], ids=" ".join)
def test_producers_of_other_threads_and_of_handlers(flags: tuple[str, ...], tmp_path: Path) -> None:
    program = tmp_path / "handed"
    subprocess.run(["gcc", "-g", "-no-pie", *flags, TARGET, "-o", program, "-lpthread"], check=True)
    names = ("produce", "consume", "handle", "look")
    stream = record(program, plan_text(program, dict.fromkeys(names, "zoom")))
    decoded = stream.decode()
    at = stream.sites["address"][decoded.site]
    functions = functions_of(program)

    def inside(name: str, event: int) -> bool:
        return functions[name].entry <= at[event] < functions[name].entry + functions[name].size

    read = [
        (event, int(producer))
        for event in range(1, stream.events + 1)
        for producer in producers_of(decoded, event)[kinds_of(decoded, event) == Producer.MEMORY]
    ]
    # THEN each of the 16 sums has its own store of the other thread as its producer, and what was left behind its one
    handed = [producer for event, producer in read if inside("consume", event) and inside("produce", producer)]
    assert len(handed) == len(set(handed)) == 16
    assert sum(inside("look", event) and inside("handle", producer) for event, producer in read) == 1
    assert stream.complete and stream.threads == 2
