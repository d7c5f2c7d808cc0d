# SPDX-License-Identifier: BSD-2-Clause
"""The hunt over all rows of the table of proofs, and that what it hunts with can find something."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from tests.soundness import rows
from tests.soundness.hunt_rows import hunt as hunt_rows
from tests.soundness.hunt_table import PAGE, STATE, parts, table, together, with_states
from tests.soundness.rows import NEVER, ROWS, kinds_of, try_one
from tests.support.campaign import Trial, hunt
from tests.support.whole_worlds import broken, claims_of
from tests.support.worlds import alone, task

from hyperperiod import _sim
from hyperperiod._analysis import Shape
from hyperperiod.analysis import proofs
from hyperperiod.analysis.proofs import Cover
from hyperperiod.hosts.sim import make_scenario
from hyperperiod.model import System, load_system
from hyperperiod.runs import simulate

SEEDS = range(24)


@pytest.mark.parametrize("systems", [16, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ROWS)
def test_no_row_accepts_what_fails(name: str, systems: int) -> None:
    def trial(draw: random.Random) -> Trial:
        tried = try_one(draw, ROWS[name], draw.choice(kinds_of(name)))
        return Trial(tried.accepted, tried.counterexample)

    hunt(f"row {name}", systems, trial)


_HOPS = {"covers": tuple(Cover)}
_GENERAL = {"supply": Shape.GENERAL}


@pytest.mark.parametrize(
    ("name", "kind", "wrong"),
    [
        ("polling+fp", "whole", _GENERAL),
        ("polling+edf", "whole", _GENERAL),
        ("slice-once+fp", "whole", _GENERAL),
        ("slice-once+edf", "whole", _GENERAL),
        ("sporadic+edf", "chain", _HOPS),
        ("polling+fp", "moving", _HOPS),
    ],
)
def test_a_row_that_claims_too_much_is_found_out(
    name: str, kind: str, wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ROWS[name].replace(**wrong)
    table = tuple(row if one is ROWS[name] else one for one in proofs.PROOFS)
    monkeypatch.setattr(proofs, "PROOFS", table)
    draws = (random.Random(f"{name} {kind} {number}") for number in range(400))
    assert any(try_one(draw, row, kind).counterexample for draw in draws)


def attacked(system: System, bound_ns: int, seed: int) -> _sim.Attacked:
    """What comes of a claim about the last task of the only domain."""
    others = len(system.domains[0].tasks) - 1
    wcets = [one.wcet_ns or 1 for one in system.domains[0].tasks]
    return _sim.attack(
        scenario=make_scenario(system, 200, 1),
        tasks=[*[NEVER] * others, bound_ns],
        flows=[],
        lossless=[],
        phases=True,
        shortest=[1] * (others + 1),
        longest=[NEVER] * len(wcets),
        latest_offset_ns=30,
        steps_ns=[1, 2, 5],
        starts=6,
        changes=200,
        seed=seed,
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_adversary_finds_the_worst_phases(seed: int) -> None:
    """From phases and executions that are harmless it climbs to the response time, not beyond."""
    system = alone(
        "rm",
        task("a", 10, 3, offset=1, etf=0.1),
        task("b", 15, 4, offset=5, jitter=2, etf=0.1),
        task("c", 40, 6, offset=17),
    )
    bound_ns = claims_of(system)[0]["d.c"]
    assert not attacked(system, bound_ns, seed)["broken"]
    assert attacked(system, bound_ns * 4 // 5, seed)["broken"]


def files_in(text: str, folder: Path) -> tuple[int, int, System, System]:
    """Horizon, seed and both files of a counterexample."""
    horizon, seed = re.findall(r"horizon (\d+) ns, seed (\d+)", text)[0]
    systems = []
    for number, part in enumerate(text.split("# simulated:\n")):
        path = folder / f"{number}.toml"
        path.write_text(part)
        systems.append(load_system(str(path)))
    return int(horizon), int(seed), systems[0], systems[1]


def test_what_is_broken_is_told_as_files_that_show_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Bounds that are cut to a third are broken, and the files say how."""

    def third(system: System) -> Any:
        return tuple({name: 1 + ns // 3 for name, ns in part.items()} for part in claims_of(system))

    monkeypatch.setattr(rows, "claims_of", third)
    found = 0
    for name, row in ROWS.items():
        for kind in kinds_of(name):
            for seed in range(4):
                text = try_one(random.Random(f"{name} {kind} {seed}"), row, kind).counterexample
                if not text:
                    continue
                found += 1
                horizon_ns, run_seed, analysed, simulated = files_in(text, tmp_path)
                run = simulate(simulated, horizon_ns, run_seed)
                tasks, kept, bounds = third(analysed)
                if kind == "chain":
                    tasks = {}
                late = [
                    flow.name
                    for flow in run.flows
                    if flow.name in bounds and flow.finished < flow.items
                ]
                assert late or list(broken(run, (tasks, kept, bounds))), text
    assert found > 2 * len(ROWS)


def test_a_hunt_that_is_stopped_goes_on_where_it_ended(tmp_path: Path) -> None:
    once, twice = tmp_path / "once.json", tmp_path / "twice.json"
    names = ["periodic+fp", "cbs+edf+global"]
    hunt_rows(twice, names, 3, 7, 1)
    stopped = hunt_rows(twice, names, 6, 7, 2)
    whole = hunt_rows(once, names, 6, 7, 1)
    assert stopped["rows"] == whole["rows"]
    assert all(kind["drawn"] == 6 for row in whole["rows"].values() for kind in row.values())
    with pytest.raises(SystemExit, match="seed 7"):
        hunt_rows(once, names, 6, 8, 1)


def test_hunts_of_several_seeds_add_up(tmp_path: Path) -> None:
    names = ["periodic+fp", "slice-once+edf"]
    first = hunt_rows(tmp_path / "1.json", names, 2, 1, 1)
    second = hunt_rows(tmp_path / "2.json", names[:1], 3, 2, 1)
    longer = hunt_rows(tmp_path / "1.json", names, 4, 1, 1)
    states = with_states([first], [second, longer])
    assert states == [longer, second]
    rows = together(states)
    drawn = {
        (row, kind): one["drawn"] for row, kinds in rows.items() for kind, one in kinds.items()
    }
    assert drawn == {
        ("periodic+fp", "whole"): 7,
        ("periodic+fp", "vcpus"): 7,
        ("periodic+fp", "moving"): 7,
        ("periodic+fp", "chain"): 7,
        ("slice-once+edf", "whole"): 4,
        ("slice-once+edf", "vcpus"): 4,
    }
    assert first["rows"]["periodic+fp"]["whole"]["drawn"] == 2
    page = table(states)
    assert "36 systems drawn" in page
    assert f"`make hunt SEED=2 COUNT=3` at {second['code']}: 12 systems" in page


def test_a_hunt_of_chains_alone(tmp_path: Path) -> None:
    names = ["periodic+fp", "slice-once+edf"]
    found = hunt_rows(tmp_path / "chains.json", names, 2, 3, 1, ["chain"])
    assert {row: list(kinds) for row, kinds in found["rows"].items()} == {
        "periodic+fp": ["chain"],
        "slice-once+edf": [],
    }
    assert f"`make hunt SEED=3 KINDS=chain COUNT=2` at {found['code']}" in table([found])


def test_the_page_has_the_table_of_the_hunt() -> None:
    assert parts(PAGE.read_text())[1].strip() == table(json.loads(STATE.read_text())).strip()
