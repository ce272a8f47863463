"""Which functions of programs put tasks into queues and run them: `queues.toml`, and what users add to it."""

from __future__ import annotations

import re
import struct
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources
from typing import Any

from whyperf.recording.rules_file import unusable, users_file, users_rules
from whyperf.recording.sealed.manifest import TaskQueue

_VALUE = re.compile(r"arg([1-6])|\*\(arg([1-6])\s*\+\s*(\d{1,4})\)")
_TEXTS = ("name", "put", "task", "run", "function", "run_task", "strength")
_COOKIE = struct.Struct("<HBBhh")  # `struct trace_task_probe` of native/tracer/shared.h


@dataclass(frozen=True)
class Value:
    """An argument of a function, or the word at an offset from where it points to."""

    argument: int
    offset: int | None = None

    @property
    def bits(self) -> int:
        return self.argument | (self.offset is not None) << 3


@dataclass(frozen=True)
class QueueRule:
    name: str
    files: tuple[str, ...]
    put: str
    task: Value
    run: str  # empty: the task's own function, which `function` tells
    function: Value | None
    run_task: Value
    strength: str
    file: str  # where the rule stands; empty: it comes with whyperf

    def concerns(self, file: str) -> bool:
        return any(fnmatchcase(file, pattern) for pattern in self.files)

    @property
    def recorded(self) -> TaskQueue:
        return TaskQueue(self.name, self.strength)

    def put_cookie(self, number: int) -> int:
        return _cookie(number, False, self.task, self.function)

    def run_cookie(self, number: int) -> int:
        return _cookie(number, True, self.run_task, self.function)


def _cookie(number: int, runs: bool, key: Value, function: Value | None) -> int:
    about = key.bits | (function.bits << 4 if function is not None else 0)
    offsets = key.offset or 0, (function.offset or 0) if function is not None else 0
    return int.from_bytes(_COOKIE.pack(number, runs, about, *offsets), "little")


def load_queues() -> tuple[QueueRule, ...]:
    """Those that come with whyperf, and the user's."""
    own = resources.files("whyperf.collect.tracer").joinpath("queues.toml").read_text(encoding="utf-8")
    return (*parse_queues(users_rules(), users_file()), *parse_queues(tomllib.loads(own), ""))


def parse_queues(rules: Mapping[str, Any], file: str) -> tuple[QueueRule, ...]:
    """WhyperfError with the file's name and the key that is wrong."""
    sections = rules.get("queue", [])
    if not isinstance(sections, list) or not all(isinstance(one, dict) for one in sections):
        raise unusable(f"{file}: queue is not a list of sections, each begun with [[queue]].")
    return tuple(_Section(plain, file, row).rule() for row, plain in enumerate(sections, 1))


@dataclass(frozen=True)
class _Section:
    plain: Mapping[str, Any]
    file: str
    row: int

    @property
    def where(self) -> str:
        return f"{self.file}: [[queue]] number {self.row}"

    def rule(self) -> QueueRule:
        if strange := set(self.plain) - {*_TEXTS, "files"}:
            raise unusable(f"{self.where} has a key that means nothing: {sorted(strange)[0]}.")
        if ("run" in self.plain) == ("function" in self.plain):
            raise unusable(f"{self.where} needs one of `run` and `function`, and not both.")
        strength = self._text("strength", "strong")
        if strength not in ("strong", "weak"):
            raise unusable(f"{self.where}: strength is {strength!r}, neither strong nor weak.")
        return QueueRule(
            self._text("name"),
            self._files(),
            self._text("put"),
            self._value("task"),
            self._text("run", ""),
            self._value("function") if "function" in self.plain else None,
            self._value("run_task", "arg1"),
            strength,
            self.file,
        )

    def _text(self, key: str, default: str | None = None) -> str:
        text = self.plain.get(key, default)
        if not isinstance(text, str) or (not text and default is None):
            raise unusable(f"{self.where}: {key} is {'missing' if text is None else 'not a text'}.")
        return text

    def _files(self) -> tuple[str, ...]:
        files = self.plain.get("files")
        names: Sequence[object] = [files] if isinstance(files, str) else files if isinstance(files, list) else []
        if not names or not all(isinstance(one, str) and one for one in names):
            raise unusable(f"{self.where}: files is missing, or not a list of file names.")
        return tuple(str(one) for one in names)

    def _value(self, key: str, default: str | None = None) -> Value:
        text = self._text(key, default)
        found = _VALUE.fullmatch(text)
        if found is None:
            raise unusable(f'{self.where}: {key} is {text!r}, which is neither like "arg1" nor like "*(arg1+16)".')
        plain, pointer, offset = found.groups()
        return Value(int(plain)) if plain else Value(int(pointer), int(offset))
