"""Profiles that come with names: collapsed stacks and pprof. What is exported must come back the same."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.export.made import sampled, seconds_by_function, stacks
from whyperf.cli.main import main
from whyperf.diagnose.diagnosis import diagnose
from whyperf.errors import WhyperfError
from whyperf.export.collapsed import collapsed
from whyperf.export.pprof import pprof
from whyperf.export.profile import profile_of
from whyperf.importers.collapsed import read_collapsed
from whyperf.importers.named_stacks import NamedPlace, NamedProfile, NamedStack, store
from whyperf.importers.pprof import read_pprof
from whyperf.recording.schemas.tables import Clock
from whyperf.recording.sealed.reader import Recording
from whyperf.wire import field, nested

FILE = Path("profile")


def spent(profile: NamedProfile, clock: Clock = Clock.CPU) -> Counter[str]:
    found: Counter[str] = Counter()
    for stack in profile.stacks:
        if stack.clock is clock:
            for name in {place.function for place in stack.path}:
                found[name] += stack.seconds
    return found


@pytest.mark.thorough
@given(stacks)
def test_our_own_pprof_comes_back(stacks):
    profile = read_pprof(FILE, pprof(profile_of(sampled(stacks))))
    assert spent(profile) == pytest.approx(dict(seconds_by_function(stacks)), abs=1e-6)
    assert profile.rate_hz == pytest.approx(200)


def test_lines_threads_and_waits_come_back():
    made = sampled([(("main", "work@12"), 1.0)], blocked=[(("main", "libc:poll"), 2.0)], clock="wall")
    profile = read_pprof(FILE, pprof(profile_of(made)))
    assert spent(profile, Clock.BLOCKED) == {"main": pytest.approx(2.0), "poll": pytest.approx(2.0)}
    (work,) = {place for stack in profile.stacks for place in stack.path if place.function == "work"}
    assert (work.line, work.file) == (12, "/src/tool.c")


@pytest.mark.thorough
@given(stacks)
def test_our_own_collapsed_stacks_come_back(stacks):
    text = "".join(collapsed(profile_of(sampled(stacks)), Clock.CPU))
    found = spent(read_collapsed(FILE, text, unit="us"))
    assert found.pop("tool") == pytest.approx(sum(seconds for _, seconds in stacks), abs=1e-4)
    expected = {name.replace(";", ":").replace("\n", " "): s for name, s in seconds_by_function(stacks).items()}
    assert found == pytest.approx(expected, abs=1e-4)


def test_counts_are_samples_at_the_rate():
    (stack,) = read_collapsed(FILE, "java;run;GC_[k] 50\n", rate_hz=100).stacks
    assert (stack.samples, stack.seconds) == (50, 0.5)
    assert stack.path[-1] == NamedPlace("GC", "[kernel]")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("", "no collapsed stacks"), ("nothing here", "no collapsed stacks"), ("a;b 3 4", "two weights")],
)
def test_what_is_no_collapsed_profile_is_said(text, sentence):
    with pytest.raises(WhyperfError, match=sentence):
        read_collapsed(FILE, text)


def test_lines_that_are_none_are_counted():
    assert "1 lines" in read_collapsed(FILE, "# comment\na;b 3\nrubbish\n").notes[0]


@given(st.binary(max_size=200))
def test_bytes_that_are_no_profile_are_a_sentence(content):
    for given_bytes in (content, gzip.compress(content)):
        with pytest.raises(WhyperfError):
            read_pprof(FILE, given_bytes)


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_profile_is_a_sentence_or_read(position, byte):
    content = bytearray(gzip.decompress(pprof(profile_of(sampled([(("main", "work"), 1.0)])))))
    content[position % len(content)] = byte
    try:
        profile = read_pprof(FILE, bytes(content))
    except WhyperfError:
        return
    assert isinstance(profile, NamedProfile)


def test_a_cut_profile_is_a_sentence():
    content = pprof(profile_of(sampled([(("main", "work"), 1.0)])))
    with pytest.raises(WhyperfError, match="cut short"):
        read_pprof(FILE, content[:-10])


def test_a_heap_profile_is_no_time():
    heap = nested(1, field(1, 1) + field(2, 2)) + b"".join(nested(6, text) for text in (b"", b"alloc_space", b"bytes"))
    with pytest.raises(WhyperfError, match="alloc_space"):
        read_pprof(FILE, heap)


def test_imported_profiles_are_diagnosed(tmp_path):
    def imported(name, seconds):
        text = f"tool;main;parse 100\ntool;main;store;memcpy {round(seconds * 100)}\n"
        return store(read_collapsed(Path("tool.txt"), text, rate_hz=100), tmp_path / name, force=False)

    good = [imported(f"good{n}", 1.0 + n / 50) for n in range(3)]
    bad = [imported(f"bad{n}", 4.0 + n / 50) for n in range(3)]
    verdict = diagnose(good, bad)
    assert verdict.suspects[0].function in ("store", "memcpy")
    assert verdict.symptom.bad == pytest.approx(5.02, abs=0.05)


def test_nothing_is_stored_of_nothing(tmp_path):
    empty = NamedProfile("tool", (), 100.0)
    absurd = NamedProfile("tool", (NamedStack((NamedPlace("f"),), 1.0, 10**12),), 100.0)
    for profile in (empty, absurd):
        with pytest.raises(WhyperfError):
            store(profile, tmp_path / "x", force=False)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", ["pprof", "collapsed"])
def test_the_command_knows_files_by_what_they_hold(tmp_path, capsys, kind):
    made = profile_of(sampled([(("main", "work"), 1.0)]))
    file = tmp_path / "anything"
    content = pprof(made) if kind == "pprof" else "".join(collapsed(made, Clock.CPU)).encode()
    file.write_bytes(content)
    assert main(["import", str(file), "-o", str(tmp_path / "run"), "--weights", "us", "--rate", "200"]) == 0
    assert "200 samples" in capsys.readouterr().err
    assert Recording(tmp_path / "run").table("functions").column("name").to_pylist()[-1] == "work"
