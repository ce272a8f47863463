"""Where in the program's own functions a stack is, as the context tree sees it."""

from __future__ import annotations

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run


class OwnFrames:
    """Of one run's stacks the frames of the program's own functions, outermost first: one for every context of the
    path. Of a function that calls itself it is the innermost."""

    def __init__(self, index: FunctionIndex, run: Run) -> None:
        self._own, self._function_of, self._run = index.own, index.of_frame[run], run
        self._known: dict[int, tuple[int, ...]] = {-1: ()}

    def of(self, stack: int) -> tuple[int, ...]:
        run, todo = self._run, []
        while stack not in self._known:
            todo.append(stack)
            stack = run.stack_parent[stack]
        frames = self._known[stack]
        for each in reversed(todo):
            for frame in run.frame_chain[run.stack_frame[each]]:
                if self._own[self._function_of[frame]]:
                    frames = self._entered(frames, frame)
            self._known[each] = frames
        return frames

    def _entered(self, frames: tuple[int, ...], frame: int) -> tuple[int, ...]:
        itself = bool(frames) and self._function_of[frames[-1]] == self._function_of[frame]
        return (*(frames[:-1] if itself else frames), frame)
