"""What a call is answered with: short text and the same as structure, both fit to send.

Text from recordings loses its control characters here, and nothing has unlimited length.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from whyperf.recording.safe_files.dataclass_json import to_plain
from whyperf.report.printable import printable

T = TypeVar("T")
_LONGEST = 1000  # characters of a text in the structure


@dataclass(frozen=True)
class Reply:
    text: str
    structure: dict[str, Any]

    @classmethod
    def of(cls, result: T, text: Callable[[T], str]) -> Self:
        return cls(text(result), presentable(to_plain(result)))

    def to_json(self) -> str:
        return json.dumps({"text": self.text, "structure": self.structure})

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        plain = json.loads(text)
        return cls(plain["text"], plain["structure"])


def presentable(value: Any, *, most: int | None = None) -> Any:
    """Plain JSON values. `most`: longer lists are cut, and say so in their last element."""
    if isinstance(value, str):
        return printable(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}...")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {presentable(key): presentable(one, most=most) for key, one in value.items()}
    if isinstance(value, list):
        kept = [presentable(one, most=most) for one in value[:most]]
        return kept if most is None or len(value) <= most else [*kept, f"({len(value) - most} more)"]
    return value
