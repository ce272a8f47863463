"""What `compare` keeps of its verdict comes back as it was."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import get_type_hints

import pytest

from tests.report import verdicts
from whyperf.diagnose.verdict import Verdict
from whyperf.engines.finding import Detail
from whyperf.recording.safe_files.dataclass_json import MisfitError
from whyperf.report import kept_verdict
from whyperf.report.kept_verdict import KeptVerdict, as_plain, read_plain


@pytest.mark.parametrize("name", ["difference", "proven", "two_builds", "waiting", "joined", "nothing"])
def test_a_verdict_comes_back_as_it_was(name: str) -> None:
    verdict: Verdict = getattr(verdicts, name)()
    kept = KeptVerdict("0.1.0", "out", (1, 2), verdict)
    assert read_plain(json.loads(json.dumps(as_plain(kept)))) == kept


def test_details_of_all_engines_are_known() -> None:
    def kinds(of: type[Detail]) -> set[type[Detail]]:
        return {of}.union(*(kinds(one) for one in of.__subclasses__()))

    abstract = {"LayerDetail", "CulpritDetail"}
    known = kept_verdict._DETAILS
    assert {kind.__name__ for kind in kinds(Detail)} - abstract == set(known)
    for kind in known.values():
        assert is_dataclass(kind) and get_type_hints(kind).keys() == {one.name for one in fields(kind)}


def test_what_is_no_verdict_is_refused() -> None:
    plain = as_plain(KeptVerdict("0.1.0", "out", (), verdicts.proven()))
    plain["verdict"]["suspects"][0]["evidence"][0]["detail"]["class"] = "KeptVerdict"
    with pytest.raises(MisfitError):
        read_plain(plain)
    plain["verdict"]["kind"] = "guilty"
    with pytest.raises(MisfitError):
        read_plain(plain)
