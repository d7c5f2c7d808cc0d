# SPDX-License-Identifier: BSD-2-Clause
"""What `fit` chose as a page: the servers on each pcpu, and how far that is from the best.

Made from the object that `fit --json` prints. Bandwidths are shares of one pcpu; the bars of pcpus
are as long as their bandwidth, those of bounds relative to the longest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hyperperiod.analysis.fit.fit_result import BOUND_NAMES, FitDomain, FitResult
from hyperperiod.model import System
from hyperperiod.report.page import render
from hyperperiod.report.palette import color
from hyperperiod.report.playground import open_in_playground

VERDICTS = {"optimal": "good", "fitted": "good", "infeasible": "bad"}


@dataclass(frozen=True)
class Segment:
    """A server in the bar of its pcpu: where it begins and how long it is, as shares of the bar."""

    name: str
    color: str
    start: float
    share: float
    bandwidth: float


@dataclass(frozen=True)
class PcpuBar:
    """The servers of a pcpu beside one another, or under a global policy those of all pcpus."""

    name: str
    bandwidth: float
    segments: tuple[Segment, ...]


def fit_page(path: Path, found: FitResult, system: System | None = None) -> None:
    """Writes the page to `path`; with the `system` that was found it leads to the playground."""
    colors = {domain.name: color(index) for index, domain in enumerate(found.domains)}
    reached = list(_reached(found))
    render(
        path,
        "fit.html.j2",
        title=f"{found.system} under {found.policy}",
        found=found,
        playground=open_in_playground(path, system),
        verdict=VERDICTS.get(found.status, "open"),
        colors=colors,
        pcpus=list(_bars(found, colors)),
        reached=reached,
        longest=max((value for _, value in reached), default=1.0) or 1.0,
    )


def bandwidth_of(domain: FitDomain) -> float:
    """Returns the bandwidth of all vcpus of a domain, 0 for one without servers."""
    return domain.interface.bandwidth * domain.vcpus if domain.interface else 0.0


def _bars(found: FitResult, colors: dict[str, str]) -> Iterator[PcpuBar]:
    domains = {domain.name: domain for domain in found.domains}
    for pcpu in found.pcpus:
        everywhere = pcpu.id is None
        room = max(pcpu.bandwidth, found.asked.pcpus if everywhere else 1)
        start, segments = 0.0, []
        for name in pcpu.domains:
            bandwidth = bandwidth_of(domains[name])
            share = bandwidth / room
            segments.append(Segment(name, colors[name], start, share, bandwidth))
            start += share
        name = "all pcpus" if everywhere else f"pcpu {pcpu.id}"
        yield PcpuBar(name, pcpu.bandwidth, tuple(segments))


def _reached(found: FitResult) -> Iterator[tuple[str, float]]:
    """Yields what no system can be below, then what the search reached, all of the bandwidth."""
    bandwidth = found.bandwidth
    for name, value in bandwidth.bounds.items():
        yield f"no less: {BOUND_NAMES[name]}", value
    if found.search.heuristic is not None and found.asked.least == "bandwidth":
        yield "found by heuristics", found.search.heuristic
    if bandwidth.found is not None:
        yield "found", bandwidth.found
