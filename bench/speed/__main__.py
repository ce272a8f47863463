"""`python -m bench.speed`: the speed book.

python -m bench.speed                        everything: overhead, growth, sizes, deep; stored as it is measured
python -m bench.speed --resume               what is missing of it
python -m bench.speed --quick                a short look at everything: fewer rounds, smaller sizes
python -m bench.speed overhead --only redis --tools whyperf "perf -g" --rounds 30
python -m bench.speed report --write         what is stored, as the section of bench/history/costs.md

Parts: overhead (what recording costs beside other tools), growth (diagnosis against the size of recordings), sizes (the
papers' own), deep (what recording dependences costs beside Valgrind's tools). `bench.speed.kernel_events` tells what
single kernel events cost.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.cache import SubjectError
from bench.speed import book, deep, growth, overhead, seeds, sizes
from bench.speed.fresh import FailedStepError
from bench.speed.tools import TOOLS, tools_named
from whyperf.errors import WhyperfError

PARTS = ("overhead", "growth", "sizes", "deep")
_NAMES: dict[str, tuple[str, ...]] = {  # what there is of each part
    "overhead": overhead.WORKLOADS,
    "growth": growth.KINDS,
    "sizes": tuple(sizes.SIZES),
    "deep": (deep.NAME,),
    "report": (),
}
_QUICK_PART = 0.05


def main() -> int:
    options = _options()
    os.environ.setdefault("WHYPERF_TRACE_FOLDER", str(seeds.folder() / f"tracer-{os.getpid()}"))
    steps = [step for part in options.parts for step in _steps(part, options)]
    left_out = [why for step in steps if (why := _attempted(step))]
    text = book.section()
    print(text)
    if options.write:
        book.write_section(text)
    if options.json:
        Path(options.json).write_text(json.dumps(book.stored(), indent=1) + "\n")
    return 1 if left_out else 0


def _steps(part: str, options: argparse.Namespace) -> list[Callable[[], None]]:
    names = [name for name in _NAMES[part] if not options.only or name in options.only]
    quick, resume = options.quick, options.resume
    if part == "overhead":
        tools = tools_named(options.tools)
        rounds = options.rounds or (overhead.QUICK_ROUNDS if quick else overhead.ROUNDS)
        return [partial(overhead.run, name, tools, rounds, resume=resume) for name in names]
    if part == "growth":
        return [partial(growth.run, name, quick=quick, resume=resume) for name in names]
    if part == "sizes":
        return [partial(sizes.run, name, _QUICK_PART if quick else 1.0, resume=resume) for name in names]
    return [partial(deep.run, rounds=1 if quick else 3, resume=resume) for _ in names]


def _attempted(step: Callable[[], None]) -> str:
    """Why it could not be measured; what fails keeps nothing else from being measured."""
    try:
        step()
    except (SubjectError, FailedStepError, WhyperfError, subprocess.SubprocessError, ValueError, OSError) as error:
        print(f"left out: {error}", file=sys.stderr)
        return str(error)
    return ""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.speed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of: {', '.join(PARTS)} (default: all); report: none")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this one of the parts' items")
    parser.add_argument("--quick", action="store_true", help="a look, not a measurement")
    parser.add_argument("--resume", action="store_true", help="measure only what has no stored result yet")
    parser.add_argument("--rounds", type=int, help=f"of overhead (default: {overhead.ROUNDS})")
    names = [tool.name for tool in TOOLS]
    parser.add_argument("--tools", nargs="+", choices=names, default=names, help="of overhead (default: all)")
    parser.add_argument("--json", metavar="FILE", help="write every figure that is stored")
    parser.add_argument("--write", action="store_true", help="put the section into bench/history/costs.md")
    options = parser.parse_args()
    options.parts = options.parts or list(PARTS)
    known = {name for part in options.parts for name in _NAMES.get(part, ())}
    for given, possible in ((options.parts, set(_NAMES)), (options.only, known)):
        if unknown := set(given) - possible:
            parser.error(f"nothing is called {', '.join(sorted(unknown))}; there are {', '.join(sorted(possible))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
