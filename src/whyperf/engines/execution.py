"""Where the work of a comparison is done: in this thread, by others of this machine, or by workers elsewhere.

Work is cut by what it is about (a recording, some variables), never by who does it, and results come in the order of
what they are about. So the same numbers are added up in the same order, whoever did the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    def map(
        self, doing: str, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """`function(shared, item)` of every item, in order, given out one by one: results that nobody keeps are gone.

        `doing` says what this is, to people. What the function gets and gives may have to travel: it can be pickled.
        """
        ...


class Here:
    """One after the other, each when it is asked for."""

    def map(
        self,
        doing: str,  # noqa: ARG002
        function: Callable[[Shared, Item], Result],
        shared: Shared,
        items: Sequence[Item],
    ) -> Iterator[Result]:
        return (function(shared, item) for item in items)


HERE = Here()
