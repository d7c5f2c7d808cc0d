# SPDX-License-Identifier: BSD-2-Clause
"""Real services in servers: what is taken of Debian's packages, what the machine is told, what is
counted, and a session on the machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.support.on_linux import TOP, need_linux
from tests.support.promises import require_budgets, require_properties

from hyperperiod.cli import main
from hyperperiod.cli.progress import bar
from hyperperiod.experiments.confidence import Interval
from hyperperiod.hosts.build_job import BuildError, BuildJob
from hyperperiod.hosts.linux import script, services_script
from hyperperiod.hosts.linux.services import DEPENDS, build_services, libraries
from hyperperiod.hosts.linux.services_run import run_sessions
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.services import PAGE, Clients, ServiceSession, SessionRequest
from hyperperiod.model import Domain, InputError
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.experiment import FigureOptions
from hyperperiod.papers.requests import Requests
from hyperperiod.papers.result import RequestRow
from hyperperiod.papers.services import ServiceSessions
from hyperperiod.papers.sessions import POLICIES
from hyperperiod.report.panels import chart_svg
from hyperperiod.trace.format import RECORD, Kind

MS = 1_000_000


def experiment() -> Requests:
    found = load_experiment("ertds-fig9")
    assert isinstance(found, Requests)
    return found


def bench(horizon_ns: int, folder: Path | None = None) -> ServiceSessions:
    asked = experiment().on("linux").replace(horizon_ns=horizon_ns)
    return ServiceSessions(asked, folder)


def test_of_what_the_services_depend_on_only_what_they_load_is_fetched() -> None:
    taken = ("libpq5", "libpam0g", "libssl3t64", "libxml2-16", "libc6", "zlib1g", "postgresql-18",
             "php8.4-pgsql", "php8.4-opcache")  # fmt: skip
    left = ("libc-l10n", "libsystemd-shared", "perl", "systemd", "postgresql-common", "passwd",
            "postgresql-client-18", "php8.4-cli", "locales", "openssl")  # fmt: skip
    assert all(DEPENDS.fullmatch(name) for name in taken)
    assert not any(DEPENDS.fullmatch(name) for name in left)


def compiled(root: Path, name: str, *needed: str) -> None:
    folder = root / "usr/lib/x86_64-linux-gnu"
    folder.mkdir(parents=True, exist_ok=True)
    others = [str(folder / one) for one in needed]
    link = ["-shared", "-nostdlib", "-Wl,--no-as-needed", f"-Wl,-soname,{name}", *others]
    subprocess.run(
        ["gcc", "-x", "c", "/dev/null", "-x", "none", *link, "-o", folder / name], check=True
    )


def test_the_libraries_of_libraries_are_there_too(tmp_path: Path) -> None:
    compiled(tmp_path, "libc.so")
    compiled(tmp_path, "libb.so", "libc.so")
    compiled(tmp_path, "liba.so", "libb.so")
    compiled(tmp_path, "libd.so")
    asked = ["usr/lib/x86_64-linux-gnu/liba.so"]
    assert libraries(tmp_path, asked) == ["libb.so", "libc.so"]
    (tmp_path / "usr/lib/x86_64-linux-gnu/libc.so").unlink()
    with pytest.raises(BuildError, match=r"have no libc\.so"):
        libraries(tmp_path, asked)


def test_the_script_puts_each_service_in_its_server() -> None:
    system = bench(MS).system("ertds")
    run = services_script.run(system, 3, Clients(40, 7 * MS), 900 * MS, 5)
    for number, name in enumerate(("web", "database", "client")):
        assert f"ask attach d{number}.0 cgroup=/sys/fs/cgroup/{name}\n" in run
    assert f"clients 127.0.0.1 $port 40 {7 * MS} $epoch $((epoch + {900 * MS})) 5 " in run
    text = script.init(services_script.prepare(), cpus=1) + script.booted([run], start_s=2)
    shell = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
    assert (shell.returncode, shell.stderr) == (0, "")


@pytest.mark.parametrize("change", ["name", "vcpus"])
def test_other_domains_are_refused(change: str) -> None:
    system = bench(MS).system("rtds")
    first, *rest = system.domains
    other = first.replace(name="cache") if change == "name" else _two_vcpus(first)
    order = RunRequest(system.replace(domains=(other, *rest)), MS)
    with pytest.raises(InputError, match="web, database, client, with a vcpu each"):
        run_sessions([SessionRequest(order, Clients(1, MS))])


def _two_vcpus(domain: Domain) -> Domain:
    tasks = tuple(domain.tasks[0].replace(name=f"processes.{vcpu}", vcpu=vcpu) for vcpu in range(2))
    return domain.replace(vcpus=2, tasks=tasks)


def records(*rows: tuple[int, Kind, int, int]) -> np.ndarray:
    """Records of pcpu 0: (time in ms, kind, vcpu, payer)."""
    made = np.zeros(len(rows), RECORD)
    for record, (time_ms, kind, vcpu, payer) in zip(made, rows, strict=True):
        record["time_ns"], record["kind"] = time_ms * MS, kind
        record["vcpu"], record["payer"] = vcpu, payer
    return made


def test_a_session_is_what_comes_after_the_ramp() -> None:
    asked = bench(600 * MS)
    system = asked.system("ertds")
    spare = 65534
    ran = ServiceSession(
        records=records(
            (0, Kind.RUN, 0, 0),
            (510, Kind.RUN, 1, 1),
            (600, Kind.RUN, 1, spare),
            (650, Kind.IDLE, 65535, 65535),
            (1100, Kind.END, 65535, 65535),
        ),
        pages=np.array([(0, 499 * MS), (490 * MS, 500 * MS), (900 * MS, 930 * MS)], PAGE),
    )
    session = asked.session(system, ran)
    assert session.throughput_hz == pytest.approx(2 / 0.6)
    assert session.response_ns == 20 * MS
    assert session.used == pytest.approx({"web": 10 / 600, "database": 140 / 600, "client": 0})
    assert session.donated == pytest.approx({"web": 0, "database": 50 / 600, "client": 0})
    none = ran._replace(pages=ran.pages[:1])
    with pytest.raises(InputError, match="600ms, in which no page came"):
        asked.session(system, none)


def row(
    clients: int, ertds_hz: float, rtds_hz: float, donated: float, off: float | None = None
) -> RequestRow:
    """A page takes 2 ms in the front end, 2.5 ms in the database and 0.1 ms in the client.

    The interval of the database's share reaches as far as `off` to both sides.
    """
    around = {} if off is None else {"database": Interval(low=donated - off, high=donated + off)}
    used = {"web": 0.002 * ertds_hz, "database": 0.0025 * ertds_hz, "client": 0.0001 * ertds_hz}
    return RequestRow(
        run="PostgreSQL",
        clients=clients,
        ertds_hz=ertds_hz,
        ertds_hz_interval=None,
        rtds_hz=rtds_hz,
        rtds_hz_interval=None,
        gain=ertds_hz / rtds_hz - 1,
        gain_interval=None,
        ertds_ns=1.0,
        rtds_ns=1.0,
        ratio=1.0,
        ratio_interval=None,
        used=used,
        used_interval={},
        donated={"web": donated, "database": donated, "client": 0.0},
        donated_interval=around,
        host="linux",
        sets=1,
    )


def test_claims_go_by_the_work_that_was_measured() -> None:
    """Full with 0.35 / 2.5 ms * 250 ms = 35 clients: the database is."""
    asked = experiment()
    options = FigureOptions(host="linux")
    rows = [row(20, 78, 78, 0.0), row(45, 152, 138, 0.05), row(60, 155, 139, 0.05)]
    claims = asked.judge(rows, options)
    assert [claim.holds for claim in claims] == [True] * 4
    assert "35 ask for all that is promised" in claims[1].ours
    assert "database 5.00%" in claims[2].ours
    assert "web" not in claims[2].ours
    without = [*rows[:2], row(60, 155, 139, 0.0)]
    assert [claim.holds for claim in asked.judge(without, options)] == [True, True, False, True]
    for off, holds in ((0.03, True), (0.045, False)):
        third = asked.judge([*rows[:2], row(60, 155, 139, 0.05, off)], options)[2]
        shown = f"database 5.00% (95 %: {0.05 - off:.2%} to {0.05 + off:.2%})"
        assert (third.holds, shown in third.ours) == (holds, True)
    assert "PostgreSQL" in chart_svg(asked.draw(rows, options))


def test_a_run_without_work_is_for_real_services_only(tmp_path: Path) -> None:
    text = (TOP / "experiments/ertds-fig9.toml").read_text()
    wrong = text.replace('databases = ["1.5 ms", "3 ms", "4.5 ms"]', 'databases = ["PostgreSQL"]')
    (tmp_path / "ertds-fig9.toml").write_text(wrong)
    with pytest.raises(InputError, match="PostgreSQL without work"):
        load_experiment("ertds-fig9", tmp_path)


def test_what_is_not_built_is_said(tmp_path: Path) -> None:
    (tmp_path / "linux").mkdir()
    for name in ("vmlinuz", "initramfs.cpio"):
        (tmp_path / "linux" / name).touch()
    said = CliRunner().invoke(
        main, ["reproduce", "ertds-fig9", "--on", "linux"], env={"HYPERPERIOD_BUILD": str(tmp_path)}
    )
    assert said.exit_code == 3
    assert "hyperperiod linux build --services" in said.stderr


def require_services() -> None:
    need_linux()
    build_services(BuildJob(TOP / "build", None, bar))


@pytest.mark.slow
def test_a_session_on_the_machine(tmp_path: Path) -> None:
    """Twice on machines of their own, which gives the same; the budgets are kept."""
    require_services()
    horizon_ns, clients = 400 * MS, 45
    (tmp_path / str(clients)).mkdir()
    asked = bench(horizon_ns, tmp_path)
    found = asked.sessions(experiment().runs[-1], clients, [1, 2], lambda _done: None)
    for policy in POLICIES:
        for seed in (1, 2):
            require_properties(tmp_path / str(clients) / f"{policy}-{seed}.hpt")
        for session in found[policy]:
            require_budgets(asked.system(policy), session.used, session.donated, horizon_ns)
    assert all(value == 0 for one in found["rtds"] for value in one.donated.values())
    again = asked.sessions(experiment().runs[-1], clients, [1, 2], lambda _done: None)
    assert again == found
