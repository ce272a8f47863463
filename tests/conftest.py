"""For all tests: a property is judged by whether it holds, not by how fast a busy machine is; each process of tests has
tracers of its own; the hundreds of interpreters that they start compile each module once; and what takes long comes
first."""

import os
from collections import Counter

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

os.environ["WHYPERF_TRACE_FOLDER"] = f"/tmp/whyperf-tests-{os.getpid()}"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of few tests run whole programs: one of them at the end would keep one process busy and the others not."""
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: tests[item.path])
