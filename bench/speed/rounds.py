"""Rounds of runs: in each every tool once, in an order drawn anew, so that drift of the machine falls on all alike."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.speed.meter import Cost, FailedRunError, measure
from bench.speed.tools import NONE, Tool
from bench.workloads import Workload

NEEDS_A_REBUILD = "needs a rebuild"
_COSTLY_ROUNDS = 3
_LIMIT_S = 60.0


@dataclass
class Rounds:
    """Of one workload; a tool is in the rounds in which it ran, or among the problems."""

    costs: list[dict[str, Cost]] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)

    def pairs(self, tool: str, figure: Callable[[Cost], float]) -> tuple[list[float], list[float]]:
        """The figure without any tool and with this one, of the rounds that have both."""
        both = [(one[NONE.name], one[tool]) for one in self.costs if tool in one and NONE.name in one]
        return [figure(plain) for plain, _ in both], [figure(watched) for _, watched in both]

    def of(self, tool: str) -> list[Cost]:
        return [one[tool] for one in self.costs if tool in one]


def drawn(tools: Sequence[Tool], number: int) -> list[Tool]:
    """The tools of a round in its order; costly ones are in the first few only."""
    taking_part = [tool for tool in tools if not tool.costly or number < _COSTLY_ROUNDS]
    return random.Random(number).sample(taking_part, len(taking_part))


def run_rounds(
    workload: Workload, tools: Sequence[Tool], count: int, known: Rounds, keep: Callable[[Rounds], None]
) -> Rounds:
    """Goes on from what is known, and has every round kept."""
    able = _able(workload, tools, known)
    if len(known.costs) < count:
        able = _warmed_up(workload, able, known)
    for number in range(len(known.costs), count):
        costs: dict[str, Cost] = {}
        for tool in drawn(able, number):
            print(f"\r\033[K{workload.name}: round {number + 1} of {count}, {tool.name}", end="", file=sys.stderr)
            try:
                costs[tool.name] = measure(workload, tool, _LIMIT_S)
            except FailedRunError as error:  # now and then is worse than always, but no reason to stop
                print(f"\r\033[K{workload.name}: {tool.name} {error}", file=sys.stderr)
        known.costs.append(costs)
        keep(known)
    print("\r\033[K", end="", file=sys.stderr)
    return known


def _able(workload: Workload, tools: Sequence[Tool], known: Rounds) -> list[Tool]:
    for tool in tools:
        if not tool.present():
            known.problems[tool.name] = f"{tool.package} is not installed"
        elif tool.flags and not workload.profilable:
            known.problems[tool.name] = NEEDS_A_REBUILD
    return [tool for tool in tools if tool.name not in known.problems]


def _warmed_up(workload: Workload, tools: Sequence[Tool], known: Rounds) -> list[Tool]:
    """Builds, caches and unwind tables are made before anything is measured; what fails here is not asked again."""
    for tool in tools:
        print(f"\r\033[K{workload.name}: warming up {tool.name}", end="", file=sys.stderr)
        try:
            measure(workload, tool, _LIMIT_S)
        except FailedRunError as error:
            known.problems[tool.name] = str(error)
    return [tool for tool in tools if tool.name not in known.problems]
