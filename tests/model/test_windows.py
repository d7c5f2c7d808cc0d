# SPDX-License-Identifier: BSD-2-Clause
"""Tables of windows in a system file: what is refused, by key, and what is written back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hyperperiod import InputError, System, to_toml
from hyperperiod.cli import main
from hyperperiod.model import load_system
from hyperperiod.model.made_table import with_table

HEAD = 'name = "s"\npolicy = "table"\nmajor_frame = "40ms"\n'
A = '[[domain]]\nname = "a"\nwindows = [{ start = "0ms", duration = "5ms" }]\n'
B = '[[domain]]\nname = "b"\nwindows = [{ start = "5ms", duration = "5ms" }]\n'
SERVER = '[[domain]]\nname = "c"\ninterface = { period = "5ms", budget = "1ms" }\n'
TASK = '[[domain.task]]\nname = "t"\nperiod = "5ms"\nwcet = "1ms"\n'
MANY = ", ".join(f'{{ start = "{at}us", duration = "1us" }}' for at in range(513))

REFUSED = {
    "overlap": (HEAD + A + B.replace('"5ms", d', '"4ms", d'), "domain[1].windows[0]", "from 5ms"),
    "beyond": (HEAD + A.replace('"0ms"', '"36ms"'), "domain[0].windows[0]", "up to the major"),
    "longer than the frame": (
        HEAD + A.replace('duration = "5ms"', 'duration = "50ms"'),
        "domain[0].windows[0]",
        "up to the major frame",
    ),
    "no frame": (HEAD.replace('major_frame = "40ms"\n', "") + A, "major_frame", "a time"),
    "a server beside": (HEAD + A + SERVER + TASK, "domain[1].windows", "windows of each domain"),
    "both": (
        HEAD + A + 'interface = { period = "40ms", budget = "1ms" }\n',
        "domain[0].interface",
        "no interface beside windows",
    ),
    "another policy": (HEAD.replace("table", "ds") + A, "domain[0].windows", 'policy = "table"'),
    "a frame alone": (HEAD.replace("table", "ds") + SERVER + TASK, "major_frame", "ds has no"),
    "vcpus": (HEAD + A + "vcpus = 2\n", "domain[0].vcpus", "one vcpu"),
    "too many": (
        HEAD + f'[[domain]]\nname = "a"\nwindows = [{MANY}]\n',
        "domain[0].windows",
        "512",
    ),
    "overlap by pcpus": (
        HEAD + A + "pcpus = [0]\n" + B.replace('"5ms"', '"4ms"') + "pcpus = [0]\n",
        "domain[0].pcpus",
        "pcpu: a partition has one",
    ),
    "no pins": (HEAD + "pcpus = 2\n" + A + B + "pcpu = 1\n", "domain[0].pcpu", "on which pcpu"),
    "a swap to one": (
        HEAD.replace("table", "ptps").replace('major_frame = "40ms"\n', "")
        + '[[swap]]\nat = "1ms"\npolicy = "table"\n'
        + SERVER
        + TASK,
        "swap[0].policy",
        "from the begin",
    ),
    "nothing": (HEAD + A.replace('"5ms"', '"0ms"'), "domain[0].windows[0].duration", "above 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_is_refused_by_key(case: str, tmp_path: Path) -> None:
    text, key, allowed = REFUSED[case]
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        load_system(str(path))
    assert any(one.key == key and allowed in one.allowed for one in refused.value.problems)
    assert "hyperperiod fit" not in str(refused.value)
    found = CliRunner().invoke(main, ["analyze", str(path)])
    assert (found.exit_code, "Traceback" in found.output) == (2, False)


def test_too_many_partitions() -> None:
    each = [{"name": f"d{at}", "windows": [{"start_ns": at, "duration_ns": 1}]} for at in range(65)]
    with pytest.raises(InputError, match="65 partitions"):
        System(name="s", policy="table", major_frame_ns=100, domains=each)


def test_a_table_is_written_as_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(HEAD + A + TASK + B + TASK)
    system = load_system(str(path))
    path.write_text(to_toml(system))
    assert load_system(str(path)) == system
    assert "interface" not in to_toml(system)


def test_servers_by_a_list_of_pcpus_become_a_table() -> None:
    one: dict[str, Any] = {
        "name": "a",
        "pcpus": [1],
        "interface": {"period_ns": 10, "budget_ns": 2},
    }
    one["task"] = [{"name": "t", "period_ns": 20, "wcet_ns": 1}]
    table = with_table(System(name="s", policy="ptps", pcpus=2, domains=[one]))
    assert [(d.pcpu, d.pcpus, len(d.windows)) for d in table.domains] == [(1, None, 1)]


def test_a_name_near_to_table_is_taken_for_it(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(HEAD + A + TASK)
    found = CliRunner().invoke(main, ["analyze", str(path), "--policy", "tabel"])
    assert "did you mean table?" in found.output


NO_TABLE = {
    "fit": ["fit"],
    "run on Xen": ["run", "--on", "xen", "--horizon", "1ms"],
    "run on Linux": ["run", "--on", "linux", "--horizon", "1ms"],
    "another policy": ["analyze", "--policy", "ds"],
    **{
        target: ["export", "--out", "out", "--to", target]
        for target in (
            *("linux", "sched-deadline", "cgroup", "libvirt", "libvirt-quota", "csv", "carts"),
            *("xen-xl", "xen-rtds", "xen-null", "xen-dom0less", "carts-result", "rt-app"),
        )
    },
}


@pytest.mark.parametrize("command", NO_TABLE)
def test_who_has_no_table_says_so(command: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(HEAD + A + TASK + B + TASK)
    found = CliRunner().invoke(main, [*NO_TABLE[command], str(path)])
    assert found.exit_code == 2, found.output
    assert "major_frame" in found.output or "windows" in found.output
    assert "--margin" not in found.output
