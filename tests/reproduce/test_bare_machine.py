# SPDX-License-Identifier: BSD-2-Clause
"""The busy loop on the bare machine: counted by hand, and beside the paper's figure."""

from __future__ import annotations

import pytest

from hyperperiod.model import InputError
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.experiment import FigureOptions
from hyperperiod.papers.loops import BareLoops
from hyperperiod.papers.result import BareLoopRow


def experiment() -> BareLoops:
    found = load_experiment("rt-xen-fig1")
    assert isinstance(found, BareLoops)
    return found


def test_the_claim_holds() -> None:
    figure = experiment().reproduce(FigureOptions(), lambda _done: None)
    assert [claim.holds for claim in figure.claims] == [True], figure.claims
    assert figure.picture.startswith("<svg")


def test_loops_are_those_of_a_count_by_microseconds() -> None:
    """Work goes on unless a tick is handled, and a tick is there in the first 8 us of each ms."""
    done_us, begun_us, lengths = 0, 0, []
    for now_us in range(20_000):
        done_us += now_us % 1000 >= 8
        if done_us == 68:
            lengths.append(1000 * (now_us + 1 - begun_us))
            done_us, begun_us = 0, now_us + 1
    found = experiment().samples(20_000_000).length_ns.tolist()
    # Where a tick comes just between two loops, either may be said to have it.
    assert sorted(found) == sorted(lengths)[: len(found)]
    assert abs(len(found) - len(lengths)) <= 1


def test_it_can_fail_and_what_is_no_use_is_refused() -> None:
    slow = experiment().replace(tick_ns=60_000, every_ns=500_000)
    figure = slow.reproduce(FigureOptions(), lambda _done: None)
    assert [claim.holds for claim in figure.claims] == [False]
    (_, ours) = figure.rows
    assert isinstance(ours, BareLoopRow)
    assert ours.with_tick_ns == 128_000
    with pytest.raises(InputError, match="--on"):
        experiment().reproduce(FigureOptions(host="xen"), lambda _done: None)
