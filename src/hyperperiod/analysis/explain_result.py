# SPDX-License-Identifier: BSD-2-Clause
"""The result of an explanation: what `analyze --json` prints under "explain".

Its numbers are those of the witness of the test that decided (`analysis.witness`). Times are whole
nanoseconds. docs/formats.md has every key.
"""

from __future__ import annotations

from hyperperiod.model.absent import ABSENT, Absent
from hyperperiod.model.result_object import ResultObject


class ExplainTask(ResultObject):
    """The demand of a task; an inner domain's server is a task of the domain around it."""

    wcet_ns: int
    period_ns: int
    deadline_ns: int
    jitter_ns: int
    offset_ns: int
    blocking_ns: int


class ExplainServer(ResultObject):
    """The server of the subject, or the subject itself; overheads take `lost_ns` of its budget."""

    period_ns: int
    budget_ns: int
    lost_ns: int
    blackout_ns: int | None


class ExplainEnough(ResultObject):
    """The budget that would be enough, and the longest wcet; null where nothing would be.

    Keys are absent where the question has no meaning: all of them where no test can be repeated
    with other numbers, those of a task for a server.
    """

    budget_ns: int | Absent | None = ABSENT
    task_budget_ns: int | Absent | None = ABSENT
    host: str | Absent | None = ABSENT
    wcet_ns: int | Absent | None = ABSENT
    others_hold: bool | Absent = ABSENT


class ExplainShare(ResultObject):
    """Time that somebody takes of a window: `jobs` times `each_ns` where it comes in jobs."""

    who: str
    role: str
    time_ns: int
    jobs: int | None
    each_ns: int | None


class ExplainWindow(ResultObject):
    """A window: who asks for how much of it, what of it brings no supply, and what is missing."""

    what: str
    window_ns: int
    demand_ns: int
    supply_ns: int
    short_ns: int
    shares: tuple[ExplainShare, ...]
    lost: tuple[ExplainShare, ...]


class ExplainCurves(ResultObject):
    """Corners of demand and supply, (window, time), for a picture; and the job that decides."""

    demand: tuple[tuple[int, int], ...]
    supply: tuple[tuple[int, int], ...]
    stairs: bool
    release_ns: int
    deadline_ns: int
    finish_ns: int | None
    blackout_ns: int
    end_ns: int


class Explanation(ResultObject):
    """The reason why a task or server is in time or not, or that nothing shows it."""

    subject: str
    kind: str
    schedulable: bool | None
    reason: str = ""
    test: str
    task: ExplainTask | None
    server: ExplainServer | None
    enough: ExplainEnough
    account: str
    critical_instant: str
    story: tuple[str, ...]
    windows: tuple[ExplainWindow, ...]
    curves: ExplainCurves | None
    text: str
