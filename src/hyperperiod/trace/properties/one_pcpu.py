# SPDX-License-Identifier: BSD-2-Clause
"""A vcpu runs on one pcpu at a time, and under a partitioned policy only on its own."""

import numpy as np

from hyperperiod.trace.format import Header, Kind, Records, server_name
from hyperperiod.trace.interval_arrays import interval_arrays
from hyperperiod.trace.properties.finding import PropertyVerdict


def check(header: Header, records: Records) -> PropertyVerdict:
    """Look for intervals of one vcpu that overlap, and for intervals on a foreign pcpu."""
    finding = PropertyVerdict()
    parts = []
    for pcpu, found in enumerate(interval_arrays(header, records)):
        ran = found[found["kind"] == Kind.RUN]
        _check_home(header, pcpu, ran, finding)
        parts.append(ran)
    runs = np.concatenate(parts)
    runs = runs[np.lexsort((runs["start_ns"], runs["vcpu"]))]
    same = runs["vcpu"][1:] == runs["vcpu"][:-1]
    overlap = same & (runs["start_ns"][1:] < runs["end_ns"][:-1])
    for at in np.flatnonzero(overlap):
        name = server_name(header, int(runs["vcpu"][at]))
        finding.add(int(runs["start_ns"][at + 1]), f"{name} runs on two pcpus at once")
    return finding


def _check_home(header: Header, pcpu: int, ran: Records, finding: PropertyVerdict) -> None:
    if header["scope"] != "partitioned":
        return
    homes = [entry["pcpu"] for entry in header["vcpus"]]
    for vcpu in np.unique(ran["vcpu"]).tolist():
        home = homes[vcpu]
        if home is not None and home != pcpu:
            start_ns = int(ran["start_ns"][ran["vcpu"] == vcpu][0])
            name = server_name(header, vcpu)
            finding.add(start_ns, f"{name} runs on pcpu {pcpu}, its own is {home}")
