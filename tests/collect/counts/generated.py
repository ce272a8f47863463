"""Programs that call as chosen, and how often they do: written as C and worked out here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum

from hypothesis import strategies as st

from tests.collect.counts.machine import LineEdge
from whyperf.recording.schemas.call_tables import CallKind

# Apart, so that jumps from one to another are never short ones.
_HEAD = """#include <stdio.h>
#define FUNCTION __attribute__((noipa, aligned(512)))
typedef long function(long, long);
static volatile long sink;
"""


class How(Enum):
    DIRECT = CallKind.CALL
    POINTER = CallKind.POINTER
    SWITCHED = 10
    TAIL = CallKind.TAIL


@dataclass(frozen=True)
class Statement:
    how: How
    callee: int
    times: int


@dataclass(frozen=True)
class Program:
    """Each call has less depth. No function calls itself but by pointer: compilers make a loop of that."""

    bodies: tuple[tuple[Statement, ...], ...]
    depth: int

    def source(self) -> tuple[str, list[list[int]]]:
        """And the line of each statement."""
        lines = _HEAD.splitlines()
        lines += [f"FUNCTION long f{i}(long depth, long x);" for i in range(len(self.bodies))]
        lines.append(
            f"static function *volatile pointers[] = {{{', '.join(f'f{i}' for i in range(len(self.bodies)))}}};"
        )
        places: list[list[int]] = []
        for number, body in enumerate(self.bodies):
            lines.append(f"FUNCTION long f{number}(long depth, long x) {{")
            lines.append("if (depth <= 0) return x;")
            mine = []
            for statement in body:
                lines.append(_opening(statement))
                lines.append(_call(statement))
                mine.append(len(lines))
                lines.append(_closing(statement))
            lines += ["return x * 31 + 7;", "}"]
            places.append(mine)
        lines += [
            "int main(void) {",
            "long x = 0;",
            f"x = f0({self.depth}, 1);",
            'printf("%ld\\n", x);',
            "return 7;",
            "}",
        ]
        return "\n".join(lines) + "\n", places

    def expected(self, places: list[list[int]]) -> Counter[LineEdge]:
        """Of each statement; those by pointer do not say whom they call."""
        activations = self._activations()
        found: Counter[LineEdge] = Counter()
        for number, body in enumerate(self.bodies):
            for statement, line in zip(body, places[number], strict=True):
                by_pointer = statement.how is How.POINTER
                kind = {How.POINTER: CallKind.POINTER, How.TAIL: CallKind.TAIL}.get(statement.how, CallKind.CALL)
                callee = "" if by_pointer else f"f{statement.callee}"
                found[f"f{number}", line, callee, kind] += activations[number] * statement.times
        return found

    def entries(self) -> Counter[int]:
        """How often each function is entered, also where it returns at once."""
        found: Counter[int] = Counter({0: 1})
        for number, body in enumerate(self.bodies):
            for statement in body:
                found[statement.callee] += self._activations()[number] * statement.times
        return found

    def _activations(self) -> Counter[int]:
        """Of functions that do not return at once."""
        found: Counter[int] = Counter()
        level = Counter({0: 1})
        for _ in range(self.depth):
            below: Counter[int] = Counter()
            for function, count in level.items():
                found[function] += count
                for statement in self.bodies[function]:
                    below[statement.callee] += count * statement.times
            level = below
        return found


def _opening(statement: Statement) -> str:
    if statement.how is How.TAIL:
        return "sink = x;"
    loop = f"for (long i = 0; i < {statement.times}; i++) {{ sink = i;"
    if statement.how is How.SWITCHED:
        cases = " ".join(f"case {n}: x ^= {n * n + 3}; break;" for n in range(1, 9))
        return f"{loop} switch (x & 15) {{ {cases} default: x += 1; }}"
    return loop


def _call(statement: Statement) -> str:
    if statement.how is How.TAIL:
        return f"return f{statement.callee}(depth - 1, x);"
    callee = f"pointers[{statement.callee}]" if statement.how is How.POINTER else f"f{statement.callee}"
    return f"x += {callee}(depth - 1, x + i);"


def _closing(statement: Statement) -> str:
    return "" if statement.how is How.TAIL else "}"


@st.composite
def programs(draw: st.DrawFn) -> Program:
    count = draw(st.integers(2, 6))
    ways = st.sampled_from([How.DIRECT, How.POINTER, How.SWITCHED])

    def body(number: int) -> tuple[Statement, ...]:
        others = st.sampled_from([one for one in range(count) if one != number])
        inner = draw(st.lists(st.builds(Statement, ways, others, st.integers(0, 3)), max_size=3))
        last = draw(st.lists(st.builds(Statement, st.just(How.TAIL), others, st.just(1)), max_size=1))
        return (*inner, *last)

    return Program(tuple(body(number) for number in range(count)), draw(st.integers(1, 5)))
