"""What the contexts benchmark reads, injects and matches, on examples that fit a page."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from bench.cache import SubjectError
from bench.contexts.case import Truth
from bench.contexts.causes import is_guilty
from bench.contexts.entries import ROOT, read_entries
from bench.contexts.injected import delayed
from bench.contexts.peers import parse_diff
from bench.contexts.slow_dns import answer

_OLD_STYLE = """int deflate(z);
int EXPORT deflate(strm, flush)
    z_streamp strm;
    int flush;
{
    return deflate(0);
}
"""


def test_the_delay_goes_into_the_definition_not_into_a_call_or_a_prototype() -> None:
    changed = delayed(_OLD_STYLE, "deflate")
    assert changed.count("injected_delay();") == 1
    assert changed.index("int flush;\n{\n    injected_delay();") > 0


def test_a_function_that_is_not_there_cannot_be_delayed() -> None:
    with pytest.raises(SubjectError, match="inflate"):
        delayed(_OLD_STYLE, "inflate")


def write_log(folder: Path, tid: int, entries: list[tuple[int, int, bool]]) -> None:
    """(time, function, left): as `entrylog.c` writes them, with the rest of the window empty."""
    rows = b"".join(struct.pack("<QQ", time, function | left << 63) for time, function, left in entries)
    (folder / f"7.{tid}").write_bytes(rows + bytes(64))
    (folder / f"7.{tid}.maps").write_text("")


def test_entries_and_exits_become_instances_in_contexts(tmp_path: Path) -> None:
    # GIVEN a(1..9) calls b(2..4), b calls itself (3..3), a calls b again (5..6) and never returns from c(7..)
    a, b, c = 0x10, 0x20, 0x30
    log = [(1, a, False), (2, b, False), (3, b, False), (3, b, True), (4, b, True)]
    log += [(5, b, False), (6, b, True), (7, c, False)]
    write_log(tmp_path, 1, log)
    # AND another thread that works until 9
    write_log(tmp_path, 2, [(2, b, False), (9, b, True)])
    entries = read_entries(tmp_path)
    # THEN direct recursion is one instance, and what was not left ends with the process
    names = [name for _, name in entries.names]
    in_a = entries.child[ROOT, names.index("0x10")]
    in_b = entries.child[in_a, names.index("0x20")]
    assert entries.latency[(entries.tid == 1) & (entries.node == in_a)].tolist() == [8]
    assert entries.latency[(entries.tid == 1) & (entries.node == in_b)].tolist() == [2, 1]
    assert entries.child[ROOT, names.index("0x20")] != in_b
    assert entries.contexts == 4
    # THEN a window cuts off what reaches beyond it
    cut = entries.within(2, 6)
    assert cut.latency[(cut.tid == 1) & (cut.node == in_a)].tolist() == [4]


def test_perf_diff_is_read_by_what_was_added() -> None:
    text = """# Baseline  Delta Abs  Shared Object  Symbol
#
    61.00%    -40.10%  libz.so.1.2.13  [.] 0x0000000000004970
     2.00%    +30.50%  mod_deflate.so  [.] deflate_out_filter
              +11.00%  [kernel.kallsyms]  [k] do_syscall_64
     1.00%             libc.so.6  [.] poll
"""
    assert parse_diff(text)[0] == ("mod_deflate.so", "deflate_out_filter")
    assert [module for module, _ in parse_diff(text)] == ["mod_deflate.so", "libc.so.6", "libz.so.1.2.13"]


def test_the_guilty_module_is_known_with_and_without_its_version() -> None:
    truth = Truth("libz.so.1", ("deflate",), (), external=True)
    assert is_guilty(("libz.so", "deflate"), truth)
    assert is_guilty(("libz.so.1.2.13", "deflate"), truth)
    assert not is_guilty(("libz.so", "inflate"), truth)
    assert not is_guilty(("libzstd.so", "deflate"), truth)


def test_the_name_server_answers_what_it_was_asked() -> None:
    question = b"\1x\7example\0" + struct.pack(">HH", 1, 1)
    query = struct.pack(">HHHHHH", 4711, 0x0100, 1, 0, 0, 0) + question
    number, flags, questions, answers, *_ = struct.unpack_from(">HHHHHH", answer(query))
    assert (number, questions, answers) == (4711, 1, 1)
    assert flags & 0x8000
    assert answer(query).endswith(bytes([192, 0, 2, 1]))
