"""The Firefox Profiler's processed profile format.

Its page upgrades older versions by itself: what is written here is the version named below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whyperf.export.profile import Profile, ThreadSamples
from whyperf.recording.schemas.tables import Clock
from whyperf.version import __version__

_VERSION = 49
_LIBRARY = 1  # type of a resource
_CATEGORIES = (("running", "yellow"), ("blocked", "grey"))  # by clock


def firefox(profile: Profile) -> dict[str, Any]:
    return {
        "meta": {
            "version": 27,
            "preprocessedProfileVersion": _VERSION,
            "product": " ".join(profile.command),
            "importedFrom": f"whyperf {__version__}",
            "interval": 1000 / profile.rate_hz if profile.rate_hz > 0 else 1,
            "startTime": profile.start_real / 1e6,
            "processType": 0,
            "stackwalk": 1,
            "debug": False,
            "symbolicated": True,
            "usesOnlyOneStackType": True,
            "doesNotUseFrameImplementation": True,
            "sourceCodeIsNotOnSearchfox": True,
            "extensions": {"id": [], "name": [], "baseURL": [], "length": 0},
            "categories": [{"name": name, "color": color, "subcategories": ["Other"]} for name, color in _CATEGORIES],
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
            "markerSchema": [],
        },
        "libs": [],
        "pages": [],
        "counters": [],
        "profilerOverhead": [],
        "threads": [_thread(profile, thread, first) for thread, first in _with_main_marked(profile)],
    }


def _with_main_marked(profile: Profile) -> list[tuple[ThreadSamples, bool]]:
    seen: set[int] = set()
    marked = []
    for thread in profile.threads:
        marked.append((thread, thread.tid == thread.pid and thread.clock is Clock.CPU and thread.pid not in seen))
        seen.add(thread.pid)
    return marked


def _thread(profile: Profile, thread: ThreadSamples, is_main: bool) -> dict[str, Any]:
    nodes = _nodes_used(profile, thread)
    number = {node: position for position, node in enumerate(nodes)}
    places = list(dict.fromkeys(int(profile.place[node]) for node in nodes))
    frame = {place: position for position, place in enumerate(places)}
    strings: dict[str, int] = {}

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    functions: dict[tuple[str, str, str], int] = {}
    for place in places:
        one = profile.places[place]
        functions.setdefault((one.function, one.module, one.file), len(functions))
    modules = list(dict.fromkeys(module for _, module, _ in functions))
    category = int(thread.clock)
    blocked = thread.clock is Clock.BLOCKED
    return {
        "processType": "default",
        "processName": thread.program,
        "processStartupTime": 0,
        "processShutdownTime": None,
        "registerTime": 0,
        "unregisterTime": None,
        "pausedRanges": [],
        "name": f"{thread.name} (blocked)" if blocked else thread.name,
        "isMainThread": is_main,
        "showMarkersInTimeline": False,
        "pid": str(thread.pid),
        "tid": f"{thread.tid}-blocked" if blocked else thread.tid,
        "samples": {
            "length": len(thread.time),
            "stack": [number[node] if node >= 0 else None for node in thread.stack.tolist()],
            "time": ((thread.time - profile.start) / 1e6).tolist(),
            "weight": (thread.weight / 1e6).tolist(),
            "weightType": "tracing-ms",
        },
        "markers": {"length": 0, **_empty("category", "data", "endTime", "name", "phase", "startTime")},
        "stackTable": {
            "length": len(nodes),
            "prefix": [number.get(int(profile.parent[node])) for node in nodes],
            "frame": [frame[int(profile.place[node])] for node in nodes],
            "category": [category] * len(nodes),
            "subcategory": [0] * len(nodes),
        },
        "frameTable": {
            "length": len(places),
            "address": [-1] * len(places),
            "inlineDepth": [0] * len(places),
            "category": [category] * len(places),
            "subcategory": [0] * len(places),
            "func": [functions[_function_of(profile, place)] for place in places],
            "line": [profile.places[place].line or None for place in places],
            **{name: [None] * len(places) for name in ("nativeSymbol", "innerWindowID", "implementation", "column")},
        },
        "funcTable": {
            "length": len(functions),
            "name": [text(name) for name, _, _ in functions],
            "isJS": [False] * len(functions),
            "relevantForJS": [False] * len(functions),
            "resource": [modules.index(module) for _, module, _ in functions],
            "fileName": [text(file) if file else None for _, _, file in functions],
            "lineNumber": [None] * len(functions),
            "columnNumber": [None] * len(functions),
        },
        "resourceTable": {
            "length": len(modules),
            "lib": [None] * len(modules),
            "name": [text(module) for module in modules],
            "host": [None] * len(modules),
            "type": [_LIBRARY] * len(modules),
        },
        "nativeSymbols": {"length": 0, **_empty("libIndex", "address", "name", "functionSize")},
        "stringArray": list(strings),
    }


def _function_of(profile: Profile, place: int) -> tuple[str, str, str]:
    one = profile.places[place]
    return one.function, one.module, one.file


def _nodes_used(profile: Profile, thread: ThreadSamples) -> list[int]:
    """The nodes on this thread's stacks; parents come before children."""
    used: set[int] = set()
    for node in np.unique(thread.stack).tolist():
        at = int(node)
        while at >= 0 and at not in used:
            used.add(at)
            at = int(profile.parent[at])
    return sorted(used)


def _empty(*names: str) -> dict[str, list[Any]]:
    return {name: [] for name in names}
