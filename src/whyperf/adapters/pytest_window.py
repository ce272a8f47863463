"""Loaded into the user's pytest: picks one benchmark, and waits before it starts until whyperf's window is open.

It needs nothing but pytest: whyperf is not installed where the user's tests run.
"""

import os
import time

import pytest

_PATIENCE_S = 60.0


def pytest_collection_modifyitems(config, items):
    wanted = os.environ["WHYPERF_PYTEST_WINDOW_NAME"]
    chosen = [item for item in items if wanted in (item.name, item.nodeid)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    folder = os.environ["WHYPERF_PYTEST_WINDOW"]
    with open(os.path.join(folder, "waits"), "w"):
        pass
    until = time.monotonic() + _PATIENCE_S
    while not os.path.exists(os.path.join(folder, "begun")) and time.monotonic() < until:
        time.sleep(0.005)
    return (yield)
