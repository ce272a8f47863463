"""`python -m bench.overhead`: CPU that a fixed amount of work costs under each tool, against none.

Rounds take every tool in turn, in an order that rotates, so that drift of the machine falls on all alike; each tool is
compared with the plain run of the same round. Only the target's own CPU counts (user and system, children included),
never the recorder's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from bench import subjects
from bench.cache import SubjectError
from bench.intervals import paired_ratio
from bench.memory import sampler_memory
from bench.server import drive_once
from bench.tool import whyperf_command
from bench.workloads import Workload, all_workloads

_RATE = 200
_OURS = {"whyperf": ["--no-values"], "values": []}  # whyperf without and with variables
TOOLS = ("none", *_OURS, "perf", "gprof")
_DEFAULT_TOOLS = tuple(tool for tool in TOOLS if tool != "values")


@dataclass
class Handler:
    """What one of ours said about itself, one figure a round."""

    share: list[float] = field(default_factory=list)
    mean_us: list[float] = field(default_factory=list)
    median_us: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)


@dataclass
class Measured:
    """By tool: CPU seconds, one a round; for ours also what they cost inside the program."""

    cpu: dict[str, list[float]] = field(default_factory=dict)
    handlers: dict[str, Handler] = field(default_factory=dict)


def main() -> int:
    options = _options()
    pairs = 6 if options.quick else options.pairs
    tools = tuple(dict.fromkeys([*options.tools, *(["values"] if options.values else [])]))
    results: dict[str, dict[str, object]] = {}
    for workload in all_workloads():
        if options.only and workload.name not in options.only:
            continue
        try:
            measured = _measure(workload, pairs, tools)
        except SubjectError as error:
            print(f"{workload.name}: left out: {error}", file=sys.stderr)
            continue
        print(_summary(workload, measured), flush=True)
        results[workload.name] = {**asdict(measured), "pairs": pairs}
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.overhead", description="Overhead against other tools.")
    parser.add_argument("--pairs", type=int, default=30, help="rounds a workload (default: 30)")
    parser.add_argument("--quick", action="store_true", help="6 rounds: a look, not a measurement")
    parser.add_argument("--only", action="append", default=[], metavar="WORKLOAD")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(_DEFAULT_TOOLS))
    parser.add_argument("--values", action="store_true", help="whyperf with variables as well, in the same rounds")
    parser.add_argument("--json", metavar="FILE", help="write every figure measured")
    return parser.parse_args()


def _measure(workload: Workload, pairs: int, tools: tuple[str, ...]) -> Measured:
    measured = Measured()
    used = [tool for tool in tools if tool != "gprof" or workload.profilable]
    for tool in used:  # builds, caches and unwind tables are made before anything is measured
        _one_run(workload, tool, Measured())
    for number in range(pairs):
        for tool in used[number % len(used) :] + used[: number % len(used)]:
            _one_run(workload, tool, measured)
        print(f"\r{workload.name}: {number + 1}/{pairs} ", end="", file=sys.stderr, flush=True)
    print("\r", end="", file=sys.stderr)
    return measured


def _one_run(workload: Workload, tool: str, measured: Measured) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        target = workload.command("-pg" if tool == "gprof" else "")
        counted = [str(subjects.own("cpu_of")), str(folder / "cpu"), *target]
        command = _under(tool, folder) + counted
        if workload.port:
            memory: Callable[[int], None] | None = None
            if tool in _OURS:

                def memory(pid: int) -> None:
                    measured.handlers.setdefault(tool, Handler()).memory_mb.append(sampler_memory(pid) / 1e6)

            drive_once(command, f"tcp:{workload.port}", workload.drive, folder, memory)
        else:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SubjectError(f"{tool} run ended with {done.returncode}: {done.stderr[-500:]}")
        user, system = map(float, (folder / "cpu").read_text().split())
        measured.cpu.setdefault(tool, []).append(user + system)
        if tool in _OURS:
            _note_manifest(folder / "recording", user + system, measured.handlers.setdefault(tool, Handler()))


def _under(tool: str, folder: Path) -> list[str]:
    if tool in _OURS:
        options = [*_OURS[tool], "--rate", str(_RATE), "-o", str(folder / "recording")]
        return [*whyperf_command(), "record", *options, "--"]
    if tool == "perf":
        return ["perf", "record", "-q", "-g", "-e", "cpu-clock", "-F", str(_RATE), "-o", str(folder / "perf"), "--"]
    return []


def _note_manifest(recording: Path, cpu_s: float, handler: Handler) -> None:
    manifest = json.loads((recording / "manifest.json").read_text())
    handler.share.append(manifest["overhead"]["handler_s"] / cpu_s)
    handler.mean_us.append(manifest["overhead"]["handler_mean_us"])
    handler.median_us.append(manifest["overhead"]["handler_median_us"])
    handler.dropped.append(manifest["losses"]["samples_dropped"] + manifest["losses"]["values_dropped"])


def _summary(workload: Workload, measured: Measured) -> str:
    plain = measured.cpu["none"]
    lines = [f"{workload.name}: {sum(plain) / len(plain):.3f} s of CPU, {len(plain)} rounds"]
    for tool, cpu in measured.cpu.items():
        if tool != "none":
            lines.append(f"  {tool:8} {paired_ratio(plain, cpu)}")
    lines.extend(_handler_line(tool, handler) for tool, handler in measured.handlers.items())
    return "\n".join(lines)


def _handler_line(tool: str, handler: Handler) -> str:
    """Medians over rounds: a round in which the machine was busy elsewhere must not decide."""
    line = (
        f"  in the handler, {tool}: {100 * median(handler.share):.3f}% of the target's CPU, "
        f"{median(handler.mean_us):.1f} us a sample, mostly {median(handler.median_us):.1f}; "
        f"{sum(handler.dropped)} dropped"
    )
    return f"{line}; {max(handler.memory_mb):.2f} MB resident at most" if handler.memory_mb else line


if __name__ == "__main__":
    sys.exit(main())
