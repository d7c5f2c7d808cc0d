# SPDX-License-Identifier: BSD-2-Clause
"""How far the reading of traces for a page has come, told to whoever waits for the page."""

from collections.abc import Callable, Iterable, Iterator

from hyperperiod.trace.format import Records, chunks

Progress = Callable[[int, int], None]
"""Is called with the number of records that have been read, and how many there are to read."""


def silent(_done: int, _total: int) -> None:
    """The progress of a page for which nobody waits."""


class Meter:
    """Counts the records that pass and reports them; `total` is how many will pass in the end."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def chunks(self, records: Records) -> Iterator[Records]:
        """The records piece by piece; each is counted when the next one is asked for."""
        return self.counted(chunks(records))

    def counted(self, pieces: Iterable[Records]) -> Iterator[Records]:
        """The pieces as they are; each is counted when the next one is asked for."""
        for piece in pieces:
            yield piece
            self._done = min(self._done + len(piece), self._total)
            self._progress(self._done, self._total)

    def finish(self) -> None:
        """All that was needed has been read, even if that is less than was thought."""
        self._done = self._total
        self._progress(self._done, self._total)
