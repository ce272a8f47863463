"""Recordings made by hand whose samples follow each other in time as those of a real run do."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tests.engines.made import Made, recording
from whyperf.recording.sealed.manifest import Window

names = st.sampled_from(["main", "parse", "store", "render;odd", "libc:memcpy", "a<b>::c", "näme", "two\nlines"])
stacks = st.lists(
    st.tuples(st.lists(names, min_size=1, max_size=6).map(tuple), st.sampled_from([0.01, 0.05, 0.2])),
    min_size=1,
    max_size=8,
)


def timed(made: Made) -> Made:
    """Every thread's samples lie as far apart as they stand for."""
    samples = made.tables["samples"]
    weight, thread = samples.column("weight").to_numpy(), samples.column("thread").to_numpy()
    time = np.zeros(len(weight), np.int64)
    for one in np.unique(thread):
        time[thread == one] = 1_000_000 + np.cumsum(weight[thread == one])
    position = samples.schema.get_field_index("time")
    moved = samples.set_column(position, samples.schema.field(position), pa.array(time))
    window = Window(0, int(time.max(initial=0)))
    return replace(made, manifest=replace(made.manifest, window=window), tables={**made.tables, "samples": moved})


def sampled(stacks, **more) -> Made:
    return timed(recording(stacks, **more))


def seconds_by_function(stacks) -> Counter[str]:
    """Inclusive: a function counts once a stack, however often it is on it."""
    spent: Counter[str] = Counter()
    for words, seconds in stacks:
        for name in {word.removeprefix("libc:") for word in words}:
            spent[name] += seconds
    return spent
