# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod export`: what it says, its exit codes; errors write nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hyperperiod.cli import main

TOP = Path(__file__).parents[2]
FLIGHT = TOP / "systems" / "flight-control.toml"


def export(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


def test_it_says_what_was_written(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = export("--to", "xen-xl", FLIGHT, "--out", out, "--margin", "20%")
    assert done.exit_code == 0
    assert f"flight-control for xen-xl: 11 files written to {out}" in done.stdout
    assert "replaced" in export("--to", "xen-xl", FLIGHT, "--out", out).stdout


def test_json_lists_the_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = json.loads(
        export("--to", "xen-xl", FLIGHT, "--policy", "wcps", "--out", out, "--json").stdout
    )
    assert (found["to"], found["system"], found["policy"]) == ("xen-xl", "flight-control", "wcps")
    assert (found["folder"], found["replaced"]) == (str(out), False)
    assert all((out / name).is_file() for name in found["files"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--to", "xen-xl", TOP / "systems" / "hot-swap.toml"),
        ("--to", "xen-xl", FLIGHT, "--cpus", "1,2"),
        ("--to", "xen-xl", FLIGHT, "--cpus", "one"),
        ("--to", "xen-dom0less", FLIGHT, "--base", "here"),
        ("--to", "xen-dom0less", FLIGHT, "--base", "0x123"),
        ("--to", "xen-dom0less", FLIGHT, "--epoch", "soon"),
        ("--to", "linux", TOP / "systems" / "hot-swap.toml"),
        ("--to", "linux", FLIGHT, "--overheads", "none", "--cpus", "1,2"),
        ("--to", "nowhere", FLIGHT),
    ],
)
def test_bad_input_writes_nothing(tmp_path: Path, arguments: tuple[str | Path, ...]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["export", *map(str, arguments), "--out", str(tmp_path / "out")])
    assert done.value.code == 2
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPERPERIOD_BUILD", str(tmp_path / "empty"))
    with pytest.raises(SystemExit) as done:
        main(["export", "--to", "xen-dom0less", str(FLIGHT), "--out", str(tmp_path / "out")])
    assert done.value.code == 3
    assert list(tmp_path.iterdir()) == []
