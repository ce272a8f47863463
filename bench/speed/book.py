"""The book as a section of bench/history/costs.md, made of what is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.cache import BENCH
from bench.speed import deep, growth, overhead, sizes, store

RESULTS = BENCH / "history" / "costs.md"
_TITLE = "## Speed book"
_HEAD = (
    f"{_TITLE}\n\n"
    "`make bench-speed`. Figures are told with the load average at their end, since the machine has two cores; what is "
    "compared was run in turns, in an order drawn anew each round."
)
_PARTS = (
    (
        "### What recording costs",
        "Medians of the rounds' ratios to the plain run of the same round, with 95% bootstrap intervals; all tools at "
        "200 samples a second. COZ's experiments make threads wait: its price is in the elapsed time. COZ and `strace` "
        "take part in three rounds.",
        overhead.tables,
    ),
    (
        "### Dependences",
        "SQLite filling and querying a small table; CPU time, the least of the rounds. So short a run is mostly the "
        "start of Valgrind: the column beside `--tool=none` says more.",
        deep.tables,
    ),
    (
        "### From `diagnose` to the verdict",
        "The whole command, process start included. Fitted is a start plus a power of the size; in brackets the powers "
        "of curves that differ from the measured costs by 10% on average, as other work on a machine disturbs them. "
        "Peak memory counts the files that a process has mapped, which the kernel takes back when memory is short; "
        "anonymous is what it cannot take back, looked at every 10 ms, of all processes of the command together.",
        growth.tables,
    ),
    (
        "### The papers' sizes",
        "Each in a process of its own. Events are recorded ones, repeated; values are made.",
        sizes.tables,
    ),
)


def section() -> str:
    told = [(title, said, text) for title, said, tables in _PARTS if (text := tables())]
    return "\n\n".join([_HEAD, *(f"{title}\n\n{said}\n\n{text}" for title, said, text in told)]) + "\n"


def write_section(text: str, path: Path = RESULTS) -> None:
    path.write_text(with_section(path.read_text(), text))


def with_section(results: str, text: str) -> str:
    """The results with the book in the place of the one that was there; at the end where there was none."""
    begin = results.find(f"{_TITLE}\n")
    if begin < 0:
        return f"{results.rstrip()}\n\n{text}"
    end = results.find("\n## ", begin + len(_TITLE))
    return results[:begin] + text + (results[end:] if end >= 0 else "")


def stored() -> dict[str, dict[str, Any]]:
    names = {
        overhead.PART: overhead.WORKLOADS,
        deep.PART: (deep.NAME,),
        growth.PART: growth.KINDS,
        sizes.PART: tuple(sizes.SIZES),
    }
    return {part: store.read_all(part, known) for part, known in names.items()}
