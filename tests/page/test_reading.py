"""Reading a page: what its headline says, what it shows first, its colours, its links and its names."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.engines.made import Made, recording
from tests.engines.values.made import Read, with_values
from tests.page.conftest import barriers, eventually, open_page
from tests.page.made import model_of
from tests.page.stalls import stalled
from whyperf.diagnose.diagnosis import examine
from whyperf.report.html.build import page_model
from whyperf.report.html.examined import Examined
from whyperf.report.html.model import PageModel
from whyperf.report.html.page import render

_FOLDER = "/src/a b"
_SOURCE = {f"{_FOLDER}/tool.c": (30, "\n".join(f"line {number};" for number in range(30, 60)))}
_STARTS = ("libc:_start", "libc:__libc_start_main")
_STRENGTH = re.compile(r"var\(--(more|less)\) (\d+)%")


def _run(stacks: list[Any], **more: Any) -> Made:
    return recording(stacks, source=_SOURCE, folder=_FOLDER, **more)


def _slower(*, slow: bool) -> Made:
    stacks = [
        ((*_STARTS, "main@35", "serve@40", "find@45*", "libc:strcmp"), 6.0 if slow else 0.5),
        ((*_STARTS, "main@35", "tidy@50"), 2.0),
    ]
    limits = Read("find", "limit", [9000 if slow else 30] * 400, roles="loop|condition")
    return with_values(_run(stacks), limits)


def _moved(*, slow: bool) -> Made:
    """As much time in all, in other functions."""
    stacks = [
        ((*_STARTS, "main@35", "serve@40", "find@45*"), 6.0 if slow else 2.0),
        ((*_STARTS, "main@35", "serve@40", "log@45*"), 1.2 if slow else 1.0),
        ((*_STARTS, "main@35", "tidy@50"), 2.0 if slow else 6.2),
    ]
    return _run(stacks)


def _waiting(*, slow: bool) -> Made:
    waits = [((*_STARTS, "main@36", "fetch@40", "libc:read"), 6.0 if slow else 0.5)]
    return _run([((*_STARTS, "main@35", "work@50"), 2.0)], blocked=waits, clock="wall", wall_s=8.0 if slow else 2.5)


def _stall() -> PageModel:
    nothing = recording([])
    return page_model(stalled(), Examined([nothing], [nothing]))


@pytest.fixture(scope="module")
def models() -> dict[str, PageModel]:
    made = {"slower": _slower, "moved": _moved, "waiting": _waiting}
    found = {name: model_of([run(slow=False)] * 3, [run(slow=True)] * 3) for name, run in made.items()}
    return {**found, "stall": _stall()}


@pytest.fixture
def opened(browser: Browser, tmp_path: Path, models: dict[str, PageModel]) -> Any:
    pages: list[Page] = []

    def opens(name: str, **look: Any) -> Page:
        written = tmp_path / "page.html"
        written.write_text(render(models[name]), encoding="utf-8")
        pages.append(open_page(browser, written.as_uri(), **look).page)
        return pages[-1]

    yield opens
    for page in pages:
        page.close()


def _colours(page: Page) -> dict[str, tuple[str, int]]:
    """By function, which way it is coloured and how strongly."""
    fills: list[tuple[str, str]] = page.locator(".flames g.frame:not(.fade)").evaluate_all(
        "all => all.map(g => [g.getAttribute('name'), g.querySelector('rect').getAttribute('fill')])"
    )
    found = {name: _STRENGTH.search(fill) for name, fill in fills}
    return {name: (one[1], int(one[2])) for name, one in found.items() if one is not None}


def _frames(page: Page) -> list[str]:
    names: list[str] = page.locator(".flames g.frame").evaluate_all("all => all.map(g => g.getAttribute('name'))")
    return names


def _frame(page: Page, name: str) -> Locator:
    return page.locator(f".flames g.frame[name='{name}']")


def test_the_headline_says_why_and_then_how_much(opened: Any, models: dict[str, PageModel]) -> None:
    page = opened("slower")
    verdict = models["slower"].verdict
    assert verdict is not None
    expect(page.locator("h1")).to_have_text(re.compile("^find: limit stays at 9,000"))
    expect(page.locator("h1 code")).to_have_text(["find", "limit"])
    expect(page.locator("h1 + p")).to_contain_text(verdict.sentence)
    expect(page.locator("h1 + p")).to_contain_text("confidence")


def test_colours_scale_by_the_largest_change_in_view(opened: Any) -> None:
    # GIVEN as much time in all: what neither gained nor lost has no colour
    page = opened("moved")
    eventually(page, lambda: "find" in _colours(page))
    colours = _colours(page)
    assert colours["tidy"] == ("less", 100) and colours["find"][0] == "more" and colours["find"][1] > 90
    assert colours["main"][1] < 10 and colours["log"][1] < 30
    expect(page.locator("p.legend")).to_contain_text("+4.20 s")
    # WHEN the view is on a small change, THEN that has the full colour, and the legend says how much that is
    _frame(page, "log").click()
    eventually(page, lambda: _colours(page).get("log") == ("more", 100))
    expect(page.locator("p.legend")).to_contain_text("+200 ms")


def test_search_is_within_the_zoom_and_inverting_resets_it(opened: Any) -> None:
    page = opened("moved")
    page.get_by_placeholder("function or module").fill("find")
    expect(page.locator(".looked")).to_have_text("“find”: 6.00 s per run, 65%.")
    # WHEN it is zoomed in, THEN shares are of what is seen
    _frame(page, "serve").click()
    expect(page.locator(".looked")).to_have_text("“find”: 6.00 s per run, 83% of serve.")
    _frame(page, "log").click()
    expect(page.locator(".looked")).to_have_text("“find” is nowhere in log.")
    # WHEN it is turned round, THEN all of it is there again
    page.get_by_text("inverted", exact=True).click()
    expect(page.locator(".looked")).to_have_text("“find”: 6.00 s per run, 65%.")
    expect(page.locator(".flames g.frame.fade")).to_have_count(0)


def test_inverting_leaves_the_function_that_the_address_names(opened: Any) -> None:
    page = opened("slower")
    page.get_by_role("link", name="its calls in the flame graph").click()
    expect(page.locator(".flames g.frame.fade")).not_to_have_count(0)
    expect(page.get_by_role("button", name="whole graph")).to_be_visible()
    before = page.evaluate("scrollY")
    page.get_by_text("inverted", exact=True).click()
    expect(page.locator(".flames g.frame.fade")).to_have_count(0)
    assert not page.evaluate("location.hash") and page.evaluate("scrollY") == before
    # AND the link leads there again, and back
    page.get_by_role("link", name="its calls in the flame graph").click()
    expect(page.locator(".flames g.frame.fade")).not_to_have_count(0)
    page.get_by_role("button", name="whole graph").click()
    expect(page.locator(".flames g.frame.fade")).to_have_count(0)


def test_a_link_leads_into_a_branch_that_the_zoom_before_hid(opened: Any, models: dict[str, PageModel]) -> None:
    page, contexts = opened("slower"), models["slower"].contexts
    assert contexts is not None
    numbers = {one.name: number for number, one in enumerate(contexts.functions)}
    for name, around in (("tidy", []), ("strcmp", ["serve", "find"]), ("tidy", [])):
        page.evaluate(f"location.hash = 'frame-{numbers[name]}'")
        shown = sorted(["all", "main", *around, name])
        eventually(page, lambda shown=shown: sorted(one for one in _frames(page) if "start" not in one) == shown, 10)


def test_a_waiting_verdict_shows_waiting_time_first(opened: Any) -> None:
    page = opened("waiting")
    expect(page.get_by_role("radio", name="waiting")).to_be_checked()
    eventually(page, lambda: "fetch" in _frames(page) and "work" not in _frames(page))
    assert opened("slower").get_by_role("radio", name="waiting").count() == 0


@pytest.mark.parametrize(("kind", "measure"), [("wait", "own_s"), ("latency", "latency_p99_s")])
def test_whatever_waiting_is_measured_by_it_is_shown_first(kind: str, measure: str) -> None:
    good, bad = ([_waiting(slow=slow)] * 3 for slow in (False, True))
    verdict = examine(good, bad).verdict
    verdict = replace(verdict, symptom=replace(verdict.symptom, kind=kind, measure=measure))
    contexts = page_model(verdict, Examined(good, bad)).contexts
    assert contexts is not None and contexts.shown == "blocked"


def test_plumbing_is_folded_until_it_is_asked_for(opened: Any) -> None:
    page = opened("slower")
    eventually(page, lambda: "find" in _frames(page))
    assert not {"_start", "__libc_start_main"} & set(_frames(page)) and "strcmp" in _frames(page)
    page.locator("fieldset", has_text="Plumbing").get_by_text("shown").click()
    eventually(page, lambda: {"_start", "__libc_start_main"} <= set(_frames(page)))


def test_places_open_the_editor_and_are_copied(opened: Any) -> None:
    page = opened("slower")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    suspect = page.locator("#suspect-1 header")
    expect(suspect.get_by_role("link", name="tool.c:45")).to_have_attribute("href", "vscode://file/src/a%20b/tool.c:45")
    suspect.get_by_role("button", name="Copy tool.c:45").click()
    expect(suspect.get_by_text("copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"{_FOLDER}/tool.c:45"
    caption = page.locator("#suspect-1 .source figcaption")
    expect(caption.get_by_role("link")).to_have_attribute("href", "file:///src/a%20b/tool.c")
    expect(page.locator("#suspect-1 .line.hot .number a").first).to_have_attribute("href", re.compile(r"tool\.c:45$"))


def test_the_next_command_is_copied_as_it_is(browser: Browser, tmp_path: Path, models: dict[str, PageModel]) -> None:
    verdict = models["slower"].verdict
    assert verdict is not None
    command = "whyperf compare --runs 6 --good './tool a  b' --bad './tool < x'"
    model = replace(models["slower"], verdict=replace(verdict, next_command=command))
    written = tmp_path / "page.html"
    written.write_text(render(model), encoding="utf-8")
    page = open_page(browser, written.as_uri()).page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the next command").click()
    expect(page.locator(".next .copy")).to_have_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == command
    page.close()


def test_on_a_phone_confidence_is_there_and_no_table_is_clipped(opened: Any) -> None:
    page = opened("slower", width=420)
    for shown in page.locator(".overview .confidence").all():
        expect(shown).to_be_visible()
    clipped = "all => all.filter(one => one.getBoundingClientRect().right > innerWidth).map(one => one.outerHTML)"
    assert page.locator("table, table td, table th").evaluate_all(clipped) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [1360, 420])
def test_shares_stand_beside_lines_that_are_longer_than_the_page(opened: Any, width: int) -> None:
    # GIVEN a page with a long line of source
    page = opened("slower", width=width)
    block = page.locator(".source .code").first
    block.locator(".line code").last.evaluate("one => { one.textContent = 'x'.repeat(400) }")
    box, shares = block.bounding_box(), block.locator(".share").all()
    assert shares
    for share in shares:
        shown = share.bounding_box()
        assert shown["x"] >= box["x"] and shown["x"] + shown["width"] <= box["x"] + box["width"]


@pytest.mark.parametrize("name", ["slower", "moved", "waiting", "stall"])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_everybody_can_read_it(opened: Any, axe: str, name: str, colours: str) -> None:
    page = opened(name, colours=colours)
    page.wait_for_function("document.fonts.status === 'loaded'")
    assert barriers(page, axe) == []


def test_every_chart_has_a_name_with_its_numbers(opened: Any) -> None:
    names: list[str] = []
    for model in ("slower", "waiting", "stall"):
        page = opened(model)
        page.wait_for_selector(".chart svg")
        charts = page.locator(".chart, svg[role='img'], [role='application']")
        names += [one.get_attribute("aria-label") or "" for one in charts.all()]
    assert len(names) >= 7 and all(re.search(r"\d", name) for name in names), names
    assert any("good runs 30 in 100%; bad runs 9,000 in 100%" in name for name in names)
    assert any("largest changes: strcmp +5.50 s" in name for name in names)
    assert any("slept in append_line for 1.49 s" in name for name in names)
