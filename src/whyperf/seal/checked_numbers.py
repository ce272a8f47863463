"""Numbers that the raw log's JSON says, if they can have been counted: a damaged log says anything."""

from __future__ import annotations

from whyperf.recording.safe_files.dataclass_json import storable

_WHOLE = 1 << 31
_MOST = float(1 << 62)  # nanoseconds, bytes or whatever else was counted, as tables can store it


def number(value: object, otherwise: float = 0.0) -> float:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST
    return float(value) if usable else otherwise  # type: ignore[arg-type] # narrowed by `usable`


def words(value: object) -> str:
    return storable(str(value))


def whole(value: object) -> int | None:
    """A number of 32 bits: a status, a signal, a process."""
    usable = isinstance(value, int) and not isinstance(value, bool) and -_WHOLE <= value < _WHOLE
    return value if usable else None  # type: ignore[return-value] # narrowed by `usable`
