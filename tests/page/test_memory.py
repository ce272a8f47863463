"""Memory on the page, of real runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from tests.native.memory.programs import LEAK, compiled
from tests.native.memory.test_recorded import recorded
from tests.page.conftest import barriers, open_page
from whyperf.diagnose.diagnosis import examine
from whyperf.engines.holdings import holdings_of
from whyperf.recording.sealed.reader import Recording
from whyperf.report.html.build import page_model
from whyperf.report.html.examined import Examined
from whyperf.report.html.model import PageModel
from whyperf.report.html.page import render

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Recording], list[Recording]]:
    folder = tmp_path_factory.mktemp("runs")
    program = compiled(folder, LEAK)
    good, bad = ([recorded(folder / f"{word}{n}", str(program), word) for n in range(2)] for word in ("good", "bad"))
    return good, bad


@pytest.fixture(scope="module")
def model(runs: tuple[list[Recording], list[Recording]]) -> PageModel:
    diagnosis = examine(*runs)
    return page_model(diagnosis.verdict, Examined(*runs, diagnosis.excess, diagnosis.values))


def test_flame_graphs_hold_what_the_runs_hold(runs: tuple[list[Recording], list[Recording]], model: PageModel) -> None:
    assert model.contexts is not None
    trees = {tree.clock: tree for tree in model.contexts.trees}
    assert model.contexts.shown == "peak"
    held = [holdings_of(run) for run in runs[1]]
    assert sum(trees["peak"].bad) == pytest.approx(np.mean([one.peak_bytes for one in held]))
    assert sum(trees["kept"].bad) == pytest.approx(np.mean([one.kept_bytes for one in held]))
    # THEN of the good runs, which free everything, next to nothing is kept
    assert sum(trees["kept"].good) < 0.2 * sum(trees["kept"].bad)


def test_the_curve_reaches_the_peak(model: PageModel) -> None:
    assert model.contexts is not None and model.contexts.memory is not None
    courses = model.contexts.memory.courses
    assert [(one.good, one.run) for one in courses] == [(True, 1), (True, 2), (False, 1), (False, 2)]
    good, bad = (max(max(one.high) for one in courses if one.good is side) for side in (True, False))
    assert bad > 2 * good
    for one in courses:
        assert all(low <= middle <= high for low, middle, high in zip(one.low, one.middle, one.high, strict=True))


@pytest.mark.parametrize(("width", "colours"), [(1360, "light"), (1360, "dark"), (420, "light")])
def test_everybody_can_read_it(
    model: PageModel, browser: Browser, axe: str, tmp_path: Path, width: int, colours: str
) -> None:
    file = tmp_path / "page.html"
    file.write_text(render(model), encoding="utf-8")
    opened = open_page(browser, file.as_uri(), width=width, colours=colours)
    page = opened.page
    page.get_by_text("memory never freed", exact=True).click()
    expect(page.locator("#contexts caption")).to_contain_text("memory")
    expect(page.locator("#contexts .legend")).to_contain_text("MB")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page, axe) == []
    assert opened.complaints == []
    page.close()
