# SPDX-License-Identifier: BSD-2-Clause
"""Ranges of periods in system files and in CARTS files: what the analysis may choose from."""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperperiod._analysis import Shape
from hyperperiod.analysis import analyze, resolve
from hyperperiod.analysis.domains.domain_level import components_of
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.model import InputError, Interface, load_system, to_toml

TASKS = 'task = [{ name = "t", period = "50ms", wcet = "3ms" }]'


def system_file(folder: Path, inside: str, top: str = "") -> Path:
    path = folder / "s.toml"
    path.write_text(
        f'name = "s"\npolicy = "ptps"\n{top}[[domain]]\nname = "d"\n{TASKS}\n{inside}\n'
    )
    return path


def interface_of(path: Path) -> Interface:
    interface = resolve(load_system(path)).domains[0].interface
    assert interface is not None
    return interface


def test_the_best_period_of_the_range(tmp_path: Path) -> None:
    """Budgets are exact to the nanosecond where no quantum is set."""
    text = 'interface_period_range = { min = "7500us", max = "12ms", step = "500us" }'
    path = system_file(tmp_path, text)
    system = load_system(path)
    parts = components_of(system.domains[0])
    budgets = {
        period: minimal_budget(parts, Shape.GENERAL, period).budget_ns or period
        for period in range(7_500_000, 12_000_001, 500_000)
    }
    best = min(budgets, key=lambda period: budgets[period] / period)
    assert interface_of(path) == Interface(period_ns=best, budget_ns=budgets[best])
    optimum = resolve_what_can_be(system).optima["d"]
    assert optimum.periods_tried + optimum.periods_pruned == len(budgets)


def test_whole_quanta_in_a_range(tmp_path: Path) -> None:
    text = 'interface_period_range = { min = "8ms", max = "12ms" }'
    interface = interface_of(system_file(tmp_path, text, 'quantum = "2ms"\n'))
    assert interface.period_ns in (8_000_000, 10_000_000, 12_000_000)
    assert interface.budget_ns % 2_000_000 == 0


def test_without_a_range_the_choice_is_free(tmp_path: Path) -> None:
    free = interface_of(system_file(tmp_path, ""))
    bound = interface_of(
        system_file(tmp_path, 'interface_period_range = { min = "40ms", max = "60ms" }')
    )
    assert free.period_ns < bound.period_ns == 40_000_000


@pytest.mark.parametrize(
    ("inside", "top", "said"),
    [
        ('interface_period_range = { min = "9ms", max = "8ms" }', "", "at least min"),
        ('interface_period_range = { min = "9ms" }', "", "max"),
        (
            'interface_period_range = { min = "8ms", max = "9ms" }\ninterface_period = "8ms"',
            "",
            "one of the two",
        ),
        (
            'interface_period_range = { min = "8ms", max = "9500us" }',
            'quantum = "1ms"\n',
            "a multiple of the quantum",
        ),
    ],
)
def test_refused(tmp_path: Path, inside: str, top: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_system(system_file(tmp_path, inside, top))


def test_written_as_read(tmp_path: Path) -> None:
    text = 'interface_period_range = { min = "8ms", max = "12ms", step = "100us" }'
    system = load_system(system_file(tmp_path, text))
    assert "{ min = " in to_toml(system)
    again = tmp_path / "again.toml"
    again.write_text(to_toml(system))
    assert load_system(again) == system


def test_ranges_of_carts_files_bind(tmp_path: Path) -> None:
    path = tmp_path / "s.xml"
    path.write_text(
        '<system os_scheduler="DM" min_period="1" max_period="1">'
        '<component name="c" scheduler="DM" min_period="12" max_period="20">'
        '<task name="t" p="50" d="50" e="3"/></component></system>'
    )
    entry = analyze(load_system(path)).domains[0]
    assert entry.interface is not None
    assert 12_000_000 <= entry.interface.period_ns <= 20_000_000
    assert entry.interface.budget_ns % 1_000_000 == 0
    assert entry.schedulable is True
