"""The command line: finds the command, runs it, and turns everything that can go wrong into a sentence."""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import importlib
import keyword
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

from whyperf.cli.remarks import speak_unheard
from whyperf.errors import WhyperfError, no_permission
from whyperf.version import __version__

# Name and one line of help here, so that `whyperf --help` need not load what a command needs.
COMMANDS: dict[str, str] = {
    "compare": "record a good and a bad command, and say why the bad one is slower",
    "bisect": "find the commit that made a program slow",
    "record": "record one run of a program, or a running process",
    "attach": "record a process that already runs",
    "ci": "compare the benchmarks of a change's base and head, and report the cause of each that got slower",
    "diagnose": "say why bad recordings are slower than good ones",
    "prove": "prove a suspicion: force the good value into bad runs, and see whether the time goes",
    "origin": "follow a value back to who set it, in new runs of recorded commands",
    "view": "look at recordings, or at why one is slower than another, in a browser",
    "trace": "the flight recorder: always on, dumped after something has happened",
    "import": "make a recording of what another tool recorded: perf.data, pprof, collapsed stacks",
    "export": "a recording in another tool's format",
    "info": "what is in a recording, and what was lost",
    "scrub": "a copy of a recording without values, source, paths and command lines",
    "doctor": "check this machine and print how to fix what is missing",
    "mcp": "let assistants record, compare and ask: a server over stdin and stdout",
    "completion": "what a shell needs to complete commands and options",
    "demo": "a built-in slow program, recorded and diagnosed before your eyes",
}

# What a write to standard output can end with. Files that whyperf opens itself have a name, and sentences of their own.
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_UNUSABLE = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR})  # of a name

FIRST_EXAMPLES = """\
examples:
  whyperf compare "./tool small.txt" "./tool big.txt"
  whyperf compare --good "./server a.conf" --bad "./server b.conf" --ready tcp:7000 --drive ./load.sh

  whyperf record -o good -- ./tool small.txt
  whyperf record -o bad  -- ./tool big.txt
  whyperf diagnose good bad
"""


class Command(Protocol):
    """What every module of this package that is a command has."""

    NAME: str
    SUMMARY: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def _named(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return Path(text)


class _Parser(argparse.ArgumentParser):
    """Says in one sentence what is wrong, without the whole usage before it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # `--budget -5s` is a wrong time, not a budget without one and then an option.
        self._negative_number_matcher = re.compile(r"-\.?\d")
        self.register("type", Path, _named)  # an empty name is no other name for the current folder

    def error(self, message: str) -> NoReturn:
        _, unrecognized, words = message.partition("unrecognized arguments: ")
        options = [option for option in self._option_string_actions if option.startswith("--")]
        meant = closest(words.split()[0].partition("=")[0], options) if unrecognized else None
        guess = f"; the nearest is {meant}" if meant else ""
        raise WhyperfError(f"{message[:1].upper()}{message[1:]}{guess}.", f"{self.prog} --help", status=2)


def command() -> NoReturn:
    """The program itself. It ends without unloading libraries: one of Arrow's threads that is still starting when its
    destructors run aborts the process, after everything was said."""
    # What is loaded stays: looking through it again and again for garbage takes a twentieth of a short command's time.
    gc.set_threshold(20_000)
    _open_standard_streams()
    speak_unheard()
    try:
        status = main()
    except SystemExit as end:  # --help, --version
        status = end.code if isinstance(end.code, int) else 0
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    _open_standard_streams()
    _forget_coerced_locale()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except WhyperfError as error:
        return _say(error, arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard_output()  # its reader has gone
        return 141
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
            _discard_output()
            return _say(WhyperfError(f"The output cannot be written: {error.strerror}.", "df -h ."), arguments)
        if os.environ.get("WHYPERF_DEBUG"):
            raise
        return _say(_told(error, arguments), arguments)


def _told(error: Exception, arguments: Sequence[str]) -> WhyperfError:
    """What no command expects: a path that this user may not use, a current folder that was removed, or a mistake of
    ours."""
    if isinstance(error, PermissionError) and error.filename is not None:
        return no_permission(error)
    if isinstance(error, OSError) and error.errno in _UNUSABLE and error.filename is not None:
        return WhyperfError(f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}.")
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return WhyperfError("The current folder does not exist any more.", "cd")
    again = f"WHYPERF_DEBUG=1 whyperf {shlex.join(arguments)}"
    return WhyperfError(
        f"This is a mistake in whyperf ({type(error).__name__}): please report what this prints.", again
    )


def _discard_output() -> None:
    """Python would complain once more when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> int:
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    if name in COMMANDS and arguments[0] == name:
        command = command_named(name)
        parser = parser_for(name, command)
        if Path(".whyperf.toml").exists():
            from whyperf.cli.project_options import add_usual_options

            add_usual_options(name, parser, Path(), arguments[1:])
        status = command.run(parser.parse_args(arguments[1:]))
        sys.stdout.flush()
        return status
    parser = _Parser(
        prog="whyperf",
        description="Tells why one run of a program is slower than another.",
        epilog="\n".join(["commands:", *(f"  {n:11} {s}" for n, s in COMMANDS.items()), "", FIRST_EXAMPLES]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="whyperf COMMAND ...",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"whyperf {__version__}")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    found = parser.parse_known_args(arguments)[0].command
    if found is not None:
        meant = closest(found, list(COMMANDS))
        guess = f"; the nearest is {meant}" if meant else ""
        named = f"whyperf {meant} --help" if meant else "whyperf --help"
        raise WhyperfError(f"There is no command {found}{guess}.", named, status=2)
    parser.print_help()
    return 0 if not arguments else 2


def closest(name: str, known: Sequence[str]) -> str | None:
    """What somebody who typed this has probably meant."""
    import difflib

    return next(iter(difflib.get_close_matches(name, known, n=1)), None)


def command_named(name: str) -> Command:
    module = f"{name}_" if keyword.iskeyword(name) else name
    return cast(Command, importlib.import_module(f"whyperf.cli.{module}"))


def parser_for(name: str, command: Command) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=f"whyperf {name}",
        description=COMMANDS[name].capitalize() + ".",
        epilog=getattr(command, "EXAMPLES", None),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    return parser


def _say(error: WhyperfError, arguments: Sequence[str]) -> int:
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):
        print(f"whyperf: {error.sentence}", file=sys.stderr)
        if error.next_command:
            print(f"  try: {error.next_command}", file=sys.stderr)
    # An error must not look to `git bisect run` like a bad commit.
    return 128 if error.status in (1, 2) and "--bisect-exit" in arguments else error.status


def _open_standard_streams() -> None:
    """A recorder started with closed streams must not write messages into its own log."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _forget_coerced_locale() -> None:
    """In the C locale Python sets LC_CTYPE for itself (PEP 538): programs started from here must not inherit it."""
    with contextlib.suppress(OSError):
        given = b"\0" + Path("/proc/self/environ").read_bytes()
        if b"\0LC_CTYPE=" not in given:
            os.environ.pop("LC_CTYPE", None)
