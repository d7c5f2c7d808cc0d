# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps on Xen: drawn systems run in the simulator and on machines, which agree."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.xen_images import guest, image

import hyperperiod as hp

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-system-aarch64") is None or shutil.which("dtc") is None,
    reason="qemu-system-aarch64 or dtc is not installed; apt-get install qemu-system-arm"
    " device-tree-compiler",
)
NEAR_NS = 4_000_000
"""What a machine's own work may add: a job that it keeps from ending in a budget waits for one."""


def test_prediction_beside_measurement(tmp_path: Path) -> None:
    image("arm64")
    guest()
    found = hp.sweep(
        {
            "name": "beside",
            "systems": 2,
            "horizon": "200ms",
            "hosts": ["analysis", "sim", "xen"],
            "system": {"policy": "crps"},
            "draw": {
                "domains": 2,
                "tasks": 4,
                "utilization": 0.5,
                "min_period": "20ms",
                "max_period": "50ms",
            },
        },
        tmp_path / "rows",
    )
    assert [row.accepted for row in found.points] == [2, 2, 2]
    tasks = pq.read_table(tmp_path / "rows" / "tasks").to_pylist()
    assert len(tasks) == 8
    for task in tasks:
        assert task["jobs"] > 3
        assert (task["misses"], task["xen_misses"]) == (0, 0)
        assert abs(task["jobs"] - task["xen_jobs"]) <= 1
        assert task["max_ns"] < task["xen_max_ns"] < task["max_ns"] + NEAR_NS
