"""What a deep recording does not hold, in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from whyperf.collect.dependences.instruments import WatchedModule
from whyperf.collect.dependences.plug_ins import unwatched
from whyperf.collect.dependences.stream import Stream

_SEEN_ENDING = {
    "limit": "The limit of executions was reached: what came after is not in the recording.",
    "disk": "The disk was full: the target ran on, but was recorded only until then.",
    "cut": "The target was killed, or became another program by exec: the recording ends there, or shortly before.",
}


def deep_notes(stream: Stream, watched: Sequence[WatchedModule]) -> Iterator[str]:
    """`watched`: the files that the recording was planned for."""
    if stream.ending in _SEEN_ENDING:
        yield _SEEN_ENDING[stream.ending]
    for one in stream.unsupported:
        path = stream.modules[one.module].path or "code of no file"
        yield (
            f"Valgrind cannot execute the instruction {one.code.hex()} at {Path(path).name}+0x{one.address:x}: the "
            "target got SIGILL there."
        )
    if stream.forks:
        processes = "a process" if stream.forks == 1 else f"{stream.forks} processes"
        yield f"The target started {processes} by fork; only the target itself is in the recording."
    for path in unwatched(stream.modules, watched):
        yield (
            f"{Path(path).name} was loaded while the program ran, and its functions were not watched: "
            f"record again with --plug-in {shlex.quote(path)}."
        )
