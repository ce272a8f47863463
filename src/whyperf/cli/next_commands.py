"""The verdict's next command as it can be pasted here: from this folder, and of the revisions that were compared."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.revision_options import command_of

if TYPE_CHECKING:
    from whyperf.diagnose.next_command.next_step import NextStep
    from whyperf.diagnose.verdict import Verdict
    from whyperf.recording.sealed.manifest import Manifest
    from whyperf.revisions.suspects import ComparedCommits

_RUNS_COMMANDS = "whyperf compare "


def typed_here(verdict: Verdict, manifest: Manifest) -> Verdict:
    """Commands name files as seen from where they were recorded: from elsewhere that folder comes first."""
    command, options = verdict.next_command, manifest.options
    if command is None or not command.startswith(_RUNS_COMMANDS) or options is None or not options.folder:
        return verdict
    folder = Path(options.folder)
    if folder == Path.cwd() or not folder.is_dir():
        return verdict
    return replace(verdict, next_command=f"cd {shlex.quote(str(folder))} && {command}")


def of_revisions(
    verdict: Verdict,
    step: NextStep | None,
    args: argparse.Namespace,
    compared: ComparedCommits,
    manifests: Sequence[Manifest],
) -> Verdict:
    """`manifests`: of a good and a bad run. Their commands lie in checkouts of ours, which may be gone tomorrow."""
    from whyperf.diagnose.next_command.advice import lifecycle_words, values_words

    good, bad = compared.names
    built = ["--build", args.build] if args.build else []
    options = [manifest.options for manifest in manifests]
    window = lifecycle_words(options[0], options[1], without_units=False)
    if step is not None:
        values = [] if "--deep" in step.options else values_words(options[0])
        words = ["compare", "--rev", good, "--rev", bad, *built, *step.options, *values, *window]
    elif verdict.kind.value == "difference" and "--good-drive" not in window:
        words = ["bisect", "--good", good, "--bad", bad, *built, *values_words(options[0]), *window]
    else:
        return verdict
    return replace(verdict, next_command=shlex.join(["whyperf", *words, "--", *command_of(args)]))
