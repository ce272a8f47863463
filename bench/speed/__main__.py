"""`python -m bench.speed`: the speed book.

python -m bench.speed                        everything: overhead, growth, sizes, deep; stored as it is measured
python -m bench.speed --resume               what is missing of it
python -m bench.speed --quick                a short look at everything: fewer rounds, smaller sizes
python -m bench.speed overhead --only redis --tools whyperf "perf -g" --rounds 30
python -m bench.speed report --write         what is stored, as the section of bench/RESULTS.md

Parts: overhead (what recording costs beside other tools), growth (diagnosis against the size of recordings), sizes (the
papers' own), deep (what recording dependences costs beside Valgrind's tools). `bench.speed.kernel_events` tells what
single kernel events cost.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from bench.speed import book, deep, growth, overhead, seeds, sizes
from bench.speed.tools import TOOLS, tools_named

PARTS = ("overhead", "growth", "sizes", "deep")
_NAMES: dict[str, tuple[str, ...]] = {
    "overhead": overhead.WORKLOADS,
    "growth": growth.KINDS,
    "sizes": tuple(sizes.SIZES),
    "deep": (),
}
_QUICK_PART = 0.05


def main() -> int:
    options = _options()
    known = {name for part in options.parts if part in _NAMES for name in _NAMES[part]}
    if unknown := set(options.only) - known:
        print(f"Nothing is called {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}.", file=sys.stderr)
        return 2
    os.environ.setdefault("WHYPERF_TRACE_FOLDER", str(seeds.folder() / f"tracer-{os.getpid()}"))
    for part in options.parts:
        _run(part, options)
    text = book.section()
    print(text)
    if options.write:
        book.write_section(text)
    if options.json:
        Path(options.json).write_text(json.dumps(book.stored(), indent=1) + "\n")
    return 0


def _run(part: str, options: argparse.Namespace) -> None:
    names = [name for name in _NAMES.get(part, ()) if not options.only or name in options.only]
    if part == "overhead":
        rounds = options.rounds or (overhead.QUICK_ROUNDS if options.quick else overhead.ROUNDS)
        overhead.run(names, tools_named(options.tools), rounds, resume=options.resume)
    elif part == "growth":
        growth.run(names, quick=options.quick, resume=options.resume)
    elif part == "sizes":
        sizes.run(names, _QUICK_PART if options.quick else 1.0, resume=options.resume)
    elif part == "deep" and not options.only:
        deep.run(rounds=1 if options.quick else 3, resume=options.resume)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.speed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", choices=[*PARTS, "report", []], help=f"of: {', '.join(PARTS)}; report: none"
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this one of the parts' items")
    parser.add_argument("--quick", action="store_true", help="a look, not a measurement")
    parser.add_argument("--resume", action="store_true", help="measure only what has no stored result yet")
    parser.add_argument("--rounds", type=int, help=f"of overhead (default: {overhead.ROUNDS})")
    names = [tool.name for tool in TOOLS]
    parser.add_argument("--tools", nargs="+", choices=names, default=names, help="of overhead (default: all)")
    parser.add_argument("--json", metavar="FILE", help="write every figure that is stored")
    parser.add_argument("--write", action="store_true", help="put the section into bench/RESULTS.md")
    options = parser.parse_args()
    options.parts = options.parts or list(PARTS)
    return options


if __name__ == "__main__":
    sys.exit(main())
