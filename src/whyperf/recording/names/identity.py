"""What stays the same between builds, processes and machines."""

from __future__ import annotations

import re
from dataclasses import dataclass

COMPILED_WHILE_RUNNING = "[jit]"
"""The module of code that just-in-time compilers made."""

NAMED_BY_ADDRESS = r"\+0x[0-9a-f]+$"
"""What the names end with that `name_by_address` gives: they mean something only within one build."""


def name_by_address(module: str, address: int) -> str:
    """For code of which nothing better is known than the ELF address at which it starts."""
    return f"{module}+0x{address:x}"


def is_named_by_address(name: str) -> bool:
    return re.search(NAMED_BY_ADDRESS, name) is not None


_SHARED_OBJECT_VERSION = re.compile(r"(-\d[\w.]*)?\.so(\.[\w.]+)?$")


def without_version(name: str) -> str:
    """`libfoo-1.2.so.3` and `libfoo.so.4` are the same library in two releases."""
    return _SHARED_OBJECT_VERSION.sub(".so", name.removesuffix(" (deleted)"))


@dataclass(frozen=True)
class FunctionKey:
    """A function's identity across builds and processes; stripped code has only its address in one build."""

    module: str
    name: str
    file: str
    """Empty where the name alone tells; the build-id if the name is an address."""
    order: int = 0
