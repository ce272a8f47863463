"""Who corresponds to whom in another recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tests.engines.causes.scripted import Script
from tests.engines.made import Made
from whyperf.engines.causes.causal_graph.trace import EventTrace
from whyperf.engines.causes.diagnosis import find_causes
from whyperf.engines.causes.thread_matching import ThreadParts, match_threads
from whyperf.engines.kernel.rules import load_rules
from whyperf.recording.schemas.events import EventKind

READ = ["main", "fetch", "libc:read"]


def told(made: Made, processes: Mapping[str, Mapping[str, Any]]) -> Made:
    """With other facts about processes, which scripts name by their program."""
    rows = made.tables["processes"].to_pylist()
    for row in rows:
        row.update(processes.get(row["executable"].rsplit("/", 1)[-1], {}))
    table = pa.Table.from_pylist(rows, schema=made.tables["processes"].schema)
    return replace(made, tables={**made.tables, "processes": table})


def waiting(program: str, *, last: float) -> Script:
    """Ten short waits and one that lasts as long as said."""
    script = Script()
    for turn in range(11):
        begin = 10.0 + 20 * turn
        end = begin + (last if turn == 10 else 5)
        script.asleep(program, begin, end, "read", READ, by="giver", waker_call="write", returns=4)
    return script


def parts(stalled: Made, normal: Made) -> tuple[ThreadParts, ThreadParts]:
    rules = load_rules()
    mine, theirs = match_threads(EventTrace(stalled, rules), [EventTrace(normal, rules)])
    return mine, theirs


def test_another_argument_does_not_make_another_role() -> None:
    # GIVEN the same program with another argument, the very one that makes it slow
    normal = told(waiting("tool", last=5).made(), {"tool": {"command": ["tool", "--mode", "quick"]}})
    stalled = told(waiting("tool", last=900).made(), {"tool": {"command": ["tool", "--mode", "thorough"]}})
    # WHEN
    causes = find_causes(stalled, [normal])
    # THEN it is compared with what it does normally
    assert causes.stalls[0].anomaly.instances == 11
    assert causes.stalls[0].anomaly.normal == 5_000_000


def test_another_shell_text_or_script_folder_does_not_make_another_role() -> None:
    normal = told(waiting("sh", last=5).made(), {"sh": {"command": ["sh", "-c", "run /tmp/a1 | sort"]}})
    stalled = told(waiting("sh", last=900).made(), {"sh": {"command": ["sh", "-c", "run /tmp/b7 | sort -u"]}})
    assert find_causes(stalled, [normal]).stalls[0].anomaly.instances == 11


def test_a_program_under_a_new_name_is_known_by_its_place() -> None:
    normal = waiting("server-1.0", last=5).made()
    stalled = waiting("new-server", last=900).made()
    assert find_causes(stalled, [normal]).stalls[0].anomaly.instances == 11


def test_arguments_that_both_recordings_have_tell_processes_apart() -> None:
    """Two interpreters: one answers within 5 ms, the other is used to waiting for a second."""

    def both(last: float, run: str) -> Made:
        script = waiting("python", last=last)
        slow = waiting("python3", last=1000)
        for row in slow.events:
            row["thread"], row["other"] = (
                script.thread(slow.threads[row[key]].replace("giver", "other-giver")) if row[key] >= 0 else -1
                for key in ("thread", "other")
            )
        for at in range(1, 5):
            script.asleep("python3", 2000.0 * at, 2000.0 * at + 1000, "read", READ, by="other-giver",
                          waker_call="write", returns=4)  # fmt: skip
        script.events += slow.events
        return told(
            script.made(),
            {
                "python": {"command": ["python", "front.py", f"/tmp/{run}"]},
                "python3": {"command": ["python", "archive.py", f"/tmp/{run}"]},
            },
        )

    stalled, normal = both(700, "x"), both(5, "y")
    mine, theirs = parts(stalled, normal)
    programs = {part.program for part in mine}
    assert "python" in programs
    assert {part.marks for part in mine if part.program == "python"} == {
        part.marks for part in theirs if part.program == "python"
    }
    assert len({part.marks for part in mine if part.program == "python"}) == 2
    assert [one.anomaly.normal for one in find_causes(stalled, [normal]).stalls] == [5_000_000]


def test_the_place_in_the_tree_and_the_code_that_started_it_tell_threads_apart() -> None:
    def made() -> Made:
        script = Script()
        script.thread("boss")
        for name, function in (("boss/helper-1", "start_pool"), ("boss/helper-2", "start_logger")):
            script.add(5, "boss", EventKind.FORK, ["main", function, "libc:pthread_create"], other=name)
        script.did("boss", 9, "getpid", 1)
        return script.made()

    mine, theirs = parts(made(), made())
    assert mine == theirs
    helpers = [part for part in mine if part.name == "helper"]
    assert len({part.marks for part in helpers}) == 2
    assert len({part.broad for part in helpers}) == 1
