"""`whyperf completion`: what a shell needs to complete whyperf's commands and options."""

from __future__ import annotations

import argparse
import sys

from whyperf.cli.main import COMMANDS, command_named

NAME = "completion"
SUMMARY = "what a shell needs to complete commands and options"
EXAMPLES = """\
examples:
  whyperf completion bash > ~/.local/share/bash-completion/completions/whyperf
  whyperf completion zsh > ~/.zfunc/_whyperf
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run(args: argparse.Namespace) -> int:
    import shtab

    whole = argparse.ArgumentParser(prog="whyperf")
    commands = whole.add_subparsers()
    for name, summary in COMMANDS.items():
        command_named(name).add_arguments(commands.add_parser(name, help=summary))
    sys.stdout.write(shtab.complete(whole, args.shell))
    return 0
