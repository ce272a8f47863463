"""`.whyperf.toml`: a project's benchmarks.

[ci]                     # defaults of all benchmarks, and how long all of them may take
budget = "15m"
build = "make"

[[benchmark]]
name = "parse"
command = "./tool input.txt"
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from whyperf.ci.benchmark import DEFAULT_BUDGET_S, Benchmark, Configuration
from whyperf.ci.fields import Fields, Named
from whyperf.ci.policy import FailOn
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.ready import check_condition
from whyperf.errors import WhyperfError

FILE_NAME = ".whyperf.toml"
OPTION_TABLES = ("compare", "record", "attach", "diagnose", "bisect", "view")
"""Commands whose usual options the file may hold."""
FEWEST_RUNS = 3  # complete separation of fewer is mere luck too often: see diagnose/measured/significance.py
MOST_BYTES = 1 << 20
_EXAMPLE = """printf '[[benchmark]]\\nname = "parse"\\nbuild = "make"\\ncommand = "./tool input.txt"\\n' > """


def read_configuration(path: Path) -> Configuration:
    """The file's benchmarks; a sentence for whatever is wrong with it."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise WhyperfError(
            f"There is no {path}, which names the benchmarks to compare.",
            f"{_EXAMPLE}{shlex.quote(str(path))}",
            status=2,
        ) from None
    except OSError as error:
        raise WhyperfError(f"{path} cannot be read: {error.strerror}.", _look_at(path), status=2) from None
    return configuration_of(parsed(data, path), path)


def parsed(data: bytes, path: Path) -> dict[str, Any]:
    """The tables of a file whose first bytes these are; a sentence where they are no TOML."""
    if len(data) > MOST_BYTES:
        raise WhyperfError(f"{path} is larger than {MOST_BYTES >> 20} MB.", f"ls -l {shlex.quote(str(path))}", status=2)
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise WhyperfError(f"{path} is not UTF-8 text, which TOML is.", _look_at(path), status=2) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        what = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "nested too deeply"
        raise WhyperfError(f"{path} is not valid TOML: {what}.", _look_at(path), status=2) from None


def configuration_of(values: Mapping[str, Any], path: Path) -> Configuration:
    file = Fields(Named(path, ""), values)
    usual = file.table("ci")
    defaults = _benchmark(usual, Benchmark("", ""))
    budget = usual.time("budget", DEFAULT_BUDGET_S, positive=True)
    fail_on = usual.choice("fail-on", FailOn)
    usual.finish()
    benchmarks = tuple(_named_benchmark(table, defaults) for table in file.tables("benchmark"))
    for name in OPTION_TABLES:
        file.table(name)
    file.finish()
    if not benchmarks:
        raise WhyperfError(f"{path} names no [[benchmark]].", f"{_EXAMPLE}{shlex.quote(str(path))}", status=2)
    names = [one.name for one in benchmarks]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise WhyperfError(
            f"{path} has two benchmarks named {twice!r}: give each its own name.", _look_at(path), status=2
        )
    return Configuration(benchmarks, budget, fail_on)


def _named_benchmark(table: Fields, defaults: Benchmark) -> Benchmark:
    name = table.required_text("name")
    table = table.called(f"benchmark {name!r}")
    command = table.required_text("command")
    benchmark = _benchmark(table, replace(defaults, name=name, command=command))
    lifecycle = Lifecycle(
        ready=table.text("ready"),
        ready_timeout_s=table.time("ready-timeout", Lifecycle.ready_timeout_s, positive=True),
        drive=table.text("drive"),
        for_s=table.time("for", 0.0, positive=True) or None,
        skip_s=table.time("skip", 0.0),
        stop_signal=table.signal("stop", Lifecycle.stop_signal),
    )
    if lifecycle.ready is not None:
        check_condition(lifecycle.ready)
    benchmark = replace(
        benchmark,
        lifecycle=lifecycle,
        unit=table.text("unit"),
        work_count=table.text("work-count"),
        latency=table.text("latency"),
        inner=table.text("benchmark"),
    )
    table.finish()
    called = benchmark.work_count or benchmark.latency
    if benchmark.unit and not (lifecycle.drive or called or benchmark.inner):
        raise table.error(
            "unit", "names what is counted, but nothing counts: add drive, work-count, latency or benchmark"
        )
    if benchmark.work_count and benchmark.latency:
        raise table.error("latency", "counts calls as units of work, so that work-count has nothing to count")
    if benchmark.inner and (lifecycle.drive or called):
        raise table.error("benchmark", "counts iterations, so that drive, work-count and latency have nothing to count")
    return benchmark


def _benchmark(table: Fields, defaults: Benchmark) -> Benchmark:
    """What may be set for all benchmarks, or for each."""
    runs = table.whole("runs", defaults.runs)
    if runs < FEWEST_RUNS:
        raise table.error("runs", f"must be at least {FEWEST_RUNS}: fewer pairs of runs differ by luck too often")
    return replace(
        defaults,
        build=table.text("build") or defaults.build,
        threshold=table.percentage("threshold", defaults.threshold),
        runs=runs,
    )


def _look_at(path: Path) -> str:
    return f"cat {shlex.quote(str(path))}"


def lines_of(path: Path, benchmarks: Sequence[Benchmark]) -> dict[str, int]:
    """Where each benchmark is named, as far as a search for its name tells."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    found: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        key, equals, value = line.partition("=")
        if equals and key.strip() == "name":
            named = [one.name for one in benchmarks if one.name not in found and one.name in value]
            found.update(dict.fromkeys(named[:1], number))
    return found
