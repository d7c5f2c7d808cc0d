# SPDX-License-Identifier: BSD-2-Clause
"""Comparing two traces: by hand on small runs, whose every boundary is known."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.worlds import Run, domain, run, system, task

from hyperperiod.cli import main
from hyperperiod.model import InputError, Overheads, Stolen, System
from hyperperiod.trace.compare import Comparison, compare
from hyperperiod.trace.format import Kind


def two(policy: str = "ptps", *, wcet: int = 30, **more: int) -> System:
    """a runs [0, 30) of its [0, 40), b [40, 80) in every 100."""
    return system(
        policy,
        domain("a", (40, 100), task("s", 100, wcet)),
        domain("b", (40, 100), task("t", 200, 60)),
        overheads=Overheads(**more),
    )


def compared(first: Run, second: Run, bound: int) -> Comparison:
    return compare((first.header, first.records), (second.header, second.records), bound)


def test_a_trace_agrees_with_itself_at_once() -> None:
    one = run(two(), 400)
    found = compared(one, one, 0)
    assert found.agrees
    assert found.least_bound_ns == 0
    assert found.response_ns == 0
    assert found.compared_ns == found.total_ns == 400
    assert found.jobs == 6


def test_a_boundary_may_lie_elsewhere_by_twice_the_bound() -> None:
    """A boundary of each trace excuses what is near it, from both sides of the gap."""
    found = compared(run(two(), 400), run(two(wcet=34), 400), 2)
    assert found.divergence is None
    assert found.least_bound_ns == 2
    assert compared(run(two(), 400), run(two(wcet=34), 400), 1).divergence is not None


def test_responses_may_differ_by_the_bound_itself() -> None:
    first, second = run(two(), 400), run(two(wcet=34), 400)
    assert compared(first, second, 4).agrees
    found = compared(first, second, 3)
    assert not found.agrees
    assert found.response_ns == 4
    assert "a.s job 0: responds in 30 ns on sim, 34 ns on sim" in found.unequal_jobs


def test_what_was_compared_shrinks_with_the_bound() -> None:
    one = run(two(), 400)
    shares = [compared(one, one, bound).compared_ns for bound in (0, 2, 20)]
    assert shares[0] > shares[1] > shares[2]


def test_the_first_divergence_is_shown_with_both_schedules() -> None:
    found = compared(run(two("ptps"), 400), run(two("crps"), 400), 2)
    assert found.divergence is not None
    assert (found.divergence.start_ns, found.divergence.end_ns) == (30, 40)
    text = found.text()
    assert "pcpu 0, 30 to 40 ns: sim idle (a pays), sim b (a pays)" in text
    assert text.count(" > ") == 2
    assert found.result.divergence is not None
    assert found.result.divergence.second == "b (a pays)"


def test_a_job_that_only_one_has_is_a_difference() -> None:
    found = compared(run(two(), 400), run(two(wcet=41), 400), 2)
    assert any("not the same on sim" in line for line in found.unequal_jobs)


def test_a_job_at_the_very_end_may_be_finished_in_one_only() -> None:
    first, second = run(two(), 331), run(two(wcet=32), 331)
    assert compared(first, second, 2).agrees


def test_a_release_that_no_guest_can_have_said_may_be_missing() -> None:
    """b never runs: the release of its job is known to the simulator alone."""
    one = run(two("ptps"), 40)
    unsaid = (one.records["kind"] == Kind.RELEASE) & (one.records["task"] == 1)
    assert unsaid.any()
    silent = (one.header, one.records[~unsaid])
    assert compare((one.header, one.records), silent, 0).agrees
    assert compare(silent, (one.header, one.records), 0).agrees


def test_a_release_is_a_difference_where_its_guest_runs_afterwards() -> None:
    """In [40, 80) b could say it; that the job itself does not begin then is no excuse."""
    tasks = (task("t", 200, 60), task("u", 400, 10))
    whole = system(
        "ptps", domain("a", (40, 100), task("s", 100, 30)), domain("b", (40, 100), *tasks)
    )
    one = run(whole, 80)
    for number in (1, 2):
        unsaid = (one.records["kind"] == Kind.RELEASE) & (one.records["task"] == number)
        assert unsaid.sum() == 1
        silent = (one.header, one.records[~unsaid])
        found = compare((one.header, one.records), silent, 0)
        assert any("job 0: not the same" in line for line in found.unequal_jobs)


def test_another_system_is_refused() -> None:
    other = system("ptps", domain("a", (40, 100), task("s", 100, 30)))
    with pytest.raises(InputError, match="as in the other"):
        compared(run(two(), 400), run(other, 400), 2)


def test_the_command_says_the_same(tmp_path: Path) -> None:
    paths = [tmp_path / "ptps.hpt", tmp_path / "crps.hpt"]
    for path, policy in zip(paths, ("ptps", "crps"), strict=True):
        path.write_bytes(run(two(policy), 400).trace)
    names = [str(path) for path in paths]
    good = CliRunner().invoke(main, ["trace", "diff", names[0], names[0], "--within", "2ns"])
    assert good.exit_code == 0
    assert "the schedules agree within 0ns" in good.output
    bad = CliRunner().invoke(main, ["trace", "diff", *names, "--within", "2ns", "--json"])
    assert bad.exit_code == 1
    assert json.loads(bad.output)["least_bound_ns"] == 15


def test_a_pcpu_that_is_stolen_does_not_idle() -> None:
    """Stolen or not, nobody runs from 80 to 100; who looks at the schedules is told which."""
    theft = Stolen(period_ns=1_000, duration_ns=15, offset_ns=82)
    robbed, plain = run(two().replace(stolen=(theft,)), 400), run(two(), 400)
    found = compared(robbed, plain, 0)
    assert found.divergence is not None
    assert found.divergence.result.first == "stolen (nobody pays)"
    assert found.divergence.result.second == "idle (nobody pays)"
    assert (found.divergence.start_ns, found.divergence.end_ns) == (82, 97)
