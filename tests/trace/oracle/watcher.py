# SPDX-License-Identifier: BSD-2-Clause
"""Properties that are judged moment by moment: what they share, and how they share one replay."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from tests.trace.oracle.finding import (
    PropertyVerdict,
    Watch,
    lateness_ns,
    skipped,
)
from tests.trace.oracle.replay import Moment, moments

from hyperperiod.trace.format import Header, Progress, Records
from hyperperiod.trace.properties import Status

MOMENTS_AT_ONCE: Final = 1 << 13
"""Between two looks at progress: some tenth of a second."""


class Watcher(ABC):
    """Sees every moment of a run and finds what is wrong with it."""

    def __init__(self, header: Header, skip: str = "") -> None:
        """`skip` says why this property has nothing to say about the run, if it has not."""
        self.header = header
        self.allowed_ns = lateness_ns(header)
        self.finding = skipped(skip) if skip else PropertyVerdict()
        self.watch = Watch(self.finding, self.allowed_ns)

    @abstractmethod
    def see(self, moment: Moment) -> None:
        """Judge one moment; it is the replay's own and changes afterwards."""

    def close(self) -> PropertyVerdict:
        """The finding at the end of the run."""
        return self.finding

    def wrong(self, moment: Moment, key: object, text: str) -> None:
        """Notes that a moment is wrong in the way that `key` names; it counts if it lasts."""
        self.watch.wrong(key, moment.now_ns, moment.until_ns, text)


def watch_all(
    watchers: Sequence[Watcher],
    header: Header,
    records: Records,
    progress: Progress | None = None,
) -> list[PropertyVerdict]:
    """Replay the run once before all of them; `progress` is called now and then with the time."""
    awake = [one for one in watchers if one.finding.status is not Status.SKIPPED]
    for number, moment in enumerate(moments(header, records) if awake else ()):
        for one in awake:
            one.see(moment)
        if progress is not None and number % MOMENTS_AT_ONCE == 0:
            progress(moment.now_ns)
    return [one.close() if one in awake else one.finding for one in watchers]


def watched(watcher: Watcher, records: Records) -> PropertyVerdict:
    """What a watcher finds in a run that is replayed before it."""
    return watch_all([watcher], watcher.header, records)[0]
