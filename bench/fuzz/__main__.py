"""Read mutated inputs, and report everything that is neither a result nor a sentence."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections import Counter
from pathlib import Path

from bench.fuzz.sanitized import start_anew


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (default 600)")
    parser.add_argument("--seed", default="0", help="which mutations (default 0)")
    parser.add_argument("--sanitized", action="store_true", help="with decoders that find their own errors of memory")
    parser.add_argument("--only", metavar="N", type=int, help="the one execution of that number, with its traceback")
    parser.add_argument(
        "--go-on", metavar="FILE", type=Path, help="begin where the last piece with this file ended, and add this one"
    )
    args = parser.parse_args()
    if args.sanitized:
        start_anew()
    from bench.fuzz.fuzzing import Execution, fuzzer  # loads the decoders

    def line(done: Execution) -> str:
        return f"{done.outcome.problem or 'fine'} | {done.subject}: {'; '.join(done.mutations)} | {done.command}"

    pieces = json.loads(args.go_on.read_text()) if args.go_on and args.go_on.exists() else []
    first = sum(one["executions"] for one in pieces if one["seed"] == args.seed)
    end, number, cpu_s = time.monotonic() + args.seconds, first, 0.0
    found: dict[str, Execution] = {}
    times: Counter[str] = Counter()
    with fuzzer() as fuzz:
        if args.only is not None:
            one = fuzz.execute(f"{args.seed}:{args.only}")
            print(line(one), one.outcome.detail, sep="\n")
            return int(bool(one.outcome.problem))
        fuzz.warm_up()
        with contextlib.suppress(KeyboardInterrupt):  # what was done counts
            while time.monotonic() < end:
                done = fuzz.execute(f"{args.seed}:{number}")
                number += 1
                cpu_s += done.outcome.seconds
                problem = done.outcome.problem
                if problem and problem not in found:
                    found[problem] = done
                    sanitized = "--sanitized " * args.sanitized
                    again = f"python -m bench.fuzz --seed {args.seed} {sanitized}--only {number - 1}"
                    print(f"{line(done)}\n  again: {again}", flush=True)
                times[problem] += 1
    print(f"{number - first} executions, {cpu_s:.0f} s of CPU time, {len(found)} findings (seed {args.seed})")
    for problem in found:
        print(f"  {times[problem]} times {problem}")
    if args.go_on:
        piece = {"seed": args.seed, "sanitized": args.sanitized, "executions": number - first, "cpu_s": round(cpu_s)}
        pieces.append({**piece, "findings": list(found)})
        args.go_on.write_text(json.dumps(pieces, indent=1) + "\n")
        executions, cpu_s = (sum(one[name] for one in pieces) for name in ("executions", "cpu_s"))
        print(f"{len(pieces)} pieces so far: {executions} executions, {cpu_s / 3600:.2f} hours of CPU time")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
