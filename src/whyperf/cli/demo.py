"""`whyperf demo`: a built-in program with a mistake in it, recorded and diagnosed before your eyes."""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

from whyperf.cli import compare
from whyperf.cli.main import parser_for
from whyperf.comparison.alternation import Side
from whyperf.errors import WhyperfError

NAME = "demo"
SUMMARY = "a built-in slow program, recorded and diagnosed before your eyes"
EXAMPLES = """\
The program is orders.c, a shop's ledger: fast with 64 MB for its index, slower with 4096 MB. Recorded three times
each, in turns; takes about a minute, on a busy machine up to six. The verdict is also written as a page.
Recordings and page are kept beside the program until the next demo, or in the folder given with -o.
"""
GOOD_ARGUMENT, BAD_ARGUMENT = "64", "4096"
_FLAGS = ("-g", "-O2")
_ANSWER = """\
What is wrong with the program: planned_buckets() multiplies 4096 by 1024 by 1024 in 32 bits. That is 0, so the index
gets the smallest number of buckets, and find_customer() walks the long chains in them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=Path,
        help="keep the recordings and the page in this new folder (default: beside the program)",
    )


def run(args: argparse.Namespace) -> int:
    from whyperf.report.html.page import is_installed

    program = build()
    good, bad = f"{program} {GOOD_ARGUMENT}", f"{program} {BAD_ARGUMENT}"
    print(f"The program's source is {program.with_suffix('.c')}. What is run now:\n", file=sys.stderr)
    print(f'  whyperf compare --prove "{good}" "{bad}"\n', file=sys.stderr, flush=True)
    parser = parser_for("compare", compare)
    folder = args.output or program.parent / "recordings"
    if args.output is None:
        shutil.rmtree(folder, ignore_errors=True)  # of the last demo
    html = ["--html", str((args.output or program.parent) / "orders.html")] if is_installed() else []
    sides = ["--prove", "--good", good, "--bad", bad]
    chosen = parser.parse_args([*sides, "--runs", "3", "-o", str(folder), *html])
    status = compare.record_and_diagnose(compare.plan_of(chosen), chosen, {Side.GOOD: [], Side.BAD: []})
    print(f"\n{_ANSWER}", file=sys.stderr)
    return status


def build() -> Path:
    """The demo program, compiled into the cache folder once."""
    source = resources.files("whyperf.demo").joinpath("orders.c").read_bytes()
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        raise WhyperfError(
            "The demo's program is in C, and there is no C compiler here.", "sudo apt-get install gcc libc6-dev"
        )
    folder = _cache() / hashlib.sha256(source + " ".join((compiler, *_FLAGS)).encode()).hexdigest()[:16]
    program = folder / "orders"
    if program.exists():
        return program
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        program.with_suffix(".c").write_bytes(source)
        new = program.with_suffix(f".{os.getpid()}")
        command = [compiler, *_FLAGS, "-o", str(new), str(program.with_suffix(".c"))]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            first = (built.stderr.strip().splitlines() or ["no reason given"])[0]
            raise WhyperfError(f"The demo's program could not be compiled: {first}.", shlex.join(command))
        new.replace(program)
    except OSError as error:
        next_command = "export XDG_CACHE_HOME=$(mktemp -d)"
        raise WhyperfError(f"{folder} cannot be written: {error.strerror}.", next_command) from None
    return program


def _cache() -> Path:
    from whyperf.collect.sampling.sampler import tables_folder

    return tables_folder().parent / "demo"
