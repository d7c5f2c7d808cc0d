# SPDX-License-Identifier: BSD-2-Clause
"""What is exported and run holds for what the host takes, or it is said loudly that it does not."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hyperperiod.cli import main
from hyperperiod.for_host import for_host
from hyperperiod.host_differences import difference_sentences
from hyperperiod.model import Overheads, load_system
from hyperperiod.runs import simulate

ON_THE_EDGE = """
name = "edge"
policy = "crps"
sbf = "harmonic"
[[domain]]
name = "can"
interface_period = "5ms"
INTERFACE
[[domain.task]]
name = "rx"
period = "5ms"
wcet = "2ms"
[[domain]]
name = "log"
interface = { period = "20ms", budget = "5ms" }
[[domain.task]]
name = "write"
period = "20ms"
wcet = "3ms"
"""
GIVEN = ON_THE_EDGE.replace(
    'interface_period = "5ms"\nINTERFACE', 'interface = { period = "5ms", budget = "2ms" }'
)
COMPUTED = ON_THE_EDGE.replace("INTERFACE\n", "")
COSTS = '[overheads]\ncontext_switch = "2us"\npick = "1us"\nwake = "1us"\n'


def export(folder: Path, text: str, *options: str, to: str = "xen-xl") -> Result:
    system = folder / "edge.toml"
    system.write_text(text)
    words = ["export", "--to", to, str(system), "--out", str(folder / "out"), *options]
    return CliRunner().invoke(main, words)


def budgets(folder: Path) -> list[str]:
    return re.findall(r'budget = "([\w.]+)"', (folder / "out" / "system.toml").read_text())


def test_a_proof_that_does_not_survive_the_host_is_loud(tmp_path: Path) -> None:
    done = export(tmp_path, GIVEN)
    assert done.exit_code == 1
    assert "measured on Xen" in done.stderr
    assert "the proof does not survive the host" in done.stderr
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "**Warning:** the proof does not survive the host" in readme
    assert budgets(tmp_path) == ["2ms", "5ms"]
    found = re.search(r"With --margin (\d+%) it is", done.stderr)
    assert found is not None
    assert export(tmp_path, GIVEN, "--margin", found[1]).exit_code == 0


def test_budgets_left_open_are_those_that_survive(tmp_path: Path) -> None:
    done = export(tmp_path, COMPUTED)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "schedulable with them? yes" in done.stdout
    assert export(tmp_path, COMPUTED, "--overheads", "none").exit_code == 0
    assert budgets(tmp_path) == ["2ms", "5ms"]


def test_whose_overheads_are_counted(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(COSTS)
    sources = {}
    for text, options in (
        (COMPUTED, ()),
        (COMPUTED.replace("[[domain]]", COSTS + "[[domain]]", 1), ()),
        (COMPUTED, ("--overheads", str(own))),
        (COMPUTED, ("--overheads", "none")),
    ):
        counted = json.loads(export(tmp_path, text, "--json", *options).stdout)["counted"]
        sources[counted["source"]] = counted["overheads"]
    measured, *others = sources
    assert measured.startswith("measured on Xen")
    assert others == ["the file's", str(own), "none"]
    costs = {"context_switch_ns": 2000, "pick_ns": 1000, "wake_ns": 1000}
    assert [sources[name] for name in others] == [costs, costs, {}]


def test_margin_and_grid_round_every_budget_up(tmp_path: Path) -> None:
    assert export(tmp_path, GIVEN, "--margin", "10%", "--grid", "300us").exit_code == 0
    assert budgets(tmp_path) == ["2.4ms", "5.7ms"]
    assert "schedulable with them? no" in export(tmp_path, GIVEN, "--margin", "1000%").output
    assert budgets(tmp_path) == ["5ms", "20ms"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["export", "--to", "carts", "--out", "x", "--margin", "5%"], "found --margin --to carts"),
        (["run", "--on", "sim", "--grid", "1ms"], "found --grid on sim; allowed: on xen or linux"),
        (["run", "--on", "xen", "--overheads", "empty.toml"], "found neither; allowed: [overheads"),
        (["run", "--on", "xen", "--margin", "10"], "found '10'; allowed: a percentage"),
    ],
)
def test_options_that_say_nothing_are_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edge.toml").write_text(GIVEN)
    (tmp_path / "empty.toml").write_text("")
    done = CliRunner().invoke(main, [words[0], "edge.toml", *words[1:]])
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr


def test_analyze_names_servers_without_room(tmp_path: Path) -> None:
    (tmp_path / "edge.toml").write_text(GIVEN)
    done = CliRunner().invoke(main, ["analyze", str(tmp_path / "edge.toml")])
    assert done.stdout.splitlines()[-1] == (
        "no room for overheads, any of which costs a period: can"
    )


def test_a_comparison_says_what_a_difference_comes_from(tmp_path: Path) -> None:
    """The simulator with overheads stands for the machine, whose largest difference is a period."""
    (tmp_path / "edge.toml").write_text(GIVEN)
    system = load_system(tmp_path / "edge.toml")
    ready = for_host(system, "xen")
    horizon_ns = 200_000_000
    told = simulate(ready.system.replace(overheads=Overheads()), horizon_ns)
    seen = simulate(ready.system, horizon_ns).replace(host="xen")
    largest, explained, bounds = difference_sentences([told, seen], ready)
    found = re.search(r"can\.rx: 2ms predicted, (5\.\d+)ms seen", largest)
    assert found is not None, largest
    assert explained.endswith(f"the simulator says {found[1]}ms: 100% of the difference is theirs")
    assert bounds == (
        "xen under crps: 1 of 2 tasks and flows have a bound with these overheads, and none was"
        " above it"
    )
    same = difference_sentences([told, told.replace(host="xen")], ready)
    assert same[0] == "xen under crps: every longest response is the predicted one"
