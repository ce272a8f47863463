"""Relations: which relation between events changed between two deep recordings (Perspect, OSDI 2023).

`compare.compare(good, bad, spec)` takes sketches or zooms, one or more a side, and returns `Relations`: findings, best
first, what the symptom was, and notes. `plan.plan_zoom(good, bad, spec)` says from two sketches what to zoom into.
"""

from __future__ import annotations

ENGINE = "relations"
