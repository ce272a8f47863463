"""What was loaded by dlopen(): code that a program is not linked with, so that others may have brought it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from whyperf.collect.target.module_layers import file_name, origin_of
from whyperf.debuginfo.elf_files.linkage import Linkage, read_linkage
from whyperf.seal.participants.address_spaces import Module, Spaces
from whyperf.seal.participants.processes import Participants

# Parts of every program, whether it names them or not.
_ALWAYS = frozenset({"libc", "vdso", "program", "sampler", "unknown"})


def plug_ins(spaces: Spaces, participants: Participants, sampler: str) -> frozenset[Module]:
    """Modules that no program which has them mapped is linked with, directly or through its libraries."""
    mapped: dict[str, set[Module]] = defaultdict(set)
    for row in spaces.rows:
        mapped[participants.processes[row.process].executable].add(spaces.modules[row.mapping.module])
    linked: set[Module] = set()
    for program, modules in mapped.items():
        linked |= _linked_with(program, modules)
    programs = frozenset(mapped)
    seen = frozenset[Module]().union(*mapped.values())
    return frozenset(m for m in seen - linked if origin_of(m.path, programs, sampler) not in _ALWAYS)


def _linked_with(program: str, modules: Iterable[Module]) -> set[Module]:
    """All of them where the program cannot be asked: nothing is called a plug-in on a guess."""
    own = _linkage(program)
    if own is None:
        return set(modules)
    linked: set[Module] = set()
    by_name: dict[str, Module] = {}
    for module in modules:
        linkage = _linkage(module.path)
        if linkage is None:
            linked.add(module)
        for name in (file_name(module.path), linkage.name if linkage else ""):
            by_name.setdefault(name, module)
    wanted = list(own.needed)
    while wanted:
        found = by_name.get(wanted.pop())
        if found is not None and found not in linked:
            linked.add(found)
            linkage = _linkage(found.path)
            wanted += linkage.needed if linkage else ()
    return linked


@cache
def _linkage(path: str) -> Linkage | None:
    return read_linkage(Path(path))
