# SPDX-License-Identifier: BSD-2-Clause
"""What servers did between two looks at them, and what a monitor is told of them.

A look is the daemon's answer to `status`. Counters of a server begin anew when the system is put in
force again; then there is no difference to be taken, and nothing is said of that interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    runnable: int
    runs_at: int | None


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
    _Metric("budget_seconds", "budget_ns", True, "gauge", "its budget"),
    _Metric("period_seconds", "period_ns", True, "gauge", "its period"),
)
PREFIX: Final = "hyperperiod_server_"
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
    for metric in METRICS:
        lines += _lines(metric, status.get("servers", []))
    return "\n".join(lines) + "\n"


def _lines(metric: _Metric, servers: Sequence[Look]) -> Iterator[str]:
    yield f"# HELP {PREFIX}{metric.name} Of each server: {metric.about}."
    yield f"# TYPE {PREFIX}{metric.name} {metric.kind}"
    for server in servers:
        value = server.get(metric.key)
        if value is not None:
            shown = _seconds(value) if metric.unit_ns else str(value)
            cpu = server.get("pcpu", "any")
            yield f'{PREFIX}{metric.name}{{server="{server["name"]}",cpu="{cpu}"}} {shown}'


def _seconds(value_ns: int) -> str:
    """Nanoseconds as seconds, exactly."""
    sign = "-" if value_ns < 0 else ""
    whole, rest = divmod(abs(value_ns), NS_PER_S)
    return f"{sign}{whole}.{rest:09d}"
