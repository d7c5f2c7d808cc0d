# SPDX-License-Identifier: BSD-2-Clause
"""The arguments and options that commands share, and how their texts are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, TypeVar

import click

from hyperperiod.cli import complete
from hyperperiod.hosts import ALL_HOSTS
from hyperperiod.model import InputError, Policy, parse_policy
from hyperperiod.model.errors import did_you_mean
from hyperperiod.model.units import TimeFormatError, parse_time
from hyperperiod.whole_file import is_device

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_HORIZON = "10s"
SEED_LIMIT = 2**64
WIDE = "hyperperiod.wide"
"""Where a command keeps `--wide` (click.Context.meta) for the screen that prints its tables."""


class WholeNumber(click.IntRange):
    """A whole number from `min` to `max`, refused in our words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            allowed = f"a whole number from {self.min} to {self.max}"
            self.fail(f"found {value!r}; allowed: {allowed}", param, ctx)


class OneOf(click.Choice[str]):
    """One of a few words; any other is refused with the list of those allowed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            allowed = ", ".join(self.choices) + did_you_mean(str(value), self.choices)
            self.fail(f"found {value!r}; allowed: {allowed}", param, ctx)


def read_time(_ctx: click.Context, _param: click.Parameter, text: str) -> int:
    """A time with a unit, above zero, as whole nanoseconds."""
    try:
        time_ns = parse_time(text)
    except TimeFormatError as error:
        raise click.BadParameter(f"found {text!r}; allowed: {error.allowed}") from None
    if time_ns == 0:
        raise click.BadParameter(f"found {text!r}; allowed: a time above 0")
    return time_ns


def read_maybe(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Reads a time as whole nanoseconds; None where none was given."""
    return None if text is None else read_time(ctx, param, text)


def read_share(_ctx: click.Context, _param: click.Parameter, text: str | None) -> Fraction | None:
    """Reads a percentage as a fraction; None where it was not given."""
    if text is None:
        return None

    allowed = "a percentage from 0% to 1000%, such as 5%"
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?) ?%", text.strip())
    try:
        share = Fraction(Decimal(match[1])) / 100 if match else None
    except InvalidOperation:
        share = None
    if share is None or share > 10:
        raise click.BadParameter(f"found {text!r}; allowed: {allowed}")
    return share


def read_name(*endings: str) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """A file whose name says what it is; devices (`/dev/stdout`) need no ending."""

    def read(_ctx: click.Context, _param: click.Parameter, text: str | None) -> str | None:
        if text is None or text.lower().endswith(endings) or is_device(text):
            return text
        allowed = f"a name that ends in {' or '.join(endings)}"
        raise click.BadParameter(f"found {text!r}; allowed: {allowed}")

    return read


def read_policy(_ctx: click.Context, _param: click.Parameter, text: str | None) -> Policy | None:
    """Reads a policy by name or by rules; None where none was given."""
    return None if text is None else _policy(text)


def read_policies(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> list[Policy] | None:
    """Several policies, separated by commas, each once."""
    if text is None:
        return None
    policies = [_policy(name.strip()) for name in text.split(",")]
    _require_each_once(policies, [policy.rules for policy in policies])
    return policies


def _require_each_once(found: Sequence[object], keys: Sequence[object]) -> None:
    """BadParameter for what has the key of one before it."""
    for index, (one, key) in enumerate(zip(found, keys, strict=True)):
        if key in keys[:index]:
            raise click.BadParameter(f"found {one} a second time; allowed: each once")


def read_hosts(_ctx: click.Context, _param: click.Parameter, text: str | None) -> list[str] | None:
    """Several hosts, separated by commas, each once."""
    if text is None:
        return None
    hosts = [name.strip() for name in text.split(",")]
    for index, host in enumerate(hosts):
        if host not in ALL_HOSTS:
            allowed = ", ".join(ALL_HOSTS) + did_you_mean(host, ALL_HOSTS)
            raise click.BadParameter(f"found {host!r}; allowed: {allowed}")
        if host in hosts[:index]:
            raise click.BadParameter(f"found {host} a second time; allowed: each once")
    return hosts


def read_seeds(ctx: click.Context, param: click.Parameter, text: str) -> list[int]:
    """Several seeds, separated by commas, each once."""
    seeds = [_SEED.convert(one.strip(), param, ctx) for one in text.split(",")]
    _require_each_once(seeds, seeds)
    return seeds


def _policy(text: str) -> Policy:
    try:
        return parse_policy(text)
    except InputError as error:
        raise click.BadParameter(f"found {error.found}; allowed: {error.allowed}") from None


system_argument = click.argument("system_file", metavar="SYSTEM", shell_complete=complete.files)

out_option = click.option(
    "--out",
    "folder",
    shell_complete=complete.folders,
    metavar="DIR",
    required=True,
    help="The folder to write.",
)

json_option = click.option(
    "as_json", "--json", is_flag=True, help="One JSON object on standard output."
)


def _remember_wide(ctx: click.Context, _param: click.Parameter, wide: bool) -> None:
    """Keeps `--wide` for the screen, which looks it up where tables are printed."""
    ctx.meta[WIDE] = wide


wide_option = click.option(
    "--wide",
    is_flag=True,
    expose_value=False,
    callback=_remember_wide,
    help="Tables with all columns, however narrow the terminal is.",
)

policy_option = click.option(
    "--policy",
    callback=read_policy,
    shell_complete=complete.policies,
    metavar="POLICY",
    help="Use this policy instead of the system's own, by name or rules (periodic+edf+reclaim).",
)

_SEED = WholeNumber(0, SEED_LIMIT - 1)

seed_option = click.option(
    "--seed",
    type=_SEED,
    default=1,
    show_default=True,
    help="Seed of all draws; they do not depend on the schedule.",
)

horizon_option = click.option(
    "horizon_ns",
    "--horizon",
    callback=read_time,
    metavar="TIME",
    default=DEFAULT_HORIZON,
    show_default=True,
    help="How long to run, such as 500ms or 10s.",
)

certificate_option = click.option(
    "--certificate",
    callback=read_name(".json"),
    shell_complete=complete.files,
    metavar="FILE",
    help="Write the evidence for what holds, which hyperperiod-check checks.",
)


def output_option(metavar: str, text: str) -> Callable[[Command], Command]:
    """Returns the option `-o` for a system file that a command writes, with its help text."""
    return click.option(
        "out_file",
        "-o",
        "--output",
        callback=read_name(".toml"),
        shell_complete=complete.files,
        metavar=metavar,
        help=text,
    )


report_option = click.option(
    "report_file",
    "--report",
    callback=read_name(".html"),
    shell_complete=complete.files,
    metavar="FILE.html",
    help="Write a self-contained HTML report.",
)


PLACES = ("vm", "here")
"""Where Linux runs a system: in a machine of QEMU's, or on the kernel that this machine has."""


def read_cpus(_ctx: click.Context, _param: click.Parameter, text: str | None) -> list[int] | None:
    """The cpus of a list such as 0,2-3; None where none was given."""
    if text is None:
        return None
    from hyperperiod.hosts.linux.cpus import read_list

    try:
        return read_list(text)
    except ValueError:
        raise click.BadParameter(f"found {text!r}; allowed: cpus such as 0,2-3") from None


cpus_option = click.option(
    "--cpus",
    callback=read_cpus,
    metavar="LIST",
    help="Which cpus of this machine are the pcpus, such as 2-3 (from 0 on).",
)


def read_kernel(_ctx: click.Context, _param: click.Parameter, name: str | None) -> str | None:
    """The name of a kernel that can be booted; None where none was given."""
    from hyperperiod.hosts.linux.build import KERNELS

    if name is not None and name not in KERNELS:
        raise click.BadParameter(f"found {name!r}; allowed: {', '.join(KERNELS)}")
    return name


kernel_option = click.option(
    "--kernel",
    callback=read_kernel,
    metavar="NAME",
    help="Which kernel boots in QEMU, such as 6.16 or arm64 (docs/linux/running.md). Default: 7.2.",
)


def linux_options(command: Command) -> Command:
    """Adds the options of every command that runs a system on Linux."""
    place = click.option(
        "--in",
        "place",
        type=OneOf(PLACES),
        help="Linux boots in QEMU (vm), or is the kernel of this machine (here), as root. Default:"
        " here where the kernel has sched_ext.",
    )
    thefts = click.option(
        "--thefts",
        is_flag=True,
        help="Linux's servers are robbed of the time of [[stolen]], by threads of real time.",
    )
    return place(kernel_option(cpus_option(thefts(command))))


def host_cost_options(command: Command) -> Command:
    """Adds the options of what a host's own overheads make of interfaces."""
    overheads = click.option(
        "--overheads",
        shell_complete=complete.files,
        metavar="FILE|none",
        help="What the host takes, as doctor --measure HOST --write FILE writes it: interfaces are"
        " computed with it, and every deadline is judged. Default: [overheads] of SYSTEM, else"
        " what was measured of the host.",
    )
    margin = click.option(
        "--margin",
        callback=read_share,
        metavar="PERCENT",
        help="Widen every budget by that much, such as 10%.",
    )
    grid = click.option(
        "grid_ns",
        "--grid",
        callback=read_maybe,
        metavar="TIME",
        help="Round every budget up to a multiple of it, such as 100us.",
    )
    return overheads(margin(grid(command)))


def refuse_host_costs(where: str, allowed: str, **given: object) -> None:
    """UsageError if an option of `host_cost_options` is given where no host takes anything."""
    for name, value in given.items():
        if value is not None:
            option = f"--{name.removesuffix('_ns')}"
            raise click.UsageError(f"found {option} {where}; allowed: {allowed}")


def fail_on_option(such_as: str) -> Callable[[Command], Command]:
    """The option of limits that decide the exit code, with some of them as examples."""
    return click.option(
        "--fail-on",
        "conditions",
        multiple=True,
        metavar="CONDITION",
        help="Exit code 1 if this holds of a task, flow or server, and only then:"
        f" {such_as}. Several may be given.",
    )


def run_options(command: Command) -> Command:
    """Adds the options of every command that runs a system."""
    for option in (
        fail_on_option("dmr>0, max>8ms, or short>0 (a server did not get a budget)"),
        wide_option,
        json_option,
        report_option,
        certificate_option,
        click.option(
            "trace_file",
            "--trace",
            callback=read_name(".hpt"),
            shell_complete=complete.files,
            metavar="FILE.hpt",
            help="Write every event.",
        ),
        seed_option,
        horizon_option,
        policy_option,
    ):
        command = option(command)
    return command
