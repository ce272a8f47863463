"""The sizes that the papers name, taken on as a whole, and what a traced recording of that size takes elsewhere."""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.cases.case import commands
from bench.relations.case import relations_cases
from bench.speed import seeds, store
from bench.speed.fresh import Spent, command_measured, measured
from bench.speed.made_values import GIGABYTES, make_large, rows_of
from bench.speed.multiplied import count_of, multiplied
from bench.speed.table import markdown, seconds, size_of
from bench.speed.traced import RING, enlarged, full_ring, record_redis
from bench.tool import whyperf_command
from whyperf.recording.sealed.reader import Recording

PART = "sizes"
_GRAPH_EVENTS = 12_300_000
_STACKS = 20_000_000
_SEALED_EVENTS = 10_000_000
_DEEP_CASE = "go-909"


@dataclass(frozen=True)
class Line:
    what: str
    size: str
    spent: Spent
    part: float = 1.0  # of the size, that was measured
    published: str = ""  # what the paper says it took


def run(name: str, part: float, *, resume: bool) -> None:
    if resume and store.read(PART, name) is not None:
        return
    print(f"sizes: {name}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=seeds.folder()) as scratch:
        lines = SIZES[name](Path(scratch), part)
    store.write(PART, name, {"lines": [asdict(one) for one in lines]})


def tables() -> str:
    found = store.read_all(PART, tuple(SIZES))
    if not found:
        return ""
    rows = []
    for told in found.values():
        for line in (_line(one) for one in told["lines"]):
            besides = ", ".join(f"{value:,.3g} {name}" if value < 1000 else f"{value:,.0f} {name}"
                                for name, value in line.spent.told.items())  # fmt: skip
            spent = line.spent
            anonymous = size_of(spent.anonymous_bytes) if spent.anonymous_bytes else ""
            figures = (seconds(spent.wall_s), seconds(spent.cpu_s), size_of(spent.peak_bytes), anonymous)
            part = f" (1/{1 / line.part:.0f} of it)" if line.part < 1 else ""
            rows.append([line.what, f"{line.size}{part}", line.published, *figures, besides, str(told["load"])])
    head = ("what", "size", "published", "elapsed", "CPU time", "peak memory", "anonymous", "besides", "load average")
    return markdown(head, rows)


def vprof(scratch: Path, part: float) -> list[Line]:
    """Section 3.5.2: variables of the whole program. The values are made, a twentieth of the variables changed."""
    sides = [scratch / name for name in ("good", "bad")]
    for side in sides:
        make_large(side, rows_of(GIGABYTES * part / 2), bad=side.name == "bad")
    size = "17,930 variables, 7 GB of values"
    return [
        Line("vProf: values compared by our tests", size, measured("values", *sides), part),
        Line("vProf: by the published method", size, measured("values_as_published", *sides), part, "about 6 hours"),
    ]


def argus(scratch: Path, part: float) -> list[Line]:
    """Table 5: the largest of its traces; a pair of two million events each besides."""
    normal, stalled = seeds.traced()
    large = _events(stalled, scratch / "large", _GRAPH_EVENTS * part)
    lines = [Line("Argus: the graph of one recording", "12.3 million events", _second_of("causal_graph", large), part)]
    shutil.rmtree(large)
    pair = [_events(one, scratch / one.name, 2_000_000 * part) for one in (normal, stalled)]
    spent = measured("causes", *pair)
    return [*lines, Line("causes of a stall beside a normal run", "2 x 2 million events", spent, part)]


def introperf(scratch: Path, part: float) -> list[Line]:
    pair = [_events(one, scratch / one.name, _STACKS * part / 2) for one in seeds.traced_work()]
    what = "IntroPerf: latencies of contexts inferred and compared"
    return [Line(what, "2 x 10 million stacks", _second_of("contexts", *pair), part)]


def perspect(_scratch: Path, _part: float) -> list[Line]:
    """Go-909 as we rebuilt it; the largest of Table 2's dynamic graphs, of Go-11068, has 1.4 million events."""
    case = next(one for one in relations_cases() if one.id == _DEEP_CASE)
    wanted = commands(case)
    zooms = seeds.compared_deep(wanted.good.command, wanted.bad.command, case.symptom, f"deep-{case.id}")
    command = [*whyperf_command(), "diagnose", *map(str, zooms), "--symptom", case.symptom, "--json", "-"]
    manifests = [Recording(path).manifest.deep for path in zooms]
    executions = sum(one.executions for one in manifests if one is not None)
    size = f"{executions / 1e6:.1f} million executions (the paper's largest graph: 1.4)"
    spent = command_measured(command, (0,))
    return [Line("Perspect: relations of Go-909, recorded already", size, spent, published="a few minutes")]


def sealing(scratch: Path, part: float) -> list[Line]:
    seed = record_redis(scratch / "seed")
    warm = [enlarged(seed, scratch / f"small-{side}", 50_000) for side in range(2)]
    measured("sealing", *warm)
    both = [enlarged(seed, scratch / f"large-{side}", round(_SEALED_EVENTS * part / 2)) for side in range(2)]
    return [Line("sealing what the tracer wrote", "2 x 5 million events", measured("sealing", *both), part)]


def dump(scratch: Path, _part: float) -> list[Line]:
    with full_ring(scratch):
        spent = _second_of("dump", scratch / "dump")
    return [Line("dump of the flight recorder, tracing going on", f"a full ring of {RING}B a CPU", spent)]


SIZES: dict[str, Callable[[Path, float], list[Line]]] = {
    size.__name__: size for size in (vprof, argus, introperf, perspect, sealing, dump)
}


def _events(seed: Path, path: Path, count: float) -> Path:
    return multiplied(seed, path, max(1, math.ceil(count / count_of(seed, "events"))))


def _second_of(step: str, *paths: Path) -> Spent:
    """After one that compiles and caches what is compiled and cached once."""
    measured(step, *paths)
    return measured(step, *paths)


def _line(told: dict[str, Any]) -> Line:
    return Line(**{**told, "spent": Spent(**told["spent"])})
