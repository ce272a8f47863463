"""Which functions put and run tasks: the rules that come with whyperf, and users' own."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collect.tracer.recording import Command
from whyperf.collect.tracer.queue_rules import QueueRule, Value, load_queues, parse_queues
from whyperf.errors import WhyperfError
from whyperf.recording.rules_file import MORE_RULES

PLAIN = {"name": "pool", "files": ["server"], "put": "submit", "task": "arg2", "run": "execute"}


def test_the_rules_that_come_with_whyperf_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MORE_RULES, raising=False)
    rules = {rule.put: rule for rule in load_queues()}
    assert rules["g_thread_pool_push"].function == Value(1, 0)
    assert rules["uv_async_send"].function == Value(1, 96)
    assert rules["uv_queue_work"].concerns("libuv.so.1.0.0") and rules["uv_queue_work"].concerns("node")
    assert not rules["uv_queue_work"].concerns("libc.so.6")


def test_a_users_queues_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = tmp_path / "mine.toml"
    more.write_text(
        '[[queue]]\nname = "pool"\nfiles = "server"\nput = "submit"\ntask = "*(arg1+16)"\nfunction = "arg3"\n'
    )
    monkeypatch.setenv(MORE_RULES, str(more))
    first, *others = load_queues()
    assert first == QueueRule("pool", ("server",), "submit", Value(1, 16), "", Value(3), Value(1), "strong", str(more))
    assert others


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"put": None}, "put is missing"),
        ({"put": 7}, "put is not a text"),
        ({"files": []}, "files is missing"),
        ({"task": "arg7"}, "task is 'arg7'"),
        ({"task": "*(arg1+x)"}, "task is"),
        ({"run": None}, "one of `run` and `function`"),
        ({"function": "arg1"}, "not both"),
        ({"strength": "mighty"}, "neither strong nor weak"),
        ({"colour": "red"}, "means nothing: colour"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_file_and_key(changed: dict[str, object], said: str) -> None:
    section = {key: value for key, value in {**PLAIN, **changed}.items() if value is not None}
    with pytest.raises(WhyperfError) as raised:
        parse_queues({"queue": [PLAIN, section]}, "mine.toml")
    assert "mine.toml: [[queue]] number 2" in raised.value.sentence and said in raised.value.sentence


def test_sections_must_be_sections() -> None:
    with pytest.raises(WhyperfError, match="queue"):
        parse_queues({"queue": "submit"}, "mine.toml")


def test_a_wrong_file_is_told_before_anything_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text("[[queue]]\nname = 3\n")
    monkeypatch.setenv(MORE_RULES, str(tmp_path / "mine.toml"))
    said = Command(tmp_path)("record", "--trace", "-o", "out", "--", "true", status=None).stderr
    assert not (tmp_path / "out" / "manifest.json").exists() or "kernel events cannot be recorded" in said
    assert "mine.toml: [[queue]] number 1" in said or "kernel events cannot be recorded" in said


def test_no_queues_is_for_traced_recordings(tmp_path: Path) -> None:
    assert "--trace" in Command(tmp_path)("record", "--no-queues", "--", "true", status=2).stderr


values = st.builds(Value, st.integers(1, 6), st.one_of(st.none(), st.integers(0, 9999)))


@given(st.integers(0, 65535), values, st.one_of(st.none(), values))
def test_a_cookie_says_what_the_kernel_side_reads_from_it(number: int, task: Value, function: Value | None) -> None:
    rule = QueueRule("q", ("f",), "put", task, "" if function else "run", function, task, "strong", "")
    queue, runs, about, key_offset, function_offset = struct.unpack(
        "<HBBhh", rule.put_cookie(number).to_bytes(8, "little")
    )
    assert (queue, runs, about & 7, key_offset) == (number, 0, task.argument, task.offset or 0)
    assert bool(about >> 3 & 1) == (task.offset is not None)
    assert about >> 4 & 7 == (function.argument if function else 0)
    assert function_offset == ((function.offset or 0) if function else 0)
    assert rule.run_cookie(number) >> 16 & 0xFF == 1
