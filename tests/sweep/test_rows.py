# SPDX-License-Identifier: BSD-2-Clause
"""Rows say what the commands say of the same systems, and summaries count them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support.printed import checked
from tests.sweep.sweeps import SMALL, rows_of, swept, written

import hyperperiod
from hyperperiod import InputError
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.multiprocessor.gfb import gfb
from hyperperiod.analysis.tasks.qpa import qpa
from hyperperiod.experiments.confidence import share_interval
from hyperperiod.experiments.sweep.experiment import load_sweep, seed_of, system_of


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("small")
    done = swept(written(folder, SMALL), folder / "out", "--json")
    assert done.returncode == 0, done.stderr
    return folder, checked(done.stdout)


def test_every_system_has_a_row_for_each_judge(small: tuple[Path, dict[str, Any]]) -> None:
    rows = rows_of(small[0] / "out", "systems")
    found = Counter((row["point"], row["system"], row["judge"]) for row in rows)
    judges = ("analysis", "sim", "qpa", "gfb")
    assert found == Counter(
        (point, system, judge) for point in range(4) for system in range(8) for judge in judges
    )


def test_rows_say_what_commands_say(small: tuple[Path, dict[str, Any]]) -> None:
    folder = small[0]
    experiment = load_sweep(str(folder / "sweep.toml"))
    tables = {name: rows_of(folder / "out", name) for name in ("systems", "domains", "tasks")}
    compared = 0
    for point in experiment.points:
        for number in range(8):
            here = {
                name: [
                    row for row in rows if row["point"] == point.number and row["system"] == number
                ]
                for name, rows in tables.items()
            }
            compared += compare(point, number, here)
    assert compared > 60


def compare(point: Any, number: int, rows: dict[str, list[dict[str, Any]]]) -> int:
    """Holds the rows of a system against `analyze`, `simulate` and the tests; tasks that ran."""
    system, seed = system_of(point, number), seed_of(point, number)
    assert {row["seed"] for row in rows["systems"]} == {seed}
    verdicts = {row["judge"]: row["accepted"] for row in rows["systems"]}
    analysis = hyperperiod.analyze(system)
    assert verdicts["analysis"] == analysis.schedulable
    loads = [
        Load(task.wcet_ns or 0, task.period_ns or 0, task.deadline_ns or 0)
        for domain in system.domains
        for task in domain.tasks
    ]
    assert verdicts["qpa"] == qpa(loads).holds
    assert bool(verdicts["gfb"]) == bool(gfb(loads, pcpus=1).holds)
    judged = [task for domain in analysis.domains for task in domain.tasks]
    for row, found in zip(rows["tasks"], judged, strict=True):
        assert row["schedulable"] == found.schedulable
        assert row["bound_ns"] == found.response_bound_ns
    for row, domain in zip(rows["domains"], analysis.domains, strict=True):
        interface = domain.interface
        assert row["period_ns"] == (interface and interface.period_ns)
        assert row["budget_ns"] == (interface and interface.budget_ns)
    try:
        run = hyperperiod.simulate(system, "300ms", seed=seed)
    except InputError:
        assert verdicts["sim"] is False
        assert all(row["jobs"] is None for row in rows["tasks"])
        return 0
    assert verdicts["sim"] == (run.misses == 0)
    for row, task in zip(rows["tasks"], run.tasks, strict=True):
        times = task.response_ns
        assert (row["jobs"], row["misses"], row["dmr"]) == (task.jobs, task.misses, task.dmr)
        if times is not None:
            assert row["min_ns"] == times.min
            assert (row["mean_ns"], row["max_ns"]) == (times.mean, times.max)
            assert (row["p50_ns"], row["p99_ns"]) == (times.p50, times.p99)
        else:
            assert row["max_ns"] is None
    for row, ran in zip(rows["domains"], run.domains, strict=True):
        assert (row["supply_ns"], row["donated_ns"]) == (ran.supply_ns, ran.donated_ns)
    return len(rows["tasks"])


def test_the_summary_counts_the_rows(small: tuple[Path, dict[str, Any]]) -> None:
    folder, result = small
    rows = rows_of(folder / "out", "systems")
    assert result["done"] == result["parts"] == 12
    for point in result["points"]:
        verdicts = [
            row["accepted"]
            for row in rows
            if (row["point"], row["judge"]) == (point["point"], point["judge"])
        ]
        assert point["systems"] == len(verdicts) == 8
        assert point["accepted"] == verdicts.count(True)
        assert point["unknown"] == verdicts.count(None)
        assert point["ratio"] == point["accepted"] / 8
        interval = share_interval(point["accepted"], 8)
        assert interval is not None
        assert point["ratio_interval"] == interval.to_dict()
    series = {(row["series"], row["judge"]): row["schedulability"] for row in result["weighted"]}
    for (policy, judge), found in series.items():
        here = [row for row in rows if (row["system.policy"], row["judge"]) == (policy, judge)]
        whole = sum(row["utilization"] for row in here)
        accepted = sum(row["utilization"] for row in here if row["accepted"])
        assert found == pytest.approx(accepted / whole)


def test_a_contradiction_ends_with_1(tmp_path: Path) -> None:
    """Counts of a file in which the analysis accepts what missed a deadline."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = written(tmp_path, SMALL)
    swept(path, tmp_path / "out")
    file = tmp_path / "out/systems/part-00000.parquet"
    table = pq.read_table(file)
    worst = [judge == "analysis" for judge in table.column("judge").to_pylist()]
    at = table.schema.get_field_index("accepted")
    pq.write_table(table.set_column(at, "accepted", pa.array(worst)), file)
    done = swept(path, tmp_path / "out", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["contradictions"] == 3
