# SPDX-License-Identifier: BSD-2-Clause
"""What the lab shows, said in sentences that can turn out wrong.

Each claim is about our own rows; the paper's finding stands beside it. A claim is made only of
policies for which the rules promise it: an idle polling server, for instance, has lost its budget
when the interrupt comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hyperperiod.model import Budget, Order, Policy, Slack, format_time, parse_policy
from hyperperiod.papers.claim import Claim, ClaimMark
from hyperperiod.papers.latency.figures import LabRow
from hyperperiod.papers.latency.settings import LatencySetting, Scenario

SettingRows = tuple[LatencySetting, Sequence[LabRow]]
Check = Callable[[LatencySetting, LabRow], str | None]
"""What is wrong with a row, or None."""


def claims_of(scenario: Scenario, measured: Sequence[SettingRows]) -> list[Claim]:
    """The claims that the rows of a scenario can show; none where nothing was measured."""
    return list(_CLAIMS[scenario.name](scenario, measured))


def _affinity(scenario: Scenario, measured: Sequence[SettingRows]) -> Iterator[Claim]:
    def whole(setting: LatencySetting, _policy: Policy) -> bool:
        interface = setting.under_test.interface
        return interface.budget_ns == interface.period_ns

    def everything(_setting: LatencySetting, _policy: Policy) -> bool:
        return True

    def kept(setting: LatencySetting, policy: Policy) -> bool:
        return not whole(setting, policy) and policy.budget is Budget.DEFERRABLE

    def within_period(setting: LatencySetting, row: LabRow) -> str | None:
        interface = setting.under_test.interface
        max_ns = interface.period_ns - interface.budget_ns + scenario.tick_limit_ns
        gap_ns = row.gap_ns or 0
        return None if gap_ns <= max_ns else f"{row.policy}: {format_time(gap_ns)}"

    yield from _claim(
        "A VM alone on a pcpu whose budget is its period is never preempted.",
        "preempted under every server: 1.1 ms, under DS 25 and 50 ms",
        measured,
        whole,
        _only_ticks,
        "contradicts",
    )
    yield from _claim(
        "No refill is lost: the longest gap is at most period - budget.",
        "50 ms away with a budget of 50 ms in 50 ms",
        measured,
        everything,
        within_period,
        "contradicts",
    )
    yield from _claim(
        "A deferrable server has its budget for a short test, whenever it begins.",
        "preempted in 35 to 58 of 100 tests",
        measured,
        kept,
        _only_ticks,
        "contradicts",
    )


def _contention(scenario: Scenario, measured: Sequence[SettingRows]) -> Iterator[Claim]:
    def higher(setting: LatencySetting, policy: Policy) -> bool:
        neighbours = setting.neighbours
        return policy.order is not Order.EDF and all(
            setting.under_test.priority < neighbour.priority for neighbour in neighbours
        )

    def idle_equals(setting: LatencySetting, policy: Policy) -> bool:
        idle = not any(neighbour.running for neighbour in setting.neighbours)
        wasteful = policy.budget is Budget.PERIODIC and policy.slack is Slack.NONE
        return idle and not wasteful

    def running_equals(setting: LatencySetting, policy: Policy) -> bool:
        running = all(neighbour.running for neighbour in setting.neighbours)
        return running and not higher(setting, policy) and not apart(policy)

    def apart(policy: Policy) -> bool:
        """Deadlines that move with use, or begin with the work, make no equals."""
        slices = policy.budget in (Budget.SLICE, Budget.SLICE_ONCE)
        return policy.budget is Budget.CBS or (slices and policy.order is Order.EDF)

    def a_turn_each(setting: LatencySetting, row: LabRow) -> str | None:
        sharers = 1 + len(setting.neighbours)
        turn_ns = scenario.quantum_ns or 0
        max_ns = (sharers - 1) * turn_ns + scenario.tick_limit_ns
        if row.gap_ns is None or not 0 < row.gap_ns <= max_ns:
            return f"{row.policy}: a gap of {format_time(row.gap_ns or 0)}"
        if row.stretch is not None and abs(row.stretch / sharers - 1) > SHARE_TOLERANCE:
            return f"{row.policy}: {row.stretch:.2f} times as long"
        return None

    yield from _claim(
        "A VM of higher level notices nothing of its neighbours.",
        "the same, 81 to 83 us",
        measured,
        higher,
        _only_ticks,
    )
    yield from _claim(
        "An idle neighbour of equal level costs nothing, except where idle budget is wasted.",
        "the same, 110 to 160 us; but 1.15 ms and twice as long under PPS",
        measured,
        idle_equals,
        _only_ticks,
    )
    yield from _claim(
        "Running equals share in turns of one quantum.",
        "the same, 1.13 to 2.14 ms, two or three times as long",
        measured,
        running_equals,
        a_turn_each,
    )


def _interrupt(scenario: Scenario, measured: Sequence[SettingRows]) -> Iterator[Claim]:
    def ready(setting: LatencySetting, policy: Policy) -> bool:
        idle = not setting.forks
        return idle and policy.order is not Order.EDF and policy.budget is not Budget.POLLING

    def at_once(_setting: LatencySetting, row: LabRow) -> str | None:
        if row.response is None or row.response.max_ns is None or row.response.unanswered:
            return f"{row.policy}: some not at all"
        if row.response.max_ns > scenario.tick_limit_ns:
            return f"{row.policy}: {format_time(row.response.max_ns)}"
        return None

    yield from _claim(
        "An idle VM of higher level answers at once, under fixed priority.",
        "the same, 21.2 to 41.5 us",
        measured,
        ready,
        at_once,
    )


_CLAIMS = {
    "affinity": _affinity,
    "contention-1": _contention,
    "contention-2": _contention,
    "interrupt": _interrupt,
    "device": _interrupt,
}
SHARE_TOLERANCE = 0.03
"""A share is a share also when ticks and the ends of a run make it 3 % larger."""


def _only_ticks(_setting: LatencySetting, row: LabRow) -> str | None:
    if row.tick_only == 1:
        return None
    return f"{row.policy}: {format_time(row.gap_ns or 0)}" if row.runs else f"{row.policy}: no run"


def _claim(
    text: str,
    paper: str,
    measured: Sequence[SettingRows],
    about: Callable[[LatencySetting, Policy], bool],
    check: Check,
    mark: ClaimMark = "paper",
) -> Iterator[Claim]:
    """The claim over all rows that it is about; nothing when there are none."""
    rows = [
        (setting, row)
        for setting, found in measured
        for row in found
        if about(setting, parse_policy(row.policy))
    ]
    if not rows:
        return
    wrong = [f"{setting.name}, {said}" for setting, row in rows if (said := check(setting, row))]
    ours = "; ".join(wrong) if wrong else f"so in all {len(rows)} rows"
    yield Claim(text, paper, ours, not wrong, mark)
