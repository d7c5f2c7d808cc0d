# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps of programs on cores and on a cluster; notebooks' kernels have an event loop that runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from docs.notebook_pages import execute

CELLS = (
    """
import hyperperiod as hp

loads = {
    "name": "loads",
    "systems": 12,
    "part": 3,
    "hosts": ["analysis", "sim"],
    "horizon": "200ms",
    "draw": {"domains": 2, "tasks": 4, "utilization": 0.5, "max_period": "100ms"},
    "grid": {"draw.utilization": [0.6, 0.9]},
}
alone = hp.sweep(loads)
cores = hp.sweep(loads, workers=2)
print("cores", cores == alone)
""",
    """
from distributed import Client, LocalCluster

cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
)
client = Client(cluster)  # one of the notebook's own, beside that of the sweep
there = hp.sweep(loads, "rows", scheduler=cluster.scheduler_address)
print("cluster", there.replace(folder="") == alone)
print("client", client.submit(sum, [1, 2]).result())
""",
    """
again = hp.sweep(loads, "rows", scheduler=cluster.scheduler_address)
print("again", again == there, again.done, again.parts)
client.close()
cluster.close()
there
""",
)


def test_on_cores_and_on_a_cluster(tmp_path: Path) -> None:
    cells = [
        nbformat.v4.new_code_cell(source, id=f"cell{number}") for number, source in enumerate(CELLS)
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    execute(notebook, tmp_path)
    assert said(notebook) == [
        *("cores True", "cluster True", "client 3"),
        "again True 8 8",
    ]
    assert len(list((tmp_path / "rows" / "systems").glob("*.parquet"))) == 8
    assert "<table" in notebook.cells[-1].outputs[-1].data["text/html"]


def test_a_program_without_a_guard(tmp_path: Path) -> None:
    """It is not run again in each process, as Python would have it: it says its word once."""
    program = tmp_path / "program.py"
    program.write_text(CELLS[0].replace("workers=2", "workers=2)\nprint('once'"))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("once\ncores True\n", "")


def said(notebook: Any) -> list[str]:
    """What all cells printed, line by line."""
    return [
        line
        for cell in notebook.cells
        for output in cell.outputs
        if output.output_type == "stream" and output.name == "stdout"
        for line in output.text.splitlines()
    ]
