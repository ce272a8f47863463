"""Programs that put markup, scripts and direction changes into every text that they control."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.engines.made import Made, recording
from tests.engines.values.made import Read, with_values
from tests.page.conftest import open_page
from tests.page.made import model_of
from tests.page.stalls import stalled
from whyperf.diagnose.verdict import Evidence, Suspect, Symptom, Verdict, VerdictKind
from whyperf.engines.finding import ChangedLine, SourceChange
from whyperf.engines.relations.detail import (
    RelationEdge,
    RelationGraph,
    RelationNode,
    RelationsDetail,
    SymptomTotals,
)
from whyperf.recording.sealed.manifest import Losses, Unfollowed
from whyperf.report.html.build import page_model
from whyperf.report.html.examined import Examined
from whyperf.report.html.page import render

ATTACKS = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(3)>",
    "\"'><svg onload=alert(4)>",
    "javascript:alert(5)",
    "\u202etxet desrever\u202c\u2066\u200b",
    "\x1b]0;title\x07\x00",
    "$& $1 $` {{7*7}} \\u003cb",
    "]]>&lt;b&gt;",
)
EVIL = " ".join(ATTACKS)
REORDERING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\x1b\x07\x00")


def sampled() -> tuple[list[Made], list[Made]]:
    """Good and bad runs."""

    def run(slow: bool) -> Made:
        name = f"tool {EVIL}"
        stacks = [(("main", f"{EVIL}@12"), 9.0 if slow else 1.0)]
        made = recording(
            stacks,
            program=name,
            source={f"/src/{name}.c": (10, f"{EVIL}\n\t/* {EVIL}\n{EVIL} */")},
            command=(f"./{EVIL}", EVIL),
            losses=Losses(notes=(EVIL,), unfollowed=(Unfollowed(EVIL, EVIL, 2),)),
        )
        read = Read(EVIL, EVIL, [7 if slow else 900] * 150, type=EVIL, roles="loop|condition")
        return with_values(replace(made, path=Path(f"/tmp/{EVIL}")), read)

    return [run(False)] * 3, [run(True)] * 3


def related() -> str:
    """A page with a graph and changed lines, from a verdict that says the worst; half a character, too, which no table
    can hold."""
    evil = f"{EVIL}\ud800"
    node = RelationNode(evil, "call", evil, evil, 3, 1, 2)
    graph = RelationGraph((node, replace(node, kind=evil)), (RelationEdge(0, 1, "contains", 1.0, 9.0, True),))
    detail = RelationsDetail(
        symptom=SymptomTotals(evil, 1, 9, negation=False), decision=evil, inlined=evil, cause=None, origin=None,
        forward=None, way_in=None, backward=(), effect_of=evil, graph=graph,
    )  # fmt: skip
    suspect = Suspect(
        1, evil, evil, evil, evil, 3, 0, None, None, (evil, evil), 1, 1, evil, evil, evil,
        evidence=(Evidence("relations", 1, 1.0, detail),),
        change=SourceChange(((ChangedLine("good", 3, evil), ChangedLine("bad", 3, evil)),), 2),
    )  # fmt: skip
    symptom = Symptom(evil, evil, 1.0, 2.0, evil, (1, 1), (1.0,), (2.0,), evil)
    verdict = Verdict(VerdictKind.DIFFERENCE, symptom, (suspect,), (evil,), evil, (evil,))
    good, bad = recording([]), recording([])
    return render(page_model(verdict, Examined([good], [bad])))


def waited() -> str:
    """A page with a timeline and a heat map."""
    nothing = recording([])
    return render(page_model(stalled(EVIL), Examined([nothing], [nothing])))


@pytest.mark.parametrize("kind", ["sampled", "relations", "causes"])
def test_nothing_of_it_runs_and_nothing_is_reordered(kind: str, browser: Browser, tmp_path: Path) -> None:
    # GIVEN a page of a program that means harm
    text = {"sampled": lambda: render(model_of(*sampled())), "relations": related, "causes": waited}[kind]()
    written = tmp_path / "page.html"
    written.write_text(text, encoding="utf-8")
    # WHEN it is opened, and everything in it looked at
    opened = open_page(browser, written.as_uri())
    page = opened.page
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    for link in page.locator("main a").all():
        address = link.get_attribute("href") or link.get_attribute("xlink:href") or ""
        if address.startswith("#"):
            link.click()
        else:  # leads to a file or an editor, wherever its name tries to lead
            assert address.startswith(("vscode://file/src/", "file:///src/")) and not set(address) & set(' <>"`?#')
    page.wait_for_timeout(300)
    # THEN no element came out of the text: two scripts are the page's own
    assert page.locator("script").count() == 2
    assert page.locator("img, iframe, object, embed, [onload], [onerror], a[href^='javascript']").count() == 0
    # AND the text is there, spelled out
    shown = page.locator("body").inner_text()
    assert "<script>alert(1)</script>" in shown and "\\u202e" in shown
    assert not REORDERING & set(shown) and not REORDERING & set(page.title())
    assert opened.complaints == [] and opened.requests == [written.as_uri()]
    page.close()


def test_even_injected_scripts_would_not_run(browser: Browser, tmp_path: Path) -> None:
    """The policy holds although nothing should ever come to it."""
    text = related().replace("</body>", "<script>document.title = 'run'</script></body>")
    written = tmp_path / "page.html"
    written.write_text(text, encoding="utf-8")
    opened = open_page(browser, written.as_uri())
    assert opened.page.title() != "run" and any("Content Security Policy" in one for one in opened.complaints)
    opened.page.evaluate("fetch('https://example.org/').catch(() => {})")
    assert any("example.org" in one and "Content Security Policy" in one for one in opened.complaints)
    opened.page.close()
