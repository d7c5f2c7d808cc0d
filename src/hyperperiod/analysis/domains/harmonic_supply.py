# SPDX-License-Identifier: BSD-2-Clause
"""When the harmonic supply bound may be used; everywhere else it is refused.

Paper: Lee et al., RTAS 2012 (the CSA paper), Eq. 1: x = period - budget "if W is harmonic".
Taken literally that is unsound: it says nothing about phases, jitter or the budget rule.

What is required, and why it is enough. The server refills at multiples of its period and gets
its budget in every period in which it has work throughout (periodic or deferrable rule). All
task periods and the interface period divide one another pairwise, all tasks release at
multiples of their periods without offset, jitter or blocking, and deadlines lie within periods.
Take the first deadline missed and the busy window before it; it begins with a release. If that
is at a multiple of the interface period, whole server periods follow and the bound is plain. If
not, the releasing task has a period that divides the interface period; up to the next refill
only such tasks release, and each of their jobs is due by that refill. So either the missed
deadline lies before the refill, and the window within one server period, where at most period -
budget is without supply; or nothing is pending at the refill, and the busy window did not begin
where we said it did. Proved by machine: fixed_priority_harmonic and edf_harmonic in
proofs/harmonic.v.

Inputs: the budget rule, the interface period and the tasks. Result: None, or the reason why the
bound is refused, as a text. Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hyperperiod.analysis.component import NamedLoad
from hyperperiod.model import Budget, format_time

_SOUND_RULES = (Budget.PERIODIC, Budget.DEFERRABLE)


def refusal(rule: Budget, period_ns: int | None, sources: Sequence[NamedLoad]) -> str | None:
    """Returns why the harmonic bound is unsound, or None; `period_ns` None: no interface yet."""
    if rule not in _SOUND_RULES:
        return f"harmonic sbf: sound for periodic and deferrable servers, not for {rule}"
    for source in sources:
        if source.offset_ns or source.load.jitter:
            return f"harmonic sbf: task {source.name} has an offset or jitter"
        if source.load.blocking:
            return f"harmonic sbf: task {source.name} may be blocked"
        if not source.in_phase:
            return f"harmonic sbf: task {source.name} is not periodic"
        if source.load.deadline > source.load.period:
            return f"harmonic sbf: task {source.name} has a deadline above its period"
    named = [(source.name, source.load.period) for source in sources]
    if period_ns is not None:
        named.append(("the interface", period_ns))
    named.sort(key=lambda pair: pair[1])
    # Divisibility is transitive, so neighbours in order of size decide it.
    for (left, shorter_ns), (right, longer_ns) in pairwise(named):
        if longer_ns % shorter_ns:
            return (
                f"harmonic sbf: the periods of {left} ({format_time(shorter_ns)}) and"
                f" {right} ({format_time(longer_ns)}) do not divide"
            )
    return None
