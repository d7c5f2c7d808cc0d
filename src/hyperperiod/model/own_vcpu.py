# SPDX-License-Identifier: BSD-2-Clause
"""One vcpu of a domain, in what it differs from the others: `[[domain.vcpu]]`.

The keys of the domain are the defaults. The ways to say what a vcpu gets (an interface, a period
for one, a range of periods, best effort, a weight) go together: one that the vcpu gives takes the
place of whichever the domain gives. What holds in the end is in `VcpuKeys`, and `Domain.each_vcpu`
says it; nothing else asks the domain's own keys about a vcpu.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from hyperperiod.model.interface import Interface, PeriodRange
from hyperperiod.model.limits import PcpuId, Priority, Weight
from hyperperiod.model.part import Part, key
from hyperperiod.model.values import PositiveTime

AS_DOMAIN = "as the domain"


class OwnVcpu(Part):
    """One vcpu of a domain: each key is as that of the domain, which gives the default."""

    pcpu: PcpuId | None = key("where it is pinned", default=None, unset=AS_DOMAIN)
    priority: Priority | None = key("smaller is higher", default=None, unset=AS_DOMAIN)
    interface: Interface | None = key(
        "`{ period, budget }`; this key, the next three and `weight` take the place of whichever"
        " of them the domain gives",
        default=None,
        unset=AS_DOMAIN,
    )
    interface_period_ns: PositiveTime | None = key(
        "the budget is computed for it", default=None, unset=AS_DOMAIN
    )
    interface_period_range: PeriodRange | None = key(
        "`{ min, max, step }`: the best of these periods", default=None, unset=AS_DOMAIN
    )
    best_effort: bool | None = key("no server", default=None, unset=AS_DOMAIN)
    extra: bool | None = key(
        "may use extra time, where the policy has it", default=None, unset=AS_DOMAIN
    )
    weight: Weight | None = key("1 to 65535", default=None, unset=AS_DOMAIN)

    if TYPE_CHECKING:  # tools/signatures.py

        def __init__(
            self,
            *,
            pcpu: int | None = ...,
            priority: int | None = ...,
            interface: Interface | dict[str, Any] | None = ...,
            interface_period: int | str | None = ...,
            interface_period_ns: int | str | None = ...,
            interface_period_range: PeriodRange | dict[str, Any] | None = ...,
            best_effort: bool | None = ...,
            extra: bool | None = ...,
            weight: int | None = ...,
        ) -> None: ...

    @property
    def says_what_it_gets(self) -> bool:
        """Whether it gives one of the ways to get time, so that the domain's does not count."""
        ways = (self.interface, self.interface_period_ns, self.interface_period_range)
        return any(way is not None for way in (*ways, self.best_effort, self.weight))


def served_by(interface: Interface) -> dict[str, Any]:
    """Returns the keys of a domain or vcpu with that interface, and no other way to get time."""
    ways = ("interface_period_ns", "interface_period_range", "weight")
    return {"interface": interface, **dict.fromkeys(ways)}


class VcpuKeys(NamedTuple):
    """The keys of one vcpu: its own, and the domain's where it has none."""

    pcpu: int | None
    priority: int | None
    interface: Interface | None
    interface_period_ns: int | None
    interface_period_range: PeriodRange | None
    best_effort: bool
    extra: bool
    weight: int | None

    @property
    def period_ns(self) -> int | None:
        """The period of its server, as far as it is known."""
        return self.interface.period_ns if self.interface else self.interface_period_ns
