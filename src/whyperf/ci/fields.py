"""A TOML table's values by key, each checked: whatever is wrong becomes one sentence that names the key."""

from __future__ import annotations

import difflib
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from whyperf.errors import WhyperfError
from whyperf.typed_quantities import typed_seconds, typed_signal

Choice = TypeVar("Choice", bound=Enum)

_KINDS = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"}


@dataclass(frozen=True)
class Named:
    """Where a table is, as sentences call it."""

    path: Path
    table: str  # empty: the file itself


class Fields:
    def __init__(self, named: Named, values: Mapping[str, Any], known: list[str] | None = None) -> None:
        self._named, self._values = named, values
        self._known: list[str] = [] if known is None else known  # keys that were asked for

    def called(self, table: str) -> Fields:
        """The same table under a name that tells it from others."""
        return Fields(Named(self._named.path, table), self._values, self._known)

    def error(self, key: str, what: str) -> WhyperfError:
        where = f" of {self._named.table}" if self._named.table else ""
        return WhyperfError(
            f"{self._named.path}: {key}{where} {what}.",
            f"grep -n {shlex.quote(key)} {shlex.quote(str(self._named.path))}",
            status=2,
        )

    def finish(self) -> None:
        """Refuses keys that nobody asked for: most are misspelled."""
        for key in self._values:
            if key not in self._known:
                close = difflib.get_close_matches(key, self._known, n=1)
                meant = f": {close[0]} is" if close else f"; known are {', '.join(sorted(self._known))}"
                raise self.error(repr(key), f"is not a known key{meant}")

    def text(self, key: str) -> str | None:
        value = self._get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self._wrong(key, value, 'text in quotes, such as "make"')
        if not value.strip() or "\0" in value:
            raise self.error(key, "is empty" if not value.strip() else "contains a zero byte")
        return value

    def required_text(self, key: str) -> str:
        value = self.text(key)
        if value is None:
            raise self.error(key, "is missing: add a line such as " + f'{key} = "..."')
        return value

    def whole(self, key: str, default: int) -> int:
        value = self._get(key)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(key, value, "a whole number")
        return value

    def percentage(self, key: str, default: float) -> float:
        """5 or "5%", as a share."""
        value = self._get(key)
        if value is None:
            return default
        if isinstance(value, str):
            try:
                value = float(value.strip().removesuffix("%"))
            except ValueError:
                raise self._wrong(key, value, "a percentage, such as 5") from None
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value < 0:
            raise self._wrong(key, value, "a percentage, such as 5")
        return value / 100

    def time(self, key: str, default: float, *, positive: bool = False) -> float:
        value = self._get(key)
        if value is None:
            return default
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        seconds = float(value) if plain else typed_seconds(value) if isinstance(value, str) else None
        if seconds is None or not math.isfinite(seconds) or seconds < 0 or (positive and seconds == 0):
            raise self._wrong(key, value, 'a time, such as "30s" or "10m"')
        return seconds

    def signal(self, key: str, default: int) -> int:
        value = self._get(key)
        if value is None:
            return default
        number = None if isinstance(value, bool) else typed_signal(str(value))
        if number is None:
            raise self._wrong(key, value, 'a signal, such as "TERM"')
        return number

    def choice(self, key: str, choices: type[Choice]) -> Choice | None:
        value = self._get(key)
        if value is None:
            return None
        found = next((one for one in choices if one.value == value), None)
        if found is None:
            raise self._wrong(key, value, "one of " + ", ".join(str(one.value) for one in choices))
        return found

    def table(self, key: str) -> Fields:
        value = self._get(key)
        if value is not None and not isinstance(value, dict):
            raise self.error(key, f"must be a table: write [{key}]")
        return Fields(Named(self._named.path, f"[{key}]"), value or {})

    def tables(self, key: str) -> list[Fields]:
        value = self._get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.error(key, f"must be a list of tables: write [[{key}]]")
        return [
            Fields(Named(self._named.path, f"[[{key}]] number {number}"), one) for number, one in enumerate(value, 1)
        ]

    def _get(self, key: str) -> Any:
        self._known.append(key)
        return self._values.get(key)

    def _wrong(self, key: str, value: object, wanted: str) -> WhyperfError:
        given = repr(value) if isinstance(value, str | int | float) else _KINDS.get(type(value), type(value).__name__)
        return self.error(key, f"must be {wanted}, and is {given}")
