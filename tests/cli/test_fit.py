# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod fit`: its options, its object, its file, its exit codes, and Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.support.browser import Page
from tests.support.printed import checked

from hyperperiod.analysis.fit import exact
from hyperperiod.cli import main
from hyperperiod.model import PRESETS, MissingError, load_system, to_toml
from hyperperiod.model.generate import csa_system

SYSTEMS = Path(__file__).parents[2] / "systems"
TABLE_2 = str(SYSTEMS / "exsched-table2-unfitted.toml")
AVIONICS = str(SYSTEMS / "avionics-unfitted.toml")
WHEELS = str(SYSTEMS / "stability-control-unfitted.toml")
FLIGHT = str(SYSTEMS / "flight-control.toml")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def object_of(*arguments: str) -> tuple[int, Any]:
    result = run(*arguments, "--json")
    assert result.stdout.count("\n") == 1, result.stderr
    return result.exit_code, checked(result.stdout)


def test_the_file_is_complete(tmp_path: Path) -> None:
    """Every other command takes it, and another fit has nothing left to choose."""
    file = tmp_path / "fitted.toml"
    code, result = object_of("fit", AVIONICS, "-o", str(file))
    assert (code, result["status"]) == (0, "optimal")
    system = load_system(file, pinned=True)
    assert all(domain.interface or domain.best_effort for domain in system.domains)
    assert run("analyze", str(file)).exit_code == 0
    assert run("simulate", str(file), "--horizon", "1s").exit_code == 0
    code, again = object_of("fit", str(file))
    assert code == 0
    assert again["bandwidth"]["found"] == result["bandwidth"]["found"]
    assert [d["pcpu"] for d in again["domains"]] == [d["pcpu"] for d in result["domains"]]


def test_the_object() -> None:
    code, result = object_of("fit", AVIONICS, "--within", "10%", "--periods", "2ms..50ms")
    assert code == 0
    assert set(result) == {
        "system", "policy", "status", "asked", "bandwidth", "events", "pcpus", "domains", "search",
    }  # fmt: skip
    assert result["asked"] == {
        "least": "overhead", "within": 0.1, "fewest": False, "pcpus": 2, "grid_ns": 1_000_000,
        "periods_ns": [2_000_000, 50_000_000], "time_limit_s": 10.0,
    }  # fmt: skip
    bandwidth = result["bandwidth"]
    assert bandwidth["lower_bound"] == max(bandwidth["bounds"].values())
    assert bandwidth["found"] == pytest.approx(sum(p["bandwidth"] for p in result["pcpus"]))
    assert bandwidth["gap"] <= 0.1 + 1e-9
    events = result["events"]["found"]
    assert events["events"] == pytest.approx(sum(p["events"] for p in result["pcpus"]))
    placed = [name for pcpu in result["pcpus"] for name in pcpu["domains"]]
    assert sorted(placed) == sorted(domain["name"] for domain in result["domains"])
    cabin = next(d for d in result["domains"] if d["name"] == "cabin")
    assert cabin["given"] == ["interface"]
    assert cabin["interface"] == {
        "period_ns": 50_000_000, "budget_ns": 6_000_000, "bandwidth": 0.12,
    }  # fmt: skip


def test_for_people() -> None:
    result = run("fit", TABLE_2, "--least", "overhead")
    assert result.exit_code == 0
    first = result.stdout.splitlines()[0]
    assert first.startswith("exsched-table2-unfitted under partitioned-hsf-fp: optimal, least")
    assert "bandwidth bounds: the tasks' utilization 182.35 %" in result.stdout
    assert result.stderr == ""


def test_a_page_shows_the_servers_of_each_pcpu(tmp_path: Path) -> None:
    """On the page each server is as long as its bandwidth, and lies behind those before it."""
    path = tmp_path / "fit.html"
    _, found = object_of("fit", AVIONICS, "--heuristics", "--report", str(path))
    page = Page(path)
    assert page.open == []
    assert "every domain's best on the grid 138.3 %" in page.text
    bars = [float(x) / 640 for x in re.findall(r'width="([\d.]+)" height="24"\s+fill', page.source)]
    shares = {one["name"]: (one["interface"] or {}).get("bandwidth") for one in found["domains"]}
    drawn = [shares[name] for pcpu in found["pcpus"] for name in pcpu["domains"] if shares[name]]
    for pcpu in found["pcpus"]:  # names stand below their bar, in its order
        assert " ".join(name for name in pcpu["domains"] if shares[name]) in page.text
    assert bars == pytest.approx(drawn, abs=1e-4)
    starts = [float(x) / 640 for x in re.findall(r'<rect x="([\d.]+)"', page.source)]
    assert starts[:2] == pytest.approx([0, drawn[0]], abs=1e-4)
    assert starts.count(0) == len(found["pcpus"]) == 2


@pytest.mark.parametrize(
    ("policy", "wcet", "words"),
    [("rtds", "1ms", "all pcpus a 20.0 %"), ("ptps", "11ms", "infeasible")],
)
def test_a_page_of_any_answer(tmp_path: Path, policy: str, wcet: str, words: str) -> None:
    system = tmp_path / "small.toml"
    system.write_text(
        f'name = "small"\npolicy = "{policy}"\npcpus = 2\n[[domain]]\nname = "a"\n'
        f'[[domain.task]]\nname = "t"\nperiod = "10ms"\nwcet = "{wcet}"\n'
    )
    path = tmp_path / "fit.html"
    run("fit", str(system), "--heuristics", "--report", str(path))
    text = Page(path).text
    assert words in text
    assert "The bound of the search" not in text  # there was none, and no cuts
    assert "a cut is" not in text


def test_nothing_is_written_without_an_answer(tmp_path: Path) -> None:
    file = tmp_path / "fitted.toml"
    code, result = object_of("fit", AVIONICS, "--pcpus", "1", "-o", str(file))
    assert (code, result["status"]) == (1, "infeasible")
    assert "the tasks ask for 1.18 pcpus, and there is 1" in result["reason"]
    assert result["bandwidth"]["found"] is None
    assert not file.exists()
    assert "- the tasks ask" in run("fit", AVIONICS, "--pcpus", "1").stdout


def test_more_pcpus_than_the_file_says() -> None:
    code, result = object_of("fit", AVIONICS, "--pcpus", "3", "--fewest")
    assert code == 0
    assert len(result["pcpus"]) == 2
    assert result["search"]["fewest_proved"] is True


def test_under_another_policy() -> None:
    code, result = object_of("fit", AVIONICS, "--policy", "rtds", "--heuristics")
    assert result["policy"] == "rtds"
    assert result["search"]["solver"] is None
    if code == 0:
        assert all(domain["pcpu"] is None for domain in result["domains"])
    assert object_of("fit", FLIGHT, "--policy", "periodic+edf")[0] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--within", "5"), "a percentage from 0% to 1000%"),
        (
            ("--within", "5%", "--least", "bandwidth"),
            "found --within alone; allowed: with --least overhead",
        ),
        (("--periods", "5ms"), "two times, such as 1ms..100ms"),
        (("--periods", "5ms..1ms"), "the shorter time first"),
        (("--periods", "5..10"), "allowed:"),
        (("--pcpus", "0"), "a whole number from 1 to 64"),
        (("--least", "money"), "bandwidth"),
        (("--time-limit", "0s"), "a time above 0"),
        (("--policy", "rtds", "--fewest"), "--fewest: found the global policy rtds"),
        (("--grid", "1"), "allowed:"),
        (("-o", TABLE_2), "--output: found"),
    ],
)
def test_bad_options(options: tuple[str, ...], words: str) -> None:
    result = run("fit", TABLE_2, *options)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stdout == ""


def test_a_pin_beyond_the_pcpus() -> None:
    result = run("fit", str(SYSTEMS / "exsched-table2.toml"), "--pcpus", "1")
    assert result.exit_code == 2
    assert "domain[8].pcpu: found 1; allowed: 0 (there is 1 of the pcpus)" in result.stderr


def test_an_unwritable_place(tmp_path: Path) -> None:
    result = run("fit", FLIGHT, "-o", str(tmp_path / "no" / "such.toml"))
    assert result.exit_code == 2
    assert "--output: found no such file or directory" in result.stderr


def test_a_missing_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    from hyperperiod.analysis.fit import fit as fitting

    def missing() -> None:
        raise MissingError("fit needs OR-Tools for the optimum", exact.INSTALL)

    monkeypatch.setattr(fitting, "load_solver", missing)
    result = run("fit", FLIGHT)
    assert result.exit_code == 3
    assert "install it with: pip install 'hyperperiod[fit]'" in result.stderr
    assert run("fit", FLIGHT, "--heuristics").exit_code == 0


def test_ctrl_c_leaves_the_best_so_far(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A real signal while the solver runs in its own thread."""
    made = csa_system("large", PRESETS["crps"], seed=1, utilization=Fraction(2), domains=12)
    domains = tuple(one.replace(pcpu=None) for one in made.domains)
    file, out = tmp_path / "large.toml", tmp_path / "fitted.toml"
    file.write_text(to_toml(made.replace(domains=domains, pcpus=4)))

    class Interrupted(threading.Thread):
        """Ctrl-C comes each time somebody begins to wait for this thread for a while."""

        def join(self, timeout: float | None = None) -> None:
            if timeout is not None:
                os.kill(os.getpid(), signal.SIGINT)
            super().join(timeout)

    monkeypatch.setattr(threading, "Thread", Interrupted)
    options = ("--least", "overhead", "--time-limit", "60s", "-o", str(out))
    # A shell that starts this in the background has it ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code, result = object_of("fit", str(file), *options)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 130, result
    assert result["interrupted"] is True
    assert result["status"] == "fitted"
    assert result["search"]["seconds"] < 50
    assert run("analyze", str(out)).exit_code == 0


def test_a_place_that_cannot_be_written_is_known_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after it, with the answer lost."""
    from hyperperiod.analysis.fit import fit as fitting

    def search(*_arguments: Any) -> None:
        raise AssertionError("the search began")

    monkeypatch.setattr(fitting, "fit", search)
    result = run("fit", AVIONICS, "-o", str(tmp_path / "none" / "out.toml"))
    assert (result.exit_code, result.stdout) == (2, "")


def test_the_name_says_that_it_is_toml(tmp_path: Path) -> None:
    """A .csv or .xml would be read as something else."""
    result = run("fit", AVIONICS, "-o", str(tmp_path / "fitted.csv"))
    assert result.exit_code == 2
    assert "allowed: a name that ends in .toml" in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_driver_loop(tmp_path: Path) -> None:
    """Slices, periods and priorities; the file runs without a miss, and is not changed again."""
    file = tmp_path / "fitted.toml"
    page = tmp_path / "fit.html"
    code, result = object_of("fit", WHEELS, "-o", str(file), "--report", str(page))
    assert (code, result["status"]) == (0, "optimal")
    assert "sensor-4 wheel-4" in Page(page).text
    assert result["asked"]["rule"] == "sound"
    assert (result["events"]["found"], result["search"]["solver"]) == (None, None)
    assert [domain["priority"] for domain in result["domains"]] == [0, 1, 2, 3, 4]
    assert set(result["flows"][0]) == {
        "name", "domain", "deadline_ns",
        "in_ns", "answer_ns", "out_ns", "bound_ns", "holds", "paper",
    }  # fmt: skip
    for flow in result["flows"]:
        assert flow["bound_ns"] <= flow["in_ns"] + flow["answer_ns"] + flow["out_ns"]
    assert run("analyze", str(file)).exit_code == 0
    simulated = object_of("simulate", str(file), "--horizon", "1s")[1]
    assert all(flow["misses"] == flow["dropped"] == 0 for flow in simulated["flows"])
    code, again = object_of("fit", str(file))
    assert code == 0
    assert again["bandwidth"]["found"] == result["bandwidth"]["found"]


def test_a_driver_loop_by_the_paper(tmp_path: Path) -> None:
    """Its slices are written, and the exit code says whether they are proved.

    Under SEDF on two pcpus they are those of the paper's case study. On one its p_N does not fit,
    and the first wake of all, which waits for a slice, is late.
    """
    file = tmp_path / "fitted.toml"
    result = run("fit", WHEELS, "--rule", "paper", "--policy", "sedf")
    assert result.exit_code == 0
    assert "80us in 300us" in result.stdout
    assert "60us in 300us" in result.stdout
    assert "d_min / 5" not in result.stdout
    one = ["--pcpus", "1", "-o", str(file)]
    result = run("fit", WHEELS, "--rule", "paper", "--policy", "sedf", *one)
    assert result.exit_code == 1
    assert "p_N is 290us where the paper has d_min / 5 = 300us: pcpu 0: " in result.stdout
    assert "not proved, by the paper's inequalities" in result.stdout
    assert "4 p_N + p_i <= d_i: 1.5ms <= 1.5ms" in result.stdout
    assert file.read_text().startswith("# Fitted by hyperperiod fit: by the paper's inequalities, ")
    result = run("fit", WHEELS, "--rule", "paper", "-o", str(file))
    assert result.exit_code == 1
    assert "not proved" in result.stdout
    assert "above its deadline of 1.5ms" in result.stdout
    assert load_system(file, pinned=True).domains[0].interface is not None


def test_what_a_driver_loop_refuses(tmp_path: Path) -> None:
    late = tmp_path / "late.toml"
    late.write_text(Path(WHEELS).read_text().replace('deadline = "1.5ms"', 'deadline = "300us"'))
    result = run("fit", str(late), "--policy", "sedf")
    assert result.exit_code == 1
    assert "domain wheel-1, flow sensor-1: in 160us + answer 120us + out 160us = 440us" in " ".join(
        result.stdout.split()
    )
    for arguments, said in (
        (["--least", "overhead"], "--least"),
        (["--fewest"], "--fewest"),
        (["--policy", "crps", "--rule", "paper"], "--rule"),
        (["--rule", "best"], "--rule"),
    ):
        result = run("fit", WHEELS, *arguments)
        assert result.exit_code == 2
        assert said in result.stderr
