"""Who answers for time where two builds do the same work: rather code that differs than code that is the same.

What code that is the same would answer for goes to the changed code that answers already, else to the nearest on its
stack as far out as growth is concentrated, else to changed code anywhere, which may have made what others work on.
Contexts that have not grown stay whose they are: their time would only be noise in what the changed code answers for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whyperf.engines.changed_code import ChangedCode
from whyperf.engines.context_tree import ROOT, ContextTree
from whyperf.engines.excess.growth import ContextGrowth
from whyperf.engines.excess.settings import ExcessSettings
from whyperf.engines.run import Floats


class TwoBuilds:
    def __init__(
        self, tree: ContextTree, growth: ContextGrowth, code: ChangedCode, spent: Floats, settings: ExcessSettings
    ) -> None:
        self._tree, self._growth, self._code, self._settings = tree, growth, code, settings
        self._functions: list[int] = tree.function.tolist()
        self._has_grown: list[bool] = (spent > 0.0).tolist()
        seen = {function: node for node, function in reversed([*enumerate(self._functions)])}
        # Whoever calls new code has changed, too; and everything runs under an entry point.
        able = (code.changed - code.new - growth.entries) or code.changed
        if len(able) > settings.most_changes:
            able = frozenset()
        self._anywhere = [(seen.get(function, ROOT), function) for function in sorted(able)]

    def answers(self, node: int, shares: Mapping[int, float]) -> Iterator[tuple[int, int, float]]:
        """Contexts with their functions and what each answers for of the time in `node`; adds up as `shares` do."""
        functions, code = self._functions, self._code
        taken = 1.0 - self._settings.same_code_answers
        same = sum(part for at, part in shares.items() if functions[at] in code.same)
        heirs = self._heirs(node, shares) if same > 0.0 and self._has_grown[node] else []
        left = 1.0 - taken * sum(part for _, _, part in heirs)
        for at, part in shares.items():
            if part > 0.0:
                yield at, functions[at], part * left if functions[at] in code.same else part
        for at, function, part in heirs:
            yield at, function, same * taken * part

    def _heirs(self, node: int, shares: Mapping[int, float]) -> list[tuple[int, int, float]]:
        """Contexts and functions whose code differs, with their parts of what is taken from the rest."""
        functions, changed, settings = self._functions, self._code.changed, self._settings
        answering = {at: part for at, part in shares.items() if functions[at] in changed and part > 0.0}
        if answering:
            total = sum(answering.values())
            return [(at, functions[at], part / total) for at, part in answering.items()]
        for at, _ in self._growth.path(node).region:
            if functions[at] in changed and functions[at] not in self._growth.entries:
                return [(at, functions[at], 1.0)]
        if not self._anywhere:
            return []
        # The more functions have changed, the less that says about each of them; most it says about those on the stack.
        on_stack = {functions[at]: at for at in self._tree.path(node)}
        weights = [settings.change_on_stack if function in on_stack else 1.0 for _, function in self._anywhere]
        each = min(1.0, settings.telling_changes / len(self._anywhere)) / sum(weights)
        return [
            (on_stack.get(function, at), function, each * weight)
            for (at, function), weight in zip(self._anywhere, weights, strict=True)
        ]
