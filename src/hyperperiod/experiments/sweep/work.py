# SPDX-License-Identifier: BSD-2-Clause
"""The work of a sweep: every part that is not done yet is judged and kept."""

from __future__ import annotations

from collections.abc import Callable

from hyperperiod.experiments.sweep.experiment import Experiment
from hyperperiod.experiments.sweep.folder import SweepFolder
from hyperperiod.experiments.sweep.tables import part_as_parquet


def work(experiment: Experiment, folder: SweepFolder, progress: Callable[[int], None]) -> bool:
    """Does what is left; whether Ctrl-C ended it. `progress` is told how many systems are done."""
    parts = experiment.parts()
    done = folder.done()
    systems = sum(part.systems for part in parts if part.number in done)
    progress(systems)
    try:
        for part in parts:
            if part.number not in done:
                folder.keep(part.number, part_as_parquet(experiment, part))
                systems += part.systems
                progress(systems)
    except KeyboardInterrupt:
        return True
    return False
