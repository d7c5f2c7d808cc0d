# SPDX-License-Identifier: BSD-2-Clause
"""The work of a sweep on Dask: on all cores of this machine, or on a cluster that is there already.

Workers judge parts and hand back the bytes of their files; who asked for the sweep writes them. So
workers need no folder of ours, and a part is kept once, whoever judged it and however often. To
hand something out costs about ten milliseconds of processor time, whatever it is. So a worker is
handed several parts and goes on for half a second; what it has not begun by then is handed out
again. At any moment a few handfuls more are on their way than there are workers, which bounds the
memory of all.

A worker that dies loses its parts, which Dask gives to another one. A scheduler that dies loses all
that is on its way; it is asked for again, until one answers at the same address and does it. What
comes out is the same in either case: rows depend on the part alone.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from functools import lru_cache
from pickle import dumps, loads
from types import ModuleType
from typing import Any

from hyperperiod.experiments.sweep.experiment import LoadedSweep, PartOfWork, experiment_of
from hyperperiod.experiments.sweep.tables import part_as_parquet
from hyperperiod.model import FailedError, InputError, MissingError, Problem
from hyperperiod.version import VERSION

CONNECT_S = 10
"""How long a scheduler has to answer."""
PATIENCE_S = 600
"""How long a scheduler that was there may be gone."""
BREATH_S = 0.5
"""How long is waited before a scheduler is asked for again."""
HANDFUL = 8
"""How many parts a worker is handed at most."""
TURN_S = 0.5
"""How long a worker begins another part of its handful."""

Keep = Callable[[PartOfWork, dict[str, bytes]], None]
Files = dict[int, dict[str, bytes]]
"""The files of parts, by the numbers of these."""


_WITHOUT_DIAGNOSTICS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "5s",
}
"""Dask looks at its own processes a hundred times a second, for a dashboard that nobody sees. The
scheduler and who watches a worker do so in the process that asks for the sweep: 40 ms of each
second on a core that workers have use for."""


class _Lost(Exception):  # noqa: N818 - work goes on after it
    """The scheduler has gone."""


def work_on_cores(
    experiment: LoadedSweep, parts: list[PartOfWork], workers: int, keep: Keep
) -> None:
    """Judges the parts in so many processes of this machine, and keeps each as it comes."""
    import dask.config
    from distributed import Client, LocalCluster

    with _quiet(), _without_program(), dask.config.set(_WITHOUT_DIAGNOSTICS):
        with _ignored(signal.SIGINT):
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
                config=_WITHOUT_DIAGNOSTICS,
            )
        with cluster, Client(cluster) as client:
            _drain(client, experiment, deque(parts), keep)


def work_on_cluster(
    experiment: LoadedSweep, parts: list[PartOfWork], address: str, keep: Keep
) -> None:
    """Judges the parts on the cluster whose scheduler is at `address`, and keeps each as it comes.

    MissingError if none answers there, at first or for a long while.
    """
    todo = deque(parts)
    with _quiet():
        known = False
        answered = time.monotonic()
        while todo:
            try:
                with _client(address) as client:
                    known, answered = True, time.monotonic()
                    _drain(client, experiment, todo, keep)
            except _Lost:
                if not known or time.monotonic() - answered > PATIENCE_S:
                    what = f"no Dask scheduler answers at {address}"
                    raise MissingError(what, f"{START} (and workers for it)") from None
                time.sleep(BREATH_S)


START = "dask scheduler"


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """A connection to a scheduler; `_Lost` if there is none."""
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        if isinstance(error, ValueError):
            allowed = "the address of a Dask scheduler, such as tcp://10.0.0.1:8786"
            raise InputError("", None, "--scheduler", repr(address), allowed) from None
        raise _Lost from None
    try:
        yield client
    finally:
        client.close(timeout=CONNECT_S)


def _drain(client: Any, experiment: LoadedSweep, todo: deque[PartOfWork], keep: Keep) -> None:
    """Hands out parts and keeps them, until none is left; what is not kept stays in `todo`."""
    from distributed import as_completed

    document = dumps((experiment.name, experiment.document))
    waiting = deque(todo)
    under_way: dict[Any, list[PartOfWork]] = {}
    completed = as_completed(loop=client.loop)

    def hand_out() -> None:
        workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        while waiting and len(under_way) < 2 * workers + 1:
            # Towards the end handfuls are small, so that all workers end at the same time.
            some = min(HANDFUL, max(1, len(waiting) // (4 * workers)))
            parts = [waiting.popleft() for _ in range(some)]
            numbers = [part.number for part in parts]
            future = client.submit(_judged, document, numbers, VERSION, pure=False)
            under_way[future] = parts
            completed.add(future)

    hand_out()
    for future in completed:
        parts = under_way.pop(future)
        done = _result_of(future, parts[0])
        for part in parts:
            if part.number in done:
                keep(part, done[part.number])
                todo.remove(part)
        waiting.extendleft(part for part in reversed(parts) if part.number not in done)
        hand_out()


def _result_of(future: Any, first: PartOfWork) -> Files:
    """The files of the parts that are done; `_Lost` if nobody knows them any more.

    What is wrong is so with the first part that was handed out.
    """
    if future.status in ("cancelled", "lost"):
        raise _Lost
    if future.status == "error":
        error = future.exception()
        where = f"part {first.number}, systems {first.first} to {first.end - 1}"
        raise FailedError(f"{where}: {type(error).__name__}: {error}")
    try:
        said = future.result(timeout=CONNECT_S)
    except (OSError, TimeoutError, asyncio.CancelledError, futures.CancelledError):
        raise _Lost from None
    if isinstance(said, list):
        raise InputError.of(said)
    if isinstance(said, tuple):
        raise MissingError(*said)
    files: Files = said
    return files


def _judged(
    document: bytes, numbers: Sequence[int], version: str
) -> Files | list[Problem] | tuple[str, str]:
    """What a worker does: the files of the first parts of a handful, as many as it has time for.

    Or what is wrong with one of the first part's systems, or what the worker lacks, and what
    installs it.
    """
    if version != VERSION:
        found = f"hyperperiod {VERSION} on a worker"
        return [Problem("", None, "--scheduler", found, f"{version}, as here")]
    end = time.monotonic() + TURN_S
    experiment, parts = _experiment(document)
    done: Files = {}
    try:
        for number in numbers:
            done[number] = part_as_parquet(experiment, parts[number])
            if time.monotonic() > end:
                break
    except InputError as error:
        return done or list(error.problems)
    except MissingError as error:
        return done or (error.what, error.install)
    except Exception:
        # What is done is kept; the part that failed will be the first of another handful.
        if not done:
            raise
    return done


@lru_cache(maxsize=2)
def _experiment(document: bytes) -> tuple[LoadedSweep, list[PartOfWork]]:
    """The experiment and its parts, made once in each worker."""
    experiment = experiment_of(*loads(document))
    return experiment, experiment.parts()


@contextmanager
def _without_program() -> Iterator[None]:
    """Processes that are started do not run the program that asks for the sweep once more.

    Python has them do that, to know what the program defines; ours need nothing of it. A program
    that asks for a sweep without more ado would ask for one in each of them.
    """
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


@contextmanager
def _ignored(number: signal.Signals) -> Iterator[None]:
    """A signal is ignored, also by processes that are started: Ctrl-C is for who started them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's own messages are left out: what matters of them is said by errors."""
    import distributed  # noqa: F401 - it sets the levels of its loggers

    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
