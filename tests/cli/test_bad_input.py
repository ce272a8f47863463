"""Whatever the user does wrong is one clear sentence."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.architecture import COMPILER_32, HERE, OTHER
from tests.cli.conftest import Whyperf, sentence
from tests.patience import PATIENCE_S


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["frobnicate"], 2, "no command frobnicate"),
        (["record"], 2, "no command to record"),
        (["record", "--"], 2, "no command to record"),
        (["record", "--", "no-such-program"], 1, "no-such-program was not found"),
        (["record", "--", "./no-such-program"], 1, "was not found"),
        (["record", "--", "/usr"], 1, "is a folder"),
        (["record", "--", "/etc/passwd"], 1, "is neither a program nor a script"),
        (["record", "--rate", "9000", "--", "true"], 2, "highest 5000"),
        (["record", "--rate", "fast", "--", "true"], 2, "not a whole number"),
        (["record", "--for", "soon", "--", "true"], 2, "is not a time"),
        (["record", "--for", "0s", "--", "true"], 2, "'0s' is not more than zero"),
        (["record", "--for", "-5s", "--", "true"], 2, "'-5s' is negative"),
        (["record", "--skip", "-1m", "--", "true"], 2, "'-1m' is negative"),
        (["record", "--max-size", "-5M", "--", "true"], 2, "'-5M' is not a size"),
        (["compare", "--budget", "-5s", "true", "true"], 2, "'-5s' is negative"),
        (["compare", "--budget=-.5", "true", "true"], 2, "'-.5' is not a time"),
        (["compare", "--budget", "0", "true", "true"], 2, "'0' is not more than zero"),
        (["compare", "--fail-if-slower", "-5%", "true", "true"], 2, "'-5%' is not a percentage"),
        (["trace", "dump", "--last", "-5s"], 2, "'-5s' is negative"),
        (["record", "--max-size", "7", "--", "true"], 2, "too small"),
        (["record", "--stop", "SIGWHAT", "--", "true"], 2, "is not a signal"),
        (["record", "--stop", "CLD_EXITED", "--", "true"], 2, "is not a signal"),
        (["record", "--ready", "udp:5", "--", "true"], 2, "--ready udp:5 is not understood"),
        (["record", "--ready", "tcp:99999", "--", "true"], 2, "is not understood"),
        (["record", "--unit", "request", "--", "true"], 2, "nothing counts"),
        (["record", "--drive", "no-such-load", "--", "true"], 1, "no-such-load was not found"),
        (["record", "--bogus", "--", "true"], 2, "--bogus"),
        (["record", "--pid", "999999999"], 1, "no process 999999999"),
        (["record", "--pid", "1", "--", "true"], 2, "exclude each other"),
        (["record", "-o", "no/such/folder/rec", "--", "true"], 1, "does not exist"),
        (["record", "--work-count", "no_such_function", "--", "/bin/true"], 1, "has no function `no_such_function`"),
        (["record", "--latency", "no_such_function", "--", "/bin/true"], 1, "have a function of that name"),
        (["record", "--latency", "f", "--work-count", "g", "--", "true"], 2, "exclude each other"),
        (["record", "--latency", "f", "--counts", "--", "true"], 2, "exclude each other"),
        (["record", "--latency", "f", "--pid", "1"], 2, "for programs that whyperf starts"),
        (["compare", "--good", "true"], 2, "--bad"),
        (["compare", "--good", "", "--bad", "true"], 2, "empty"),
        (["compare", "--good", "true 'x", "--bad", "true"], 2, "never closed"),
        (["compare", "--good", "no-such-program", "--bad", "true"], 1, "was not found"),
        (["compare", "--good", "true", "--bad", "true", "--good-drive", "true"], 2, "both, or neither"),
        (["compare", "--good", "true", "--bad", "true", "--runs", "0"], 2, "at least 1"),
        (["compare", "--prove", "--quick", "true", "true"], 2, "--prove and --quick exclude each other"),
        (["compare", "--prove", "--deep", "true", "true"], 2, "--prove and --deep exclude each other"),
        (["compare", "--budget", "1m", "--quick", "true", "true"], 2, "--quick: not allowed with argument --budget"),
        (["compare", "./tool", "a", "./tool", "b"], 2, "Two commands are needed, each in quotes"),
        (["compare", "./tool", "a", "./tool", "b"], 2, "; 4 are given."),
        (["info", "no-such-recording"], 1, "no-such-recording"),
        (["diagnose", "only-one"], 1, "There is no recording only-one"),
        (
            ["diagnose", "a", "b", "--json", "-", "--html", "-"],
            2,
            "--json and --html cannot both go",
        ),
        (["prove", "a", "b", "--json", "-", "--perfetto", "-"], 2, "cannot both go to standard output"),
        (
            ["diagnose", "a", "b", "--json", "-", "--html", "-", "--perfetto", "-"],
            2,
            "--json, --html and --perfetto cannot all go to standard output: write all but one of them to a file.",
        ),
        (["compare", "true", "true", "--html", "-", "--open"], 2, "--html - prints the page"),
        (["diagnose", "a", "b", "--plan", "-"], 2, "--plan needs the name of a file"),
        (["prove", "only-one"], 2, "There is no folder only-one"),
        (["diagnose", "a", "b", "--json", "nowhere/x.json"], 1, "There is no folder nowhere to write the verdict to."),
        (
            ["compare", "true", "true", "--perfetto", "nowhere/x"],
            1,
            "There is no folder nowhere to write the trace to.",
        ),
        (["diagnose", "a", "b", "--html", "/tmp"], 1, "/tmp is a folder: name a file to write the page to."),
        (["compare", "true", "true", "-o", ""], 2, "the name is empty"),
        (["info", "n" * 256], 1, "cannot be used: File name too long."),
        (["compare", "true", "true", "-o", "n" * 256], 1, "cannot be used: File name too long."),
    ],
)
def test_a_sentence_and_no_traceback(refused: Whyperf, arguments: list[str], status: int, words: str) -> None:
    assert words in sentence(refused(*arguments), status)


@pytest.mark.parametrize(
    ("arguments", "instead"),
    [
        (["compare", "--deep", "--trace", "true", "true"], "whyperf compare --trace GOOD BAD"),
        (["compare", "--symptom", "memory", "true", "true"], "whyperf compare --deep --symptom ... GOOD BAD"),
        (["record", "--deep", "--trace", "--", "true"], "whyperf record --trace -- COMMAND"),
        (["record", "--deep", "--pid", "1"], "whyperf record --deep -- COMMAND"),
        (["record", "--", "./one | cat"], "whyperf record -- sh -c './one | cat'"),
        (["record", "--", "./tool small.txt"], "whyperf record -- ./tool small.txt"),
        (["record", "--", f"./tool {300 * 'x'}"], f"whyperf record -- ./tool {300 * 'x'}"),
        (["record", "--", f"tool {300 * 'x'}; true"], f"whyperf record -- sh -c 'tool {300 * 'x'}; true'"),
        (["attach", "1", "--watch", "x"], "whyperf record --pid 1 --trace --watch VARIABLE"),
        (["prove"], "whyperf prove GOOD BAD"),
        (["view", "--good", "a"], "whyperf view GOOD BAD"),
        (["prove", "no such folder"], "whyperf compare -o 'no such folder' GOOD BAD"),
    ],
)
def test_what_to_type_instead_is_of_the_same_command(refused: Whyperf, arguments: list[str], instead: str) -> None:
    done = refused(*arguments)
    sentence(done, 2)
    assert done.stderr.splitlines()[1] == f"  try: {instead}"


def test_the_program_itself_says_it_too(whyperf: Whyperf) -> None:
    assert "There is no command frobnicate" in sentence(whyperf("frobnicate"), 2)


def test_a_file_here_is_suggested(whyperf: Whyperf, tmp_path: Path) -> None:
    (tmp_path / "mytool").write_text("#!/bin/sh\n")
    (tmp_path / "mytool").chmod(0o755)
    done = whyperf("record", "--", "mytool", "a b")
    assert "a file of that name is in this folder" in sentence(done, 1)
    assert "whyperf record -- ./mytool 'a b'" in done.stderr


def test_script_without_interpreter_line(whyperf: Whyperf, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("echo hello\n")
    (tmp_path / "script").chmod(0o755)
    assert "neither a program nor a script" in sentence(whyperf("record", "--", "./script"), 1)


def test_only_what_can_be_executed_is_to_be_made_executable(whyperf: Whyperf, tmp_path: Path) -> None:
    # GIVEN a source file, and a script that nobody made executable
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "script").write_text("#!/bin/sh\n")
    source, script = (whyperf("compare", "--good", f"./{name}", "--bad", "true") for name in ("main.c", "script"))
    assert "is neither a program nor a script" in sentence(source, 1)
    assert "chmod" not in source.stderr
    assert "is not executable" in sentence(script, 1)
    assert "chmod +x script" in script.stderr


def test_script_whose_interpreter_is_missing(whyperf: Whyperf, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/no/such/interpreter\n")
    (tmp_path / "script").chmod(0o755)
    assert "asks for the interpreter /no/such/interpreter" in sentence(whyperf("record", "--", "./script"), 1)


@pytest.mark.parametrize(
    ("compiler", "words"),
    [(("cc", "-static"), "statically linked"), (COMPILER_32, "another architecture")],
    ids=["static", "32-bit"],
)
def test_programs_that_cannot_be_sampled(
    whyperf: Whyperf, tmp_path: Path, compiler: tuple[str, ...], words: str
) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    command = [*compiler, "-o", tmp_path / "main", tmp_path / "main.c"]
    if shutil.which(compiler[0]) is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this compiler cannot build it")
    assert words in sentence(whyperf("record", "--", "./main"), 1)
    assert not list(tmp_path.glob("*.whyperf"))


def test_a_program_of_another_machine(whyperf: Whyperf, tmp_path: Path) -> None:
    program = bytearray(Path("/bin/true").read_bytes())
    program[18:20] = OTHER.elf_machine.to_bytes(2, "little")
    (tmp_path / "true").write_bytes(program)
    (tmp_path / "true").chmod(0o755)
    said = sentence(whyperf("record", "--", "./true"), 1)
    assert f"is built for another architecture; on this machine whyperf records {HERE.name} programs only" in said


def test_setuid_program(whyperf: Whyperf, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("making a setuid program of another user needs root")
    program = tmp_path / "true"
    program.write_bytes(Path("/bin/true").read_bytes())
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    assert "setuid" in sentence(whyperf("record", "--", "./true"), 1)


def test_recordings_are_not_overwritten(whyperf: Whyperf) -> None:
    assert whyperf("record", "-o", "rec", "--", "true").returncode == 0
    done = whyperf("record", "-o", "rec", "--", "true")
    assert "already holds a recording" in sentence(done, 1)
    assert whyperf("record", "--force", "-o", "rec", "--", "true").returncode == 0


def test_force_deletes_nothing_but_recordings(whyperf: Whyperf, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years of work")
    done = whyperf("record", "--force", "-o", "precious", "--", "true")
    assert "is not a recording, so it is left alone" in sentence(done, 1)
    assert (tmp_path / "precious" / "thesis.txt").read_text() == "years of work"


def test_compare_keeps_what_is_in_the_folder(whyperf: Whyperf, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    done = whyperf("compare", "--good", "true", "--bad", "true", "-o", "mine")
    assert "is not empty" in sentence(done, 1)


@pytest.mark.parametrize("forced", [[], ["--force"]], ids=["", "forced"])
def test_two_comparisons_into_one_folder_do_not_mix(whyperf: Whyperf, tmp_path: Path, forced: list[str]) -> None:
    # GIVEN a comparison that goes on
    command = [sys.executable, "-m", "whyperf", "compare", "--quick", "-o", "both", "sleep 60", "sleep 60"]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True, **pipes) as first:
        until = time.monotonic() + PATIENCE_S
        while not (tmp_path / "both" / "good-1").exists():
            assert time.monotonic() < until and first.poll() is None
            time.sleep(0.05)
        # WHEN another one is asked for
        done = whyperf("compare", "--quick", *forced, "true", "true", "-o", "both")
        os.killpg(first.pid, signal.SIGINT)
    # THEN it is refused, whatever it may replace, and not told to replace what is being made
    assert "Another whyperf puts its recordings into both right now." in sentence(done, 1)
    assert "--force" not in done.stderr
    # AND once nobody is there, it may
    assert whyperf("compare", "--quick", "--force", "true", "true", "--runs", "1", "-o", "both").returncode in (3, 4)


def test_a_refused_comparison_leaves_no_folder(whyperf: Whyperf, tmp_path: Path) -> None:
    command = ["compare", "--latency", "no_such_function", "/bin/true", "/bin/true", "-o", "both"]
    done = whyperf(*command)
    assert done.returncode == 1 and "have a function of that name" in done.stderr
    assert not (tmp_path / "both").exists()


def test_a_mistake_of_ours_is_no_traceback_either(whyperf: Whyperf, tmp_path: Path) -> None:
    # GIVEN a broken installation: the recording library's stub shadows the real one
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "pyarrow.py").write_text("raise RuntimeError('broken')\n")
    paths = os.pathsep.join([str(tmp_path / "shadow"), os.environ.get("PYTHONPATH", "")])
    # WHEN something uses it
    done = whyperf("record", "--", "true", environment={"PYTHONPATH": paths})
    # THEN it is a sentence, and a traceback only for those who ask
    assert "mistake in whyperf (RuntimeError)" in sentence(done, 1)
    done = whyperf("record", "-o", "again", "--", "true", environment={"PYTHONPATH": paths, "WHYPERF_DEBUG": "1"})
    assert "Traceback" in done.stderr


def test_unwritable_cache_is_a_sentence(whyperf: Whyperf) -> None:
    done = whyperf("record", "--", "true", environment={"XDG_CACHE_HOME": "/proc/nowhere"})
    assert "cache folder" in sentence(done, 1)
