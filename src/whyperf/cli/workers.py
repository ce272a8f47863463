"""Who does the work of a diagnosis: `--jobs` processes of this machine, or the workers of a `--cluster`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from whyperf.cli.progress import BarProgress, Progress, progress
from whyperf.cli.quantities import count
from whyperf.errors import WhyperfError

if TYPE_CHECKING:
    from whyperf.diagnose.parallel.cluster import Tell
    from whyperf.engines.execution import Executor


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", metavar="N", type=count, help="processes of this machine to work with (default: 1)")
    parser.add_argument(
        "--cluster",
        metavar="dask://HOST:PORT",
        help="let a Dask cluster do the work: its workers need the recordings under the same paths",
    )


@contextmanager
def executor_for(args: argparse.Namespace) -> Iterator[Executor]:
    """What `add_workers`' options ask for, or the default where a command has none."""
    address = getattr(args, "cluster", None)
    if address is None:
        from whyperf.diagnose.parallel.processes import Processes

        yield Processes(getattr(args, "jobs", None) or 1)
        return
    from whyperf.diagnose.parallel.cluster import Cluster, scheduler_at

    if args.jobs is not None:
        raise WhyperfError("--jobs is for this machine: a cluster has its own workers.", _again(address), status=2)
    try:
        scheduler = scheduler_at(address)
    except ValueError:
        raise WhyperfError(f"{address} is no cluster's address.", _again("dask://HOST:PORT"), status=2) from None
    with progress() as shown, Cluster(scheduler, _told_by(shown)) as cluster:
        yield cluster


def refuse_cluster(args: argparse.Namespace, what: str) -> None:
    if getattr(args, "cluster", None) is not None:
        raise WhyperfError(
            f"--cluster is for sampled and traced recordings that are compared, and this is {what}.",
            "whyperf diagnose --good GOOD... --bad BAD... --cluster dask://HOST:PORT",
            status=2,
        )


def _told_by(shown: Progress) -> Tell:
    def tell(doing: str, done: int, total: int) -> None:
        if done == 0 or isinstance(shown, BarProgress):
            shown.step(f"{doing} ({done} of {total})" if done else doing, done / total, None)

    return tell


def _again(address: str) -> str:
    return f"whyperf diagnose GOOD BAD --cluster {address}"
