"""`python -m bench.values_statistics`: what the values engine finds in variables whose behaviour is known.

`rates`: false discoveries and power. Families of variables (loop counters, sticky pointers, slow drifts, per-run
constants ...) of which a few really change between good and bad runs. The rate is the mean over families of wrong
among reported variables; a family in which nothing changed counts fully as soon as one is reported.

`scale`: 17,930 variables and 7 GB of values, the paper's whole-program case (section 3.5.2), by both methods, each in
a process of its own so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.engines.made import recording
from tests.engines.values.behaviours import BEHAVIOURS, NEVER_CHANGED
from tests.engines.values.made import Read, one_function

from whyperf.engines.run import Run
from whyperf.engines.values.compare import compare
from whyperf.engines.values.settings import ValuesSettings
from whyperf.recording import manifest as manifest_json
from whyperf.recording.manifest import TableFile
from whyperf.recording.reader import Recording
from whyperf.recording.tables import VALUES, VARIABLES
from whyperf.recording.writer import table_file, write_recording

_VARIABLES = 17_930
_ROW_BYTES = 22  # as stored: variable, sample, depth, frame, value
_GOAL_S = {"sound": 300, "paper": 60}
_GOAL_BYTES = 6e9


@dataclass
class Rates:
    """Counts by behaviour and by whether it changed."""

    seen: Counter[tuple[str, bool]] = field(default_factory=Counter)
    found: Counter[tuple[str, bool]] = field(default_factory=Counter)
    wrong_share: list[float] = field(default_factory=list)

    @property
    def discovery_rate(self) -> float:
        return float(np.mean(self.wrong_share))

    def power(self, behaviour: str) -> float:
        return self.found[behaviour, True] / max(1, self.seen[behaviour, True])


def measure_rates(
    rng: np.random.Generator,
    *,
    runs: int,
    families: int,
    variables: int,
    changed_share: float,
    settings: ValuesSettings | None = None,
) -> Rates:
    rates = Rates()
    names = list(BEHAVIOURS)
    for _ in range(families):
        changed = rng.random(variables) < changed_share
        changed &= [names[at % len(names)] not in NEVER_CHANGED for at in range(variables)]
        readings = np.clip(rng.lognormal(6.0, 1.4, variables), 20, 4000).astype(int)
        good, bad = ([_family_run(rng, readings, changed & is_bad) for _ in range(runs)] for is_bad in (False, True))
        values = compare(good, bad, settings=settings)
        assert values is not None
        reported = {int(one.variable.name[1:]) for one in values.abnormal}
        for at in range(variables):
            kind = names[at % len(names)], bool(changed[at])
            rates.seen[kind] += 1
            rates.found[kind] += at in reported
        wrong = sum(not changed[at] for at in reported)
        rates.wrong_share.append(wrong / max(1, len(reported)))
    return rates


def _family_run(rng: np.random.Generator, readings: np.ndarray, changed: np.ndarray) -> Run:
    behaviours = list(BEHAVIOURS.values())
    reads = [
        Read("work", f"v{at}", behaviours[at % len(behaviours)](rng, count, bool(changed[at])))
        for at, count in enumerate(readings.tolist())
    ]
    return Run(one_function(*reads, samples=int(readings.max())))


def show_rates(options: argparse.Namespace) -> int:
    good = True
    for runs in (1, 3):
        for share in (0.0, 0.1):
            rates = measure_rates(
                np.random.default_rng(options.seed),
                runs=runs,
                families=options.families,
                variables=options.variables,
                changed_share=share,
            )
            good &= rates.discovery_rate <= 0.10
            print(f"{runs}+{runs} runs, {share:.0%} changed: false discoveries {rates.discovery_rate:.1%}")
            for name in BEHAVIOURS:
                false = f"{rates.found[name, False]:4} of {rates.seen[name, False]:4} unchanged"
                print(f"  {name:16} {false}   power {rates.power(name):5.0%} of {rates.seen[name, True]}")
    return 0 if good else 1


def show_scale(options: argparse.Namespace) -> int:
    good = True
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name in ("good", "bad"):
            make_large(Path(folder) / name, int(options.gigabytes * 1e9 / _ROW_BYTES / 2), bad=name == "bad")
        for method in options.methods:
            command = [sys.executable, "-m", "bench.values_statistics", "measure", method, folder]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            wall, cpu, peak = map(float, said.split()[:3])
            goal = _GOAL_S[method] * min(1.0, options.gigabytes / 7)
            print(
                f"{method}: {wall:.0f} s wall ({cpu:.0f} s CPU; goal {goal:.0f} s), peak {peak / 1e9:.1f} GB "
                f"(goal {_GOAL_BYTES / 1e9:.0f} GB), {said.split()[3]} found"
            )
            good &= wall <= goal and peak <= _GOAL_BYTES
    return 0 if good else 1


def measure(options: argparse.Namespace) -> int:
    """One method in this process: prints wall and CPU seconds, peak bytes, and how many variables it reports."""
    start, cpu = time.perf_counter(), time.process_time()
    good, bad = (Run(Recording(Path(options.folder) / name)) for name in ("good", "bad"))
    if options.method == "paper":
        from whyperf.engines.values.paper.ranking import rank

        ranked = rank([good], [bad])
        found = 0 if ranked is None else len(ranked.functions)
    else:
        values = compare([good], [bad])
        found = 0 if values is None else len(values.abnormal)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(time.perf_counter() - start, time.process_time() - cpu, peak, found)
    return 0


def make_large(folder: Path, rows: int, *, bad: bool) -> None:
    """A recording of so many value rows, written row group by row group."""
    rng = np.random.default_rng(int(bad))
    functions = 2_000
    samples = max(50_000, rows // 100)
    stacks = [((f"f{i}@20",), 0.005) for i in range(functions)]
    made = recording(stacks, rate_hz=200.0)
    tables = dict(made.tables)
    tables["samples"] = pa.table(
        {
            "time": np.arange(samples) * 5_000_000,
            "process": np.zeros(samples, np.int32),
            "thread": np.zeros(samples, np.int32),
            "stack": rng.integers(0, functions, samples, dtype=np.int32),
            "weight": np.full(samples, 5_000_000),
            "clock": np.zeros(samples, np.int8),
            "wait": np.full(samples, -1, np.int16),
        },
        schema=tables["samples"].schema,
    )
    end = samples * 5_000_000
    manifest = replace(made.manifest, window=replace(made.manifest.window, end=end), end_monotonic=end)
    tables["variables"] = pa.Table.from_pylist(
        [_large_declaration(number, functions) for number in range(_VARIABLES)], schema=VARIABLES.schema
    )
    manifest = write_recording(folder, manifest, tables)
    sizes = rng.lognormal(0.0, 1.0, _VARIABLES)
    counts = np.clip((sizes / sizes.sum() * rows).astype(np.int64), 1, samples)
    path = table_file(folder, "values")
    pools = [BEHAVIOURS[name](rng, 1 << 18, False) for name in BEHAVIOURS]
    with pq.ParquetWriter(path, VALUES.schema, compression="zstd") as writer:
        for numbers in _row_groups(counts):
            writer.write_table(_large_rows(numbers, counts, samples, functions, pools), row_group_size=1 << 22)
    content = path.read_bytes()
    described = TableFile(int(counts.sum()), len(content), zlib.crc32(content))
    sealed = replace(manifest, tables={**manifest.tables, "values": described})
    (folder / "manifest.json").write_text(manifest_json.dump(sealed))


def _large_declaration(number: int, functions: int) -> dict[str, object]:
    row = {"variable": number, "function": number % functions, "module": 0, "name": f"v{number}", "type": "int"}
    more = {"kind": "signed", "scope": "local", "order": 0, "file": "/src/tool.c", "line": 1, "roles": "loop"}
    return {**row, **more}


def _row_groups(counts: np.ndarray) -> list[np.ndarray]:
    """Variables in a row that together have about a million readings."""
    group = np.cumsum(counts) >> 20
    return [np.flatnonzero(group == one) for one in np.unique(group)]


def _large_rows(
    numbers: np.ndarray, counts: np.ndarray, samples: int, functions: int, pools: list[np.ndarray]
) -> pa.Table:
    variable = np.repeat(numbers, counts[numbers]).astype(np.int32)
    sample = np.concatenate([np.arange(counts[n], dtype=np.int64) * samples // counts[n] for n in numbers])
    value = np.concatenate([_cycled(pools[n % len(pools)], 977 * n, counts[n]) for n in numbers])
    columns = {
        "variable": variable,
        "sample": sample.astype(np.int32),
        "depth": np.zeros(len(variable), np.int16),
        "frame": (variable % functions).astype(np.int32),
        "value": value.astype(np.int64),
    }
    return pa.table(columns, schema=VALUES.schema)


def _cycled(pool: np.ndarray, start: int, count: int) -> np.ndarray:
    values: np.ndarray = pool[(start + np.arange(count)) % len(pool)]
    return values


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.values_statistics", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    rates = commands.add_parser("rates")
    rates.add_argument("--families", type=int, default=20)
    rates.add_argument("--variables", type=int, default=160)
    rates.add_argument("--seed", type=int, default=1)
    scale = commands.add_parser("scale")
    scale.add_argument("--gigabytes", type=float, default=7.0)
    scale.add_argument("--folder", default=None, help="where to put the recordings")
    scale.add_argument("--methods", nargs="+", default=["paper", "sound"], choices=["paper", "sound"])
    one = commands.add_parser("measure")
    one.add_argument("method", choices=["paper", "sound"])
    one.add_argument("folder")
    options = parser.parse_args()
    if options.command == "measure":
        return measure(options)
    if options.command == "scale":
        return show_scale(options)
    if options.command == "rates":
        return show_rates(options)
    options = parser.parse_args(["rates"])
    status = show_rates(options)
    return max(status, show_scale(parser.parse_args(["scale"])))


if __name__ == "__main__":
    raise SystemExit(main())
