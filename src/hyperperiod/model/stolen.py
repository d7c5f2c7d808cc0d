# SPDX-License-Identifier: BSD-2-Clause
"""Stolen time: what others take from a pcpu, for which no server pays.

Interrupts, tasklets of the hypervisor, threads above the servers. Below the record: what the thefts
of a system must be beside each other.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

from hyperperiod.model.limits import PcpuId
from hyperperiod.model.part import Part, key
from hyperperiod.model.units import format_time
from hyperperiod.model.values import Finding, PositiveTime, Time, up_to


class Stolen(Part):
    """A pcpu is taken away for `duration_ns`, again and again.

    A run takes it at `offset_ns` and every `period_ns` from there on. The analysis takes
    that for the closest that thefts may come, and asks nothing of the offset.
    """

    period_ns: PositiveTime = key("from the begin of a theft to that of the next, at least")
    duration_ns: PositiveTime = key("how long one is, at most; less than the period")
    pcpu: PcpuId | None = key("the pcpu that is stolen", default=None, unset="each")
    offset_ns: Time = key("when the first begins, in a run", default=0)

    if TYPE_CHECKING:  # tools/signatures.py

        @overload
        def __init__(
            self,
            *,
            period: int | str,
            duration: int | str,
            pcpu: int | None = ...,
            offset: int | str = ...,
        ) -> None: ...
        @overload
        def __init__(
            self,
            *,
            period_ns: int | str,
            duration_ns: int | str,
            pcpu: int | None = ...,
            offset_ns: int | str = ...,
        ) -> None: ...
        def __init__(self, **values: Any) -> None: ...

    def _findings(self) -> Iterator[Finding]:
        if self.duration_ns >= self.period_ns:
            yield Finding(
                ("duration",),
                format_time(self.duration_ns),
                f"less than the period, {format_time(self.period_ns)}",
            )

    def takes(self, pcpu: int) -> bool:
        """Returns whether the theft takes this pcpu."""
        return self.pcpu is None or self.pcpu == pcpu


def thefts_fit(thefts: tuple[Stolen, ...], pcpus: int) -> Iterator[Finding]:
    """Findings on thefts from a pcpu that is not there."""
    for index, theft in enumerate(thefts):
        if theft.pcpu is not None and theft.pcpu >= pcpus:
            yield Finding(
                ("stolen", index, "pcpu"),
                str(theft.pcpu),
                up_to(pcpus, "pcpus"),
            )
