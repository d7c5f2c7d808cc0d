# SPDX-License-Identifier: BSD-2-Clause
"""What Xen takes for itself: measured, the same each time, and enough to explain what was seen."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.on_xen import measured, need_xen

from hyperperiod.analysis.overheads import event_cost_ns
from hyperperiod.cli import main
from hyperperiod.hosts.xen.measure import GAPS, MOVE, XenCosts, costs, measure
from hyperperiod.hosts.xen.run import pick_allowance
from hyperperiod.measured import XEN, read
from hyperperiod.model import Overheads, load_system

EXAMPLE = Path(__file__).parents[2] / "systems" / "flight-control.toml"


def gaps_of(cost: Overheads) -> dict[str, int]:
    """The gaps that a machine with these costs shows."""
    still = cost.interrupt_ns + cost.pick_ns
    turn = still + cost.context_switch_ns
    return {
        "still": still,
        "turn": turn,
        "refill": turn + cost.replenish_ns,
        "foreign": cost.interrupt_ns + cost.wake_ns,
        "start": turn + cost.wake_ns,
        "depart": cost.pick_ns + cost.context_switch_ns,
        "move": cost.pick_ns + cost.context_switch_ns + cost.migration_ns,
    }


def test_known_costs_are_found_again() -> None:
    known = Overheads(
        context_switch_ns=1300,
        pick_ns=2500,
        replenish_ns=120,
        wake_ns=1700,
        interrupt_ns=600,
        migration_ns=9000,
    )
    assert costs(gaps_of(known)) == known


@pytest.mark.parametrize("kind", GAPS)
def test_the_costs_cover_every_gap(kind: str) -> None:
    """Also when the gaps do not fit one another: one of them is 500 ns longer here."""
    gaps = gaps_of(Overheads(context_switch_ns=1300, pick_ns=2500, wake_ns=1700, interrupt_ns=600))
    gaps[kind] += 500
    covered = gaps_of(costs(gaps))
    assert all(covered[name] >= gap for name, gap in gaps.items())


def test_a_measurement_repeats() -> None:
    need_xen()
    first: XenCosts = measured()
    assert measure() == first


def test_what_was_measured_is_plausible() -> None:
    """Thousands of instructions, not millions; each kind was seen several times."""
    need_xen()
    for name in GAPS:
        gap = measured().gaps[name]
        assert gap.count >= 3
        assert 500 < gap.longest_ns < (25_000 if name == MOVE else 15_000)
    covered = gaps_of(measured().overheads)
    assert all(covered[name] >= gap.longest_ns for name, gap in measured().gaps.items())


def test_what_a_trace_states_is_what_was_measured() -> None:
    """Before a pick comes an interrupt, so what follows it is the gap without one."""
    need_xen()
    gaps, interrupt_ns = measured().gaps, measured().overheads.interrupt_ns
    still_ns, turn_ns = gaps["still"].longest_ns, gaps["turn"].longest_ns
    resume_ns, switch_ns = pick_allowance(1)
    assert 0.8 * resume_ns <= still_ns - interrupt_ns <= resume_ns
    assert 0.8 * switch_ns <= turn_ns - still_ns <= switch_ns
    moved_ns = gaps["move"].longest_ns - gaps["depart"].longest_ns
    more_ns = pick_allowance(2)[1] - switch_ns
    assert 0.8 * more_ns <= moved_ns <= more_ns + 100


def test_the_file_of_measured_numbers_is_still_true() -> None:
    """To a tenth: the last digits depend on the compiler that Xen was built with."""
    need_xen()
    event_ns = event_cost_ns(measured().overheads, 1)
    kept, now = read()[XEN].numbers, measured().section(event_ns).numbers
    assert kept.keys() == now.keys()
    for name, number in now.items():
        assert number.value == pytest.approx(kept[name].value, rel=0.1), name


def test_the_table_is_that_of_a_system_file(tmp_path: Path) -> None:
    need_xen()
    table = tmp_path / "overheads.toml"
    done = CliRunner().invoke(main, ["doctor", "--measure", "xen", "--write", str(table)])
    assert done.exit_code == 0
    assert done.output == table.read_text()
    system = tmp_path / "system.toml"
    text = EXAMPLE.read_text()
    first_domain = text.index("[[domain]]")
    system.write_text(text[:first_domain] + table.read_text() + "\n" + text[first_domain:])
    assert load_system(system).overheads == measured().overheads


def test_write_goes_with_measure() -> None:
    done = CliRunner().invoke(main, ["doctor", "--write", "x.toml"])
    assert done.exit_code == 2
    assert "found --write alone; allowed: with --measure" in done.output
