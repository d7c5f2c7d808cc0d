# SPDX-License-Identifier: BSD-2-Clause
"""Theorems 2 to 5 of the ERTDS paper: what each promises, and a run in which it does not hold.

A broken promise is a server that has work throughout one of its periods and does not get its
budget in it. In these systems the server's task asks for exactly that budget, so it misses.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest

from hyperperiod.analysis import analyze
from hyperperiod.analysis.servers.deferrable_edf import deferrable_edf
from hyperperiod.analysis.servers.ertds import (
    certain_spare_ns,
    default_spare_ns,
    paper_spare_ns,
    paper_verdict,
)
from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import Slack, load_system
from hyperperiod.runs import simulate

TOP = Path(__file__).parents[2]
MS = 1_000_000


class Story(NamedTuple):
    """A theorem, the system that it accepts, the task that misses, and by when."""

    theorem: str
    file: str
    late: str
    horizon_ms: int


STORIES = [
    Story("Theorem 2", "systems/deferrable-edf-counterexample.toml", "steady", 20),
    Story("Theorem 3", "docs/examples/ertds-theorem-3.toml", "steady", 20),
    Story("Theorem 4", "systems/deferrable-gedf-counterexample.toml", "short", 25),
    Story("Theorem 5", "docs/examples/ertds-theorem-5.toml", "short", 25),
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.theorem)
def test_what_the_theorem_accepts_breaks(story: Story) -> None:
    system = load_system(TOP / story.file)
    (group,) = groups_of(system)
    with_spare = system.policy.slack is Slack.SPARE and system.spare is not None
    paper = paper_verdict(group, system.spare.bandwidth if with_spare and system.spare else None)
    assert (paper.theorem, paper.schedulable) == (f"ERTDS paper, {story.theorem}", True)
    result = simulate(system, story.horizon_ms * MS)
    late = {domain.name for domain in result.domains for task in domain.tasks if task.misses}
    assert late == {story.late}
    (found,) = [entry for entry in analyze(system).domains if entry.name == story.late]
    assert found.schedulable is None


@pytest.mark.parametrize("spare", [None, Fraction(1, 2)])
def test_one_pcpu_and_not_only_if(spare: Fraction | None) -> None:
    """With a spare of any size every server keeps its budget: the spare is behind all of them."""
    group = Group((Server(0, "a", 10, 4, 0), Server(1, "b", 10, 4, 0)))
    assert paper_verdict(group, spare).schedulable is (spare is None)
    assert all(verdict.holds for verdict in deferrable_edf(group))


def test_several_pcpus_and_not_only_if() -> None:
    """Theorems 4 and 5 refuse two servers of 9 in 10 on two pcpus."""
    group = Group((Server(0, "a", 10, 9, 0), Server(1, "b", 10, 9, 0)), 2)
    assert paper_verdict(group, None).schedulable is False
    assert paper_verdict(group, Fraction(1, 10)).schedulable is False
    assert all(verdict.holds for verdict in deferrable_edf(group))


def test_the_spare_of_experiment_c() -> None:
    """8415 us in the paper; its formula gives 2790; what is surely idle is 7957.5."""
    system = load_system(TOP / "docs/examples/experiment-c-table-vi.toml")
    (group,) = groups_of(system)
    period_ns = 30 * MS
    assert paper_spare_ns(group, period_ns) == 2_790_000
    assert default_spare_ns(group, period_ns) == 2_790_000
    assert certain_spare_ns(group, period_ns) == 7_957_500
    wrong = Fraction(2) - Fraction(1, 4) - group.bandwidth
    assert wrong * period_ns == 8_415_000
