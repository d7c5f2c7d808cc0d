# SPDX-License-Identifier: BSD-2-Clause
"""Runs on machines have columns of their own, beside those of the simulator.

Here the machines are the simulator, under other names; on Xen itself: `tests/xen/test_sweep.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.sweep.sweeps import swept, written

import hyperperiod as hp
from hyperperiod.experiments.sweep.experiment import experiment_in
from hyperperiod.experiments.sweep.folder import opened
from hyperperiod.experiments.sweep.page import write_sweep_page
from hyperperiod.experiments.sweep.tables import part_as_parquet
from hyperperiod.runs import simulate

LOADS: dict[str, Any] = {
    "name": "machines",
    "systems": 4,
    "part": 3,
    "horizon": "300ms",
    "hosts": ["analysis", "sim", "xen", "linux"],
    "draw": {"domains": 2, "tasks": 4, "utilization": 0.5, "max_period": "100ms"},
    "grid": {"draw.utilization": [0.6, 0.97]},
}


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("xen", "linux"):

        def run(*arguments: Any, host: str = host) -> hp.RunResult:
            return simulate(*arguments).replace(host=host)

        monkeypatch.setattr(f"hyperperiod.runs.run_on_{host}", run)


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    files = sorted((folder / table).glob("*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


@pytest.mark.usefixtures("simulated")
def test_columns_are_those_of_the_simulator(tmp_path: Path) -> None:
    found = hp.sweep(LOADS, tmp_path / "rows")
    accepted = {(row.judge, row.point): row.accepted for row in found.points}
    for point in (0, 1):
        both = {accepted[host, point] for host in ("sim", "xen", "linux")}
        assert len(both) == 1
    for table, names in (
        ("domains", {"supply_ns", "donated_ns"}),
        (
            "tasks",
            {"jobs", "misses", "dmr", "min_ns", "mean_ns", "p50_ns", "p99_ns", "max_ns"},
        ),
    ):
        rows = rows_of(tmp_path / "rows", table)
        assert any(row["supply_ns" if table == "domains" else "jobs"] for row in rows)
        for row in rows:
            for host in ("xen", "linux"):
                assert {name: row[f"{host}_{name}"] for name in names} == {
                    name: row[name] for name in names
                }
    verdicts = rows_of(tmp_path / "rows", "systems")
    assert [row["judge"] for row in verdicts[:4]] == ["analysis", "sim", "xen", "linux"]
    assert len(verdicts) == 2 * 4 * 4


@pytest.mark.usefixtures("simulated")
def test_what_cannot_run_has_no_numbers(tmp_path: Path) -> None:
    """Tasks that ask for more than a pcpu have no interface, and no run."""
    draw = {**LOADS["draw"], "utilization": 1.9, "domains": 1}
    hp.sweep({**LOADS, "draw": draw, "grid": {}}, tmp_path / "rows")
    for row in rows_of(tmp_path / "rows", "tasks"):
        assert (row["jobs"], row["xen_jobs"], row["linux_max_ns"]) == (None, None, None)
    for row in rows_of(tmp_path / "rows", "systems"):
        assert not row["accepted"]
        assert row["reason"].startswith(("no interface: ", "domain domain1"))


@pytest.mark.usefixtures("simulated")
def test_the_page_draws_each_host(tmp_path: Path) -> None:
    experiment = experiment_in(LOADS)
    with opened(tmp_path / "rows", experiment) as folder:
        for part in experiment.parts():
            folder.keep(part.number, part_as_parquet(experiment, part))
        page = write_sweep_page(experiment, folder, hp.sweep(LOADS)).read_text()
    for where in ("in the simulator", "on Xen", "on Linux"):
        assert f"of all points, {where}" in page
    assert "Tasks by their longest response on Xen" in page


def test_ctrl_c_on_a_machine_leaves_no_half_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine says what it reached; that is no result of a system."""
    ran: list[int] = []

    def run(*arguments: Any) -> hp.RunResult:
        ran.append(1)
        return simulate(*arguments).replace(host="xen", interrupted=len(ran) == 5)

    monkeypatch.setattr("hyperperiod.runs.run_on_xen", run)
    loads = {**LOADS, "hosts": ["xen"], "draw": {**LOADS["draw"], "utilization": 0.5}, "grid": {}}
    found = hp.sweep({**loads, "part": 2}, tmp_path / "rows")
    assert (found.interrupted, found.done) == (False, 2)
    ran.append(1)
    found = hp.sweep({**loads, "part": 2, "systems": 8}, tmp_path / "more")
    assert (found.interrupted, found.done, found.parts) == (False, 4, 4)
    ran[:] = [1, 1]
    found = hp.sweep({**loads, "part": 2, "systems": 6}, tmp_path / "third")
    assert (found.interrupted, found.done) == (True, 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_machine_that_is_not_built_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setenv("HYPERPERIOD_BUILD", str(tmp_path / "nothing"))
    text = """
name = "machines"
systems = 2
part = 1
hosts = ["xen"]
draw = { utilization = 0.5 }
"""
    done = swept(written(tmp_path, text), tmp_path / "out", "--workers", str(workers))
    assert done.returncode == 3
    assert "install" in done.stderr
    assert "hyperperiod xen build" in done.stderr
