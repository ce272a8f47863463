"""System calls by what they do and what is waited for in them, as system_calls.toml says."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.recording.names.system_calls import NUMBERS

Names = tuple[str, ...]


def _classes() -> dict[str, dict[str, Names]]:
    text = Path(__file__).with_name("system_calls.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return {table: {name: tuple(calls) for name, calls in classes.items()} for table, classes in tables.items()}


_CLASSES = _classes()

WHAT_THEY_DO = {name: list(calls) for name, calls in _CLASSES["what_they_do"].items()}
WAITED_FOR = _CLASSES["waited_for"]
READY = _CLASSES["waiting"]["ready"]
EITHER = _CLASSES["waiting"]["either"]
FOR_ITS_OWN = _CLASSES["waiting"]["for_its_own"]
COUNTED = _CLASSES["waiting"]["counted"]
SENDING = _CLASSES["waking"]["sending"]
REQUEST_READS = _CLASSES["requests"]["reads"]
REQUEST_WRITES = _CLASSES["requests"]["writes"]
SLEEPS = tuple(WHAT_THEY_DO["sleep"])
STORAGE = _CLASSES["looks"]["storage"]
LOCKS = _CLASSES["looks"]["locks"]
CHILDREN = _CLASSES["looks"]["children"]
SOCKETS = _CLASSES["looks"]["sockets"]


def numbers(names: Iterable[str]) -> npt.NDArray[np.int64]:
    return np.array([NUMBERS[name] for name in names])
