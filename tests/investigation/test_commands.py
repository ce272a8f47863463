"""`prove`, `origin` and `compare --prove` as users call them, on a program whose mistake costs nothing itself."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import Whyperf, refused, sentence, whyperf
from tests.debuginfo.transplants.builds import built
from tests.proof.test_by_function import BAD_HASH, SOURCE
from tests.schemas import verdict_schema
from tests.strangers import stranger

__all__ = ["refused", "whyperf"]  # fixtures

pytestmark = [pytest.mark.process, pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")]
PROGRAMS = Path(__file__).parent / "programs"


def _built(name: str, folders: pytest.TempPathFactory) -> Path:
    built = folders.mktemp("built") / name
    subprocess.run(["gcc", "-g", "-O2", PROGRAMS / f"{name}.c", "-o", built], check=True)
    return built


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built("replayer", tmp_path_factory)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built("answering", tmp_path_factory)


def test_the_cause_is_followed_and_proven(whyperf: Whyperf, program: Path, tmp_path: Path) -> None:
    # WHEN a comparison is told to prove what it finds
    sides = (f"{program} 1365", f"{program} 4096")
    done = whyperf("compare", "--prove", "--budget", "90s", *sides, "-o", "both", "--json", "verdict.json")
    assert done.returncode == 0, done.stderr
    verdict: dict[str, Any] = json.loads((tmp_path / "verdict.json").read_text())
    jsonschema.validate(verdict, verdict_schema())
    # THEN the function that makes the wrong value comes first, proven, and who pays second
    cause, payer = verdict["suspects"][:2]
    assert (cause["function"], payer["function"]) == ("size_window", "flush_page")
    assert [proof["finding"] for proof in cause["proofs"]] == ["proven"]
    assert cause["proofs"][0]["removed"]["share"] > 0.8
    values = [(hop["function"], hop["bad"], hop["good"]) for hop in cause["origin"]["hops"]]
    assert ("replay", "1", "342") in values and ("size_window", "0", "2,731") in values
    assert cause["origin"]["end"] == "outside" and "`4096`, was `1365`" in cause["origin"]["sentence"]
    # THEN the recordings alone are enough to follow a variable
    done = whyperf("origin", "both", "--variable", "replay.batch", "--json", "-")
    assert done.returncode == 0, done.stderr
    hops = json.loads(done.stdout)["origin"]["hops"]
    assert [hop["function"] for hop in hops][-1] == "main"


def test_short_runs_are_proven_unasked(whyperf: Whyperf, program: Path) -> None:
    sides = (f"{program} 1365", f"{program} 4096")
    done = whyperf("compare", "--runs", "2", *sides, "-o", "both", "--json", "-")
    assert done.returncode == 0, done.stderr
    cause = json.loads(done.stdout)["suspects"][0]
    assert (cause["function"], [proof["finding"] for proof in cause["proofs"]]) == ("size_window", ["proven"])


def test_a_decision_that_only_bad_runs_make_is_proven(
    whyperf: Whyperf, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # GIVEN a limit that is the same in both runs, and is reached in one of them
    cache = _built("emptied", tmp_path_factory)
    sides = (f"{cache} 8", f"{cache} 12")
    done = whyperf("compare", "--prove", "--budget", "120s", "--runs", "2", *sides, "-o", "both", "--json", "-")
    assert done.returncode == 0, done.stderr
    verdict: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(verdict, verdict_schema())
    cause, payer = verdict["suspects"][:2]
    assert (cause["function"], payer["function"]) == ("make_room", "work_out")
    (proof,) = cause["proofs"]
    assert (proof["finding"], proof["means"], proof["what"]) == ("proven", "decision", "if (full < limit)")
    assert "forced to the good run's branch" in proof["sentence"] and "the good run does not take" in cause["why"]


@pytest.mark.parametrize(("name", "words"), [("emptied", ("8", "12")), ("replayer", ("1365", "4096"))])
def test_nothing_is_forced_while_another_process_uses_a_file_that_the_program_writes_to(
    whyperf: Whyperf, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, name: str, words: tuple[str, str]
) -> None:
    # GIVEN somebody who reads the program's output while it is written
    program, output = _built(name, tmp_path_factory), tmp_path / "output"
    output.touch()
    sides = (f"{program} {word} > {output}" for word in words)
    with stranger(["sh", "-c", 'echo ready; exec sleep 600 < "$1"', "sh", output]) as reader:
        done = whyperf("compare", "--prove", "--runs", "2", *sides, "-o", "both", "--json", "-")
    assert done.returncode == 0, done.stderr
    verdict: dict[str, Any] = json.loads(done.stdout)
    # THEN that is said once, and no trial was made
    told = [note for note in verdict["notes"] if f"{output} is also open in sleep ({reader})" in note]
    assert len(told) == 1 and done.stderr.count("forced run") == 0
    assert {proof["runs"] for suspect in verdict["suspects"] for proof in suspect["proofs"]} <= {0}


def test_of_two_builds_functions_are_tried_before_calls_are_counted(whyperf: Whyperf, tmp_path: Path) -> None:
    builds = built(tmp_path, SOURCE)
    sides = (f"{builds.good} 14000", f"{builds.bad} 14000")
    done = whyperf("compare", "--prove", "--budget", "90s", *sides, "-o", "both", "--json", "verdict.json")
    assert done.returncode == 0, done.stderr
    assert "putting functions of the good build" in done.stderr and "counting" not in done.stderr
    cause = json.loads((tmp_path / "verdict.json").read_text())["suspects"][0]
    assert cause["function"] in BAD_HASH
    assert [(proof["finding"], proof["means"]) for proof in cause["proofs"]] == [("proven", "function")]


@pytest.mark.process
def test_servers_are_driven_in_every_run_and_requests_that_wait_are_proven(
    whyperf: Whyperf, server: Path, tmp_path: Path
) -> None:
    # GIVEN recordings of a server whose 40th request waits in bad runs
    socket = tmp_path / "socket"
    load = ("--ready", f"file:{socket}", "--drive", f"{server} ask {socket} 600")
    for name, megabytes in (("good", "64"), ("bad", "200")):
        done = whyperf("record", "-q", "--clock", "wall", *load, "-o", name, "--", str(server), str(socket), megabytes)
        assert done.returncode == 0, done.stderr
    # WHEN their commands are run again
    done = whyperf("prove", "good", "bad", "--budget", "120s", "--json", "verdict.json")
    assert done.returncode == 0, done.stderr
    # THEN who makes the requests wait is proven by what the symptom is measured in: on a busy machine not by latency
    verdict: dict[str, Any] = json.loads((tmp_path / "verdict.json").read_text())
    jsonschema.validate(verdict, verdict_schema())
    measure = verdict["symptom"]["measure"]
    assert measure in ("latency_p99_s", "own_s", "wall_s")
    cause = verdict["suspects"][0]
    [proof] = cause["proofs"]
    assert (cause["function"], proof["finding"]) == ("planned_pause_us", "proven"), proof
    assert proof["measure"] == measure and proof["removed"]["share"] > 0.8
    # THEN no server is left
    assert not socket.exists()
    # THEN a variable of the server is followed through memory, though the load runs the same program
    done = whyperf("origin", "good", "bad", "--variable", "bucket_of.buckets", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert "planned_buckets" in [hop["function"] for hop in json.loads(done.stdout)["origin"]["hops"]]


def test_the_same_behaviour_proves_nothing(whyperf: Whyperf, program: Path, tmp_path: Path) -> None:
    same = f"{program} 4096"
    done = whyperf("compare", "--prove", "--budget", "20s", same, same, "-o", "both", "--json", "verdict.json")
    assert done.returncode in (3, 4), done.stderr
    assert not any(one["proofs"] for one in json.loads((tmp_path / "verdict.json").read_text())["suspects"])


def test_what_cannot_be_followed_is_a_sentence(
    refused: Whyperf, whyperf: Whyperf, program: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        whyperf("record", "-q", "-o", name, "--", str(program), "1365")
    for words, said in (
        (["--variable", "batch"], "--variable is FUNCTION.NAME"),
        (["--line", "replayer.c"], "--line is FILE:LINE"),
        (["--variable", "replay.x", "--module", "libnone.so"], "has no module libnone.so"),
    ):
        assert said in sentence(refused("origin", "one", "two", *words), 2)
    said = sentence(refused("origin", "one", "two", "--variable", "replay.no_such"), 1)
    assert "replay() has no variable `no_such` in the debug information of" in said
    assert "has no function nobody()" in sentence(refused("origin", "one", "two", "--variable", "nobody.x"), 1)
    program.rename(program.with_name("moved"))
    try:
        assert "was not found" in sentence(refused("prove", "one", "two"), 1)
    finally:
        program.with_name("moved").rename(program)


def test_what_whyperf_did_not_start_is_not_run_again(whyperf: Whyperf, refused: Whyperf) -> None:
    # GIVEN recordings of a program that ran already
    with stranger(["sh", "-c", "echo ready; while :; do :; done"]) as running:
        for name, words in (("one", ["attach"]), ("two", ["record", "-p"])):
            done = whyperf(words[0], *words[1:], str(running), "--for", "0.5s", "-o", name)
            assert done.returncode == 0, done.stderr
    # THEN that is said in one sentence
    for words in (["prove"], ["origin", "--line", "a.c:1"]):
        said = sentence(refused(*words, "one", "two"), 1)
        assert said == "These recordings do not say how their program was started, so it cannot be run again."
