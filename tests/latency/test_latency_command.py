# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod latency`: what it prints and writes, and its exit codes."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hyperperiod.cli import main
from hyperperiod.papers.latency import SCENARIOS
from hyperperiod.papers.latency.rt_xen_defect import QUIRKS

TOP = Path(__file__).parents[2]


def latency(*args: str, code: int = 0) -> None:
    with pytest.raises(SystemExit) as done:
        main(["latency", *args])
    assert done.value.code == code


def test_json_is_one_object(capfd: pytest.CaptureFixture[str]) -> None:
    latency("--scenario", "affinity", "--policies", "ds,crps", "--runs", "3", "--json")
    found = json.loads(capfd.readouterr().out)
    assert found["host"] == "sim"
    assert found["policies"] == ["ds", "crps"]
    (scenario,) = found["scenarios"]
    assert [claim["holds"] for claim in scenario["claims"]] == [True] * 3
    rows = scenario["settings"][0]["rows"]
    assert {(row["source"], row["policy"]) for row in rows} == {
        ("paper", "ds"), ("ours", "ds"), ("paper", "crps"), ("ours", "crps"),
        ("paper", "ptps"), ("paper", "wcps"),
    }  # fmt: skip
    assert {row["runs"] for row in rows if row["source"] == "ours"} == {3}


def test_every_key_is_described(capfd: pytest.CaptureFixture[str]) -> None:
    latency("--scenario", "interrupt", "--policies", "ds", "--json")
    page = (TOP / "docs" / "formats.md").read_text()
    keys = set(keys_of(json.loads(capfd.readouterr().out)))
    assert [key for key in sorted(keys) if not re.search(rf"`{key}\b", page)] == []


def keys_of(found: Any) -> set[str]:
    if isinstance(found, list):
        return set().union(*map(keys_of, found)) if found else set()
    if isinstance(found, dict):
        return set(found).union(*map(keys_of, found.values()))
    return set()


def test_only_a_hypervisor_gives_a_device(capfd: pytest.CaptureFixture[str]) -> None:
    latency("--scenario", "device", code=2)
    assert "found device on sim; allowed: device on xen alone" in capfd.readouterr().err


def test_only_a_hypervisor_has_linux_in_a_vm(capfd: pytest.CaptureFixture[str]) -> None:
    latency("--guest", "linux-rt", code=2)
    assert "found linux-rt on sim; allowed: linux-rt on xen alone" in capfd.readouterr().err


def test_the_page_shows_claims_tables_and_loops(tmp_path: Path) -> None:
    page = tmp_path / "latency.html"
    latency("--scenario", "affinity", "--runs", "5", "--quirk", "rt-xen-0.3-ds",
            "--report", str(page))  # fmt: skip
    text = page.read_text()
    assert "is never preempted" in text
    assert "25.25 ms" in text
    assert text.count("<svg") >= 4
    assert not re.search(r'(?:src|href)="', text)


def test_a_policy_that_is_none_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    latency("--on", "sim", "--policies", "nonsense", code=2)
    assert "nonsense" in capfd.readouterr().err


def test_the_choices_are_those_of_the_lab() -> None:
    """They are written out in the command, so that --help is fast."""
    command = importlib.import_module("hyperperiod.cli.latency")
    assert command.SCENARIOS == SCENARIOS
    assert set(command.QUIRKS) == set(QUIRKS)


def test_the_page_marks_interrupts_that_nobody_answers(tmp_path: Path) -> None:
    page = tmp_path / "latency.html"
    latency("--scenario", "interrupt", "--policies", "ds,polling,rtds", "--report", str(page))
    text = page.read_text()
    cells = re.findall(r"<tr><th>(\w+)</th>.*?</td>\s*<td>[\d\s]+</td>\s*(<td.*?</td>)", text, re.S)
    found = {policy: ('class="bad"' in cell, cell) for policy, cell in cells}
    assert [found[policy][0] for policy in ("ds", "polling", "rtds")] == [False, True, True]
    assert ">all<" in found["rtds"][1]
    # From 134 us to 50 ms, in ms.
    names = re.findall(r'text-anchor="middle">([\d.]+)<', text)
    assert " ".join(names) == "0.2 0.5 1 2 5 10 20 50"
    assert "times of 0 stand at the left end" in text
    # Their curves end below those of all interrupts; one without any stays on the axis.
    heights = dict(
        zip(
            re.findall(r'class="key"[^>]*>(\w+)<', text),
            [
                (float(first), float(last))
                for first, last in re.findall(r'class="curve" d="M\S+ ([\d.]+)H\S*V([\d.]+)"', text)
            ],
            strict=True,
        )
    )
    axis = heights["ds"][0]
    assert heights["rtds"] == (axis, axis)
    assert heights["ds"][1] < heights["polling"][1] < axis
