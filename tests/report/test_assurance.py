# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod assurance`: what is claimed, what is open, and the picture of the argument."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from hyperperiod.cli import main
from hyperperiod.report.numbers import duration

TOP = Path(__file__).parents[2]
FLIGHT = TOP / "systems" / "flight-control.toml"
READER = shlex.join([sys.executable, str(TOP / "proofs" / "second_reader.py")])
PICTURE = TOP / "docs" / "pictures" / "assurance.svg"


def assure(system: Path, folder: Path, *options: str) -> tuple[Result, str]:
    """Runs the command on a system file, with these options beside `--out`.

    Returns its exit code with all that it printed, and the text of the page in `folder`, which is
    empty if it wrote none.
    """
    done = CliRunner().invoke(main, ["assurance", str(system), "--out", str(folder), *options])
    page = folder / "assurance.md"
    return done, page.read_text() if page.exists() else ""


def run_of(system: Path, folder: Path) -> Path:
    """A run's result as a file."""
    done = CliRunner().invoke(main, ["simulate", str(system), "--horizon", "1s", "--json"])
    (folder / "run.json").write_text(done.stdout)
    return folder / "run.json"


def shapes(picture: str) -> list[str]:
    """All words of the picture, in order."""
    return [one.text or "" for one in ET.fromstring(picture).iter() if one.text]


def test_what_is_certified_checked_and_measured_is_whole(tmp_path: Path) -> None:
    run = run_of(FLIGHT, tmp_path)
    done, page = assure(FLIGHT, tmp_path / "out", "--checker", READER, "--run", str(run))
    assert done.exit_code == 0, done.output
    assert "certified as a whole" in page
    assert "**Open:**" not in page
    assert "proved: 9 tasks of 4 domains" in page
    assert (tmp_path / "out" / "system.toml").read_bytes() == FLIGHT.read_bytes()
    told = json.loads((tmp_path / "out" / "certificate.json").read_text())
    for text in told["assumptions"]:
        assert text in page
    seen = re.search(r"\| dom0\.device-io \| 5 ms \| in 4\.8 ms: .* \| 4\.8 ms \| (\S+) µs", page)
    assert seen is not None
    measured = json.loads(run.read_text())["domains"][0]["tasks"][0]["response_ns"]["max"]
    assert duration(measured) == f"{seen[1]} µs"
    domains = json.loads(run.read_text())["domains"]
    jobs = sum(task["jobs"] for one in domains for task in one["tasks"] if task["name"] != "log")
    words = " ".join(shapes((tmp_path / "out" / "argument.svg").read_text()))
    assert f"1 run, {jobs} jobs" in words


def test_the_picture_of_the_page_is_what_the_command_draws(tmp_path: Path) -> None:
    assure(FLIGHT, tmp_path / "out", "--checker", READER)
    assert (tmp_path / "out" / "argument.svg").read_text() == PICTURE.read_text()


def test_without_a_checker_it_is_open(tmp_path: Path) -> None:
    done, page = assure(FLIGHT, tmp_path / "out")
    assert done.exit_code == 1
    assert "open: no checker has looked at the certificate" in done.output
    assert "- no checker has looked at the certificate" in page
    assert "not developed" in (tmp_path / "out" / "argument.svg").read_text()


def test_a_checker_that_refuses_and_one_that_is_not_there(tmp_path: Path) -> None:
    refuses = f"{sys.executable} -c 'print(\"not proved: that\"); raise SystemExit(1)'"
    done, page = assure(FLIGHT, tmp_path / "out", "--checker", READER, "--checker", refuses)
    assert done.exit_code == 1
    assert "says: not proved: that" in page
    words = " ".join(shapes((tmp_path / "out" / "argument.svg").read_text()))
    assert "certificate, not checked" in words
    done, page = assure(FLIGHT, tmp_path / "none", "--checker", "no-such-hyperperiod-check")
    assert (done.exit_code, page) == (3, "")
    assert "no program no-such-hyperperiod-check; install it with: make checker" in done.output


def test_a_domain_without_a_proof_is_open_and_has_no_evidence(tmp_path: Path) -> None:
    system = tmp_path / "system.toml"
    busy = '\n[[domain.task]]\nname = "log"\nkind = "busy"\n'
    parts = FLIGHT.read_text().split("[[domain]]")
    parts[2] += busy
    system.write_text("[[domain]]".join(parts))
    done, page = assure(system, tmp_path / "out", "--checker", READER)
    assert done.exit_code == 1
    assert "flight-laws is not certified: task log: kind busy: no theorem is about it" in page
    assert "says: proved in part: 6 tasks of 3 domains" in page
    assert "| flight-laws.inner-loop | 10 ms | none |" in page


def test_flows_belong_to_the_claim(tmp_path: Path) -> None:
    system = tmp_path / "system.toml"
    text = """
        name = "chain"
        policy = "ptps"
        domain = [
            { name = "io", pcpu = 0, interface = { period = "1ms", budget = "400us" }, task = [
                { name = "in", kind = "event", period = "10ms", wcet = "60us" },
                { name = "out", kind = "event", period = "5ms", wcet = "80us" }, ] },
            { name = "law", pcpu = 0, interface = { period = "2ms", budget = "600us" }, task = [
                { name = "step", kind = "event", period = "10ms", wcet = "500us" }, ] },
        ]
        [[flow]]
        name = "command"
        source = { period = "10ms" }
        hops = ["io.in", "law.step", "io.out"]
        deadline = "DUE"
    """
    system.write_text(text.replace("DUE", "10ms"))
    done, page = assure(system, tmp_path / "out", "--checker", READER)
    assert done.exit_code == 0, page
    assert "No job of 3 tasks with a deadline and no item of 1 flow is late" in page
    assert "| io.in | 10 ms | responses of 1 hop, up to 1.34 ms |" in page
    assert "proved: 3 tasks of 2 domains, 1 flow" in page
    words = " ".join(shapes((tmp_path / "out" / "argument.svg").read_text()))
    assert "Items of 1 flow are" in words
    system.write_text(text.replace("DUE", "3ms"))
    done, page = assure(system, tmp_path / "out", "--checker", READER)
    assert done.exit_code == 1
    assert "- flow command is not certified" in page


def test_a_run_above_its_bound_or_of_another_system_is_said(tmp_path: Path) -> None:
    run = run_of(FLIGHT, tmp_path)
    told = json.loads(run.read_text())
    told["domains"][0]["tasks"][0]["response_ns"]["max"] = 4_900_000
    told["domains"][1]["tasks"][0]["misses"] = 2
    run.write_text(json.dumps(told))
    done, page = assure(FLIGHT, tmp_path / "out", "--checker", READER, "--run", str(run))
    assert done.exit_code == 1
    assert "dom0.device-io took 4.9 ms in a run, above its bound" in page
    assert "flight-laws.inner-loop was late 2 times in runs" in page
    told["system"] = "another"
    run.write_text(json.dumps(told))
    done, page = assure(FLIGHT, tmp_path / "none", "--run", str(run))
    assert (done.exit_code, page) == (2, "")
    assert "found 'another'; allowed: a run of 'flight-control'" in done.output


def test_many_domains_share_a_goal(tmp_path: Path) -> None:
    system = TOP / "systems" / "exsched-table2.toml"
    done, page = assure(system, tmp_path / "out", "--checker", READER)
    assert done.exit_code == 0, done.output
    words = " ".join(shapes((tmp_path / "out" / "argument.svg").read_text()))
    assert "16 domains" in words
    assert "other domain" not in words
    assert page.count(" windows of its domain") + page.count(" asked for, ") == 16


def test_many_domains_without_a_proof_have_no_goal_with_evidence(tmp_path: Path) -> None:
    system = tmp_path / "system.toml"
    text = (TOP / "systems" / "exsched-table2.toml").read_text()
    system.write_text(re.sub('policy = ".*"', 'policy = "sporadic"', text))
    assure(system, tmp_path / "out", "--checker", f"{sys.executable} -c pass")
    words = " ".join(shapes((tmp_path / "out" / "argument.svg").read_text()))
    assert "16 other domains" in words
    assert "Sn1" not in words


def test_a_checker_that_prints_several_lines_keeps_the_table(tmp_path: Path) -> None:
    says = f"{sys.executable} -c 'print(\"one\\ntwo\")'"
    _, page = assure(FLIGHT, tmp_path / "out", "--checker", says)
    assert "| 0 | one two |" in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-"], "allowed: a system file that ends in .toml"),
        ([str(FLIGHT), "--checker", "'"], "No closing quotation"),
        ([str(FLIGHT), "--checker", " "], "allowed: a command, as hyperperiod-check"),
        ([str(FLIGHT), "--run", "none.json"], "no such file"),
    ],
)
def test_what_is_wrong_is_named(options: list[str], said: str, tmp_path: Path) -> None:
    command = ["assurance", *options, "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, command, input=FLIGHT.read_text())
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "out").exists()
