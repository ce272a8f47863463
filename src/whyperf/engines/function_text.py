"""The text of one function, as far as it is known: from its declaration to where it ends, by braces.

Works for C and what is written like it; where a language has no braces, the next function's declaration ends it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

_MOST_LINES = 2000  # a text that goes on merely ends there
_COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
_CONDITIONAL = re.compile(r"\s*#\s*(if|el|endif)")
_LOOKED_AHEAD = 8  # lines, for what follows a brace


@dataclass(frozen=True)
class CodeLine:
    number: int
    text: str
    code: str  # without white space and comments, never empty


@dataclass(frozen=True)
class FunctionText:
    lines: tuple[CodeLine, ...]
    complete: bool  # its end is among them


def function_text(source: Mapping[int, str], declared: int, others: Set[int]) -> FunctionText:
    """`source` by line; `others`: where the file declares other functions."""
    numbers: list[int] = []
    while declared + len(numbers) in source and len(numbers) < _MOST_LINES:
        numbers.append(declared + len(numbers))
    if not numbers:
        return FunctionText((), complete=False)
    whole = "\n".join(source[number] for number in numbers)
    codes = _COMMENT_OR_LITERAL.sub(_without_comment, whole).split("\n")
    shapes = _COMMENT_OR_LITERAL.sub(_line_ends, whole).split("\n")
    length, complete = _extent(shapes, {number - declared for number in others})
    found = zip(numbers[:length], codes[:length], strict=True)
    lines = (CodeLine(number, source[number], "".join(code.split())) for number, code in found)
    return FunctionText(tuple(line for line in lines if line.code), complete)


def _without_comment(found: re.Match[str]) -> str:
    return _line_ends(found) if found[0].startswith("/") else found[0]


def _line_ends(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _extent(shapes: Sequence[str], others: Set[int]) -> tuple[int, bool]:
    """How many lines belong to the function, and whether its end was found. Of the branches of a conditional of the
    preprocessor each begins as deep as the first."""
    depth, opened, conditionals = 0, False, [0]
    for at, shape in enumerate(shapes):
        if at in others and depth == 0:
            return at, False
        if directive := _CONDITIONAL.match(shape):
            if directive[1] == "if":
                conditionals.append(depth)
            elif directive[1] == "el":
                depth = conditionals[-1]
            elif len(conditionals) > 1:
                conditionals.pop()
            continue
        depth += shape.count("{") - shape.count("}")
        opened = opened or "{" in shape
        if opened and depth <= 0 and not _goes_on(shapes, at):
            return at + 1, True
        if depth < 0:  # a mere declaration, in something that ends here
            return at, False
    return len(shapes), False


def _goes_on(shapes: Sequence[str], at: int) -> bool:
    """Whether the last brace of a line closes an argument's default, or a member's first value before the body."""
    rest = (shapes[at].rpartition("}")[2], *shapes[at + 1 : at + 1 + _LOOKED_AHEAD])
    following = next((text for line in rest if (text := line.strip())), "")
    return following.startswith((",", ")", "{"))
