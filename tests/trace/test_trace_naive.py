# SPDX-License-Identifier: BSD-2-Clause
"""Two independent readings of the rules agree: schedules of the naive model have every property.

The naive model decides tick by tick; the properties replay budgets from records. Neither knows
the other or the scheduler. A best-effort turn is four ticks here, a share two.
"""

from pathlib import Path
from typing import Any

import pytest
from tests.support.naive_traces import CASES, play
from tests.support.rules import LOCAL

from hyperperiod.trace.properties import PROPERTIES, Status, check_all


@pytest.mark.parametrize(("rules", "pcpus"), CASES, ids=str)
def test_schedules_of_the_naive_model_have_every_property(
    rules: Any, pcpus: int, tmp_path: Path
) -> None:
    for seed in range(4):
        header, records = play(rules, pcpus, seed).trace(tmp_path)
        for one, finding in zip(PROPERTIES, check_all(header, records), strict=True):
            assert finding.status is not Status.FAILS, (one.name, seed, finding.violations[:3])


@pytest.mark.parametrize("seed", range(40))
def test_so_do_those_with_swaps(seed: int, tmp_path: Path) -> None:
    header, records = play(LOCAL[seed % len(LOCAL)], 1, seed, LOCAL).trace(tmp_path)
    for one, finding in zip(PROPERTIES, check_all(header, records), strict=True):
        assert finding.status is not Status.FAILS, (one.name, finding.violations[:3])
