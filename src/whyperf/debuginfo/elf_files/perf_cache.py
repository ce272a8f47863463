"""perf's cache of the files it has seen, by build-id: ~/.debug, or what its configuration or environment says."""

from __future__ import annotations

import os
from pathlib import Path

_NAMES = ("elf", "vdso", "kallsyms", "debug")


def cache_folder() -> Path:
    named = os.environ.get("PERF_BUILDID_DIR", "")
    return Path(named) if named else Path(os.path.expanduser("~/.debug"))  # noqa: PTH111 (never raises)


def cached_files(build_id: str) -> list[Path]:
    """What there is of that build; names tell what it is: elf, vdso, kallsyms or debug."""
    if len(build_id) <= 2 or not build_id.isalnum():
        return []
    folder = cache_folder() / ".build-id" / build_id[:2] / build_id[2:]
    found = [folder / name for name in _NAMES]
    return [path for path in found if path.is_file()]
