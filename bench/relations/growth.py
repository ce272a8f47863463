"""How time and size grow with the number of events: one program, runs of growing length."""

from __future__ import annotations

import shutil

from bench.cache import cache_folder
from bench.cases.case import Side
from bench.relations.cost import Phase, Plain, cpu_of_children, phases, plain, start_up
from bench.subjects import own
from bench.tool import whyperf, whyperf_argument

_RECORDS = (100, 200, 400)  # of `documents`; what is walked grows with their square
_SYMPTOM = "function:evict_page"


def growth() -> str:
    program = str(own("documents"))
    head = (
        "records", "native", "none", "callgrind", "sketch", "zoom", "events", "events/s", "bytes/event", "comparison",
        "of it a million events",
    )  # fmt: skip
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    folder = cache_folder() / "recordings" / "relations-growth"
    for records in _RECORDS:
        shutil.rmtree(folder, ignore_errors=True)
        good = [program, str(records), "up", "created"]
        bad = [*good, "latest"]
        used = cpu_of_children()
        sides = ["--good", whyperf_argument(good), "--bad", whyperf_argument(bad)]
        whyperf("compare", "--deep", "--symptom", _SYMPTOM, *sides, "-o", str(folder))
        lines.append(_row(records, phases(folder), cpu_of_children() - used, plain(Side(bad, []), "")))
    shutil.rmtree(folder, ignore_errors=True)
    return "\n".join([f"CPU seconds of the bad side; a program that does nothing takes {_start()}.", "", *lines])


def _row(records: int, recorded: tuple[Phase, ...], cpu_s: float, alone: Plain) -> str:
    sketch, zoom = (next(one for one in recorded if one.name == f"bad-{phase}") for phase in ("sketch", "zoom"))
    events = sum(one.executions for one in recorded if one.phase == "zoom")
    cells = (
        f"{records}",
        f"{alone.native:.3f}",
        f"{alone.none:.2f}",
        f"{alone.callgrind:.2f}",
        f"{sketch.cpu_s:.2f}",
        f"{zoom.cpu_s:.2f}",
        f"{zoom.executions / 1e6:.2f} M",
        f"{zoom.events_per_s / 1e6:.2f} M",
        f"{zoom.bytes_per_event:.1f}",
        f"{cpu_s:.1f}",
        f"{cpu_s / events * 1e6:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def _start() -> str:
    started = start_up()
    return f"{started.none:.2f} under none and {started.callgrind:.2f} under callgrind"
