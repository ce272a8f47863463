"""How long a test waits before it calls something a hang: far longer than anything takes on a machine with twenty jobs.

What takes too long is found by benchmarks, not by tests.
"""

import time
from collections.abc import Callable

PATIENCE_S = 900.0


def wait_until(condition: Callable[[], bool], what: str = "it") -> None:
    """Instead of a pause that is long enough on some machines."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.02)
