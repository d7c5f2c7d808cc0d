# SPDX-License-Identifier: BSD-2-Clause
"""What servers did between two looks at them, and what a monitor is told of them.

A look is the daemon's answer to `status`. Counters of a server begin anew when the system is put in
force again; then there is no difference to be taken, and nothing is said of that interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from typing import Any, Final, NamedTuple

Look = Mapping[str, Any]


@dataclass(frozen=True)
class ServerRate:
    """A server between two looks; shares are of one cpu.

    `used` is the part of what it was promised that it has had: None for best effort.
    """

    name: str
    share: float
    used: float | None
    remaining: float | None
    """The part of its budget that is left at the second look; below 0: its debt."""
    stolen: float
    overruns: int
    short: int
    """Periods in which it had work throughout, and in which it was short of its budget."""
    woke_p99_ns: int | None
    """99 % of its wake-ups had a cpu so soon, at most; None: it had none."""
    runnable: int
    runs_at: int | None


FIRST_CLASS_NS: Final = 1 << 10
CLASSES: Final = 24
LIMITS_NS: Final = tuple(FIRST_CLASS_NS << number for number in range(CLASSES - 1))
"""The longest waits of all classes but the last one, which has all that are longer."""


def quantile_ns(counts: Sequence[int], percent: int, max_ns: int) -> int | None:
    """Returns a time that so many percent of waits did not exceed; None if there are none.

    `counts` are those of classes of waits, in which twice as long ones are the next class, and
    `max_ns` is the longest wait: so what is returned is at most twice as long as it need be.
    """
    wanted = -(-sum(counts) * percent // 100)
    if not wanted:
        return None
    for limit_ns, below in zip(LIMITS_NS, accumulate(counts), strict=False):
        if below >= wanted:
            return min(limit_ns, max_ns)
    return max_ns


def rates(before: Look, after: Look) -> list[ServerRate]:
    """The servers of the second look that the first one knows, in its order."""
    if before.get("base_ns") != after.get("base_ns"):
        return []
    known = {server["name"]: server for server in before.get("servers", []) if "now_ns" in server}
    return [
        _rate(known[server["name"]], server)
        for server in after.get("servers", [])
        if server["name"] in known and server.get("now_ns", 0) > known[server["name"]]["now_ns"]
    ]


def _rate(before: Look, after: Look) -> ServerRate:
    elapsed_ns = after["now_ns"] - before["now_ns"]

    def grown(key: str) -> int:
        return int(after[key] - before[key])

    waits = [
        now - then
        for then, now in zip_longest(before["wakeup_counts"], after["wakeup_counts"], fillvalue=0)
    ]
    share = (grown("used_ns") + grown("extra_ns") - grown("donated_ns")) / elapsed_ns
    used: float | None = None
    remaining: float | None = None
    if not after.get("best_effort"):
        used = grown("used_ns") * after["period_ns"] / (elapsed_ns * after["budget_ns"])
        remaining = after["remaining_ns"] / after["budget_ns"]
    return ServerRate(
        name=after["name"],
        share=share,
        used=used,
        remaining=remaining,
        stolen=grown("stolen_ns") / elapsed_ns,
        overruns=grown("overruns"),
        short=grown("short_periods"),
        woke_p99_ns=quantile_ns(waits, 99, after["wakeup_ns_max"]),
        runnable=after["runnable"],
        runs_at=after.get("runs_at"),
    )


class _Metric(NamedTuple):
    """A number of each server: its name for a monitor, its key here, how it is counted."""

    name: str
    key: str
    unit_ns: bool
    kind: str
    about: str


METRICS: Final = (
    _Metric("used_seconds_total", "used_ns", True, "counter", "served on the server's own budget"),
    _Metric("donated_seconds_total", "donated_ns", True, "counter", "of that, used by others"),
    _Metric("extra_seconds_total", "extra_ns", True, "counter", "served without its budget"),
    _Metric("stolen_seconds_total", "stolen_ns", True, "counter", "its cpu was another class's"),
    _Metric("thefts_total", "thefts", False, "counter", "times that its cpu was taken"),
    _Metric("overrun_seconds_total", "overrun_ns", True, "counter", "debts of late decisions"),
    _Metric("overruns_total", "overruns", False, "counter", "late decisions that left a debt"),
    _Metric("overrun_seconds_max", "overrun_ns_max", True, "gauge", "the greatest of these debts"),
    _Metric("arrivals_total", "arrivals", False, "counter", "times that it got work"),
    _Metric("runnable_threads", "runnable", False, "gauge", "threads that want to run"),
    _Metric("remaining_seconds", "remaining_ns", True, "gauge", "of its budget; below 0: its debt"),
    _Metric("periods_total", "periods", False, "counter", "periods with work throughout"),
    _Metric("short_periods_total", "short_periods", False, "counter", "of these: short of budget"),
    _Metric("supplied_seconds_min", "supplied_ns_min", True, "gauge", "least budget had in these"),
    _Metric("wakeups_depleted_total", "wakeups_depleted", False, "counter", "without budget left"),
    _Metric("wakeup_latency_seconds_max", "wakeup_ns_max", True, "gauge", "the longest of these"),
    _Metric("budget_seconds", "budget_ns", True, "gauge", "its budget"),
    _Metric("period_seconds", "period_ns", True, "gauge", "its period"),
)
PREFIX: Final = "hyperperiod_server_"
WAKEUPS: Final = f"{PREFIX}wakeup_latency_seconds"
NS_PER_S: Final = 1_000_000_000


def metrics(status: Look) -> str:
    """A status in the text format of Prometheus; a server that has no such number has no line."""
    lines = [
        "# HELP hyperperiod_running Whether the system is in force.",
        "# TYPE hyperperiod_running gauge",
        f"hyperperiod_running {int(status['running'])}",
        "# HELP hyperperiod_ends_total Times that the kernel has ended the system.",
        "# TYPE hyperperiod_ends_total counter",
        f"hyperperiod_ends_total {status['ends']}",
    ]
    servers = status.get("servers", [])
    lines += _wakeups([server for server in servers if "wakeup_counts" in server])
    for metric in METRICS:
        lines += _lines(metric, servers)
    return "\n".join(lines) + "\n"


def _lines(metric: _Metric, servers: Sequence[Look]) -> Iterator[str]:
    yield f"# HELP {PREFIX}{metric.name} Of each server: {metric.about}."
    yield f"# TYPE {PREFIX}{metric.name} {metric.kind}"
    for server in servers:
        value = server.get(metric.key)
        if value is not None:
            shown = _seconds(value) if metric.unit_ns else str(value)
            yield f"{PREFIX}{metric.name}{{{_labels(server)}}} {shown}"


def _wakeups(servers: Sequence[Look]) -> Iterator[str]:
    """The histograms of wake-ups: each class has all that are shorter as well."""
    yield f"# HELP {WAKEUPS} Of each server: from when a thread wakes up until it has a cpu."
    yield f"# TYPE {WAKEUPS} histogram"
    for server in servers:
        labels, counts = _labels(server), server["wakeup_counts"]
        for number, limit_ns in enumerate(LIMITS_NS):
            below = sum(counts[: number + 1])
            yield f'{WAKEUPS}_bucket{{{labels},le="{_seconds(limit_ns)}"}} {below}'
        yield f'{WAKEUPS}_bucket{{{labels},le="+Inf"}} {sum(counts)}'
        yield f"{WAKEUPS}_sum{{{labels}}} {_seconds(server['wakeup_ns'])}"
        yield f"{WAKEUPS}_count{{{labels}}} {sum(counts)}"


def _labels(server: Look) -> str:
    return f'server="{server["name"]}",cpu="{server.get("pcpu", "any")}"'


def _seconds(value_ns: int) -> str:
    """Nanoseconds as seconds, exactly."""
    sign = "-" if value_ns < 0 else ""
    whole, rest = divmod(abs(value_ns), NS_PER_S)
    return f"{sign}{whole}.{rest:09d}"
