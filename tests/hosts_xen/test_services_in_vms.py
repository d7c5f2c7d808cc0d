# SPDX-License-Identifier: BSD-2-Clause
"""Real services in VMs on Xen: what dom0 and guests are told, and what is read of their answers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import bench.dom0
import numpy as np
import pytest
from click.testing import CliRunner

from hyperperiod.cli import main
from hyperperiod.hosts import recorded_run
from hyperperiod.hosts.services import (
    PAGE,
    Clients,
    ServiceSession,
    SessionRequest,
    refuse_other,
)
from hyperperiod.hosts.xen import dom0_machine, services_run, services_script
from hyperperiod.hosts.xen.dom0_machine import Ran
from hyperperiod.model import FailedError, InputError
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.requests import Requests
from hyperperiod.papers.services import ServiceSessions
from hyperperiod.papers.sessions import NS_PER_S, POLICIES
from hyperperiod.trace.format import RECORD, Kind

MS = 1_000_000
BUSY = ("20ms", "6ms")
NURSERY = """'pool="nursery"'"""
RAN = Ran("", {}, ended=True)


def requests() -> list[SessionRequest]:
    """A session under each policy."""
    experiment = load_experiment("ertds-fig9")
    assert isinstance(experiment, Requests)
    asked = ServiceSessions(experiment.on("xen"), host="xen")
    return [
        SessionRequest(
            recorded_run.RunRequest(asked.system(policy), 900 * MS, 5), Clients(40, 7 * MS)
        )
        for policy in POLICIES
    ]


def test_scripts_are_scripts_and_set_the_servers_of_the_papers_tables() -> None:
    run = services_script.dom0_run(requests())
    for text in (run, services_script.guest_init(), services_script.ORDERED, services_script.VIF):
        shell = subprocess.run(
            ["sh", "-n"], input=text, text=True, capture_output=True, check=False
        )
        assert (shell.returncode, shell.stderr) == (0, "")
    _, ertds, rtds = run.split("session ")[-3:]
    lines = {
        "ertds": ("web --period 10ms --budget 3500us", "database --period 10ms --budget 3ms",
                  "client --period 5ms --budget 1ms"),
        "rtds": ("web --period 10ms --budget 4100us", "database --period 10ms --budget 3500us",
                 "client --period 5ms --budget 1200us"),
    }  # fmt: skip
    before = {"ertds": run.split("session 0")[0], "rtds": ertds}
    for policy, servers in lines.items():
        for server in servers:
            assert f"must hyperperiod-xen set {server} --force\n" in before[policy]
        assert before[policy].rstrip().endswith(f"must hyperperiod-xen policy real-time {policy}")
    assert "must hyperperiod-xen spare real-time --period 10ms --budget 1500us\n" in before["ertds"]
    assert rtds.startswith(f"1 40 {7 * MS} {900 * MS} 5\n")


def test_dom0_has_its_own_server_while_clients_ask() -> None:
    """In Pool-0, where stock xl makes no domain, and once the clients are told."""
    wanted = [bench.dom0.request(server, BUSY, 7) for server in (("1ms", "100us"), ())]
    run = services_script.dom0_run(wanted)
    shell = subprocess.run(["sh", "-n"], input=run, text=True, capture_output=True, check=False)
    assert (shell.returncode, shell.stderr) == (0, "")
    made = [
        f'$1.cfg" {NURSERY}\n    must hyperperiod-xen move "$1"',
        f"batch.cfg {NURSERY}\nmust hyperperiod-xen move",
    ]
    assert all(text in run for text in made)
    assert "hyperperiod-xen pool-create" not in run
    said = re.findall(r'^shared "(.*)" (\d+) (\d+) \d+ (\d+) (\d+)$', run, re.MULTILINE)
    horizon = str(wanted[0].run.horizon_ns)
    assert said == [
        ("--period 1ms --budget 100us", "0", "10", horizon, "7"),
        ("--best-effort", "1", "10", horizon, "7"),
    ]
    assert run.count("must hyperperiod-xen set batch --period 20ms --budget 6ms --force\n") == 2
    told = run.index('session "$@" &')
    assert told < run.index("set 0 $server") < run.index("    wait\n") < run.index("set 0 --period")


def test_what_dom0_received_is_the_difference_of_both_looks() -> None:
    assert services_run._packets(b"10\n200\n3000\n11\n220\n3300\n") == 321
    assert services_run._packets(None) is None


@pytest.mark.parametrize("names", [("dom0",), ("web", "dom0", "batch"), ("dom0", "web", "batch")])
def test_dom0_and_batch_stand_around_the_services(names: tuple[str, ...]) -> None:
    system = bench.dom0.request((), BUSY, 1).run.system
    chosen = tuple(one for name in names for one in system.domains if one.name == name)
    with pytest.raises(InputError, match="allowed: web, database, client, with a vcpu each"):
        refuse_other(system.replace(domains=chosen), dom0=True)
    with pytest.raises(InputError, match="found dom0, web"):
        refuse_other(system)
    refuse_other(system, dom0=True)


def test_records_of_a_session_begin_at_its_epoch_with_the_decision_in_force() -> None:
    made = np.zeros(5, RECORD)
    made["time_ns"] = [100, 200, 300, 400, 500]
    made["kind"] = [Kind.RUN, Kind.SWAP, Kind.RUN, Kind.IDLE, Kind.RUN]
    made["pcpu"] = 1
    own = services_run._since(made, 250, 200)
    assert own["time_ns"].tolist() == [0, 50, 150, 200]
    assert own["kind"].tolist() == [Kind.RUN, Kind.RUN, Kind.IDLE, Kind.END]
    assert not own["pcpu"].any()


def test_more_sessions_than_the_ring_has_room_for_are_refused() -> None:
    with pytest.raises(InputError, match="sessions: found 102; allowed: 100 at most"):
        services_run.run_sessions(requests() * 51)


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (b"1\n2\n1\n3\nclients: came with an error or not whole: GET /\n", "not whole"),
        (b"1\n2\n", "session 0"),
        (b"1\n2\n1\n3\npages\n" + b"\0" * (PAGE.itemsize - 1), "session 0"),
    ],
)
def test_what_is_no_list_of_pages_is_shown(left: bytes, said: str) -> None:
    with pytest.raises(FailedError, match=said):
        services_run._pages("0", replace(RAN, results={"0": left}))


def test_pages_come_with_how_long_after_dom0_the_guest_looked_at_its_clock() -> None:
    pages = np.array([(3 * MS, 5 * MS)], PAGE)
    left = b"7\n999000\n8\n1000\npages\n" + pages.tobytes()
    later_ns, found = services_run._pages("0", replace(RAN, results={"0": left}))
    assert (later_ns, found.tolist()) == (2 * MS, [(3 * MS, 5 * MS)])


def test_a_complaint_ends_it_with_what_guests_said() -> None:
    ran = replace(RAN, log="hyperperiod: error: xl create: no\n", results={"guest-web.log": b"why"})
    with pytest.raises(FailedError, match="xl create: no") as raised:
        services_run._require_whole(ran)
    assert "why" in (raised.value.log)
    with pytest.raises(FailedError, match=r"did not come to its end\nqemu: no memory"):
        services_run._require_whole(replace(RAN, log="qemu: no memory"))
    services_run._require_whole(replace(RAN, results={"ring": b""}))


def test_one_machine_runs_the_sessions_of_all_numbers_of_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each gets its own sessions: here as many pages came as there were clients."""
    calls = []

    def run(asked: Sequence[SessionRequest], _progress: object, _folder: object) -> object:
        calls.append(len(asked))
        none = np.empty(0, RECORD)
        return [ServiceSession(none, np.full(one.clients.number, 900 * MS, PAGE)) for one in asked]

    monkeypatch.setattr(services_run, "run_sessions", run)
    experiment = load_experiment("ertds-fig9")
    assert isinstance(experiment, Requests)
    asked = experiment.on("xen")
    bench = ServiceSessions(asked, host="xen")
    for clients in asked.clients:
        found = bench.sessions(asked.measured_runs[0], clients, [1, 2], lambda _done: None)
        rate = clients * NS_PER_S / asked.horizon_ns
        assert [one.throughput_hz for one in found["rtds"]] == [rate, rate]
    assert calls == [2 * 2 * len(asked.clients)]


def test_what_is_not_built_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On any QEMU, which is looked at first."""
    monkeypatch.setattr(dom0_machine, "FIRST_BAD_ICOUNT", 1_000)
    said = CliRunner().invoke(
        main, ["reproduce", "ertds-fig9", "--on", "xen"], env={"HYPERPERIOD_BUILD": str(tmp_path)}
    )
    assert said.exit_code == 3
    assert "hyperperiod " in said.stderr
