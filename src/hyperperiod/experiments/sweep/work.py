# SPDX-License-Identifier: BSD-2-Clause
"""The work of a sweep: every part that is not done yet is judged and kept."""

from __future__ import annotations

import os
from collections.abc import Callable

from hyperperiod.experiments.sweep.experiment import LoadedSweep, PartOfWork
from hyperperiod.experiments.sweep.folder import SweepFolder
from hyperperiod.experiments.sweep.tables import part_as_parquet
from hyperperiod.libraries import require


def work(
    experiment: LoadedSweep,
    folder: SweepFolder,
    progress: Callable[[int], None],
    workers: int | None = None,
    scheduler: str | None = None,
) -> bool:
    """Does what is left; whether Ctrl-C ended it. `progress` is told how many systems are done.

    It is done by so many processes (as many as there are cores, if not said; one does without
    Dask), or by the workers of the Dask scheduler at an address.
    """
    parts, done = experiment.parts(), folder.done()
    left = [part for part in parts if part.number not in done]
    systems = sum(part.systems for part in parts if part.number in done)
    progress(systems)

    def keep(part: PartOfWork, tables: dict[str, bytes]) -> None:
        nonlocal systems
        folder.keep(part.number, tables)
        systems += part.systems
        progress(systems)

    processes = min(len(left), workers or len(os.sched_getaffinity(0)))
    try:
        if scheduler is not None and left:
            require("distributed", "sweep", "a sweep")
            from hyperperiod.experiments.sweep.on_dask import work_on_cluster

            work_on_cluster(experiment, left, scheduler, keep)
        elif processes > 1:
            require("distributed", "sweep", "a sweep", "; --workers 1 does without")
            from hyperperiod.experiments.sweep.on_dask import work_on_cores

            work_on_cores(experiment, left, processes, keep)
        else:
            for part in left:
                keep(part, part_as_parquet(experiment, part))
    except KeyboardInterrupt:
        return True
    return False
