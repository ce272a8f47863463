"""`python -m bench.contexts`: truth, known causes, stripped binaries and false alarms of the contexts engine."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from bench.cache import SubjectError
from bench.contexts import alarms, truth
from bench.contexts.case import ContextCase, all_cases, stripped_cases
from bench.contexts.causes import CauseOutcome, outcome_of
from bench.contexts.instrumented import truth_runs
from bench.contexts.report import causes_table, row

_Result = TypeVar("_Result")
_PARTS = ("truth", "causes", "stripped", "alarms")


def main() -> int:
    options = _options()
    failed = [part for part in options.parts or _PARTS if not _RUN[part](options)]
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.contexts", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*_PARTS, []], help="which (default: all)")
    parser.add_argument(
        "--only", action="append", default=[], metavar="ID", help="this program or case; may be repeated"
    )
    parser.add_argument("--runs", type=int, default=3, help="recordings of each side of a case (default: 3)")
    parser.add_argument("--pool", type=int, default=18, help="recordings a program for false alarms (default: 18)")
    parser.add_argument("--reuse", action="store_true", help="compare the pools of the last time again")
    return parser.parse_args()


def _truth(options: argparse.Namespace) -> bool:
    chosen = [run for run in truth_runs() if not options.only or run.name in options.only]
    results = [result for run in chosen if (result := _tried(run.name, partial(truth.truth_of, run))) is not None]
    print(f"\n## Truth\n\n{truth.markdown(results)}", flush=True)
    return len(results) == len(chosen)


def _causes(options: argparse.Namespace) -> bool:
    return _cases(options, all_cases(), "Known causes", peers=True)


def _stripped(options: argparse.Namespace) -> bool:
    return _cases(options, stripped_cases(), "Known causes, stripped", peers=False)


def _cases(options: argparse.Namespace, cases: list[ContextCase], title: str, peers: bool) -> bool:
    chosen = [case for case in cases if not options.only or case.id in options.only]
    outcomes: list[CauseOutcome] = []
    for case in chosen:
        outcome = _tried(case.id, partial(outcome_of, case, options.runs, peers))
        if outcome is not None:
            outcomes.append(outcome)
            print(row(outcome), file=sys.stderr, flush=True)
    print(f"\n## {title}\n\n{causes_table(outcomes)}", flush=True)
    return len(outcomes) == len(chosen)


def _alarms(options: argparse.Namespace) -> bool:
    chosen = [case for case in alarms.subjects() if not options.only or case.id in options.only]
    pairs: list[alarms.Pair] = []
    complete = True
    for case in chosen:
        found = _tried(case.id, partial(alarms.pairs_of, case, options.pool, reuse=options.reuse))
        pairs += found or []
        complete = complete and found is not None
    print(f"\n## The same behaviour twice\n\n{alarms.markdown(pairs)}", flush=True)
    return complete


def _tried(name: str, run: Callable[[], _Result]) -> _Result | None:
    print(f"{name} ...", file=sys.stderr, flush=True)
    try:
        return run()
    except (SubjectError, subprocess.SubprocessError, ValueError) as error:
        print(f"  left out: {error}", file=sys.stderr)
        return None


_RUN: dict[str, Callable[[argparse.Namespace], bool]] = {
    "truth": _truth,
    "causes": _causes,
    "stripped": _stripped,
    "alarms": _alarms,
}

if __name__ == "__main__":
    sys.exit(main())
