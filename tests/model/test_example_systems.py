# SPDX-License-Identifier: BSD-2-Clause
"""The systems that ship: each loads, tells a story first, and is what its story says."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from hyperperiod.model import Interface, System, load_system, to_toml, vcpus_of

SYSTEMS = Path(__file__).parents[2] / "systems"
FILES = sorted(SYSTEMS.glob("*.toml"))
US = 1_000
MS = 1_000_000

EXPECTED = {
    "avionics-unfitted": ("crps", 2, 7),
    "brake-by-wire": ("crps", 1, 3),
    "csa-synthetic": ("ptps", 1, 5),
    "deferrable-edf-counterexample": ("deferrable+edf+none", 1, 2),
    "deferrable-gedf-counterexample": ("deferrable+edf+none+global", 2, 3),
    "ertds-example3": ("ertds", 1, 2),
    "driver-domain": ("ds", 1, 4),
    "ertds-experiment-c": ("rtds", 2, 4),
    "exsched-table2": ("partitioned-hsf-fp", 2, 16),
    "exsched-table2-mixed": ("partitioned-hsf-fp", 2, 16),
    "exsched-table2-unfitted": ("partitioned-hsf-fp", 2, 16),
    "flight-control": ("crps", 1, 5),
    "hot-swap": ("ptps", 1, 2),
    "late-packets-psedf": ("psedf", 2, 4),
    "late-packets-sedf": ("sedf", 2, 6),
    "late-packets-sedf-prime": ("sedf-prime", 2, 10),
    "hungry-guests": ("crps", 1, 4),
    "hungry-neighbours": ("crps", 1, 4),
    "linux-guest": ("ptps", 1, 3),
    "linux-four-vcpus": ("crps", 4, 4),
    "overload": ("ptps", 1, 2),
    "packet-path": ("crps", 1, 4),
    "psedf-counterexample": ("psedf", 1, 5),
    "request-response": ("ertds", 1, 3),
    "ros2-robot": ("ds", 1, 2),
    "stability-control": ("psedf", 2, 5),
    "stability-control-one-pcpu": ("psedf", 1, 6),
    "stability-control-one-pcpu-sedf": ("sedf", 1, 5),
    "stability-control-unfitted": ("psedf", 2, 5),
    "two-commands": ("cbs", 1, 3),
    "vm-disk": ("ds", 1, 4),
    "zone-controller": ("ptps", 4, 5),
}


def load(name: str) -> System:
    return load_system(SYSTEMS / f"{name}.toml")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_loads(file: Path) -> None:
    system = load_system(file)
    assert (str(system.policy), system.pcpus, len(system.domains)) == EXPECTED[file.stem]
    assert system.name == file.stem


def test_none_is_missing() -> None:
    assert {file.stem for file in FILES} == set(EXPECTED)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_opens_with_its_story(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    assert all(line.startswith("# ") for line in lines[:1])
    assert sum(line.startswith("#") for line in lines) >= 4
    assert all(len(line) <= 100 for line in lines)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_unfitted_is_what_lacks_a_pcpu(file: Path) -> None:
    assert load_system(file).pinned is not file.stem.endswith("-unfitted")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_survives_being_written(file: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.toml"
    again.write_text(to_toml(load_system(file)), encoding="utf-8")
    assert load_system(again) == load_system(file)


def test_flight_control_is_harmonic() -> None:
    system = load("flight-control")
    periods = sorted(
        {task.period_ns for domain in system.domains for task in domain.tasks if task.period_ns}
        | {domain.interface_period_ns for domain in system.domains if domain.interface_period_ns}
    )
    assert all(b % a == 0 for a in periods for b in periods if b >= a)


def test_ertds_example3_is_table_1() -> None:
    system = load("ertds-example3")
    assert [domain.interface for domain in system.domains] == [
        Interface(period_ns=8 * US, budget_ns=2 * US),
        Interface(period_ns=12 * US, budget_ns=6 * US),
    ]
    assert system.spare == Interface(period_ns=24 * US, budget_ns=6 * US)


def test_exsched_is_table_2() -> None:
    periods = [6, 7, 8, 9, 10, 11, 14, 18] + [125] * 8
    budgets = [1] * 8 + [15] * 8
    for name, pins in (
        ("exsched-table2", [0] * 8 + [1] * 8),
        ("exsched-table2-mixed", [0, 1] * 8),
        ("exsched-table2-unfitted", [None] * 16),
    ):
        vcpus = vcpus_of(load(name))
        jiffy = 4 * MS
        assert [v.interface.period_ns // jiffy for v in vcpus if v.interface] == periods
        assert [v.interface.budget_ns // jiffy for v in vcpus if v.interface] == budgets
        assert [v.pcpu for v in vcpus] == pins
        assert [v.priority for v in vcpus] == list(range(16))
        assert [v.name for v in vcpus] == [f"S{number}" for number in range(16)]


def test_experiment_c_is_table_7() -> None:
    system = load("ertds-experiment-c")
    bandwidths = [d.interface.bandwidth for d in system.domains if d.interface]
    assert bandwidths == [Fraction(4128, 10_000)] * 3 + [Fraction(4816, 10_000)]
    # The story says that the paper's own bound does not hold for its table.
    assert sum(bandwidths) == Fraction(172, 100)
    assert 2 - max(bandwidths) == Fraction(15184, 10_000)


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("deferrable-edf-counterexample", Fraction(1)),
        ("deferrable-gedf-counterexample", Fraction(16, 15)),
        ("overload", Fraction(11, 10)),
    ],
)
def test_bandwidths_are_those_of_the_story(name: str, total: Fraction) -> None:
    interfaces = [domain.interface for domain in load(name).domains]
    assert sum(one.bandwidth for one in interfaces if one) == total
