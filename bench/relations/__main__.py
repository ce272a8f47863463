"""`python -m bench.relations`: runs the cases of changed relations; prints candidates, ranks and costs as Markdown."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys

from bench.cache import SubjectError, cache_folder
from bench.cases.case import commands
from bench.relations.case import RelationsCase, described, lines_of, relations_cases
from bench.relations.growth import growth
from bench.relations.report import markdown
from bench.relations.run import Result, read, run, stored, write


def main() -> int:
    options = _options()
    if options.growth:
        print(growth())
        return 0
    chosen = [case for case in relations_cases() if not options.only or case.id in options.only]
    if not chosen:
        print(f"No case is called {', '.join(options.only)}.", file=sys.stderr)
        return 2
    if options.commands:
        for case in chosen:
            _show(case)
        return 0
    results = [result for case in chosen if (result := _result(case, options)) is not None]
    print(markdown(results))
    return 0 if len(results) == len(chosen) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.relations", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="run this case; may be repeated")
    parser.add_argument("--resume", action="store_true", help="take the stored result of cases that ran before")
    parser.add_argument("--keep", action="store_true", help="keep the recordings")
    parser.add_argument(
        "--quick", action="store_true", help="only the comparisons: no twins, no sampling, no plain runs"
    )
    parser.add_argument(
        "--commands", action="store_true", help="only print what each case runs and what is to be found"
    )
    parser.add_argument("--growth", action="store_true", help="only print how time and size grow with events")
    return parser.parse_args()


def _show(case: RelationsCase) -> None:
    wanted = commands(case)
    print(f"{case.id}: {case.title}\n  find: {described(lines_of(case))}; symptom: {case.symptom or 'instructions'}")
    for name, side in (("good", wanted.good), ("bad", wanted.bad)):
        print(f"  {name}: {shlex.join(side.command)}")
        if side.drive:
            print(f"    {wanted.ready}, driven by {shlex.join(side.drive)}")


def _result(case: RelationsCase, options: argparse.Namespace) -> Result | None:
    if options.resume and stored(case.id).exists():
        return read(stored(case.id))
    print(f"{case.id}: {case.title}", file=sys.stderr, flush=True)
    folder = cache_folder() / "recordings" / f"relations-{case.id}"
    try:
        result = run(case, folder, options.quick)
    except (SubjectError, subprocess.SubprocessError, ValueError) as error:
        print(f"  left out: {error}", file=sys.stderr)
        return None
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    write(result)
    return result


if __name__ == "__main__":
    sys.exit(main())
