from typing import Any, TypedDict

class Scanned(TypedDict):
    modules: list[tuple[str, bytes, int, int]]
    sites: bytes
    pairs: bytes
    watches: bytes
    unsupported: list[tuple[int, int, bytes]]
    inexact: tuple[int, ...]
    events: int
    producers: int
    instructions: int
    threads: int
    forks: int
    ending: int

class Columns(TypedDict):
    site: bytes
    region: bytes
    join: bytes
    first: bytes
    producers: bytes
    kinds: bytes
    regions: bytes
    heap: bytes

def scan(path: str, /) -> Scanned: ...
def decode(path: str, flow: tuple[Any, ...] | None, /) -> Columns: ...
def check(chunk: bytes, /) -> int: ...
