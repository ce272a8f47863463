"""For all tests: a property is judged by whether it holds, not by how fast a busy machine is; each process of tests has
tracers of its own; the hundreds of interpreters that they start compile each module once; and what takes long comes
first."""

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.expected_skips import is_expected
from tests.tried_again import may_be_tried_again

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

os.environ["WHYPERF_TRACE_FOLDER"] = f"/tmp/whyperf-tests-{os.getpid()}"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What nohup and a shell's background jobs ignore, programs that tests start would ignore too.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

# Who is told to end stops what its tests have started: a flight recorder, for one, would stay in the kernel.
signal.signal(signal.SIGTERM, signal.default_int_handler)

# Rooms whose tests start programs, each and every one.
_OF_PROCESSES = frozenset(
    {
        "adapters",
        "assistants",
        "bench",
        "ci",
        "cli",
        "collect",
        "debuginfo",
        "native",
        "packaging",
        "page",
        "proof",
        "revisions",
        "seal",
        "transparency",
    }
)
_STARTS = frozenset({"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen"})
_unit_tests: list[str] = []  # the one that runs now, if any


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-programs", action="store_true", help="a test fails that starts one without being marked so")
    parser.addoption("--no-unexpected-skips", action="store_true", help="a skip fails unless this machine explains it")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without programs, rooms that have no test without are not even loaded."""
    return True if config.getoption("no_programs") and _room(collection_path) in _OF_PROCESSES else None


def _inside(path: Path) -> str:
    return path.relative_to(Path(__file__).parent).as_posix()


def _room(path: Path) -> str:
    return _inside(path).partition("/")[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of few tests run whole programs: one of them at the end would keep one process busy and the others not."""
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: tests[item.path])
    for item in items:
        if _room(item.path) in _OF_PROCESSES:
            item.add_marker("process")
        if may_be_tried_again(_inside(item.path)):
            item.add_marker(pytest.mark.flaky(reruns=2))


def pytest_collection_finish() -> None:
    gc.freeze()  # what was loaded and collected stays: nobody has to look for garbage in it again


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    refused = item.config.getoption("no_programs") and not item.get_closest_marker("process")
    _unit_tests[:] = [item.nodeid] if refused else []
    try:
        return (yield)
    finally:
        _unit_tests.clear()


def _refuse_processes(event: str, _: tuple[object, ...]) -> None:
    if _unit_tests and event in _STARTS:
        raise AssertionError(f"{_unit_tests[0]} starts a program: mark it with pytest.mark.process")


sys.addaudithook(_refuse_processes)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and item.config.getoption("no_unexpected_skips"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not is_expected(reason.removeprefix("Skipped: ")):
            report.outcome, report.longrepr = "failed", f"{item.nodeid} was not expected to be skipped. {reason}"
    return report
