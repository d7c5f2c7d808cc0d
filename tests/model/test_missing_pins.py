# SPDX-License-Identifier: BSD-2-Clause
"""A partitioned system may leave pcpus out; whoever needs them says so, with file and key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from hyperperiod.analysis import analyze, resolve
from hyperperiod.cli import main
from hyperperiod.export import export_xl
from hyperperiod.model import (
    InputError,
    System,
    load_system,
    parse_policy,
    require_pins,
    to_toml,
    with_policy,
)
from hyperperiod.runs import simulate

TEXT = """
name = "open"
policy = "ptps"
pcpus = 2
[[domain]]
name = "a"
task = [{ name = "t", period = "20ms", wcet = "2ms" }]
[[domain]]
name = "b"
pcpu = 1
task = [{ name = "t", period = "20ms", wcet = "2ms" }]
[[domain]]
name = "c"
best_effort = true
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "open.toml"
    path.write_text(TEXT)
    return path


def test_the_model_accepts_them(file: Path, tmp_path: Path) -> None:
    system = load_system(file)
    assert [domain.pcpu for domain in system.domains] == [None, 1, None]
    assert not system.pinned
    again = tmp_path / "again.toml"
    again.write_text(to_toml(system))
    assert load_system(again) == system


def test_reading_may_demand_them(file: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_system(file, pinned=True)
    assert [(one.file, one.line, one.key) for one in caught.value.problems] == [
        (str(file), 5, "domain[0].pcpu"),
        (str(file), 12, "domain[2].pcpu"),
    ]
    assert caught.value.allowed == (
        "0 to 1: policy ptps pins every domain (hyperperiod fit chooses pcpus)"
    )


def test_all_problems_of_a_file_are_reported_at_once(file: Path) -> None:
    file.write_text(TEXT.replace("pcpu = 1", "pcpu = 2"))
    with pytest.raises(InputError) as caught:
        load_system(file, pinned=True)
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    "use",
    [
        require_pins,
        analyze,
        resolve,
        lambda system: simulate(system, horizon_ns=1_000_000, seed=1),
        lambda system: export_xl(system, None),
    ],
)
def test_everybody_else_demands_them(use: Callable[[System], object], file: Path) -> None:
    with pytest.raises(InputError, match=r"domain\[0\]\.pcpu: found nothing; allowed: 0 to 1"):
        use(load_system(file))


@pytest.mark.parametrize(
    "command",
    [
        ("analyze",),
        ("simulate",),
        ("run", "--on", "sim"),
        ("compare",),
        ("compare", "--policies", "ptps,crps"),
        ("export", "--to", "xen-xl"),
        ("export", "--to", "linux"),
    ],
)
def test_commands_demand_them(command: tuple[str, ...], file: Path, tmp_path: Path) -> None:
    name, *options = command
    if name == "export":
        options += ["--out", str(tmp_path / "folder")]
    result = CliRunner().invoke(main, [name, str(file), *options])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"{file}:5: domain[0].pcpu: found nothing; allowed: 0 to 1" in result.stderr
    assert not (tmp_path / "folder").exists()


def test_a_global_policy_needs_none(file: Path) -> None:
    system = load_system(file)
    moved = with_policy(system, parse_policy("rtds"))
    assert moved.pinned
    with pytest.raises(InputError, match="pins every domain"):
        with_policy(moved, parse_policy("crps"))
    assert not with_policy(moved, parse_policy("crps"), pinned=False).pinned


def test_another_number_of_pcpus(file: Path) -> None:
    one = load_system(file.with_name("open.toml"), pcpus=4)
    assert one.pcpus == 4
    with pytest.raises(InputError, match=r"domain\[1\]\.pcpu: found 1; allowed: 0"):
        load_system(file, pcpus=1)
    file.write_text(TEXT.replace("pcpu = 1\n", "").replace("pcpus = 2\n", ""))
    assert load_system(file).pinned
    assert not load_system(file, pcpus=2).pinned


def test_pins_that_mean_nothing_are_still_refused() -> None:
    domain = {"name": "a", "pcpu": 1, "best_effort": True}
    with pytest.raises(InputError, match="under the global policy rtds vcpus move"):
        System.of({"name": "x", "policy": "rtds", "pcpus": 2, "domain": [domain]})
