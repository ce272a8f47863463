"""The one exception that a user's mistake or a machine's limit becomes: a sentence and the next command."""

from __future__ import annotations


class WhyperfError(Exception):
    """What went wrong in one sentence, and what to type next. The command line prints it and exits with `status`."""

    def __init__(self, sentence: str, next_command: str | None = None, *, status: int = 1) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.next_command = next_command
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        """Workers raise it too, elsewhere."""
        return _again, (type(self), self.sentence, self.next_command, self.status)


def _again(kind: type[WhyperfError], sentence: str, next_command: str | None, status: int) -> WhyperfError:
    return kind(sentence, next_command, status=status)
