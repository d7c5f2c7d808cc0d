# SPDX-License-Identifier: BSD-2-Clause
"""What is replaced while a system runs: its policy (a swap), a domain's interface (a change).

Below the records: what the swaps and changes of a system must be together.
"""

from collections.abc import Iterator

from hyperperiod.model.domain import Domain
from hyperperiod.model.interface import Interface
from hyperperiod.model.part import Part, key
from hyperperiod.model.pcpus import policy_fits
from hyperperiod.model.policy import Policy, PolicyChoice
from hyperperiod.model.units import format_time
from hyperperiod.model.values import Finding, Name, Time


class Swap(Part):
    """The running policy is replaced at `at_ns`."""

    at_ns: Time = key("when; in order of time")
    policy: PolicyChoice = key("the new one, of the same scope")


class Change(Part):
    """The interface of a domain is replaced at `at_ns`."""

    at_ns: Time = key("when it is asked for; it takes effect at the server's next refill")
    domain: Name = key("the domain whose interface it is")
    interface: Interface = key("`{ period, budget }`")


def swaps_in_order(swaps: tuple[Swap, ...], policy: Policy, pcpus: int) -> Iterator[Finding]:
    """Findings on swaps out of order, or to a policy that cannot follow the system's own."""
    last_ns = -1
    for index, swap in enumerate(swaps):
        if swap.at_ns <= last_ns:
            yield Finding(
                ("swap", index, "at"), format_time(swap.at_ns), "swaps in order of time, one each"
            )
        last_ns = max(last_ns, swap.at_ns)
        if swap.policy.scope is not policy.scope:
            yield Finding(
                ("swap", index, "policy"),
                f"{swap.policy}, which is {swap.policy.scope}",
                f"a {policy.scope} policy, like {policy}",
            )
        yield from policy_fits(("swap", index, "policy"), swap.policy, pcpus)


def changes_of_servers(
    changes: tuple[Change, ...], domains: tuple[Domain, ...]
) -> Iterator[Finding]:
    """Findings on changes of a domain without a server, or twice of one domain at an instant."""
    served = [member.name for member in domains if not member.best_effort]
    times: set[tuple[int, str]] = set()
    for index, change in enumerate(changes):
        here = ("change", index)
        if change.domain not in served:
            yield Finding(
                (*here, "domain"),
                repr(change.domain),
                f"the name of a domain with a server: {', '.join(served[:8]) or 'there is none'}",
            )
        if (change.at_ns, change.domain) in times:
            yield Finding(
                (*here, "at"), format_time(change.at_ns), "one change of a domain at an instant"
            )
        times.add((change.at_ns, change.domain))
