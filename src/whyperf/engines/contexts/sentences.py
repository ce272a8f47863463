"""Why a function is slower, in a sentence."""

from __future__ import annotations

from whyperf.engines.contexts.accounts import LatencyAccount, WaitedFor
from whyperf.engines.contexts.layers import Layer
from whyperf.engines.contexts.units import Unit
from whyperf.engines.quantities import percent, seconds
from whyperf.recording.names.system_calls import system_call_name

_MOSTLY = 0.5
_AS_BEFORE = 1.2  # counts that differ less are the same
_ARTICLES = {
    Layer.MAIN: "the main binary",
    Layer.KERNEL: "the kernel",
    Layer.OWN_LIBRARY: "one of the program's own libraries",
    Layer.THIRD_PARTY: "a third-party library",
    Layer.PLUG_IN: "a plug-in",
    Layer.LIBC: "the C library",
}
_ALONE = (Layer.MAIN, Layer.KERNEL)  # of which there is one


def sentence(unit: Unit, module: str, layer: Layer, account: LatencyAccount) -> str:
    return f"{_what(unit, account)} {where(module, layer, 'The wait' if _waits(account) else 'It')}"


def amount(value: float, unit: Unit) -> str:
    return percent(value) if unit.by_share else seconds(value)


def per(unit: Unit) -> str:
    return "of the time" if unit.by_share else f"per {unit.name}"


def _what(unit: Unit, account: LatencyAccount) -> str:
    good, bad = account.good, account.bad
    gain = bad.total - good.total
    compared = f"{amount(good.total, unit)} became {amount(bad.total, unit)}"
    added = f"{amount(gain, unit)} more {per(unit)}"
    if not _waits(account):
        return f"It runs {added}: {compared}."
    longest = account.waited_for[0]
    about = [system_call_name(longest.call)] if longest.call >= 0 else []
    about += [f"with {account.other_side}"] if account.other_side else []
    inside = f" ({', '.join(about)})" if about else ""
    return f"It {longest.kind.words} {added}{inside}: {compared}, {_times(longest, unit)}."


def _waits(account: LatencyAccount) -> bool:
    """Whether the added time went into waiting."""
    good, bad = account.good, account.bad
    return bad.running - good.running < _MOSTLY * (bad.total - good.total) and bool(account.waited_for)


def _times(waited: WaitedFor, unit: Unit) -> str:
    """Longer waits, or more of them."""
    if unit.by_share or not waited.bad_count:
        return f"with {percent(waited.bad_s)} in such waits, not {percent(waited.good_s)}"
    each = seconds(waited.bad_s / waited.bad_count)
    now = f"{_count(waited.bad_count)} of {each}"
    if not waited.good_count:
        return f"in {now}"
    if 1 / _AS_BEFORE < waited.bad_count / waited.good_count < _AS_BEFORE:
        return f"in {now}, not {seconds(waited.good_s / waited.good_count)}"
    return f"in {now} instead of {_count(waited.good_count)} of {seconds(waited.good_s / waited.good_count)}"


def _count(count: float) -> str:
    shown = f"{count:,.0f}" if count >= 10 or count == round(count) else f"{count:.2g}"
    return f"{shown} wait{'' if shown == '1' else 's'}"


def where(module: str, layer: Layer, subject: str = "It") -> str:
    """Whose code it is. Of a wait, the cause may be in what it waits for."""
    if layer is Layer.UNKNOWN:
        return "It belongs to no known module."
    return f"{subject} is in {_ARTICLES[layer] if layer in _ALONE else f'{module}, {_ARTICLES[layer]}'}."
