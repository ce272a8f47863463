"""The commands' manual: `docs/commands.md` and man pages, from the parsers themselves."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from whyperf.cli.main import COMMANDS, FIRST_EXAMPLES, command_named, parser_for

_COLUMNS = "100"
_INTRODUCTION = """\
# Commands

What every command prints with `--help`. This page is generated.
"""
_SUMMARY = "tells why one run of a program is slower than another, or needs more memory"
_DESCRIPTION = """\
whyperf records a good and a bad run of a program and compares them. It names the function, line, variable, wait or
changed relation that makes the difference, with the evidence. It needs no root, no rebuilt program and no changed
source. Every report and every error ends with the next command to type."""
_STATUS = """\
record returns the target's status. The other commands return 0 when they did what they were asked, and 1 or 2 after an
error; the pages of diagnose, compare, ci and origin list what else they return."""
_DEBUG = "When it is set, a mistake in whyperf itself shows where it happened."


def commands_document() -> str:
    os.environ["COLUMNS"] = _COLUMNS
    parts = [_INTRODUCTION]
    for name in COMMANDS:
        text = parser_for(name, command_named(name)).format_help().rstrip()
        parts.append(f"## whyperf {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def overview() -> str:
    """`man whyperf`: what there is, and where it is described."""
    named = [f".TP\n.BR whyperf\\-{name} (1)\n{_roff(summary)}" for name, summary in COMMANDS.items()]
    examples = FIRST_EXAMPLES.partition("\n")[2]
    parts = [
        '.TH WHYPERF 1 "" whyperf "User commands"',
        f".SH NAME\nwhyperf \\- {_roff(_SUMMARY)}",
        ".SH SYNOPSIS\n.B whyperf\n.I COMMAND\n.RI [ ARGUMENT ...]",
        f".SH DESCRIPTION\n{_roff(_DESCRIPTION)}",
        *(".SH COMMANDS", *named),
        f".SH EXAMPLES\n.nf\n{_roff(examples.rstrip())}\n.fi",
        f".SH EXIT STATUS\n{_roff(_STATUS)}",
        f".SH ENVIRONMENT\n.TP\n.B WHYPERF_DEBUG\n{_roff(_DEBUG)}",
    ]
    return "\n".join(parts) + "\n"


def _roff(text: str) -> str:
    """No line is taken for a request, and every hyphen can be pasted into a shell."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.splitlines())


def write_man_pages(folder: Path) -> None:
    from argparse_manpage.manpage import Manpage

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "whyperf.1").write_text(overview(), encoding="utf-8")
    for name in COMMANDS:
        parser = parser_for(name, command_named(name))
        parser.prog = f"whyperf-{name}"
        page = Manpage(parser, {"project_name": "whyperf", "manual_section": 1, "short_desc": COMMANDS[name]})
        (folder / f"whyperf-{name}.1").write_text(str(page), encoding="utf-8")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(commands_document(), encoding="utf-8")
    write_man_pages(Path(sys.argv[2]))
