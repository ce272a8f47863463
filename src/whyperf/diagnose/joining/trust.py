"""Whom to believe how much, by what kind of trouble it is. docs/how-the-verdict-is-joined.md tells why."""

from __future__ import annotations

from collections.abc import Mapping

from whyperf.diagnose.measured.symptom_kind import Nature

LOCKS = "locks"

# Engines in the order in which their evidence is told.
ENGINES = ("excess", "values", "relations", LOCKS, "causes", "contexts", "memory")

# From this trust on an engine has a say of its own: what it names first may contradict others.
HAS_A_SAY = 0.5

# Samples tell who waits, but not for whom: who waits along looks as guilty as the one that is waited for. Contexts
# leave those out, locks know the holder, and causes follow the wait to whoever should have acted. Where a device is
# waited for, nobody can be followed to, and the context is the answer.
_WAITING = {
    "excess": 0.6,
    "values": 0.6,
    "relations": 1.0,
    "locks": 1.0,
    "causes": 1.0,
    "contexts": 0.8,
    "memory": 0.3,
}

TRUST: Mapping[Nature, Mapping[str, float]] = {
    # Samples know where CPU time goes, and are weighed by values. A stall is found beside it, seldom its cause.
    Nature.CPU: {**_WAITING, "excess": 1.0, "values": 1.0, "locks": 0.3, "causes": 0.3, "contexts": 0.3},
    Nature.WAIT: _WAITING,
    Nature.LATENCY: _WAITING,
    Nature.IO: {**_WAITING, "causes": 0.8, "contexts": 1.0},
    Nature.MEMORY: {**_WAITING, "causes": 0.8, "contexts": 1.0, "memory": 1.0},
    Nature.EXTERNAL: _WAITING,
}
