"""Functions of another build in a run: the plans by which the target puts them in place of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whyperf.debuginfo.probes.plan_cache import SUFFIX
from whyperf.debuginfo.probes.plan_file import PatchPlan, written

_SAYS = "transplanted"  # the file in which processes say what became of them
_NOT_DONE = {
    3: "its plan is damaged",
    4: "its plan is of another version of whyperf",
    5: "its code or data in memory is not that of the file",
    6: "there is no room for the copy near it",
    9: "the system does not let code be changed",
    10: "the dynamic linker writes into its code",
    12: "the copied code calls a function that no loaded library has",
}


class Transplants:
    """`folder` is for them alone; None: nothing is to be loaded for them."""

    def __init__(self, folder: Path, plans: Sequence[PatchPlan] | None) -> None:
        self._folder, self._is_loaded = folder, plans is not None
        self._wanted = frozenset(plan.build_id for plan in plans or ())
        folder.mkdir()
        for plan in plans or ():
            (folder / f"{plan.build_id}{SUFFIX}").write_bytes(written(plan))

    def environment(self) -> dict[str, str]:
        if not self._is_loaded:
            return {}
        return {
            "WHYPERF_TRANSPLANT_PLANS": str(self._folder),
            "WHYPERF_TRANSPLANT_OUT": str(self._folder / _SAYS),
        }

    def why_not(self) -> str:
        """Why functions are not, or not everywhere, where they should be; empty if they are."""
        try:
            said = (self._folder / _SAYS).read_text(errors="replace").splitlines() if self._wanted else []
        except OSError:
            said = []
        reasons = [line.split() for line in said]
        done = {words[0] for words in reasons if len(words) == 2 and words[1] == "0"}
        for words in reasons:
            if len(words) != 2 or words[1] != "0":
                return _NOT_DONE.get(int(words[-1]) if words[-1].isdigit() else 0, "its plan was not understood")
        return "" if done >= self._wanted else "the file that it is for was not loaded"
