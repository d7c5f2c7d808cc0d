# SPDX-License-Identifier: BSD-2-Clause
"""Whether what the analysis promises of systems is kept on Linux."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

from tests.support.guarantees import schedulable
from tests.support.on_linux import OVERHEADS, OnLinux, run_on_linux
from tests.support.promises import require_promises

from hyperperiod.analysis import AnalysisResult
from hyperperiod.hosts.linux.attend import NO_LOAD, ExtraLoad
from hyperperiod.model import System


def costs(system: System) -> System:
    """The system with what events take on Linux, for the analysis."""
    return system.replace(overheads=OVERHEADS)


def keep_their_promises(
    presets: Iterable[str],
    each: int,
    horizon_ns: int,
    folder: Path,
    costs: Callable[[System], System] = costs,
    load: ExtraLoad = NO_LOAD,
) -> None:
    """Systems that the analysis accepts miss nothing, and nothing responds later than its bound."""
    found = [pair for preset in presets for pair in islice(schedulable(preset, costs), each)]
    keep_them(found, horizon_ns, folder, load)


def keep_them(
    found: Sequence[tuple[System, AnalysisResult]],
    horizon_ns: int,
    folder: Path,
    load: ExtraLoad = NO_LOAD,
) -> list[OnLinux]:
    """The same of systems with their verdicts, which run on one machine."""
    done = run_on_linux([system for system, _ in found], horizon_ns, 1, folder, load)
    for (system, verdict), one in zip(found, done, strict=True):
        require_promises(system.name, verdict, one.result)
    return done
