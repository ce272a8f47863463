"""A real browser, and pages of real cases: recorded, diagnosed and written as a user would."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bench.cases.case import CASES, commands, load
from bench.tool import whyperf_argument
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright
from playwright.sync_api import Error as BrowserError

from tests.warm_interpreter import run_whyperf
from whyperf.cli.demo import BAD_ARGUMENT, GOOD_ARGUMENT, build
from whyperf.collect.tracer.backends import Backend, choose

SCREENSHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"
_AXE = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
_NOT_ENOUGH = 4  # exit status
_CONVOY = Path(__file__).parents[2] / "bench" / "causes" / "programs" / "convoy.c"
_SHELF = Path(__file__).parents[1] / "cli" / "deep" / "programs" / "shelf.c"


@dataclass
class Opened:
    """A page in the browser, and what went wrong or out since it was opened."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def asked(self, request: Request) -> None:
        if not request.url.startswith("data:"):
            self.requests.append(request.url)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        try:
            # Tests may run as root, and what is opened is our own.
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except BrowserError as error:
            pytest.skip(f"no Chromium here: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


def open_page(browser: Browser, address: str, *, width: int = 1360, colours: str = "light") -> Opened:
    page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=colours, reduced_motion="reduce")
    opened = Opened(page)
    page.on("console", opened.heard)
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("dialog", lambda dialog: (opened.complaints.append(dialog.message), dialog.dismiss()))
    page.on("request", opened.asked)
    page.goto(address)
    page.wait_for_selector("h1")
    return opened


@pytest.fixture(scope="session")
def axe() -> str:
    """What finds barriers in a page."""
    if not _AXE.is_file():
        pytest.skip("axe-core is not installed: make test")
    return _AXE.read_text(encoding="utf-8")


def barriers(page: Page, axe: str) -> list[str]:
    """What keeps people from reading the page, with where it is."""
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(result => result.violations)")
    return [f"{rule['id']}: {node['html'][:200]}" for rule in found for node in rule["nodes"]]


def eventually(page: Page, holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """The page draws when it gets to it: how soon is the machine's affair."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it never did"
        page.wait_for_timeout(20)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store's description of its cluster, in C: it has many nodes."""
    return _compared(tmp_path_factory, "kv-cluster-nodes", "--runs", "3")


@pytest.fixture(scope="session")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Threads in C++, running and waiting."""
    return _compared(tmp_path_factory, "pool-scan", "--runs", "1", "--clock", "wall")


@pytest.fixture(scope="session")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's program, as `whyperf demo` compares it."""
    program = build()
    sides = ("--good", f"{program} {GOOD_ARGUMENT}", "--bad", f"{program} {BAD_ARGUMENT}")
    return _written(tmp_path_factory.mktemp("orders"), *sides, "--runs", "1")


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counted under Valgrind: a relation changed."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    folder = tmp_path_factory.mktemp("shelf")
    subprocess.run(["gcc", "-O1", "-g", _SHELF, "-o", folder / "shelf"], check=True)
    sides = ("--good", f"{folder}/shelf 100 50", "--bad", f"{folder}/shelf 1000 50")
    return _written(folder, "--deep", *sides)


@pytest.fixture(scope="session")
def convoy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Threads that wait for a mutex, whose holder waits for a slow reader: traced."""
    if choose().means is not Backend.BPF:
        pytest.skip(f"kernel events: {choose().reason}")
    folder = tmp_path_factory.mktemp("convoy")
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "-o", folder / "convoy", _CONVOY], check=True)
    environment = {**os.environ, "WHYPERF_TRACE_FOLDER": str(folder / "state")}
    for mode in ("normal", "stalled"):
        words = ("--trace", "-o", str(folder / mode), "--", str(folder / "convoy"), mode)
        run_whyperf("record", *words, environment=environment).check_returncode()
    page = folder / "page.html"
    run_whyperf("diagnose", str(folder / "normal"), str(folder / "stalled"), "--html", str(page)).check_returncode()
    return page


def _compared(factory: pytest.TempPathFactory, case: str, *options: str) -> Path:
    wanted = commands(load(CASES / case))
    good, bad = (whyperf_argument(side.command) for side in (wanted.good, wanted.bad))
    return _written(factory.mktemp(case), "--good", good, "--bad", bad, *options)


def _written(folder: Path, *arguments: str) -> Path:
    page = folder / "page.html"
    words = ("compare", "--quick", "--force", "-o", str(folder / "recordings"), "--html", str(page), *arguments)
    done = run_whyperf(*words)
    if done.returncode == _NOT_ENOUGH and "--runs" in arguments:  # on a busy machine one run of each may not tell
        done = run_whyperf(*words, "--runs", "4")
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert f"the page is {page.as_uri()}" in done.stderr
    return page
