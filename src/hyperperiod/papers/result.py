# SPDX-License-Identifier: BSD-2-Clause
"""The result of a reproduction: what `reproduce --json` prints.

A row is one point of the figure, and each experiment has rows of its own kind. Times are
nanoseconds, whole ones but for means. Keys with `interval` say where a mean over draws lies with a
confidence of 95 %, null with fewer than two draws. docs/formats.md has every key.
"""

from __future__ import annotations

from collections.abc import Mapping

from hyperperiod.experiments.confidence import Interval
from hyperperiod.model.result_object import ResultObject
from hyperperiod.papers.claim import Claim


class SpareGainRow(ResultObject):
    """Mean responses at one load under ERTDS and RTDS, and on Xen the simulator's beside them."""

    run: str
    host: str
    load: int
    sets: int
    ertds_ns: float
    rtds_ns: float
    ratio: float
    ratio_interval: Interval | None
    donated_ns: int
    ertds_sim_ns: float | None = None
    rtds_sim_ns: float | None = None
    timing: str = ""


class RequestRow(ResultObject):
    """Throughput and mean responses of so many clients.

    What VMs had under ERTDS are shares of a pcpu, by name: `used`, and of that `donated`. They have
    their intervals by name, too, and none of one set.
    """

    run: str
    clients: int
    ertds_hz: float
    ertds_hz_interval: Interval | None
    rtds_hz: float
    rtds_hz_interval: Interval | None
    gain: float
    gain_interval: Interval | None
    ertds_ns: float
    rtds_ns: float
    ratio: float
    ratio_interval: Interval | None
    used: Mapping[str, float]
    used_interval: Mapping[str, Interval]
    donated: Mapping[str, float]
    donated_interval: Mapping[str, Interval]
    host: str
    sets: int


class ResponseRange(ResultObject):
    """The shortest, the mean and the longest response."""

    min: int
    mean: int
    max: int


class PacketRow(ResultObject):
    """The packets of one wheel at a load, null without an answer."""

    policy: str
    host: str
    load: int
    domain: str
    packets: int
    misses: int
    response_ns: ResponseRange | None


class PacketRunRow(ResultObject):
    """The same with the way in which load and packets came, how many were dropped, and the draws.

    Of all draws together; `mean_interval_ns` is about the mean response of a draw,
    `max_interval_ns` about the largest of a draw, and `late_draws` had a miss.
    """

    policy: str
    host: str
    load_as: str
    come: str
    switch_ns: int
    load: int
    domain: str
    packets: int
    dropped: int
    misses: int
    draws: int
    late_draws: int
    response_ns: ResponseRange | None
    mean_interval_ns: Interval | None
    max_interval_ns: Interval | None


class WorstPacketRow(ResultObject):
    """The latest answer that a search found in one system, beside its bound and the paper's."""

    policy: str
    system: str
    flow: str
    found_ns: int
    bound_ns: int
    ratio: float
    paper_ns: int
    plays: int


class ServerEventsRow(ResultObject):
    """How often handlers ran for servers; of several draws the means; the paper's time beside.

    On Linux and on Xen also how long they ran: `overhead_ns` in all, of which `decide_ns` in
    decisions, `wake_ns` and `sleep_ns` when tasks are released and complete, `switch_ns` at
    switches. Of two cores, `times` is how many times as long as on one, for the same servers.
    """

    test: str
    policy: str
    host: str
    servers: int
    pcpus: int
    draws: int
    refill_runs: float
    refill_runs_interval: Interval | None
    preemptions: float
    preemptions_interval: Interval | None
    picks: float
    picks_interval: Interval | None
    paper_ns: int | None
    overhead_ns: float | None = None
    overhead_interval_ns: Interval | None = None
    decide_ns: float | None = None
    wake_ns: float | None = None
    sleep_ns: float | None = None
    switch_ns: float | None = None
    times: float | None = None
    times_interval: Interval | None = None


class ServerRunRow(ResultObject):
    """How often a server ran, was preempted, and how long it ran at a stretch."""

    policy: str
    host: str
    server: str
    pcpu: int
    runs: int
    preemptions: int
    longest_ns: int


class ResponseRow(ResultObject):
    """Responses over deadlines, and deadline misses, in a setting under a policy.

    `dmr` is the mean over draws; `less` by how much it is below that of the policy before it, draw
    by draw, and `worse_draws` in how many it is above. `paper_quantile` is the share of draws that
    miss no more than the paper's single one. Ratios are clipped at 3.
    """

    setting: str
    policy: str
    host: str
    draws: int
    jobs: int
    overhead: float
    overhead_interval: Interval | None
    dmr: float
    dmr_interval: Interval | None
    paper_dmr: float | None
    paper_quantile: float | None
    less: float | None
    less_interval: Interval | None
    worse_draws: int
    median: float
    percentiles: tuple[float, ...]


class ArincRow(ResultObject):
    """What interfaces and tasks of a drawn workload take of the pcpu, and the paper's numbers."""

    workload: int
    draws: int
    interfaces: float
    interfaces_interval: Interval | None
    paper_interfaces: float
    tasks: float
    tasks_interval: Interval | None
    paper_tasks: float
    overhead: float
    overhead_interval: Interval | None
    paper_overhead: float


class DomainMissRow(ResultObject):
    """A domain's interface overhead, its deadline miss ratios under PTPS (`dmr`), WCPS, CRPS."""

    domain: int
    host: str
    draws: int
    overhead: float
    dmr: float
    dmr_interval: Interval | None
    paper_dmr: float
    wcps_dmr: float
    wcps_dmr_interval: Interval | None
    crps_dmr: float
    crps_dmr_interval: Interval | None


class InterfaceSearchRow(ResultObject):
    """What a bound on periods finds: periods tried, bandwidth above the least, how often least."""

    periods: str
    bound: str
    draws: int
    components: int
    tried: float
    tried_interval: Interval | None
    extra: float
    extra_interval: Interval | None
    optimal: float


class HotSwapRow(ResultObject):
    """The lowest domain's jobs released from `start_ns` on, and the share that was late.

    `less` is how much fewer were late than in the first window under the same policy, draw by draw.
    """

    policy: str
    host: str
    draws: int
    start_ns: int
    jobs: int
    dmr: float
    dmr_interval: Interval | None
    less: float | None
    less_interval: Interval | None


class BareLoopRow(ResultObject):
    """The busy loop on the bare machine: how many, how long without and with a tick."""

    source: str
    samples: int
    shortest_ns: int
    with_tick_ns: int | None
    longest_ns: int
    ticks: int | None


class AwayRow(ResultObject):
    """For how long a VM ran and was away, on average over tests; null where it was never away."""

    source: str
    policy: str
    host: str
    draws: int
    on_ns: float | None
    on_interval_ns: Interval | None
    off_ns: float | None
    off_interval_ns: Interval | None
    longest_ns: int


class InterruptRow(ResultObject):
    """How long interrupts waited, over runs; null where it is not known."""

    source: str
    policy: str
    host: str
    draws: int
    interrupts: int | None
    unanswered: int | None
    mean_ns: float | None
    mean_interval_ns: Interval | None
    max_ns: int | None


Row = (
    SpareGainRow
    | RequestRow
    | PacketRow
    | ServerEventsRow
    | ServerRunRow
    | ResponseRow
    | ArincRow
    | DomainMissRow
    | InterfaceSearchRow
    | HotSwapRow
    | BareLoopRow
    | AwayRow
    | InterruptRow
)


class ReproductionResult(ResultObject):
    """A paper's figure as it came out here."""

    name: str
    title: str
    source: str
    rows: tuple[Row, ...]
    measured: tuple[PacketRunRow | WorstPacketRow, ...] = ()
    claims: tuple[Claim, ...]
    interrupted: bool
