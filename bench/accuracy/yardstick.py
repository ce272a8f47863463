"""`python -m bench.accuracy.yardstick`: by how much runs of the same kind differ, and what of that is left when they
are measured by what all of them do alike.

Of the recordings that were kept (`--keep`).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.accuracy.comparing import recordings_in
from bench.cache import cache_folder
from bench.cases.case import all_cases
from whyperf.diagnose.measured.measures import steadied_cpu, take_measures
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.engines.run import Run
from whyperf.seal.opening import open_recording


def main() -> None:
    spreads: list[tuple[float, float]] = []
    asked = 0
    print("| case | good, s | bad, s | good, measured so | bad, measured so |\n|---|---|---|---|---|")
    for case in all_cases():
        kept = recordings_in(cache_folder() / "recordings" / "accuracy" / case.id / "whyperf")
        if min(len(kept.good), len(kept.bad)) < 2:
            continue
        asked += 1
        good, bad = ([Run(open_recording(path)) for path in side] for side in (kept.good, kept.bad))
        measures = take_measures(good, bad, DiagnoseSettings())
        steadied = steadied_cpu(good, bad, measures)
        if steadied is None:
            continue
        sides = (measures.cpu.good, measures.cpu.bad, steadied.good, steadied.bad)
        print(f"| {case.id} | {' | '.join(map(_told, sides))} |", flush=True)
        spreads += [(_spread(raw), _spread(left)) for raw, left in zip(sides[:2], sides[2:], strict=True)]
    before, after = (statistics.median(column) for column in zip(*spreads, strict=True))
    smaller = sum(left < raw for raw, left in spreads)
    print(
        f"\n{len(spreads) // 2} of {asked} cases have enough in common. Runs of the same kind differ by {before:.1%} "
        f"(standard deviation, median of {len(spreads)} sides), measured so by {after:.1%}; by less in {smaller}."
    )


def _told(seconds: Sequence[float]) -> str:
    return f"{' '.join(f'{value:.2f}' for value in seconds)} ({_spread(seconds):.1%})"


def _spread(seconds: Sequence[float]) -> float:
    return statistics.stdev(seconds) / statistics.fmean(seconds)


if __name__ == "__main__":
    main()
