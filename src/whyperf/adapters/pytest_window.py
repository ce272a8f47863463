"""Loaded into the user's pytest: picks one benchmark, waits before it starts until whyperf's window is open, tells how
often it was called, and waits to be stopped.

It needs nothing but pytest: whyperf need not be installed where the user's tests run.
"""

import os
import time

import pytest

_PATIENCE_S = 60.0
_BEYOND_ROUNDS = 2  # calls: one to find out how long it takes, one for its result


def pytest_collection_modifyitems(config, items):
    wanted = os.environ["WHYPERF_PYTEST_NAME"]
    chosen = [item for item in items if wanted in (item.name, item.nodeid)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    folder = os.environ["WHYPERF_PYTEST_FOLDER"]
    begun = os.path.join(folder, "begun")
    with open(os.path.join(folder, "waits"), "w"):
        pass
    _wait(lambda: os.path.exists(begun))
    os.unlink(begun)
    yield
    stats = getattr(pyfuncitem.funcargs.get("benchmark"), "stats", None)
    if stats is not None:
        with open(os.path.join(folder, "work"), "w") as work:
            work.write(f"work={stats.stats.rounds * stats.iterations + _BEYOND_ROUNDS}\n")
        _wait(lambda: False)


def _wait(done):
    until = time.monotonic() + _PATIENCE_S
    while not done() and time.monotonic() < until:
        time.sleep(0.005)
