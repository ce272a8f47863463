"""What an imported recording says, in the oracle's words."""

from __future__ import annotations

from collections import Counter

from tests.importers.oracle import Sample
from whyperf.recording.sealed.reader import Recording


def samples(recording: Recording) -> list[Sample]:
    frames = recording.table("frames").to_pylist()
    functions = recording.table("functions").column("name").to_pylist()
    stacks = recording.table("stacks").to_pylist()
    threads = recording.table("threads").column("tid").to_pylist()

    def outermost(frame: int) -> str:
        """The function that has code of its own: perf leaves inlined ones out."""
        while frames[frame]["inlined_in"] >= 0:
            frame = frames[frame]["inlined_in"]
        row = frames[frame]["function"]
        return functions[row] if row >= 0 else "[unknown]"

    def path(node: int) -> tuple[str, ...]:
        names = []
        while node >= 0:
            names.append(outermost(stacks[node]["frame"]))
            node = stacks[node]["parent"]
        return tuple(names)

    return [
        Sample(threads[row["thread"]], row["time"] // 1000, row["weight"], path(row["stack"]))
        for row in recording.table("samples").to_pylist()
    ]


def shares(recording: Recording) -> dict[str, float]:
    spent: Counter[str] = Counter()
    for sample in samples(recording):
        spent[sample.functions[0] if sample.functions else "[unknown]"] += sample.period
    total = sum(spent.values())
    return {name: weight / total for name, weight in spent.items()}
