# SPDX-License-Identifier: BSD-2-Clause
"""What is said of handlers' times, measured on Linux or on Xen, and how they are drawn.

The times are those of `server_handlers`, in nanoseconds of a machine on which an instruction takes
one; the paper's are microseconds of its own. So what is compared is how much more one setting costs
than another. Of several draws the paper has one, and does not print it: what is said of ours is
said of means with their confidence intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import ends, with_interval
from hyperperiod.experiments.reproduce.result import ServerEventsRow
from hyperperiod.experiments.reproduce.server_events import POLICIES
from hyperperiod.model import format_time
from hyperperiod.report.frame import Scale, time_scale
from hyperperiod.report.groups import Group, GroupChart, Mark
from hyperperiod.report.lines import Curve, LineChart

HANDLER_TIMES = ("decide_ns", "wake_ns", "sleep_ns", "switch_ns")
"""The keys of a row that say how long each handler ran."""
HSF, PARTITIONED = POLICIES
PAPER_LESS = (3, 5)
"""The numbers of servers with which the paper found two cores cheaper."""
AS_GOOD = 1.02
"""A time up to this many times another one counts as no more."""
THIRD_MORE = 4 / 3


def number_claims(rows: Sequence[ServerEventsRow], more: str, less: str) -> Iterator[Claim]:
    """What Fig. 7 says of servers on one core and on two."""
    found = {row.servers: row for row in _of(rows, PARTITIONED)}
    ratios = {count: ends(row.times or 0.0, row.times_interval) for count, row in found.items()}
    dearer = [count for count, (low, _) in ratios.items() if low > 1]
    cheaper = [count for count, (_, high) in ratios.items() if high < 1]
    yield Claim(
        "Two cores cost more than one with 2, 4 and 6 to 10 servers.",
        more,
        "; ".join(
            f"{count} servers: {with_interval(_two_digits, row.times or 0.0, row.times_interval)}"
            " times as much"
            for count, row in found.items()
            if count not in PAPER_LESS
        ),
        set(dearer) >= set(found) - set(PAPER_LESS),
    )
    yield Claim(
        "Two cores cost less than one with 3 and 5 servers.",
        less,
        "; ".join(
            f"{count} servers: {with_interval(_two_digits, row.times or 0.0, row.times_interval)}"
            " times as much"
            for count, row in found.items()
            if count in PAPER_LESS
        ),
        set(cheaper) >= set(PAPER_LESS) & set(found),
    )


def test_claims(rows: Sequence[ServerEventsRow], release: str, preemption: str) -> Iterator[Claim]:
    """What Table 1 says of releases that coincide, and of preemptions."""
    found = {(row.test, row.policy): row for row in rows}
    one, two = found["release", HSF], found["release", PARTITIONED]
    yield Claim(
        "Servers that are released together cost more on two cores than on one.",
        f"{release}: {_paper_ratio(two, one)}",
        f"{_times(two, one)}",
        _ratio(two, one) > 1,
    )
    one, two = found["preemption", HSF], found["preemption", PARTITIONED]
    yield Claim(
        "A server that is preempted again and again costs more on one core than on two.",
        f"{preemption}: {_paper_ratio(one, two)}",
        f"{_times(one, two)}, with {one.preemptions} preemptions and {two.preemptions}",
        _ratio(one, two) > 1 and one.preemptions > two.preemptions == 0,
    )


def allocation_claims(rows: Sequence[ServerEventsRow], mixed: str, advice: str) -> Iterator[Claim]:
    """What Table 3 says of servers that are grouped by period, and mixed."""
    grouped, other, fitted = rows[:3]
    yield Claim(
        "Mixed periods cost at least a third more time than periods grouped by core.",
        f"{mixed}: {_paper_ratio(other, grouped)}",
        _times(other, grouped),
        _ratio(other, grouped) >= THIRD_MORE,
    )
    yield Claim(
        "What `fit --least overhead` finds costs no more than the paper's grouping, to 2 %.",
        advice,
        _times(fitted, grouped),
        _ratio(fitted, grouped) <= AS_GOOD,
        mark="ours",
    )


def overhead_lines(
    title: str, source: str, rows: Sequence[ServerEventsRow], horizon_ns: int
) -> LineChart:
    """The time of all handlers by the number of servers, with its intervals."""
    longest_ns = max((ends(_overhead(row), row.overhead_interval_ns)[1] for row in rows), default=1)
    curves = [
        Curve(
            policy,
            [(float(row.servers), _overhead(row)) for row in _of(rows, policy)],
            dots=True,
            whiskers=[
                (float(row.servers), interval.low, interval.high)
                for row in _of(rows, policy)
                if (interval := row.overhead_interval_ns)
            ],
        )
        for policy in POLICIES
    ]
    return LineChart(
        title,
        Scale("servers"),
        time_scale(f"handlers' time in {format_time(horizon_ns)}", longest_ns),
        curves,
        subtitle=f"{source}, {_where(rows)}",
        x_min=float(min((row.servers for row in rows), default=0)),
        x_max=float(max((row.servers for row in rows), default=1)),
    )


def handler_bars(title: str, source: str, rows: Sequence[ServerEventsRow]) -> GroupChart:
    """The time of each handler, of each row beside one another."""
    longest_ns = max((getattr(row, name) for row in rows for name in HANDLER_TIMES), default=1)
    names = {HSF: "one core", PARTITIONED: "two cores"}
    both = len({row.policy for row in rows}) > 1
    return GroupChart(
        title,
        time_scale("time of handlers", longest_ns),
        ["decide", "wake", "sleep", "switch"],
        [
            Group(
                f"{row.test}, {names[row.policy]}" if both else row.test,
                [Mark(float(getattr(row, name))) for name in HANDLER_TIMES],
            )
            for row in rows
        ],
        subtitle=f"{source}, {_where(rows)}",
    )


def _where(rows: Sequence[ServerEventsRow]) -> str:
    """The host of the rows."""
    return " and ".join(sorted({f"measured on {row.host.capitalize()}" for row in rows}))


def _of(rows: Sequence[ServerEventsRow], policy: str) -> list[ServerEventsRow]:
    return [row for row in rows if row.policy == policy]


def _overhead(row: ServerEventsRow) -> float:
    assert row.overhead_ns is not None, "measured on this host"
    return row.overhead_ns


def _ratio(row: ServerEventsRow, other: ServerEventsRow) -> float:
    return _overhead(row) / _overhead(other)


def _two_digits(ratio: float) -> str:
    return f"{ratio:.2f}"


def _times(row: ServerEventsRow, other: ServerEventsRow) -> str:
    """Two times and their ratio."""
    both = " and ".join(format_time(round(_overhead(one))) for one in (row, other))
    return f"{both}, {_ratio(row, other):.2f} times as much"


def _paper_ratio(row: ServerEventsRow, other: ServerEventsRow) -> str:
    """The same of the paper's times."""
    assert row.paper_ns is not None
    assert other.paper_ns is not None
    both = f"{format_time(row.paper_ns)} and {format_time(other.paper_ns)}"
    return f"{both}, {row.paper_ns / other.paper_ns:.2f} times as much"
