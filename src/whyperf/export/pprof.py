"""pprof's profile.proto, gzipped."""

from __future__ import annotations

import gzip
from collections import defaultdict

from whyperf.export.profile import Profile
from whyperf.recording.schemas.tables import Clock
from whyperf.wire import field, nested

# Field numbers of profile.proto.
_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING = 1, 2, 3, 4, 5, 6
_TIME, _DURATION, _PERIOD_TYPE, _PERIOD, _DEFAULT_TYPE = 9, 10, 11, 12, 14

_CLOCKS = (Clock.CPU, Clock.BLOCKED)


class _Strings:
    def __init__(self) -> None:
        self.numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def pprof(profile: Profile) -> bytes:
    """Locations are lines of functions, samples carry CPU and blocked nanoseconds, labels tell program and thread."""
    strings = _Strings()
    modules = {name: number for number, name in enumerate(dict.fromkeys(place.module for place in profile.places), 1)}
    functions: dict[tuple[str, str], int] = {}
    locations = []
    for number, place in enumerate(profile.places, 1):
        function = functions.setdefault((place.function, place.file), len(functions) + 1)
        line = field(1, function) + field(2, place.line)
        locations.append(nested(_LOCATION, field(1, number) + field(2, modules[place.module]) + nested(4, line)))
    parts = [
        *(nested(_SAMPLE_TYPE, field(1, strings[name]) + field(2, strings["nanoseconds"])) for name in ("cpu", "wait")),
        *_samples(profile, strings),
        # Without "has_functions" a reader would look for the binary to name functions by itself.
        *(nested(_MAPPING, field(1, n) + field(5, strings[name]) + field(7, 1)) for name, n in modules.items()),
        *locations,
        *(
            nested(_FUNCTION, field(1, n) + field(2, strings[name]) + field(3, strings[name]) + field(4, strings[file]))
            for (name, file), n in functions.items()
        ),
        field(_TIME, profile.start_real),
        field(_DURATION, profile.end - profile.start),
        nested(_PERIOD_TYPE, field(1, strings["cpu"]) + field(2, strings["nanoseconds"])),
        field(_PERIOD, round(1e9 / profile.rate_hz) if profile.rate_hz > 0 else 0),
        field(_DEFAULT_TYPE, strings["cpu"]),
    ]
    table = [nested(_STRING, text.encode(errors="replace")) for text in strings.numbers]
    return gzip.compress(b"".join(parts) + b"".join(table), mtime=0)


def _samples(profile: Profile, strings: _Strings) -> list[bytes]:
    spent: dict[tuple[str, str, int, int], list[int]] = defaultdict(lambda: [0] * len(_CLOCKS))
    for column, clock in enumerate(_CLOCKS):
        for thread, node, nanoseconds in profile.totals(clock):
            spent[thread.program, thread.name, thread.tid, node][column] += nanoseconds
    return [
        nested(
            _SAMPLE,
            field(1, [place + 1 for place in reversed(profile.path(node))])
            + field(2, values)
            + nested(3, field(1, strings["program"]) + field(2, strings[program]))
            + nested(3, field(1, strings["thread"]) + field(2, strings[name]))
            + nested(3, field(1, strings["tid"]) + field(3, tid)),
        )
        for (program, name, tid, node), values in spent.items()
    ]
