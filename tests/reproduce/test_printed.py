# SPDX-License-Identifier: BSD-2-Clause
"""The list of the papers' tables and figures is complete; its commands and pages are there."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from hyperperiod.cli import main
from hyperperiod.model import InputError
from hyperperiod.papers import NAMES
from hyperperiod.papers.latency import load_scenarios
from hyperperiod.papers.printed import Printed, load_printed

TOP = Path(__file__).parents[2]

# How many figures and tables each paper has, counted in the papers.
PAPERS = {
    "CSA": (7, 2),
    "PSEDF": (7, 0),
    "ERTDS": (9, 9),
    "RT-Xen evaluation": (7, 10),
    "ExSched HSF": (9, 3),
}
ROMAN = {"I": 1, "V": 5, "X": 10}


def number(text: str) -> int:
    """The number of a table, as papers write it: 4 or IV."""
    if text.isdecimal():
        return int(text)
    values = [ROMAN[letter] for letter in text]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-one if one < after else one for one, after in pairs)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_and_table_is_listed_once(paper: str) -> None:
    found: Counter[tuple[str, int]] = Counter()
    for one in load_printed():
        kind, _, places = one.place.partition(" ")
        if one.paper == paper and kind[:3] in {"Fig", "Tab"}:
            found.update((kind[:3], number(place)) for place in places.split(", "))
    figures, tables = PAPERS[paper]
    every = [("Fig", at + 1) for at in range(figures)] + [("Tab", at + 1) for at in range(tables)]
    assert found == Counter(every)


@pytest.mark.parametrize("one", [p for p in load_printed() if p.run], ids=lambda one: one.name)
def test_every_command_is_one_that_runs_there(one: Printed) -> None:
    """The command line parses, and its hosts are those that the command takes."""
    name, *arguments = one.run.split()
    parent = click.Context(main, **main.context_settings)
    command = main.get_command(parent, name)
    assert command is not None
    for host in one.hosts:
        command.make_context(name, [*arguments, "--on", host], parent)
    if name == "reproduce":
        assert arguments[0] in NAMES


def test_no_experiment_is_missing() -> None:
    assert {one.run.split()[1] for one in load_printed() if one.run.startswith("reproduce")} == set(
        NAMES
    )


def test_tables_of_the_lab_are_listed() -> None:
    """Each scenario of the lab stands at the tables whose figures its file has."""
    listed = {
        (match[1], int(one.place.removeprefix("Table ")))
        for one in load_printed()
        if (match := re.search(r"--scenario (\S+)", one.run)) and one.place.startswith("Table")
    }
    printed = {
        (scenario.name, figures.table)
        for scenario in load_scenarios()
        for setting in scenario.settings
        for figures in setting.paper
    }
    assert listed == printed


def test_every_page_is_there() -> None:
    pages = [one.seen for one in load_printed() if one.seen]
    assert all((TOP / page).is_file() for page in pages), pages


def test_what_does_not_go_together_is_refused() -> None:
    def printed(**values: Any) -> Printed:
        return Printed(name="x", paper="CSA", place="Fig. 1", about="x", **values)

    with pytest.raises(InputError, match="hosts"):
        printed(run="reproduce ertds-fig6")
    with pytest.raises(InputError, match="one of them"):
        printed(run="reproduce ertds-fig6", hosts=("sim",), seen="docs/tour.md")
    assert printed().shown_by == "not yet"


def test_the_command_lists_them() -> None:
    said = CliRunner().invoke(main, ["reproduce", "--list"])
    assert said.exit_code == 0
    assert all(one.name in said.stdout for one in load_printed())
    listed = json.loads(CliRunner().invoke(main, ["reproduce", "--list", "--json"]).stdout)
    assert [one["name"] for one in listed["printed"]] == [one.name for one in load_printed()]
    assert CliRunner().invoke(main, ["reproduce"]).exit_code == 2


def test_a_listed_name_that_is_not_measured_says_what_shows_it() -> None:
    others = [one for one in load_printed() if one.name not in NAMES]
    assert len(others) > 20
    for one in others:
        said = CliRunner().invoke(main, ["reproduce", one.name])
        assert said.exit_code == 2
        shown = f"`hyperperiod {one.run}`" if one.run else one.seen
        assert f"found '{one.name}'; allowed: " in said.stderr
        assert shown in said.stderr
    said = CliRunner().invoke(main, ["reproduce", "rt-xen-table11"])
    assert (said.exit_code, "did you mean rt-xen-" in said.stderr) == (2, True)
