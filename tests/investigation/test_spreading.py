"""Where many values become few, the cause is proven by spreading them: same work, and the excess is gone."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.collect.observation.programs import functions
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.diagnose.origin import Proof, ProofFinding, ProofMeans
from whyperf.investigation.investigate import follow
from whyperf.investigation.proving import ChainProof
from whyperf.investigation.spreading import candidates, gathered_for, own_at, spread_at
from whyperf.investigation.subject import ProofBounds, Subject
from whyperf.investigation.trials import Investigated
from whyperf.origin.search import FoundOrigin
from whyperf.origin.spreadable import SpreadableSite
from whyperf.origin.starts import start_at_variable
from whyperf.proof.by_spreading import SpreadPlace, prove_spread
from whyperf.proof.rounds import ProofSide
from whyperf.proof.sentences import ProofClaim

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler"),
]
_CLAIM = ProofClaim("hash_of", "names", "names.c", 20, "sum", "", "", means=ProofMeans.SPREAD)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("names") / "names"
    subprocess.run(["gcc", "-g", "-O2", Path(__file__).parent / "programs" / "names.c", "-o", built], check=True)
    return built


def _subject(names: Path) -> Subject:
    good, bad = (find_program([str(names), kind], os.environ) for kind in ("plain", "turned"))
    return Subject(good, bad, (Lifecycle(), Lifecycle()), dict(os.environ))


@pytest.fixture(scope="module")
def found(names: Path) -> FoundOrigin:
    bounds = ProofBounds(time.monotonic() + 120)
    return follow(start_at_variable(names, "find", "entry"), _subject(names), bounds, lambda _what: None)


def _sides(names: Path, *kinds: str) -> tuple[ProofSide, ProofSide]:
    environment = dict(os.environ)
    good, bad = (ProofSide(find_program([str(names), kind], environment), Lifecycle(), environment) for kind in kinds)
    return good, bad


def _proof(names: Path, found: FoundOrigin, site: SpreadableSite, *kinds: str) -> Proof | None:
    place = SpreadPlace(_CLAIM, spread_at(site), own_at(site), tuple(gathered_for(found, site)))
    proven = prove_spread(*_sides(names, *kinds), [place])
    return None if proven is None else proven[1]


def test_the_hash_is_proven_by_spreading_it(names: Path, found: FoundOrigin) -> None:
    assert found.origin.narrows
    done = ChainProof(
        found, Investigated(_subject(names), "cpu_s", ProofBounds(time.monotonic() + 120), lambda _what: None)
    ).tried()
    proof = done[0].proof
    assert proof.finding is ProofFinding.PROVEN and proof.means is ProofMeans.SPREAD, proof.sentence
    assert proof.function == "hash_of" and len(done) == 1
    assert proof.removed is not None and proof.removed.value > 0.9
    assert proof.reverse is not None and proof.reverse.value > 0.5
    assert "spread evenly in the bad run" in proof.sentence


def test_every_copy_of_the_code_is_spread(found: FoundOrigin) -> None:
    """The hash is inlined into `insert` and `find`, and copied by hand into `is_in_order`: an entry must be looked for
    where it was put."""
    (_, site), *_ = candidates(found)
    held_by = [
        name
        for name, (low, size) in functions(site.copies[0].module).items()
        if any(low <= one.address < low + size for one in site.copies)
    ]
    assert sorted(held_by) == ["find", "insert", "is_in_order"]


def test_what_is_spread_in_one_copy_only_is_refused(names: Path, found: FoundOrigin) -> None:
    (_, site), *_ = candidates(found)
    proof = _proof(names, found, replace(site, copies=site.copies[:1]), "plain", "turned")
    assert proof is not None and proof.finding is ProofFinding.NOT_TESTABLE
    assert proof.sentence == (
        "Not testable: the numbers of `sum` in hash_of were not spread evenly: with spread values, the program ends "
        "otherwise or writes something else."
    )


def test_where_there_is_no_excess_nothing_is_said(names: Path, found: FoundOrigin) -> None:
    (_, site), *_ = candidates(found)
    proof = _proof(names, found, site, "plain", "plain")
    assert proof is None or proof.finding is ProofFinding.NOT_TESTABLE


def test_what_cannot_be_spread_says_why(names: Path, found: FoundOrigin) -> None:
    (_, site), *_ = candidates(found)
    proof = _proof(names, found, replace(site, size=2), "plain", "turned")
    assert proof is not None and "only numbers of 4 or 8 bytes can be spread" in proof.sentence
