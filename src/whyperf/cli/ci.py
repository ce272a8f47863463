"""`whyperf ci`: the benchmarks of a project before and after a change, and what to say of it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.progress import progress
from whyperf.cli.quantities import positive_duration
from whyperf.errors import WhyperfError

if TYPE_CHECKING:
    from whyperf.ci.benchmark import Benchmark, Configuration
    from whyperf.ci.result import Report

NAME = "ci"
SUMMARY = "compare the benchmarks of a change's base and head, and report the cause of each that got slower"
EXAMPLES = """\
examples:
  whyperf ci
  whyperf ci --base origin/main --head HEAD --markdown comment.md --sarif whyperf.sarif --junit junit.xml
  whyperf ci --only parse --budget 5m --fail-on any-doubt

The benchmarks are in .whyperf.toml:

  [[benchmark]]
  name = "parse"
  build = "make -j"
  command = "./tool input.txt"

Both revisions are built in the cache and run in turns; your own tree stays as it is.

exit status: 0 by --fail-on's policy all is well, 5 slower, 4 not enough data (any-doubt), 1 a benchmark of the head
failed, or an error, 2 used wrongly
"""
_FORMATS = ("markdown", "sarif", "junit", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "whyperf ci [--base REV] [--head REV] [options]"
    parser.add_argument(
        "--base", metavar="REV", help="what to compare with (default: where the head left the default or target branch)"
    )
    parser.add_argument("--head", metavar="REV", default="HEAD", help="the change (default HEAD)")
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="names the benchmarks (default .whyperf.toml, here or at the top)"
    )
    parser.add_argument(
        "--only", metavar="NAME", action="append", default=[], help="only this benchmark (may be repeated)"
    )
    parser.add_argument(
        "--budget", metavar="TIME", type=positive_duration, help="for building and running all of it (default 20m)"
    )
    parser.add_argument(
        "--fail-on",
        choices=["slower", "any-doubt", "never"],
        help="what makes the exit status not 0 (default slower); any-doubt: also not enough data",
    )
    parser.add_argument("--markdown", metavar="FILE", help="write a comment for a pull or merge request")
    parser.add_argument("--sarif", metavar="FILE", help="write SARIF 2.1.0, for code scanning")
    parser.add_argument("--junit", metavar="FILE", help="write JUnit's XML: a test case for each benchmark")
    parser.add_argument("--json", metavar="FILE", help="write everything; - prints it instead of the table")
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, help="keep the recordings in this folder")


def run(args: argparse.Namespace) -> int:
    from whyperf.ci.policy import exit_status
    from whyperf.ci.terminal import show

    _check_targets(args)
    report = _report(args)
    written = [(name, getattr(args, name)) for name in _FORMATS if getattr(args, name) is not None]
    for name, target in written:
        _write(target, _text(report, name), name)
    if all(target != "-" for _, target in written):
        show(report)
    if args.output is not None:
        print(f"whyperf: the recordings are in {args.output}", file=sys.stderr)
    if report.interrupted:
        raise WhyperfError("Interrupted: what was finished is in the report.", status=130)
    return exit_status([result.state for result in report.results], report.fail_on)


def _report(args: argparse.Namespace) -> Report:
    from whyperf.ci.base import default_base
    from whyperf.ci.configuration import lines_of, read_configuration
    from whyperf.ci.job import run_job
    from whyperf.ci.policy import FailOn
    from whyperf.revisions.git import find_repository, resolve

    path = _configuration_path(args.config)
    configuration = read_configuration(path)
    benchmarks = _chosen(configuration, args.only, path)
    repository = find_repository(path.absolute().parent)
    head = resolve(repository, args.head)
    base = resolve(repository, args.base) if args.base is not None else default_base(repository, head, os.environ)
    if base == head:
        raise WhyperfError(
            f"Base and head are the same commit, {head[:10]}.", "whyperf ci --base HEAD~1 --head HEAD", status=2
        )
    if args.output is not None:
        _make(args.output)
    with progress() as shown:
        return run_job(
            benchmarks,
            repository,
            base,
            head,
            budget_s=args.budget or configuration.budget_s,
            fail_on=FailOn(args.fail_on) if args.fail_on else configuration.fail_on or FailOn.SLOWER,
            recordings=args.output and args.output.absolute(),
            configuration=str(repository.inside / path.name),
            lines=lines_of(path, benchmarks),
            environment=os.environ,
            shown=shown,
        )


def _configuration_path(given: Path | None) -> Path:
    """As named; else here, or at the top of the repository."""
    from whyperf.ci.configuration import FILE_NAME
    from whyperf.revisions.git import find_repository

    here = Path(FILE_NAME)
    if given is not None or here.exists():
        return given or here
    top = find_repository(Path.cwd()).top / FILE_NAME
    return top if top.exists() else here


def _chosen(configuration: Configuration, only: Sequence[str], path: Path) -> Sequence[Benchmark]:
    names = [one.name for one in configuration.benchmarks]
    if unknown := next((name for name in only if name not in names), None):
        raise WhyperfError(
            f"{path} has no benchmark {unknown!r}; it has {', '.join(names)}.",
            f"whyperf ci --only {shlex.quote(names[0])}",
            status=2,
        )
    return [one for one in configuration.benchmarks if not only or one.name in only]


def _check_targets(args: argparse.Namespace) -> None:
    """A file that cannot be written is worth no twenty minutes."""
    for name in _FORMATS:
        target = getattr(args, name)
        if target not in (None, "-") and not Path(target).absolute().parent.is_dir():
            folder = Path(target).parent
            raise WhyperfError(
                f"There is no folder {folder} for --{name}.", f"mkdir -p {shlex.quote(str(folder))}", status=2
            )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise WhyperfError(f"{folder} cannot be created: {error.strerror}.", "whyperf ci -o FOLDER") from None


def _text(report: Report, name: str) -> str:
    if name == "markdown":
        from whyperf.ci.markdown import to_markdown

        return to_markdown(report, os.environ)
    if name == "sarif":
        from whyperf.ci.sarif import to_sarif

        return to_sarif(report)
    if name == "junit":
        from whyperf.ci.junit import to_junit

        return to_junit(report)
    from whyperf.ci.json import to_json

    return to_json(report)


def _write(target: str, text: str, name: str) -> None:
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        raise WhyperfError(f"{target} cannot be written: {error.strerror}.", f"whyperf ci --{name} -") from None
