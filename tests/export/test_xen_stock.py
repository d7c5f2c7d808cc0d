# SPDX-License-Identifier: BSD-2-Clause
"""`export --to xen-rtds` and `xen-null`: the commands as a dom0 would see them, what is judged by
the rules of Xen's own schedulers, and what is refused. `test_xl_on_stack.py` runs the files.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.exported import called, server, system

from hyperperiod.analysis import analyze
from hyperperiod.cli import main
from hyperperiod.export import HOSTS, write_folder
from hyperperiod.model import InputError, System, load_system

TOP = Path(__file__).parents[2]
MS = 1_000_000


def exported(folder: Path, target: str, one: System, cpus: list[int] | None = None) -> Path:
    host = HOSTS[target]
    write_folder(folder / "out", host.files(host.judged(one), cpus), {})
    return folder


def read(path: Path) -> dict[str, Any]:
    """The settings of a file of xl's."""
    settings: dict[str, Any] = {}
    exec(path.read_text(), settings)
    return settings


def done(folder: Path, script: str, pools: str = "", domains: str = "") -> list[str]:
    """What a script has xl do, on a machine with these pools and domains already."""
    (folder / "pools").write_text(pools)
    answers = f"""cpupool-list) cat {folder}/pools ;;
list) case " {domains} " in *" $2 "*) ;; *) exit 1 ;; esac ;;
"""
    return [line.removeprefix("xl ") for line in called(folder, script, answers)]


CONTROL = {"name": "control", "interface": server(2, 10), "pcpu": 0}
VIDEO = {"name": "video", "interface": server(7.5, 20), "vcpus": 2, "extra": True, "pcpu": 1}
REST = {"name": "rest", "best_effort": True, "pcpu": 1}
PARAMETERS = [
    "sched-rtds -d control -v 0 -p 10000 -b 2000 -e 0",
    "sched-rtds -d video -v 0 -p 20000 -b 7500 -e 1",
    "sched-rtds -d video -v 1 -p 20000 -b 7500 -e 1",
]


def test_each_pcpu_is_a_pool_of_rtds(tmp_path: Path) -> None:
    folder = exported(tmp_path, "xen-rtds", system(CONTROL, VIDEO, REST, pcpus=2), [2, 5])
    assert done(folder, "start.sh") == [
        "cpupool-cpu-remove Pool-0 2",
        "cpupool-create s-0.pool",
        "cpupool-cpu-remove Pool-0 5",
        "cpupool-create s-1.pool",
        "create -p control.cfg",
        "create -p video.cfg",
        *PARAMETERS,
        "unpause control",
        "unpause video",
    ]
    assert done(folder, "stop.sh") == ["destroy control", "destroy video"]
    pool = read(folder / "out" / "s-1.pool")
    assert (pool["name"], pool["sched"], pool["cpus"]) == ("s-1", "rtds", ["5"])
    video = read(folder / "out" / "video.cfg")
    assert (video["name"], video["vcpus"], video["pool"]) == ("video", 2, "s-1")
    assert not (folder / "out" / "rest.cfg").exists()


def test_a_global_policy_is_one_pool_of_rtds(tmp_path: Path) -> None:
    one = system({"name": "a", "interface": server(2, 10)}, policy="ertds", pcpus=2)
    folder = exported(tmp_path, "xen-rtds", one)
    assert read(folder / "out" / "s.pool")["cpus"] == ["1", "2"]
    judged = load_system(folder / "out" / "system.toml")
    assert (str(judged.policy), judged.spare) == ("rtds", None)


def test_null_has_a_pcpu_for_each_vcpu(tmp_path: Path) -> None:
    folder = exported(tmp_path, "xen-null", system(CONTROL, VIDEO, REST, pcpus=2))
    lines = done(folder, "start.sh")
    assert not [line for line in lines if "sched-" in line]
    assert read(folder / "out" / "s-0.pool")["cpus"] == ["1"]
    assert read(folder / "out" / "s-1.pool")["cpus"] == ["2", "3"]
    assert read(folder / "out" / "video.cfg")["cpus"] == ["2", "3"]


def test_what_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    """One pool and one domain are there; the pcpu of the other pool is not in Pool-0 any more."""
    folder = exported(tmp_path, "xen-rtds", system(CONTROL, VIDEO, pcpus=2))
    found = done(folder, "start.sh", "s-1  1  rtds  y  1\n", "video")
    assert found == [
        "cpupool-cpu-remove Pool-0 1",
        "cpupool-create s-0.pool",
        "create -p control.cfg",
        *PARAMETERS,
        "unpause control",
    ]


@pytest.mark.parametrize("pools", ["s-0  1  null  y  1\n", "s-0  2  rtds  y  1\n"])
def test_a_pool_that_is_another_one_is_not_used(tmp_path: Path, pools: str) -> None:
    folder = exported(tmp_path, "xen-rtds", system(CONTROL, VIDEO, pcpus=2))
    with pytest.raises(subprocess.CalledProcessError):
        done(folder, "start.sh", pools)
    assert (folder / "log").read_text() == ""


def test_no_pool_is_dom0s(tmp_path: Path) -> None:
    folder = exported(tmp_path, "xen-rtds", system(CONTROL, VIDEO, pcpus=2).replace(name="Pool"))
    assert (folder / "out" / "the-Pool-0.pool").exists()


def test_what_is_judged_is_the_schedulers_own_rule() -> None:
    """What EDF keeps of periodic servers is not what RTDS keeps."""
    one = load_system(TOP / "systems" / "deferrable-edf-counterexample.toml")
    periodic = one.replace(policy=system(CONTROL, policy="periodic+edf").policy)
    assert analyze(periodic).schedulable is True
    rtds = HOSTS["xen-rtds"].judged(periodic)
    assert str(rtds.policy) == "deferrable+edf+extra"
    assert analyze(rtds).schedulable is not True
    null = HOSTS["xen-null"].judged(periodic)
    assert (null.pcpus, analyze(null).schedulable) == (len(one.domains), True)


@pytest.mark.parametrize("target", ["xen-rtds", "xen-null", "sched-deadline", "cgroup", "libvirt"])
@pytest.mark.parametrize("name", ["csa-synthetic", "ertds-experiment-c", "hot-swap", "overload"])
def test_examples_are_exported_or_refused(tmp_path: Path, name: str, target: str) -> None:
    """The verdict that is printed is that of the file that is written."""
    path = TOP / "systems" / f"{name}.toml"
    words = ["export", "--to", target, str(path), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, [*words, "--overheads", "none"])
    if done.exit_code == 2:
        assert "allowed: " in done.output
        assert not (tmp_path / "out").exists()
        return
    written = load_system(tmp_path / "out" / "system.toml")
    word = {True: "yes", False: "no", None: "unknown"}[analyze(written).schedulable]
    assert f"schedulable with them? {word}" in done.output
    assert "does not guarantee" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize(
    ("target", "one", "key"),
    [
        ("xen-rtds", system({**VIDEO, "pcpu": None, "pcpus": [0, 1]}, pcpus=2), "domain[0].pcpus"),
        (
            "xen-rtds",
            system({"name": "a", "interface": {"period": 10 * MS, "budget": 2_000_001}}),
            "domain[0].interface.budget",
        ),
        (
            "xen-rtds",
            system({"name": "a", "interface": {"period": 10 * MS, "budget": 9_000}}),
            "domain[0].interface.budget",
        ),
        (
            "xen-rtds",
            system({"name": "a", "interface": server(1, 2**31 / 1000)}),
            "domain[0].interface.period",
        ),
        (
            "xen-rtds",
            system({**CONTROL, "vcpu": [{"best_effort": True}, {"interface": server(2, 10)}]}),
            "domain[0].vcpu[0].best_effort",
        ),
        ("xen-null", system({**CONTROL, "name": "a b"}), "domain[0].name"),
        ("xen-rtds", system({"name": "rest", "best_effort": True}), "domain"),
        ("xen-rtds", system(CONTROL, swap=[{"at": MS, "policy": "ptps"}]), "swap"),
    ],
)
def test_what_cannot_be_said_is_refused(target: str, one: System, key: str) -> None:
    with pytest.raises(InputError) as caught:
        HOSTS[target].files(HOSTS[target].judged(one), None)
    assert caught.value.key == key
