"""Instructions of x86-64 that use registers which they do not name, or change more than their first operand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from whyperf.debuginfo.machines.operations import Does, Effect, Memory, Operand

_RESULT, _UPPER, _FRAME, _STACK = 0, 1, 6, 7
_WORD = 8
_Effects = tuple[Effect, ...]
_Make = Callable[[tuple[Operand, ...], tuple[int, ...]], _Effects]


def _push(operands: tuple[Operand, ...], _sizes: tuple[int, ...]) -> _Effects:
    sources = tuple(_before_push(one) if isinstance(one, Memory) else one for one in operands)
    return (Effect(Does.COPY, Memory((_STACK,), 0, False, size=_WORD), sources),)


def _before_push(memory: Memory) -> Memory:
    """Its address is computed before the stack grows, while displacements count from where the stack ends then."""
    is_on_stack = memory.registers[:1] == (_STACK,)
    return replace(memory, displacement=memory.displacement + _WORD) if is_on_stack else memory


def _pop(operands: tuple[Operand, ...], _sizes: tuple[int, ...]) -> _Effects:
    return (Effect(Does.COPY, operands[0], (Memory((_STACK,), -_WORD, False, size=_WORD),), _WORD),)


def _leave(_operands: tuple[Operand, ...], _sizes: tuple[int, ...]) -> _Effects:
    return (Effect(Does.COPY, _FRAME, (Memory((_FRAME,), 0, False, size=_WORD),), _WORD),)


def _divide(operands: tuple[Operand, ...], sizes: tuple[int, ...]) -> _Effects:
    return _both((_RESULT, _UPPER, operands[0]), _wide(operands, sizes))


def _multiply(operands: tuple[Operand, ...], sizes: tuple[int, ...]) -> _Effects:
    return _both((_RESULT, operands[0]), _wide(operands, sizes))


def _both(sources: tuple[Operand, ...], size: int) -> _Effects:
    return (Effect(Does.COMPUTE, _RESULT, sources, size), Effect(Does.COMPUTE, _UPPER, sources, size))


def _wide(operands: tuple[Operand, ...], sizes: tuple[int, ...]) -> int:
    first = operands[0]
    return first.size if isinstance(first, Memory) else sizes[0]


def _sign_into_upper(size: int) -> _Make:
    return lambda _operands, _sizes: (Effect(Does.COMPUTE, _UPPER, (_RESULT,), size),)


def _widen(size: int) -> _Make:
    return lambda _operands, _sizes: (Effect(Does.COPY, _RESULT, (_RESULT,), size),)


def _exchange(operands: tuple[Operand, ...], sizes: tuple[int, ...]) -> _Effects:
    first, second = operands
    return (Effect(Does.COPY, first, (second,), sizes[0]), Effect(Does.COPY, second, (first,), sizes[1]))


def _exchange_sum(operands: tuple[Operand, ...], sizes: tuple[int, ...]) -> _Effects:
    return (Effect(Does.COMPUTE, operands[0], operands), Effect(Does.COPY, operands[1], operands[:1], sizes[1]))


def _exchange_if_equal(operands: tuple[Operand, ...], _sizes: tuple[int, ...]) -> _Effects:
    compared = Effect(Does.COMPARE, None, (_RESULT, operands[0]))
    return (compared, Effect(Does.COPY, _RESULT, operands[:1]), Effect(Does.CHOOSE, operands[0], operands))


def _set_bit(operands: tuple[Operand, ...], sizes: tuple[int, ...]) -> _Effects:
    return (Effect(Does.COMPUTE, operands[0], operands, _wide(operands, sizes)),)


def _asked_of_processor(_operands: tuple[Operand, ...], _sizes: tuple[int, ...]) -> _Effects:
    return _both((None,), _WORD)


IMPLIED: Mapping[str, _Make] = {
    "push": _push,
    "pop": _pop,
    "leave": _leave,
    **dict.fromkeys(("div", "idiv"), _divide),
    **dict.fromkeys(("mul", "imul"), _multiply),
    "cwd": _sign_into_upper(2),
    "cdq": _sign_into_upper(4),
    "cqo": _sign_into_upper(8),
    "cwde": _widen(4),
    "cdqe": _widen(8),
    "xchg": _exchange,
    "xadd": _exchange_sum,
    "cmpxchg": _exchange_if_equal,
    **dict.fromkeys(("bts", "btr", "btc"), _set_bit),
    **dict.fromkeys(("cpuid", "rdtsc", "rdtscp"), _asked_of_processor),
}
"""`imul` with one operand only."""
