"""What is written keeps to its formats, whatever names, source and sentences are in it."""

from __future__ import annotations

import json
import re
import string
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.schemas import ci_schema, verdict_schema
from whyperf.ci.json import to_json
from whyperf.ci.junit import to_junit
from whyperf.ci.markdown import MARKER, bar, block, code, plain, to_markdown
from whyperf.ci.result import Cause, Report, Result
from whyperf.ci.sarif import to_sarif
from whyperf.ci.terminal import render
from whyperf.diagnose.verdict import ChangedBy
from whyperf.engines.finding import HotLine

from . import made
from .conftest import ROOT

GITHUB = {"GITHUB_SERVER_URL": "https://github.example.org", "GITHUB_REPOSITORY": "ann/tool"}
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


class Read(HTMLParser):
    """Tags, text and the cells of tables of rendered Markdown."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags, self.text, self.rows = list[str](), "", list[int]()
        self.feed(MARKDOWN.render(markdown))

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="session")
def sarif_schema() -> dict[str, object]:
    """OASIS's own; `make test` fetches it."""
    loaded: dict[str, object] = json.loads((Path(sys.prefix) / "sarif-2.1.0.json").read_text())
    return loaded


def test_the_json_keeps_to_its_schema_and_the_docs_have_the_same() -> None:
    jsonschema.Draft202012Validator.check_schema(ci_schema())
    assert json.loads((ROOT / "docs" / "ci-report.schema.json").read_text()) == ci_schema()
    plain_report = json.loads(to_json(made.report()))
    jsonschema.validate(plain_report, ci_schema())
    verdicts = [one["verdict"] for one in plain_report["benchmarks"] if one["verdict"] is not None]
    assert len(verdicts) == 2
    for one in verdicts:
        jsonschema.validate(one, verdict_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain_report | {"exit_status": 99}, ci_schema())


def test_sarif_names_file_line_and_figures(sarif_schema: dict[str, object]) -> None:
    elsewhere = replace(made.slower("libc"), causes=(made.OTHER,))
    sarif = json.loads(to_sarif(made.report(made.slower(), made.same(), elsewhere)))
    jsonschema.validate(sarif, sarif_schema)
    here, configured = sarif["runs"][0]["results"]
    assert here["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "src/tool.c", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 19},
    }
    assert "lookup is slower: 4.3 times the CPU time per run: 122 ms" in here["message"]["text"]
    place = configured["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == ".whyperf.toml" and place["region"]["startLine"] == 4


def test_the_schema_refuses_what_is_no_sarif(sarif_schema: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": "2.1.0", "runs": [{}]}, sarif_schema)


def test_junit_has_a_case_for_every_benchmark() -> None:
    root = ElementTree.fromstring(to_junit(made.report()))
    suite = root.find("testsuite")
    assert suite is not None
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["6", "1", "1", "2"]
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {
        "lookup": ["failure"],
        "parse | all": ["system-out"],
        "startup": ["system-out"],
        "network": ["skipped"],
        "soak": ["skipped"],
        "export": ["error"],
    }


def test_the_comment_shows_the_cause_the_change_and_where() -> None:
    markdown = to_markdown(made.report(), GITHUB)
    assert markdown.startswith(
        f"{MARKER}\n\n### whyperf: 1 slower, 1 faster, 2 not enough data, 1 failed of 6 benchmarks"
    )
    assert "[`src/tool.c:19`](https://github.example.org/ann/tool/blob/e785163533" in markdown
    assert "```diff\n@@ -18 +18 @@" in markdown and "+    int steps = 60000;" in markdown
    read = Read(markdown)
    assert read.rows == [6] * 7
    assert "parse | all" in read.text and "lookup is slower: 4.3 times the CPU time per run" in read.text


def test_one_benchmark_is_the_headline() -> None:
    assert "### whyperf: `startup` shows no difference" in to_markdown(made.report(made.same()))
    assert "### whyperf: no difference in 2 benchmarks" in to_markdown(made.report(made.same(), made.same("b")))


def test_the_bar_shows_what_was_added_and_saved() -> None:
    assert bar(made.figures(1.0, 4.0), 12) == "███▒▒▒▒▒▒▒▒▒"
    assert bar(made.figures(4.0, 1.0), 12) == "███░░░░░░░░░"
    assert bar(made.figures(1.0, 1.0), 12) == "█" * 12 == bar(made.figures(0.0, 0.0), 12)


def test_a_comment_is_never_longer_than_forges_take() -> None:
    long = tuple(made.slower(f"benchmark {number}") for number in range(200))
    markdown = to_markdown(made.report(*long))
    assert len(markdown) < 65_536 and "left out of this comment" in markdown
    assert markdown.count("<details") == markdown.count("</details>")
    assert "<sub>" in markdown


@pytest.mark.parametrize(
    "text", ["@ann fixed", "see #12", "ann/tool#12", "!7", "GH-7", "https://x.org", "www.x.org", "a@b"]
)
def test_nothing_is_linked_or_mentioned(text: str) -> None:
    html = MARKDOWN.render(plain(text))
    assert "<!-- -->" in html and text not in html  # a forge finds no mention across a comment
    assert Read(plain(text)).text.strip() == text


_ODD = "`|<>&@#*_[]()!~\\$-+=:\"'\n\r\t\0 \x1b\x7f"
_WHOLE = (
    "<script>alert(1)</script>", "]]>", "-->", "<!--", "```\n# x", "</details>", "@team", "![x](http://x/y.png)",
    "1. x", "\ud800", "\ufffe", "| a | b |", "---", "&lt;", "javascript:alert(1)", "- x", "    x",
)  # fmt: skip
_hostile = st.sampled_from(_WHOLE) | st.text(
    st.sampled_from(_ODD) | st.sampled_from(string.ascii_letters + "019") | st.characters(), max_size=30
)


@st.composite
def _reports(draw: st.DrawFn) -> Report:
    """Every text that comes from elsewhere is anything."""

    def text() -> str:
        return draw(_hostile)

    def cause() -> Cause:
        commit = ChangedBy(made.COMMIT.commit, text(), text(), text(), text(), text(), (), ())
        lines = (HotLine(3, 0.5, f"x{text()}"), HotLine(4, 0.0, text()))
        return replace(
            made.CAUSE, function=text(), module=text(), file=text(), line=draw(st.integers(0, 9)), why=text(),
            diff=("@@", f"+{text()}", text()), commits=(commit,), lines=lines, evidence=(text(), text()),
        )  # fmt: skip

    def result(known: Result) -> Result:
        benchmark = replace(known.benchmark, name=text(), command=text())
        figures = known.figures and replace(known.figures, unit=text())
        causes = tuple(cause() for _ in known.causes)
        return replace(known, benchmark=benchmark, sentence=text(), figures=figures, causes=causes, notes=(text(),))

    return replace(made.report(), results=tuple(map(result, made.report().results)), configuration=text())


_ALLOWED = {"h3", "table", "thead", "tbody", "tr", "th", "td", "code", "strong", "p", "pre", "a", "details", "summary"}
_ALLOWED |= {"ul", "li", "sub"}


@settings(max_examples=60)
@given(_reports())
def test_no_text_breaks_any_format(report: Report) -> None:
    markdown = to_markdown(report, GITHUB)
    markdown.encode()
    read = Read(markdown)
    assert set(read.tags) <= _ALLOWED
    assert read.rows == [6] * (len(report.results) + 1)
    assert read.tags.count("details") == 2 and read.tags.count("h3") == 1 and read.tags.count("pre") == 2
    html = MARKDOWN.render(markdown)
    for tag, target in re.findall(r"<(a|img)[^>]*(?:href|src)=\"([^\"]*)\"", html):
        assert tag == "a" and target.startswith("https://github.example.org/ann/tool/blob/")
    root = ElementTree.fromstring(to_junit(report).encode())
    assert len(root.findall("testsuite/testcase")) == len(report.results)
    for text in (to_json(report), to_sarif(report)):
        assert text.isascii()
        json.loads(text)
    jsonschema.validate(json.loads(to_json(report)), ci_schema())
    place = json.loads(to_sarif(report))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert re.fullmatch(r"[A-Za-z0-9_.~/%-]*", place["artifactLocation"]["uri"])
    for line in render(report):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", line.plain)


@settings(max_examples=30)
@given(_reports())
def test_sarif_keeps_to_the_standard(sarif_schema: dict[str, object], report: Report) -> None:
    jsonschema.validate(json.loads(to_sarif(report)), sarif_schema)


@given(_hostile)
def test_a_name_stays_one_piece_of_code(text: str) -> None:
    read = Read(f"before {code(text)} after")
    assert read.tags == ["p", "code"] and read.text.startswith("before ") and read.text.endswith(" after\n")


@given(st.lists(_hostile, max_size=5))
def test_lines_stay_in_their_block(lines: list[str]) -> None:
    read = Read(block(lines, "diff") + "\n\nafter")
    assert read.tags == ["pre", "code", "p"] and read.text.endswith("after\n")


def test_states_are_shown_on_a_terminal_one_a_line() -> None:
    lines = [line.plain for line in render(made.report())]
    assert [line.split("  ")[0] for line in lines[:6]] == [result.state.value for result in made.report().results]
    assert any("lookup src/tool.c:19  97% of the added time" in line for line in lines)
