# SPDX-License-Identifier: BSD-2-Clause
"""What a vcpu gets: an interface, periods from which the analysis takes one, or windows."""

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

from hyperperiod.model.part import Part, key
from hyperperiod.model.units import format_time
from hyperperiod.model.values import Finding, PositiveTime, Time


class Interface(Part):
    """What a vcpu is promised: `budget_ns` of a pcpu in every `period_ns`."""

    period_ns: PositiveTime = key("how often the budget comes")
    budget_ns: PositiveTime = key("how much of a pcpu each vcpu gets in every period")

    if TYPE_CHECKING:  # tools/signatures.py

        @overload
        def __init__(
            self,
            *,
            period: int | str,
            budget: int | str,
        ) -> None: ...
        @overload
        def __init__(
            self,
            *,
            period_ns: int | str,
            budget_ns: int | str,
        ) -> None: ...
        def __init__(self, **values: Any) -> None: ...

    def _findings(self) -> Iterable[Finding]:
        if self.budget_ns > self.period_ns:
            yield Finding(
                ("budget",),
                f"a budget of {format_time(self.budget_ns)}",
                f"at most the period, {format_time(self.period_ns)}",
            )

    @property
    def bandwidth(self) -> Fraction:
        return Fraction(self.budget_ns, self.period_ns)


class PeriodRange(Part):
    """The periods among which the analysis chooses: `min_ns`, a step on, ... up to `max_ns`."""

    min_ns: PositiveTime = key("the shortest period")
    max_ns: PositiveTime = key("the longest period")
    step_ns: PositiveTime | None = key(
        "from one period to the next", default=None, unset="the quantum, or 1 ms"
    )

    if TYPE_CHECKING:  # tools/signatures.py

        @overload
        def __init__(
            self,
            *,
            min: int | str,
            max: int | str,
            step: int | str | None = ...,
        ) -> None: ...
        @overload
        def __init__(
            self,
            *,
            min_ns: int | str,
            max_ns: int | str,
            step_ns: int | str | None = ...,
        ) -> None: ...
        def __init__(self, **values: Any) -> None: ...

    def _findings(self) -> Iterable[Finding]:
        if self.max_ns < self.min_ns:
            yield Finding(
                ("max",), format_time(self.max_ns), f"at least min, {format_time(self.min_ns)}"
            )


WINDOW_LIMIT = 512
"""Windows of a domain: what work the analysis has grows with their square."""


class TimeWindow(Part):
    """A partition has its pcpu for `duration_ns` from `start_ns` of every major frame."""

    start_ns: Time = key("from the begin of the major frame")
    duration_ns: PositiveTime = key("how long it is; it ends within the frame")

    if TYPE_CHECKING:  # tools/signatures.py

        @overload
        def __init__(
            self,
            *,
            start: int | str,
            duration: int | str,
        ) -> None: ...
        @overload
        def __init__(
            self,
            *,
            start_ns: int | str,
            duration_ns: int | str,
        ) -> None: ...
        def __init__(self, **values: Any) -> None: ...

    @property
    def end_ns(self) -> int:
        """When in the frame (ns) it is over."""
        return self.start_ns + self.duration_ns
