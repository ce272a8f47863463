"""Frozen dataclasses to and from JSON, strictly: what does not fit is refused, what is unknown is passed over."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


@dataclass(frozen=True)
class Within:
    """Bounds of a number, for annotations: from `least` up to, but without `end`."""

    least: float
    end: float


Moment = Annotated[int, Within(-(1 << 62), 1 << 62)]  # nanoseconds, as tables can store them and their differences
Count = Annotated[int, Within(0, 1 << 62)]
Number = Annotated[int, Within(0, 1 << 31)]  # of a process or a thread
Address = Annotated[int, Within(0, 1 << 64)]
Amount = Annotated[float, Within(0, 1e18)]  # of seconds, or samples a second


class MisfitError(ValueError):
    """JSON that is not what a class wants; the message says where."""


def to_plain(value: Any) -> Any:
    """What `json.dumps` can write."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def from_plain(kind: type[T], value: object, where: str = "") -> T:
    """The dataclass `kind` from a JSON object. Absent fields take their default; without one they are a misfit."""
    if not isinstance(value, dict):
        raise MisfitError(f"{where or 'the file'} is not an object")
    given: dict[str, Any] = {}
    for f in fields(cast(Any, kind)):
        place = f"{where}.{f.name}" if where else f.name
        if f.name in value:
            given[f.name] = _fit(_hints(cast(Any, kind))[f.name], value[f.name], place)
        elif f.default is MISSING and f.default_factory is MISSING:
            raise MisfitError(f"{place} is missing")
    return kind(**given)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _fit(hint: Any, value: object, where: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _fit_bounded(arguments[0], arguments[1], value, where)
    if origin is Union or origin is types.UnionType:
        known = next(a for a in arguments if a is not type(None))
        return None if value is None else _fit(known, value, where)
    if origin is tuple:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise MisfitError(f"{where} is not a list")
        if arguments[-1] is not Ellipsis and len(value) != len(arguments):
            raise MisfitError(f"{where} has {len(value)} items instead of {len(arguments)}")
        return tuple(_fit(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict):
            raise MisfitError(f"{where} is not an object")
        return {key: _fit(arguments[1], item, f"{where}.{key}") for key, item in value.items()}
    if is_dataclass(hint):
        return from_plain(cast(type, hint), value, where)
    fit = _fit_one_of if origin is Literal or issubclass(hint, Enum) else _fit_scalar
    return fit(hint, value, where)


def _fit_one_of(hint: Any, value: object, where: str) -> Any:
    """A member of an enumeration, or one of the words of a literal."""
    known = {one: one for one in get_args(hint)} or {member.value: member for member in hint}
    if not isinstance(value, str | int) or value not in known:
        raise MisfitError(f"{where} is none of {', '.join(map(str, known))}")
    return known[value]


def _fit_bounded(hint: Any, bounds: Within, value: object, where: str) -> Any:
    number = _fit_scalar(hint, value, where)
    if not bounds.least <= number < bounds.end:
        raise MisfitError(f"{where} is out of range")
    return number


def _fit_scalar(hint: Any, value: object, where: str) -> Any:
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value):
        return float(value)
    if hint is str and isinstance(value, str):
        return storable(value)
    if hint is int and isinstance(value, int) and abs(value) > _MOST:
        raise MisfitError(f"{where} is out of range")
    if isinstance(value, hint) and (hint is bool or not isinstance(value, bool)) and hint is not float:
        return value
    raise MisfitError(f"{where} is not {_NAMES.get(hint, hint)}")


def storable(text: str) -> str:
    """As UTF-8 can have it: file names and arguments may hold other bytes, which Python keeps as lone surrogates."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all doubles
        return False


_MOST = 1 << 64  # of whole numbers: what is counted or measured fits into 64 bits
_NAMES = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
