# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod linux`: servers on this machine; and builds the machine that runs on Linux boot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hyperperiod.cli import complete
from hyperperiod.cli.built import build_and_tell, into_option
from hyperperiod.cli.linux_doctor import doctor
from hyperperiod.cli.options import (
    WholeNumber,
    cpus_option,
    json_option,
    kernel_option,
    policy_option,
    read_cpus,
    read_maybe,
    read_policy,
    read_time,
    system_argument,
    wide_option,
)
from hyperperiod.cli.screen import Screen
from hyperperiod.cli.systems import about, read_system, require_host_levels
from hyperperiod.cli.tables.linux import servers_table, summary
from hyperperiod.hosts.linux import live
from hyperperiod.hosts.linux.client import Client
from hyperperiod.hosts.linux.live import policy_words
from hyperperiod.hosts.linux.members import requests
from hyperperiod.hosts.linux.save import REQUESTS
from hyperperiod.hosts.linux.save import save as save_system
from hyperperiod.libraries import require
from hyperperiod.model import Policy, vcpus_of
from hyperperiod.model.errors import InputError
from hyperperiod.model.result_object import json_text
from hyperperiod.model.units import NS_PER_UNIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hyperperiod.hosts.build_job import BuildJob

SOCKET = "/run/hyperperiod/control"
METRICS_PORT = 9746

socket_option = click.option(
    "socket_path",
    "--socket",
    type=click.Path(path_type=Path),
    default=SOCKET,
    show_default=True,
    metavar="PATH",
    help="Where hyperperiodd listens.",
)
force_option = click.option(
    "--force", is_flag=True, help="Also if servers leave nothing to threads outside of them."
)
save_option = click.option(
    "saves", "--save", is_flag=True, help="Also for the next start of hyperperiodd, as `save` does."
)
members_argument = click.argument(
    "members",
    nargs=-1,
    required=True,
    metavar="KIND:WHAT...",
    shell_complete=complete.members,
)


@click.group()
def linux() -> None:
    """The kernel needs sched_ext (Linux 6.16 or later), and hyperperiodd has to run. For `run --on
    linux`, which has a daemon of its own, only `build` is needed; `import` and `doctor` need none
    of it.
    """


linux.add_command(doctor)


@linux.command()
@into_option
@kernel_option
@click.option(
    "--services",
    "with_services",
    is_flag=True,
    help="Also a web server and a database, with a site: for `reproduce ertds-fig9` on linux and"
    " xen.",
)
@json_option
@click.pass_context
def build(
    ctx: click.Context,
    folder: Path | None,
    kernel: str | None,
    with_services: bool,
    as_json: bool,
) -> None:
    """Build the machine that runs on Linux boot; needs compilers and the network.

    A kernel of Debian's with sched_ext and the libraries beside it are fetched and unpacked, not
    installed; the scheduler's BPF programs, hyperperiodd, hyperperiodctl and the program that runs
    a domain's tasks are compiled. What is up to date is left alone. With --kernel another kernel is
    added, for `run --kernel`, with `arm64` the programs for that processor as well.
    """
    from hyperperiod.hosts.linux.build import KERNEL
    from hyperperiod.hosts.linux.build import build as build_linux
    from hyperperiod.hosts.linux.services import build_services

    def make(job: BuildJob) -> dict[str, Path]:
        built = {"linux": build_linux(job, kernel or KERNEL)}
        if with_services:
            built["services"] = build_services(job)
        return built

    build_and_tell(ctx, make, folder, None, as_json)


@linux.command("import")
def import_command() -> None:
    """Print what is configured on this machine as a system file: threads of SCHED_DEADLINE, quotas,
    weights and cpus of cgroups.

    What a system file cannot say is a comment there, and a warning.
    """
    from hyperperiod.hosts.linux import readings
    from hyperperiod.hosts.linux.configured import configured

    text, notes = configured(readings.Readings(readings.ROOT))
    _warn(f"not in the file: {note}" for note in notes)
    click.echo(text, nl=False)


@linux.command()
@system_argument
@policy_option
@cpus_option
@click.option(
    "members",
    "--attach",
    multiple=True,
    metavar="SERVER=KIND:WHAT",
    help="Who belongs to a server, as for `linux attach`; may be given several times.",
)
@force_option
@click.option(
    "prints",
    "--print",
    is_flag=True,
    help="Print what hyperperiodd would be asked, for a file of --requests; do nothing else.",
)
@save_option
@socket_option
@json_option
def start(
    system_file: str,
    policy: Policy | None,
    cpus: list[int] | None,
    members: tuple[str, ...],
    force: bool,
    prints: bool,
    saves: bool,
    socket_path: Path,
    as_json: bool,
) -> None:
    """Put the servers of SYSTEM in force, with interfaces as `run` computes them.

    A server is called as its domain, or DOMAIN.0, DOMAIN.1 and so on where that has several vcpus.
    Tasks are not started: attach the threads that do the work.
    """
    from hyperperiod.analysis import Analysis
    from hyperperiod.runs import complete

    system = read_system(system_file, policy)
    require_host_levels(system, system_file)
    with about(system_file):
        completed = complete(Analysis(system))
    managed = list(range(completed.pcpus)) if cpus is None else cpus
    names = [vcpu.name for vcpu in vcpus_of(completed)]
    attached = [
        request
        for member in members
        for request in requests(*_server_and_member(member), servers=names)
    ]
    if prints:
        lasting = [_waiting(request) for request in attached]
        click.echo("\n".join(live.all_requests(completed, managed, lasting, force=force)))
        return
    with Client(socket_path) as daemon:
        warnings = live.start(daemon, completed, managed, attached, force=force)
        if saves:
            warnings += save_system(daemon)
        status = daemon.status()
    if as_json:
        click.echo(json_text({**live.totals(status), "warnings": warnings}))
        return
    _warn(warnings)
    _show(status)


@linux.command()
@socket_option
def stop(socket_path: Path) -> None:
    """Hand this machine back to the kernel's own scheduler."""
    _ask(socket_path, "stop", "the kernel's own scheduler goes on")


@linux.command()
@wide_option
@socket_option
@json_option
def status(socket_path: Path, as_json: bool) -> None:
    """Show servers: what they are promised, what they have had, and who belongs to them."""
    with Client(socket_path) as daemon:
        found = daemon.status()
    if as_json:
        click.echo(json_text(live.totals(found)))
    else:
        _show(found)


@linux.command()
@click.argument("server")
@members_argument
@click.option(
    "--key",
    type=WholeNumber(0, 2**62 - 1),
    metavar="N",
    help="Place among the threads of the server: its priority (fp), or its deadline in ns (edf); "
    "not for cgroups, units and containers.",
)
@click.option("--wait", is_flag=True, help="Also if there is no such cgroup yet.")
@save_option
@socket_option
def attach(
    server: str,
    members: tuple[str, ...],
    key: int | None,
    wait: bool,
    saves: bool,
    socket_path: Path,
) -> None:
    """Let threads belong to SERVER.

    \b
    cgroup:PATH     all threads of a cgroup and below it, also those to come; or of all that
                    match a pattern, now or later, such as system.slice/docker-*.scope
    unit:NAME       a unit of systemd, whether it runs or not; worker@*.service: all instances
    pid:N           all threads of a process, also those to come
    thread:N        one thread
    name:PATTERN    the threads whose name matches now, such as name:worker-*
    container:NAME  a container or service, by id or name
    vm:NAME         the vcpus of a VM of QEMU or libvirt; vcpu i goes to SERVER.i if there is one
    iothread:NAME   the iothreads and vhost workers of that VM
    emulator:NAME   all other threads of that VM; of its vhost workers, only under libvirt,
                    those that iothread:NAME has not taken
    """
    ending = "" if key is None else f" key={key}"
    with Client(socket_path) as daemon:
        names = [each["name"] for each in daemon.status().get("servers", [])]
        asked = [
            one
            for member in members
            for one in requests(server, member, names, threads=key is not None)
        ]
        for request in asked:
            daemon.ask(f"{_waiting(request) if wait else request}{ending}")
        _save_if(saves, daemon)
    click.echo(f"attached: {len(asked)}")


@linux.command()
@click.argument("server")
@members_argument
@save_option
@socket_option
def detach(server: str, members: tuple[str, ...], saves: bool, socket_path: Path) -> None:
    """Let threads not belong to SERVER any more; KIND:WHAT is as for `attach`."""
    with Client(socket_path) as daemon:
        names = [each["name"] for each in daemon.status().get("servers", [])]
        asked = [one for member in members for one in requests(server, member, names)]
        for request in asked:
            daemon.ask(request.removesuffix(" wait=1").replace("attach", "detach", 1))
        _save_if(saves, daemon)
    click.echo(f"detached: {len(asked)}")


@linux.command("exec", context_settings={"allow_interspersed_args": False})
@socket_option
@click.argument("server")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def exec_command(
    ctx: click.Context, server: str, command: tuple[str, ...], socket_path: Path
) -> None:
    """Run COMMAND in SERVER, with all that it starts.

    Its exit code is that of COMMAND. What COMMAND leaves running stays in SERVER.
    """
    from hyperperiod.hosts.linux.launch import launch

    with Client(socket_path) as daemon:
        ctx.exit(launch(server, command, daemon))


@linux.command("set")
@click.argument("server")
@click.option("--period", "period_ns", callback=read_maybe, metavar="TIME", help="Its new period.")
@click.option("--budget", "budget_ns", callback=read_maybe, metavar="TIME", help="Its new budget.")
@click.option(
    "--priority",
    type=WholeNumber(0, 2**24 - 1),
    metavar="N",
    help="Its new priority; 0 is the highest.",
)
@click.option(
    "--cpus",
    callback=read_cpus,
    metavar="LIST",
    help="Under a global policy: of its cpus those that the server may run on, such as 2-3.",
)
@force_option
@save_option
@socket_option
def set_server(
    server: str,
    period_ns: int | None,
    budget_ns: int | None,
    priority: int | None,
    cpus: list[int] | None,
    force: bool,
    saves: bool,
    socket_path: Path,
) -> None:
    """Give SERVER other parameters; they take effect at its next refill, its cpus at once."""
    listed = None if cpus is None else ",".join(map(str, cpus))
    asked = {"period_ns": period_ns, "budget_ns": budget_ns, "priority": priority, "pcpus": listed}
    words = [f"{key}={value}" for key, value in asked.items() if value is not None]
    if not words:
        raise click.UsageError(
            "found nothing to set; allowed: --period, --budget, --priority or --cpus"
        )
    request = " ".join(["set", server, *words, f"force={int(force)}"])
    _ask(socket_path, request, f"set: {server}", saves=saves)


@linux.command()
@click.argument("policy", callback=read_policy)
@save_option
@socket_option
def swap(policy: Policy, saves: bool, socket_path: Path) -> None:
    """Let POLICY be in force from now on; servers and their budgets stay."""
    _ask(socket_path, f"swap name={policy_words(policy)}", f"policy: {policy}", saves=saves)


@linux.command()
@click.option(
    "path",
    "--to",
    type=click.Path(path_type=Path, dir_okay=False),
    default=REQUESTS,
    show_default=True,
    metavar="FILE",
    help="The file that hyperperiodd performs when it starts.",
)
@socket_option
def save(path: Path, socket_path: Path) -> None:
    """Keep what is in force for the next start of hyperperiodd: policy, servers and members.

    Processes and threads are not kept: their numbers do not last. The file that is there is
    replaced; one that this has not written is kept as FILE.bak.
    """
    with Client(socket_path) as daemon:
        warnings = save_system(daemon, path)
    _warn(warnings)
    click.echo(f"saved: {path}")


@linux.command()
@click.option(
    "every_ns",
    "--every",
    callback=read_time,
    default="1s",
    show_default=True,
    metavar="TIME",
    help="Look this often.",
)
@click.option(
    "--looks", type=WholeNumber(1, 10**9), metavar="N", help="End after so many looks (at Ctrl-C)."
)
@socket_option
def top(every_ns: int, looks: int | None, socket_path: Path) -> None:
    """Show live how servers use their budgets, who runs where, and what was stolen."""
    every_s = every_ns / NS_PER_UNIT["s"]
    with Client(socket_path) as daemon:
        if looks is not None:
            from hyperperiod.cli.top import print_looks

            print_looks(daemon, every_s, looks)
        else:
            require("textual", "top", "a live view", "; --looks N does without")
            from hyperperiod.cli.top_screen import show

            show(daemon, every_s)


@linux.command()
@click.option(
    "--port",
    type=WholeNumber(0, 65535),
    default=METRICS_PORT,
    show_default=True,
    metavar="N",
    help="Listen at this port of the loopback address; 0: at one that is free.",
)
@socket_option
def metrics(port: int, socket_path: Path) -> None:
    """Serve the numbers of all servers to Prometheus, at 127.0.0.1 alone, until Ctrl-C.

    hosts/linux/grafana.json is a dashboard of Grafana for them.
    """
    from hyperperiod.hosts.linux.exporter import exporter

    with Client(socket_path) as daemon:
        daemon.status()
    with exporter(port, socket_path) as server:
        click.echo(f"http://127.0.0.1:{server.server_port}/metrics")
        server.serve_forever()


def _ask(socket_path: Path, request: str, said: str, *, saves: bool = False) -> None:
    """Asks, says the daemon's warnings, and then what was done."""
    with Client(socket_path) as daemon:
        answer = daemon.ask(request)
        _warn(answer.get("warnings", []))
        _save_if(saves, daemon)
    click.echo(said)


def _save_if(saves: bool, daemon: Client) -> None:
    if saves:
        _warn(save_system(daemon))


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def _waiting(request: str) -> str:
    """A request to attach that is performed also if there is no such cgroup yet."""
    waits = " cgroup=" not in request or request.endswith(" wait=1")
    return request if waits else f"{request} wait=1"


def _server_and_member(text: str) -> tuple[str, str]:
    server, separator, member = text.partition("=")
    if not separator:
        raise InputError("", None, "--attach", repr(text), "SERVER=KIND:WHAT")
    return server, member


def _show(status: dict[str, Any]) -> None:
    """Prints the servers of the daemon's status, and a summary, as tables."""
    screen = Screen()
    screen.line(summary(status))
    if status.get("servers"):
        screen.line("")
        screen.table(servers_table(status))
