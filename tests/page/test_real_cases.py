"""Real cases in a real browser, one for each kind of evidence at least: from the verdict to it, one click each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import SCREENSHOTS, barriers, eventually, open_page

CASES = ("cluster", "convoy", *(pytest.param(name, marks=pytest.mark.long) for name in ("pool", "orders", "shelf")))


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Path:
    written: Path = request.getfixturevalue(request.param)
    return written


# Fonts are there, and two frames were drawn since.
_DRAWN = "document.fonts.ready.then(() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))))"


def model_in(page: Page) -> dict[str, Any]:
    text = page.locator("#model").text_content()
    assert text is not None
    found: dict[str, Any] = json.loads(text)
    return found


def full_width_frames(page: Page) -> list[str]:
    """Functions that the flame graph is zoomed to, and what lies around them."""
    shown: list[str] = page.locator(".flames").evaluate(
        "box => [...box.querySelectorAll('g.frame')].filter(g => g.getAttribute('width') >= box.clientWidth - 1)"
        ".map(g => g.getAttribute('name'))"
    )
    return shown


def test_it_opens_by_itself_and_quickly(case: Path, browser: Browser) -> None:
    assert case.stat().st_size < 3_000_000
    # WHEN the file is opened
    opened = open_page(browser, case.as_uri())
    # THEN the verdict is the first thing that is read
    model = model_in(opened.page)
    said = model["verdict"]["headline"]
    assert model["verdict"]["suspects"][0]["function"] in said
    expect(opened.page.locator("h1")).to_have_text(said.replace("`", ""))
    expect(opened.page.locator("h1 + p")).to_contain_text(model["verdict"]["sentence"])
    # AND nothing is asked for, nothing is complained of
    assert opened.requests == [case.as_uri()] and opened.complaints == []
    opened.page.close()


def test_every_piece_of_evidence_is_one_click_from_the_verdict(case: Path, browser: Browser) -> None:
    opened = open_page(browser, case.as_uri())
    page, model = opened.page, model_in(opened.page)
    links = page.locator("#verdict article a[href^='#']").all()
    assert len(links) >= len(model["verdict"]["suspects"])
    for link in links:
        target = (link.get_attribute("href") or "").removeprefix("#")
        link.click()
        kind, _, number = target.partition("-")
        section = page.locator("#contexts" if kind == "frame" else f"[id='{target}']")
        expect(section).to_be_in_viewport()
        if kind == "variable":
            expect(section.locator(".chart svg").first).to_be_visible()
            expect(section.locator("h3")).to_have_text(model["values"]["variables"][int(number)]["name"])
        elif kind == "frame":
            name = model["contexts"]["functions"][int(number)]["name"]
            eventually(page, lambda name=name: name in full_width_frames(page))
        elif kind == "cause":
            # A bar leads to its thread's stack.
            story = model["causes"]["stories"][int(number)]
            rung = next(at for at, one in enumerate(story["rungs"]) if one["stack"])
            section.locator(".chart a").nth(rung).click()
            expect(page.locator(f"[id='{target}-{rung}'] .stack")).to_contain_text(story["rungs"][rung]["stack"][0])
        elif kind == "relation":
            expect(section.locator(".edge.changed").first).to_be_visible()
    assert opened.complaints == []
    page.close()


@pytest.mark.parametrize(
    ("name", "section"), [("cluster", "values"), ("pool", "contexts"), ("convoy", "causes"), ("shelf", "relations")]
)
def test_every_kind_of_evidence_is_met_in_a_real_case(
    name: str, section: str, request: pytest.FixtureRequest, browser: Browser
) -> None:
    opened = open_page(browser, request.getfixturevalue(name).as_uri())
    expect(opened.page.locator(f"#{section}")).to_have_count(1)
    opened.page.close()


def test_sections_without_data_do_not_appear(case: Path, browser: Browser) -> None:
    opened = open_page(browser, case.as_uri())
    model = model_in(opened.page)
    for name in ("values", "contexts", "causes", "relations"):
        assert opened.page.locator(f"#{name}").count() == (0 if model[name] is None else 1)
        assert opened.page.locator(f"nav a[href='#{name}']").count() == (0 if model[name] is None else 1)
    expect(opened.page.locator("#recordings tbody tr")).to_have_count(len(model["recordings"]["rows"]))
    opened.page.close()


def test_source_marks_the_lines_that_matter(cluster: Path, browser: Browser) -> None:
    opened = open_page(browser, cluster.as_uri())
    model = model_in(opened.page)
    suspect = model["verdict"]["suspects"][0]
    hottest = max(suspect["excerpt"]["lines"], key=lambda line: line["share"])
    hot = opened.page.locator("#suspect-1 .line.hot").filter(has_text=str(hottest["number"]))
    expect(hot.locator("code").first).to_have_text(hottest["text"].strip())
    assert opened.page.locator("#suspect-1 .hljs-keyword").count() > 0
    opened.page.close()


def test_the_flame_graph_is_searched_inverted_and_walked(pool: Path, browser: Browser) -> None:
    opened = open_page(browser, pool.as_uri())
    page = opened.page
    flames = page.locator("#contexts .flames")
    # Where a program waits longer, waiting is shown first.
    page.get_by_text("on the CPU", exact=True).click()

    def rows() -> list[str]:
        shown: list[str] = flames.locator("g.frame").evaluate_all(
            "all => all.map(g => [g.getAttribute('transform'), g.getAttribute('name')])"
            ".filter(([at]) => at.endsWith(',20)')).map(([, name]) => name)"
        )
        return shown

    outermost = rows()
    # WHEN it is inverted, THEN functions that call nothing are on top
    page.get_by_text("inverted", exact=True).click()
    eventually(page, lambda: rows() != outermost and any("find_victim" in name for name in rows()))
    # WHEN something is searched for, THEN it is told how much that is
    page.get_by_placeholder("function or module").fill("find_victim")
    expect(page.locator(".looked")).to_contain_text("find_victim")
    expect(page.locator(".looked")).to_contain_text("%")
    page.get_by_placeholder("function or module").fill("")
    # AND what was waited for is there as well, by layer
    page.get_by_text("waiting", exact=True).click()
    page.get_by_text("layer", exact=True).click()
    expect(page.locator(".legend li")).not_to_have_count(0)
    # AND the keyboard reaches every frame
    flames.focus()
    page.keyboard.press("ArrowDown")
    eventually(page, lambda: page.locator(".looked code").text_content() in rows())
    page.keyboard.press("Enter")
    expect(flames.locator("g.frame.fade")).not_to_have_count(0)
    page.keyboard.press("Escape")
    expect(flames.locator("g.frame.fade")).to_have_count(0)
    assert opened.complaints == []
    page.close()


def test_everybody_can_read_it(case: Path, browser: Browser, axe: str) -> None:
    for colours in ("light", "dark"):
        opened = open_page(browser, case.as_uri(), colours=colours)
        opened.page.evaluate(_DRAWN)
        assert barriers(opened.page, axe) == []
        opened.page.close()


@pytest.mark.parametrize("look", ["light", "dark", "narrow", "print"])
def test_it_fits_every_screen_and_paper(case: Path, browser: Browser, look: str) -> None:
    """Screenshots are kept, to be looked at."""
    width = {"narrow": 420, "print": 780}.get(look, 1360)
    opened = open_page(browser, case.as_uri(), width=width, colours="dark" if look == "dark" else "light")
    page = opened.page
    if look == "print":
        page.emulate_media(media="print")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details:not([open])").count() == 0
        expect(page.locator("nav")).to_be_hidden()
        for told in page.locator(".story summary").all():
            expect(told).to_be_visible()
    page.evaluate(_DRAWN)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # Names such as customer->next are not broken at their hyphens.
    assert page.evaluate("[...document.querySelectorAll('code.whole')].every(name => name.getClientRects().length < 2)")
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(23, 24, 27)"
    assert dark == (look == "dark")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{case.parent.name.rstrip('0123456789')}-{look}.png", full_page=True)
    assert opened.complaints == []
    page.close()
