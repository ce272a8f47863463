"""What a deep comparison is to explain, as `--symptom` names it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from whyperf.errors import WhyperfError

_FORMS = "function:NAME, instructions:NAME, line:FILE:LINE, var:NAME or memory"


class SymptomKind(Enum):
    INSTRUCTIONS = "instructions"  # the default: more of them were executed; with a name, in that function itself
    FUNCTION = "function"  # how often it is called
    LINE = "line"  # how often it is executed
    VARIABLE = "var"  # by how much it changes
    MEMORY = "memory"  # heap bytes in use when most is


_NAMED = (SymptomKind.FUNCTION.value, SymptomKind.VARIABLE.value, SymptomKind.INSTRUCTIONS.value)


@dataclass(frozen=True)
class SymptomSpec:
    kind: SymptomKind
    name: str = ""  # of the function or variable; of a line its file
    line: int = 0

    def __str__(self) -> str:
        """What `parse_symptom` reads."""
        if not self.name:
            return str(self.kind.value)
        return f"{self.kind.value}:{self.name}" + (f":{self.line}" if self.kind is SymptomKind.LINE else "")


def is_file(path: str, name: str) -> bool:
    """Whether a user may mean the source file `path` by `name`: its last folders and name."""
    return path == name or path.endswith("/" + name.lstrip("/"))


def parse_symptom(text: str) -> SymptomSpec:
    kind, _, rest = text.partition(":")
    if text in (SymptomKind.INSTRUCTIONS.value, SymptomKind.MEMORY.value):
        return SymptomSpec(SymptomKind(text))
    if kind in _NAMED and rest:
        return SymptomSpec(SymptomKind(kind), rest)
    place = re.fullmatch(r"(.+):([1-9]\d*)", rest)
    if kind == SymptomKind.LINE.value and place:
        return SymptomSpec(SymptomKind.LINE, place[1], int(place[2]))
    raise WhyperfError(
        f"{text!r} is no symptom: type {_FORMS}.", "whyperf compare --deep --symptom function:NAME ...", status=2
    )
