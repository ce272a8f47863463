"""What notebooks show of an answer: the page's first screen, as markup that nothing in a recording can break."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tests.engines.made import recording
from tests.page.test_hostile import EVIL, REORDERING, sampled
from tests.report import verdicts
from whyperf.diagnose.diagnosis import examine
from whyperf.diagnose.verdict import AbnormalVariable, Suspect, Symptom, Verdict, VerdictKind
from whyperf.engines.finding import ChangedLine, HotLine, SourceChange
from whyperf.report.html.examined import Examined
from whyperf.report.html.notebook import first_screen
from whyperf.report.html.notebook_source import coloured

MOST_BYTES = 100_000
# What JupyterLab keeps of output that it does not trust.
KEPT = {"div", "span", "b", "code", "small", "table", "tr", "td", "details", "summary", "ul", "li"}


class Read(HTMLParser):
    """The fragment's tags and text; complains about tags that are not closed in turn."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.text, self.tags, self.attributes, self._open = "", set[str](), set[str](), list[str]()
        self.feed(markup)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(verdict: Verdict) -> str:
    nothing = recording([])
    return first_screen(verdict, Examined([nothing], [nothing]))


@pytest.mark.parametrize("kind", ["difference", "two_builds", "waiting", "joined", "nothing", "hostile"])
def test_it_needs_no_script_style_sheet_or_name(kind):
    read = Read(shown(getattr(verdicts, kind)()))
    assert read.tags <= KEPT
    assert read.attributes <= {"style", "title", "open"}


def test_it_shows_what_the_page_shows_first():
    verdict = verdicts.difference()
    read = Read(shown(verdict))
    first = verdict.suspects[0]
    assert verdict.symptom.sentence in read.text
    for text in (first.function, f"tool.c:{first.line}", first.confidence, f"{first.share:.0%}", first.why):
        assert text in read.text
    # AND the hot line of its source with its share, and every suspect in the overview
    hot = max(first.lines, key=lambda line: line.share)
    assert f"{hot.text.strip()}{hot.share:.0%}" in read.text
    assert all(suspect.function in read.text for suspect in verdict.suspects)


def test_it_shows_what_differs_between_builds():
    verdict = verdicts.two_builds()
    changed = next(suspect.change for suspect in verdict.suspects[:3] if suspect.change is not None)
    lines = [line for hunk in changed.hunks for line in hunk if line.build != "both"]
    read = Read(shown(verdict))
    assert all(line.text.expandtabs(4).strip() in read.text for line in lines)


def test_what_a_program_says_of_itself_is_text():
    good, bad = sampled()
    verdict = examine(good, bad).verdict
    read = Read(first_screen(verdict, Examined(good, bad)))
    assert read.tags <= KEPT
    assert "<script>alert(1)</script>" in read.text
    assert not REORDERING & set(read.text)


def test_it_stays_small_whatever_it_shows():
    name = EVIL * 20
    variable = AbnormalVariable(name, name, name, "delta", (1,))
    lines = tuple(HotLine(number, 0.01, f"    return {name};") for number in range(1, 90))
    hunks = (tuple(ChangedLine("bad", number, f"if (a < {name}) return 1;") for number in range(500)),)
    suspect = Suspect(
        1, "cpu", name, name, name, 3, 0, None, None, (name,) * 300, 1, 0.5, "high", "scalability", name,
        variables=(variable,) * 40, lines=lines, change=SourceChange(hunks, 7),
    )  # fmt: skip
    runs = tuple(1.0 + number for number in range(1000))
    symptom = Symptom("cpu", name, 1.0, 2.0, "cpu_s", (1000, 1000), runs, runs, name)
    suspects = tuple(replace(suspect, rank=rank) for rank in range(1, 200))
    verdict = Verdict(VerdictKind.DIFFERENCE, symptom, suspects, (name,) * 90, name, (name,))
    markup = shown(verdict)
    assert Read(markup).tags <= KEPT
    assert len(markup.encode()) < MOST_BYTES, len(markup.encode())
    assert len(shown(verdicts.difference()).encode()) < MOST_BYTES / 3


def test_coloured_source_is_the_same_text():
    code = ["int f(void) {", "    /* a", "       comment */", "", '    return g("x\\n", 7);', "}"]
    for file in ("tool.c", "tool.rs", "tool.py", "tool", "\x00", "a.unknown"):
        assert ["".join(span.text for span in line) for line in coloured(code, file)] == code
    assert any(span.style for line in coloured(code, "tool.c") for span in line)


def test_colours_can_be_read_on_light_and_dark_grounds():
    markup = shown(verdicts.difference())
    texts = set(re.findall(r"(?<![-\w])color:(#[0-9a-f]{6})", markup))
    assert texts
    for colour in texts:
        light = luminance(colour)
        assert 1.05 / (light + 0.05) >= 3.5 and (light + 0.05) / (luminance("#111111") + 0.05) >= 3.5


def luminance(colour: str) -> float:
    """WCAG's relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
