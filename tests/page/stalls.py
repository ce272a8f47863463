"""A stall as the causes engine tells it, and slow contexts as kernel events show them: shapes taken from real ones."""

from __future__ import annotations

from whyperf.diagnose.verdict import (
    ContextRanking,
    ContextStep,
    Evidence,
    SlowContext,
    Suspect,
    Symptom,
    Verdict,
    VerdictKind,
)
from whyperf.engines.causes.detail import CausesDetail, ShownLink, ShownRung, ShownStall


def _rung(thread: str, tid: int, start: float, did: str, stack: tuple[str, ...], link: ShownLink | None) -> ShownRung:
    return ShownRung(
        process="convoy",
        thread=thread,
        pid=30411,
        tid=tid,
        time_s=start,
        for_s=1.8378 - start,
        did=did,
        own=None,
        stack=stack,
        link=link,
    )


def stalled(text: str = "append_line") -> Verdict:
    """`text` stands for whatever the program calls its functions."""
    weak = ShownLink("mutex", "weak", "a mutex was released")
    strong = ShownLink("message", "strong", "data was sent to it")
    ladder = (
        _rung("worker", 30415, 0.3408, f"waited for a lock in {text}", ("futex_wait (futex.h:146)", text), weak),
        _rung("worker", 30414, 0.3412, f"waited for a lock in {text}", ("futex_wait (futex.h:146)", text), strong),
        _rung("flusher", 30445, 0.3471, f"slept in {text}", ("usleep (usleep.c:31)", text), None),
    )
    first = ladder[0]
    stall = ShownStall(
        process=first.process,
        thread=first.thread,
        pid=first.pid,
        tid=first.tid,
        time_s=first.time_s,
        for_s=first.for_s,
        what="wait",
        normal_s=0.0036,
        normal_instances=7,
        usual="such waits last 3.64 ms",
    )
    detail = CausesDetail(
        culprit_process="convoy",
        culprit_thread="flusher",
        culprit_pid=30411,
        culprit_tid=30445,
        ending="slept",
        stall=stall,
        ladder=ladder,
        stack=(),
        asked_by=(),
        skipped=(),
        added=(),
        along=(),
    )
    suspect = Suspect(
        rank=1,
        kind="thread",
        function=text,
        module="convoy",
        file="/src/convoy.c",
        line=18,
        block=-1,
        process="convoy",
        thread="flusher",
        path=("work", text),
        score=1.0,
        share=0.93,
        confidence="high",
        pattern="long-wait",
        why=f"It slept in {text}.",
        evidence=(Evidence("causes", 1, 1.0, detail),),
    )
    steps = (
        ContextStep("clone3", "libc.so", "libc", 0.0, 3),
        ContextStep(text, "convoy", "main binary", 1.5, 1),
        ContextStep("usleep", "libc.so", "libc", 0.002, 2),
    )
    ranking = ContextRanking("run", (SlowContext(1, 0.93, 0.008, 1.51, steps, 1),))
    symptom = Symptom("wait", "run", 0.7, 2.6, "wall_s", (1, 1), (0.7,), (2.6,), "Bad runs wait.")
    return Verdict(VerdictKind.DIFFERENCE, symptom, (suspect,), (), contexts=ranking)
