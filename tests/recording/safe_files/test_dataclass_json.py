"""Manifests survive JSON, and everything else is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recording.made import MANIFEST
from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.dataclass_json import MisfitError, from_plain, to_plain
from whyperf.recording.sealed import manifest
from whyperf.recording.sealed.manifest import Losses, Manifest

_manifests = st.builds(
    replace,
    st.just(MANIFEST),
    command=st.lists(st.text()).map(tuple),
    exit_status=st.none() | st.integers(0, 255),
    losses=st.builds(
        Losses, stacks_cut=st.dictionaries(st.text(), st.integers(0, 1 << 64)), overwritten_s=st.floats(0, 1e6)
    ),
)


@given(_manifests)
def test_a_manifest_comes_back_as_it_went(given_manifest: Manifest) -> None:
    assert manifest.load(manifest.dump(given_manifest), "x") == given_manifest


def test_a_newer_format_is_refused_with_the_way_out() -> None:
    newer = json.loads(manifest.dump(MANIFEST)) | {"format": 99, "window": "has become something else"}
    with pytest.raises(WhyperfError, match=r"newer whyperf \(recording format 99") as refused:
        manifest.load(json.dumps(newer), "rec")
    assert refused.value.next_command == "pip install --upgrade whyperf"


@given(st.data())
def test_no_changed_byte_goes_unnoticed(data: st.DataObject) -> None:
    text = manifest.dump(MANIFEST).encode()
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + bytes([text[at] ^ 1 << data.draw(st.integers(0, 7))]) + text[at + 1 :]
    try:
        assert manifest.load(damaged, "rec") == MANIFEST
    except WhyperfError:
        return
    # Blanks between fields are the only bytes that carry nothing.
    assert chr(text[at]) in " \n"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "1"}', "{" * 100_000, "\x00"])
def test_what_is_no_manifest_is_a_sentence(text: str) -> None:
    with pytest.raises(WhyperfError, match="damaged"):
        manifest.load(text, "rec")


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("whyperf", 3, "whyperf is not text"),
        ("start_real", 1.5, "start_real is not a whole number"),
        ("start_real", True, "start_real is not a whole number"),
        ("command", "ls", "command is not a list"),
        ("command", [1], r"command\[0\] is not text"),
        ("window", [], "window is not an object"),
        ("window", {"start": 1}, r"window\.end is missing"),
        ("totals", {**to_plain(MANIFEST.totals), "wall_s": float("nan")}, r"totals\.wall_s is not a number"),
        ("tables", {"samples": 1}, r"tables\.samples is not an object"),
        ("losses", {**to_plain(Losses()), "records_lost": 10**400}, r"losses\.records_lost is out of range"),
    ],
)
def test_misfits_say_where(field: str, value: object, complaint: str) -> None:
    with pytest.raises(MisfitError, match=complaint):
        from_plain(Manifest, {**to_plain(MANIFEST), field: value})


def test_unknown_fields_are_passed_over() -> None:
    assert from_plain(Manifest, {**to_plain(MANIFEST), "from_the_future": 1}) == MANIFEST
