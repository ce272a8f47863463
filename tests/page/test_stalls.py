"""Timelines and heat maps in the browser."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.engines.made import recording
from tests.page.conftest import open_page
from tests.page.stalls import stalled
from whyperf.report.html.build import page_model
from whyperf.report.html.examined import Examined
from whyperf.report.html.page import render


def test_from_the_verdict_to_the_stacks_of_the_waiting_threads(browser: Browser, tmp_path: Path) -> None:
    # GIVEN a page of a stall
    nothing = recording([])
    written = tmp_path / "page.html"
    written.write_text(render(page_model(stalled(), Examined([nothing], [nothing]))), encoding="utf-8")
    opened = open_page(browser, written.as_uri())
    page = opened.page
    # WHEN the way is followed from the suspect to the timeline
    page.get_by_role("link", name="who waited for whom").click()
    story = page.locator("#cause-0")
    expect(story).to_be_in_viewport()
    bars = story.locator(".chart a")
    expect(bars).to_have_count(3)
    # THEN a bar leads to its thread's stack
    expect(page.locator("#cause-0-2 .stack")).to_be_hidden()
    bars.nth(2).click()
    expect(page.locator("#cause-0-2 .stack")).to_contain_text("usleep (usleep.c:31)")
    # AND the heat map shows the function in which latency appeared
    expect(page.locator(".heat .hot code")).to_have_text("append_line")
    assert opened.complaints == []
    page.close()
