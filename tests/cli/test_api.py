"""whyperf from Python, and in notebooks."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import whyperf
from tests.engines.made import recording
from whyperf.diagnose.verdict import VerdictKind  # the part of the same name as the function
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.writer import write_recording
from whyperf.report.html.page import is_installed


@pytest.fixture
def stored(tmp_path):
    for name, seconds in (("good", 1.0), ("bad", 4.0)):
        for number in range(3):
            made = recording([(("main", "parse"), 1.0), (("main", "store<int>@12"), seconds + number / 100)])
            write_recording(tmp_path / "runs" / f"{name}-{number + 1}", made.manifest, made.tables)
    return tmp_path / "runs"


def test_paths_and_recordings_give_the_same_answer(stored):
    by_path = whyperf.diagnose(sorted(stored.glob("good-*")), sorted(map(str, stored.glob("bad-*"))))
    good, bad = whyperf.compared(stored)
    assert (len(good), len(bad)) == (3, 3)
    assert whyperf.diagnose(good, bad).verdict == by_path.verdict
    assert by_path.verdict.kind is VerdictKind.DIFFERENCE
    assert by_path.suspects[0].function == "store<int>"


def test_an_answer_shows_itself(stored):
    answer = whyperf.diagnose(*whyperf.compared(stored))
    assert "store<int>" in str(answer)
    shown = answer._repr_html_()
    assert "store&lt;int&gt;" in shown
    assert "<int>" not in shown  # names of the target are text
    assert json.loads(answer.to_json()) == answer.to_dict()


def test_an_answer_is_written_as_a_page(stored, tmp_path):
    if not is_installed():
        pytest.skip("the page is not built: make page")
    answer = whyperf.diagnose(*whyperf.compared(stored))
    written = answer.page(tmp_path / "why.html")
    assert written == tmp_path / "why.html"
    assert "store\\u003cint\\u003e" in written.read_text(encoding="utf-8")  # as data, never as markup
    with pytest.raises(WhyperfError, match="does not exist"):
        answer.page(tmp_path / "nowhere" / "why.html")


def test_a_recording_shows_itself(stored):
    run = whyperf.open(stored / "bad-1")
    assert "bad-1" in repr(run)
    assert "samples" in run._repr_html_()


def test_mistakes_are_sentences(tmp_path):
    with pytest.raises(WhyperfError, match="There is no recording"):
        whyperf.open(tmp_path / "nowhere")
    with pytest.raises(AttributeError):
        _ = whyperf.nothing_of_the_kind


def test_importing_loads_nothing():
    code = "import sys, whyperf; print('pyarrow' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
