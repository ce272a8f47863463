"""The rules: which wake-ups are evidence of causality, and which functions take locks."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whyperf.engines.kernel.system_calls import WHAT_THEY_DO
from whyperf.recording.names.system_calls import NAMES, NUMBERS
from whyperf.recording.rules_file import unusable, users_rules


class LinkStrength(IntEnum):
    """The paper's edge values (section 6.1)."""

    STRONG = -1
    BOOSTED = 0
    WEAK = 1


class CallRule(IntFlag):
    """What a system call does, as far as waiting and causing are concerned."""

    RECEIVE = 1
    SEND = 2
    ACCEPT = 4
    MULTIPLEX = 8
    SLEEP = 16
    CHILD = 32
    LOCK = 64
    FUTEX = 128
    EXIT = 256
    ACTING = 512
    CLOSE = 1024


@dataclass(frozen=True)
class WakeRule:
    name: str
    calls: frozenset[int]
    functions: tuple[str, ...]
    strength: LinkStrength
    why: str

    def fits(self, call: int, functions: Sequence[str]) -> bool:
        return call in self.calls and (not self.functions or _any_begins(functions[:_WAKERS_FRAMES], self.functions))


# Frames of the waker that are asked: from the wake-up's own to what the program called.
_WAKERS_FRAMES = 6
# Frames of a waiter that are asked whether it waits for a lock; inlined functions count.
WAITERS_FRAMES = 7


@dataclass(frozen=True)
class Rules:
    calls: Mapping[str, frozenset[int]]  # by what they do
    wakes: tuple[WakeRule, ...]
    lock_functions: tuple[str, ...]
    interpreter_lock_functions: tuple[str, ...]
    dispatchers: frozenset[str]
    interpreters: tuple[str, ...]

    @property
    def call_bits(self) -> npt.NDArray[np.int64]:
        """`CallRule` flags by number; the last one is for what is in no system call."""
        bits = np.zeros(max(NAMES) + 2, np.int64)
        for name, numbers in self.calls.items():
            bits[sorted(numbers)] |= CallRule[name.upper()]
        return bits

    def wake(self, call: int, functions: Sequence[str]) -> int:
        """Number of the first rule that fits; -1: none does."""
        return next((number for number, rule in enumerate(self.wakes) if rule.fits(call, functions)), -1)

    def is_lock(self, functions: Sequence[str]) -> bool:
        return _any_begins(functions[:WAITERS_FRAMES], self.lock_functions)

    def is_interpreter_lock(self, functions: Sequence[str]) -> bool:
        return _any_begins(functions[:WAITERS_FRAMES], self.interpreter_lock_functions)


def _any_begins(functions: Sequence[str], beginnings: tuple[str, ...]) -> bool:
    """Aliases in debug information have more underscores in front than the functions that programs call."""
    return any(one.lstrip("_").startswith(beginnings) for one in functions)


@cache
def load_rules() -> Rules:
    """The rules that come with whyperf, and the user's."""
    own = Path(__file__).with_name("rules.toml").read_text(encoding="utf-8")
    return parse([users_rules(), {"system_calls": WHAT_THEY_DO}, tomllib.loads(own)])


def parse(tables: Sequence[Mapping[str, Any]]) -> Rules:
    """Rules of several files, the earlier ones' asked first."""
    calls = _joined(tables, "system_calls")
    functions = _joined(tables, "functions")
    if strange := set(calls) - {one.name.lower() for one in CallRule if one.name}:
        raise unusable(f"[system_calls] knows no {', '.join(sorted(strange))}.")
    return Rules(
        {name: _numbers(names) for name, names in calls.items()},
        tuple(_wake_rule(one) for table in tables for one in table.get("wake", ())),
        _bare(functions.get("lock", ())),
        _bare(functions.get("interpreter_lock", ())),
        frozenset(functions.get("dispatcher", ())),
        tuple(_joined(tables, "programs").get("interpreters", ())),
    )


def _joined(tables: Sequence[Mapping[str, Any]], section: str) -> dict[str, list[str]]:
    joined: dict[str, list[str]] = {}
    for table in tables:
        for name, words in table.get(section, {}).items():
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                raise unusable(f"[{section}] {name} is not a list of names.")
            joined.setdefault(name, []).extend(words)
    return joined


def _wake_rule(plain: Mapping[str, Any]) -> WakeRule:
    try:
        return WakeRule(
            str(plain["name"]),
            _numbers(plain["calls"]),
            _bare(plain.get("functions", ())),
            LinkStrength[str(plain["strength"]).upper()],
            str(plain["why"]),
        )
    except (KeyError, TypeError) as error:
        raise unusable(f"A [[wake]] rule lacks, or has a wrong, {error}.") from None


def _bare(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.lstrip("_") for name in names)


def _numbers(names: Iterable[str]) -> frozenset[int]:
    """Calls that this kernel's table does not have are passed over: a rules file may be newer."""
    return frozenset(NUMBERS[name] for name in names if name in NUMBERS)
