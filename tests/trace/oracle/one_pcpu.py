# SPDX-License-Identifier: BSD-2-Clause
"""A vcpu runs on one pcpu at a time, and under a partitioned policy only on its own."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.trace.oracle.finding import PropertyVerdict

from hyperperiod.trace.format import Header, Kind, Records, server_name
from hyperperiod.trace.interval_arrays import interval_arrays


def check(header: Header, records: Records) -> PropertyVerdict:
    """Look for intervals of one vcpu that overlap, and for intervals on a foreign pcpu."""
    finding = PropertyVerdict()
    moves = records[records["kind"] == Kind.MOVE]
    parts = []
    for pcpu, found in enumerate(interval_arrays(header, records)):
        ran = found[found["kind"] == Kind.RUN]
        _check_home(header, moves, pcpu, ran, finding)
        parts.append(ran)
    runs = np.concatenate(parts)
    runs = runs[np.lexsort((runs["start_ns"], runs["vcpu"]))]
    same = runs["vcpu"][1:] == runs["vcpu"][:-1]
    overlap = same & (runs["start_ns"][1:] < runs["end_ns"][:-1])
    for at in np.flatnonzero(overlap):
        name = server_name(header, int(runs["vcpu"][at]))
        finding.add(int(runs["start_ns"][at + 1]), f"{name} runs on two pcpus at once")
    return finding


def _check_home(
    header: Header, moves: Records, pcpu: int, ran: Records, finding: PropertyVerdict
) -> None:
    if header["scope"] != "partitioned":
        return
    for vcpu in np.unique(ran["vcpu"]).tolist():
        starts = ran["start_ns"][ran["vcpu"] == vcpu]
        homes = _homes(header, moves, vcpu, starts)
        for at in np.flatnonzero(homes != pcpu)[:1]:
            name = server_name(header, vcpu)
            finding.add(int(starts[at]), f"{name} runs on pcpu {pcpu}, its own is {homes[at]}")


def _homes(header: Header, moves: Records, vcpu: int, times: NDArray[Any]) -> NDArray[Any]:
    """The pcpu of a vcpu at each of these instants, from its moves."""
    own = moves[moves["vcpu"] == vcpu]
    places = np.concatenate([[header["vcpus"][vcpu]["pcpu"] or 0], own["pcpu"]])
    found: NDArray[Any] = places[np.searchsorted(own["time_ns"], times, side="right")]
    return found
