"""The model put into the page that `web/` is built into."""

from __future__ import annotations

import html
import json
import math
from importlib import resources
from typing import Any

from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.dataclass_json import to_plain
from whyperf.report.html.model import PageModel
from whyperf.report.printable import printable

_FILE = resources.files("whyperf.report.html").joinpath("page.html")
_MODEL = '<script type="application/json" id="model"></script>'
_TITLE = "<title>whyperf</title>"
_DIGITS = 6  # of numbers
_LONGEST = 1000  # characters of a text: generated names and lines can have any number of them


def render(model: PageModel) -> str:
    """One HTML file, ASCII only: whatever names the recorded program had, they are data in it and never markup."""
    page, opening = _template(), _MODEL.removesuffix("</script>")
    title = html.escape(printable(model.title), quote=True).encode("ascii", "xmlcharrefreplace").decode("ascii")
    page = page.replace(_TITLE, f"<title>{title} - whyperf</title>")
    return page.replace(_MODEL, f"{opening}{embedded(model)}</script>")


def embedded(model: PageModel) -> str:
    """The model as JSON that can stand in an HTML script element: nothing in it can end the element or open another."""
    text = json.dumps(_fit(to_plain(model)), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _fit(value: Any) -> Any:
    """Text without characters that hide, reorder or move; numbers no longer than anybody reads; no infinities."""
    if isinstance(value, str):
        return printable(value if len(value) <= _LONGEST else value[:_LONGEST] + "…")
    if isinstance(value, float):
        return _rounded(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _fit(one) for key, one in value.items()}
    return [_fit(one) for one in value] if isinstance(value, list) else value


def _rounded(value: float) -> float | int:
    short = float(f"{value:.{_DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def check_installed() -> None:
    """Better said before an hour of recording than after it."""
    if not is_installed():
        raise WhyperfError("This whyperf was installed without its page: build it first.", "make page")


def is_installed() -> bool:
    return _FILE.is_file()


def _template() -> str:
    check_installed()
    return _FILE.read_text(encoding="utf-8")
