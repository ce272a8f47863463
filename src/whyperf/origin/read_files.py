"""Which file a call reads: by the descriptor or the `FILE *` that it is given."""

from __future__ import annotations

from whyperf.collect.observation.sites import OpenFile, file_named
from whyperf.origin.evidence import Looked, OutOfBudgetError
from whyperf.origin.points import Point
from whyperf.origin.program_code import BuildSide
from whyperf.origin.questions import CodeHere
from whyperf.origin.trail import Trail

_DESCRIPTORS = dict.fromkeys(
    ("read", "pread", "pread64", "readv", "recv", "recvfrom", "recvmsg", "__read_chk", "__recv_chk", "fstat"), 0
)
_STREAMS = {
    **dict.fromkeys(("getc", "fgetc", "_IO_getc", "getc_unlocked", "fgetc_unlocked"), 0),
    **dict.fromkeys(("fscanf", "__isoc99_fscanf", "__isoc23_fscanf", "ftell"), 0),
    **dict.fromkeys(("fgets", "fgets_unlocked", "getline"), 2),
    **dict.fromkeys(("fread", "fread_unlocked", "__fgets_chk", "getdelim", "__getdelim"), 3),
    **dict.fromkeys(("__fread_chk", "__fread_unlocked_chk"), 4),
}
"""Numbers of arguments."""
_KINDS = {"pipe:": "a pipe", "socket:": "a socket"}


def point_of_call(here: CodeHere, address: int, name: str) -> Point:
    """A call, with the file that it reads, if it is one that reads."""
    number = _DESCRIPTORS.get(name, _STREAMS.get(name))
    if number is None:
        return Point(here.module.path, address)
    register = here.slicer.function.registers.arguments[0][number]
    return Point(here.module.path, address, file=OpenFile(register, name in _STREAMS))


def files_read(trail: Trail, here: CodeHere, address: int, name: str) -> tuple[str, str]:
    """In good and in bad runs, if each reads one there that the other does not; empty: unknown."""
    point = point_of_call(here, address, name)
    if point.file is None:
        return "", ""
    try:
        trail.evidence.look([point], "looking at which file it reads")
    except OutOfBudgetError:
        return "", ""
    good, bad = (_names(trail.evidence.looked(point.key, side)) for side in BuildSide)
    return _only(good - bad or good), _only(bad - good or bad)


def _names(looked: Looked | None) -> set[str]:
    return set() if looked is None else {file_named(row) for row in looked.files}


def _only(names: set[str]) -> str:
    return next(iter(names)) if len(names) == 1 else ""


def in_words(files: tuple[str, str], otherwise: str) -> str:
    """What is read: "`FILE`, was `FILE`"."""
    good, bad = (_KINDS.get(one.partition("[")[0], f"`{one}`" if one else "") for one in files)
    if not bad:
        return otherwise
    return f"{bad}, was {good}" if good and good != bad else bad
