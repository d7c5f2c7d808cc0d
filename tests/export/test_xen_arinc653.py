# SPDX-License-Identifier: BSD-2-Clause
"""`export --to xen-arinc653`: tables that are made of servers, as Xen is told of them, and what is
refused. `test_xl_on_stack.py` runs the files.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from tests.support.exported import called, server, system

from hyperperiod import InputError, System, analyze, to_toml
from hyperperiod.cli import main
from hyperperiod.export import HOSTS, write_folder
from hyperperiod.model import load_system
from hyperperiod.model.made_table import with_table
from hyperperiod.runs import simulate

TARGET = "xen-arinc653"
PARTITIONS = Path(__file__).parents[2] / "docs" / "examples" / "partitions.toml"
MS = 1_000_000


def exported(folder: Path, one: System) -> Path:
    host = HOSTS[TARGET]
    write_folder(folder / "out", host.files(host.judged(one), None), {})
    return folder / "out"


def entries(path: Path) -> list[tuple[int, str]]:
    """For how long who runs, in a file of a table: milliseconds, and the last word."""
    rows = [line.split() for line in path.read_text().splitlines()]
    return [(int(row[0]) // MS, row[-1]) for row in rows]


def test_the_windows_of_a_file_are_the_entries(tmp_path: Path) -> None:
    out = exported(tmp_path, load_system(PARTITIONS))
    windows = [(5, "flight"), (10, "radio"), (5, "idle"), (5, "flight"), (15, "maintenance")]
    assert entries(out / "partitions.table") == [(40, "frame"), *windows]
    assert load_system(out / "system.toml") == load_system(PARTITIONS)
    handles = {row.split()[1] for row in (out / "partitions.table").read_text().splitlines()}
    for name in ("flight", "radio", "maintenance"):
        config = (out / f"{name}.cfg").read_text()
        assert config.split('uuid = "')[1].split('"')[0] in handles


def test_servers_become_a_table_for_each_pcpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hyperperiod.model.made_table.fewer_windows", lambda *_: None)
    one = system(
        {"name": "a", "interface": server(2, 10), "pcpu": 0},
        {"name": "b", "interface": server(9, 20), "pcpu": 0},
        {"name": "c", "interface": server(5, 40), "pcpu": 1},
        {"name": "rest", "best_effort": True, "pcpu": 1},
        pcpus=2,
    )
    out = exported(tmp_path, one)
    assert entries(out / "s-0.table") == [
        *((40, "frame"), (2, "a"), (9, "b"), (2, "a"), (7, "idle")),
        *((2, "a"), (9, "b"), (2, "a")),
    ]
    assert entries(out / "s-1.table") == [(40, "frame"), (5, "c")]
    assert not (out / "rest.cfg").exists()
    found = analyze(load_system(out / "system.toml"))
    assert [one.schedulable for one in found.domains] == [True, True, None]
    (tmp_path / "pools").write_text("")
    answers = f"cpupool-list) cat {tmp_path}/pools ;;\nlist) exit 1 ;;\n"
    said = called(tmp_path, "start.sh", answers)
    assert said[-5:] == [
        *("python3 set-table.py s-0", "python3 set-table.py s-1"),
        *("xl unpause a", "xl unpause b", "xl unpause c"),
    ]


@pytest.mark.parametrize(
    ("domains", "words"),
    [
        ([("a", 6, 10), ("b", 9, 20)], "bandwidths sum to 1.05"),
        ([("a", 1, 9.973), ("b", 1, 10.007)], "at most 512 in their lcm"),
        ([("a", 0.5, 1), ("b", 16, 40)], "64, as Xen takes them"),
    ],
)
def test_what_no_table_has_is_refused(
    domains: list[tuple[str, float, float]], words: str, tmp_path: Path
) -> None:
    each = [{"name": name, "interface": server(*given)} for name, *given in domains]
    with pytest.raises(InputError, match=words):
        exported(tmp_path, system(*each))


def test_a_domain_with_several_vcpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one vcpu"):
        exported(tmp_path, system({"name": "a", "interface": server(2, 10), "vcpus": 2}))


@pytest.mark.parametrize("option", [["--margin", "10%"], ["--overheads", "x.toml"]])
def test_options_that_windows_do_not_have(option: list[str], tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    command = ["export", "--to", TARGET, str(PARTITIONS), "--out", out, *option]
    found = CliRunner().invoke(main, command)
    assert (found.exit_code, "windows" in found.output) == (2, True)


class Drawn(NamedTuple):
    """A table, and what each partition is to have: period and budget (ns)."""

    table: System
    servers: dict[str, tuple[int, int]]


def drawn(draw: random.Random) -> Drawn | None:
    """Busy servers on up to two pcpus, often as many as fit; None if they do not."""
    pcpus = draw.choice([1, 1, 2])
    domains: list[dict[str, Any]] = []
    for pcpu in range(pcpus):
        periods = [draw.choice([4, 5, 6, 8, 10, 12, 20, 24]) for _ in range(draw.randint(1, 5))]
        shares = [draw.random() for _ in periods]
        load = draw.choice([draw.uniform(0.3, 1.0), 1.15])
        for number, (period, share) in enumerate(zip(periods, shares, strict=True)):
            budget = max(1, min(period, int(period * load * share / sum(shares))))
            own = {"interface": server(budget, period), "pcpu": pcpu}
            busy = {"task": [{"name": "t", "kind": "busy"}]}
            domains.append({"name": f"d{pcpu}{number}", **own, **busy})
    try:
        table = with_table(system(*domains, policy="periodic+edf+none", pcpus=pcpus), solve=False)
    except InputError:
        return None
    interfaces = {one["name"]: one["interface"] for one in domains}
    return Drawn(table, {name: (i["period"], i["budget"]) for name, i in interfaces.items()})


def short(one: Drawn) -> str:
    """A period in which windows bring another amount than the budget; empty if there is none."""
    frame_ns = one.table.major_frame_ns or 0
    for domain in one.table.domains:
        period_ns, budget_ns = one.servers[domain.name]
        for start_ns in range(0, frame_ns, period_ns):
            got_ns = sum(
                max(0, min(w.end_ns, start_ns + period_ns) - max(w.start_ns, start_ns))
                for w in domain.windows
            )
            if got_ns != budget_ns:
                return f"{domain.name} has {got_ns} of {budget_ns} from {start_ns} on: {one}"
    return ""


@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=pytest.mark.slow)])
def test_each_budget_comes_in_each_period(count: int, tmp_path: Path) -> None:
    """In the windows, in the file, and in the simulator, where each has all of its windows."""
    made = [one for number in range(count) if (one := drawn(random.Random(number)))]
    assert len(made) > count // 2
    path = tmp_path / "table.toml"
    for one in made:
        assert not short(one)
        path.write_text(to_toml(one.table))
        assert load_system(path) == one.table
        frame_ns = one.table.major_frame_ns
        assert frame_ns is not None
        for found in simulate(one.table, 2 * frame_ns).domains:
            period_ns, budget_ns = one.servers[found.name]
            assert found.supply_ns == 2 * frame_ns // period_ns * budget_ns
            assert found.periods is not None
            assert found.periods.short == 0


def test_windows_are_fewer_than_those_of_edf() -> None:
    """EDF runs b in two pieces around the second budget of a; one piece is in time as well."""
    one = system(
        {"name": "a", "interface": server(4, 10)}, {"name": "b", "interface": server(11, 20)}
    )
    windows = {d.name: len(d.windows) for d in with_table(one, solve=False).domains}
    assert windows == {"a": 2, "b": 1}


def test_a_solver_makes_windows_fewer() -> None:
    """Each budget comes in each period still; windows of one server join where two periods meet."""
    pytest.importorskip("ortools")
    counts = []
    for number in range(4):
        draw = random.Random(number)
        periods = [draw.choice([4, 6, 8, 12]) for _ in range(3)]
        its = {
            f"d{at}": (draw.randint(1, period // 3), period) for at, period in enumerate(periods)
        }
        one = system(*({"name": name, "interface": server(*given)} for name, given in its.items()))
        few, fewer = (with_table(one, solve=solve) for solve in (False, True))
        assert not short(Drawn(fewer, {name: (p * MS, b * MS) for name, (b, p) in its.items()}))
        counts.append([sum(len(d.windows) for d in table.domains) for table in (few, fewer)])
    assert all(fewer <= few for few, fewer in counts)
    assert sum(few - fewer for few, fewer in counts) > 3, counts


def test_without_the_solver_the_table_is_the_one_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    one = system(
        {"name": "a", "interface": server(2, 10)}, {"name": "b", "interface": server(9, 20)}
    )
    assert with_table(one) == with_table(one, solve=False)
