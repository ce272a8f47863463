"""What can go wrong with deep recordings: each gets one sentence, and what was recorded stays."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf, sentence
from tests.patience import PATIENCE_S
from tests.recording.full_disk import full_disk
from whyperf.collect.dependences import run, tool_build
from whyperf.collect.dependences.valgrind import find_valgrind
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.errors import WhyperfError
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.zoom import ZoomPlan, write_plan
from whyperf.seal.dependences import sealing
from whyperf.seal.opening import seal

from .conftest import RecordDeep, without_valgrind


def test_no_valgrind(whyperf: Whyperf, shelf: Path, tmp_path: Path) -> None:
    environment = without_valgrind(tmp_path / "bin")
    done = whyperf("record", "--deep", "--", str(shelf), environment=environment)
    assert sentence(done, 1) == "--deep needs Valgrind, which is not installed."
    assert "apt-get install valgrind" in done.stderr
    # AND the doctor says so, without calling the machine unfit for recording
    checks = {c["name"]: c for c in json.loads(whyperf("doctor", "--json", environment=environment).stdout)["checks"]}
    assert checks["--deep"]["state"] == "limited" and "valgrind" in checks["--deep"]["fix"]


@pytest.mark.parametrize("command", [("origin", "both", "--variable", "spin.rounds"), ("prove", "both")], ids=" ".join)
def test_no_valgrind_for_single_hops(whyperf: Whyperf, tmp_path: Path, command: tuple[str, ...]) -> None:
    # THEN that is said before anything is read or run
    done = whyperf(*command, "--deep", environment=without_valgrind(tmp_path / "bin"))
    assert sentence(done, 1) == "--deep needs Valgrind, which is not installed."


def test_the_tool_is_compiled_once_for_each_valgrind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # GIVEN a user who never used --deep
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = find_valgrind(os.environ)
    assert found.parts is not None and not found.tools.exists()
    # WHEN the tool is built, by two at once
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: found.prepare(), range(2)))
    # THEN it is there for the next one, even without a compiler, and nothing else is
    again = find_valgrind(only_valgrind(tmp_path / "bin"))
    assert again.parts is None and again.tools == found.tools
    assert list(found.tools.parent.iterdir()) == [found.tools]


def test_an_incomplete_tool_is_built_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = find_valgrind(os.environ)
    found.tools.mkdir(parents=True)
    (found.tools / "default.supp").touch()
    found.prepare()
    assert find_valgrind(os.environ).parts is None


def test_the_tool_is_compiled_without_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tool_build, "_COMPILE", (*tool_build._COMPILE, "-Wall", "-Wextra", "-Werror"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    find_valgrind(os.environ).prepare()


def only_valgrind(folder: Path) -> dict[str, str]:
    """An environment whose search path leads to Valgrind and to nothing else."""
    folder.mkdir()
    for file in Path(shutil.which("valgrind") or "").parent.glob("valgrind*"):
        (folder / file.name).symlink_to(file)
    return {"PATH": str(folder)}


def test_nothing_to_compile_the_tool_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(WhyperfError, match="there is no C compiler here") as refused:
        find_valgrind(only_valgrind(tmp_path / "bin"))
    assert refused.value.next_command == "sudo apt-get install valgrind gcc libc6-dev"


def test_a_valgrind_without_its_libraries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "valgrind").write_text("#!/bin/sh\necho valgrind-3.25.1\n")
    (tmp_path / "bin" / "valgrind").chmod(0o755)
    with pytest.raises(WhyperfError, match=f"are not below {tmp_path}"):
        find_valgrind({"PATH": str(tmp_path / "bin")})


def test_an_instruction_that_valgrind_cannot_execute(record_deep: RecordDeep) -> None:
    recording = record_deep("20", "10", "illegal", status=128 + signal.SIGILL)
    [note] = [note for note in recording.manifest.losses.notes if "cannot execute" in note]
    assert "shelf+0x" in note and "SIGILL" in note
    assert recording.table("calls").num_rows > 0


def started_for_ever(shelf: Path, path: Path) -> subprocess.Popen[str]:
    """A recording whose target would go on for ever, once something of it is on disk."""
    target = [str(shelf), "9", "9", "forever"]
    # What runs tests in the background may have them ignore Ctrl-C: the target would fill the disk.
    whyperf = ["env", "--default-signal=INT", sys.executable, "-m", "whyperf"]
    words = [*whyperf, "record", "--deep", "-o", str(path), "--", *target]
    started = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, process_group=0)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        stream = path / "raw" / "stream"
        if stream.exists() and stream.stat().st_size > 1 << 20:
            return started
        time.sleep(0.05)
    started.kill()
    raise AssertionError("nothing was recorded")


def test_a_target_that_is_killed_leaves_what_it_did(shelf: Path, tmp_path: Path) -> None:
    path = tmp_path / "recording"
    started = started_for_ever(shelf, path)
    [target] = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
    # WHEN
    os.kill(int(target), signal.SIGKILL)
    _, said = started.communicate(timeout=PATIENCE_S)
    # THEN
    assert started.returncode == 128 + signal.SIGKILL and "Traceback" not in said, said
    recording = Recording(path)
    assert recording.manifest.exit_signal == signal.SIGKILL and recording.table("calls").num_rows > 0
    assert any("was killed" in note for note in recording.manifest.losses.notes)


def test_interrupted_recordings_are_sealed(shelf: Path, tmp_path: Path) -> None:
    path = tmp_path / "recording"
    started = started_for_ever(shelf, path)
    # WHEN the terminal's Ctrl-C reaches the whole group
    os.killpg(started.pid, signal.SIGINT)
    try:
        _, said = started.communicate(timeout=PATIENCE_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
    # THEN
    assert "Traceback" not in said, said
    assert Recording(path).manifest.stopped_by == "interrupt"
    assert Recording(path).table("calls").num_rows > 0


def test_a_full_disk_costs_the_rest_of_the_recording_only(shelf: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    write_plan(plan, ZoomPlan("instructions", (FunctionKey("shelf", "find", ""), FunctionKey("shelf", "main", ""))))
    with full_disk(tmp_path / "disk", 4 << 20) as disk:
        path = disk / "recording"
        words = ["record", "--deep", "--zoom", str(plan), "-o", str(path), "--", str(shelf), "3000", "2000", "fails"]
        done = subprocess.run(
            [sys.executable, "-m", "whyperf", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        # THEN the target ran to its end, with its own status, and one sentence says what became of the recording
        assert (done.returncode, done.stdout) == (3, "2005\n"), done.stderr
        assert "Traceback" not in done.stderr and "df -h" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("symptom", "said", "offered"),
    [
        ("function:fnid", "has no function fnid; the nearest names are find and _fini.", "function:find"),
        ("var:serched", "has no global or static variable serched; the nearest name is searched.", "var:searched"),
        (
            "var:shelf.c:serched",
            "variable shelf.c:serched; the nearest names are shelf.c:searched,",
            "var:shelf.c:searched",
        ),
        ("var:searches", "searches is a local variable of main: it is in a register or on the stack", "line:FILE:LINE"),
        ("line:shelf.c:14", "No code comes from line 14 of shelf.c; the nearest line with code is", "line:shelf.c:"),
        ("line:shlef.c:14", "comes from a source file shlef.c; the nearest name is shelf.c.", "line:shelf.c:14"),
    ],
)
def test_names_that_are_not_there(refused: Whyperf, shelf: Path, symptom: str, said: str, offered: str) -> None:
    done = refused("compare", "--deep", "--symptom", symptom, "--good", f"{shelf} 9 9", "--bad", f"{shelf} 99 9")
    assert said in sentence(done, 1)
    assert offered in done.stderr


def test_function_that_is_inlined_everywhere(refused: Whyperf, shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "small.c").write_text(
        "static inline __attribute__((always_inline)) int twice(int n) {\n"
        "    volatile int kept = 2 * n;\n    return kept;\n}\n"
        "int main(int count, char **words) {\n    (void)words;\n    return twice(count);\n}\n"
    )
    subprocess.run(["gcc", "-O1", "-g", "small.c", "-o", "small"], cwd=tmp_path, check=True)
    done = refused("compare", "--deep", "--symptom", "function:twice", "--good", "./small", "--bad", "./small 1")
    assert sentence(done, 1) == "twice is inlined everywhere, so that nobody calls it: name a line of it instead."
    assert "--symptom line:small.c:2" in done.stderr  # the first with code


@pytest.mark.parametrize(
    "symptom", ["find", "function:", "instructions:", "line:shelf.c", "line:shelf.c:0", "memory:x", ""]
)
def test_what_is_no_symptom(refused: Whyperf, shelf: Path, symptom: str) -> None:
    done = refused("compare", "--deep", "--symptom", symptom, "--good", str(shelf), "--bad", str(shelf))
    said = "is no symptom: type function:NAME, instructions:NAME, line:FILE:LINE, var:NAME or memory"
    assert said in sentence(done, 2)


@pytest.mark.parametrize(
    "options",
    [["--clock", "wall"], ["--rate", "99"], ["--values-depth", "3"], ["--pid", "1"], ["--work-count", "find"]],
)
def test_options_of_sampling(refused: Whyperf, shelf: Path, options: list[str]) -> None:
    command = [] if "--pid" in options else ["--", str(shelf)]
    assert "exclude each other" in sentence(refused("record", "--deep", *options, *command), 2)


def test_folders_with_odd_names(whyperf: Whyperf, shelf: Path, tmp_path: Path) -> None:
    """Valgrind expands %p in the names of files that it writes, and its plan's words end at spaces."""
    odd = tmp_path / "50 %p %% of"
    odd.mkdir()
    program = odd / "my shelf"
    program.symlink_to(shelf)
    assert whyperf("record", "-q", "--deep", "-o", str(odd / "x"), "--", str(program)).returncode == 0
    assert Recording(odd / "x").table("calls").num_rows > 0


def test_valgrinds_own_complaint_is_passed_on(shelf: Path, tmp_path: Path) -> None:
    # GIVEN a recording whose tool could not begin
    program = find_program([str(shelf)], os.environ)
    run.record_deep(program, tmp_path / "open", lifecycle=Lifecycle(), environment=os.environ, capture_output=True)
    (tmp_path / "open" / "raw" / "stream").unlink()
    (tmp_path / "open" / "raw" / "valgrind.log").write_text("==7== \nvalgrind: whyperf: line 3 of the plan is odd\n")
    # THEN
    with pytest.raises(WhyperfError, match=r"before it began \(whyperf: line 3 of the plan is odd\)\.$"):
        seal(tmp_path / "open")


def test_commands_for_the_shell(refused: Whyperf, shelf: Path) -> None:
    done = refused("compare", "--deep", "--good", f"{shelf} 9 | wc", "--bad", f"{shelf} 99 | wc")
    assert "uses more of the shell's syntax" in sentence(done, 2)


def test_recordings_that_do_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shelf: Path) -> None:
    # GIVEN a recording that was not sealed yet, of which each call seems to take a gigabyte
    monkeypatch.setattr(sealing, "_CALL_BYTES", 1 << 40)
    program = find_program([str(shelf)], os.environ)
    run.record_deep(program, tmp_path / "open", lifecycle=Lifecycle(), environment=os.environ, capture_output=True)
    # THEN it is refused rather than tried, and is still there
    with pytest.raises(WhyperfError, match="GB of memory to be read"):
        seal(tmp_path / "open")
    monkeypatch.undo()
    assert seal(tmp_path / "open").table("calls").num_rows > 0


def test_options_that_need_deep(refused: Whyperf, shelf: Path) -> None:
    assert sentence(refused("record", "--symptom", "memory", "--", str(shelf)), 2) == "--symptom needs --deep."
    assert sentence(refused("record", "--zoom", "p", "--", str(shelf)), 2) == "--zoom needs --deep."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("nonsense", "is no plan of a zoom: it is not JSON"),
        ("{}", "is no plan of a zoom: symptom is missing"),
        ('{"symptom": "memory", "functions": []}', "names no function"),
        ('{"symptom": "memory", "functions": [], "format": 9}', "newer whyperf"),
        ('{"symptom": "x", "functions": [{"module": "a", "name": "b", "file": ""}]}', "is no symptom"),
        ('{"symptom": "memory", "functions": [{"module": "a", "name": "b", "file": ""}]}', "another program or build"),
    ],
)
def test_plans_that_are_none(refused: Whyperf, shelf: Path, tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "plan").write_text(content)
    done = refused("record", "--deep", "--zoom", "plan", "--", str(shelf))
    assert said in sentence(done, 2 if said == "is no symptom" else 1)


def test_deep_and_other_recordings_do_not_mix(whyperf: Whyperf, shelf: Path) -> None:
    assert whyperf("record", "--deep", "-q", "-o", "deep", "--", str(shelf)).returncode == 0
    for name in ("other", "another"):
        assert whyperf("record", "-q", "-o", name, "--", str(shelf)).returncode == 0
    assert "each kind is compared with its like" in sentence(whyperf("diagnose", "deep", "other"), 2)
    # Nor are the options of the one kind for the other.
    assert "were sampled" in sentence(whyperf("diagnose", "other", "another", "--symptom", "memory"), 2)
