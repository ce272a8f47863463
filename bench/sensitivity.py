"""How much ranks depend on settings: of the paper's method, of recording, of the subjects' build.

python -m bench.accuracy --keep             makes the recordings that the first two need
python -m bench.sensitivity discounts       DefaultDiscount, ValidDiscount and depth of unwinding (section 3.5.3)
python -m bench.sensitivity runs            fewer recordings a side
python -m bench.sensitivity rates           records anew at other sampling rates
python -m bench.sensitivity builds          ... and with other compilers and levels of optimisation
python -m bench.sensitivity stalls          beam width, lookback, a and b of the search for stalls' culprits
python -m bench.sensitivity paths           the same where whatever lies on the paths that it finds is a suspect
                                            (both record the cases of bench.causes where they have not been yet)
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

from bench.accuracy.comparing import diagnose, record, recordings_in
from bench.accuracy.outcome import ranks_in
from bench.cache import SubjectError, cache_folder
from bench.cases.case import AS_USUAL, Case, Compiling, all_cases, can_be_rebuilt, commands
from bench.cases.ranks import rank
from bench.causes.sensitivity import Suspects, by_comparison, by_paths, stalls
from bench.peers.peer import Recordings
from bench.setting_table import Found, markdown
from whyperf.engines.run import Run
from whyperf.engines.values.paper.ranking import rank as paper_rank
from whyperf.engines.values.settings import ValuesPaperSettings
from whyperf.recording.sealed.reader import Recording

_TENTHS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_DEPTHS = (0, 1, 3, 7)
_RATES = (50, 100, 200, 500, 1000)
_LEVELS = ("-O0", "-O2", "-O3")
_COMPILERS = (("gcc", "g++"), ("clang", "clang++"))


_ByCase = Iterator[tuple[str, Iterator[Found]]]  # ranks are looked for when they are asked for


def main() -> int:
    options = _options()
    for name in options.sweeps or _SWEEPS:
        found: list[Found] = []
        for case, ranks in _SWEEPS[name](options.runs):
            if options.only and case not in options.only:
                continue
            print(f"{name}: {case}", file=sys.stderr, flush=True)
            try:
                found += ranks
            except (SubjectError, subprocess.SubprocessError, RuntimeError, ValueError) as error:
                print(f"  left out: {error}", file=sys.stderr)
        print(f"\n## {name}\n\n{markdown(found)}", flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.sensitivity", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sweeps", nargs="*", choices=[*_SWEEPS, []], help="which (default: all)")
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="this case; may be repeated")
    parser.add_argument("--runs", type=int, default=3, help="recordings a side where they are made anew (default: 3)")
    return parser.parse_args()


def _discounts(case: Case, _runs: int) -> Iterator[Found]:
    kept = _kept(case)
    good, bad = ([Run(Recording(path)) for path in side] for side in (kept.good, kept.bad))
    for setting, settings in paper_settings().items():
        ranking = paper_rank(good, bad, settings)
        names = [one.function.name for one in ranking.functions] if ranking else []
        yield Found(setting, case.id, rank(names, case.truth.cause))


def paper_settings() -> dict[str, ValuesPaperSettings]:
    """One constant changed at a time."""
    return {
        **{f"DefaultDiscount {value:g}": ValuesPaperSettings(default_discount=value) for value in _TENTHS},
        **{f"ValidDiscount {value:g}": ValuesPaperSettings(valid_discount=value) for value in _TENTHS},
        **{f"unwinding depth {depth}": ValuesPaperSettings(unwind_depth=depth) for depth in _DEPTHS},
    }


def _fewer_runs(case: Case, _runs: int) -> Iterator[Found]:
    kept = _kept(case)
    for count in range(1, len(kept.good) + 1):
        answer = diagnose(Recordings(kept.good[:count], kept.bad[:count]))
        yield Found(f"{count} + {count} runs", case.id, ranks_in(answer, case.truth).cause)


def _rates(case: Case, runs: int) -> Iterator[Found]:
    for rate in _RATES:
        yield _recorded_anew(case, runs, f"{rate} Hz", AS_USUAL, "--rate", str(rate))


def _builds(case: Case, runs: int) -> Iterator[Found]:
    if not can_be_rebuilt(case):
        return
    for compilers in _COMPILERS:
        for level in _LEVELS:
            yield _recorded_anew(case, runs, f"{compilers[0]} {level}", Compiling(level, compilers))


def _recorded_anew(case: Case, runs: int, setting: str, compiling: Compiling, *options: str) -> Found:
    folder = cache_folder() / "recordings" / "sensitivity" / case.id
    answer = diagnose(record(commands(case, compiling), runs, folder, *options))
    shutil.rmtree(folder)
    return Found(setting, case.id, ranks_in(answer, case.truth).cause)


def _kept(case: Case) -> Recordings:
    kept = recordings_in(cache_folder() / "recordings" / "accuracy" / case.id / "whyperf")
    if not kept.good or not kept.bad:
        raise ValueError(f"no recordings were kept: python -m bench.accuracy --keep --only {case.id}")
    return kept


def _of_cases(ranks: Callable[[Case, int], Iterator[Found]]) -> Callable[[int], _ByCase]:
    return lambda runs: ((case.id, ranks(case, runs)) for case in all_cases())


def _of_stalls(suspects: Suspects) -> Callable[[int], _ByCase]:
    return lambda _runs: stalls(cache_folder() / "recordings" / "causes", suspects)


_SWEEPS: dict[str, Callable[[int], _ByCase]] = {
    "discounts": _of_cases(_discounts),
    "runs": _of_cases(_fewer_runs),
    "rates": _of_cases(_rates),
    "builds": _of_cases(_builds),
    "stalls": _of_stalls(by_comparison),
    "paths": _of_stalls(by_paths),
}

if __name__ == "__main__":
    sys.exit(main())
