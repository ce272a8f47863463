"""`python -m bench.situations [NAME...]`: does `compare` as shipped ask the right question?

Every situation is compared without any option that says how, by root and by an ordinary user, and what it says is held
against the truth that was written first. Beside it stands what `perf trace -s`, `strace -c` and `offcputime` put first.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.situations import peers
from bench.situations.situation import Commands, Situation, prepared, situations

_USER = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
_WHYPERF = (sys.executable, "-c", "from whyperf.cli.main import command; raise SystemExit(command())")
_LONGEST_S = 900


@dataclass(frozen=True)
class Answer:
    kind: str
    rank: int | None  # of the true cause; None: it is not among the suspects
    first: str  # suspect
    sentence: str
    seconds: float
    is_right: bool  # the kind


def main() -> int:
    options = _options()
    rights, firsts, asked = 0, 0, 0
    for situation in situations(options.names):
        print(f"\n{situation.name}: {situation.title}", flush=True)
        for who in options.who:
            with tempfile.TemporaryDirectory(prefix="whyperf-situation-") as scratch:
                shutil.chown(scratch, "nobody" if who == "user" else "root")
                with prepared(situation, Path(scratch)) as commands:
                    answer = _compared(situation, commands, who, Path(scratch))
            asked += 1
            rights += answer.is_right
            firsts += answer.rank == 1
            print(f"  {who:5} {_shown(answer)}", flush=True)
            print(f"        {answer.sentence}", flush=True)
        if not options.no_peers:
            _print_peers(situation)
    print(f"\nright kind in {rights} of {asked}, right cause first in {firsts} of {asked}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.situations", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="situations (default: all)")
    parser.add_argument("--who", nargs="+", choices=("root", "user"), default=["root", "user"])
    parser.add_argument("--no-peers", action="store_true", help="whyperf alone")
    return parser.parse_args()


def _compared(situation: Situation, commands: Commands, who: str, scratch: Path) -> Answer:
    words = [*_WHYPERF, "compare", commands.good, commands.bad, "-o", str(scratch / "compared"), "--json", "-"]
    words += ["--ready", commands.ready] if commands.ready else []
    words += ["--drive", commands.drive] if commands.drive else []
    usual = "/usr/local/bin:/usr/bin:/bin"
    environment = {**os.environ, "HOME": str(scratch), "XDG_CACHE_HOME": str(scratch / "cache"), "PATH": usual}
    began = time.monotonic()
    done = subprocess.run(
        [*(_USER if who == "user" else ()), *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=scratch,
        timeout=_LONGEST_S,
    )
    took = time.monotonic() - began
    if "{" not in done.stdout:
        return Answer("error", None, "", done.stderr.strip()[-300:], took, is_right=False)
    return _judged(situation, json.loads(done.stdout[done.stdout.index("{") :]), took)


def _judged(situation: Situation, said: dict[str, Any], took: float) -> Answer:
    symptom, suspects = said["symptom"], said["suspects"]
    rank: int | None = next((one["rank"] for one in suspects if _is_cause(one, situation.cause)), None)
    if situation.says:
        rank = 1 if situation.says in symptom["sentence"] else None
    first = suspects[0]["function"] if suspects else ""
    # Where others took the CPUs, the program is not slower: the verdict is none, and names the kind all the same.
    is_told = said["verdict"] == "difference" or symptom["kind"] == "external"
    is_right = symptom["kind"] in situation.kind and is_told
    return Answer(symptom["kind"], rank, first, symptom["sentence"], took, is_right)


def _is_cause(suspect: dict[str, Any], causes: Sequence[str]) -> bool:
    named = {suspect["function"], suspect["module"], suspect["process"], suspect["thread"]}
    return any(one in named or any(str(name).startswith(f"{one}+") for name in named) for one in causes)


def _shown(answer: Answer) -> str:
    rank = "not named" if answer.rank is None else f"rank {answer.rank}"
    kind = f"{answer.kind} ({'right' if answer.is_right else 'wrong'})"
    return f"kind {kind:18} cause {rank:10} first: {answer.first or '-':24} {answer.seconds:.0f} s"


def _print_peers(situation: Situation) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="whyperf-situation-") as scratch,
        prepared(situation, Path(scratch)) as commands,
    ):
        for name, peer in (
            ("perf trace -s", peers.perf_trace),
            ("strace -c -w", peers.strace),
            ("offcputime", peers.offcputime),
        ):
            print(f"  {name:14} {peer(commands)}", flush=True)


if __name__ == "__main__":
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise SystemExit("python -m bench.situations must be run as root: it compares as root and as an ordinary user")
    raise SystemExit(main())
