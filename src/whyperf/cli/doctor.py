"""`whyperf doctor`: check this machine and print how to fix what is missing."""

from __future__ import annotations

import argparse
import json

from whyperf.collect.machine import Check, State, examine

NAME = "doctor"
SUMMARY = "check this machine and print how to fix what is missing"
EXAMPLES = "Exit status 0: programs can be recorded here."

_MARKS = {State.FINE: "ok", State.LIMITED: "limited", State.MISSING: "MISSING"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    checks = examine()
    works = all(check.state is not State.MISSING for check in checks)
    if args.json:
        print(json.dumps({"records": works, "checks": [_plain(check) for check in checks]}, indent=1))
    else:
        for check in checks:
            print(f"{_MARKS[check.state]:8} {check.name:18} {check.finding}")
            if check.fix:
                print(f"{'':27} try: {check.fix}")
        print("\nPrograms can be recorded here." if works else "\nPrograms cannot be recorded here.")
    return 0 if works else 1


def _plain(check: Check) -> dict[str, str | None]:
    return {"name": check.name, "state": check.state.value, "finding": check.finding, "fix": check.fix}
