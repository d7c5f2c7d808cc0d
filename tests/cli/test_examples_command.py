# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod examples`: every example system is listed, copied whole, and never overwrites."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hyperperiod.cli import main

SYSTEMS = Path(__file__).parents[2] / "systems"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["examples", *arguments])


def test_every_example_has_a_line() -> None:
    result = run()
    assert result.exit_code == 0
    listed = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert sorted(listed) == sorted(path.stem for path in SYSTEMS.glob("*.toml"))
    assert "Flight control: four virtual machines" in listed["flight-control"]


def test_the_list_as_json() -> None:
    examples = json.loads(run("--json").stdout)["examples"]
    assert {one["name"] for one in examples} == {path.stem for path in SYSTEMS.glob("*.toml")}
    assert all(one["about"].endswith(".") for one in examples), "a whole sentence each"


def test_a_copy_is_the_file_itself(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    result = run("flight-control", "--into", str(folder))
    assert result.exit_code == 0
    copy = folder / "flight-control.toml"
    assert result.stdout == f"{copy}\n"
    assert copy.read_bytes() == (SYSTEMS / "flight-control.toml").read_bytes()


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
        (["--into", "."], "--into goes with the NAME of an example"),
        (["overload", "--into", __file__], "allowed: another folder"),
    ],
)
def test_bad_input(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
