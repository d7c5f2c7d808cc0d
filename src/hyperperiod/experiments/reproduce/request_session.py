# SPDX-License-Identifier: BSD-2-Clause
"""A session of Experiment D, and what every host's bench of sessions does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from hyperperiod.experiments.reproduce.figure import Progress
from hyperperiod.experiments.reproduce.request_workload import DatabaseLoad

POLICIES: Final = ("ertds", "rtds")


class Session(NamedTuple):
    """What one session came to, or the mean of several; shares of a pcpu by VM.

    `used` is what a VM had, and `donated` what it did not pay of that.
    """

    throughput_hz: float
    response_ns: float
    used: Mapping[str, float]
    donated: Mapping[str, float]


class Bench(Protocol):
    """Where sessions are measured."""

    def sessions(
        self, run: DatabaseLoad, clients: int, seeds: Sequence[int], progress: Progress
    ) -> dict[str, list[Session]]:
        """The sessions of so many clients under each policy, one for each seed."""
        ...
