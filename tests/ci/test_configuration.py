"""`.whyperf.toml`: what is read from it, and one sentence for whatever is wrong with it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.ci.configuration import configuration_of, lines_of, read_configuration
from whyperf.ci.policy import FailOn
from whyperf.errors import WhyperfError

FULL = """\
[ci]
budget = "15m"
fail-on = "any-doubt"
build = "make"
threshold = 10
runs = 7

[[benchmark]]
name = "parse"
command = "./tool input.txt"

[[benchmark]]
name = "serve"
command = "./server"
build = "make server"
ready = "tcp:7000"
drive = "./load.sh"
unit = "request"
for = "10s"
skip = "500ms"
stop = "INT"
threshold = "2.5%"
runs = 3
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / ".whyperf.toml"
    path.write_text(text)
    return path


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(WhyperfError) as caught:
        read_configuration(written(tmp_path, text))
    assert caught.value.status == 2 and caught.value.next_command
    return caught.value.sentence


def test_benchmarks_have_what_is_set_for_all_unless_they_say_otherwise(tmp_path: Path) -> None:
    path = written(tmp_path, FULL)
    configuration = read_configuration(path)
    parse, serve = configuration.benchmarks
    assert (configuration.budget_s, configuration.fail_on) == (900.0, FailOn.ANY_DOUBT)
    assert (parse.build, parse.threshold, parse.runs, parse.lifecycle.drive) == ("make", 0.1, 7, None)
    assert (serve.build, serve.threshold, serve.runs, serve.unit) == ("make server", 0.025, 3, "request")
    assert serve.lifecycle.ready == "tcp:7000" and serve.lifecycle.drive == "./load.sh"
    assert (serve.lifecycle.for_s, serve.lifecycle.skip_s, serve.lifecycle.stop_signal) == (10.0, 0.5, signal.SIGINT)
    assert lines_of(path, configuration.benchmarks) == {"parse": 9, "serve": 13}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("comand = 'x'", "'comand' of benchmark 'a' is not a known key: command is"),
        ("color = 'x'", "'color' of benchmark 'a' is not a known key; known are benchmark, build,"),
        ("runs = '3'", "runs of benchmark 'a' must be a whole number, and is '3'"),
        ("runs = true", "runs of benchmark 'a' must be a whole number"),
        ("runs = 2", "runs of benchmark 'a' must be at least 3"),
        ("threshold = -1", "threshold of benchmark 'a' must be a percentage"),
        ("threshold = nan", "threshold of benchmark 'a' must be a percentage"),
        ("threshold = 'much'", "threshold of benchmark 'a' must be a percentage"),
        ("for = 'soon'", "for of benchmark 'a' must be a time"),
        ("for = 0", "for of benchmark 'a' must be a time"),
        ("stop = 'NOW'", "stop of benchmark 'a' must be a signal"),
        ("build = 3", "build of benchmark 'a' must be text in quotes"),
        ("drive = ' '", "drive of benchmark 'a' is empty"),
        ("unit = 'request'", "unit of benchmark 'a' names what is counted, but nothing counts"),
        ("benchmark = 'BM_x'\ndrive = './load'", "benchmark of benchmark 'a' counts iterations"),
        ("ready = 'soon'", "soon"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    assert said in refused(tmp_path, f"[[benchmark]]\nname = 'a'\ncommand = './a'\n{line}\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no [[benchmark]]"),
        ("[[benchmark]]\ncommand = 'x'", "name of [[benchmark]] number 1 is missing"),
        ("[[benchmark]]\nname = 'a'", "command of benchmark 'a' is missing"),
        ("[benchmark]\nname = 'a'", "benchmark must be a list of tables: write [[benchmark]]"),
        ("[[benchmarks]]\nname = 'a'", "'benchmarks' is not a known key: benchmark is"),
        ("ci = 3", "ci must be a table"),
        ("[ci]\nfail-on = 'fire'\n", "fail-on of [ci] must be one of slower, any-doubt, never"),
        ("[ci]\nbudget = 'long'\n", "budget of [ci] must be a time"),
        ("[ci]\nname = 'x'\n", "'name' of [ci] is not a known key"),
        ("name = ", "is not valid TOML"),
        ("[[benchmark]]\nname='a'\ncommand='x'\n[[benchmark]]\nname='a'\ncommand='x'", "two benchmarks named 'a'"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, text)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path, said in ((tmp_path / "absent", "There is no"), (tmp_path, "cannot be read")):
        with pytest.raises(WhyperfError, match=said):
            read_configuration(path)
    (tmp_path / "latin").write_bytes(b'name = "\xe9"')
    with pytest.raises(WhyperfError, match="not UTF-8"):
        read_configuration(tmp_path / "latin")


_keys = st.sampled_from(
    [
        "ci",
        "benchmark",
        "name",
        "command",
        "build",
        "threshold",
        "runs",
        "for",
        "stop",
        "unit",
        "budget",
        "fail-on",
        "x",
    ]
)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_keys, _values, max_size=4))
def test_whatever_a_file_holds_it_is_read_or_refused(values: dict[str, object]) -> None:
    try:
        configuration = configuration_of(values, Path(".whyperf.toml"))
    except WhyperfError as error:
        assert error.sentence.endswith(".")
    else:
        assert all(one.name and one.command and one.runs >= 3 for one in configuration.benchmarks)
