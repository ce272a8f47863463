"""Loaded into the user's pytest: picks one benchmark, waits before it starts until whyperf's window is open, tells how
often it was called, and waits to be stopped.

It needs nothing but pytest: whyperf need not be installed where the user's tests run.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Callable, Iterator  # noqa: UP035 (the user's Python may be old)

import pytest

_PATIENCE_S = 60.0
_BEYOND_ROUNDS = 2  # calls: one to find out how long it takes, one for its result


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    wanted = os.environ["WHYPERF_PYTEST_NAME"]
    chosen = [item for item in items if wanted in (item.name, item.nodeid)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> Iterator[None]:
    folder = Path(os.environ["WHYPERF_PYTEST_FOLDER"])
    (folder / "waits").touch()
    _wait((folder / "begun").exists)
    (folder / "begun").unlink()
    yield
    stats = getattr(pyfuncitem.funcargs.get("benchmark"), "stats", None)
    if stats is not None:
        calls = stats.stats.rounds * stats.iterations + _BEYOND_ROUNDS
        (folder / "work").write_text(f"work={calls}\n", encoding="ascii")
        _wait(lambda: False)


def _wait(done: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not done() and time.monotonic() < until:
        time.sleep(0.005)
