"""`whyperf completion`: what a shell needs to complete whyperf's commands and options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping

from whyperf.cli.main import COMMANDS, command_named

NAME = "completion"
SUMMARY = "what a shell needs to complete commands and options"
EXAMPLES = """\
examples:
  whyperf completion bash > ~/.local/share/bash-completion/completions/whyperf
  whyperf completion zsh > ~/.zfunc/_whyperf
  whyperf completion fish > ~/.config/fish/completions/whyperf.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh", "fish"))


def run(args: argparse.Namespace) -> int:
    whole = argparse.ArgumentParser(prog="whyperf")
    commands = whole.add_subparsers()
    for name, summary in COMMANDS.items():
        command_named(name).add_arguments(commands.add_parser(name, help=summary))
    if args.shell == "fish":
        sys.stdout.writelines(f"{line}\n" for line in _fish(commands.choices))
        return 0
    import shtab

    sys.stdout.write(shtab.complete(whole, args.shell))
    return 0


def _fish(parsers: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    """shtab knows no fish."""
    for name, summary in COMMANDS.items():
        yield f"complete -c whyperf -n __fish_use_subcommand -f -a {name} -d {_fish_quoted(summary)}"
    for name, parser in parsers.items():
        for action in parser._actions:
            if action.option_strings and action.help is not argparse.SUPPRESS:
                yield " ".join([f"complete -c whyperf -n '__fish_seen_subcommand_from {name}'", *_fish_option(action)])


def _fish_option(action: argparse.Action) -> Iterator[str]:
    for option in action.option_strings:
        yield f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
    if action.choices is not None:
        yield f"-x -a {_fish_quoted(' '.join(map(str, action.choices)))}"
    elif action.nargs != 0:
        yield "-r"
    if action.help:
        yield f"-d {_fish_quoted(action.help.replace('%%', '%'))}"


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
