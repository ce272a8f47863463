"""speedscope's own file format: one sampled profile a thread."""

from __future__ import annotations

from typing import Any

from whyperf.export.profile import Profile, ThreadSamples
from whyperf.recording.schemas.tables import Clock
from whyperf.version import __version__

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_CLOCKS = {Clock.CPU: "running", Clock.BLOCKED: "blocked"}


def speedscope(profile: Profile) -> dict[str, Any]:
    # Lines are left out: speedscope takes two lines of a function for two functions.
    functions = [(place.function, place.file) for place in profile.places]
    numbers = {function: number for number, function in enumerate(dict.fromkeys(functions))}
    frame_of_place = [numbers[function] for function in functions]
    return {
        "$schema": _SCHEMA,
        "exporter": f"whyperf {__version__}",
        "name": " ".join(profile.command),
        "activeProfileIndex": _busiest(profile),
        "shared": {"frames": [{"name": name, **({"file": file} if file else {})} for name, file in numbers]},
        "profiles": [_thread(profile, thread, frame_of_place) for thread in profile.threads],
    }


def _busiest(profile: Profile) -> int:
    return max(range(len(profile.threads)), key=lambda number: int(profile.threads[number].weight.sum()), default=0)


def _thread(profile: Profile, thread: ThreadSamples, frame_of_place: list[int]) -> dict[str, Any]:
    return {
        "type": "sampled",
        "name": f"{thread.name} ({thread.pid}/{thread.tid}, {_CLOCKS[thread.clock]})",
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": int(thread.weight.sum()),
        "samples": [[frame_of_place[place] for place in profile.path(node)] for node in thread.stack.tolist()],
        "weights": thread.weight.tolist(),
    }
