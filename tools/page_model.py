"""Writes `web/src/model.ts`: the classes of `report/html/model.py`, as TypeScript says them."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from whyperf.report.html.model import PageModel

MODEL_TS = Path(__file__).parents[1] / "web" / "src" / "model.ts"
_HEADER = """\
/** What the page is fed. Made from `report/html/model.py`, where the fields are explained, by `tools/page_model.py`. */
"""
_KINDS = re.compile("(Section|Row|Columns)$")  # of Python's classes; components of the page are called so as well
_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def page_model() -> str:
    classes: dict[str, type] = {}
    _collect(PageModel, classes)
    return "\n".join([_HEADER, *("\n".join(_interface(one)) + "\n" for one in classes.values())])


def _collect(kind: type, classes: dict[str, type]) -> None:
    """What a class is made of comes before it."""
    for hint in get_type_hints(kind).values():
        for one in _classes_in(hint):
            if one.__name__ not in classes:
                _collect(one, classes)
    classes[kind.__name__] = kind


def _classes_in(hint: Any) -> Iterator[type]:
    if is_dataclass(hint) and isinstance(hint, type):
        yield hint
    for one in get_args(hint):
        yield from _classes_in(one)


def _interface(kind: type) -> Iterator[str]:
    hints = get_type_hints(kind)
    yield f"export interface {_name(kind)} {{"
    yield from (f"  {field.name}: {_type(hints[field.name])};" for field in fields(kind))
    yield "}"


def _name(kind: type) -> str:
    return _KINDS.sub("", kind.__name__)


def _type(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _list(arguments)
    if origin in (Union, types.UnionType):
        return " | ".join(map(_type, arguments))
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " | ".join(f'"{one.value}"' for one in hint)
    return _NAMES.get(hint) or _name(hint)


def _list(arguments: tuple[Any, ...]) -> str:
    if arguments[-1] is not Ellipsis:
        return f"[{', '.join(map(_type, arguments))}]"
    inner = _type(arguments[0])
    return f"({inner})[]" if " | " in inner else f"{inner}[]"


if __name__ == "__main__":
    MODEL_TS.write_text(page_model())
