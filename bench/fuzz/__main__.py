"""Read mutated inputs, and report everything that is neither a result nor a sentence."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from bench.fuzz.fuzzing import Execution, fuzzer


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (default 600)")
    parser.add_argument("--seed", default="0", help="which mutations (default 0)")
    parser.add_argument("--only", metavar="N", type=int, help="the one execution of that number, with its traceback")
    args = parser.parse_args()
    end, number, cpu_s = time.monotonic() + args.seconds, 0, 0.0
    found: dict[str, Execution] = {}
    times: Counter[str] = Counter()
    with fuzzer() as fuzz:
        if args.only is not None:
            one = fuzz.execute(f"{args.seed}:{args.only}")
            print(_line(one), one.outcome.detail, sep="\n")
            return int(bool(one.outcome.problem))
        fuzz.warm_up()
        while time.monotonic() < end:
            done = fuzz.execute(f"{args.seed}:{number}")
            number += 1
            cpu_s += done.outcome.seconds
            problem = done.outcome.problem
            if problem and problem not in found:
                found[problem] = done
                again = f"python -m bench.fuzz --seed {args.seed} --only {number - 1}"
                print(f"{_line(done)}\n  again: {again}", flush=True)
            times[problem] += 1
    print(f"{number} executions, {cpu_s:.0f} s of CPU time, {len(found)} findings (seed {args.seed})")
    for problem in found:
        print(f"  {times[problem]} times {problem}")
    return int(bool(found))


def _line(done: Execution) -> str:
    return f"{done.outcome.problem or 'fine'} | {done.subject}: {'; '.join(done.mutations)} | {done.command}"


if __name__ == "__main__":
    sys.exit(main())
