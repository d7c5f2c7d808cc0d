# SPDX-License-Identifier: BSD-2-Clause
"""A whole run in columns of equal length, for where a page holds no records.

Of each column: how long each domain had each pcpu and how often that changed, what each server
paid, each task's longest response, and its misses, which count where their deadlines lie. Columns
are filled chunk by chunk, so a trace may be of any length; the page gets a byte for each number.
Wider columns are sums, which the script of the timeline makes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final, TypedDict

import numpy as np
from numpy.typing import NDArray

from hyperperiod.trace.format import (
    EXTRA,
    NONE,
    RECORD,
    SECOND_PAYER,
    STOLEN,
    Header,
    Kind,
    Records,
    end_ns,
    of_kinds,
)
from hyperperiod.trace.interval_arrays import IntervalArray, interval_array

NUMBERS: Final = 1 << 20
"""About how many numbers a page carries, each a byte ..."""
FEWEST: Final = 256
MOST: Final = 1 << 14
"""... in at least and at most so many columns."""
DOMAINS: Final = 12
"""Domains of one pcpu that have numbers of their own: those that run longest. Others have a sum."""
OTHERS: Final = -1
"""Stands for all domains of a pcpu that have no numbers of their own ..."""
TAKEN: Final = -2
"""... and this for nobody, while the pcpu is stolen: neither is the place of a domain."""
OCTAVE: Final = 8
"""Steps in which a response doubles: 9 % each, and 254 of them are a factor of 3.6 billion."""


_Numbers = NDArray[np.int64]


class SeriesData(TypedDict):
    """A number for each column: a byte each, in base64, of which 255 means `scale`; "": all 0.

    Up to a scale of 255 numbers are exact.
    """

    scale: int
    bytes: str


class LongestData(TypedDict):
    """Responses in columns: byte `base` means `scale`, each above it 2 ** (1 / OCTAVE) times more.

    0 is no response. What a byte means is at least the response, and on its side of the deadline.
    """

    scale: int
    base: int
    bytes: str


class ShareData(TypedDict):
    """How long (ns) one domain had a pcpu, by its place among the domains, OTHERS or TAKEN."""

    domain: int
    time: SeriesData


class OverviewData(TypedDict):
    """The run in columns of `column` nanoseconds, as the timeline draws them.

    `octave` is in how many steps a response in `longest` doubles.
    """

    column: int
    octave: int
    pcpus: list[list[ShareData]]
    switches: list[SeriesData]
    paid: list[SeriesData]
    misses: list[SeriesData]
    longest: list[LongestData]


class Overview:
    """Fills the columns of a run that ends at `last_ns`; `servers`: those whose payments count.

    A page shows `runs` of one system in columns of the same length, whatever servers they have.
    """

    def __init__(
        self, header: Header, domains: list[str], servers: list[int], last_ns: int, runs: int = 1
    ) -> None:
        pcpus, tasks = header["pcpus"], len(header["tasks"])
        rows = pcpus * (min(len(domains), DOMAINS) + 3) + len(header["vcpus"]) + 2 * tasks
        fitting = 1 << max(1, NUMBERS // (rows * runs)).bit_length() - 1
        columns = min(max(FEWEST, fitting), MOST)
        self._column_ns = last_ns // columns + 1
        self._deadlines = [entry["deadline_ns"] for entry in header["tasks"]]
        self._thief = len(domains)
        self._domain = np.full(NONE + 1, -1)
        self._domain[: len(header["vcpus"])] = [
            domains.index(entry["domain"]) for entry in header["vcpus"]
        ]
        self._server = np.full(NONE + 1, -1)
        self._server[servers] = range(len(servers))
        # The last run or idle record of each pcpu.
        self._last: list[Records] = [np.empty(0, RECORD)] * pcpus
        self._since_ns = 0
        self._ran = np.full(pcpus, NONE, np.int64)
        self._time = np.zeros((pcpus, len(domains) + 1, columns), np.int64)
        self._switches = np.zeros((pcpus, columns), np.int64)
        self._paid = np.zeros((len(servers), columns), np.int64)
        self._misses = np.zeros((tasks, columns), np.int64)
        self._longest = np.zeros((tasks, columns), np.int64)

    def add(self, chunk: Records) -> None:
        """Adds these records, which follow those of the call before."""
        decided = of_kinds(chunk, Kind.RUN, Kind.IDLE)
        for pcpu, last in enumerate(self._last):
            own = np.concatenate((last, decided.compress(decided["pcpu"] == pcpu)))
            self._add_spans(pcpu, interval_array(np.concatenate((own, chunk[-1:])), pcpu))
            self._last[pcpu] = own[-1:].copy()
        self._since_ns = end_ns(chunk)
        missed = of_kinds(chunk, Kind.MISS)
        np.add.at(self._misses, (missed["task"], self._column(missed["value"])), 1)
        done = of_kinds(chunk, Kind.COMPLETE)
        at = done["task"], self._column(done["time_ns"])
        np.maximum.at(self._longest, at, done["value"].astype(np.int64))

    def found(self) -> OverviewData:
        """All columns, ready for JSON."""
        return {
            "column": self._column_ns,
            "octave": OCTAVE,
            "pcpus": [list(self._shares(time)) for time in self._time],
            "switches": [_series(numbers) for numbers in self._switches],
            "paid": [_series(numbers) for numbers in self._paid],
            "misses": [_series(numbers) for numbers in self._misses],
            "longest": [
                _responses(numbers, deadline_ns)
                for numbers, deadline_ns in zip(self._longest, self._deadlines, strict=True)
            ],
        }

    def _column(self, time_ns: NDArray[Any]) -> _Numbers:
        return (time_ns // self._column_ns).astype(np.int64)

    def _add_spans(self, pcpu: int, spans: IntervalArray) -> None:
        """Adds what a pcpu did; the first span began before, and is counted up to here."""
        spans["start_ns"] = np.maximum(spans["start_ns"], self._since_ns)
        spans = spans.compress(spans["end_ns"] > spans["start_ns"])
        vcpus = np.where(spans["kind"] == Kind.RUN, spans["vcpu"], NONE).astype(np.int64)
        begin = np.flatnonzero(np.diff(vcpus, prepend=self._ran[pcpu]))
        np.add.at(self._switches[pcpu], self._column(spans["start_ns"][begin]), 1)
        if len(vcpus):
            self._ran[pcpu] = vcpus[-1]
        flags = spans["flags"]
        who = np.where(flags & STOLEN, self._thief, self._domain[vcpus])
        self._spread(self._time[pcpu], who, spans)
        charged = spans.compress(flags & EXTRA == 0)
        self._spread(self._paid, self._server[charged["payer"]], charged)
        twice = charged.compress(charged["flags"] & SECOND_PAYER != 0)
        self._spread(self._paid, self._server[twice["vcpu"]], twice)

    def _spread(self, rows: _Numbers, row: _Numbers, spans: IntervalArray) -> None:
        """Adds the length of each span to its row, column by column; row -1 is nobody's."""
        spans, row = spans.compress(row >= 0), row[row >= 0]
        starts, ends = spans["start_ns"].astype(np.int64), spans["end_ns"].astype(np.int64)
        first = starts // self._column_ns
        pieces = (ends - 1) // self._column_ns - first + 1
        span = np.repeat(np.arange(len(spans)), pieces)
        column = first[span] + np.arange(len(span)) - (np.cumsum(pieces) - pieces)[span]
        begins = np.maximum(starts[span], column * self._column_ns)
        length = np.minimum(ends[span], (column + 1) * self._column_ns) - begins
        np.add.at(rows, (row[span], column), length)

    def _shares(self, time: _Numbers) -> Iterator[ShareData]:
        """The domains that had a pcpu longest, the others together, and what was stolen."""
        *domains, thief = time
        totals = time[:-1].sum(axis=1)
        ranked = np.argsort(-totals, kind="stable")
        for domain in sorted(ranked[:DOMAINS].tolist()):
            if totals[domain]:
                yield {"domain": domain, "time": _series(domains[domain])}
        others = time[ranked[DOMAINS:]].sum(axis=0)
        for name, numbers in ((OTHERS, others), (TAKEN, thief)):
            if numbers.any():
                yield {"domain": name, "time": _series(numbers)}


def _series(numbers: _Numbers) -> SeriesData:
    """The numbers as bytes, rounded to the nearest, except that what is not 0 stays so."""
    scale = max(255, int(numbers.max()))
    levels = np.maximum((numbers * 255 + scale // 2) // scale, numbers > 0)
    return {"scale": scale, "bytes": _packed(levels)}


def _responses(numbers: _Numbers, deadline_ns: int | None) -> LongestData:
    """The responses (ns) as bytes, rounded up on a logarithmic scale that names the deadline."""
    scale = deadline_ns or max(1, int(numbers.max()))
    steps = np.ceil(OCTAVE * np.log2(np.maximum(numbers, 1) / scale)).astype(np.int64)
    base = 255 - int(steps.max())
    levels = np.where(numbers > 0, np.maximum(steps + base, 1), 0)
    return {"scale": scale, "base": base, "bytes": _packed(levels)}


def _packed(levels: _Numbers) -> str:
    """Bytes in base64; none if all are 0."""
    return b64encode(levels.astype(np.uint8).tobytes()).decode() if levels.any() else ""
