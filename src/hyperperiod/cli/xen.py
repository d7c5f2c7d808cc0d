# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod xen`: builds Xen with the scheduler, its guests, dom0's tool; writes the patches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hyperperiod.cli.built import build_and_tell, folder_type, into_option
from hyperperiod.cli.options import json_option
from hyperperiod.hosts.xen.build.patches import releases, write_series
from hyperperiod.hosts.xen.build.targets import build as build_targets
from hyperperiod.model.errors import InputError
from hyperperiod.model.result_object import json_text

if TYPE_CHECKING:
    from hyperperiod.hosts.build_job import BuildJob

TARGETS = (
    "arm64", "x86_64", "tools", "tools-arm64", "dom0", "xl", "guests", "lockstep", "handlers",
    "linux-guest", "linux-rt-guest", "arm64-debug", "arm64-ptps", "arm64-stock", "x86_64-debug",
    "x86_64-ptps", "x86_64-stock",
)  # fmt: skip


@click.group()
def xen() -> None: ...


@xen.command()
@click.argument("targets", nargs=-1, type=click.Choice(TARGETS), metavar="[TARGET]...")
@into_option
@click.option(
    "--xen-source",
    "own_source",
    type=folder_type,
    envvar="XEN_SRC",
    metavar="DIR",
    help="Build from this tree of Xen 4.20 instead of Debian's source; it is not changed.",
)
@json_option
@click.pass_context
def build(
    ctx: click.Context,
    targets: tuple[str, ...],
    folder: Path | None,
    own_source: Path | None,
    as_json: bool,
) -> None:
    """Build TARGETs (arm64) as far as they are not there yet; needs compilers and the network.

    \b
    arm64        Xen for arm64 with the scheduler, and its guests: for run --on xen
    x86_64       Xen for x86_64 with the scheduler: for a machine with a dom0
    tools        hyperperiod-xen, which dom0 sets the scheduler by; tools-arm64: for a board
    dom0         a Linux with xl, for x86_64: for `reproduce ertds-fig9 --on xen`
    xl           xl and xenalyze that know the scheduler by name
    guests       the program that runs a domain's tasks (comes with arm64)
    lockstep     what keeps several pcpus in exact time (comes with arm64)
    handlers     what counts the scheduler's instructions (comes with arm64)
    linux-guest  Linux for arm64 with tasks as threads: for domains with guest = "linux";
                 linux-rt-guest: its real-time kernel, for guest = "linux-rt"

    With -debug behind arm64 or x86_64 Xen checks itself at every decision; with -ptps it has
    no policy but PTPS; with -stock it is without the scheduler, to compare with. After Ctrl-C
    the same command goes on.
    """

    def make(job: BuildJob) -> Mapping[str, Path]:
        return build_targets(job, targets or ("arm64",))

    build_and_tell(ctx, make, folder, own_source, as_json)


@xen.command()
@click.option(
    "--out",
    "folder",
    type=folder_type,
    required=True,
    metavar="DIR",
    help="Write the patches into DIR; git -C XEN am DIR/*.patch applies them.",
)
@click.option("--release", default="4.20", show_default=True, help="Of which release of Xen.")
@json_option
def patches(folder: Path, release: str, as_json: bool) -> None:
    """Write the series of patches by which Xen gets the scheduler, for a tree of your own.

    The same series is in what `xen build` makes. It has fixes of Xen's own faults, the scheduler,
    and what makes Xen and xl know it; each patch says why it is there.
    """
    if release not in releases():
        raise InputError("", None, "--release", release, ", ".join(releases()))
    written = write_series(release, folder)
    if as_json:
        click.echo(json_text({"release": release, "patches": [str(path) for path in written]}))
        return
    for path in written:
        click.echo(path)
