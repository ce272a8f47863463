"""Samples as columns, in the order of their times."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.importers._perf_data import Decoder
from whyperf.importers.perf_data.attributes import Attributes
from whyperf.importers.perf_data.container import Container
from whyperf.importers.perf_data.layout import HIGHEST_PID, LAST_TIME, LONGEST_PERIOD, NOBODY

# `struct perf_sample` and `struct sample_layout` of native/perf_data/samples.h.
SAMPLE = np.dtype(
    [
        ("time", "<u8"),
        ("ip", "<u8"),
        ("address", "<u8"),
        ("period", "<u8"),
        ("raw", "<u8"),
        ("registers", "<u8"),
        ("memory", "<u8"),
        ("raw_size", "<u4"),
        ("memory_size", "<u4"),
        ("pid", "<u4"),
        ("tid", "<u4"),
        ("cpu", "<u4"),
        ("event", "<u4"),
        ("user_stack", "<u4"),
        ("kernel_stack", "<u4"),
        ("misc", "<u2"),
        ("abi", "u1"),
        ("cut", "u1"),
        ("unused", "<u4"),
    ]
)
assert SAMPLE.itemsize == 96

Samples = npt.NDArray[np.void]  # of SAMPLE


@dataclass(frozen=True)
class DecodedSamples:
    samples: Samples  # in time order
    decoder: Decoder  # which knows the stacks
    foreign: int  # samples of events that the file does not describe
    damaged: int


def decode(container: Container, tables: Path) -> DecodedSamples:
    """`tables`: the folder of unwind tables."""
    decoder = _decoder(container.events, tables)
    raw, foreign, damaged = decoder.decode(container.data, container.samples.data)
    samples = np.frombuffer(raw, SAMPLE)
    sound = _sound(samples)
    if not sound.all():
        damaged += int(np.count_nonzero(~sound))
        samples = samples[sound]
    # Every CPU's buffer is in order by itself; perf's rounds only bound how far apart they are in the file.
    time = samples["time"]
    if not np.all(time[1:] >= time[:-1]):
        samples = samples[np.argsort(time, kind="stable")]
    return DecodedSamples(samples, decoder, foreign, damaged)


def _sound(samples: Samples) -> npt.NDArray[np.bool_]:
    pid, tid = samples["pid"], samples["tid"]
    numbers = ((pid < HIGHEST_PID) | (pid == NOBODY)) & ((tid < HIGHEST_PID) | (tid == NOBODY))
    sound: npt.NDArray[np.bool_] = numbers & (samples["time"] < LAST_TIME) & (samples["period"] < LONGEST_PERIOD)
    return sound


def _decoder(events: tuple[Attributes, ...], tables: Path) -> Decoder:
    layouts = np.array(
        [(one.sample_type, one.read_format, one.branch_sample_type, one.user_registers) for one in events], np.uint64
    )
    pairs = sorted({identity: number for number, one in enumerate(events) for identity in one.ids}.items())
    ids = np.array([identity for identity, _ in pairs], np.uint64)
    numbers = np.array([number for _, number in pairs], np.uint32)
    return Decoder(layouts.data, ids.data, numbers.data, tables)
