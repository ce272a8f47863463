"""Where a forge shows a line of a file."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote


def blob_url(environment: Mapping[str, str], commit: str) -> str | None:
    """What a file's path is added to; None outside of the forges' jobs."""
    server, repository = environment.get("GITHUB_SERVER_URL"), environment.get("GITHUB_REPOSITORY")
    if server and repository:
        return f"{server}/{quote(repository)}/blob/{commit}/"
    project = environment.get("CI_PROJECT_URL")
    return f"{project}/-/blob/{commit}/" if project else None


def line_url(blob: str, file: str, line: int) -> str:
    return f"{blob}{quoted_path(file)}" + (f"#L{line}" if line else "")


def quoted_path(file: str) -> str:
    """A path as a part of an address. What is no text in a name of a file, Python has as surrogates."""
    try:
        return quote(file.encode(errors="surrogateescape"))
    except UnicodeEncodeError:
        return quote(file.encode(errors="surrogatepass"))
