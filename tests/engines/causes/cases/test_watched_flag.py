"""A polled variable: guessed at without, known with a hardware breakpoint on it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bench.causes.cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from tests.collect.tracer.recording import Command, needs_bpf
from tests.engines.causes.cases.test_real_stalls import diagnosed, stalls
from whyperf.cli.trace_options import refuse_watching
from whyperf.collect.tracer.watched_variables import watched_bytes
from whyperf.debuginfo.elf_files.named_symbols import data_symbols
from whyperf.errors import WhyperfError

pytestmark = pytest.mark.process

CASE = next(case for case in CASES if case.name == "shared-flag")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flag")
    return Path(CASE.commands(folder)["normal"][0])


@needs_bpf
def test_who_writes_a_watched_variable_is_known(program: Path) -> None:
    # GIVEN a main loop that polls what a worker sets, late: it sleeps, which a busy machine does not change
    command = Command(program.parent)
    said = command(
        "record", "--trace", "--watch", "ready", "--force", "-o", "late", "--", str(program), "asleep"
    ).stderr
    if "could not be watched" in said:
        pytest.skip(said)
    # WHEN
    (first, *_) = stalls(diagnosed(command, "late"))
    # THEN
    detail = next(each["detail"] for each in first["evidence"] if each["engine"] == "causes")  # type: ignore[attr-defined]
    assert first["thread"] == "preparer"
    assert (detail["ending"], detail["certainty"]) == ("slept", "strong")
    assert detail["ladder"][0]["link"]["mechanism"] == "watched flag"


@needs_bpf
def test_without_it_the_variables_to_watch_are_suggested_and_a_wrong_name_is_told(program: Path) -> None:
    command = Command(program.parent)
    said = command(
        "record", "--trace", "--watch", "reday", "--force", "-o", "blind", "--", str(program), "asleep"
    ).stderr
    # WHEN
    notes = diagnosed(command, "blind")["notes"]
    assert isinstance(notes, list)
    # THEN
    assert "No variable reday was found" in said + " ".join(notes)
    assert any("--watch ready" in note for note in notes)


def test_what_cannot_be_watched_is_refused(tmp_path: Path) -> None:
    command = Command(tmp_path)
    assert "--trace" in command("record", "--watch", "ready", "--", "true", status=2).stderr
    five = [word for name in "abcde" for word in ("--watch", name)]
    assert "four" in command("record", "--trace", *five, "--", "true", status=2).stderr
    with pytest.raises(WhyperfError, match="no BPF"):
        refuse_watching(["ready"], "no BPF", None)
    refuse_watching([], "no BPF", None)


def test_static_variables_are_found_by_name_where_they_lie(program: Path) -> None:
    (ready,) = {one.address: one for one in data_symbols(program, frozenset({"ready", "none"}))}.values()
    listed = subprocess.run(["nm", "-S", str(program)], capture_output=True, text=True, check=True).stdout
    address, size, _, _ = next(line.split() for line in listed.splitlines() if line.endswith(" ready"))
    assert (ready.address, ready.size) == (int(address, 16), int(size, 16))


def test_a_file_that_is_no_program_has_none(tmp_path: Path) -> None:
    for content in (b"", b"\x7fELF\x02\x01", b"text" * 100):
        (tmp_path / "file").write_bytes(content)
        assert not list(data_symbols(tmp_path / "file", frozenset({"ready"})))


@given(st.integers(0, 1 << 40), st.integers(1, 100))
def test_a_breakpoint_lies_within_its_variable_on_a_multiple_of_its_width(address: int, size: int) -> None:
    width = watched_bytes(address, size)
    assert width in {1, 2, 4, 8} and width <= size and address % width == 0
