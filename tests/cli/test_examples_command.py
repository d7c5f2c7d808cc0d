# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod examples`: every example system is listed, copied whole, and never overwrites."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hyperperiod.cli import main
from hyperperiod.experiments.sweep.experiment import load_sweep

TOP = Path(__file__).parents[2]
SYSTEMS, SWEEPS = TOP / "systems", TOP / "experiments" / "sweeps"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["examples", *arguments])


def names(text: str) -> list[str]:
    return sorted(line.split()[0] for line in text.splitlines())


def test_every_example_has_a_line() -> None:
    result = run()
    assert result.exit_code == 0
    systems, sweeps = result.stdout.split("\n\nFor `hyperperiod sweep`:\n")
    assert names(sweeps) == sorted(path.stem for path in SWEEPS.glob("*.toml"))
    assert names(systems) == sorted(path.stem for path in SYSTEMS.glob("*.toml"))
    assert not {*names(sweeps)} & {*names(systems)}, "a name is one file's"
    listed = {line.split()[0]: line for line in systems.splitlines()}
    assert "Flight control: four virtual machines" in listed["flight-control"]


def test_the_list_as_json() -> None:
    examples = json.loads(run("--json").stdout)["examples"]
    assert {(one["kind"], one["name"]) for one in examples} == {
        *(("system", path.stem) for path in SYSTEMS.glob("*.toml")),
        *(("sweep", path.stem) for path in SWEEPS.glob("*.toml")),
    }
    assert all(one["about"].endswith(".") for one in examples), "a whole sentence each"


def test_a_copy_is_the_file_itself(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    result = run("flight-control", "--into", str(folder))
    assert result.exit_code == 0
    copy = folder / "flight-control.toml"
    assert result.stdout == f"{copy}\n"
    assert copy.read_bytes() == (SYSTEMS / "flight-control.toml").read_bytes()


def test_a_copied_sweep_can_be_begun(tmp_path: Path) -> None:
    assert run("global-edf-tests", "--into", str(tmp_path)).exit_code == 0
    copy = tmp_path / "global-edf-tests.toml"
    assert copy.read_bytes() == (SWEEPS / "global-edf-tests.toml").read_bytes()
    assert load_sweep(str(copy)).points


def test_a_file_in_the_way_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "overload.toml").write_text("mine")
    result = run("overload.toml", "--into", str(tmp_path))
    assert result.exit_code == 2
    assert "overload.toml: --into: found a file of that name; allowed:" in result.stderr
    assert (tmp_path / "overload.toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["flight-contrl"], "did you mean flight-control?"),
        (["../pyproject"], "found '../pyproject'; allowed: a name that `hyperperiod examples`"),
        (["--into", "."], "found --into alone; allowed: with the NAME of an example"),
        (["overload", "--into", __file__], "allowed: another folder"),
    ],
)
def test_bad_input(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
