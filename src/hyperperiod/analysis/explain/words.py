# SPDX-License-Identifier: BSD-2-Clause
"""A witness in whole sentences: the critical instant, and the window that decides.

Inputs: a witness that has a window, the name of the task or server. Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from hyperperiod._analysis import Local
from hyperperiod.analysis.domains.budget_in_hand import CarriedJob
from hyperperiod.analysis.flows.windows import BACKLOG, BUSY_WINDOW, POLLING, Inside
from hyperperiod.analysis.witness import TESTS, Role, Witness
from hyperperiod.model import format_time


def critical_instant(witness: Witness, name: str) -> str:
    """Returns in words when the worst case of a task begins."""
    loads = witness.loads
    jittery = any(load.jitter for load in loads)
    early = ", later jobs as early as their jitter allows" if jittery else ""
    if witness.test == TESTS[Local.FIFO]:
        return "everything is released together, then as often as it may be"
    if witness.test in (TESTS[Local.EDF], TESTS[Local.EXECUTOR]):
        return f"everything is released together{early}"
    held_up = any(share.role is Role.BLOCKING for share in witness.windows[0].shares)
    blocked = ", while work of lower priority holds it up" if held_up else ""
    return f"{_all_above(witness, name, 'released')}{early}{blocked}"


def instant_in_hand(name: str, job: CarriedJob) -> str:
    """Returns in words when the worst case begins of a task whose server carries budget."""
    used_ns = job.start.used_ns
    used = f"at most {format_time(used_ns)}" if used_ns else "nothing"
    above = " and for all above it" if job.start.above else ""
    return (
        f"work comes for {name}{above} when {used} of the budget in hand is used, as much as jobs"
        " of the domain can have used by then"
    )


def instant_of_server(witness: Witness, name: str) -> str:
    """Returns in words when the worst case of a server under fixed priority begins."""
    late = any(load.jitter for load in witness.loads)
    twice = ", those above have just spent a budget and do so again" if late else ""
    return f"{_all_above(witness, name, 'refilled')}{twice}"


def _all_above(witness: Witness, name: str, what: str) -> str:
    if all(share.role in (Role.OWN, Role.BLOCKING) for share in witness.windows[0].shares):
        return f"{name} is {what}"
    return f"{name} and everything above it are {what} together"


def story(witness: Witness, bandwidth: Fraction | None = None) -> tuple[str, ...]:
    """Returns sentences on a task's window; `bandwidth`: of the supply, to compare with."""
    if witness.test == TESTS[Local.EDF]:
        return tuple(_of_edf(witness, bandwidth))
    if witness.test == TESTS[Local.FIFO]:
        return (_of_fifo(witness),)
    own = next(share for share in witness.windows[0].shares if share.role is Role.OWN)
    job = "its first job" if own.jobs == 1 else f"its job number {own.jobs}"
    if witness.holds:
        assert witness.finish_ns is not None, "a job in time has a finish"
        response = format_time(witness.finish_ns - witness.release_ns)
        covered = (
            f"After {format_time(witness.finish_ns)} the supply has covered {job} and all that runs"
            f" before it: a response of {response}, {_before(witness)} before the deadline."
        )
        return (covered,)
    missing = (
        f"No window up to the deadline at {format_time(witness.deadline_ns)} holds what is asked"
        f" for by {job} and all that runs before it. {_closest(witness)}"
    )
    if witness.finish_ns is None:
        return missing, "The supply never covers it: more is asked for than supplied."
    return missing, f"The supply covers it after {_too_late(witness)}"


def story_of_server(witness: Witness) -> tuple[str, ...]:
    """Returns sentences on the window of a server under fixed priority."""
    if witness.holds:
        assert witness.finish_ns is not None, "a budget spent in time is spent at some time"
        spent, before = format_time(witness.finish_ns), _before(witness)
        return (f"Its budget is spent {spent} after the refill, {before} before the next.",)
    missing = (
        f"No window up to its next refill at {format_time(witness.deadline_ns)} has room for its"
        f" budget and all that goes before it. {_closest(witness)}"
    )
    if witness.finish_ns is None:
        return missing, "It may never be spent: more is asked for than the pcpu has."
    return missing, f"It would be spent after {_too_late(witness)}"


def story_of_cluster(witness: Witness, name: str, vcpus: int) -> tuple[str, ...]:
    """Returns sentences on the window of a task whose jobs move between vcpus."""
    window = witness.windows[0]
    length = format_time(window.window_ns)
    if witness.holds:
        enough = (
            f"Every window that ends with a deadline of {name} holds what others can take of the"
            f" {vcpus} vcpus and what these get while its job runs. The tightest, of"
            f" {length}, leaves {format_time(-window.short_ns) if window.short_ns else 'nothing'}."
        )
        return (enough,)
    short = (
        f"In the window of {length} that ends with a deadline of {name} the {vcpus} vcpus may get"
        f" {format_time(window.short_ns)} less than others can take and what passes while its job"
        " runs. The test is only sufficient: it does not say that this happens."
    )
    return (short,)


def instant_of_hop(witness: Witness, inside: Inside, name: str) -> str:
    """Returns in words when the worst case of a task in a domain with hops begins."""
    if witness.test == BACKLOG:
        return f"as many items as can be on their way are pending when one comes to {name}"
    if witness.test == POLLING:
        return f"the executor has just looked at what is ready when a job of {name} comes"
    if inside.vcpu.component.local is Local.FIXED_PRIORITY:
        return f"items come to {name} and to all above it as close together as their flows allow"
    return "items come to all tasks of the vcpu as close together as their flows allow"


def story_of_hop(witness: Witness, name: str) -> str:
    """Returns sentences on the window of a task in a domain with hops."""
    if witness.test == TESTS[Local.EDF]:
        left = format_time(-witness.windows[0].short_ns)
        return (
            "No window asks for more than is supplied, so every job is done by its deadline. The"
            f" tightest, of {format_time(witness.windows[0].window_ns)}, leaves {left}."
        )
    assert witness.finish_ns is not None, "a window that is shown has an end"
    finish, release = format_time(witness.finish_ns), format_time(witness.release_ns)
    response = format_time(witness.finish_ns - witness.release_ns)
    if witness.test == BUSY_WINDOW:
        return f"After {finish} nothing is pending on the vcpu any more, whatever its deadline."
    if witness.test == POLLING:
        jobs = witness.windows[0].shares[0].jobs
        assert jobs is not None, "own jobs are the first share, and counted"
        return (
            f"Not more than {jobs} of its jobs can be pending, so each other subscription runs at"
            f" most {jobs + 1} times before the last of these is done. After {finish} the supply"
            " has covered all of that."
        )
    if witness.test == BACKLOG:
        return (
            f"Whatever is pending when an item comes to {name}, after {finish} the supply has"
            f" covered it, and all that runs before it: a response of at most {response}."
        )
    when = f"{release} after" if witness.release_ns else "at"
    return (
        f"The job that waits longest is released {when} the beginning of a busy window. After"
        f" {finish} the supply has covered it and all that runs before it: a response of at most"
        f" {response}."
    )


def _before(witness: Witness) -> str:
    left_ns = witness.deadline_ns - (witness.finish_ns or 0)
    return format_time(left_ns) if left_ns else "nothing"


def _closest(witness: Witness) -> str:
    window = witness.windows[0]
    length, short = format_time(window.window_ns), format_time(window.short_ns)
    return f"In the closest, of {length}, {short} are missing."


def _too_late(witness: Witness) -> str:
    finish_ns = witness.finish_ns or 0
    return f"{format_time(finish_ns)}, {format_time(finish_ns - witness.deadline_ns)} too late."


def _of_edf(witness: Witness, bandwidth: Fraction | None) -> Iterator[str]:
    window = witness.windows[0]
    length = format_time(window.window_ns)
    if not witness.holds:
        which = "the first" if witness.complete else "one"
        yield (
            f"The window of {length} is {which} in which more is due than surely supplied:"
            f" {format_time(window.short_ns)} are missing, so some job that is due by then"
            " can be late. EDF does not say whose."
        )
    else:
        seen = "The tightest" if witness.complete else "The tightest looked at"
        yield (
            f"No window asks for more than is supplied. {seen}, of {length},"
            f" leaves {format_time(-window.short_ns)}."
        )
    asked = sum((Fraction(load.wcet, load.period) for load in witness.loads), Fraction(0))
    if bandwidth is not None and asked > bandwidth:
        yield (
            f"In the long run {float(asked):.4g} of a pcpu is asked for and"
            f" {float(bandwidth):.4g} supplied."
        )


def _of_fifo(witness: Witness) -> str:
    when = f"{format_time(witness.release_ns)} after" if witness.release_ns else "at"
    begin = (
        f"A job released {when} the beginning of the busy window waits for all work released"
        " no later and is"
    )
    if witness.finish_ns is None:
        return f"{begin} never done: more is asked for than supplied."
    done = f"{begin} done after {format_time(witness.finish_ns - witness.release_ns)}"
    left_ns = witness.deadline_ns - witness.finish_ns
    if left_ns < 0:
        return f"{done}, {format_time(-left_ns)} too late."
    return f"{done}, {format_time(left_ns)} before the deadline; no other waits longer."
