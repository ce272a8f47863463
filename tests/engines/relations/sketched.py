"""Sketches from a few lines of text, for tests.

    sketch("main 1 100", "main>restore 60 600 | 60:1", ...)

A line is a path of functions, how often it was called, its own instructions, and how many calls (`calls:activations`)
one activation of the caller made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.engines import made
from tests.engines.relations.deep import deep_recording
from whyperf.recording.schemas.deep_tables import SiteKind


def sketch(
    *lines: str,
    live: dict[str, int] | None = None,
    allocated: dict[str, int] | None = None,
    system: tuple[str, ...] = (),
    peak_bytes: int = 0,
) -> made.Made:
    functions: dict[str, int] = {}
    sites: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    fanouts: list[dict[str, Any]] = []
    row_of: dict[str, int] = {}
    site_of: dict[tuple[str, str], int] = {}

    def site(function: str, what: str) -> int:
        key = function, what
        if key not in site_of:
            number = functions.setdefault(function, len(functions))
            site_of[key] = len(sites)
            is_entry = what == "entry"
            sites.append(
                {
                    "site": len(sites),
                    "module": int(function in system),
                    "offset": _offset(function, what),
                    "function": number,
                    "inlined": number,
                    "file": "/src/tool.c",
                    "line": _offset(function, what) % 1000,
                    "frame": -1,
                    "block": -1,
                    "kind": SiteKind.PLAIN if is_entry else SiteKind.CALL,
                    "entry": is_entry,
                    "copy": False,
                    "memory": 0,
                    "loop": -1,
                    "join": -1,
                    "callee": -1,
                }
            )
        return site_of[key]

    for line in lines:
        numbers, _, counts = line.partition("|")
        path, times, instructions = numbers.split()
        above, _, function = path.rpartition(">")
        caller = above.rpartition(">")[2]
        row_of[path] = len(calls)
        calls.append(
            {
                "call": len(calls),
                "parent": row_of.get(above, -1),
                "site": site(function, "entry"),
                "caller": site(caller, f"calls {function}") if caller else -1,
                "calls": int(times),
                "instructions": int(instructions),
                "allocated": (allocated or {}).get(path, 0),
                "live": (live or {}).get(path, 0),
            }
        )
        for pair in counts.split():
            per_activation, activations = pair.split(":")
            fanouts.append({"call": row_of[path], "times": int(per_activation), "activations": int(activations)})
    rows = {
        "sites": sites,
        "calls": calls,
        "fanouts": fanouts,
        "functions": [
            {
                "function": number,
                "module": int(name in system),
                "name": name,
                "file": "/src/tool.c",
                "line": _offset(name, "entry") % 1000,
                "order": 0,
                "inlined": False,
                "sampled": False,
            }
            for name, number in functions.items()
        ],
        "modules": [
            {"module": 0, "name": "tool", "path": "/tool", "build_id": "aa", "origin": "program", "debug": "full"},
            {"module": 1, "name": "libc.so.6", "path": "/libc", "build_id": "cc", "origin": "libc", "debug": "symbols"},
        ],
    }
    recording = deep_recording(rows)
    totals = replace(recording.manifest.totals, max_rss_bytes=peak_bytes)
    return replace(recording, manifest=replace(recording.manifest, totals=totals))


def _offset(function: str, what: str) -> int:
    """The same in every run."""
    return sum(ord(letter) * 31**place for place, letter in enumerate(f"{function} {what}")) % 1_000_003 * 4
