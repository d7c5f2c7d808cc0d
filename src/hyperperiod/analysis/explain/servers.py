# SPDX-License-Identifier: BSD-2-Clause
"""Why a server gets its budget or not: who takes the pcpu in one of its periods.

The witness is that of the test which gave the verdict (`host_tests`), as demand against the time of
the pcpu:
- fixed priority: the server as a task below those of higher or equal priority;
- edf on one pcpu: budgets as work that is due at the end of its period;
- the others: the budget beside the most that others can take of a period of the server, of
  which several pcpus take a part each; under gfb what all ask for against what it allows.

Inputs: the test, the group, the server. Result: a breakdown, or None for a test that looks at no
window. Errors: none.
"""

from __future__ import annotations

from math import floor

from hyperperiod._analysis import Local
from hyperperiod.analysis.domains.supply_bound import WHOLE_PCPU
from hyperperiod.analysis.explain import words
from hyperperiod.analysis.explain.breakdown import Breakdown, breakdown_of_task
from hyperperiod.analysis.explain.curves import curves, grown
from hyperperiod.analysis.servers.global_edf import gfb_bound
from hyperperiod.analysis.servers.host_tests import HostTest
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.servers.witnesses import SHARES, server_witness
from hyperperiod.analysis.witness import TESTS, Witness
from hyperperiod.model import format_time


def breakdown(test: HostTest, group: Group, own: Server) -> Breakdown | None:
    """The breakdown of one server of the group, by the test that gave its verdict."""
    witness = server_witness(test, group, own)
    if witness is None or not witness.windows:
        return None
    if witness.test == TESTS[Local.EDF]:
        return breakdown_of_task(witness, own.name, WHOLE_PCPU)
    if witness.test == TESTS[Local.FIXED_PRIORITY]:
        instant, story = words.instant_of_server(witness, own.name), words.story_of_server(witness)
        return Breakdown(witness, instant, story, curves(witness, WHOLE_PCPU))
    if witness.test == "gfb":
        return _at_their_rates(witness, group, own)
    shares = SHARES[witness.test]
    demand = grown(
        lambda at: sum(share.time_ns for share in shares(group, own, at)),
        lambda end_ns: end_ns,
        own.period_ns,
    )
    return Breakdown(
        witness, _BEGINS[witness.test].format(own.name), _story(witness, group), demand
    )


def _story(witness: Witness, group: Group) -> tuple[str, ...]:
    if witness.test == "a pcpu each":
        return ("There is a pcpu for every server, so that nobody else takes any of its time.",)
    if witness.test == "deferrable grid" and witness.holds:
        return words.story_of_server(witness)
    (window,) = witness.windows
    period, count = format_time(window.window_ns), group.pcpus
    pcpus = f"all {count} pcpus" if count > 1 else "the pcpu"
    if not witness.holds:
        short = (
            f"In {period} the others can keep {pcpus} so long that"
            f" {format_time(window.short_ns)} of the budget have no place. The test is only"
            " sufficient: it does not say that this happens."
        )
        return (short,)
    left = format_time(-window.short_ns) if window.short_ns else "nothing"
    return (f"In {period} the others keep {pcpus} at most so long that {left} is left.",)


def _at_their_rates(witness: Witness, group: Group, own: Server) -> Breakdown:
    total, bound = group.bandwidth, gfb_bound(group)
    compared = "within" if witness.holds else "above"
    story = (
        f"All bandwidths sum to {float(total):.6g}, {compared} the {float(bound):.6g} up to which"
        f" {group.pcpus} pcpus surely meet all deadlines (m less m - 1 of the largest bandwidth)."
        " The window is one period of the server, with the share of it that each asks for."
    )
    drawn = grown(lambda at: floor(total * at), lambda end_ns: floor(bound * end_ns), own.period_ns)
    return Breakdown(witness, _BEGINS[witness.test].format(own.name), (story,), drawn)


_ALL_SPEND = "{} has work from its refill on, all others spend as much as they can with deadlines"
_ABOVE_SPEND = "{} has work from its refill on, all above it spend as much as they can"

_BEGINS = {
    "deferrable edf": f"{_ALL_SPEND} inside its period",
    "iterative bcl": f"{_ALL_SPEND} inside its period, each as late as it may",
    "global fixed priority": _ABOVE_SPEND,
    "deferrable grid": f"{_ABOVE_SPEND} before and after refills on one grid",
    "cbs fixed priority": (
        "{} has work, and those above it begin periods early: each takes its share of the window"
        " and of period - budget"
    ),
    "gfb": "{} has work from its refill on, and all others ask for their bandwidths",
    "a pcpu each": "{} has work from its refill on",
}
"""When the worst case begins, by the witness; `{}` is the server."""
