"""How the peers' outputs are read and ranked, on examples that fit a page; and one of them on a real program."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from bench.accuracy.outcome import CHILD, Ranks, peer_ranks
from bench.cases.case import Side, all_cases
from bench.peers.book import PEERS, ask
from bench.peers.callgrind import by_growth, parse_annotation
from bench.peers.coz import Experiment, by_promise, parse_profile
from bench.peers.flame_graph import by_growth as by_width
from bench.peers.flame_graph import parse_stacks, widths
from bench.peers.gdb_stacks import in_reading_order, parse_backtraces
from bench.peers.gprof import parse_flat_profile
from bench.peers.peer import Peer, PeerError, Ranking, Recordings, Trial
from bench.peers.perf_data import parse_symbols
from bench.peers.predicates import sign_shares
from bench.peers.runs import run_under
from hypothesis import given
from hypothesis import strategies as st

VACUUM = next(case for case in all_cases() if case.truth.in_child)


def test_perf_listings_are_read_in_their_order() -> None:
    report = """
# Overhead  Symbol
    40.00%  [.] checksum
    30.00%  [k] do_syscall_64
     5.00%  [.] pool::answer[abi:cxx11]      -      -
"""
    assert parse_symbols(report) == ("checksum", "do_syscall_64", "pool::answer[abi:cxx11]")


def test_flat_profile_is_read_with_and_without_calls() -> None:
    text = """Flat profile:

Each sample counts as 0.01 seconds.
  %   cumulative   self              self     total
 time   seconds   seconds    calls  ms/call  ms/call  name
 60.00      0.60     0.60  1000000     0.00     0.00  crc_of
 30.00      0.90     0.30                             main
 10.00      1.00     0.10       12     8.33    83.33  pool::Pool::find(unsigned int)
  0.00      1.00     0.00        3     0.00     0.00  idle
"""
    assert parse_flat_profile(text) == ("crc_of", "main", "pool::Pool::find(unsigned int)")


def test_frames_are_ranked_by_how_much_wider_they_got() -> None:
    text = "\n\t 10 leaf\n\t 20 run\n\t 30 main\n\n\t 11 leaf\n\t 21 run\n\t 30 main\n\n\t 40 other\n\t 30 main\n\n"
    good, bad = widths(parse_stacks("\t 40 other\n\t 30 main\n")), widths(parse_stacks(text))
    # THEN of those that grew alike the inner one comes first, and what did not grow is not listed
    assert by_width(good, bad) == ("leaf", "run", "main")


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=5), max_size=20))
def test_a_frame_is_never_wider_than_the_one_around_it(stacks: list[list[str]]) -> None:
    wide = widths(Counter(tuple(stack) for stack in stacks))
    assert all(count <= wide[path[:-1]] for path, count in wide.items() if len(path) > 1)
    assert sum(count for path, count in wide.items() if len(path) == 1) == len(stacks)


def test_stacks_of_all_threads_are_read_the_most_frequent_first() -> None:
    text = """
Thread 2 (Thread 0x7f (LWP 8) "worker"):
#0  0x00007f32 in epoll_wait () from /lib/libc.so.6
#1  0x0000561b in serve (queue=...) at main.cc:9

Thread 1 (Thread 0x7e (LWP 7) "main"):
#0  pool::find (this=...) at pool.cc:33
#1  0x0000561b in main (argc=...) at main.cc:80
"""
    waiting, working = parse_backtraces(text)
    assert waiting == ("epoll_wait", "serve")
    assert in_reading_order(Counter({waiting: 1, working: 3})) == ("pool::find", "main", "epoll_wait", "serve")


def test_instructions_are_read_and_compared_as_counts_or_as_shares() -> None:
    text = """
--------------------------------------------------------------------------------
Ir
30,000 (100.0%)  PROGRAM TOTALS
20,000 (66.67%)  log.c:checksum [/bin/ledger]
 9,000 (30.00%)  pool.cc:pool::Pool::find(int)'2 [/bin/pool]
 1,000 ( 3.33%)  ???:main
"""
    bad = parse_annotation(text)
    assert bad == {"checksum": 20_000, "pool::Pool::find(int)": 9_000, "main": 1_000}
    good = Counter({"checksum": 19_000, "pool::Pool::find(int)": 1_000, "main": 0})
    assert by_growth(good, bad, counts=True) == ("pool::Pool::find(int)", "checksum", "main")
    assert by_growth(good, bad, counts=False) == ("pool::Pool::find(int)", "main")


def test_lines_are_ranked_by_what_their_speed_up_wins() -> None:
    text = (
        "startup\ttime=1\n"
        "experiment\tselected=/src/a.c:7\tspeedup=0.00\tduration=4000000000\tselected-samples=9\n"
        "throughput-point\tname=end-to-end\tdelta=1\n"
        "experiment\tselected=/src/a.c:7\tspeedup=0.50\tduration=2000000000\tselected-samples=9\n"
        "experiment\tselected=/src/b.c:3\tspeedup=0.50\tduration=3000000000\tselected-samples=9\n"
        "experiment\tselected=/src/c.c:1\tspeedup=0.50\tduration=4100000000\tselected-samples=9\n"
    )
    experiments = parse_profile(text)
    assert experiments[0] == Experiment(("/src/a.c", 7), 0.0, 4.0)
    assert by_promise(experiments, lambda line: Path(line[0]).stem) == ("a", "b")
    # WHEN there was no plain run to compare with THEN nothing can be said
    assert by_promise(experiments[1:], lambda line: line[0]) == ()


@given(st.lists(st.floats(-3, 3), min_size=1))
def test_one_of_the_three_predicates_is_always_true(values: list[float]) -> None:
    assert sign_shares(np.array(values)).sum() == pytest.approx(1.0)


def trial_in(folder: Path) -> Trial:
    return Trial(VACUUM, folder, lambda: Recordings((), ()))


def test_a_tool_that_fails_is_an_answer(tmp_path: Path) -> None:
    def fails(_: Trial) -> Ranking:
        raise PeerError("It broke.")

    assert ask(Peer("broken", fails), trial_in(tmp_path)).problem == "crashed"


def test_what_happens_in_a_child_process_is_no_fault_of_the_ranking() -> None:
    # GIVEN a case whose mistake is in a child process
    follows, does_not = Peer("a", lambda _: Ranking()), Peer("b", lambda _: Ranking(), follows_children=False)
    told = Ranking(("main", "waitpid"))
    assert peer_ranks(does_not, told, VACUUM.truth) == Ranks(None, None, CHILD)
    assert peer_ranks(follows, told, VACUUM.truth) == Ranks(None, None)
    # WHEN it is listed all the same THEN that counts
    assert peer_ranks(does_not, Ranking(("vacuum_page",)), VACUUM.truth) == Ranks(1, 1)


def test_a_run_that_takes_too_long_is_cut_short_and_one_that_fails_is_told() -> None:
    assert run_under([], Side(["true"], []))
    assert not run_under([], Side(["sleep", "60"], []), limit_s=0.2)
    assert not run_under([], Side([sys.executable, "-c", "while True: pass"], []), cpu_limit_s=1)
    with pytest.raises(PeerError, match="ended with 1"):
        run_under([], Side(["false"], []))


def test_peers_have_names_of_their_own() -> None:
    assert len({peer.name for peer in PEERS}) == len(PEERS)


def test_callgrind_names_the_function_that_does_more(tmp_path: Path) -> None:
    # GIVEN a program that calls one of two functions more often when told to
    source = tmp_path / "twice.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "__attribute__((noinline)) int steady(int n) { volatile int s = 0; while (n--) s += n; return s; }\n"
        "__attribute__((noinline)) int grows(int n) { volatile int s = 0; while (n--) s ^= n; return s; }\n"
        "int main(int c, char **v) { return (steady(20000) + grows(c > 1 ? atoi(v[1]) : 0)) & 0; }\n"
    )
    program = tmp_path / "twice"
    subprocess.run(["gcc", "-g", "-O1", "-o", program, source], check=True)
    counts = {}
    for name, work in (("good", "1000"), ("bad", "30000")):
        out = tmp_path / name
        tool = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"]
        assert run_under(tool, Side([str(program), work], []))
        told = subprocess.run(
            ["callgrind_annotate", "--threshold=100", "--auto=no", out], capture_output=True, text=True, check=True
        )
        counts[name] = parse_annotation(told.stdout)
    # THEN it is the first
    assert by_growth(counts["good"], counts["bad"], counts=True)[0] == "grows"
