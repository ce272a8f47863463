"""Whole commands: what they print and where."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf, sentence
from tests.patience import PATIENCE_S
from tests.shared_cache import SHARED_CACHE
from whyperf.cli.main import COMMANDS
from whyperf.cli.record import conclude
from whyperf.collect.setup.lifecycle import RunOutcome
from whyperf.comparison.alternation import Side, order, pairs_for
from whyperf.comparison.endings import endings
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Totals

BUSY = "i=0; while [ $i -lt {n} ]; do i=$((i+1)); done"

DEMO_CAUSE = "planned_buckets"
DEMO_SYMPTOM = "find_customer"  # walks chains that became long because planned_buckets() overflowed


def test_help_is_quick_and_complete() -> None:
    began = _cpu_of_children_s()
    done = subprocess.run([sys.executable, "-m", "whyperf", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert _cpu_of_children_s() - began < 1.0  # 0.06 s on an idle machine
    for name in COMMANDS:
        assert name in done.stdout


def _cpu_of_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_help_loads_nothing_heavy() -> None:
    check = "import sys; from whyperf.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    check += "sys.exit(bool({'numpy', 'pyarrow', 'numba', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, check=False).returncode == 0


def test_recording_loads_no_columns_before_the_target_has_run() -> None:
    check = "import sys; import whyperf.cli.record, whyperf.collect.runs.runner\n"
    check += "sys.exit(bool({'numpy', 'pyarrow', 'numba', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(whyperf: Whyperf, name: str) -> None:
    done = whyperf(name, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: whyperf {name}")


def test_closed_output_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m whyperf record --help | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stderr == ""


@pytest.fixture(scope="module")
def recording_of_true(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "rec"
    subprocess.run([sys.executable, "-m", "whyperf", "record", "-q", "-o", path, "--", "true"], check=True)
    return path


@pytest.fixture
def recorded(recording_of_true: Path, tmp_path: Path) -> Path:
    shutil.copytree(recording_of_true, tmp_path / "rec")
    shutil.copytree(recording_of_true, tmp_path / "twin")
    return tmp_path / "rec"


def test_a_sealed_recording_is_opened_without_what_reads_programs(recorded: Path) -> None:
    check = (
        "import sys; from whyperf.seal.opening import open_recording; open_recording(sys.argv[1]).table('samples')\n"
    )
    check += "sys.exit(bool({'capstone', 'whyperf.debuginfo'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check, recorded], check=False).returncode == 0


@pytest.mark.parametrize("command", ["info rec", "diagnose rec twin"])
def test_a_reader_that_goes_ends_reports_quietly(recorded: Path, command: str) -> None:
    # GIVEN a reader that closes the pipe before anything is written
    script = f"{sys.executable} -m whyperf {command} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=recorded.parent, check=False)
    # THEN it ends as programs do that SIGPIPE ends
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("printed", ["", "--json - --perfetto perfetto.json", "--perfetto - --json verdict.json"])
def test_a_reader_that_goes_costs_no_file(recorded: Path, printed: str) -> None:
    # GIVEN a diagnosis that writes a page, and files of those outputs that it does not print
    script = f"{sys.executable} -m whyperf diagnose rec twin --html page.html {printed} | true; exit ${{PIPESTATUS[0]}}"
    # WHEN nobody reads what it prints
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=recorded.parent, check=False)
    # THEN they are all there
    assert (done.returncode, done.stderr) == (141, "")
    for name in ["page.html", *(word for word in printed.split() if word.endswith(".json"))]:
        assert (recorded.parent / name).stat().st_size > 0


def test_a_comparison_without_a_reader_says_where_its_recordings_are(tmp_path: Path) -> None:
    compare = f"{sys.executable} -m whyperf compare --good true --bad true --runs 1 -o kept --html page.html"
    script = f"{compare} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 141
    assert done.stderr.endswith("whyperf: the recordings are in kept\n")
    assert (tmp_path / "page.html").exists() and (tmp_path / "kept" / "bad-1").is_dir()


def test_remarks_without_a_reader_cost_neither_the_recording_nor_the_status(tmp_path: Path) -> None:
    # GIVEN a pipe that nobody reads, for what whyperf says and what its target prints there
    script = (
        f"{sys.executable} -m whyperf record -o rec -- sh -c 'sleep 0.2; exit 7' 2>&1 | true; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    # THEN the recording is complete, and the target's status is the command's
    assert done.returncode == 7
    assert (tmp_path / "rec" / "manifest.json").exists()


def test_a_comparison_goes_on_when_nobody_follows_its_progress(tmp_path: Path) -> None:
    compare = f"{sys.executable} -m whyperf compare --good true --bad true --runs 1 -o kept --json verdict.json"
    script = f"{compare} 2>&1 >report | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode in (3, 4)
    assert json.loads((tmp_path / "verdict.json").read_text())["verdict"] in ("none", "insufficient")


def test_closed_standard_error_puts_no_remark_into_the_output(recorded: Path) -> None:
    script = f"{sys.executable} -m whyperf diagnose rec twin --json - --html page.html 2>&-"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=recorded.parent, check=False)
    assert json.loads(done.stdout)["format"] == 1


def test_the_page_can_be_printed(whyperf: Whyperf, recorded: Path) -> None:
    done = whyperf("diagnose", "rec", "twin", "--html", "-", "--json", "verdict.json")
    assert done.stdout.startswith("<!doctype html>") and done.stdout.rstrip().endswith("</html>")
    assert "the page is" not in done.stderr
    assert (recorded.parent / "verdict.json").exists() and not (recorded.parent / "-").exists()


@pytest.mark.parametrize(
    ("words", "how"),
    [
        ("diagnose rec rec", "as a good and as a bad recording"),
        ("diagnose rec ./twin/../rec", "as a good and as a bad recording"),
        ("diagnose rec link", "as a good and as a bad recording"),
        ("diagnose --good rec rec --bad twin", "twice"),
        ("view --good twin --bad rec link", "twice"),
        ("prove rec rec", "as a good and as a bad recording"),
        ("origin rec rec --line a.c:1", "as a good and as a bad recording"),
    ],
)
def test_the_same_recording_is_not_compared_with_itself(whyperf: Whyperf, recorded: Path, words: str, how: str) -> None:
    (recorded.parent / "link").symlink_to(recorded)
    done = whyperf(*words.split())
    assert f" is named {how}: compare runs with other runs." in sentence(done, 2)


@pytest.mark.parametrize("command", ["info rec", "info rec --json", "diagnose rec twin"])
def test_output_that_cannot_be_written_is_a_sentence(recorded: Path, command: str) -> None:
    script = f"{sys.executable} -m whyperf {command} > /dev/full"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=recorded.parent, check=False)
    assert "output cannot be written: No space left" in sentence(done, 1)


@pytest.mark.parametrize(("script", "said"), [("kill -FPE $$", "killed by SIGFPE, "), ("exit 3", "exit status 3, ")])
def test_record_says_how_a_target_failed(whyperf: Whyperf, script: str, said: str) -> None:
    assert said in whyperf("record", "-o", "rec", "--", "sh", "-c", script).stderr


def test_record_seals_and_says_so_on_stderr(whyperf: Whyperf, tmp_path: Path) -> None:
    done = whyperf("record", "--", "sh", "-c", BUSY.format(n=100000) + "; echo out")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "out\n"
    (recording,) = tmp_path.glob("sh-*.whyperf")
    assert f"whyperf info {recording.name}" in done.stderr
    assert (recording / "manifest.json").exists() and not (recording / "raw").exists()
    assert (recording.stat().st_mode & 0o777) == 0o700


def test_recording_of_a_killed_recorder_opens(whyperf: Whyperf, tmp_path: Path) -> None:
    # GIVEN a recorder that is killed while its target works
    command = [sys.executable, "-m", "whyperf", "record", "-o", "rec", "--", "sh", "-c", BUSY.format(n=10_000_000)]
    environment = {**os.environ, "XDG_CACHE_HOME": SHARED_CACHE}
    started = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True)
    while not list(tmp_path.glob("rec/raw/log-*")):
        time.sleep(0.05)
    # WHEN both are killed at once, and the recording is opened
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    done = whyperf("info", "rec", "--json")
    # THEN it is readable and says what happened
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    manifest = facts.get("manifest", facts)
    assert manifest["stopped_by"] == "recorder-killed"


def test_full_disk_stops_the_recording_and_not_the_target(whyperf: Whyperf, tmp_path: Path) -> None:
    # GIVEN a file system with room for the rings, and little more
    room = tmp_path / "small"
    room.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24M", "tmpfs", str(room)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system is not permitted here")
    try:
        # WHEN it fills up while the target works
        script = (
            f"head -c 30000000 /dev/zero > {room}/filler 2>/dev/null; {BUSY.format(n=600000)}; echo finished; exit 3"
        )
        done = whyperf("record", "-o", str(room / "rec"), "--", "sh", "-c", script)
        # THEN the target finishes as if nothing had happened
        assert (done.returncode, done.stdout) == (3, "finished\n")
        assert "Traceback" not in done.stderr
        assert "disk was full" in done.stderr or "No space left" in done.stderr
        # AND with room again, what was recorded can be used
        (room / "filler").unlink()
        assert whyperf("info", str(room / "rec")).returncode == 0
    finally:
        subprocess.run(["umount", "-l", str(room)], check=False)


def test_runs_alternate_and_so_does_which_comes_first() -> None:
    good, bad = Side.GOOD, Side.BAD
    assert [side for side, _ in order(3)] == [good, bad, bad, good, good, bad]
    assert [number for _, number in order(2)] == [1, 1, 2, 2]
    assert [pairs_for(s) for s in (1, 29, 31, 119, 121)] == [3, 3, 2, 2, 1]


def test_compare_alternates_for_real(whyperf: Whyperf, tmp_path: Path) -> None:
    log = tmp_path / "order"
    good, bad = (
        f"sh -c 'echo {side} >> {log}; echo noise; {BUSY.format(n=n)}'" for side, n in (("g", 50000), ("b", 60000))
    )
    done = whyperf("compare", "--quick", "--good", good, "--bad", bad, "-o", "out", "--json", "-")
    assert done.returncode in (0, 3, 4), done.stderr
    assert log.read_text().split() == ["g", "b", "b", "g", "g", "b"]
    # Only the verdict is on standard output; what the targets wrote is in the recordings.
    assert json.loads(done.stdout)["format"] == 1
    assert (tmp_path / "out" / "bad-3" / "stdout").read_text() == "noise\n"
    assert "run 6 of 6: bad" in done.stderr


def test_compare_says_when_runs_end_differently(whyperf: Whyperf) -> None:
    good, bad = (f"sh -c '{BUSY.format(n=50000)}; exit {status}'" for status in (0, 3))
    done = whyperf("compare", "--quick", "--good", good, "--bad", bad, "--runs", "1", "--json", "-")
    notes = json.loads(done.stdout)["notes"]
    assert any("Good runs ended with status 0, bad ones with 3." in note for note in notes)


def test_a_killed_run_is_said_right_under_the_symptom(whyperf: Whyperf) -> None:
    good, bad = (f"sh -c '{BUSY.format(n=50000)}; {end}'" for end in ("exit 0", "kill -FPE $$"))
    lines = (
        whyperf("compare", "--quick", "--good", good, "--bad", bad, "--runs", "1").stdout.split("\n\n")[0].splitlines()
    )
    assert "The bad run 1 was killed by SIGFPE." in lines
    # AND nothing of a status that it never had
    assert not any("status" in line for line in lines)


def ended(status: int | None = 0, signal: int | None = None) -> RunOutcome:
    totals = Totals(0.0, 0.0, 0.0, 0, 0, 0, 0, 0, 0)
    return RunOutcome(Path("no-output"), status, signal, "signal" if signal else "exit", totals, None)


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """No recording can be sealed."""

    def seal(path: Path) -> None:
        raise WhyperfError(f"{path} cannot be written: No space left on device.", "df -h .")

    monkeypatch.setattr("whyperf.seal.opening.seal", seal)


def test_a_disk_that_filled_up_leaves_the_targets_status_alone(
    no_room: None, capsys: pytest.CaptureFixture[str]
) -> None:
    for status in (0, 3):
        assert conclude(replace(ended(status), stopped_by="disk-full"), quiet=True) == status
        assert "No space left" in capsys.readouterr().err


def test_a_recording_that_cannot_be_sealed_otherwise_is_an_error(no_room: None) -> None:
    with pytest.raises(WhyperfError) as said:
        conclude(ended(), quiet=True)
    assert said.value.status == 1


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ([ended()] * 3, []),
        ([ended(None, 6)] * 3, ["All bad runs were killed by SIGABRT."]),
        ([ended(None, 6), ended(), ended(None, 6)], ["The bad runs 1 and 3 were killed by SIGABRT."]),
        (
            [ended(None, 6), ended(None, 9), ended(3)],
            [
                "The bad run 1 was killed by SIGABRT.",
                "The bad run 2 was killed by SIGKILL.",
                "Good runs ended with status 0, bad ones with 3.",
            ],
        ),
    ],
)
def test_how_runs_ended_is_said_once(bad: list[RunOutcome], expected: list[str]) -> None:
    assert endings({Side.GOOD: [ended()] * 3, Side.BAD: bad}) == expected


def test_a_failed_side_beside_a_killed_one_is_told() -> None:
    killed, failed = [ended(None, 6)], [ended(3)]
    both = ["The {} run 1 was killed by SIGABRT.", "{} runs ended with status 3, as programs do that fail."]
    assert endings({Side.GOOD: failed, Side.BAD: killed}) == [both[0].format("bad"), both[1].format("Good")]
    assert endings({Side.GOOD: killed, Side.BAD: failed}) == [both[0].format("good"), both[1].format("Bad")]


def test_an_interrupted_comparison_says_what_is_kept(whyperf: Whyperf, tmp_path: Path) -> None:
    # GIVEN a comparison whose third run never ends
    busy = f"sh -c '{BUSY.format(n=50000)}; [ ! -e out/bad-2 ] || sleep 60'"
    command = [sys.executable, "-m", "whyperf", "compare", "--quick", "--good", busy, "--bad", busy, "-o", "out"]
    environment = {**os.environ, "XDG_CACHE_HOME": SHARED_CACHE}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True
    ) as started:
        while not (tmp_path / "out" / "bad-2" / "stdout").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        # WHEN the user presses Ctrl-C
        os.killpg(started.pid, signal.SIGINT)
        said = started.communicate(timeout=PATIENCE_S)[1]
    # THEN the complete runs are named in a command that compares them
    assert started.returncode == 130
    assert "1 good and 1 bad runs are complete; what was recorded is kept in out." in said
    assert "try: whyperf diagnose --good out/good-1 --bad out/bad-1\n" in said
    # AND the folder itself is understood
    assert whyperf("diagnose", "--good", "out/good-1", "--bad", "out/bad-1").returncode in (0, 3, 4)
    assert whyperf("diagnose", "out").returncode in (0, 3, 4)
    assert "1 good and 2 bad recordings" in sentence(whyperf("info", "out"), 1)


def test_compare_shows_what_a_failed_run_wrote(whyperf: Whyperf) -> None:
    failing = "sh -c 'echo the reason >&2; exit 1'"
    done = whyperf("compare", "--good", failing, "--bad", failing, "--ready", "tcp:1", "--runs", "1")
    assert done.returncode == 1
    assert "before it was ready" in done.stderr and "the reason" in done.stderr


def test_doctor_finds_that_recording_works_here(whyperf: Whyperf) -> None:
    done = whyperf("doctor", "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, said["records"]) == (0, True)
    states = {check["name"]: check["state"] for check in said["checks"]}
    assert states["recording"] == "fine"


def test_doctor_names_the_command_that_mends(whyperf: Whyperf) -> None:
    done = whyperf("doctor", environment={"XDG_CACHE_HOME": "/proc/nowhere"})
    assert done.returncode == 1
    assert "MISSING" in done.stdout and "export XDG_CACHE_HOME=" in done.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler")
def test_demo_names_the_planted_function(whyperf: Whyperf) -> None:
    done = whyperf("demo")
    assert done.returncode == 0, done.stderr
    first = next(line for line in done.stdout.splitlines() if line.split()[:1] == ["1"])
    # Who decides comes before who pays, if there was time for the proof.
    assert first.split()[1] in (DEMO_CAUSE, DEMO_SYMPTOM)
    is_followed = "turns bad here" in done.stdout and "orders.c:167" in done.stdout
    assert is_followed or re.search(r"budget of [^.]+ is used\s+up|no\s+time\s+left\s+to\s+follow", done.stdout)
    assert DEMO_CAUSE in done.stderr
    # What it proposes next can be done.
    proposed = next(line for line in done.stdout.splitlines() if line.startswith("Next: "))
    folders = [word for word in proposed.split() if word.startswith("/")]
    assert all(Path(one).exists() for one in folders), proposed


def test_demo_without_a_compiler_is_a_sentence(whyperf: Whyperf, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = whyperf("demo", environment={"PATH": str(tmp_path / "empty")})
    assert done.returncode == 1
    assert "no C compiler" in done.stderr and "apt-get install" in done.stderr
