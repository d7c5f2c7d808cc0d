# SPDX-License-Identifier: BSD-2-Clause
"""What stands in one cell: verdicts, times, shares, interfaces and claims as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hyperperiod.cli.styled import BAD, FAULT, GOOD, OPEN, Styled
from hyperperiod.model.units import NS_PER_UNIT, format_time
from hyperperiod.model.vcpus import InterfaceResult

if TYPE_CHECKING:
    from hyperperiod.analysis.result import BoundGuest
    from hyperperiod.papers.claim import Claim

NO_VALUE = "-"


def verdict_text(value: bool | None, more: str = "") -> Styled:
    """A verdict in a word and a colour, with what is to be said beside it."""
    word, style = {None: ("unknown", OPEN), True: ("yes", GOOD), False: ("no", BAD)}[value]
    return Styled(word + more, style)


def time_text(time_ns: float | None) -> str:
    """A time in the unit that suits its size, four digits or so."""
    if time_ns is None:
        return NO_VALUE
    unit, size = "ns", 1
    for name, ns in NS_PER_UNIT.items():
        if abs(time_ns) >= ns:
            unit, size = name, ns
    return (
        f"{time_ns / size:.4g} {unit}" if time_ns < 1000 * size else f"{time_ns / size:.0f} {unit}"
    )


def rate_text(per_second: float | None) -> str:
    """Returns a rate per second with two decimals, or a dash where none is known."""
    return NO_VALUE if per_second is None else f"{per_second:.2f}"


def share_text(value: Any) -> str:
    """Returns a fraction of a pcpu or of jobs as text in percent."""
    return NO_VALUE if value is None else f"{100 * float(value):.2f} %"


def interface_text(interface: InterfaceResult | None, vcpus: int = 1) -> str:
    """(period, budget), exactly, and how many vcpus have it where there are several."""
    if interface is None:
        return "best effort"
    each = budget_text(interface.period_ns, interface.budget_ns)
    return each if vcpus == 1 else f"{vcpus} x {each}"


def bound_text(guest: BoundGuest) -> str:
    """Returns what a guest needs with its tasks bound to vcpus, and how its file says so."""
    now = "what it has" if guest.moving is None else share_text(guest.moving)
    each: dict[int, list[str]] = {}
    for task, vcpu in guest.vcpus.items():
        each.setdefault(vcpu, []).append(task)
    tasks = "; ".join(f"vcpu = {vcpu} for {', '.join(each[vcpu])}" for vcpu in sorted(each))
    return (
        f"{guest.domain}: with tasks bound to vcpus {share_text(guest.bandwidth)} would do in place"
        f' of {now}, which is proved: scheduler = "{guest.scheduler}", {tasks}'
        f' (`fit` writes the file, given scheduler = "{guest.scheduler}")'
    )


def budget_text(period_ns: int, budget_ns: int) -> str:
    """Returns budget and period of a server in words, exactly."""
    return f"{format_time(budget_ns)} in {format_time(period_ns)}"


def count_text(count: int) -> str:
    """A number of things that should not have happened."""
    return Styled(str(count), BAD) if count else "0"


CLAIM_INDENT: Final = len("holds: ")


def claim_parts(claim: Claim) -> tuple[str, ...]:
    """Returns whether a claim holds and whose it is, then what we found and what the paper did."""
    from hyperperiod.papers.claim import MARKS

    sign = Styled("holds", GOOD) if claim.holds else Styled("fails", FAULT)
    below = "\n" + " " * CLAIM_INDENT
    said = f" ({MARKS[claim.mark]}): {claim.text}"
    return sign, f"{said}{below}found: {claim.ours}{below}paper: {claim.paper}"
