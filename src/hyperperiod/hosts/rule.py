# SPDX-License-Identifier: BSD-2-Clause
"""A rule in Python for the simulator: an idea is tried before it is written in C.

The core of the simulator is not asked who runs; an object of the user's is. Such a rule is neither
proved nor deployable: no analysis is about it, and no other host runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from hyperperiod.model import InputError, Scope, System, Vcpu, format_time, vcpus_of

IDLE: Final = 0xFFFFFFFF
"""In the place of a vcpu, for the native run."""
NEVER: Final = 2**64 - 1
"""An instant that does not come, for the native run."""
Answer = int | tuple[int | None, int] | None


class Rule:
    """Decides in the place of a policy; each idea is a class of its own, with a `pick`.

    Vcpus are numbers, in the order of the file; times are ns since the begin of the run. At one
    instant come, in this order: `charge`, `depart`, `replenish`, `arrive`, `pick`.
    """

    vcpus: Sequence[Vcpu] = ()

    def start(self, vcpus: Sequence[Vcpu]) -> None:
        """Called before the run, with all vcpus: `name`, `interface`, `priority`, `pcpu`."""
        self.vcpus = vcpus

    def pick(self, now: int, pcpu: int, ready: Sequence[int]) -> Answer:
        """Who runs on a pcpu: one of those that have work, or None; with a time until it at most.

        It is asked again when that time has come, and when anything happens on the pcpu.
        """
        raise NotImplementedError

    def replenish(self, now: int, vcpu: int) -> int | None:
        """Called at 0 of each vcpu with a server, and when it says; the next time, or None."""

    def charge(self, now: int, vcpu: int, ran: int) -> int | None:
        """A vcpu had its pcpu for so long up to now; a new time for its `replenish`, or None."""

    def arrive(self, now: int, vcpu: int) -> None:
        """A vcpu has work from now on."""

    def depart(self, now: int, vcpu: int) -> None:
        """A vcpu has no work any more."""


class Guarded:
    """A rule as the native run calls it: what it answers is looked at, and times are kept."""

    def __init__(self, rule: Rule, system: System) -> None:
        self.rule, self.name = rule, type(rule).__name__
        vcpus = vcpus_of(system)
        self.due = {vcpu.id: 0 for vcpu in vcpus if vcpu.interface is not None}
        self._call(0, "start", vcpus)

    def charge(self, now: int, vcpu: int, ran: int) -> None:
        """See `Rule.charge`."""
        self._set_due(now, "charge", vcpu, self._call(now, "charge", now, vcpu, ran))

    def arrive(self, now: int, vcpu: int) -> None:
        """See `Rule.arrive`."""
        self._call(now, "arrive", now, vcpu)

    def depart(self, now: int, vcpu: int) -> None:
        """See `Rule.depart`."""
        self._call(now, "depart", now, vcpu)

    def replenish(self, now: int) -> int:
        """Replenishes those whose time has come; the next time of any."""
        for vcpu in [one for one, time in self.due.items() if time <= now]:
            self.due[vcpu] = NEVER
            self._set_due(now, "replenish", vcpu, self._call(now, "replenish", now, vcpu))
        return min(self.due.values(), default=NEVER)

    def pick(self, now: int, pcpu: int, ready: list[int]) -> tuple[int, int]:
        """The vcpu that is picked, or IDLE, and until when."""
        answer = self._call(now, "pick", now, pcpu, ready)
        vcpu, until = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, NEVER)
        if vcpu is not None and (type(vcpu) is not int or vcpu not in ready):
            allowed = f"None, or one of those that have work: {ready}"
            raise self._wrong(now, "pick", repr(vcpu), allowed)
        self._require_later(now, "pick", until)
        return IDLE if vcpu is None else vcpu, min(until, NEVER)

    def _call(self, now: int, name: str, *values: Any) -> Any:
        called: Callable[..., Any] = getattr(self.rule, name)
        try:
            return called(*values)
        except Exception as error:
            error.add_note(f"in {self.name}.{name}, {format_time(now)} after the begin of the run")
            raise

    def _set_due(self, now: int, name: str, vcpu: int, time: Any) -> None:
        if time is not None:
            self._require_later(now, name, time)
            self.due[vcpu] = min(time, NEVER)

    def _require_later(self, now: int, name: str, time: Any) -> None:
        if type(time) is not int or time <= now:
            raise self._wrong(now, name, repr(time), f"a later time, a whole number above {now}")

    def _wrong(self, now: int, name: str, found: str, allowed: str) -> InputError:
        place = f"{self.name}.{name} at {format_time(now)}"
        return InputError("", None, place, found, allowed)


def refuse_with_rule(system: System) -> None:
    """InputError for what no rule in Python is asked about."""
    parts = {
        "swap": bool(system.swaps),
        "change": bool(system.changes),
        "stolen": bool(system.stolen),
        "overrun": bool(system.overruns),
        "spare": system.spare is not None,
        "policy": system.policy.scope is Scope.GLOBAL,
        "domain.scheduler": any(one.scheduler.is_global for one in system.domains),
    }
    for key, is_there in parts.items():
        if is_there:
            found = str(system.policy) if key == "policy" else "one"
            allowed = "a system of partitioned servers that stay as they are"
            raise InputError(system.name, None, key, found, f"with a rule in Python: {allowed}")
