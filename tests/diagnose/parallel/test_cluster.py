"""Many recordings on a cluster: the same verdict to the last digit, whoever dies meanwhile."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.diagnose import work
from tests.diagnose.dask import OwnCluster, eventually
from tests.warm_interpreter import run_whyperf
from whyperf.cli.demo import BAD_ARGUMENT, GOOD_ARGUMENT, build
from whyperf.cli.main import main
from whyperf.collect.tracer.backends import Backend, choose
from whyperf.diagnose.diagnosis import examine
from whyperf.diagnose.parallel import cluster as dask
from whyperf.diagnose.parallel.cluster import Cluster, scheduler_at
from whyperf.engines.run import Run
from whyperf.engines.values.compare import compare
from whyperf.errors import WhyperfError
from whyperf.recording.compared import compared_in
from whyperf.recording.layout import MANIFEST
from whyperf.recording.sealed.reader import Recording
from whyperf.report.json import to_json

pytestmark = pytest.mark.process


def silent(doing: str, done: int, total: int) -> None:
    pass


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    started = OwnCluster(tmp_path_factory.mktemp("dask"))
    yield started
    started.stop()


@pytest.fixture
def workers(own_cluster: OwnCluster) -> OwnCluster:
    """Two of them, at the beginning of each test."""
    own_cluster.complete()
    return own_cluster


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two good and two bad runs of a real program; with kernel events where they can be had. The bad ones also have
    more to do, so that no disturbance hides the difference."""
    folder = tmp_path_factory.mktemp("recorded")
    trace = ["--trace"] if choose().means is Backend.BPF else []
    for kind, *arguments in (("good", GOOD_ARGUMENT, "5"), ("bad", BAD_ARGUMENT, "16")):
        for number in (1, 2):
            words = (*trace, "-o", str(folder / f"{kind}-{number}"), "--", str(build()), *arguments)
            run_whyperf("record", *words).check_returncode()
    return folder


def recordings(folder: Path) -> tuple[list[Recording], list[Recording]]:
    good, bad = compared_in(folder)
    return [Recording(path) for path in good], [Recording(path) for path in bad]


def fleet(folder: Path, tmp_path: Path) -> Path:
    """The same runs several times over, so that there is more to do than one worker takes."""
    for kind, paths in zip(("good", "bad"), compared_in(folder), strict=True):
        for number in range(6):
            shutil.copytree(paths[number % 2], tmp_path / f"{kind}-{number + 1}")
    return tmp_path


def test_a_clusters_verdict_is_this_machines_to_the_last_byte(
    workers: OwnCluster, compared: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    address = workers.address.replace("tcp://", "dask://")
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    # WHEN recordings are diagnosed here by one process, and by two workers
    assert main(["diagnose", str(compared), "--jobs", "1", "--json", str(here)]) == 0
    capfd.readouterr()
    assert main(["diagnose", str(compared), "--cluster", address, "--json", str(there)]) == 0
    # THEN nothing differs, and it was told what went on
    assert here.read_bytes() == there.read_bytes()
    assert "whyperf: comparing values" in capfd.readouterr().err


class KillingOne:
    """A cluster one of whose workers dies at work on every map."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._cluster, self._folder = cluster, folder

    def map(self, doing, function, shared, items):
        marker = self._folder / "killed"
        return self._cluster.map(doing, work.deadly_once, (marker, function, shared), items)


def test_a_worker_killed_half_way_changes_nothing(
    workers: OwnCluster, compared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN a dozen recordings, and values compared some at a time
    monkeypatch.setattr("whyperf.engines.values.loading._VARIABLES_AT_ONCE", 8)
    sides = recordings(fleet(compared, tmp_path))
    alone = examine(*sides).verdict
    # WHEN one of two workers is killed while it reads the second of them
    with Cluster(workers.address, silent) as cluster:
        verdict = examine(*sides, executor=KillingOne(cluster, tmp_path)).verdict
    # THEN the other has done it all
    assert (tmp_path / "killed").exists()
    assert workers.alive == 1
    assert to_json(verdict) == to_json(alone)


def test_a_worker_killed_while_values_are_compared_changes_nothing(
    workers: OwnCluster, compared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whyperf.engines.values.loading._VARIABLES_AT_ONCE", 8)
    runs = [[Run(one) for one in side] for side in recordings(compared)]
    alone = compare(*runs)

    class Killing:
        def map(self, doing, function, shared, items):
            assert doing != "comparing values" or len(items) > 2, "there is no half-way"
            if doing == "comparing values":
                return cluster.map(doing, work.deadly_once, (tmp_path / "killed", function, shared), items)
            return cluster.map(doing, function, shared, items)

    with Cluster(workers.address, silent) as cluster:
        found = compare(*runs, executor=Killing())
    assert workers.alive == 1
    assert found.outcomes == alone.outcomes
    assert found.abnormal == alone.abnormal


def test_without_any_worker_left_it_gives_up(workers: OwnCluster) -> None:
    with Cluster(workers.address, silent, patience_s=2) as cluster, pytest.raises(WhyperfError) as said:
        list(cluster.map("dying", work.deadly, None, [1, 2]))
    assert "no worker for 2 seconds" in said.value.sentence
    assert said.value.next_command == f"dask worker {workers.address} --nthreads 1"


def test_interrupted_work_is_called_off(workers: OwnCluster, tmp_path: Path) -> None:
    def begun() -> int:
        return len(list(tmp_path.glob("begun-*")))

    def interrupted(doing: str, done: int, total: int) -> None:
        eventually(lambda: begun() > 0)
        raise KeyboardInterrupt

    with Cluster(workers.address, interrupted) as cluster:
        # WHEN Ctrl-C is pressed while much is left to do
        try:
            with pytest.raises(KeyboardInterrupt):
                list(cluster.map("waiting", work.waiting, tmp_path / "release", range(100)))
        finally:
            (tmp_path / "release").touch()
        # THEN what had not begun never does
        eventually(lambda: not any(cluster._client.processing().values()))
    assert begun() < 10


def test_a_scheduler_that_dies_is_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    doomed = OwnCluster(tmp_path)

    def killing(doing: str, done: int, total: int) -> None:
        eventually(lambda: any(tmp_path.glob("begun-*")))
        doomed.kill_scheduler()

    try:
        with Cluster(doomed.address, killing) as cluster, pytest.raises(WhyperfError) as said:
            list(cluster.map("waiting", work.waiting, tmp_path / "release", range(5)))
    finally:
        doomed.stop()
    assert said.value.sentence == f"The Dask scheduler at {doomed.address} has gone."
    assert capfd.readouterr().err == ""


def test_results_come_in_the_order_of_the_items(workers: OwnCluster) -> None:
    with Cluster(workers.address, silent) as cluster:
        assert list(cluster.map("multiplying", work.product, 7, range(50))) == [7 * item for item in range(50)]


def test_a_workers_sentence_is_the_users(workers: OwnCluster) -> None:
    with Cluster(workers.address, silent) as cluster, pytest.raises(WhyperfError) as said:
        list(cluster.map("refusing", work.refusing, 3, [2]))
    assert (said.value.sentence, said.value.next_command, said.value.status) == ("Not 6.", "whyperf doctor", 2)


def test_workers_that_cannot_see_the_recordings(workers: OwnCluster, compared: Path, tmp_path: Path) -> None:
    # GIVEN recordings that are gone when the workers look for them
    sides = recordings(fleet(compared, tmp_path))
    shutil.move(tmp_path / "good-1", tmp_path / "elsewhere")
    with Cluster(workers.address, silent) as cluster, pytest.raises(WhyperfError) as said:
        examine(*sides, executor=cluster)
    assert "cannot see the recording" in said.value.sentence
    assert "under the same path" in said.value.sentence


def test_workers_that_see_other_recordings(workers: OwnCluster, compared: Path, tmp_path: Path) -> None:
    sides = recordings(fleet(compared, tmp_path))
    shutil.copy(tmp_path / "bad-1" / MANIFEST, tmp_path / "good-1" / MANIFEST)
    with Cluster(workers.address, silent) as cluster, pytest.raises(WhyperfError) as said:
        examine(*sides, executor=cluster)
    assert "sees another recording than you" in said.value.sentence


def test_workers_with_other_versions_are_refused(workers: OwnCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    version = dask.metadata.version
    monkeypatch.setattr(dask.metadata, "version", lambda name: "0.9" if name == "numpy" else version(name))
    with pytest.raises(WhyperfError, match=r"has numpy .*, and here it is 0\.9"):
        Cluster(workers.address, silent)


def test_a_worker_that_joins_late_is_refused_too() -> None:
    theirs = {**dask._environment(), "whyperf": "0.0.1"}
    with pytest.raises(WhyperfError, match=r"and here it is 0\.0\.1"):
        dask._work(b"", shipped=dask._Shipped(b""), environment=theirs)


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "_CONNECT_S", 0.5)
    with pytest.raises(WhyperfError) as said:
        Cluster("tcp://127.0.0.1:9", silent)
    assert said.value.sentence == "No Dask scheduler answers at tcp://127.0.0.1:9."


def test_without_dask_it_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(WhyperfError) as said:
        Cluster("tcp://127.0.0.1:9", silent)
    assert said.value.next_command == "pip install 'whyperf[cluster]'"


def test_addresses() -> None:
    assert scheduler_at("dask://head:9000") == "tcp://head:9000"
    assert scheduler_at("dask://head") == "tcp://head:8786"
    assert scheduler_at("dask://[::1]:9000/") == "tcp://[::1]:9000"


@pytest.mark.parametrize("text", ["head:8786", "tcp://head:8786", "dask://", "dask://head/x", "dask://head:many"])
def test_other_addresses_are_refused(text: str, capsys: pytest.CaptureFixture[str], compared: Path) -> None:
    assert main(["diagnose", str(compared), "--cluster", text]) == 2
    assert f"{text} is no cluster's address" in capsys.readouterr().err


def test_jobs_are_not_a_clusters(capsys: pytest.CaptureFixture[str], compared: Path) -> None:
    assert main(["diagnose", str(compared), "--cluster", "dask://head", "--jobs", "2"]) == 2
    assert "--jobs is for this machine" in capsys.readouterr().err


def test_a_single_recording_is_not_for_a_cluster(capsys: pytest.CaptureFixture[str], compared: Path) -> None:
    assert main(["diagnose", str(compared / "bad-1"), "--cluster", "dask://head"]) == 2
    assert "this is a single one" in capsys.readouterr().err
