"""The chain from where time is paid to where the value was made, in a real browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.engines.made import recording
from tests.page.conftest import SCREENSHOTS, open_page
from tests.report import verdicts
from whyperf.report.html.build import page_model
from whyperf.report.html.examined import Examined
from whyperf.report.html.page import render


def test_a_chain_is_shown_hop_by_hop_with_its_proof(browser: Browser, tmp_path: Path) -> None:
    nothing = recording([])
    written = tmp_path / "page.html"
    verdict = verdicts.proven()
    first = replace(verdict.suspects[0], why="Here `megabytes << 20` is 0, was 67,108,864.")
    verdict = replace(verdict, suspects=(first, *verdict.suspects[1:]))
    written.write_text(render(page_model(verdict, Examined([nothing], [nothing]))), encoding="utf-8")
    for width, colours in ((1360, "light"), (420, "dark")):
        opened = open_page(browser, written.as_uri(), width=width, colours=colours)
        suspect = opened.page.locator("#suspect-1")
        expect(suspect.locator(".origin .value")).to_have_text(
            ["entry: 2 to 40, was 1", "table->size: 256, was 1,048,576", "megabytes << 20: 0, was 67,108,864"]
        )
        expect(suspect.locator("p.why")).to_have_text("Here megabytes << 20 is 0, was 67,108,864.")
        expect(suspect.locator(".origin .turns .where a")).to_have_text("tool.c:167")
        expect(suspect.locator(".origin .turns strong")).to_have_text("good turns into bad here")
        expect(suspect.locator(".proofs .proven")).to_contain_text("98% of the excess is gone")
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        suspect.screenshot(path=SCREENSHOTS / f"origin-{width}-{colours}.png")
        assert opened.complaints == []
        opened.page.close()


def test_a_hop_that_is_not_known_to_differ_turns_nothing(browser: Browser, tmp_path: Path) -> None:
    nothing, written, verdict = recording([]), tmp_path / "page.html", verdicts.proven()
    first, *others = verdict.suspects
    assert first.origin is not None
    hops = tuple(replace(hop, good="unknown", differs=False) for hop in first.origin.hops)
    first = replace(first, origin=replace(first.origin, hops=hops, turn=None), proofs=())
    page = page_model(replace(verdict, suspects=(first, *others)), Examined([nothing], [nothing]))
    written.write_text(render(page), encoding="utf-8")
    opened = open_page(browser, written.as_uri(), width=1360, colours="light")
    suspect = opened.page.locator("#suspect-1")
    expect(suspect.locator(".origin .value").last).to_have_text(
        "megabytes << 20: 0, and unknown in good runs: no difference shown"
    )
    expect(suspect.locator(".origin .turns")).to_have_count(0)
    assert opened.complaints == []
    opened.page.close()
