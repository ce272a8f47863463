"""What recording costs: programs under each tool against the same programs alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from bench.intervals import paired_ratio
from bench.speed import store
from bench.speed.meter import Cost, Inside
from bench.speed.rounds import Rounds, run_rounds
from bench.speed.table import change, markdown, size_of
from bench.speed.tools import NONE, TOOLS, Tool
from bench.workloads import all_workloads

PART = "overhead"
WORKLOADS = ("redis", "pgbench", "sqlite", "compile", "threads")
ROUNDS, QUICK_ROUNDS = 8, 2
_MEASURES: tuple[tuple[str, Callable[[Cost], float]], ...] = (
    ("CPU time of the program", lambda cost: cost.cpu_s),
    ("Elapsed time of the program, of servers of their load", lambda cost: cost.elapsed_s),
    (
        "CPU time of the whole machine, the tool's start and the sealing of the recording included",
        lambda cost: cost.machine_s,
    ),
)


def run(name: str, tools: Sequence[Tool], rounds: int, *, resume: bool) -> None:
    workload = next(one for one in all_workloads() if one.name == name)
    known = _rounds(store.read(PART, name)) if resume else Rounds()

    def keep(now: Rounds) -> None:
        costs = [{tool: asdict(cost) for tool, cost in one.items()} for one in now.costs]
        store.write(PART, name, {"rounds": costs, "problems": now.problems})

    run_rounds(workload, tools, rounds, known, keep)


def tables() -> str:
    found = store.read_all(PART, WORKLOADS)
    measured = {name: _rounds(told) for name, told in found.items()}
    if not measured:
        return ""
    when = "; ".join(
        f"{name}: {told['when']}, {told['commit']}, load average {told['load']}, rounds: {len(told['rounds'])}"
        for name, told in found.items()
    )
    shown = [tool for tool in TOOLS if tool is not NONE and any(_has(one, tool) for one in measured.values())]
    parts = [f"Measured {when}."]
    parts += [f"{title}:\n\n{_ratios(measured, shown, figure)}" for title, figure in _MEASURES]
    parts += [
        f"Peak memory of the tool's own processes, and what it wrote:\n\n{_sizes(measured, shown)}",
        f"Inside the program, by the sampler's own clock:\n\n{_inside(measured)}",
    ]
    return "\n\n".join(parts)


def _has(rounds: Rounds, tool: Tool) -> bool:
    return bool(rounds.of(tool.name)) or tool.name in rounds.problems


def _ratios(measured: dict[str, Rounds], tools: Sequence[Tool], figure: Callable[[Cost], float]) -> str:
    rows = []
    for name, rounds in measured.items():
        plain = [figure(cost) for cost in rounds.of(NONE.name)]
        cells = [name, f"{median(plain):.2f} s" if plain else "-"]
        for tool in tools:
            without, watched = rounds.pairs(tool.name, figure)
            told = change(paired_ratio(without, watched)) if without else rounds.problems.get(tool.name, "-")
            cells.append(told)
        rows.append(cells)
    return markdown(("work", "plain", *(tool.name for tool in tools)), rows)


def _sizes(measured: dict[str, Rounds], tools: Sequence[Tool]) -> str:
    rows = []
    for name, rounds in measured.items():
        cells = [name]
        for tool in tools:
            costs = rounds.of(tool.name)
            memory, left = (max((getattr(one, what) for one in costs), default=0) for what in _SIZES)
            cells.append(f"{size_of(memory)}, {size_of(left)}" if costs else rounds.problems.get(tool.name, "-"))
        rows.append(cells)
    return markdown(("work", *(tool.name for tool in tools)), rows)


_SIZES = ("tool_bytes", "written_bytes")


def _inside(measured: dict[str, Rounds]) -> str:
    rows = []
    for name, rounds in measured.items():
        for tool in TOOLS:
            said = [cost.inside for cost in rounds.of(tool.name) if cost.inside is not None]
            if said:
                rows.append([name, tool.name, *_inside_cells(said)])
    head = ("work", "tool", "part of its CPU time", "a sample: mean", "median", "samples dropped", "resident")
    return markdown(head, rows)


def _inside_cells(said: Sequence[Inside]) -> list[str]:
    """Medians over rounds: a round in which the machine was busy elsewhere must not decide."""
    return [
        f"{100 * median(one.share for one in said):.3f}%",
        f"{median(one.mean_us for one in said):.1f} us",
        f"{median(one.median_us for one in said):.1f} us",
        str(sum(one.dropped for one in said)),
        size_of(max(one.resident_bytes for one in said)),
    ]


def _rounds(told: dict[str, Any] | None) -> Rounds:
    if told is None:
        return Rounds()
    return Rounds([{tool: _cost(one) for tool, one in costs.items()} for costs in told["rounds"]], told["problems"])


def _cost(told: dict[str, Any]) -> Cost:
    inside = told["inside"]
    return Cost(**{**told, "inside": Inside(**inside) if inside else None})
