# SPDX-License-Identifier: BSD-2-Clause
"""Points, seeds and systems come from the file alone; what is wrong with one is said at once."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from tests.sweep.sweeps import SMALL, written

from hyperperiod import InputError
from hyperperiod.experiments.sweep.experiment import (
    LoadedSweep,
    Point,
    experiment_in,
    experiment_of,
    load_sweep,
    seed_of,
    system_of,
)
from hyperperiod.model import System
from hyperperiod.model.load import read_document
from hyperperiod.model.part import Part
from hyperperiod.resources import EXPERIMENTS

SHIPPED = sorted((EXPERIMENTS / "sweeps").glob("*.toml"))


def loaded(folder: Path, text: str) -> LoadedSweep:
    return load_sweep(str(written(folder, text)))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_sweeps_are_read(path: Path) -> None:
    experiment = load_sweep(str(path))
    assert experiment.sweep.name == path.stem
    assert len(experiment.points) > 1


def test_points_are_all_combinations(tmp_path: Path) -> None:
    points = loaded(tmp_path, SMALL).points
    assert [list(point.values.values()) for point in points] == [
        ["ptps", Decimal("0.3")],
        ["ptps", Decimal("0.9")],
        ["crps", Decimal("0.3")],
        ["crps", Decimal("0.9")],
    ]
    assert [str(point.sweep.system["policy"]) for point in points] == ["ptps"] * 2 + ["crps"] * 2


def test_parts_hold_every_system_once(tmp_path: Path) -> None:
    parts = loaded(tmp_path, SMALL).parts()
    held = [(part.point.number, at) for part in parts for at in range(part.first, part.end)]
    assert held == [(point, at) for point in range(4) for at in range(8)]
    assert [part.number for part in parts] == list(range(12))


def test_systems_depend_on_the_draw_and_their_number_alone(tmp_path: Path) -> None:
    """Policies are compared on the same systems, and other loads have others."""
    one, other, third, _ = loaded(tmp_path, SMALL).points
    for number in range(8):
        assert seed_of(one, number) == seed_of(third, number)
        assert seed_of(one, number) != seed_of(other, number)
        same = system_of(one, number), system_of(third, number)
        assert same[0].domains == same[1].domains
        assert same[0].policy != same[1].policy
    assert len({seed_of(one, number) for number in range(1000)}) == 1000


@pytest.mark.parametrize(
    "common",
    [
        "",
        'domain = { scheduler = "edf", interface_period = "5ms" }',
        'task = { jitter = "1us", deadline = "19ms" }',
        'domain = { scheduler = "fp", priority = 3 }\ntask = { priority = 1, name = "one" }',
        'domain = { pcpu = 1 }\nperiods = "automotive"\nmin_deadline = 0.7',
    ],
)
def test_systems_made_quickly_are_those_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, common: str
) -> None:
    """Drawn records are copies of one that was read: the same as if each was read by itself."""
    text = SMALL.replace("utilization = 0.4\n", f"utilization = 0.4\n{common}\n")
    text = text.replace("[system]", "[system]\npcpus = 2")
    path = written(tmp_path, text.replace("tasks = 4", "tasks = 7"))
    point = experiment_of("quick", read_document(str(path))[0]).points[0]
    quick = [_said(point, number) for number in range(20)]
    monkeypatch.setattr(Part, "varied", lambda *_, **__: None)
    assert quick == [_said(point, number) for number in range(20)]


def _said(point: Point, number: int) -> System | str:
    try:
        return system_of(point, number)
    except InputError as error:
        return str(error)


def test_a_worker_makes_the_same_systems(tmp_path: Path) -> None:
    experiment = loaded(tmp_path, SMALL)
    again = experiment_of(experiment.name, experiment.document)
    assert again.digest == experiment.digest
    for point, same in zip(experiment.points, again.points, strict=True):
        assert system_of(point, 5) == system_of(same, 5)


def test_seeds_do_not_move(tmp_path: Path) -> None:
    """A sweep of today must be resumed, and repeated, tomorrow."""
    point = loaded(tmp_path, SMALL).points[0]
    task = system_of(point, 0).domains[0].tasks[0]
    assert (seed_of(point, 0), task.period_ns, task.wcet_ns) == (
        18_071_851_594_937_999_591,
        88_000_000,
        4_113_000,
    )


def test_any_key_of_a_system_can_be_varied(tmp_path: Path) -> None:
    text = """
name = "keys"
file = "base.toml"
[grid]
"system.domain[0].interface.budget" = ["2ms", "3ms"]
"system.domain[0].task[0].etf" = [1, 0.5]
"system.overheads.context_switch" = ["0us", "4us"]
"""
    base = """
name = "base"
policy = "ptps"
[[domain]]
name = "a"
interface = { period = "10ms", budget = "1ms" }
[[domain.task]]
name = "t"
period = "40ms"
wcet = "2ms"
"""
    written(tmp_path, base, "base.toml")
    points = loaded(tmp_path, text).points
    systems = [system_of(point, 0) for point in points]
    assert len(systems) == 8
    interfaces = {system.domains[0].interface for system in systems}
    assert sorted(one.budget_ns for one in interfaces if one) == [2_000_000, 3_000_000]
    assert {float(system.domains[0].tasks[0].etf) for system in systems} == {1.0, 0.5}
    assert {system.overheads.context_switch_ns for system in systems} == {0, 4000}


def test_domains_are_placed_where_least_is_asked_for(tmp_path: Path) -> None:
    text = SMALL.replace('quantum = "1ms"', "pcpus = 2").replace("domains = 2", "domains = 4")
    for number in range(8):
        system = system_of(loaded(tmp_path, text).points[1], number)
        loads = [0.0, 0.0]
        for domain in sorted(system.domains, key=lambda one: -one.utilization):
            assert domain.pcpu is not None
            assert loads[domain.pcpu] == min(loads)
            loads[domain.pcpu] += float(domain.utilization)


def test_a_sweep_that_is_not_there_is_no_missing_system(tmp_path: Path) -> None:
    path = tmp_path / "nobody.toml"
    with pytest.raises(InputError) as caught:
        load_sweep(str(path))
    allowed = "an experiment (.toml) of at most 1 MiB"
    assert str(caught.value) == f"{path}: found no such file; allowed: {allowed}"


@pytest.mark.parametrize(
    ("old", "new", "key", "found"),
    [
        ("systems = 8", "systems = 0", "systems", "0"),
        ("systems = 8", "sistems = 8", "sistems", "the unknown key"),
        ('"sim"]', '"bsd"]', "hosts[1]", "'bsd'"),
        ('"gfb"]', '"gbf"]', "tests[1]", "'gbf'"),
        ('"uunifast"', '"unifast"', "draw.generator", "'unifast'"),
        ("[0.3, 0.9]", "0.3", "grid.draw.utilization", "0.3"),
        ("[0.3, 0.9]", "[]", "grid.draw.utilization", "an empty list"),
        ("[0.3, 0.9]", "[0.3, -1]", "grid.draw.utilization", "-1"),
        ('"draw.utilization"', '"draw.utilisation"', "grid.draw.utilisation", "the unknown key"),
        ('"draw.utilization"', '"draws.utilization"', "grid", "'draws.utilization'"),
        ('"draw.utilization"', '"draw..utilization"', "grid", "'draw..utilization'"),
        ('"draw.utilization"', '"system.domain[3].pcpu"', "grid", "'system.domain[3].pcpu'"),
        ('["ptps", "crps"]', '["ptps", "craps"]', "grid.system.policy", "'craps'"),
        ('"uunifast"', '"randfixedsum"\nmax_share = 0.1', "draw", "4 shares"),
        ('max_period = "200ms"', 'max_period = "2ms"', "draw.min_period", "a time above"),
        ('hosts = ["analysis", "sim"]\ntests = ["qpa", "gfb"]', "hosts = []", "hosts", "no host"),
        ("part = 3", 'x = "system.pcpus"', "x", "'system.pcpus'"),
        ("part = 3", 'file = "nowhere.toml"', "", "no such file"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, key: str, found: str) -> None:
    assert old in SMALL
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, SMALL.replace(old, new))
    assert caught.value.key == key
    assert found in caught.value.found
    assert caught.value.allowed


WITH_MORE = SMALL.replace('quantum = "1ms"', 'quantum = "1ms"\npcpus = 2').replace(
    "[grid]", '[draw.domain]\nscheduler = "rm"\n[draw.task]\netf = 0.5\n\n[grid]'
)


@pytest.mark.parametrize(
    ("old", "new", "line_of", "key"),
    [
        ('["ptps", "crps"]', '["ptps", "craps"]', '"system.policy"', "grid.system.policy"),
        ("[0.3, 0.9]", '[0.3, "x"]', '"draw.utilization"', "grid.draw.utilization"),
        ("utilization = 0.4", "utilization = 0", "utilization = 0", "draw.utilization"),
        ('quantum = "1ms"', 'quantum = "1"', "quantum", "system.quantum"),
        ('scheduler = "rm"', 'scheduler = "x"', "scheduler", "draw.domain.scheduler"),
        ('scheduler = "rm"', 'shceduler = "rm"', "shceduler", "draw.domain.shceduler"),
        ("etf = 0.5", "etf = 2", "etf", "draw.task.etf"),
        ('"draw.utilization" = [0.3', '"draw.task.etf" = [2', '"draw.task', "grid.draw.task.etf"),
        ('"uunifast"', '"randfixedsum"\nmax_share = 0.1', "[draw]", "draw"),
    ],
)
def test_what_is_wrong_has_its_line_in_the_file(
    tmp_path: Path, old: str, new: str, line_of: str, key: str
) -> None:
    """So has what is wrong with the grid, and what only shows in a system that was made."""
    assert WITH_MORE.count(old) == 1
    text = WITH_MORE.replace(old, new)
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_sweep(str(path))
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line_of in line]
    assert (caught.value.file, caught.value.line) == (str(path), lines[0])
    assert caught.value.key == key
    assert caught.value.found
    assert caught.value.allowed


def test_what_is_wrong_in_a_system_file_has_its_line_there(tmp_path: Path) -> None:
    base = written(tmp_path, 'policy = "ptps"\nquantum = "1"\n', "base.toml")
    text = 'name = "keys"\nfile = "base.toml"\ndraw = { utilization = 0.5 }\n[system]\n'
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, text)
    assert str(caught.value).startswith(f"{base}:2: quantum: found '1'; allowed: ")
    assert loaded(tmp_path, text + 'quantum = "1ms"\n').points


def test_what_is_wrong_in_a_dictionary_has_its_key() -> None:
    said = {"name": "said", "draw": {"utilization": 0.5}, "grid": {"system.policy": ["craps"]}}
    with pytest.raises(InputError, match=r"^the experiment: grid\.system\.policy: found 'craps'"):
        experiment_in(said)
