# SPDX-License-Identifier: BSD-2-Clause
"""For how long a VM runs and is away: counted on loops written down, and as in the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.rows_of_kind import rows_of

from hyperperiod.model import InputError
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.experiment import Figure, FigureOptions
from hyperperiod.papers.latency import load_scenarios
from hyperperiod.papers.latency.samples import Samples
from hyperperiod.papers.loops import AwayLoops, on_and_off
from hyperperiod.papers.result import AwayRow
from hyperperiod.resources import EXPERIMENTS

US, MS = 1_000, 1_000_000


def experiment(name: str) -> AwayLoops:
    found = load_experiment(name)
    assert isinstance(found, AwayLoops)
    return found


def figure(name: str, asked: FigureOptions | None = None) -> Figure:
    return experiment(name).reproduce(asked or FigureOptions(sets=3), lambda _done: None)


@pytest.mark.parametrize("name", ["rt-xen-fig3", "rt-xen-fig5"])
def test_the_claims_hold_in_full(name: str) -> None:
    found = figure(name, FigureOptions())
    assert [claim.ours for claim in found.claims if not claim.holds] == []
    assert {row.draws for row in rows_of(AwayRow, found.rows)} == {1, 20}
    assert found.picture.startswith("<svg")


def test_times_are_those_of_loops_that_are_written_down() -> None:
    """Loops of 68 us, of which each tenth is 2 ms longer: 2 ms away, nine loops and one on."""
    (scenario,) = load_scenarios(("affinity",))
    lengths = np.full(100, 68 * US)
    lengths[5::10] += 2 * MS
    starts = np.concatenate(([7 * MS], 7 * MS + np.cumsum(lengths)[:-1]))
    assert on_and_off(Samples(starts, lengths), scenario) == (680 * US, 2 * MS)
    assert on_and_off(Samples(starts[:10], lengths[:10]), scenario) is None


def test_a_vm_that_is_alone_is_away_only_with_the_defect() -> None:
    paper, defect, ours = rows_of(AwayRow, figure("rt-xen-fig3").rows)
    assert (paper.source, defect.source, ours.source) == ("paper", "rt-xen-0.3-ds", "ours")
    assert (ours.on_ns, ours.off_ns, ours.longest_ns) == (None, None, 76 * US)
    assert defect.off_ns == pytest.approx(25 * MS, rel=0.001)


def test_claims_fail_where_others_are_in_the_way_or_nobody_is() -> None:
    """Two neighbours take two quanta, and an idle one none."""
    two = experiment("rt-xen-fig5").replace(
        scenario="contention-2", setting="both neighbours running"
    )
    (claim,) = two.reproduce(FigureOptions(sets=2), lambda _done: None).claims
    assert not claim.holds
    assert "away for 2.008ms" in claim.ours
    idle = experiment("rt-xen-fig5").replace(setting="equal level, neighbour idle")
    (claim,) = idle.reproduce(FigureOptions(sets=2), lambda _done: None).claims
    assert (claim.holds, claim.ours) == (False, "it is never away")
    half = experiment("rt-xen-fig3").replace(setting="half a pcpu, every 1 s")
    asked = FigureOptions(sets=2, horizon_ns=500 * MS)
    assert [claim.holds for claim in half.reproduce(asked, lambda _done: None).claims] == [
        False,
        False,
    ]


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--on"):
        figure("rt-xen-fig3", FigureOptions(host="linux"))
    text = (EXPERIMENTS / "rt-xen-fig3.toml").read_text()
    for name, wrong in (("quirk", "rt-xen-0.3-ds"), ("setting", "budget above period, for long")):
        (tmp_path / "rt-xen-fig3.toml").write_text(text.replace(wrong, "nothing"))
        with pytest.raises(InputError, match=name):
            load_experiment("rt-xen-fig3", tmp_path)
