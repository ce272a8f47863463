"""What a program loads by dlopen(): nobody knows before it runs, so a run says it and the next one watches it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from whyperf.collect.dependences.instruments import WatchedModule, read_instruments
from whyperf.collect.dependences.raw import PLAN, STREAM
from whyperf.collect.dependences.stream import StreamModule, read_stream
from whyperf.collect.target.module_layers import origin_of
from whyperf.errors import WhyperfError
from whyperf.recording.layout import RAW

_VALGRINDS = re.compile(r"vgpreload_.*\.so")


def loaded_later(folder: Path) -> tuple[str, ...]:
    """Paths of the program's own libraries that ran in this recording, not yet sealed, and were not watched."""
    raw = folder / RAW
    try:
        watched = read_instruments(raw / PLAN).modules
        modules = read_stream(raw / STREAM).modules
    except (OSError, ValueError, WhyperfError):
        return ()  # sealing will say what became of it
    return unwatched(modules, watched)


def unwatched(modules: Iterable[StreamModule], watched: Iterable[WatchedModule]) -> tuple[str, ...]:
    """Of the files that executed code came from, those that are the user's own and not in the plan."""
    watched = tuple(watched)
    identities = {module.build_id for module in watched if module.build_id}
    names = {module.name for module in watched if not module.build_id}
    return tuple(
        module.path
        for module in modules
        if module.build_id not in identities
        and Path(module.path).name not in names
        and origin_of(module.path, (), "") == "library"
        and not _VALGRINDS.fullmatch(Path(module.path).name)
    )
