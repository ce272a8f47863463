"""`python -m bench.memory.thresholds FOLDER`: what thresholds decide on what `bench.memory --keep FOLDER` kept."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from bench.accuracy.comparing import recordings_in
from whyperf.diagnose.measured.significance import Measure, judge
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.engines.holdings import Holdings, holdings_of
from whyperf.engines.memory.compare import compare
from whyperf.engines.run import Run
from whyperf.seal.opening import open_recording

_SETTINGS = DiagnoseSettings()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    for folder in sorted(parser.parse_args().folder.iterdir()):
        kept = recordings_in(folder)
        if kept.good and kept.bad:
            good, bad = ([Run(open_recording(path)) for path in side] for side in (kept.good, kept.bad))
            print(f"{folder.name}: {', '.join(_row(good, bad))}", flush=True)


def _row(good: list[Run], bad: list[Run]) -> Iterable[str]:
    held = [[holdings_of(run.recording) for run in side] for side in (good, bad)]
    interval = bad[0].manifest.sampling.memory_interval
    as_seen = Measure("", *(tuple(one.peak_bytes for one in side) for side in held))
    without_chance = Measure("", *(tuple(one.least_peak_bytes(interval) for one in side) for side in held))
    yield f"peak as seen {_judged(as_seen)}, without what chance adds {_judged(without_chance)}"
    allocated = Measure("", *(tuple(float(one.weight[one.in_window].sum()) for one in side) for side in held))
    for_each = _ratio(allocated) / max(_in_use(held), 1.0)
    yield f"allocated {_judged(allocated)}, for each byte in use {for_each:.2f} times as much"
    first = next(iter(compare(good, bad, same_work=True).accounts), None)
    if first is not None and judge(as_seen, _SETTINGS.held_memory).change.name == "GREW":
        untouched = first.change.untouched_excess / first.change.excess
        yield f"of the first account's excess {untouched:.2f} was never touched"


def _judged(measure: Measure) -> str:
    return judge(measure, _SETTINGS.held_memory).change.name


def _ratio(measure: Measure) -> float:
    return measure.bad_mean / max(measure.good_mean, 1.0)


def _in_use(held: list[list[Holdings]]) -> float:
    return _ratio(Measure("", *(tuple(one.mean_bytes for one in side) for side in held)))


if __name__ == "__main__":
    main()
