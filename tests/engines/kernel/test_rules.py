"""The rules file: ours, and what users add."""

from __future__ import annotations

from pathlib import Path

import pytest

from whyperf.engines.kernel.rules import CallRule, LinkStrength, load_rules, parse
from whyperf.errors import WhyperfError
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.rules_file import MORE_RULES

OURS = {
    "system_calls": {"receive": ["read", "recvfrom"], "futex": ["futex"]},
    "functions": {"lock": ["pthread_mutex_lock"]},
    "wake": [{"name": "futex", "calls": ["futex"], "strength": "weak", "why": "a futex was woken"}],
}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    load_rules.cache_clear()
    monkeypatch.delenv(MORE_RULES, raising=False)


def test_the_file_that_comes_with_whyperf_can_be_read() -> None:
    rules = load_rules()
    assert rules.call_bits[NUMBERS["read"]] & CallRule.RECEIVE
    assert rules.call_bits[-1] == 0  # in no system call
    mutex = rules.wake(NUMBERS["futex"], ("lll_lock_wake", "___pthread_mutex_unlock_usercnt", "leave"))
    assert rules.wakes[mutex].strength is LinkStrength.WEAK
    signal = rules.wake(NUMBERS["futex"], ("___pthread_cond_signal", "publish"))
    assert rules.wakes[signal].strength is LinkStrength.STRONG


def test_a_users_rules_are_asked_first_and_added_to_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = tmp_path / "mine.toml"
    more.write_text(
        '[functions]\nlock = ["my_lock"]\n'
        '[[wake]]\nname = "task queue"\ncalls = ["futex"]\nfunctions = ["queue_push"]\n'
        'strength = "strong"\nwhy = "a task was queued"\n'
    )
    monkeypatch.setenv(MORE_RULES, str(more))
    rules = load_rules()
    assert rules.wakes[rules.wake(NUMBERS["futex"], ("queue_push",))].name == "task queue"
    assert rules.is_lock(("my_lock_slow", "main")) and rules.is_lock(("pthread_mutex_lock",))
    load_rules.cache_clear()


@pytest.mark.parametrize(
    "wrong",
    [
        {"system_calls": {"sings": ["read"]}},
        {"system_calls": {"receive": "read"}},
        {"wake": [{"name": "x", "calls": ["futex"], "why": "y"}]},
        {"wake": [{"name": "x", "calls": ["futex"], "why": "y", "strength": "mighty"}]},
    ],
)
def test_rules_that_make_no_sense_are_refused_in_a_sentence(wrong: dict[str, object]) -> None:
    with pytest.raises(WhyperfError, match="rules of causes cannot be used"):
        parse([wrong, OURS])


def test_a_file_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MORE_RULES, "/nowhere/rules.toml")
    with pytest.raises(WhyperfError, match="cannot be read"):
        load_rules()
    load_rules.cache_clear()


def test_what_a_newer_kernel_has_is_passed_over() -> None:
    rules = parse([{"system_calls": {"receive": ["read_minds"]}}, OURS])
    assert NUMBERS["read"] in rules.calls["receive"]
