"""`whyperf doctor`: check this machine and print how to fix what is missing."""

from __future__ import annotations

import argparse
import json

from whyperf.cli.doctor_fixes import ask, check_can_ask, is_asked_always, run_fixes, runnable
from whyperf.collect.machine import Check, CheckState, examine
from whyperf.errors import WhyperfError

NAME = "doctor"
SUMMARY = "check this machine and print how to fix what is missing"
EXAMPLES = """\
Exit status 0: programs can be recorded here.
--fix asks before each command. It leaves your shell's variables to you, and with --yes the kernel's settings too.
"""

_MARKS = {CheckState.FINE: "ok", CheckState.LIMITED: "limited", CheckState.MISSING: "MISSING"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--fix", action="store_true", help="offer to run the printed commands, then check again")
    parser.add_argument("--yes", action="store_true", help="with --fix: run them without asking")


def run(args: argparse.Namespace) -> int:
    if args.fix and args.json:
        raise WhyperfError("--fix prints no JSON.", "whyperf doctor --json", status=2)
    if args.fix:
        return _fix(yes=args.yes)
    if args.yes:
        raise WhyperfError("--yes belongs to --fix.", "whyperf doctor --fix --yes", status=2)
    return _print(examine(), as_json=args.json)


def _fix(*, yes: bool) -> int:
    check_can_ask(yes=yes)
    checks = examine()
    status = _print(checks)
    if not runnable(checks):
        print("There is no command to run.")
        return status
    if not run_fixes(checks, _agrees if yes else ask):
        return status
    print()
    return _print(examine())


def _agrees(fix: str) -> bool:
    """What --yes covers."""
    if is_asked_always(fix):
        print(f"\n  {fix}\nThis lowers a protection of all users of this machine: run it yourself if you want it.")
        return False
    return True


def _print(checks: list[Check], *, as_json: bool = False) -> int:
    works = all(check.state is not CheckState.MISSING for check in checks)
    if as_json:
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
