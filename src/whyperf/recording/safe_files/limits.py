"""How much of a recording or of another tool's file is read at most: a small hostile file must not take all memory."""

from __future__ import annotations

MOST_ROWS = 200_000_000
"""Of one table; `--max-rows` changes it. The largest recordings measured have 27 million rows (bench/history/costs.md),
and row numbers have 32 bits."""

MOST_JSON_BYTES = 16 << 20
"""Of manifest.json, start.json and the like: hundreds of times the largest seen. Parsed, it takes ten times as much."""

MOST_LOG_BYTES = 4 << 30
"""Of one file of the raw log. A recorder begins the next one after 64 MB, or after an eighth of `--max-size`."""

MOST_TEXT_BYTES = 1 << 30
"""Of all text in one table, decoded, or in one file beside the log. Ten million functions with names of a hundred
letters have as much."""

MOST_PROFILE_BYTES = 256 << 20
"""Of a profile with names (pprof, collapsed stacks), decompressed: real ones have tens of MB. In memory it takes up to
ten times as much."""

ROWS_OPTION = "--max-rows"
