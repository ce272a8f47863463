"""Where threads begin nobody is to blame only because everything is done below, in a loop."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from tests.engines.made import Made, recording
from whyperf.engines.excess.compare import compare
from whyperf.engines.run import Run


def in_thread(made: Made, thread: int) -> Run:
    """The same samples, all of one thread; the first is the main thread."""
    table = made.tables["samples"]
    threads = pa.array([thread] * table.num_rows, table.schema.field("thread").type)
    samples = table.set_column(table.schema.get_field_index("thread"), "thread", threads)
    return Run(replace(made, tables={**made.tables, "samples": samples}))


def charged(good, bad, thread=1):
    sides = ([in_thread(recording(stacks, threads=2), thread)] for stacks in (good, bad))
    excess = compare(*sides)
    return {excess.name(account.function): account.share for account in excess.accounts if account.share > 1e-9}


def grown(*path, thread=1, elsewhere=()):
    """Who answers when one path's time is multiplied and everything else stays as it was."""
    other_work = [(("main", "parse"), 4.0), *elsewhere]
    return charged([(path, 1.0), *other_work], [(path, 9.0), *other_work], thread)


def test_growth_below_a_threads_entry_is_not_charged_to_its_loop():
    assert grown("libc:start_thread", "worker*", "serve", "compose*") == pytest.approx({"compose": 1.0})


def test_what_a_header_puts_around_a_threads_function_is_no_entry_of_its_own():
    stack = ("libc:start_thread", "sys:routine", "hdr:std::thread::_M_run", "worker*", "serve", "compose*")
    assert grown(*stack) == pytest.approx({"compose": 1.0})


def test_an_entry_answers_for_its_own_code():
    assert grown("libc:start_thread", "worker*") == pytest.approx({"worker": 1.0})


@pytest.mark.parametrize(
    ("stack", "elsewhere"),
    [
        (("worker*", "compose*"), ()),  # the outer end is missing
        (("libc:start_thread", "worker*", "compose*"), [(("main", "worker*"), 0.01)]),  # called as well
    ],
    ids=["cut-stack", "called-elsewhere"],
)
def test_what_need_not_be_an_entry_may_call_too_often(stack, elsewhere):
    assert grown(*stack, elsewhere=elsewhere)["worker"] > 0.3


def test_in_the_main_thread_only_main_is_an_entry():
    assert grown("libc:exit", "cleanup*", "compose*", thread=0)["cleanup"] == pytest.approx(0.5)
