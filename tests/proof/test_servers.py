"""Trials on a server: it gets its load and is ended in every run; what counts is what the symptom is measured in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.collect.observation.programs import RESULT, last_before_return
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.diagnose.origin import Proof, ProofFinding, ProofMeans
from whyperf.proof.by_function import prove_by_functions
from whyperf.proof.by_value import ForcedPlace, ProofSide, Trying, prove_value
from whyperf.proof.sentences import ProofClaim

pytestmark = pytest.mark.process
SOURCE = Path(__file__).parent.parent / "investigation" / "programs" / "answering.c"
REQUESTS = 200
Forcing = Callable[..., Proof]


def _built(folder: Path, name: str, *flags: str) -> Path:
    program = folder / name
    subprocess.run(["gcc", "-g", "-O2", "-Wl,--build-id", *flags, SOURCE, "-o", program], check=True)
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(tmp_path_factory.mktemp("server"), "answering")


def _side(program: Path, socket: Path, megabytes: int) -> ProofSide:
    lifecycle = Lifecycle(ready=f"file:{socket}", drive=f"{program} ask {socket} {REQUESTS}")
    return ProofSide(find_program([str(program), str(socket), str(megabytes)], os.environ), lifecycle, dict(os.environ))


@pytest.fixture
def forcing(program: Path, tmp_path: Path) -> Forcing:
    def force(function: str, good: int, bad: int, measure: str, size: int = 8) -> Proof:
        place = ForcedPlace(program, last_before_return(program, function).address, True, RESULT, size, (good,), (bad,))
        claim = ProofClaim(function, "answering", str(SOURCE), 1, f"{function}()", str(good), str(bad))
        sides = (_side(program, tmp_path / "socket", megabytes) for megabytes in (64, 4096))
        return prove_value(*sides, [place], claim, Trying(measure))

    return force


@pytest.mark.parametrize(
    ("function", "good", "bad", "measure"),
    [
        ("planned_buckets", 65536, 64, "cpu_s"),
        ("planned_pause_us", 1, 60000, "latency_p99_s"),
        ("planned_room", 4096, 48 << 20, "peak_bytes"),
    ],
)
def test_the_share_is_of_what_the_symptom_is_measured_in(
    forcing: Forcing, tmp_path: Path, function: str, good: int, bad: int, measure: str
) -> None:
    proof = forcing(function, good, bad, measure)
    assert (proof.finding, proof.measure) == (ProofFinding.PROVEN, measure), proof
    assert not (tmp_path / "socket").exists()  # every server was ended in order


@pytest.mark.parametrize(
    ("function", "good", "bad", "measure"),
    [("planned_buckets", 65536, 64, "latency_p99_s"), ("planned_room", 4096, 48 << 20, "cpu_s")],
)
def test_what_makes_another_symptom_is_refuted(
    forcing: Forcing, function: str, good: int, bad: int, measure: str
) -> None:
    proof = forcing(function, good, bad, measure)
    # On a busy machine requests are slower where the server computes more, and vary.
    assert proof.finding is ProofFinding.REFUTED or "runs vary too much" in proof.sentence, proof


def test_a_server_that_crashes_is_no_proof_and_the_next_run_can_begin(forcing: Forcing, tmp_path: Path) -> None:
    proof = forcing("first_bucket", 1 << 34, 0, "cpu_s")
    assert proof.finding is ProofFinding.NOT_TESTABLE and "it crashes" in proof.sentence, proof
    assert not (tmp_path / "socket").exists()


def test_wrong_answers_are_no_proof(forcing: Forcing) -> None:
    """The load notices them, and fails."""
    proof = forcing("salt_of", 8, 7, "cpu_s", 4)
    assert proof.finding is ProofFinding.NOT_TESTABLE and "no longer serves its load" in proof.sentence, proof


def test_what_no_run_reports_is_not_measured(program: Path, tmp_path: Path) -> None:
    sides = [_side(program, tmp_path / "socket", megabytes) for megabytes in (64, 4096)]
    silent = [
        replace(one, lifecycle=replace(one.lifecycle, drive=f"{one.lifecycle.drive} >/dev/null")) for one in sides
    ]
    place = ForcedPlace(
        program, last_before_return(program, "planned_pause_us").address, True, RESULT, 8, (1,), (60000,)
    )
    claim = ProofClaim("planned_pause_us", "answering", str(SOURCE), 1, "planned_pause_us()", "1", "60,000")
    proof = prove_value(silent[0], silent[1], [place], claim, Trying("latency_p99_s", most_runs=3))
    assert proof.finding is ProofFinding.NOT_TESTABLE and "not every run reports" in proof.sentence, proof


def test_functions_are_transplanted_into_servers(program: Path, tmp_path: Path) -> None:
    coarse = _built(tmp_path, "coarse", "-DCOARSE")
    good, bad = (_side(one, tmp_path / "socket", 64) for one in (program, coarse))
    [proof] = prove_by_functions(good, bad, ())
    assert (proof.finding, proof.means, proof.function) == (ProofFinding.PROVEN, ProofMeans.FUNCTION, "bucket_of"), (
        proof
    )
