"""Functions of libraries that never come back, by the names under which they are imported."""

from __future__ import annotations

import re

_ENDS = frozenset(
    (
        "abort",
        "exit",
        "_exit",
        "_Exit",
        "quick_exit",
        "thrd_exit",
        "pthread_exit",
        "err",
        "errx",
        "verr",
        "verrx",
        "__libc_start_main",
    )
)
_FAILS = frozenset(
    (
        "__assert",
        "__assert_fail",
        "__assert_perror_fail",
        "__stack_chk_fail",
        "__fortify_fail",
        "__chk_fail",
        "__libc_fatal",
    )
)
_JUMPS = frozenset(("longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"))
_RAISES = frozenset(
    (
        "__cxa_throw",
        "__cxa_rethrow",
        "__cxa_bad_cast",
        "__cxa_bad_typeid",
        "__cxa_pure_virtual",
        "__cxa_call_unexpected",
        "__cxa_call_terminate",
        "_Unwind_Resume",
        "_Unwind_Resume_or_Rethrow",
        "_ZSt9terminatev",
    )
)
_NEVER = _ENDS | _FAILS | _JUMPS | _RAISES
# std::__throw_out_of_range_fmt(char const*, ...) and its kin.
_THROWS = re.compile(r"_ZSt\d+__throw_")


def never_returns_by_name(name: str) -> bool:
    symbol = name.partition("@")[0]
    return symbol in _NEVER or _THROWS.match(symbol) is not None
