"""The commands' manual: `docs/commands.md` and man pages, from the parsers themselves."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from whyperf.cli.main import COMMANDS, command_named, parser_for

_COLUMNS = "100"
_INTRODUCTION = """\
# Commands

What every command prints with `--help`. This page is generated.
"""


def commands_document() -> str:
    os.environ["COLUMNS"] = _COLUMNS
    parts = [_INTRODUCTION]
    for name in COMMANDS:
        text = parser_for(name, command_named(name)).format_help().rstrip()
        parts.append(f"## whyperf {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def write_man_pages(folder: Path) -> None:
    from argparse_manpage.manpage import Manpage

    folder.mkdir(parents=True, exist_ok=True)
    for name in COMMANDS:
        parser = parser_for(name, command_named(name))
        parser.prog = f"whyperf-{name}"
        page = Manpage(parser, {"project_name": "whyperf", "manual_section": 1, "short_desc": COMMANDS[name]})
        (folder / f"whyperf-{name}.1").write_text(str(page), encoding="utf-8")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(commands_document(), encoding="utf-8")
    write_man_pages(Path(sys.argv[2]))
