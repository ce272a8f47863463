"""What a terminal shows, as snapshots; and that nothing in a recording can take the terminal over.

After a wanted change of the report: WHYPERF_UPDATE_SNAPSHOTS=1 pytest tests/report, then read the difference.
"""

from __future__ import annotations

import io
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report import verdicts
from whyperf.diagnose.verdict import AbnormalVariable, CallChange, CallCounts
from whyperf.engines.finding import ChangedLine, HotLine, SourceChange
from whyperf.recording.names.template_names import without_template_arguments
from whyperf.report.counted_calls import counted_calls
from whyperf.report.glyphs import FULL, PLAIN, bar
from whyperf.report.printable import printable
from whyperf.report.shorten import call_path, short_name, short_path
from whyperf.report.terminal import show

SNAPSHOTS = Path(__file__).parent / "snapshots"
SITUATIONS = ["difference", "waiting", "joined", "two_builds", "proven"]
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def rendered(verdict, width, *, colour=False, **more):
    out = io.StringIO()
    show(verdict, file=out, width=width, colour=colour, **more)
    return out.getvalue()


@pytest.mark.parametrize("colour", [False, True], ids=["plain", "colour"])
@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_report_looks_as_it_should(situation, width, colour):
    text = rendered(getattr(verdicts, situation)(), width, colour=colour)
    snapshot = SNAPSHOTS / f"{situation}-{width}{'-colour' if colour else ''}.txt"
    if os.environ.get("WHYPERF_UPDATE_SNAPSHOTS"):
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text(text, encoding="utf-8")
    assert text == snapshot.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_no_line_is_wider_than_the_terminal_or_ends_in_blanks(situation, width):
    for line in rendered(getattr(verdicts, situation)(), width).splitlines():
        assert len(line) <= width or line.startswith("Next: ")  # a command is copied as a whole
        assert line == line.rstrip()


@pytest.mark.parametrize("situation", SITUATIONS)
def test_colours_change_nothing_but_colours(situation):
    verdict = getattr(verdicts, situation)()
    assert COLOURS.sub("", rendered(verdict, 80, colour=True)) == rendered(verdict, 80)


def test_piped_output_has_no_escapes():
    out = io.StringIO()
    show(verdicts.difference(), file=out)
    assert "\x1b" not in out.getvalue()


def test_no_difference_is_one_sentence():
    assert rendered(verdicts.nothing(), 120).startswith("No difference: 3.10 s CPU time per run")


def test_top_says_how_many_more_there_are():
    assert "and 2 more: --top 3" in rendered(verdicts.difference(), 80, top=1)


def with_variables(*places):
    """The first suspect with variables that were read at these places: a file and lines with their source."""
    verdict = verdicts.difference()
    variables = tuple(
        AbnormalVariable(f"v{at}", "1", "2", "value", tuple(line.line for line in lines), read_at=lines, file=file)
        for at, (file, lines) in enumerate(places)
    )
    first, *others = verdict.suspects
    return replace(verdict, suspects=(replace(first, variables=variables), *others))


def test_source_of_variables_is_shown_once():
    # GIVEN variables read at lines of the suspect's excerpt, and at others twice
    first = verdicts.difference().suspects[0]
    hottest = next(line for line in first.lines if line.line == first.line)
    elsewhere = (HotLine(77, 1.0, "limit = read_limit();"),)
    text = rendered(with_variables((first.file, (hottest,)), (first.file, elsewhere), (first.file, elsewhere)), 80)
    # THEN the source is there once, and the lines are told all the same
    assert text.count(hottest.text.strip()) == text.count("limit = read_limit();") == 1
    assert f"read at line {hottest.line}\n" in text
    assert text.count("read at line 77\n") == 1


@pytest.mark.parametrize("text", ["", "next(*this);"])
def test_lines_of_another_file_are_not_left_without_its_name(text):
    shown = rendered(with_variables(("/usr/include/list.h", (HotLine(612, 1.0, text),))), 80)
    assert "read at line 612 of list.h\n" in shown
    assert text in shown


@pytest.mark.parametrize("colour", [False, True])
def test_recorded_text_cannot_take_the_terminal_over(colour):
    text = (
        COLOURS.sub("", rendered(verdicts.hostile(), 200, colour=colour))
        if colour
        else rendered(verdicts.hostile(), 200)
    )
    assert printable(text.replace("\n", "")) == text.replace("\n", "")
    assert "[bold]x[/bold]" in text  # markup is text
    assert "\\x1b[31mred" in text


def test_what_differs_between_builds_cannot_either():
    verdict = verdicts.two_builds()
    evil = ChangedLine("bad", 7, "\x1b[31mred\u202e [bold]x[/bold] \x9b2J")
    change = SourceChange(((evil,),), 1)
    text = rendered(replace(verdict, suspects=(replace(verdict.suspects[0], change=change),)), 200)
    assert "+ 7 │ \\x1b[31mred\\u202e [bold]x[/bold] \\x9b2J\n       … 1 more line differs\n" in text


def test_an_ascii_terminal_gets_ascii():
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    show(verdicts.difference(), file=out, width=80)
    out.flush()
    assert b"main > serve > handle > find" in raw.getvalue()
    raw.seek(0)
    show(verdicts.waiting(), file=out, width=80)
    out.flush()
    assert b"[compress_response]" in raw.getvalue()


@settings(deadline=None)
@given(st.text())
def test_printable_text_is_one_harmless_line_and_stays_so(text):
    shown = printable(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert printable(shown) == shown


@settings(deadline=None)
@given(st.text(alphabet="ab:<>,", max_size=60), st.integers(5, 30))
def test_short_names_fit(name, width):
    assert len(short_name(name, width)) <= width


@pytest.mark.parametrize(
    ("name", "width", "expected"),
    [
        ("shop::index::total::{lambda}::operator()", 40, "shop::index::total::{lambda}::operator()"),
        ("shop::index::total::{lambda}::operator()", 30, "shop::index::total::{lambda}"),
        ("shop::index::total::{lambda}::operator()", 20, "…::total::{lambda}"),
        ("shop::index::total::{lambda()#2}::operator()", 24, "…::total::{lambda()#2}"),
        ("shop::index::Sorted<unsigned int, std::less<unsigned> >::each<int>", 26, "…::Sorted<…>::each<…>"),
        ("Cache<Key, Value>::operator()", 22, "Cache<…>::operator()"),
        ("a_plain_name_without_parts", 10, "…out_parts"),
    ],
)
def test_short_names_end_in_whole_parts(name, width, expected):
    assert short_name(name, width) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a::Map<int, b<c> >::put", "a::Map<…>::put"),
        ("operator<<", "operator<<"),
        ("a::operator-><b>", "a::operator-><…>"),
        ("plain", "plain"),
    ],
)
def test_template_arguments_are_dropped_but_not_operators(name, expected):
    assert without_template_arguments(name) == expected


def test_short_paths_keep_the_last_folders():
    assert short_path("/home/me/project/src/net/socket.c", 20) == "…/src/net/socket.c"


def test_call_paths_keep_the_entry_and_the_end():
    names = ["main", *(f"level{number}" for number in range(20)), "leaf"]
    text = call_path(names, 60)
    assert text.startswith("main › … ") and text.endswith(" › level19 › leaf")
    assert len(text) <= 60


@settings(deadline=None)
@given(st.floats(0, 1), st.integers(1, 30))
def test_bars_have_their_width_and_show_what_is_there(share, width):
    for glyphs in (FULL, PLAIN):
        text = bar(share, width, glyphs)
        assert len(text) == width
        assert bool(text.strip()) == (share > 0)


def test_call_counts_are_said_with_their_parts_and_what_is_left():
    rows = [
        CallChange(
            "calls", "plan", "tool", 88, "flush", 71, 24_000, 0.93, "plan calls flush 24,000 times per call; was 71."
        ),
        CallChange(
            "self", "scan", "tool", 0, "", 1.0, 2.0, 0.10, "One call of scan takes 2.00 s of self time; was 1.00 s."
        ),
        CallChange("self", "skip", "tool", 0, "", 1.0, 1.01, 0.03, "small"),
        CallChange(
            "self", "less", "tool", 0, "", 2.0, 1.0, -0.06, "One call of less takes 1.00 s of self time; was 2.00 s."
        ),
    ]
    lines = [line.plain for line in counted_calls(CallCounts((1, 1), 2.0, tuple(rows)), 100)]
    assert lines == [
        "",
        "By exact call counts (1 good, 1 bad counting runs)",
        "    93%  plan calls flush 24,000 times per call; was 71. (line 88)",
        "    10%  One call of scan takes 2.00 s of self time; was 1.00 s.",
        "    -6%  One call of less takes 1.00 s of self time; was 2.00 s.",
        "     3%  1 smaller change together",
    ]
