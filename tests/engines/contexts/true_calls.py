"""True calls and returns of a program, and what a tracer sees of them: an oracle for the inference."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.engines.contexts.traced import Ran, Thread
from tests.engines.made import Made
from whyperf.engines.contexts.records import Ints

FUNCTIONS = ("a", "b", "c")


@dataclass(frozen=True)
class Call:
    """One activation of a function. Times are in ms; `end` is its return."""

    path: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Story:
    calls: tuple[Call, ...]
    stacks: tuple[tuple[str, ...], ...]  # the innermost stack in every ms

    @property
    def length(self) -> int:
        return len(self.stacks)


@st.composite
def stories(draw: st.DrawFn, *, recursive: bool = False) -> Story:
    """A program that calls and returns at random; every step takes a millisecond."""
    calls: list[Call] = []
    stacks: list[tuple[str, ...]] = []
    open_calls: list[tuple[str, int]] = [("main", 0)]
    for moment in range(draw(st.integers(1, 40))):
        move = draw(st.sampled_from(["stay", "call", "call", "return"]))
        if move == "call" and len(open_calls) < 5:
            usable = FUNCTIONS if recursive else tuple(name for name in FUNCTIONS if name != open_calls[-1][0])
            open_calls.append((draw(st.sampled_from(usable)), moment))
        elif move == "return" and len(open_calls) > 1:
            path = tuple(name for name, _ in open_calls)
            calls.append(Call(path, open_calls.pop()[1], moment))
        stacks.append(tuple(name for name, _ in open_calls))
    while open_calls:
        path = tuple(name for name, _ in open_calls)
        calls.append(Call(path, open_calls.pop()[1], len(stacks)))
    return Story(tuple(calls), tuple(stacks))


def plain_inference(seen: list[tuple[int, tuple[str, ...]]]) -> list[tuple[tuple[str, ...], int, int, int]]:
    """The paper's Algorithm 2 with its registers, as its text has it: path, first, last, after."""
    found: list[tuple[tuple[str, ...], int, int, int]] = []
    register: list[tuple[str, int, int]] = []  # function, start, end

    def close(depth: int, now: int) -> None:
        path = tuple(name for name, _, _ in register[: depth + 1])
        _, start, end = register[depth]
        found.append((path, start, end, now))

    last = 0
    for now, stack in seen:
        continues = 0
        while continues < min(len(stack), len(register)) and register[continues][0] == stack[continues]:
            continues += 1
        for depth in range(len(register) - 1, continues - 1, -1):
            close(depth, now)
        register = [(name, start, now) for name, start, _ in register[:continues]]
        register += [(name, now, now) for name in stack[continues:]]
        last = now
    for depth in range(len(register) - 1, -1, -1):
        close(depth, last)
    return found


def as_thread(story: Story) -> Thread:
    return Thread([Ran(stack, 1) for stack in story.stacks], main=True)


def rows(instances: object, made: Made) -> list[tuple[tuple[str, ...], int, int, int]]:
    columns: list[Ints] = [getattr(instances, name) for name in ("node", "first", "last", "after")]
    return [
        (tuple(name for _, name in instances.path(int(node))), first, last, after)  # type: ignore[attr-defined]
        for node, first, last, after in zip(*(column.tolist() for column in columns), strict=True)
    ]
