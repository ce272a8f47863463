"""`compare --benchmark` on real google-benchmark programs: what counts is the cost of an iteration."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.warm_interpreter import run_whyperf
from whyperf.adapters.google_benchmark import iterations_in

SOURCE = Path(__file__).parent / "programs" / "bench.cc"


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`fast` and `slow`, whose iterations cost four times as much."""
    folder = tmp_path_factory.mktemp("benchmarks")
    for name, rounds in (("fast", 2000), ("slow", 8000)):
        command = ["g++", "-g", "-O2", f"-DROUNDS={rounds}", "-o", name, str(SOURCE), "-lbenchmark", "-lpthread"]
        subprocess.run(command, cwd=folder, check=True)
    return folder


def compare(folder: Path, good: str, bad: str, name: str = "BM_churn") -> subprocess.CompletedProcess[str]:
    options = ["--json", "-", "--no-values", "-o", f"out-{len(list(folder.iterdir()))}"]
    return run_whyperf("compare", "--benchmark", name, "--good", good, "--bad", bad, *options, cwd=folder)


def test_an_iteration_that_costs_four_times_as_much_is_found(programs: Path) -> None:
    done = compare(programs, "./fast --benchmark_min_time=0.1", "./slow --benchmark_min_time=0.1")
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["symptom"]["unit"] == "iteration"
    assert 2.5 < verdict["symptom"]["bad"] / verdict["symptom"]["good"] < 6
    assert verdict["suspects"][0]["function"] in ("churn", "BM_churn")


def test_three_times_the_iterations_are_no_reason_for_suspicion(programs: Path) -> None:
    done = compare(programs, "./fast --benchmark_min_time=0.1", "./fast --benchmark_min_time=0.3")
    verdict = json.loads(done.stdout)
    assert verdict["verdict"] != "difference", verdict["symptom"]
    assert verdict["suspects"] == []


def test_a_benchmark_that_is_not_there_is_refused(programs: Path) -> None:
    done = compare(programs, "./fast", "./slow", "BM_chur")
    assert done.returncode == 1 and "./fast has no benchmark BM_chur" in done.stderr
    assert "try: ./fast --benchmark_list_tests" in done.stderr


def test_iterations_of_all_batches_and_threads_count() -> None:
    log = b"-- LOG(2): Running BM_x for 1\n-- LOG(2): Ran in 1/2\n-- LOG(2): Running BM_x for 10\n"
    assert iterations_in(log) == 11
    assert iterations_in(b"-- LOG(2): Running BM_x/real_time/threads:4 for 10\n") == 40
    assert iterations_in(b"Failed to match any benchmarks\n") is None
