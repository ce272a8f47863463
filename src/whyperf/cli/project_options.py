"""`.whyperf.toml`: a project's usual options, a table for each command.

[compare]
ready = "tcp:7000"
drive = "./load.sh"
runs = 5

What is typed counts more. Files that others may write are not read: options can name commands to run.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import stat
import sys
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from whyperf.ci.configuration import FILE_NAME, MOST_BYTES, OPTION_TABLES, parsed
from whyperf.errors import WhyperfError

_ALWAYS_TYPED = frozenset({"help", "force", "good", "bad"})
_EXCLUDE_EACH_OTHER = (("prove", "quick"), ("prove", "deep"), ("budget", "quick"))


def add_usual_options(name: str, parser: argparse.ArgumentParser, folder: Path, arguments: Sequence[str] = ()) -> None:
    """Makes the project's options for the command `name` the parser's defaults, and says which they are. Those that an
    option among the typed `arguments` excludes are left out."""
    path = folder / FILE_NAME
    if name not in OPTION_TABLES or not path.is_file():
        return
    table = _read(path).get(name, {})
    if not isinstance(table, dict):
        raise _wrong(path, name, "is not a table")
    table = {key: value for key, value in table.items() if not _is_excluded(key, arguments)}
    options = _options(parser)
    defaults = dict[str, Any]()
    for key, value in table.items():
        if key not in options:
            close = difflib.get_close_matches(key, options, n=1)
            raise _wrong(path, key, f"is not a known option{f': {close[0]} is' if close else ''}")
        defaults[options[key].dest] = _value(options[key], key, value, path)
    parser.set_defaults(**defaults)
    if table:
        said = " ".join(_typed(key, value) for key, value in table.items())
        print(f"whyperf: options of {FILE_NAME}: {said}", file=sys.stderr)


def _is_excluded(key: str, arguments: Sequence[str]) -> bool:
    own = takewhile(lambda word: word != "--", arguments)  # what follows is the target's
    typed = {word.removeprefix("--").split("=")[0] for word in own if word.startswith("--")}
    others = {other for pair in _EXCLUDE_EACH_OTHER if key in pair for other in pair if other != key}
    return key not in typed and not typed.isdisjoint(others)


def _read(path: Path) -> dict[str, Any]:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_uid not in (os.getuid(), 0) or found.st_mode & stat.S_IWOTH:
            print(f"whyperf: {path} is not read: another user may have written it", file=sys.stderr)
            return {}
        return parsed(file.read(MOST_BYTES + 1), path)


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Those that a file may set, by name without dashes."""
    return {
        option[2:]: action
        for option, action in parser._option_string_actions.items()
        if option.startswith("--") and option[2:] not in _ALWAYS_TYPED
    }


def _value(action: argparse.Action, key: str, value: Any, path: Path) -> Any:
    """As if it had been typed."""
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise _wrong(path, key, "is true or false")
        return value
    takes_several = isinstance(action.default, list)
    several = value if takes_several and isinstance(value, list) else [value]
    converted = [_converted(action, key, one, path) for one in several]
    return converted if takes_several else converted[0]


def _converted(action: argparse.Action, key: str, value: Any, path: Path) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _wrong(path, key, "is text or a number")
    kind: Any = action.type or str
    try:
        found = kind(str(value))
    except (argparse.ArgumentTypeError, ValueError) as error:
        raise _wrong(path, key, f"does not fit: {error}") from None
    if action.choices is not None and found not in action.choices:
        raise _wrong(path, key, f"is one of {', '.join(map(str, action.choices))}")
    return found


def _wrong(path: Path, key: str, what: str) -> WhyperfError:
    return WhyperfError(f"{path}: {key} {what}.", f"grep -n {shlex.quote(key)} {shlex.quote(str(path))}", status=2)


def _typed(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{key}" if value else f"no --{key}"
    several = value if isinstance(value, list) else [value]
    return " ".join(f"--{key} {shlex.quote(str(one))}" for one in several)
