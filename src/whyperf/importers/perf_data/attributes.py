"""`struct perf_event_attr`: what an event counts, and how its samples are laid out."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from whyperf.importers.perf_data.layout import EventType, SampleType

# type, size, config, period or frequency, sample type, read format, flags, wakeup, breakpoint type, config1, config2,
# branch sample type, user registers, user stack, clock, registers on interrupt, AUX watermark, deepest stack
_ATTRIBUTES = struct.Struct("<IIQQQQQIIQQQQIiQIHH")
_FREQUENCY, _SAMPLE_ID_ALL, _USE_CLOCK = 1 << 10, 1 << 18, 1 << 25
_CLOCK_MONOTONIC = 1
# What a config of hardware and software events stands for.
_HARDWARE = (
    *("cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles"),
    *("stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"),
)
_SOFTWARE = ("cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations")


@dataclass(frozen=True)
class Attributes:
    type: int
    config: int
    period: int  # 0 where perf adapted it to a frequency
    frequency: int  # 0 where the period was fixed
    sample_type: int
    read_format: int
    branch_sample_type: int
    user_registers: int
    monotonic: bool  # times are CLOCK_MONOTONIC
    sample_id_all: bool
    ids: tuple[int, ...]
    name: str

    @property
    def counts(self) -> str:
        """What is counted, without what perf adds to names: `cpu_core/event=0x3c/P` and `cycles:ppp` are cycles."""
        return _usual_name(self.type, self.config) or self.name.lower().split(":")[0].split(",")[0]

    @property
    def is_tracepoint(self) -> bool:
        return self.type == EventType.TRACEPOINT

    @property
    def copies_stacks(self) -> bool:
        both = SampleType.REGS_USER | SampleType.STACK_USER
        return self.sample_type & both == both


def parse_attributes(raw: bytes | memoryview, ids: tuple[int, ...], name: str = "") -> Attributes:
    """From at most the bytes given: older kernels have fewer, which then are zeros."""
    fields = _ATTRIBUTES.unpack(bytes(raw[: _ATTRIBUTES.size]).ljust(_ATTRIBUTES.size, b"\0"))
    kind, _, config, period, sample_type, read_format, flags, _, _, _, _, branches, registers, _, clock, *_ = fields
    by_frequency = bool(flags & _FREQUENCY)
    return Attributes(
        type=kind,
        config=config,
        period=0 if by_frequency else period,
        frequency=period if by_frequency else 0,
        sample_type=sample_type,
        read_format=read_format,
        branch_sample_type=branches,
        user_registers=registers,
        monotonic=bool(flags & _USE_CLOCK) and clock == _CLOCK_MONOTONIC,
        sample_id_all=bool(flags & _SAMPLE_ID_ALL),
        ids=ids,
        name=name or _usual_name(kind, config) or f"event {kind}:{config:#x}",
    )


def _usual_name(kind: int, config: int) -> str:
    """Empty for events of other kinds, which are known by the name that the user typed."""
    # Hybrid processors have the kind of core in the upper half.
    number = config & 0xFFFFFFFF
    names = _HARDWARE if kind == EventType.HARDWARE else _SOFTWARE if kind == EventType.SOFTWARE else ()
    return names[number] if number < len(names) else ""
