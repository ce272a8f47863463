"""Collapsed stacks, `caller;callee weight` a line: what stackcollapse-*.pl, async-profiler, py-spy and rbspy write."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from whyperf.errors import WhyperfError
from whyperf.importers.named_stacks import NamedPlace, NamedProfile, NamedStack

UNITS = {"samples": 0.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}  # seconds; samples: by the rate

_LINE = re.compile(r"(?P<stack>.+) (?P<weight>\d+)")
_TWO_WEIGHTS = re.compile(r".+ \d+ \d+")
_MOST_DIGITS = 18  # nanoseconds of 30 years
_LAYER = re.compile(r"_\[[kji]\]$")  # flamegraph.pl's marks for kernel, JIT-compiled and inlined code


def read_collapsed(path: Path, text: str, *, unit: str = "samples", rate_hz: float = 99.0) -> NamedProfile:
    """`rate_hz` is the rate of the samples that were counted; where weights are times, the rate to take them at."""
    stacks, skipped, program = [], 0, path.stem
    places = cache(_place)  # one object for each name, however often it is called
    for line in text.splitlines():
        found = _LINE.fullmatch(line.strip())
        if found is None:
            skipped += bool(line.strip()) and not line.startswith("#")
            continue
        if _TWO_WEIGHTS.fullmatch(line.strip()):
            raise WhyperfError(
                f"{path} has two weights a line: it is the difference of two profiles, and holds no single one.",
                "whyperf import PROFILE -o RECORDING",
            )
        if len(found["weight"]) > _MOST_DIGITS:
            raise WhyperfError(
                f"{path} holds a weight of {len(found['weight'])} digits, more than anybody can mean.",
                "whyperf import --help",
            )
        weight = int(found["weight"])
        seconds = weight * UNITS[unit] if UNITS[unit] else weight / rate_hz
        samples = weight if unit == "samples" else max(round(seconds * rate_hz), 1)
        if weight:
            stacks.append(NamedStack(tuple(map(places, found["stack"].split(";"))), seconds, samples))
    if not stacks:
        raise WhyperfError(
            f"{path} holds no collapsed stacks: lines of `caller;callee weight`.", "whyperf import --help"
        )
    notes = (f"{skipped} lines were no collapsed stacks and were passed over.",) if skipped else ()
    return NamedProfile(program, tuple(stacks), rate_hz, notes=notes)


def _place(name: str) -> NamedPlace:
    plain = _LAYER.sub("", name)
    return NamedPlace(plain, "[kernel]" if name.endswith("_[k]") else "")
