"""Results on disk, one file each, so that a book can be taken up where it was left."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from bench.cache import BENCH, cache_folder


def kept_in(part: str) -> Path:
    folder = cache_folder() / "results" / "speed" / part
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write(part: str, name: str, result: dict[str, Any]) -> None:
    """With what a figure means nothing without: when, of which code, and how busy the machine was."""
    said = {"when": time.strftime("%Y-%m-%d %H:%M"), "commit": _commit(), "load": round(os.getloadavg()[0], 1)}
    path = kept_in(part) / f"{name}.json"
    path.with_suffix(".new").write_text(json.dumps({**said, **result}, indent=1) + "\n")
    path.with_suffix(".new").replace(path)


def read(part: str, name: str) -> dict[str, Any] | None:
    path = kept_in(part) / f"{name}.json"
    found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return found


def read_all(part: str, names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Those that there are, in this order."""
    return {name: found for name in names if (found := read(part, name)) is not None}


def forget(part: str, name: str) -> None:
    (kept_in(part) / f"{name}.json").unlink(missing_ok=True)


def _commit() -> str:
    asked = ["git", "-C", str(BENCH), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
