"""Debian's own bash and Python, counted: same output, and no function is called more often than it is entered."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.collect.counts.machine import ROOT, Machine, modules_of
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.probes.plan_cache import counting_plan, ensure_plan
from whyperf.recording.schemas.call_tables import CallKind

BASH = r"""
declare -A seen
for i in {1..200}; do seen[$((i * 7919 % 101))]=$i; done
case "${#seen[@]}" in 1) echo one ;; *) echo "many ${#seen[@]}" ;; esac
fib() { if (($1 < 2)); then echo "$1"; else echo $(($(fib $(($1 - 1))) + $(fib $(($1 - 2))))); fi; }
fib 4
trap 'echo trapped' USR1; kill -USR1 $$
printf '%s\n' c b a | { read -r first; echo "$first"; }
exit 3
"""
PYTHON = r"""
import json, re, signal, sys, threading
print(sum(json.loads(json.dumps(list(range(2000))))), len(re.findall("a+b", "aaab" * 200)))
signal.signal(signal.SIGUSR1, lambda *_: print("signal")); signal.raise_signal(signal.SIGUSR1)
threads = [threading.Thread(target=lambda: [hash(str(i)) for i in range(500)]) for _ in range(6)]
[one.start() for one in threads]; [one.join() for one in threads]
def depth(n): return depth(n + 1)
try: depth(0)
except RecursionError as error: print(error)
sys.exit(5)
"""


@pytest.mark.parametrize(
    ("program", "script", "status"),
    [
        pytest.param("bash", BASH, 3, id="bash"),
        pytest.param("python3", PYTHON, 5, id="python", marks=pytest.mark.long),
    ],
)
def test_a_real_program_runs_as_ever(machine: Machine, program: str, script: str, status: int) -> None:
    # As the programs see it: links within the root stay there.
    inside = Path("/usr/bin") / (Path(f"{ROOT}/usr/bin/{program}").readlink() if program == "python3" else program)
    binary = Path(f"{ROOT}{inside}")
    described = describe(str(binary))
    plan = ensure_plan(machine.plans, described, partial(counting_plan, kinds=frozenset(CallKind)))
    assert plan is not None
    command = (str(inside), "-c", script)
    plain, counted = machine.plain(*command), machine.counted(*command)
    assert (counted.status, counted.output, counted.errors) == (plain.status, plain.output, plain.errors)
    assert counted.status == status
    counts = np.zeros(plan.counters, np.uint64)
    for module in modules_of(described.build_id, counted.processes[:1]):
        counts += module.counts
    assert counts.sum() > 5000
    sites = plan.sites[plan.sites["counter"] >= 0]
    called: Counter[int] = Counter()
    for target, counter in sites[np.isin(sites["kind"], (CallKind.CALL, CallKind.TAIL))][
        ["target", "counter"]
    ].tolist():
        called[target] += int(counts[counter])
    entries = sites[sites["kind"] == CallKind.ENTRY]
    compared = 0
    for function, counter in entries[["function", "counter"]].tolist():
        assert called[function] <= int(counts[counter]), hex(function)
        compared += called[function] > 0
    assert compared > 50
