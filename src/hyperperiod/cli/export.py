# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod export`: a system for hosts that users run themselves, or for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hyperperiod.cli.group import EXIT_MISSED
from hyperperiod.cli.options import (
    OneOf,
    WholeNumber,
    horizon_option,
    host_cost_options,
    json_option,
    out_option,
    policy_option,
    read_cpus,
    read_maybe,
    refuse_host_costs,
    seed_option,
    system_argument,
)
from hyperperiod.cli.systems import about, read_system
from hyperperiod.export import (
    FOR_ANALYSIS,
    HOSTS,
    Board,
    HostTarget,
    export_dom0less,
    write_folder,
)
from hyperperiod.for_host import NONE, HostCostOptions, for_host
from hyperperiod.model import InputError
from hyperperiod.model.result_object import json_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from hyperperiod.model import Policy, System

DOM0LESS = "xen-dom0less"
TARGETS = (*HOSTS, DOM0LESS, *FOR_ANALYSIS)


def read_address(_ctx: click.Context, _param: click.Parameter, text: str) -> int:
    """Reads an address: a whole number, decimal or after 0x."""
    try:
        return int(text, 0)
    except ValueError:
        raise click.BadParameter(f"found {text!r}; allowed: a number such as 0x49000000") from None


def _dom0less(horizon_ns: int, seed: int, board: Board) -> HostTarget:
    """A host that is the board: its run has a horizon and a seed, and it names no cpus."""

    def files(system: System, _cpus: Sequence[int] | None) -> dict[str, str | bytes | Path]:
        return export_dom0less(system, horizon_ns, seed, board)

    return HostTarget("xen", 1, files)


@click.command()
@system_argument
@click.option("--to", "target", type=OneOf(TARGETS), required=True, help="For which host or tool.")
@out_option
@policy_option
@horizon_option
@seed_option
@click.option(
    "epoch_ns",
    "--epoch",
    callback=read_maybe,
    metavar="TIME",
    help="xen-dom0less: when the run begins on the system counter. Default: 2s, and what the guests"
    " need to boot.",
)
@click.option(
    "--counter-hz",
    type=WholeNumber(1_000_000, 2_000_000_000),
    default=62_500_000,
    show_default=True,
    help="xen-dom0less: how fast that counter runs.",
)
@click.option(
    "--base",
    callback=read_address,
    metavar="ADDRESS",
    default="0x49000000",
    show_default=True,
    help="xen-dom0less: from where on images and guests are in memory.",
)
@click.option(
    "console_arguments",
    "--console",
    metavar="TEXT",
    help="xen-dom0less: the beginning of Xen's command line. Default: QEMU's serial port.",
)
@click.option(
    "--cpus",
    callback=read_cpus,
    metavar="LIST",
    help="Which cpus of the machine, such as 2-3: of Xen its pcpus. Default: from 1 on; for linux"
    " from 0 on.",
)
@host_cost_options
@json_option
@click.pass_context
def export(
    ctx: click.Context,
    system_file: str,
    target: str,
    folder: str,
    policy: Policy | None,
    horizon_ns: int,
    seed: int,
    epoch_ns: int | None,
    counter_hz: int,
    base: int,
    console_arguments: str | None,
    cpus: list[int] | None,
    overheads: str | None,
    margin: Fraction | None,
    grid_ns: int | None,
    as_json: bool,
) -> None:
    """linux: what hyperperiodd performs at its start, and units of systemd. xen-dom0less: device
    tree, boot line and images for a board that boots Xen without a toolstack. xen-xl: a file for
    each domain and the commands that start them. sched-deadline, xen-rtds, xen-null, xen-arinc653:
    scripts for the schedulers that Linux and Xen have themselves, by whose rules the system is
    judged. cgroup: likewise, a quota and a cpu for each vcpu. libvirt, libvirt-quota: XML and
    commands that give each vcpu of a libvirt domain a cpu, or a quota on one. kubernetes, kubevirt:
    pods, or VMs, with a cpu for each vcpu. carts: input of the CARTS tool; carts-result: what is
    found, in the form of its output. rt-app: a workload of its tasks. csv: a table of the tasks.
    arinc653: the windows of a table as a module schedule. toml: the system itself. Interfaces that
    the file leaves open are computed, for a host with its overheads: the exit code is 1 where every
    deadline holds without these and is not proved with them. An earlier export in DIR is replaced;
    a folder with anything else in it is left alone.
    """
    system, ready = read_system(system_file, policy), None
    costs: HostCostOptions = {"overheads": overheads, "margin": margin, "grid_ns": grid_ns}
    if target in FOR_ANALYSIS:
        refuse_host_costs(f"--to {target}", f"--to {', '.join((*HOSTS, DOM0LESS))}", **costs)
    with about(system_file):
        if target in FOR_ANALYSIS:
            files = FOR_ANALYSIS[target](system)
        else:
            console = Board.console if console_arguments is None else console_arguments
            board = Board(epoch_ns, counter_hz, base, console)
            host = HOSTS.get(target) or _dom0less(horizon_ns, seed, board)
            if host.costs == NONE:
                if overheads not in (None, NONE):
                    allowed = "none: what they take of windows is not known"
                    raise InputError("", None, "--overheads", overheads, allowed)
                costs["overheads"] = NONE
            ready = for_host(
                host.judged(system), host.costs, **costs, computed_grid_ns=host.grid_ns
            )
            system = ready.with_stolen if host.costs == "linux" else ready.system
            files = host.files(system, cpus)
    if ready is not None:
        readme = files["README.md"]
        assert isinstance(readme, str), "an export for a host says what to do"
        files["README.md"] = f"{readme}\n{ready.readme}"
    found = {"to": target, "system": system.name, "policy": str(system.policy)}
    replaced = write_folder(Path(folder), files, found)
    if as_json:
        click.echo(
            json_text(
                {
                    **found,
                    "folder": folder,
                    "replaced": replaced,
                    "files": sorted(files),
                    **({} if ready is None else {"counted": ready.counted}),
                }
            )
        )
    else:
        count = f"{len(files)} file{'' if len(files) == 1 else 's'}"
        verb = "replaced the export in" if replaced else "written to"
        click.echo(f"{system.name} for {target}: {count} {verb} {folder}")
        if "README.md" in files:
            click.echo(f"read {folder}/README.md first")
    if ready is not None:
        click.echo(ready.sentence, err=as_json or not ready.survives)
        if not ready.survives:
            ctx.exit(EXIT_MISSED)
