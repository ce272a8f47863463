"""What differs between two builds, in a real browser."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.engines.made import recording
from tests.page.conftest import open_page
from tests.report import verdicts
from whyperf.report.html.build import page_model
from whyperf.report.html.examined import Examined
from whyperf.report.html.page import render


def test_lines_that_one_build_has_are_told_apart(browser: Browser, tmp_path: Path) -> None:
    nothing = recording([])
    written = tmp_path / "page.html"
    written.write_text(render(page_model(verdicts.two_builds(), Examined([nothing], [nothing]))), encoding="utf-8")
    opened = open_page(browser, written.as_uri())
    shown = opened.page.locator("#suspect-1 .differences")
    expect(shown.locator("pre")).to_have_count(2)
    expect(shown.locator(".line.in-good")).to_have_count(4)
    added = shown.locator(".line.in-bad")
    expect(added).to_have_text(
        ["38+ struct entry *entry = table->buckets[hash(name) % 2];", "44+ log_line(name);"], use_inner_text=False
    )
    expect(shown.locator(".line.in-both code").first).to_have_text("while (entry != NULL) {")
    assert opened.complaints == []
    opened.page.close()
