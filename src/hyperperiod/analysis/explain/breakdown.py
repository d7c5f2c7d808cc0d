# SPDX-License-Identifier: BSD-2-Clause
"""The breakdown of one test: its witness, in words and curves.

In each window of a witness the shares sum to the demand; what is lost of the window plus the supply
is the window. All times are integers in nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from hyperperiod.analysis.domains.budget_in_hand import CarriedJob
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.explain import words
from hyperperiod.analysis.explain.curves import (
    Curves,
    cluster_curves,
    curves,
    hand_curves,
    hop_curves,
)
from hyperperiod.analysis.explain.supplies import CarriedSupply, LateSupply
from hyperperiod.analysis.flows.windows import Inside
from hyperperiod.analysis.witness import Role, Witness


@dataclass(frozen=True)
class Breakdown:
    """One test of one subject; `story` is in whole sentences, `instant` in one."""

    witness: Witness
    instant: str
    story: tuple[str, ...]
    curves: Curves


def breakdown_of_task(
    witness: Witness, name: str, supply: Supply | Staircase | LateSupply
) -> Breakdown | None:
    """The breakdown of a task on a supply; None if its test decided without a window."""
    if not witness.windows:
        return None
    instant = words.critical_instant(witness, name)
    bandwidth = supply.bandwidth if isinstance(supply, Supply) else None
    return Breakdown(witness, instant, words.story(witness, bandwidth), curves(witness, supply))


def breakdown_in_hand(
    witness: Witness, name: str, job: CarriedJob, supply: CarriedSupply
) -> Breakdown:
    """The breakdown of a task whose server has most of its budget when work comes."""
    instant = words.instant_in_hand(name, job)
    return Breakdown(witness, instant, words.story(witness), hand_curves(witness, job, supply))


def breakdown_of_hop(witness: Witness, inside: Inside, name: str) -> Breakdown:
    """The breakdown of a task in a domain that items of flows pass through."""
    instant = words.instant_of_hop(witness, inside, name)
    story = (words.story_of_hop(witness, name),)
    return Breakdown(witness, instant, story, hop_curves(witness, inside, name))


def breakdown_of_cluster(witness: Witness, supply: Supply, vcpus: int) -> Breakdown:
    """The breakdown of a task whose jobs move between so many vcpus, each with that supply."""
    name = next(share.who for share in witness.windows[0].shares if share.role is Role.OWN)
    instant = (
        f"jobs that are due no later than one of {name} keep all vcpus busy from the beginning of"
        " the window to its deadline, which is the end"
    )
    story = words.story_of_cluster(witness, name, vcpus)
    return Breakdown(witness, instant, story, cluster_curves(witness, supply, vcpus))
