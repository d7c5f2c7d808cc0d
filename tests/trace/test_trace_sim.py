# SPDX-License-Identifier: BSD-2-Clause
"""What the simulator records of the examples has every property, also when it is interrupted."""

from pathlib import Path

import pytest
from tests.support.random_systems import random_system

from hyperperiod.analysis import resolve
from hyperperiod.model import System, fitting_policies, load_system, with_policy
from hyperperiod.runs import simulate
from hyperperiod.trace.check import check_file
from hyperperiod.trace.properties import Status

SYSTEMS = sorted((Path(__file__).parents[2] / "systems").glob("*.toml"))
# Those without pcpus run only once they are fitted.
SYSTEMS = [path for path in SYSTEMS if not path.stem.endswith("-unfitted")]
MOST_NS = 200_000_000


def check(system: System, horizon_ns: int, seed: int, folder: Path) -> None:
    path = folder / "run.hpt"
    simulate(system, horizon_ns, seed, path)
    result = check_file(path)
    assert not result.interrupted
    assert result.end_ns == horizon_ns
    for one, finding in result.findings:
        assert finding.status is not Status.FAILS, (one.name, finding.violations[:3])


def horizon_ns(system: System) -> int:
    """Some periods of the slowest task."""
    periods = [task.period_ns or 0 for domain in system.domains for task in domain.tasks]
    return min(MOST_NS, 20 * max(periods))


@pytest.mark.parametrize("path", SYSTEMS, ids=lambda path: path.stem)
def test_examples_have_every_property_under_every_policy(path: Path, tmp_path: Path) -> None:
    system = load_system(path)
    resolved = resolve(system)
    for policy in {str(one): one for one in (system.policy, *fitting_policies(system))}.values():
        check(with_policy(resolved, policy), horizon_ns(system), 1, tmp_path)


def test_an_interrupted_trace_can_be_checked(tmp_path: Path) -> None:
    """Ctrl-C leaves a whole trace of a shorter run."""
    path = tmp_path / "run.hpt"

    def press(_now_ns: int) -> None:
        raise KeyboardInterrupt

    simulate(random_system(1), 1 << 60, 1, path, press)
    result = check_file(path)
    assert result.interrupted
    assert result.ok
