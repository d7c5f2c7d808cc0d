# SPDX-License-Identifier: BSD-2-Clause
"""Jobs that move between the vcpus of one domain, each vcpu with an interface of its own.

Papers: Bini, Buttazzo and Bertogna, "The multi supply function abstraction for multiprocessors",
RTCSA 2009, and Bini, Bertogna and Baruah, "Virtual multiprocessor platforms: specification and
use", RTSS 2009, for vcpus that differ; Bertogna and Cirinei, "Response-time analysis for globally
scheduled symmetric multiprocessor platforms", RTSS 2007, for windows of one job; Guan, Stigge, Yi
and Yu, "New response time bounds for fixed priority multiprocessor scheduling", RTSS 2009, for who
is carried in; Easwaran, Shin and Lee 2009 (`mpr`). At every instant the first jobs in order run on
the vcpus that have a pcpu, one job on each: by deadline (gedf), or by a fixed priority of their
tasks (grm, gdm, gfp).

**Gaps.** While a job waits all vcpus have work; while none waits only those that execute one have.
So a vcpu may be without work for x units of a window. Let (P, B) be its interface, and in every
period let others have the pcpu in no more than R - B of the first R units, R <= P, in which it has
work and budget: what the tests of the host level show (`proofs`, Cover.GAPS: periodic servers,
which pay without work, no more than a unit in each, and deferrable ones). Then of a period in which
it is without work for x units it gets at least B - x. Summed over the part of a period in which the
window begins, whole periods and the part in which it ends, as for the general bound, the window
holds at least sbf(L) - x of it. Servers that lose more than x by that are not covered: polling,
cbs, sporadic, slices.

**One job.** Let sbf_j(L) be the supply bound of vcpu j, and let a job of load k run for less than
C_k in a window of length L at each other unit of which it waits. Take L - C_k + 1 of these. In them
all vcpus have work, and of what is left of the window, C_k - 1 units, vcpu j got no more than their
number, or was without work. So in the units taken the vcpus get
  left_k(L) = sum over j of max(0, sbf_j(L) - (C_k - 1))
at least, whatever the phases between them: all at the same instants or one after the other. While
the job waits all of that is used by jobs that go first, each of which runs for no longer than
these units are many. With W_i the most that load i can run before k in the window, the job is done
within it if
  sum over i of min(W_i, L - C_k + 1) < left_k(L).
Any L for which this holds is a bound on the response, if it is no longer than the deadline.

**By deadline.** The window begins with the release. With R_i a bound on the responses of i,
  W_i = min(N C_i + min(C_i, L + R_i - C_i - N T_i),  N = floor((L + R_i - C_i) / T_i),
            M C_i + min(C_i, max(0, D_k - M T_i - (D_i - R_i)))),  M = floor(D_k / T_i):
the first job ends as late as it may and the next ones run at once; or the last one is due with the
job of k, and all run as late as they may. Equal deadlines count against k.

**By priority.** Let the window begin earlier, behind the last unit before the release in which no
job that goes first waited and fewer than m of them ran. At most m - 1 were pending in it. In each
unit between there and the release jobs that go first use all that is supplied, if one waits, or m
units; so the job would have waited there, too, and is done within L of that earlier instant. Of m -
1 loads, those for which it makes most, W_i is the first bound above; of all others only jobs that
are released in the window run: N C_i + min(C_i, L - N T_i), N = floor(L / T_i). All of this is as
true of any m of the vcpus. While one of the jobs that go first waits, all of these m have work, and
what they get is used; in the other units, let them be z, at least m jobs run, at least m z in all,
and each of these vcpus lacks z at most. So every choice of vcpus is tried, where these are few, and
m = 1 is the test of a single vcpu.

**Longer windows, by deadline**, as in `mpr`, with left_k(L) in place of the supply less m (C_k -
1): the window begins behind the last unit in which no job due by its end waited and fewer than m of
them ran. It gives no bound but the deadline; again every choice of vcpus is tried. A load is
confirmed by either. On whole pcpus the tests of `analysis.multiprocessor` are asked as well.

**Which R.** From R_i = D_i downward, as long as one becomes shorter. Why bounds that rest on one
another hold: let t be the first instant at which some job is there for longer than its R, or misses
its deadline. Until t all hold, so the window of that job, which ends at t, has no more in it than
was assumed.

Beside it stands the published test of Bini, Buttazzo and Bertogna 2009 (`multi_supply`). Whatever
it accepts this one accepts: it sums W_i without the bound L - C_k + 1, for L = D_k and R_i = D_i.

Assumptions: sporadic loads with deadlines within periods, jitter as in `multiprocessor.sporadic`;
every vcpu has work while a job waits. Nothing about the pcpus of the vcpus, nor their number beside
that of the loads: those without a server only add. Overheads, blocking and deadlines beyond periods
are not covered. What it costs a guest to move a job is not in the model: it is part of execution
times.

Inputs: the local scheduler (EDF or fixed priority, highest first), loads and supplies in
nanoseconds (or any unit). Results: a verdict per load, null where it is not confirmed; under EDF
they are yes only together. Errors: ValueError without a vcpu.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, product
from math import prod

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.mpr import on_whole_pcpus
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.multiprocessor.sporadic import as_sporadic
from hyperperiod.analysis.verdict import Verdict, all_of
from hyperperiod.model import format_time

MAX_ROUNDS = 100
"""How often bounds are made shorter by one another; what they are then holds as well."""

MAX_CHOICES = 32
"""So many choices of some of the vcpus are all tried."""

Kinds = list[tuple[Shape, int, int, int, int]]
"""Vcpus as the kernels take them: shape, period, budget, deadline and how many there are."""


def judge_moving(local: Local, loads: Sequence[Load], supplies: Sequence[Supply]) -> list[Verdict]:
    """A verdict per load, with a response bound where it is yes."""
    sporadic = as_sporadic(loads, len(supplies))
    if isinstance(sporadic, Verdict):
        return [sporadic] * len(loads)
    bandwidth = sum((supply.bandwidth for supply in supplies), Fraction(0))
    demand = list(accumulate(Fraction(load.wcet, load.period) for load in loads))
    if local is Local.FIXED_PRIORITY:
        return _by_priority(sporadic, supplies, [so_far > bandwidth for so_far in demand])
    if demand and demand[-1] > bandwidth:
        return [_too_much()] * len(loads)
    return _by_deadline(sporadic, supplies)


def judge_moving_whole(local: Local, loads: Sequence[Load], supplies: Sequence[Supply]) -> Verdict:
    """One verdict for all loads."""
    return all_of(judge_moving(local, loads, supplies))


def multi_supply(local: Local, loads: Sequence[Load], supplies: Sequence[Supply]) -> Verdict:
    """The published test: how long what goes first can fill the units with the least supply.

    For each load C_k + I_k <= D_k, with I_k the longest time in which its job can wait before its
    deadline: first while nothing is supplied, then while one vcpu is, and so on.
    """
    sporadic = as_sporadic(loads, len(supplies))
    if isinstance(sporadic, Verdict):
        return sporadic
    for index, own in enumerate(sporadic):
        others = sporadic[:index] if local is Local.FIXED_PRIORITY else sporadic
        work = sum(_published_work(local, other, own) for other in others if other is not own)
        if own.wcet + _longest_wait(own.deadline, work, supplies) > own.deadline:
            return Verdict.unknown(
                f"load {index + 1}: the test by multi supply functions is only sufficient,"
                " and does not confirm it"
            )
    return Verdict.yes()


def _published_work(local: Local, other: Load, own: Load) -> int:
    """The most that a load can run before a job of another one between its release and deadline."""
    window = own.deadline
    if local is Local.FIXED_PRIORITY:
        window += other.deadline - other.wcet
    jobs, rest = divmod(window, other.period)
    return jobs * other.wcet + min(other.wcet, rest)


def _longest_wait(window: int, work: int, supplies: Sequence[Supply]) -> Fraction:
    """The longest time that so much work can fill, if all vcpus get least at the same instants."""
    ends = [window, *sorted((supply.sbf(window) for supply in supplies), reverse=True), 0]
    wait, left = Fraction(window - ends[1]), Fraction(work)
    for width in range(1, len(supplies) + 1):
        filled = min(Fraction(ends[width] - ends[width + 1]), left / width)
        wait, left = wait + filled, left - width * filled
    return wait


def _by_priority(
    loads: Sequence[Load], supplies: Sequence[Supply], too_much: Sequence[bool]
) -> list[Verdict]:
    """Verdicts from the highest priority down, each by the bounds of those above."""
    bounds = [load.deadline for load in loads]
    verdicts: list[Verdict] = []
    for index in range(len(loads)):
        found = _least(
            _analysis.cluster_response(Local.FIXED_PRIORITY, loads, bounds, index, kinds)
            for kinds in _choices(supplies)
        )
        if found is None:
            late = _too_much() if too_much[index] else _unconfirmed(index)
            return [*verdicts, late, *map(_below, range(index + 1, len(loads)))]
        bounds[index] = found
        verdicts.append(Verdict.yes(found))
    return verdicts


def _by_deadline(loads: Sequence[Load], supplies: Sequence[Supply]) -> list[Verdict]:
    """Verdicts that are yes together, or not at all."""
    bounds, confirmed = _bounds_by_deadline(loads, supplies)
    for index, load in enumerate(loads):
        if index in confirmed:
            continue
        window = _short_window(loads, index, supplies)
        if window is not None:
            if _whole(supplies) and on_whole_pcpus(loads, len(supplies)):
                return [Verdict.yes(one.deadline) for one in loads]
            reason = _unconfirmed(index, window if window > load.deadline else 0)
            return [reason] * len(loads)
    return [Verdict.yes(bound) for bound in bounds]


def _bounds_by_deadline(
    loads: Sequence[Load], supplies: Sequence[Supply]
) -> tuple[list[int], set[int]]:
    """Response bounds that rest on one another, and the loads that have one for sure."""
    kinds = _kinds_of(supplies)
    bounds = [load.deadline for load in loads]
    confirmed: set[int] = set()
    for _ in range(MAX_ROUNDS):
        before = list(bounds), len(confirmed)
        for index in range(len(loads)):
            found = _analysis.cluster_response(Local.EDF, loads, bounds, index, kinds)
            if found is not None:
                bounds[index] = min(bounds[index], found)
                confirmed.add(index)
        if (bounds, len(confirmed)) == before:
            break
    return bounds, confirmed


def _short_window(loads: Sequence[Load], index: int, supplies: Sequence[Supply]) -> int | None:
    """A window that is not confirmed by any number of vcpus; None if one number confirms all."""
    window = 0
    for kinds in _choices(supplies):
        only = [*loads[:index], *loads[index + 1 :], loads[index]]
        found, _, window = _analysis.judge_cluster(only, kinds, len(loads) - 1)
        if found is _analysis.Verdict.HOLDS:
            return None
    return window


def _whole(supplies: Sequence[Supply]) -> bool:
    """Whether every vcpu always runs."""
    return all(supply.budget_ns == supply.period_ns for supply in supplies)


def _choices(supplies: Sequence[Supply]) -> Iterator[Kinds]:
    """Every choice of some of the vcpus, those that are equal counted once; all of them last.

    Of many: the first of them by bandwidth, and by how long they may be without supply.
    """
    kinds = _kinds_of(supplies)
    if prod(count + 1 for *_, count in kinds) <= MAX_CHOICES:
        for chosen in product(*(range(count + 1) for *_, count in kinds)):
            some = [
                (*kind[:-1], number) for kind, number in zip(kinds, chosen, strict=True) if number
            ]
            if some:
                yield some
        return
    by_blackout = sorted(supplies, key=lambda supply: supply.blackout_ns)
    for ranked in (by_blackout, sorted(by_blackout, key=lambda supply: -supply.bandwidth)):
        for count in range(1, len(ranked) + 1):
            yield _kinds_of(ranked[:count])


def _kinds_of(supplies: Sequence[Supply]) -> Kinds:
    counts: dict[tuple[Shape, int, int, int], int] = {}
    for supply in supplies:
        counts[supply.numbers] = counts.get(supply.numbers, 0) + 1
    return [(*numbers, count) for numbers, count in counts.items()]


def _least(found: Iterator[int | None]) -> int | None:
    return min((bound for bound in found if bound is not None), default=None)


def _too_much() -> Verdict:
    return Verdict.no("the tasks ask for more than the bandwidth of the vcpus")


def _unconfirmed(index: int, window: int = 0) -> Verdict:
    where = f" in a window of {format_time(window)}" if window else ""
    return Verdict.unknown(
        f"load {index + 1}{where}: the test of global scheduling on vcpus is only sufficient,"
        " and does not confirm it"
    )


def _below(index: int) -> Verdict:
    return Verdict.unknown(f"load {index + 1}: nothing is known of one above it")
