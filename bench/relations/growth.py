"""How time and size grow with the number of events: one program, runs of growing length."""

from __future__ import annotations

import shutil
import time

from bench.cache import cache_folder
from bench.relations.cost import Phase, phases
from bench.subjects import own
from bench.tool import whyperf, whyperf_argument

_RECORDS = (150, 300, 600)  # of `documents`; what is walked grows with their square
_SYMPTOM = "function:evict_page"


def growth() -> str:
    program = str(own("documents"))
    lines = [
        "| records | events of the two zooms | zooms | whole comparison | seconds a million events | bytes an event |"
    ]
    lines.append("|---|---|---|---|---|---|")
    folder = cache_folder() / "recordings" / "relations-growth"
    for records in _RECORDS:
        shutil.rmtree(folder, ignore_errors=True)
        sides = {
            "--good": whyperf_argument([program, str(records), "up", "created"]),
            "--bad": whyperf_argument([program, str(records), "up", "created", "latest"]),
        }
        began = time.monotonic()
        arguments = [word for pair in sides.items() for word in pair]
        whyperf("compare", "--deep", "--symptom", _SYMPTOM, *arguments, "-o", str(folder))
        lines.append(_row(records, [one for one in phases(folder) if one.phase == "zoom"], time.monotonic() - began))
    shutil.rmtree(folder, ignore_errors=True)
    return "\n".join(lines)


def _row(records: int, zooms: list[Phase], seconds: float) -> str:
    events = sum(zoom.executions for zoom in zooms)
    recording = sum(zoom.seconds for zoom in zooms)
    size = sum(zoom.bytes for zoom in zooms)
    per_million, per_event = (seconds / events * 1e6, size / events) if events else (0.0, 0.0)
    cells = (f"{records}", f"{events / 1e6:.2f} M", f"{recording:.1f} s", f"{seconds:.1f} s", f"{per_million:.2f}")
    return f"| {' | '.join(cells)} | {per_event:.1f} |"
