"""The JSON keeps to its published schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.report import verdicts
from tests.schemas import verdict_schema
from whyperf.report.json import to_json

SITUATIONS = [
    verdicts.difference,
    verdicts.nothing,
    verdicts.joined,
    verdicts.hostile,
    verdicts.two_builds,
    verdicts.proven,
]


@pytest.mark.parametrize("make", SITUATIONS)
def test_every_verdict_keeps_to_the_schema(make):
    jsonschema.validate(json.loads(to_json(make())), verdict_schema())


def test_the_schema_is_a_schema_and_the_docs_have_the_same():
    jsonschema.Draft202012Validator.check_schema(verdict_schema())
    docs = Path(__file__).parents[2] / "docs" / "verdict.schema.json"
    assert json.loads(docs.read_text()) == verdict_schema()


def test_the_schema_refuses_what_is_none():
    plain = json.loads(to_json(verdicts.difference()))
    plain["suspects"][0]["confidence"] = "sure"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain, verdict_schema())


def test_fields_that_others_build_on():
    plain = json.loads(to_json(verdicts.difference()))
    assert plain["format"] == 1
    assert plain["verdict"] == "difference"
    assert plain["symptom"]["runs"] == [3, 3]
    first = plain["suspects"][0]
    assert (first["rank"], first["function"], first["line"], first["confidence"]) == (1, "find", 40, "high")
    assert first["path"] == ["main", "serve", "handle", "find"]
    assert first["evidence"][0]["engine"] == "excess"


def test_how_the_source_of_two_builds_differs():
    plain = json.loads(to_json(verdicts.two_builds()))
    change = plain["suspects"][0]["change"]
    assert [[(line["build"], line["line"]) for line in hunk] for hunk in change["hunks"]] == [
        [("good", 38), ("good", 39), ("good", 40), ("good", 41), ("bad", 38), ("both", 39)],
        [("bad", 44), ("both", 45)],
    ]
    assert change["more"] == 0
    change["hunks"][0][0]["build"] = "neither"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain, verdict_schema())
    # AND where builds do not differ there is none
    assert json.loads(to_json(verdicts.difference()))["suspects"][0]["change"] is None


def test_top_cuts_the_suspects():
    assert len(json.loads(to_json(verdicts.difference(), top=1))["suspects"]) == 1


def test_the_text_is_plain_ascii():
    assert to_json(verdicts.hostile()).isascii()
    assert "\x1b" not in to_json(verdicts.hostile())


def test_what_several_engines_say_is_told_apart():
    plain = json.loads(to_json(verdicts.joined()))
    (sentence,) = plain["disagreements"]
    assert "throttle" in sentence and "load_page" in sentence
    both = plain["suspects"][1]["evidence"]
    assert [(one["engine"], one["rank"]) for one in both] == [("causes", 1), ("contexts", 2)]
    assert "stalled for" in both[0]["why"] and "It sleeps for" in both[1]["why"]
